// SPDX-License-Identifier: MIT
// Where rectangles go: pixels of a canvas, or the text of an SVG.

import { colorOf, Hatch, lookOf } from './states';

export type Paint = (x0: number, x1: number, y0: number, y1: number, state: number) => void;
export type Erase = (x0: number, x1: number, y0: number, y1: number) => void;

interface Ink {
    full: number;
    light: number;
    hatch: Hatch;
}

// As ImageData holds it on a machine that is little-endian, which all are that run browsers.
function packed(color: string, lighter: number): number {
    const part = (at: number) => {
        const value = parseInt(color.slice(at, at + 2), 16);
        return Math.round(value + (255 - value) * lighter);
    };
    return ((255 << 24) | (part(5) << 16) | (part(3) << 8) | part(1)) >>> 0;
}

export function isLight(hatch: Hatch, x: number, y: number): boolean {
    switch (hatch) {
    case 'up':
        return (x + y) % 6 < 2;
    case 'down':
        return (x - y + 6000) % 6 < 2;
    case 'dots':
        return x % 4 < 2 && y % 4 < 2;
    case 'bars':
        return x % 5 < 1;
    default:
        return false;
    }
}

const FEW = 16; // pixels that take less time than a call

// Rectangles as pixels: the fastest way there is without the GPU.
export class Pixels {
    readonly image: ImageData;
    private readonly words: Uint32Array;
    private readonly inks: Ink[];

    constructor(readonly width: number, readonly height: number, states: string[], readonly isDark: boolean) {
        this.image = new ImageData(Math.max(width, 1), Math.max(height, 1));
        this.words = new Uint32Array(this.image.data.buffer);
        this.inks = states.map(lookOf).map(look => {
            const color = colorOf(look, isDark);
            return { full: packed(color, 0), light: packed(color, 0.55), hatch: look.hatch };
        });
    }

    // As it was when it was new.
    clear(): void {
        this.words.fill(0);
    }

    readonly paint: Paint = (x0, x1, y0, y1, state) => {
        const ink = this.inks[state];
        const left = Math.max(0, x0), right = Math.min(this.width, x1);
        if (ink.hatch === 'none' || right - left < 3) {
            this.fill(left, right, y0, y1, ink.full);
            return;
        }
        for (let y = Math.max(0, y0); y < Math.min(this.height, y1); y++) {
            const line = y * this.width;
            for (let x = left; x < right; x++) {
                this.words[line + x] = isLight(ink.hatch, x, y) ? ink.light : ink.full;
            }
        }
    };

    readonly erase: Erase = (x0, x1, y0, y1) => this.fill(Math.max(0, x0), Math.min(this.width, x1), y0, y1, 0);

    private fill(left: number, right: number, y0: number, y1: number, word: number): void {
        const { words, width } = this, last = Math.min(this.height, y1) * width;
        for (let line = Math.max(0, y0) * width; line < last; line += width) {
            if (right - left > FEW) {
                words.fill(word, line + left, line + right);
                continue;
            }
            for (let at = line + left; at < line + right; at++) {
                words[at] = word;
            }
        }
    }
}

export function escapeXml(text: string): string {
    // eslint-disable-next-line no-control-regex
    return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, '\ufffd')
        .replace(/[&<>"']/g, found => `&#${found.charCodeAt(0)};`);
}

// The same as SVG.
export class Svg {
    private readonly parts: string[] = [];

    constructor(private readonly width: number, private readonly height: number, private readonly states: string[],
        private readonly isDark: boolean) {}

    rectangle(x: number, y: number, width: number, height: number, color: string, opacity = 1): void {
        const rest = opacity < 1 ? ` fill-opacity="${opacity}"` : '';
        this.parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${color}"${rest}/>`);
    }

    paint(left: number, top: number): Paint {
        return (x0, x1, y0, y1, state) => {
            const look = lookOf(this.states[state]);
            this.rectangle(left + x0, top + y0, x1 - x0, y1 - y0, colorOf(look, this.isDark), look.hatch === 'none' ? 1 : 0.7);
        };
    }

    line(x0: number, y0: number, x1: number, y1: number, color: string): void {
        this.parts.push(`<path d="M${x0} ${y0}L${x1} ${y1}" stroke="${color}"/>`);
    }

    text(x: number, y: number, text: string, color: string, weight = 'normal'): void {
        this.parts.push(`<text x="${x}" y="${y}" fill="${color}" font-weight="${weight}">${escapeXml(text)}</text>`);
    }

    // What follows is cut to the rectangle, until unclip().
    clip(id: string, x: number, y: number, width: number, height: number): void {
        this.parts.push(`<clipPath id="${id}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath>` +
            `<g clip-path="url(#${id})">`);
    }

    unclip(): void {
        this.parts.push('</g>');
    }

    toString(): string {
        return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" ` +
            `viewBox="0 0 ${this.width} ${this.height}" font-family="sans-serif" font-size="12">\n${this.parts.join('\n')}\n</svg>\n`;
    }
}

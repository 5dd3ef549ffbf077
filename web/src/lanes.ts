// SPDX-License-Identifier: MIT
// A panel with a lane for each host, disk or CPU: words about it on the left, a curve over time on the right.

import { toTime, toX } from './bars';
import { color, element, painter, panel } from './dom';
import { Page, Panel } from './page';
import { followPointer, Pointed } from './pointer';
import { Svg } from './surface';
import { Range } from './viewport';

const WORDS = 15; // from one line of words to the next

// What lanes are drawn on: the page's canvas, or a file.
export interface Pen {
    rectangle(x: number, y: number, width: number, height: number, color: string): void;
    text(x: number, y: number, text: string, color: string): void;
}

// Neighbours of equal height become one rectangle. `heights` are in pixels, from `floor` up; below 0: down.
export function area(pen: Pen, heights: number[], floor: number, ink: string): void {
    for (let x = 0, end = 0; x < heights.length; x = end) {
        for (end = x + 1; end < heights.length && heights[end] === heights[x]; end++);
        const high = heights[x];
        if (high) { // NaN: not known yet
            pen.rectangle(x, Math.min(floor, floor - high), end - x, Math.abs(high), ink);
        }
    }
}

// Explains colours in a note: each before its words.
export function explain(...parts: [string, string][]): HTMLElement[] {
    return parts.map(([ink, words]) => {
        const swatch = element('span', { class: 'swatch' });
        swatch.style.backgroundColor = ink;
        return element('span', { class: 'key' }, swatch, words);
    });
}

// What is more than nothing is seen.
export function high(share: number, most: number): number {
    return share > 0 ? Math.max(1, Math.round(2 * Math.min(share, 1) * most) / 2) : share === 0 ? 0 : NaN;
}

export abstract class Lanes implements Panel {
    readonly element: HTMLElement;
    readonly note = element('span', { class: 'note' });
    private readonly scroller = element('div', { class: 'scroller', tabindex: '0', role: 'group' });
    private readonly spacer = element('div', { class: 'spacer' });
    private readonly sticky = element('div', { class: 'sticky' });
    private readonly names = element('div', { class: 'names' });
    private readonly canvas = element('canvas', { 'aria-hidden': 'true' });
    private readonly tip = element('div', { class: 'tip', hidden: '' });
    private readonly nothing = element('p', { class: 'words', hidden: '' });
    private readonly repaint = painter(() => { this.drawNow(); });

    // `lane` is the height of one, in CSS pixels; `nothing` is said if there is none.
    constructor(protected readonly page: Page, name: string, private readonly title: string, private readonly lane: number,
        label: string, nothing: string) {
        this.scroller.setAttribute('aria-label', label);
        this.nothing.textContent = nothing;
        this.sticky.append(this.names, this.canvas);
        this.scroller.append(this.spacer, this.sticky, this.nothing);
        this.element = panel(name, title, this.note, () => page.hide(name));
        this.element.append(this.scroller, this.tip);
        new ResizeObserver(() => this.draw()).observe(this.scroller);
        this.scroller.addEventListener('scroll', () => this.draw());
        followPointer(this.scroller, this.canvas, page, {
            hover: (at, event) => this.showTip(at, event),
            leave: () => {
                this.tip.hidden = true;
            },
        });
    }

    protected abstract count(): number;
    // Draws a lane from y = 0 to its height, for that many pixels of the screen; gives the words beside it, its name first.
    protected abstract paint(lane: number, pen: Pen, width: number, pixels: number): string[];
    // What is said of a time in a lane.
    protected said(_lane: number, _time: number): string {
        return '';
    }

    // The lanes are others.
    protected fit(): void {
        const count = this.count();
        this.spacer.style.height = `${count * this.lane}px`;
        this.nothing.hidden = count > 0;
        this.sticky.hidden = count === 0;
        this.element.style.flexGrow = `${3 + Math.min(count * this.lane / 21, 9)}`;
        this.draw();
    }

    focus(): void {
        this.scroller.focus({ preventScroll: true });
    }

    draw(): void {
        if (this.element.isConnected) {
            this.repaint();
        }
    }

    // Where the picture ends, in the window; 0 if it is not shown.
    right(): number {
        return this.scroller.clientWidth && this.scroller.getBoundingClientRect().left + this.scroller.clientWidth;
    }

    // The first lane that is seen, and the one after the last.
    private visible(): { first: number; last: number } {
        const top = this.scroller.scrollTop;
        return { first: Math.floor(top / this.lane), last: Math.min(this.count(), Math.ceil((top + this.scroller.clientHeight) / this.lane)) };
    }

    private drawNow(): void {
        const width = Math.max(1, this.scroller.clientWidth - this.names.offsetWidth), height = this.scroller.clientHeight;
        const scale = Math.min(window.devicePixelRatio || 1, 3), top = this.scroller.scrollTop;
        this.canvas.width = Math.round(width * scale);
        this.canvas.height = Math.round(height * scale);
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
        const context = this.canvas.getContext('2d');
        if (!context || !height) {
            return;
        }
        context.font = '11px sans-serif';
        this.names.textContent = '';
        const { first, last } = this.visible();
        for (let lane = first; lane < last; lane++) {
            const y = lane * this.lane - top;
            context.setTransform(scale, 0, 0, scale, 0, y * scale);
            this.name(this.paintOne(lane, brush(context), width, Math.round(width * scale)), y);
        }
        context.setTransform(scale, 0, 0, scale, 0, 0);
        this.marks(context, width, height);
    }

    private paintOne(lane: number, pen: Pen, width: number, pixels: number): string[] {
        const words = this.paint(lane, pen, width, pixels);
        pen.rectangle(0, this.lane - 1, width, 1, color('--rule'));
        return words;
    }

    private name([name, ...words]: string[], top: number): void {
        const made = element('div', { class: 'name lane' }, element('div', { class: 'text' }, name), ...words.map(text => element('div', { class: 'detail' }, text)));
        made.style.top = `${top}px`;
        made.style.height = `${this.lane - 1}px`;
        made.title = [name, ...words].join('\n');
        this.names.append(made);
    }

    private marks(context: CanvasRenderingContext2D, width: number, height: number): void {
        const { window: seen, range, selected, hover } = this.page;
        const x = (time: number) => Math.round(toX(time, seen, width)) + 0.5;
        if (range) {
            context.globalCompositeOperation = 'destination-over';
            context.fillStyle = color('--range');
            context.fillRect(x(range.start), 0, x(range.end) - x(range.start), height);
            context.globalCompositeOperation = 'source-over';
        }
        for (const [time, ink] of [[selected ? selected.time : null, '--mark'], [hover, '--hover']] as [number | null, string][]) {
            if (time !== null) {
                context.strokeStyle = color(ink);
                context.strokeRect(x(time), -1, 0, height + 2);
            }
        }
    }

    // The lanes that are seen as a file. Returns its height.
    toSvg(svg: Svg, top: number, names: number, width: number): number {
        const { first, last } = this.visible();
        const ink = color('--ink'), quiet = color('--quiet');
        svg.text(4, top + 14, this.title, ink, 'bold');
        for (let lane = first; lane < last; lane++) {
            const y = top + 22 + (lane - first) * this.lane;
            const [name, ...words] = this.paintOne(lane, {
                rectangle: (x, own, w, h, fill) => svg.rectangle(names + x, y + own, w, h, fill),
                text: (x, own, text, fill) => svg.text(names + x, y + own, text, fill),
            }, width, width);
            svg.clip(`l-${this.element.dataset.panel}-${lane}`, 0, y, names - 4, this.lane);
            svg.text(4, y + 13, name, ink, 'bold');
            words.forEach((text, at) => svg.text(4, y + 13 + (at + 1) * WORDS, text, quiet));
            svg.unclip();
        }
        return 22 + Math.max(0, last - first) * this.lane + 8;
    }

    private showTip({ time, y }: Pointed, event: MouseEvent): void {
        const outer = this.element.getBoundingClientRect();
        const lane = Math.floor((y + this.scroller.scrollTop) / this.lane);
        const text = lane >= 0 && lane < this.count() ? this.said(lane, time) : '';
        this.tip.hidden = !text;
        this.tip.textContent = text;
        const x = Math.min(event.clientX - outer.left + 12, outer.width - this.tip.offsetWidth - 4);
        this.tip.style.left = `${Math.max(4, x)}px`;
        this.tip.style.top = `${event.clientY - outer.top + (event.clientY - outer.top > outer.height - 40 ? -30 : 16)}px`;
    }
}

export function brush(context: CanvasRenderingContext2D): Pen {
    return {
        rectangle(x, y, width, height, fill) {
            context.fillStyle = fill;
            context.fillRect(x, y, width, height);
        },
        text(x, y, text, fill) {
            context.fillStyle = fill;
            context.fillText(text, x, y);
        },
    };
}

// For each pixel what `at` says of its middle.
export function curve(window: Range, width: number, at: (time: number) => number): number[] {
    return Array.from({ length: width }, (_, x) => at(toTime(x + 0.5, window, width)));
}

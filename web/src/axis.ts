// SPDX-License-Identifier: MIT
// The scale of time, and the overview of the whole trace with what is seen of it.

import { Api } from './api';
import { spanBars, toTime, toX } from './bars';
import { Block, decode, Span } from './columns';
import { color, isDark } from './dom';
import { Trace } from './model';
import { colorOf, Look, lookOf } from './states';
import { offset, tickStep } from './time';
import { Range } from './viewport';

const CPUS_MOST = 256;

interface Sized {
    context: CanvasRenderingContext2D;
    width: number;
    height: number;
}

// The canvas at its size in CSS pixels, empty; null if it is not shown.
function prepare(canvas: HTMLCanvasElement): Sized | null {
    const scale = Math.min(window.devicePixelRatio || 1, 3), width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext('2d');
    if (!context || !width || !height) {
        return null;
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = '11px sans-serif';
    return { context, width, height };
}

// Times of ticks and their words.
export function ticks(window: Range, width: number): [number, string][] {
    const step = tickStep(window.end - window.start, Math.max(1, Math.floor(width / 110)));
    const found: [number, string][] = [];
    for (let time = Math.ceil(window.start / step) * step; time <= window.end && found.length < 1000; time += step) {
        found.push([time, offset(time, step)]);
    }
    return found;
}

// Flags at the bottom of a scale; a range has a line.
function drawFlags({ context, width, height }: Sized, seen: Range, marks: Range[]): void {
    context.fillStyle = color('--mark');
    for (const { start, end } of marks) {
        const x0 = Math.round(toX(start, seen, width)), x1 = Math.round(toX(end, seen, width));
        context.fillRect(x0, height - 9, 1, 9);
        context.fillRect(x0, height - 9, 6, 5);
        context.fillRect(x0, height - 2, Math.max(0, x1 - x0), 2);
    }
}

export function drawAxis(canvas: HTMLCanvasElement, seen: Range, hover: number | null, marks: Range[] = []): void {
    const sized = prepare(canvas);
    if (!sized) {
        return;
    }
    const { context, width, height } = sized;
    context.strokeStyle = context.fillStyle = color('--quiet');
    for (const [time, text] of ticks(seen, width)) {
        const x = Math.round(toX(time, seen, width)) + 0.5;
        context.beginPath();
        context.moveTo(x, height);
        context.lineTo(x, height - 6);
        context.stroke();
        if (x + 3 + context.measureText(text).width <= width) {
            context.fillText(text, x + 3, height - 7);
        }
    }
    drawFlags(sized, seen, marks);
    if (hover !== null) {
        const text = offset(hover, (seen.end - seen.start) / 1e4);
        const x = Math.min(Math.max(toX(hover, seen, width) + 3, 0), width - context.measureText(text).width - 6);
        context.fillStyle = color('--paper');
        context.fillRect(x - 3, 0, context.measureText(text).width + 6, height);
        context.fillStyle = color('--ink');
        context.fillText(text, x, height - 7);
    }
}

// How busy all CPUs were, from columns of what was on them.
export function busy(blocks: Block[], idle: number): number[] {
    const count = blocks.length ? blocks[0].count : 0;
    const shares = new Array<number>(count).fill(0);
    for (const { data } of blocks) {
        for (let i = 0; i < 3; i++) {
            for (let c = 0; c < count; c++) {
                if (data[2 * i * count + c] !== idle) {
                    shares[c] += data[(2 * i + 1) * count + c] / 255 / blocks.length;
                }
            }
        }
    }
    return shares;
}

export class Overview {
    private spans: Span[] = [];
    private looks: Look[] = [];
    private shares: number[] = [];
    private range: Range = { start: 0, end: 1 };

    constructor(private readonly canvas: HTMLCanvasElement, private readonly length: number, private readonly center: (time: number) => void) {
        canvas.addEventListener('pointerdown', event => {
            canvas.setPointerCapture(event.pointerId);
            this.go(event);
        });
        canvas.addEventListener('pointermove', event => {
            if (event.buttons & 1) {
                this.go(event);
            }
        });
    }

    private go(event: PointerEvent): void {
        this.center(toTime(event.offsetX, { start: 0, end: this.length }, this.canvas.clientWidth || 1));
    }

    // How busy the CPUs were, of all that is indexed.
    async load(api: Api, trace: Trace): Promise<void> {
        const cpus = trace.rows.map((row, index) => (row.kind === 'thread' ? index : -1)).filter(row => row >= 0).slice(0, CPUS_MOST);
        if (cpus.length) {
            const answer = await api.bytes('columns', { rows: cpus, columns: 1024, start: 0, end: this.length });
            this.set(decode(answer).map(picture => picture.block), trace.states.indexOf('idle'));
        }
    }

    private set(blocks: Block[], idle: number): void {
        this.shares = busy(blocks, idle);
        if (blocks.length) {
            this.range = { start: blocks[0].start, end: blocks[0].start + blocks[0].count * blocks[0].width };
        }
    }

    // In place of how busy CPUs were: what was when, in the colours of its states.
    setSpans(spans: Span[], states: string[]): void {
        this.spans = spans;
        this.looks = states.map(lookOf);
    }

    draw(seen: Range, selected: Range | null, marks: Range[] = []): void {
        const sized = prepare(this.canvas);
        if (!sized) {
            return;
        }
        const { context, width, height } = sized;
        const whole = { start: 0, end: this.length };
        context.fillStyle = color('--busy');
        this.shares.forEach((share, column) => {
            const at = this.range.start + column / this.shares.length * (this.range.end - this.range.start);
            const next = this.range.start + (column + 1) / this.shares.length * (this.range.end - this.range.start);
            const x0 = toX(at, whole, width), x1 = toX(next, whole, width);
            const high = share > 0 ? Math.max(1, share * (height - 2)) : 0;
            context.fillRect(x0, height - high, Math.max(x1 - x0, 0.5), high);
        });
        const colors = this.looks.map(look => colorOf(look, isDark()));
        spanBars(this.spans, whole, width, colors.map(() => 1), (x0, x1, low, high, state) => {
            context.fillStyle = colors[state];
            context.fillRect(x0, low + 6, x1 - x0, high * (height - 12));
        });
        if (selected) {
            context.fillStyle = color('--range');
            context.fillRect(toX(selected.start, whole, width), 0, Math.max(toX(selected.end - selected.start, whole, width), 2), height);
        }
        drawFlags(sized, whole, marks);
        const left = toX(seen.start, whole, width), right = Math.max(toX(seen.end, whole, width), left + 3);
        context.fillStyle = color('--shade');
        context.fillRect(0, 0, left, height);
        context.fillRect(right, 0, width - right, height);
        context.strokeStyle = color('--mark');
        context.lineWidth = 2;
        context.strokeRect(left + 1, 1, right - left - 2, height - 2);
    }
}

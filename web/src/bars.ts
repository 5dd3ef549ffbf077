// SPDX-License-Identifier: MIT
// From columns and spans to rectangles: for each pixel the states of its column lie on each other, each as high as its share.

import { Block, Span, STATES_SENT } from './columns';
import { Range } from './viewport';

// A rectangle from x0 to x1, in pixels, and from `low` to `high`, in shares of the row from below.
export type Emit = (x0: number, x1: number, low: number, high: number, state: number) => void;

export function toX(time: number, window: Range, width: number): number {
    return (time - window.start) / (window.end - window.start) * width;
}

export function toTime(x: number, window: Range, width: number): number {
    return window.start + x / width * (window.end - window.start);
}

// States of a column in the order in which they lie: by their number, so that neighbours fit. There are many columns: nothing is
// allocated for one.
function pile(block: Block, column: number, heights: number[], from: number, to: number, emit: Emit): void {
    const { data, count } = block;
    let low = 0;
    for (let last = -1, next = -1; ; last = next) {
        let share = 0;
        next = 256;
        for (let i = column; i < 2 * STATES_SENT * count; i += 2 * count) {
            if (data[i] > last && data[i] < next && data[i + count]) {
                next = data[i];
                share = data[i + count];
            }
        }
        if (!share) {
            return;
        }
        const high = low + share / 255 * heights[next];
        emit(from, to, low, high, next);
        low = high;
    }
}

function isSame(block: Block, a: number, b: number): boolean {
    const { data, count } = block;
    for (let i = 0; i < 2 * STATES_SENT * count; i += count) {
        if (data[i + a] !== data[i + b]) {
            return false;
        }
    }
    return true;
}

// The pixels that the block covers; equal neighbours become one rectangle.
export function columnBars(block: Block, window: Range, width: number, heights: number[], emit: Emit): void {
    const scale = (window.end - window.start) / width / block.width;
    const first = (window.start - block.start) / block.width;
    let open = -1, from = 0;
    const close = (x: number) => {
        if (open >= 0) {
            pile(block, open, heights, from, x, emit);
        }
    };
    for (let x = 0; x < width; x++) {
        const column = Math.floor(first + (x + 0.5) * scale);
        const next = column >= 0 && column < block.count ? column : -1;
        if (next !== open && (next < 0 || open < 0 || !isSame(block, next, open))) {
            close(x);
            open = next;
            from = x;
        }
    }
    close(width);
}

// Spans in order of time; of those that would share a pixel, the first one is drawn.
export function spanBars(spans: Span[], window: Range, width: number, heights: number[], emit: Emit): void {
    let low = 0, high = spans.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (spans[middle].end <= window.start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let done = 0;
    for (let i = low; i < spans.length && spans[i].start < window.end; i++) {
        const from = Math.max(0, Math.round(toX(spans[i].start, window, width)));
        const to = Math.min(width, Math.max(Math.round(toX(spans[i].end, window, width)), from + 1));
        if (to > done) {
            emit(Math.max(from, done), to, 0, heights[spans[i].state], spans[i].state);
            done = to;
        }
    }
}

// SPDX-License-Identifier: MIT
// What meters counted, fetched when it is seen: in columns for pictures, and exactly in a range for words. A coarse picture of
// the whole trace stays, so a zoom shows something at once.

import { Api } from './api';
import { Range } from './viewport';

const NARROWEST = 1024; // ns; a packet has no length
const COLUMNS_MOST = 16384;
const CELLS_MOST = 1 << 18; // in a question
const SUMS_AFTER = 120; // ms without a change

// Columns from `start` on, each `width` ns wide.
export interface Series {
    start: number;
    width: number;
    amounts: number[];
}

// The narrowest columns of 2^k ns of which no two share a pixel, with some room on both sides. The last one ends with the trace or after it.
export function columnsOf(window: Range, pixels: number, length: number): { start: number; width: number; columns: number } {
    const span = window.end - window.start;
    let width = NARROWEST;
    while (span / width > Math.min(Math.max(pixels, 1), COLUMNS_MOST / 2)) {
        width *= 2;
    }
    const start = Math.max(0, Math.floor((window.start - span / 4) / width)) * width;
    const end = Math.min(length, window.end + span / 4);
    return { start, width, columns: Math.max(1, Math.ceil((end - start) / width)) };
}

export function columnAt(series: Series, time: number): number {
    const column = Math.floor((time - series.start) / series.width);
    return column >= 0 && column < series.amounts.length ? column : -1;
}

function covers(series: Series, window: Range, length: number): boolean {
    return series.start <= Math.max(0, window.start) && series.start + series.amounts.length * series.width >= Math.min(length, window.end);
}

export class Amounts {
    private readonly series = new Map<number, Series[]>(); // the coarsest, and the last one
    private pending: Set<number> | null = null;
    private wanted = '';
    private running: AbortController | null = null;
    private summed = ''; // what sums are of
    private sums = new Map<number, number>();
    private timer = 0;

    constructor(private readonly api: Api, private readonly length: number, private readonly changed: () => void,
        private readonly failed: (problem: string) => void) {}

    // More is indexed.
    renew(): void {
        this.running?.abort();
        this.series.clear();
        this.wanted = this.summed = '';
    }

    // What shows all that is seen, as fine as there is; else the coarsest.
    of(row: number, window: Range): Series | undefined {
        const known = this.series.get(row) || [];
        return known.filter(one => covers(one, window, this.length)).sort((a, b) => a.width - b.width)[0] || known[0];
    }

    // What all lanes want in a frame is one question.
    want(rows: number[], window: Range, pixels: number): void {
        if (!this.pending) {
            this.pending = new Set();
            setTimeout(() => this.ask(window, pixels), 0);
        }
        rows.forEach(row => this.pending?.add(row));
    }

    private ask(window: Range, pixels: number): void {
        const { start, width, columns } = columnsOf(window, pixels, this.length);
        const missing = [...this.pending || []].filter(row => {
            const found = this.of(row, window);
            return !found || found.width > width || !covers(found, window, this.length);
        });
        const key = `${missing.join()}|${start}|${width}`;
        this.pending = null;
        if (missing.length && key !== this.wanted) {
            this.wanted = key;
            this.running?.abort();
            this.running = new AbortController();
            this.fetch(missing, start, width, columns, this.running.signal).catch((problem: Error) => {
                if (problem.name !== 'AbortError') {
                    this.wanted = '';
                    this.failed(problem.message);
                }
            });
        }
    }

    private async fetch(rows: number[], start: number, width: number, columns: number, signal: AbortSignal): Promise<void> {
        const most = Math.max(1, Math.floor(CELLS_MOST / columns));
        for (let i = 0; i < rows.length; i += most) {
            const part = rows.slice(i, i + most);
            const answer = await this.api.ask<number[][]>('amounts', { rows: part, start, width, columns }, signal);
            part.forEach((row, index) => this.keep(row, { start, width, amounts: answer[index] }));
            this.changed();
        }
        this.wanted = '';
    }

    private keep(row: number, series: Series): void {
        const [coarsest] = this.series.get(row) || [];
        this.series.set(row, coarsest && coarsest.width > series.width ? [coarsest, series] : [series]);
    }

    // What each row counted in a range, to the last one; null: not known yet.
    sum(rows: number[], range: Range): Map<number, number> | null {
        const start = Math.floor(range.start), width = Math.max(1, Math.ceil(range.end) - start);
        const key = `${rows.join()}|${start}|${width}`;
        if (key !== this.summed) {
            this.summed = key;
            this.sums = new Map();
            clearTimeout(this.timer);
            this.timer = window.setTimeout(() => void this.fetchSums(key, rows, start, width), SUMS_AFTER);
        }
        return this.sums.size ? this.sums : null;
    }

    private async fetchSums(key: string, rows: number[], start: number, width: number): Promise<void> {
        const sums = new Map<number, number>();
        try {
            for (let i = 0; i < rows.length; i += 4096) {
                const part = rows.slice(i, i + 4096);
                const answer = await this.api.ask<number[][]>('amounts', { rows: part, start, width, columns: 1 });
                part.forEach((row, index) => sums.set(row, answer[index][0]));
            }
        } catch (problem) {
            this.failed((problem as Error).message);
            return;
        }
        if (key === this.summed) {
            this.sums = sums;
            this.changed();
        }
    }
}

// SPDX-License-Identifier: MIT
// Pictures of rows, fetched when they are seen. A coarse one of the whole trace stays, so a zoom shows something at once;
// the one that fits replaces it when it comes.

import { Api } from './api';
import { Block, covers, decode, RowPicture } from './columns';
import { clamp, Range } from './viewport';

const CELLS_MOST = 3 << 20;
const COLUMNS_MOST = 16384;
const KEPT = 3; // pictures of a row

// The widest columns that are no wider than two pixels.
export function columnsFor(span: number, width: number): number {
    return Math.max(1, Math.min(COLUMNS_MOST, Math.ceil(width), Math.ceil(span)));
}

function isFine(block: Block, window: Range, width: number): boolean {
    const pixel = (window.end - window.start) / Math.max(width, 1);
    return covers(block, window.start, window.end) && (block.width <= 1 || block.width <= 2 * pixel);
}

export class Rows {
    private readonly pictures = new Map<number, RowPicture[]>();
    private running: AbortController | null = null;
    private wanted = '';
    private readonly fresh = new Set<number>(); // rows with pictures of all that is indexed
    private pending: Set<number> | null = null;

    constructor(private readonly api: Api, private readonly length: number, private readonly changed: () => void,
        private readonly failed: (problem: string) => void) {}

    // More is indexed: what there is stays until it is fetched again.
    renew(): void {
        this.fresh.clear();
        this.running?.abort();
        this.wanted = '';
    }

    // What there is of a row, coarse first.
    of(row: number): RowPicture[] {
        return this.pictures.get(row) || [];
    }

    // Fetches what is missing to draw these rows. What all panels want in a frame is one question, and one whose answer
    // nobody wants any more is dropped.
    want(rows: number[], window: Range, width: number): void {
        if (!this.pending) {
            this.pending = new Set();
            setTimeout(() => this.ask(window, width), 0);
        }
        rows.forEach(row => this.pending?.add(row));
    }

    private ask(window: Range, width: number): void {
        const missing = [...this.pending || []].filter(row => !this.fresh.has(row) || !this.of(row).some(picture => isFine(picture.block, window, width)));
        const key = `${missing.join()}|${window.start}|${window.end}|${width}`;
        this.pending = null;
        if (!missing.length || key === this.wanted) {
            return;
        }
        this.wanted = key;
        this.running?.abort();
        this.running = new AbortController();
        this.fetch(missing, window, width, this.running.signal).catch((problem: Error) => {
            if (problem.name !== 'AbortError') {
                this.wanted = '';
                this.failed(problem.message);
            }
        });
    }

    private async fetch(rows: number[], window: Range, width: number, signal: AbortSignal): Promise<void> {
        const span = window.end - window.start;
        // Some room on both sides, so that a small step needs no question.
        const range = clamp({ start: Math.floor(window.start - span / 4), end: Math.ceil(window.end + span / 4) }, this.length);
        const wide = range.end - range.start;
        const columns = columnsFor(wide, width * wide / span);
        const most = Math.max(1, Math.floor(CELLS_MOST / columns));
        for (let i = 0; i < rows.length; i += most) {
            const part = rows.slice(i, i + most);
            const answer = await this.api.bytes('columns', {
                rows: part, columns, start: Math.floor(range.start), end: Math.min(this.length, Math.ceil(range.end)),
            }, signal);
            decode(answer).forEach((picture, index) => this.keep(part[index], picture));
            this.changed();
        }
        this.wanted = '';
    }

    private keep(row: number, picture: RowPicture): void {
        const known = (this.fresh.has(row) ? this.of(row) : []).filter(old => old.block.width !== picture.block.width || old.block.start !== picture.block.start);
        known.push(picture);
        this.fresh.add(row);
        // The coarsest is the one that shows most; of the others the latest are worth keeping.
        const coarsest = known.reduce((a, b) => (b.block.width > a.block.width ? b : a));
        const kept = known.filter(one => one !== coarsest).slice(-KEPT + 1);
        this.pictures.set(row, [coarsest, ...kept]);
    }
}

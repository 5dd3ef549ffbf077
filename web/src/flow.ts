// SPDX-License-Identifier: MIT
// A critical path as lines and spans: each task has a line below its host, in the order in which the path comes to them.

import { Span } from './columns';
import { Entry } from './model';
import { stateOfSegment } from './states';

export interface RawFlow {
    origin: string;
    host: string;
    name: string;
    tid: number;
    start: number;
    end: number;
    lost: number;
    cut: boolean;
    tasks: [string, string, number, number][]; // host, name, tid, row or -1
    segments: [number, number, number, string, string, string][]; // task, start, end, state, cause, detail
}

export interface Segment extends Span {
    entry: number; // the line
    word: string; // the state's name
}

export interface Arrow {
    time: number;
    from: number; // entries
    to: number;
}

export class Flow {
    readonly entries: Entry[] = [];
    readonly segments: Segment[]; // in order of time
    readonly byEntry: Segment[][];
    readonly arrows: Arrow[] = [];
    readonly tids = new Map<number, number>(); // by entry

    constructor(readonly raw: RawFlow, states: string[]) {
        const hosts = new Map<string, number>();
        const entryOfTask = raw.tasks.map(([host, name, tid, row]) => {
            if (!hosts.has(host)) {
                hosts.set(host, this.entries.push({ parent: -1, row: -1, name: host }) - 1);
            }
            const entry = this.entries.push({ parent: hosts.get(host) as number, row, name: tid < 0 ? 'interrupts' : name }) - 1;
            this.tids.set(entry, tid);
            return entry;
        });
        this.segments = raw.segments.map(([task, start, end, state, cause, detail]) => {
            const word = stateOfSegment(state, cause);
            return { start, end, word, state: Math.max(0, states.indexOf(word)), label: detail, entry: entryOfTask[task] };
        });
        this.byEntry = this.entries.map(() => []);
        this.segments.forEach((segment, index) => {
            this.byEntry[segment.entry].push(segment);
            const before = this.segments[index - 1];
            if (before && before.entry !== segment.entry) {
                this.arrows.push({ time: segment.start, from: before.entry, to: segment.entry });
            }
        });
    }

    // The segment at a time, or the nearest one.
    at(time: number): number {
        let low = 0, high = this.segments.length - 1;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (this.segments[middle].start <= time) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    // Over the next arrow after a time, to where it leads; or over the one before, to where it comes from. What no row shows is
    // stepped over.
    across(time: number, step: 1 | -1): { row: number; time: number } | null {
        const ends = this.arrows.map(arrow => (step > 0 ? { row: this.entries[arrow.to].row, time: arrow.time }
            : { row: this.entries[arrow.from].row, time: arrow.time - 1 })).filter(({ row }) => row >= 0);
        return (step > 0 ? ends.find(end => end.time > time) : ends.reverse().find(end => end.time < time)) || null;
    }

    // How long the path is in each state, longest first; within a range, or all of it.
    sums(from = -Infinity, to = Infinity): [string, number][] {
        const sums = new Map<string, number>();
        for (const { word, start, end } of this.segments) {
            const inside = Math.min(end, to) - Math.max(start, from);
            if (inside > 0) {
                sums.set(word, (sums.get(word) || 0) + inside);
            }
        }
        return [...sums].sort((a, b) => b[1] - a[1]);
    }
}

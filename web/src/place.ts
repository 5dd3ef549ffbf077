// SPDX-License-Identifier: MIT
// Rows by what they show, which stays the same when the traces are indexed again: a task is host:tid, and host:tid:start if
// the tid was used again; calls are host:call:tid:level; anything else is host:kind, with its
// CPU and its name if it has them.

import { Row, Trace } from './model';

// Its parts are free of what separates them, and of what an address separates places by.
const part = (text: string | number) => encodeURIComponent(text);

function baseOf({ kind, cpu, tid, name }: Row, host: string): string {
    const parts = kind === 'task' ? [host, tid] : kind === 'call' ? [host, kind, tid, cpu] : [host, kind, ...(cpu < 0 ? [] : [cpu]), ...(name === `CPU ${cpu}` ? [] : [name])];
    return parts.map(part).join(':');
}

// How far a time is from when the row was active.
function away({ from, to }: Row, time: number): number {
    return Math.max(from - time, time - to, 0);
}

export class Places {
    private of_: Row[] | null = null; // what the maps were made of
    private readonly bases: string[] = [];
    private readonly rows = new Map<string, number[]>();

    constructor(private readonly trace: Trace) {}

    private fill(): void {
        const { rows, hosts } = this.trace;
        if (this.of_ === rows) {
            return;
        }
        this.of_ = rows;
        this.rows.clear();
        rows.forEach((row, index) => {
            const base = baseOf(row, hosts[row.host]);
            this.bases[index] = base;
            this.rows.set(base, [...this.rows.get(base) || [], index]);
        });
    }

    of(row: number): string {
        this.fill();
        const base = this.bases[row];
        return (this.rows.get(base) || []).length > 1 ? `${base}:${this.trace.rows[row].from}` : base;
    }

    // -1: there is none. Of those with the same tid, the one that was active at the time.
    row(place: string, time: number): number {
        this.fill();
        const [base, from] = this.rows.has(place) ? [place, null] : [place.replace(/:\d+$/, ''), Number(/\d+$/.exec(place)?.[0])];
        const fit = (row: number) => (from === null ? away(this.trace.rows[row], time) : Math.abs(this.trace.rows[row].from - from));
        return (this.rows.get(base) || []).reduce((best, row) => (best < 0 || fit(row) < fit(best) ? row : best), -1);
    }
}

// Rows that are held at the top of their views.
export class Pins {
    list: string[] = []; // places

    constructor(private readonly places: Places) {}

    rows(): number[] {
        return this.list.map(place => this.places.row(place, 0)).filter(row => row >= 0);
    }

    // Holds a row, or lets it go.
    toggle(row: number): void {
        const place = this.places.of(row), others = this.list.filter(one => one !== place);
        this.list = others.length < this.list.length ? others : [...others, place];
    }
}

// SPDX-License-Identifier: MIT
// The events that the table of Events holds: some around a place, to which more are added at both ends while one scrolls, and of
// which those far away are dropped.

// time, index among those of equal time, host, cpu, name, fields, row or -1
export type RawEvent = [time: number, index: number, host: number, cpu: number, name: string, fields: string, row: number];

export interface Place {
    time: number;
    index: number;
}

export interface Answer {
    rows: RawEvent[];
    reached: number;
    is_end: boolean;
}

// "time", "index", "count" (negative: before), "filter", "find", "start", "end"
export type Ask = (parameters: object) => Promise<Answer>;

const PAGE = 200;
const KEPT = 2000;

export function compare(a: RawEvent | Place, b: RawEvent | Place): number {
    const [timeA, indexA] = Array.isArray(a) ? a : [a.time, a.index], [timeB, indexB] = Array.isArray(b) ? b : [b.time, b.index];
    return timeA - timeB || indexA - indexB;
}

export class EventRows {
    rows: RawEvent[] = [];
    before: Place = { time: 0, index: 0 }; // what is before this is not looked through yet
    after: Place = { time: 0, index: 0 };
    hasFirst = false; // there are none before
    hasLast = false;
    private version = 0;

    constructor(private readonly ask: Ask) {}

    // Forgets all, and is at a place.
    start(place: Place): void {
        this.version++;
        this.rows = [];
        this.before = this.after = place;
        this.hasFirst = this.hasLast = false;
    }

    // One more part at the end, or at the start; how many rows came there. Null: what was asked for is not wanted any more.
    async more(isForward: boolean): Promise<number | null> {
        const { version } = this;
        const answer = await this.ask({ ...(isForward ? this.after : this.before), count: isForward ? PAGE : -PAGE });
        if (version !== this.version) {
            return null;
        }
        const { rows, reached, is_end } = answer;
        if (isForward) {
            this.rows.push(...rows);
            this.hasLast = is_end;
            const last = rows[rows.length - 1];
            this.after = last && rows.length === PAGE ? { time: last[0], index: last[1] + 1 } : { time: reached, index: 0 };
        } else {
            this.rows.unshift(...rows);
            this.hasFirst = is_end;
            this.before = rows.length === PAGE ? { time: rows[0][0], index: rows[0][1] } : { time: reached, index: 0 };
        }
        return rows.length;
    }

    // Drops what is far from where one looks, at the other end; how many rows at the start.
    trim(isForward: boolean): number {
        const far = this.rows.length - KEPT;
        if (far <= 0) {
            return 0;
        }
        if (isForward) {
            this.rows.splice(0, far);
            this.before = { time: this.rows[0][0], index: this.rows[0][1] };
            this.hasFirst = false;
            return far;
        }
        this.rows.splice(KEPT);
        const last = this.rows[KEPT - 1];
        this.after = { time: last[0], index: last[1] + 1 };
        this.hasLast = false;
        return 0;
    }

    // The first row that is not before the place; rows.length if there is none.
    find(place: Place): number {
        let low = 0, high = this.rows.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (compare(this.rows[middle], place) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    // Whether the place lies within what was looked through.
    covers(place: Place): boolean {
        return (this.hasFirst || compare(place, this.before) >= 0) && (this.hasLast || compare(place, this.after) < 0);
    }
}

// SPDX-License-Identifier: MIT
// How long each state took: of the selected row, else of all CPUs; in the selected range, else in what is seen.

import { Api } from './api';
import { Details } from './details';
import { Moment } from './fragment';
import { callerOf, firstState, Trace } from './model';
import { duration } from './time';
import { Range } from './viewport';

const CPUS_MOST = 4096;

function nameIn(trace: Trace, row: number): string {
    const { kind, name } = trace.rows[row];
    return kind === 'call' ? `${trace.rows[callerOf(trace, row)].name}, ${name}` : name;
}

export class Totals {
    private asked = '';

    constructor(private readonly trace: Trace, private readonly api: Api, private readonly details: Details) {}

    // More is indexed.
    renew(): void {
        this.asked = '';
    }

    async ask(selected: Moment | null, range: Range | null, window: Range): Promise<void> {
        const { trace } = this, { start, end } = range || window;
        const rows = selected ? [selected.row]
            : trace.rows.map((row, index) => (row.kind === 'cpu' ? index : -1)).filter(row => row >= 0).slice(0, CPUS_MOST);
        const parameters = { rows, start: Math.floor(start), end: Math.min(trace.length, Math.ceil(end)) };
        const key = JSON.stringify(parameters);
        if (key === this.asked) {
            return;
        }
        this.asked = key;
        try {
            const found = await this.api.ask<number[]>('totals', parameters);
            if (key === this.asked) {
                const who = selected ? nameIn(trace, selected.row) : 'All CPUs';
                const first = selected ? firstState(trace, selected.row) : 0;
                const states = found.map((ns, state): [string, number] => [trace.states[first + state], ns]);
                this.details.showSums(`${who}: ${range ? 'selected range' : 'what is seen'}, ${duration(end - start)}`,
                    states.filter(([state]) => state !== 'none'));
            }
        } catch (problem) {
            this.details.say((problem as Error).message, true);
        }
    }
}

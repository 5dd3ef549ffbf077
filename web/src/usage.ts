// SPDX-License-Identifier: MIT
// How much of the CPUs of each host was used over time, and how much of that by the selected task.

import { toTime } from './bars';
import { Block, covers, STATES_SENT } from './columns';
import { color } from './dom';
import { area, high, Lanes, Pen } from './lanes';
import { Page } from './page';
import { Range } from './viewport';

const LANE = 64; // CSS pixels
export const RUNNING = ['user', 'syscall', 'interrupt', 'softirq'];

// The share of a column in which the row was in one of the states.
function shareOf(block: Block, column: number, counts: boolean[]): number {
    let sum = 0;
    for (let i = 0; i < STATES_SENT; i++) {
        if (counts[block.data[2 * i * block.count + column]]) {
            sum += block.data[(2 * i + 1) * block.count + column];
        }
    }
    return sum / 255;
}

// For each pixel the share of time that rows were in one of the states, 0 to 1 for all rows together. NaN where it is not known yet.
export function usage(blocks: Block[], window: Range, width: number, counts: boolean[]): number[] {
    const shares = new Array<number>(width).fill(blocks.length ? 0 : NaN);
    for (const block of blocks) {
        for (let x = 0; x < width; x++) {
            const column = Math.floor((toTime(x + 0.5, window, width) - block.start) / block.width);
            shares[x] += column >= 0 && column < block.count ? shareOf(block, column, counts) / blocks.length : NaN;
        }
    }
    return shares;
}

// The same for all that is seen, as far as the blocks show it.
export function mean(blocks: Block[], window: Range, counts: boolean[]): number {
    let sum = 0, known = 0;
    for (const block of blocks) {
        for (let column = 0; column < block.count; column++) {
            const start = block.start + column * block.width;
            const inside = Math.max(0, Math.min(start + block.width, window.end) - Math.max(start, window.start));
            sum += inside * shareOf(block, column, counts);
            known += inside;
        }
    }
    return known ? sum / known : NaN;
}

interface Lane {
    host: number;
    cpus: number[]; // rows of what was on them
}

export class Usage extends Lanes {
    private lanes: Lane[] = [];
    private readonly counts: boolean[];

    constructor(page: Page) {
        super(page, 'usage', 'CPU usage', LANE, 'Use of the CPUs of each host over time', 'Nothing of a CPU was recorded.');
        this.counts = page.states.map(state => RUNNING.includes(state));
        this.note.textContent = 'at full height all CPUs of the host are busy; orange: the selected task';
        this.renew();
    }

    // More of the trace is known.
    renew(): void {
        const { rows, hosts } = this.page.trace;
        this.lanes = hosts.map((_, host) => ({ host, cpus: [] }));
        rows.forEach((row, index) => row.kind === 'thread' && this.lanes[row.host].cpus.push(index));
        this.fit();
    }

    protected count(): number {
        return this.lanes.length;
    }

    // The finest block of each row that shows all that is seen, else the coarsest.
    private blocks(rows: number[]): Block[] {
        const { start, end } = this.page.window;
        const found: Block[] = [];
        for (const row of rows) {
            const blocks = this.page.rows.of(row).map(picture => picture.block);
            const fit = blocks.filter(block => covers(block, start, end)).sort((a, b) => a.width - b.width)[0] || blocks[0];
            if (fit) {
                found.push(fit);
            }
        }
        return found;
    }

    protected paint(at: number, pen: Pen, width: number, pixels: number): string[] {
        const { window: seen, rows, trace, selected } = this.page, lane = this.lanes[at];
        rows.want(lane.cpus, seen, pixels);
        const blocks = this.blocks(lane.cpus);
        this.draws(pen, usage(blocks, seen, width, this.counts), color('--busy'));
        if (selected && trace.rows[selected.row].kind === 'task' && trace.rows[selected.row].host === lane.host) {
            rows.want([selected.row], seen, pixels);
            const own = usage(this.blocks([selected.row]), seen, width, this.counts).map(share => share / lane.cpus.length);
            this.draws(pen, own, color('--own'));
        }
        const share = this.mean(blocks);
        return [trace.hosts[lane.host], ...(isNaN(share) ? [] : [`${(100 * share).toFixed(1)} % of ${lane.cpus.length}`])];
    }

    private draws(pen: Pen, shares: number[], ink: string): void {
        area(pen, shares.map(share => high(share, LANE - 6)), LANE - 1, ink);
    }

    // Not of columns that are as wide as what is seen.
    private mean(blocks: Block[]): number {
        const { start, end } = this.page.window;
        return blocks.every(block => covers(block, start, end) && block.width <= (end - start) / 50)
            ? mean(blocks, this.page.window, this.counts) : NaN;
    }
}

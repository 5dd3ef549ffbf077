// SPDX-License-Identifier: MIT
// At which frequency each CPU ran, and how many of its cycles had a task: the same height is the same frequency in all lanes.

import { Amounts, columnAt, Series } from './amounts';
import { color } from './dom';
import { area, curve, explain, high, Lanes, Pen } from './lanes';
import { Row } from './model';
import { Page } from './page';
import { Range } from './viewport';

const LANE = 56;

interface Cpu {
    name: string;
    frequency: number; // rows
    cycles: number; // with a task
}

// "2.40 GHz" of cycles in a ns.
export function hertz(frequency: number): string {
    return frequency >= 1 ? `${frequency.toFixed(2)} GHz` : `${(1000 * frequency).toFixed(0)} MHz`;
}

// "12.3 million": as people say it.
export function cycles(count: number): string {
    const [unit, word] = ([[1e12, ' trillion'], [1e9, ' billion'], [1e6, ' million'], [1e3, ' thousand']] as [number, string][])
        .find(([one]) => count >= one) || [1, ''];
    const value = count / unit;
    return `${unit === 1 ? value : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)}${word} cycles`;
}

// Cycles in each ns of a column in which the frequency was known.
export function frequencyAt(series: Series | undefined, time: number, row: Row): number {
    const column = series ? columnAt(series, time) : -1;
    if (!series || column < 0) {
        return NaN;
    }
    const start = series.start + column * series.width;
    const known = Math.min(start + series.width, row.to) - Math.max(start, row.from);
    return known > 0 ? series.amounts[column] / known : 0;
}

export class Frequency extends Lanes {
    private cpus: Cpu[] = [];
    private most = 0; // cycles in a ns
    private readonly amounts: Amounts;

    constructor(page: Page) {
        super(page, 'freq', 'CPU frequency', LANE, 'The frequency of each CPU over time',
            'No event reported the frequency of a CPU, so neither frequencies nor cycles are known. The event is power_cpu_frequency (LTTng) ' +
            'or power:cpu_frequency (ftrace, perf); virtual machines and CPUs that choose their frequency themselves have none.');
        this.amounts = new Amounts(page.api, page.length, () => this.draw(), problem => page.say(problem, true));
        this.renew();
    }

    renew(): void {
        const { rows, hosts } = this.page.trace;
        const cyclesOf = new Map(rows.flatMap((row, index) => (row.kind === 'cycles' ? [[`${row.host} ${row.cpu}`, index] as [string, number]] : [])));
        this.amounts.renew();
        this.cpus = rows.map((row, index) => ({ row, index })).filter(({ row }) => row.kind === 'frequency')
            .sort((a, b) => a.row.host - b.row.host || a.row.cpu - b.row.cpu)
            .map(({ row, index }) => ({
                name: hosts.length > 1 ? `${hosts[row.host]} · ${row.name}` : row.name, frequency: index,
                cycles: cyclesOf.get(`${row.host} ${row.cpu}`) ?? index,
            }));
        this.note.replaceChildren(...(this.cpus.length ? explain([color('--busy'), 'the frequency'], [color('--point'), 'the share of its cycles that had a task']) : []));
        this.fit();
    }

    protected count(): number {
        return this.cpus.length;
    }

    private at(row: number, time: number): number {
        return frequencyAt(this.amounts.of(row, this.page.window), time, this.page.trace.rows[row]);
    }

    protected paint(lane: number, pen: Pen, width: number, pixels: number): string[] {
        const { window: seen } = this.page, cpu = this.cpus[lane];
        this.amounts.want([cpu.frequency, cpu.cycles], seen, pixels);
        const known = curve(seen, width, time => this.at(cpu.frequency, time));
        const most = known.reduce((a, b) => (b > a ? b : a), this.most);
        if (most > this.most) { // lanes above are too tall now
            this.most = most;
            this.draw();
        }
        const busy = curve(seen, width, time => this.used(cpu, time));
        area(pen, known.map(one => high(one / (this.most || 1), LANE - 16)), LANE - 1, color('--busy'));
        area(pen, busy.map(one => high(one / (this.most || 1), LANE - 16)), LANE - 1, color('--point'));
        if (this.most) {
            pen.text(4, 11, `${hertz(this.most)} at the top`, color('--quiet'));
        }
        return [cpu.name, ...this.words(cpu, this.page.range || seen)];
    }

    // Cycles with a task in each ns in which the frequency was known.
    private used(cpu: Cpu, time: number): number {
        return frequencyAt(this.amounts.of(cpu.cycles, this.page.window), time, this.page.trace.rows[cpu.frequency]);
    }

    // Of the selected range, else of what is seen.
    private words({ frequency, cycles: own }: Cpu, range: Range): string[] {
        const sums = this.amounts.sum(this.cpus.flatMap(cpu => [cpu.frequency, cpu.cycles]), range);
        const { from, to } = this.page.trace.rows[frequency];
        const known = Math.min(Math.ceil(range.end), to) - Math.max(Math.floor(range.start), from);
        const all = sums?.get(frequency), used = sums?.get(own);
        if (all === undefined || used === undefined) {
            return [];
        }
        return known > 0 ? [`${hertz(all / known)} on average`, `${cycles(used)} with a task`] : ['not known here'];
    }

    protected said(lane: number, time: number): string {
        const cpu = this.cpus[lane], now = this.at(cpu.frequency, time), used = this.used(cpu, time);
        return now > 0 ? `${hertz(now)}, ${(100 * used / now).toFixed(0)} % of the cycles with a task` : '';
    }
}

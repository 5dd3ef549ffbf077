// SPDX-License-Identifier: MIT
// What disks and network interfaces moved over time: above the middle of a lane what was read or received, below it what was
// written or sent.

import { Amounts, columnAt, Series } from './amounts';
import { color } from './dom';
import { area, curve, explain, high, Lanes, Pen } from './lanes';
import { Trace } from './model';
import { Page } from './page';
import { duration } from './time';
import { Range } from './viewport';

const LANE = 76;
const STRIP = 5; // of requests at a time
const UP = '#0072b2', DOWN = '#d55e00', BUSY = '#cc79a7';

interface Kind {
    up: string; // kinds of rows
    down: string;
    words: [string, string]; // of what goes up and down
}

const KINDS: Kind[] = [
    { up: 'disk-read', down: 'disk-written', words: ['read', 'written'] },
    { up: 'net-received', down: 'net-sent', words: ['received', 'sent'] },
];

export interface Device {
    name: string;
    kind: Kind;
    up: number; // rows; -1: none
    down: number;
    requests: number;
    flight: number;
}

// By host; disks first.
export function devices({ rows, hosts }: Trace): Device[] {
    const found = new Map<string, Device & { order: number[] }>();
    rows.forEach(({ kind: what, host, name }, index) => {
        const order = what.startsWith('disk-') ? 0 : what.startsWith('net-') ? 1 : -1, key = `${host} ${order} ${name}`;
        if (order < 0) {
            return;
        }
        const device = found.get(key) || {
            name: hosts.length > 1 ? `${hosts[host]} · ${name}` : name, kind: KINDS[order], up: -1, down: -1, requests: -1, flight: -1, order: [host, order],
        };
        const place = { [device.kind.up]: 'up', [device.kind.down]: 'down', 'disk-requests': 'requests', 'disk-flight': 'flight' }[what];
        found.set(key, place ? { ...device, [place]: index } : device);
    });
    return [...found.values()].sort((a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1]);
}

// "1.25 MiB": three digits and more.
export function size(bytes: number): string {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.length; unit++) {
        bytes /= 1024;
    }
    return `${bytes.toFixed(unit === 0 && Number.isInteger(bytes) ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.max(bytes, 1)))))} ${units[unit]}`;
}

// Of a column, in each second; its part outside of the trace does not count.
export function rate(series: Series | undefined, time: number, length: number): number {
    const column = series ? columnAt(series, time) : -1;
    if (!series || column < 0) {
        return NaN;
    }
    const start = series.start + column * series.width;
    return series.amounts[column] / Math.max(1, Math.min(series.width, length - start)) * 1e9;
}

export class Io extends Lanes {
    private devices: Device[] = [];
    private readonly amounts: Amounts;

    constructor(page: Page) {
        super(page, 'io', 'Disk and network use', LANE, 'What disks and network interfaces moved over time',
            'No event of a disk or of a network interface was recorded: they are block_rq_issue and block_rq_complete, net_dev_xmit and net_if_receive_skb (LTTng) or netif_receive_skb.');
        this.amounts = new Amounts(page.api, page.length, () => this.draw(), problem => page.say(problem, true));
        this.renew();
    }

    renew(): void {
        this.amounts.renew();
        this.devices = devices(this.page.trace);
        this.note.replaceChildren(...(this.devices.length ? explain([UP, 'read, received'], [DOWN, 'written, sent'],
            [BUSY, 'the disk had one request or more']) : []), this.page.trace.isWhole ? '' : 'disks come when all is indexed');
        this.fit();
    }

    protected count(): number {
        return this.devices.length;
    }

    private series(row: number): Series | undefined {
        return row < 0 ? undefined : this.amounts.of(row, this.page.window);
    }

    protected paint(lane: number, pen: Pen, width: number, pixels: number): string[] {
        const device = this.devices[lane], { window: seen, length } = this.page;
        const rows = [device.up, device.down, device.requests, device.flight].filter(row => row >= 0);
        this.amounts.want(rows, seen, pixels);
        const [up, down] = [device.up, device.down].map(row => curve(seen, width, time => rate(this.series(row), time, length)));
        const most = [...up, ...down].reduce((a, b) => (b > a ? b : a), 0), half = (LANE - STRIP - 4) / 2;
        area(pen, up.map(one => high(one / (most || 1), half - 2)), half + 1, UP);
        area(pen, down.map(one => -high(one / (most || 1), half - 2)), half + 1, DOWN);
        pen.rectangle(0, half + 1, width, 1, color('--rule'));
        if (device.flight >= 0) {
            const flight = curve(seen, width, time => rate(this.series(device.flight), time, length) / 1e9);
            area(pen, flight.map(one => high(one, STRIP)), LANE - 2, BUSY);
        }
        if (most) {
            pen.text(4, 11, `${size(most)}/s`, color('--quiet'));
        }
        return [device.name, ...this.words(device, this.page.range || seen)];
    }

    // Of the selected range, else of what is seen.
    private words({ kind, up, down, requests, flight }: Device, range: Range): string[] {
        const sums = this.amounts.sum(this.devices.flatMap(one => [one.up, one.down, one.requests, one.flight].filter(row => row >= 0)), range);
        const span = Math.max(1, Math.ceil(range.end) - Math.floor(range.start));
        const said = [up, down].map((row, at) => {
            const bytes = sums?.get(row);
            return bytes === undefined ? '' : `${kind.words[at]} ${size(bytes)}, ${size(bytes / span * 1e9)}/s`;
        });
        const count = sums?.get(requests), held = sums?.get(flight);
        return [...said, count && held !== undefined ? `${count} requests, ${duration(held / count)} each` : ''].filter(text => text);
    }

    protected said(lane: number, time: number): string {
        const { kind, up, down, flight } = this.devices[lane];
        const said = [up, down].map((row, at) => {
            const series = this.series(row), column = series ? columnAt(series, time) : -1;
            return series && column >= 0 ? `${kind.words[at]} ${size(series.amounts[column])} in ${duration(series.width)}` : '';
        });
        const held = rate(this.series(flight), time, this.page.length) / 1e9;
        return [...said, held > 0 ? `${held.toPrecision(2)} requests at a time` : ''].filter(text => text).join('; ');
    }
}

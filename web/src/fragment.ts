// SPDX-License-Identifier: MIT
// What the page shows, as the part of its address after '#'. What cannot be read there is left out.

import { Range } from './viewport';

export interface Moment {
    row: number;
    time: number;
}

// What a critical path is of: a task (place.ts) in a range, a request, or an instance of a period.
export type FlowOf = { place: string; start: number; end: number } | { request: number } | { period: string; instance: number };

export interface Shown {
    window: Range | null;
    range: Range | null; // selected
    selected: { place: string; time: number } | null;
    pins: string[]; // places
    panels: string[] | null;
    query: string;
    flow: FlowOf | null;
    own: Record<string, string>; // of single views, by their names
}

function numbers(text: string | null, count: number): number[] | null {
    const found = (text || '').split(/[,@]/).map(part => (/^-?\d+$/.test(part) ? Number(part) : NaN));
    return found.length === count && found.every(Number.isSafeInteger) ? found : null;
}

function range(text: string | null): Range | null {
    const found = numbers(text, 2);
    return found && found[0] < found[1] ? { start: found[0], end: found[1] } : null;
}

// Places are readable in an address.
const escape = (place: string) => encodeURIComponent(place).replace(/%3A/g, ':');
const isPlace = (text: string) => /^[^:,@]*(:[^:,@]*)+$/.test(text);

function selected(text: string | null): Shown['selected'] {
    const [, place, time] = /^([^@]+)@(\d+)$/.exec(text || '') || [];
    return place && isPlace(place) && Number.isSafeInteger(Number(time)) ? { place, time: Number(time) } : null;
}

function flow(text: string | null): FlowOf | null {
    const period = /^period:(.+),(\d+)$/.exec(text || ''), [place, ...times] = (text || '').split(',');
    const request = numbers(text, 1), of = range(times.join());
    return request ? { request: request[0] } : of && isPlace(place) ? { place, ...of } : period && { period: period[1], instance: Number(period[2]) };
}

const COMMON = ['t', 's', 'sel', 'v', 'q', 'p', 'path'];

export function parse(fragment: string): Shown {
    const found = new URLSearchParams(fragment.replace(/^#/, ''));
    const panels = found.get('v');
    const own: Record<string, string> = {};
    found.forEach((value, name) => {
        if (!COMMON.includes(name) && /^[a-z]+$/.test(name) && value) {
            own[name] = value;
        }
    });
    return {
        window: range(found.get('t')),
        range: range(found.get('s')),
        selected: selected(found.get('sel')),
        pins: (found.get('p') || '').split(',').filter(isPlace),
        panels: panels === null ? null : panels.split(',').filter(name => name),
        query: found.get('q') || '',
        flow: flow(found.get('path')),
        own,
    };
}

function flowText(of: FlowOf): string {
    return 'request' in of ? `${of.request}` : 'period' in of ? `period:${escape(of.period)},${of.instance}`
        : `${escape(of.place)},${Math.floor(of.start)},${Math.ceil(of.end)}`;
}

export function format(shown: Shown): string {
    const parts: string[] = [];
    const pair = (a: number, b: number) => `${Math.floor(a)},${Math.ceil(b)}`;
    if (shown.window) {
        parts.push(`t=${pair(shown.window.start, shown.window.end)}`);
    }
    if (shown.range) {
        parts.push(`s=${pair(shown.range.start, shown.range.end)}`);
    }
    if (shown.selected) {
        parts.push(`sel=${escape(shown.selected.place)}@${Math.floor(shown.selected.time)}`);
    }
    if (shown.panels) {
        parts.push(`v=${shown.panels.join(',')}`);
    }
    if (shown.flow) {
        parts.push(`path=${flowText(shown.flow)}`);
    }
    if (shown.pins.length) {
        parts.push(`p=${shown.pins.map(escape).join()}`);
    }
    if (shown.query) {
        parts.push(`q=${encodeURIComponent(shown.query)}`);
    }
    for (const [name, value] of Object.entries(shown.own)) {
        parts.push(`${name}=${encodeURIComponent(value)}`);
    }
    return parts.join('&');
}

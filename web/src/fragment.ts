// SPDX-License-Identifier: MIT
// What the page shows, as the part of its address after '#'. What cannot be read there is left out.

import { Range } from './viewport';

export interface Moment {
    row: number;
    time: number;
}

// What a critical path is of: a task in a range, or a request.
export type FlowOf = { row: number; start: number; end: number } | { request: number };

export interface Shown {
    window: Range | null;
    range: Range | null; // selected
    selected: Moment | null;
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

function flow(text: string | null): FlowOf | null {
    const one = numbers(text, 1), three = numbers(text, 3);
    return one ? { request: one[0] } : three && three[1] < three[2] ? { row: three[0], start: three[1], end: three[2] } : null;
}

const COMMON = ['t', 's', 'sel', 'v', 'q', 'path'];

export function parse(fragment: string): Shown {
    const found = new URLSearchParams(fragment.replace(/^#/, ''));
    const moment = numbers(found.get('sel'), 2);
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
        selected: moment && moment[0] >= 0 ? { row: moment[0], time: moment[1] } : null,
        panels: panels === null ? null : panels.split(',').filter(name => name),
        query: found.get('q') || '',
        flow: flow(found.get('path')),
        own,
    };
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
        parts.push(`sel=${shown.selected.row}@${Math.floor(shown.selected.time)}`);
    }
    if (shown.panels) {
        parts.push(`v=${shown.panels.join(',')}`);
    }
    if (shown.flow) {
        parts.push('request' in shown.flow ? `path=${shown.flow.request}`
            : `path=${shown.flow.row},${pair(shown.flow.start, shown.flow.end)}`);
    }
    if (shown.query) {
        parts.push(`q=${encodeURIComponent(shown.query)}`);
    }
    for (const [name, value] of Object.entries(shown.own)) {
        parts.push(`${name}=${encodeURIComponent(value)}`);
    }
    return parts.join('&');
}

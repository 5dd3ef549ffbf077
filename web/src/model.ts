// SPDX-License-Identifier: MIT
// What the server says of the traces, with names for what it numbers.

import { allStates, Group } from './states';

export interface Row {
    kind: string;
    host: number;
    name: string;
    cpu: number; // of declared states: the group's number; of calls: how deep they are
    tid: number; // -1: none
    pid: number;
    ran: number; // ns in all
    from: number; // before and after it is in one state: not born, gone, or at rest
    to: number;
}

// A line of a tree; parent and row are -1 if there is none.
export interface Entry {
    parent: number;
    row: number;
    name: string;
}

export interface Trace {
    name: string;
    start: bigint; // ns since 1970
    length: number;
    done: number; // ns that are indexed
    isWhole: boolean;
    hosts: string[];
    states: string[]; // those that rows can be in, those of each group of declared ones, and those of calls: firstState()
    slots: number; // how many each has
    rows: Row[];
    tasks: Entry[];
    resources: Entry[];
    declared: Entry[];
    calls: Entry[];
    groups: Group[];
}

// From which state on those of a row count.
export function firstState({ rows, slots, groups }: Trace, row: number): number {
    const kind = rows[row]?.kind;
    return kind === 'declared' ? slots * (1 + rows[row].cpu) : kind === 'call' ? slots * (1 + groups.length) : 0;
}

export function hasCalls({ calls, hosts }: Trace): boolean {
    return calls.length > hosts.length;
}

// The row of the task whose calls a row shows, or that it is of; -1: of no task that calls functions.
export function callerOf({ calls }: Trace, row: number): number {
    const entry = calls.find(one => one.row === row);
    const above = entry && entry.parent >= 0 ? calls[entry.parent].row : -1;
    return !entry ? -1 : above >= 0 ? above : row;
}

type RawRow = [number, number, string, number, number, number, number, number, number];
type RawEntry = [number, number, string];

export interface RawTrace {
    name: string;
    start: string;
    length: number;
    done: number;
    isWhole: boolean;
    hosts: string[];
    states: string[];
    kinds: string[];
    rows: RawRow[];
    tasks: RawEntry[];
    resources: RawEntry[];
    declared: RawEntry[];
    calls: RawEntry[];
    groups: Group[];
}

const entryOf = ([parent, row, name]: RawEntry): Entry => ({ parent, row, name });

export function traceOf(raw: RawTrace): Trace {
    return {
        name: raw.name,
        start: BigInt(raw.start),
        length: Math.max(raw.length, 1),
        done: raw.done,
        isWhole: raw.isWhole,
        hosts: raw.hosts,
        states: allStates(raw.states, raw.groups),
        slots: raw.states.length,
        groups: raw.groups,
        declared: raw.declared.map(entryOf),
        calls: raw.calls.map(entryOf),
        rows: raw.rows.map(([kind, host, name, cpu, tid, pid, ran, from, to]) =>
            ({ kind: raw.kinds[kind], host, name, cpu, tid, pid, ran, from, to })),
        tasks: raw.tasks.map(entryOf),
        resources: raw.resources.map(entryOf),
    };
}

// What a row did at a time, as the server answers it.
export interface Interval {
    row: number;
    time: number; // within it
    state: number;
    start: number;
    end: number;
    label?: string; // the system call
    cpu?: number;
    other?: number; // row: of a wait, who ended it; of a CPU, who was there
    thing?: string; // the disk or interrupt that ended a wait
    khz?: number;
    callers?: string[]; // of a call: those that it lies within, from the outermost on
}

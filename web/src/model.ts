// SPDX-License-Identifier: MIT
// What the server says of the traces, with names for what it numbers.

import { allStates, Group } from './states';

export interface Row {
    kind: string;
    host: number;
    name: string;
    cpu: number; // of declared states: the group's number
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
    states: string[]; // those that rows can be in, then those of each group of declared ones: firstState()
    slots: number; // how many each has
    rows: Row[];
    tasks: Entry[];
    resources: Entry[];
    declared: Entry[];
    groups: Group[];
}

// From which state on those of a row count.
export function firstState({ rows, slots }: Trace, row: number): number {
    return rows[row]?.kind === 'declared' ? slots * (1 + rows[row].cpu) : 0;
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
}

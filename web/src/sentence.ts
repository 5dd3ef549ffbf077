// SPDX-License-Identifier: MIT
// What a selected interval means, in a sentence.

import { Flow } from './flow';
import { callerOf, Interval, Row, Trace } from './model';
import { phraseOf } from './states';
import { duration, offset } from './time';

export function nameOf(trace: Trace, row: number, from?: Row): string {
    const { name, tid, host } = trace.rows[row];
    const where = from && from.host !== host ? ` on ${trace.hosts[host]}` : '';
    return `${name}${tid >= 0 ? ` (${tid})` : ''}${where}`;
}

// Why a wait ended: "until postgres (440) woke it".
function ending(trace: Trace, interval: Interval, state: string, row: Row): string {
    const other = interval.other === undefined ? '' : nameOf(trace, interval.other, row);
    const thing = interval.thing || '';
    switch (state) {
    case 'wait-task':
        return other ? `until ${other} woke it` : 'until another task woke it';
    case 'wait-disk':
        return `for the disk${thing ? ` ${thing}` : ''}`;
    case 'wait-network':
        return 'for a packet from the network';
    case 'wait-timer':
        return 'for a timer';
    case 'wait-input':
        return 'for input of the user';
    case 'wait-irq':
        return `for an interrupt${thing ? ` (${thing})` : ''}`;
    case 'wait-cpu':
        return `for CPU ${interval.cpu === undefined ? 'time' : interval.cpu}: it could have run, but others had the CPU`;
    default:
        return 'for something that the trace does not show';
    }
}

function ofTask(trace: Trace, interval: Interval, row: Row): string {
    const state = trace.states[interval.state];
    const cpu = interval.cpu === undefined ? '' : ` on CPU ${interval.cpu}`;
    const call = interval.label || '';
    switch (state) {
    case 'user':
        return `ran${cpu}`;
    case 'syscall':
        return `ran${cpu} in the system call ${call || '(unknown)'}`;
    case 'interrupt':
    case 'softirq':
        return `was interrupted${cpu}${call ? ` by ${call}` : ''}`;
    case 'lost':
        return 'is not known: events were lost';
    case 'unknown':
        return 'is not known';
    case 'none':
        return 'was not there';
    default:
        return `waited${call ? ` in ${call}` : ''} ${ending(trace, interval, state, row)}`;
    }
}

// Of a virtual CPU, without and with the task that the state names.
const vcpuWords: Record<string, [string, ((other: string) => string)?]> = {
    user: ['ran the guest', other => `ran, in the guest, ${other}`],
    syscall: ['was in the hypervisor'],
    'wait-cpu': ['waited for a CPU of its host', other => `waited for a CPU of its host, which ${other} had`],
    'wait-unknown': ['slept in the hypervisor'],
    idle: ['was halted'],
};

function ofDeclared(trace: Trace, interval: Interval, row: Row): string {
    const state = trace.states[interval.state];
    const { label: group } = trace.groups[row.cpu];
    const about = interval.other === undefined ? '' : ` (its task: ${nameOf(trace, interval.other, row)})`;
    const what = interval.label ? `was in the state “${interval.label}”` : state === 'none' ? 'was in no state' : 'is not known';
    return `of ${group} ${what}${about}`;
}

function ofCall({ label, callers }: Interval): string {
    const by = [...callers || []].reverse();
    return label ? `was in ${label}${by.length ? `, called by ${by.slice(0, 6).join(', by ')}${by.length > 6 ? ', …' : ''}` : ''}` : 'was in no call on this level';
}

function ofResource(trace: Trace, interval: Interval, row: Row): string {
    const state = trace.states[interval.state];
    const other = interval.other === undefined ? '' : nameOf(trace, interval.other, row);
    if (interval.khz !== undefined) {
        return `ran at ${(interval.khz / 1000).toFixed(0)} MHz`;
    }
    if (row.kind === 'vcpu' && state in vcpuWords) {
        const [alone, withOther] = vcpuWords[state];
        return (other && withOther ? withOther(other) : alone) + (interval.label ? ` (${interval.label})` : '');
    }
    switch (state) {
    case 'idle':
        return 'was idle';
    case 'none':
        return 'had nothing to do';
    case 'lost':
    case 'unknown':
        return 'is not known';
    default:
        return row.kind === 'thread' || row.kind === 'cpu'
            ? `${state === 'user' || state === 'syscall' ? 'ran' : 'handled interrupts while it ran'} ${other || 'a task'}` +
                (interval.label ? ` (${interval.label})` : '')
            : `was handled${other ? ` while ${other} was on the CPU` : ''}`;
    }
}

export function sentence(trace: Trace, interval: Interval): string {
    const row = trace.rows[interval.row];
    const what = row.kind === 'call' ? ofCall(interval)
        : (row.kind === 'task' ? ofTask : row.kind === 'declared' ? ofDeclared : ofResource)(trace, interval, row);
    const who = row.kind === 'call' ? callerOf(trace, interval.row) : interval.row;
    const host = trace.hosts.length > 1 ? ` on ${trace.hosts[row.host]}` : '';
    return `${nameOf(trace, who)}${host} ${what}, for ${duration(interval.end - interval.start)}, ` +
        `from ${offset(interval.start, 1000)} to ${offset(interval.end, 1000)}.`;
}

// Of a step of a critical path.
export function segmentSentence(flow: Flow, at: number): string {
    const { entry, word, start, end, label } = flow.segments[at];
    const { name, parent } = flow.entries[entry];
    const tid = flow.tids.get(entry) as number;
    return `${name}${tid >= 0 ? ` (${tid})` : ''} on ${flow.entries[parent].name}: ${phraseOf(word)}, ` +
        `${duration(end - start)}, from ${offset(start, 1000)} to ${offset(end, 1000)}${label ? `: ${label}` : ''}.`;
}

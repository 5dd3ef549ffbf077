// SPDX-License-Identifier: MIT
// What a row can do: words and looks of each state. Colours are from the set of Okabe and Ito, which all kinds of colour
// vision tell apart; height and hatching say it once more: who runs is tall, who waits is half as tall.

export type Hatch = 'none' | 'up' | 'down' | 'dots' | 'bars';

export interface Look {
    label: string; // in the legend and in sums
    color: string;
    height: number; // share of the row
    hatch: Hatch;
    ink?: string; // of what is written on it, if that is not white
}

export const looks: Record<string, Look> = {
    user: { label: 'Running', color: '#009e73', height: 1, hatch: 'none' },
    syscall: { label: 'System call', color: '#0072b2', height: 1, hatch: 'none' },
    interrupt: { label: 'Interrupt', color: '#d55e00', height: 1, hatch: 'none' },
    softirq: { label: 'Softirq', color: '#d55e00', height: 1, hatch: 'down' },
    'wait-cpu': { label: 'Waiting for a CPU', color: '#e69f00', height: 0.75, hatch: 'none', ink: '#14171a' },
    'wait-task': { label: 'Waiting for a task', color: '#cc79a7', height: 0.5, hatch: 'none' },
    'wait-disk': { label: 'Waiting for a disk', color: '#882255', height: 0.5, hatch: 'up' },
    'wait-network': { label: 'Waiting for the network', color: '#56b4e9', height: 0.5, hatch: 'none' },
    'wait-timer': { label: 'Waiting for a timer', color: '#a0a0a0', height: 0.35, hatch: 'none' },
    'wait-input': { label: 'Waiting for the user', color: '#b8860b', height: 0.5, hatch: 'dots' },
    'wait-irq': { label: 'Waiting for an interrupt', color: '#7b6fd0', height: 0.5, hatch: 'bars' },
    'wait-unknown': { label: 'Waiting, cause unknown', color: '#a0a0a0', height: 0.35, hatch: 'up' },
    idle: { label: 'Idle', color: '#b4b4b4', height: 0.15, hatch: 'none' },
    lost: { label: 'Events lost', color: '#e00030', height: 1, hatch: 'bars' },
};

const nothing: Look = { label: 'Not known', color: '#00000000', height: 0, hatch: 'none' };

export function lookOf(name: string): Look {
    return looks[name] || nothing;
}

// The state that a segment of a critical path is drawn as.
export function stateOfSegment(state: string, cause: string): string {
    if (state !== 'blocked') {
        return { running: 'user', preempted: 'wait-cpu', interrupted: 'interrupt' }[state] || 'unknown';
    }
    return {
        task: 'wait-task', timer: 'wait-timer', disk: 'wait-disk', network: 'wait-network', 'user-input': 'wait-input',
        ipi: 'wait-irq', irq: 'wait-irq',
    }[cause] || 'wait-unknown';
}

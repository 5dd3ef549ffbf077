// SPDX-License-Identifier: MIT
// What a row can do: words and looks of each state. Colours are near the set of Okabe and Ito, which all kinds of colour
// vision tell apart, and stand out from what is behind them; height and hatching say it once more: who runs is tall, who
// waits is half as tall.

export type Hatch = 'none' | 'up' | 'down' | 'dots' | 'bars';

export interface Look {
    label: string; // in the legend and in sums
    colors: readonly [string, string]; // in the light and in the dark theme
    height: number; // share of the row
    hatch: Hatch;
}

export const looks: Record<string, Look> = {
    user: { label: 'Running', colors: ['#008561', '#2cc394'], height: 1, hatch: 'none' },
    syscall: { label: 'System call', colors: ['#00549a', '#3d8fd6'], height: 1, hatch: 'none' },
    interrupt: { label: 'Interrupt', colors: ['#c24e00', '#ee7a1f'], height: 1, hatch: 'none' },
    softirq: { label: 'Softirq', colors: ['#c24e00', '#ee7a1f'], height: 1, hatch: 'down' },
    'wait-cpu': { label: 'Waiting for a CPU', colors: ['#a56200', '#e69f00'], height: 0.75, hatch: 'none' },
    'wait-task': { label: 'Waiting for a task', colors: ['#b8568a', '#e3a3c6'], height: 0.5, hatch: 'none' },
    'wait-disk': { label: 'Waiting for a disk', colors: ['#882255', '#cf5f9a'], height: 0.5, hatch: 'up' },
    'wait-network': { label: 'Waiting for the network', colors: ['#1f83c0', '#56b4e9'], height: 0.5, hatch: 'none' },
    'wait-timer': { label: 'Waiting for a timer', colors: ['#7d7d7d', '#a0a0a0'], height: 0.35, hatch: 'none' },
    'wait-input': { label: 'Waiting for the user', colors: ['#8f6a00', '#b8860b'], height: 0.5, hatch: 'dots' },
    'wait-irq': { label: 'Waiting for an interrupt', colors: ['#6a5dc8', '#8a7fe0'], height: 0.5, hatch: 'bars' },
    'wait-unknown': { label: 'Waiting, cause unknown', colors: ['#7d7d7d', '#a0a0a0'], height: 0.35, hatch: 'up' },
    idle: { label: 'Idle', colors: ['#868686', '#8c8c8c'], height: 0.15, hatch: 'none' },
    lost: { label: 'Events lost', colors: ['#e00030', '#ff3b5f'], height: 1, hatch: 'bars' },
};

const nothing: Look = { label: 'Not known', colors: ['#00000000', '#00000000'], height: 0, hatch: 'none' };

export function lookOf(name: string): Look {
    return looks[name] || nothing;
}

// Its label within a sentence.
export function phraseOf(name: string): string {
    const { label } = lookOf(name);
    return label.charAt(0).toLowerCase() + label.slice(1);
}

export function colorOf(look: Look, isDark: boolean): string {
    return look.colors[isDark ? 1 : 0];
}

// Of what is written on a state.
export function inkOn(isDark: boolean): string {
    return isDark ? '#14171a' : '#ffffff';
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

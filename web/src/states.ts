// SPDX-License-Identifier: MIT
// What a row can do: words and looks of each state. Colours are near the set of Okabe and Ito, which all kinds of colour
// vision tell apart, and stand out from what is behind them; height and hatching say it once more: who runs is tall, who
// waits is half as tall.

export type Hatch = 'none' | 'up' | 'down' | 'dots' | 'bars';

export interface Look {
    label: string; // in the legend and in sums
    colors: readonly [string, string]; // in the light and in the dark theme
    ink?: string; // of what is written on it, in both; else inkOn()
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

// Of declared states whose file says no colour. All are as tall as their row.
const colors: readonly (readonly [string, string])[] = [
    ['#3b6fb6', '#80deea'], ['#b8566a', '#ff8a80'], ['#6d6d00', '#f0e442'], ['#1b1b1b', '#c77dff'],
];
const hatches: readonly Hatch[] = ['none', 'up', 'dots', 'bars'];
export const palette: readonly Omit<Look, 'label'>[] = Array.from({ length: 13 }, (_, i) =>
    ({ colors: colors[i % colors.length], height: 1, hatch: hatches[Math.floor(i / colors.length)] }));

export interface Group {
    name: string;
    label: string;
    states: { state: number; label: string; color: string }[]; // those that are many share the last slot; color '': none
}

// Calls, by the slot of their function: a hue for each layer, a shade for each slot of it.
const shades: readonly (readonly [string, string, string])[] = [
    ['Function', '#b85c00', '#f0a04b'], ['Function', '#8a4b12', '#d9853a'], ['Function', '#96650f', '#f5c27a'], ['Function', '#9c3f10', '#e5794a'],
    ['Function', '#85603a', '#d9a86a'], ['Python function', '#2f7d4f', '#6fce93'], ['Python function', '#56760f', '#a3cf5f'],
    ['Python function', '#1a7a6e', '#57cfc0'], ['Python function', '#4a6e3c', '#9fc79f'], ['System call', '#00549a', '#3d8fd6'],
    ['Function of the kernel', '#6a5dc8', '#9d92ee'], ['Function of the kernel', '#7c4fa0', '#c08be0'],
    ['Function; events were lost meanwhile', '#e00030', '#ff3b5f'],
];
const FIRST_SLOT = 'user'; // of functions
export const callLooks: ReadonlyMap<string, Look> = new Map<string, Look>(shades.map(([label, light, dark], at) =>
    [`call.${at}`, { label, colors: [light, dark], height: 1, hatch: at === shades.length - 1 ? 'bars' : 'none' }]));

const declared = new Map<string, Look>();

// Black or white, whichever is read better on a colour.
function inkFor(color: string): string {
    const linear = (at: number) => (parseInt(color.slice(at, at + 2), 16) / 255) ** 2.2;
    return 0.2126 * linear(1) + 0.7152 * linear(3) + 0.0722 * linear(5) > 0.18 ? '#000000' : '#ffffff';
}

// The names of what rows of a group can be in, by slot; they have looks of their own.
function declare({ name, states }: Group, slots: string[]): string[] {
    const first = Math.min(...states.map(({ state }) => state));
    return slots.map((slot, at) => {
        const [one, ...others] = states.filter(({ state }) => state === at);
        if (!one) {
            return ['unknown', 'lost'].includes(slot) ? slot : 'none';
        }
        const base = palette[(at - first) % palette.length];
        declared.set(`${name}.${at}`, {
            ...base, label: others.length ? `${one.label} or another` : one.label,
            ...(one.color ? { colors: [one.color, one.color], hatch: 'none', ink: inkFor(one.color) } : {}),
        });
        return `${name}.${at}`;
    });
}

// Those of the kernel, then those of each group, then those of calls.
export function allStates(slots: string[], groups: Group[]): string[] {
    const first = slots.indexOf(FIRST_SLOT);
    const calls = slots.map((slot, at) => (callLooks.has(`call.${at - first}`) ? `call.${at - first}` : slot === 'none' ? 'none' : 'unknown'));
    return [...slots, ...groups.flatMap(group => declare(group, slots)), ...calls];
}

const nothing: Look = { label: 'Not known', colors: ['#00000000', '#00000000'], height: 0, hatch: 'none' };

export function lookOf(name: string): Look {
    return looks[name] || declared.get(name) || callLooks.get(name) || nothing;
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

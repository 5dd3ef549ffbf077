// SPDX-License-Identifier: MIT
// Where the frames of a flame graph lie: callers above what they called, each as wide as it took long, in order of names.

import { Range } from './viewport';

export interface RawFlame {
    total: number; // ns
    names: string[];
    looks: number[]; // of each name: 0 of a task, a state of a wait; of a function its slot behind all states
    nodes: [number, number, number, number][]; // parent or -1, name, in itself, with what it called; callers come first
}

export interface Frame {
    parent: number; // -1: all
    name: string;
    look: number;
    depth: number;
    own: number; // ns
    start: number; // in the sum of all
    end: number;
    children: number[];
}

export function framesOf({ names, looks, nodes }: RawFlame): Frame[] {
    const frames: Frame[] = nodes.map(([parent, name, own, total]) => ({ parent, name: names[name], look: looks[name], depth: 0, own, start: 0, end: total, children: [] }));
    frames.forEach(({ parent }, index) => parent >= 0 && frames[parent].children.push(index));
    // A frame has its place before those below it get theirs.
    for (const frame of frames) {
        let at = frame.start;
        frame.children.sort((a, b) => (frames[a].name < frames[b].name ? -1 : 1));
        for (const child of frame.children) {
            const below = frames[child];
            below.depth = frame.depth + 1;
            below.end += at - below.start;
            below.start = at;
            at = below.end;
        }
    }
    return frames;
}

export function pathOf(frames: Frame[], index: number): string[] {
    return index > 0 ? [...pathOf(frames, frames[index].parent), frames[index].name] : [];
}

// The frame of that path, or the last one on it that there is.
export function findPath(frames: Frame[], path: string[]): number {
    let at = 0;
    for (const name of path) {
        const next = frames[at]?.children.find(child => frames[child].name === name);
        if (next === undefined) {
            break;
        }
        at = next;
    }
    return at;
}

// What of a width a frame takes if that of another fills it; null if nothing.
export function placeOf({ start, end }: Frame, shown: Range, width: number): { x: number; width: number } | null {
    const scale = width / Math.max(shown.end - shown.start, 1);
    const x0 = (Math.max(start, shown.start) - shown.start) * scale, x1 = (Math.min(end, shown.end) - shown.start) * scale;
    return x1 - x0 > 0.3 ? { x: x0, width: x1 - x0 } : null;
}

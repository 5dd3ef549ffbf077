// SPDX-License-Identifier: MIT
// The range of time that is seen, and how it moves. It never leaves the traces, and is never narrower than can be seen.

export interface Range {
    start: number;
    end: number;
}

const NARROWEST = 50; // ns

export function clamp(range: Range, length: number): Range {
    const least = Math.min(NARROWEST, length);
    const span = Math.min(Math.max(range.end - range.start, least), length);
    const start = Math.min(Math.max(range.start, 0), length - span);
    return { start, end: start + span };
}

// By `factor` (below 1: closer), so that `at` stays where it is.
export function zoom(range: Range, factor: number, at: number, length: number): Range {
    const span = range.end - range.start;
    const next = Math.min(Math.max(span * factor, Math.min(NARROWEST, length)), length);
    const share = span > 0 ? (at - range.start) / span : 0.5;
    return clamp({ start: at - share * next, end: at + (1 - share) * next }, length);
}

// By a share of what is seen.
export function pan(range: Range, share: number, length: number): Range {
    const step = share * (range.end - range.start);
    return clamp({ start: range.start + step, end: range.end + step }, length);
}

// Shows `wanted` with some room around it.
export function fit(wanted: Range, length: number): Range {
    const room = (wanted.end - wanted.start) * 0.1;
    return clamp({ start: wanted.start - room, end: wanted.end + room }, length);
}

// The same; what is seen already, or nothing, becomes all of the time.
export function fitOrAll(seen: Range, wanted: Range | null, length: number): Range {
    const next = wanted && wanted.end > wanted.start ? fit(wanted, length) : seen;
    return next.start === seen.start && next.end === seen.end ? { start: 0, end: length } : next;
}

// Moves as little as is needed to show a time, with some room.
export function reveal(range: Range, time: number, length: number): Range {
    const span = range.end - range.start;
    if (time >= range.start && time <= range.end) {
        return range;
    }
    return clamp({ start: time - span / 2, end: time + span / 2 }, length);
}

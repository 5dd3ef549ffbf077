// SPDX-License-Identifier: MIT
// A logarithmic scale of durations, the same as the server's (src/server/latency.c).

export interface Scale {
    low: number; // ns
    high: number;
}

function height(ns: number): number {
    return Math.log2(ns + 1);
}

// From 0 (low) to 1 (high).
export function shareOf(ns: number, { low, high }: Scale): number {
    const span = height(high) - height(low);
    return span > 0 ? Math.min(1, Math.max(0, (height(ns) - height(low)) / span)) : 0;
}

// The duration at a share of the height.
export function durationAt(share: number, { low, high }: Scale): number {
    return Math.pow(2, height(low) + share * (height(high) - height(low))) - 1;
}

// What lies in a line of `count` lines: from least to most ns.
export function lineRange(line: number, count: number, scale: Scale): [number, number] {
    return [Math.max(0, Math.ceil(durationAt(line / count, scale) - 1e-6)), Math.floor(durationAt((line + 1) / count, scale) + 1e-6)];
}

// Powers of ten within the scale, not more than `most`.
export function decades(scale: Scale, most: number): number[] {
    const found: number[] = [];
    for (let ns = 1; ns <= scale.high; ns *= 10) {
        if (ns >= scale.low) {
            found.push(ns);
        }
    }
    const step = Math.max(1, Math.ceil(found.length / Math.max(1, most)));
    return found.filter((_, at) => (found.length - 1 - at) % step === 0);
}

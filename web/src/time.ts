// SPDX-License-Identifier: MIT
// Times and durations as people read them. Inside the page a time is in nanoseconds since the start of the traces, a number;
// the start itself needs 64 bits.

const UNITS: [number, string][] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

// "12.3 ms": four digits.
export function duration(ns: number): string {
    const size = Math.abs(ns);
    for (const [unit, name] of UNITS) {
        if (size >= unit) {
            const value = ns / unit;
            const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value))));
            return `${unit === 1 ? value.toFixed(0) : value.toFixed(Math.min(digits, 3))} ${name}`;
        }
    }
    return '0 ns';
}

// Seconds since the start, with as many digits as `step` needs.
export function offset(ns: number, step: number): string {
    const digits = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(step) - 1e-9)));
    return `${(ns / 1e9).toFixed(digits)} s`;
}

// "2026-11-21 01:01:37.882615333", in UTC.
export function absolute(start: bigint, ns: number): string {
    const time = start + BigInt(Math.round(ns));
    const billion = BigInt(1000000000);
    let seconds = time / billion, rest = time % billion;
    if (rest < BigInt(0)) {
        rest += billion;
        seconds -= BigInt(1);
    }
    const date = new Date(Number(seconds) * 1000);
    const whole = isNaN(date.getTime()) ? `${seconds}` : date.toISOString().slice(0, 19).replace('T', ' ');
    return `${whole}.${rest.toString().padStart(9, '0')}`;
}

// 1, 2 or 5 times a power of ten ns, of which at most `most` fit into `span`.
export function tickStep(span: number, most: number): number {
    let step = Math.pow(10, Math.floor(Math.log10(Math.max(span / Math.max(most, 1), 1))));
    for (const factor of [2, 2.5, 2]) {
        if (span / step > most) {
            step *= factor;
        }
    }
    return Math.max(1, Math.round(step));
}

// SPDX-License-Identifier: MIT
// What is seen, as a file of SVG.

import { ticks } from './axis';
import { toX } from './bars';
import { color, element, isDark } from './dom';
import { Svg } from './surface';
import { absolute } from './time';
import { Range } from './viewport';

export interface Drawn {
    toSvg(svg: Svg, top: number, names: number, width: number): number; // its height
}

// The scale of the time that is seen, of traces that start then.
export function scaleOf(seen: Range, start: bigint): Drawn {
    return {
        toSvg(svg, top, names, width) {
            svg.text(4, top + 12, absolute(start, seen.start).slice(0, 26), color('--quiet'));
            for (const [time, text] of ticks(seen, width)) {
                const x = names + Math.round(toX(time, seen, width));
                svg.line(x, top + 6, x, top + 16, color('--quiet'));
                svg.text(x + 3, top + 12, text, color('--quiet'));
            }
            return 26;
        },
    };
}

// `names` is the width of the names, of `width` in all, in whole pixels.
export function saveSvg(name: string, drawn: Drawn[], states: string[], width: number, names: number): void {
    const draw = (height: number): { svg: Svg; height: number } => {
        const svg = new Svg(width, height, states, isDark());
        svg.rectangle(0, 0, width, height, color('--paper'));
        let top = 8;
        for (const one of drawn) {
            top += one.toSvg(svg, top, names, width - names);
        }
        return { svg, height: top };
    };
    const { svg } = draw(draw(0).height); // the height is known once it is drawn
    const url = URL.createObjectURL(new Blob([svg.toString()], { type: 'image/svg+xml' }));
    element('a', { href: url, download: `${name}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

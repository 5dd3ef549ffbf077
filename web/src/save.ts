// SPDX-License-Identifier: MIT
// What is seen, as a file of SVG.

import { color, element } from './dom';
import { Svg } from './surface';

export interface Drawn {
    toSvg(svg: Svg, top: number, names: number, width: number): number; // its height
}

// `names` is the width of the names, of `width` in all.
export function saveSvg(name: string, drawn: Drawn[], states: string[], width: number, names: number): void {
    const draw = (height: number): { svg: Svg; height: number } => {
        const svg = new Svg(width, height, states);
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

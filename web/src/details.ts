// SPDX-License-Identifier: MIT
// What is selected, in a sentence, and how long each state took.

import { element } from './dom';
import { lookOf } from './states';
import { duration } from './time';

// A swatch that looks as the state does in the picture.
export function swatch(state: string): HTMLElement {
    const look = lookOf(state);
    const made = element('span', { class: `swatch hatch-${look.hatch}`, 'aria-hidden': 'true' });
    look.colors.forEach((color, at) => made.style.setProperty(at ? '--dark' : '--light', color));
    return made;
}

// A list of states with their times and shares, longest first.
export function sums(found: [string, number][]): HTMLElement {
    const whole = found.reduce((sum, [, ns]) => sum + ns, 0);
    const list = element('ul', { class: 'sums' });
    const byLabel = new Map<string, [string, number]>(); // states that are called the same are one
    for (const [state, ns] of found) {
        const { label } = lookOf(state), [first, before] = byLabel.get(label) || [state, 0];
        byLabel.set(label, [first, before + ns]);
    }
    for (const [state, ns] of [...byLabel.values()].sort((a, b) => b[1] - a[1])) {
        if (ns > 0) {
            const share = `${(100 * ns / whole).toFixed(ns / whole < 0.1 ? 1 : 0)} %`;
            list.append(element('li', {}, swatch(state), element('span', {}, lookOf(state).label),
                element('b', {}, duration(ns)), element('span', { class: 'share' }, share)));
        }
    }
    return list;
}

export class Details {
    readonly sentence = element('p', { class: 'sentence', 'aria-live': 'polite', role: 'status' });
    readonly actions = element('div', { class: 'actions' });
    private readonly title = element('h2', {});
    private readonly list = element('div', { class: 'list' });
    readonly element = element('footer', { class: 'details' },
        element('div', { class: 'what' }, this.sentence, this.actions), element('div', { class: 'totals' }, this.title, this.list));

    say(text: string, isProblem = false): void {
        this.sentence.textContent = text;
        this.sentence.classList.toggle('problem', isProblem);
    }

    showSums(title: string, found: [string, number][]): void {
        this.title.textContent = title;
        this.list.replaceChildren(sums(found));
    }
}

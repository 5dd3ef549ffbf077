// SPDX-License-Identifier: MIT
// What lull why says of the requests; each sentence leads to the place that it is about.

import { button, element } from './dom';

export interface Finding {
    said: string;
    evidence: string;
    request: number;
    start: number;
    end: number;
    row: number; // or -1
}

export interface Kind {
    name: string;
    said: string;
    findings: Finding[];
    warning: string;
}

export class Why {
    readonly name = 'why';
    readonly title = 'Why';
    readonly note = element('span', { class: 'note' });
    private readonly scroller = element('div', { class: 'scroller words', tabindex: '0', 'aria-label': 'Why some requests take longer' });
    readonly element = element('section', { class: 'panel requests', 'data-panel': 'why', 'aria-label': this.title });

    constructor(private readonly choose: (finding: Finding) => void, close: () => void) {
        this.element.append(element('div', { class: 'head' }, element('h2', {}, this.title), this.note, button('×', 'Close Why', close)), this.scroller);
        this.scroller.addEventListener('keydown', event => this.key(event));
    }

    show(kinds: Kind[]): void {
        this.note.textContent = kinds.length ? 'the slow requests against the typical ones; Enter on a sentence goes to the place it is about' :
            'no requests were seen: they need network events of the client';
        this.scroller.replaceChildren(...kinds.map(kind => this.kind(kind)));
    }

    private kind(kind: Kind): HTMLElement {
        const made = element('article', {}, element('h3', {}, kind.name), element('p', {}, kind.said));
        if (kind.findings.length) {
            made.append(element('ol', {}, ...kind.findings.map(finding => this.finding(finding))));
        }
        if (kind.warning) {
            made.append(element('p', { class: 'problem' }, kind.warning));
        }
        return made;
    }

    private finding(finding: Finding): HTMLElement {
        const made = element('button', { type: 'button', 'data-finding': `${finding.request}` }, finding.said);
        made.addEventListener('click', () => {
            this.scroller.querySelectorAll('button').forEach(other => other.setAttribute('aria-current', `${other === made}`));
            this.choose(finding);
        });
        return element('li', {}, made, element('p', {}, finding.evidence));
    }

    // Up and down go from sentence to sentence.
    private key(event: KeyboardEvent): void {
        const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
        if (step) {
            const all = [...this.scroller.querySelectorAll('button')];
            const at = all.indexOf(document.activeElement as HTMLButtonElement);
            all[Math.max(0, Math.min(at + step, all.length - 1))]?.focus();
            event.preventDefault();
            event.stopPropagation();
        }
    }

    focus(): void {
        (this.scroller.querySelector('button') || this.scroller).focus();
    }
}

// SPDX-License-Identifier: MIT
// What lull why says of the requests and of the instances of periods; each sentence leads to the place that it is about.

import { element, panel } from './dom';
import { Page, Panel } from './page';

export interface Finding {
    said: string;
    evidence: string;
    request: number; // or instance of the period
    start: number;
    end: number;
    row: number; // or -1
}

export interface Kind {
    period: string; // '': of requests
    name: string;
    said: string;
    findings: Finding[];
    warning: string;
}

export class Why implements Panel {
    readonly note = element('span', { class: 'note' });
    private readonly scroller = element('div', { class: 'scroller words', tabindex: '0', 'aria-label': 'Why some requests take longer' });
    readonly element: HTMLElement;

    constructor(private readonly page: Page) {
        this.element = panel('why', 'Why', this.note, () => page.hide('why'));
        this.element.classList.add('long');
        this.element.append(this.scroller);
        this.scroller.addEventListener('keydown', event => this.key(event));
    }

    async fill(): Promise<void> {
        const { kinds } = await this.page.api.ask<{ kinds: Kind[] }>('why');
        this.note.textContent = kinds.length ? 'the slow requests against the typical ones; Enter on a sentence goes to the place it is about' :
            'no requests were seen: they need network events of the client';
        this.scroller.replaceChildren(...kinds.map(kind => this.kind(kind)));
    }

    private kind(kind: Kind): HTMLElement {
        const made = element('article', { 'data-period': kind.period }, element('h3', {}, [kind.period && `Period ${kind.period}`, kind.name].filter(name => name).join(': ')), element('p', {}, kind.said));
        if (kind.findings.length) {
            made.append(element('ol', {}, ...kind.findings.map(finding => this.finding(finding, kind.period))));
        }
        if (kind.warning) {
            made.append(element('p', { class: 'problem' }, kind.warning));
        }
        return made;
    }

    private finding(finding: Finding, period: string): HTMLElement {
        const made = element('button', { type: 'button', 'data-finding': `${finding.request}` }, finding.said);
        made.addEventListener('click', () => {
            this.scroller.querySelectorAll('button').forEach(other => other.setAttribute('aria-current', `${other === made}`));
            void this.choose(finding, period);
        });
        return element('li', {}, made, element('p', {}, finding.evidence));
    }

    // To the place a sentence is about, on the path of the one that has most of it.
    private async choose({ request, start, end, row }: Finding, period: string): Promise<void> {
        const { flow } = this.page;
        if (await flow.goTo(period ? { period, instance: request } : { request }, start, end) && row >= 0) {
            await this.page.select(row, Math.floor((start + end) / 2), flow.graph);
        }
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

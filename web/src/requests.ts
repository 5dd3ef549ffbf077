// SPDX-License-Identifier: MIT
// The requests that the machines sent each other, slowest first; one that is chosen shows its critical path.

import { button, element } from './dom';
import { Trace } from './model';
import { duration, offset } from './time';

// id, host, tid, comm, peer, port, start, end, blocked, sent, received, row or -1
export type RawRequest = [number, number, number, string, string, number, number, number, number, number, number, number];

const SHOWN = 500;

export class Requests {
    readonly name = 'requests';
    readonly title = 'Requests';
    readonly note = element('span', { class: 'note' });
    private readonly body = element('tbody');
    private readonly scroller = element('div', { class: 'scroller' });
    readonly element: HTMLElement;

    constructor(private readonly trace: Trace, private readonly choose: (request: RawRequest) => void, close: () => void) {
        const headings = ['Start', 'Host', 'Client', 'Server', 'Took', 'Blocked'];
        this.scroller.append(element('table', { class: 'table' },
            element('thead', {}, element('tr', {}, ...headings.map(text => element('th', { scope: 'col' }, text)))), this.body));
        this.element = element('section', { class: 'panel requests', 'data-panel': 'requests', 'aria-label': this.title },
            element('div', { class: 'head' }, element('h2', {}, this.title), this.note, button('×', 'Close Requests', close)), this.scroller);
        this.body.addEventListener('keydown', event => this.key(event));
    }

    show(count: number, requests: RawRequest[]): void {
        const shown = requests.slice(0, SHOWN);
        this.note.textContent = count ? `slowest first${shown.length < count ? `, ${shown.length} of ${count}` : ''}; Enter shows the critical path` :
            'none were seen: they need network events of the client';
        this.body.replaceChildren(...shown.map((request, index) => this.row(request, index)));
    }

    private row(request: RawRequest, index: number): HTMLElement {
        const [id, host, tid, comm, peer, port, start, end, blocked] = request;
        const cells = [offset(start, 1e6), this.trace.hosts[host], `${comm} (${tid})`, `${peer}:${port}`, duration(end - start), duration(blocked)];
        const made = element('tr', { tabindex: index ? '-1' : '0', 'data-request': `${id}` },
            ...cells.map((text, at) => element('td', at > 3 || !at ? { class: 'number' } : {}, text)));
        made.addEventListener('click', () => this.choose(request));
        made.addEventListener('keydown', event => {
            if (event.key === 'Enter') {
                event.stopPropagation();
                this.choose(request);
            }
        });
        return made;
    }

    private key(event: KeyboardEvent): void {
        const row = (event.target as Element).closest('tr');
        const next = event.key === 'ArrowDown' ? row?.nextElementSibling : event.key === 'ArrowUp' ? row?.previousElementSibling : null;
        if (next instanceof HTMLElement) {
            event.preventDefault();
            next.focus();
        }
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.stopPropagation();
        }
    }

    mark(id: number): void {
        this.body.querySelectorAll('tr').forEach(row => row.classList.toggle('selected', row.dataset.request === `${id}`));
    }

    focus(): void {
        this.body.querySelector('tr')?.focus();
    }
}

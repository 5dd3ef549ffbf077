// SPDX-License-Identifier: MIT
// The requests that the machines sent each other, slowest first; one that is chosen shows its critical path.

import { element, panel } from './dom';
import { Page, Panel } from './page';
import { duration, offset } from './time';

// id, host, tid, comm, peer, port, start, end, blocked, sent, received, row or -1
export type RawRequest = [number, number, number, string, string, number, number, number, number, number, number, number];

const SHOWN = 500;

export class Requests implements Panel {
    readonly note = element('span', { class: 'note' });
    private readonly body = element('tbody');
    private readonly scroller = element('div', { class: 'scroller' });
    readonly element: HTMLElement;

    constructor(private readonly page: Page) {
        const headings = ['Start', 'Host', 'Client', 'Server', 'Took', 'Blocked'];
        this.scroller.append(element('table', { class: 'table' },
            element('thead', {}, element('tr', {}, ...headings.map(text => element('th', { scope: 'col' }, text)))), this.body));
        this.element = panel('requests', 'Requests', this.note, () => page.hide('requests'));
        this.element.classList.add('long');
        this.element.append(this.scroller);
        this.body.addEventListener('keydown', event => this.key(event));
    }

    async fill(): Promise<void> {
        const { count, requests } = await this.page.api.ask<{ count: number; requests: RawRequest[] }>('requests');
        const shown = requests.slice(0, SHOWN);
        this.note.textContent = count ? `slowest first${shown.length < count ? `, ${shown.length} of ${count}` : ''}; Enter shows the critical path` :
            'none were seen: they need network events of the client';
        this.body.replaceChildren(...shown.map((request, index) => this.row(request, index)));
    }

    private row(request: RawRequest, index: number): HTMLElement {
        const [id, host, tid, comm, peer, port, start, end, blocked] = request;
        const cells = [offset(start, 1e6), this.page.trace.hosts[host], `${comm} (${tid})`, `${peer}:${port}`, duration(end - start), duration(blocked)];
        const made = element('tr', { tabindex: index ? '-1' : '0', 'data-request': `${id}` },
            ...cells.map((text, at) => element('td', at > 3 || !at ? { class: 'number' } : {}, text)));
        made.addEventListener('click', () => void this.choose(request));
        made.addEventListener('keydown', event => {
            if (event.key === 'Enter') {
                event.stopPropagation();
                void this.choose(request);
            }
        });
        return made;
    }

    // Shows its path, and selects where the client waited first.
    private async choose(request: RawRequest): Promise<void> {
        const [id, , , , , , start, end, , , , row] = request;
        const { flow: critical } = this.page;
        this.mark(id);
        const isThere = await critical.goTo({ request: id }, start, end);
        const { flow, graph } = critical;
        if (isThere && flow && row >= 0) {
            const away = flow.segments.find(segment => flow.entries[segment.entry].row !== row) || flow.segments[0];
            graph.focus();
            await this.page.select(row, Math.floor(away ? (away.start + away.end) / 2 : start), graph);
        }
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

    private mark(id: number): void {
        this.body.querySelectorAll('tr').forEach(row => row.classList.toggle('selected', row.dataset.request === `${id}`));
    }

    focus(): void {
        this.body.querySelector('tr')?.focus();
    }
}

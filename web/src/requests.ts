// SPDX-License-Identifier: MIT
// The requests that the machines sent each other, slowest first; one that is chosen shows its critical path.

import { element, panel } from './dom';
import { Page, Panel } from './page';
import { Table } from './table';
import { duration, offset } from './time';

// id, host, tid, comm, peer, port, start, end, blocked, sent, received, row or -1
export type RawRequest = [number, number, number, string, string, number, number, number, number, number, number, number];

const SHOWN = 500;

export class Requests implements Panel {
    readonly note = element('span', { class: 'note' });
    readonly element: HTMLElement;
    private readonly table: Table<RawRequest>;

    constructor(private readonly page: Page) {
        this.table = new Table<RawRequest>([
            { title: 'Start', text: request => offset(request[6], 1e6), isNumber: true },
            { title: 'Host', text: request => page.trace.hosts[request[1]] },
            { title: 'Client', text: request => `${request[3]} (${request[2]})` },
            { title: 'Server', text: request => `${request[4]}:${request[5]}` },
            { title: 'Took', text: request => duration(request[7] - request[6]), isNumber: true },
            { title: 'Blocked', text: request => duration(request[8]), isNumber: true },
        ], request => void this.choose(request));
        this.element = panel('requests', 'Requests', this.note, () => page.hide('requests'));
        this.element.classList.add('long');
        this.element.append(element('div', { class: 'scroller' }, this.table.element));
    }

    async fill(): Promise<void> {
        const { count, requests } = await this.page.api.ask<{ count: number; requests: RawRequest[] }>('requests');
        const shown = requests.slice(0, SHOWN);
        this.note.textContent = count ? `slowest first${shown.length < count ? `, ${shown.length} of ${count}` : ''}; Enter shows the critical path` :
            'none were seen: they need network events of the client';
        this.table.show(shown, ([id]) => ({ 'data-request': `${id}` }));
    }

    // Shows its path, and selects where the client waited first.
    private async choose(request: RawRequest): Promise<void> {
        const [id, , , , , , start, end, , , , row] = request;
        const { flow: critical } = this.page;
        this.table.select(request);
        const isThere = await critical.goTo({ request: id }, start, end);
        const { flow, graph } = critical;
        if (isThere && flow && row >= 0) {
            const away = flow.segments.find(segment => flow.entries[segment.entry].row !== row) || flow.segments[0];
            graph.focus();
            await this.page.select(row, Math.floor(away ? (away.start + away.end) / 2 : start), graph);
        }
    }

    focus(): void {
        this.table.focus();
    }
}

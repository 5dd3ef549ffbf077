// SPDX-License-Identifier: MIT
// The requests that the machines sent each other, or the instances of a period, slowest first; one that is chosen shows its
// critical path.

import { element, panel } from './dom';
import { FlowOf } from './fragment';
import { Page, Panel } from './page';
import { Table } from './table';
import { duration, offset } from './time';

// id, host, tid, comm, peer, port, start, end, blocked, sent, received, row or -1
type RawRequest = [number, number, number, string, string, number, number, number, number, number, number, number];
// number, host, tid, comm, start, end, row or -1, captures
type RawInstance = [number, number, number, string, number, number, number, string];

// What the table shows of either.
interface Item {
    of: FlowOf;
    number: number;
    host: number;
    who: string;
    about: string;
    start: number;
    end: number;
    blocked: number; // -1: not known
    row: number;
}

const SHOWN = 500;

export class Requests implements Panel {
    readonly note = element('span', { class: 'note' });
    readonly element: HTMLElement;
    private readonly select = element('select', { 'aria-label': 'Requests or a period' });
    private readonly scroller = element('div', { class: 'scroller' });
    private table: Table<Item>;
    private period = ''; // '': requests
    private isFilled = false;

    constructor(private readonly page: Page) {
        this.table = this.newTable();
        this.element = panel('requests', 'Requests', this.note, () => page.hide('requests'));
        this.element.classList.add('long');
        this.note.before(element('span', { class: 'choices' }, this.select));
        this.select.hidden = true;
        this.select.addEventListener('change', () => {
            this.period = this.select.value;
            page.changed();
            this.refill();
        });
        this.element.append(this.scroller);
    }

    private newTable(): Table<Item> {
        const { page, period } = this;
        const table = new Table<Item>([
            { title: 'Start', text: item => offset(item.start, 1e6), isNumber: true },
            { title: 'Host', text: item => page.trace.hosts[item.host] },
            { title: period ? 'Task' : 'Client', text: item => item.who },
            { title: period ? 'Captured' : 'Server', text: item => item.about },
            { title: 'Took', text: item => duration(item.end - item.start), isNumber: true },
            ...(period ? [] : [{ title: 'Blocked', text: (item: Item) => duration(item.blocked), isNumber: true }]),
        ], item => void this.choose(item));
        this.scroller.replaceChildren(table.element);
        return table;
    }

    async fill(): Promise<void> {
        const { api } = this.page, period = this.period;
        this.isFilled = true;
        const { periods } = await api.ask<{ periods: string[] }>('periods');
        this.select.replaceChildren(element('option', { value: '' }, 'Requests'), ...periods.map(name => element('option', { value: name }, `Period ${name}`)));
        this.select.value = period;
        this.select.hidden = !periods.length;
        this.table = this.newTable();
        const { count, items } = await (period ? this.instances(period) : this.requests());
        if (period !== this.period) {
            return; // another list is wanted now
        }
        const shown = items.slice(0, SHOWN);
        const none = period ? 'there are none' : 'none were seen: they need network events of the client';
        this.note.textContent = count ? `slowest first${shown.length < count ? `, ${shown.length} of ${count}` : ''}; Enter shows the critical path` : none;
        this.table.show(shown, ({ number }) => ({ 'data-request': `${number}` }));
    }

    private async requests(): Promise<{ count: number; items: Item[] }> {
        const { count, requests } = await this.page.api.ask<{ count: number; requests: RawRequest[] }>('requests');
        return { count, items: requests.map(([number, host, tid, comm, peer, port, start, end, blocked, , , row]) =>
            ({ of: { request: number }, number, host, who: `${comm} (${tid})`, about: `${peer}:${port}`, start, end, blocked, row })) };
    }

    private async instances(period: string): Promise<{ count: number; items: Item[] }> {
        const { count, instances } = await this.page.api.ask<{ count: number; instances: RawInstance[] }>('instances', { period });
        return { count, items: instances.map(([number, host, tid, comm, start, end, row, captures]) =>
            ({ of: { period, instance: number }, number, host, who: `${comm} (${tid})`, about: captures, start, end, blocked: -1, row })) };
    }

    state(): string {
        return this.period;
    }

    restore(state: string): void {
        const isOther = state !== this.period;
        this.period = state;
        if (isOther && this.isFilled) {
            this.refill();
        }
    }

    private refill(): void {
        this.fill().catch((problem: Error) => {
            this.note.textContent = problem.message;
        });
    }

    // Shows its path, and selects where it waited for others first.
    private async choose(item: Item): Promise<void> {
        const { of, start, end, row } = item;
        const { flow: critical } = this.page;
        this.table.select(item);
        const isThere = await critical.goTo(of, start, end);
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

// SPDX-License-Identifier: MIT
// Critical flow: the critical path of the selected task, or of a request.

import { Flow, RawFlow } from './flow';
import { FlowOf } from './fragment';
import { Graph } from './graph';
import { Page, Panel } from './page';
import { phraseOf } from './states';
import { duration } from './time';
import { Tree } from './tree';

export class CriticalFlow implements Panel {
    readonly graph: Graph;
    readonly element: HTMLElement;
    of: FlowOf | null = null;
    flow: Flow | null = null; // null: none was asked for, or it has not come yet

    constructor(private readonly page: Page) {
        this.graph = new Graph('flow', 'Critical flow', page, () => page.hide('flow'));
        this.element = this.graph.element;
        this.set(null);
    }

    focus(): void {
        this.graph.focus();
    }

    draw(): void {
        this.graph.draw();
    }

    update(): void {
        this.graph.update();
    }

    right(): number {
        return this.graph.right();
    }

    renew(): void {
        if (this.page.trace.isWhole && this.of && !this.flow) {
            void this.ask(this.of);
        }
    }

    private set(flow: Flow | null): void {
        const { graph, page } = this;
        this.flow = flow;
        if (!flow) {
            graph.note.textContent = 'select a task and press C, or choose one of the Requests';
            graph.show({ tree: new Tree([], () => '') });
            return;
        }
        const { raw } = flow;
        const tidOf = new Map(raw.tasks.map(([, , tid, row]) => [row, tid]));
        const parts = flow.sums().slice(0, 3).map(([word, ns]) => `${phraseOf(word)} ${duration(ns)}`);
        graph.note.textContent = `${raw.name} (${raw.tid}) on ${raw.host}: ${duration(raw.end - raw.start)}; ${parts.join(', ')}` +
            `${raw.lost ? `; ${raw.lost} events were lost` : ''}${raw.cut ? '; only its start is shown' : ''}`;
        graph.show({
            tree: new Tree(flow.entries, row => `${tidOf.get(row) ?? ''}`), isWhole: true,
            spans: line => flow.byEntry[line.entry] || [],
            arrows: () => flow.arrows,
        });
        if (page.selected) {
            graph.reveal(page.selected.row);
        }
    }

    private question(of: FlowOf): object {
        return 'place' in of ? { row: this.page.places.row(of.place, of.start), start: of.start, end: of.end } : of;
    }

    // False if there is no such path, or not yet.
    async ask(of: FlowOf): Promise<boolean> {
        const { page } = this;
        this.of = of;
        if (!page.trace.isWhole) {
            this.graph.note.textContent = 'comes when all of the traces is indexed';
            return false;
        }
        this.graph.note.textContent = 'reading the traces…';
        try {
            const raw = await page.api.ask<RawFlow>('flow', this.question(of));
            if (this.of !== of) {
                return false; // another one is wanted now
            }
            this.set(new Flow(raw, page.states));
            page.changed();
            return true;
        } catch (problem) {
            if (this.of === of) {
                this.of = null;
                this.set(null);
                page.say((problem as Error).message, true);
            }
            return false;
        }
    }

    // Of the selected task, in the selected range or in what is seen.
    async askSelected(): Promise<void> {
        const { page } = this;
        if (!page.selected) {
            page.say('Select a task first: its critical path is what it waited for, through all tasks and machines.', true);
            return;
        }
        const of = page.range || page.window;
        page.show('flow');
        await this.askRow(page.selected.row, of.start, of.end);
    }

    askRow(row: number, start: number, end: number): Promise<boolean> {
        return this.ask({ place: this.page.places.of(row), start: Math.floor(start), end: Math.ceil(end) });
    }

    // Along the arrows of the path, to the next one or back over the one before.
    async goAlong(step: 1 | -1): Promise<void> {
        const { page, flow, graph } = this;
        const found = flow?.across(page.selected ? page.selected.time : flow.raw.start, step);
        if (!flow) {
            page.say('[ and ] go along the arrows of a critical path: select a task and press C to see one.', true);
        } else if (!found) {
            page.say(`The critical path goes to no other task ${step > 0 ? 'after' : 'before'} this.`);
        } else {
            if (!page.isShown('flow')) {
                page.show('flow');
            }
            await page.select(found.row, found.time, graph);
        }
    }

    // Goes to a range of a path, and shows it.
    async goTo(of: FlowOf, start: number, end: number): Promise<boolean> {
        this.page.goTo({ start, end });
        if (!this.page.isShown('flow')) {
            this.page.show('flow');
        }
        return this.ask(of);
    }

    // What it knows of a row at a time.
    said(row: number, time: number): string {
        const segment = this.flow?.segments[this.flow.at(time)];
        return segment?.label && this.flow?.entries[segment.entry].row === row ? ` On the critical path: ${segment.label}.` : '';
    }
}

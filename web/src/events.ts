// SPDX-License-Identifier: MIT
// Events: a table of the events themselves, around what is selected or seen, as far as a filter lets them pass. It asks for a page
// at a time, so it costs the same in a trace of any length.

import { button, element, painter, panel } from './dom';
import { Answer, EventRows, Place, RawEvent } from './eventrows';
import { Page, Panel } from './page';
import { nameOf } from './sentence';
import { offset } from './time';
import { Range } from './viewport';

const LINE = 22; // CSS pixels
const AHEAD = 40; // lines
const ASK_AFTER = 150; // ms without a change

export class Events implements Panel {
    readonly note = element('span', { class: 'note' });
    readonly element: HTMLElement;
    private readonly filterInput = element('input', { type: 'search', placeholder: 'Filter: name =~ "sched_*" && tid == 7', 'aria-label': 'Filter events', class: 'filter' });
    private readonly findInput = element('input', { type: 'search', placeholder: 'Find', 'aria-label': 'Find a text in events' });
    private readonly scroller = element('div', { class: 'scroller events', tabindex: '0', role: 'grid', 'aria-label': 'Events' });
    private readonly spacer = element('div', { class: 'spacer' });
    private readonly lines = element('div', { class: 'lines' });
    private readonly whole = element('p', { class: 'whole', hidden: '' }); // the chosen event, with all of its fields
    private readonly rows: EventRows;
    private filter = '';
    private limits: Range | null = null;
    private anchor: Place = { time: -1, index: 0 };
    private chosen: Place | null = null;
    private queue: Promise<void> = Promise.resolve(); // parts come one after the other
    private pending = 0;
    private isReady = false;
    private written = '';
    private timer = 0;
    private readonly repaint = painter(() => { this.drawNow(); });

    constructor(private readonly page: Page) {
        this.rows = new EventRows(parameters => this.ask(parameters));
        this.element = panel('events', 'Events', this.note, () => page.hide('events'));
        this.element.classList.add('long');
        this.note.before(element('span', { class: 'choices' }, this.filterInput, this.findInput,
            button('▲', 'Find the one before', () => void this.find(false)), button('▼', 'Find the next', () => void this.find(true))));
        this.scroller.append(this.spacer, this.lines);
        this.element.append(this.heading(), this.scroller, this.whole);
        this.filterInput.addEventListener('change', () => this.setFilter(this.filterInput.value.trim()));
        this.findInput.addEventListener('keydown', event => {
            if (event.key === 'Enter') {
                void this.find(!event.shiftKey);
            }
        });
        this.scroller.addEventListener('scroll', () => this.draw());
        this.scroller.addEventListener('keydown', event => this.key(event));
        this.lines.addEventListener('pointerleave', () => page.setHover(null));
        new ResizeObserver(() => this.draw()).observe(this.scroller);
    }

    private heading(): HTMLElement {
        const names = ['Time', ...(this.page.trace.hosts.length > 1 ? ['Host'] : []), 'CPU', 'Task', 'Event', 'Fields'];
        return element('div', { class: 'line heading', role: 'row' },
            ...names.map(name => element('span', { role: 'columnheader', class: `is-${name.toLowerCase()}` }, name)));
    }

    focus(): void {
        this.scroller.focus({ preventScroll: true });
    }

    async fill(): Promise<void> {
        this.isReady = true;
        this.note.textContent = '';
        this.draw();
    }

    state(): string {
        return this.filter;
    }

    restore(state: string): void {
        this.filterInput.value = state;
        if (state !== this.filter) {
            this.setFilter(state);
        }
    }

    private setFilter(filter: string): void {
        this.filter = filter;
        this.anchor = { time: -1, index: 0 };
        this.page.changed();
        this.draw();
    }

    private say(text: string, isProblem = false): void {
        this.note.textContent = this.note.title = text;
        this.note.classList.toggle('problem', isProblem);
    }

    // ---- pages ----

    private ask(parameters: object): Promise<Answer> {
        return this.page.api.ask<Answer>('events', { ...parameters, ...this.limits, ...(this.filter ? { filter: this.filter } : {}) });
    }

    // Where the table should be: at what is selected, if that is seen, else where what is seen starts.
    private wanted(): Place {
        const { selected, window: seen } = this.page, limits = this.limits || { start: -Infinity, end: Infinity };
        const isSeen = selected && selected.time >= Math.max(seen.start, limits.start) && selected.time < Math.min(seen.end, limits.end);
        return { time: isSeen && selected ? selected.time : Math.floor(Math.max(seen.start, limits.start, 0)), index: 0 };
    }

    // After the range, the selection or what is seen has changed: not at each step of a movement.
    private follow(): void {
        clearTimeout(this.timer);
        this.timer = window.setTimeout(() => {
            const { range } = this.page;
            const limits = range && { start: Math.floor(range.start), end: Math.ceil(range.end) };
            const wanted = this.wanted(), isOther = limits?.start !== this.limits?.start || limits?.end !== this.limits?.end;
            if (!this.isReady || !this.page.isShown('events') || (!isOther && wanted.time === this.anchor.time)) {
                return;
            }
            const isNew = isOther || this.anchor.time < 0;
            this.limits = limits;
            this.anchor = isOther ? this.wanted() : wanted;
            if (this.chosen && this.chosen.time === this.anchor.time && !isNew) {
                return; // chosen here
            }
            this.chosen = null;
            this.whole.hidden = true;
            void this.goTo(this.anchor, isNew);
        }, ASK_AFTER);
    }

    private async goTo(place: Place, isNew: boolean): Promise<void> {
        if (isNew || !this.rows.covers(place)) {
            this.rows.start(place);
            this.written = '';
            this.scroller.scrollTop = 0;
            await this.load(true);
            await this.load(false);
        }
        const at = this.rows.find(place);
        this.scroller.scrollTop = Math.max(0, at - 2) * LINE;
        this.draw();
    }

    private async load(isForward: boolean): Promise<void> {
        this.pending++;
        this.queue = this.queue.then(() => this.add(isForward));
        await this.queue;
        this.pending--;
        this.draw();
    }

    // Adds a part at one end. What is seen stays where it is.
    private async add(isForward: boolean): Promise<void> {
        try {
            const found = await this.rows.more(isForward);
            if (found === null) {
                return;
            }
            const dropped = this.rows.trim(isForward), shift = isForward ? -dropped : found;
            this.place();
            this.scroller.scrollTop += shift * LINE;
            this.written = '';
            this.sayRange();
        } catch (problem) {
            this.rows.hasFirst = this.rows.hasLast = true;
            this.say((problem as Error).message, true);
        }
    }

    private sayRange(): void {
        const { rows, before, after, hasFirst, hasLast } = this.rows;
        if (!rows.length) {
            this.say(hasFirst && hasLast ? `no event${this.filter ? ' passes the filter' : ''}${this.limits ? ' in the selected range' : ''}`
                : `looked through ${offset(Math.max(0, before.time), 1e6)} to ${offset(after.time, 1e6)}…`);
        } else {
            const what = this.limits ? 'of the selected range' : this.filter ? 'that pass the filter' : '';
            this.say(hasFirst && hasLast ? `${rows.length} events ${what}`.trim() : what ? `events ${what}` : 'all events; a selected range leaves only its own');
        }
    }

    private place(): void {
        this.spacer.style.height = `${this.rows.rows.length * LINE}px`;
    }

    // What is missing around what is seen, one part after the other.
    private async loadSeen(first: number, last: number): Promise<void> {
        if (this.pending || !this.isReady || this.anchor.time < 0) {
            return;
        }
        const { rows } = this;
        const isForward = !rows.hasLast && last + AHEAD > rows.rows.length;
        if (isForward || (!rows.hasFirst && first < AHEAD)) {
            await this.load(isForward);
        }
    }

    // ---- drawing ----

    draw(): void {
        if (this.element.isConnected && this.repaint()) {
            this.follow();
        }
    }

    private drawNow(): void {
        const top = this.scroller.scrollTop, height = this.scroller.clientHeight, all = this.rows.rows;
        if (!height) {
            return;
        }
        const first = Math.max(0, Math.floor(top / LINE)), last = Math.min(all.length, Math.ceil((top + height) / LINE));
        const { selected } = this.page;
        const written = `${first} ${last} ${this.chosen?.time} ${this.chosen?.index} ${selected?.time} ${all.length && all[0][0]}`;
        if (written !== this.written) {
            this.written = written;
            const chosen = this.chosen ? this.rows.find(this.chosen) : -1;
            const now = selected && !this.chosen ? this.rows.find({ time: selected.time, index: 0 }) : -1;
            this.lines.replaceChildren(...all.slice(first, last).map((event, i) => this.line(event, first + i, first + i === chosen, first + i === now)));
            this.scroller.setAttribute('aria-rowcount', `${all.length}`);
        }
        void this.loadSeen(first, last);
    }

    // `isNow`: the first that is not before what is selected.
    private line(event: RawEvent, at: number, isChosen: boolean, isNow: boolean): HTMLElement {
        const { trace } = this.page;
        const [time, index, host, cpu, name, fields, row] = event;
        const cell = (kind: string, text: string) => element('span', { role: 'gridcell', class: `is-${kind}` }, text);
        const made = element('div', {
            class: `line${isChosen ? ' selected' : ''}${isNow ? ' now' : ''}`, role: 'row', 'aria-rowindex': `${at + 1}`, 'aria-selected': `${isChosen}`,
            'data-event': `${time},${index}`, title: `${name} ${fields}`,
        }, cell('time', offset(time, 1)), ...(trace.hosts.length > 1 ? [cell('host', trace.hosts[host] || '')] : []), cell('cpu', cpu < 0 ? '' : `${cpu}`),
        cell('task', row < 0 ? '' : nameOf(trace, row)), cell('event', name), cell('fields', fields));
        made.style.top = `${at * LINE}px`;
        made.addEventListener('click', () => void this.choose(at));
        made.addEventListener('pointermove', () => this.page.setHover(time));
        return made;
    }

    // ---- choosing ----

    private async choose(at: number): Promise<void> {
        const event = this.rows.rows[at];
        if (!event) {
            return;
        }
        const [time, index, , , name, fields, row] = event;
        this.chosen = { time, index };
        this.whole.hidden = false;
        this.whole.textContent = `${name}: ${fields}`;
        const top = at * LINE, height = this.scroller.clientHeight;
        if (top < this.scroller.scrollTop) {
            this.scroller.scrollTop = top;
        } else if (top + LINE > this.scroller.scrollTop + height) {
            this.scroller.scrollTop = top + LINE - height;
        }
        this.draw();
        if (row >= 0) {
            await this.page.select(row, time);
        } else {
            this.page.setHover(time);
        }
    }

    private key(event: KeyboardEvent): void {
        const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
        const step = steps[event.key];
        if (step) {
            event.preventDefault();
            event.stopPropagation();
            const at = this.chosen ? this.rows.find(this.chosen) + step : Math.ceil(this.scroller.scrollTop / LINE);
            void this.choose(Math.max(0, at));
        } else if (['PageUp', 'PageDown', ' '].includes(event.key)) {
            event.stopPropagation(); // the browser scrolls
        }
    }

    // The next event with the text, or the one before.
    private async find(isForward: boolean): Promise<void> {
        const text = this.findInput.value, all = this.rows.rows;
        const first = all[Math.ceil(this.scroller.scrollTop / LINE)];
        const from = this.chosen || (first ? { time: first[0], index: first[1] } : this.anchor);
        if (!text) {
            return this.findInput.focus();
        }
        let place: Place = isForward && this.chosen ? { time: from.time, index: from.index + 1 } : from;
        try {
            for (let isEnd = false; !isEnd && text === this.findInput.value;) {
                const { rows, reached, is_end } = await this.ask({ ...place, count: isForward ? 1 : -1, find: text });
                if (rows.length) {
                    const found = { time: rows[0][0], index: rows[0][1] };
                    this.chosen = found;
                    await this.goTo(found, false);
                    this.sayRange();
                    return await this.choose(this.rows.find(found));
                }
                isEnd = is_end;
                place = { time: reached, index: 0 };
                this.say(isEnd ? `“${text}” does not occur ${isForward ? 'after' : 'before'} this` : `looking for it: ${offset(reached, 1e6)}…`, isEnd);
            }
        } catch (problem) {
            this.say((problem as Error).message, true);
        }
    }
}

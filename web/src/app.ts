// SPDX-License-Identifier: MIT
// The page: its panels share one range of time, one selection and one search, which the address of the page holds.

import { Api } from './api';
import { drawAxis, Overview } from './axis';
import type { CriticalFlow } from './criticalflow';
import { Details } from './details';
import { button, element, switchTheme } from './dom';
import { format, Moment, parse, Shown } from './fragment';
import { Graph } from './graph';
import { selectionTools, tools } from './head';
import { helpDialog } from './help';
import { History } from './history';
import { Action, actionOf } from './keys';
import { Marks } from './marks';
import { hasCalls, Interval, Trace } from './model';
import { Page, Panel, View } from './page';
import { Pins, Places } from './place';
import { Rows } from './rows';
import { Drawn, saveSvg, scaleOf } from './save';
import { sentence } from './sentence';
import { absolute, duration } from './time';
import { Totals } from './totals';
import { clamp, fit, fitOrAll, pan, Range, reveal, zoom } from './viewport';
import { views as allViews } from './views';

const ADDRESS_AFTER = 200; // ms without a change

export class App implements Page {
    readonly states: string[];
    readonly length: number;
    window: Range;
    range: Range | null = null;
    selected: Moment | null = null;
    hover: number | null = null;
    query = '';
    private interval: Interval | null = null;
    private readonly past = new History(); // of what is seen and selected
    private readonly marks: Marks;
    private readonly trail: { moment: Moment; panel: Graph }[] = [];
    readonly rows: Rows;
    readonly places: Places;
    readonly pins: Pins;
    private awaited: Shown['selected'] = null; // by the address, until it is indexed
    private awaitedViews: Shown['panels'] = null; // of the address
    private views: View[] = []; // those that are of these traces
    private readonly nav = element('nav', { 'aria-label': 'Views' });
    private readonly panels: Record<string, Panel> = {};
    private shown: string[];
    private active: Graph;
    private readonly filled = new Set<string>(); // panels that were shown
    private addressTimer = 0;
    private asked = 0; // the latest question about the selection
    private address = ''; // as it was read or written last

    private readonly main = element('main');
    private readonly switches = new Map<string, HTMLButtonElement>();
    private readonly search = element('input', { type: 'search', placeholder: 'Search rows (/)', 'aria-label': 'Search rows' });
    private readonly axis = element('canvas', { class: 'axis', 'aria-hidden': 'true' });
    private readonly overviewCanvas = element('canvas', { class: 'overview', 'aria-label': 'The whole trace; drag to move' });
    private readonly clock = element('span', { class: 'clock', title: 'Start of what is seen, in UTC' });
    private readonly span = element('span', { class: 'span', title: 'Length of what is seen' });
    private readonly overview: Overview;
    private readonly indexed = element('progress', { max: '1', 'aria-label': 'Indexing the traces', title: 'Indexing the traces' });
    private readonly details = new Details();
    private readonly totals: Totals;
    private readonly dialog: HTMLDialogElement;

    constructor(readonly trace: Trace, readonly api: Api) {
        this.states = trace.states;
        this.dialog = helpDialog(trace.states);
        this.length = trace.length;
        this.window = { start: 0, end: trace.length };
        this.places = new Places(trace);
        this.pins = new Pins(this.places);
        this.totals = new Totals(trace, api, this.details);
        this.rows = new Rows(api, trace.length, () => this.drawPanels(), problem => this.details.say(problem, true));
        this.addViews();
        this.active = this.graph('tasks');
        // Without events of a kernel there is nothing but calls.
        const ofKernel = !hasCalls(trace) || trace.rows.some(row => row.ran > 0) ? (window.innerWidth < 700 ? ['tasks'] : ['tasks', 'cpus']) : [];
        this.shown = [...ofKernel, ...['states', 'calls'].filter(name => name in this.panels)];
        this.overview = new Overview(this.overviewCanvas, this.length, time => {
            const half = (this.window.end - this.window.start) / 2;
            this.setWindow({ start: time - half, end: time + half });
        });
        this.marks = new Marks(this.length, mark => (mark.end > mark.start ? this.goTo(mark) : this.goToTime(mark.start)), () => this.drawMarks());
        this.build();
    }

    // ---- what is on the page ----

    private all(): Panel[] {
        return Object.values(this.panels);
    }

    get flow(): CriticalFlow {
        return this.panels.flow as CriticalFlow;
    }

    private graph(name: string): Graph {
        return this.panels[name].graph as Graph;
    }

    private graphs(): Graph[] {
        return this.all().flatMap(panel => panel.graph || []);
    }

    // Of what is indexed.
    private showProgress(): void {
        this.indexed.value = this.trace.done / this.trace.length;
        this.indexed.hidden = this.trace.isWhole;
    }

    // More of the traces is indexed.
    renew(trace: Trace): void {
        Object.assign(this.trace, trace);
        this.rows.renew();
        const added = this.addViews().filter(name => this.awaitedViews?.includes(name) ?? name === 'calls');
        if (added.length) {
            this.shown.push(...added);
            this.layOut();
        }
        this.all().forEach(panel => panel.renew?.());
        this.showProgress();
        this.totals.renew();
        void this.loadOverview();
        if (trace.isWhole) {
            this.filled.clear();
            this.fillShown();
        }
        this.update();
        void this.selectAwaited();
    }

    // Those that the traces are for, as far as they are indexed: more may follow. Returns the new ones.
    private addViews(): string[] {
        const before = new Set(this.views.map(({ name }) => name));
        this.views = allViews.filter(view => before.has(view.name) || (view.isFor?.(this.trace) ?? true));
        const added = this.views.filter(({ name }) => !before.has(name));
        for (const { name, title, make } of added) {
            const made = button(title, `Show or hide ${title}`, () => (this.isShown(name) ? this.hide(name) : this.show(name)));
            made.textContent = title;
            this.switches.set(name, made);
            this.panels[name] = make(this);
        }
        this.nav.replaceChildren(...this.views.flatMap(({ name }) => this.switches.get(name) || []));
        return added.map(({ name }) => name);
    }

    private build(): void {
        const act = (action: Action) => this.act(action);
        const head = element('header', {}, element('h1', { title: this.trace.name }, 'Lull ', element('span', {}, this.trace.hosts.length > 1 ? this.trace.hosts.join(', ') : this.trace.name)), this.nav,
            this.indexed, this.search, tools(act, () => this.save(), () => this.switchTheme()));
        const time = element('div', { class: 'time' }, element('div', { class: 'corner' }, this.clock, this.span),
            element('div', { class: 'scales' }, this.overviewCanvas, this.axis));
        this.details.actions.append(...selectionTools(act));
        this.showProgress();
        document.body.replaceChildren(head, time, this.marks.element, this.main, this.details.element, this.dialog);
        this.search.addEventListener('input', () => this.setQuery(this.search.value));
        this.search.addEventListener('keydown', event => this.searchKey(event));
        document.addEventListener('keydown', event => this.key(event));
        window.addEventListener('resize', () => this.drawAll());
        new ResizeObserver(() => this.drawScales()).observe(this.main); // whose own bar may come or go with its panels
        window.addEventListener('hashchange', () => this.restore());
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.drawAll());
    }

    // From the address, or as it is at first.
    async start(): Promise<void> {
        void this.loadOverview();
        await this.restore();
        this.active.focus();
    }

    private async restore(): Promise<void> {
        const wanted = parse(location.hash);
        this.address = location.hash;
        if (format(wanted) === format(this.described())) {
            return;
        }
        this.awaitedViews = wanted.panels;
        if (wanted.panels) {
            this.shown = wanted.panels.filter(name => name in this.panels);
        }
        this.range = wanted.range ? clamp(wanted.range, this.length) : null;
        this.query = this.search.value = wanted.query;
        this.flow.of = wanted.flow;
        for (const [name, panel] of Object.entries(this.panels)) {
            panel.restore?.(wanted.own[name] || '');
        }
        this.marks.restore(wanted.own.m || '');
        this.pins.list = wanted.pins;
        this.window = clamp(wanted.window || { start: 0, end: this.length }, this.length);
        this.layOut();
        this.selected = this.interval = null;
        this.awaited = wanted.selected;
        this.details.say('');
        await this.selectAwaited();
        // A path without a time is shown whole.
        if (wanted.flow && await this.flow.ask(wanted.flow) && !wanted.window && this.flow.flow) {
            this.setWindow(fit(this.flow.flow.raw, this.length));
        }
    }

    // What the address says is selected, as soon as it is indexed.
    private async selectAwaited(): Promise<void> {
        const { awaited, trace } = this;
        const row = awaited ? this.places.row(awaited.place, awaited.time) : -1;
        if (awaited && row >= 0) {
            await this.select(row, Math.min(awaited.time, this.length - 1), this.panelOf(row));
        } else if (awaited && trace.isWhole) {
            this.awaited = null;
            this.details.say(`The address selects ${awaited.place}, which is not in these traces.`, true);
        }
    }

    private described(): Shown {
        const own: Record<string, string> = this.marks.list.length ? { m: this.marks.state() } : {};
        for (const [name, panel] of Object.entries(this.panels)) {
            const state = panel.state?.();
            if (state) {
                own[name] = state;
            }
        }
        const selected = this.selected ? { place: this.places.of(this.selected.row), time: this.selected.time } : this.awaited;
        return { window: this.window, range: this.range, selected, pins: this.pins.list, panels: this.shown, query: this.query, flow: this.flow.of, own };
    }

    // Panels that are shown, in their order.
    private layOut(): void {
        this.shown = this.views.map(({ name }) => name).filter(name => this.isShown(name));
        this.main.replaceChildren(...this.shown.map(name => this.panels[name].element));
        for (const [name, made] of this.switches) {
            made.setAttribute('aria-pressed', `${this.isShown(name)}`);
        }
        this.fillShown();
        this.update();
    }

    isShown(name: string): boolean {
        return this.shown.includes(name);
    }

    show(name: string): void {
        this.shown = [...this.shown.filter(other => other !== name), name];
        this.layOut();
        (document.activeElement as HTMLElement | null)?.blur();
        this.panels[name].element.scrollIntoView({ block: 'nearest' });
        this.panels[name].focus();
    }

    hide(name: string): void {
        this.shown = this.shown.filter(other => other !== name);
        this.layOut();
    }

    private async loadOverview(): Promise<void> {
        await this.overview.load(this.api, this.trace);
        this.overview.draw(this.window, this.range, this.marks.list);
    }

    // Fills panels when they are first shown.
    private fillShown(): void {
        for (const name of this.shown) {
            if (this.panels[name].fill && !this.filled.has(name)) {
                this.filled.add(name);
                void this.fill(this.panels[name]);
            }
        }
    }

    private async fill(panel: Panel): Promise<void> {
        const note = panel.note || element('span');
        note.textContent = 'reading the traces…';
        try {
            await panel.fill?.();
            if (document.activeElement === document.body || panel.element.contains(document.activeElement)) {
                panel.focus();
            }
        } catch (problem) {
            note.textContent = (problem as Error).message;
        }
    }

    // ---- drawing ----

    private update(): void {
        this.all().forEach(panel => (panel.update ? panel.update() : panel.draw?.()));
        this.drawScales();
        this.changed();
    }

    private drawPanels(): void {
        this.all().forEach(panel => panel.draw?.());
    }

    private drawScales(): void {
        const { start, end } = this.window;
        // The scale ends where the pictures do, beside the bars for scrolling.
        const right = Math.max(...this.all().map(panel => panel.right?.() || 0));
        document.documentElement.style.setProperty('--bar', right > 0 ? `${Math.max(0, window.innerWidth - right)}px` : '0px');
        this.drawAxis();
        this.overview.draw(this.window, this.range, this.marks.list);
        this.clock.textContent = absolute(this.trace.start, start).slice(0, 26);
        this.span.textContent = duration(end - start);
    }

    private drawAxis(): void {
        drawAxis(this.axis, this.window, this.hover, this.marks.list);
    }

    private drawMarks(): void {
        this.drawScales();
        this.changed();
    }

    private drawAll(): void {
        this.drawPanels();
        this.drawScales();
    }

    // The address follows, but not each step of a movement: browsers limit how often it may change.
    changed(): void {
        clearTimeout(this.addressTimer);
        this.addressTimer = window.setTimeout(() => {
            // What someone else has just written there is read first.
            if (location.hash === this.address) {
                history.replaceState(null, '', `#${format(this.described())}`);
                this.address = location.hash;
            }
            this.past.note(this.view());
            void this.totals.ask(this.selected, this.range, this.window);
        }, ADDRESS_AFTER);
    }

    // ---- what panels share ----

    setWindow(wanted: Range): void {
        this.window = clamp(wanted, this.length);
        this.drawAll();
        this.changed();
    }

    zoomAt(factor: number, time: number): void {
        this.setWindow(zoom(this.window, factor, time, this.length));
    }

    setRange(range: Range | null): void {
        this.range = range && range.end > range.start ? { start: Math.max(0, range.start), end: Math.min(this.length, range.end) } : null;
        this.drawAll();
        this.changed();
    }

    goTo(range: Range): void {
        this.window = fit(range, this.length);
        this.setRange(range);
    }

    say(text: string, isProblem = false): void {
        this.details.say(text, isProblem);
    }

    setHover(time: number | null): void {
        this.hover = time;
        this.drawPanels();
        this.drawAxis();
    }

    activate(panel: Graph): void {
        this.active = panel;
    }

    async select(row: number, time: number, panel = this.panelOf(row)): Promise<void> {
        this.active = panel;
        this.awaited = null;
        this.selected = { row, time };
        this.revealSelected();
        this.changed();
        await this.ask('moment', { row, time });
    }

    zoomToSelected(): void {
        if (this.interval && this.interval.end > this.interval.start) {
            this.setWindow(fit(this.interval, this.length));
        }
    }

    private revealSelected(): void {
        if (this.selected) {
            const { row, time } = this.selected;
            this.graphs().forEach(graph => graph.reveal(row));
            this.window = reveal(this.window, time, this.length);
        }
        this.drawAll();
    }

    private panelOf(row: number): Graph {
        const { kind } = this.trace.rows[row];
        return this.active.has(row) ? this.active : this.graph(kind === 'task' ? 'tasks' : kind === 'declared' ? 'states' : kind === 'call' ? 'calls' : 'cpus');
    }

    // Asks about a moment, and selects what the answer is about. False if there is no answer.
    private async ask(what: string, parameters: object): Promise<Interval | null> {
        const number = ++this.asked;
        try {
            const interval = await this.api.ask<Interval>(what, parameters);
            if (number === this.asked) {
                this.interval = interval;
                this.describe();
                return interval;
            }
        } catch (problem) {
            if (number === this.asked) {
                this.details.say((problem as Error).message, true);
            }
        }
        return null;
    }

    // The sentence of the selected interval, and what the critical path knows more of it.
    private describe(): void {
        if (this.interval && this.selected) {
            this.details.say(sentence(this.trace, this.interval) + this.flow.said(this.interval.row, this.selected.time));
        }
    }

    private async step(step: number, extends_: boolean): Promise<void> {
        if (!this.selected) {
            return this.active.move(1);
        }
        const from = this.interval;
        const found = await this.ask('moment', { row: this.selected.row, time: this.selected.time, step });
        if (!found) {
            return;
        }
        if (extends_ && from) {
            const old = this.range || { start: from.start, end: from.end };
            this.setRange({ start: Math.min(old.start, found.start), end: Math.max(old.end, found.end) });
        }
        this.selected = { row: found.row, time: found.time };
        this.revealSelected();
        this.changed();
    }

    // To what ended a wait; of who runs, to its wait before.
    private async follow(): Promise<void> {
        const from = this.selected, panel = this.active;
        if (!from) {
            return;
        }
        this.details.say('Looking for the cause…');
        const found = await this.ask('cause', from);
        if (found) {
            this.trail.push({ moment: from, panel });
            this.selected = { row: found.row, time: found.time };
            this.active = this.panelOf(found.row);
            this.revealSelected();
            this.changed();
        }
    }

    private async back(): Promise<void> {
        const last = this.trail.pop();
        if (last) {
            await this.select(last.moment.row, last.moment.time, last.panel);
        } else {
            this.goBack(-1);
        }
    }

    // ---- history, pins and bookmarks ----

    private view(): string {
        return format({ window: this.window, range: this.range, selected: null, pins: [], panels: null, query: '', flow: null, own: {} });
    }

    private goBack(step: number): void {
        this.past.note(this.view());
        const found = this.past.step(step);
        if (found === null) {
            this.details.say(step < 0 ? 'Nothing was seen before this.' : 'Nothing was seen after this.');
            return;
        }
        const { window: seen, range } = parse(found);
        this.window = clamp(seen || this.window, this.length);
        this.setRange(range);
    }

    private goToTime(time: number): void {
        this.window = reveal(this.window, time, this.length);
        this.setHover(time);
        this.setRange(null);
    }

    pin(row: number): void {
        this.pins.toggle(row);
        this.update();
    }

    private pinSelected(): void {
        if (this.selected) {
            this.pin(this.selected.row);
        } else {
            this.details.say('Select a row first: P holds it at the top of its view.', true);
        }
    }

    private toggleMark(): void {
        const time = Math.floor(this.selected ? this.selected.time : this.hover ?? (this.window.start + this.window.end) / 2);
        this.marks.toggle(this.range ? { start: Math.floor(this.range.start), end: Math.ceil(this.range.end) } : { start: time, end: time });
    }

    // After the one that was gone to last.
    private nextMark(): void {
        const mark = this.marks.after(this.range ? this.range.start : this.hover ?? this.window.start);
        if (mark) {
            this.marks.go(mark);
        }
    }

    // ---- search and keys ----

    private setQuery(query: string): void {
        this.query = query;
        this.update();
    }

    private searchKey(event: KeyboardEvent): void {
        event.stopPropagation();
        if (event.key === 'Enter') {
            this.leaveSearch();
            this.active.focused = -1;
            this.selected = null;
            this.active.move(1, true);
        } else if (event.key === 'Escape') {
            this.search.value = '';
            this.setQuery('');
            this.leaveSearch();
        }
    }

    private leaveSearch(): void {
        const first = this.shown.map(name => this.panels[name].graph).find(graph => graph);
        this.active = this.isShown(this.active.name) ? this.active : first || this.active;
        this.active.focus();
    }

    private key(event: KeyboardEvent): void {
        const target = event.target as HTMLElement;
        const isButton = target.tagName === 'BUTTON' && (event.key === 'Enter' || event.key === ' ');
        if (event.altKey || this.dialog.open || ['INPUT', 'SELECT'].includes(target.tagName) || isButton) {
            return;
        }
        const action = actionOf(event.key, event.shiftKey, event.ctrlKey || event.metaKey);
        if (action) {
            event.preventDefault();
            this.act(action);
        }
    }

    private clear(): void {
        this.selected = this.interval = this.awaited = null;
        this.details.say('');
        if (this.query) {
            this.query = this.search.value = '';
        }
        this.setRange(null);
        this.update();
    }

    private act(action: Action): void {
        const { window: seen } = this;
        const at = this.selected && this.selected.time >= seen.start && this.selected.time <= seen.end
            ? this.selected.time : (seen.start + seen.end) / 2;
        const actions: Record<Action, () => void> = {
            zoomIn: () => this.zoomAt(0.6, this.hover ?? at),
            zoomOut: () => this.zoomAt(1 / 0.6, this.hover ?? at),
            left: () => this.setWindow(pan(seen, -0.2, this.length)),
            right: () => this.setWindow(pan(seen, 0.2, this.length)),
            whole: () => this.setWindow({ start: 0, end: this.length }),
            fit: () => this.setWindow(fitOrAll(seen, this.range || this.interval, this.length)),
            previous: () => void this.step(-1, false),
            next: () => void this.step(1, false),
            extendLeft: () => void this.step(-1, true),
            extendRight: () => void this.step(1, true),
            up: () => this.active.move(-1),
            down: () => this.active.move(1),
            first: () => this.active.move(-10),
            last: () => this.active.move(10),
            nextMatch: () => this.active.move(1, true),
            previousMatch: () => this.active.move(-1, true),
            follow: () => void this.follow(),
            back: () => void this.back(),
            path: () => void this.flow.askSelected(),
            fold: () => this.active.fold(),
            search: () => this.search.select(),
            clear: () => this.clear(),
            help: () => this.dialog.showModal(),
            undo: () => this.goBack(-1),
            redo: () => this.goBack(1),
            arrowOn: () => void this.flow.goAlong(1),
            arrowBack: () => void this.flow.goAlong(-1),
            pin: () => this.pinSelected(),
            mark: () => this.toggleMark(),
            nextMark: () => this.nextMark(),
        };
        actions[action]();
    }

    // ---- the rest ----

    private switchTheme(): void {
        switchTheme();
        this.drawAll();
    }

    private save(): void {
        const drawn = this.shown.map(name => this.panels[name].graph || this.panels[name]).flatMap(one => (one.toSvg ? one as Drawn : []));
        saveSvg(this.trace.name, [scaleOf(this.window, this.trace.start), ...drawn], this.states, Math.max(this.main.clientWidth, 400), Math.round(this.axis.getBoundingClientRect().left));
    }
}

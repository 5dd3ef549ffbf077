// SPDX-License-Identifier: MIT
// The page that critpath --html writes: one critical path, which is in the page itself.

import { drawAxis, Overview } from './axis';
import { Details } from './details';
import { button, element, switchTheme } from './dom';
import { Flow, RawFlow } from './flow';
import { Moment } from './fragment';
import { Graph, Shared } from './graph';
import { helpDialog } from './help';
import { Action, actionOf } from './keys';
import { saveSvg, scaleOf } from './save';
import { segmentSentence } from './sentence';
import { looks } from './states';
import { absolute, duration } from './time';
import { Tree } from './tree';
import { clamp, fit, pan, Range, reveal, zoom } from './viewport';

class PathPage implements Shared {
    readonly states = Object.keys(looks);
    readonly length: number;
    window: Range;
    range: Range | null = null;
    selected: Moment | null = null;
    hover: number | null = null;
    query = '';
    private at = -1; // the selected segment
    private readonly trail: number[] = [];
    private readonly flow: Flow;
    private readonly graph: Graph;
    private readonly details = new Details();
    private readonly axis = element('canvas', { class: 'axis', 'aria-hidden': 'true' });
    private readonly overview: Overview;
    private readonly clock = element('span', { class: 'clock', title: 'Start of what is seen, in UTC' });
    private readonly span = element('span', { class: 'span', title: 'Length of what is seen' });
    private readonly actions: Partial<Record<Action, () => void>>;
    private readonly dialog: HTMLDialogElement;

    constructor(raw: RawFlow) {
        // Rows have no numbers here: those of the tasks will do.
        const tasks = raw.tasks.map(([host, name, tid], index): RawFlow['tasks'][0] => [host, name, tid, index]);
        this.flow = new Flow({ ...raw, tasks }, this.states);
        this.length = Math.max(raw.end, 1);
        this.window = { start: 0, end: this.length };
        this.graph = new Graph('flow', 'Critical path', this, null);
        const overview = element('canvas', { class: 'overview', 'aria-label': 'The whole path; drag to move' });
        this.overview = new Overview(overview, this.length, time => {
            const half = (this.window.end - this.window.start) / 2;
            this.setWindow({ start: time - half, end: time + half });
        });
        this.overview.setSpans(this.flow.segments, this.states);
        this.actions = this.bind();
        this.dialog = helpDialog(this.states, Object.keys(this.actions) as Action[]);
        this.build(overview);
    }

    private build(overview: HTMLCanvasElement): void {
        const { raw } = this.flow;
        const act = (text: string, title: string, action: Action) => button(text, title, () => this.actions[action]?.());
        const tools = element('div', { class: 'tools' }, act('−', 'Zoom out (S)', 'zoomOut'), act('+', 'Zoom in (W)', 'zoomIn'),
            act('Fit', 'Zoom to the selection (F)', 'fit'), act('All', 'Show all of the path (0)', 'whole'),
            button('SVG', 'Save what is seen as SVG', () => this.save()),
            button('◐', 'Light or dark', () => this.switchTheme()), act('?', 'Keys and colours (?)', 'help'));
        const title = `${raw.name} (${raw.tid}) on ${raw.host}`;
        this.details.actions.append(act('← Before', 'The step before (←)', 'previous'), act('After →', 'The next step (→)', 'next'),
            act('Cause ⏎', 'Back to the last step of another task (Enter)', 'follow'), act('Back ⌫', 'Come back (Backspace)', 'back'));
        document.body.replaceChildren(
            element('header', {}, element('h1', { title }, 'Critical path ', element('span', {}, `of ${title}`)), tools),
            element('div', { class: 'time' }, element('div', { class: 'corner' }, this.clock, this.span),
                element('div', { class: 'scales' }, overview, this.axis)),
            element('main', {}, this.graph.element), this.details.element, this.dialog);
        const lost = raw.lost ? `; ${raw.lost} events were lost meanwhile, so it may be wrong` : '';
        this.graph.note.textContent = `${this.flow.segments.length} steps, ${duration(this.length)}${lost}`;
        this.graph.show({
            tree: new Tree(this.flow.entries, row => `${raw.tasks[row][2] >= 0 ? raw.tasks[row][2] : ''}`), isWhole: true,
            spans: line => this.flow.byEntry[line.entry], arrows: () => this.flow.arrows,
        });
        document.addEventListener('keydown', event => this.key(event));
        window.addEventListener('resize', () => this.drawAll());
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.drawAll());
        this.details.say('Select a step to read what it waited for; the arrow keys go from step to step.');
        this.drawAll();
        this.sum();
        this.graph.focus();
    }

    private bind(): Partial<Record<Action, () => void>> {
        const middle = () => this.hover ?? (this.selected && this.selected.time >= this.window.start && this.selected.time <= this.window.end
            ? this.selected.time : (this.window.start + this.window.end) / 2);
        return {
            zoomIn: () => this.zoomAt(0.6, middle()),
            zoomOut: () => this.zoomAt(1 / 0.6, middle()),
            left: () => this.setWindow(pan(this.window, -0.2, this.length)),
            right: () => this.setWindow(pan(this.window, 0.2, this.length)),
            fit: () => (this.range ? this.setWindow(fit(this.range, this.length)) : this.zoomToSelected()),
            whole: () => this.setWindow({ start: 0, end: this.length }),
            up: () => this.graph.move(-1),
            down: () => this.graph.move(1),
            previous: () => this.go(this.at < 0 ? this.flow.segments.length - 1 : this.at - 1),
            next: () => this.go(this.at + 1),
            follow: () => this.follow(),
            back: () => this.go(this.trail.pop() ?? this.at),
            fold: () => this.graph.fold(),
            clear: () => this.setRange(null),
            help: () => this.dialog.showModal(),
        };
    }

    // ---- steps ----

    private go(at: number): void {
        const segment = this.flow.segments[at];
        if (!segment) {
            return;
        }
        this.at = at;
        this.selected = { row: this.flow.entries[segment.entry].row, time: segment.start };
        this.window = reveal(this.window, segment.start, this.length);
        this.graph.reveal(this.selected.row);
        this.details.say(segmentSentence(this.flow, at));
        this.drawAll();
    }

    private follow(): void {
        const from = this.flow.segments[this.at];
        let at = this.at - 1;
        while (from && at >= 0 && this.flow.segments[at].entry === from.entry) {
            at--;
        }
        if (from && at >= 0) {
            this.trail.push(this.at);
            this.go(at);
        }
    }

    // Of the row, what it did at that time, or before, or first.
    select(row: number, time: number): void {
        const entry = this.flow.entries.findIndex(one => one.row === row);
        const own = this.flow.byEntry[entry] || [];
        const segment = own.filter(one => one.start <= time).pop() || own[0];
        this.go(this.flow.segments.indexOf(segment));
    }

    // ---- what the panel shares ----

    setWindow(wanted: Range): void {
        this.window = clamp(wanted, this.length);
        this.drawAll();
        this.sum();
    }

    zoomAt(factor: number, time: number): void {
        this.setWindow(zoom(this.window, factor, time, this.length));
    }

    setRange(range: Range | null): void {
        this.range = range && range.end > range.start ? range : null;
        this.drawAll();
        this.sum();
    }

    setHover(time: number | null): void {
        this.hover = time;
        this.drawAll();
    }

    zoomToSelected(): void {
        const segment = this.flow.segments[this.at];
        if (segment) {
            this.setWindow(fit(segment, this.length));
        }
    }

    activate(): void {
        // There is one panel.
    }

    private drawAll(): void {
        this.graph.draw();
        const right = this.graph.right();
        document.documentElement.style.setProperty('--bar', right > 0 ? `${Math.max(0, window.innerWidth - right)}px` : '0px');
        drawAxis(this.axis, this.window, this.hover);
        this.overview.draw(this.window, this.range);
        this.clock.textContent = absolute(BigInt(this.flow.raw.origin), this.window.start).slice(0, 26);
        this.span.textContent = duration(this.window.end - this.window.start);
    }

    private sum(): void {
        const { start, end } = this.range || this.window;
        this.details.showSums(`${this.range ? 'Selected range' : 'What is seen'}, ${duration(end - start)}`, this.flow.sums(start, end));
    }

    private key(event: KeyboardEvent): void {
        const isButton = (event.target as HTMLElement).tagName === 'BUTTON' && (event.key === 'Enter' || event.key === ' ');
        const action = actionOf(event.key, event.shiftKey);
        if (!event.ctrlKey && !event.altKey && !event.metaKey && !this.dialog.open && !isButton && action && this.actions[action]) {
            event.preventDefault();
            this.actions[action]?.();
        }
    }

    private switchTheme(): void {
        switchTheme();
        this.drawAll();
    }

    private save(): void {
        const scale = scaleOf(this.window, BigInt(this.flow.raw.origin));
        saveSvg('critical-path', [scale, this.graph], this.states, Math.max(window.innerWidth, 400), Math.round(this.axis.getBoundingClientRect().left));
    }
}

new PathPage(JSON.parse((document.getElementById('flow') as HTMLElement).textContent || '') as RawFlow);

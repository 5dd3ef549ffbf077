// SPDX-License-Identifier: MIT
// Latency: how long system calls, waits for a CPU, block requests, interrupts, waits on futexes and periods took: as points over
// time with their density at the side, as statistics by name, and the longest as a table.

import { toX } from './bars';
import { button, color, element, painter, panel } from './dom';
import { Page, Panel } from './page';
import { followPointer, Pointed } from './pointer';
import { decades, lineRange, Scale, shareOf } from './scale';
import { nameOf } from './sentence';
import { Table } from './table';
import { duration, offset } from './time';
import { Range } from './viewport';

const ASK_AFTER = 120; // ms without a change
const CELL = [3, 4]; // CSS pixels
const NEAR = 8;
const EDGE = 8; // above and below the points

type Mode = 'picture' | 'statistics' | 'longest';
const MODES: [Mode, string, string][] = [['picture', 'Picture', 'Each where it started; at the side, how many took how long'],
    ['statistics', 'Statistics', 'By name, in the selected range or in what is seen'], ['longest', 'Longest', 'The longest, in the selected range or in what is seen']];

export type Point = [start: number, took: number, row: number, name: string];

interface Named {
    name: string;
    count: number;
    total: number;
    min: number;
    max: number;
    mean: number;
    deviation: number; // negative: not known
    p50: number;
    p90: number;
    p99: number;
    longest: Point[];
}

interface Picture extends Scale {
    count: number; // in the range
    all: number;
    left_out: number;
    density: number[];
    points?: Point[];
    cells?: [column: number, line: number, count: number, own: number][];
    names?: Named[];
    n_names?: number;
}

interface Question extends Range {
    kind: string;
    name?: string;
    columns?: number;
    lines?: number;
    row?: number;
    names?: number;
}

export class Latency implements Panel {
    readonly note = element('span', { class: 'note' });
    readonly element: HTMLElement;
    private readonly kindSelect = element('select', { 'aria-label': 'What took how long' });
    private readonly modes = new Map<Mode, HTMLButtonElement>();
    private readonly only = button('', 'Show all names again', () => this.setName(null));
    private readonly scroller = element('div', { class: 'scroller', tabindex: '0', role: 'img', 'aria-label': 'Durations over time' });
    private readonly side = element('canvas', { class: 'density', 'aria-hidden': 'true' });
    private readonly canvas = element('canvas', { 'aria-hidden': 'true' });
    private readonly tip = element('div', { class: 'tip', hidden: '' });
    private readonly lists = element('div', { class: 'scroller', tabindex: '-1', hidden: '' });
    private readonly statistics: Table<Named>;
    private readonly longest: Table<Point>;
    private needs = new Map<string, string>();
    private kind = 'syscalls';
    private mode: Mode = 'picture';
    private name: string | null = null;
    private picture: Picture | null = null;
    private of: Range = { start: 0, end: 1 }; // what the picture is of
    private columns = 1; // that it has
    private chosen: Point | null = null;
    private asked = '';
    private timer = 0;
    private readonly repaint = painter(() => { this.drawNow(); });

    constructor(private readonly page: Page) {
        this.statistics = new Table<Named>([
            { title: 'Name', text: one => one.name },
            { title: 'Count', text: one => `${one.count}`, isNumber: true },
            { title: 'Total', text: one => duration(one.total), isNumber: true },
            { title: 'Shortest', text: one => duration(one.min), isNumber: true },
            { title: 'Mean', text: one => duration(one.mean), isNumber: true },
            { title: 'Median', text: one => duration(one.p50), isNumber: true },
            { title: '90 %', text: one => duration(one.p90), isNumber: true },
            { title: '99 %', text: one => duration(one.p99), isNumber: true },
            { title: 'Longest', text: one => duration(one.max), isNumber: true },
            { title: 'Deviation', text: one => (one.deviation < 0 ? '' : duration(one.deviation)), isNumber: true },
        ], one => this.setName(one.name));
        this.longest = new Table<Point>([
            { title: 'Start', text: ([start]) => offset(start, 1000), isNumber: true },
            { title: 'Took', text: ([, took]) => duration(took), isNumber: true },
            { title: 'Name', text: ([, , , name]) => name },
            { title: 'Task', text: ([, , row]) => this.who(row) },
        ], point => void this.choose(point));
        this.element = panel('latency', 'Latency', this.note, () => page.hide('latency'));
        this.element.classList.add('long');
        this.build();
    }

    private build(): void {
        const choices = element('span', { class: 'choices' }, this.kindSelect);
        for (const [mode, text, title] of MODES) {
            const made = button(text, title, () => this.setMode(mode));
            this.modes.set(mode, made);
            choices.append(made);
        }
        choices.append(this.only);
        this.note.before(choices);
        this.scroller.append(element('div', { class: 'sticky' }, element('div', { class: 'names' }, this.side), this.canvas));
        this.element.append(this.scroller, this.lists, this.tip);
        this.kindSelect.addEventListener('change', () => this.set(this.kindSelect.value, this.mode, null));
        new ResizeObserver(() => this.draw()).observe(this.scroller);
        followPointer(this.scroller, this.canvas, this.page, {
            hover: (at, event) => this.hoverAt(at, event),
            leave: () => {
                this.tip.hidden = true;
            },
            click: at => void this.click(at),
        });
        this.showChoices();
    }

    async fill(): Promise<void> {
        const { kinds } = await this.page.api.ask<{ kinds: [string, string, string][] }>('latencies');
        this.needs = new Map(kinds.map(([id, , needs]) => [id, needs]));
        this.kindSelect.replaceChildren(...kinds.map(([id, title]) => element('option', { value: id }, title)));
        this.asked = '';
        this.showChoices();
        this.draw();
    }

    focus(): void {
        if (this.mode === 'picture') {
            this.scroller.focus({ preventScroll: true });
        } else {
            (this.mode === 'statistics' ? this.statistics : this.longest).focus();
        }
    }

    right(): number {
        return this.scroller.clientWidth && this.scroller.getBoundingClientRect().left + this.scroller.clientWidth;
    }

    // ---- what is shown ----

    state(): string {
        const parts = [this.kind, this.mode, ...(this.name === null ? [] : [this.name])];
        return parts.join(',') === 'syscalls,picture' ? '' : parts.join(',');
    }

    restore(state: string): void {
        const [kind, mode, ...name] = (state || 'syscalls,picture').split(',');
        this.set(kind, MODES.find(([one]) => one === mode)?.[0] || 'picture', name.length ? name.join(',') : null);
    }

    private set(kind: string, mode: Mode, name: string | null): void {
        if (kind !== this.kind || name !== this.name) {
            this.picture = null;
            this.chosen = null;
        }
        Object.assign(this, { kind, mode, name });
        this.showChoices();
        this.page.changed();
        this.draw();
    }

    private setMode(mode: Mode): void {
        this.set(this.kind, mode, this.name);
    }

    private setName(name: string | null): void {
        this.set(this.kind, 'picture', name);
    }

    private showChoices(): void {
        this.kindSelect.value = this.kind;
        this.only.textContent = this.name === null ? '' : `${this.name} ×`;
        this.only.hidden = this.name === null;
        for (const [mode, made] of this.modes) {
            made.setAttribute('aria-pressed', `${mode === this.mode}`);
        }
        this.scroller.hidden = this.mode !== 'picture';
        this.lists.hidden = this.mode === 'picture';
        if (this.mode !== 'picture') {
            this.lists.replaceChildren((this.mode === 'statistics' ? this.statistics : this.longest).element);
        }
    }

    private who(row: number): string {
        const { trace } = this.page;
        return row < 0 ? 'not known' : `${nameOf(trace, row)}${trace.hosts.length > 1 ? ` on ${trace.hosts[trace.rows[row].host]}` : ''}`;
    }

    // ---- questions ----

    // Lists are of the selected range, unless that is only the point that was chosen.
    private range(): Range {
        const { range, window } = this.page;
        const isChosen = this.chosen && range && range.start === this.chosen[0] && range.end === this.chosen[0] + this.chosen[1];
        const of = this.mode !== 'picture' && range && !isChosen ? range : window;
        return { start: Math.floor(of.start), end: Math.ceil(of.end) };
    }

    private lines(): number {
        return Math.max(1, Math.min(256, Math.floor((this.scroller.clientHeight - 2 * EDGE) / CELL[1])));
    }

    private question(): Question {
        const { kind, mode, name, page } = this;
        const common = { kind, ...this.range(), ...(name === null ? {} : { name }) };
        if (mode === 'longest') {
            return common;
        }
        const columns = Math.max(1, Math.min(2048, Math.floor(this.canvas.clientWidth / CELL[0])));
        return mode === 'statistics' ? { ...common, names: 1 } : { ...common, columns, lines: this.lines(), row: page.selected?.row ?? -1 };
    }

    // Not at each step of a movement.
    private askSoon(): void {
        const question = this.question(), key = `${this.mode} ${JSON.stringify(question)}`;
        if (key !== this.asked && this.page.isShown('latency') && this.needs.size) {
            this.asked = key;
            clearTimeout(this.timer);
            this.timer = window.setTimeout(() => void this.ask(question, key), ASK_AFTER);
        }
    }

    private async ask(question: Question, key: string): Promise<void> {
        const { api } = this.page, of = this.range();
        if (!this.picture) {
            this.note.textContent = 'reading the traces…';
        }
        try {
            if (this.mode === 'longest') {
                const { count, points } = await api.ask<{ count: number; points: Point[] }>('longest', question);
                if (key === this.asked) {
                    this.note.textContent = this.say(count) + (points.length < count ? `; the ${points.length} longest` : '');
                    this.longest.show(points, ([start]) => ({ 'data-point': `${start}` }));
                }
                return;
            }
            const picture = await api.ask<Picture>('latency', question);
            if (key === this.asked) {
                this.columns = question.columns || this.columns;
                this.show(picture, of);
            }
        } catch (problem) {
            this.note.textContent = (problem as Error).message;
        }
    }

    private show(picture: Picture, of: Range): void {
        const more = picture.left_out ? `; ${picture.left_out} more are left out: there are too many` : '';
        if (this.mode === 'statistics') {
            const names = picture.names || [], all = picture.n_names || 0;
            this.statistics.show(names, ({ name }) => ({ 'data-name': name }));
            this.note.textContent = this.say(picture.count) + (names.length < all ? `; ${names.length} of ${all} names` : '') + more;
        } else {
            this.picture = picture;
            this.of = of;
            const how = picture.cells ? '; many where the colour is strong, a click goes to the longest there' : '; a click selects it';
            this.note.textContent = (picture.all ? this.say(picture.count) : `none were seen: they need ${this.needs.get(this.kind)}`) +
                (picture.count ? how : '') + more;
            this.draw();
        }
    }

    private say(count: number): string {
        return `${count} in ${this.mode !== 'picture' && this.range().start !== Math.floor(this.page.window.start) ? 'the selected range' : 'what is seen'}`;
    }

    // ---- drawing ----

    draw(): void {
        if (this.element.isConnected) {
            this.repaint();
        }
    }

    private size(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
        const scale = Math.min(window.devicePixelRatio || 1, 3);
        canvas.width = Math.round(width * scale);
        canvas.height = Math.round(height * scale);
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
        const context = canvas.getContext('2d');
        context?.setTransform(scale, 0, 0, scale, 0, 0);
        return context;
    }

    private drawNow(): void {
        const names = this.side.parentElement as HTMLElement, height = this.scroller.clientHeight;
        const width = Math.max(1, this.scroller.clientWidth - names.offsetWidth);
        if (this.mode === 'picture' && height) {
            const context = this.size(this.canvas, width, height), side = this.size(this.side, names.clientWidth, height);
            if (context && side && this.picture?.all) {
                this.drawSide(side, this.picture, names.clientWidth, height);
                this.drawRules(context, this.picture, width, height);
                this.drawPoints(context, this.picture, width, height);
            }
            if (context) {
                this.drawMarks(context, width, height);
            }
        }
        this.askSoon();
    }

    private y(share: number, height: number): number {
        return height - EDGE - share * (height - 2 * EDGE);
    }

    private drawRules(context: CanvasRenderingContext2D, scale: Scale, width: number, height: number): void {
        context.fillStyle = color('--rule');
        for (const ns of decades(scale, height / 24)) {
            context.fillRect(0, Math.round(this.y(shareOf(ns, scale), height)), width, 1);
        }
    }

    // How many took how long, and the scale.
    private drawSide(context: CanvasRenderingContext2D, picture: Picture, width: number, height: number): void {
        const most = Math.max(1, ...picture.density), count = picture.density.length, room = width - 62;
        context.fillStyle = color('--point');
        picture.density.forEach((found, line) => {
            const y0 = this.y((line + 1) / count, height), y1 = this.y(line / count, height);
            const wide = found ? Math.max(1, room * found / most) : 0;
            context.fillRect(width - wide, Math.round(y0), wide, Math.max(1, Math.round(y1) - Math.round(y0)));
        });
        context.fillStyle = color('--quiet');
        context.font = '11px sans-serif';
        for (const ns of decades(picture, height / 24)) {
            context.fillText(`${duration(ns).replace(/\.0+ /, ' ')}`, 4, Math.round(this.y(shareOf(ns, picture), height)) + 4);
        }
    }

    private drawPoints(context: CanvasRenderingContext2D, picture: Picture, width: number, height: number): void {
        const { window: seen, selected } = this.page;
        const all = color('--point'), own = color('--own');
        const most = Math.log2(1 + Math.max(1, ...(picture.cells || []).map(([, , count]) => count)));
        const lines = picture.density.length;
        for (const [column, line, count, mine] of picture.cells || []) {
            const step = (this.of.end - this.of.start) / this.columns;
            const x0 = toX(this.of.start + column * step, seen, width), x1 = toX(this.of.start + (column + 1) * step, seen, width);
            const y0 = this.y((line + 1) / lines, height), y1 = this.y(line / lines, height);
            context.globalAlpha = 0.3 + 0.7 * Math.log2(1 + count) / most;
            context.fillStyle = mine ? own : all;
            context.fillRect(x0, y0, Math.max(1, x1 - x0), y1 - y0);
        }
        context.globalAlpha = 0.75;
        for (const [start, took, row] of picture.points || []) {
            context.fillStyle = row >= 0 && row === selected?.row ? own : all;
            context.beginPath();
            context.arc(toX(start, seen, width), this.y(shareOf(took, picture), height), 3, 0, 2 * Math.PI);
            context.fill();
        }
        context.globalAlpha = 1;
    }

    private drawMarks(context: CanvasRenderingContext2D, width: number, height: number): void {
        const { window: seen, range, selected, hover } = this.page;
        const x = (time: number) => Math.round(toX(time, seen, width)) + 0.5;
        if (range) {
            context.globalCompositeOperation = 'destination-over';
            context.fillStyle = color('--range');
            context.fillRect(x(range.start), 0, Math.max(1, x(range.end) - x(range.start)), height);
            context.globalCompositeOperation = 'source-over';
        }
        for (const [time, ink] of [[selected ? selected.time : null, '--mark'], [hover, '--hover']] as [number | null, string][]) {
            if (time !== null) {
                context.strokeStyle = color(ink);
                context.strokeRect(x(time), -1, 0, height + 2);
            }
        }
        if (this.chosen && this.picture) {
            context.strokeStyle = color('--mark');
            context.lineWidth = 2;
            context.beginPath();
            context.arc(toX(this.chosen[0], seen, width), this.y(shareOf(this.chosen[1], this.picture), height), 6, 0, 2 * Math.PI);
            context.stroke();
        }
    }

    // ---- pointer ----

    private nearest(x: number, y: number): Point | null {
        const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
        let best: Point | null = null, least = NEAR;
        for (const point of this.picture?.points || []) {
            const away = Math.hypot(toX(point[0], this.page.window, width) - x, this.y(shareOf(point[1], this.picture as Picture), height) - y);
            if (away < least) {
                least = away;
                best = point;
            }
        }
        return best;
    }

    // The cell there: how many it has, and of which times and durations.
    private cellAt({ time, y }: Pointed): { count: number; range: Range; least: number; most: number } | null {
        const { picture, of } = this, height = this.canvas.clientHeight;
        if (!picture?.cells) {
            return null;
        }
        const step = (of.end - of.start) / this.columns, lines = picture.density.length;
        const column = Math.floor((time - of.start) / step), line = Math.floor((height - EDGE - y) / (height - 2 * EDGE) * lines);
        const found = picture.cells.find(cell => cell[0] === column && cell[1] === line);
        const [least, most] = lineRange(line, lines, picture);
        const range = { start: Math.floor(of.start + column * step), end: Math.ceil(of.start + (column + 1) * step) };
        return found ? { count: found[2], range, least, most } : null;
    }

    private hoverAt(at: Pointed, event: PointerEvent): void {
        const point = this.nearest(at.x, at.y), cell = this.cellAt(at);
        this.tip.hidden = !point && !cell;
        if (point) {
            const [start, took, row, name] = point;
            this.tip.textContent = `${name} · ${duration(took)} · ${this.who(row)} · from ${offset(start, 1000)}`;
        } else if (cell) {
            this.tip.textContent = `${cell.count} of ${duration(cell.least)} to ${duration(cell.most)}`;
        }
        const box = this.element.getBoundingClientRect();
        this.tip.style.left = `${Math.max(0, Math.min(event.clientX - box.left + 12, box.width - this.tip.offsetWidth - 4))}px`;
        this.tip.style.top = `${Math.max(0, event.clientY - box.top - 28)}px`;
    }

    private async click(at: Pointed): Promise<void> {
        const cell = this.cellAt(at);
        let point = this.nearest(at.x, at.y);
        if (!point && cell) {
            const { kind, name } = this;
            const { points } = await this.page.api.ask<{ points: Point[] }>('longest', {
                kind, ...(name === null ? {} : { name }), ...cell.range, least: cell.least, most: cell.most, most_points: 1,
            });
            point = points[0] || null;
        }
        if (point) {
            await this.choose(point);
        }
    }

    // Selects its task and its time; the critical flow follows if it is there to be seen.
    private async choose(point: Point): Promise<void> {
        const [start, took, row] = point, { page } = this;
        this.chosen = point;
        this.longest.select(point);
        page.setRange({ start, end: start + took });
        if (row < 0) {
            return;
        }
        await page.select(row, Math.floor(start + took / 2));
        if (took > 0 && page.trace.rows[row].kind === 'task' && page.isShown('flow')) {
            await page.flow.askRow(row, start, start + took);
        }
    }
}

// SPDX-License-Identifier: MIT
// A panel with a line for each row of a tree: names on the left, what happened on the right.

import { columnBars, Emit, spanBars, toTime, toX } from './bars';
import { covers, Span } from './columns';
import { color, element, isDark, painter, panel } from './dom';
import { Moment } from './fragment';
import { Arrow } from './flow';
import { inkOn, lookOf } from './states';
import { Erase, Paint, Pixels, Svg } from './surface';
import { duration, offset } from './time';
import { Line, Tree } from './tree';
import { fit, Range } from './viewport';
import { RowPicture } from './columns';

export const LINE = 22; // CSS pixels
const BAR = 16;
const DRAG = 4; // pixels that a click may move
const LABEL_LEAST = 34;

// What all panels share; the page or the file that they are in has it.
export interface Shared {
    states: string[];
    length: number;
    window: Range;
    range: Range | null;
    selected: Moment | null;
    hover: number | null;
    query: string;
    setWindow(window: Range): void;
    zoomAt(factor: number, time: number): void;
    setRange(range: Range | null): void;
    select(row: number, time: number, panel: Graph): void | Promise<void>;
    setHover(time: number | null): void;
    zoomToSelected(): void;
    activate(panel: Graph): void;
}

// With Ctrl the wheel zooms, with Shift or across it moves; else the panel scrolls.
export function turnWheel(event: WheelEvent, time: number, shared: Shared): void {
    const { window } = shared;
    if (event.ctrlKey || event.metaKey) {
        shared.zoomAt(Math.exp(Math.max(-200, Math.min(200, event.deltaY)) / 300), time);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
        const step = across / 800 * (window.end - window.start);
        shared.setWindow({ start: window.start + step, end: window.end + step });
    } else {
        return;
    }
    event.preventDefault();
}

export interface Source {
    tree: Tree;
    isShown?(row: number): boolean;
    isWhole?: boolean; // a search leaves nothing out
    pictures?(row: number): RowPicture[];
    firstState?(row: number): number; // from which on those of its pictures count; 0
    isApart?(row: number): boolean; // there is a gap between two that look the same
    spans?(line: Line): Span[];
    arrows?(): Arrow[];
    pins?(): number[]; // rows that stay at the top while the others scroll
    letGo?(row: number): void; // of a pinned one
    // Called with the rows that are seen.
    want?(rows: number[], width: number): void;
}

export class Graph {
    readonly element: HTMLElement;
    readonly note = element('span', { class: 'note' });
    private readonly scroller = element('div', { class: 'scroller', tabindex: '0', role: 'treegrid' });
    private readonly spacer = element('div', { class: 'spacer' });
    private readonly names = element('div', { class: 'names' });
    private readonly canvas = element('canvas', { 'aria-hidden': 'true' });
    private readonly tip = element('div', { class: 'tip', hidden: '' });
    private lines: Line[] = []; // those that are pinned come first
    private onPin = false; // the focus
    private source: Source | null = null;
    focused = -1; // entry
    private readonly repaint = painter(() => { this.drawNow(); });
    private version = 0; // of the lines
    private written = '';
    private pixels: Pixels | null = null;
    private readonly heights: number[];

    constructor(readonly name: string, readonly title: string, private readonly shared: Shared, close: (() => void) | null) {
        this.heights = shared.states.map(state => lookOf(state).height);
        this.scroller.setAttribute('aria-label', title);
        this.scroller.append(this.spacer, element('div', { class: 'sticky' }, this.names, this.canvas));
        this.element = panel(name, title, this.note, close);
        this.element.append(this.scroller, this.tip);
        this.scroller.addEventListener('scroll', () => this.draw());
        new ResizeObserver(() => this.draw()).observe(this.scroller);
        this.scroller.addEventListener('focus', () => shared.activate(this));
        this.listen();
    }

    show(source: Source): void {
        this.source = source;
        this.update();
    }

    // Lines were added: what is folded and focused stays.
    renew(source: Source): void {
        if (this.source) {
            source.tree.foldAs(this.source.tree);
            this.focused = source.tree.find(this.source.tree, this.focused);
        }
        this.show(source);
    }

    // After lines may have changed.
    update(): void {
        if (!this.source) {
            return;
        }
        const { tree, isWhole, isShown, pins } = this.source;
        const pinned = (pins?.() || []).flatMap(row => tree.pinned(row) || []);
        this.lines = [...pinned, ...tree.lines(isWhole ? '' : this.shared.query, row => !isShown || isShown(row))];
        this.version++;
        this.spacer.style.height = `${(this.lines.length + (pinned.length ? 1 : 0)) * LINE}px`;
        // A panel with few lines leaves room to the others.
        this.element.style.flexGrow = `${3 + Math.min(this.lines.length, 16)}`;
        this.scroller.setAttribute('aria-rowcount', `${this.lines.length}`);
        this.draw();
    }

    draw(): void {
        if (this.source && this.element.isConnected) {
            this.repaint();
        }
    }

    // ---- lines ----

    private size(): { width: number; height: number } {
        return { width: Math.max(this.scroller.clientWidth - this.names.offsetWidth, 1), height: this.scroller.clientHeight };
    }

    // How many lines are held at the top; they leave half of the panel to the others. Those scroll by whole lines then.
    private held(): number {
        const pinned = this.lines.findIndex(line => !line.isPinned), most = Math.floor(this.scroller.clientHeight / LINE / 2);
        return Math.min(pinned < 0 ? this.lines.length : pinned, most);
    }

    private top(): number {
        const top = this.scroller.scrollTop;
        return this.held() ? top - top % LINE : top;
    }

    // The lines that are seen, and where they start.
    private visible(): { at: number; y: number }[] {
        const held = this.held(), top = this.top(), found: { at: number; y: number }[] = [];
        for (let at = 0; at < held; at++) {
            found.push({ at, y: at * LINE });
        }
        const last = Math.min(this.lines.length, Math.ceil((top + this.scroller.clientHeight) / LINE));
        for (let at = held + Math.floor(top / LINE); at < last; at++) {
            found.push({ at, y: at * LINE - top });
        }
        return found;
    }

    // Where the picture ends, in the window; 0 if it is not shown.
    right(): number {
        return this.scroller.clientWidth && this.scroller.getBoundingClientRect().left + this.scroller.clientWidth;
    }

    private lineOf(row: number): number {
        return this.lines.findIndex(line => line.row === row);
    }

    focusedLine(): number {
        const own = this.lines.findIndex(line => line.entry === this.focused && line.isPinned === this.onPin);
        const at = own >= 0 ? own : this.lines.findIndex(line => line.entry === this.focused);
        return at >= 0 ? at : this.shared.selected ? this.lineOf(this.shared.selected.row) : -1;
    }

    // Moves the focus by lines; from there on the row that it comes to is the selected one.
    move(step: number, onlyMatches = false): void {
        let at = this.focusedLine();
        do {
            at += step;
        } while (onlyMatches && this.lines[at] && (!this.lines[at].matches || this.lines[at].row < 0));
        if (onlyMatches && !this.lines[at]) {
            return;
        }
        this.focusLine(Math.min(Math.max(at, 0), this.lines.length - 1));
    }

    private focusLine(at: number): void {
        const line = this.lines[at];
        if (!line) {
            return;
        }
        this.focused = line.entry;
        this.onPin = line.isPinned;
        this.scrollTo(at);
        if (line.row >= 0) {
            const { window, selected } = this.shared;
            const time = selected && selected.time >= window.start && selected.time < window.end
                ? selected.time : (window.start + window.end) / 2;
            this.shared.select(line.row, Math.floor(time), this);
        }
        this.draw();
    }

    fold(): void {
        if (this.source && this.focused >= 0) {
            this.source.tree.toggle(this.focused);
            this.update();
        }
    }

    private scrollTo(at: number): void {
        const held = this.held(), top = (at - held) * LINE, height = this.scroller.clientHeight - held * LINE;
        if (at < held) {
            return;
        }
        if (top < this.scroller.scrollTop) {
            this.scroller.scrollTop = top;
        } else if (top + LINE > this.top() + height) {
            this.scroller.scrollTop = top + LINE - height + (held ? LINE - 1 : 0);
        }
    }

    has(row: number): boolean {
        return !!this.source?.tree.has(row);
    }

    reveal(row: number): void {
        if (!this.source?.tree.has(row)) {
            return;
        }
        if (this.lineOf(row) < 0) {
            this.source.tree.reveal(row);
            this.update();
        }
        const at = this.lineOf(row), focused = this.lines[this.focusedLine()];
        if (at >= 0 && focused?.row !== row) {
            this.focused = this.lines[at].entry;
            this.onPin = this.lines[at].isPinned;
        }
        this.scrollTo(focused?.row === row ? this.focusedLine() : at);
    }

    focus(): void {
        this.scroller.focus({ preventScroll: true });
    }

    // ---- drawing ----

    private writeNames(seen: { at: number; y: number }[]): void {
        const written = `${seen[seen.length - 1]?.at} ${seen[seen.length - 1]?.y} ${seen.length} ${this.shared.selected?.row} ${this.version}`;
        if (written === this.written) {
            return;
        }
        this.written = written;
        this.names.textContent = '';
        for (const { at, y } of seen) {
            this.writeName(this.lines[at], at, y);
        }
    }

    private writeName(line: Line, at: number, y: number): void {
        const isSelected = line.row >= 0 && line.row === this.shared.selected?.row;
        const name = element('div', {
            class: `name${isSelected ? ' selected' : ''}${line.depth ? '' : ' host'}${line.matches ? '' : ' other'}${line.isPinned ? ' pinned' : ''}`,
            role: 'row', 'aria-level': `${line.depth + 1}`, 'aria-rowindex': `${at + 1}`, 'aria-selected': `${isSelected}`,
            id: `${this.name}-${line.isPinned ? 'pin-' : ''}${line.entry}`, title: `${line.name} ${line.detail}`,
        });
        name.style.top = `${y}px`;
        name.style.paddingInlineStart = `calc(4px + ${line.isPinned ? 0 : line.depth} * var(--indent))`;
        if (line.hasChildren) {
            name.setAttribute('aria-expanded', `${line.isOpen}`);
        }
        const sign = line.isPinned ? '×' : line.hasChildren ? (line.isOpen ? '▾' : '▸') : '';
        name.append(element('span', { class: 'fold', 'aria-hidden': 'true' }, sign),
            element('span', { role: 'rowheader', class: 'text' }, line.name), element('span', { class: 'detail' }, line.detail));
        name.addEventListener('click', event => {
            const onSign = (event.target as Element).classList.contains('fold');
            this.shared.activate(this);
            if (onSign && line.isPinned) {
                this.source?.letGo?.(line.row);
                return;
            }
            this.focusLine(at);
            if (onSign) {
                this.fold();
            }
        });
        this.names.append(name);
        if (isSelected) {
            this.scroller.setAttribute('aria-activedescendant', name.id);
        }
    }

    private firstState(line: Line): number {
        return line.row >= 0 ? this.source?.firstState?.(line.row) ?? 0 : 0;
    }

    // The rectangles of a line, in pixels of a surface with `scale` pixels for a CSS pixel.
    // What is finer lies on what is coarse, after `erase` took that away.
    private paintLine(line: Line, y: number, width: number, scale: number, paint: Paint, erase: Erase | null): void {
        const first = this.firstState(line), heights = first ? this.heights.slice(first) : this.heights;
        const bar = BAR * scale, bottom = Math.round((y + (LINE + BAR) / 2) * scale);
        const emit: Emit = (x0, x1, low, high, state) => {
            const y1 = bottom - Math.floor(low * bar);
            const y0 = Math.min(y1 - 1, bottom - Math.round(high * bar));
            if (heights[state] > 0) {
                paint(x0, x1, y0, y1, first + state);
            }
        };
        const { window } = this.shared, isApart = line.row >= 0 && this.source?.isApart?.(line.row);
        const top = Math.round(y * scale), floor = Math.round((y + LINE) * scale);
        const pictures = line.row >= 0 && this.source?.pictures ? this.source.pictures(line.row) : [];
        // Nothing is seen of what lies under one that covers all.
        const base = pictures.map(({ block }) => covers(block, window.start, window.end)).lastIndexOf(true);
        const drawn = erase ? pictures.slice(Math.max(base, 0)) : pictures.slice(-1);
        for (const picture of drawn) {
            const { block } = picture;
            const x0 = Math.ceil(toX(block.start, window, width) - 0.5);
            const x1 = Math.ceil(toX(block.start + block.count * block.width, window, width) - 0.5);
            if (picture !== drawn[0]) {
                erase?.(x0, x1, top, floor);
            }
            columnBars(picture.block, window, width, heights, emit);
            spanBars(picture.spans, window, width, heights, (from, to, low, high, state) => {
                erase?.(from, to, top, floor);
                emit(from, isApart && to - from > 3 ? to - 1 : to, low, high, state);
            });
        }
        if (this.source?.spans) {
            spanBars(this.source.spans(line), window, width, heights, emit);
        }
    }

    private labelsOf(line: Line): Span[] {
        const pictures = line.row >= 0 && this.source?.pictures ? this.source.pictures(line.row) : [];
        return this.source?.spans ? this.source.spans(line) : pictures.length ? pictures[pictures.length - 1].spans : [];
    }

    // What is written in wide spans, at x and y of their baselines.
    private eachLabel(line: Line, y: number, width: number, write: (x: number, y: number, text: string, ink: string) => void): void {
        const { window, states } = this.shared, ink = inkOn(isDark()), first = this.firstState(line);
        for (const span of this.labelsOf(line)) {
            const x0 = Math.max(0, toX(span.start, window, width)), x1 = Math.min(width, toX(span.end, window, width));
            const look = lookOf(states[first + span.state]);
            if (span.label && x1 - x0 >= LABEL_LEAST) {
                const room = Math.floor((x1 - x0 - 8) / 6.2);
                const text = span.label.length > room ? `${span.label.slice(0, room - 1)}…` : span.label;
                const isTall = look.height > 0.7;
                const above = (LINE + BAR) / 2 - BAR * look.height - 3; // with room for what hangs below the line of writing
                write(x0 + 4, y + (isTall ? LINE / 2 + 4 : above), text, isTall ? look.ink ?? ink : '');
            }
        }
    }

    // Empty pixels as many as the canvas has; both stay while their size does.
    private surface(width: number, height: number, scale: number): Pixels {
        const across = Math.round(width * scale), down = Math.round(height * scale);
        const dark = isDark();
        if (this.pixels?.width === across && this.pixels.height === down && this.pixels.isDark === dark) {
            this.pixels.clear();
            return this.pixels;
        }
        this.canvas.width = across;
        this.canvas.height = down;
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
        return this.pixels = new Pixels(across, down, this.shared.states, dark);
    }

    private drawNow(): void {
        const { width, height } = this.size();
        if (!height) {
            return;
        }
        const seen = this.visible(), top = this.top();
        const scale = Math.min(window.devicePixelRatio || 1, 3);
        const first = seen.length ? seen[this.held()]?.at ?? 0 : 0, last = (seen[seen.length - 1]?.at ?? -1) + 1;
        const around = [...Array.from({ length: this.held() }, (_, at) => at), ...Array.from({ length: last - first + 8 }, (_, i) => first - 4 + i)];
        const rows = new Set(around.map(at => this.lines[at]?.row ?? -1).filter(row => row >= 0));
        this.source?.want?.([...rows], Math.round(width * scale));
        this.writeNames(seen);
        const pixels = this.surface(width, height, scale), context = this.canvas.getContext('2d');
        if (!context) {
            return;
        }
        for (const { at, y } of seen) {
            this.paintLine(this.lines[at], y, this.canvas.width, scale, pixels.paint, pixels.erase);
        }
        context.putImageData(pixels.image, 0, 0);
        context.setTransform(scale, 0, 0, scale, 0, 0);
        this.drawLabels(context, seen, width);
        this.drawArrows(context, top, width, height);
        this.drawMarks(context, seen, width, height);
    }

    private drawLabels(context: CanvasRenderingContext2D, seen: { at: number; y: number }[], width: number): void {
        const ink = color('--ink');
        context.font = '11px sans-serif';
        for (const { at, y } of seen) {
            this.eachLabel(this.lines[at], y, width, (x, base, text, own) => {
                context.fillStyle = own || ink;
                context.fillText(text, x, base);
            });
        }
    }

    // Arrows that would lie on each other are drawn once.
    private eachArrow(top: number, width: number, draw: (x: number, y0: number, y1: number) => void): void {
        const places = new Map(this.lines.map((line, at) => [line.entry, at]));
        const drawn = new Set<string>();
        for (const arrow of this.source?.arrows ? this.source.arrows() : []) {
            const from = places.get(arrow.from), to = places.get(arrow.to);
            const x = Math.round(toX(arrow.time, this.shared.window, width)) + 0.5;
            const key = `${x} ${from} ${to}`;
            if (from !== undefined && to !== undefined && x >= 0 && x <= width && !drawn.has(key)) {
                drawn.add(key);
                const down = to > from;
                draw(x, from * LINE - top + (down ? (LINE + BAR) / 2 : LINE / 2), to * LINE - top + (down ? (LINE - BAR) / 2 : (LINE + BAR) / 2));
            }
        }
    }

    // Behind what the rows did; where there are more than can be told apart, they fade.
    private drawArrows(context: CanvasRenderingContext2D, top: number, width: number, height: number): void {
        const arrows: [number, number, number][] = [];
        this.eachArrow(top, width, (x, y0, y1) => {
            if (Math.max(y0, y1) >= 0 && Math.min(y0, y1) <= height) {
                arrows.push([x, y0, y1]);
            }
        });
        context.save();
        context.globalCompositeOperation = 'destination-over';
        context.globalAlpha = Math.min(1, Math.max(0.15, width / (6 * arrows.length || 1)));
        context.strokeStyle = context.fillStyle = color('--arrow');
        context.lineWidth = 1;
        for (const [x, y0, y1] of arrows) {
            const tip = y1 > y0 ? -5 : 5;
            context.beginPath();
            context.moveTo(x, y0);
            context.lineTo(x, y1);
            context.stroke();
            context.beginPath();
            context.moveTo(x, y1);
            context.lineTo(x - 3, y1 + tip);
            context.lineTo(x + 3, y1 + tip);
            context.fill();
        }
        context.restore();
    }

    private drawMarks(context: CanvasRenderingContext2D, seen: { at: number; y: number }[], width: number, height: number): void {
        const { window, range, selected, hover } = this.shared;
        const x = (time: number) => Math.round(toX(time, window, width)) + 0.5;
        const own = selected ? seen.filter(({ at }) => this.lines[at].row === selected.row) : [];
        context.globalCompositeOperation = 'destination-over';
        context.fillStyle = color('--row');
        own.forEach(({ y }) => context.fillRect(0, y, width, LINE));
        if (range) {
            context.fillStyle = color('--range');
            context.fillRect(x(range.start), 0, x(range.end) - x(range.start), height);
        }
        context.globalCompositeOperation = 'source-over';
        context.fillStyle = color('--quiet');
        context.fillRect(0, this.held() * LINE - 1, width, this.held() ? 1 : 0);
        if (selected) {
            context.strokeStyle = color('--mark');
            context.lineWidth = own.length ? 2 : 1;
            context.strokeRect(x(selected.time), -1, 0, height + 2);
            own.forEach(({ y }) => context.strokeRect(x(selected.time) - 3, y + 1, 6, LINE - 2));
        }
        if (hover !== null) {
            context.strokeStyle = color('--hover');
            context.lineWidth = 1;
            context.strokeRect(x(hover), -1, 0, height + 2);
        }
    }

    // What is seen, as part of an SVG; returns its height.
    toSvg(svg: Svg, top: number, names: number, width: number): number {
        const ink = color('--ink');
        const seen = this.visible(), height = seen.length * LINE;
        svg.text(4, top + 14, this.title, ink, 'bold');
        const y = top + LINE;
        svg.clip(`c-${this.name}`, names, y, width, height);
        this.eachArrow((seen[0]?.at || 0) * LINE, width, (x, y0, y1) => svg.line(names + x, y + y0, names + x, y + y1, color('--arrow')));
        seen.forEach(({ at }, i) => {
            this.paintLine(this.lines[at], i * LINE, width, 1, svg.paint(names, y), null);
            this.eachLabel(this.lines[at], i * LINE, width, (x, base, text, own) => svg.text(names + x, y + base, text, own || ink));
        });
        svg.unclip();
        svg.clip(`n-${this.name}`, 0, y, names - 4, height);
        seen.forEach(({ at }, i) => {
            const line = this.lines[at];
            svg.text(4 + line.depth * 12, y + i * LINE + 15, `${line.name} ${line.detail}`, ink, line.depth ? 'normal' : 'bold');
        });
        svg.unclip();
        return height + LINE + 8;
    }

    // ---- pointer ----

    private place(event: MouseEvent): { time: number; line: Line | undefined; x: number } {
        const box = this.canvas.getBoundingClientRect();
        const x = event.clientX - box.left;
        const y = event.clientY - box.top;
        const at = Math.floor((y < this.held() * LINE ? y : y + this.top()) / LINE);
        return { time: Math.max(0, Math.min(this.shared.length, toTime(x, this.shared.window, box.width || 1))), line: this.lines[at], x };
    }

    private listen(): void {
        const canvas = this.canvas;
        canvas.addEventListener('pointerdown', event => this.press(event));
        canvas.addEventListener('pointermove', event => this.hoverAt(event));
        canvas.addEventListener('pointerleave', () => {
            this.tip.hidden = true;
            this.shared.setHover(null);
        });
        // A drag with the right button zooms; the browser's menu would come in between.
        canvas.addEventListener('contextmenu', event => event.preventDefault());
        canvas.addEventListener('dblclick', () => this.shared.zoomToSelected());
        this.scroller.addEventListener('wheel', event => turnWheel(event, this.place(event).time, this.shared), { passive: false });
    }

    private press(event: PointerEvent): void {
        const start = this.place(event), from = { ...this.shared.window };
        const pans = event.button === 1 || event.shiftKey || event.pointerType === 'touch';
        const width = this.canvas.clientWidth || 1;
        let moved = false;
        this.focus();
        this.shared.activate(this);
        this.canvas.setPointerCapture(event.pointerId);
        const move = (next: PointerEvent) => {
            const { time, x } = this.place(next);
            moved = moved || Math.abs(x - start.x) > DRAG;
            if (moved && pans) {
                const step = (start.x - x) / width * (from.end - from.start);
                this.shared.setWindow({ start: from.start + step, end: from.end + step });
            } else if (moved) {
                this.shared.setRange({ start: Math.floor(Math.min(start.time, time)), end: Math.ceil(Math.max(start.time, time)) });
            }
        };
        const end = () => {
            this.canvas.removeEventListener('pointermove', move);
            this.canvas.removeEventListener('pointerup', end);
            this.canvas.removeEventListener('pointercancel', end);
            if (moved && event.button === 2 && this.shared.range) {
                this.shared.setWindow(fit(this.shared.range, this.shared.length));
            } else if (!moved && event.button === 0 && event.shiftKey && this.shared.selected) {
                const times = [this.shared.selected.time, Math.floor(start.time)];
                this.shared.setRange({ start: Math.min(...times), end: Math.max(...times) });
            } else if (!moved && event.button === 0 && start.line) {
                this.focused = start.line.entry;
                this.onPin = start.line.isPinned;
                if (start.line.row >= 0) {
                    this.shared.select(start.line.row, Math.floor(start.time), this);
                }
                this.draw();
            }
        };
        this.canvas.addEventListener('pointermove', move);
        this.canvas.addEventListener('pointerup', end);
        this.canvas.addEventListener('pointercancel', end);
    }

    private hoverAt(event: PointerEvent): void {
        const { time, line } = this.place(event);
        this.shared.setHover(time);
        const span = line && this.labelsOf(line).find(one => one.start <= time && time < one.end);
        this.tip.hidden = !line;
        if (line) {
            const { label } = lookOf(this.shared.states[span ? this.firstState(line) + span.state : 0]);
            const what = span ? ` · ${label}${span.label && span.label !== label ? `: ${span.label}` : ''} · ${duration(span.end - span.start)}` : '';
            this.tip.textContent = `${line.name} ${line.detail}${what} · ${offset(time, (this.shared.window.end - this.shared.window.start) / 1e4)}`;
            const box = this.element.getBoundingClientRect();
            const left = Math.min(event.clientX - box.left + 12, box.width - this.tip.offsetWidth - 4);
            this.tip.style.left = `${Math.max(0, left)}px`;
            this.tip.style.top = `${Math.max(0, event.clientY - box.top - 28)}px`;
        }
    }
}

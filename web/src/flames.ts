// SPDX-License-Identifier: MIT
// The flame graph of the selected range, else of what is seen: of the selected task, else of all that call functions.

import { color, element, isDark, painter, panel } from './dom';
import { findPath, Frame, framesOf, pathOf, placeOf, RawFlame } from './flame';
import { brush, Pen } from './lanes';
import { callerOf, Trace } from './model';
import { Page, Panel } from './page';
import { nameOf } from './sentence';
import { colorOf, inkOn, lookOf } from './states';
import { Svg } from './surface';
import { duration } from './time';

const LINE = 18, LETTER = 6.2; // CSS pixels
const ASK_AFTER = 150; // ms without a change

// A task looks as what is idle does.
function stateOf({ states, slots, groups }: Trace, { look }: Frame): string {
    return look === 0 ? 'idle' : states[look < slots ? look : look + slots * groups.length];
}

export class Flames implements Panel {
    readonly element: HTMLElement;
    readonly note = element('span', { class: 'note' });
    private readonly scroller = element('div', { class: 'scroller', tabindex: '0', role: 'group', 'aria-label': 'Flame graph: arrow keys go from frame to frame' });
    private readonly canvas = element('canvas', { class: 'flames', 'aria-hidden': 'true' });
    private readonly nothing = element('p', { class: 'words', hidden: '' }, 'Nothing was called in this time.');
    private readonly tip = element('div', { class: 'tip', hidden: '' });
    private frames: Frame[] = [];
    private path: string[] = []; // of the frame that fills the width
    private focused = 0;
    private asked = '';
    private timer = 0;
    private readonly repaint = painter(() => {
        this.ask();
        this.drawNow();
    });

    constructor(private readonly page: Page) {
        this.scroller.append(this.canvas, this.nothing);
        this.element = panel('flames', 'Flame graph', this.note, () => page.hide('flames'));
        this.element.append(this.scroller, this.tip);
        new ResizeObserver(() => this.draw()).observe(this.scroller);
        this.canvas.addEventListener('pointermove', event => this.showTip(event));
        this.canvas.addEventListener('pointerleave', () => {
            this.tip.hidden = true;
        });
        this.canvas.addEventListener('click', event => {
            const found = this.at(event);
            if (found >= 0) {
                this.zoom(found);
            }
        });
        this.scroller.addEventListener('keydown', event => this.key(event));
    }

    renew(): void {
        this.asked = '';
    }

    focus(): void {
        this.scroller.focus({ preventScroll: true });
    }

    draw(): void {
        if (this.element.isConnected) {
            this.repaint();
        }
    }

    // ---- what is asked ----

    private ask(): void {
        const { trace, selected, range, window: seen } = this.page;
        const caller = selected ? callerOf(trace, selected.row) : -1, { start, end } = range || seen;
        const parameters = { ...(caller >= 0 ? { rows: [caller] } : {}), start: Math.floor(start), end: Math.min(Math.ceil(end), trace.length) };
        const key = JSON.stringify(parameters);
        if (key === this.asked) {
            return;
        }
        this.asked = key;
        clearTimeout(this.timer);
        this.timer = window.setTimeout(() => {
            const who = caller >= 0 ? nameOf(trace, caller) : 'all tasks';
            void this.fetch(key, parameters, `${who}, ${range ? 'selected range' : 'what is seen'}, ${duration(end - start)}`);
        }, ASK_AFTER);
    }

    private async fetch(key: string, parameters: object, said: string): Promise<void> {
        try {
            const found = framesOf(await this.page.api.ask<RawFlame>('flame', parameters));
            if (key === this.asked) {
                this.frames = found;
                this.focused = findPath(found, this.path);
                this.note.textContent = said;
            }
        } catch (problem) {
            this.frames = [];
            this.note.textContent = (problem as Error).message;
        }
        this.draw();
    }

    // ---- drawing ----

    private shown(): Frame | undefined {
        return this.frames[findPath(this.frames, this.path)];
    }

    private paint(pen: Pen, width: number): void {
        const shown = this.shown(), dark = isDark(), ink = inkOn(dark);
        this.frames.forEach((frame, index) => {
            const place = shown && placeOf(frame, shown, width);
            if (!place) {
                return;
            }
            const y = frame.depth * LINE, room = Math.floor((Math.min(place.width, width - place.x) - 6) / LETTER);
            pen.rectangle(place.x, y, Math.max(place.width - 0.5, 0.5), LINE - 1, colorOf(lookOf(stateOf(this.page.trace, frame)), dark));
            if (index === this.focused) {
                pen.rectangle(place.x, y + LINE - 3, Math.max(place.width - 0.5, 0.5), 2, color('--ink'));
            }
            if (room > 2) {
                pen.text(place.x + 3, y + LINE - 6, frame.name.length > room ? `${frame.name.slice(0, room - 1)}…` : frame.name, ink);
            }
        });
    }

    private levels(): number {
        return this.frames.reduce((most, frame) => Math.max(most, frame.depth + 1), 0);
    }

    private drawNow(): void {
        const width = this.scroller.clientWidth, height = Math.max(this.levels() * LINE, 1), scale = Math.min(window.devicePixelRatio || 1, 3);
        this.nothing.hidden = this.frames.length !== 1 || !!this.frames[0].end;
        this.canvas.width = Math.round(width * scale);
        this.canvas.height = Math.round(height * scale);
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
        const context = this.canvas.getContext('2d');
        if (context && this.nothing.hidden) {
            context.setTransform(scale, 0, 0, scale, 0, 0);
            context.font = '11px sans-serif';
            this.paint(brush(context), width);
        }
        this.element.style.flexGrow = `${3 + Math.min(this.levels(), 16)}`;
    }

    // All of it as a file. Returns its height.
    toSvg(svg: Svg, top: number, names: number, width: number): number {
        svg.text(4, top + 14, `Flame graph: ${this.note.textContent}`, color('--ink'), 'bold');
        this.paint({
            rectangle: (x, y, w, h, fill) => svg.rectangle(x, top + 22 + y, w, h, fill),
            text: (x, y, text, fill) => svg.text(x, top + 22 + y, text, fill),
        }, names + width);
        return 22 + this.levels() * LINE + 8;
    }

    // ---- what is pointed at ----

    private at(event: MouseEvent): number {
        const box = this.canvas.getBoundingClientRect(), shown = this.shown();
        const x = event.clientX - box.left, depth = Math.floor((event.clientY - box.top) / LINE);
        return this.frames.findIndex(frame => {
            const place = frame.depth === depth && shown && placeOf(frame, shown, box.width);
            return place && x >= place.x && x < place.x + place.width;
        });
    }

    private said(index: number): string {
        const { name, start, end, own } = this.frames[index], whole = this.frames[0].end || 1;
        return `${name}: ${duration(end - start)}, ${(100 * (end - start) / whole).toFixed(1)} % of all, in itself ${duration(own)}`;
    }

    private showTip(event: MouseEvent): void {
        const found = this.at(event), outer = this.element.getBoundingClientRect();
        this.tip.hidden = found < 0;
        if (found >= 0) {
            this.tip.textContent = this.said(found);
            this.tip.style.left = `${Math.max(4, Math.min(event.clientX - outer.left + 12, outer.width - this.tip.offsetWidth - 4))}px`;
            this.tip.style.top = `${event.clientY - outer.top + (event.clientY - outer.top > outer.height - 40 ? -30 : 16)}px`;
        }
    }

    private focusOn(index: number): void {
        this.focused = index;
        const by = pathOf(this.frames, index).slice(0, -1).reverse();
        this.page.say(`${this.said(index)}${by.length ? `; below ${by.slice(0, 6).join(', ')}${by.length > 6 ? ', …' : ''}` : ''}.`);
        this.draw();
    }

    // The frame fills the width; once more: the one above it does.
    private zoom(index: number): void {
        const path = pathOf(this.frames, index);
        this.path = path.join('\n') === this.path.join('\n') ? path.slice(0, -1) : path;
        this.focusOn(index);
    }

    // Among those above, below and beside it.
    private next(key: string): number {
        const { parent, children } = this.frames[this.focused];
        const beside = parent >= 0 ? this.frames[parent].children : [this.focused], at = beside.indexOf(this.focused);
        switch (key) {
        case 'ArrowUp':
            return parent;
        case 'ArrowDown': // to the one that took longest
            return children.reduce((most, one) => (most < 0 || this.width(one) > this.width(most) ? one : most), -1);
        case 'ArrowLeft':
            return beside[at - 1] ?? -1;
        default:
            return beside[at + 1] ?? -1;
        }
    }

    private width(index: number): number {
        return this.frames[index].end - this.frames[index].start;
    }

    private key(event: KeyboardEvent): void {
        const isMove = event.key.startsWith('Arrow');
        if (!this.frames.length || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || !(isMove || event.key === 'Enter')) {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
        if (!isMove) {
            this.zoom(this.focused);
            return;
        }
        const found = this.next(event.key);
        if (found >= 0) {
            this.focusOn(found);
        }
    }
}

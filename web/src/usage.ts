// SPDX-License-Identifier: MIT
// How much of the CPUs of each host was used over time, and how much of that by the selected task.

import { toTime, toX } from './bars';
import { Block, covers, STATES_SENT } from './columns';
import { color, element, panel } from './dom';
import { Page, Panel } from './page';
import { followPointer } from './pointer';
import { duration } from './time';
import { Range } from './viewport';

const LANE = 64; // CSS pixels
export const RUNNING = ['user', 'syscall', 'interrupt', 'softirq'];

// The share of a column in which the row was in one of the states.
function shareOf(block: Block, column: number, counts: boolean[]): number {
    let sum = 0;
    for (let i = 0; i < STATES_SENT; i++) {
        if (counts[block.data[2 * i * block.count + column]]) {
            sum += block.data[(2 * i + 1) * block.count + column];
        }
    }
    return sum / 255;
}

// For each pixel the share of time that rows were in one of the states, 0 to 1 for all rows together. NaN where it is not known yet.
export function usage(blocks: Block[], window: Range, width: number, counts: boolean[]): number[] {
    const shares = new Array<number>(width).fill(blocks.length ? 0 : NaN);
    for (const block of blocks) {
        for (let x = 0; x < width; x++) {
            const column = Math.floor((toTime(x + 0.5, window, width) - block.start) / block.width);
            shares[x] += column >= 0 && column < block.count ? shareOf(block, column, counts) / blocks.length : NaN;
        }
    }
    return shares;
}

// The same for all that is seen, as far as the blocks show it.
export function mean(blocks: Block[], window: Range, counts: boolean[]): number {
    let sum = 0, known = 0;
    for (const block of blocks) {
        for (let column = 0; column < block.count; column++) {
            const start = block.start + column * block.width;
            const inside = Math.max(0, Math.min(start + block.width, window.end) - Math.max(start, window.start));
            sum += inside * shareOf(block, column, counts);
            known += inside;
        }
    }
    return known ? sum / known : NaN;
}

interface Lane {
    host: number;
    cpus: number[]; // rows of what was on them
}

export class Usage implements Panel {
    readonly element: HTMLElement;
    private readonly scroller = element('div', { class: 'scroller', tabindex: '0', role: 'img', 'aria-label': 'Use of the CPUs of each host over time' });
    private readonly spacer = element('div', { class: 'spacer' });
    private readonly names = element('div', { class: 'names' });
    private readonly canvas = element('canvas', { 'aria-hidden': 'true' });
    private lanes: Lane[] = [];
    private readonly counts: boolean[];
    private frame = 0;

    constructor(private readonly page: Page) {
        this.counts = page.states.map(state => RUNNING.includes(state));
        this.renew();
        this.spacer.style.height = `${this.lanes.length * LANE}px`;
        this.scroller.append(this.spacer, element('div', { class: 'sticky' }, this.names, this.canvas));
        const note = element('span', { class: 'note' }, 'at full height all CPUs of the host are busy; dark: the selected task');
        this.element = panel('usage', 'CPU usage', note, () => page.hide('usage'));
        this.element.append(this.scroller);
        this.element.style.flexGrow = `${3 + Math.min(this.lanes.length * 3, 9)}`;
        new ResizeObserver(() => this.draw()).observe(this.scroller);
        this.scroller.addEventListener('scroll', () => this.draw());
        followPointer(this.scroller, this.canvas, page, {
            hover: ({ time }) => {
                this.canvas.title = duration(time);
            },
        });
    }

    // More of the trace is known.
    renew(): void {
        const { rows, hosts } = this.page.trace;
        this.lanes = hosts.map((_, host) =>
            ({ host, cpus: rows.map((row, index) => (row.kind === 'thread' && row.host === host ? index : -1)).filter(row => row >= 0) }));
    }

    focus(): void {
        this.scroller.focus({ preventScroll: true });
    }

    draw(): void {
        if (!this.frame && this.element.isConnected) {
            this.frame = requestAnimationFrame(() => {
                this.frame = 0;
                this.drawNow();
            });
        }
    }

    // The finest block of each row that shows all that is seen, else the coarsest.
    private blocks(rows: number[]): Block[] {
        const { start, end } = this.page.window;
        const found: Block[] = [];
        for (const row of rows) {
            const blocks = this.page.rows.of(row).map(picture => picture.block);
            const fit = blocks.filter(block => covers(block, start, end)).sort((a, b) => a.width - b.width)[0] || blocks[0];
            if (fit) {
                found.push(fit);
            }
        }
        return found;
    }

    private drawNow(): void {
        const width = Math.max(1, this.scroller.clientWidth - this.names.offsetWidth), height = this.scroller.clientHeight;
        const scale = Math.min(window.devicePixelRatio || 1, 3), top = this.scroller.scrollTop;
        this.canvas.width = Math.round(width * scale);
        this.canvas.height = Math.round(height * scale);
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
        const context = this.canvas.getContext('2d');
        if (!context || !height) {
            return;
        }
        context.setTransform(scale, 0, 0, scale, 0, 0);
        this.names.textContent = '';
        const { selected } = this.page;
        for (const lane of this.lanes.slice(Math.floor(top / LANE), Math.ceil((top + height) / LANE))) {
            const floor = (lane.host + 1) * LANE - top - 1;
            this.page.rows.want(lane.cpus, this.page.window, Math.round(width * scale));
            const blocks = this.blocks(lane.cpus);
            this.area(context, usage(blocks, this.page.window, width, this.counts), floor, color('--busy'));
            const isHere = selected && this.page.trace.rows[selected.row].kind === 'task' && this.page.trace.rows[selected.row].host === lane.host;
            if (isHere && selected) {
                this.page.rows.want([selected.row], this.page.window, Math.round(width * scale));
                const own = usage(this.blocks([selected.row]), this.page.window, width, this.counts).map(share => share / lane.cpus.length);
                this.area(context, own, floor, '#009e73');
            }
            context.fillStyle = color('--rule');
            context.fillRect(0, floor, width, 1);
            this.name(lane, floor - LANE + 1, this.mean(blocks));
        }
        this.marks(context, width, height);
    }

    // Not of columns that are as wide as what is seen.
    private mean(blocks: Block[]): number {
        const { start, end } = this.page.window;
        return blocks.every(block => covers(block, start, end) && block.width <= (end - start) / 50)
            ? mean(blocks, this.page.window, this.counts) : NaN;
    }

    private area(context: CanvasRenderingContext2D, shares: number[], floor: number, ink: string): void {
        context.fillStyle = ink;
        shares.forEach((share, x) => {
            if (share > 0) {
                const high = Math.max(1, Math.min(share, 1) * (LANE - 6));
                context.fillRect(x, floor - high, 1, high);
            }
        });
    }

    // Where the picture ends, in the window; 0 if it is not shown.
    right(): number {
        return this.scroller.clientWidth && this.scroller.getBoundingClientRect().left + this.scroller.clientWidth;
    }

    private name(lane: Lane, top: number, share: number): void {
        const made = element('div', { class: 'name host' }, element('span', { class: 'text' }, this.page.trace.hosts[lane.host]),
            element('span', { class: 'detail' }, isNaN(share) ? '' : `${(100 * share).toFixed(1)} % of ${lane.cpus.length}`));
        made.style.top = `${top}px`;
        made.style.paddingInlineStart = '18px';
        this.names.append(made);
    }

    private marks(context: CanvasRenderingContext2D, width: number, height: number): void {
        const { window: seen, range, selected, hover } = this.page;
        const x = (time: number) => Math.round(toX(time, seen, width)) + 0.5;
        if (range) {
            context.globalCompositeOperation = 'destination-over';
            context.fillStyle = color('--range');
            context.fillRect(x(range.start), 0, x(range.end) - x(range.start), height);
            context.globalCompositeOperation = 'source-over';
        }
        for (const [time, ink] of [[selected ? selected.time : null, '--mark'], [hover, '--hover']] as [number | null, string][]) {
            if (time !== null) {
                context.strokeStyle = color(ink);
                context.strokeRect(x(time), -1, 0, height + 2);
            }
        }
    }
}

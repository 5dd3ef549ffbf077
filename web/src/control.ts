// SPDX-License-Identifier: MIT
// Control flow and Resources: what every task, CPU and interrupt did, from the store.

import { button } from './dom';
import { Graph, Source } from './graph';
import { Row } from './model';
import { Page, Panel } from './page';
import { Tree } from './tree';
import { Range } from './viewport';

export function source(page: Page, tree: Tree): Source {
    return {
        tree, pictures: row => page.rows.of(row), want: (wanted, width) => page.rows.want(wanted, page.window, width),
        pins: () => page.pins.rows(), letGo: row => page.pin(row),
    };
}

export abstract class Lines implements Panel {
    readonly graph: Graph;
    readonly element: HTMLElement;

    constructor(protected readonly page: Page, name: string, title: string) {
        this.graph = new Graph(name, title, page, () => page.hide(name));
        this.element = this.graph.element;
    }

    abstract renew(): void;

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
}

const ALIVE = 'alive'; // in the address

export class Tasks extends Lines {
    private onlyAlive = false;
    private seen: Range | null = null; // what the lines are of
    private readonly alive = button('Only of this time', 'Leave out tasks that had ended or not started', () => {
        this.restore(this.onlyAlive ? '' : ALIVE);
        this.page.changed();
    });

    constructor(page: Page) {
        super(page, 'tasks', 'Control flow');
        this.renew();
    }

    state(): string {
        return this.onlyAlive ? ALIVE : '';
    }

    restore(state: string): void {
        this.onlyAlive = state === ALIVE;
        this.alive.setAttribute('aria-pressed', `${this.onlyAlive}`);
        this.update();
    }

    renew(): void {
        const { rows, tasks } = this.page.trace;
        const idle = rows.filter(row => row.kind === 'task' && !row.ran).length;
        const isThere = ({ from, to }: Row) => from < this.page.window.end && to > this.page.window.start;
        this.graph.note.replaceChildren(this.alive, idle ? ` ${idle} tasks that never ran are left out` : '');
        this.graph.renew({
            ...source(this.page, new Tree(tasks, row => `${rows[row].tid}`)),
            isShown: row => rows[row].ran > 0 && (!this.onlyAlive || isThere(rows[row])),
        });
    }

    draw(): void {
        if (this.onlyAlive && this.seen !== this.page.window) {
            this.seen = this.page.window;
            this.graph.update();
        } else {
            this.graph.draw();
        }
    }
}

export class Resources extends Lines {
    constructor(page: Page) {
        super(page, 'cpus', 'Resources');
        this.renew();
    }

    renew(): void {
        this.graph.renew(source(this.page, new Tree(this.page.trace.resources, () => '', true)));
    }
}

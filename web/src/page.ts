// SPDX-License-Identifier: MIT
// What a view is to the page, and the page to a view. A view is a module of its own, and a line of the table in views.ts.

import { Api } from './api';
import type { CriticalFlow } from './criticalflow';
import { Graph, Shared } from './graph';
import { Trace } from './model';
import { Pins, Places } from './place';
import { Rows } from './rows';
import { Drawn } from './save';
import { Range } from './viewport';

export interface Panel {
    readonly element: HTMLElement;
    readonly graph?: Graph; // lines that the keys go through
    readonly note?: HTMLElement;
    toSvg?: Drawn['toSvg'];
    focus(): void;
    draw?(): void; // what is seen, selected or pointed at has changed
    update?(): void; // so have the lines: another search, or more is indexed
    renew?(): void; // more is indexed
    right?(): number; // where its picture of time ends, in the window; 0: it is not shown
    fill?(): Promise<void>; // it is shown for the first time; once more when all is indexed
    // What the address holds of it, if it is not empty, as name=…
    state?(): string;
    restore?(state: string): void;
}

export interface Page extends Shared {
    readonly trace: Trace;
    readonly api: Api;
    readonly rows: Rows;
    readonly places: Places;
    readonly pins: Pins;
    pin(row: number): void; // holds it at the top, or lets it go
    readonly flow: CriticalFlow;
    show(name: string): void;
    hide(name: string): void;
    isShown(name: string): boolean;
    say(text: string, isProblem?: boolean): void;
    changed(): void; // the address follows
    select(row: number, time: number, graph?: Graph): Promise<void>; // without a graph, in one that shows the row
    goTo(range: Range): void; // selects it, and zooms to it
}

export interface View {
    readonly name: string; // in the address
    readonly title: string;
    make(page: Page): Panel;
    isFor?(trace: Trace): boolean; // else it is of all traces
}

// SPDX-License-Identifier: MIT
// What each task called: below what it did, a line for each level of its stack.

import { Lines, source } from './control';
import { firstState } from './model';
import { Page } from './page';
import { Tree } from './tree';

export class Calls extends Lines {
    constructor(page: Page) {
        super(page, 'calls', 'Calls');
        this.renew();
    }

    renew(): void {
        const { trace } = this.page;
        const detailOf = (row: number) => (trace.rows[row].kind === 'task' ? `${trace.rows[row].tid}` : '');
        this.graph.renew({
            ...source(this.page, new Tree(trace.calls, detailOf)),
            firstState: row => firstState(trace, row), isApart: row => trace.rows[row].kind === 'call',
        });
    }
}

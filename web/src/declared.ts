// SPDX-License-Identifier: MIT
// The states that a file declares, by group.

import { Lines, source } from './control';
import { firstState } from './model';
import { Page } from './page';
import { Tree } from './tree';

export class Declared extends Lines {
    constructor(page: Page) {
        super(page, 'states', 'Declared states');
        this.renew();
    }

    renew(): void {
        const { trace } = this.page;
        const detailOf = (row: number) => (trace.rows[row].tid < 0 ? '' : `${trace.rows[row].tid}`);
        this.graph.renew({ ...source(this.page, new Tree(trace.declared, detailOf)), firstState: row => firstState(trace, row) });
    }
}

// SPDX-License-Identifier: MIT
// A table whose lines can be chosen, by click or with the arrow keys and Enter.

import { element } from './dom';

export interface Column<T> {
    title: string;
    text(item: T): string;
    isNumber?: boolean;
}

export class Table<T> {
    private readonly body = element('tbody');
    readonly element = element('table', { class: 'table' });
    private readonly lines = new Map<T, HTMLElement>();

    constructor(private readonly columns: Column<T>[], private readonly choose: (item: T) => void) {
        const headings = columns.map(({ title, isNumber }) => element('th', { scope: 'col', ...(isNumber ? { class: 'number' } : {}) }, title));
        this.element.append(element('thead', {}, element('tr', {}, ...headings)), this.body);
        this.body.addEventListener('keydown', event => this.key(event));
    }

    // `mark` gives a line a name, for tests and for styles.
    show(items: T[], mark: (item: T) => Record<string, string> = () => ({})): void {
        this.lines.clear();
        items.forEach((item, at) => this.lines.set(item, this.line(item, at, mark(item))));
        this.body.replaceChildren(...this.lines.values());
    }

    private line(item: T, at: number, marks: Record<string, string>): HTMLElement {
        const cells = this.columns.map(({ text, isNumber }) => element('td', isNumber ? { class: 'number' } : {}, text(item)));
        const made = element('tr', { tabindex: at ? '-1' : '0', ...marks }, ...cells);
        made.addEventListener('click', () => this.choose(item));
        made.addEventListener('keydown', event => {
            if (event.key === 'Enter') {
                event.stopPropagation();
                this.choose(item);
            }
        });
        return made;
    }

    private key(event: KeyboardEvent): void {
        const row = (event.target as Element).closest('tr');
        const next = event.key === 'ArrowDown' ? row?.nextElementSibling : event.key === 'ArrowUp' ? row?.previousElementSibling : null;
        if (next instanceof HTMLElement) {
            event.preventDefault();
            next.focus();
        }
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.stopPropagation();
        }
    }

    select(chosen: T): void {
        this.lines.forEach((line, item) => line.classList.toggle('selected', item === chosen));
    }

    focus(): void {
        this.body.querySelector('tr')?.focus();
    }
}

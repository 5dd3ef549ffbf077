// SPDX-License-Identifier: MIT
// Bookmarks: times and ranges to come back to, with names, in a strip below the scale of time. The address holds them.

import { button, element } from './dom';
import { duration, offset } from './time';
import { Range } from './viewport';

const MOST = 50;
const NAME_MOST = 80;

// A moment, if it ends where it starts.
export interface Mark extends Range {
    name: string;
}

export function formatMarks(marks: Mark[]): string {
    return marks.map(({ start, end, name }) => [start, end, encodeURIComponent(name)].join(',')).join(';');
}

function decoded(name: string): string {
    try {
        return decodeURIComponent(name);
    } catch {
        return name;
    }
}

// In order of time; what cannot be read is left out.
export function parseMarks(text: string, length: number): Mark[] {
    const found: Mark[] = [];
    for (const part of text.split(';').slice(0, MOST)) {
        const [start, end, name] = part.split(',');
        const mark = { start: Number(start || NaN), end: Number(end || NaN), name: decoded(name || '').slice(0, NAME_MOST) };
        if (Number.isSafeInteger(mark.start) && Number.isSafeInteger(mark.end) && mark.start >= 0 && mark.start <= mark.end && mark.end <= length) {
            found.push(mark);
        }
    }
    return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

export class Marks {
    readonly element = element('div', { class: 'marks', role: 'group', 'aria-label': 'Bookmarks', hidden: '' });
    list: Mark[] = [];

    constructor(private readonly length: number, readonly go: (mark: Mark) => void, private readonly changed: () => void) {}

    state(): string {
        return formatMarks(this.list);
    }

    restore(state: string): void {
        if (state !== this.state()) {
            this.list = parseMarks(state, this.length);
            this.write();
        }
    }

    // Sets it, or takes it away if it is there.
    toggle({ start, end }: Range): void {
        const rest = this.list.filter(mark => mark.start !== start || mark.end !== end);
        if (rest.length === this.list.length && rest.length < MOST) {
            rest.push({ start, end, name: '' });
        }
        this.list = rest.sort((a, b) => a.start - b.start || a.end - b.end);
        this.write();
        this.changed();
    }

    // The first one after a time, or the first of all.
    after(time: number): Mark | undefined {
        return this.list.find(mark => mark.start > time) || this.list[0];
    }

    private write(): void {
        this.element.hidden = !this.list.length;
        this.element.replaceChildren(...this.list.map(mark => this.chip(mark)));
    }

    private chip(mark: Mark): HTMLElement {
        const words = `${offset(mark.start, 1e6)}${mark.end > mark.start ? ` + ${duration(mark.end - mark.start)}` : ''}`;
        const name = element('input', { class: 'markname', placeholder: 'name', maxlength: `${NAME_MOST}`, 'aria-label': `Name of the bookmark at ${words}` });
        name.value = mark.name;
        name.size = Math.max(5, mark.name.length);
        name.addEventListener('input', () => {
            mark.name = name.value;
            name.size = Math.max(5, mark.name.length);
            this.changed();
        });
        name.addEventListener('keydown', event => {
            if (event.key === 'Enter' || event.key === 'Escape') {
                event.stopPropagation();
                name.blur();
            }
        });
        return element('span', { class: 'mark' }, button(`⚑ ${words}`, `Go to the bookmark at ${words}`, () => this.go(mark)), name,
            button('×', `Remove the bookmark at ${words}`, () => this.toggle(mark)));
    }
}

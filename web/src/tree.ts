// SPDX-License-Identifier: MIT
// The lines of a tree that are seen: what is folded away or does not match is not.

import { Entry } from './model';

export interface Line {
    entry: number; // index in the tree
    row: number; // -1: none
    name: string;
    detail: string; // "tid 527"
    depth: number;
    hasChildren: boolean;
    isOpen: boolean;
    matches: boolean; // what is searched for; true without a search
    isPinned: boolean; // held at the top; its own line lies below
}

export class Tree {
    private readonly children: number[][];
    private readonly roots: number[] = [];
    private readonly closed = new Set<number>();
    private readonly entryOfRow = new Map<number, number>();

    // `isFolded`: what lies below rows is folded away at first.
    constructor(readonly entries: Entry[], private readonly detailOf: (row: number) => string, isFolded = false) {
        this.children = entries.map(() => []);
        entries.forEach((entry, index) => {
            (entry.parent < 0 ? this.roots : this.children[entry.parent]).push(index);
            if (entry.row >= 0) {
                this.entryOfRow.set(entry.row, index);
            }
        });
        entries.forEach((entry, index) => {
            if (isFolded && entry.row >= 0 && this.children[index].length) {
                this.closed.add(index);
            }
        });
    }

    toggle(entry: number): void {
        if (!this.closed.delete(entry) && this.children[entry].length) {
            this.closed.add(entry);
        }
    }

    // As it was before lines were added.
    foldAs(before: Tree): void {
        this.entries.forEach((entry, index) => {
            const old = entry.row >= 0 ? before.entryOfRow.get(entry.row) : index;
            if (old !== undefined && before.closed.has(old)) {
                this.closed.add(index);
            } else if (old !== undefined && before.children[old]?.length) {
                this.closed.delete(index);
            }
        });
    }

    // The entry that shows what an entry of another tree does; -1: none.
    find(other: Tree, entry: number): number {
        const row = other.entries[entry]?.row ?? -1;
        return row < 0 ? entry : this.entryOfRow.get(row) ?? -1;
    }

    has(row: number): boolean {
        return this.entryOfRow.has(row);
    }

    // Opens what a row lies below.
    reveal(row: number): void {
        let entry = this.entryOfRow.get(row);
        while (entry !== undefined && entry >= 0) {
            entry = this.entries[entry].parent;
            this.closed.delete(entry);
        }
    }

    // The line of a row, for itself; null if there is none. With several roots it says which one it lies below.
    pinned(row: number): Line | null {
        const entry = this.entryOfRow.get(row);
        if (entry === undefined) {
            return null;
        }
        let root = entry;
        while (this.entries[root].parent >= 0) {
            root = this.entries[root].parent;
        }
        const detail = [this.detailOf(row), ...(this.roots.length > 1 && root !== entry ? [this.entries[root].name] : [])].filter(text => text);
        return { entry, row, name: this.entries[entry].name, detail: detail.join(' · '), depth: 1, hasChildren: false, isOpen: false, matches: true, isPinned: true };
    }

    private matching(query: string): Set<number> | null {
        const words = query.toLowerCase().split(/\s+/).filter(word => word);
        if (!words.length) {
            return null;
        }
        const found = new Set<number>();
        this.entries.forEach((entry, index) => {
            const text = `${entry.name} ${entry.row >= 0 ? this.detailOf(entry.row) : ''}`.toLowerCase();
            if (words.every(word => text.includes(word))) {
                found.add(index);
            }
        });
        return found.size ? found : null;
    }

    // In order; of a search that finds something, what matches and what it lies below. `isShown` leaves rows out.
    lines(query: string, isShown: (row: number) => boolean = () => true): Line[] {
        const found = this.matching(query);
        const kept = new Set<number>();
        this.entries.forEach((entry, index) => {
            if (found ? !found.has(index) : entry.row >= 0 && !isShown(entry.row)) {
                return;
            }
            for (let at = index; at >= 0 && !kept.has(at); at = this.entries[at].parent) {
                kept.add(at);
            }
        });
        const lines: Line[] = [];
        const visit = (index: number, depth: number) => {
            if (!kept.has(index)) {
                return;
            }
            const entry = this.entries[index];
            const children = this.children[index].filter(child => kept.has(child));
            const isOpen = !this.closed.has(index) || found !== null;
            lines.push({
                entry: index, row: entry.row, name: entry.name, depth, isOpen, hasChildren: children.length > 0,
                detail: entry.row >= 0 ? this.detailOf(entry.row) : '', matches: !found || found.has(index), isPinned: false,
            });
            if (isOpen) {
                children.forEach(child => visit(child, depth + 1));
            }
        };
        this.roots.forEach(root => visit(root, 0));
        return lines;
    }
}

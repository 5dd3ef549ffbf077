// SPDX-License-Identifier: MIT
// What was seen and selected before, to go back to.

const KEPT = 200;

export class History {
    private states: string[] = [];
    private at = -1;

    // How it is now that it has come to rest. What was undone before that is forgotten.
    note(state: string): void {
        if (state !== this.states[this.at]) {
            this.states = [...this.states.slice(0, this.at + 1), state].slice(-KEPT);
            this.at = this.states.length - 1;
        }
    }

    // The state that many steps away; null: there is none.
    step(step: number): string | null {
        const state = this.states[this.at + step];
        if (state === undefined) {
            return null;
        }
        this.at += step;
        return state;
    }
}

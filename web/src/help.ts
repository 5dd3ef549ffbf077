// SPDX-License-Identifier: MIT
// What '?' shows: colours and keys.

import { swatch } from './details';
import { button, element } from './dom';
import { Action, help } from './keys';
import { lookOf } from './states';

export function helpDialog(states: string[], actions: Action[] | null = null): HTMLDialogElement {
    const dialog = element('dialog', { 'aria-label': 'Keys and colours' });
    const keys = element('dl', {});
    for (const [name, text] of help(actions)) {
        keys.append(element('dt', {}, element('kbd', {}, name)), element('dd', {}, text));
    }
    const legend = element('ul', { class: 'sums' });
    const first = states.filter((name, at) => states.findIndex(other => lookOf(other).label === lookOf(name).label) === at);
    for (const state of first.filter(name => lookOf(name).height > 0)) {
        legend.append(element('li', {}, swatch(state), element('span', {}, lookOf(state).label)));
    }
    dialog.append(element('h2', {}, 'Colours'), legend, element('p', {},
        'Who runs is drawn tall, who waits half as tall. Where much happens in a column, each state is as high as its share.'),
    element('h2', {}, 'Keys'), keys, element('p', {}, 'Drag selects a range of time, with the right button it zooms to it; Shift and drag moves what is seen, Shift and a click selects ' +
        'up to there; a double click zooms to a state.'),
    button('Close', 'Close', () => dialog.close()));
    return dialog;
}

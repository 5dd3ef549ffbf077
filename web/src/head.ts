// SPDX-License-Identifier: MIT
// Buttons for what the keys do.

import { button, element } from './dom';
import { Action } from './keys';

type Act = (action: Action) => void;

// At the top of the page.
export function tools(act: Act, save: () => void, switchTheme: () => void): HTMLElement {
    return element('div', { class: 'tools' },
        button('↶', 'What was seen and selected before (Ctrl Z)', () => act('undo')),
        button('↷', 'What was seen after that (Ctrl Y)', () => act('redo')),
        button('−', 'Zoom out (S)', () => act('zoomOut')), button('+', 'Zoom in (W)', () => act('zoomIn')),
        button('Fit', 'Zoom to the selection (F)', () => act('fit')), button('All', 'Show all of the time (0)', () => act('whole')),
        button('SVG', 'Save what is seen as SVG', save), button('◐', 'Light or dark', switchTheme),
        button('?', 'Keys and colours (?)', () => act('help')));
}

// For what is selected.
export function selectionTools(act: Act): HTMLElement[] {
    return [button('Cause ⏎', 'Go to who ended the wait (Enter)', () => act('follow')),
        button('Back ⌫', 'Come back (Backspace)', () => act('back')),
        button('Critical path C', 'The critical path of the selected task (C)', () => act('path')),
        button('Pin P', 'Hold the row at the top, or let it go (P)', () => act('pin'))];
}

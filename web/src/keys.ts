// SPDX-License-Identifier: MIT
// Keys and what they do. The list is also what '?' shows.

export type Action = 'zoomIn' | 'zoomOut' | 'left' | 'right' | 'whole' | 'fit' | 'previous' | 'next' | 'up' | 'down' | 'follow' | 'back' |
    'path' | 'fold' | 'search' | 'clear' | 'help' | 'first' | 'last' | 'extendLeft' | 'extendRight' | 'nextMatch' | 'previousMatch' |
    'pin' | 'arrowOn' | 'arrowBack' | 'mark' | 'nextMark' | 'undo' | 'redo';

const bindings: [Action, string[], string, string][] = [
    ['zoomIn', ['w', 'i', '+', '='], 'W or +', 'zoom in; also Ctrl and the wheel'],
    ['zoomOut', ['s', 'k', '-'], 'S or −', 'zoom out'],
    ['left', ['a', 'j'], 'A', 'earlier; also Shift and the wheel'],
    ['right', ['d', 'l'], 'D', 'later'],
    ['fit', ['f', 'z'], 'F', 'zoom to the selected range, or to what is selected; once more: to all of the time'],
    ['whole', ['0', 'Home'], '0', 'show all of the time'],
    ['up', ['ArrowUp'], '↑', 'the row above'],
    ['down', ['ArrowDown'], '↓', 'the row below'],
    ['previous', ['ArrowLeft', ','], '←', 'what the row did before'],
    ['next', ['ArrowRight', '.'], '→', 'what it did next'],
    ['extendLeft', ['Shift+ArrowLeft'], 'Shift ←', 'select a range up to before'],
    ['extendRight', ['Shift+ArrowRight'], 'Shift →', 'select a range up to the next'],
    ['first', ['PageUp'], 'Page ↑', 'ten rows up'],
    ['last', ['PageDown'], 'Page ↓', 'ten rows down'],
    ['follow', ['Enter'], 'Enter', 'go to who ended the wait; from who runs, to its wait before'],
    ['back', ['Backspace'], 'Backspace', 'come back; then to what was seen and selected before'],
    ['undo', ['Ctrl+z'], 'Ctrl Z', 'what was seen and selected before'],
    ['redo', ['Ctrl+y', 'Ctrl+Shift+z'], 'Ctrl Y', 'what was seen after that'],
    ['mark', ['m'], 'M', 'set a bookmark at the selected range or time, or take it away'],
    ['nextMark', ['Shift+m'], 'Shift M', 'go to the next bookmark'],
    ['path', ['c'], 'C', 'the critical path of the selected task, in the selected range or in what is seen'],
    ['arrowOn', [']'], ']', 'along the critical path, to the next task'],
    ['arrowBack', ['['], '[', 'and back to the task before'],
    ['pin', ['p'], 'P', 'hold the selected row at the top, or let it go'],
    ['fold', [' '], 'Space', 'fold or open what lies below the row'],
    ['search', ['/'], '/', 'search rows by name or number'],
    ['nextMatch', ['n'], 'N', 'the next row that matches'],
    ['previousMatch', ['Shift+n'], 'Shift N', 'the one before'],
    ['clear', ['Escape'], 'Esc', 'leave the search; select nothing'],
    ['help', ['?'], '?', 'these keys'],
];

export function actionOf(key: string, shift: boolean, control = false): Action | null {
    // A capital letter comes with Shift, or with Caps Lock.
    const plain = key.length === 1 ? key.toLowerCase() : key;
    const withShift = shift && (key.length > 1 || plain !== key.toUpperCase());
    const wanted = `${control ? 'Ctrl+' : ''}${withShift ? 'Shift+' : ''}${plain}`;
    const found = bindings.find(([, keys]) => keys.includes(wanted));
    return found ? found[0] : null;
}

// Of these actions, or of all.
export function help(actions: Action[] | null = null): [string, string][] {
    return bindings.filter(([action]) => !actions || actions.includes(action)).map(([, , keys, text]) => [keys, text]);
}

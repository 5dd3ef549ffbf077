// SPDX-License-Identifier: MIT
// Elements, made of texts alone: what comes from a trace never becomes markup.

type Attributes = Record<string, string>;

export function element<K extends keyof HTMLElementTagNameMap>(
    tag: K, attributes: Attributes = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
}

export function button(text: string, title: string, action: () => void): HTMLButtonElement {
    const made = element('button', { type: 'button', title, 'aria-label': title }, text);
    made.addEventListener('click', action);
    return made;
}

// A panel of the page: its title, what is said beside it, and a button that closes it; what it shows follows.
export function panel(name: string, title: string, note: HTMLElement, close: (() => void) | null): HTMLElement {
    const head = element('div', { class: 'head' }, element('h2', {}, title), note);
    if (close) {
        head.append(button('×', `Close ${title}`, close));
    }
    return element('section', { class: 'panel', 'data-panel': name, 'aria-label': title }, head);
}

// A function that has `draw` run once before the browser paints next, however often it is called until then; it returns
// whether that was the first call.
export function painter(draw: () => void): () => boolean {
    let frame = 0;
    return () => {
        const isFirst = !frame;
        if (isFirst) {
            frame = requestAnimationFrame(() => {
                frame = 0;
                draw();
            });
        }
        return isFirst;
    };
}

export function isDark(): boolean {
    const { theme } = document.documentElement.dataset;
    return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

export function switchTheme(): void {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
}

// The value of a custom property of the style sheet.
export function color(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

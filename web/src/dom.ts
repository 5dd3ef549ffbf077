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

export function switchTheme(): void {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = isDark ? 'light' : 'dark';
}

// The value of a custom property of the style sheet.
export function color(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

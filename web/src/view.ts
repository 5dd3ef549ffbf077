// SPDX-License-Identifier: MIT
// Starts the page.

import { Api } from './api';
import { App } from './app';
import { element } from './dom';
import { RawTrace, traceOf } from './model';

async function main(): Promise<void> {
    const api = new Api();
    const gone = () => document.body.classList.add('gone');
    api.stay(gone);
    const trace = traceOf(await api.ask<RawTrace>('trace'));
    document.title = `${trace.name} – Lull`;
    await new App(trace, api).start();
}

main().catch((problem: Error) => {
    document.body.replaceChildren(element('p', { class: 'problem', role: 'alert' }, `This page cannot show the trace: ${problem.message}`));
});

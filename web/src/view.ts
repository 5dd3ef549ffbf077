// SPDX-License-Identifier: MIT
// Starts the page.

import { Api } from './api';
import { App } from './app';
import { element } from './dom';
import { RawTrace, Trace, traceOf } from './model';

const AGAIN_AFTER = 500; // ms

// While the traces are indexed, what is finished grows.
async function follow(trace: Trace, api: Api, app: App): Promise<void> {
    for (let done = trace.done, isWhole = trace.isWhole; !isWhole;) {
        await new Promise(later => setTimeout(later, AGAIN_AFTER));
        const next = traceOf(await api.ask<RawTrace>('trace'));
        if (next.done !== done || next.isWhole) {
            app.renew(next);
        }
        ({ done, isWhole } = next);
    }
}

async function main(): Promise<void> {
    const api = new Api();
    const gone = () => document.body.classList.add('gone');
    api.stay(gone);
    const trace = traceOf(await api.ask<RawTrace>('trace'));
    document.title = `${trace.name} – Lull`;
    const app = new App(trace, api);
    await app.start();
    follow(trace, api, app).catch(gone);
}

main().catch((problem: Error) => {
    document.body.replaceChildren(element('p', { class: 'problem', role: 'alert' }, `This page cannot show the trace: ${problem.message}`));
});

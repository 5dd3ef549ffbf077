// SPDX-License-Identifier: MIT
// Questions to the server that the page came from.

const HERE_EVERY = 10000; // ms; the server waits for some of them

// A new one each time that the page is shown: what has gone does not come back.
function newId(): string {
    return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');
}

export class Api {
    private async post(what: string, parameters: object, signal?: AbortSignal): Promise<Response> {
        const answer = await fetch(`api/${what}`, {
            method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ parameters }), signal,
        });
        if (!answer.ok) {
            const problem = await answer.json().catch(() => ({})) as { detail?: string };
            throw new Error(problem.detail || `the server answered ${answer.status}`);
        }
        return answer;
    }

    async ask<T>(what: string, parameters: object = {}, signal?: AbortSignal): Promise<T> {
        return (await this.post(what, parameters, signal)).json() as Promise<T>;
    }

    async bytes(what: string, parameters: object, signal?: AbortSignal): Promise<ArrayBuffer> {
        return (await this.post(what, parameters, signal)).arrayBuffer();
    }

    // The server ends when no page is open any more, so each says that it is there, and when it goes.
    stay(gone: () => void): void {
        const page = { parameters: { page: newId() } };
        const here = () => void this.ask('here', { ...page.parameters, hidden: document.hidden }).catch(gone);
        here();
        setInterval(here, HERE_EVERY);
        // One that is hidden says so when it speaks next: a page is also hidden when it is closed, and then its last word
        // must not be that it will be silent for long.
        document.addEventListener('visibilitychange', () => document.hidden || here());
        window.addEventListener('pageshow', event => {
            if (event.persisted) {
                page.parameters.page = newId();
            }
            here();
        });
        window.addEventListener('pagehide', () => {
            navigator.sendBeacon('api/bye', new Blob([JSON.stringify(page)], { type: 'application/json' }));
        });
    }
}

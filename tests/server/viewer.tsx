// SPDX-License-Identifier: MIT
// The view component of VS Code's Trace Viewer without VS Code, on the outputs of the server that the address names as ?api=; of
// latencies, those of system calls.
import * as React from 'react';
import { createRoot } from 'react-dom/client';
import { TraceContextComponent } from 'traceviewer-react-components/lib/components/trace-context-component';
import { HttpTspClient } from 'tsp-typescript-client/lib/protocol/http-tsp-client';

async function show(): Promise<void> {
    const client = new HttpTspClient(new URL(location.href).searchParams.get('api'));
    const [experiment] = (await client.fetchExperiments()).getModel();
    const all = (await client.experimentOutputs(experiment.UUID)).getModel();
    const outputs = all.filter(({ name }) => !name.startsWith('Latency') || name.includes('System calls'));
    const nothing = () => {};
    createRoot(document.getElementById('root')).render(<TraceContextComponent tspClient={client} experiment={experiment} outputs={outputs}
        markerSetId='' markerCategoriesMap={new Map(outputs.map(output => [output.id, []]))} overviewDescriptor={undefined} backgroundTheme='light'
        messageManager={{ addStatusMessage: nothing, removeStatusMessage: nothing }} onOutputRemove={nothing} onOverviewRemove={nothing}
        addResizeHandler={nothing} removeResizeHandler={nothing}/>);
}

void show();

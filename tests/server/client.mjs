// SPDX-License-Identifier: MIT
// Calls what lull serve answers with the methods of tsp-typescript-client, the client that VS Code and Theia use, and prints the
// names of those whose answer it could not read. Run by test_clients.py with the URL of the server and a tid.
import tsp from 'tsp-typescript-client/lib/protocol/http-tsp-client.js';
const [url, tid] = process.argv.slice(2);
const client = new tsp.HttpTspClient(url);
const failed = [], done = [];

async function call(name, ...args) {
    const answer = await client[name](...args);
    const model = answer.getModel();
    if (!answer.isOk() || model === undefined || model === null) {
        failed.push(`${name}: ${answer.getStatusCode()} ${answer.getText?.() ?? ''}`);
    }
    done.push(name);
    return model;
}

await call('checkHealth');
await call('fetchIdentifier');
const [trace] = await call('fetchTraces');
await call('fetchTrace', trace.UUID);
await call('openTrace', {parameters: {uri: trace.path}});
const [listed] = await call('fetchExperiments');
const {UUID: id, start, end} = await call('fetchExperiment', listed.UUID);
await call('createExperiment', {parameters: {name: listed.name, traces: [trace.UUID]}});
await call('fetchConfigurationSourceTypes');
const base = (await call('experimentOutputs', id)).find(output => output.capabilities?.canCreate);
await call('fetchOutputConfigurationTypes', id, base.id);
await call('fetchOutputConfigurationType', id, base.id, 'lull.critpath');
const made = await call('createDerivedOutput', id, base.id, {name: 'x', description: '', sourceTypeId: 'lull.critpath',
    parameters: {tid: Number(tid)}});
const range = {start, end, nbTimes: 500};
await call('fetchMarkerSets', id);
for (const output of await call('experimentOutputs', id)) {
    const tree = output.type === 'TIME_GRAPH' ? 'fetchTimeGraphTree' : 'fetchXYTree';
    const {entries} = (await call(tree, id, output.id, {parameters: {requested_timerange: range}})).model;
    const query = {parameters: {requested_timerange: range, requested_items: entries.map(entry => entry.id)}};
    await call('fetchStyles', id, output.id, {parameters: {}});
    await call('fetchAnnotationsCategories', id, output.id);
    await call('fetchAnnotations', id, output.id, query);
    if (output.type === 'TIME_GRAPH') {
        const {rows} = (await call('fetchTimeGraphStates', id, output.id, query)).model;
        await call('fetchTimeGraphArrows', id, output.id, query);
        const row = rows.find(one => one.states.length > 0);
        if (row) {
            const {start: time, end: last} = row.states[0];
            await call('fetchTimeGraphTooltip', id, output.id, {parameters: {requested_times: [time], requested_items: [row.entryId],
                requested_element: {elementType: 'state', time, duration: last - time}}});
        }
    } else {
        await call('fetchXY', id, output.id, query);
    }
}
await call('deleteDerivedOutput', id, base.id, made.id);
console.log(JSON.stringify({failed, done: new Set(done).size}));

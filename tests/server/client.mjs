// SPDX-License-Identifier: MIT
// Calls what lull serve answers with the methods of tsp-typescript-client, the client that VS Code and Theia use, and prints the
// names of those whose answer it could not read. Run by test_clients.py with the URL of the server and a tid.
import tsp from 'tsp-typescript-client/lib/protocol/http-tsp-client.js';
const [url, tid] = process.argv.slice(2);
const client = new tsp.HttpTspClient(url);
const failed = [], done = [];
let lines = 0;

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
const trees = {TIME_GRAPH: 'fetchTimeGraphTree', TREE_TIME_XY: 'fetchXYTree', TREE_GENERIC_XY: 'fetchGenericXYTree', DATA_TREE: 'fetchDataTree'};
for (const output of await call('experimentOutputs', id)) {
    await call('fetchStyles', id, output.id, {parameters: {}});
    await call('fetchAnnotationsCategories', id, output.id);
    await call('fetchAnnotations', id, output.id, {parameters: {requested_timerange: range, requested_items: []}});
    if (output.type === 'TABLE') {
        await call('fetchTableColumns', id, output.id, {parameters: {}});
        const {size} = (await call('fetchTableLines', id, output.id, {parameters: {requested_table_index: 0, requested_table_count: 200}})).model;
        await call('fetchTableLines', id, output.id, {parameters: {requested_times: [start], requested_table_count: 1, requested_table_column_ids: [0],
            table_search_expressions: {0: '.'}, table_search_direction: 'NEXT'}});
        lines += size;
        continue;
    }
    const {entries} = (await call(trees[output.type], id, output.id, {parameters: {requested_timerange: range}})).model;
    const query = {parameters: {requested_timerange: range, requested_items: entries.map(entry => entry.id)}};
    if (output.type === 'TIME_GRAPH') {
        const {rows} = (await call('fetchTimeGraphStates', id, output.id, query)).model;
        await call('fetchTimeGraphArrows', id, output.id, query);
        const row = rows.find(one => one.states.length > 0);
        if (row) {
            const {start: time, end: last} = row.states[0];
            await call('fetchTimeGraphTooltip', id, output.id, {parameters: {requested_times: [time], requested_items: [row.entryId],
                requested_element: {elementType: 'state', time, duration: last - time}}});
        }
    } else if (output.type === 'TREE_TIME_XY') {
        await call('fetchXY', id, output.id, query);
    } else if (output.type === 'TREE_GENERIC_XY') {
        const {requested_items} = query.parameters;
        await call('fetchGenericXY', id, output.id, {parameters: {requested_timerange: {start, end, nbSamples: 50}, requested_items}});
    }
}
await call('deleteDerivedOutput', id, base.id, made.id);
console.log(JSON.stringify({failed, done: new Set(done).size, lines}));

// SPDX-License-Identifier: MIT
// The logic of the page, in Node's own test runner: numbers by hand.

import assert from 'node:assert/strict';
import test from 'node:test';

import { columnAt, columnsOf } from '../../web/src/amounts';
import { columnBars, spanBars } from '../../web/src/bars';
import { busy, ticks } from '../../web/src/axis';
import { covers, decode } from '../../web/src/columns';
import { Answer, EventRows, RawEvent } from '../../web/src/eventrows';
import { findPath, framesOf, pathOf, placeOf } from '../../web/src/flame';
import { Flow } from '../../web/src/flow';
import { format, parse } from '../../web/src/fragment';
import { cycles, frequencyAt, hertz } from '../../web/src/frequency';
import { devices, rate, size } from '../../web/src/io';
import { History } from '../../web/src/history';
import { actionOf, help } from '../../web/src/keys';
import { area, high } from '../../web/src/lanes';
import { formatMarks, parseMarks } from '../../web/src/marks';
import { callerOf, firstState, hasCalls, RawTrace, traceOf } from '../../web/src/model';
import { Pins, Places } from '../../web/src/place';
import { columnsFor } from '../../web/src/rows';
import { decades, durationAt, lineRange, shareOf } from '../../web/src/scale';
import { segmentSentence, sentence } from '../../web/src/sentence';
import { callLooks, colorOf, inkOn, Look, lookOf, looks, palette, phraseOf, stateOfSegment } from '../../web/src/states';
import { escapeXml, Svg } from '../../web/src/surface';
import { absolute, duration, offset, tickStep } from '../../web/src/time';
import { Tree } from '../../web/src/tree';
import { mean, usage } from '../../web/src/usage';
import { clamp, fit, fitOrAll, pan, reveal, zoom } from '../../web/src/viewport';
import css from '../../web/view.css';

test('durations have four digits', () => {
    assert.deepEqual([0, 7, 1500, 12345678, 402.2e6, 23.78e9, 3600e9].map(duration),
        ['0 ns', '7 ns', '1.500 µs', '12.35 ms', '402.2 ms', '23.78 s', '3600 s']);
});

test('times are exact where numbers are not', () => {
    const start = BigInt('1795222893691536000');
    assert.equal(absolute(start, 0), '2026-11-21 01:01:33.691536000');
    assert.equal(absolute(start, 308464001), '2026-11-21 01:01:34.000000001');
    assert.equal(absolute(BigInt(-1), 0), '1969-12-31 23:59:59.999999999');
    assert.equal(offset(1234567890, 1000), '1.234568 s');
    assert.equal(offset(5e9, 1e9), '5 s');
});

test('ticks are round, and as many as fit', () => {
    assert.equal(tickStep(10e9, 5), 2e9);
    assert.equal(tickStep(10e9, 10), 1e9);
    assert.equal(tickStep(3, 100), 1);
    const found = ticks({ start: 1.5e9, end: 11.5e9 }, 660);
    assert.deepEqual(found.map(([, text]) => text), ['2 s', '4 s', '6 s', '8 s', '10 s']);
});

test('the window stays within the trace and where the pointer is', () => {
    assert.deepEqual(clamp({ start: -10, end: 190 }, 1000), { start: 0, end: 200 });
    assert.deepEqual(clamp({ start: 900, end: 1100 }, 1000), { start: 800, end: 1000 });
    assert.deepEqual(clamp({ start: 0, end: 5000 }, 1000), { start: 0, end: 1000 });
    assert.deepEqual(zoom({ start: 0, end: 1000 }, 0.5, 250, 1000), { start: 125, end: 625 });
    assert.deepEqual(pan({ start: 200, end: 400 }, 0.5, 1000), { start: 300, end: 500 });
    assert.deepEqual(fit({ start: 400, end: 600 }, 1000), { start: 380, end: 620 });
    const all = { start: 0, end: 1000 }, wanted = { start: 400, end: 600 };
    assert.deepEqual([fitOrAll(all, wanted, 1000), fitOrAll(fit(wanted, 1000), wanted, 1000), fitOrAll(wanted, null, 1000)], [{ start: 380, end: 620 }, all, all]);
    assert.deepEqual(reveal({ start: 0, end: 200 }, 700, 1000), { start: 600, end: 800 });
    assert.deepEqual(reveal({ start: 0, end: 200 }, 100, 1000), { start: 0, end: 200 });
    const narrow = zoom({ start: 500, end: 560 }, 0.001, 530, 1000);
    assert.equal(narrow.end - narrow.start, 50);
});

test('the address holds what is shown, and nothing else comes from it', () => {
    const shown = {
        window: { start: 5, end: 900 }, range: { start: 10, end: 20 }, selected: { place: 'a%2Cb:3', time: 12 }, panels: ['tasks', 'flow'],
        pins: ['db:8', 'a%2Cb:cpu:0'], query: 'a&b=c #', flow: { place: 'db:8:50', start: 10, end: 20 }, own: { events: 'tid == 7 & "a=b"' },
    };
    assert.deepEqual(parse(`#${format(shown)}`), shown);
    assert.deepEqual(parse('#path=17').flow, { request: 17 });
    const ofPeriod = { ...shown, flow: { period: 'request,% x', instance: 3 } };
    assert.deepEqual(parse(`#${format(ofPeriod)}`), ofPeriod);
    const nothing = { window: null, range: null, selected: null, pins: [], panels: null, query: '', flow: null, own: {} };
    for (const bad of ['#sel=db:1', '#sel=db:1@x', '#sel=db:1@2@3', '#sel=a,b:1@2', '#p=7', '#p=', '#path=period:,1', '#path=period:x', '#path=db:1,5,5','', '#', '#t=1', '#t=9,1', '#t=a,b', '#s=1,2,3', '#sel=-1@5', '#sel=1', '#path=1,2', '#t=1e3,2e9', '#t=,', '#__proto__=1', '#x y=1', '#events=']) {
        assert.deepEqual(parse(bad), nothing, bad);
    }
});

// Two rows of four columns of 8 ns from 16 on.
function answer(): ArrayBuffer {
    const tail = new TextEncoder().encode('[[1,2,0,40,"read"],[1,3,40,41]]');
    const bytes = new ArrayBuffer(24 + 2 * 24 + tail.length), view = new DataView(bytes);
    [0x31434c4c, 2, 4, 3].forEach((value, i) => view.setUint32(4 * i, value, true));
    view.setFloat64(16, 16, true);
    new Uint8Array(bytes).set([1, 1, 2, 2, 255, 255, 127, 127, 0, 0, 1, 1, 0, 0, 128, 128, 0, 0, 0, 0, 0, 0, 0, 0], 24);
    new Uint8Array(bytes).set(tail, 72);
    return bytes;
}

test('columns are decoded', () => {
    const [first, second] = decode(answer());
    assert.deepEqual([first.block.start, first.block.width, first.block.count], [16, 8, 4]);
    assert.deepEqual([...first.block.data.slice(0, 8)], [1, 1, 2, 2, 255, 255, 127, 127]);
    assert.deepEqual(second.spans, [{ start: 0, end: 40, state: 2, label: 'read' }, { start: 40, end: 41, state: 3, label: '' }]);
    assert.ok(covers(first.block, 16, 48) && !covers(first.block, 15, 48) && !covers(first.block, 16, 49));
    assert.throws(() => decode(new ArrayBuffer(30)), /not what it should be/);
});

test('equal columns become one bar, mixed ones lie on each other', () => {
    const { block } = decode(answer())[0];
    const bars: number[][] = [];
    // 1 pixel is 4 ns; half of it before the block.
    columnBars(block, { start: 0, end: 64 }, 16, [0, 1, 0.5], (...bar) => bars.push(bar));
    const half = 127 / 255;
    assert.deepEqual(bars, [[4, 8, 0, 1, 1], [8, 12, 0, 128 / 255, 1], [8, 12, 128 / 255, 128 / 255 + half * 0.5, 2]]);
});

test('short spans keep a pixel, and those that share one are drawn once', () => {
    const spans = [[0, 100], [100, 101], [101, 102], [102, 500], [900, 901]].map(([start, end], i) => ({ start, end, state: i % 2, label: '' }));
    const bars: number[][] = [];
    spanBars(spans, { start: 0, end: 1000 }, 10, [1, 0.5], (...bar) => bars.push(bar));
    assert.deepEqual(bars, [[0, 1, 0, 1, 0], [1, 2, 0, 0.5, 1], [2, 5, 0, 0.5, 1], [9, 10, 0, 1, 0]]);
    bars.length = 0;
    spanBars(spans, { start: 200, end: 400 }, 10, [1, 0.5], (...bar) => bars.push(bar));
    assert.deepEqual(bars, [[0, 10, 0, 0.5, 1]]);
});

test('how busy all CPUs were', () => {
    const blocks = decode(answer()).map(picture => picture.block);
    assert.deepEqual(busy([blocks[0]], 2).map(share => Math.round(share * 255)), [255, 255, 128, 128]);
    assert.deepEqual(busy(blocks, 2).map(share => Math.round(share * 510)), [255, 255, 128, 128]);
    assert.deepEqual(busy([], 0), []);
    assert.equal(columnsFor(1e9, 1200), 1200);
    assert.equal(columnsFor(7, 1200), 7);
    assert.equal(columnsFor(1e9, 1e6), 16384);
});

test('use of CPUs is the share of who runs, of all rows together', () => {
    const blocks = decode(answer()).map(picture => picture.block);
    const seen = { start: 8, end: 48 };
    // Columns of 8 ns from 16 on; state 1 counts.
    const one = usage([blocks[0]], seen, 5, [false, true, false]);
    assert.ok(isNaN(one[0]));
    assert.deepEqual(one.slice(1).map(share => Math.round(255 * share)), [255, 255, 128, 128]);
    assert.deepEqual(usage(blocks, seen, 5, [false, true, false]).slice(1).map(share => Math.round(510 * share)), [255, 255, 128, 128]);
    assert.equal(mean([blocks[0]], seen, [false, true, false]), (255 + 255 + 128 + 128) / 4 / 255);
    assert.equal(mean([blocks[0]], { start: 28, end: 36 }, [false, true, false]), (4 * 255 + 4 * 128) / 8 / 255);
    assert.ok(isNaN(mean([], seen, [])));
});

test('columns of meters are as narrow as pixels, and lie on each other at every zoom', () => {
    assert.deepEqual(columnsOf({ start: 0, end: 1024 * 1000 }, 1000, 1024 * 1000), { start: 0, width: 1024, columns: 1000 });
    assert.deepEqual(columnsOf({ start: 0, end: 1024 * 1000 }, 999, 1024 * 1000), { start: 0, width: 2048, columns: 500 });
    // A quarter of what is seen on both sides, from 10 to 22 ms: of 4000 pixels each shows 2000 ns.
    assert.deepEqual(columnsOf({ start: 12e6, end: 20e6 }, 4000, 1e9), { start: 4882 * 2048, width: 2048, columns: 5861 });
    assert.deepEqual(columnsOf({ start: 500, end: 550 }, 1000, 1e6), { start: 0, width: 1024, columns: 1 });
    const series = { start: 2048, width: 1024, amounts: [5, 0, 7] };
    assert.deepEqual([2047, 2048, 3071, 3072, 5119, 5120].map(time => columnAt(series, time)), [-1, 0, 0, 1, 2, -1]);
});

test('rates are of the part of a column that lies within the trace', () => {
    const series = { start: 0, width: 1e6, amounts: [1000, 500] };
    assert.equal(rate(series, 1, 3e6), 1e6);
    assert.equal(rate(series, 1.2e6, 1.25e6), 2e6);
    assert.ok(isNaN(rate(series, 2.5e6, 3e6)) && isNaN(rate(undefined, 0, 1)));
    assert.deepEqual([0, 17, 1023, 1024, 1.5, 1536 * 1024, 150 * 1024 ** 2, 3 * 1024 ** 4].map(size),
        ['0 B', '17 B', '1023 B', '1.00 KiB', '1.50 B', '1.50 MiB', '150 MiB', '3.00 TiB']);
});

test('frequencies are of the time in which they are known', () => {
    const row = { kind: 'frequency', host: 0, name: 'CPU 0', cpu: 0, tid: -1, pid: -1, ran: 0, from: 400, to: 5000 };
    const series = { start: 0, width: 1000, amounts: [1200, 3000] };
    assert.deepEqual([10, 1500].map(time => frequencyAt(series, time, row)), [2, 3]); // of 600 ns, and of 1000
    assert.equal(frequencyAt(series, 10, { ...row, from: 1000 }), 0);
    assert.deepEqual([2.4, 1, 0.8].map(hertz), ['2.40 GHz', '1.00 GHz', '800 MHz']);
    assert.deepEqual([7, 1500, 12e6, 350e6, 1.25e12].map(cycles),
        ['7 cycles', '1.50 thousand cycles', '12.0 million cycles', '350 million cycles', '1.25 trillion cycles']);
});

test('a lane for each disk and interface, by host', () => {
    const kinds = ['task', 'disk-read', 'disk-written', 'disk-requests', 'disk-flight', 'net-received', 'net-sent'];
    const rows = [[5, 1, 'eth0'], [0, 0, 'sh'], [6, 0, 'lo'], [1, 1, 'vda'], [2, 1, 'vda'], [3, 1, 'vda'], [4, 1, 'vda'], [6, 1, 'eth0'], [5, 0, 'lo']]
        .map(([kind, host, name]) => [kind, host, name, -1, -1, -1, 0, 0, 0]);
    const raw = { name: 't', start: '0', length: 1, done: 1, isWhole: true, hosts: ['a', 'b'], states: [], kinds, rows, tasks: [], resources: [], declared: [], calls: [], groups: [] };
    const found = devices(traceOf(raw as unknown as RawTrace)).map(({ name, up, down, requests, flight }) => [name, up, down, requests, flight]);
    assert.deepEqual(found, [['a · lo', 8, 2, -1, -1], ['b · vda', 3, 4, 5, 6], ['b · eth0', 0, 7, -1, -1]]);
});

test('curves are as tall as their shares, and little is not nothing', () => {
    assert.deepEqual([0, 1e-9, 0.5, 1, 7].map(share => high(share, 20)), [0, 1, 10, 20, 20]);
    const drawn: number[][] = [];
    area({ rectangle: (x, y, width, height) => drawn.push([x, y, width, height]), text: () => {} }, [4, 4, NaN, 0, -3, 2], 10, '');
    assert.deepEqual(drawn, [[0, 6, 2, 4], [4, 10, 1, 3], [5, 8, 1, 2]]);
});

test('what was seen is gone back to, and forward until something else is', () => {
    const past = new History();
    assert.equal(past.step(-1), null);
    ['a', 'a', 'b', 'c'].forEach(state => past.note(state));
    assert.deepEqual([past.step(-1), past.step(-1), past.step(-1)], ['b', 'a', null]);
    assert.equal(past.step(1), 'b');
    past.note('b'); // which it is
    assert.deepEqual([past.step(1), past.step(1)], ['c', null]);
    past.step(-2);
    past.note('d');
    assert.deepEqual([past.step(1), past.step(-1), past.step(1)], [null, 'a', 'd']);
    for (let i = 0; i < 1000; i++) {
        past.note(`${i}`);
    }
    assert.equal(past.step(-199), '800');
    assert.equal(past.step(-1), null);
});

test('bookmarks survive the address, whatever their names are', () => {
    const marks = [{ start: 5, end: 5, name: 'a,b;c=d&e%#“ü' }, { start: 7, end: 90, name: '' }];
    assert.deepEqual(parseMarks(formatMarks(marks), 90), marks);
    const shown = parse(`m=${encodeURIComponent(formatMarks(marks))}`);
    assert.deepEqual(parseMarks(shown.own.m, 90), marks);
    assert.deepEqual(parse(format(shown)).own, shown.own);
    assert.deepEqual(parseMarks('9,9,b;1,2,a;3;x,y;-1,5;6,5;4,1000;7.5,8;,5;%', 90), [{ start: 1, end: 2, name: 'a' }, { start: 9, end: 9, name: 'b' }]);
    assert.deepEqual(parseMarks('1,1,%E0%A4%A', 90), [{ start: 1, end: 1, name: '%E0%A4%A' }]);
    assert.equal(parseMarks(Array(99).fill('1,1,').join(';'), 90).length, 50);
});

const entries = [
    { parent: -1, row: -1, name: 'client' }, { parent: 0, row: 0, name: 'bash' }, { parent: 1, row: 1, name: 'worker' },
    { parent: -1, row: -1, name: 'db' }, { parent: 3, row: 2, name: 'postgres' },
];

test('trees fold, and a search keeps what the matches lie below', () => {
    const tree = new Tree(entries, row => `${100 + row}`);
    const names = (query = '') => tree.lines(query).map(line => line.name);
    assert.deepEqual(names(), ['client', 'bash', 'worker', 'db', 'postgres']);
    assert.deepEqual(names('WORK'), ['client', 'bash', 'worker']);
    assert.deepEqual(names('102'), ['db', 'postgres']);
    assert.deepEqual(tree.lines('worker').map(line => line.matches), [false, false, true]);
    assert.deepEqual(names('no such'), ['client', 'bash', 'worker', 'db', 'postgres']);
    assert.deepEqual(tree.lines('', row => row !== 2).map(line => line.name), ['client', 'bash', 'worker', 'db']);
    assert.deepEqual([tree.pinned(1)?.name, tree.pinned(1)?.detail, tree.pinned(1)?.isPinned, tree.pinned(99)], ['worker', '101 · client', true, null]);
    tree.toggle(1);
    assert.deepEqual(names(), ['client', 'bash', 'db', 'postgres']);
    tree.toggle(0);
    assert.deepEqual(names(), ['client', 'db', 'postgres']);
    tree.reveal(1);
    assert.deepEqual(names(), ['client', 'bash', 'worker', 'db', 'postgres']);
    assert.deepEqual(new Tree(entries, () => '', true).lines('').map(line => line.name), ['client', 'bash', 'db', 'postgres']);
});

const trace = traceOf({
    name: 't', start: '1', length: 1000, hosts: ['client', 'db'], states: ['unknown', 'user', 'wait-task', 'wait-disk', 'idle', 'syscall', 'wait-cpu'],
    kinds: ['task', 'cpu', 'vcpu'], rows: [[0, 0, 'bash', -1, 7, 7, 5, 0, 9], [0, 1, 'postgres', -1, 8, 8, 5, 0, 9], [1, 1, 'CPU 0', 0, -1, -1, 0, 0, 9],
        [2, 1, 'web vCPU 0', -1, 9, 9, 5, 0, 9]],
    tasks: [], resources: [], declared: [], calls: [], groups: [],
});

test('a row is found again by what it shows, also if others were added', () => {
    const raw: RawTrace = {
        name: 'x', start: '0', length: 100, done: 100, isWhole: true, hosts: ['a:b', 'db'], states: [], kinds: ['task', 'cpu', 'irq'], tasks: [], resources: [], declared: [], calls: [], groups: [],
        rows: [[0, 0, 'sh', -1, 7, 7, 1, 0, 100], [0, 1, 'sh', -1, 7, 7, 1, 0, 40], [0, 1, 'cc', -1, 7, 7, 1, 50, 90], [1, 1, 'CPU 0', 0, -1, -1, 0, 0, 100],
            [2, 1, '7 nic', 0, -1, -1, 0, 0, 100], [2, 1, '7 nic', -1, -1, -1, 0, 0, 100]],
    };
    const trace = traceOf(raw), places = new Places(trace), all = [0, 1, 2, 3, 4, 5];
    const names = all.map(row => places.of(row));
    assert.deepEqual(names, ['a%3Ab:7', 'db:7:0', 'db:7:50', 'db:cpu:0', 'db:irq:0:7%20nic', 'db:irq:7%20nic']);
    assert.deepEqual(names.map(name => places.row(name, 0)), all);
    // Without its start, a task is the one that was there then.
    assert.deepEqual([0, 39, 44, 47, 60, 99].map(time => places.row('db:7', time)), [1, 1, 1, 2, 2, 2]);
    assert.deepEqual(['db:8', 'x:7', 'db', '', ':', 'db:cpu:1'].map(name => places.row(name, 0)), [-1, -1, -1, -1, -1, -1]);
    const pins = new Pins(places);
    [2, 0, 2, 3].forEach(row => pins.toggle(row));
    assert.deepEqual([pins.list, pins.rows()], [['a%3Ab:7', 'db:cpu:0'], [0, 3]]);
    Object.assign(trace, traceOf({ ...raw, rows: [...raw.rows].reverse() }));
    assert.deepEqual(pins.rows(), [5, 2]);
    assert.deepEqual(names.map(name => places.row(name, 0)), [...all].reverse());
});

test('sentences say what was waited for, and since when', () => {
    const say = (rest: object) => sentence(trace, { row: 0, time: 2000000, state: 0, start: 2000000, end: 5000000, ...rest });
    assert.equal(say({ state: 2, label: 'read', other: 1 }),
        'bash (7) on client waited in read until postgres (8) on db woke it, for 3.000 ms, from 0.002000 s to 0.005000 s.');
    assert.match(say({ row: 1, state: 3, label: 'fdatasync', thing: 'vda' }), /^postgres \(8\) on db waited in fdatasync for the disk vda, for 3/);
    assert.match(say({ state: 1, cpu: 3 }), /^bash \(7\) on client ran on CPU 3, for/);
    assert.match(say({ row: 2, state: 4 }), /^CPU 0 on db was idle, for/);
    assert.match(say({ row: 3, state: 1 }), /^web vCPU 0 \(9\) on db ran the guest, for/);
    assert.match(say({ row: 3, state: 1, other: 0 }), /^web vCPU 0 \(9\) on db ran, in the guest, bash \(7\) on client, for/);
    assert.match(say({ row: 3, state: 5, label: 'kvm' }), /^web vCPU 0 \(9\) on db was in the hypervisor \(kvm\), for/);
    assert.match(say({ row: 3, state: 6, other: 1 }), /^web vCPU 0 \(9\) on db waited for a CPU of its host, which postgres \(8\) had, for/);
    assert.match(say({ row: 3, state: 4 }), /^web vCPU 0 \(9\) on db was halted, for/);
});

test('a path becomes lines, spans and arrows', () => {
    const flow = new Flow({
        origin: '0', host: 'client', name: 'bash', tid: 7, start: 0, end: 100, lost: 0, cut: false,
        tasks: [['client', 'bash', 7, 0], ['db', 'postgres', 8, 1], ['db', 'x', -1, -1]],
        segments: [[0, 0, 10, 'running', '', ''], [1, 10, 60, 'blocked', 'disk', 'vda write'], [2, 60, 70, 'interrupted', '', ''],
            [0, 70, 100, 'preempted', '', '']],
    }, trace.states);
    assert.deepEqual(flow.entries.map(({ parent, row, name }) => [parent, row, name]),
        [[-1, -1, 'client'], [0, 0, 'bash'], [-1, -1, 'db'], [2, 1, 'postgres'], [2, -1, 'interrupts']]);
    assert.deepEqual(flow.arrows, [{ time: 10, from: 1, to: 3 }, { time: 60, from: 3, to: 4 }, { time: 70, from: 4, to: 1 }]);
    assert.deepEqual(flow.segments.map(segment => segment.word), ['user', 'wait-disk', 'interrupt', 'wait-cpu']);
    assert.deepEqual([0, 9, 10, 59, 99, 500].map(time => flow.at(time)), [0, 0, 1, 1, 3, 3]);
    // Line 4 has no row.
    assert.deepEqual([0, 10, 69, 70].map(time => flow.across(time, 1)), [{ row: 1, time: 10 }, { row: 0, time: 70 }, { row: 0, time: 70 }, null]);
    assert.deepEqual([99, 70, 59, 10, 9].map(time => flow.across(time, -1)), [{ row: 1, time: 59 }, { row: 1, time: 59 }, { row: 0, time: 9 }, { row: 0, time: 9 }, null]);
    assert.deepEqual(flow.sums(), [['wait-disk', 50], ['wait-cpu', 30], ['user', 10], ['interrupt', 10]]);
    assert.deepEqual(flow.sums(5, 30), [['wait-disk', 20], ['user', 5]]);
    assert.equal(segmentSentence(flow, 1), 'postgres (8) on db: waiting for a disk, 50 ns, from 0.000000 s to 0.000000 s: vda write.');
});

test('each key does one thing', () => {
    assert.equal(actionOf('w', false), 'zoomIn');
    assert.equal(actionOf('W', false), 'zoomIn'); // Caps Lock
    assert.equal(actionOf('n', false), 'nextMatch');
    assert.equal(actionOf('N', true), 'previousMatch');
    assert.deepEqual([actionOf('z', false), actionOf('z', false, true), actionOf('Z', true, true), actionOf('f', false, true)], ['fit', 'undo', 'redo', null]);
    assert.equal(actionOf('?', true), 'help');
    assert.equal(actionOf('ArrowLeft', false), 'previous');
    assert.equal(actionOf('ArrowLeft', true), 'extendLeft');
    assert.equal(actionOf('x', false), null);
    assert.equal(new Set(help().map(([keys]) => keys)).size, help().length);
});

// Relative luminance and contrast of WCAG 2.1.
const linear = (color: string): number[] => [1, 3, 5].map(at => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
});
const luminance = (color: string): number => linear(color).reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a: string, b: string): number =>
    (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);

test('height shows who runs and who waits, colour or hatching shows the state', () => {
    const names = Object.keys(looks);
    const seen = new Set(names.map(name => `${colorOf(lookOf(name), false)} ${lookOf(name).hatch}`));
    assert.equal(seen.size, names.length);
    for (const name of names) {
        const isWait = name.startsWith('wait-') || name === 'idle';
        assert.ok(isWait ? lookOf(name).height < 1 : lookOf(name).height === 1, name);
    }
    assert.equal(phraseOf('wait-cpu'), 'waiting for a CPU');
    assert.equal(lookOf('no such state').height, 0);
    assert.deepEqual(['disk', 'ipi', 'new'].map(cause => stateOfSegment('blocked', cause)), ['wait-disk', 'wait-irq', 'wait-unknown']);
});

test('texts of a trace stay texts in an SVG', () => {
    const svg = new Svg(10, 10, ['user'], false);
    svg.text(0, 0, '</text><script>&"\u0000', '#000000');
    svg.paint(1, 2)(0, 3, 4, 5, 0);
    assert.ok(!/<script|\u0000/.test(svg.toString()));
    assert.ok(svg.toString().includes('<rect x="1" y="6" width="3" height="1" fill="#008561"/>'));
    assert.equal(escapeXml('a<b'), 'a&#60;b');
});

test('durations lie on a logarithmic scale', () => {
    const scale = { low: 0, high: 1023 }; // log2(ns + 1) from 0 to 10
    assert.deepEqual([0, 1, 31, 1023, 5000].map(ns => shareOf(ns, scale)), [0, 0.1, 0.5, 1, 1]);
    assert.equal(Math.round(durationAt(0.5, scale)), 31);
    assert.deepEqual(lineRange(0, 2, scale), [0, 31]);
    assert.deepEqual(lineRange(1, 2, scale), [31, 1023]);
    assert.deepEqual(decades({ low: 5, high: 20000 }, 10), [10, 100, 1000, 10000]);
    assert.deepEqual(decades({ low: 5, high: 20000 }, 2), [100, 10000]);
    assert.equal(shareOf(7, { low: 7, high: 7 }), 0);
});

// 5000 events, five at each time.
function pages(): { rows: EventRows; all: RawEvent[]; asked: number[] } {
    const all = Array.from({ length: 5000 }, (_, i): RawEvent => [Math.floor(i / 5) * 10, i % 5, 0, 0, `e${i}`, '', -1]);
    const asked: number[] = [];
    const rows = new EventRows(async parameters => {
        const { time, index, count } = parameters as { time: number; index: number; count: number };
        const at = all.findIndex(one => one[0] > time || (one[0] === time && one[1] >= index)), here = at < 0 ? all.length : at;
        const found = count > 0 ? all.slice(here, here + count) : all.slice(Math.max(0, here + count), here);
        asked.push(count);
        const answer: Answer = { rows: found, reached: count > 0 ? 10000 : 0, is_end: found.length < Math.abs(count) };
        return answer;
    });
    return { rows, all, asked };
}

test('events are added at both ends of what there is, and those far away are dropped', async () => {
    const { rows, all, asked } = pages();
    rows.start({ time: 5003, index: 0 });
    assert.equal(await rows.more(true), 200);
    assert.equal(await rows.more(false), 200);
    assert.deepEqual(rows.rows, all.slice(2505 - 200, 2505 + 200));
    assert.ok(rows.covers({ time: 5000, index: 0 }) && !rows.covers({ time: 9990, index: 0 }));
    assert.equal(rows.find({ time: 5010, index: 2 }), 202);
    for (let dropped = 0; !rows.hasLast; dropped = rows.trim(true)) {
        await rows.more(true);
        assert.ok(dropped >= 0 && rows.rows.length <= 2200);
    }
    rows.trim(true);
    assert.deepEqual(rows.rows, all.slice(3000));
    assert.ok(!rows.hasFirst);
    while (!rows.hasFirst) {
        await rows.more(false);
        rows.trim(false);
    }
    assert.deepEqual(rows.rows, all.slice(0, 2000));
    assert.ok(!rows.hasLast && asked.every(count => Math.abs(count) <= 200));
    const late = rows.more(true);
    rows.start({ time: 0, index: 0 });
    assert.equal(await late, null);
    assert.deepEqual(rows.rows, []);
});

// A property of the style sheet in the light and the dark theme; the dark one is written twice.
function property(name: string): [string, string] {
    const found = [...css.matchAll(new RegExp(`--${name}: (#[0-9a-f]{6})`, 'g'))].map(one => one[1]);
    assert.equal(found.length, 3, name);
    assert.equal(found[1], found[2], name);
    return [found[0], found[1]];
}

test('contrast is as WCAG computes it', () => {
    assert.ok(Math.abs(contrast('#ffffff', '#000000') - 21) < 1e-9);
    assert.ok(Math.abs(contrast('#767676', '#ffffff') - 4.54) < 0.005); // the darkest grey that its examples call enough
});

test('what is drawn stands out from what is behind it, in both themes', () => {
    [false, true].forEach((isDark, theme) => {
        const behind = ['paper', 'panel', 'row'].map(name => property(name)[theme]);
        const declared = palette.map((look, i): [string, Look] => [`declared state ${i}`, { ...look, label: '' }]);
        for (const [name, look] of [...Object.entries(looks), ...declared, ...callLooks]) {
            behind.forEach(one => assert.ok(contrast(colorOf(look, isDark), one) >= 3, `${name} on ${one}`));
            assert.ok(look.height <= 0.7 || contrast(colorOf(look, isDark), inkOn(isDark)) >= 4.5, `words on ${name}`);
        }
        for (const name of ['busy', 'point', 'own', 'mark', 'arrow']) {
            assert.ok(contrast(property(name)[theme], behind[0]) >= 3, name);
        }
        for (const name of ['ink', 'quiet', 'warn']) {
            behind.forEach(one => assert.ok(contrast(property(name)[theme], one) >= 4.5, `${name} on ${one}`));
        }
    });
});

// How colours look without one kind of cones: Machado, Oliveira and Fernandes 2009, severity 1.
const visions = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
];

// CIE L*a*b* of linear RGB, white D65.
function lab(rgb: number[]): number[] {
    const [x, y, z] = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
        .map((row, i) => row.reduce((sum, part, j) => sum + part * rgb[j], 0) / [0.95047, 1, 1.08883][i])
        .map(t => t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test('states that only their colour tells apart differ for all kinds of colour vision', () => {
    for (const drawn of [Object.entries(looks), palette.map((look, i): [string, Look] => [`declared state ${i}`, { ...look, label: '' }])]) {
        for (const isDark of [false, true]) {
            for (const vision of visions) {
                const seen = drawn.map(([, look]) => lab(vision.map(row =>
                    Math.min(1, Math.max(0, row.reduce((sum, part, i) => sum + part * linear(colorOf(look, isDark))[i], 0))))));
                drawn.forEach(([a, one], i) => drawn.slice(0, i).forEach(([b, other], j) => {
                    const isAlike = one.height === other.height && one.hatch === other.hatch;
                    assert.ok(!isAlike || Math.hypot(...seen[i].map((value, k) => value - seen[j][k])) >= 18, `${a} and ${b}`);
                }));
            }
        }
    }
});

test('declared states have names, looks and sentences of their own', () => {
    const states = Array.from({ length: 14 }, (_, i) => ({ state: 1 + Math.min(i, 12), label: `s${i}`, color: i ? '' : '#ffeb3b' }));
    const trace = traceOf({
        name: 't', start: '0', length: 100, done: 100, isWhole: true, hosts: ['h'], kinds: ['task', 'declared'],
        states: 'unknown user syscall interrupt softirq wait-cpu wait-task wait-disk wait-network wait-timer wait-input wait-irq wait-unknown idle lost none'.split(' '),
        rows: [[0, 0, 'rank', -1, 7, 7, 5, 0, 100], [1, 0, 'rank 1', 1, 7, -1, 0, 0, 100]], tasks: [[-1, -1, 'h'], [0, 0, 'rank']], resources: [[-1, -1, 'h']],
        declared: [[-1, -1, 'h'], [0, -1, 'Ranks'], [1, 1, 'rank 1']], calls: [[-1, -1, 'h']],
        groups: [{ name: 'a', label: 'A', states: [] }, { name: 'mpi', label: 'Ranks', states }],
    });
    assert.equal(trace.states.length, 64);
    assert.ok(!hasCalls(trace));
    assert.deepEqual([firstState(trace, 0), firstState(trace, 1)], [0, 32]);
    assert.deepEqual([trace.states[16 + 1], trace.states[32 + 15], trace.states[32]], ['none', 'none', 'unknown']);
    const look = (slot: number) => lookOf(trace.states[32 + slot]);
    assert.deepEqual([look(1).label, look(2).label, look(13).label], ['s0', 's1', 's12 or another']);
    assert.deepEqual([look(1).colors[0], look(1).ink, look(2).colors, look(2).ink], ['#ffeb3b', '#000000', palette[1].colors, undefined]);
    const interval = { row: 1, time: 5, state: 2, start: 0, end: 50, label: 's1', other: 0 };
    assert.equal(sentence(trace, interval), 'rank 1 (7) of Ranks was in the state “s1” (its task: rank (7)), for 50 ns, from 0.000000 s to 0.000000 s.');
    assert.match(sentence(trace, { row: 1, time: 5, state: 15, start: 0, end: 50 }), /of Ranks was in no state, for/);
    assert.match(sentence(trace, { row: 1, time: 5, state: 0, start: 0, end: 50 }), /of Ranks is not known, for/);
});

test('calls have rows, looks and sentences of their own', () => {
    const trace = traceOf({
        name: 't', start: '0', length: 100, done: 100, isWhole: true, hosts: ['h'], kinds: ['task', 'call'],
        states: 'unknown user syscall interrupt softirq wait-cpu wait-task wait-disk wait-network wait-timer wait-input wait-irq wait-unknown idle lost none'.split(' '),
        rows: [[0, 0, 'shop', -1, 7, 7, 5, 0, 100], [1, 0, 'level 1', 0, 7, 7, 0, 0, 100], [1, 0, 'level 2', 1, 7, 7, 0, 0, 100], [0, 0, 'sh', -1, 8, 8, 5, 0, 100]],
        tasks: [[-1, -1, 'h'], [0, 0, 'shop']], resources: [[-1, -1, 'h']], declared: [[-1, -1, 'h']], groups: [],
        calls: [[-1, -1, 'h'], [0, 0, 'shop'], [1, 1, 'level 1'], [1, 2, 'level 2']],
    });
    assert.ok(hasCalls(trace));
    assert.deepEqual([0, 1, 2, 3].map(row => callerOf(trace, row)), [0, 0, 0, -1]);
    assert.deepEqual([firstState(trace, 0), firstState(trace, 2), trace.states.length], [0, 16, 32]);
    const look = (state: number) => lookOf(trace.states[16 + state]).label;
    assert.deepEqual([look(1), look(6), look(10), look(11), look(13), look(15)],
        ['Function', 'Python function', 'System call', 'Function of the kernel', 'Function; events were lost meanwhile', 'Not known']);
    const places = new Places(trace);
    assert.deepEqual([places.of(2), places.row('h:call:7:0', 5)], ['h:call:7:1', 1]);
    assert.equal(sentence(trace, { row: 2, time: 5, state: 1, start: 0, end: 50, label: 'load', callers: ['main', 'serve'], other: 0 }),
        'shop (7) was in load, called by serve, by main, for 50 ns, from 0.000000 s to 0.000000 s.');
    assert.match(sentence(trace, { row: 1, time: 5, state: 15, start: 0, end: 50 }), /^shop \(7\) was in no call on this level, for/);
});

test('frames of a flame graph lie below their callers, in order of names', () => {
    // main takes 10 by itself, b 20 and a 30 of which c takes 25.
    const frames = framesOf({ total: 60, names: ['all', 'main', 'b', 'a', 'c'], looks: [0, 17, 17, 17, 17],
        nodes: [[-1, 0, 0, 60], [0, 1, 10, 60], [1, 2, 20, 20], [1, 3, 5, 30], [3, 4, 25, 25]] });
    assert.deepEqual(frames.map(({ name, depth, start, end }) => [name, depth, start, end]),
        [['all', 0, 0, 60], ['main', 1, 0, 60], ['b', 2, 30, 50], ['a', 2, 0, 30], ['c', 3, 0, 25]]);
    assert.deepEqual(pathOf(frames, 4), ['main', 'a', 'c']);
    assert.deepEqual([findPath(frames, ['main', 'a', 'c']), findPath(frames, ['main', 'b', 'gone']), findPath(frames, ['gone']), findPath([], ['x'])], [4, 2, 0, 0]);
    assert.deepEqual(placeOf(frames[2], frames[0], 600), { x: 300, width: 200 });
    assert.deepEqual(placeOf(frames[1], frames[3], 300), { x: 0, width: 300 }); // what lies above fills the width
    assert.equal(placeOf(frames[2], frames[3], 300), null);
});

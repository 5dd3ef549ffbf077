#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Sums that must hold on every trace: for windows, slices, and the verbs that tell the same in two ways (invariants.py). LULL is the
# program, LULL_SAMPLES the directory of the unpacked samples; traces of LULL_SHARED are taken as well if they are there.
import functools
import json
import os
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import invariants  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull, samples = os.environ['LULL'], os.environ['LULL_SAMPLES']
shared = os.environ.get('LULL_SHARED', os.path.join(os.environ['LULL_SOURCE'], '..', 'shared'))
TRACES = ['django', *(f'truth/{name}' for name in ('truth-chain', 'truth-chain-nosys', 'truth-disk-sync', 'truth-tcp', 'wk-cpm2'))]
LIMITED = ('cputop', 'memtop', 'iousagetop', 'nettop', 'schedtop', 'iolatencytop')


@functools.cache
def windows(verb, *arguments):
    limit = ['--limit=0'] if verb in LIMITED else []
    done = subprocess.run([lull, verb, '--json', *limit, *arguments], capture_output=True, text=True, encoding='utf-8', check=True)
    return json.loads(done.stdout)['windows']


def check_single(name, *arguments):
    for verb, rule in invariants.SINGLE.items():
        wrong = [found for window in windows(verb, *arguments) for found in rule(window, window['tables'])]
        tap.ok(not wrong, f'{name}: {verb}: {rule.__doc__}', *wrong[:3])


def check_slices(name, trace):
    for verb in invariants.ADDITIVE:
        whole, slices = windows(verb, trace), windows(verb, '--refresh=100ms', trace)
        together, alone = invariants.additive(verb, slices), invariants.additive(verb, whole)
        tap.ok(len(slices) > 1 and together == alone, f'{name}: {verb}: slices are the whole', together - alone, alone - together)


def rows_of(verb, table, *arguments):
    return [row for window in windows(verb, *arguments) for row in window['tables'].get(table, [])]


def check_histograms(name, *arguments):
    """Each histogram sums to the count of its statistics."""
    for kind in ([], ['--freq-log'], ['--freq-uniform']):
        interrupts = sum(row['count'] for table in ('hard-stats', 'soft-stats', 'vector-stats')
                         for row in rows_of('irqstats', table, *arguments))
        for verb, count in (('irqfreq', interrupts),
                            ('schedfreq', sum(row['count'] for row in rows_of('schedstats', 'per_tid_stats', *arguments))),
                            ('iolatencyfreq', sum(row['count'] for table in ('syscall-latency-stats', 'disk-latency-stats')
                                                  for row in rows_of('iolatencystats', table, *arguments)))):
            bins = sum(row['count'] for row in rows_of(verb, 'freq', *kind, *arguments))
            tap.ok(bins == count, f'{name}: {verb} {" ".join(kind)}: bins sum to the counts', bins, count)


def check_logs(name, *arguments):
    """Statistics count what the logs list."""
    listed = len(rows_of('irqlog', 'log', *arguments))
    counted = sum(row['count'] for table in ('hard-stats', 'soft-stats') for row in rows_of('irqstats', table, *arguments))
    tap.ok(listed == counted, f'{name}: irqlog lists what irqstats counts', listed, counted)
    listed = len(rows_of('schedlog', 'log', *arguments))
    counted = sum(row['count'] for row in rows_of('schedstats', 'per_tid_stats', *arguments))
    tap.ok(listed == counted, f'{name}: schedlog lists what schedstats counts', listed, counted)
    per_tid = sum(row['count'] for row in rows_of('syscallstats', 'per-tid', *arguments))
    whole = sum(row['calls'] for row in rows_of('syscallstats', 'total', *arguments))
    tap.ok(per_tid == whole, f'{name}: syscallstats: the calls of a task are those of its table', per_tid, whole)


def check_orders(name, trace):
    """An allocation of order n is 2^n pages."""
    plain, orders = rows_of('memtop', 'total', trace), rows_of('memtop', 'by-order', '--by-order', trace)
    for key, pages in (('allocations', 'allocated_pages'), ('frees', 'freed_pages')):
        tap.ok(orders and all(row[pages] == row[key] << row['order'] for row in orders), f'{name}: memtop: {key} by order', *orders)
        tap.ok(sum(row[pages] for row in orders) == sum(row[pages] for row in plain), f'{name}: memtop: {pages} of all orders')


def check_trace(name, trace):
    whole = windows('cputop', trace)[0]
    third = (whole['end_ns'] - whole['begin_ns']) // 3
    middle = (f'--begin={whole["begin_ns"] + third}', f'--end={whole["end_ns"] - third}', trace)
    check_single(name, trace)
    wrong = [found for window in windows('nettop', trace) for found in invariants.network(window['tables'])]
    tap.ok(not wrong, f'{name}: nettop: {invariants.network.__doc__}', *wrong)
    check_single(f'{name}, its middle', *middle)
    check_logs(name, trace)
    check_logs(f'{name}, its middle', *middle)
    check_histograms(name, trace)


def shared_traces(folder):
    for archive in ('single.tar.xz', 'vm.tar.xz'):
        path = os.path.join(shared, 'traces', archive)
        if os.path.exists(path):
            with tarfile.open(path) as tar:
                tar.extractall(folder)
    for root, folders, _ in os.walk(folder):
        if os.path.basename(root) in ('mixed', 'host', 'guest'):
            yield root
            folders.clear()


def open_calls(trace):
    """(tid, call, start) of the calls that the events of a trace, by their own context tid, start and do not end."""
    calls = {}
    done = subprocess.run([lull, 'print', '--json', trace], capture_output=True, text=True, encoding='utf-8', check=True)
    for event in map(json.loads, done.stdout.splitlines()):
        kind, _, name = event['name'].partition('_entry_') if '_entry_' in event['name'] else event['name'].partition('_exit_')
        tid = event['context'].get('tid')
        if kind != 'syscall':
            continue
        calls.pop(tid, None)
        # exit and exit_group do not return; numbers that the tracer has no name for are left to the names of numbers.
        if '_entry_' in event['name'] and name not in ('exit', 'exit_group', 'unknown'):
            calls[tid] = (name, event['time_ns'])
    return {(tid, name, start) for tid, (name, start) in calls.items()}


def check_open_calls(name, trace):
    rows = rows_of('syscallstats', 'open', trace)
    shown = {(row['process']['tid'], row['syscall'], row['begin_ns']) for row in rows}
    known = open_calls(trace)
    tap.ok(known and shown == known, f'{name}: calls that have not returned', shown - known, known - shown)


for one in TRACES[1:] + ['truth/truth-locks', 'truth/truth-relay', 'django/client', 'django/db']:
    if 'nosys' not in one:
        tap.run(one, check_open_calls, one, os.path.join(samples, one))
for one in TRACES:
    tap.run(one, check_trace, one, os.path.join(samples, one))
for one in ('django/client', 'truth/truth-disk-sync', 'truth/truth-tcp'):
    tap.run(one, check_slices, one, os.path.join(samples, one))
    tap.run(one, check_single, f'{one} in slices', '--refresh=50ms', os.path.join(samples, one))
    tap.run(one, check_orders, one, os.path.join(samples, one))
with tempfile.TemporaryDirectory() as scratch:
    found_shared = list(shared_traces(scratch))
    for one in found_shared:
        tap.run(one, check_trace, os.path.basename(one), one)
    if not found_shared:
        tap.skip('more traces', 'none in LULL_SHARED')
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What was not recorded is unknown, neither 0 nor absent: CPUs in windows of lull cputop before they have said anything, pages in lull
# memtop. The traces are made here, the expected numbers are arithmetic by hand. LULL is the program.
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, '..', 'lib'))
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ['LULL']
MS = 1_000_000


def event(at, cpu, name, **fields):
    return {'t': at * MS, 'n': name, 'pc': {'cpu_id': cpu}, 'p': fields}


def switch(at, cpu, prev, following):
    return event(at, cpu, 'sched_switch', prev_comm=f'task{prev}', prev_tid=prev, prev_prio=20, prev_state=1,
                 next_comm=f'task{following}', next_tid=following, next_prio=20)


def tables(path, *options, verb='cputop'):
    done = subprocess.run([lull, verb, '--json', '--limit=0', *options, path], capture_output=True, text=True, check=True)
    return [window['tables'] for window in json.loads(done.stdout)['windows']]


def times(table):
    """{CPU: (busy, idle, unknown) in ms}"""
    return {row['cpu']: tuple(row[key] // MS for key in ('busy_ns', 'idle_ns', 'unknown_ns')) for row in table['per-cpu']}


def check(folder):
    """CPU 0 switches at 0, 10, 20 and 40 ms. CPU 1 has an interrupt at 5 ms, and is first switched, from task 3, at 30 ms."""
    path = os.path.join(folder, 'trace')
    jsonl_to_ctf.write_trace([switch(0, 0, 0, 1), event(5, 1, 'irq_softirq_entry', vec=1), event(6, 1, 'irq_softirq_exit', vec=1),
                              switch(10, 0, 1, 2), switch(20, 0, 2, 1), switch(30, 1, 3, 0), switch(40, 0, 1, 0)], path)
    early = tables(path, '--begin=+0s', '--end=+4ms')[0]
    tap.ok(times(early) == {0: (4, 0, 0), 1: (0, 0, 4)}, 'before the first event of a CPU its time is unknown', early)
    tap.ok([row['usage'] for row in early['per-cpu']] == [1, None], 'and so is its usage', early)
    usage = [row['usage'] for name in ('per-cpu', 'total') for row in tables(path, '--begin=+0s', '--end=+4ms', '--cpu=1')[0][name]]
    tap.ok(usage == [None, None], 'also that of all CPUs, if nothing is known of any', usage)
    found = times(tables(path, '--begin=+0s', '--end=+20ms')[0])
    tap.ok(found == {0: (20, 0, 0), 1: (0, 0, 20)}, 'and before its first switch', found)
    found = times(tables(path, '--begin=+0s', '--end=+4ms', '--cpu=1')[0])
    tap.ok(found == {1: (0, 0, 4)}, 'also if it is the only one wanted', found)
    whole = tables(path)[0]
    tap.ok({cpu: sum(parts) for cpu, parts in times(whole).items()} == {0: 40, 1: 40}, 'all times sum to the window', times(whole))
    found = {row['process']['tid']: row['cpu_ns'] // MS for row in tables(path, '--cpu=0')[0]['per-process']}
    tap.ok(found == {1: 30, 2: 10}, '--cpu: the tasks that ran there', found)
    windows = tables(path, '--refresh=10ms')
    tap.ok([sorted(times(one)) for one in windows] == [[0, 1]] * len(windows), 'every window has every CPU')
    found = [(row['process']['tid'], row['priorities']) for row in tables(path, '--begin=+25ms', '--end=+30ms')[0]['per-process']]
    tap.ok(found == [(1, '20')], 'a task that runs through a window has the priority of before', found)
    found = [{row['process']['tid'] for row in one['per-process']} for one in tables(path, '--refresh=10ms', '--cpu=0')]
    tap.ok(found == [{1}, {2}, {1}, {1}], '--cpu: no task without time in a window', found)


def check_pages(folder):
    """Allocations of 1 and 2 pages, without and with a free of 2."""
    events = [event(1, 0, 'kmem_mm_page_alloc', order=0, pfn=1), event(2, 0, 'kmem_mm_page_alloc', order=1, pfn=2)]
    freed = [event(3, 0, 'kmem_mm_page_free', order=1, pfn=2)]
    cases = {'none': ([switch(0, 0, 0, 1)], [None, None, None]), 'allocations': (events, [3, None, None]),
             'both': (events + freed, [3, 2, 1])}
    for name, (recorded, expected) in cases.items():
        path = os.path.join(folder, name)
        jsonl_to_ctf.write_trace(recorded, path)
        row = tables(path, verb='memtop')[0]['total'][0]
        found = [value for key, value in row.items() if key != 'host']
        tap.ok(found == expected, f'pages, {name} recorded', row)


with tempfile.TemporaryDirectory() as directory:
    tap.run('cpus', check, directory)
    tap.run('pages', check_pages, directory)
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Machines of chance (books.py) are recorded, and lull says what their own books do: which calls they made, of which files, how many bytes
# went where, who ran how long, what has not returned; of any part of the time, any tasks and CPUs. LULL is the program.
import collections
import errno
import json
import os
import random
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, '..', 'lib')]
import jsonl_to_ctf  # noqa: E402
from books import Machine  # noqa: E402
from store.store_file import Store  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ['LULL']
SEEDS = range(int(os.environ.get('LULL_TEST_BOOKS', 6)))


def tables(verb, *options):
    done = subprocess.run([lull, verb, '--json', *map(str, options)], capture_output=True, text=True, check=True)
    return collections.defaultdict(list, json.loads(done.stdout)['windows'][0]['tables'])


class Question:
    """Options, and what they ask for."""

    def __init__(self, machine, chance, comms=None):
        self.machine, self.options = machine, ['--comm', ','.join(comms)] if comms else []
        first, last = machine.events[0]['t'], machine.events[-1]['t']
        self.begin, self.end = first, last + 1
        self.tids, self.comms, self.cpu = None, comms, None
        if comms:
            return
        if chance.random() < 0.6:
            self.begin = chance.choice([chance.randrange(first, last), chance.choice(machine.events)['t']])
            self.options += ['--begin', self.begin]
        if chance.random() < 0.6 and self.begin < last:
            self.end = chance.randrange(self.begin + 1, last + 1)
            self.options += ['--end', self.end]
        if chance.random() < 0.4:
            self.tids = chance.sample([thread.tid for thread in machine.threads], 3)
            self.options += ['--tid', ','.join(map(str, self.tids))]
        if chance.random() < 0.4:
            self.comms = chance.sample(sorted({comm for thread in machine.threads for _, comm in thread.names}), 3)
            self.options += ['--comm', ','.join(self.comms)]
        if chance.random() < 0.3:
            self.cpu = chance.randrange(len(machine.cpus))
            self.options += ['--cpu', self.cpu]

    def wants(self, thread, when):
        return (not self.tids or thread.tid in self.tids) and (not self.comms or thread.comm(when) in self.comms)

    def calls(self):
        """What returned in the time."""
        return [call for call in self.machine.calls if call.end and self.begin <= call.end < self.end and
                self.cpu in (None, call.cpu) and self.wants(call.thread, call.end)]


def same(what, expected, found):
    wrong = {key: (expected.get(key), found.get(key)) for key in expected.keys() | found.keys()
             if expected.get(key) != found.get(key)}
    tap.ok(not wrong, f'{what}: {len(expected)}', wrong)


def check_returned(name, asked, found):
    durations = collections.defaultdict(list)
    for call in asked.calls():
        durations[call.thread.tid, call.name].append(call.end - call.start)
    same(f'{name} syscallstats', {key: (len(some), sum(some), max(some)) for key, some in durations.items()},
         {(int(row['of'].split('TID: ')[1][:-1]), row['syscall']): (row['count'], row['total_ns'], row['max_ns'])
          for row in found['per-tid']})


def check_calls(name, asked, trace):
    found = tables('syscallstats', *asked.options, trace)
    check_returned(name, asked, found)
    if asked.cpu is None:
        until = min(asked.end, asked.machine.events[-1]['t'])
        same(f'{name} calls that have not returned',
             {call.thread_at(until).tid: (call.name, call.start, until - call.start) for call in asked.machine.calls
              if call.start < asked.end <= (call.end or call.gone or asked.end) and asked.wants(call.thread_at(until), until)},
             {row['process']['tid']: (row['syscall'], row['begin_ns'], row['duration_ns']) for row in found['open']})


def check_files(name, asked, trace):
    calls = [call for call in asked.calls() if call.category]
    same(f'{name} iolog',
         {(call.start, call.thread.tid): (call.end, call.name, call.category, call.bytes, errno.errorcode.get(call.error),
                                          *(call.names + [None, None])[:2], call.fd, call.thread.comm(call.end)) for call in calls},
         {(row['time']['begin_ns'], row['process']['tid']):
          (row['time']['end_ns'], row['syscall'], row['category'], row['bytes'], row['error'], row['path'], row['to_path'], row['fd'],
           row['process']['comm']) for row in tables('iolog', *asked.options, trace)['log']})
    moved = collections.Counter()
    for call in calls:
        if call.bytes and call.category != 'write':
            moved['read', call.thread.tid] += call.bytes
        if call.bytes and call.category != 'read':
            moved['written', call.thread.tid] += call.bytes
    found = tables('iousagetop', '--limit', 0, *asked.options, trace)['per-process-top']
    same(f'{name} iousagetop', moved, {(row['of'], row['process']['tid']): row['total_bytes'] for row in found if row['total_bytes']})


def check_runs(name, asked, trace):
    if not asked.machine.tells_exec:
        return  # without calls it is not known when in a run the name or the number changed
    ran = collections.Counter()
    for thread, cpu, khz, since, until in asked.machine.runs:
        cuts = [since, *(when for when, _ in thread.names if since < when < until), until]
        for start, end in zip(cuts, cuts[1:]):
            ns = min(end, asked.end) - max(start, asked.begin)
            if ns > 0 and asked.cpu in (None, cpu) and asked.wants(thread, start):
                ran[thread.tid, khz] += ns
    if any(khz for _, khz in ran):  # else it says that none is known
        found = tables('freq', '--limit', 0, *asked.options, trace)['per-task-frequency']
        same(f'{name} freq', ran, {(row['process']['tid'], row['khz']): row['cpu_ns'] for row in found if row['cpu_ns']})
    total = collections.Counter()
    for (tid, _), ns in ran.items():
        total[tid] += ns
    found = tables('cputop', '--limit', 0, *asked.options, trace)['per-process']
    same(f'{name} cputop', total, {row['process']['tid']: row['cpu_ns'] for row in found if row['cpu_ns']})


def check_store(name, machine, trace):
    """What the time view shows: who ran for how long. Nothing was lost."""
    environment = {**os.environ, 'XDG_CACHE_HOME': trace + '.cache'}
    done = subprocess.run([lull, 'index', '--json', trace], capture_output=True, text=True, check=True, env=environment)
    ran, found = collections.Counter(), collections.Counter()
    for thread, _, _, since, until in machine.runs:
        ran[thread.tid] += until - since
    for row in Store(json.loads(done.stdout)['path']).of('task'):
        for start, end, state, *_ in row.intervals:
            if state in ('user', 'syscall', 'lost'):
                found[row.tid if state != 'lost' else 'lost'] += end - start
    same(f'{name} time view', +ran, +found)


def check(seed, folder):
    machine = Machine(seed, 1200, cpus=1 + seed % 3, has_contexts=seed % 2 == 0, tells_exec=seed % 3 != 1)
    trace = os.path.join(folder, str(seed))
    jsonl_to_ctf.write_trace(machine.events, trace)
    check_store(f'machine {seed}', machine, trace)
    check_calls(f'machine {seed}, programs', Question(machine, None, ['prog0', 'prog1', 'app0']), trace)
    for number in range(3):
        asked = Question(machine, random.Random(f'{seed} {number}'))
        name = f'machine {seed}, ' + ' '.join(map(str, asked.options))
        check_calls(name, asked, trace)
        check_files(name, asked, trace)
        check_runs(name, asked, trace)


def inside(event):
    """The event as LTTng's contexts vtid, vpid and procname tell it of a namespace whose numbers are those of other tasks outside."""
    who = event['sec']
    return dict(event, sec={'procname': who['procname'], 'vtid': max(who['tid'] - 1, 0), 'vpid': max(who['pid'] - 1, 0)})


class Never:
    @staticmethod
    def random():
        return 1


class Alone(Machine):
    """Only a thread that is alone becomes another program: whose number it takes else, only sched_process_exec tells."""

    def executes(self, cpu, thread, *rest):
        if sum(one.pid == thread.pid and not one.is_dead for one in self.threads) == 1 and thread.tid == thread.pid:
            super().executes(cpu, thread, *rest)


def check_less(seed, folder):
    """What remains right if less is recorded."""
    machine = Alone(seed, 800, cpus=2, has_contexts=True)
    asked, trace = Question(machine, Never), os.path.join(folder, f'less {seed}')
    known_by = {'sched_process_exec', 'sched_process_exit', 'task_rename'}
    jsonl_to_ctf.write_trace([inside(event) for event in machine.events if event['n'] not in known_by], trace)
    check_calls(f'machine {seed}, neither exec nor exit, names by numbers of a namespace', asked, trace)
    check_files(f'machine {seed}, neither exec nor exit, names by numbers of a namespace', asked, trace)
    trace += ', no switches'
    jsonl_to_ctf.write_trace([inside(event) for event in machine.events if not event['n'].startswith(('sched_', 'task_'))], trace)
    for thread in machine.threads:
        thread.tid -= 1
    check_returned(f'machine {seed}, no switches', asked, tables('syscallstats', trace))


with tempfile.TemporaryDirectory() as directory:
    for one in SEEDS:
        tap.run(f'machine {one}', check, one, directory)
    for one in SEEDS[:2]:
        tap.run(f'machine {one}, less recorded', check_less, one, directory)
sys.exit(tap.done())

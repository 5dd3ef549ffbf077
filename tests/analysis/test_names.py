#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Who a row is about is who the contexts of its event say, whatever else was recorded: with all events, without
# sched_process_exec, without any event of the scheduler, and in a window. LULL is the program, LULL_SAMPLES the directory of the
# unpacked samples; the traces of LULL_SHARED are read as well if they are there. The truth is tid, pid and procname of the event
# that ended the call, as the kernel gave them to the tracer.
import collections
import json
import os
import subprocess
import sys
import tarfile
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, '..', 'lib'))
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull, samples, source = os.environ['LULL'], os.environ['LULL_SAMPLES'], os.environ['LULL_SOURCE']
shared = os.environ.get('LULL_SHARED', os.path.join(source, '..', 'shared'))
TRACES = ('django/httpd', 'truth/truth-chain', 'truth/truth-disk-sync', 'truth/truth-locks')
WITHOUT = {'all events': None, 'without sched_process_exec': 'name != "sched_process_exec"',
           'without names of others': 'name !~ "sched_*" && name !~ "lttng_statedump_process_*"'}


def run(*arguments):
    return subprocess.run([lull, *arguments], capture_output=True, text=True, check=True).stdout


def contexts_of(trace):
    """What the ends of calls say of who made them, by time: a list of (comm, tid, pid or None)."""
    found = collections.defaultdict(list)
    for line in run('print', '--json', '--no-sync', '--filter', 'name =~ "syscall_exit_*"', trace).splitlines():
        event = json.loads(line)
        context = event['context']
        found[event['time_ns']].append((context['procname'], context['tid'], context.get('pid')))
    return found


def rows_of(trace, *options):
    """(time of the end, comm, tid, pid) of every row of the log."""
    document = json.loads(run('iolog', '--json', '--no-sync', *options, trace))
    for window in document['windows']:
        for row in window['tables'].get('log', []):
            yield row['time']['end_ns'], row['process']['comm'], row['process']['tid'], row['pid']


def is_said(row, said):
    time, comm, tid, pid = row
    return any((comm, tid) == one[:2] and one[2] in (None, pid) for one in said[time])


def check(trace):
    name = os.path.basename(trace)
    said = contexts_of(trace)
    times = sorted(said)
    middle = times[len(times) // 2]
    windows = {'': [], ', the first half': [f'--end={middle}'], ', the second half': [f'--begin={middle}']}
    for label, expression in WITHOUT.items():
        for window, options in windows.items():
            chosen = options + ([f'--filter={expression}'] if expression else [])
            rows = list(rows_of(trace, *chosen))
            wrong = [row for row in rows if not is_said(row, said)]
            tap.ok(rows and not wrong, f'{name}: {label}{window}: {len(rows)} rows name who made the call', wrong[:5])


def event(time, name, tid, comm, pid=None, **fields):
    return {'t': time, 'n': name, 'p': fields, 'pc': {'cpu_id': 0}, 'sec': {'procname': comm, 'tid': tid, 'pid': pid or tid}}


def check_changes(folder):
    """Another program, a program that could not be run, a name of its own choice, a process id that was guessed wrongly."""
    def call(time, name, tid, comm, after=None, ret=0, **fields):
        return [event(time, f'syscall_entry_{name}', tid, comm, 7, **fields),
                event(time + 5, f'syscall_exit_{name}', tid, after or comm, 7, ret=ret)]
    events = [*call(100, 'read', 9, 'worker', ret=3, fd=4, count=3),
              *call(110, 'execve', 9, 'worker', ret=-2, filename='/usr/local/bin/true'),
              *call(120, 'read', 9, 'worker', ret=3, fd=4, count=3),
              *call(130, 'execve', 9, 'worker', 'true', filename='/usr/bin/true'),
              *call(140, 'read', 9, 'true', ret=3, fd=4, count=3),
              *call(150, 'prctl', 9, 'true', 'false', option=15),
              *call(160, 'read', 9, 'false', ret=3, fd=4, count=3)]
    path = os.path.join(folder, 'changes')
    jsonl_to_ctf.write_trace(events, path)
    rows = [row[1:] for row in rows_of(path)]
    tap.ok(rows == [('worker', 9, 7)] * 2 + [('true', 9, 7), ('false', 9, 7)], 'names that change are taken from the events', rows)


def check_programs(folder):
    """A program is there from its exec on, also for its path: what the shell did that became it is not its doing."""
    def switch(time, before, after):
        names = {0: 'swapper/0', 20: 'sh', 30: 'prog' if time > 200 else 'sh'}
        return event(time, 'sched_switch', before, names[before], prev_comm=names[before], prev_tid=before, prev_prio=20, prev_state=0,
                     next_comm=names[after], next_tid=after, next_prio=20)
    events = [switch(100, 0, 20),
              event(110, 'sched_process_fork', 20, 'sh', parent_comm='sh', parent_tid=20, parent_pid=20, child_comm='sh', child_tid=30,
                    child_pid=30),
              switch(120, 20, 30),
              event(200, 'sched_process_exec', 30, 'prog', filename='/usr/bin/prog', old_tid=30),
              switch(300, 30, 0)]
    events[3]['p']['tid'] = 30
    path = os.path.join(folder, 'programs')
    jsonl_to_ctf.write_trace(events, path)
    found = {}
    for whom in (('--comm', 'prog'), ('--comm', 'pr*'), ('--comm', 'sh'), ('--tid', '30'), ('--comm', 'prog', '--begin', '+50ns')):
        query = json.loads(run('critpath', '--json', '--no-sync', *whom, path))['query']
        found[' '.join(whom)] = query['tid'], query['begin_ns'], query['end_ns']
    tap.ok(found == {'--comm prog': (30, 200, 300), '--comm pr*': (30, 200, 300), '--comm sh': (20, 100, 300), '--tid 30': (30, 120, 300),
                     '--comm prog --begin +50ns': (30, 150, 300)}, 'a path by a name starts with the program of that name', found)


def main():
    for trace in TRACES:
        tap.run(trace, check, os.path.join(samples, trace))
    with tempfile.TemporaryDirectory() as folder:
        tap.run('changes', check_changes, folder)
        tap.run('programs', check_programs, folder)
        archive = os.path.join(shared, 'traces', 'single.tar.xz')
        if not os.path.exists(archive):
            tap.skip('mixed', 'no traces in LULL_SHARED')
        else:
            with tarfile.open(archive) as tar:
                tar.extractall(folder, [one for one in tar if one.name.startswith('single/mixed')])
            tap.run('mixed', check, os.path.join(folder, 'single', 'mixed'))
    return tap.done()


sys.exit(main())

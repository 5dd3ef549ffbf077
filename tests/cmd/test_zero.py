#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# One zero of time: +0s, elapsed times and what lull info says are those of the first event, though its packet started 10 seconds
# before, whatever else is selected. The trace is made here, so that its first event is known. LULL is the program.
import json
import os
import struct
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, '..', 'lib'))
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ['LULL']
FIRST, SECOND = 1_700_000_000_000_000_000, 1_700_000_002_000_000_000  # of the hosts one and two
BEGIN_AT = 4 + 3 * 8  # of a packet: the magic number, three numbers of 64 bits, then the time of its start
EARLY = 10_000_000_000


def run(*arguments):
    return subprocess.run([lull, *arguments], capture_output=True, text=True, check=False)


def switch(time, cpu, prev, following):
    return {'t': time, 'n': 'sched_switch', 'pc': {'cpu_id': cpu},
            'p': {'prev_comm': f'task{prev}', 'prev_tid': prev, 'prev_prio': 20, 'prev_state': 1,
                  'next_comm': f'task{following}', 'next_tid': following, 'next_prio': 20}}


def make(folder, name, first):
    path = os.path.join(folder, name)
    times = [first, first + 1000, first + 500_000_000, first + 1_000_000_000]
    jsonl_to_ctf.write_trace([switch(time, i % 2, i, i + 1) for i, time in enumerate(times)], path, {'hostname': name})
    for cpu in (0, 1):
        with open(os.path.join(path, f'channel_{cpu}'), 'r+b') as stream:
            stream.seek(BEGIN_AT)
            begin, = struct.unpack('<Q', stream.read(8))
            stream.seek(BEGIN_AT)
            stream.write(struct.pack('<Q', begin - EARLY))
    return path


def times(*arguments):
    return [json.loads(line)['time_ns'] for line in run('print', '--json', '--no-sync', *arguments).stdout.splitlines()]


def check(one, two):
    tap.ok(times('--begin=+0s', '--end=+1us', one) == [FIRST], '+0s is the first event')
    tap.ok(times('--begin=+400ms', one) == [FIRST + 500_000_000, FIRST + 1_000_000_000], '+400ms is after it')
    tap.ok(times('--timerange=+0s,+2us', one) == [FIRST, FIRST + 1000], '--timerange too')
    tap.ok(times('--filter=time < +2us', one) == [FIRST, FIRST + 1000], 'and in filters')
    tap.ok(times('--filter=time < +2us', '--begin=+1us', '--cpu=1', one) == [FIRST + 1000], 'whatever is selected')
    tap.ok(times('--begin=+2s', '--end=+2001ms', '--host=two', one, two) == [SECOND, SECOND + 1000],
           'the first event of all hosts, also where one is selected')
    tap.ok(times('--filter=time == +2s', '--events=sched_switch', two, one) == [SECOND], 'in any order')
    elapsed = [line.split()[0] for line in run('print', '--time=elapsed', '--begin=+1ms', one).stdout.splitlines()]
    tap.ok(elapsed == ['+0.500000000', '+1.000000000'], 'elapsed times count from there', elapsed)
    clock = times('--begin=22:13:20', '--end=22:13:20.000001', one)  # 2023-11-14 in UTC
    tap.ok(clock == [FIRST], 'a time of day is one of the day of the first event', clock)


def check_verbs(one):
    """A piece of the time that is recorded is never said to be outside."""
    for verb in ('cputop', 'schedlog', 'stats', 'memtop', 'info --events', 'irqstats', 'critpath --tid 1'):
        done = run(*verb.split(), '--begin=+0s', '--end=+1500ns', one)
        tap.ok('nothing was recorded in that time' not in done.stderr, f'{verb}: +0s is in the trace', done.stderr)
        missed = run(*verb.split(), '--begin=+2s', '--end=+3s', one)
        tap.ok(missed.returncode == 1 and 'nothing was recorded' in missed.stderr, f'{verb}: +2s is not', missed.stderr)


def check_info(one, two):
    document = json.loads(run('info', '--json', one, two).stdout)
    hosts = {host['name']: host for host in document['hosts']}
    tap.ok(document['zero_ns'] == FIRST, 'info says what times count from', document['zero_ns'])
    tap.ok([hosts[name]['first_event_ns'] for name in ('one', 'two')] == [FIRST, SECOND], 'and the first event of each host')
    tap.ok(hosts['one']['begin_ns'] == FIRST - EARLY, 'and where its packets start', hosts['one'])
    lines = [line for line in run('info', one, two).stdout.splitlines() if line.startswith('  events')]
    tap.ok(len(lines) == 2 and '10' in lines[0] and '+0s' in lines[0] and '+0s' not in lines[1], 'for people too', lines)
    export = os.path.join(os.path.dirname(one), 'exported')
    run('export', '--ctf2', export, '--timerange=+0s,+1us', one)
    tap.ok(times(export) == [FIRST], 'what is exported by such times is what they mean')


def check_joined():
    """The clocks of these machines are seconds apart: +0s is the first event on the joined clock, as print shows it, which is not the time that the
    machine itself gives it."""
    trace = os.path.join(os.environ['LULL_SAMPLES'], 'django')
    first = json.loads(run('print', '--json', '--begin=+0s', '--end=+1ms', trace).stdout.splitlines()[0])
    document = json.loads(run('info', '--json', trace).stdout)
    own = next(host['first_event_ns'] for host in document['hosts'] if host['name'] == first['host'])
    tap.ok(document['zero_ns'] == first['time_ns'] != own, 'of several machines it is on the joined clock', document['zero_ns'], first['time_ns'], own)
    line = next(line for line in run('info', trace).stdout.splitlines() if '+0s is then' in line)
    at = run('print', '--time=iso', '--begin=+0s', '--end=+1ms', trace).stdout.split()[0]
    tap.ok(f'{at} on the joined clock' in line, 'for people too', line, at)


def main():
    check_joined()
    with tempfile.TemporaryDirectory() as folder:
        one, two = make(folder, 'one', FIRST), make(folder, 'two', SECOND)
        tap.run('times', check, one, two)
        tap.run('verbs', check_verbs, one)
        tap.run('info', check_info, one, two)
    return tap.done()


sys.exit(main())

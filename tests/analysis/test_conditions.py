#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Traces that lack something, were made by old tracers, or are broken: every verb answers what it can, says what it cannot, and never
# dies. The conditions are made out of a recorded trace, event by event.
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, '..', 'lib')]
import invariants  # noqa: E402
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull, samples = os.environ['LULL'], os.environ['LULL_SAMPLES']
VERBS = ('cputop memtop syscallstats iolatencyfreq iolatencystats iolatencytop iolog iousagetop irqfreq irqlog irqstats schedfreq '
         'schedlog schedstats schedtop futex nettop freq').split()
LIMITED = ('cputop', 'memtop', 'iousagetop', 'nettop', 'schedtop', 'iolatencytop')


def run(*arguments):
    return subprocess.run([lull, *arguments], capture_output=True, text=True, encoding='utf-8', errors='replace', check=False)


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def plain_fields(fields):
    """What jsonl_to_ctf.py can write: integers, texts, and lists of small integers."""
    return {name: signed(value) if isinstance(value, int) else value for name, value in fields.items()
            if isinstance(value, (int, str)) and not isinstance(value, bool) or
            (isinstance(value, list) and value and all(isinstance(v, int) and 0 <= v < 256 for v in value))}


def recorded(trace):
    events = []
    for line in run('print', '--json', trace).stdout.splitlines():
        event = json.loads(line)
        events.append({'t': event['time_ns'], 'n': event['name'], 'p': plain_fields(event['fields']), 'pc': {'cpu_id': event['cpu']},
                       'sec': plain_fields(event['context'])})
    # So that each CPU begins and ends at the same time, whatever is left out.
    ends = {event['pc']['cpu_id']: event for event in events}
    begins = {event['pc']['cpu_id']: event for event in reversed(events)}
    marks = [[{**event, 'n': 'mark', 'p': {}, 'sec': {}} for event in sorted(side.values(), key=lambda event: event['t'])]
             for side in (begins, ends)]
    return sorted(marks[0] + events + marks[1], key=lambda event: event['t'])


# ---- conditions ----

def without_context(event, *names):
    return {**event, 'sec': {key: value for key, value in event['sec'].items() if key not in names}}


def without_pid(events):
    return [without_context(event, 'pid') for event in events]


def without_contexts(events):
    return [{**event, 'sec': {}} for event in events]


def without_names(events, *starts):
    return [event for event in events if not event['n'].startswith(starts)]


def old_tracer(events):
    """LTTng 2.5: other names, processes told by number in the state dump, no CPU in it, no contexts."""
    processes = {event['p']['file_table_address']: event['p']['pid'] for event in events
                 if event['n'] == 'lttng_statedump_process_state'}
    renamed = []
    for event in events:
        name, fields = event['n'], dict(event['p'])
        if name.startswith('syscall_entry_'):
            name = 'sys_' + name[len('syscall_entry_'):]
        elif name.startswith('syscall_exit_'):
            name, fields = 'exit_syscall', {'ret': fields.get('ret', 0)}
        elif name.startswith('irq_softirq_'):
            name = name[len('irq_'):]
        elif name.startswith('kmem_mm_'):
            name = name[len('kmem_'):]
        address = fields.pop('file_table_address', None)
        fields.pop('cpu', None)
        if name == 'lttng_statedump_file_descriptor':
            fields['pid'] = processes.get(address, 0)
        renamed.append({**event, 'n': name, 'p': fields, 'sec': {}})
    return renamed


CONDITIONS = {
    # name: (events of it, verb whose notes say so, words of the note, what equals the whole trace)
    'as recorded': (lambda events: events, None, None, ('cputop', 'irqstats', 'syscallstats', 'memtop')),
    'without pid': (without_pid, None, None, ('cputop', 'irqstats', 'syscallstats', 'memtop')),
    'without contexts': (without_contexts, None, None, ('irqstats', 'cputop', 'memtop')),
    'without state dump': (lambda events: without_names(events, 'lttng_statedump_'), 'iolog', 'lttng_statedump_file_descriptor',
                           ('cputop', 'irqstats', 'memtop')),
    'without system calls': (lambda events: without_names(events, 'syscall_'), 'syscallstats', 'not recorded',
                             ('cputop', 'irqstats', 'memtop')),
    'without scheduler': (lambda events: without_names(events, 'sched_'), 'cputop', 'sched_switch', ('irqstats',)),
    'without interrupts': (lambda events: without_names(events, 'irq_', 'x86_irq', 'timer_'), 'irqstats', 'not recorded', ()),
    'old tracer': (old_tracer, None, None, ('irqstats', 'cputop', 'syscallstats', 'memtop')),
    'lost events': (lambda events: events, 'cputop', None, ()),
}


def answer(name, verb, trace):
    limit = ['--limit=0'] if verb in LIMITED else []
    done = run(verb, '--json', *limit, trace)
    tap.ok(done.returncode == 0 and not done.stderr, f'{name}: {verb}: answers', done.returncode, done.stderr)
    if name in ('without contexts', 'lost events'):
        text = run(verb, trace)
        tap.ok(text.returncode == 0 and text.stdout, f'{name}: {verb}: answers in text', text.stderr)
    return json.loads(done.stdout)['windows']


def check_condition(name, events, folder, whole):
    change, verb_of_note, words, same = CONDITIONS[name]
    trace = os.path.join(folder, name.replace(' ', '-'))
    environment = {'tracer_minor': 5} if name == 'old tracer' else {}
    jsonl_to_ctf.write_trace(change(events), trace, environment, lost=7 if name == 'lost events' else 0)
    answers = {verb: answer(name, verb, trace) for verb in VERBS}
    for verb, rule in invariants.SINGLE.items():
        wrong = [found for window in answers[verb] for found in rule(window, window['tables'])]
        tap.ok(not wrong, f'{name}: {verb}: {rule.__doc__}', *wrong[:3])
    if words:
        notes = answers[verb_of_note][0]['notes']
        tap.ok(any(words in note for note in notes), f'{name}: {verb_of_note} says what it lacks', *notes)
    if name == 'lost events':
        for verb, found in answers.items():
            tap.ok(found[0]['lost_events'] == 7 * len({event['pc']['cpu_id'] for event in events}), f'{name}: {verb} says so',
                   found[0]['lost_events'])
    for verb in same:
        ours = invariants.additive(verb, answers[verb])
        expected = whole.setdefault(verb, ours)
        tap.ok(ours and ours == expected, f'{name}: {verb} is as on the whole trace', ours - expected, expected - ours)


# ---- broken input ----

def broken_inputs(folder, trace):
    """(name, path, whether it cannot be opened at all)"""
    os.mkdir(os.path.join(folder, 'empty'))
    yield 'an empty directory', os.path.join(folder, 'empty'), True
    yield 'a missing file', os.path.join(folder, 'missing'), True
    noise = random.Random(4)
    path = os.path.join(folder, 'noise')
    with open(path, 'wb') as file:
        file.write(noise.randbytes(5000))
    yield 'random bytes', path, True
    path = os.path.join(folder, 'noisy')
    shutil.copytree(trace, path)
    with open(os.path.join(path, 'metadata'), 'wb') as file:
        file.write(noise.randbytes(5000))
    yield 'random metadata', path, True
    for name, damage in (('a truncated stream', lambda data: data[:len(data) // 3]),
                         ('a stream of random bytes', lambda data: noise.randbytes(5000))):
        path = os.path.join(folder, name.replace(' ', '-'))
        shutil.copytree(trace, path)
        stream = next(os.path.join(path, entry) for entry in sorted(os.listdir(path)) if entry.startswith('channel_'))
        with open(stream, 'rb') as file:
            data = damage(file.read())
        with open(stream, 'wb') as file:
            file.write(data)
        yield name, path, False


def check_broken(folder, trace):
    for name, path, is_hopeless in broken_inputs(folder, trace):
        for verb in VERBS:
            done = run(verb, '--json', path)
            lines = done.stderr.splitlines()
            if is_hopeless:
                tap.ok(done.returncode == 1 and len(lines) == 1 and not done.stdout and lines[0].startswith(f'lull {verb}: '),
                       f'{name}: {verb}: one message', done.returncode, *lines)
            else:
                tap.ok(done.returncode in (0, 1) and lines and 'ERROR' not in done.stderr, f'{name}: {verb}: says so',
                       done.returncode, *lines[:5])


def main():
    events = recorded(os.path.join(samples, 'truth', 'truth-tcp'))
    whole = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in CONDITIONS:
            tap.run(name, check_condition, name, events, folder, whole)
        tap.run('broken input', check_broken, folder, os.path.join(folder, 'as-recorded'))
    return tap.done()


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Real programs, each with a cause of waiting that is known, recorded now with each tracer: the first ten lines of their
# critical paths, and the first sentence of `lull why` where they ask the same more than once, say that cause.
#
# LULL_WORKLOADS, or else the arguments, names the workloads wanted: without, the small ones; `all` is all
# of them. With LULL_WORKLOADS, the kernel counts the delays of all tasks of the machine meanwhile.
# What a workload has to say (table.py) follows from how it is made and from what it measured itself, never from what Lull
# printed. Needs root. LULL is the program; LULL_SCRATCH a folder on a disk, for the files that the workloads read and write.
import contextlib
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

from paths import MS
from record import recorders
from tap import Tap
from workloads import delays
from workloads.table import TABLE

HERE = os.path.dirname(os.path.abspath(__file__))
LULL = os.environ['LULL']
FIRST_LINES = 10
SMALL = 'small.py', 'loops.py'  # they need nothing but Python
MOST_UNKNOWN = 0.02
# An amount may differ by that part of it, and by what a wake-up takes on a busy machine.
MOST_DIFFERENCE, MOST_LATE = 0.1, 8 * MS
# The kernel's own counts are closer: for them a wait ends when the task is in the queue of its CPU, for Lull when it is woken.
WAKING_NS, COUNTING_NS = 30000, MS
ATTEMPTS = 3
IS_THOROUGH = 'LULL_WORKLOADS' in os.environ
tap = Tap()
seen = []  # (tracer, workload, share of unknown, what it said, or what was wrong)


def ask(*arguments):
    done = subprocess.run([LULL, *arguments], capture_output=True, text=True, encoding='utf-8', check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def question(report, offset_ns):
    return ['--tid', str(report['tid']), '--begin', str(report['start_ns'] + offset_ns), '--end',
            str(report['end_ns'] + offset_ns)]


def unknown_of(text):
    """The share that the path warns of."""
    warned = re.search(r'([\d.]+) %\) is unknown', text)
    return float(warned[1]) / 100 if warned else 0


def amount_fault(workload, report, path):
    """What is wrong with how long the cause lasted."""
    program, *what = workload.amount
    shown = sum(row['duration_ns'] for row in path['summary']['by_cause'] if program in (None, row['program'])
                and (what[0] in f"{row['detail']}, waited for in {row['waiter_call']}" if len(what) == 1 else [row['state'], row['cause']] == what))
    if abs(shown - report['cause_ns']) <= MOST_DIFFERENCE * report['cause_ns'] + MOST_LATE:
        return []
    return [f"{' '.join(map(str, workload.amount))} for {shown / MS:.1f} ms, of which the workload says {report['cause_ns'] / MS:.1f} ms"]


def waits_fault(workload, report, waits):
    """What is wrong with how long the task that is asked about waited for that cause, which is as long as the cause lasted."""
    shown = sum(row['total_ns'] for row in waits if row['cause'] == workload.waits)
    if abs(shown - report['cause_ns']) <= MOST_DIFFERENCE * report['cause_ns'] + MOST_LATE:
        return []
    return [f"{workload.waits} waited for {shown / MS:.1f} ms, of which the workload says {report['cause_ns'] / MS:.1f} ms"]


def faults_fault(workload, report, path):
    """What is wrong with the number of page faults, which getrusage() counts too; some end before the task has left the CPU."""
    shown = sum(row['count'] for row in path['summary']['by_cause'] if workload.faults in (row['detail'] or ''))
    if abs(shown - report['faults']) <= MOST_DIFFERENCE * report['faults']:
        return []
    return [f"{shown} page faults, of which the kernel counted {report['faults']}"]


def bytes_fault(report, tables):
    """What is wrong with what was read from disks, which the kernel counted too. Kworkers submit what a limit held back."""
    reads = [row for row in tables['per-process-top-block'] if row['of'] == 'read']
    own = sum(row['bytes'] for row in reads if row['process']['tid'] == report['tid'])
    others = sum(row['bytes'] for row in reads if row['process']['comm'].startswith('kworker'))
    different = MOST_DIFFERENCE * report['read_bytes']
    if own - different <= report['read_bytes'] <= own + others + different:
        return []
    return [f"{own} bytes are read, and by kworkers {others}, where the kernel counted {report['read_bytes']}"]


def call_fault(workload, report, asked, recording):
    """What is wrong with how long calls took, which the program measured too."""
    program, call = workload.call
    tables = json.loads(ask('syscallstats', '--json', '--limit', '0', '--comm', program, *asked[2:], recording))['windows'][0]['tables']
    shown = sum(row['total_ns'] for row in tables['per-tid'] if row['syscall'] == call)
    if abs(shown - report['calls_ns']) <= MOST_DIFFERENCE * report['calls_ns'] + COUNTING_NS:
        return []
    return [f"{call} took {shown / MS:.1f} ms, of which {program} says {report['calls_ns'] / MS:.1f} ms"]


def delays_of(path, waits):
    """For how long the task waited, by Lull, as the kernel counts it; each with what it may differ by."""
    causes = path['summary']['by_cause']
    apart_ns = COUNTING_NS + WAKING_NS * sum(row['count'] for row in waits)
    reclaim = [row['duration_ns'] for row in causes if 'memory reclaim' in (row['detail'] or '') or 'memory is freed' in (row['detail'] or '')]
    ready_ns = sum(row['total_ns'] for row in waits if row['state'] == 'R')
    return {'cpu': (ready_ns, apart_ns),
            # Some of them Linux 6.18 counts until the task has a CPU.
            'disk': (sum(row['total_ns'] for row in waits if row['cause'] in ('disk', 'dirty pages')), apart_ns + ready_ns),
            'reclaim': (sum(reclaim), sum(row['duration_ns'] for row in causes if row['state'] == 'interrupted'))}


def delays_faults(workload, report, path, waits):
    """What is wrong with the waits that the kernel counted too. It counts some waits for disks twice."""
    shown = delays_of(path, waits)
    return [f"{name}: waits of {shown[name][0] / MS:.3f} ms, of which the kernel counted {counted / MS:.3f} ms"
            for name, counted in report['delays'].items() if name in ('cpu', *workload.kernel)
            and counted <= report['end_ns'] - report['start_ns'] and abs(shown[name][0] - counted) > MOST_DIFFERENCE * counted + shown[name][1]]


def amounts_faults(workload, report, asked, recording):
    """What is wrong with how much of each it is."""
    has_amount = workload.amount and (IS_THOROUGH or not workload.needs_quiet)
    has_delays = IS_THOROUGH and 'delays' in report
    path = json.loads(ask('critpath', '--json', *asked, recording)) if has_amount or workload.faults or has_delays else None
    faults = amount_fault(workload, report, path) if has_amount else []
    faults += faults_fault(workload, report, path) if workload.faults else []
    faults += call_fault(workload, report, asked, recording) if workload.call else []
    if 'read_bytes' in report:
        faults += bytes_fault(report, json.loads(ask('iousagetop', '--json', '--limit', '0', *asked[2:], recording))['windows'][0]['tables'])
    if has_delays or workload.waits:
        who = ['--tid', str(report.get('counted', report['tid']))]
        waits = json.loads(ask('waits', '--json', '--limit', '0', *who, *asked[2:], recording))['windows'][0]['tables']['waits-by-cause']
        faults += waits_fault(workload, report, waits) if workload.waits else []
        faults += delays_faults(workload, report, path, waits) if has_delays else []
    return faults


def judge(workload, tracer, report, recording, offset_ns):
    """What is wrong with the answers, and what they are."""
    if 'broken' in report:
        return [report['broken']], ''
    asked = question(report, offset_ns)
    text = ask('critpath', *asked, recording)
    first = text.splitlines()[:FIRST_LINES]
    patterns = workload.patterns(report)
    faults = [f'the first {FIRST_LINES} lines do not say “{pattern.pattern}”'
              for pattern in patterns if not any(map(pattern.search, first))]
    unknown = unknown_of(text)
    if tracer == 'ftrace' and unknown > MOST_UNKNOWN:
        faults.append(f'{100 * unknown:.1f} % is unknown')
    faults += amounts_faults(workload, report, asked, recording)
    if workload.why:
        said = ask('why', *workload.why, recording)
        sentence = next((line for line in said.splitlines() if line.startswith(' 1. ')), said)
        faults += [] if workload.reason(report).search(sentence) else [f'why says first: {sentence}']
    took_ms = (report['end_ns'] - report['start_ns']) / MS
    said = [re.sub(' +', ' ', line) for line in first if any(pattern.search(line) for pattern in patterns)]
    seen.append((tracer, workload.name, unknown, '; '.join(faults or said)))
    return faults, f'It took {took_ms:.1f} ms; it knows {report}\n{text[:3000]}'


def record(tracer, script, names, folder):
    """What the workloads of one script reported, by name; the recording; and the offset of its clock."""
    reports = os.path.join(folder, 'reports')
    command = [sys.executable, os.path.join(HERE, script), os.path.join(folder, 'files'), reports, *names]
    try:
        recording, offset_ns = recorders.record(tracer, command, folder, '--buffer', '8M')
    finally:  # what a workload leaves so that it is there when the recording ends
        for group in glob.glob(f"/sys/fs/cgroup/**/{os.environ['LULL_WORKLOAD_GROUP']}-*/", recursive=True):
            os.rmdir(group)
    with open(reports, encoding='utf-8') as file:
        return {report['name']: report for report in map(json.loads, file)}, recording, offset_ns


def attempt(tracer, script, names):
    """What is wrong with each workload; a string: why it was skipped."""
    with tempfile.TemporaryDirectory(dir=os.environ.get('LULL_SCRATCH')) as folder:
        os.mkdir(os.path.join(folder, 'files'))
        try:
            reports, recording, offset_ns = record(tracer, script, names, folder)
        except RuntimeError as error:  # such as events that were lost
            return dict.fromkeys(names, ([str(error)], ''))
        return {name: report.get('skip') or judge(TABLE[name], tracer, report, recording, offset_ns)
                for name, report in reports.items()}


def settle(tracer, name, result):
    if isinstance(result, str):
        tap.skip(f'{tracer} {name}', result)
        return
    faults, text = result
    blind = recorders.blind_cpus() if tracer == 'perf' and faults else []
    if blind:
        tap.skip(f'{tracer} {name}', f'{recorders.blind_reason()}: {"; ".join(faults)}')
    else:
        tap.ok(not faults, f'{tracer} {name}: says what it waited for', *faults, text)


def run(tracer, script, names):
    """All in one recording; those whose answers are wrong once more, because other programs may have had the CPUs."""
    for number in range(ATTEMPTS):
        results = attempt(tracer, script, names)
        failed = [name for name, result in results.items() if not isinstance(result, str) and result[0]]
        for name in names:
            if name not in failed or number == ATTEMPTS - 1:
                settle(tracer, name, results[name])
            else:
                print(f'# {tracer} {name}, once more: {"; ".join(results[name][0])}')
        names = failed
        if not names:
            break


def main():
    os.environ['LULL_WORKLOAD_GROUP'] = f'lull-workload-{os.getpid()}'
    named = os.environ.get('LULL_WORKLOADS', '').split() or sys.argv[1:]
    wanted = list(TABLE) if named == ['all'] else named or [name for name in TABLE if TABLE[name].script in SMALL]
    for tracer in recorders.TRACERS:
        with tempfile.TemporaryDirectory() as folder:
            why_not = recorders.why_not(tracer, folder)
        if why_not:
            tap.skip(tracer, why_not)
            continue
        for script in dict.fromkeys(TABLE[name].script for name in wanted):
            names = [name for name in wanted if TABLE[name].script == script]
            for group in [names] if script in SMALL else [[name] for name in names]:
                with delays.counted() if IS_THOROUGH else contextlib.nullcontext():
                    tap.run(f"{tracer} {' '.join(group)}", run, tracer, script, group)
    for tracer, name, unknown, said in seen:
        print(f'# {tracer:7} {name:13} {100 * unknown:5.1f} % unknown  {said}')
    return tap.done()


sys.exit(main())

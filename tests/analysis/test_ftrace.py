#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The model, the critical path and the analyses on recordings of ftrace. The program legs.c did known things one
# after the other and wrote down when (ftrace/*.txt of the samples, on the clock of the recording); its waits are looked for in three
# recordings of it: of the whole machine, of the program alone, and of the program and the idle tasks with system calls told twice.
# What the analyses add up is added up again from what trace-cmd reported of the same files (*.report). See LULL, LULL_SAMPLES in
# tests/meson.build. Two more recordings are of a program of 32 bits (c32.c), and of buffers that were written over.
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import invariants  # noqa: E402
from tap import Tap  # noqa: E402

LULL = os.environ['LULL']
SAMPLES = os.path.join(os.environ['LULL_SAMPLES'], 'ftrace')
tap = Tap()

# What each leg of the program is, by its text: the share of its time that the path must at least say, as (who, state, cause): share.
# SELF is the program's own task, OTHER one that it made. On a loaded machine a leg may also hold time for which no CPU was free.
SELF, OTHER = 'self', 'other'
LEGS = {
    'burn': {(SELF, 'running', None): 0.97},
    'nanosleep': {(SELF, 'blocked', 'timer'): 0.97},
    'pipe': {(OTHER, 'blocked', 'timer'): 0.97},        # the other end sleeps 25 ms, then writes
    'waitpid': {(OTHER, 'running', None): 0.97},        # the child computes 20 ms
    'futex': {(OTHER, 'blocked', 'timer'): 0.97},       # the thread that has the lock sleeps 30 ms
    'odirect': {(SELF, 'blocked', 'disk'): 0.5},        # 4 MiB past the cache
    'tcp': {(OTHER, 'blocked', 'timer'): 0.7, (OTHER, 'running', None): 0.22},  # the server sleeps 15 ms, computes 5 ms
    'unix': {(OTHER, 'blocked', 'timer'): 0.94},
    'signal': {(OTHER, 'blocked', 'timer'): 0.94},
    'epoll': {(OTHER, 'blocked', 'timer'): 0.94},
}


def run(*arguments):
    done = subprocess.run([LULL, *arguments], capture_output=True, text=True, encoding='utf-8', check=False, timeout=250)
    if done.returncode != 0:
        raise RuntimeError(f'{arguments}: {done.stderr}')
    return done.stdout


def windows(verb, *arguments):
    return json.loads(run(verb, '--json', *arguments))['windows']


def rows_of(verb, table, *arguments):
    return [row for window in windows(verb, *arguments) for row in window['tables'].get(table, [])]


class Recording:
    def __init__(self, name, has_text=True):
        self.name, self.path = name, os.path.join(SAMPLES, f'{name}.dat')
        self.legs, self.facts = {}, {}
        if not has_text:
            return
        with open(os.path.join(SAMPLES, f'{name}.txt'), encoding='utf-8') as lines:
            for words in map(str.split, lines):
                if len(words) == 3:
                    self.legs[words[0]] = (int(words[1]), int(words[2]))
                else:
                    self.facts[words[0]] = int(words[1])
        self.tid = self.facts['pid']

    def events(self):
        """(time, CPU, tid, event, fields) of each line of `trace-cmd report -R -t`."""
        line_of = re.compile(r'\s*(?:\S+:\s+)?.*?-(\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}): (\S+):\s*(.*)$')
        with open(os.path.join(SAMPLES, f'{self.name}.report'), encoding='utf-8') as lines:
            for line in lines:
                match = line_of.match(line)
                if match:
                    tid, cpu, seconds, ns, name, fields = match.groups()
                    yield int(seconds) * 10**9 + int(ns), int(cpu), int(tid), name, fields


def number_of(fields, name):
    match = re.search(rf'(?:^|\s){name}=(0x[0-9a-f]+|-?\d+)', fields)
    return int(match.group(1), 0) if match else None


# ---- the path ----

def path_of(recording, leg):
    begin, end = recording.legs[leg]
    text = run('critpath', recording.path, '--json', f'--tid={recording.tid}', f'--begin={begin}', f'--end={end}')
    return json.loads(text)


def shares(recording, leg, path):
    found = collections.Counter()
    begin, end = recording.legs[leg]
    length = end - begin
    for segment in path['segments']:
        who = SELF if segment['tid'] == recording.tid else OTHER
        state = 'running' if segment['state'] == 'interrupted' else segment['state']
        found[who, state, segment.get('cause')] += (segment['end_ns'] - segment['begin_ns']) / length
    return found


def check_path(recording, leg, expected):
    path = path_of(recording, leg)
    segments, (begin, end) = path['segments'], recording.legs[leg]
    whole = [begin, *(segment['end_ns'] for segment in segments)] == [*(segment['begin_ns'] for segment in segments), end]
    tap.ok(whole, f'{recording.name}: {leg}: the path covers the leg', begin, end, segments)
    found = shares(recording, leg, path)
    # Where other tasks had the CPUs, that is no error; it is told as such. Who computes does so until the clock says it is enough.
    busy = sum(share for (_, state, _), share in found.items() if state == 'preempted')
    for key, least in expected.items():
        if key[1] == 'running':
            found[key] += busy
        tap.ok(found[key] >= (least if key[1] == 'running' else least * (1 - busy)), f'{recording.name}: {leg}: {least:.0%} is {" ".join(map(str, key))}', dict(found))


def without_others(recording, expected):
    """In tasks that are not recorded, interrupts are not either: one ended the wait, and what it was about is known only of sleeps."""
    return expected if recording.name == 'whole' else {key: share for key, share in expected.items() if key[2] != 'disk'}


# ---- sums, against trace-cmd ----

NAMES = {0: 'read', 1: 'write', 3: 'close', 9: 'mmap', 17: 'pread64', 56: 'clone', 59: 'execve', 61: 'wait4', 74: 'fsync',
         202: 'futex', 230: 'clock_nanosleep', 232: 'epoll_wait', 257: 'openat', 435: 'clone3'}  # asm/unistd_64.h


def calls_of(recording):
    """By tid and name of each call that began and ended: [how long, what it returned]. Begin and end alternate in each task."""
    begun, calls = {}, collections.defaultdict(list)
    for time, _, tid, name, fields in recording.events():
        if name == 'sys_enter':
            begun[tid] = number_of(fields, 'id'), time
        elif name == 'sys_exit' and tid in begun:
            number, begin = begun.pop(tid)
            if number == number_of(fields, 'id') and number in NAMES:
                calls[tid, NAMES[number]].append((time - begin, number_of(fields, 'ret')))
    return calls


def tid_of(text):
    """"legs (14884, TID: 14884)" """
    return int(re.search(r'TID: (\d+)\)', text).group(1))


def check_calls(recording):
    """Each call counts once, however often it was told."""
    expected = {key: (len(found), sum(length for length, _ in found)) for key, found in calls_of(recording).items()
                if key[0] >= recording.tid}
    rows = {(tid_of(row['of']), row['syscall']): (row['count'], row['total_ns'])
            for row in rows_of('syscallstats', 'per-tid', recording.path)}
    wrong = {key: (value, rows.get(key)) for key, value in expected.items() if rows.get(key) != value}
    tap.ok(len(expected) > 20 and not wrong, f'{recording.name}: system calls and how long they took', wrong)


def check_bytes(recording):
    """The program read its file of 64 times 64 KiB; what it wrote, that and its text, its calls returned."""
    begin, end = recording.legs['odirect']
    rows = rows_of('iousagetop', 'per-process-top', '--limit=0', f'--begin={begin}', f'--end={end}', recording.path)
    found = sum(row['total_bytes'] for row in rows if row['of'] == 'read' and row['process']['tid'] == recording.tid)
    tap.ok(found == recording.facts['direct'] == 64 * 65536, f'{recording.name}: bytes read past the cache', found)
    total = sum(max(number_of(fields, 'ret'), 0) for _, _, tid, name, fields in recording.events()
                if tid == recording.tid and name == 'sys_exit' and number_of(fields, 'id') == 1)
    rows = rows_of('iousagetop', 'per-process-top', '--limit=0', recording.path)
    found = sum(row['total_bytes'] for row in rows if row['of'] == 'written' and row['process']['tid'] == recording.tid)
    tap.ok(found == total and total > 64 * 65536, f'{recording.name}: bytes that the program wrote', found, total)


def check_processes(recording):
    """The thread belongs to the process; each child is one of its own; the program leads its own since exec."""
    flags = {}
    for _, _, _, name, fields in recording.events():
        if name == 'task_newtask':
            flags[number_of(fields, 'pid')] = int(re.search(r'clone_flags=(?:0x)?([0-9a-f]+)', fields).group(1), 16)
    rows = {row['process']['tid']: row['process'].get('pid') for row in rows_of('syscallstats', 'total', recording.path)}
    made = {tid: recording.tid if flag & 0x10000 else tid for tid, flag in flags.items() if tid in rows and tid > recording.tid}
    wrong = {tid: (pid, rows[tid]) for tid, pid in made.items() if rows[tid] != pid}
    tap.ok(len(made) >= 7 and not wrong and rows[recording.tid] == recording.tid,
           f'{recording.name}: which process tasks belong to', made, wrong, rows)


def check_futex(recording):
    begin, end = recording.legs['futex']
    rows = [row for row in rows_of('futex', 'wakers', recording.path) if row['waiter']['tid'] == recording.tid]
    waited = sum(row['wait_ns'] for row in rows)
    tap.ok(len(rows) == 1 and rows[0]['waker']['tid'] not in (None, recording.tid) and 0 <= end - begin - waited < 1000000,
           f'{recording.name}: who waited for the lock, for whom and how long', rows, end - begin)


def check_interrupts(recording):
    """Each handler that began and ended, and how long it ran."""
    count, time_of = collections.Counter(), collections.Counter()
    open_since = {}
    for time, cpu, _, name, fields in recording.events():
        for kind, key in (('irq_handler', 'irq'), ('softirq', 'vec')):
            if name == f'{kind}_entry':
                open_since[cpu, kind, number_of(fields, key)] = time
            elif name == f'{kind}_exit' and (cpu, kind, number_of(fields, key)) in open_since:
                place = kind, number_of(fields, key)
                count[place] += 1
                time_of[place] += time - open_since.pop((cpu, *place))
    found = {}
    for table, kind in (('hard-stats', 'irq_handler'), ('soft-stats', 'softirq')):
        for row in rows_of('irqstats', table, recording.path):
            found[kind, row['irq']['number']] = row['count'], row['total_ns']
    expected = {key: (count[key], time_of[key]) for key in count}
    tap.ok(expected and found == expected, f'{recording.name}: interrupts and how long their handlers ran', expected, found)


def check_network(recording):
    """Packets and bytes of each interface: sent are those that the driver was given."""
    sent, received = collections.Counter(), collections.Counter()
    for _, _, _, name, fields in recording.events():
        device = re.search(r'name=(\S+)', fields)
        if name == 'net_dev_xmit':
            sent[device.group(1), 'packets'] += 1
            sent[device.group(1), 'bytes'] += number_of(fields, 'len')
        elif name == 'netif_receive_skb':
            received[device.group(1), 'packets'] += 1
            received[device.group(1), 'bytes'] += number_of(fields, 'len')
    for row in rows_of('nettop', 'per-interface', '--limit=0', recording.path):
        name = row['interface']
        expected = [sent[name, 'packets'], sent[name, 'bytes'], received[name, 'packets'], received[name, 'bytes']]
        found = [row['sent_packets'], row['sent_bytes'], row['received_packets'], row['received_bytes']]
        tap.ok(sum(expected) > 0 and found == expected, f'{recording.name}: network {name}', expected, found)


def check_memory(recording):
    pages = collections.Counter()
    for _, _, _, name, fields in recording.events():
        if name in ('mm_page_alloc', 'mm_page_free'):
            pages[name] += 1 << number_of(fields, 'order')
    total = rows_of('memtop', 'total', recording.path)[0]
    found = total['allocated_pages'], total['freed_pages']
    tap.ok(pages and found == (pages['mm_page_alloc'], pages['mm_page_free']), f'{recording.name}: pages', dict(pages), total)


def check_disks(recording):
    sectors = sum(number_of(fields, 'nr_sector') for _, _, _, name, fields in recording.events()
                  if name == 'block_rq_complete' and re.search(r'rwbs=\S*[RW]', fields))
    rows = rows_of('iousagetop', 'per-disk-top-sector', '--limit=0', recording.path)
    found = sum(row['read'] + row['written'] for row in rows)
    tap.ok(sectors > 0 and found == sectors, f'{recording.name}: sectors', sectors, found)


def check_invariants(recording):
    for verb, rule in invariants.SINGLE.items():
        wrong = [found for window in windows(verb, '--limit=0', recording.path) for found in rule(window, window['tables'])]
        tap.ok(not wrong, f'{recording.name}: {verb}: {rule.__doc__}', *wrong[:3])


def check_compat():
    """c32.c, a program of 32 bits, calls read() five times and write() once: 3 and 4, which are close and stat of 64 bits."""
    rows = rows_of('syscallstats', 'per-tid', Recording('compat', False).path)
    found = {row['syscall']: row['count'] for row in rows if row['of'].startswith('c32 ')}
    tap.ok((found.get('read'), found.get('write'), found.get('stat')) == (5, 1, None), 'compat: calls of a program of 32 bits', found)


def check_ring():
    """Buffers that were written over begin at different times. What a CPU did before its own begins is unknown."""
    recording = Recording('ring', False)
    first = {}
    for time, cpu, _, _, _ in recording.events():
        first.setdefault(cpu, time)
    begin = min(first.values())
    late = {cpu: time - begin for cpu, time in first.items() if time > begin}
    rows = {row['cpu']: row for row in rows_of('cputop', 'per-cpu', recording.path)}
    tap.ok(len(late) == 1 and all(rows[cpu]['unknown_ns'] >= gap for cpu, gap in late.items()),
           'ring: a CPU is unknown before its buffer begins', late, rows)
    tap.ok(all(rows[cpu]['unknown_ns'] < 1000000 for cpu in first if cpu not in late), 'ring: and known since', rows)
    check_invariants(recording)


def main():
    for name in ('whole', 'chosen', 'twice'):
        recording = Recording(name)
        for leg, expected in LEGS.items():
            tap.run(f'{name}: {leg}', check_path, recording, leg, without_others(recording, expected))
        for check in (check_calls, check_bytes, check_processes, check_futex, check_interrupts, check_network,
                      check_invariants):
            tap.run(f'{name}: {check.__name__}', check, recording)
    for check in (check_memory, check_disks):
        tap.run(f'whole: {check.__name__}', check, Recording('whole'))
    tap.run('compat', check_compat)
    tap.run('ring', check_ring)
    return tap.done()


sys.exit(main())

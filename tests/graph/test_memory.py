#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A task that needs memory which is not there: the kernel frees some while it runs and while it waits, and it uses pages of a mapped file
# and of swap. What each takes is what the script below says.
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, '..', 'lib')]
import jsonl_to_ctf  # noqa: E402
from one_cpu import MS, READ, START, TASK, Machine  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
INODE, READ_AHEAD = 4711, READ | 8
DISK, OTHER_DISK = 266338304, 8388609


def in_waits(folder, *more):
    """What `lull waits` says of the task: object → [its calls, ms]."""
    done = subprocess.run([os.environ['LULL'], 'waits', '--json', '--limit', '0', '--tid', str(TASK), *more, folder], capture_output=True, text=True,
                          encoding='utf-8', check=False)
    rows = json.loads(done.stdout)['windows'][0]['tables']['waits']
    return {row['object']: [row['call'], row['total_ns'] / MS] for row in rows if row['state'] != 'R'}


def script(machine):
    machine.event('lttng_statedump_block_device', {'dev': 253 << 20, 'diskname': 'vdb'}, 0)
    machine.switch(0, TASK, 0)
    machine.call('getppid')
    machine.passes(2)

    def write():
        machine.passes(3)
        machine.event('mm_vmscan_memcg_reclaim_begin', {'order': 0})
        machine.passes(1)
        machine.waits(4)
        machine.passes(0.5)
        machine.event('mm_vmscan_memcg_reclaim_end', {'nr_reclaimed': 7})
        machine.passes(0.25)
    machine.call('write', write)
    machine.event('mm_filemap_fault', {'i_ino': INODE, 's_dev': 1, 'index': 3})
    machine.reads(5, 1000)
    machine.passes(3)
    machine.reads(6, 2000)
    # Reading ahead takes the kernel longer than a page.
    machine.event('mm_filemap_fault', {'i_ino': INODE + 1, 's_dev': 1, 'index': 3})
    machine.passes(1.5)
    machine.reads(7, 3000, READ_AHEAD)
    # Not in a call, and the kernel frees memory before it reads.
    machine.event('mm_vmscan_direct_reclaim_begin', {'order': 0})
    machine.passes(0.75)
    machine.event('mm_vmscan_direct_reclaim_end', {'nr_reclaimed': 7})
    machine.passes(1)
    machine.switch(TASK, 0, 1)


def check_moves(folder):
    """Memory is moved for the task, which sleeps meanwhile, in a call and in none; within that some is freed; and a thread of the kernel moves some."""
    machine = Machine()
    machine.others = {200: 'kcompactd0'}
    zone = {'zone_start': 0, 'migrate_pfn': 1, 'free_pfn': 2, 'zone_end': 3, 'sync': 1}

    def moves(tid=TASK, inside=lambda: None):
        machine.event('mm_compaction_begin', zone, tid)
        machine.passes(2)
        inside()
        machine.event('mm_compaction_end', {**zone, 'status': 1}, tid)
    machine.switch(0, TASK, 0)
    machine.call('getppid')
    machine.passes(1)
    machine.call('write', lambda: moves(inside=lambda: machine.waits(5)))

    def frees_some():
        machine.event('mm_vmscan_direct_reclaim_begin', {'order': 0})
        machine.passes(3)
        machine.event('mm_vmscan_direct_reclaim_end', {'nr_reclaimed': 7})
        machine.passes(4)
    moves(inside=frees_some)
    machine.call('write', lambda: machine.event('mm_compaction_begin', zone))  # its end is lost
    machine.passes(1)
    machine.event('mm_compaction_end', {**zone, 'status': 1})  # nobody saw the start
    machine.switch(TASK, 200, 2)
    moves(200)
    machine.wakes(200)
    machine.switch(200, TASK, 1)
    machine.passes(1)
    machine.switch(TASK, 0, 1)
    jsonl_to_ctf.write_trace(machine.events, folder, {'hostname': 'm'}, offset_ns=START)
    done = subprocess.run([os.environ['LULL'], 'critpath', '--full', '--tid', str(TASK), '--json', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    path = json.loads(done.stdout)
    modes = {(row['program'], row['mode']): row['duration_ns'] / MS for row in path['summary']['by_cause'] if row['state'] == 'running'}
    tap.ok(modes == {('worker', 'user'): 1 + 1 + 1, ('worker', 'compaction'): 2 + 2 + 4, ('worker', 'reclaim'): 3, ('kcompactd0', 'compaction'): 2},
           'memory is moved for it, and freed', modes)
    first = next(s for s in path['segments'] if s['state'] == 'blocked')
    tap.ok((first['end_ns'] - first['begin_ns']) / MS == 5 and first['detail'].endswith('in write to descriptor 1; while memory is moved for it'), 'it waits meanwhile', first)
    done = subprocess.run([os.environ['LULL'], 'critpath', '--tid', str(TASK), folder], capture_output=True, text=True, encoding='utf-8', check=False)
    tap.ok('worker: running in memory compaction' in done.stdout and '\n    in memory compaction' in done.stdout, 'in words', done.stdout)


def frees(machine, what, ms_to_sleep):
    machine.event(f'mm_vmscan_{what}_reclaim_begin', {'order': 0})
    machine.passes(0.5)
    machine.event(f'mm_vmscan_{what}_reclaim_end', {'nr_reclaimed': 0})
    machine.passes(ms_to_sleep)


def limits(machine):
    """Above memory.high it sleeps in no call, deeply, right after memory of its group was freed, until a timer: 8 and 9 ms are that."""
    machine.switch(0, TASK, 0)
    frees(machine, 'memcg', 0.05)
    machine.waits(8)
    machine.call('getppid')
    frees(machine, 'memcg', 0.05)
    machine.waits(9)
    frees(machine, 'direct', 0.05)
    machine.waits(10)
    frees(machine, 'memcg', 0.05)
    machine.waits(11, (), 1)
    frees(machine, 'memcg', 2)
    machine.waits(12)
    frees(machine, 'memcg', 0.05)
    machine.reads(13, 1000)
    frees(machine, 'memcg', 0)
    machine.call('nanosleep', lambda: machine.waits(14))
    machine.passes(1)
    machine.switch(TASK, 0, 1)


def check_limits(folder):
    machine = Machine()
    limits(machine)
    jsonl_to_ctf.write_trace(machine.events, folder, {'hostname': 'm'}, offset_ns=START)
    done = subprocess.run([os.environ['LULL'], 'critpath', '--full', '--tid', str(TASK), '--json', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    waits = [s for s in json.loads(done.stdout)['segments'] if s['state'] == 'blocked']
    tap.ok([(s['end_ns'] - s['begin_ns']) / MS for s in waits] == list(range(8, 15)), 'it sleeps seven times', waits)
    high = [s for s in waits if 'as its control group is above memory.high' in (s['detail'] or '')]
    tap.ok([(s['end_ns'] - s['begin_ns']) / MS for s in high] == [8, 9] and all(s['reason']['kind'] == 'memory' and s['cause'] == 'timer' for s in high) and
           all(not s['reason'] or s['reason']['kind'] != 'memory' for s in waits if s not in high), 'twice as its group is above memory.high', waits)
    said = in_waits(folder)
    tap.ok(said.get('as its control group is above memory.high') == [None, 8 + 9], 'waits says so, too', said)


def writes(machine):
    """What it writes is too much for the disk: 8 and 9 ms, deeply, and until a timer, each right after the kernel said so; 12 ms by mapped memory,
    for a disk without a name; and 16 ms, of which nobody says how long it is."""
    def too_much(pause=5, disk='253:0', after_ms=0.01):
        machine.event('writeback_balance_dirty_pages', {'bdi': disk, **({} if pause is None else {'pause': pause})})
        machine.passes(after_ms)

    def write():
        too_much()
        machine.waits(8)
        machine.passes(0.02)
        too_much()
        machine.waits(9)
        too_much(0)
        machine.waits(10)
        too_much()
        machine.reads(11, 1000)
        too_much(after_ms=3)
        machine.waits(13)
        too_much()
        machine.waits(14, (), 1)
    machine.event('lttng_statedump_block_device', {'dev': 253 << 20, 'diskname': 'disk'})
    machine.switch(0, TASK, 0)
    machine.call('write', write)
    too_much(disk='btrfs-1')
    machine.waits(12)
    machine.call('nanosleep', lambda: machine.waits(15))
    too_much(None, '0:45')
    machine.waits(16)
    machine.passes(1)
    machine.switch(TASK, 0, 1)


def check_open(folder):
    """It still sleeps when the trace ends."""
    machine = Machine()
    machine.event('lttng_statedump_block_device', {'dev': 253 << 20, 'diskname': 'disk'})
    machine.switch(0, TASK, 0)
    machine.event('syscall_entry_write', {'fd': 1})
    machine.event('writeback_balance_dirty_pages', {'bdi': '253:0', 'pause': 200})
    machine.passes(0.01)
    machine.switch(TASK, 0, 2)
    machine.passes(7)
    machine.event('irq_softirq_entry', {'vec': 1}, 0)
    machine.event('irq_softirq_exit', {'vec': 1}, 0)
    jsonl_to_ctf.write_trace(machine.events, folder, {'hostname': 'm'}, offset_ns=START)
    done = subprocess.run([os.environ['LULL'], 'critpath', '--full', '--tid', str(TASK), '--json', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    last = json.loads(done.stdout)['segments'][-1]
    tap.ok((last['cause'], last['object'], last['detail']) ==
           ('disk', 'disk', 'too many dirty pages for disk, not woken before the end of the trace; in write to descriptor 1'), 'one that has not ended', last)
    done = subprocess.run([os.environ['LULL'], 'waits', '--tid', str(TASK), '--json', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    rows = json.loads(done.stdout)['windows'][0]['tables']['waits-by-cause']
    tap.ok([(row['state'], row['cause']) for row in rows] == [('D', 'not ended')], 'and waits says that it has not', rows)


def check_why(folder):
    """Of twelve writes two are slow, as too many dirty pages wait for the disk."""
    machine = Machine()
    machine.event('lttng_statedump_block_device', {'dev': 253 << 20, 'diskname': 'disk'})
    machine.switch(0, TASK, 0)

    def write(is_slow):
        machine.passes(1)
        if is_slow:
            machine.event('writeback_balance_dirty_pages', {'bdi': '253:0', 'pause': 20})
            machine.waits(20)
    for number in range(12):
        machine.call('write', lambda is_slow=number in (4, 9): write(is_slow))
        machine.passes(1)
    machine.switch(TASK, 0, 1)
    jsonl_to_ctf.write_trace(machine.events, folder, {'hostname': 'm'}, offset_ns=START)
    period = 'w : $evt.$name == "syscall_entry_write" : $evt.$name == "syscall_exit_write" && $evt.$tid == $begin.$evt.$tid'
    done = subprocess.run([os.environ['LULL'], 'why', '--period', period, folder], capture_output=True, text=True, encoding='utf-8', check=False)
    tap.ok('20.00 ms more (100 %): worker/100 is blocked on disk: too many dirty pages for disk, in write.' in done.stdout, 'why says so, too', done.stdout + done.stderr)


def check_writes(folder):
    machine = Machine()
    writes(machine)
    jsonl_to_ctf.write_trace(machine.events, folder, {'hostname': 'm'}, offset_ns=START)
    done = subprocess.run([os.environ['LULL'], 'critpath', '--full', '--tid', str(TASK), '--json', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    path = json.loads(done.stdout)
    waits = [s for s in path['segments'] if s['state'] == 'blocked']
    tap.ok([(s['end_ns'] - s['begin_ns']) / MS for s in waits] == [8, 9, 10, 11, 13, 14, 12, 15, 16], 'it sleeps nine times', waits)
    found = [((s['end_ns'] - s['begin_ns']) / MS, s['object'], (s['reason'] or {}).get('call'), s['cause']) for s in waits if s['operation'] == 'dirty']
    tap.ok(found == [(8, 'disk', 'write', 'disk'), (9, 'disk', 'write', 'disk'), (12, 'btrfs-1', None, 'disk'), (16, '0:45', None, 'disk')],
           'four times as too many dirty pages wait for a disk', waits)
    tap.ok([s['detail'] for s in waits if s['operation'] == 'dirty'] ==
           ['too many dirty pages for disk; in write to descriptor 1'] * 2 + [f'too many dirty pages for {name}; in a page fault' for name in ('btrfs-1', '0:45')] and
           not any('dirty' in (s['detail'] or '') for s in waits if s['operation'] != 'dirty'), 'in words', waits)
    tap.ok([(row['detail'], row['duration_ns'] / MS) for row in path['summary']['by_cause'] if 'too many' in (row['detail'] or '')] ==
           [('too many dirty pages for disk, in write', 8 + 9), ('too many dirty pages for 0:45, in a page fault', 16), ('too many dirty pages for btrfs-1, in a page fault', 12)],
           'by cause, too', path['summary']['by_cause'])
    done = subprocess.run([os.environ['LULL'], 'waits', '--tid', str(TASK), '--json', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    rows = json.loads(done.stdout)['windows'][0]['tables']['waits-by-cause']
    tap.ok([(row['state'], row['total_ns'] / MS, row['count']) for row in rows if row['cause'] == 'dirty pages'] == [('D', 8 + 9 + 12 + 16, 4)], 'waits has a row of them', rows)
    done = subprocess.run([os.environ['LULL'], 'stats', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    check_open(folder + '-open')
    check_why(folder + '-why')
    tap.ok(f'worker/{TASK} waited {8 + 9:.2f} ms for a disk with too many dirty pages, in write on' in done.stdout, 'and stats finds them', done.stdout[:2000])


def check_threads(folder):
    """What the kernel makes in a program that uses an io_uring, or gives a guest its devices, never leaves the kernel; what only bears such a
    name makes calls."""
    machine = Machine()
    kernels, users = {200: 'iou-sqp-100', 201: 'iou-wrk-100', 202: 'vhost-100'}, {203: 'iou-sqp-200', 204: 'other'}
    machine.others = {**kernels, **users}
    machine.switch(0, TASK, 0)
    machine.call('getppid')
    for tid in machine.others:
        machine.switch(TASK, tid, 1)
        machine.passes(1)
        if tid == 203:
            machine.event('syscall_entry_getppid', {}, tid)
            machine.event('syscall_exit_getppid', {'ret': 0}, tid)
        machine.passes(2)
        machine.event('sched_waking', {'comm': 'worker', 'tid': TASK, 'prio': 20, 'target_cpu': 0}, tid)
        machine.switch(tid, TASK, 1)
    machine.passes(1)
    machine.switch(TASK, 0, 1)
    jsonl_to_ctf.write_trace(machine.events, folder, {'hostname': 'm'}, offset_ns=START)
    done = subprocess.run([os.environ['LULL'], 'critpath', '--full', '--tid', str(TASK), '--json', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    modes = {(row['program'], row['mode']): row['duration_ns'] / MS for row in json.loads(done.stdout)['summary']['by_cause'] if row['duration_ns'] > MS / 2}
    tap.ok(modes == {**{(name, 'kernel'): 3 for name in kernels.values()}, **{(name, 'user'): 3 for name in users.values()}, ('worker', 'user'): 1},
           'threads that the kernel made in a program run in the kernel', modes)


def check_provided(folder):
    """Task 200 has a userfaultfd, by which it provides a page that the task uses: it wakes the task in a call on it. What wakes it in a call on
    something else is no page fault."""
    machine = Machine()
    machine.others = {200: 'pager'}

    def call(name, payload, ret, inside=lambda: None):
        machine.event(f'syscall_entry_{name}', payload, 200)
        inside()
        machine.event(f'syscall_exit_{name}', {'ret': ret}, 200)

    def wake():
        machine.event('sched_waking', {'comm': 'worker', 'tid': TASK, 'prio': 20, 'target_cpu': 0}, 200)
    machine.switch(0, 200, 0)
    call('userfaultfd', {'flags': 0}, 5)
    call('eventfd2', {'count': 0, 'flags': 0}, 6)
    machine.switch(200, TASK, 0)
    machine.call('getppid')
    for fd in 5, 6:
        machine.switch(TASK, 200, 1)
        machine.passes(3)
        call('ioctl', {'fd': fd, 'cmd': 1, 'arg': 0}, 0, wake)
        machine.switch(200, TASK, 0)
        machine.passes(1)
    machine.switch(TASK, 0, 1)
    jsonl_to_ctf.write_trace(machine.events, folder, {'hostname': 'm'}, offset_ns=START)
    done = subprocess.run([os.environ['LULL'], 'critpath', '--full', '--tid', str(TASK), '--json', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    kinds = [wait['reason'] and wait['reason']['kind'] for wait in sorted(json.loads(done.stdout)['waits'], key=lambda wait: wait['begin_ns'])]
    tap.ok(kinds == ['fault', None], 'who provides a page by userfaultfd ends a page fault', json.loads(done.stdout)['waits'])
    said = in_waits(folder)
    tap.ok(said == {'page fault': [None, 3], None: [None, 3]}, 'waits says so, too', said)


def check_held(folder):
    """In its read the task is stopped, traced, and frozen with its control group, and another ends that: the read has nothing to do with it."""
    machine = Machine()
    machine.others = {200: 'other'}
    freeze = '/sys/fs/cgroup/some/cgroup.freeze'
    machine.switch(0, 200, 0)
    machine.event('syscall_entry_openat', {'filename': freeze, 'flags': 1}, 200)
    machine.event('syscall_exit_openat', {'ret': 7}, 200)
    machine.switch(200, TASK, 1)
    machine.call('getppid')
    machine.event('syscall_entry_read', {'fd': 1, 'count': 5})
    for state, ms, call in ((4, 3, 'kill'), (8, 4, 'ptrace'), (1, 5, 'getppid')):
        machine.switch(TASK, 200, state)
        machine.passes(ms)
        machine.event(f'syscall_entry_{call}', {}, 200)
        machine.event('sched_waking', {'comm': 'worker', 'tid': TASK, 'prio': 20, 'target_cpu': 0}, 200)
        machine.event(f'syscall_exit_{call}', {'ret': 0}, 200)
        machine.switch(200, TASK, 1)
        machine.passes(1)
    machine.event('syscall_exit_read', {'ret': 5})
    machine.switch(TASK, 200, 2)
    machine.passes(6)
    machine.event('syscall_entry_write', {'fd': 7, 'count': 1}, 200)
    machine.event('sched_waking', {'comm': 'worker', 'tid': TASK, 'prio': 20, 'target_cpu': 0}, 200)
    machine.event('syscall_exit_write', {'ret': 1}, 200)
    machine.switch(200, TASK, 1)
    machine.passes(1)
    machine.switch(TASK, 0, 1)
    jsonl_to_ctf.write_trace(machine.events, folder, {'hostname': 'm'}, offset_ns=START)
    said = in_waits(folder)
    tap.ok(said == {'stopped by a signal': [None, 3], 'stopped by a debugger': [None, 4], 'descriptor 1': ['read', 5], f'frozen by {freeze}': [None, 6]},
           'waits says what held a task', said)


def check_names(folder):
    """A file that is in memory has the path by which it was opened last. A file of that number on another disk is another file."""
    machine = Machine()
    machine.switch(0, TASK, 0)
    machine.event('lull_mapped_file', {'dev': DISK, 'inode': INODE, 'path': '/usr/lib/old.so'})
    machine.event('lull_mapped_file', {'dev': DISK, 'inode': INODE + 1, 'path': '/usr/bin/program'})

    def opens():
        machine.event('lull_call_path', {'tid': TASK, 'dev': DISK, 'inode': INODE, 'path': '/usr/lib/new.so'})
    machine.call('openat', opens)
    machine.call('openat', lambda: machine.event('lull_call_path', {'tid': TASK, 'dev': 0, 'inode': 0, 'path': '/dev/null'}))
    for number, (disk, inode) in enumerate(((DISK, INODE), (DISK, INODE + 1), (OTHER_DISK, INODE), (DISK, INODE + 2))):
        machine.event('mm_filemap_fault', {'i_ino': inode, 's_dev': disk, 'index': 3})
        machine.reads(5, 1000 * number)
        machine.passes(2)
    machine.switch(TASK, 0, 1)
    jsonl_to_ctf.write_trace(machine.events, folder, {'hostname': 'm'}, offset_ns=START)
    done = subprocess.run([os.environ['LULL'], 'critpath', '--full', '--tid', str(TASK), '--json', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    waits = [s for s in json.loads(done.stdout)['segments'] if s['state'] == 'blocked']
    objects = [wait['reason']['object'] for wait in waits]
    tap.ok(objects == ['/usr/lib/new.so', '/usr/bin/program', f'inode {INODE}', f'inode {INODE + 2}'], 'files in memory have their paths', waits)
    done = subprocess.run([os.environ['LULL'], 'waits', '--json', '--state', 'D', folder], capture_output=True, text=True, encoding='utf-8', check=False)
    rows = json.loads(done.stdout)['windows'][0]['tables']['waits']
    wanted = [f'page fault of {name}' if name[0] == '/' else f'page fault of a mapped file, {name}' for name in objects]
    tap.ok(sorted((row['object'], row['total_ns'] / MS) for row in rows) == sorted((name, 5) for name in wanted),
           'waits says so, too', rows)
    tap.ok('in a page fault of /usr/lib/new.so' in waits[0]['detail'] and waits[0]['reason']['kind'] == 'fault', 'and a page fault says so', waits[0])


with tempfile.TemporaryDirectory() as folder:
    check_names(os.path.join(folder, 'names'))
    check_provided(os.path.join(folder, 'provided'))
    check_threads(os.path.join(folder, 'threads'))
    check_limits(os.path.join(folder, 'limits'))
    check_moves(os.path.join(folder, 'moves'))
    check_writes(os.path.join(folder, 'writes'))
    check_held(os.path.join(folder, 'held'))
    made = Machine()
    script(made)
    jsonl_to_ctf.write_trace(made.events, os.path.join(folder, 'trace'), {'hostname': 'm'}, offset_ns=START)
    arguments = [os.environ['LULL'], 'critpath', '--tid', str(TASK), '--end', str((made.now) / 10**9), os.path.join(folder, 'trace')]
    done = subprocess.run([*arguments[:2], '--json', *arguments[2:]], capture_output=True, text=True, encoding='utf-8', check=False)
    tap.ok(done.returncode == 0, 'the path is found', done.stderr)
    path = json.loads(done.stdout)
    modes = {row['mode']: row['duration_ns'] / MS for row in path['summary']['by_mode']}
    tap.ok(modes == {'user': 2 + 3 + 1.5 + 1, 'call': 3 + 0.25, 'reclaim': 1 + 0.5 + 0.75}, 'what runs is user code, the call, and reclaim', modes)
    waits = [s for s in path['segments'] if s['state'] == 'blocked']
    tap.ok([(s['end_ns'] - s['begin_ns']) / MS for s in waits] == [4, 5, 6, 7], 'it waits four times', waits)
    reclaim, file, swap, ahead = waits
    tap.ok('in write' in reclaim['detail'] and 'while memory is freed for it' in reclaim['detail'], 'for reclaim', reclaim)
    tap.ok(f'in a page fault of a mapped file, inode {INODE}' in file['detail'] and file['reason']['object'] == f'inode {INODE}'
           and file['reason']['kind'] == 'fault', 'for a page of a file', file)
    tap.ok('in a page fault of memory in swap' in swap['detail'] and 'freed' not in swap['detail'], 'for a page in swap', swap)
    tap.ok(f'in a page fault of a mapped file, inode {INODE + 1}' in ahead['detail'], 'for pages of a file that is read ahead', ahead)
    said = in_waits(os.path.join(folder, 'trace'))
    wanted = {f'a mapped file, inode {INODE}': 5, 'memory in swap': 6, f'a mapped file, inode {INODE + 1}': 7}
    tap.ok(all(said.get(f'page fault of {name}, vdb') == [None, ms] for name, ms in wanted.items()), 'waits says so, too, and which disk was read', said)
    text = subprocess.run(arguments, capture_output=True, text=True, encoding='utf-8', check=False).stdout
    tap.ok('in memory reclaim' in text and 'worker: blocked on a timer: hrtimer, in write, while memory is freed for it' in text,
           'the first screen says so', text)
tap.done()

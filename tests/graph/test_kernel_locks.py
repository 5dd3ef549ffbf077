#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What a call or a page fault needs on its way, and waits for: a lock of the kernel, a page of a file. Which waits are that is what the
# script says, and what the kernel's flags mean: enum lock_contention of <trace/events/lock.h>.
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, '..', 'lib')]
import jsonl_to_ctf  # noqa: E402
from one_cpu import MS, START, TASK, Machine  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
SPIN, READER, WRITER, RT, PERCPU, MUTEX = (1 << bit for bit in range(6))
HOLDER, KERNEL_THREAD = 200, 201
LOCK, OTHER_LOCK = -0x7fffedcba988, -0x7dcba988


class Locks(Machine):
    def __init__(self):
        super().__init__()
        self.others = {HOLDER: 'holder', KERNEL_THREAD: 'kworker/0:1'}

    def wants(self, flags, lock=LOCK, tid=TASK):
        self.event('contention_begin', {'lock_addr': lock, 'flags': flags}, tid)

    def has(self, lock=LOCK, tid=TASK):
        self.event('contention_end', {'lock_addr': lock, 'ret': 0}, tid)

    def waits_for_lock(self, ms, flags):
        self.wants(flags)
        self.hands_over(ms, HOLDER)
        self.has()
        self.passes(1)

    def answers(self, folder, *arguments):
        if not os.path.exists(folder):
            jsonl_to_ctf.write_trace(self.events, folder, {'hostname': 'm'}, offset_ns=START)
        done = subprocess.run([os.environ['LULL'], *arguments, folder], capture_output=True, text=True, encoding='utf-8', check=False)
        return done.stdout + done.stderr

    def own_waits(self, folder):
        """Of the task: ms → what its wait was for."""
        path = json.loads(self.answers(folder, 'critpath', '--full', '--tid', str(TASK), '--json'))
        waits = path['waits'] + [segment for segment in path['segments'] if segment['state'] == 'blocked' and segment['tid'] == TASK]
        return {(wait['end_ns'] - wait['begin_ns']) / MS: wait for wait in waits}


def kind_of(wait):
    return wait['reason'] and wait['reason']['kind']


def check_kinds(folder):
    """Each kind of lock, in a call of a descriptor."""
    kinds = {MUTEX: 'mutex', READER: 'rwsem, to read', WRITER: 'rwsem, to write', PERCPU | READER: 'percpu-rwsem, to read',
             PERCPU | WRITER: 'percpu-rwsem, to write', 0: 'semaphore', RT: 'rt-mutex', RT | WRITER: 'rt-mutex'}
    machine = Locks()
    machine.switch(0, TASK, 0)

    def write():
        for ms, flags in enumerate(kinds, 2):
            machine.waits_for_lock(ms, flags)
    machine.call('write', write)
    machine.switch(TASK, 0, 1)
    waits = machine.own_waits(folder)
    said = [waits.get(ms, {}).get('detail') for ms in range(2, 2 + len(kinds))]
    tap.ok(said == [f'in write to descriptor 1 for a kernel lock ({name}), released by holder/{HOLDER}' for name in kinds.values()], 'what kind of lock it was', waits)
    tap.ok(all((wait['reason']['kind'], wait['reason']['call'], wait['reason']['object']) == ('kernel lock', 'write', 'descriptor 1') for wait in waits.values()),
           'in members, too', waits)
    rows = json.loads(machine.answers(folder, 'waits', '--json', '--tid', str(TASK)))['windows'][0]['tables']
    total = sum(range(2, 2 + len(kinds)))
    tap.ok([(row['cause'], row['count'], row['total_ns'] / MS) for row in rows['waits-by-cause'] if row['state'] == 'D'] == [('kernel lock', len(kinds), total)],
           'waits has a row of them', rows)
    tap.ok([(row['object'], row['by']['tid']) for row in rows['waits'] if row['state'] == 'D'] == [('descriptor 1', HOLDER)], 'with who had them', rows)
    tap.ok(f'worker/{TASK} waited {total:.2f} ms for a kernel lock, in write on descriptor 1' in machine.answers(folder, 'stats'), 'stats finds them')
    text = machine.answers(folder, 'critpath', '--tid', str(TASK))
    tap.ok('holder: running, waited for by worker in write on descriptor 1 for a kernel lock' in text, 'the first screen names them', text)


def check_which(folder):
    """Waits of which one can tell that they were for a lock, 2, 3, 4 and 5 ms, and others."""
    machine = Locks()
    machine.switch(0, TASK, 0)

    def write():
        machine.wants(MUTEX | SPIN)  # it looks whether the holder lets go soon
        machine.wants(MUTEX)
        machine.hands_over(2, HOLDER)
        machine.hands_over(3, HOLDER)  # another was faster
        machine.wants(SPIN, OTHER_LOCK)  # of the list of who waits
        machine.has(OTHER_LOCK)
        machine.hands_over(4, HOLDER)
        machine.has()
        machine.hands_over(6, HOLDER)  # it has the lock
        machine.wants(SPIN)
        machine.has()
        machine.hands_over(7, HOLDER)
        machine.wants(WRITER)
        machine.waits(8)  # no task ended it, but a timer
        machine.reads(9, 1000)
    machine.call('write', write)  # the end of that was lost
    machine.call('read', lambda: machine.hands_over(10, HOLDER))
    machine.event('irq_handler_entry', {'irq': 9, 'name': 'disk'})
    machine.wants(MUTEX)  # nothing that an interrupt can do
    machine.event('irq_handler_exit', {'irq': 9})
    machine.call('read', lambda: machine.hands_over(11, HOLDER))
    machine.call('stat', lambda: machine.waits_for_lock(5, READER))
    machine.switch(TASK, 0, 1)
    waits = machine.own_waits(folder)
    tap.ok(sorted(waits) == list(range(2, 12)), 'it waits ten times', waits)
    tap.ok(sorted(ms for ms, wait in waits.items() if kind_of(wait) == 'kernel lock') == [2, 3, 4, 5], 'four times for a lock', waits)
    rows = json.loads(machine.answers(folder, 'waits', '--json', '--tid', str(TASK)))['windows'][0]['tables']['waits']
    tap.ok(sorted((row['call'], row['object'], row['total_ns'] / MS) for row in rows if row['cause'] == 'kernel lock') ==
           [('stat', 'kernel lock (rwsem, to read)', 5), ('write', 'descriptor 1', 2 + 3 + 4)], 'waits says so, too', rows)


def check_without_call(folder):
    """A page fault wants the memory of its process as it is; threads of the kernel make no calls."""
    machine = Locks()
    machine.switch(0, TASK, 0)
    machine.call('getppid')
    machine.waits_for_lock(3, READER)
    machine.waits_for_lock(4, WRITER)
    machine.switch(TASK, KERNEL_THREAD, 1)
    machine.wants(MUTEX, tid=KERNEL_THREAD)
    machine.switch(KERNEL_THREAD, HOLDER, 2)
    machine.passes(5)
    machine.event('sched_waking', {'comm': 'kworker/0:1', 'tid': KERNEL_THREAD, 'prio': 20, 'target_cpu': 0}, HOLDER)
    machine.switch(HOLDER, KERNEL_THREAD, 1)
    machine.has(tid=KERNEL_THREAD)
    machine.passes(1)
    machine.wakes(KERNEL_THREAD)
    machine.switch(KERNEL_THREAD, TASK, 1)
    machine.passes(1)
    machine.switch(TASK, 0, 1)
    waits = machine.own_waits(folder)
    said = [waits.get(ms, {}).get('detail') for ms in (3, 4)]
    tap.ok(said == [f'in a page fault for a kernel lock (rwsem, to read), released by holder/{HOLDER}',
                    f'for a kernel lock (rwsem, to write), released by holder/{HOLDER}'], 'of a page fault, and of what is not known to be one', waits)
    rows = json.loads(machine.answers(folder, 'waits', '--json', '--tid', str(KERNEL_THREAD)))['windows'][0]['tables']['waits']
    tap.ok([(row['cause'], row['call'], row['object'], row['total_ns'] / MS) for row in rows if row['state'] == 'D'] ==
           [('kernel lock', None, 'kernel lock (mutex)', 5)], 'of a thread of the kernel', rows)


def check_open(folder):
    """It still waits when the trace ends."""
    machine = Locks()
    machine.switch(0, TASK, 0)
    machine.event('syscall_entry_write', {'fd': 1})
    machine.wants(MUTEX)
    machine.switch(TASK, HOLDER, 2)
    machine.passes(7)
    machine.switch(HOLDER, 0, 1)
    wait = machine.own_waits(folder).get(7)
    tap.ok(wait and wait['detail'] == 'not woken before the end of the trace; in write to descriptor 1 for a kernel lock (mutex)', 'a lock that it does not get', wait)
    rows = json.loads(machine.answers(folder, 'waits', '--json', '--tid', str(TASK)))['windows'][0]['tables']['waits']
    tap.ok([(row['cause'], row['object']) for row in rows] == [('not ended', 'descriptor 1')], 'waits says that it has not', rows)


def check_why(folder):
    """Of writes and page faults some are slow, as another has a lock of the kernel."""
    machine = Locks()
    machine.switch(0, TASK, 0)

    def write(is_slow):
        machine.passes(1)
        if is_slow:
            machine.waits_for_lock(20, WRITER)
    for number in range(12):
        machine.call('write', lambda is_slow=number in (4, 9): write(is_slow))
        machine.passes(1)
    for number in range(12):
        machine.event('task:begins', {'n': number})
        machine.passes(1)
        if number in (4, 9):
            machine.waits_for_lock(20, READER)
        machine.event('task:ends', {'n': number})
        machine.passes(1)
    machine.switch(TASK, 0, 1)
    calls = 'w : $evt.$name == "syscall_entry_write" : $evt.$name == "syscall_exit_write" && $evt.$tid == $begin.$evt.$tid'
    pieces = 'p : $evt.$name == "task:begins" : $evt.$name == "task:ends" && $evt.$tid == $begin.$evt.$tid'
    for period, where, in_call in (calls, 'write', 'write'), (pieces, 'a page fault', None):
        text = machine.answers(folder, 'why', '--period', period)
        tap.ok(f'worker is waiting in {where} for a kernel lock held by holder/{HOLDER}; meanwhile holder/{HOLDER} is running' in text, f'why says so, of {where}', text)
        lock = json.loads(machine.answers(folder, 'why', '--json', '--period', period))['kinds'][0]['contributions'][0]['lock']
        tap.ok((lock['comm'], lock['call'], lock['holder'], lock['holder_tid'], lock['is_kernel'], lock['is_worker']) == ('worker', in_call, 'holder', HOLDER, True, False),
               f'in members, too, of {where}', lock)


def check_pages(folder):
    """Who writes to an eventfd what is in a mapped file waits for a page of that, which another provides by what it writes to a device: not
    for the eventfd. A page that was there is none to wait for."""
    machine = Locks()

    def call(name, payload, ret, inside=lambda: None, tid=HOLDER):
        machine.event(f'syscall_entry_{name}', payload, tid)
        inside()
        machine.event(f'syscall_exit_{name}', {'ret': ret}, tid)

    def write(fd):
        return lambda tid: call('write', {'fd': fd, 'count': 16}, 16, lambda: machine.wakes(tid))
    machine.switch(0, TASK, 0)
    call('eventfd2', {'count': 0, 'flags': 0}, 4, tid=TASK)
    machine.event('lull_mapped_file', {'dev': 7, 'inode': 4711, 'path': '/far/file'})
    machine.switch(TASK, HOLDER, 1)
    call('openat', {'filename': '/dev/fuse', 'flags': 2}, 7)
    machine.wakes(HOLDER)
    machine.switch(HOLDER, TASK, 1)

    def to_eventfd(ms, has_fault, state=2):
        if has_fault:
            machine.event('mm_filemap_fault', {'i_ino': 4711, 's_dev': 7, 'index': 3})
        machine.passes(0.01)
        machine.hands_over(ms, HOLDER, write(7), state)
    def after_fault(wait):
        machine.event('mm_filemap_fault', {'i_ino': 4711, 's_dev': 7, 'index': 3})
        machine.passes(0.01)
        wait()
    for ms, has_fault in (3, True), (4, False):
        call('write', {'fd': 4, 'count': 16}, 16, lambda ms=ms, has_fault=has_fault: to_eventfd(ms, has_fault), tid=TASK)
        machine.passes(1)
    machine.event('mm_filemap_fault', {'i_ino': 4711, 's_dev': 7, 'index': 3})
    machine.passes(0.01)
    call('write', {'fd': 4, 'count': 16}, 16, lambda: to_eventfd(5, False), tid=TASK)
    # File systems that are programs have who asks them sleep so that a signal can end it.
    call('write', {'fd': 4, 'count': 16}, 16, lambda: to_eventfd(10, True, 1), tid=TASK)
    # A page that was there after all, and then: what a signal could end, a lock, and a disk, from which a read reads.
    call('write', {'fd': 4, 'count': 16}, 16, lambda: after_fault(lambda: machine.hands_over(6, HOLDER, state=1)), tid=TASK)
    call('write', {'fd': 4, 'count': 16}, 16, lambda: after_fault(lambda: machine.waits_for_lock(7, WRITER)), tid=TASK)
    call('read', {'fd': 5, 'count': 16}, 16, lambda: after_fault(lambda: machine.reads(8, 1000)), tid=TASK)
    call('write', {'fd': 4, 'count': 16}, 16, lambda: after_fault(lambda: machine.reads(9, 2000)), tid=TASK)
    machine.switch(TASK, 0, 1)
    waits = machine.own_waits(folder)
    tap.ok(waits.get(3, {}).get('detail') == f'in write, in a page fault of /far/file, woken by holder/{HOLDER}' and kind_of(waits[3]) == 'fault' and
           waits[3]['reason']['object'] == '/far/file', 'for the page', waits)
    tap.ok([waits.get(ms, {}).get('detail') for ms in (4, 5)] == [f'in write to an eventfd, woken by holder/{HOLDER}'] * 2, 'by what does not write to the eventfd', waits)
    tap.ok([kind_of(waits[ms]) for ms in (6, 7, 8, 9, 10)] == ['event', 'kernel lock', None, 'fault', 'fault'] and 'page fault' not in waits[7]['detail'],
           'what comes after a page that was there', waits)
    text = machine.answers(folder, 'critpath', '--tid', str(TASK))
    tap.ok('waited for by worker in write, in a page fault of /far/file' in text, 'the first screen says so', text)


with tempfile.TemporaryDirectory() as folder:
    for check in check_kinds, check_which, check_without_call, check_open, check_why, check_pages:
        check(os.path.join(folder, check.__name__))
tap.done()

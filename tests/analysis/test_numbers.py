#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# System calls as ftrace and perf tell them: by number, on machines of several kinds, with arguments by their place; by name and
# number both; of programs of 32 bits, which only the end of exec() shows. And CPUs some of whose switches are not recorded. The
# files are made here, as kernels write them; numbers are those of Linux' headers (asm/unistd_64.h, asm/unistd_32.h and
# asm-generic/unistd.h). See LULL in tests/meson.build.
import json
import os
import subprocess
import sys
import tempfile

from lib import tracedat
from tap import Tap

LULL = os.environ['LULL']
US = 1000
FIRST = 1_000_000  # time of the first event
tap = Tap()


class Kernel:
    """Makes recordings of one CPU. Events are methods that give (name, bytes); `record` puts them together."""

    def __init__(self, machine='x86_64', big_endian=False, long_bytes=8):
        self.w = tracedat.Writer(version=6, big_endian=big_endian, long_bytes=long_bytes)
        self.machine, self.word = machine, 'q' if long_bytes == 8 else 'i'
        word = long_bytes
        comm = [('char', 'prev_comm[16]', 16, 0), ('pid_t', 'prev_pid', 4, 1), ('int', 'prev_prio', 4, 1), ('long', 'prev_state', word, 1),
                ('char', 'next_comm[16]', 16, 0), ('pid_t', 'next_pid', 4, 1), ('int', 'next_prio', 4, 1)]
        self.formats = {
            'sched_switch': ('sched', comm),
            'sched_waking': ('sched', [('char', 'comm[16]', 16, 0), ('pid_t', 'pid', 4, 1), ('int', 'prio', 4, 1),
                                       ('int', 'target_cpu', 4, 1)]),
            'sched_process_fork': ('sched', [('char', 'parent_comm[16]', 16, 0), ('pid_t', 'parent_pid', 4, 1),
                                             ('char', 'child_comm[16]', 16, 0), ('pid_t', 'child_pid', 4, 1)]),
            'task_newtask': ('task', [('pid_t', 'pid', 4, 1), ('char', 'comm[16]', 16, 0), ('unsigned int', 'clone_flags', 4, 0)]),
            'sys_enter': ('raw_syscalls', [('long', 'id', word, 1), ('unsigned long', 'args[6]', 6 * word, 0)]),
            'sys_exit': ('raw_syscalls', [('long', 'id', word, 1), ('long', 'ret', word, 1)]),
            'sys_enter_newfstat': ('syscalls', [('int', '__syscall_nr', 4, 1), ('int', 'pad', 4, 1), ('unsigned int', 'fd', 8, 0),
                                                ('struct stat *', 'statbuf', 8, 0)]),
            'sys_enter_read': ('syscalls', [('int', '__syscall_nr', 4, 1), ('int', 'pad', 4, 1), ('unsigned int', 'fd', 8, 0),
                                            ('char *', 'buf', 8, 0), ('size_t', 'count', 8, 0)]),
            'sys_exit_read': ('syscalls', [('int', '__syscall_nr', 4, 1), ('int', 'pad', 4, 1), ('long', 'ret', 8, 1)]),
            'sys_exit_newfstat': ('syscalls', [('int', '__syscall_nr', 4, 1), ('int', 'pad', 4, 1), ('long', 'ret', 8, 1)]),
        }
        self.ids = {name: 100 + i for i, name in enumerate(self.formats)}

    def event(self, name, tid, form, *values):
        # Fields of 8 bytes are aligned as the format says: the common ones are 8 bytes together.
        return self.w.pack('HBBi', self.ids[name], 0, 0, tid) + self.w.pack(form, *values)

    def switch(self, tid, state, to):
        return (self.event('sched_switch', tid, '16sii', b't%d' % tid, tid, 120) + self.w.pack(self.word, state) +
                self.w.pack('16sii', b't%d' % to, to, 120))

    def waking(self, tid, whom):
        return self.event('sched_waking', tid, '16siii', b't%d' % whom, whom, 120, 0)

    def fork(self, tid, child):
        return self.event('sched_process_fork', tid, '16si16si', b't%d' % tid, tid, b't%d' % child, child)

    def newtask(self, tid, child, flags):
        return self.event('task_newtask', tid, 'i16sI', child, b't%d' % child, flags)

    def enter(self, tid, number, *args):
        return self.event('sys_enter', tid, '7' + self.word, number, *args, *(0,) * (6 - len(args)))

    def exit(self, tid, number, ret):
        return self.event('sys_exit', tid, '2' + self.word, number, ret)

    def call(self, tid, number, ret, *args):
        return [self.enter(tid, number, *args), self.exit(tid, number, ret)]

    def record(self, path, events):
        """`events`: (microseconds, bytes), or bytes, which come 10 us after what is before them."""
        self.w.formats = [(system, tracedat.format_text(name, self.ids[name], fields))
                          for name, (system, fields) in self.formats.items()]
        self.w.options = [(5, f'Linux box 6.18.0-own {self.machine}'.encode() + b'\0'), (4, b'local [mono] global\0')]
        packed, now, before = [], 0, 0
        for event in events:
            now, event = event if isinstance(event, tuple) else (now + 10, event)
            packed.append(self.w.event((now - before) * US, event))
            before = now
        self.w.buffers = [('', 'mono', {0: [self.w.make_page(FIRST, packed)]})]
        with open(path, 'wb') as file:
            file.write(self.w.write())


def windows(verb, *arguments):
    done = subprocess.run([LULL, verb, '--json', '--no-progress', *arguments], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)['windows']


def rows(path, verb, table, *arguments):
    return [row for window in windows(verb, *arguments, path) for row in window['tables'].get(table, [])]


def counts(path):
    return {row['syscall']: row['count'] for row in rows(path, 'syscallstats', 'per-tid')}


# ---- numbers of machines ----

MACHINES = {  # read, openat, futex, clock_nanosleep, exit_group
    'x86_64': (0, 257, 202, 230, 231),
    'i686': (3, 295, 240, 267, 252),
    'aarch64': (63, 56, 98, 115, 94),
    'riscv64': (63, 56, 98, 115, 94),
}
CALLS = ('read', 'openat', 'futex', 'clock_nanosleep', 'exit_group')


def check_machine(path, machine, big_endian):
    kernel = Kernel(machine, big_endian, 4 if machine == 'i686' else 8)
    numbers = MACHINES[machine]
    # read(5, …, 100) returns 40; futex(0x1000, FUTEX_WAIT_PRIVATE, 7) waits.
    arguments = {'read': ((5, 0x2000, 100), 40), 'futex': ((0x1000, 128, 7), 0)}
    events = [(0, kernel.switch(0, 0, 50))]
    for name, number in zip(CALLS, numbers):
        args, ret = arguments.get(name, ((), 0))
        waits = [kernel.switch(50, 1, 0), kernel.waking(0, 50), kernel.switch(0, 0, 50)] if name == 'futex' else []
        events += [kernel.enter(50, number, *args), *waits, kernel.exit(50, number, ret)]
    kernel.record(path, events)
    what = f'{machine}{", big endian" if big_endian else ""}'
    tap.ok(counts(path) == dict.fromkeys(CALLS, 1), f'{what}: names of numbers', counts(path))
    reads = [row for row in rows(path, 'iolog', 'log') if row['syscall'] == 'read']
    tap.ok(len(reads) == 1 and (reads[0]['fd'], reads[0]['bytes']) == (5, 40), f'{what}: descriptor and bytes of read()', reads)
    futexes = rows(path, 'futex', 'futex')
    tap.ok(len(futexes) == 1 and int(futexes[0]['address'], 0) == 0x1000 and futexes[0]['waits'] == 1,
           f'{what}: address and operation of futex()', futexes)


def check_unknown_machine(path):
    kernel = Kernel('sh4')
    kernel.record(path, [(0, kernel.switch(0, 0, 50)), *kernel.call(50, 3, 0)])
    tap.ok(counts(path) == {'syscall 3': 1}, 'sh4: a number without a table stays a number', counts(path))


def check_x32(path):
    """Programs of x32 add a bit to most numbers of x86-64."""
    kernel = Kernel('x86_64')
    kernel.record(path, [(0, kernel.switch(0, 0, 50)), *kernel.call(50, 0x40000000 | 1, 5), *kernel.call(50, 0x40000000 | 600, 0), *kernel.call(50, 1, 5)])
    tap.ok(counts(path) == {'write': 2, 'syscall 600': 1}, 'x32: names and numbers', counts(path))


def check_32_bits(path):
    """A kernel whose longs have 32 bits, whatever its machine is called: numbers are not those of x86-64 but ARM's (asm/unistd-eabi.h), if
    it is one, and what lies above the last 4095 bytes of the address space is no error."""
    for machine, truncates, maps in (('', 'syscall 194', 'syscall 192'), ('ppc', 'syscall 194', 'syscall 192'), ('armv7l', 'ftruncate64', 'mmap2')):
        kernel = Kernel(machine, long_bytes=4)
        kernel.record(path, [(0, kernel.switch(0, 0, 50)), *kernel.call(50, 194, 0), *kernel.call(50, 192, -0x49000000),
                             *kernel.call(50, 192, -4096), *kernel.call(50, 192, -4095), *kernel.call(50, 192, -12)])
        name = machine or 'a machine without a name'
        tap.ok(counts(path) == {truncates: 1, maps: 4}, f'{name}, 32 bits: names where they are known, else numbers', counts(path))
        errors = [row['errors'] for row in rows(path, 'syscallstats', 'per-tid') if row['syscall'] == maps]
        tap.ok(errors == [2], f'{name}, 32 bits: addresses are no errors', errors)
    # A kernel of 64 bits extends what its tasks of 32 bits get (syscall_get_return_value() of arm64); none fails so either.
    kernel = Kernel('aarch64')
    kernel.record(path, [(0, kernel.switch(0, 0, 50)), *[event for ret in (-0x9000000, -4096, -4095, -12) for event in kernel.call(50, 222, ret)]])
    errors = [row['errors'] for row in rows(path, 'syscallstats', 'per-tid') if row['syscall'] == 'mmap']
    tap.ok(errors == [2], 'aarch64: addresses of 32 bits are no errors', errors)


# ---- told twice ----

def check_twice(path):
    """fstat is number 5, and ftrace calls it newfstat. Which of the two is told first is not always the same."""
    kernel = Kernel()
    enter = kernel.event('sys_enter_newfstat', 50, 'iiQQ', 5, 0, 3, 0x2000)
    leave = kernel.event('sys_exit_newfstat', 50, 'iiq', 5, 0, 0)
    raw_enter, raw_leave = kernel.call(50, 5, 0, 3, 0x2000)
    kernel.record(path, [(0, kernel.switch(0, 0, 50)), enter, raw_enter, leave, raw_leave, raw_enter, enter, raw_leave, leave,
                         *kernel.call(50, 39, 50), enter, raw_enter, raw_leave, leave,
                         kernel.enter(50, 0, 7, 0x2000, 100), kernel.event('sys_enter_read', 50, 'iiQQQ', 0, 0, 7, 0x2000, 100),
                         kernel.event('sys_exit_read', 50, 'iiq', 0, 0, 40), kernel.exit(50, 0, 40)])
    found = counts(path)
    tap.ok(found == {'newfstat': 3, 'getpid': 1, 'read': 1}, 'told by name and number: counts once', found)
    log = [(row['fd'], row['bytes']) for row in rows(path, 'iolog', 'log')]
    tap.ok(log == [(7, 40)], 'told by name and number: descriptor and bytes', log)


# ---- 32 bits on x86-64 ----

def check_compat(path):
    """execve() is 59 of 64 bits and 11 of 32; what it ends with is the new program's. 3 is read of 32 bits, close of 64."""
    kernel = Kernel()
    kernel.record(path, [
        (0, kernel.switch(0, 0, 50)), *kernel.call(50, 3, 0, 9),
        *kernel.call(50, 11, 0, 0x1000, 4096),  # munmap of 64 bits
        kernel.enter(50, 59), kernel.exit(50, 11, 0), *kernel.call(50, 3, 1, 4, 0x1000, 1),
        kernel.enter(50, 120), kernel.fork(50, 51), kernel.exit(50, 120, 51),  # clone of 32 bits; its child is as it is
        kernel.switch(50, 1, 51), *kernel.call(51, 3, 1, 4, 0x1000, 1),
        kernel.enter(51, 11), kernel.exit(51, 59, 0), *kernel.call(51, 3, 0, 9)])
    found = {(row['of'].split()[0], row['syscall']): row['count'] for row in rows(path, 'syscallstats', 'per-tid')}
    expected = {('t50', 'close'): 1, ('t50', 'munmap'): 1, ('t50', 'execve'): 1, ('t50', 'read'): 1, ('t50', 'clone'): 1,
                ('t51', 'read'): 1, ('t51', 'execve'): 1, ('t51', 'close'): 1}
    tap.ok(found == expected, 'programs of 32 bits are known by the end of their exec', found)


# ---- threads and processes ----

def check_births(path):
    kernel = Kernel()
    thread, process = 0x3d0f00, 0x1200011  # what pthread_create() and fork() of glibc give
    kernel.record(path, [
        (0, kernel.switch(0, 0, 50)), kernel.newtask(50, 60, process), kernel.fork(50, 60), kernel.switch(50, 1, 60),
        *kernel.call(60, 39, 60), kernel.newtask(60, 61, thread), kernel.fork(60, 61), kernel.switch(60, 1, 61), *kernel.call(61, 39, 60)])
    found = {row['process']['tid']: row['process'].get('pid') for row in rows(path, 'syscallstats', 'total')}
    tap.ok(found == {60: 60, 61: 60}, 'a thread belongs to the process of who made it, a child to its own', found)


# ---- switches that are not recorded ----

A, B, C = 50, 60, 70


def cpu_times(path):
    (cpu,) = rows(path, 'cputop', 'per-cpu')
    tasks = {row['process']['tid']: row['cpu_ns'] // US for row in rows(path, 'cputop', 'per-process', '--limit=0') if row['cpu_ns']}
    return {key: cpu[f'{key}_ns'] // US for key in ('busy', 'idle', 'unknown')}, tasks


def check_chosen(path):
    """Of A alone, and of idle tasks: B leaves the CPU without being seen to, once found out and once known before."""
    kernel = Kernel()
    kernel.record(path, [(0, kernel.switch(0, 0, A)), (1000, kernel.switch(A, 1, B)), (5000, kernel.switch(C, 0, A)),
                         (7000, kernel.switch(A, 1, B)), (9000, kernel.switch(C, 0, A)), (10000, kernel.switch(A, 1, 0)),
                         (12000, kernel.switch(0, 0, A)), (13000, kernel.switch(A, 1, 0))])
    times, tasks = cpu_times(path)
    tap.ok(times == {'busy': 5000, 'idle': 2000, 'unknown': 6000} and tasks == {A: 5000},
           'a recording of chosen tasks: what others did is unknown', times, tasks)


def check_task_only(path):
    """perf of one task tells when it leaves a CPU, and never when it comes: what is there meanwhile is unknown, here a fork of B."""
    kernel = Kernel()
    kernel.record(path, [(0, kernel.switch(A, 1, C)), (2000, kernel.fork(B, 61)), (3000, kernel.switch(B, 1, C)),
                         (6000, kernel.switch(A, 1, C)), (9000, kernel.switch(A, 1, C))])
    times, tasks = cpu_times(path)
    tap.ok(times == {'busy': 0, 'idle': 0, 'unknown': 9000} and tasks == {}, 'switches away from one task alone tell of no time on a CPU',
           times, tasks)


def check_taken_up(path):
    """An idle CPU is told to take up A at 3000, and A is there next that is heard of it."""
    kernel = Kernel()
    kernel.record(path, [(0, kernel.switch(0, 0, A)), (1000, kernel.switch(A, 1, 0)), (3000, kernel.waking(0, A)),
                         (6000, kernel.switch(A, 1, 0)), (7000, kernel.switch(0, 0, B)), (8000, kernel.switch(B, 1, 0))])
    times, tasks = cpu_times(path)
    tap.ok(times == {'busy': 5000, 'idle': 3000, 'unknown': 0} and tasks == {A: 4000, B: 1000},
           'a switch from the idle task that is not recorded: it took up what was woken', times, tasks)


def check_moved(path):
    """A is heard of in a call while the CPU seemed to be B's, for which nothing else speaks."""
    kernel = Kernel()
    kernel.record(path, [(0, kernel.switch(0, 0, A)), (1000, kernel.switch(A, 1, B)), *((4000 + i, e) for i, e in enumerate(
        kernel.call(A, 39, A))), (6000, kernel.switch(A, 1, 0)), (7000, kernel.switch(0, 0, C))])
    done = subprocess.run([LULL, 'critpath', '--json', '--no-progress', f'--tid={A}', path], capture_output=True, text=True, check=True,
                          timeout=60)
    found = [(s['state'], (s['begin_ns'] - FIRST) // US, (s['end_ns'] - FIRST) // US, s['cause'])
             for s in json.loads(done.stdout)['segments']]
    tap.ok(found == [('running', 0, 1000, None), ('blocked', 1000, 4000, 'unknown'), ('running', 4000, 6000, None),
                     ('blocked', 6000, 7000, 'unknown')][:len(found)] and len(found) >= 3,
           'a task that is heard of on a CPU is there', found)


def main():
    with tempfile.TemporaryDirectory(prefix='lull-numbers-') as folder:
        path = os.path.join(folder, 'trace.dat')
        for machine in MACHINES:
            for big_endian in (False, True):
                tap.run(machine, check_machine, path, machine, big_endian)
        for check in (check_unknown_machine, check_x32, check_32_bits, check_twice, check_compat, check_births, check_chosen, check_task_only, check_taken_up, check_moved):
            tap.run(check.__name__, check, path)
    return tap.done()


sys.exit(main())

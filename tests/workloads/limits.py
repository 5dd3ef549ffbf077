#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What a limit of a control group makes wait, and io_uring: limits.py FOLDER FILE NAME... as small.py. Groups are made for one process,
# and removed.
import contextlib
import ctypes
import mmap
import os
import random
import re
import resource
import struct
import subprocess

import stage
from small import cold

GROUPS = '/sys/fs/cgroup'


@contextlib.contextmanager
def group(controller, is_kept=False):
    """A group of that controller, of version 1 or 2, and which it is. One that is kept is there until the recording has ended."""
    one, two = os.path.join(GROUPS, controller), os.path.join(GROUPS, 'cgroup.subtree_control')
    version = 1 if os.path.isdir(one) else 2
    if version == 2:
        with contextlib.suppress(OSError), open(two, encoding='ascii') as file:
            if {'blkio': 'io'}.get(controller, controller) in file.read().split():
                one = GROUPS
    path = os.path.join(one, f'{stage.GROUP}-{os.getpid()}')
    try:
        os.mkdir(path)
    except OSError as error:
        raise stage.Skip(f'control groups cannot be made in {one}: {error.strerror}') from None
    try:
        yield path, version
    finally:
        if not is_kept:
            os.rmdir(path)


def put(path, name, text):
    try:
        with open(os.path.join(path, name), 'w', encoding='ascii') as file:
            file.write(str(text))
    except OSError as error:
        raise stage.Skip(f'{path}/{name}: {error.strerror}') from None


def counters(path, name):
    with open(os.path.join(path, name), encoding='ascii') as file:
        return {key: int(value) for key, value in (line.split() for line in file)}


def limited(watch, path, work):
    """Runs work() as a child in the group: it says when it was what."""
    reading, writing = os.pipe()

    def inside():
        put(path, 'cgroup.procs', os.getpid())
        own = stage.Watch()
        work(own)
        os.write(writing, repr(own.report).encode())

    one = stage.child('wl-asker', inside)
    os.close(writing)
    with open(reading, encoding='utf-8') as file:
        text = file.read()
    stage.ended(one)
    watch.report.update(eval(text, {'__builtins__': {}}))


def read_bytes(path, version, number):
    """What the kernel counted that a group read from a disk."""
    name = 'blkio.throttle.io_service_bytes' if version == 1 else 'io.stat'
    with open(os.path.join(path, name), encoding='ascii') as file:
        found = re.search(rf'^{number} (Read |.*rbytes=)(\d+)', file.read(), re.M)
    return int(found[2]) if found else 0


def swapped_in():
    return counters('/proc', 'vmstat')['pswpin']


def throttled_ns(path):
    counted = counters(path, 'cpu.stat')
    return counted.get('throttled_time', 0) or 1000 * counted.get('throttled_usec', 0)


def quota(watch, is_busy):
    """80 ms of CPU time, of which 20 are allowed each 100; on a CPU that is busy another program has it meanwhile."""
    with group('cpu', is_kept=True) as (path, version):
        if version == 1:
            put(path, 'cpu.cfs_period_us', 100000)
            put(path, 'cpu.cfs_quota_us', 20000)
            put(path, 'cpu.shares', 1 << 18)  # so that other programs leave it the quota
        else:
            put(path, 'cpu.max', '20000 100000')
            put(path, 'cpu.weight', 10000)
        cpu = max(os.sched_getaffinity(0))

        def other():
            os.sched_setaffinity(0, [cpu])
            os.nice(39)
            stage.burn(stage.LIFE_S)

        def work(own):
            os.sched_setaffinity(0, [cpu])
            stage.burn(0.025)  # so that it is not throttled between the two clocks, of the group and of what is asked about
            before = throttled_ns(path)
            with own.asked():
                stage.burn(0.08)
            own.knows(cause_ns=throttled_ns(path) - before)

        burner = stage.child('wl-burner', other) if is_busy else None
        limited(watch, path, work)
        if burner:
            stage.end(burner)
        watch.knows(group=os.path.basename(path))
        if watch.report['cause_ns'] < 0.4 * (watch.report['end_ns'] - watch.report['start_ns']):
            raise stage.Skip('other programs left it less of the CPU than the quota')


def cpu_quota(watch, _):
    quota(watch, False)


def busy_quota(watch, _):
    quota(watch, True)


def blkio(watch, folder):
    """Half a megabyte is read, of one that is allowed each second."""
    disk = stage.disk_of(folder)
    whole = os.path.realpath(os.path.join('/sys/class/block', disk))
    whole = os.path.dirname(whole) if os.path.exists(os.path.join(whole, 'partition')) else whole
    with open(os.path.join(whole, 'dev'), encoding='ascii') as file:
        number = file.read().strip()
    _, handle = cold(folder, 'slow.data', 1 << 16, 8, os.O_DIRECT)
    with group('blkio') as (path, version):
        if version == 1:
            put(path, 'blkio.throttle.read_bps_device', f'{number} {1 << 20}')
        else:
            put(path, 'io.max', f'{number} rbps={1 << 20}')

        def work(own):
            before = read_bytes(path, version, number)
            with mmap.mmap(-1, 1 << 16) as page, own.asked():
                for part in range(8):
                    os.preadv(handle, [page], part << 16)
            own.knows(read_bytes=read_bytes(path, version, number) - before)

        limited(watch, path, work)
    # Nothing else takes it long.
    watch.knows(disk=disk, cause_ns=watch.report['end_ns'] - watch.report['start_ns'] - watch.report['cpu_ns'])


def dirty_pages(watch, folder):
    """More is written than may wait for a disk, which here is a file. The limit is that disk's alone, and goes with it."""
    stage.need('losetup')
    path = os.path.join(folder, 'disk')
    with open(path, 'wb') as file:
        file.truncate(32 << 20)
    made = subprocess.run(['losetup', '--find', '--show', path], capture_output=True, text=True, check=False)
    if made.returncode:
        raise stage.Skip(f'losetup: {made.stderr.strip()}')
    disk = made.stdout.strip()
    try:
        limits = f'/sys/block/{os.path.basename(disk)}/bdi'
        put(limits, 'strict_limit', 1)
        put(limits, 'max_bytes', 1 << 21)
        handle = os.open(disk, os.O_WRONLY)
        with watch.asked():
            for _ in range(64):
                os.write(handle, bytes(1 << 18))
        watch.knows(disk=os.path.basename(disk), device=disk, cause_ns=watch.report['end_ns'] - watch.report['start_ns'] - watch.report['cpu_ns'])
        os.close(handle)
    finally:
        subprocess.run(['losetup', '--detach', disk], check=False)


def swap(watch, folder):
    """48 MB are written and then read in a group that may have 24."""
    stage.need('mkswap', 'swapon', 'swapoff')
    disk = stage.disk_of(folder)
    with open('/proc/swaps', encoding='ascii') as swaps:
        if len(swaps.readlines()) > 1:
            raise stage.Skip('this machine swaps already: the memory could go there')
    file = os.path.join(folder, 'swap')
    with open(file, 'wb') as made:
        os.chmod(file, 0o600)
        # More than is needed: a kernel that reclaims by itself puts memory of other programs there, until it is switched off.
        os.posix_fallocate(made.fileno(), 0, 256 << 20)
        os.fsync(made.fileno())
    subprocess.run(['mkswap', '-q', file], check=True)
    with group('memory') as (path, version):
        put(path, 'memory.limit_in_bytes' if version == 1 else 'memory.max', 24 << 20)
        if subprocess.run(['swapon', file], check=False).returncode:
            raise stage.Skip('swapon failed')
        try:
            def work(own):
                with mmap.mmap(-1, 48 << 20) as pages:
                    pages.madvise(mmap.MADV_NOHUGEPAGE)
                    for number in range(12288):
                        pages[number << 12:(number << 12) + 64] = random.randbytes(64)
                    before, swapped = resource.getrusage(resource.RUSAGE_SELF).ru_majflt, swapped_in()
                    with own.asked():
                        for number in range(0, 12288, 8):
                            pages[number << 12]
                    own.knows(faults=resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before,
                              read_bytes=(swapped_in() - swapped) * mmap.PAGESIZE)

            limited(watch, path, work)
        finally:
            subprocess.run(['swapoff', file], check=True)
    watch.knows(disk=disk)


class Ring:
    """As little of io_uring as reads one block after the other (io_uring(7))."""
    SETUP, ENTER, GETEVENTS, READ = 425, 426, 1, 22

    POLLED, IDLE_MS, WAKE = 2, 1000, 2

    def __init__(self, is_polled=False):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.params = ctypes.create_string_buffer(120)
        self.how = self.GETEVENTS | (self.WAKE if is_polled else 0)
        struct.pack_into('I', self.params, 8, self.POLLED if is_polled else 0)
        struct.pack_into('I', self.params, 16, self.IDLE_MS if is_polled else 0)
        self.ring = self.libc.syscall(self.SETUP, 4, self.params)
        if self.ring < 0:
            raise stage.Skip(f'io_uring: {os.strerror(ctypes.get_errno())}')
        self.tail, self.array = (struct.unpack_from('I', self.params, 40 + at)[0] for at in (4, 24))
        self.head_of_completed, self.completed = (struct.unpack_from('I', self.params, 80 + at)[0] for at in (0, 20))
        self.submissions, self.completions = (mmap.mmap(self.ring, 4096, offset=at) for at in (0, 0x8000000))
        self.entries = mmap.mmap(self.ring, 4096, offset=0x10000000)
        self.count = 0

    def read(self, handle, address, length, offset):
        struct.pack_into('=BBHiQQIIQ', self.entries, 0, self.READ, 0, 0, handle, offset, address, length, 0, 0)
        slot = self.count % 4
        struct.pack_into('I', self.submissions, self.array + 4 * slot, 0)
        self.count += 1
        struct.pack_into('I', self.submissions, self.tail, self.count)
        if self.libc.syscall(self.ENTER, self.ring, 1, 1, self.how, None, 0) < 0:
            raise OSError(ctypes.get_errno(), 'io_uring_enter')
        _, result, _ = struct.unpack_from('=QiI', self.completions, self.completed + 16 * ((self.count - 1) % 8))
        struct.pack_into('I', self.completions, self.head_of_completed, self.count)
        return result


def io_uring(watch, folder, is_polled=False):
    disk = stage.disk_of(folder)
    _, handle = cold(folder, 'ring.data', 1 << 17, 100, os.O_DIRECT)
    ring, page = Ring(is_polled), mmap.mmap(-1, 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    with watch.asked():
        results = {ring.read(handle, address, 4096, number << 17) for number in range(100)}
    if results != {4096}:
        raise RuntimeError(f'io_uring read {results}')
    watch.knows(disk=disk)


def polled_ring(watch, folder):
    """A thread of the kernel takes the requests from the ring."""
    io_uring(watch, folder, True)


PROGRAMS = (cpu_quota, busy_quota, blkio, dirty_pages, swap, io_uring, polled_ring)

if __name__ == '__main__':
    stage.main(PROGRAMS)

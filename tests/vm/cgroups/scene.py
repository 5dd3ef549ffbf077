#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What a limit of a control group of version 2 makes a program wait for: scene.py NAME DISK. It makes the group, waits in it, and prints as JSON
# when it did so and what the kernel counted meanwhile for the group. It does not read how long tasks stalled: that changes what the kernel counts.
import ctypes
import json
import mmap
import os
import random
import resource
import sys
import time

GROUPS = "/sys/fs/cgroup"
MB = 1 << 20


def put(path, name, text):
    with open(os.path.join(path, name), "w", encoding="ascii") as file:
        file.write(str(text))


def read(path, name):
    with open(os.path.join(path, name), encoding="ascii") as file:
        return file.read()


def pairs(path, name):
    return {key: int(value) for key, value in (line.split() for line in read(path, name).splitlines())}


def counted(path):
    io = {}
    for line in read(path, "io.stat").splitlines():
        for word in line.split()[1:]:
            key, _, value = word.partition("=")
            io[key] = io.get(key, 0) + int(value)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu": pairs(path, "cpu.stat"), "io": io, "memory": pairs(path, "memory.stat"), "events": pairs(path, "memory.events"),
            "vm": pairs("/proc", "vmstat"), "faults": {"major": usage.ru_majflt},
            "cpu_time": {"ns": time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID)}}


def difference(after, before):
    return {kind: {key: value - before[kind].get(key, 0) for key, value in values.items() if value != before[kind].get(key, 0)}
            for kind, values in after.items()}


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(2000):
            pass


def quota(percent):
    def scene(path, disk):
        put(path, "cpu.max", f"{percent * 1000} 100000")
        return lambda: burn(percent / 100 * 0.6)
    return scene


def rivals(path, disk):
    """Two programs want one CPU, a third has the other one."""
    def work():
        children = []
        for cpu in (1, 0):
            child = os.fork()
            if child == 0:
                os.sched_setaffinity(0, [cpu])
                burn(0.15)
                os._exit(0)
            children.append(child)
        burn(0.15)
        for child in children:
            os.waitpid(child, 0)
    return work


def io_max(path, disk):
    device = os.stat(disk).st_rdev
    put(path, "io.max", f"{os.major(device)}:{os.minor(device)} rbps={MB}")
    handle = os.open(disk, os.O_RDONLY | os.O_DIRECT)
    page = mmap.mmap(-1, 1 << 16)

    def work():
        for part in range(8):
            os.preadv(handle, [page], part << 16)
    return work


def memory(name, limit, swap="max"):
    def scene(path, disk):
        put(path, "memory.swap.max", swap)
        put(path, name, limit)
        pages = mmap.mmap(-1, 24 * MB)
        pages.madvise(mmap.MADV_NOHUGEPAGE)

        def work():
            for number in range(len(pages) >> 12):
                pages[number << 12:(number << 12) + 64] = random.randbytes(64)
            for number in range(0, len(pages) >> 12, 8):
                pages[number << 12]
        return work
    return scene


SCENES = {"quota10": quota(10), "quota20": quota(20), "quota50": quota(50), "iomax": io_max, "memmax": memory("memory.max", 12 * MB + 8 * MB),
          "memhigh": memory("memory.high", 12 * MB + 8 * MB),
          "memover": memory("memory.high", 23 * MB, 0), "rivals": rivals}


def main():
    name, disk = sys.argv[1:]
    ctypes.CDLL(None).prctl(15, b"scene-" + name.encode())
    path = f"{GROUPS}/{name}"
    os.mkdir(path)
    os.sched_setaffinity(0, [1])
    put(path, "cgroup.procs", os.getpid())
    work = SCENES[name](path, disk)
    burn(0.001)
    before, start_ns = counted(path), time.time_ns()
    work()
    end_ns, after = time.time_ns(), counted(path)
    print(json.dumps({"pid": os.getpid(), "start_ns": start_ns, "end_ns": end_ns, "counted": difference(after, before)}))


main()

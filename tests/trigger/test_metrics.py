#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The metrics of `lull daemon`: what they say of requests whose times are planted, and of a program that says whom it waited for; in a
# syntax that a parser of its own (openmetrics.py) accepts. Root only, and only where eBPF may be loaded.
import fcntl
import mmap
import os
import platform
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from ctypes import CDLL, addressof, c_char, c_long, c_short

import openmetrics
from lib.busy import busy_cpus
from live.tracked import has_event
from tap import Tap
from trigger.daemons import Daemon, wait_for, why_no_daemon

tap = Tap()
# Far from the ends of their buckets: 1.024 to 4.096, 4.096 to 16.384, and 65.536 to 262.144 ms.
DELAYS = [0.0018] * 6 + [0.0070] * 5 + [0.1000] * 4
NAME = 'a"b\\c\nd'
WAITER = """
import os, sys, time
open("/proc/self/comm", "w").write(sys.argv[1])
read, write = os.pipe()
if os.fork() == 0:
    open("/proc/self/comm", "w").write("late")
    os.close(read)
    time.sleep(0.6)
    os.write(write, b"x")
    os._exit(0)
before = time.monotonic_ns()
os.read(read, 1)
print(time.monotonic_ns() - before)
"""
LIBC = CDLL(None)
NAPS, NAP_S, CALL_S = 3000, 0.0001, 0.007
BAD = ["", "# EOF", "a 1\n# EOF\n", "# TYPE a counter\na 1\n# EOF\n", "# TYPE a counter\na_total -1\n# EOF\n", "# TYPE a gauge\na one\n# EOF\n",
       "# TYPE a gauge\na 1\na 2\n# EOF\n", "# TYPE a gauge\na{b=\"\\x\"} 1\n# EOF\n", "# TYPE a gauge\na{b=\"c\"d=\"e\"} 1\n# EOF\n",
       "# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\n# EOF\n", "# TYPE a_s gauge\n# UNIT a_s seconds\na_s 1\n# EOF\n",
       "# TYPE a histogram\na_bucket{le=\"1.0\"} 2\na_bucket{le=\"+Inf\"} 1\n# EOF\n", "# TYPE a histogram\na_bucket{le=\"1.0\"} 2\n# EOF\n",
       "# TYPE a histogram\na_bucket{le=\"+Inf\"} 2\na_count 3\na_sum 1\n# EOF\n"]


def serve(listener, delays):
    """Each request on a connection is answered so late, by the server's own clock; how long it took is kept."""
    took = []
    connection, _ = listener.accept()
    with connection:
        for delay in delays:
            connection.recv(1)
            start = time.monotonic()
            time.sleep(delay - 0.0002)
            while time.monotonic() - start < delay:
                pass
            connection.send(b"x")
            took.append(time.monotonic() - start)
    return took


def ask(port, n):
    """How long each answer took, to who asked: longer than the server needed, also if that lost the CPU meanwhile."""
    took = []
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(n):
            start = time.monotonic()
            client.send(b"?")
            client.recv(1)
            took.append(time.monotonic() - start)
    return took


def samples(metrics, family, **labels):
    return {tuple(sorted((key, value) for key, value in sample[1].items() if key not in labels)) + (sample[0],): sample[2]
            for sample in metrics[family]["samples"] if labels.items() <= sample[1].items()}


def read(daemon):
    kind, text = daemon.metrics()
    assert kind.startswith("application/openmetrics-text; version=1.0.0"), kind
    return openmetrics.parse(text)


def histogram(metrics, kind, argument):
    found = [(labels, value) for name, labels, value in metrics["lull_latency_seconds"]["samples"]
             if (labels["kind"], labels["arg"]) == (kind, argument) and name.endswith("_bucket")]
    return [(labels["le"], value) for labels, value in found]


def check_served(daemon, listener, port):
    thread_took = []
    before = histogram(read(daemon), "serve", str(port))
    server = threading.Thread(target=lambda: thread_took.extend(serve(listener, DELAYS)))
    server.start()
    asker_took = ask(port, len(DELAYS))
    server.join()
    most, least = ([sum(le == "+Inf" or one <= float(le) for one in took) for le, _ in before] for took in ([t - 0.0002 for t in thread_took], asker_took))

    def counted():
        now = histogram(read(daemon), "serve", str(port))
        return now if now[-1][1] - before[-1][1] >= len(DELAYS) else None
    after = wait_for(counted)
    seen = [int(now - was) for (_, now), (_, was) in zip(after or before, before)]
    tap.ok(all(low <= n <= high for low, n, high in zip(least, seen, most)) and seen[-1] == len(DELAYS),
           "each request is in the bucket that the clocks of both say", seen, least, most, thread_took, asker_took)
    total = samples(read(daemon), "lull_latency_seconds", kind="serve", arg=str(port))[("lull_latency_seconds_sum",)]
    tap.ok(sum(DELAYS) <= total <= sum(asker_took), "their sum is the sum of the stamps", total, sum(asker_took))
    ends = [le for le, _ in before]
    tap.ok([float(le) for le in ends[:-1]] == [4 ** n / 1e6 for n in range(13)] and ends[-1] == "+Inf", "buckets end at 4^n us", ends)
    tap.ok(read(daemon)["lull_alarms"]["samples"][0][2] == 0, "and none of them was an alarm")


def nap_in_poll():
    select.select([], [], [], NAP_S)


def nap_in_futex():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=NAP_S)


def above(daemon, kind):
    """How many of that kind were longer than 64 us."""
    buckets = dict(histogram(read(daemon), kind, ""))
    return buckets["+Inf"] - next(value for le, value in buckets.items() if le != "+Inf" and float(le) == 0.000064)


def hidden_waits(daemon):
    """A kernel on a virtual machine hides a switch now and then: whose waits those were is not known, but how many."""
    return next(value for name, labels, value in read(daemon)["lull_lost"]["samples"] if labels["what"] == "end of a wait")


def touch_pages(pages):
    """Of pages that another thread fills five milliseconds after they are touched (userfaultfd): whoever is kept from the CPU on the way to
    its wait, has one that is long all the same. How many there were."""
    number, page = {"x86_64": 323, "aarch64": 282}.get(platform.machine()), mmap.PAGESIZE
    fd = LIBC.syscall(number, os.O_CLOEXEC) if number else -1
    if fd < 0:
        return 0
    memory = mmap.mmap(-1, pages * page, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = addressof(c_char.from_buffer(memory))
    fcntl.ioctl(fd, 0xc018aa3f, struct.pack("QQQ", 0xaa, 0, 0))  # UFFDIO_API
    fcntl.ioctl(fd, 0xc020aa00, struct.pack("QQQQ", start, pages * page, 1, 0))  # UFFDIO_REGISTER, pages that are missing

    def fill():
        for _ in range(pages):
            address = struct.unpack_from("Q", os.read(fd, 32), 16)[0]
            time.sleep(0.005)
            fcntl.ioctl(fd, 0xc020aa04, struct.pack("QQQq", address & -page, page, 0, 0))  # UFFDIO_ZEROPAGE
    filler = threading.Thread(target=fill, daemon=True)
    filler.start()
    for i in range(pages):
        LIBC.memset(c_long(start + i * page), 1, 1)
    filler.join()
    os.close(fd)
    return pages


def make_calls(n):
    """Every other call fails at once, the others last as long as they ask for. How long each took."""
    took, semaphores = [], LIBC.semget(0, 1, 0o1600)
    take_one, most = (c_short * 3)(0, -1, 0), (c_long * 2)(0, int(CALL_S * 1e9))
    for i in range(n):
        start = time.monotonic()
        LIBC.semtimedop(semaphores if i % 2 else -1, take_one, 1, most)
        took.append(time.monotonic() - start)
    LIBC.semctl(semaphores, 0, 0)
    return took


def check_called(daemon):
    """Waits in poll, in futex and for pages, each so often that none can be taken for another, though other programs have some, too;
    and a call that nobody else makes."""
    kinds, calls = ("poll", "futex", "fault"), histogram(read(daemon), "syscall", "semtimedop")
    before, hidden_before = {kind: above(daemon, kind) for kind in kinds}, hidden_waits(daemon)
    for i in range(NAPS):
        nap_in_poll()
        if i % 3 == 0:
            nap_in_futex()
    own = {"poll": NAPS, "futex": NAPS / 3, "fault": touch_pages(100)}
    took = make_calls(40)

    def risen():
        new = {kind: above(daemon, kind) - before[kind] for kind in kinds}
        seen = [int(now - old) for (_, now), (_, old) in zip(histogram(read(daemon), "syscall", "semtimedop"), calls)]
        hidden = hidden_waits(daemon) - hidden_before
        return (new, seen) if seen[-1] >= len(took) and all(new[kind] >= own[kind] - hidden for kind in kinds) else None
    new, seen = wait_for(risen, 6) or (None, None)
    tap.ok(new and new["poll"] < 2 * NAPS and new["futex"] < NAPS and new["fault"] < NAPS / 3, "waits are counted as what they are", new, own, before)
    # What a call took is less than what its maker saw of it.
    wrong = [(le, count) for (le, _), count in zip(calls, seen or []) if count < sum(one <= float(le) for one in took) or
             (count > len(took) / 2 and float(le) < CALL_S)]
    tap.ok(seen and seen[-1] == len(took) and not wrong, "each call is counted where its maker says", seen, wrong, took)


def check_waited(daemon):
    """A name that needs every escape; of a wait for another program, all of it."""
    took = 0
    for _ in range(3):  # a kernel may hide one
        took += int(subprocess.run([sys.executable, "-c", WAITER, NAME], capture_output=True, text=True, check=True).stdout) / 1e9

        def waited():
            return next((value for name, labels, value in read(daemon)["lull_waited_seconds"]["samples"]
                         if labels == {"waiter": NAME.replace("\n", "?"), "end": "timer"} and value > 0.5), None)
        seen = wait_for(waited, 6)
        if seen:
            break
    tap.ok(seen and took - 0.05 < seen <= took, "who waited for whom, as long as the program says", seen, took)
    own = [labels for _, labels, value in read(daemon)["lull_waited_seconds"]["samples"] if labels["waiter"] == "late" and value > 0.5]
    tap.ok(not own, "a program's own timer is no wait for anybody", own)


def main(directory):
    tap.ok(all(openmetrics.refused(text) for text in BAD), "the parser refuses what is wrong",
           [text for text in BAD if not openmetrics.refused(text)])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        daemon = Daemon(directory, f"[rule web]\nwhen=serve({port}) > 1h\n[rule again]\nwhen=serve({port}): rport == 1 > 1h\n"
                                   "[rule disks]\nwhen=block > 1h\n[rule naps]\nwhen=offcpu: comm == \"nobody\" > 1h\n"
                                   "[rule calls]\nwhen=syscall(semtimedop): comm == \"nobody\" > 1h\n"
                                   # Or it gives up who woke whom: with calls it costs more than 1 %.
                                   "[daemon]\nmax_overhead=100%\n")
        try:
            tap.ok(daemon.ready, "it is ready", daemon.said())
            tap.ok(wait_for(lambda: "lull_latency_seconds" in read(daemon)), "what waits came to is there soon", daemon.said())
            check_served(daemon, listener, port)
            check_waited(daemon)
            with busy_cpus():
                check_called(daemon)
            metrics = read(daemon)
            n = sum(len(family["samples"]) for family in metrics.values())
            counts = {labels["kind"]: value for name, labels, value in metrics["lull_latency_seconds"]["samples"] if name.endswith("_count")}
            tap.ok(n <= 1000 and set(counts) == {"wakeup", "preempt", "offcpu", "fork", "block", "irq", "softirq", "futex", "poll", "fault",
                                                   "serve", "syscall"},
                   "a kind has one histogram, and there are at most 1000 series", n, counts)
            tap.ok(counts["wakeup"] > 100 and counts["softirq"] > 10 and counts["fork"] > 0, "the machine's waits are counted", counts)
            again = read(daemon)
            fallen = [(key, value) for family in ("lull_latency_seconds", "lull_waited_seconds")
                      for key, value in samples(metrics, family).items() if samples(again, family).get(key, value) < value]
            tap.ok(not fallen, "no count falls", fallen)
        finally:
            code = daemon.stop()
        tap.ok(code == 0, "it ends", daemon.said())


if why_no_daemon():
    tap.skip("the daemon's metrics", why_no_daemon())
elif not has_event("sock_recv_length"):
    tap.skip("the daemon's metrics", "the kernel has no tracepoint sock_recv_length")
else:
    scratch = tempfile.mkdtemp(prefix="lull-metrics-")
    try:
        main(scratch)
    finally:
        shutil.rmtree(scratch)
tap.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The metrics of `lull daemon`: what they say of requests whose times are planted, and of a program that says whom it waited for; in a
# syntax that a parser of its own (openmetrics.py) accepts. Root only, and only where eBPF may be loaded.
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from ctypes import CDLL, c_long, c_short

import openmetrics
from live.tracked import has_event, why_not
from tap import Tap
from trigger.daemons import Daemon, wait_for

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
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(n):
            client.send(b"?")
            client.recv(1)


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
    ask(port, len(DELAYS))
    server.join()
    truth = [0] * len(before)
    for took in thread_took:
        for i, (le, _) in enumerate(before):
            truth[i] += le == "+Inf" or took <= float(le)

    def counted():
        now = histogram(read(daemon), "serve", str(port))
        return now if now[-1][1] - before[-1][1] >= len(DELAYS) else None
    after = wait_for(counted)
    seen = [int(now - was) for (_, now), (_, was) in zip(after or before, before)]
    tap.ok(seen == truth and truth[-1] == len(DELAYS), "each request is in the bucket that the server's own clock says", seen, truth, thread_took)
    total = samples(read(daemon), "lull_latency_seconds", kind="serve", arg=str(port))[("lull_latency_seconds_sum",)]
    tap.ok(sum(DELAYS) <= total <= sum(thread_took) + 0.0005 * len(DELAYS), "their sum is the sum of the stamps", total, sum(thread_took))
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


def check_called(daemon):
    """Waits in poll are counted as such and not as those in futex, and the other way round; what else runs here has some, too."""
    for kind, nap in {"poll": nap_in_poll, "futex": nap_in_futex}.items():
        before = {each: above(daemon, each) for each in ("poll", "futex", "fault")}
        for _ in range(NAPS):
            nap()

        def risen():
            new = {each: above(daemon, each) - before[each] for each in before}
            return new if new[kind] >= NAPS else None
        new = wait_for(risen, 6)
        tap.ok(new and all(new[each] < NAPS / 2 for each in new if each != kind), f"naps in {kind} are waits in {kind}", new, before)


def check_calls(daemon):
    """A call that nobody else makes: how many took how long, by the clock of who makes it; those that fail at once, too."""
    before, took = histogram(read(daemon), "syscall", "semtimedop"), []
    semaphores = LIBC.semget(0, 1, 0o1600)
    take_one, most = (c_short * 3)(0, -1, 0), (c_long * 2)(0, int(CALL_S * 1e9))
    for i in range(40):
        start = time.monotonic()
        LIBC.semtimedop(semaphores if i % 2 else -1, take_one, 1, most)
        took.append(time.monotonic() - start)
    LIBC.semctl(semaphores, 0, 0)

    def counted():
        now = histogram(read(daemon), "syscall", "semtimedop")
        return [int(new - old) for (_, new), (_, old) in zip(now, before)] if now[-1][1] - before[-1][1] >= len(took) else None
    seen = wait_for(counted, 6)
    for (le, _), count in zip(before, seen or []):
        # What a call took is less than what its maker saw of it, and half of them last as long as they ask for.
        least, half = sum(one <= float(le) for one in took), len(took) // 2 if float(le) < CALL_S else len(took)
        tap.ok(least <= count <= half, f"calls up to {le} s are those that their maker says", least, count, half, took)
    tap.ok(seen and seen[-1] == len(took), "each call is counted", seen, took)


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
            check_called(daemon)
            check_calls(daemon)
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


if why_not():
    tap.skip("the daemon's metrics", why_not())
elif not has_event("sock_recv_length"):
    tap.skip("the daemon's metrics", "the kernel has no tracepoint sock_recv_length")
else:
    scratch = tempfile.mkdtemp(prefix="lull-metrics-")
    try:
        main(scratch)
    finally:
        shutil.rmtree(scratch)
tap.done()

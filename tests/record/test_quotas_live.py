#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# CPU quotas on this machine, when LULL_TEST_QUOTAS asks for it: a busy program in a group that may use 10, 20 or 50 ms of each 100, alone
# and beside others. How often and for how long it was throttled is what the kernel counted in the group's cpu.stat.
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

from tap import Tap

LULL = os.environ["LULL"]
GROUPS = "/sys/fs/cgroup"
MS = 10**6
tap = Tap()

BUSY = "import time, sys\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass\n"
# Says what the kernel counted while it was busy, and when that was.
INSIDE = """
import json, os, sys, time
group = sys.argv[1]
def stat():
    return {key: int(value) for key, value in (line.split() for line in open(group + "/cpu.stat"))}
open(group + "/cgroup.procs", "w").write(str(os.getpid()))
before, begin = stat(), time.monotonic_ns()
end = time.monotonic() + 2
while time.monotonic() < end:
    pass
after = stat()
time_of = lambda counted: counted.get("throttled_time", 1000 * counted.get("throttled_usec", 0))
print(json.dumps({"pid": os.getpid(), "begin": begin, "end": time.monotonic_ns(), "times": after["nr_throttled"] - before["nr_throttled"],
                  "ns": time_of(after) - time_of(before)}))
"""


@contextlib.contextmanager
def group_of(quota_ms, weight):
    root = next((path for path in (f"{GROUPS}/cpu", f"{GROUPS}/cpu,cpuacct") if os.path.isdir(path)), GROUPS)
    path = f"{root}/lull-quotas-{os.getpid()}"
    os.mkdir(path)
    try:
        if root == GROUPS:
            settings = {"cpu.max": f"{quota_ms * 1000} 100000", "cpu.weight": weight}
        else:
            settings = {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": quota_ms * 1000, "cpu.shares": 1024 * weight // 100}
        for name, value in settings.items():
            with open(f"{path}/{name}", "w", encoding="ascii") as file:
                file.write(str(value))
        yield path
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                os.rmdir(path)
                break
            time.sleep(0.05)


def throttled(recording, counted):
    info = json.loads(subprocess.run([LULL, "info", "--json", recording], capture_output=True, check=True).stdout)
    zero = next(trace["clock"]["offset_ns"] for trace in info["traces"] if trace["format"].startswith("trace.dat"))
    span = ["--begin", str(zero + counted["begin"]), "--end", str(zero + counted["end"])]
    path = json.loads(subprocess.run([LULL, "critpath", "--json", "--full", "--tid", str(counted["pid"]), *span, recording],
                                     capture_output=True, check=True).stdout)
    own = [step for step in path["segments"] if step.get("cause") == "throttled"]
    return sum(step["end_ns"] - step["begin_ns"] for step in own), len(own)


@contextlib.contextmanager
def without_time(group):
    """A list of when the kernel counted that it throttled the group, but no time: those end as they begin, and nothing waits for them."""
    when, ended = [], threading.Event()

    def watch():
        before = None
        while not ended.wait(0.005):
            with open(group + "/cpu.stat", encoding="ascii") as file:
                stat = dict(line.split() for line in file)
            now = int(stat["nr_throttled"]), int(stat.get("throttled_time", stat.get("throttled_usec", 0)))
            if before and now[0] > before[0] and now[1] == before[1]:
                when.append(time.monotonic_ns())
            before = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield when
    finally:
        ended.set()
        watcher.join()


def check(quota_ms, n_others, weight):
    cpu = str(max(os.sched_getaffinity(0)))
    others = [subprocess.Popen(["taskset", "-c", cpu, sys.executable, "-c", BUSY, "30"]) for _ in range(n_others)]
    try:
        with tempfile.TemporaryDirectory() as folder, group_of(quota_ms, weight) as group, without_time(group) as empty:
            recording = os.path.join(folder, "recording")
            done = subprocess.run(["taskset", "-c", cpu, LULL, "record", "-o", recording, "--", sys.executable, "-c", INSIDE, group],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                tap.ok(False, "the recording was made", done.stderr)
                return
            counted = json.loads(done.stdout)
            ns, times = throttled(recording, counted)
            counted["times"] -= sum(counted["begin"] <= at <= counted["end"] for at in empty)
    finally:
        for one in others:
            one.kill()
            one.wait()
    # Where its turn comes late, a period starts before it is seen that it may not run; of the first and last time only a part is within.
    slack, missing = (0.005, 0) if n_others == 0 else (0.03, 3)
    tap.ok(abs(ns - counted["ns"]) <= counted["ns"] * slack + 2 * MS and abs(times - counted["times"]) <= 1 + missing,
           f"{quota_ms} ms of 100, beside {n_others}: {times} times, {ns / MS:.1f} ms",
           f"the kernel counted {counted['times']} times, {counted['ns'] / MS:.1f} ms")


if not os.environ.get("LULL_TEST_QUOTAS"):
    tap.skip("CPU quotas", "takes 20 s: LULL_TEST_QUOTAS=1")
elif os.geteuid() != 0:
    tap.skip("CPU quotas", "making control groups takes root")
else:
    for scene in ((10, 0, 100), (20, 0, 100), (50, 0, 100), (20, 12, 100), (20, 12, 20), (20, 4, 40), (10, 20, 300)):
        check(*scene)
tap.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What the recorder counts of who keeps tasks off CPUs. CPU quotas that it sees, or not, as in a container: whether it can say that there are no others. A quota that it does not see keeps a
# program off a CPU all the same, which then is idle; for how long at most is what the kernel counted. In a group with a quota that is never used up
# no task is throttled. Needs root. LULL is the program.
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

from record import recorders
from tap import Tap

LULL = os.environ["LULL"]
GROUPS = "/sys/fs/cgroup"
FIRST_NAMESPACE = "cgroup:[4026531835]"  # PROC_CGROUP_INIT_INO of include/linux/proc_ns.h
ROOT = next((path for path in (f"{GROUPS}/cpu", f"{GROUPS}/cpu,cpuacct") if os.path.isdir(path)), GROUPS)
BUSY = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\n"
GAPS = """import sys, time
clock_ns, first = time.time_ns(), time.monotonic_ns()
before = first
gaps = 0
while before < first + 2300000000:
    now = time.monotonic_ns()
    gaps += now - before if now > before + 10000000 else 0
    before = now
open(sys.argv[1], "w").write(f"{gaps} {clock_ns} {clock_ns + before - first}")
"""
# The program enters the group by a descriptor, as the recorder sees no groups any more.
HIDDEN = 'exec 9> "$1"; umount -l "$2"; shift 2; exec "$@"'
ENTER = 'echo $$ >&9; exec "$@"'
CPU = str(max(os.sched_getaffinity(0)))
tap = Tap()


@contextlib.contextmanager
def group_of(quota_us):
    path = f"{ROOT}/lull-unseen-{os.getpid()}"
    os.mkdir(path)
    try:
        settings = {"cpu.max": f"{quota_us} 100000"} if ROOT == GROUPS else {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": quota_us}
        for name, value in settings.items():
            with open(f"{path}/{name}", "w", encoding="ascii") as file:
                file.write(str(value))
        yield path
    finally:
        subprocess.run(["sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9; do rmdir {path} && exit; sleep 0.1; done"], capture_output=True, check=False)


def counted_ns(group):
    with open(f"{group}/cpu.stat", encoding="ascii") as file:
        stat = {key: int(value) for key, value in (line.split() for line in file)}
    return stat.get("throttled_time", 1000 * stat.get("throttled_usec", 0))


def idle_ns():
    """How long the CPU on which the programs run was idle."""
    with open("/proc/stat", encoding="ascii") as file:
        words = next(line for line in file if line.startswith(f"cpu{CPU} ")).split()
    return (int(words[4]) + int(words[5])) * 10**9 // os.sysconf("SC_CLK_TCK")


def record(folder, *command):
    """What recording.json says."""
    done = subprocess.run([*command], capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")
    with open(f"{folder}/recording/recording.json", encoding="utf-8") as file:
        return json.load(file)


def steal_ns():
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) * 10**9 // os.sysconf("SC_CLK_TCK")


def test_steal(folder):
    before_ns = steal_ns()
    with tempfile.TemporaryDirectory(dir=folder) as own:
        told = record(own, LULL, "record", "--tracer", "ftrace", "-o", f"{own}/recording", "--only", "--", sys.executable, "-c", BUSY)
    known_ns = steal_ns() - before_ns
    tap.ok(0 <= told["steal_ns"] <= known_ns, "steal time, no more than the kernel counted around the recording", told["steal_ns"], known_ns)


def test_views(folder):
    is_first = os.readlink("/proc/self/ns/cgroup") == FIRST_NAMESPACE
    for name, prefix, expected in (("this process", [], is_first), ("a cgroup namespace of its own", ["unshare", "-C"], False),
                                   ("no groups at all", ["unshare", "-m", "sh", "-c", HIDDEN, "sh", "/dev/null", ROOT], False)):
        with tempfile.TemporaryDirectory(dir=folder) as own:
            told = record(own, *prefix, LULL, "record", "--tracer", "ftrace", "-o", f"{own}/recording", "--only", "--", "true")
        tap.ok(told["all_cpu_quotas"] is expected, f"{name}: the recorder sees {'all' if expected else 'not all'} quotas", told["cpu_quotas"])


def throttled(folder, quota_us, *prefix):
    """How long the program was throttled as the path says, and as the kernel counted; and how long its CPU was idle."""
    before_ns = idle_ns()
    with group_of(quota_us) as group, tempfile.TemporaryDirectory(dir=folder) as own:
        told = record(own, *prefix, f"{group}/cgroup.procs", ROOT, "taskset", "-c", CPU, LULL, "record", "--tracer",
                      "ftrace", "-o", f"{own}/recording", "--", "sh", "-c", ENTER, "sh", sys.executable, "-c", BUSY)
        path = json.loads(subprocess.run([LULL, "critpath", "--json", "--full", "--tid", str(told["pid"]), f"{own}/recording"], capture_output=True,
                                         check=True, timeout=120).stdout)
        steps = [step for step in path["segments"] if step["cause"] == "throttled"]
        return sum(step["end_ns"] - step["begin_ns"] for step in steps), counted_ns(group), idle_ns() - before_ns, {step["detail"] for step in steps}


def test_hidden(folder):
    name = "a quota that the recorder does not see: kept off a CPU that was idle"
    for _ in range(5):
        said_ns, known_ns, free_ns, details = throttled(folder, 20000, "unshare", "-m", "sh", "-c", HIDDEN, "sh")
        if free_ns > 0.5 * known_ns:
            break
    if free_ns > 0.5 * known_ns:
        tap.ok(0.1 * known_ns < said_ns <= 1.01 * known_ns and all("kept off CPU" in detail for detail in details), name, said_ns, known_ns, free_ns, details)
    else:
        tap.ok(said_ns <= min(1.01 * known_ns, free_ns + 20 * 10**6), f"{name}, as far as others let it be", said_ns, known_ns, free_ns, details)
    said_ns, known_ns, _, details = throttled(folder, 1000000, "sh", "-c", 'exec 9> "$1"; shift 2; exec "$@"', "sh")
    tap.ok(said_ns == known_ns == 0, "a quota that is never used up", said_ns, known_ns, details)


def kept_from_running(folder, *way):
    """A program that is started that way: how long the path says that it was throttled, and kept off its CPU in all, how long the program itself
    says that it was kept from running, more than 10 ms at a time; and what is said of it."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        told = record(own, LULL, "record", "--tracer", "ftrace", "-o", f"{own}/recording", "--", *way, sys.executable, "-c", GAPS, f"{own}/gaps")
        with open(f"{own}/gaps", encoding="ascii") as file:
            known_ns, *span = map(int, file.read().split())
        path = json.loads(subprocess.run([LULL, "critpath", "--json", "--full", "--tid", str(told["pid"]), f"{own}/recording"], capture_output=True,
                                         check=True, timeout=120).stdout)
    steps = [step for step in path["segments"] if step["cause"] == "throttled"]
    # What Python needs to start and to end, the program does not know.
    said_ns, kept_ns = (sum(max(0, min(step["end_ns"], span[1]) - max(step["begin_ns"], span[0])) for step in some)
                        for some in (steps, [step for step in path["segments"] if step["state"] == "preempted"]))
    return said_ns, kept_ns, known_ns, {step["detail"] for step in steps}


def test_classes(folder):
    """Tasks of a real-time priority, and of 20 ms in each 100: the limit of a deadline holds wherever it runs."""
    for way, whose in ((("taskset", "-c", CPU, "chrt", "-f", "1"), "of real-time tasks (sched_rt_runtime_us)"),
                       (("chrt", "-d", "--sched-runtime", "20000000", "--sched-deadline", "100000000", "--sched-period", "100000000", "0"),
                        "of its own (SCHED_DEADLINE)")):
        name = f"a limit {whose}"
        if subprocess.run([*way, "true"], capture_output=True, check=False).returncode:
            tap.skip(name, "this machine does not let a task have it")
            continue
        for _ in range(3):  # others that have the CPU meanwhile keep it from running, too
            said_ns, kept_ns, known_ns, details = kept_from_running(folder, *way)
            if said_ns >= 0.8 * known_ns:
                break
        tap.ok(0.8 * known_ns <= kept_ns and said_ns <= known_ns + 2 * 10**6, f"{name}: for how long", said_ns, kept_ns, known_ns)
        tap.ok(all(re.fullmatch(re.escape(whose) + r", kept off CPU \d+, which was idle", detail) for detail in details), f"{name}: why", details)


with tempfile.TemporaryDirectory() as scratch:
    missing = recorders.why_not("ftrace", scratch)
    try:
        with group_of(20000):
            pass
    except OSError as error:
        missing = missing or f"control groups cannot be made: {error.strerror}"
    if missing:
        tap.skip("quotas", missing)
    else:
        tap.run("steal", test_steal, scratch)
        tap.run("views", test_views, scratch)
        tap.run("hidden", test_hidden, scratch)
        tap.run("classes", test_classes, scratch)
sys.exit(tap.done())

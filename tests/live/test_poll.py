#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull top --backend poll`, which works for everybody, against what programs say of themselves: their stamps, and what the kernel
# tells them of their own time (getrusage, schedstat).
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from lib.running import Running
from tap import Tap

LULL = os.environ["LULL"]
PROGRAM = os.path.join(os.environ["LULL_PROGRAMS"], "live-waits")
MS = 1_000_000
tap = Tap()


def watch(command, interval="250ms"):
    """Lines of lull top from before the command is started until after its end."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as lines:  # a pipe would fill, and lull wait for its reader
        with Running([LULL, "top", "--backend", "poll", "--json", "--interval", interval, "--max-overhead", "100%"],
                              stdout=lines) as top:
            def wait_for_line():
                size = os.fstat(lines.fileno()).st_size
                while os.fstat(lines.fileno()).st_size == size and top.poll() is None:
                    time.sleep(.01)
            wait_for_line()  # it watches
            child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            out = child.stdout.read()
            _, child.returncode, usage = os.wait4(child.pid, 0)
            top.send_signal(signal.SIGTERM)
        lines.seek(0)
        lines = [json.loads(line) for line in lines]
    tap.ok(top.returncode == 0 and child.returncode == 0, "both end well", top.returncode, child.returncode)
    return lines, child.pid, out, usage


def rows_of(lines, pid):
    """By call and state: nanoseconds."""
    waited = collections.Counter()
    for row in (row for line in lines for row in line["rows"] if row["pid"] == pid):
        waited[row["call"], row["state"]] += row["waited_ns"]
    return waited


def sums_of(lines, pid):
    sums = collections.Counter()
    for process in (p for line in lines for p in line["processes"] if p["pid"] == pid):
        sums.update({key: process[key] for key in ("ran_ns", "blocked_ns", "cpu_wait_ns")})
    return sums


# Sleeps, computes and waits for a pipe, and says how long: the kernel counts what it computes and how long it waits for a CPU, so that the
# rest of the time between two of its own stamps is sleep. Ends after lull has looked once more.
BUSY = """
import os, sys, time
def own():
    ran, delayed, _ = map(int, open("/proc/self/schedstat").read().split())
    return time.monotonic_ns(), ran, delayed
r, w = os.pipe()
if os.fork() == 0:
    os.close(r)
    for _ in range(8):
        time.sleep(.05); os.write(w, b"x")
    os._exit(0)
os.close(w)
start = own()
for _ in range(8):
    os.read(r, 1)
middle = own()
for _ in range(8):
    time.sleep(.05)
    end = time.process_time() + .02
    while time.process_time() < end:
        pass
last = own()
print(*start, *middle, *last)
sys.stdout.flush()
os.close(1)
time.sleep(.6)
"""


def test_truth():
    """How long a program ran and waited for a CPU is exact; the calls in which it slept are as they were seen."""
    lines, pid, out, usage = watch([sys.executable, "-c", BUSY])
    numbers = list(map(int, out.split()))
    start, middle, last = numbers[:3], numbers[3:6], numbers[6:]
    sums, rows = sums_of(lines, pid), rows_of(lines, pid)
    used = (usage.ru_utime + usage.ru_stime) * 1e9
    tap.ok(last[1] <= sums["ran_ns"] + 5 * MS and sums["ran_ns"] <= used * 1.05 + 20 * MS, "it ran as long as the kernel counted",
           sums, last, used)
    tap.ok(last[2] <= sums["cpu_wait_ns"] + 5 * MS and sums["cpu_wait_ns"] <= last[2] + 300 * MS, "it waited for a CPU as long as the kernel counted",
           sums, last)
    slept = [after[0] - before[0] - (after[1] - before[1]) - (after[2] - before[2]) for before, after in ((start, middle), (middle, last))]
    in_read = rows["read", "S"]
    in_sleep = rows["clock_nanosleep", "S"] + rows["pselect6", "S"] + rows["select", "S"]
    # Samples come every 10 to 20 ms, if lull gets a CPU: each wait of 50 ms is seen, but not to the millisecond.
    tap.ok(0.5 * slept[0] <= in_read <= 1.3 * slept[0] + 60 * MS, "it was seen in read", in_read, slept, rows)
    tap.ok(0.5 * slept[1] <= in_sleep <= 1.3 * slept[1] + 700 * MS, "it was seen to sleep", in_sleep, slept, rows)
    ends = {row["end"] for line in lines for row in line["rows"] if row["pid"] == pid and row["call"] == "clock_nanosleep"}
    functions = {row["function"] for line in lines for row in line["rows"] if row["pid"] == pid and row["call"] == "clock_nanosleep"}
    if functions - {None}:
        tap.ok(ends == {"timer"} and functions == {"hrtimer_nanosleep"}, "whose end was a timer", ends, functions)
    ends = {row["end"] for line in lines for row in line["rows"] if row["pid"] == pid and row["call"] == "read"}
    tap.ok(ends == {"unknown"}, "who wrote to the pipe is not known, and nobody says so", ends)


def test_cpus():
    """Two want one CPU: delays as the kernel told the program of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stamps")
        lines, pid, _, _ = watch([PROGRAM, path, "spin", "600"])
        with open(path, encoding="utf-8") as file:
            stamps = [line.split() for line in file]
    delays = [int(stamp[3]) - int(stamp[2]) for stamp in stamps]
    waited = [sums_of(lines, int(stamp[0]))["cpu_wait_ns"] for stamp in stamps]
    tap.ok(len(delays) == 2 and pid, "two spin", stamps)
    # What the last quarter of a second had is lost with the task; what it waited before its first stamp counts.
    tap.ok(all(0.4 * delay - 5 * MS <= seen <= delay * 1.05 + 60 * MS for delay, seen in zip(delays, waited)), "they waited as they say",
           delays, waited)
    cpu = [row for line in lines for row in line["rows"] if row["pid"] in {int(stamp[0]) for stamp in stamps} and row["end"] == "CPU"]
    tap.ok(abs(sum(row["waited_ns"] for row in cpu) - sum(waited)) <= 1, "and rows say the same as sums", cpu, waited)


def run(*arguments, **more):
    return subprocess.run([LULL, "top", *arguments], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL, **more)


def check_lines():
    """All members, and no others; what samples cannot say is null."""
    done = run("--backend", "poll", "--json", "--once", "--interval", "300ms")
    line = json.loads(done.stdout)
    with open(os.path.join(os.environ["LULL_SOURCE"], "schema", "lull-top.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    for wanted, got in (schema, line), (schema["properties"]["summary"], line["summary"]), \
            (schema["properties"]["summary"]["properties"]["samples"], line["summary"]["samples"]), \
            (schema["properties"]["rows"]["items"], line["rows"][0]):
        tap.ok(set(got) == set(wanted["required"]) == set(wanted["properties"]), "all members", set(got) ^ set(wanted["properties"]))
    tap.ok(line["histograms"] is None and all(row["waits"] is row["longest_ns"] is None for row in line["rows"]), "single waits are null", line["rows"][0])
    summary = line["summary"]
    tap.ok(summary["backend"] == "poll" and summary["why"] is None and "who ended a wait" in summary["cannot_see"], "how it watches", summary)
    tap.ok(all(value is None or 0 <= value <= 1 for value in summary["samples"]["pressure"].values()), "pressure", summary["samples"])
    tap.ok(0 < summary["overhead"] < 0.5, "what it costs", summary)


# Two wait for the lock that a third holds; each says who it is, and the holder goes when its input ends.
HOLDERS = """
import fcntl, os, sys, time
held = open(sys.argv[1], "w")
fcntl.flock(held, fcntl.LOCK_EX)
for call in "flock", "fcntl":
    own = open(sys.argv[1] + call, "w")
    fcntl.lockf(own, fcntl.LOCK_EX)
    pid = os.fork()
    if pid == 0:
        held.close()
        own.close()
        file = open(sys.argv[1] + ("" if call == "flock" else call), "w")
        (fcntl.flock if call == "flock" else fcntl.lockf)(file, fcntl.LOCK_EX)
        os._exit(0)
    print(pid, flush=True)
sys.stdin.read()
"""


def test_locks():
    """Waits for locks of files that are not over: who waits, in which call, for which file, and who has it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.realpath(os.path.join(folder, "a\x1block"))
        with Running([sys.executable, "-c", HOLDERS, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            waiters = [int(holder.stdout.readline()) for _ in range(2)]
            time.sleep(.3)
            arguments = ["--backend", "poll", "--duration", "1s", "--interval", "500ms", "--max-overhead", "100%"]
            lines = [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]
            text = run(*arguments, "--once").stdout
            holder.stdin.close()
        own = [lock for lock in lines[-1]["locks"] if lock["waiter"]["pid"] in waiters]
        seen = [(lock["call"], lock["path"], lock["waiter"]["pid"], lock["holder"]["pid"]) for lock in own]
        tap.ok(sorted(seen) == sorted([("flock", path, waiters[0], holder.pid), ("fcntl", path + "fcntl", waiters[1], holder.pid)]),
               "locks that are waited for still, and who holds them", lines[-1]["locks"])
        spans = {waiter: [lock["at_least_ns"] for line in lines for lock in line["locks"] if lock["waiter"]["pid"] == waiter] for waiter in waiters}
        tap.ok(all(len(ns) >= 2 and ns == sorted(ns) and 0.4e9 < ns[0] and 0.9e9 < ns[-1] < 3e9 for ns in spans.values()),
               "they have waited since the first look, at least", spans)
        said = [line for line in text.splitlines() if f"/{holder.pid} holds" in line]
        tap.ok(len(said) == 2 and all(re.match(rf"≥ \S+ m?s  python3?\S*/\d+ waits in (flock|fcntl) of {folder}/a\S+, which \S+/{holder.pid} holds$", line)
                                      for line in said) and "\x1b" not in text, "in words, and nothing that a terminal obeys", said, text)
        # Who took it has ended, as flock(1) in a script, and a child has it.
        with open(path, "w", encoding="utf-8") as file:
            taken = subprocess.run(["flock", "--nonblock", str(file.fileno())], pass_fds=[file.fileno()], check=False)
            with Running(["flock", path, "true"]) as waiter:
                time.sleep(.3)
                text = run(*arguments, "--once").stdout
                file.close()
        said = [line for line in text.splitlines() if f"flock/{waiter.pid} waits in flock of {folder}/a" in line]
        tap.ok(taken.returncode == 0 and len(said) == 1 and re.search(r", which process \d+ took, which has ended$", said[0]),
               "a lock of who has ended", said, text)
        later = json.loads(run("--backend", "poll", "--once", "--json", "--interval", "200ms").stdout)
        tap.ok(not [lock for lock in later["locks"] if lock["waiter"]["pid"] in waiters], "none when nobody waits any more", later["locks"])


def test_unprivileged():
    """Somebody without rights is told why it is poll, and sees the calls of his own tasks."""
    command = []
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*command, LULL, "--version"], capture_output=True, check=False, timeout=60).returncode != 0:
            tap.skip("unprivileged", "nobody cannot run lull here")
            return
    with Running([*command, sys.executable, "-c", "import os\nr, w = os.pipe()\nif os.fork() == 0:\n import time\n"
                           " for _ in range(90): time.sleep(.02); os.write(w, b'x')\nelse:\n for _ in range(90): os.read(r, 1)"]) as own:
        done = subprocess.run([*command, LULL, "top", "--json", "--once", "--interval", "800ms"], capture_output=True, text=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL)
        own.wait()
    tap.ok(done.returncode == 0 and not done.stderr, "it works", done)
    line = json.loads(done.stdout)
    tap.ok(line["summary"]["backend"] == "poll" and "bpf" in (line["summary"]["why"] or "no bpf"), "by poll, and why", line["summary"])
    tap.ok(any(row["pid"] == own.pid and row["call"] == "read" for row in line["rows"]), "its own tasks have calls",
           [row for row in line["rows"] if row["pid"] == own.pid])
    done = subprocess.run([*command, LULL, "top", "--once", "--interval", "300ms"], capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL)
    tap.ok("\nby poll, which cannot see who ended a wait" in done.stdout and "IN THE KERNEL" in done.stdout, "text says so", done.stdout)


def test_refused():
    done = run("--backend", "magic")
    tap.ok(done.returncode == 2 and "poll" in done.stderr, "no such backend", done.stderr)
    done = subprocess.run([LULL, "track", "--backend", "poll", "offcpu > 1ms"], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 1 and "poll sees no single waits" in done.stderr and done.stderr.count("\n") == 1, "no rules with it", done.stderr)


def main():
    try:
        with open("/proc/self/schedstat", encoding="utf-8") as file:
            has = len(file.read().split()) == 3
    except OSError:
        has = False
    if not has:
        tap.skip("poll", "no /proc/PID/schedstat (CONFIG_SCHED_INFO)")
        return tap.done()
    for test in test_truth, test_cpus, check_lines, test_locks, test_unprivileged, test_refused:
        tap.run(test.__name__, test)
    return tap.done()


sys.exit(main())

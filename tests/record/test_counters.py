#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull record --counters, of programs that are started here: what the kernel itself counts of a program (getrusage), the time that its
# switches show, and what perf says of the same file.
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from record import recorders
from lib.busy import busy_cpus
from tap import Tap

LULL = os.environ["LULL"]
tap = Tap()

# Touches 1,000 new pages, then prints its number, and the page faults that the kernel has counted before and after.
TOUCH = """
import mmap, os, resource
def faults():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_minflt + usage.ru_majflt
memory = mmap.mmap(-1, 4096 * 1000)
try:
    memory.madvise(mmap.MADV_NOHUGEPAGE)
except OSError:
    pass
before = faults()
for page in range(1000):
    memory[4096 * page] = 1
print(os.getpid(), before, faults(), flush=True)
"""
SPIN = """
import os, time
for _ in range(40):
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass
    time.sleep(0.001)
print(os.getpid(), flush=True)
"""


def window(verb, *arguments):
    done = subprocess.run([LULL, verb, "--json", "--limit", "0", *arguments], capture_output=True, text=True, timeout=100, check=True,
                          stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)["windows"][0]["tables"]


def recorded(folder, program, *options):
    """The recording of a Python program, what it prints, and what lull said."""
    out = tempfile.mkdtemp(dir=folder) + "/recording"
    done = subprocess.run([LULL, "record", "--tracer", "perf", "--for", "sched", "--buffer", "16M", "--output", out, *options, "--", sys.executable, "-S", "-c", program],
                          capture_output=True, text=True, check=True, timeout=120, stdin=subprocess.DEVNULL)
    return out, [int(word) for word in done.stdout.split()], done.stderr


def row_of(tables, tid):
    return [row for row in tables["per-task"] if row["process"]["tid"] == tid][0]


def test_faults(folder):
    for options in ((), ("--only",)):
        out, (pid, before, after), _ = recorded(folder, TOUCH, "--counters", "page-faults,minor-faults", *options)
        found = row_of(window("counters", out), pid)
        name = "a program that touches 1,000 new pages" + (", alone" if options else "")
        tap.ok(after - before >= 1000 and after - before <= found["page_faults"], f"{name}, has that many faults", found, before, after)
        # what it does at its end, and the exec that started it
        tap.ok(found["page_faults"] <= after + 200, f"{name}, and not many others", found, after)
        tap.ok(found["minor_faults"] <= found["page_faults"], f"{name}: minor faults are faults", found)


def test_clock(folder):
    out, (pid,), _ = recorded(folder, SPIN, "--counters", "task-clock,context-switches")
    counted = row_of(window("counters", out), pid)
    tables = window("cputop", out)
    ran = row_of({"per-task": tables["per-process"]}, pid) if "per-process" in tables else None
    switches = counted["context_switches"]
    unknown = sum(row["unknown"] for row in window("counters", out)["per-cpu"] if row["counter"] == "task-clock")
    tap.ok(switches >= 40, "a program that sleeps 40 times leaves its CPU as often", counted)
    tap.ok(ran and abs(counted["task_clock_ns"] - ran["cpu_ns"]) <= 5000 * (switches + 2) + unknown,
           "the clock of a task is the time that it ran, to 5 us a switch", counted, ran, unknown)


def test_file(folder):
    """The file is one of perf's, and sums are what perf shows of it."""
    out, _, said = recorded(folder, SPIN, "--counters", "task-clock,page-faults,cpu-migrations")
    tap.ok("not recorded" not in said, "nothing is missing", said)
    rows = {(row["cpu"], row["counter"]): row for row in window("counters", out)["per-cpu"]}
    tap.ok(all(row["counted"] == row["tasks"] + row["idle"] + row["interrupts"] + row["unknown"] for row in rows.values()),
           "all that was counted is somebody's, or unknown", rows)
    if shutil.which("perf") is None:
        tap.skip("what perf reads", "perf is not installed")
        return
    text = subprocess.run(["perf", "report", "-D", "-i", os.path.join(out, "perf.data")], capture_output=True, text=True, errors="replace",
                          timeout=120, check=False, stdin=subprocess.DEVNULL).stdout
    first, last, cpu, place = {}, {}, None, 0
    for line in text.splitlines():
        if sample := re.match(r"(\d+) (\d+) 0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_SAMPLE", line):
            cpu, place = int(sample[1]), -1
        elif value := re.match(r"\.+ id ([0-9a-f]+), value ([0-9a-f]+)", line):
            place += 1
            first.setdefault((cpu, place), int(value[2], 16))
            last[cpu, place] = int(value[2], 16)
    names = ["sched_switch", "task-clock", "page-faults", "cpu-migrations"]
    theirs = {(c, names[p]): last[c, p] - first[c, p] for c, p in last if p > 0}
    if not theirs:
        tap.skip("what perf reads", "this perf does not show values")
        return
    ours = {key: row["counted"] for key, row in rows.items()}
    tap.ok(ours == theirs, "each counter rose as perf shows it", ours, theirs)


def test_refused(folder):
    done = subprocess.run([LULL, "record", "--counters", "cycles,nonsense", "--", "true"], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    tap.ok(done.returncode == 2 and "no counter “nonsense”" in done.stderr, "a counter that there is not", done.stderr)
    out = os.path.join(folder, "default")
    done = subprocess.run([LULL, "record", "--tracer", "perf", "--for", "sched", "--counters", "default", "--output", out, "--", "true"],
                          capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
    has_hardware = os.path.isdir("/sys/bus/event_source/devices/cpu")
    missing = re.findall(r"not recorded: .*cycles", done.stderr)
    keys = {row["counter"] for row in window("counters", out)["per-cpu"]}
    tap.ok(bool(keys) and (has_hardware or (missing and "task-clock" in keys)) and done.stderr.count("not recorded") <= 1,
           "the default says in a line what this machine does not count", keys, done.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="lull-counters-") as folder:
        why = recorders.why_not("perf", folder)
        if why:
            tap.skip("counters of recordings", why)
            return tap.done()
        with busy_cpus():
            for name, test in sorted(globals().items()):
                if name.startswith("test_"):
                    tap.run(name, test, folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())

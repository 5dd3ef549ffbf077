#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Runs the example programs on the bundled sample and compares with Babeltrace 2 reading the same trace.
#   test_examples.py count_switches=PROGRAM longest_wait=PROGRAM
import collections
import os
import re
import shutil
import subprocess
import sys

from tap import Tap

tap = Tap()
programs = dict(argument.split("=", 1) for argument in sys.argv[1:])
trace = os.path.join(os.environ["LULL_SAMPLES"], "django", "client")

SWITCH = re.compile(r"\[(\d+)\].* sched_switch: \{ cpu_id = (\d+) \}.*prev_comm = \"([^\"]*)\", prev_tid = (-?\d+),"
                    r".*prev_state = (-?\d+),.*next_comm = \"([^\"]*)\"")
WAKEUP = re.compile(r"\[(\d+)\].* sched_wakeup(?:_new)?: .*\}, \{ comm = \"[^\"]*\", tid = (\d+)")


def run(program, *arguments):
    result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=100)
    return result.returncode, result.stdout, result.stderr


def peer_says():
    """Switches by (cpu, comm), and longest wait by tid, from Babeltrace 2's text."""
    text = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", trace], check=True,
                          capture_output=True, text=True, errors="replace").stdout
    switches = collections.Counter()
    since, longest = {}, {}
    for line in text.splitlines():
        match = SWITCH.match(line)
        if match:
            time, cpu, _, tid, state, comm = match.groups()
            switches[(int(cpu), comm)] += 1
            since.pop(tid, None)
            if int(state) & 0xFF:
                since[tid] = int(time)
            continue
        match = WAKEUP.match(line)
        if match and match.group(2) in since:
            waited = int(match.group(1)) - since.pop(match.group(2))
            longest[int(match.group(2))] = max(waited, longest.get(int(match.group(2)), 0))
    longest.pop(0, None)
    return switches, {tid: round(waited / 1e6, 3) for tid, waited in longest.items() if waited > 0}


def example_switches():
    rows = collections.Counter()
    for line in outputs["count_switches"].splitlines():
        match = re.match(r" *(\d+)  cpu (\d+)  (.*?) +client$", line)
        if not tap.ok(match is not None, "count_switches: a line is count, CPU, name, host", line):
            return
        rows[(int(match.group(2)), match.group(3))] += int(match.group(1))
    tap.ok(rows == peer_switches, "count_switches: counts are those of Babeltrace 2",
           f"only here: {rows - peer_switches}", f"only there: {peer_switches - rows}")


def example_waits():
    rows = {}
    for line in outputs["longest_wait"].splitlines():
        match = re.match(r" *([\d.]+) ms  since \d+  tid (\d+)  ", line)
        rows[int(match.group(2))] = float(match.group(1))
    wrong = [tid for tid in rows.keys() | peer_longest.keys()
             if abs(rows.get(tid, -1) - peer_longest.get(tid, -1)) > 0.002]
    tap.ok(rows and not wrong, "longest_wait: waits are those of Babeltrace 2",
           *[f"tid {tid}: {rows.get(tid)} ms here, {peer_longest.get(tid)} ms there" for tid in wrong])


more = {"analysis_tables": ["cputop"]}
outputs = {}
for name, program in programs.items():
    status, outputs[name], errors = run(program, trace, *more.get(name, []))
    tap.ok(status == 0 and outputs[name] and not errors, f"{name}: reads the sample", errors, status)
    status, _, errors = run(program, os.path.join(trace, "no-such-trace"), *more.get(name, []))
    tap.ok(status == 1 and "no-such-trace" in errors, f"{name}: says which trace it cannot open", errors)
    status, _, _ = run(program)
    tap.ok(status == 2, f"{name}: usage without a trace")
if shutil.which("babeltrace2"):
    peer_switches, peer_longest = peer_says()
    tap.run("count_switches", example_switches)
    tap.run("longest_wait", example_waits)
else:
    tap.skip("counts are those of Babeltrace 2", "babeltrace2 is not installed")
sys.exit(tap.done())

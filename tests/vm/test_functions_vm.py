#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull record --functions=kernel in an emulated machine with a kernel whose instances have function_graph (Debian's backport of 6.12): what a program
# of known calls did, and what trace-cmd finds in the same file. It runs only when asked for with LULL_TEST_VM=1 (it downloads 106 MB, and emulates
# for minutes).
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import machine
from tap import Tap

tap = Tap()
lull = os.path.abspath(os.environ["LULL"])
CALLS = 500
SCRIPT = f"""
L={shlex.quote(lull)}
$L record --tracer ftrace --for sched --only --functions=kernel:ksys_read,ksys_write,vfs_read -o /tmp/memory/only -- dd if=/dev/zero of=/dev/null bs=1 count={CALLS}
echo status $?
cp -r /tmp/memory/only /mnt/out
$L record --tracer ftrace --for sched --functions=kernel:no_such_function -- true
echo status $?
echo instances $(ls /sys/kernel/tracing/instances) .
"""


def graph_of(path):
    """How often dd entered each function, by trace-cmd's report; and how often it returned from one."""
    report = subprocess.run(["trace-cmd", "report", "-R", path], capture_output=True, text=True, check=True, timeout=300).stdout
    entries = [line for line in report.splitlines() if re.match(r"\s*dd-\d+ ", line) and "funcgraph_entry" in line]
    exits = [line for line in report.splitlines() if re.match(r"\s*dd-\d+ ", line) and "funcgraph_exit" in line]
    return entries, exits


def check(out, log):
    statuses = re.findall(r"^status (\d+)$", log, re.M)
    if not tap.ok(statuses == ["0", "1"], "a recording with function_graph; none of a function that there is not", log[-3000:]):
        return
    tap.ok("no kernel function that can be recorded matches “no_such_function”" in log, "what there is not is named", log[-3000:])
    tap.ok("instances ." in log, "no instance is left", log[-500:])
    only = os.path.join(out, "only")
    result = subprocess.run([lull, "calls", "--json", only], capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
    tables = json.loads(result.stdout)["windows"][0]["tables"]
    calls = {row["function"]: row["calls"] for row in tables["functions"]}
    tap.ok([row["task"]["comm"] for row in tables["tasks"]] == ["dd"], "of dd alone", tables["tasks"])
    tap.ok(calls.get("ksys_write", 0) >= CALLS and calls.get("ksys_read", 0) >= CALLS and calls.get("vfs_read", 0) >= CALLS,
           f"dd reads and writes {CALLS} times", calls, result.stderr)
    entries, exits = graph_of(os.path.join(only, "trace.dat"))
    tap.ok(len(entries) == sum(calls.values()) > 0 and abs(len(exits) - len(entries)) <= 2, "as many calls as trace-cmd finds", len(entries),
           len(exits), calls)


def main():
    why = machine.why_not(["trace-cmd"])
    if why:
        tap.skip("functions of the kernel", why)
        return
    with machine.place_of("functions") as place:
        out = os.path.join(place, "taken")
        shutil.rmtree(out, ignore_errors=True)
        log, status = machine.Newer(place).run(SCRIPT, take=lambda folder: shutil.copytree(folder, out))
        if tap.ok(status == 0, "the machine ran", log[-3000:]):
            check(out, log)


main()
sys.exit(tap.done())

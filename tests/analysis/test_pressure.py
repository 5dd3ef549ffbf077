#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Pressure of many control groups on CPUs with large numbers: what it takes depends on what happened, not on how high the numbers are. Times
# are by hand; memory is the kernel's account of the process. LULL is the program.
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "lib")]
import vm_scene  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
GROUPS, CPU, MS, MIB = 60, 60000, 10**6, 1 << 20


def switch(machine, t, before, after, state):
    machine.event(vm_scene.START + t, "sched_switch", {
        "prev_comm": f"t{before}", "prev_tid": before, "prev_prio": 20, "prev_state": state, "next_comm": f"t{after}", "next_tid": after,
        "next_prio": 20}, CPU, before, comm=f"t{before}")


def write(folder):
    """Each group has a task, which runs for a millisecond when that of the group before it has; it was ready since the start."""
    machine = vm_scene.Machine("host")
    for tid in range(1, GROUPS + 1):
        machine.event(vm_scene.START, "lull_statedump_cgroup", {"tid": tid, "path": f"/g{tid}"})
    for tid in range(1, GROUPS + 1):
        machine.event(vm_scene.START + 1, "sched_waking", {"comm": f"t{tid}", "tid": tid, "prio": 20, "target_cpu": CPU}, CPU, 0, comm="t0")
    for tid in range(1, GROUPS + 1):
        switch(machine, MS * tid, tid - 1, tid, 1)
    switch(machine, MS * (GROUPS + 1), GROUPS, 0, 1)
    machine.write(folder)
    counted = {"cpu_some_us": 1000, "cpu_full_us": 1000}
    with open(os.path.join(folder, "recording.json"), "w", encoding="ascii") as file:
        json.dump({"lull_recording": 1, "hostname": "host", "pressure": [{"time_ns": vm_scene.START + 10**9, **counted}],
                   "group_pressure": [{"cgroup": f"/g{tid}", **counted} for tid in range(1, GROUPS + 1)]}, file)


with tempfile.TemporaryDirectory() as place:
    write(place)
    with subprocess.Popen([os.environ["LULL"], "stats", "--json", "--limit", "0", place], stdout=subprocess.PIPE) as process:
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    tables = [one["tables"] for one in json.loads(said)["windows"] if one["analysis"] == "pressure"] if said else []
    rows = {row["cgroup"]: row for row in tables[0].get("pressure", [])} if tables else {}
    # It is known of each from its wake-up on.
    waited = {f"/g{tid}": MS * tid - 1 for tid in range(1, GROUPS + 1)}
    found = {path: rows.get(path, {}).get("trace_some_ns") for path in waited}
    tap.ok(process.returncode == 0 and found == waited, "how long each waited for its CPU", found, said[:300])
    tap.ok(usage.ru_maxrss * 1024 < 100 * MIB, "groups have memory for the CPUs on which they were", usage.ru_maxrss // 1024)
tap.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A container that was made while the machine was recorded, for long: its name comes at the end, after what its task did. LULL is the program.
import json
import os
import resource
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "lib")]
import vm_scene  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
MS, SECOND = 10**6, 10**9
ID, TID = "0a" * 32, 7
LENGTH = 40 * SECOND


def switch(machine, t, before, after):
    machine.event(vm_scene.START + t, "sched_switch", {
        "prev_comm": f"t{before}", "prev_tid": before, "prev_prio": 20, "prev_state": 1, "next_comm": f"t{after}", "next_tid": after,
        "next_prio": 20}, tid=before, pid=before, comm=f"t{before}")


def write(folder):
    machine = vm_scene.Machine("host")
    machine.event(vm_scene.START, "lull_statedump_cgroup", {"tid": TID, "path": f"/docker/{ID}"})
    for t in range(0, LENGTH, SECOND):
        switch(machine, t + 10 * MS, 0, TID)
        switch(machine, t + 30 * MS, TID, 0)
    machine.event(vm_scene.START + LENGTH, "lull_statedump_container", {"id": ID, "name": "web"})
    machine.write(folder)


def run(*arguments):
    done = subprocess.run([os.environ["LULL"], *arguments], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def words(value):
    """All texts in it."""
    if isinstance(value, dict):
        return {text for one in value.values() for text in words(one)}
    if isinstance(value, list):
        return {text for one in value for text in words(one)}
    return {value} if isinstance(value, str) else set()


def write_many(folder, n):
    """As many containers, each of which gets its name after it is known."""
    machine = vm_scene.Machine("host")
    for i in range(n):
        machine.event(vm_scene.START + i, "lull_statedump_cgroup", {"tid": TID + i, "path": f"/docker/{i:064x}"})
    for i in range(n):
        machine.event(vm_scene.START + n + i, "lull_statedump_container", {"id": f"{i:064x}", "name": f"box{i}"})
    switch(machine, 3 * n, 0, TID)
    switch(machine, 4 * n, TID, 0)
    machine.write(folder)


def check_many(n):
    """No cost grows with the square of their number: then it would be ten seconds and more."""
    with tempfile.TemporaryDirectory() as folder:
        write_many(folder, n)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        info = run("info", "--json", folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        names = {one["name"] for one in info["containers"]}
        tap.ok(names >= {f"box{i}" for i in range(n)} and seconds < 4, f"{n} containers", f"{seconds} s", len(names), sorted(names)[:5])


check_many(30000)
with tempfile.TemporaryDirectory() as place:
    write(place)
    rows = run("cputop", "--json", "--by", "container", place)
    tap.ok("web" in words(rows) and not any("docker:" in text for text in words(rows)), "--by container", rows)
    chosen = run("cputop", "--json", "--container", "web", place)
    tap.ok(f"t{TID}" in words(chosen), "--container", chosen)
    path = run("critpath", "--json", "--tid", str(TID), place)
    tap.ok("web" in words(path), "a critical path", list(words(path))[:40])
    info = run("info", "--json", place)
    tap.ok("web" in words(info), "lull info", sorted(words(info))[:40])
tap.done()

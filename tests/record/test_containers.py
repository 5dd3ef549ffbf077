#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Tasks in control groups that are named as docker names them: one that was there before the recording, one that moves there
# meanwhile, and their children. What the kernel's own accounting says of the groups is the truth for CPU time.
import csv
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from tap import Tap

LULL = os.environ["LULL"]
GROUPS = "/sys/fs/cgroup"
IDS = {"old": "0a" * 32, "new": "0b" * 32, "placed": "0c" * 32}
tap = Tap()

# Runs for a while within the recording, moves itself and its child into the second group, and says what the kernel counted. Before that it
# makes a child in a third one (CLONE_INTO_CGROUP).
INSIDE = """
import ctypes, os, struct, subprocess, sys, time
def place(path):
    clone3, sigchld, into_cgroup = 435, 17, 1 << 33
    flags = struct.pack("11Q", into_cgroup, 0, 0, 0, sigchld, 0, 0, 0, 0, 0, os.open(path, os.O_PATH | os.O_DIRECTORY))
    child = ctypes.CDLL(None).syscall(clone3, flags, len(flags))
    if child == 0:
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        os._exit(0)
    if child > 0:
        os.waitpid(child, 0)
    return child
old, new = sys.argv[1:3]
groups, moved = sys.argv[3].split(":"), sys.argv[4].split(":")
def used(path):
    if os.path.exists(path + "/cpuacct.usage"):
        return int(open(path + "/cpuacct.usage").read())
    return int(open(path + "/cpu.stat").read().split()[1]) * 1000
# Who is on a CPU is known from its first switch, and a CPU that one busy task has to itself need not switch for seconds.
allowed = os.sched_getaffinity(0)
for cpu in allowed:
    os.sched_setaffinity(0, {cpu})
    time.sleep(0.02)
os.sched_setaffinity(0, allowed)
placed = place(sys.argv[5])
start_ns, before = time.monotonic_ns(), (used(old), used(new))
for path in moved:
    open(path + "/cgroup.procs", "w").write(str(os.getpid()))
child = subprocess.Popen(["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"])
end = time.monotonic() + 0.8
while time.monotonic() < end:
    pass
child.wait()
print(used(old) - before[0], used(new) - before[1], start_ns, time.monotonic_ns(), placed)
"""


def directories(name):
    """The group in each hierarchy that counts, the one with the CPU time first; [] where there is none."""
    if os.path.exists(f"{GROUPS}/cgroup.controllers"):
        roots = [GROUPS]
    else:
        roots = [root for root in (f"{GROUPS}/cpuacct", f"{GROUPS}/cpu", f"{GROUPS}/systemd", f"{GROUPS}/cpu,cpuacct")
                 if os.path.isdir(root)]
        roots = list({os.path.realpath(root): root for root in roots}.values())
    return [f"{root}/docker/{IDS[name]}" for root in roots]


def placed_directory():
    """A group of version 2 alone."""
    root = GROUPS if os.path.exists(f"{GROUPS}/cgroup.controllers") else f"{GROUPS}/unified"
    return f"{root}/docker/{IDS['placed']}"


def enter(paths):
    for path in paths:
        with open(f"{path}/cgroup.procs", "w") as procs:
            procs.write(str(os.getpid()))


def lull(*args):
    result = subprocess.run([LULL, *args], capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"lull {' '.join(args)}: {result.stderr}")
    return result.stdout


def stolen_ns():
    """What a hypervisor took from all CPUs so far: who was on one then is charged for it by its switches, and not by the kernel."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) * 10**9 // os.sysconf("SC_CLK_TCK")


def main(directory):
    old, new = directories("old"), directories("new")
    for path in [*old, *new, placed_directory()]:
        os.makedirs(path)
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: enter(old))
    time.sleep(0.3)
    recording = os.path.join(directory, "recording")
    stolen = stolen_ns()
    inside = subprocess.run([LULL, "record", "-o", recording, "--", sys.executable, "-c", INSIDE, old[0], new[0], ":".join(old),
                             ":".join(new), placed_directory()], capture_output=True, text=True)
    stolen = stolen_ns() - stolen
    burner.kill()
    burner.wait()
    if inside.returncode:
        tap.ok(False, "the recording was made", inside.stderr)
        return
    used_old, used_new, *during, placed = map(int, inside.stdout.split())
    truth = {"old": used_old, "new": used_new}
    names = {kind: "docker:" + id[:12] for kind, id in IDS.items()}
    if placed < 0:
        tap.skip("a child that is made in another group", "the kernel cannot")
    else:
        table = lull("cputop", "--by", "container", "--tid", str(placed), "--csv", recording).split("\n\n")[0]
        used = {row["process.comm"]: int(row["cpu_ns"]) for row in csv.DictReader(table.splitlines())}
        tap.ok(sum(used.values()) > 50e6 and set(used) <= {"", names["placed"]},  # "": not known
               "a child that is made in another group is not in its parent's", used)

    info = json.loads(lull("info", "--json", recording))
    zero_ns = next(trace["clock"]["offset_ns"] for trace in info["traces"] if trace["format"].startswith("trace.dat"))
    begin, end = (str(zero_ns + ns) for ns in during)
    listed = {one["name"]: one for one in info["containers"]}
    tap.ok(names["old"] in listed, "info lists the container that was there", listed.keys())
    tap.ok(listed.get(names["old"], {}).get("id") == IDS["old"], "its id is whole", listed)
    tap.ok(listed.get(names["old"], {}).get("tasks") == 1, "one task is in it", listed)

    tables = lull("cputop", "--by", "container", "--begin", begin, "--end", end, "--csv", recording).split("\n\n")
    rows = {row["process.comm"]: row for row in csv.DictReader(tables[0].splitlines())}
    # Some kernels hide that certain tasks leave a CPU: then cputop says for how long it does not know who was there.
    unknown = sum(int(row["unknown_ns"]) for row in csv.DictReader(tables[1].splitlines()))
    for kind in ("old", "new"):
        ns = int(rows.get(names[kind], {}).get("cpu_ns", 0))
        slack = truth[kind] * 0.02 + 10e6
        near = truth[kind] - unknown - slack <= ns <= truth[kind] + stolen + slack
        name = f"the CPU time of the {kind} container is the kernel's"
        if near and unknown > truth[kind] / 2:
            tap.skip(name, f"this kernel hid who was on a CPU for {unknown} ns")
            continue
        tap.ok(near, name, f"{ns} ns, the kernel counted {truth[kind]}, not known: {unknown}, stolen: {stolen}")

    alone = lull("cputop", "--container", IDS["old"][:8], "--csv", recording)
    tap.ok(f",{burner.pid}," in alone, "--container with the start of an id leaves its task", alone)
    moved = lull("print", "--container", names["new"], "--limit", "2000", recording)
    tap.ok(moved.count("\n") > 10, "print has events of the container", moved[:300])
    tap.ok(f"common_pid = {burner.pid})" not in moved, "and none of the other", moved[:300])
    path = json.loads(lull("critpath", "--json", recording))
    sums = {share["name"]: share["duration_ns"] for share in path["summary"]["by_container"]}
    tap.ok(
        sum(sums.values()) == path["query"]["end_ns"] - path["query"]["begin_ns"], "containers of a path sum to its length", sums
    )
    tap.ok(sums.get(names["new"], 0) > 800e6, "the command was in the container it moved to for its 0.8 s", sums)
    failed = subprocess.run([LULL, "cputop", "--container", "nosuch", recording], capture_output=True, text=True)
    tap.ok(failed.returncode == 1 and "nosuch" in failed.stderr, "a container that never was is exit status 1, and said",
              failed.stderr)
    bad = subprocess.run([LULL, "cputop", "--by", "nothing", recording], capture_output=True, text=True)
    tap.ok(bad.returncode == 2 and "nothing" in bad.stderr, "--by with an unknown word is exit status 2, and said", bad.stderr)


if os.geteuid() != 0 or not glob.glob(f"{GROUPS}/*/cgroup.procs") and not os.path.exists(f"{GROUPS}/cgroup.procs"):
    tap.skip("containers", "making control groups takes root")
else:
    scratch = tempfile.mkdtemp(prefix="lull-containers-")
    try:
        main(scratch)
    finally:
        shutil.rmtree(scratch)
        for path in [*directories("old"), *directories("new"), placed_directory()]:
            if os.path.isdir(path):
                for _ in range(50):
                    try:
                        os.rmdir(path)
                        break
                    except OSError:
                        time.sleep(0.05)
        for path in {os.path.dirname(path) for path in [*directories("old"), placed_directory()]}:
            if os.path.isdir(path) and not any(os.path.isdir(f"{path}/{name}") for name in os.listdir(path)):
                os.rmdir(path)
tap.done()

# SPDX-License-Identifier: MIT
"""What is true of a recording of "outer", its guest "mid" and the guest "inner" in that, made by tests/vm/test_guests_vm.py: a program in inner reads
the clock in a loop, and tells each time that it jumped ("gap"); in mid one uses CPU ("burn"), then one on outer does so. All share one CPU.
"""
import json
import os
import re
import shutil
import statistics
import subprocess

from two_guests import MS, Stamps, parts_of, run


def check_sync(tap, folder):
    sync = json.loads(run("sync", "--json", folder))
    joined = {(pair["a"], pair["b"]): (pair.get("guest"), pair["contained"] > 300, pair["not_contained"]) for pair in sync["pairs"]}
    tap.ok(joined == {("inner", "mid"): ("inner", True, 0), ("mid", "outer"): ("mid", True, 0)},
           "each guest is joined with its own host: all of its events lie where it ran", joined)
    return {host["host"]: host["offset_ns"] for host in sync["hosts"]}


def report_of(folder, name):
    return subprocess.run(["trace-cmd", "report", "-t", os.path.join(folder, name, "trace.dat")], capture_output=True, text=True, check=True).stdout


def spans_of(steps, added_ns):
    """Pairs of ns between steps (seconds, ns, whether something starts); `added_ns` joins the clock with the others."""
    found, since = [], None
    for seconds, ns, starts in steps:
        now = int(seconds) * 10**9 + int(ns.ljust(9, "0")) + added_ns
        if since is not None:
            found.append((since, now))
        since = now if starts else None
    return found


def windows_of(report, added_ns):
    """When its guest ran, as trace-cmd reads it."""
    steps = re.findall(r" (\d+)\.(\d+): (kvm_entry|kvm_exit): ", report)
    return spans_of([(seconds, ns, what == "kvm_entry") for seconds, ns, what in steps], added_ns)


def runs_of(report, tid, added_ns):
    """When a task had the machine's last CPU, as trace-cmd reads it."""
    last = max(re.findall(r"\[(\d+)\] +\d+\.", report))
    steps = re.findall(rf"\[{last}\] +(\d+)\.(\d+): sched_switch: .+:\d+ \[.* ==> .+:(\d+) \[", report)
    return spans_of([(seconds, ns, int(after) == tid) for seconds, ns, after in steps], added_ns)


def check_gaps(tap, folder, stamps, added, reports):
    """A gap is also what exits cost, and, if others need the CPUs, time in which the emulated machine itself had none."""
    inner = stamps["inner"]
    path = json.loads(run("critpath", "--json", "--full", "--host", "inner", "--tid", str(inner.tids["gaps"]), folder))
    for where, who in (("mid", "burner"), ("outer", "hog")):
        start, end = stamps[where].spans["burn"][0]
        runs = runs_of(reports[where], stamps[where].tids["burn"], added[where])
        gaps = [(a, b) for a, b in inner.spans["gap"] if start <= a and b <= end and b - a >= 8 * MS]
        found = [(sum(ns for step, ns in parts_of(path["segments"], *gap) if step["host"] == where and step["state"] == "preempted"
                      and (step["by"] or {}).get("comm") == who), together([gap], runs), gap[1] - gap[0]) for gap in gaps]
        near = [abs(told - had) <= 0.05 * had + MS / 2 for told, had, _ in found]
        tap.ok(len(gaps) >= 4 and sum(near) >= 0.8 * len(near),
               f"gaps that a program in the inner guest saw: {where}'s {who} had the CPU for as long as trace-cmd says", found)
        tap.ok(statistics.median(told / length for told, _, length in found) > 0.5, "that is most of them", found)


def together(one, other):
    """How long both lists of windows, each in order, have in common."""
    total, i, k = 0, 0, 0
    while i < len(one) and k < len(other):
        total += max(0, min(one[i][1], other[k][1]) - max(one[i][0], other[k][0]))
        if one[i][1] < other[k][1]:
            i += 1
        else:
            k += 1
    return total


def check_windows(tap, folder, added, reports):
    mid, outer = (windows_of(reports[name], added[name]) for name in ("mid", "outer"))
    first, last = outer[0][0], outer[-1][1]  # before and after, outer was not recorded
    alone = together(mid, [(mid[0][0], first), (last, max(mid[-1][1], last))])
    window, = json.loads(run("vms", "--json", "--limit=0", folder))["windows"]
    found = {row["vm"]: row["guest_ns"] for row in window["tables"]["vcpus"]}
    had = {"mid": sum(b - a for a, b in outer), "inner": together(mid, outer) + alone}
    tap.ok(abs(found["mid"] - had["mid"]) <= MS, "vms: the guest ran as long as trace-cmd says", found, had)
    tap.ok(abs(found["inner"] - had["inner"]) <= 0.005 * had["inner"], "the inner guest ran where both were in their guests", found, had)
    tap.ok(had["inner"] < 0.9 * sum(b - a for a, b in mid), "which is less than its own host believes", had)
    stolen = {(row["vm"], row["by"]["comm"]): row["time_ns"] for row in window["tables"]["stolen"]}
    tap.ok(stolen["inner", "hog"] > 50 * MS and stolen["inner", "burner"] > 50 * MS, "both took its CPU", stolen)


def check(tap, folder, _quiet):
    if not shutil.which("trace-cmd"):
        tap.skip("a guest in a guest", "no trace-cmd")
        return
    added = check_sync(tap, folder)
    stamps = {name: Stamps(folder, name, added[name]) for name in added}
    reports = {name: report_of(folder, name) for name in ("mid", "outer")}
    check_gaps(tap, folder, stamps, added, reports)
    check_windows(tap, folder, added, reports)

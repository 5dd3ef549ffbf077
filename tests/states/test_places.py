#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# $container, $cgroup and $pod in files of states and in periods: of tasks that this file puts into control groups, lets fork, and moves.
# LULL is the program, LULL_SOURCE the project's directory.
import json
import os
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from scene import MS, at, run, scratch, tables, trace, write  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
POD = "11111111-2222-3333-4444-555555555555"
DOCKER, KUBE = f"/system.slice/docker-{'ab' * 32}.scope", f"/kubepods/besteffort/pod{POD}/{'cd' * 32}"


def switch(time, leaves, enters):
    return at(time, "sched_switch", prev_comm=f"t{leaves}", prev_tid=leaves, prev_prio=20, prev_state=0,
              next_comm=f"t{enters}", next_tid=enters, next_prio=20)


def made(name, dumped):
    """Who works, each in one millisecond: 10; its child 20, before and after it moves; 30, of which nothing is known; 11; and another task that
    has the number 20, a child of 30."""
    events = [at(0, "lull_statedump_cgroup", tid=tid, path=path) for tid, path in ((10, DOCKER), (11, KUBE))] if dumped else [at(0, "x", y=1)]
    fork = {"parent_comm": "x", "child_comm": "x"}
    events += [switch(1 * MS, 0, 10), at(2 * MS, "work", n=1),
               at(3 * MS, "sched_process_fork", parent_tid=10, parent_pid=10, child_tid=20, child_pid=20, **fork),
               switch(4 * MS, 10, 20), at(5 * MS, "work", n=2)]
    if dumped:
        events.append(at(6 * MS, "cgroup_attach_task", dst_root=0, dst_level=2, dst_id=5, pid=20, comm="t20", dst_path=KUBE))
    events += [at(7 * MS, "work", n=3), switch(8 * MS, 20, 30), at(9 * MS, "work", n=4), switch(10 * MS, 30, 11), at(11 * MS, "work", n=5),
               at(12 * MS, "sched_process_exit", comm="t20", tid=20, prio=20), at(12 * MS, "sched_process_free", comm="t20", tid=20, prio=20),
               at(13 * MS, "sched_process_fork", parent_tid=30, parent_pid=30, child_tid=20, child_pid=20, **fork),
               switch(14 * MS, 11, 20), at(15 * MS, "work", n=6), at(16 * MS, "end", n=7)]
    return trace(name, events)


def entered(rule, where, begin="+0ns"):
    """When a row of the group came into its state, in ms, by row."""
    path = write("places.states", f"group g {{\n    row {rule}\n    states at_work\n    on name == \"work\" : at_work!\n}}\n")
    found = {}
    for line in tables(path, where, "--log", "--begin", begin).get("log", []):
        if line["state"]:
            found.setdefault(line["row"], []).append(line["time_range"]["begin_ns"] // MS)
    return found


def check_states(where):
    found = entered("$container", where)
    docker, kube = [name for name in found if name.endswith(":" + "ab" * 6)], [name for name in found if name.endswith(":" + "cd" * 6)]
    tap.ok(len(found) == 2 and len(docker) == len(kube) == 1 and found[docker[0]] == [2, 5] and found[kube[0]] == [7, 11],
           "$container: by state dump, from a parent, after a move; unknown of others, also of those with the same number", found)
    found = entered("path = $cgroup", where)
    tap.ok(found == {DOCKER: [2, 5], KUBE: [7, 11]}, "$cgroup", found)
    tap.ok(entered("$pod", where) == {POD: [7, 11]}, "$pod", entered("$pod", where))
    path = write("if.states", 'group g {\n    row n\n    states a\n    on name == "work" && $cgroup =~ "/kube*" : a\n}\n')
    rows = {line["row"] for line in tables(path, where).get("states", [])}
    tap.ok(rows == {"3", "5"}, "in a condition", rows)
    late = entered("$pod", where, "+8ms")
    tap.ok(late == {POD: [8, 11]}, "what was so before --begin counts", late)


def check_periods(where):
    period = f'w : $evt.$name == "work" && $evt.$cgroup == "{DOCKER}" : $evt.$name == "work" && $evt.$pod =* "1111*"'
    done = run("--json", "--period", period, "--period-captures", "w : a = $evt.$cgroup : b = $evt.$pod", where, verb="periodlog")
    log = [(line["begin_ns"] // MS, line["end_ns"] // MS, line["begin_captures"], line["end_captures"])
           for line in json.loads(done.stdout)["windows"][0]["tables"]["log"]]
    expected = [(start, 7, f"a = {DOCKER}", f"b = {POD}") for start in (2, 5)]
    tap.ok(log == expected, "in periods and their captures", log, done.stderr)
    kept = 'w : $evt.$name == "work" : $evt.$name == "work" && $evt.$container == $begin.$evt.$container'
    log = [(line["begin_ns"] // MS, line["end_ns"] // MS) for line in
           json.loads(run("--json", "--period", kept, where, verb="periodlog").stdout)["windows"][0]["tables"]["log"]]
    tap.ok(log == [(2, 5), (7, 11)], "that of the event that opened one", log)
    whole = {line["process"]["tid"]: line["cpu_ns"] for window in json.loads(run("--json", "--period", period, where, verb="cputop").stdout)["windows"]
             for line in window["tables"]["per-process"] if window["begin_ns"] % (5 * MS)}
    tap.ok(whole == {10: 2 * MS, 20: 3 * MS}, "an analysis reads all that it needs besides", whole)


def check_unknown():
    where = made("bare", False)
    path = write("bare.states", 'group g {\n    row $container\n    states a\n    on name == "work" : a\n}\n')
    period = 'w : $evt.$name == "work" && $evt.$container == "x"'
    for arguments, verb in ((("--states", path), "states"), (("--period", period), "periodlog")):
        done = run(*arguments, where, verb=verb)
        tap.ok(done.returncode == 0 and "no trace has the control groups of tasks" in done.stderr, f"{verb}: not recorded: a warning says so", done)
    done = run("--states", write("wrong.states", 'group g {\n    row $cgruop\n    states a\n    on name == "work" : a\n}\n'), where)
    tap.ok(done.returncode == 2 and "there is no $cgruop" in done.stderr and "$cgroup" in done.stderr, "what is written wrong is an error", done)
    done = run("--period", 'w : $evt.$container > 5', where, verb="periodlog")
    tap.ok(done.returncode == 2 and "^" in done.stderr, "a container is a text", done)


place = made("places", True)
tap.run("states", check_states, place)
tap.run("periods", check_periods, place)
tap.run("unknown", check_unknown)
scratch.cleanup()
sys.exit(tap.done())

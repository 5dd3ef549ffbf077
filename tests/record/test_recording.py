#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Directories that lull record leaves, made by hand: their traces are of one host, what recording.json says is shown,
# the state beside the events gives names and files, and what is damaged or not finished is refused. Argument: write_state.
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from lib import jsonl_to_ctf, small_dat
from tap import Tap

LULL = os.environ["LULL"]
WRITE_STATE = sys.argv[1]
FIRST_PID_NAMESPACE = 0xEFFFFFFC
BOOT = "0f3c5c0e-6b1d-4a51-8d62-0d3f0e2c9b11"
OTHER_BOOT = "7d0b7a5e-3c57-4f9d-9a3b-6a1e2b5f4c22"
OFFSET = 10**18
MS = 10**6
tap = Tap()


def lull(*arguments):
    done = subprocess.run([LULL, *arguments], capture_output=True, check=False, timeout=100)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def info(*paths, exit_code=0):
    code, out, problems = lull("info", "--json", "--events", "--no-progress", *paths)
    assert code == exit_code, problems
    return json.loads(out)


def description(**changes):
    told = {"lull_recording": 1, "lull": "0.1.0", "purpose": "critpath", "tracer": "ftrace", "reason": "no LTTng here",
            "filtered": True, "hostname": "db", "kernel": "6.1.0", "machine": "x86_64", "boot_id": BOOT,
            "clock": {"name": "CLOCK_MONOTONIC", "offset_ns": OFFSET}, "command": ["sh", "-c", "sleep 1"], "pid": 77,
            "exit_status": 3, "begin_ns": OFFSET + 10 * MS, "end_ns": OFFSET + 30 * MS, "ended_by": "command",
            "events": ["sched:sched_switch", "sched:sched_waking"], "recorded": {"events": 4, "bytes": 4096, "lost_events": 2}}
    told.update(changes)
    return {key: value for key, value in told.items() if value is not None}


def describe(directory, **changes):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "recording.json"), "w", encoding="utf-8") as file:
        json.dump(description(**changes), file)


def switch(time_ns, cpu, before, after, state=1):
    return time_ns, cpu, "sched_switch", before, ("", before, 120, state, "", after, 120)


# Task 11 waits from 12 to 20 ms, until task 12, which is on CPU 1 all the time, wakes it.
EVENTS = [switch(10 * MS, 0, 0, 11, 0), switch(12 * MS, 0, 11, 0), (20 * MS, 1, "sched_waking", 12, ("", 11, 120, 0)),
          switch(21 * MS, 0, 0, 11, 0), switch(30 * MS, 0, 11, 0)]
STATE = [{"t": 9 * MS, "n": "lttng_statedump_process_state",
          "p": {"tid": tid, "pid": pid, "ppid": 1, "name": name, "status": 0, "cpu": 0, "file_table_address": pid}}
         for tid, pid, name in ((11, 11, "reader"), (12, 12, "writer"))]


def make(directory, **changes):
    """A recording whose traces do not know that they are of one host; `changes` are about recording.json."""
    describe(directory, **changes)
    small_dat.write(os.path.join(directory, "trace.dat"), EVENTS, OFFSET)
    jsonl_to_ctf.write_trace(STATE, os.path.join(directory, "state"), {"hostname": "elsewhere"}, offset_ns=OFFSET)
    return directory


def path_of(path, *question):
    code, out, problems = lull("critpath", "--json", "--no-progress", path, *question)
    assert code == 0, problems
    return json.loads(out)


# ---- one host ----

def test_one_host(folder):
    path = make(os.path.join(folder, "one"))
    told = info(path)
    tap.ok([host["name"] for host in told["hosts"]] == ["db"] and len(told["traces"]) == 2,
           "traces of a recording are of one host, which recording.json names", told["hosts"])
    found = told["recordings"][0]
    expected = description()
    same = all(found[key] == expected[key] for key in ("lull", "purpose", "tracer", "reason", "filtered", "command", "pid",
                                                       "exit_status", "begin_ns", "end_ns", "ended_by"))
    tap.ok(same and (found["events"], found["lost_events"], found["signal"]) == (4, 2, None) and found["path"] == path,
           "info tells what recording.json says", found)
    _, text, _ = lull("info", path)
    tap.ok(all(part in text for part in ("sh -c 'sleep 1'", "exit status 3", "pid 77", "ftrace, for critpath",
                                         "no LTTng here", "2 lost")), "also people", text)
    _, text, _ = lull("stats", "--no-progress", path)
    tap.ok("db: ftrace" in text, "a report names the tracer of the recording", text[:600])
    late = "changes of priority are seen late"  # no sched_pi_setprio is there
    tap.ok(late not in text.split("What cost most")[0] and late in lull("cputop", "--no-progress", path)[1], "what only priorities lack is noted where they are", text[:600])
    _, text, _ = lull("info", make(os.path.join(folder, "killed"), exit_status=None, signal=9, pid=None))
    tap.ok("signal 9" in text and "pid" not in text, "a command that a signal ended", text)
    _, text, _ = lull("info", make(os.path.join(folder, "none"), command=None, pid=None, exit_status=None))
    tap.ok("command" not in text and "exit status" not in text, "a recording without a command", text)
    told = info(make(os.path.join(folder, "snapshot"), snapshot=True, ended_by="snapshot"))
    tap.ok(told["recordings"][0]["snapshot"] is True and told["recordings"][0]["ended_by"] == "snapshot",
           "a snapshot is known as one", told["recordings"])
    _, text, _ = lull("info", make(os.path.join(folder, "long"), exit_status=None))
    tap.ok("not within the recording" in text, "a command that outlived the recording", text)


def test_wanted(folder):
    """What was switched on is what recording.json lists, also if it did not happen; a trace.dat alone cannot tell."""
    answers = []
    for number, events in enumerate((["sched:sched_switch", "sched:sched_waking"], ["sched:sched_switch"], None)):
        path = os.path.join(folder, f"wanted-{number}")
        describe(path, events=events)
        small_dat.write(os.path.join(path, "trace.dat"), EVENTS[:2], OFFSET)  # which are no wake-ups
        question = next(q for q in info(path)["questions"] if q["id"] == "critical-path")
        answers.append(question["hosts"][0]["answer"])
    tap.ok(answers == ["partly", "no", "no"], "an event that was switched on and did not happen is not missing", answers)


def test_names(folder):
    path = path_of(make(os.path.join(folder, "names")), "--tid", "11")
    found = [(step["comm"], step["pid"], (step["begin_ns"] - OFFSET) // MS) for step in path["segments"]]
    tap.ok(found == [("reader", 11, 10), ("writer", 12, 12), ("reader", 11, 20), ("reader", 11, 21)],
           "the state names tasks that no event names", path)
    made = make(os.path.join(folder, "command"), pid=11)
    tap.ok(path_of(made, "--tid", "11")["query"]["command"] == ["sh", "-c", "sleep 1"] and
           path_of(made, "--tid", "12")["query"]["command"] is None, "a path says which command its task was")
    _, text, _ = lull("critpath", "--no-progress", made, "--tid", "11")
    tap.ok("Its command was: sh -c 'sleep 1'\n" in text, "as a shell would need it", text)


def test_hosts(folder):
    first = make(os.path.join(folder, "a"))
    for name, changes, hosts in (
            ("another machine", {"boot_id": OTHER_BOOT, "hostname": "web"}, ["db", "web"]),
            ("another boot", {"boot_id": OTHER_BOOT}, ["db", "db#2"]),
            ("a copy of a machine", {"hostname": "web"}, ["db", "web"]),
            ("the same boot", {}, ["db"]),
            ("no boot id", {"boot_id": None, "hostname": "web"}, ["db", "web"])):
        second = make(os.path.join(folder, name), **changes)
        told = info(first, second)
        counts = [host["traces"] for host in told["hosts"]]
        tap.ok([host["name"] for host in told["hosts"]] == hosts and sum(counts) == 4 and len(set(counts)) == 1,
               f"two recordings, {name}: {hosts}", told["hosts"])
        tap.ok([r["host"] for r in told["recordings"]] == [hosts[0], hosts[-1]], f"{name}: each says its own",
               told["recordings"])
    told = info(folder)
    tap.ok(len(told["recordings"]) == 6, "all below a directory are found", len(told["recordings"]))


def test_archive(folder):
    path = make(os.path.join(folder, "packed"))
    archive = os.path.join(folder, "packed.tar")
    with tarfile.open(archive, "w") as tar:
        tar.add(path, "packed")
        tar.add(path, "second.part")
    plain, packed = info(path), info(archive, exit_code=1)  # which is not whole
    for key in "hosts", "events", "lost", "questions":
        tap.ok(plain[key] == packed[key], f"in an archive: the same {key}", plain[key], packed[key])
    paths = [trace["path"] for trace in packed["traces"]]
    tap.ok(paths == [f"{archive}/packed/state", f"{archive}/packed/trace.dat"], "also a file that is a trace", paths)
    tap.ok(any("second.part" in text for text in packed["problems"]) and len(packed["problems"]) == 1,
           "what is not finished is left out, and said to be", packed["problems"])


# ---- quotas ----

QUOTA = {"cgroup": "/shop/web", "hierarchy": 0, "quota_us": 20000, "period_us": 100000, "periods": 4, "throttled_periods": 3,
         "throttled_ns": 210 * MS, "pids": [11]}


def quota_events():
    """Periods start at 5 ms, 105 ms, …. Task 11 has 20 ms of each, of which somebody takes 10 ms the first time; task 12 has the CPU
    otherwise. It runs again 1 ms after the start of the third, because of 12."""
    turns = [(5, 11), (10, 12), (20, 11), (35, 12), (105, 11), (125, 12), (206, 11), (226, 12), (305, 11), (320, 12), (325, 11), (330, 0)]
    before = 0
    for at, tid in turns:
        yield switch(at * MS, 0, before, tid, 0)
        before = tid


def quota_path(folder, name, **changes):
    path = os.path.join(folder, name)
    describe(path, command=None, **changes)
    small_dat.write(os.path.join(path, "trace.dat"), list(quota_events()), OFFSET)
    found = path_of(path, "--tid", "11")
    pieces = [((step["begin_ns"] - OFFSET) // MS, (step["end_ns"] - OFFSET) // MS) for step in found["segments"]
              if step["cause"] == "throttled"]
    return path, pieces, found


def findings(path, *options):
    _, text, _ = lull("stats", "--json", "--no-progress", *options, path)
    return [row for one in json.loads(text)["windows"] if one["analysis"] == "findings" for row in one["tables"]["findings"]]


def test_quota(folder):
    """Truth: the 20 ms of a period were used up at 35, 125 and 226 ms, and the next one started at 105, 205 and 305."""
    throttled = [(35, 105), (125, 205), (226, 305)]
    path, pieces, found = quota_path(folder, "used up", cpu_quotas=[QUOTA])
    tap.ok(pieces == throttled, "a quota that was used up, until the next period", pieces, found["segments"])
    counted = {key: QUOTA[key] for key in QUOTA if key not in ("hierarchy", "pids")}
    tap.ok(found["cpu_quotas"] == [{**counted, "gone": False}],
           "what the kernel counted is beside the path", found["cpu_quotas"])
    said = "The CPU quota of /shop/web, 20.00 ms per 100.0 ms, was used up in 3 of 4 periods of the recording"
    _, text, _ = lull("critpath", "--no-progress", path, "--tid", "11")
    tap.ok(said in text and "throttled by a CPU quota of /shop/web, 20.00 ms per 100.0 ms" in text, "also for people", text)
    tap.ok("the kernel's count, summed over CPUs" in text, "what the kernel counted cannot be taken for the time of one thread", text)
    tap.ok(said in lull("info", path)[1] and said in lull("waits", "--no-progress", path)[1], "and in info and waits")
    rows = findings(path)
    tap.ok(rows[0]["kind"] == "quota" and rows[0]["time_ns"] == QUOTA["throttled_ns"] and rows[0]["command"] == f"lull waits --state R '{path}'" and
           all(words in rows[0]["finding"] for words in ("/shop/web, 20.00 ms per 100.0 ms", "for 210.0 ms", "used up in 3 of 4 periods")),
           "stats opens with it, as the kernel counted it", rows)
    tap.ok(all(row["kind"] != "quota" for row in findings(path, "--end", "+200ms")), "not of a part, since the kernel counted it all", rows)
    gone, pieces, found = quota_path(folder, "gone", cpu_quotas=[{**QUOTA, "gone": True}])
    tap.ok(pieces == throttled and found["cpu_quotas"] == [{**counted, "gone": True}] and
           "and read last before the group was removed" in lull("waits", "--no-progress", gone)[1], "the same of a group that was removed", found)
    many = quota_path(folder, "many", cpu_quotas=[{**QUOTA, "cgroup": f"/{ms}", "throttled_ns": ms * MS} for ms in (7, 30, 5, 20)])[0]
    tap.ok([row["time_ns"] // MS for row in findings(many) if row["kind"] == "quota"] == [30, 20, 7], "of several the three that cost most")
    tap.ok(said not in lull("waits", "--no-progress", quota_path(folder, "not", cpu_quotas=[{**QUOTA, "throttled_ns": 0}])[0])[1],
           "not where it kept no task off the CPU")
    for name, quota, expected in (
            ("of a group around it", {**QUOTA, "cgroup": "/shop", "pids": [11, 12]}, []),  # one of the two runs always
            ("that was never used up", {**QUOTA, "throttled_ns": 0}, []),
            ("of others", {**QUOTA, "pids": [99]}, []),
            ("that is larger than what they used", {**QUOTA, "quota_us": 50000}, [])):
        pieces = quota_path(folder, name, cpu_quotas=[quota])[1]
        tap.ok(pieces == expected, f"a quota {name} explains nothing", pieces)


def idle_path(folder, name, prio, **changes):
    """Task 11 leaves CPU 0 at 20 ms, though it could go on, and that idles until 50 ms; from 60 ms on the same until 90. The milliseconds that are
    called throttled."""
    path = os.path.join(folder, name)
    describe(path, command=None, **changes)
    turns, events, before = [(5, 11), (20, 0), (50, 11), (60, 0), (90, 11), (95, 0)], [], 0
    for at, tid in turns:
        events.append((at * MS, 0, "sched_switch", before, ("", before, prio if before else 120, 0 if tid == 0 and at < 95 else 1, "", tid, prio if tid else 120)))
        before = tid
    small_dat.write(os.path.join(path, "trace.dat"), events, OFFSET)
    found = path_of(path, "--tid", "11")
    waits = [step for step in found["segments"] if step["state"] == "preempted"]
    tap.ok([(step["begin_ns"] - OFFSET) // MS for step in waits] == [20, 60], f"{name}: both waits for the CPU are there", found["segments"])
    tap.ok(all(step["detail"] == "on CPU 0, which came out of idle" for step in waits if not step["cause"]), f"{name}: no cause that is not known", waits)
    return sum((step["end_ns"] - step["begin_ns"]) // MS for step in waits if step["cause"] == "throttled")


def test_idle(folder):
    """Truth: a scheduler leaves a CPU idle only if a quota, or a limit for tasks of real time, keeps its tasks from it. Where the recorder saw all
    quotas, and the kernel counts that none was used up, it was none. The kernel counts that of a period when it is over."""
    unused, whole = {**QUOTA, "throttled_ns": 0, "throttled_periods": 0}, {"all_cpu_quotas": True}
    for name, expected, prio, changes in (
            ("nothing is known of quotas", 60, 120, {}),
            ("there were no quotas", 0, 120, {"cpu_quotas": [], **whole}),
            ("there were none that a container sees", 60, 120, {"cpu_quotas": [], "all_cpu_quotas": False}),
            ("a task of real time", 60, 50, {"cpu_quotas": [], **whole}),
            ("a deadline task", 60, -1, {"cpu_quotas": [], **whole}),
            ("its own quota was used up", 60, 120, {"cpu_quotas": [QUOTA], **whole}),
            ("its own was not", 0, 120, {"cpu_quotas": [{**unused, "period_us": 1000}], **whole}),
            ("its own may have been in the last period", 30, 120, {"cpu_quotas": [{**unused, "period_us": 40000}], **whole}),
            ("its own was not, and is gone", 60, 120, {"cpu_quotas": [{**unused, "period_us": 1000, "gone": True}], **whole}),
            ("that of others was", 0, 120, {"cpu_quotas": [{**QUOTA, "pids": [99]}], **whole}),
            ("that of nobody knows whom was", 60, 120, {"cpu_quotas": [{**QUOTA, "pids": []}], **whole})):
        found = idle_path(folder, name, prio, **changes)
        tap.ok(found == expected, f"{name}: throttled for {expected} ms", found)


def test_steal(folder):
    """Task 11 is woken for CPU 0, which is idle: for 5 ms the first time, for 20 µs the second."""
    events = [switch(5 * MS, 0, 0, 11, 0), switch(10 * MS, 0, 11, 0)]
    for woken, late in ((20 * MS, 5 * MS), (40 * MS, MS // 50)):
        events += [(woken, 1, "sched_waking", 12, ("", 11, 120, 0)), switch(woken + late, 0, 0, 11, 0), switch(woken + 10 * MS, 0, 11, 0)]
    for name, steal, said in (("no steal time is counted", None, ""), ("there was none", 0, ""),
                              ("there was some", 230 * MS, "; its hypervisor may have run others (230.0 ms of steal time in the recording)")):
        path = os.path.join(folder, name)
        describe(path, command=None, steal_ns=steal)
        small_dat.write(os.path.join(path, "trace.dat"), events, OFFSET)
        found = [step["detail"] for step in path_of(path, "--tid", "11")["segments"] if step["state"] == "preempted"]
        tap.ok(found == [f"on CPU 0, which came out of idle{said}", "on CPU 0, which came out of idle"], f"{name}: a CPU that comes out of idle late", found)
        text, of_json = (lull("info", *options, path)[1] for options in ((), ("--json",)))
        stolen = re.findall(r"^  stolen +(\S+ \S+)", text, re.M)
        tap.ok(stolen == (["230.0 ms"] if steal else []) and json.loads(of_json)["recordings"][0]["steal_ns"] == (steal or 0), f"{name}: info says so", text)
        tap.ok([row["time_ns"] for row in findings(path) if row["kind"] == "steal"] == ([steal] if steal else []), f"{name}: a finding", findings(path))
        tap.ok(all(row["kind"] != "steal" for row in findings(path, "--end", "+20ms")), f"{name}: not of a part, since the kernel counted it all")
    for name, steal, is_said in (("a hundredth", 10 * MS, True), ("less", 10 * MS - 1, False)):
        describe(path, command=None, steal_ns=steal, begin_ns=OFFSET, end_ns=OFFSET + 1000 * MS)
        tap.ok([row["time_ns"] for row in findings(path) if row["kind"] == "steal"] == [steal] * is_said, f"{name} of the time that was recorded", findings(path))


THREADS_QUOTA = {**QUOTA, "pids": [11, 13], "throttled_ns": 350 * MS}
FUNCTION, TIMER = 0xffffffff813babb0, 0xffff888119156e08


def threads_events():
    """Two tasks on two CPUs have 20 ms of each 100 ms together. Periods start at 5 ms, 105 ms, …, of another quota at 40 ms, 140 ms, …"""
    turns = (
        # 10 ms for 11; 8 and 2 ms for 13, which somebody stops meanwhile: CPU 1 has a slice left when CPU 0 has none.
        [(5, 11), (15, 14), (112, 11), (122, 14), (205, 11), (206, 12), (310, 11), (320, 0)],
        # From 105 on somebody keeps CPU 0 for 7 ms, so 13 uses its 10 ms before 11 does. From 205 on each uses 1 ms, and others have the CPUs.
        [(5, 13), (13, 15), (16, 13), (18, 15), (105, 13), (115, 15), (205, 13), (206, 15), (310, 13), (320, 0)])
    events = []
    for cpu, one in enumerate(turns):
        before = 0
        for at, tid in one:
            events.append(switch(at * MS, cpu, before, tid, 0))
            before = tid
    for first, timer, function in ((5, TIMER, FUNCTION), (40, TIMER + 512, FUNCTION), (17, TIMER + 1024, FUNCTION + 64)):
        for at in range(first * MS, 320 * MS, 100 * MS):
            events.append((at - 2000, 2, "hrtimer_expire_entry", 0, (timer, at - 2000, function)))
            events.append((at - 1000, 2, "hrtimer_expire_exit", 0, (timer,)))
    return sorted(events, key=lambda event: event[0])


def test_threads(folder):
    """Truth: by hand, as told above. Without the timer periods start when tasks run again, which is at 105 ms of 13, and later of 11."""
    truth = {11: [(15, 105), (122, 205)], 13: [(18, 105), (115, 205)]}
    for name, function in (("threads", FUNCTION), ("threads, and no timer", FUNCTION + 1)):
        path = os.path.join(folder, name)
        describe(path, command=None, cpu_quotas=[THREADS_QUOTA], quota_timer=hex(function))
        small_dat.write(os.path.join(path, "trace.dat"), threads_events(), OFFSET)
        found = {tid: [(round((step["begin_ns"] - OFFSET) / MS), round((step["end_ns"] - OFFSET) / MS))
                       for step in path_of(path, "--tid", str(tid))["segments"] if step["cause"] == "throttled" and step["tid"] == tid and step["end_ns"] < OFFSET + 320 * MS]
                 for tid in truth}
        tap.ok(found == truth, f"{name}: a quota that two CPUs use up", found)


# ---- pressure ----

STALLS = ("cpu_some_us", "io_some_us", "memory_some_us", "cpu_full_us", "io_full_us", "memory_full_us")
GROUPS = {11: "/shop/web", 12: "/shop/db", 13: "/shop/db"}


def stalls(*values):
    return {key: value for key, value in zip(STALLS, values) if value is not None}


PRESSURE = {"pressure": [{"time_ns": OFFSET + 1010 * MS, **stalls(20, 0, 0, 0, 0, 0)}, {"time_ns": OFFSET + 3040 * MS, **stalls(46000, 700, 0, 0, 5, None)}],
            "group_pressure": [{"cgroup": "/shop", **stalls(45000, None, None, 9000)}, {"cgroup": "/shop/db", **stalls(6000, None, None, 6100)},
                               {"cgroup": "/shop/web", **stalls(51000, None, 3, 49000)}, {"cgroup": "/idle", **stalls(0, 0, 0, 0, 0, 0)}]}


def pressure_events():
    """On CPU 0 task 11 waits from 20 to 50 ms and from 3010 to 3030, 12 from 50 to 60; 13 runs on CPU 1 from 10 to 40."""
    turns = [(10, 0, 0, 11, 0), (10, 1, 0, 13, 0), (20, 0, 11, 12, 0), (40, 1, 13, 0, 1), (50, 0, 12, 11, 0), (60, 0, 11, 12, 1), (70, 0, 12, 0, 1),
             (3000, 0, 0, 11, 0), (3010, 0, 11, 12, 0), (3020, 0, 12, 0, 1), (3030, 0, 0, 11, 0), (3040, 0, 11, 0, 1)]
    return [switch(at * MS, cpu, before, after, state) for at, cpu, before, after, state in turns]


def pressure_of(folder, name, *options, **changes):
    path = os.path.join(folder, name)
    describe(path, **{"command": None, "end_ns": OFFSET + 3040 * MS, "filtered": False, **PRESSURE, **changes})
    small_dat.write(os.path.join(path, "trace.dat"), pressure_events(), OFFSET)
    groups = [{"t": 9 * MS, "n": "lull_statedump_cgroup", "p": {"tid": tid, "path": group}} for tid, group in GROUPS.items()]
    jsonl_to_ctf.write_trace(groups, os.path.join(path, "state"), {"hostname": "elsewhere"}, offset_ns=OFFSET)
    _, text, problems = lull("stats", "--json", "--no-progress", *options, path)
    analysis, = [one for one in json.loads(text)["windows"] if one["analysis"] == "pressure"]
    rows = {(row["cgroup"], row["lacked"]): tuple(row[key] for key in ("some_ns", "full_ns", "trace_some_ns", "trace_full_ns"))
            for row in analysis["tables"].get("pressure", [])}
    return path, rows, analysis["notes"], problems


def test_pressure(folder):
    """Truth: arithmetic. Of CPU 0, with work in 60 of the first 70 ms, and CPU 1, in 30, the mean of 40 and 0 ms of stalls is 26.667. Then 2 s are
    over, and CPU 0 alone has 20 ms. In the group of 12 and 13 it is the mean of 10 ms in 50, and 0 in 30."""
    path, rows, _, problems = pressure_of(folder, "pressed")
    expected = {("/", "cpu"): (46000000, 0, 46666666, None), ("/", "io"): (700000, 5000, 0, 0),
                ("/shop", "cpu"): (45000000, 9000000, 46666666, 10000000), ("/shop/db", "cpu"): (6000000, 6100000, 6250000, 6250000),
                ("/shop/web", "cpu"): (51000000, 49000000, 50000000, 50000000), ("/shop/web", "memory"): (3000, None, None, None)}
    tap.ok(rows == expected, "what the kernel counted, and what the trace shows", rows, problems)
    told = info(path)["recordings"][0]
    tap.ok(told["pressure"][0] == {"cgroup": "/", **stalls(46000, 700, 0, 0, 5), "memory_full_us": None} and len(told["pressure"]) == 5 and
           [sample["time_ns"] for sample in told["pressure_samples"]] == [OFFSET + 1010 * MS, OFFSET + 3040 * MS], "info has it all", told["pressure"])
    _, text, _ = lull("info", path)
    tap.ok("some task waited for a CPU for 46.00 ms, input and output for 700.0 us, memory for 0 ns" in text, "also for people", text)
    rows, notes = pressure_of(folder, "a part", "--end", "+1s")[1:3]
    tap.ok(not rows and "The kernel's counts of pressure are of whole recordings, and not shown of a part" in notes, "not of a part", rows, notes)
    rows = pressure_of(folder, "some tasks", filtered=True)[1]
    tap.ok(rows[("/", "cpu")] == (46000000, 0, None, None), "where not all tasks were recorded, only what the kernel counted", rows)
    rows = pressure_of(folder, "not known", pressure=None, group_pressure=None)[1]
    tap.ok(not rows, "nothing where it was not recorded", rows)


# ---- what is refused ----

DAMAGED = {
    "nothing": "", "no JSON": "hello", "cut": '{"lull_recording": 1, "pid"', "a list": "[1", "two": '{"lull_recording": 1} {}',
    "null": "null", "zero byte": '{"lull_recording": 1}\0', "no UTF-8": b'{"lull_recording": 1, "lull": "\xff"}',
    "deep": '{"lull_recording": ' + "[" * 100000,
    "a later version": '{"lull_recording": 2}', "version 0": '{"lull_recording": 0}', "version 1.0": '{"lull_recording": 1.0}',
    "a text for pid": {"pid": "77"}, "pid too large": {"pid": 1 << 40}, "pid 0": {"pid": 0}, "huge": {"pid": 1 << 70},
    "negative status": {"exit_status": -1}, "real signal": {"signal": 9.5}, "a number for tracer": {"tracer": 1},
    "zero in a text": {"reason": "a\0b"}, "no list": {"command": "make"}, "empty command": {"command": []},
    "numbers in it": {"command": ["make", 2]}, "boot id": {"boot_id": "1234"}, "boot id of a number": {"boot_id": 5},
    "end before begin": {"begin_ns": 2, "end_ns": 1}, "begin alone": {"end_ns": None}, "recorded": {"recorded": 3},
    "lost": {"recorded": {"lost_events": "many"}}, "filtered": {"filtered": 1}, "events": {"events": ["sched:sched_switch", 1]},
    "snapshot": {"snapshot": "yes"}, "all quotas": {"all_cpu_quotas": 1}, "steal": {"steal_ns": -1}, "steal of a text": {"steal_ns": "1"}, "quotas": {"cpu_quotas": {}}, "no quota": {"cpu_quotas": [7]},
    "a quota without path": {"cpu_quotas": [{"quota_us": 1}]},
    "pressure": {"pressure": {}}, "no sample": {"pressure": [1]}, "a sample without time": {"pressure": [{"cpu_some_us": 1}]},
    "a sample before": {"pressure": [{"time_ns": 2}, {"time_ns": 1}]}, "a sample of less than nothing": {"pressure": [{"time_ns": 1, "io_full_us": -1}]},
    "group pressure": {"group_pressure": 5}, "a group without path": {"group_pressure": [{"cpu_some_us": 1}]},
    "a group's text": {"group_pressure": [{"cgroup": "/a", "io_some_us": "1"}]}, "a group's time": {"group_pressure": [{"cgroup": "/a", "io_some_us": 1 << 62}]},
    "lock holders": {"lock_holders": 1}, "a waiter without call": {"lock_holders": [{"tid": 1, "holder_tid": 2}]},
    "a waiter without holder": {"lock_holders": [{"tid": 1, "call": "flock"}]}, "a holder without waiter": {"lock_holders": [{"call": "flock", "holder_pid": 2}]},
    **{f"a holder with {key} {value}": {"lock_holders": [{"tid": 1, "call": "futex", "address": "0x10", "holder_tid": 2, key: value}]}
       for key, value in (("tid", 0), ("holder_tid", "2"), ("holder_pid", 1 << 31), ("address", "16"), ("call", 5))},
    "too many groups": {"group_pressure": [{"cgroup": "/a"}] * 4097},
    **{f"a quota's timer {value}": {"quota_timer": value} for value in (5, "ffff", "0x", "0xg", "0x1ffffffffffffffff")},
    **{f"a quota with {key} {value}": {"cpu_quotas": [{**QUOTA, key: value}]}
       for key, value in (("period_us", 0), ("period_us", 1 << 40), ("quota_us", -1), ("throttled_ns", "long"),
                          ("periods", None), ("pids", [0]), ("pids", [1 << 31]), ("pids", ["x"]))},
}


def test_damage(folder):
    path = make(os.path.join(folder, "damaged"))
    file = os.path.join(path, "recording.json")
    for name, content in DAMAGED.items():
        if isinstance(content, dict):
            content = json.dumps(description(**content))
        with open(file, "wb") as out:
            out.write(content if isinstance(content, bytes) else content.encode())
        code, out, problem = lull("info", path)
        tap.ok(code == 1 and not out and problem.startswith(f"lull info: {file}: ") and problem.count("\n") == 1,
               f"damaged, {name}: one error that names the file", code, problem)
    with open(file, "wb") as out:
        out.truncate(17 << 20)
    code, _, problem = lull("info", path)
    tap.ok(code == 1 and "17825792 bytes are more than such a file can have" in problem, "one that is too large is not even read", problem)
    archive = os.path.join(folder, "damaged.tar")
    with open(file, "wb") as out:
        out.write(b"{")
    with tarfile.open(archive, "w") as tar:
        tar.add(path, "damaged")
    code, _, problem = lull("info", archive)
    tap.ok(code == 1 and "damaged/recording.json" in problem, "likewise in an archive", problem)
    good = make(os.path.join(folder, "good"))
    told = info(folder, exit_code=1)
    tap.ok([r["path"] for r in told["recordings"]] == [good] and any(file in text for text in told["problems"]),
           "beside others it is a problem", told["problems"])


def test_foreign(folder):
    path = make(os.path.join(folder, "foreign"))
    with open(os.path.join(path, "recording.json"), "w", encoding="utf-8") as out:
        json.dump({"artist": "The Monkees"}, out)
    told = info(path)
    tap.ok(len(told["traces"]) == 2 and not told["recordings"], "somebody else's recording.json means nothing",
           told["recordings"])
    with open(os.path.join(path, "recording.json"), "w", encoding="utf-8") as out:
        json.dump({**description(), "new": {"in": ["a", "later", 1.5]}}, out)
    tap.ok(len(info(path)["recordings"]) == 1, "keys that are not known are left out")


def test_unfinished(folder):
    path = make(os.path.join(folder, "slow.part"))
    for asked in path, path + "/", os.path.join(path, "state"), os.path.join(path, "trace.dat"):
        code, out, problem = lull("info", asked)
        tap.ok(code == 1 and not out and "unfinished recording" in problem, f"refused: {os.path.relpath(asked, folder)}", problem)
    good = make(os.path.join(folder, "done"))
    told = info(folder, exit_code=1)
    tap.ok([r["path"] for r in told["recordings"]] == [good] and any("slow.part" in text for text in told["problems"]),
           "beside others it is left out, and that is said", told["problems"])


# ---- a state of this machine ----

def test_real(folder):
    """A process that exists reads a file that it had opened before: the name, the path come from /proc alone."""
    if os.stat("/proc/self/ns/pid").st_ino != FIRST_PID_NAMESPACE:
        tap.skip("a state of this machine", "this is not the first pid namespace, so it has no tasks")
        return
    directory = os.path.join(folder, "real")
    data = os.path.join(folder, "the data")
    with open(data, "wb") as file:
        file.write(bytes(1000))
    with open(data, "rb") as file:
        child = subprocess.Popen(["cat", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[file.fileno()])
        fd, pid = file.fileno(), child.pid
    deadline = time.monotonic() + 30
    while open(f"/proc/{pid}/comm", encoding="ascii").read() != "cat\n" and time.monotonic() < deadline:
        time.sleep(0.01)
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        describe(directory, boot_id=file.read().strip(), hostname=os.uname().nodename, pid=pid)
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    subprocess.run([WRITE_STATE, os.path.join(directory, "state"), str(OFFSET)], check=True, timeout=60)
    at = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    child.communicate()
    events = [switch(begin, 0, pid, 0), (at, 1, "sched_waking", os.getpid(), ("", pid, 120, 0)),
              switch(at + MS, 0, 0, pid, 0), (at + 2 * MS, 0, "sys_enter_read", pid, (0, fd, 0, 4096)),
              (at + 3 * MS, 0, "sys_exit_read", pid, (0, 1000)), switch(at + 4 * MS, 0, pid, 0)]
    small_dat.write(os.path.join(directory, "trace.dat"), events, OFFSET)
    _, out, problems = lull("iousagetop", "--no-progress", directory)
    tap.ok(data in out and "cat" in out, "a file that was open before has its path", out, problems)
    _, out, problems = lull("critpath", "--no-progress", directory, "--tid", str(pid))
    with open("/proc/self/comm", encoding="utf-8") as file:
        mine = file.read().strip()
    tap.ok("cat" in out and mine in out, "the path names both tasks", out, problems)


def main():
    for test in (test_one_host, test_wanted, test_names, test_hosts, test_archive, test_quota, test_idle, test_steal, test_threads, test_pressure, test_damage, test_foreign, test_unfinished, test_real):
        folder = tempfile.mkdtemp(prefix="lull-recording-")
        tap.run(test.__name__, test, folder)
        shutil.rmtree(folder)
    return tap.done()


sys.exit(main())

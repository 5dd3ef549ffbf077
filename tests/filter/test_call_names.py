#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Events of system calls have one name whatever the tracer calls them: --events, filters and periods find syscall_entry_openat in
# traces of every shape. What is in the recordings of ftrace and perf was written down by trace-cmd and perf (*.report, *.lines of
# the samples); the rest is written here. And a period that names what no trace declares says so.
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["LULL_SOURCE"], "tests", "lib"))
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

LULL = os.environ["LULL"]
SAMPLES = os.environ["LULL_SAMPLES"]
CHAIN = os.path.join(SAMPLES, "truth", "truth-chain")
NUMBERS = {"read": 0, "write": 1, "close": 3, "newfstat": 5, "dup2": 33, "openat": 257}  # asm/unistd_64.h of x86
tap = Tap()


def run(*arguments):
    return subprocess.run([LULL, *arguments], capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)


def printed(trace, *arguments):
    return [json.loads(line) for line in run("print", "--json", *arguments, trace).stdout.splitlines()]


def reported(name):
    """Numbers and names of the system calls that trace-cmd saw, in its order: (task, event, number or None)."""
    line = re.compile(r"-(\d+) +\[\d+\] +[\d.]+: (sys_(?:enter|exit)\w*): +(?:id=(\d+))?")
    with open(os.path.join(SAMPLES, "ftrace", name + ".report"), encoding="utf-8") as report:
        found = [line.search(text) for text in report]
    return [(int(match[1]), match[2], int(match[3]) if match[3] else None) for match in found if match]


def whose():
    """Periods are of the tasks that trace-cmd saw, also before the first sched_switch of a CPU."""
    calls = reported("whole")
    expected = [tid for i, (tid, event, _) in enumerate(calls) if event == "sys_enter" and any(tid == other for other, _, _ in calls[i + 1:])]
    period = 'call : $evt.$name == "sys_enter" : $evt.$name =* "sys_*" && $evt.$tid == $begin.$evt.$tid'
    done = run("periodlog", "--json", "--limit", "0", "--period", period, os.path.join(SAMPLES, "ftrace", "whole.dat"))
    log = json.loads(done.stdout)["windows"][0]["tables"]["log"]
    found = [row["task"] and row["task"]["tid"] for row in sorted(log, key=lambda row: row["begin_ns"])]
    tap.ok(collections.Counter(found) == collections.Counter(expected), "periods are of the tasks that made the calls",
           collections.Counter(found), collections.Counter(expected))


def by_number():
    calls = reported("whole")
    trace = os.path.join(SAMPLES, "ftrace", "whole.dat")
    for name, number in NUMBERS.items():
        expected = sum(event == "sys_enter" and id == number for _, event, id in calls)
        for arguments in (("--events", f"syscall_entry_{name}"), ("--filter", f'name == "syscall_entry_{name}"'),
                          ("--filter", f'name in ("nothing", "syscall_entry_{name}")'),
                          ("--filter", f'name =~ "syscall_entry_{name[:-1]}[{name[-1]}]"')):
            events = printed(trace, *arguments)
            tap.ok(expected and len(events) == expected and all(e["fields"]["id"] == number for e in events),
                   f"ftrace, by number: {' '.join(arguments)}", len(events), expected)
    counts = collections.Counter(event for _, event, _ in calls)
    tap.ok(len(printed(trace, "--events", "syscall_exit_*")) == counts["sys_exit"], "a list of names with a star")
    tap.ok(len(printed(trace, "--events", "sys_enter")) == counts["sys_enter"], "the name that the tracer gives stays")
    others = printed(trace, "--filter", 'name =~ "sys_*" && name != "syscall_entry_openat"')
    opens = sum(event == "sys_enter" and id == NUMBERS["openat"] for _, event, id in calls)
    tap.ok(len(others) == counts["sys_enter"] + counts["sys_exit"] - opens, "!= leaves out no more than the call", len(others))
    tids = {tid for tid, event, id in calls if event == "sys_enter" and id == NUMBERS["openat"]}
    of_one = printed(trace, "--events", "syscall_entry_openat", "--tid", str(min(tids)))
    tap.ok(len(of_one) == sum(call == (min(tids), "sys_enter", NUMBERS["openat"]) for call in calls), "of one task", len(of_one))


def by_name():
    counts = collections.Counter((event, id) for _, event, id in reported("twice"))
    events = printed(os.path.join(SAMPLES, "ftrace", "twice.dat"), "--events", "syscall_entry_write")
    found = collections.Counter(event["name"] for event in events)
    tap.ok(found["sys_enter_write"] == counts["sys_enter_write", None] > 0 and found["sys_enter"] == counts["sys_enter", NUMBERS["write"]],
           "ftrace, by name and by number", found)
    with open(os.path.join(SAMPLES, "perf", "file.lines"), encoding="utf-8") as lines:
        script = [json.loads(line) for line in lines if "sys_" in line]
    for event, ours in (("raw_syscalls:sys_enter", "syscall_entry_read"), ("raw_syscalls:sys_exit", "syscall_exit_read")):
        expected = [e["time"] for e in script if e["name"] == event and e["fields"]["id"] == NUMBERS["read"]]
        got = printed(os.path.join(SAMPLES, "perf", "file.data"), "--filter", f'name == "{ours}"')
        tap.ok(expected and len(got) == len(expected), f"perf: {ours}", len(got), len(expected))


# The same calls as tracers name them: events of each trace that syscall_entry_openat and syscall_exit_openat are.
SHAPES = {
    "lttng": ([("syscall_entry_openat", {"dfd": -100}), ("syscall_exit_openat", {"ret": 3}), ("syscall_entry_open", {"mode": 0})], 1, 1),
    "lttng 2.5": ([("sys_openat", {"dfd": -100}), ("exit_syscall", {"ret": 3}), ("sys_open", {"mode": 0})], 1, 0),
    "perf's names": ([("syscalls:sys_enter_openat", {"dfd": -100}), ("syscalls:sys_exit_openat", {"ret": 3}),
                      ("raw_syscalls:sys_enter", {"id": 257}), ("raw_syscalls:sys_exit", {"id": 257, "ret": 3})], 2, 2),
    "unknown to lttng": ([("syscall_entry_unknown", {"id": 257}), ("syscall_entry_unknown", {"id": 9999})], 1, 0),
    "arm64": ([("sys_enter", {"id": 56}), ("sys_exit", {"id": 56, "ret": 3}), ("sys_enter", {"id": 257})], 1, 1),
    "s390": ([("sys_enter", {"id": 257}), ("sys_enter", {"id": 56})], 0, 0),
    "a program": ([("sys_enter_openat", {"x": 1})], 0, 0),
}
SETTINGS = {"arm64": {"architecture": "aarch64"}, "s390": {"architecture": "s390x"}, "a program": {"domain": "ust"}}


def shapes(folder):
    for name, (events, entries, exits) in SHAPES.items():
        trace = os.path.join(folder, name)
        jsonl_to_ctf.write_trace([{"t": 1000 + i, "n": event, "p": fields} for i, (event, fields) in enumerate(events)], trace,
                                 SETTINGS.get(name))
        # A condition that is always false beside it: the name may be missing.
        counts = [len(printed(trace, "--filter", f'name == "syscall_{kind}_openat" || cpu == 77')) for kind in ("entry", "exit")]
        tap.ok(counts == [entries, exits], f"{name}: events of openat", counts)
        not_open = printed(trace, "--filter", 'name != "syscall_entry_openat"')
        tap.ok(len(not_open) == len(events) - entries, f"{name}: the other events", not_open)


def periods():
    trace = os.path.join(SAMPLES, "ftrace", "whole.dat")
    begun, whole = {}, 0
    for tid, event, number in reported("whole"):
        if number != NUMBERS["read"]:
            continue
        if event == "sys_enter":
            begun[tid] = True
        elif begun.pop(tid, False):
            whole += 1
    period = ('read : $evt.$name == "syscall_entry_read" : $evt.$name == "syscall_exit_read" && '
              '$evt.$tid == $begin.$evt.$tid')
    table = json.loads(run("periodstats", "--json", "--period", period, trace).stdout)["windows"][0]["tables"]
    counts = [row["count"] for rows in table.values() for row in rows if "count" in row]
    tap.ok(counts and set(counts) == {whole}, "periods of a call by number", counts, whole)


def slips():
    begin, end = '$evt.$name == "syscall_entry_read"', '$evt.$name == "syscall_exit_read" && $evt.$tid == $begin.$evt.$tid'
    for definition, captures, status, said in (
            (f"r : {begin} : {end}", None, 0, None),
            (f"r : {begin} && $evt.cuont == 3 : {end}", None, 1, "the field “cuont” of the period “r”; did you mean “count”?"),
            ('r : $evt.$name == "syscall_entry_reed" : ' + end, None, 1,
             "the event “syscall_entry_reed” of the period “r”; did you mean “syscall_entry_read”?"),
            (f": {begin} : {end} && $evt.reet == 0", None, 0, "the field “reet” of the period; did you mean “ret”?"),
            (f"r : {begin} : {end} && $evt.fd == $begin.$evt.fdd", None, 0, "the field “fdd” of the period “r”"),
            (f"r : {begin} || $evt.$ctx.pidd == 3 : {end}", None, 0, "the field “pidd” of the period “r”"),
            (f"r : {begin} : {end}", "r : a = $evt.fdd : $evt.rett", 0, "the field “rett” of the period “r”; did you mean “ret”?"),
            (f"r : {begin} : {end}", "r : $evt.fd : $begin.$evt.fd", 0, None)):
        more = ["--period-captures", captures] if captures else []
        for verb in ("periodstats", "critpath"):
            done = run(verb, "--period", definition, *more, CHAIN)
            tap.ok(done.returncode == status and (said in done.stderr if said else "declares" not in done.stderr),
                   f"{verb} --period '{definition}' {captures or ''}", done.returncode, done.stderr)
    for arguments, said in ((("--events", "sched_swich"), "the event “sched_swich” of --events; did you mean “sched_switch”?"),
                            (("--events", "sched_switch,syscall_entry_opennat"), "did you mean “syscall_entry_openat”?"),
                            (("--events", "xyz*"), "the event “xyz*” of --events;")):
        done = run("print", *arguments, CHAIN)
        tap.ok(done.returncode == 1 and said in done.stderr and not done.stdout, f"print {' '.join(arguments)}", done.stderr)


with tempfile.TemporaryDirectory() as scratch:
    tap.run("by number", by_number)
    tap.run("whose", whose)
    tap.run("by name", by_name)
    tap.run("shapes", shapes, scratch)
    tap.run("periods", periods)
    tap.run("slips", slips)
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# --tid, --pid and --comm mean the same in all verbs: lists, patterns, processes; a name that nobody ever had is an error, nothing
# found is not. What is true of the sample is in its README: t-asker has the thread t-worker, t-writer is another process.
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib")]
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

lull = os.environ["LULL"]
chain = os.path.join(os.environ["LULL_SAMPLES"], "truth", "truth-chain")
tap = Tap()


def run(*arguments):
    return subprocess.run([lull, *arguments], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})


def comms(*arguments):
    tables = json.loads(run("cputop", "--json", "--limit=0", *arguments, chain).stdout)["windows"][0]["tables"]
    return {row["process"]["comm"]: row["process"]["tid"] for row in tables["per-process"]}


@functools.cache
def helps():
    verbs = re.findall(r"^  ([a-z]+) {2,}\S", run("--help").stdout, re.M)
    return {verb: run(verb, "--help").stdout for verb in verbs}


def whom():
    everyone = comms()
    theirs = {comm for comm in everyone if comm.startswith("t-")}
    tap.ok({"t-asker", "t-worker", "t-writer"} <= theirs, "the tasks of the sample", everyone)
    tap.ok(set(comms("--comm", "t-*")) == theirs, "a pattern")
    tap.ok(set(comms("--comm", "t-w*er")) == {"t-worker", "t-writer"}, "a star in the middle")
    tap.ok(set(comms("--comm", "t-[a-b]sker,t-write?")) == {"t-asker", "t-writer"}, "a list of patterns")
    tap.ok(set(comms("--comm", "t-asker")) == {"t-asker"}, "a name")
    tap.ok(set(comms("--comm", "Client manageme")) == set(comms("--comm", "Client management thread")) == {"Client manageme"},
           "the first 15 bytes of a name")
    pid = everyone["t-asker"]
    tap.ok(set(comms("--pid", str(pid))) == {"t-asker", "t-worker"}, "--pid: all threads of a process", comms("--pid", str(pid)))
    tap.ok(set(comms("--pid", f"{pid},{everyone['t-writer']}")) == {"t-asker", "t-worker", "t-writer"}, "--pid takes a list")
    path = json.loads(run("critpath", "--json", "--pid", str(pid), chain).stdout)["query"]
    tap.ok(path["comm"] == "t-asker" and path["tid"] == pid, "critpath --pid: the thread that the process started with", path)
    path = json.loads(run("critpath", "--json", "--comm", "t-ask*", chain).stdout)["query"]
    tap.ok(path["comm"] == "t-asker", "critpath --comm: a pattern", path)
    lines = [json.loads(line) for line in run("print", "--json", "--comm", "t-a*,t-writer", chain).stdout.splitlines()]
    tap.ok({line["context"]["procname"] for line in lines} == {"t-asker", "t-writer"}, "print --comm: a list of patterns")
    # The contexts are tid and procname: which threads a process has is known from its forks.
    lines = [json.loads(line) for line in run("print", "--json", chain).stdout.splitlines()]
    theirs = [line for line in lines if line["context"]["tid"] in (pid, everyone["t-worker"])]
    lines = [json.loads(line) for line in run("print", "--json", "--pid", str(pid), chain).stdout.splitlines()]
    tap.ok(lines and lines == theirs, "print --pid: the events of all threads of a process", len(lines), len(theirs))
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, "copy")
        done = run("export", "--ctf2", copy, "--pid", str(pid), chain)
        copied = run("print", "--json", copy).stdout.splitlines()
        tap.ok(done.returncode == 0 and len(copied) == len(theirs), "export --pid: the same", done.stderr, len(copied))


def lists():
    """Lists mean all of their items, in every verb, given at once or one after the other."""
    single = {(verb, option) for verb, text in helps().items()
              for option in re.findall(r"--(tid|pid|comm|procname|cpu|container|irq|softirq) (?!LIST)[A-Z]", text)}
    tap.ok(single == {("trigger", "tid"), ("trigger", "pid")}, "they are lists in all verbs, but for the one that is about a task", single)
    events = [json.loads(line) for line in run("print", "--json", chain).stdout.splitlines()]
    tids = {event["context"]["procname"]: event["context"]["tid"] for event in events}
    asker, writer = tids["t-asker"], tids["t-writer"]
    for options, wanted in ((["--tid", f"{asker},{writer}"], lambda event: event["context"]["tid"] in (asker, writer)),
                            (["--tid", str(asker), "--tid", str(writer)], lambda event: event["context"]["tid"] in (asker, writer)),
                            (["--tid", f"{writer}, {asker},{writer}"], lambda event: event["context"]["tid"] in (asker, writer)),
                            (["--comm", "t-a*", "--comm", "t-writer"], lambda event: event["context"]["procname"] in ("t-asker", "t-writer")),
                            (["--cpu", "0,1"], lambda event: event["cpu"] in (0, 1)),
                            (["--cpu", "1"], lambda event: event["cpu"] == 1),
                            (["--cpu", "1", "--tid", f"{asker},{writer}"], lambda event: event["cpu"] == 1 and event["context"]["tid"] in (asker, writer))):
        found = [json.loads(line) for line in run("print", "--json", *options, chain).stdout.splitlines()]
        theirs = [event for event in events if wanted(event)]
        tap.ok(theirs and found == theirs, f"print {' '.join(options)}", len(found), len(theirs))
    tap.ok(set(comms("--tid", str(asker), "--tid", str(writer))) == {"t-asker", "t-writer"}, "cputop: given twice")
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, "copy")
        done = run("export", "--ctf2", copy, "--tid", f"{asker},{writer}", "--cpu", "0", "--cpu", "1", chain)
        copied = run("print", "--json", copy).stdout.splitlines()
        theirs = [event for event in events if event["cpu"] in (0, 1) and event["context"]["tid"] in (asker, writer)]
        tap.ok(done.returncode == 0 and len(copied) == len(theirs), "export: the same", done.stderr, len(copied), len(theirs))
    traces = [os.path.join(os.environ["LULL_SAMPLES"], "django", host) for host in ("client", "httpd", "db")]
    requests = json.loads(run("requests", "--json", *traces).stdout)["requests"]
    some = sorted({request["tid"] for request in requests if request["tid"] >= 0})[:3]
    found = json.loads(run("requests", "--json", "--tid", ",".join(map(str, some)), *traces).stdout)["requests"]
    tap.ok(len(some) == 3 and found == [request for request in requests if request["tid"] in some], "requests", some)


def names_with_commas():
    """A name may have a comma; then it is one, if it is not a list."""
    events = [{"t": 1000 + i, "n": "sched_switch", "pc": {"cpu_id": 0},
               "p": {"prev_comm": "x" if i % 2 else "a,b", "prev_tid": 11 if i % 2 else 10, "prev_prio": 20, "prev_state": 0,
                     "next_comm": "a,b" if i % 2 else "x", "next_tid": 10 if i % 2 else 11, "next_prio": 20}} for i in range(8)]
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "trace")
        jsonl_to_ctf.write_trace(events, trace, {"hostname": "h", "domain": "kernel", "tracer_name": "lttng-modules"})
        for comm, status, tids in (("a,b", 0, {10}), ("a?b", 0, {10}), ("x,a*", 0, {10, 11}), ("a,c", 1, set()), ("x,b", 1, set())):
            done = run("cputop", "--json", "--comm", comm, trace)
            rows = json.loads(done.stdout)["windows"][0]["tables"]["per-process"] if done.stdout else []
            tap.ok(done.returncode == status and {row["process"]["tid"] for row in rows} == tids, f"cputop --comm {comm}", done.returncode, rows, done.stderr)
            done = run("print", "--comm", comm, trace)
            tap.ok(done.returncode == status, f"print --comm {comm}", done.returncode, done.stderr)


def paths_of_a_name():
    """Task 10 is called "cat" for 3 ms; its child 11, which lives for 30, is so for 1 ms, until it executes "sleep". The path is that of 10."""
    def event(ms, name, payload, tid):
        return {"t": int(ms * 1e6), "n": name, "p": payload, "pc": {"cpu_id": 0}, "sec": {"tid": tid}}

    def switch(ms, before, after, state=0):
        return event(ms, "sched_switch", {"prev_comm": before[0], "prev_tid": before[1], "prev_prio": 20, "prev_state": state,
                                          "next_comm": after[0], "next_tid": after[1], "next_prio": 20}, before[1])
    events = [switch(1, ("idle", 0), ("cat", 10)),
              event(2, "sched_process_fork", {"parent_comm": "cat", "parent_tid": 10, "parent_pid": 10, "child_comm": "cat", "child_tid": 11, "child_pid": 11}, 10),
              switch(3, ("cat", 10), ("cat", 11)),
              event(4, "sched_process_exec", {"filename": "/bin/sleep", "tid": 11, "old_tid": 11}, 11),
              switch(4.5, ("sleep", 11), ("cat", 10)), event(4.9, "sched_process_exit", {"comm": "cat", "tid": 10, "prio": 20}, 10),
              switch(5, ("cat", 10), ("sleep", 11), 16), switch(32, ("sleep", 11), ("idle", 0))]
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "trace")
        jsonl_to_ctf.write_trace(events, trace, {"hostname": "h", "domain": "kernel", "tracer_name": "lttng-modules"})
        for comm, tid in (("cat", 10), ("c?t", 10), ("sleep", 11), ("cat,sleep", 11)):
            done = run("critpath", "--json", "--comm", comm, trace)
            tap.ok(json.loads(done.stdout)["query"]["tid"] == tid, f"critpath --comm {comm}: the task that had such a name longest", done.stdout[:200], done.stderr)


def paths_of_several():
    events = [json.loads(line) for line in run("print", "--json", chain).stdout.splitlines()]
    tids = {event["context"]["procname"]: event["context"]["tid"] for event in events}
    asker, writer, worker = tids["t-asker"], tids["t-writer"], tids["t-worker"]
    alone = {tid: json.loads(run("critpath", "--json", "--tid", str(tid), chain).stdout) for tid in (asker, writer, worker)}
    longest = max(alone, key=lambda tid: alone[tid]["query"]["end_ns"] - alone[tid]["query"]["begin_ns"])
    for options in (["--tid", f"{worker},{asker},{writer}"], ["--tid", str(writer), "--tid", f"{asker},{worker}"]):
        done = run("critpath", "--json", *options, chain)
        tap.ok(json.loads(done.stdout) == alone[longest], f"critpath {' '.join(options)}: the one that lived longest", longest)
        tap.ok(re.match(r"lull: 2 other tasks fit --tid [0-9,]+ as well;", done.stderr), "and that there are others is said", done.stderr)
    for options, tid in ((["--tid", f"{asker},{worker}", "--comm", "t-wor*"], worker), (["--pid", str(asker), "--comm", "t-worker"], worker),
                         (["--pid", f"{asker},{writer}", "--tid", str(writer)], writer)):
        done = run("critpath", "--json", *options, chain)
        tap.ok(json.loads(done.stdout)["query"]["tid"] == tid and not done.stderr, f"critpath {' '.join(options)}: all of them hold", done.stderr)
    done = run("critpath", "--tid", str(asker), "--comm", "t-writer", chain)
    tap.ok(done.returncode == 1 and "no task fits all of" in done.stderr, "nothing fits both", done.stderr)
    done = run("critpath", "--tid", f"{asker},99999", chain)
    tap.ok(done.returncode == 1 and "no task with tid 99999 was seen" in done.stderr, "one of the list never was", done.stderr)
    done = run("critpath", "--request", "1", "--tid", str(asker), chain)
    tap.ok(done.returncode == 2 and "--request is a path of its own" in done.stderr, "a request has its task", done.stderr)


def no_lists():
    for verb in ("print", "cputop", "critpath"):
        for option, value in (("--tid", ""), ("--tid", "1,,2"), ("--pid", "-1"), ("--tid", "99999999999"), ("--comm", ""), ("--container", "a,,b")):
            done = run(verb, option, value, chain)
            tap.ok(done.returncode == 2 and f"lull {verb}: {option} takes " in done.stderr and f"not “{value}”" in done.stderr, f"{verb} {option} '{value}'",
                   done.returncode, done.stderr)
        done = run(verb, "--limit", "9999999999", *(["--comm", "t-asker"] if verb == "critpath" else []), chain)
        tap.ok(done.returncode == 0, f"{verb}: a large limit", done.stderr)


def nobody():
    for verb in ("cputop", "stats", "requests", "why"):  # test_verbs.py has --comm of all
        for option, value, said in (("--comm", "nobody", "named “nobody”"), ("--comm", "t-asker,nob*", "named “nob*”"),
                                    ("--tid", "99999", "with tid 99999"), ("--pid", "99999", "with pid 99999")):
            done = run(verb, option, value, chain)
            tap.ok(done.returncode == 1 and f"no task {said} was seen" in done.stderr, f"{verb} {option} {value}: an error",
                   done.returncode, done.stderr)
        done = run(verb, "--comm", "sixteen-bytes-xy", chain)
        tap.ok(done.returncode == 1 and "the kernel keeps the first 15 bytes of a name" in done.stderr, f"{verb}: why a long name is not there", done.stderr)
    # Of a list, each, also if there is something of others; nothing is exported then.
    for option, value, said in (("--comm", "t-asker,nob*", "task named “nob*”"), ("--tid", "{asker},99999", "task with tid 99999"),
                                ("--pid", "99999,{asker}", "task with pid 99999"), ("--cpu", "0,99", "CPU 99")):
        value = value.format(asker=comms("--comm", "t-asker")["t-asker"])
        with tempfile.TemporaryDirectory() as scratch:
            for verb in (["print"], ["export", "--ctf2", os.path.join(scratch, "copy")], ["cputop"]):
                done = run(*verb, option, value, chain)
                tap.ok(done.returncode == 1 and f"no {said} was seen" in done.stderr and not os.listdir(scratch), f"{verb[0]} {option} {value}: an error",
                       done.returncode, done.stderr)
    done = run("print", "--limit", "1", "--comm", "t-asker,nobody", chain)
    tap.ok(done.returncode == 0 and done.stdout.count("\n") == 1, "print --limit 1: what is not read is not known", done.stderr)
    for option, value, said in (("--comm", "nobody", "named “nobody”"), ("--tid", "99999", "with tid 99999"), ("--pid", "99999", "with pid 99999")):
        done = run("print", option, value, chain)
        tap.ok(done.returncode == 1 and f"no task {said} was seen" in done.stderr and not done.stdout, f"print {option} {value}: an error",
               done.returncode, done.stderr)
    for more in ([], ["--comm", "t-asker"]):
        done = run("print", "--filter", "cpu == 7", *more, chain)
        tap.ok(done.returncode == 0 and done.stderr == "lull: no event was found\n" and not done.stdout, f"print {' '.join(more)}: nothing found",
               done.returncode, done.stderr)
    # Who is there, but not in what was asked for: also the CPU is, and nothing was found.
    asker = str(comms("--comm", "t-asker")["t-asker"])
    for verb in ("cputop", "requests", "print", "stats"):
        for more in (["--filter", "cpu == 7"], ["--end", "+1ms"]):
            done = run(verb, "--tid", asker, *more, chain)
            tap.ok(done.returncode == 0 and re.search("[Nn]othing was|[Nn]o (event|request) was found", done.stdout + done.stderr),
                   f"{verb} {' '.join(more)}: nothing found is no error", done.returncode, done.stdout, done.stderr)
            done = run(verb, "--tid", "99999", *more, chain)
            tap.ok(done.returncode == 1 and "no task with tid 99999 was seen" in done.stderr, f"{verb} {' '.join(more)}: nobody", done.returncode, done.stderr)
    # The tables of calls too, and there is no path of whom the filter hides: that is said, not that he never was.
    for verb in ("flame", "calls", "calllog", "heap"):
        for more in (["--filter", "cpu == 7"], ["--end", "+1ms"]):
            done = run(verb, "--tid", asker, *more, chain)
            tap.ok(done.returncode == 0 and re.search("[Nn]othing was (found|recorded)", done.stdout + done.stderr), f"{verb} {' '.join(more)}: nothing found is no error",
                   done.returncode, done.stderr)
            done = run(verb, "--tid", "99999", *more, chain)
            tap.ok(done.returncode == 1 and "no task with tid 99999 was seen" in done.stderr, f"{verb} {' '.join(more)}: nobody", done.stderr)
    for option, value in (("--tid", asker), ("--pid", asker), ("--comm", "t-a*"), ("--tid", f"{asker},{asker}")):
        done = run("critpath", option, value, "--filter", "cpu == 7", chain)
        tap.ok(done.returncode == 1 and done.stderr == "lull critpath: the task is in the traces, but the filter hides all that it did\n" and not done.stdout,
               f"critpath {option} {value}: hidden", done.returncode, done.stderr)
    done = run("critpath", "--tid", "99999", "--filter", "cpu == 7", chain)
    tap.ok(done.returncode == 1 and "no task with tid 99999 was seen" in done.stderr, "critpath: nobody, with a filter", done.stderr)
    for verb in ("schedtop", "iolatencytop", "syscallstats", "waits"):
        done = run(verb, "--comm", "t-asker", "--min", "100s", chain)
        tap.ok(done.returncode == 0 and "Nothing was found in this time" in done.stdout and not done.stderr, f"{verb}: nothing found is no error",
               done.returncode, done.stdout)


def filters_that_name_nothing():
    for expression, status, said in (
            ('next_com == "x"', 1, "the field “next_com” of the filter; did you mean “next_comm”?"),
            ('name == "sched_swich" && cpu == 0', 1, "the event “sched_swich” of the filter; did you mean “sched_switch”?"),
            ('context.prev_comm == "x"', 1, "the field “prev_comm”"),
            ('name == "sys_enter_openat" || name == "syscall_entry_openat"', 0, "the event “sys_enter_openat”"),
            ('name in ("sched_switch", "nothing_like_it")', 0, "the event “nothing_like_it”"),
            ('!(foobar == 1)', 0, "the field “foobar”"),
            ('exists(foobar) || cpu >= 0', 0, None),
            ('name == "sched_switch" && next_comm =~ "t-*" && context.tid >= 0', 0, None)):
        for verb in ("print", "cputop"):
            done = run(verb, "--filter", expression, chain)
            tap.ok(done.returncode == status and (said in done.stderr if said else not done.stderr), f"{verb} --filter '{expression}'",
                   done.returncode, done.stderr)


def paths_of_requests():
    traces = [os.path.join(os.environ["LULL_SAMPLES"], "django", host) for host in ("client", "httpd", "db")]
    slowest = json.loads(run("requests", "--json", "--slowest", "3", *traces).stdout)["requests"]
    found = json.loads(run("critpath", "--json", "--slowest", "3", *traces).stdout)
    tap.ok([path["number"] for path in found["paths"]] == [request["id"] for request in slowest], "critpath --slowest: of the requests")
    alone = [json.loads(run("critpath", "--json", "--request", str(request["id"]), *traces).stdout)["segments"] for request in slowest]
    tap.ok([path["path"]["segments"] for path in found["paths"]] == alone, "each has the path of critpath --request")
    total = sum(portion["duration_ns"] for portion in found["sum"])
    tap.ok(total == sum(request["duration_ns"] for request in slowest), "the sum is what they took", total)
    done = run("critpath", "--aggregate", *traces)
    tap.ok(done.returncode == 0 and re.match(r"The critical paths of \d+ instances together", done.stdout), "--aggregate", done.stdout[:200])


def times_of_several_hosts():
    """A range of time is one on the joined clock, in every verb: what info counts in it is what print prints of it. The clock of db is 8.4 s behind."""
    traces = [os.path.join(os.environ["LULL_SAMPLES"], "django", host) for host in ("client", "httpd", "db")]
    for more in ([], ["--no-sync"]):
        options = [*more, "--timerange", "+12s,+13s"]
        printed = [json.loads(line)["host"] for line in run("print", "--json", *options, *traces).stdout.splitlines()]
        counts = dict.fromkeys(("client", "httpd", "db"), 0)
        for row in json.loads(run("info", "--events", "--json", *options, *traces).stdout)["events"]:
            counts[row["host"]] += row["count"]
        theirs = {host: printed.count(host) for host in counts}
        tap.ok(printed and counts == theirs, f"info {' '.join(options)}: the events that print prints", counts, theirs)
    whole, part = (json.loads(run("info", "--json", *more, *traces).stdout) for more in ([], ["--timerange", "+12s,+13s"]))
    tap.ok(whole["hosts"] == part["hosts"] and whole["traces"] == part["traces"], "the rest is in the time of each machine")


def containers_in_all_verbs():
    """What chooses tasks chooses containers too, but for the verb that reports a task of this machine; what has rows of tasks also has rows of
    containers. The others say why not."""
    verbs = list(helps())
    words = {verb: set(re.findall(r"--[a-z-]+", text)) for verb, text in helps().items()}
    lacking = {verb for verb in verbs if "--tid" in words[verb] and "--container" not in words[verb]} - {"trigger"}
    tap.ok(len(verbs) > 30 and not lacking, "--container is wherever --tid is", lacking, verbs)
    by_task = {"cputop", "schedtop", "schedstats", "waits", "iousagetop", "iolatencytop", "syscallstats", "memtop", "nettop", "futex", "counters"}
    tap.ok(by_task <= {verb for verb in verbs if re.search(r"--by\b.*\n?.*container", helps()[verb])}, "--by container, where rows are tasks")
    for option, verb in (("--by", "calls"), ("--by", "heap"), ("--by", "irqstats"), ("--container", "states"), ("--container", "hprof")):
        done = run(verb, option, "container", chain)
        tap.ok(done.returncode == 2 and f"there is no option {option}; it is for" in done.stderr, f"{verb} {option}: why not", done.stderr)


for test in (whom, lists, names_with_commas, paths_of_a_name, paths_of_several, no_lists, containers_in_all_verbs, nobody, paths_of_requests, times_of_several_hosts, filters_that_name_nothing):
    tap.run(test.__name__, test)
sys.exit(tap.done())

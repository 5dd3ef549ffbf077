#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull waits` against a replay of sched_switch and the wake-ups that knows nothing of Lull's model: what each task was blocked, in
# which state, and ready to run; against the stamps of the traced programs; against `lull schedlog`; and its options by arithmetic.
# Samples are in LULL_SAMPLES.
import collections
import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
tap = Tap()
DEAD = 16 | 32
LETTERS = ((2, "D"), (1, "S"), (4, "T"), (8, "t"), (64, "P"), (128, "I"))


def run(*arguments):
    done = subprocess.run([lull, *arguments], capture_output=True, text=True, timeout=120, env={**os.environ, "LC_ALL": "C.UTF-8"})
    if done.returncode:
        raise AssertionError(f"{arguments}: {done.returncode} {done.stderr}")
    return done.stdout


def waits(*arguments):
    windows = json.loads(run("waits", "--json", "--limit=0", *arguments))["windows"]
    return windows[0]["tables"] if len(windows) == 1 else [window["tables"] for window in windows]


def events(*arguments):
    return map(json.loads, run("print", "--json", "--events", "sched_*", *arguments).splitlines())


def number(value):
    return value["value"] if isinstance(value, dict) else value


class Replay:
    """What each task did, from the switches and wake-ups alone."""

    def __init__(self):
        self.state = {}  # tid → letter and since when; R ready to run, * running
        self.sums = collections.Counter()  # tid, letter → ns
        self.counts = collections.Counter()
        self.ran_before = set()  # since when is not known from these events

    def change(self, tid, letter, time):
        before = self.state.pop(tid, None)
        if before and time > before[1]:
            self.sums[tid, before[0]] += time - before[1]
            self.counts[tid, before[0]] += 1
        if letter:
            self.state[tid] = (letter, time)

    def feed(self, event):
        time, fields = event["time_ns"], event["fields"]
        if event["name"] == "sched_switch":
            left, taken = (fields.get(f"{which}_tid", fields.get(f"{which}_pid")) for which in ("prev", "next"))
            state = number(fields["prev_state"])
            letter = "R" if state & 255 == 0 else None if state & DEAD else next(name for bit, name in LETTERS if state & bit)
            if left:
                if left not in self.state:
                    self.ran_before.add(left)
                self.change(left, letter, time)
            if taken:
                self.change(taken, "*", time)
        else:
            tid = fields.get("tid", fields.get("pid"))
            state = self.state.get(tid, (None,))[0]
            if state is None or state not in "*R":
                self.change(tid, "R", time)

    def end(self, time):
        for tid in list(self.state):
            self.change(tid, None, time)


def replay(trace, *arguments):
    machine, last = Replay(), 0
    for event in events(trace, *arguments):
        if event["name"] in ("sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new"):
            machine.feed(event)
        last = event["time_ns"]
    return machine, last


def last_time(trace):
    *_, last = run("print", "--json", trace).rstrip().rpartition("\n")
    return json.loads(last)["time_ns"]


def sums_of(rows, key="total_ns"):
    found = collections.Counter()
    for row in rows:
        if row["state"] is not None:  # null: from a state dump, before the task's first switch
            found[row["task"]["tid"], row["state"]] += row[key]
    return found


def against_replay():
    for name in ("django/client", "django/httpd", "django/db", "truth/truth-chain", "truth/truth-locks", "truth/truth-preempt",
                 "truth/truth-relay", "truth/truth-disk-sync"):
        trace = os.path.join(samples, name)
        machine, _ = replay(trace)
        machine.end(last_time(trace))
        tables = waits(trace)
        running = collections.Counter({tid: ns for (tid, letter), ns in machine.sums.items() if letter == "*"})
        mine = collections.Counter({row["task"]["tid"]: row["running_ns"] for row in waits("--asleep", trace)["waits-by-task"]})
        wrong = {tid: (mine[tid], running[tid]) for tid in mine.keys() | running.keys()
                 if mine[tid] != running[tid] and not (tid in machine.ran_before and mine[tid] > running[tid])}
        tap.ok(running and len(machine.ran_before) < 5 and not wrong, f"{name}: time of each task on CPUs", wrong)
        for found in (machine.sums, machine.counts):
            for key in [key for key in found if key[1] == "*"]:
                del found[key]
        for what, mine, other in (("time", sums_of(tables["waits"]), machine.sums), ("count", sums_of(tables["waits"], "count"), machine.counts)):
            # A task that a state dump found waiting is known to wait before its first event.
            wrong = {key: (mine[key], other[key]) for key in mine.keys() | other.keys() if mine[key] != other[key]}
            tap.ok(other and not wrong, f"{name}: {what} of each task in each state", len(other), sorted(wrong.items())[:8])


def sums_agree():
    """The three tables are sums of the same waits."""
    for name in ("django/db", "truth/truth-relay"):
        tables = waits("--asleep", os.path.join(samples, name))
        rows = tables["waits"]
        for keys, table in (((("state", "cause")), tables["waits-by-cause"]),):
            expected = collections.Counter()
            for row in rows:
                expected[tuple(row[key] for key in keys)] += row["total_ns"]
            tap.ok(expected == {tuple(row[key] for key in keys): row["total_ns"] for row in table}, f"{name}: by cause")
        blocked, runnable = collections.Counter(), collections.Counter()
        for row in rows:
            (runnable if row["state"] == "R" else blocked)[row["task"]["tid"]] += row["total_ns"]
        by_task = {row["task"]["tid"]: row for row in tables["waits-by-task"]}
        tap.ok(all(row["blocked_ns"] == blocked[tid] and row["runnable_ns"] == runnable[tid] for tid, row in by_task.items()) and
               set(by_task) >= set(blocked) | set(runnable), f"{name}: by task")
        tap.ok([row["total_ns"] for row in rows] == sorted((row["total_ns"] for row in rows), reverse=True), f"{name}: longest first")
        tap.ok(abs(sum(row["share"] for row in rows) - 1) < 1e-3, f"{name}: shares add up to 1")
        tap.ok(all(row["longest_ns"] <= row["total_ns"] <= row["longest_ns"] * row["count"] for row in rows), f"{name}: longest and total")


def against_cputop_and_schedlog():
    """Time on CPUs is cputop's; the time from wake-up to CPU is that of the scheduling log."""
    for name in ("django/db", "truth/truth-preempt"):
        trace = os.path.join(samples, name)
        cpu = {row["process"]["tid"]: row["cpu_ns"]
               for row in json.loads(run("cputop", "--json", "--limit=0", trace))["windows"][0]["tables"]["per-process"]}
        mine = {row["task"]["tid"]: row["running_ns"] for row in waits("--asleep", trace)["waits-by-task"] if row["running_ns"]}
        # Who was on a CPU when the recording began is known to have run since then, by the first switch alone.
        more = [tid for tid, ns in cpu.items() if mine.get(tid, 0) != ns]
        tap.ok(set(mine) <= set(cpu) and len(more) <= 2 and all(mine[tid] < cpu[tid] for tid in more), f"{name}: running is what cputop says",
               [(tid, mine.get(tid), cpu[tid]) for tid in more])
        log = json.loads(run("schedlog", "--json", trace))["windows"][0]["tables"]["log"]
        longest = collections.Counter()
        for row in log:
            longest[row["wakee"]["tid"]] = max(longest[row["wakee"]["tid"]], row["latency_ns"])
        woken = collections.Counter()
        for row in waits(trace)["waits"]:
            if row["cause"] == "woken":
                woken[row["task"]["tid"]] = max(woken[row["task"]["tid"]], row["longest_ns"])
        tap.ok(longest and woken and all(woken[tid] <= ns for tid, ns in longest.items()), f"{name}: no wait for a CPU is longer than its latency")
        tap.ok(sum(longest[tid] == ns for tid, ns in woken.items()) > len(woken) * 0.9, f"{name}: and most of the longest are equal",
               len(woken))


def against_programs():
    """What the programs were written to do; see the samples' texts."""
    tables = waits("--comm", "t-waiter,t-holder,t-child", os.path.join(samples, "truth/truth-locks"))

    def rows(**wanted):
        return [row for row in tables["waits"] if all(row[key] == value for key, value in wanted.items())]

    lock = rows(call="flock")
    tap.ok(len(lock) == 1 and lock[0]["task"]["comm"] == "t-waiter" and lock[0]["by"]["comm"] == "t-holder" and
           lock[0]["cause"] == "task" and lock[0]["object"] == "/root/truth.lock" and 0.05e9 < lock[0]["total_ns"] < 0.12e9, "flock: t-waiter, ended by t-holder", lock)
    child = [row for row in rows(call="wait4") if row["by"]["comm"] == "t-child"]
    tap.ok(len(child) == 1 and 0.032e9 <= child[0]["total_ns"] < 0.06e9, "wait4: naps 20 ms and burns 12 ms", child)
    nap = [row for row in rows(call="clock_nanosleep") if row["task"]["comm"] == "t-child"]
    tap.ok(len(nap) == 1 and 20e6 <= nap[0]["total_ns"] < 25e6 and nap[0]["cause"] == "timer", "t-child naps 20 ms", nap)
    rows = waits("--state", "R", "--comm", "t-victim,t-rival", os.path.join(samples, "truth/truth-preempt"))["waits"]
    by = collections.Counter()
    for row in rows:
        if row["cause"] == "preempted" and row["by"]:
            by[row["task"]["comm"], row["by"]["comm"]] += row["total_ns"]
    tap.ok(by["t-victim", "t-rival"] > 0.5 * sum(ns for (who, _), ns in by.items() if who == "t-victim") and
           by["t-rival", "t-victim"] > 0.5 * sum(ns for (who, _), ns in by.items() if who == "t-rival"),
           "t-victim and t-rival keep each other from the CPU", by)
    rows = waits("--state", "D", "--comm", "t-reads", os.path.join(samples, "truth/truth-disk-direct"))["waits"]
    tap.ok(sum(row["total_ns"] for row in rows) > 0.7e9 and rows[0]["count"] >= 35, "t-reads waits some 820 ms for the disk", rows[:2])


def windows_and_options():
    trace = os.path.join(samples, "truth/truth-relay")
    whole = waits("--asleep", trace)
    slices = waits("--asleep", "--refresh", "50ms", trace)
    expected = {(row["state"], row["task"]["tid"]): 0 for row in whole["waits"]}
    total = collections.Counter(expected)
    parts = collections.Counter(expected)
    for row in whole["waits"]:
        total[row["state"], row["task"]["tid"]] += row["total_ns"]
    for tables in slices:
        for row in tables.get("waits", []):
            parts[row["state"], row["task"]["tid"]] += row["total_ns"]
    tap.ok(len(slices) > 3 and parts == total, "slices add up to the whole", len(slices), parts - total, total - parts)
    rows = whole["waits"]
    tap.ok(waits("--state", "D", trace)["waits"] and
           {row["state"] for row in waits("--state", "D,R", trace)["waits"]} == {"D", "R"}, "--state")
    long = waits("--min", "5ms", trace)["waits"]
    tap.ok(long and all(row["total_ns"] >= row["count"] * 5e6 for row in long) and
           {row["task"]["tid"] for row in long} < {row["task"]["tid"] for row in rows}, "--min")
    some = waits("--comm", "t-client", trace)["waits"]
    tap.ok(some and {row["task"]["comm"] for row in some} == {"t-client"}, "--comm")
    asleep, awake = {row["task"]["tid"] for row in rows}, {row["task"]["tid"] for row in waits(trace)["waits"]}
    text = run("waits", trace)
    note = re.search(r"(\d+) tasks slept all the time", text)
    tap.ok(note and len(asleep - awake) <= int(note[1]) and asleep > awake, "tasks that sleep all the time are left out, and counted",
           len(asleep - awake), note)
    bad = subprocess.run([lull, "waits", "--state", "X", trace], capture_output=True, text=True, check=False)
    tap.ok(bad.returncode == 2 and "--state takes letters" in bad.stderr, "--state X", bad.stderr)


def stacks():
    trace = os.path.join(samples, "perf/chains.data")
    rows = waits("--stacks", trace)["waits"]
    chains = [row["stack"] for row in rows if row["stack"]]
    tap.ok(chains and all(re.fullmatch(r"\S+( < \S+)*", chain) for chain in chains), "--stacks: the calls that led into each wait",
           chains[:3])
    plain = waits(trace)["waits"]
    tap.ok(not any(row["stack"] for row in plain) and sum(row["total_ns"] for row in plain) == sum(row["total_ns"] for row in rows) and
           len(rows) >= len(plain), "and the same time without them")


def findings(name):
    windows = json.loads(run("stats", "--json", os.path.join(samples, name)))["windows"]
    return next(window["tables"]["findings"] for window in windows if window["analysis"] == "findings")


def a_report_opens_with_findings():
    text = run("stats", os.path.join(samples, "truth/truth-disk-sync"))
    tap.ok(re.search(r"\A(?:(?:Trace|Host|Time|Rows) .*\n)+\nFindings\n===", text), "stats opens with findings", text[:500])
    rows = findings("truth/truth-disk-sync")
    # t-sync appends and fsyncs ten times, some 560 ms of disk.
    mine = [row for row in rows if row["kind"] == "wait" and "t-sync/" in row["finding"] and ", in fsync" in row["finding"]]
    tap.ok(rows[0] in mine and 0.5e9 < sum(row["time_ns"] for row in mine) < 0.7e9, "t-sync waits in fsync", rows)
    disk = [row for row in rows if row["kind"] == "disk"]
    tap.ok(len(disk) == 1 and "disk vdb was busy" in disk[0]["finding"] and disk[0]["time_ns"] > 0.3e9, "the busiest disk is vdb", disk)
    lock = findings("truth/truth-locks")[0]
    tap.ok(re.search(r"t-waiter/\d+ waited \S+ ms for t-holder/\d+, in flock on /root/truth.lock \(once\)", lock["finding"]), "a lock", lock)
    for name in ("django/db", "truth/truth-preempt"):
        rows = findings(name)
        log = json.loads(run("schedlog", "--json", os.path.join(samples, name)))["windows"][0]["tables"]["log"]
        longest = sorted((row["latency_ns"] for row in log), reverse=True)[:3]
        tap.ok([row["time_ns"] for row in rows if row["kind"] == "delay"] == longest, f"{name}: the longest delays", longest)
        for row in rows:
            words = shlex.split(row["command"])
            done = subprocess.run([lull, *words[1:]], capture_output=True, text=True, check=False)
            tap.ok(words[0] == "lull" and done.returncode == 0 and len(done.stdout.splitlines()) > 3, f"{name}: {row['command']}", done.stderr)
    disk = [row["time_ns"] for row in findings("truth/truth-preempt") if row["kind"] == "disk"]
    tap.ok(disk == list(busy(os.path.join(samples, "truth/truth-preempt"), ".*").values()), "time in which a disk had requests", disk)
    # The tracer gives both disks one number; t-reads uses the second, and little else is recorded.
    disk = [row["time_ns"] for row in findings("truth/truth-disk-direct") if row["kind"] == "disk"]
    least, most = (list(busy(os.path.join(samples, "truth/truth-disk-direct"), comm).values())[0] for comm in ("t-reads", ".*"))
    tap.ok(len(disk) == 1 and least <= disk[0] <= most, "of two disks that of t-reads was busy", disk, least, most)


class Machine:
    """A trace of what a script says of CPUs and tasks."""

    def __init__(self):
        self.made = []

    def event(self, ms, name, payload, tid, cpu=0):
        self.made.append({"t": int(ms * 1e6), "n": name, "p": payload, "pc": {"cpu_id": cpu}, "sec": {"tid": tid}})

    def switch(self, ms, before, after, state, cpu=0):
        self.event(ms, "sched_switch", {"prev_comm": f"task{before}", "prev_tid": before, "prev_prio": 20, "prev_state": state,
                                        "next_comm": f"task{after}", "next_tid": after, "next_prio": 20}, before, cpu)

    def wake(self, ms, tid, by):
        self.event(ms, "sched_waking", {"comm": f"task{tid}", "tid": tid, "prio": 20, "target_cpu": 0}, by)

    @contextlib.contextmanager
    def trace(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            jsonl_to_ctf.write_trace(self.made, trace, {"hostname": "m"}, offset_ns=0)
            yield trace


def who_had_the_cpu():
    """Task 1 is preempted by 2, which is there for a moment, and has the CPU again after 3 (49 ms) and 4 (15 ms): 3 kept it. It is moved from
    a CPU that 3 has for 10 ms to one that 5 has for 20. At the end it still waits for 6."""
    machine = Machine()
    switch = machine.switch
    switch(0, 0, 1, 0)
    switch(10, 1, 2, 0)
    switch(10.01, 2, 3, 1)
    switch(59.01, 3, 4, 0)
    switch(74.01, 4, 1, 1)
    switch(75, 0, 5, 0, 1)
    switch(80, 1, 3, 0)
    machine.event(90, "sched_migrate_task", {"comm": "task1", "tid": 1, "prio": 20, "orig_cpu": 0, "dest_cpu": 1}, 3)
    switch(110, 5, 1, 1, 1)
    switch(115, 1, 6, 0, 1)
    switch(130, 3, 0, 1)
    switch(130, 6, 7, 0, 1)
    with machine.trace() as trace:
        rows = [(row["by"]["tid"], row["total_ns"] / 1e6) for row in waits("--tid=1", trace)["waits"] if row["state"] == "R"]
        tap.ok(rows == [(3, 64.01), (5, 30), (6, 15)], "who kept a task from a CPU is who had it longest meanwhile", rows)


def unseen_turns():
    """Task 5 is woken at 10 ms, and until the end, at 100 ms, it is not seen to get its CPU, which is free until 4 has it at 95 ms: it has had
    it, or a quota keeps it off. Task 6 is woken at 60 ms and waits for a CPU that 7 has until the end. Task 9 loses its CPU at 40 ms, which is free from then on."""
    machine = Machine()
    switch, wake = machine.switch, machine.wake
    switch(0, 5, 0, 1)
    switch(1, 0, 7, 0, 1)
    switch(1, 0, 8, 0, 2)
    switch(2, 7, 6, 0, 1)
    switch(3, 6, 7, 1, 1)
    wake(10, 5, 7)
    switch(20, 8, 9, 1, 2)
    switch(40, 9, 0, 0, 2)
    machine.event(60, "sched_waking", {"comm": "task6", "tid": 6, "prio": 20, "target_cpu": 1}, 7, 1)
    switch(95, 0, 4, 0)
    machine.event(100, "irq_handler_entry", {"irq": 9, "name": "disk"}, 0, 2)
    with machine.trace() as trace:
        rows = [(row["task"]["tid"], row["cause"], row["total_ns"] / 1e6) for row in waits(trace)["waits"] if row["state"] == "R"]
        tap.ok(sorted(rows) == [(5, "unknown", 90), (6, "woken", 40), (7, "preempted", 1), (9, "preempted", 60)], "who is woken, and its CPU is free, has had it unseen", rows)
        said = [row["finding"] for row in findings(trace) if row["kind"] == "wait"]
        tap.ok(not any("task5/" in one for one in said) and any("task6/6 waited 40.00 ms for a CPU, which task7/7 had longest" in one for one in said),
               "what is not known is no finding", said)


def busy_disk():
    """Two requests overlap, from 1 to 5 ms; the end of one at 10 ms was lost, as a later one from 20 to 22 ms shows; the one at 30 ms has not
    ended at 40 ms. So the disk was busy for 4 + 2 + 10 ms. A disk that never answers was busy all the time, one that did not take a request
    (block_rq_requeue) not with that."""
    for requests, requeued, busy_ms, said in (
            ([(1, 3), (2, 5), (10, None), (20, 22), (30, None)], None, 16, ": 5 requests, 2.333 ms on average; the end of 2 was not seen"),
            ([(1, None)], None, 39, ": 1 request; the end of 1 was not seen"),
            ([(1, 3), (30, None)], 31, 2, ": 2 requests, 2.000 ms on average; the end of 1 was not seen")):
        machine = Machine()
        machine.switch(0, 0, 1, 0)
        for number, (first, last) in enumerate(requests):
            request = {"dev": 253 << 20, "sector": 1000 * number, "nr_sector": 8, "rwbs": 4}
            machine.event(first, "block_rq_issue", request, 1)
            if last:
                machine.event(last, "block_rq_complete", request, 1)
        if requeued:
            machine.event(requeued, "block_rq_requeue", request, 1)
        machine.switch(40, 1, 0, 1)
        machine.made.sort(key=lambda event: event["t"])
        with machine.trace() as trace:
            rows = [row for row in findings(trace) if row["kind"] == "disk"]
            tap.ok(len(rows) == 1 and rows[0]["time_ns"] == busy_ms * 1e6 and rows[0]["finding"].endswith(said), "a disk is busy with requests of which an end is known", rows)


def threads_of_the_kernel():
    """What they wait for is no finding: who waits for them has one. 5 and 6 are such threads, as who is their parent says, 7 is none."""
    machine = Machine()
    for tid, parent in ((2, 0), (5, 2), (6, 2), (7, 1)):
        machine.event(0.01 * tid, "lttng_statedump_process_state", {
            "tid": tid, "pid": tid, "ppid": parent, "vtid": tid, "vpid": tid, "vppid": parent, "name": f"task{tid}", "type": 0, "mode": 5, "submode": 0,
            "status": 5, "cpu": 0, "ns_level": 0, "ns_inum": 1}, 1)
    machine.switch(1, 5, 7, 2)
    machine.switch(2, 7, 9, 2)
    machine.wake(12, 6, 9)
    machine.wake(13, 7, 9)
    machine.wake(41, 5, 9)
    machine.switch(42, 9, 6, 1)
    machine.switch(43, 6, 5, 1)
    machine.switch(44, 5, 7, 1)
    machine.switch(45, 7, 0, 1)
    with machine.trace() as trace:
        said = [(int(re.match(r"task(\d+)/", row["finding"])[1]), row["time_ns"] / 1e6) for row in findings(trace) if row["kind"] == "wait"]
        tap.ok(said == [(7, 31), (7, 11)], "waits of threads of the kernel are no findings", said)


def rests_and_locks():
    """Waits for futexes, of threads of one process. What they wait with says of some that they are for locks: futex(2), and glibc's
    lowlevellock.h (value 2 with FUTEX_WAIT is a lock that others wait for). Threads 11, 12 and 13 wait for work that 20 has for one of them: no
    finding. 14 waits 30 ms for a lock of 15, 16 for one that nobody lets go. 17 waits 40 ms for 18: for its result, or for work. 21 and 22
    have one after the other what no library is known to wait with; who had it wakes the other. 23 waits for what never comes. 24 waits for the
    other word of the condition variable of 25, which is woken by 20: they are a pool, too. 31 is a thread of another process that uses the
    address of 14 and waits with another value; 32 has a lock as the kernel has them (FUTEX_LOCK_PI), 33 one with the bit for waiters beside its
    owner. 34 is parked as Rust does it, with all bits set: it rests, as long as it is not woken."""
    wait, condition, lock_pi, private, waiters = 0, 9, 6, 128, 1 << 31
    machine = Machine()
    starts = {11: (0x1000, condition, 0), 12: (0x1000, condition, 0), 13: (0x1000, condition, 0), 14: (0x2000, wait, 2), 16: (0x3000, wait, 2),
              17: (0x4000, condition, 0), 21: (0x5000, wait, 7), 22: (0x5000, wait, 7), 23: (0x6000, condition, 0), 24: (0x7000, condition, 0),
              25: (0x7004, condition, 0), 31: (0x2000, wait, 3), 32: (0x8000, lock_pi, 0), 33: (0x9000, wait, waiters | 15),
              34: (0xa000, condition, 0xffffffff)}
    processes = collections.defaultdict(lambda: 10, dict.fromkeys((31, 32, 33, 34), 30))

    def event(ms, name, payload, tid):
        machine.made.append({"t": int(ms * 1e6), "n": name, "p": payload, "pc": {"cpu_id": 0}, "sec": {"tid": tid, "pid": processes[tid]}})

    def switch(ms, before, after, state):
        event(ms, "sched_switch", {"prev_comm": f"task{before}", "prev_tid": before, "prev_prio": 20, "prev_state": state,
                                   "next_comm": f"task{after}", "next_tid": after, "next_prio": 20}, before)
    for place, (tid, (address, operation, value)) in enumerate(starts.items()):
        at = 1 + place / 100
        switch(at, 0, tid, 0)
        event(at + 0.002, "syscall_entry_futex", {"uaddr": address, "op": operation | private, "val": value, "utime": 0, "uaddr2": 0, "val3": 0}, tid)
        switch(at + 0.005, tid, 0, 1)
    for ms, waker, tid in ((25, 15, 33), (31, 15, 14), (36, 15, 32), (41, 18, 17), (51, 20, 11), (56, 20, 21), (61, 21, 22), (66, 20, 24), (71, 20, 25), (76, 18, 31)):
        switch(ms, 0, waker, 0)
        event(ms + 0.001, "sched_waking", {"comm": f"task{tid}", "tid": tid, "prio": 20, "target_cpu": 0}, waker)
        switch(ms + 0.002, waker, tid, 1)
        event(ms + 0.003, "syscall_exit_futex", {"ret": 0, "uaddr": 0, "uaddr2": 0}, tid)
        switch(ms + 0.004, tid, 0, 1)
    event(100, "sched_switch", {"prev_comm": "task0", "prev_tid": 0, "prev_prio": 20, "prev_state": 0, "next_comm": "task0", "next_tid": 0, "next_prio": 20}, 0)

    def said_of(wanted):
        return [re.sub(r"waited \S+ \S+?(,| )", r"waited\1", row["finding"]) for row in wanted if row["kind"] == "wait" and ", in futex" in row["finding"]]
    with machine.trace() as trace:
        said = said_of(findings(trace))
        tap.ok(said == ["task16/16 waited, in futex on 0x3000, and still did at the end (once)",
                        "task32/32 waited for task15/15, in futex on 0x8000 (once)",
                        "task14/14 waited for task15/15, in futex on 0x2000 (once)",
                        "task31/31 waited for task18/18, in futex on 0x2000 (once; it may have had nothing to do)",
                        "task22/22 waited for task21/21, in futex on 0x5000 (once; it may have had nothing to do)"], "locks come first, then what may be rest", said)
        said = said_of(json.loads(run("stats", "--json", "--tid", "33", trace))["windows"][0]["tables"]["findings"])
        tap.ok(said == ["task33/33 waited for task15/15, in futex on 0x9000 (once)"], "a lock with a bit for waiters", said)


def delays_of_unseen_switches():
    """Task 7 is woken at 1 ms; that it has the CPU is first seen at 161 ms, by an event of its own: since when is not known. Task 8 is
    woken at 162 ms and gets the CPU at 164 ms, by a switch."""
    machine = Machine()
    machine.switch(0.2, 7, 9, 1)
    machine.wake(1, 7, 9)
    machine.event(161, "sched_stat_runtime", {"comm": "task7", "tid": 7, "runtime": 1, "vruntime": 1}, 7)
    machine.wake(162, 8, 7)
    machine.switch(164, 7, 8, 1)
    machine.switch(165, 8, 0, 1)
    with machine.trace() as trace:
        log = json.loads(run("schedlog", "--json", trace))["windows"][0]["tables"]["log"]
        tap.ok([row["latency_ns"] for row in log] == [2000000], "the latency of a switch that was seen, and no other", log)
        told = [row["finding"] for row in findings(trace) if row["kind"] == "delay"]
        tap.ok(told == ["task8/8 was woken and got a CPU 2.000 ms later, when task7/7 left it"], "nor is it a finding", told)


def busy(trace, comm):
    """By device, how long it had requests: the union of their times from issue to completion."""
    spans, open_requests = collections.defaultdict(list), {}
    for event in map(json.loads, run("print", "--json", "--events", "block_rq_*", trace).splitlines()):
        fields, time = event["fields"], event["time_ns"]
        # What moves no data has sector 0 when it is issued and -1 when it is complete.
        key = (fields["dev"], fields["sector"]) if fields["nr_sector"] else (fields["dev"], "none", fields["rwbs"])
        if event["name"] == "block_rq_issue" and re.fullmatch(comm, fields["comm"]):
            open_requests[key] = time
        elif event["name"] == "block_rq_complete" and key in open_requests:
            spans[fields["dev"]].append((open_requests.pop(key), time))
    found = {}
    for device, all_spans in spans.items():
        total, end = 0, 0
        for first, last in sorted(all_spans):
            total += max(0, last - max(first, end))
            end = max(end, last)
        found[device] = total
    return found


def paths_given():
    """Who blocks in a call that was given a path waits for that."""
    calls = {"newfstatat": "filename", "newlstat": "filename", "access": "filename", "faccessat": "filename", "readlink": "path", "statfs": "pathname",
             "unlink": "pathname", "mkdir": "pathname", "chdir": "filename", "statx": "filename"}
    expected, found = collections.Counter(), collections.Counter()
    for name in ("client", "httpd", "db"):
        trace, given = os.path.join(samples, "django", name), {}
        for event in map(json.loads, run("print", "--json", "--events", "syscall_*,sched_switch", trace).splitlines()):
            fields, tid = event["fields"], event["context"]["tid"]
            if event["name"] == "sched_switch":
                if fields["prev_state"] & 255 and fields["prev_tid"] in given:
                    expected[name, fields["prev_tid"], *given[fields["prev_tid"]]] += 1
                continue
            way, call = event["name"].split("_", 2)[1:]
            given.pop(tid, None)
            if way == "entry" and call in calls:
                given[tid] = call, fields[calls[call]]
        for row in waits(trace)["waits"]:
            if row["call"] in calls and row["state"] != "R":
                key = name, row["task"]["tid"], row["call"], row["object"]
                found[key if key in expected else (*key[:3], "")] += row["count"]  # "": it was given a descriptor instead
    wrong = {key: (found[key], expected[key]) for key in found.keys() | expected.keys() if found[key] != expected[key]}
    tap.ok(expected and not wrong, f"{expected.total()} waits in calls with a path are for that", wrong)


for test in (busy_disk, threads_of_the_kernel, rests_and_locks, unseen_turns, who_had_the_cpu, delays_of_unseen_switches, a_report_opens_with_findings, against_replay, sums_agree, paths_given, against_cputop_and_schedlog, against_programs, windows_and_options, stacks):
    tap.run(test.__name__, test)
sys.exit(tap.done())

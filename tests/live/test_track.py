#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull track` against programs that know how long they waited, and for whom: their own stamps, and the kernel's counters.
#
# With LULL_LIVE=all more rounds of each. Without the right to bpf() it is skipped, with the reason.
import collections
import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time

from lib.busy import busy_cpus
from lib.running import Running
from live.tracked import BACKEND, LULL, PROGRAM, Hidden, counted, has_event, inside, lull_track, names, track, track_once, why_not
from tap import Tap

MS = 1_000_000
ROUNDS = 10 if os.environ.get("LULL_LIVE") == "all" else 1
tap = Tap()


def test_thresholds():
    """Each wait that is longer than the threshold is reported once, none that is not."""
    threshold = 3 * MS
    alarms, summary, sleeps = track(["offcpu > 3ms"], "sleeps", 150 * ROUNDS, threshold)
    found = [[alarm for alarm in alarms if inside(alarm, sleep)] for sleep in sleeps]
    # No sleep is shorter than was asked for, but for what the task did between setting the timer and leaving the CPU: far
    # less than this unless another took the CPU from it there.
    surely = [index for index, s in enumerate(sleeps) if int(s.label) > threshold + MS and s.lost == 0]
    tap.ok(len(sleeps) == 150 * ROUNDS, "there are waits on either side", len(sleeps))
    if not surely:
        tap.skip("longer waits", "another program took the CPU during each: this machine is too busy")
    tap.ok(all(len(found[index]) == 1 for index in surely), "each longer wait is reported exactly once",
           [(sleeps[index], found[index]) for index in surely if len(found[index]) != 1][:3])
    tap.ok(all(len(of) <= 1 for of in found), "none is reported twice")
    wrong = [s for s, of in zip(sleeps, found) if of and s.after - s.before <= threshold]
    tap.ok(not wrong, "none that its stamps say was not longer", wrong[:3])
    tap.ok(all(alarm["delay_ns"] > threshold for alarm in alarms), "no alarm is below the threshold")
    own = [alarm for alarm in alarms if alarm["task"]["tid"] == sleeps[0].tid and alarm["call"] == "clock_nanosleep"]
    tap.ok(len(own) == sum(map(len, found)), "each alarm lies between the stamps of one wait", len(own))
    tap.ok(all(names(alarm) == ["timer"] and alarm["call"] == "clock_nanosleep" for alarm in sum(found, [])),
           "a timer ended them, in clock_nanosleep", [(names(a), a["call"]) for a in own if names(a) != ["timer"]][:3])
    kept = summary["alarms"] + summary["filtered"] + summary["limited"] + summary["lost"]
    tap.ok(kept == summary["candidates"], "what is counted adds up", summary)


def test_calls():
    """Each system call that takes longer is reported once, none that does not: a sleep is never shorter than was asked for."""
    threshold = 3 * MS
    rules = ["syscall(clock_nanosleep) > 3ms", "syscall(read) > 3ms"]
    alarms, summary, sleeps = track_once(rules, "sleeps", 150 * ROUNDS, threshold)
    found = [[alarm for alarm in alarms if inside(alarm, sleep)] for sleep in sleeps]
    longer = [index for index, sleep in enumerate(sleeps) if int(sleep.label) > threshold]
    tap.ok(len(longer) >= 70 * ROUNDS, "there are calls on either side", len(longer))
    tap.ok(all(len(found[index]) == 1 for index in longer), "each longer call is reported exactly once",
           [(sleeps[index], found[index]) for index in longer if len(found[index]) != 1][:3])
    wrong = [s for s, of in zip(sleeps, found) if len(of) > 1 or (of and s.after - s.before <= threshold)]
    tap.ok(not wrong, "none twice, and none that its stamps say was not longer", wrong[:3])
    own = [alarm for alarm in alarms if alarm["call"] == "clock_nanosleep"]
    tap.ok(len(own) == sum(map(len, found)), "each lies between the stamps of one sleep", len(own), summary)
    tap.ok(all(a["call"] in ("clock_nanosleep", "read") for a in alarms), "none is of another call", alarms[:2])
    tap.ok(all(a["object"] is None and a["state"] is None and not a["chain"] for a in alarms), "it has no state or waker", alarms[:2])
    tap.ok(summary["events"] >= len(sleeps), "short calls are counted, too", summary)


def opened_and_ended(alarms, wait):
    of = [alarm for alarm in alarms if inside(alarm, wait)]
    return [alarm for alarm in of if alarm["is_open"]], [alarm for alarm in of if not alarm["is_open"]]


def test_timeouts():
    """A wait that is still open is reported once, before it ends, and at its end again; a shorter one is not."""
    for rule, call in (("offcpu: comm == \"c1\" timeout 100ms", "clock_nanosleep"),
                       ("syscall(read): comm == \"c0\" > 10ms timeout 100ms", "read")):
        who = rule.split("\"")[1]
        for _ in range(5):
            alarms, summary, stamps = track_once([rule], "chain", 2, 900, 1)
            wait, = [s for s in stamps if s.label == who]
            opened, ended = opened_and_ended(alarms, wait)
            if opened:  # else nobody had a CPU to look for it in time
                break
        tap.ok(len(opened) == 1 and opened[0]["delay_ns"] > 100 * MS, f"{rule}: reported while it is open", alarms, wait)
        tap.ok(len(ended) == 1 and all(a["begin_ns"] == ended[0]["begin_ns"] for a in opened), "and again at its end", alarms)
        tap.ok(all(a["call"] == call and a["task"]["comm"] == who and not a["chain"] and not a["stack"] and a["uid"] == os.getuid()
                   for a in opened), "with its call, and nobody yet for whom", opened)
        kept = summary["alarms"] + summary["filtered"] + summary["limited"] + summary["lost"]
        tap.ok(kept == summary["candidates"], "what is counted adds up", summary)
    alarms, _, _ = track_once(["offcpu: comm == \"c1\" timeout 20s", "poll: comm == \"c1\" timeout 10ms"], "chain", 2, 400, 1)
    tap.ok(not alarms, "neither before the time-out, nor in another call", alarms)


def test_chains():
    """c0 waits for c1, which waits for c2, …; the last one sleeps."""
    for length in range(2, 7) if ROUNDS > 1 else (2, 4, 6):
        alarms, _, stamps = track(["offcpu: comm == \"c0\" > 5ms"], "chain", length, 25, 2 * ROUNDS)
        wanted = [f"c{i}" for i in range(1, length)] + ["timer"]
        # A round counts if each task was there well before the sleeper woke, by its own stamps.
        by_task = [[s for s in stamps if s.label == f"c{i}"] for i in range(length)]
        judged = 0
        for round_ in zip(*by_task):
            if any(s.before > round_[-1].after - 5 * MS for s in round_):
                continue
            judged += 1
            of = [alarm for alarm in alarms if inside(alarm, round_[0])]
            tap.ok(len(of) == 1 and names(of[0]) == wanted[:4] and of[0]["chain_is_cut"] == (length > 4),
                   f"a chain of {length} tasks is {' '.join(wanted[:4])}", of)
            for alarm in of:
                check_parts(alarm)
        if judged == 0:
            tap.skip(f"a chain of {length}", "no round in which all tasks waited at once: this machine is too busy")


def check_parts(alarm):
    """They go back from the end without hole or overlap."""
    parts, begin = alarm["chain"], alarm["begin_ns"]
    ends = [alarm["end_ns"] - alarm["cpu_wait_ns"]] + [part["begin_ns"] for part in parts]
    tap.ok(all(part["end_ns"] == end for part, end in zip(parts, ends)) and
           (ends[-1] == begin) != alarm["chain_is_cut"], "its parts cover the wait", alarm)


def test_mutex():
    alarms, _, stamps = track(["futex: comm == \"waiter\" > 5ms"], "mutex", 20, 5 * ROUNDS)
    long = [s for s in stamps if s.after - s.before > 10 * MS]
    of = [[alarm for alarm in alarms if inside(alarm, s)] for s in long]
    tap.ok(all(len(found) == 1 and found[0]["call"] == "futex" for found in of), "each wait for the lock is reported", of)
    tap.ok(all(names(found[0]) == ["holder", "timer"] for found in of if found), "it was for the holder, who slept", of)


def test_preempt():
    """The kernel's own run_delay of each task is the sum of its waits for a CPU."""
    alarms, summary, stamps = track(["preempt > 20us"], "spin", 400)
    if summary["limited"] or summary["lost"]:
        tap.skip("preempted tasks", f"there was too much to report: {summary}")
        return
    for stamp in stamps:
        reported = sum(alarm["delay_ns"] for alarm in alarms if alarm["task"]["tid"] == stamp.tid)
        delayed = stamp.after - stamp.before
        tap.ok(0.9 * delayed - 10 * MS <= reported <= 1.1 * delayed + 10 * MS, "preempted as long as the kernel says",
               f"{reported} ns reported, run_delay {delayed} ns")


def test_packets():
    alarms, _, stamps = track(["offcpu: comm == \"receiver\" > 5ms"], "socket", 20, 5 * ROUNDS)
    long = [s for s in stamps if s.after - s.before > 10 * MS]
    of = [[alarm for alarm in alarms if inside(alarm, s)] for s in long]
    tap.ok(long and all(len(found) == 1 and names(found[0]) == ["packet"] for found in of), "a packet ended each", of)
    details = {found[0]["chain"][0]["detail"] for found in of if found}
    tap.ok(all(re.fullmatch(r"a packet from 127\.0\.0\.1:\d+", detail) for detail in details) and len(details) == 1,
           "all from the same address and port", details)


def test_requests():
    """A direct read of one block is one request, which lies within the read's stamps."""
    path = os.path.join(os.environ["LULL_SCRATCH"], f"live-waits-{os.getpid()}")
    alarms, summary, reads = track_once(["block > 0ns"], "disk", path, 100)
    of = [[alarm["object"] for alarm in alarms if inside(alarm, read)] for read in reads]
    if not any(of):
        tap.skip("requests", "this file system has no direct reads, or no disk under it")
        return
    # Who gives a request to the disk also gives it those of others that wait: the block is what nearly all have. Now and
    # then another gives ours.
    (detail, sector), _ = collections.Counter((found["detail"], found["sector"]) for found in sum(of, [])).most_common(1)[0]
    numbers = [sum((found["detail"], found["sector"]) == (detail, sector) for found in objects) for objects in of]
    tap.ok(numbers.count(1) >= 50 and max(numbers) == 1, "each read is one request of one sector", detail, numbers)
    tap.ok(re.fullmatch(r"disk \S+ \(read\)", detail), "it reads from a disk", detail)
    tap.ok(os.path.exists(f"/sys/block/{detail.split()[1]}"), "the disk is one of this machine", detail)
    alarms, _, _ = track_once([f"block({detail.split()[1]}): rw == \"write\" > 0ns"], "disk", path, 20)
    tap.ok(all("(write)" in alarm["object"]["detail"] for alarm in alarms), "rw == write leaves out reads", alarms[:2])
    tap.ok(summary["lost"] == 0, "nothing was lost", summary)


def test_interrupts():
    """As many as the kernel's own counters say: more than while Lull surely ran, not more than while it may have run."""
    # A softirq starts once for all that raised it since it last did: there are as many starts as delays of them.
    for kind, path in ("softirq", "/proc/softirqs"), ("raise", "/proc/softirqs"), ("irq", "/proc/interrupts"):
        happened = "irq" if kind == "irq" else "softirq"
        outer = counted(path)
        with Running([LULL, "track", "--backend", BACKEND, "--json", f"{kind} > 0ns"], stdout=subprocess.PIPE, text=True) as process:
            first = json.loads(process.stdout.readline())  # it tracks
            inner = counted(path)
            time.sleep(0.2)
            inner = counted(path) - inner
            process.send_signal(signal.SIGTERM)
            *alarms, last = map(json.loads, process.stdout)
        outer = counted(path) - outer
        tap.ok(0.9 * inner <= last["summary"]["events"] <= outer, f"{kind}: as many as {path} says", inner, last, outer)
        tap.ok(all(alarm["object"]["kind"] == happened for alarm in [first, *alarms]), f"{kind}: all alarms are of that kind", alarms[:2])
    done = subprocess.run([LULL, "track", "irq > 1s", "--", "true"], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 2 and "interrupts belong to no command" in done.stderr, "interrupts are of no command", done)


def test_filters():
    """Filters of the kernel and of user space take the same."""
    for rule in ("offcpu: comm == \"c1\" > 5ms", "offcpu: comm =~ \"c[1]\" > 5ms"):
        alarms, _, _ = track([rule], "chain", 3, 20, 2)
        tap.ok(alarms and {alarm["task"]["comm"] for alarm in alarms} == {"c1"}, rule, alarms)
    alarms, _, _ = track(["offcpu: waker_comm == \"c2\" > 5ms"], "chain", 3, 20, 2)
    tap.ok(alarms and all(names(alarm)[0] == "c2" for alarm in alarms), "waker_comm", alarms)
    alarms, _, _ = track(["offcpu > 1ms", "poll > 1ms", "futex > 1ms", "fault > 1h", "offcpu(D): comm == \"c0\" > 1ms"], "chain",
                         2, 20, 2)
    tap.ok({alarm["kind"] for alarm in alarms if alarm["task"]["comm"] in ("c0", "c1")} == {"offcpu"},
           "a read of a pipe is no poll, futex, fault or disk wait", [a for a in alarms if a["kind"] != "offcpu"][:2])
    alarms, _, _ = track(["offcpu: comm =~ \"c[01]\" > 1ms worst"], "chain", 2, 20, 3)
    lengths = [alarm["delay_ns"] for alarm in alarms]
    tap.ok(lengths and all(a < b for a, b in itertools.pairwise(lengths)), "worst: each is longer than all before", lengths)


def test_limit():
    """Over 1000 alarms a second are counted, and nothing else is lost."""
    alarms, summary, sleeps = track_once(["offcpu > 1us"], "sleeps", 2500, 60_000)
    tap.ok(summary["limited"] > 0 or len(sleeps) / (sleeps[-1].after - sleeps[0].before) * 1e9 < 1500,
           "alarms over the limit are counted", summary)
    # A timer may end a sleep before the task has left the CPU: then it did not wait.
    tap.ok(len(alarms) + summary["limited"] + summary["lost"] == summary["candidates"] >= 0.9 * len(sleeps),
           "kept and counted are all", len(alarms), len(sleeps), summary)
    tap.ok(summary["lost"] == 0, "the ring buffer had room", summary)


def test_forks():
    """Each task that the program starts runs for the first time once."""
    alarms, _, stamps = track(["fork > 0ns"], "chain", 4, 5, 1)
    started = {stamp.tid for stamp in stamps}
    if os.environ.get("LULL_SANITIZED"):  # the search for leaks, at the end of each process, is a task of its own
        alarms = [alarm for alarm in alarms if alarm["task"]["tid"] in started]
    tap.ok(len(started) == 4 and sorted(alarm["task"]["tid"] for alarm in alarms) == sorted(started), "one for each fork",
           started, alarms)
    tap.ok(all(alarm["chain"] == [] and alarm["delay_ns"] == alarm["cpu_wait_ns"] for alarm in alarms), "all of it for a CPU", alarms)


def test_governor():
    """What costs too much is given up; lengths stay."""
    if BACKEND != "bpf":
        tap.skip("chains are given up", "that costs less with eBPF alone")
        return
    alarms, summary, sleeps = track_once(["offcpu > 1ms"], "sleeps", 200, 4 * MS, overhead="0.00001%")
    tap.ok(not summary["has_chains"] and summary["overhead"] > 0, "the chains are given up", summary)
    tap.ok(summary["overhead"] < 1, "the overhead is a share", summary)
    late = [alarm for alarm in alarms if any(inside(alarm, s) for s in sleeps[-20:])]
    tap.ok(late and all(alarm["chain"] == [] and alarm["delay_ns"] > MS for alarm in late), "lengths without chains", late[:2])


def test_list():
    """Each kind of the schema, in its order; what a kernel lacks is what its own types do not name."""
    with open(os.path.join(os.environ["LULL_SOURCE"], "schema", "lull-track.schema.json"), encoding="utf-8") as file:
        wanted = json.load(file)["anyOf"][0]["properties"]["kind"]["enum"]
    kinds = json.loads(lull_track("--list", "--json"))["kinds"]
    tap.ok(sorted(kind["kind"] for kind in kinds) == sorted(wanted), "--list has all kinds", kinds)
    tap.ok(all(kind["lacks"] is None or not has_event(kind["lacks"]) for kind in kinds),
           "what the kernel has is not said to be missing", kinds)
    lines = lull_track("--list").splitlines()
    tap.ok([line.split()[0] for line in lines[1:]] == [kind["kind"] for kind in kinds], "a line each", lines)
    done = subprocess.run([LULL, "track", "--list", "offcpu > 1s"], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 2 and "neither rules nor a command" in done.stderr, "--list takes no rules", done)


def links(pid):
    """What a process has open. It may close a file that it reads meanwhile."""
    folder = f"/proc/{pid}/fd"
    found = []
    with contextlib.suppress(FileNotFoundError):
        for fd in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                found.append(os.readlink(os.path.join(folder, fd)))
    return found


def test_ends():
    """Text, --count, --duration, signals, and the status of the command."""
    for _ in range(5):
        out = lull_track("offcpu: call == \"clock_nanosleep\" > 1ms", "--", PROGRAM, "/dev/null", "sleeps", "1", "40000000")
        if "did not show" not in out:
            break
    found = re.search(r"^\d\d:\d\d:\d\d\.\d{9} offcpu ([\d.]+) ms > 1\.000 ms  live-waits/\d+ in clock_nanosleep \(S\)\n"
                      r"   ([\d.]+) ms for a timer(, [\d.]+ [um]s for a CPU)?\n" + ("   in hrtimer_nanosleep " if BACKEND == "bpf" else ""), out, re.M)
    tap.ok(found and 19.9 < float(found[2]) <= float(found[1]), "text says what, how long, who and why", out)
    tap.ok(re.search(r"^1 alarm of \d+ waits?(, \d+ filtered)?; lost: (nothing|\d+ waits that the kernel did not show).*\n" +
                     (r"\Z" if BACKEND == "bpf" else f"by {BACKEND}, which cannot see "), out, re.M), "the last line has the counts", out)
    with open(os.path.join(os.environ["LULL_SOURCE"], "schema", "lull-track.schema.json"), encoding="utf-8") as file:
        alarm, summary = json.load(file)["anyOf"][:2]
    counted = lull_track("--count", "2", "--json", "offcpu > 100us").splitlines()
    tap.ok(len(counted) == 3, "--count 2 ends after two", counted)
    *alarms, last = map(json.loads, counted)
    tap.ok(all(set(of) == {"lull_track", *alarm["required"]} for of in alarms), "the schema has all members of alarms", alarms)
    members = summary["properties"]["summary"]["required"]
    tap.ok(set(last) == {"lull_track", "summary"} and set(last["summary"]) == set(members), "and of the summary", last)
    start = time.monotonic()
    lull_track("--duration", "300ms", "offcpu > 1s")
    tap.ok(0.3 <= time.monotonic() - start < 10, "--duration ends it")
    done = subprocess.run([LULL, "track", "offcpu > 1s", "--", "sh", "-c", "exit 7"], capture_output=True, timeout=60, check=False)
    tap.ok(done.returncode == 7, "the status is the command's", done)
    done = subprocess.run([LULL, "track", "offcpu > 1s", "--", "/nonexistent"], capture_output=True, timeout=60, check=False)
    tap.ok(done.returncode == 127, "127: no such command", done)
    for number, wanted in (signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL):
        with Running([LULL, "track", "--json", "offcpu > 1us"], stdout=subprocess.PIPE) as process:
            process.stdout.readline()  # it tracks
            tap.ok(any("bpf" in link for link in links(process.pid)), "it holds eBPF programs")
            process.send_signal(number)
            process.stdout.read()
            tap.ok(process.wait(20) == wanted, f"{signal.Signals(number).name} ends it", process.returncode)


def test_refusal():
    """Where bpf() is not permitted, one line says so."""
    command = ["unshare", "--user", "--map-root-user", LULL, "track", "--backend", "bpf", "offcpu > 1s", "--duration", "100ms"]
    if subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True, check=False, timeout=60).returncode:
        tap.skip("without the right to bpf()", "no user namespaces here")
        return
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    tap.ok(done.returncode == 1 and done.stderr.count("\n") == 1 and "CAP_BPF" in done.stderr and "not permitted" in done.stderr,
           "without the right to bpf() one line says why", done)


def unless_hidden(test):
    try:
        test()
    except Hidden as hidden:
        tap.skip(test.__name__, str(hidden))


def main():
    reason = why_not()
    if reason:
        tap.skip("lull track", reason)
        return tap.done()
    os.nice(-20)  # what else runs on the machine is not what is tested
    # Over ftrace this kernel hides switches of idle CPUs.
    with busy_cpus() if BACKEND == "ftrace" else contextlib.nullcontext():
        run_all()
    return tap.done()


def run_all():
    for test in (test_thresholds, test_calls, test_timeouts, test_chains, test_mutex, test_preempt, test_packets, test_requests,
                 test_interrupts, test_filters, test_limit,
                 test_forks, test_governor, test_ends, test_list,
                 test_refusal):
        tap.run(test.__name__, unless_hidden, test)


sys.exit(main())

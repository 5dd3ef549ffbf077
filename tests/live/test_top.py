#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull top` against programs that know how long they waited, and for whom: their own stamps, and the kernel's counters.
#
# Without the right to bpf() it is skipped, with the reason.
import collections
import contextlib
import itertools
import json
import os
import pty
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import termios
import time

from lib.running import Running
from live.tracked import BACKEND, LULL, PROGRAM, Hidden, Stamp, counted, why_no_ftrace, why_not
from tap import Tap

MS = 1_000_000
SUMS = "ran_ns", "blocked_ns", "cpu_wait_ns", "unknown_ns"
tap = Tap()

Seen = collections.namedtuple("Seen", "rows processes lines stamps pids usage")


def watch_once(*what, rules=()):
    """What lull top sees of the program, with its stamps and what the kernel says that it used."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stamps")
        with Running([LULL, "top", "--backend", BACKEND, "--json", "--idle", "--interval", "200ms", "--max-overhead", "100%",
                               *(word for rule in rules for word in ("--rule", rule))], stdout=subprocess.PIPE, text=True) as top:
            lines = [top.stdout.readline()]  # it watches
            program = subprocess.Popen([PROGRAM, path, *map(str, what)])
            _, status, usage = os.wait4(program.pid, 0)
            program.returncode = status
            top.send_signal(signal.SIGTERM)
            lines += top.stdout
        with open(path, encoding="utf-8") as file:
            fields = [line.split() for line in file]
    lines = [json.loads(line) for line in lines]
    tap.ok(top.returncode == 0 and status == 0, "both end well", top.returncode, status)
    stamps = [Stamp(int(f[0]), f[1], int(f[2]), int(f[3]), int(f[4])) for f in fields]
    return Seen([row for line in lines for row in line["rows"]], [p for line in lines for p in line["processes"]], lines,
                stamps, {program.pid, *(stamp.tid for stamp in stamps)}, usage)


def watch(*what, rules=()):
    for _ in range(4):
        seen = watch_once(*what, rules=rules)
        hidden = [p for p in seen.processes if p["pid"] in seen.pids and p["unknown_ns"]]
        hidden += [row for row in seen.rows if row["pid"] in seen.pids and row["end"] == "unknown"]
        if not hidden:
            return seen
    raise Hidden(f"this kernel hides switches: {hidden[0]}")


def links(row):
    return [link["task"]["comm"] if link["task"] else link["kind"] for link in row["chain"]]


def test_chains():
    """c0 waits for c1, that for c2, who sleeps: ten times 20 ms."""
    seen = watch("chain", 3, 20, 10)
    for name, wanted, call in ("c0", ["c1", "c2", "timer"], "read"), ("c1", ["c2", "timer"], "read"), ("c2", ["timer"], "clock_nanosleep"):
        stamps = [s for s in seen.stamps if s.label == name]
        rows = [row for row in seen.rows if row["comm"] == name and row["call"] == call]
        of_chain = [row for row in rows if links(row) == wanted]
        took = sum(s.after - s.before for s in stamps)
        waited = sum(row["waited_ns"] for row in rows)
        # Each wait lies between its stamps; the program does little else there, unless another has its CPU. Of a wait that
        # goes on from one interval into the next, the first part is in the sums of its process alone.
        of_process = [p for p in seen.processes if p["pid"] == stamps[0].tid]
        blocked, delayed = (sum(p[key] for p in of_process) for key in ("blocked_ns", "cpu_wait_ns"))
        tap.ok(waited <= took, f"{name}: no longer than its stamps say", waited, took)
        tap.ok(blocked >= 0.95 * took - delayed - 10 * MS, f"{name}: as long as its stamps say", blocked, took, delayed)
        tap.ok(sum(row["waits"] for row in of_chain) >= 9 and all(row["end"] == "timer" for row in of_chain),
               f"{name}: it waited for {' '.join(wanted)}", rows)
        tap.ok(all(row["pid"] == stamps[0].tid and row["longest_ns"] <= max(s.after - s.before for s in stamps) for row in rows),
               f"{name}: the longest is no longer than its longest", rows)
    slept = [line["summary"] for line in seen.lines]
    tap.ok(all(s["damaged"] == s["missed"] == s["unsummed"] == 0 for s in slept), "nothing is lost", slept[-1])


def test_mutex():
    seen = watch("mutex", 20, 5)
    rows = [row for row in seen.rows if row["comm"] == "waiter" and row["call"] == "futex" and row["longest_ns"] > 10 * MS]
    long = [s for s in seen.stamps if s.after - s.before > 10 * MS]
    tap.ok(sum(row["waits"] for row in rows) >= len(long) > 0, "each wait for the lock is in a row", rows, long)
    tap.ok(rows and all(links(row) == ["holder", "timer"] for row in rows), "they were for the holder, who slept", rows)


def test_packets():
    seen = watch("socket", 20, 5)
    rows = [row for row in seen.rows if row["comm"] == "receiver" and row["longest_ns"] > 10 * MS and row["call"] == "read"]
    tap.ok(rows and all(row["end"] == "network" and re.fullmatch(r"a packet from 127\.0\.0\.1(:| to port )\d+", row["chain"][0]["detail"])
                        for row in rows), "a packet ended them", rows)


def test_recording():
    """The same as a recording of the same seconds says, which reads every event."""
    for what in (["chain", "3", "20", "15"], ["spin", "150"]) if os.environ.get("LULL_LIVE") == "all" else (["chain", "3", "20", "15"],):
        for _ in range(4):  # some kernels hide from a recorder when an idle CPU takes a task up, so it has to guess
            compared = compare_with_recording(what)
            if compared and not any(wrong for _, wrong in compared):
                break
        if not compared:
            raise Hidden("this kernel hid something of each task")
        for comm, wrong in compared:
            tap.ok(not wrong, f"{comm}: sums of the recording", wrong)


def compare_with_recording(what):
    """Of each task its name, and the sums that are not those of the recording."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("LULL_SCRATCH")) as folder:
        trace = os.path.join(folder, "trace")
        seen, done = watch_with([LULL, "record", "--tracer", "ftrace", "-o", trace, "--", PROGRAM, os.path.join(folder, "stamps"), *what])
        if done.returncode:
            raise Hidden(f"no recording: {done.stderr}")
        asked = subprocess.run([LULL, "waits", "--json", "--comm", "c0,c1,c2,live-waits", trace], capture_output=True, text=True, timeout=60, check=True)
    tasks = json.loads(asked.stdout)["windows"][0]["tables"]["waits-by-task"]
    # What slept for a whole interval is in no sum of it; the command itself does, for its children.
    of = [(task, [p for line in seen for p in line["processes"] if p["pid"] == task["task"]["pid"]]) for task in tasks]
    of = [(task, processes) for task, processes in of if not any(process["asleep"] or process["unknown_ns"] for process in processes)]
    return [(task["task"]["comm"], differences(task, processes)) for task, processes in of]


def differences(task, processes):
    wrong = []
    for key, recorded in ("blocked_ns", "blocked_ns"), ("cpu_wait_ns", "runnable_ns"), ("ran_ns", "running_ns"):
        summed, wanted = sum(process[key] for process in processes), task[recorded]
        slack = 0.02 * wanted + 2 * MS
        # A command waits for its recording to start, and runs after that has ended: as long as the machine likes.
        if wanted - summed > slack or (summed - wanted > slack and task["task"]["comm"] != "live-waits"):
            wrong.append((recorded, summed, wanted))
    return wrong


def watch_with(command):
    """Lines of lull top, while the command ran."""
    with Running([LULL, "top", "--json", "--interval", "200ms", "--max-overhead", "100%"], stdout=subprocess.PIPE, text=True) as top:
        lines = [top.stdout.readline()]  # it watches
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        top.send_signal(signal.SIGTERM)
        lines += top.stdout
    return [json.loads(line) for line in lines], done


WAITER = """
import os, sys, time
open("/proc/self/comm", "w").write("t-before")
print(flush=True)
os.read(0, 1)
print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), flush=True)
time.sleep(1000)
"""


def test_before():
    """What waited before it was watched waits from the first moment on; what sleeps all the time is there, and in no sum."""
    with contextlib.ExitStack() as stack:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        waiter, sleeper = (stack.enter_context(subprocess.Popen([sys.executable, "-S", "-c", WAITER], **pipes)) for _ in range(2))
        for process in waiter, sleeper:
            process.stdout.readline()
        time.sleep(0.1)  # both wait
        with Running([LULL, "top", "--backend", BACKEND, "--json", "--interval", "600ms", "--max-overhead", "100%"], stdout=subprocess.PIPE,
                              text=True) as top:
            lines = [top.stdout.readline()]
            time.sleep(0.3)
            waiter.stdin.write(b"x")
            waiter.stdin.flush()
            until = int(waiter.stdout.readline())
            lines += [top.stdout.readline() for _ in range(2)]
            top.terminate()
        for process in waiter, sleeper:
            process.kill()
    lines = [json.loads(line) for line in lines]
    begin = until - lines[0]["begin_ns"] + epoch_ns()
    of = [[p for line in lines for p in line["processes"] if p["pid"] == process.pid] for process in (waiter, sleeper)]
    tap.ok([p["asleep"] for p in of[1]] == [1, 1, 1], "what sleeps all the time is there", of[1])
    tap.ok(all(p[key] == 0 for p in of[1] for key in SUMS), "and in no sum", of[1])
    if any(p["unknown_ns"] for p in of[0]):
        raise Hidden(f"this kernel hides switches: {of[0]}")
    waited = sum(p["blocked_ns"] + p["cpu_wait_ns"] for p in of[0]) + sum(p["asleep"] * (line["end_ns"] - line["begin_ns"]) for p, line in zip(of[0], lines))
    whole = lines[-1]["end_ns"] - lines[0]["begin_ns"]
    # Then it slept on: nearly all of the time it waited.
    tap.ok(len(of[0]) == 3 and 0.97 * whole - 5 * MS <= waited <= whole, "a wait counts from the first moment on", waited, whole, begin, of[0])
    row = [row for line in lines for row in line["rows"] if row["comm"] == "t-before" and row["call"] == "read"]
    tap.ok(sum(r["waits"] for r in row) == 1 and row[0]["longest_ns"] <= begin + 5 * MS, "and is a row when it ends", row, begin)


def epoch_ns():
    return time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def test_memory():
    """It stays small, however many tasks there may be."""
    if os.environ.get("LULL_SANITIZED"):
        tap.skip("memory", "a sanitizer needs much more")
        return
    with Running([LULL, "top", "--json", "--interval", "100ms"], stdout=subprocess.PIPE, text=True) as top:
        for _ in range(3):
            top.stdout.readline()
        with open(f"/proc/{top.pid}/smaps", encoding="utf-8") as file:
            sizes = re.findall(r"^[0-9a-f]+-[0-9a-f]+ .*?(\S*)\n(?:.*\n)*?Rss: +(\d+) kB", file.read(), re.M)
        top.terminate()
    shared = sum(int(kib) for name, kib in sizes if "bpf-map" in name)
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        slots = min(int(file.read()), 65536)
    # Slots for all tasks that there may be are nearly all that is shared; most machines have as many as there ever are.
    most = sum(int(kib) for _, kib in sizes) - shared + shared * 65536 / slots
    tap.ok(shared and most <= 40 * 1024, "40 MiB with slots for 65536 tasks", most, shared)


def check_longest(backend, lines):
    """The longest of each kind lies in the last bucket that is not empty. What ends in the microseconds in which an interval is
    read may count to that, and be the longest of the next: once in all lines."""
    seen, wrong = 0, []
    for line in lines:
        for kind, counts in line["histograms"].items():
            last, length = max((i for i in range(26) if counts[i]), default=None), line["longest_ns"][kind]
            seen += last is not None
            low, high = (0, 0) if last is None else ((1000 << last - 1) if last else -1, 1000 << last if last < 25 else 1 << 63)
            if (last is None) != (length is None) or (last is not None and not low < length <= high):
                wrong.append((kind, counts, length))
    tap.ok(seen and len(wrong) <= 1, f"{backend}: the longest lies in the last bucket that is not empty", wrong[:2])


def test_histograms():
    """As many softirqs and interrupts as the kernel's own counters say, and the sleeps of a program where they belong."""
    files = {"softirq": "/proc/softirqs", "irq": "/proc/interrupts"}

    def counters():
        return {kind: counted(path) for kind, path in files.items()}

    def histogram(lines, kind):
        return [sum(line["histograms"][kind][i] for line in lines) for i in range(26)]

    with tempfile.TemporaryDirectory() as folder:
        stamps, outer = os.path.join(folder, "stamps"), counters()
        with Running([LULL, "top", "--json", "--interval", "100ms", "--max-overhead", "100%"], stdout=subprocess.PIPE,
                              text=True) as top:
            lines, inner = [top.stdout.readline()], counters()
            subprocess.run([PROGRAM, stamps, "chain", "1", "20", "15"], check=True, timeout=60)
            inner = {kind: number - inner[kind] for kind, number in counters().items()}
            top.send_signal(signal.SIGTERM)
            lines = [json.loads(line) for line in [*lines, *top.stdout]]
        outer = {kind: number - outer[kind] for kind, number in counters().items()}
        with open(stamps, encoding="utf-8") as file:
            slept = [int(line.split()[3]) - int(line.split()[2]) for line in file]
    for kind in files:
        tap.ok(0.9 * inner[kind] <= sum(histogram(lines, kind)) <= outer[kind], f"{kind}: as many as the kernel counted", inner, outer,
               histogram(lines, kind))
    # Of 20 ms: in bucket 15, from 16.38 to 32.77 ms, unless it took longer.
    longest = max(line["longest_ns"]["offcpu"] or 0 for line in lines)
    tap.ok(longest >= max(slept), "the longest is at least as long as the longest sleep", longest, max(slept))
    check_longest("bpf", lines)
    of_power = histogram(lines, "offcpu")[15]
    if not why_no_ftrace():
        check_longest("ftrace", run_json("--duration", "1s", "--interval", "200ms", "--backend", "ftrace"))
    short = sum(length < 32 * MS for length in slept)
    tap.ok(len(slept) == 15 and of_power >= 0.8 * short, "sleeps of 20 ms are where they belong", of_power, slept)


def check_whole(seen, pid):
    """What its one task did adds up to the time that there was, in all intervals but the first and the last. Where lull lost the CPU between the end
    of an interval and its look at the tasks, what they did meanwhile is in that interval and not in the next: so it is about sums, and one may be such."""
    of = [(line["end_ns"] - line["begin_ns"], process) for line in seen.lines for process in line["processes"] if process["pid"] == pid]
    ahead = list(itertools.accumulate((sum(process[key] for key in SUMS) - length for length, process in of[1:-1]), initial=0))
    usual = statistics.median(ahead)
    wrong = [one for one in ahead if abs(one - usual) > 0.02 * 200 * MS + MS]
    tap.ok(len(wrong) <= 1, "what it did is as long as the interval", ahead, of)


def test_cpus():
    """Two want one CPU: run time and delay as the kernel has them."""
    seen = watch("spin", 500)
    by_pid = collections.defaultdict(collections.Counter)
    for process in seen.processes:
        by_pid[process["pid"]].update({key: process[key] for key in ("ran_ns", "cpu_wait_ns")})
    for stamp in seen.stamps:
        delayed, waited = stamp.after - stamp.before, by_pid[stamp.tid]["cpu_wait_ns"]
        # Before the first stamp, and after the last, it waited too.
        tap.ok(0.98 * delayed - 5 * MS <= waited <= 1.02 * delayed + 60 * MS, "it waited for the CPU as long as run_delay says", waited, delayed)
        check_whole(seen, stamp.tid)
    ran = sum(by_pid[stamp.tid]["ran_ns"] for stamp in seen.stamps)
    used = (seen.usage.ru_utime + seen.usage.ru_stime) * 1e9
    tap.ok(0.9 * used - 20 * MS <= ran <= 1.1 * used + 20 * MS, "and ran as long as its rusage says", ran, used)


NAMED = """
import threading
def work():
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as file:
        file.write("t-worker")
with open("/proc/self/comm", "w") as file:
    file.write("t-process")
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
EXEC = """
import os, threading, time
def replace():
    time.sleep(0.1)
    os.execv("/bin/sleep", ["t-replaced", "0.5"])
threading.Thread(target=replace).start()
time.sleep(60)
"""


def test_threads():
    """A process is called as its first thread is. A thread that replaces the program has the number of its process from then on."""
    with Running([LULL, "top", "--backend", BACKEND, "--json", "--interval", "200ms", "--max-overhead", "100%"], stdout=subprocess.PIPE, text=True) as top:
        lines = [top.stdout.readline()]  # it watches
        named, start = subprocess.Popen([sys.executable, "-S", "-c", NAMED]), time.monotonic_ns()
        replaced = subprocess.Popen([sys.executable, "-S", "-c", EXEC])
        tap.ok(named.wait(60) == replaced.wait(60) == 0, "both end well", named.returncode, replaced.returncode)
        took = time.monotonic_ns() - start
        lines += [top.stdout.readline() for _ in range(2)]
        top.send_signal(signal.SIGTERM)
        lines += top.stdout
    of = {program.pid: [p for line in lines for p in json.loads(line)["processes"] if p["pid"] == program.pid] for program in (named, replaced)}
    tap.ok([p["comm"] for p in of[named.pid]][-1:] == ["t-process"], "the process has its name, not that of the thread that ended first", of[named.pid])
    last, unknown = of[replaced.pid][-1], sum(p["unknown_ns"] for p in of[replaced.pid])
    tap.ok(last["tasks"] == 0 and last["comm"] == "sleep", "whose thread has replaced the program has ended", of[replaced.pid])
    both = sum(p[key] for p in of[replaced.pid] for key in SUMS)
    tap.ok(both <= 2 * took, "and no thread of it goes on for ever", both, took)
    if unknown:
        raise Hidden(f"this kernel hides switches: {of[replaced.pid]}")


def test_lines():
    """One interval after the other."""
    lines = run_json("--interval", "300ms", "--duration", "900ms")
    check_schema(lines)
    tap.ok(2 <= len(lines) <= 4, "a line for each interval", len(lines))
    tap.ok(all(a["end_ns"] == b["begin_ns"] for a, b in zip(lines, lines[1:])), "one after the other")
    # The interval is what was asked for: lines are as far apart, also when there were many; the last has the rest.
    short = run_json("--interval", "100ms", "--duration", "1s")
    lengths = sorted(line["end_ns"] - line["begin_ns"] for line in short)
    tap.ok(len(short) >= 8 and 95 * MS <= lengths[len(lengths) // 2] <= 110 * MS, "--interval 100ms is 100 ms", lengths)
    sums = []
    for line in lines[1:]:
        for process in line["processes"]:
            asleep = process["tasks"] == process["asleep"] == 1
            sums += [process[key] for key in SUMS if asleep and process["ran_ns"] == 0]
    tap.ok(sum(sums) == 0, "who slept all the time is not in the sums", sums)
    summary = lines[-1]["summary"]
    line, = run_json("--once", "--limit", "1")
    tap.ok(len(line["rows"]) == 1, "--limit 1", line["rows"])
    tap.ok(summary["overhead"] is not None and summary["overhead"] < 1, "what it costs is known", summary)


def run_json(*arguments):
    done = subprocess.run([LULL, "top", "--json", *arguments], capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL)
    tap.ok(done.returncode == 0 and not done.stderr, " ".join(arguments), done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_text():
    """Without a terminal: plain text, --once, --limit, --filter, refusals."""
    with Running([PROGRAM, "/dev/null", "chain", "2", "100", "6"]) as program:
        done = subprocess.run([LULL, "top", "--once", "--duration", "500ms", "--filter", "comm == \"c0\"", "--max-overhead", "100%"],
                              capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})
        program.wait()
    out = done.stdout
    tap.ok(done.returncode == 0 and re.match(r"lull top on \S+  \d\d:\d\d:\d\d  in 5\d\d\.\d ms  \d+ CPUs? \d+ % busy  \d+ switches/s", out), "the heading", out)
    tap.ok(re.search(r"^ *\d[\d.]* [mun]?s +\d[\d.]* ms +\d+ +c0/\d+ +read +c1 +a timer$", out, re.M) or "did not show" in out,
           "the row of a chain", out)
    tap.ok(" c1/" not in out and "\033" not in out, "only the row of the filter, and no escapes", out)
    refused = {("--interval", "1ms"): "at least 100ms", ("--filter", "colour == 1"): "colour", ("--max-overhead", "7x"): "such as 0.5%",
               ("--sort", "x"): "waited", ("some-trace",): "takes no trace"}
    for arguments, said in refused.items():
        done = subprocess.run([LULL, "top", *arguments], capture_output=True, text=True, timeout=60, check=False)
        tap.ok(done.returncode == 2 and said in done.stderr, f"{arguments} is refused", done)
    command = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*command, "true"], capture_output=True, check=False, timeout=60).returncode == 0:
        done = subprocess.run([*command, LULL, "top", "--once"], capture_output=True, text=True, check=False, timeout=60)
        tap.ok(done.returncode == 0 and not done.stderr and re.search(r"^by (poll|ftrace), .*\n^no bpf: .*CAP_BPF", done.stdout, re.M),
               "without the right to bpf()", done)
        done = subprocess.run([*command, LULL, "top", "--once", "--backend", "bpf"], capture_output=True, text=True, check=False, timeout=60)
        tap.ok(done.returncode == 1 and done.stderr.count("\n") == 1 and "CAP_BPF" in done.stderr, "nor with --backend bpf", done)


def test_governor():
    """What costs too much names fewer waits first."""
    lines = run_json("--duration", "1300ms", "--interval", "1300ms", "--max-overhead", "0.00001%")
    summary = lines[-1]["summary"]
    tap.ok(summary["least_ns"] in [100_000 * 2**i for i in range(1, 7)] and summary["has_chains"], "only longer waits are named", summary)
    with Running([LULL, "top", "--json", "--interval", "200ms", "--max-overhead", "0.00001%"], stdout=subprocess.PIPE, text=True) as top:
        seen, end = [], time.monotonic() + 30
        while time.monotonic() < end and not (seen and not seen[-1]["summary"]["has_wakings"]):
            seen.append(json.loads(top.stdout.readline()))
        seen += [json.loads(top.stdout.readline()) for _ in range(2)]
        top.terminate()
    steps = [(s["least_ns"], s["has_chains"], s["has_wakings"]) for s in (line["summary"] for line in seen)]
    tap.ok(all(a[0] <= b[0] and a[1:] >= b[1:] for a, b in zip(steps, steps[1:])) and steps[-1] == (10_000_000, False, False),
           "then wakers are given up, and in the end who is woken", steps)
    last = seen[-1]
    tap.ok(all(row["end"] in ("unknown", "CPU") and not row["chain"] for row in last["rows"]) and sum(p["ran_ns"] for p in last["processes"]) > 0,
           "what ran is still known", last["rows"][:2])


def test_rising_load():
    """What costs little at first is measured again as soon as tasks are switched far more often, not after the ten seconds."""
    command = [os.path.join(os.environ["LULL_BUILD"], "bench", "record_load"), "switches", "20000000"]

    def overhead():
        return run_json("--duration", "1s", "--interval", "1s", "--max-overhead", "100%")[-1]["summary"]["overhead"] or 0

    usual = overhead()
    with Running(command, stdout=subprocess.DEVNULL) as load:
        loaded = overhead()
        load.kill()
    if loaded < 8 * usual:
        tap.skip("a load that rises", f"the machine is too busy: {usual}, and {loaded} under load")
        return
    most = loaded / 3
    with Running([LULL, "top", "--json", "--interval", "200ms", "--max-overhead", f"{100 * most:.4f}%"], stdout=subprocess.PIPE,
                          text=True) as top:
        summaries = [json.loads(top.stdout.readline())["summary"] for _ in range(6)]
        before = summaries[-1]["least_ns"]
        with Running(command, stdout=subprocess.DEVNULL) as load:
            start = time.monotonic()
            while time.monotonic() < start + 6 and summaries[-1]["least_ns"] == before:
                summaries.append(json.loads(top.stdout.readline())["summary"])
            took = time.monotonic() - start
            load.kill()
        tap.ok(took < 4, "a load that rises is noticed within seconds", took, most, [one["overhead"] for one in summaries])
        top.terminate()


class Terminal:
    """lull top on a terminal of 80 columns."""

    def __init__(self, *arguments, **environment):
        self.main, self.side = pty.openpty()
        termios.tcsetwinsize(self.side, (24, 80))
        self.before = termios.tcgetattr(self.side)
        self.process = subprocess.Popen([LULL, "top", "--interval", "200ms", "--max-overhead", "100%", *arguments], stdin=self.side,
                                        stdout=self.side, stderr=self.side,
                                        env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment})
        self.seen = self.all = ""

    def until(self, pattern):
        end = time.monotonic() + 30
        while not re.search(pattern, self.seen) and time.monotonic() < end:
            if select.select([self.main], [], [], 1)[0]:
                text = os.read(self.main, 65536).decode(errors="replace")
                self.seen += text
                self.all += text
        found = re.search(pattern, self.seen)
        tap.ok(found, f"the screen shows {pattern}", self.seen[-2000:])
        self.seen = self.seen[found.end():] if found else ""

    def type(self, keys):
        os.write(self.main, keys.encode())

    def end(self):
        status = self.process.wait(30)
        after = termios.tcgetattr(self.side)
        os.close(self.side)
        os.close(self.main)
        tap.ok(after == self.before, "the terminal is as it was")
        return status


def test_screen():
    terminal = Terminal()
    terminal.until(r"\x1b\[\?1049h")
    terminal.until(r"lull top on \S+  \d\d:\d\d:\d\d")
    terminal.until(r"by waited +q quit")
    terminal.type(">")
    terminal.until(r"by longest +q")
    terminal.type(" ")
    terminal.until(r"by longest, frozen")
    terminal.type(" /colour\n")
    terminal.until(r"the filter, column 1")
    terminal.type("/comm == \"no such\x7f\x7f\"")
    terminal.until(r"filter: comm == \"no su\"")
    terminal.type("\n")
    terminal.until(r"q quit")
    terminal.type("h")
    terminal.until(r"how long, in the last interval")
    terminal.type("1")
    terminal.until(r"how long, in the last minute")
    terminal.type("5")
    terminal.until(r"how long, in the last 15 minutes")
    terminal.until(r"BELOW")
    terminal.type("g")
    terminal.until(r"\d [mun]?s +[▏▎▍▌▋▊▉█]+")
    terminal.type("h")
    terminal.until(r"WAITED|waits over")
    terminal.until(r"by longest, frozen, comm == \"no su\"  q quit|by longest, comm == \"no su\"  q quit")
    terminal.type("/\nc")
    terminal.until(r"(?s)WHO, AND FOR WHOM.* ← ")
    terminal.type("ha")
    terminal.until(r"no alarms: there is no rule")
    terminal.type("a")  # goes back to waits, not to what was before
    terminal.until(r"WAITED FOR")
    terminal.type("hw")
    terminal.until(r"WAITED FOR")
    terminal.type("itq")
    terminal.until(r"\x1b\[\?1049l")
    tap.ok(terminal.end() == 0, "q quits")
    terminal = Terminal()
    terminal.until(r"lull top on \S+  \d\d:\d\d:\d\d")
    terminal.process.send_signal(signal.SIGTERM)
    terminal.until(r"\x1b\[\?1049l")
    tap.ok(terminal.end() == 0, "a signal ends it")


def test_alarms():
    """--rule: each wait that is too long is an alarm, once, in the interval in which it ended; and it is in a row as well."""
    seen = watch("chain", 2, 20, 8, rules=["offcpu: comm == \"c0\" > 10ms", "offcpu: comm == \"no such\" > 1ms"])
    stamps = [s for s in seen.stamps if s.label == "c0"]
    alarms = [(line, alarm) for line in seen.lines for alarm in line["alarms"]]
    long = [s for s in stamps if s.after - s.before > 20 * MS]
    inside = [[a for _, a in alarms if s.before <= a["monotonic_ns"] - a["delay_ns"] and a["monotonic_ns"] <= s.after] for s in stamps]
    tap.ok(long and all(len(of) == 1 for s, of in zip(stamps, inside) if s in long) and all(len(of) <= 1 for of in inside), "one alarm for each long wait",
           stamps, alarms)
    tap.ok(all(line["begin_ns"] - 300 * MS <= alarm["end_ns"] <= line["end_ns"] and alarm["rule"].startswith("offcpu: comm == \"c0\"") for line, alarm in alarms),
           "in its interval, of its rule", alarms)
    tap.ok(sum(line["summary"]["alarms"] for line in seen.lines) == len(alarms), "they are counted", alarms)
    tap.ok(any(row["comm"] == "c0" and row["call"] == "read" for row in seen.rows), "and rows are there as well")


def test_alarms_screen():
    """The key a: without rules a hint, with one the alarms, of which j chooses one and s asks the flight recorder."""
    terminal = Terminal()
    terminal.until(r"waits over")
    terminal.type("a")
    terminal.until(r"no alarms: there is no rule")
    terminal.type("q")
    tap.ok(terminal.end() == 0, "q quits")
    with Running([PROGRAM, "/dev/null", "chain", "2", "30", "400"]) as program:
        terminal = Terminal("--rule", "offcpu: comm == \"c0\" > 10ms")
        terminal.until(r"waits over")
        terminal.type("a")
        terminal.until(r"(?s)\d+ alarms?, the latest first.*AT +TOOK +KIND +WHO.*\d\d:\d\d:\d\d\.\d\d\d +\d.* offcpu +c0/\d+ +read +c1/\d+")
        terminal.type("j ")
        terminal.until(r"▶ c0/\d+")
        terminal.type("s")
        terminal.until(r"no recorder that keeps events|Press Enter")
        terminal.type("\naq")
        tap.ok(terminal.end() == 0, "and q quits")
        program.kill()
        subprocess.run(["pkill", "-P", str(program.pid)], check=False)


def check_frames(seen):
    """Each has its first line, and no line that a terminal would go on with in the next."""
    frames = [re.split(r"\n|\x1b\[24;1H", frame) for frame in seen.split("\x1b[H")[2:-1]]
    lines = [[re.sub(r"\x1b\[[?\d;]*[A-Za-z]|\r", "", line) for line in frame] for frame in frames]
    tap.ok(frames and all(re.match(r"lull top on \S+  \d\d:", of[0]) and len(of) <= 25 and all(len(line) <= 80 for line in of) for of in lines),
           "all of it fits", lines[-1:])
    wrong = [line for frame in frames for line in frame if re.search(r"[^\s]\x1b\[K", line)]
    tap.ok(not wrong and "\x1b[?7l" in seen, "a line that is as wide as the terminal keeps its last character", wrong[:2])
    return lines


LONG = """
import os, sys, time
r, w = os.pipe()
name = "t-long-waiter-x" if os.fork() else "t-long-waker-xy"
open("/proc/self/comm", "w").write(name)
os.write(1, f"{os.getpid()} {name}\\n".encode())
while os.getppid() != 1:
    if name == "t-long-waiter-x":
        os.read(r, 1)
    else:
        time.sleep(0.02)
        os.write(w, b"x")
"""


def watch_long(pid):
    terminal = Terminal("--rule", "offcpu > 1ms", "--sort", "name", "--filter", 'comm == "t-long-waiter-x"')
    terminal.until(r"waits over")
    seen = read_for(terminal, 1.5)
    terminal.type("q")
    terminal.until(r"\x1b\[\?1049l")
    tap.ok(terminal.end() == 0, "q quits")
    shown = subprocess.run([LULL, "top", "--once", "--chains", "--filter", f"pid == {pid}", "--interval", "300ms"], capture_output=True, text=True,
                           check=False, timeout=60, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
    return seen, shown


def test_widths():
    """On 80 columns, with alarms all the time: who waits is never cut, and alarms are counted."""
    with Running([sys.executable, "-S", "-c", LONG], stdout=subprocess.PIPE, text=True) as program:
        pids = {name: pid for pid, name in (program.stdout.readline().split() for _ in range(2))}
        pid, waker = pids["t-long-waiter-x"], pids["t-long-waker-xy"]
        try:
            seen, shown = watch_long(pid)
        finally:
            os.kill(int(waker), signal.SIGKILL)
            program.kill()
    lines = check_frames(seen)
    tap.ok(any(f" t-long-waiter-x/{pid} " in line for line in lines[-1]), "name and pid are whole", lines[-1])
    tap.ok(any(re.fullmatch(r"\d+ alarms?: the key a shows them", line) for line in sum(lines, [])), "alarms are counted", lines[-1])
    tap.ok(not any(re.match(r"\d\d:\d\d:\d\d\.\d{9} ", line) for line in sum(lines, [])), "and not printed", lines[-1])
    tap.ok(re.search(rf" t-long-waiter-x/{pid} in read ← t-long-waker-xy ← a timer$", shown, re.M) or "did not show" in shown, "--chains", shown)


def read_for(terminal, seconds):
    """What it draws meanwhile."""
    end, seen = time.monotonic() + seconds, ""
    while time.monotonic() < end:
        if select.select([terminal.main], [], [], 0.1)[0]:
            seen += os.read(terminal.main, 65536).decode(errors="replace")
    return "\x1b[?7l" * ("\x1b[?7l" in terminal.all) + seen


def test_batch():
    terminal = Terminal("--batch", "--limit", "1")
    terminal.until(r"(?s)lull top on \S+  \d\d:.*lull top on \S+  \d\d:")
    terminal.process.send_signal(signal.SIGTERM)
    read_for(terminal, 0.3)
    tap.ok(terminal.end() == 0 and "\x1b[?1049h" not in terminal.all, "--batch: tables, one after the other, also on a terminal", terminal.all[:200])


def test_path():
    """s: without a flight recorder it says so; with one, the path of the chosen row's process is shown, and the screen comes back."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal(LULL_PAGER="cat")
        terminal.until(r"WAITED")
        terminal.type("s")
        terminal.until(r"no flight recorder|▶")
        recorder = subprocess.Popen([LULL, "record", "--snapshot", "--tracer", "ftrace", "--buffer", "4M"], cwd=folder, stderr=subprocess.PIPE,
                                    stdin=subprocess.DEVNULL, text=True)
        sleeper = subprocess.Popen([sys.executable, "-c", "import os, time\nopen('/proc/self/comm', 'w').write('t-asker')\n"
                                    "r, w = os.pipe()\nif os.fork() == 0:\n while True: time.sleep(.05); os.write(w, b'x')\n"
                                    "while True: os.read(r, 1)"])
        try:
            for line in recorder.stderr:
                if "lull snapshot" in line:
                    break
            time.sleep(0.5)
            terminal.type(f"/pid == {sleeper.pid}\n")
            terminal.until(r"q quit[^\x1b]*(.|\n)*t-asker")
            terminal.type("\x1b[B\x1b[As")
            terminal.until(rf"lull critpath --pid {sleeper.pid} \S+")
            terminal.until(r"(?s)Its critical path: .*Press Enter")
            terminal.type("\n")
            terminal.until(r"lull top on \S+  \d\d:\d\d:\d\d")
            terminal.type("q")
            tap.ok(terminal.end() == 0, "and lull top goes on until it is ended")
        finally:
            for child in subprocess.run(["pgrep", "-P", str(sleeper.pid)], capture_output=True, text=True, check=False).stdout.split():
                os.kill(int(child), signal.SIGKILL)
            sleeper.kill()
            recorder.terminate()
            recorder.wait(30)


def check_schema(lines):
    """It has all members, and no others."""
    with open(os.path.join(os.environ["LULL_SOURCE"], "schema", "lull-top.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    for line in lines:
        tap.ok(set(line) == set(schema["required"]) == set(schema["properties"]), "of a line", set(line))
        tap.ok(set(line["histograms"]) == set(schema["properties"]["histograms"]["required"]), "of histograms", set(line["histograms"]))
        for name in "rows", "processes":
            wanted = schema["properties"][name]["items"]
            tap.ok(all(set(item) == set(wanted["required"]) == set(wanted["properties"]) for item in line[name]), f"of {name}", line[name][:1])
        wanted = schema["properties"]["summary"]
        tap.ok(set(line["summary"]) == set(wanted["required"]) == set(wanted["properties"]), "of the summary", line["summary"])


def unless_hidden(test):
    try:
        test()
    except Hidden as hidden:
        tap.skip(test.__name__, str(hidden))


def main():
    reason = why_not()
    if reason:
        tap.skip("lull top", reason)
        return tap.done()
    os.nice(-20)  # what else runs on the machine is not what is tested
    for test in test_chains, test_mutex, test_packets, test_cpus, test_threads, test_before, test_memory, test_recording, test_histograms, test_lines, test_text, test_governor, \
            test_rising_load, test_alarms, test_screen, test_widths, test_batch, test_alarms_screen, test_path:
        tap.run(test.__name__, unless_hidden, test)
    return tap.done()


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull track` and `lull top` over ftrace, against programs that know how long they waited, and for whom, and against the
# tracker over eBPF at the same time.
#
# LULL_LIVE_BACKEND=ftrace has test_track.py and test_top.py run over ftrace too.
import collections
import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

os.environ["LULL_LIVE_BACKEND"] = "ftrace"
from lib.busy import busy_cpus  # noqa: E402  pylint: disable=wrong-import-position
from lib.running import Running  # noqa: E402  pylint: disable=wrong-import-position
from live import tracked  # noqa: E402  pylint: disable=wrong-import-position
from live.tracked import INSTANCES, LULL, PROGRAM, Hidden, inside, names, own_instances, track, track_once, wait_recording, why_no_ftrace  # noqa: E402  pylint: disable=wrong-import-position
from tap import Tap  # noqa: E402  pylint: disable=wrong-import-position

MS = 1_000_000
tap = Tap()


def whole(rules, *what):
    """Alarms and stamps, none of which is missing because this machine is too busy to read all events in time."""
    for _ in range(4):
        alarms, summary, stamps = track(rules, *what)
        if not summary["missed"]:
            return alarms, summary, stamps
    raise Hidden(f"events were lost each time: {summary}")


def test_thresholds():
    """Each sleep, and each call, that is longer than the threshold is reported once, none that is not."""
    alarms, summary, sleeps = whole(["offcpu > 3ms", "syscall(clock_nanosleep) > 3ms"], "sleeps", 40, 3 * MS)
    of = [{kind: [a for a in alarms if a["kind"] == kind and inside(a, sleep)] for kind in ("offcpu", "syscall")} for sleep in sleeps]
    surely = [found for found, s in zip(of, sleeps) if int(s.label) > 4 * MS and s.lost == 0]
    wrong = [(s, found) for found, s in zip(of, sleeps) if s.after - s.before <= 3 * MS and any(found.values())]
    tap.ok(all(len(found[kind]) == 1 for found in surely for kind in found), "each longer wait and call is reported once", surely[:2])
    tap.ok(not wrong and all(len(found[kind]) <= 1 for found in of for kind in found), "none twice, and no shorter one", wrong[:2])
    waits = sum((found["offcpu"] for found in of), [])
    tap.ok(all(names(a) == ["timer"] and a["call"] == "clock_nanosleep" and a["delay_ns"] > 3 * MS for a in waits),
           "a timer ended them, in clock_nanosleep", waits[:2])
    tap.ok(summary["backend"] == "ftrace" and summary["cannot_see"] and summary["why"] is None, "it says how it watched", summary)


def test_chains():
    alarms, _, stamps = whole(["offcpu: comm == \"c0\" > 5ms"], "chain", 3, 25, 2)
    rounds = [s for s in stamps if s.label == "c0" and s.after - s.before > 20 * MS]
    of = [[a for a in alarms if inside(a, s)] for s in rounds]
    tap.ok(all(len(found) == 1 and found[0]["call"] == "read" for found in of), "each wait of the first is reported", of)
    tap.ok(any(names(found[0]) == ["c1", "c2", "timer"] for found in of if found), "it was for the next, and so on", of)


def test_stacks():
    """Where the kernel's own /proc says that a task waits, if that is asked for; and nothing if it is not."""
    track_sleep = [LULL, "track", "--json", "--backend", "ftrace", 'offcpu: comm == "sleep" > 200ms']
    with Running(["sh", "-c", "read go; exec sleep 0.4"], stdin=subprocess.PIPE) as sleeper, \
            Running([*track_sleep, "--stack", "kernel"], stdout=subprocess.PIPE) as asked, \
            Running(track_sleep, stdout=subprocess.PIPE) as plain:
        for lull in asked, plain:
            wait_recording(lull)
        sleeper.stdin.write(b"go\n")
        sleeper.stdin.close()
        time.sleep(0.25)
        with open(f"/proc/{sleeper.pid}/stack", encoding="ascii") as file:
            functions = [line.split()[1].split("+")[0] for line in file]
        sleeper.wait()
        time.sleep(0.1)
        for lull in asked, plain:
            lull.terminate()
        stacks = [[a["stack"] for a in map(json.loads, lull.stdout) if "task" in a and a["task"]["pid"] == sleeper.pid] for lull in (asked, plain)]
    tap.ok(len(functions) > 2 and [[name for name in stack if name in functions] for stack in stacks[0]] == [functions],
           "--stack kernel: as /proc has it", functions, stacks)
    tap.ok(stacks[1] == [[]], "no stack that nobody asked for", stacks)


def test_timeout():
    alarms, _, stamps = track_once(["offcpu: comm == \"c1\" timeout 100ms"], "chain", 2, 400, 1)
    wait, = [s for s in stamps if s.label == "c1"]
    of = [a for a in alarms if inside(a, wait)]
    tap.ok([a["is_open"] for a in of] == [True, False] and of[0]["delay_ns"] > 100 * MS, "a wait that is open is reported, and its end", of)


def stop(tops):
    for top in tops:
        top.send_signal(signal.SIGTERM)
    return [[json.loads(line) for line in top.stdout] for top in tops]


def sums_of(lines, pid):
    of = [p for line in lines for p in line["processes"] if p["pid"] == pid]
    return [sum(p[key] for p in of) for key in ("ran_ns", "blocked_ns", "cpu_wait_ns", "unknown_ns")]


def compare_once():
    command = [LULL, "top", "--json", "--idle", "--interval", "200ms", "--max-overhead", "100%", "--backend"]
    with Running([*command, "bpf"], stdout=subprocess.PIPE, text=True) as bpf, \
            Running([*command, "ftrace"], stdout=subprocess.PIPE, text=True) as ftrace:
        for top in bpf, ftrace:
            top.stdout.readline()  # it watches
        with tempfile.NamedTemporaryFile("r") as stamps:
            subprocess.run([PROGRAM, stamps.name, "chain", "3", "20", "20"], check=True, timeout=60)
            pids = sorted({int(line.split()[0]) for line in stamps})
        time.sleep(0.3)  # an interval later
        seen = stop([bpf, ftrace])
    rows = [[r for line in lines for r in line["rows"] if r["pid"] in pids and r["end"] != "CPU"] for lines in seen]
    return [[sums_of(lines, pid) for lines in seen] for pid in pids], rows, seen[1][-1]["summary"]


def test_agreement():
    """What eBPF sees at the same time."""
    if tracked.why_not():
        tap.skip("the same as eBPF", tracked.why_not())
        return
    for _ in range(6):
        sums, rows, summary = compare_once()
        # A waking that the kernel does not show to one of them is a wait whose end nobody caused.
        if not summary["missed"] and not any(side[3] for pair in sums for side in pair) and all(r["end"] == "timer" for side in rows for r in side):
            break
    else:
        raise Hidden("this kernel hid something each time, or events were lost")
    wrong = [pair for pair in sums for a, b in zip(*pair) if abs(a - b) > max(0.02 * a, MS)]
    tap.ok(len(sums) >= 3 and not wrong, "each process ran, waited and was delayed as long as eBPF says, to 2 %", sums)
    waits = [collections.Counter() for _ in rows]
    for count, side in zip(waits, rows):
        for row in side:
            who = " ".join(link["task"]["comm"] if link["task"] else link["kind"] for link in row["chain"])
            count[row["comm"], row["call"], who] += row["waits"]
    tap.ok(waits[0] == waits[1] and waits[0]["c0", "read", "c1 c2 timer"] > 10, "the rows of its chains are the same", waits)


def test_killed():
    with Running([LULL, "top", "--json", "--interval", "200ms", "--backend", "ftrace"], stdout=subprocess.PIPE) as top:
        top.stdout.readline()
        tap.ok(len(own_instances(top.pid)) == 1, "it has an instance of its own", os.listdir(INSTANCES))
        top.kill()
        top.wait()
        end = time.monotonic() + 2
        while own_instances(top.pid) and time.monotonic() < end:
            time.sleep(0.02)
        tap.ok(not own_instances(top.pid), "two seconds after it was killed the instance is gone", os.listdir(INSTANCES))


def test_switched_off():
    """Its instance cannot be removed under it; if somebody switches it off, that is said in a line."""
    with Running([LULL, "top", "--json", "--interval", "200ms", "--backend", "ftrace"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as top:
        top.stdout.readline()
        folder = os.path.join(INSTANCES, *own_instances(top.pid))
        with open(f"{folder}/buffer_size_kb", encoding="ascii") as size, open("/proc/meminfo", encoding="ascii") as memory:
            kb, free = int(size.read()), int(next(line for line in memory if line.startswith("MemAvailable")).split()[1])
        tap.ok(kb * os.sysconf("SC_NPROCESSORS_CONF") <= max(free / 25, 1024 * os.sysconf("SC_NPROCESSORS_CONF")), "its buffers take little memory", kb, free)
        try:
            os.rmdir(folder)
            tap.ok(False, "it cannot be removed")
        except OSError as why:
            tap.ok(why.errno == errno.EBUSY, "it cannot be removed", why)
        with open(f"{folder}/tracing_on", "w", encoding="ascii") as switch:
            switch.write("0")
        out, err = top.communicate(timeout=20)
        tap.ok(top.returncode == 1 and b"switched off" in err and err.count(b"\n") == 1 and out, "it is switched off: one line", err)


def test_lines():
    """What cannot be seen is said in one line."""
    for arguments, part in ((["serve(80) > 1s"], "ftrace does not see what “serve(80) > 1s” is about"),
                            (["--stack", "user", "offcpu > 1s"], "ftrace takes kernel stacks only")):
        done = subprocess.run([LULL, "track", "--backend", "ftrace", *arguments], capture_output=True, text=True, timeout=60, check=False)
        tap.ok(done.returncode == 1 and part in done.stderr and done.stderr.count("\n") == 1, part, done)
    done = subprocess.run([LULL, "track", "--list", "--json", "--backend", "ftrace"], capture_output=True, text=True, timeout=60, check=True)
    seen = {kind["kind"] for kind in json.loads(done.stdout)["kinds"] if kind["lacks"] is None}
    tap.ok({"offcpu", "wakeup", "preempt", "futex", "syscall", "block", "queue", "irq", "softirq", "raise"} <= seen and
           not seen & {"serve", "ask", "mark", "netrx"}, "--list says what can be seen", seen)
    if tracked.why_not():
        return
    # In a user namespace bpf() is refused, and files of tracefs are still root's.
    done = subprocess.run(["unshare", "--user", "--map-root-user", LULL, "track", "offcpu > 10s", "--duration", "100ms"],
                          capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 0 and "by ftrace, which cannot see" in done.stdout and "no bpf: " in done.stdout,
           "where bpf() is refused it goes on, and says why", done)


def unless_hidden(test):
    try:
        test()
    except Hidden as why:
        tap.skip(test.__name__, str(why))


def run_all():
    for test in (test_thresholds, test_chains, test_stacks, test_timeout, test_agreement, test_killed, test_switched_off, test_lines):
        tap.run(test.__name__, unless_hidden, test)


def main():
    reason = why_no_ftrace()
    if reason:
        tap.skip("lull over ftrace", reason)
        return tap.done()
    os.nice(-20)  # what else runs on the machine is not what is tested
    with busy_cpus():
        run_all()
    return tap.done()


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A process that the kernel kills as its control group has no memory left, and one that somebody else kills: critpath of who waits for
# them, and stats, say so of the first and not of the second. What is true is what the kernel counts in the group (memory.oom_control, or
# memory.events), and what wait(2) says. Needs root. LULL is the program.
#
# With the argument FILE it is what is recorded.
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

GROUPS = "/sys/fs/cgroup"
LIMIT, NEED, PAGE = 16 << 20, 64 << 20, 4096
# Of waiting for a child; the last is for the one that is killed.
ROUNDS = 8
ROUND = 'round : $evt.$name == "syscall_entry_getsid" : $evt.$name == "syscall_entry_getpgid"'


# ---- what is recorded ----

def group():
    """A group for memory, and the names of its limit and its counter."""
    one = os.path.join(GROUPS, "memory")
    path = os.path.join(one if os.path.isdir(one) else GROUPS, f"lull-kills-{os.getpid()}")
    os.mkdir(path)
    return (path, "memory.limit_in_bytes", "memory.oom_control") if os.path.isdir(one) else (path, "memory.max", "memory.events")


def be(name):
    with open("/proc/self/comm", "w", encoding="ascii") as comm:
        comm.write(name)


def eat(path):
    """Uses more than the group may have, after a while, so that its round takes longest."""
    be("kl-eater")
    time.sleep(1)
    with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    with mmap.mmap(-1, NEED, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        for at in range(0, NEED, PAGE):
            memory[at] = 1


def sleep():
    be("kl-sleeper")
    signal.pause()


def child(work, *args):
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        work(*args)
        os._exit(1)
    return pid


def ended(pid):
    os.getsid(0)
    _, how = os.waitpid(pid, 0)
    os.getpgid(0)
    return how


def leave(report):
    path, limit, counter = group()
    try:
        with open(os.path.join(path, limit), "w", encoding="ascii") as file:
            file.write(str(LIMIT))
        be("kl-parent")
        for _ in range(ROUNDS - 1):
            ended(child(time.sleep, 0.001))
        eater, sleeper = child(eat, path), child(sleep)
        how = ended(eater)
        os.kill(sleeper, signal.SIGKILL)
        os.waitpid(sleeper, 0)
        with open(os.path.join(path, counter), encoding="ascii") as file:
            counts = dict(line.split() for line in file)
        with open(report, "w", encoding="ascii") as file:
            json.dump({"parent": os.getpid(), "eater": eater, "sleeper": sleeper, "signal": os.WTERMSIG(how), "kills": int(counts["oom_kill"])},
                      file)
    finally:
        for _ in range(50):
            try:
                os.rmdir(path)
                break
            except OSError:
                time.sleep(0.1)


# ---- what is said of it ----

def ask(*command):
    done = subprocess.run([LULL, *command], capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def check_path(tracer, known, out):
    text = ask("critpath", "--tid", str(known["parent"]), out)
    said = re.findall(rf"kl-eater/{known['eater']} was killed by the OOM killer, as its control group had no memory left; it held ([\d.]+) MiB\.",
                      text)
    tap.ok(len(said) == 1, f"{tracer}: critpath of who waited for it says how it ended", text[:2000])
    # The limit bounds what it had of its own; besides it has pages of libraries that others were charged for.
    tap.ok(said and 1 < float(said[0]) < (LIMIT >> 20) + 32, f"{tracer}: and how much it had", said)
    tap.ok(f"kl-sleeper/{known['sleeper']} was killed" not in text, f"{tracer}: it says nothing of who was killed otherwise", text[:2000])
    path = json.loads(ask("critpath", "--tid", str(known["parent"]), "--json", out))
    tap.ok([(kill["tid"], kill["by"], kill["limit"], kill["asker_tid"]) for kill in path["kills"]] == [(known["eater"], "oom", "cgroup", known["eater"])],
           f"{tracer}: so does JSON", path["kills"])
    own = json.loads(ask("critpath", "--tid", str(known["eater"]), "--json", out))
    tap.ok([kill["tid"] for kill in own["kills"]] == [known["eater"]], f"{tracer}: so does the path of its own", own["kills"])


def check_stats(tracer, known, out):
    found = [line for line in ask("stats", out).splitlines() if "OOM killer" in line and "kl-" in line]
    tap.ok(len(found) == known["kills"] and f"kl-eater/{known['eater']} was killed by the OOM killer" in found[0],
           f"{tracer}: a finding of stats says so, as often as the kernel counts", found)


def check_why(tracer, known, out):
    question = ("why", "--period", ROUND, "--slowest", "1")
    text = ask(*question, out)
    tap.ok(f"meanwhile kl-eater/{known['eater']} was killed by the OOM killer" in text, f"{tracer}: why says so of the round that took long", text)
    kind = json.loads(ask(*question, "--json", out))["kinds"][0]
    tap.ok(kind["instances"] == ROUNDS and [(one["number"], [(kill["tid"], kill["by"]) for kill in one["kills"]]) for one in kind["slow"]] ==
           [(ROUNDS, [(known["eater"], "oom")])] and kind["typical"] and not any(one["kills"] for one in kind["typical"]),
           f"{tracer}: and of no other", kind)


def run(tracer):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        out, _ = recorders.record(tracer, [sys.executable, __file__, report], folder)
        with open(report, encoding="ascii") as file:
            known = json.load(file)
        tap.ok(known["kills"] == 1 and known["signal"] == signal.SIGKILL, f"{tracer}: the kernel has killed one", known)
        check_path(tracer, known, out)
        check_stats(tracer, known, out)
        check_why(tracer, known, out)


def main():
    try:
        os.rmdir(group()[0])
    except OSError as error:
        tap.skip("kills", f"control groups cannot be made: {error.strerror}")
        return tap.done()
    for tracer in recorders.TRACERS:
        with tempfile.TemporaryDirectory() as folder:
            why_not = recorders.why_not(tracer, folder)
        if why_not:
            tap.skip(tracer, why_not)
        else:
            tap.run(tracer, run, tracer)
    return tap.done()


if len(sys.argv) == 2:
    leave(sys.argv[1])
else:
    from record import recorders
    from tap import Tap
    LULL, tap = os.environ["LULL"], Tap()
    sys.exit(main())

#!/usr/bin/env python3
# What a recording of chosen tasks does not hold: interrupts that came while another task was on the CPU. That a wake-up
# came from one is told by the flags of the event alone. The file is made here, as a kernel writes it.
import json
import os
import subprocess
import sys
import tempfile

from lib import tracedat
from tap import Tap

LULL = os.environ["LULL"]
MS = 1_000_000
HARDIRQ, SOFTIRQ = 8, 16  # enum trace_flag_type in include/linux/trace_events.h
READ, CLOCK_NANOSLEEP = 0, 230  # x86-64
SLEEPER, OTHER = 100, 200
tap = Tap()

SWITCH = [("char", "prev_comm[16]", 16, 0), ("pid_t", "prev_pid", 4, 1), ("int", "prev_prio", 4, 1), ("long", "prev_state", 8, 1),
          ("char", "next_comm[16]", 16, 0), ("pid_t", "next_pid", 4, 1), ("int", "next_prio", 4, 1)]
WAKING = [("char", "comm[16]", 16, 0), ("pid_t", "pid", 4, 1), ("int", "prio", 4, 1), ("int", "target_cpu", 4, 1)]
ENTER = [("long", "id", 8, 1), ("unsigned long", "args[6]", 48, 0)]


def common(w, number, flags, tid):
    return w.pack("HBBi", number, flags, 0, tid)


def switch(w, tid, state, next_tid):
    return common(w, 1, 1, tid) + w.pack("16sii q16sii", b"task%d" % tid, tid, 120, state, b"task%d" % next_tid, next_tid, 120)


def waking(w, flags, tid):
    return common(w, 2, flags, OTHER) + w.pack("16siii", b"task%d" % tid, tid, 120, 0)


def make(path, call, flags):
    """A task calls and waits, 1 to 6 ms; another is on the CPU and woken in it is the first, which runs from 7 to 9 ms."""
    w = tracedat.Writer(version=6)
    w.formats = [("sched", tracedat.format_text("sched_switch", 1, SWITCH)),
                 ("sched", tracedat.format_text("sched_waking", 2, WAKING)),
                 ("raw_syscalls", tracedat.format_text("sys_enter", 3, ENTER))]
    w.options = [(5, b"Linux box 6.18.0 #1 x86_64\0"), (4, b"local [mono] global\0")]
    records = [(0, switch(w, OTHER, 0, SLEEPER)), (1, common(w, 3, 0, SLEEPER) + w.pack("q6Q", call, *[0] * 6)),
               (1, switch(w, SLEEPER, 1, OTHER)), (6, waking(w, flags, SLEEPER)), (7, switch(w, OTHER, 0, SLEEPER)),
               (9, switch(w, SLEEPER, 1, OTHER))]
    events = [w.event((at - before) * MS, record) for (before, _), (at, record) in zip([records[0], *records], records)]
    w.buffers = [("", "mono", {0: [w.make_page(MS, events)]})]
    with open(path, "wb") as file:
        file.write(w.write())


def waited(folder, call, flags):
    """(state, cause, milliseconds, words) of the path between call and wake-up."""
    path = os.path.join(folder, "trace.dat")
    make(path, call, flags)
    done = subprocess.run([LULL, "critpath", "--json", "--no-progress", "--tid", str(SLEEPER), path], capture_output=True, text=True,
                          check=True, timeout=60)
    return [(s["tid"], s["state"], s["cause"], (s["end_ns"] - s["begin_ns"]) // MS, s["detail"])
            for s in json.loads(done.stdout)["segments"] if s["begin_ns"] == 2 * MS]


def run(folder):
    (found,) = waited(folder, CLOCK_NANOSLEEP, HARDIRQ)
    tap.ok(found[:4] == (SLEEPER, "blocked", "timer", 5), "an interrupt that ends a sleep is the timer's", found)
    (found,) = waited(folder, READ, HARDIRQ)
    tap.ok(found[:4] == (SLEEPER, "blocked", "irq", 5) and "hard interrupt" in found[4],
           "what another interrupt is about is not known, but it is no task", found)
    (found,) = waited(folder, READ, SOFTIRQ)
    tap.ok(found[:4] == (SLEEPER, "blocked", "irq", 5) and "softirq" in found[4], "the same for a softirq", found)
    (found,) = waited(folder, CLOCK_NANOSLEEP, 1)
    tap.ok(found[0] == OTHER and found[2] != "timer", "a wake-up that is of no interrupt is the task's", found)


with tempfile.TemporaryDirectory() as scratch:
    tap.run("unseen interrupts", run, scratch)
sys.exit(tap.done())

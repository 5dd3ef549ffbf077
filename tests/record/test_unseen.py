#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What a recording of chosen tasks does not hold: interrupts that came while another task was on the CPU – that a wake-up
# came from one is told by the flags of the event alone – and switches between others; and wake-ups that a kernel hides. The file is made here, as a kernel
# writes it.
import json
import os
import subprocess
import sys
import tempfile

from lib import perf_writer, tracedat
from tap import Tap

LULL = os.environ["LULL"]
MS = 1_000_000
HARDIRQ, SOFTIRQ = 8, 16  # enum trace_flag_type in include/linux/trace_events.h
READ, CLOCK_NANOSLEEP = 0, 230  # x86-64
SLEEPER, OTHER = 100, 200
tap = Tap()
w = tracedat.Writer(version=6)

SWITCH = [("char", "prev_comm[16]", 16, 0), ("pid_t", "prev_pid", 4, 1), ("int", "prev_prio", 4, 1), ("long", "prev_state", 8, 1),
          ("char", "next_comm[16]", 16, 0), ("pid_t", "next_pid", 4, 1), ("int", "next_prio", 4, 1)]
WAKING = [("char", "comm[16]", 16, 0), ("pid_t", "pid", 4, 1), ("int", "prio", 4, 1), ("int", "target_cpu", 4, 1)]
ISSUE = [("dev_t", "dev", 4, 0), ("unsigned int", "nr_sector", 4, 0), ("sector_t", "sector", 8, 0), ("char", "rwbs[8]", 8, 0)]
COMPLETE = [("dev_t", "dev", 4, 0), ("unsigned int", "nr_sector", 4, 0), ("sector_t", "sector", 8, 0), ("int", "error", 4, 1), ("char", "rwbs[8]", 8, 0)]
ENTER = [("long", "id", 8, 1), ("unsigned long", "args[6]", 48, 0)]


def common(number, flags, tid):
    return w.pack("HBBi", number, flags, 0, tid)


def switch(tid, state, next_tid):
    return common(1, 1, tid) + w.pack("16sii q16sii", b"task%d" % tid, tid, 120, state, b"task%d" % next_tid, next_tid, 120)


def waking(flags, tid):
    return common(2, flags, OTHER) + w.pack("16siii", b"task%d" % tid, tid, 120, 0)


def make(path, records):
    """A trace of one CPU; records are (milliseconds, bytes), the first at 0."""
    w.formats = [("sched", tracedat.format_text("sched_switch", 1, SWITCH)),
                 ("sched", tracedat.format_text("sched_waking", 2, WAKING)),
                 ("raw_syscalls", tracedat.format_text("sys_enter", 3, ENTER)),
                 ("block", tracedat.format_text("block_rq_issue", 4, ISSUE)),
                 ("block", tracedat.format_text("block_rq_complete", 5, COMPLETE)),
                 ("block", tracedat.format_text("block_rq_insert", 6, ISSUE))]
    w.options = [(5, b"Linux box 6.18.0 #1 x86_64\0"), (4, b"local [mono] global\0")]
    events = [w.event((at - before) * MS, record) for (before, _), (at, record) in zip([records[0], *records], records)]
    w.buffers = [("", "mono", {0: [w.make_page(MS, events)]})]
    with open(path, "wb") as file:
        file.write(w.write())


def step(folder, records):
    """The step of the sleeper's path that begins at 2 ms: (task, state, cause, milliseconds, words)."""
    path = os.path.join(folder, "trace.dat")
    make(path, records)
    done = subprocess.run([LULL, "critpath", "--json", "--no-progress", "--tid", str(SLEEPER), path], capture_output=True, text=True,
                          check=True, timeout=60)
    (found,) = [(s["tid"], s["state"], s["cause"], (s["end_ns"] - s["begin_ns"]) // MS, s["detail"])
                for s in json.loads(done.stdout)["segments"] if s["begin_ns"] == 2 * MS + MS]
    return found


def waited(folder, call, flags):
    """A task calls and waits, 2 to 6 ms; another is on the CPU, and woken in it is the first, which runs from 7 to 9 ms."""
    return step(folder, [(0, switch(OTHER, 0, SLEEPER)), (1, common(3, 0, SLEEPER) + w.pack("q6Q", call, *[0] * 6)),
                         (2, switch(SLEEPER, 1, OTHER)), (6, waking(flags, SLEEPER)), (7, switch(OTHER, 0, SLEEPER)),
                         (9, switch(SLEEPER, 1, OTHER))])


def test_wakings(folder):
    found = waited(folder, CLOCK_NANOSLEEP, HARDIRQ)
    tap.ok(found[:4] == (SLEEPER, "blocked", "timer", 4), "an interrupt that ends a sleep is the timer's", found)
    found = waited(folder, READ, HARDIRQ)
    tap.ok(found[:4] == (SLEEPER, "blocked", "irq", 4) and "hard interrupt" in found[4],
           "what another interrupt is about is not known, but it is no task", found)
    found = waited(folder, READ, SOFTIRQ)
    tap.ok(found[:4] == (SLEEPER, "blocked", "irq", 4) and "softirq" in found[4], "the same for a softirq", found)
    found = waited(folder, CLOCK_NANOSLEEP, 1)
    tap.ok(found[0] == OTHER and found[2] != "timer", "a wake-up that is of no interrupt is the task's", found)


def test_requests(folder):
    """The end of a request in such an interrupt is not recorded either. The request is of task 100, right before it waits, or long before."""
    request = common(4, 0, SLEEPER) + w.pack("IIQ8s", 8 << 20, 16, 4096, b"R")
    ended = common(5, 0, SLEEPER) + w.pack("IIQi8s", 8 << 20, 16, 4096, 0, b"R") + bytes(4)
    interruptible, uninterruptible = 1, 2
    for flags in (HARDIRQ, SOFTIRQ):
        for before, state, cause, what in (
                ([request], uninterruptible, "disk", "who made a request and cannot be interrupted waited for the disk"),
                ([request], interruptible, "irq", "who can be interrupted may have waited for anything"),
                ([request, ended], uninterruptible, "irq", "a request that has ended is waited for no more"),
                ([request, switch(SLEEPER, 0, OTHER), switch(OTHER, 0, SLEEPER)], uninterruptible, "irq",
                 "nor is one of which it is not known whether it has"),
                ([], uninterruptible, "irq", "there is no request")):
            found = step(folder, [(0, switch(OTHER, 0, SLEEPER)), *((1, one) for one in before), (2, switch(SLEEPER, state, OTHER)),
                                  (6, waking(flags, SLEEPER)), (7, switch(OTHER, 0, SLEEPER)), (9, switch(SLEEPER, 1, OTHER))])
            tap.ok(found[:4] == (SLEEPER, "blocked", cause, 4), f"woken with flags {flags}: {what}", found)
            if cause == "disk":
                tap.ok("read of 16 sectors at 4096, whose end was not recorded" in found[4], "it names the request", found)


def test_other_request(folder):
    """Another task's request at the same place was issued and ended unseen, before that of task 100."""
    def insertion(tid):
        return common(6, 0, tid) + w.pack("IIQ8s", 8 << 20, 16, 4096, b"R")
    found = step(folder, [(0, switch(OTHER, 0, SLEEPER)), (0, switch(SLEEPER, 0, OTHER)), (0, insertion(OTHER)), (1, switch(OTHER, 0, SLEEPER)),
                          (1, insertion(SLEEPER)), (1, common(4, 0, SLEEPER) + w.pack("IIQ8s", 8 << 20, 16, 4096, b"R")), (2, switch(SLEEPER, 2, OTHER)),
                          (6, waking(SOFTIRQ, SLEEPER)), (7, switch(OTHER, 0, SLEEPER)), (9, switch(SLEEPER, 1, OTHER))])
    tap.ok(found[:4] == (SLEEPER, "blocked", "disk", 4) and "submitted by task100/100" in found[4],
           "a request is not that of another task which was made before at the same place", found)


def test_hidden(folder):
    """Some kernels hide what happens while a CPU idles, so that a wait ends without a wake-up."""
    sleep = common(3, 0, SLEEPER) + w.pack("q6Q", CLOCK_NANOSLEEP, *[0] * 6)
    read = common(3, 0, SLEEPER) + w.pack("q6Q", READ, *[0] * 6)
    request = common(4, 0, SLEEPER) + w.pack("IIQ8s", 8 << 20, 16, 4096, b"R")
    interruptible, uninterruptible = 1, 2
    for before, state, cause, what in (
            (sleep, interruptible, "timer", "a sleep was ended by its timer"),
            (request, uninterruptible, "disk", "who made a request and cannot be interrupted waited for the disk"),
            (request, interruptible, "unknown", "who can be interrupted may have waited for anything"),
            (read, uninterruptible, "unknown", "so may who made no request")):
        found = step(folder, [(0, switch(OTHER, 0, SLEEPER)), (1, before), (2, switch(SLEEPER, state, OTHER)),
                              (7, switch(OTHER, 0, SLEEPER)), (9, switch(SLEEPER, 1, OTHER))])
        tap.ok(found[:4] == (SLEEPER, "blocked", cause, 5), f"no wake-up: {what}", found)
        if cause == "disk":
            tap.ok("read of 16 sectors at 4096, whose end was not recorded" in found[4], "it names the request", found)


def test_preemption(folder):
    """Of those that had the CPU meanwhile, one handed it to the next, and that is not recorded."""
    for last, words in ((OTHER, "by task200/200 5.000 ms on CPU 0"), (300, None)):
        found = step(folder, [(0, switch(OTHER, 0, SLEEPER)), (2, switch(SLEEPER, 0, OTHER)), (7, switch(last, 0, SLEEPER)),
                              (9, switch(SLEEPER, 1, OTHER))])
        tap.ok(found == (SLEEPER, "preempted", None, 5, words), f"preempted, at last by {last}", found)


def perf_data(path, switches):
    """Lists of (milliseconds, CPU, switch), as perf records them."""
    kind = perf_writer.IDENTIFIER | perf_writer.TID | perf_writer.TIME | perf_writer.CPU | perf_writer.RAW
    p = perf_writer.Writer()
    p.attr([1], kind, config=1)
    p.features[1] = p.tracing([("sched", tracedat.format_text("sched_switch", 1, SWITCH))])
    for at, cpu, raw in switches:
        raw += bytes(-(len(raw) + 4) % 8)
        p.record(9, p.pack("QIIQIII", 1, SLEEPER, SLEEPER, at * MS, cpu, 0, len(raw)) + raw)
    with open(path, "wb") as file:
        file.write(p.file())


def test_idle(folder):
    """A kernel that gives perf no event of the idle task: the CPU becomes idle, and never leaves that. What ended a wait is missing."""
    path = os.path.join(folder, "perf.data")
    hidden = [(1, 0, switch(SLEEPER, 1, 0)), (6, 0, switch(SLEEPER, 1, 0)), (9, 0, switch(SLEEPER, 1, 0))]
    seen = [(1, 0, switch(SLEEPER, 1, 0)), (5, 0, switch(0, 0, SLEEPER)), (6, 0, switch(SLEEPER, 1, 0)),
            (8, 0, switch(0, 0, SLEEPER)), (9, 0, switch(SLEEPER, 1, 0))]
    for switches, is_hidden in ((hidden, True), (seen, False)):
        perf_data(path, switches)
        said = json.loads(subprocess.run([LULL, "info", "--json", path], capture_output=True, text=True, check=True).stdout)
        text = subprocess.run([LULL, "info", path], capture_output=True, text=True, check=True).stdout
        tap.ok(said["hosts"][0]["hides_idle"] is is_hidden and ("--tracer ftrace" in text) is is_hidden,
               f"info: idle CPUs are {'not ' if is_hidden else ''}seen", said["hosts"], text)
        path_of = subprocess.run([LULL, "critpath", "--no-progress", "--tid", str(SLEEPER), path], capture_output=True, text=True,
                                 check=True).stdout
        tap.ok(" is unknown: " in path_of and ("--tracer ftrace" in path_of) is is_hidden,
               "a path names the cure" if is_hidden else "a path names no cure that would not help", path_of)


with tempfile.TemporaryDirectory() as scratch:
    tap.run("idle", test_idle, scratch)
    tap.run("wakings", test_wakings, scratch)
    tap.run("requests", test_requests, scratch)
    tap.run("other request", test_other_request, scratch)
    tap.run("hidden", test_hidden, scratch)
    tap.run("preemption", test_preemption, scratch)
sys.exit(tap.done())

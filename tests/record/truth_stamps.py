# SPDX-License-Identifier: MIT
# The stamps of a program of tests/programs, and what they say that its critical path must hold. Everything here comes from
# clocks that the program read itself: the time, its CPU time, and how long it was kept waiting for a CPU.
import collections
import re

from paths import MS, clip, length
from record.truth_legs import OTHERS

# The end of what a task did, with what it used of it; `delay_ns` is None where the kernel keeps no account.
Interval = collections.namedtuple("Interval", "comm label begin_ns end_ns cpu_ns delay_ns")
Stamp = collections.namedtuple("Stamp", "time_ns cpu_ns delay_ns tid comm label")


class Stamps:
    def __init__(self, path, offset_ns):
        """Times are brought to the Unix epoch by the offset of CLOCK_MONOTONIC."""
        stamps = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                time, cpu, delay, tid, comm, label = line.split()
                stamps.append(Stamp(int(time) + offset_ns, int(cpu), int(delay), int(tid), comm, label))
        self.comms = {s.comm for s in stamps}
        self.counts_delay = any(s.delay_ns > 0 for s in stamps)
        self.intervals = []
        for tid in {s.tid for s in stamps}:
            own = [s for s in stamps if s.tid == tid]
            self.intervals += [self.interval(a, b) for a, b in zip(own, own[1:])]
        self.begin, = (s for s in stamps if s.label == "begins")
        self.end, = (s for s in stamps if s.label == "ends" and s.tid == self.begin.tid)

    def interval(self, a, b):
        delay_ns = b.delay_ns - max(a.delay_ns, 0) if self.counts_delay else None
        return Interval(a.comm, a.label, a.time_ns, b.time_ns, b.cpu_ns - a.cpu_ns, delay_ns)

    def of(self, comm, label):
        return [i for i in self.intervals if i.comm == comm and i.label == label and i.end_ns > self.begin.time_ns
                and i.begin_ns < self.end.time_ns]

    def waits(self, comm):
        return [(i.begin_ns, i.end_ns) for i in self.of(comm, "waits")]

    def cpu_ns(self, comm):
        """What a task burned, all together."""
        return sum(i.cpu_ns for i in self.intervals if i.comm == comm and i.label == "burns")

    def delayed_ns(self):
        """How long tasks were kept waiting for CPUs between begin and end, all together."""
        return sum(i.delay_ns for i in self.intervals
                   if self.counts_delay and i.begin_ns >= self.begin.time_ns and i.end_ns <= self.end.time_ns)


class Sums:
    """Nanoseconds that a leg has, by what the task did."""

    def __init__(self):
        self.all = self.running = self.preempted = self.blocked = 0


def inside_of(interval, windows):
    """The parts of the interval that lie in one of the windows of each list."""
    parts = [(interval.begin_ns, interval.end_ns)]
    for window in windows:
        parts = [(max(a, c), min(b, d)) for a, b in parts for c, d in window if a < d and c < b]
    return parts


def expected(leg, interval, parts, sums):
    """Adds what the path must hold of the interval; false if only the sum of it is known."""
    part_ns = sum(b - a for a, b in parts)
    cut_ns = interval.end_ns - interval.begin_ns - part_ns
    delay_ns = interval.delay_ns or 0
    off_ns = interval.end_ns - interval.begin_ns - interval.cpu_ns - delay_ns
    sums.all += part_ns
    sums.preempted += delay_ns
    if leg.what == "running":
        # A hypervisor that takes the CPU away is seen by the CPU clock of some kernels, and by no tracer.
        sums.running += interval.cpu_ns + off_ns
        return cut_ns == 0
    sums.running += interval.cpu_ns
    sums.blocked += off_ns - cut_ns
    return cut_ns == 0 or off_ns > cut_ns and parts[-1][1] == interval.end_ns  # what is cut off is of the rest at the begin


def is_right(segment, what):
    """Whether a wait is for what it is said to be for, or honestly for less. An interrupt that came while a task was on
    the CPU which is not recorded is not recorded either. Nothing but a timer ends a sleep, so that is known all the same where
    calls are recorded; and who made a request right before waited for the disk."""
    unseen = what != "disk" and segment["cause"] == "irq" and re.search(r"^(hard interrupt|softirq)(;(?!.*sleep)|$)", segment["detail"])
    return segment["cause"] == what or unseen or what == OTHERS or what == "running"


def found(segments, leg, parts, sums):
    for begin_ns, end_ns in parts:
        for s in clip(segments, begin_ns, end_ns):
            if s["comm"] != leg.comm and leg.what != OTHERS:
                continue
            sums.all += length(s)
            if s["comm"] != leg.comm:
                sums.blocked += length(s)
            elif s["state"] in ("running", "interrupted"):  # the CPU clock counts interrupts too
                sums.running += length(s)
            elif s["state"] == "preempted":
                sums.preempted += length(s)
            elif is_right(s, leg.what):
                sums.blocked += length(s)


def is_near(found_ns, expected_ns):
    return abs(found_ns - expected_ns) <= max(3 * MS, 0.15 * expected_ns)


def judge_leg(leg, asked, stamps, segments):
    """What is wrong with a leg; and whether it was long enough to be wrong."""
    intervals = stamps.of(leg.comm, leg.label)
    inside = leg.inside or (() if leg.comm == asked else (asked,))
    want, have, is_whole = Sums(), Sums(), True
    for interval in intervals:
        parts = inside_of(interval, [stamps.waits(comm) for comm in inside])
        if parts:
            is_whole = expected(leg, interval, parts, want) and is_whole
            found(segments, leg, parts, have)
    own_ns = sum(i.cpu_ns if leg.what == "running" else i.end_ns - i.begin_ns - i.cpu_ns for i in intervals)
    wrong = []
    if own_ns < (leg.ms - 1) * MS:
        wrong.append(f"the program took {own_ns / MS:.3f} ms for what should take {leg.ms}")
    if leg.ms > 0 and want.all < 3 * MS:
        wrong.append(f"no more than {want.all / MS:.3f} ms of it were waited for")
    kinds = ("all", "running", "preempted", "blocked") if is_whole and stamps.counts_delay else ("all",)
    for kind in kinds:
        if not is_near(getattr(have, kind), getattr(want, kind)):
            wrong.append(f"{kind}: found {getattr(have, kind) / MS:.3f} ms, the stamps say {getattr(want, kind) / MS:.3f}")
    return wrong, want.all > 3 * MS

# SPDX-License-Identifier: MIT
# What tasks and CPUs did, from the events alone, as `lull print --json` shows them: a second implementation of the
# few rules that can be said in a line each.
#
# A CPU runs the task that the last sched_switch put there. A task that runs is in a system call from its entry to its next exit
# or entry. Handlers interrupt it from the entry of the outermost to its exit. A task that left its CPU with a state of 0 is ready,
# else it waits until the first waking or wake-up. A task that is woken while it is leaving its CPU was woken by who did that.
import bisect
import json
import re
import subprocess

PAIR = re.compile(r"(irq_handler|irq_softirq|x86_irq_vectors_\w+?|timer_hrtimer_expire)_(entry|exit)$")
CALL = re.compile(r"(?:compat_)?syscall_(entry|exit)_(\w+)$")
NUMBERS = ("irq", "vec", "vector", "hrtimer")
DEAD = 16 | 32
PRUNE_EVERY = 200000  # events
PRUNE_BEFORE = 10**10  # ns; no handler lasts longer, as which it would be put in later


class Line:
    """States one after the other: (start, state, detail)."""

    def __init__(self):
        self.starts, self.states, self.answers = [], [], {}

    def ask(self, times):
        """`answers` will have the states at these times."""
        self.wanted = sorted(times, reverse=True)

    wanted = ()

    def prune(self, cut):
        """Nothing comes before it any more, and nobody asks about it but by ask()."""
        while self.wanted and self.wanted[-1] < cut:
            time = self.wanted.pop()
            self.answers[time] = self.at(time)
        old = bisect.bisect_right(self.starts, cut) - 1
        if old > 0:
            del self.starts[:old], self.states[:old]

    def put(self, start, state, detail=None):
        while self.starts and self.starts[-1] >= start:
            self.starts.pop()
            self.states.pop()
        self.starts.append(start)
        self.states.append((state, detail))

    def at(self, time):
        i = bisect.bisect_right(self.starts, time) - 1
        return self.states[i] if i >= 0 else (None, None)


class Cpu:
    def __init__(self):
        self.tid, self.handlers, self.line = None, [], Line()


class Replay:
    def __init__(self, lull, *paths, samples=()):
        """`samples`: (host, CPU or None, tid, time), all that will be asked of a trace that is too large to be kept whole."""
        self.cpus, self.tasks, self.calls, self.wakers = {}, {}, {}, {}
        self.last, self.early = {}, {}  # by host: the last event; by task: who woke it while it ran
        wanted = {}
        for host, number, tid, time in samples:
            line = self.task(host, tid) if number is None else self.cpus.setdefault((host, number), Cpu()).line
            wanted.setdefault(line, []).append(time)
        for line, times in wanted.items():
            line.ask(times)
        with subprocess.Popen([lull, "print", "--json", *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as printing:
            for count, line in enumerate(printing.stdout):
                event = json.loads(line)
                self.event(event["time_ns"], event["host"], event.get("cpu"), event["name"], event["fields"],
                           (event.get("context") or {}).get("tid"))
                if samples and count % PRUNE_EVERY == 0:
                    self.prune(event["time_ns"] - PRUNE_BEFORE)
        assert printing.returncode == 0, "lull print reads it all"
        if samples:
            self.prune(float("inf"))

    def prune(self, cut):
        for line in [*self.tasks.values(), *(cpu.line for cpu in self.cpus.values())]:
            line.prune(cut)

    def task(self, host, tid):
        return self.tasks.setdefault((host, tid), Line())

    def set(self, time, host, number, state, detail):
        cpu = self.cpus[host, number]
        if cpu.tid is None:
            return
        idle = cpu.tid == 0
        cpu.line.put(time, "idle" if idle and state in ("user", "syscall") else state, None if idle else detail)
        if not idle:
            self.task(host, cpu.tid).put(time, state, detail)

    def base(self, time, host, number):
        call = self.calls.get((host, self.cpus[host, number].tid))
        self.set(time, host, number, "syscall" if call else "user", call)

    def event(self, time, host, number, name, fields, tid):
        self.last[host] = time
        cpu = self.cpus.setdefault((host, number), Cpu())
        pair, call = PAIR.match(name), CALL.match(name)
        if name == "sched_switch":
            self.switch(time, host, number, cpu, fields)
        elif name in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
            key, waker = (host, fields["tid"]), None if cpu.handlers else tid
            line = self.task(*key)
            if line.states and line.states[-1][0] == "blocked":
                line.put(time, "ready")
                self.wakers[(*key, time)] = self.early.pop(key, waker) if name == "sched_wakeup" else waker
            elif name == "sched_waking" and line.states and line.states[-1][0] != "ready":
                self.early[key] = waker
        elif pair:
            which = pair[1], next((fields[key] for key in NUMBERS if key in fields), None)
            if pair[1] == "timer_hrtimer_expire":
                which = pair[1], None
            if pair[2] == "entry":
                cpu.handlers.append((which, time))
            elif which in [handler for handler, _ in cpu.handlers]:
                at = len(cpu.handlers) - 1 - [handler for handler, _ in reversed(cpu.handlers)].index(which)
                start = cpu.handlers[at][1]
                del cpu.handlers[at:]
                if at == 0:
                    self.set(start, host, number, "softirq" if pair[1] == "irq_softirq" else "interrupt", None)
                    self.base(time, host, number)
        elif call:
            if cpu.tid:
                self.calls[host, cpu.tid] = call[2] if call[1] == "entry" else None
                self.base(time, host, number)

    def switch(self, time, host, number, cpu, fields):
        cpu.handlers = []
        previous = fields["prev_tid"]
        if previous:
            state = fields["prev_state"]
            if state & DEAD:
                self.task(host, previous).put(time, "dead")
            else:
                self.task(host, previous).put(time, "blocked" if state & 0xFF else "ready")
        cpu.tid = fields["next_tid"]
        self.early.pop((host, cpu.tid), None)
        self.base(time, host, number)

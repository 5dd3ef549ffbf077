# SPDX-License-Identifier: MIT
"""Programs that call functions as chance has it, and what that took: made as trees of calls, of which the events
and the sums are written down independently. Nothing here keeps a stack as Lull does."""
import random

ADDRESS = 0x401000


class Call:
    def __init__(self, name):
        self.name, self.children, self.start, self.end, self.is_skipped, self.how = name, [], 0, 0, False, ""

    def walk(self, path=()):
        """The call and all below it, each with the names from the outermost to its own."""
        path = (*path, self.name)
        yield self, path
        for child in self.children:
            yield from child.walk(path)


class Program:
    """A thread: `calls` are those from outside any other."""

    def __init__(self, seed, tid, names=8, budget=60, start=1000):
        self.chance, self.tid, self.names, self.time = random.Random(seed), tid, names, start
        self.budget, self.calls, self.events, self.orphans, self.unwound = budget, [], [], 0, 0

    def tick(self):
        self.time += self.chance.randint(1, 50)
        return self.time

    def emit(self, what, name):
        self.events.append((self.time, self.tid, what, name))

    def call(self, path):
        """Also returns how many callers a longjmp skips; -1: it jumps to the caller, which returns at once: what it
        called after that would look like calls of those that were skipped. None: it returned."""
        self.budget -= 1
        call, jump = Call(f"f{self.chance.randrange(self.names)}"), None
        path = (*path, call.name)
        call.start = self.tick()
        self.emit("entry", call.name)
        while self.budget > 0 and len(path) < 12 and self.chance.random() < 0.6 and jump is None:
            child, jump = self.call(path)
            call.children.append(child)
        if jump is None and len(path) > 2 and self.chance.random() < 0.1:
            over = self.chance.randint(1, len(path) - 1)
            # Which of two calls of one function returned, no event says.
            jump = over if path[-1 - over] not in path[-over:] else None
        if jump is not None and jump > 0:
            call.is_skipped = True
            return call, jump - 1 or -1
        call.end = self.tick()
        self.emit("exit", call.name)
        return call, None

    def run(self):
        for _ in range(self.chance.randint(0, 2)):  # called before the trace
            self.tick()
            self.emit("exit", "early")
            self.orphans += 1
        while self.budget > 0:
            self.tick()
            self.calls.append(self.call(())[0])
        for _ in range(self.chance.randint(0, 3)):  # has not returned when the trace ends
            call = Call(f"f{self.chance.randrange(self.names)}")
            call.start, call.is_skipped = self.tick(), True
            self.emit("entry", call.name)
            inner = self.calls[-1:] if self.calls and self.calls[-1].is_skipped else []
            while inner and inner[-1].children:
                inner = inner[-1].children
            (inner[-1].children if inner else self.calls).append(call)
        return self

    def close(self, end):
        """What was skipped ended when the nearest caller did that returned; at the end of the trace if none did."""
        def fix(call, until, how):
            if call.is_skipped:
                call.end, call.how = until, how
                self.unwound += how == "unwound"
            else:
                until, how = call.end, "unwound"
            for child in call.children:
                fix(child, until, how)
        for call in self.calls:
            fix(call, end, "open")
        return self

    def sums(self):
        """{name: [calls, total, self, min, max]}, {path: self}"""
        functions, paths = {}, {}
        for root in self.calls:
            for call, path in root.walk():
                took = call.end - call.start
                own = took - sum(child.end - child.start for child in call.children)
                sums = functions.setdefault(call.name, [0, 0, 0, took, took])
                sums[0] += 1
                sums[1] += took if path.count(call.name) == 1 else 0
                sums[2] += own
                sums[3], sums[4] = min(sums[3], took), max(sums[4], took)
                paths[path] = paths.get(path, 0) + own
        return functions, paths


def address(name):
    return ADDRESS + 16 * (int(name[1:]) if name != "early" else 999)


def event(time, cpu, name, tid, comm="prog", pid=100, **payload):
    return {"t": time, "n": name, "p": payload, "pc": {"cpu_id": cpu},
            "sec": {"vpid": pid, "vtid": tid, "procname": comm}}


def events(programs, is_fast=False):
    found = []
    for program in programs:
        for time, tid, what, name in program.events:
            payload = {} if is_fast and what == "exit" else {"addr": address(name)}
            found.append(event(time, tid % 3, f"lttng_ust_cyg_profile{'_fast' if is_fast else ''}:func_{what}", tid,
                               **payload))
    return sorted(found, key=lambda one: one["t"])


def call(time, what, name, tid=100, cpu=0, pid=100):
    return event(time, cpu, f"lttng_ust_cyg_profile:func_{what}", tid, pid=pid, addr=address(name))


def switch(time, prev, following, state=1, cpu=0):
    return {"t": time, "n": "sched_switch", "pc": {"cpu_id": cpu},
            "p": {"prev_comm": f"c{prev}", "prev_tid": prev, "prev_prio": 20, "prev_state": state,
                  "next_comm": f"c{following}", "next_tid": following, "next_prio": 20}}


def wake(time, tid, cpu=0):
    return {"t": time, "n": "sched_waking", "pc": {"cpu_id": cpu}, "p": {"comm": f"c{tid}", "tid": tid, "prio": 20, "target_cpu": cpu}}


def syscall(time, what, name, cpu=0):
    return {"t": time, "n": f"syscall_{what}_{name}", "pc": {"cpu_id": cpu}, "p": {"ret": 0} if what == "exit" else {"fd": 1}}

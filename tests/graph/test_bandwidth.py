#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# CPU quotas: a simulated machine on which tasks of a group with a quota compete with others, by the kernel's documentation
# (scheduler/sched-bwc.rst), up to Linux 6.17 and after it. The simulator knows when which task was throttled, and when it only waited for
# its turn; `lull critpath` has to find that by the switches. LULL is the program; LULL_TEST_BANDWIDTH=N tries so many machines more.
import json
import os
import random
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "lib")]
import vm_scene  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
US, MS = 1000, 10**6
SLICE, KEPT, TICK, PERIOD, LATE = 5 * MS, MS, 4 * MS, 100 * MS, 5 * MS
TIMER, FUNCTION = 0x7777, 0x81000000
NEVER = 1 << 62


class Task:
    def __init__(self, tid, cpu, is_member, burst=0, sleep=0):
        self.tid, self.cpu, self.is_member, self.burst, self.sleep = tid, cpu, is_member, burst, sleep
        self.left = burst or NEVER  # until it sleeps
        self.wakes = NEVER
        self.virtual = 0.0
        self.is_ready = True
        self.held = None  # since when it is throttled
        self.throttled = 0


class Cpu:
    def __init__(self, number):
        self.number, self.current, self.since = number, None, 0
        self.next_tick = 700 * US * (number + 1)
        self.runtime, self.is_throttled, self.clock = 0, False, None
        self.virtual = 0.0  # of the group
        self.leaves = NEVER  # when its task, which may not run, is out of the kernel


class Machine:
    """Time goes from one event to the next; who has had less of a CPU gets it at the next tick."""

    def __init__(self, seed, n_cpus, members, others, quota, weight, is_new, has_ticks, moves=0.0):
        self.dice, self.now = random.Random(seed), 0
        self.cpus = [Cpu(number) for number in range(n_cpus)]
        self.tasks = [*members, *others]
        self.quota, self.weight, self.is_new, self.has_ticks = quota, weight, is_new, has_ticks
        self.moves = moves  # how often a tick moves a task to another CPU
        self.pool, self.refill, self.slack = quota, PERIOD // 3, NEVER
        self.kernel_ns, self.kernel_periods, self.periods = 0, 0, 0
        self.host = vm_scene.Machine("host")

    def emit(self, cpu, name, payload):
        self.host.event(vm_scene.START + self.now, name, payload, cpu.number, cpu.current.tid if cpu.current else 0)

    # ---- the quota ----

    def assign(self, cpu):
        amount = min(SLICE - cpu.runtime, self.pool)
        self.pool -= amount
        cpu.runtime += amount
        return cpu.runtime > 0

    def charge(self, cpu):
        """Whether the group may go on there."""
        task, ns = cpu.current, self.now - cpu.since
        cpu.since = self.now
        if not task:
            return True
        task.left -= ns
        task.virtual += ns
        if not task.is_member:
            return True
        cpu.virtual += ns / self.weight
        cpu.runtime -= ns
        return cpu.is_throttled or cpu.runtime > 0 or self.assign(cpu)

    def members(self, cpu):
        return [task for task in self.tasks if task.is_member and task.cpu == cpu.number and task.is_ready]

    def hold(self, cpu, task):
        task.held = self.now
        cpu.clock = self.now if cpu.clock is None else cpu.clock

    def throttle(self, cpu):
        cpu.is_throttled = True
        if not self.is_new:
            cpu.clock = self.now
            for task in self.members(cpu):
                self.hold(cpu, task)

    def unthrottle(self, cpu):
        cpu.is_throttled = False
        if cpu.clock is not None:
            self.kernel_ns += self.now - cpu.clock
            cpu.clock = None
        for task in self.tasks:
            if task.cpu == cpu.number and task.held is not None:
                task.throttled += self.now - task.held
                task.held = None

    def distribute(self):
        for cpu in self.cpus:
            if cpu.is_throttled and self.pool > 0:
                amount = min(1 - cpu.runtime, self.pool)
                self.pool -= amount
                cpu.runtime += amount
                if cpu.runtime > 0:
                    self.unthrottle(cpu)

    def start_period(self):
        cpu = self.cpus[0]
        self.emit(cpu, "timer_hrtimer_expire_entry", {"hrtimer": TIMER, "now": self.now, "function": FUNCTION})
        self.periods += 1
        self.kernel_periods += any(one.is_throttled for one in self.cpus)
        self.pool = self.quota
        self.distribute()
        self.refill += PERIOD
        self.now += US
        self.emit(cpu, "timer_hrtimer_expire_exit", {"hrtimer": TIMER})

    # ---- the scheduler ----

    def pick(self, cpu):
        ready = [task for task in self.tasks if task.cpu == cpu.number and task.is_ready and task.held is None]
        members = [task for task in ready if task.is_member]
        others = [(task.virtual, task.tid, task) for task in ready if not task.is_member]
        if members:
            others.append((cpu.virtual, 0, min(members, key=lambda task: (task.virtual, task.tid))))
        return min(others)[2] if others else None

    def put(self, cpu, task, state=0):
        before = cpu.current.tid if cpu.current else 0
        self.emit(cpu, "sched_switch", {"prev_comm": f"t{before}", "prev_tid": before, "prev_prio": 20, "prev_state": state,
                                        "next_comm": f"t{task.tid if task else 0}", "next_tid": task.tid if task else 0,
                                        "next_prio": 20})
        cpu.current = task

    def switch(self, cpu, state=0):
        if not self.charge(cpu) and not cpu.is_throttled:
            self.throttle(cpu)
        task = self.pick(cpu)
        if task is not cpu.current:
            self.put(cpu, task, state)
        cpu.since = self.now
        cpu.leaves = NEVER
        if task and task.is_member:
            if not cpu.is_throttled and cpu.runtime <= 0 and not self.assign(cpu):
                self.throttle(cpu)
                if not self.is_new:
                    self.switch(cpu)
                    return
            if cpu.is_throttled:
                cpu.leaves = self.now + self.dice.randrange(6, 12) * US

    def tick(self, cpu):
        cpu.next_tick += TICK
        if not cpu.current:
            return
        if self.has_ticks:
            self.emit(cpu, "x86_irq_vectors_local_timer_entry", {"vector": 236})
        may_go_on = self.charge(cpu)
        self.now += 3 * US
        if self.has_ticks:
            self.emit(cpu, "x86_irq_vectors_local_timer_exit", {"vector": 236})
        if not may_go_on:
            self.throttle(cpu)
        self.switch(cpu)
        if self.moves and self.dice.random() < self.moves:
            self.move(cpu)

    def move(self, cpu):
        """The CPU takes a task that waits elsewhere; one that may not run stays where it is."""
        waiting = [task for task in self.tasks if task.is_member and task.is_ready and task.held is None and task.cpu != cpu.number and
                   self.cpus[task.cpu].current is not task]
        if waiting:
            task = self.dice.choice(waiting)
            self.emit(cpu, "sched_migrate_task", {"comm": f"t{task.tid}", "tid": task.tid, "prio": 20, "orig_cpu": task.cpu,
                                                  "dest_cpu": cpu.number})
            before, task.cpu = self.cpus[task.cpu], cpu.number
            self.give_back(before)
            if cpu.is_throttled and not self.is_new:
                self.hold(cpu, task)

    def give_back(self, cpu):
        """A CPU without tasks keeps little."""
        if not self.members(cpu) and cpu.runtime > KEPT and not cpu.is_throttled:
            self.pool += cpu.runtime - KEPT
            cpu.runtime = KEPT
            if self.pool > SLICE and any(one.is_throttled for one in self.cpus) and self.slack == NEVER:
                self.slack = self.now + LATE

    def leave(self, cpu):
        """From Linux 6.18 on, before it is in user space again."""
        self.charge(cpu)
        self.hold(cpu, cpu.current)
        self.switch(cpu)

    def fall_asleep(self, cpu):
        task = cpu.current
        if not self.charge(cpu):
            self.throttle(cpu)
        task.is_ready, task.wakes, task.held = False, self.now + task.sleep, None
        if task.is_member:
            self.give_back(cpu)
        self.switch(cpu, 1)

    def wake(self, task):
        cpu = self.cpus[task.cpu]
        self.emit(self.cpus[0], "sched_waking", {"comm": f"t{task.tid}", "tid": task.tid, "prio": 20, "target_cpu": cpu.number})
        task.is_ready, task.wakes, task.left = True, NEVER, task.burst
        task.virtual = max(task.virtual, min((one.virtual for one in self.tasks if one.cpu == task.cpu and one.is_ready), default=0))
        if task.is_member:
            virtual = [one.virtual for one in self.tasks if one.cpu == task.cpu and one.is_ready and not one.is_member]
            cpu.virtual = max(cpu.virtual, min(virtual, default=0) - 2 * MS)
            if cpu.is_throttled and not self.is_new:
                self.hold(cpu, task)
        if not cpu.current:
            self.switch(cpu)

    def run(self, until):
        for cpu in self.cpus:
            self.switch(cpu)
        while self.now < until:
            events = [(self.refill, 0, self.start_period), (self.slack, 1, self.give)]
            for cpu in self.cpus:
                task = cpu.current
                events += [(cpu.next_tick, 2 + cpu.number, lambda cpu=cpu: self.tick(cpu)),
                           (cpu.leaves, 10 + cpu.number, lambda cpu=cpu: self.leave(cpu))]
                if task and cpu.leaves == NEVER and task.left < NEVER // 2:
                    events.append((cpu.since + task.left, 20 + cpu.number, lambda cpu=cpu: self.fall_asleep(cpu)))
            events += [(task.wakes, 100 + task.tid, lambda task=task: self.wake(task)) for task in self.tasks]
            time, _, act = min(events, key=lambda event: event[:2])
            self.now = max(self.now, time)
            act()
            for cpu in self.cpus:  # after a period has started, or others gave something back
                if not cpu.current and self.pick(cpu):
                    self.switch(cpu)

    def give(self):
        self.slack = NEVER
        if self.pool > SLICE:
            self.distribute()

    def write(self, folder, kernel_ns=None):
        self.host.write(folder)
        quota = {"cgroup": "/g", "hierarchy": 0, "quota_us": self.quota // US, "period_us": PERIOD // US, "periods": self.periods,
                 "throttled_periods": self.kernel_periods, "throttled_ns": self.kernel_ns if kernel_ns is None else kernel_ns,
                 "pids": [task.tid for task in self.tasks if task.is_member]}
        with open(os.path.join(folder, "recording.json"), "w", encoding="ascii") as file:
            json.dump({"lull_recording": 1, "hostname": "host", "quota_timer": hex(FUNCTION), "cpu_quotas": [quota]}, file)


def throttled(folder, tid):
    done = subprocess.run([os.environ["LULL"], "critpath", "--json", "--full", "--tid", str(tid), folder], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        print("#", done.stderr)
        return -1, 0
    own = [step for step in json.loads(done.stdout)["segments"] if step.get("cause") == "throttled"]
    return sum(step["end_ns"] - step["begin_ns"] for step in own), len(own)


def machine_of(seed, is_new, has_ticks, n_cpus, quota_ms, n_members, n_others, weight, burst=0, sleep=0, moves=0.0):
    members = [Task(101 + i, i % n_cpus, True, burst * MS, sleep * MS) for i in range(n_members)]
    others = [Task(201 + i, i % n_cpus, False) for i in range(n_others)]
    machine = Machine(seed, n_cpus, members, others, quota_ms * MS, weight, is_new, has_ticks, moves)
    machine.run(2000 * MS)
    return machine, members


# What, CPUs, quota in ms, tasks of the group and others, the group's weight beside one of them, how long its tasks run and then sleep, how often
# one is moved; how far the times may be from the truth, as a part and in ms.
SCENES = [
    ("alone", (1, 20, 1, 0, 1), 0.005, 1),
    ("as much as two others", (1, 20, 1, 2, 1), 0.005, 1),
    ("beside many, it gets little more than its quota", (1, 20, 1, 12, 3.2), 0.1, 6),
    ("beside many, it gets less than its quota", (1, 30, 1, 12, 2), 0.0, 0),
    ("two of it share a CPU with others", (1, 25, 2, 4, 4), 0.02, 4),
    ("two CPUs", (2, 50, 2, 0, 1), 0.03, 6),
    ("two busy CPUs", (2, 50, 2, 6, 6), 0.06, 10),
    ("it sleeps now and then", (1, 20, 1, 0, 1, 7, 3), 0.01, 2),
    ("a small quota on two CPUs", (2, 10, 2, 4, 4), 0.1, 12),
    ("four tasks on two CPUs", (2, 10, 4, 4, 1, 0, 0, 0.02), 0.05, 10),
    ("they are moved to and fro", (2, 10, 4, 8, 1, 0, 0, 0.1), 0.05, 10),
]


def check(name, settings, part, more_ms, is_new, has_ticks, seed=1):
    machine, members = machine_of(seed, is_new, has_ticks, *settings)
    truth = sum(task.throttled for task in members)
    with tempfile.TemporaryDirectory() as folder:
        machine.write(folder)
        found = sum(throttled(folder, task.tid)[0] for task in members)
    kind = f"{'6.18' if is_new else '6.17'}{'' if has_ticks else ', ticks not recorded'}"
    tap.ok(abs(found - truth) <= truth * part + more_ms * MS, f"{name} ({kind}): {found / MS:.1f} of {truth / MS:.1f} ms",
           f"the kernel counted {machine.kernel_periods} of {machine.periods} periods, {machine.kernel_ns / MS:.1f} ms")


def check_move():
    """From 6.18 on, as it was seen: each task runs 4 ms of each period, and later for a moment, in which it is stopped. In the sixth the second
    one does not get its CPU; in the seventh it is moved to the other. That it waited for its CPU there is no throttling."""
    own, others = [Task(101, 0, True), Task(102, 1, True)], [Task(201, 0, False), Task(202, 1, False)]
    machine = Machine(1, 2, own, others, 10 * MS, 1, True, True)
    steps, truth = [(0, cpu, others[cpu]) for cpu in (0, 1)], {101: 0, 102: 0}
    machine.refill = 0

    def run(task, start, ns):
        steps.extend([(start, task.cpu, task), (start + ns, task.cpu, others[task.cpu])])

    def stop(task, start, end):
        run(task, start, 7 * US)
        machine.kernel_ns += end - start
        truth[task.tid] += end - start - 7 * US

    for period in range(12):
        zero = period * PERIOD
        steps.append((zero, 0, None))
        run(own[0], zero + 3 * MS, 4 * MS)
        stop(own[0], zero + 40 * MS, zero + PERIOD)
        if period == 6:
            steps.append((zero + 7 * MS, 0, own[1]))
            own[1].cpu = 0
        if period != 5:
            run(own[1], zero + 10 * MS, 4 * MS)
            stop(own[1], zero + (50 * MS if own[1].cpu else 40 * MS + 7 * US), zero + PERIOD)
            machine.kernel_ns -= 0 if own[1].cpu else PERIOD - 40 * MS - 7 * US  # counted for the first one there
    steps.append((12 * PERIOD, 0, None))
    for task in own:
        run(task, 12 * PERIOD + task.tid * MS, 4 * MS)
    for time, number, task in sorted(steps, key=lambda step: step[:2]):
        machine.now = time
        cpu = machine.cpus[number]
        if not task:
            machine.start_period()
        elif task.is_member and task is own[1] and time == 6 * PERIOD + 7 * MS:
            machine.emit(cpu, "sched_migrate_task", {"comm": "t102", "tid": 102, "prio": 20, "orig_cpu": 1, "dest_cpu": 0})
        else:
            machine.put(cpu, task)
    with tempfile.TemporaryDirectory() as folder:
        machine.write(folder)
        for task in own:
            found = throttled(folder, task.tid)[0]
            tap.ok(abs(found - truth[task.tid]) <= 0.005 * truth[task.tid], f"task {task.tid}, one is moved while it waits: {found / MS:.1f} ms",
                   f"{truth[task.tid] / MS:.1f} ms; in all {machine.kernel_ns / MS:.1f} ms")


for scene in SCENES:
    for version in (False, True):
        check(*scene, version, True)
check_move()
check(*SCENES[1], True, False)
check(*SCENES[5], False, False)
for extra in range(int(os.environ.get("LULL_TEST_BANDWIDTH", "0"))):
    dice = random.Random(extra)
    cpus = dice.choice((1, 2, 4))
    check(f"machine {extra}", (cpus, dice.randrange(10, 60), dice.randrange(1, 2 * cpus + 1), dice.randrange(0, 8 * cpus), dice.choice((0.5, 1, 2, 8)),
                               *dice.choice(((0, 0), (0, 0), (9, 4), (30, 20)))), 0.15, 20, dice.random() < 0.5, dice.random() < 0.8, extra)
tap.done()

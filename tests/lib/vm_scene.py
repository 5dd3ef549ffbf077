# SPDX-License-Identifier: MIT
"""Recordings of a host and its guests that this file makes up, and what is true of them, summed while they are made up.

The guests share one CPU of the host with each other and with other tasks. Each has one virtual CPU, and tasks that take turns. All clocks
differ. What a virtual CPU does counts from its first entry to its last exit.
"""
import collections
import os
import random
import struct

import jsonl_to_ctf

US, MS, SECOND = 1000, 10**6, 10**9
START = 1700000000 * SECOND
RUNNING, ASLEEP = 0, 1  # prev_state


class Machine:
    def __init__(self, name, ahead=0):
        self.name, self.ahead, self.events = name, ahead, []

    def event(self, t, name, payload, cpu=0, tid=0, pid=0, comm="x"):
        self.events.append({"t": t - START + self.ahead, "n": name, "p": payload, "pc": {"cpu_id": cpu},
                            "sec": {"tid": tid, "pid": pid, "procname": comm}})

    def write(self, folder, lost=0):
        self.events.sort(key=lambda event: event["t"])
        jsonl_to_ctf.write_trace(self.events, os.path.join(folder, self.name), {"hostname": self.name}, lost, offset_ns=START)


class Vcpu:
    def __init__(self, name, pid, tid, tasks, ahead):
        self.pid, self.tid, self.comm, self.tasks = pid, tid, f"{name}-cpu", tasks
        self.guest = Machine(name, ahead)
        self.state, self.in_run, self.entered, self.task, self.pending = "qemu", False, False, 0, []
        self.asleep, self.waits = set(), {}  # its tasks; those that were woken: since when, and what was stolen meanwhile


class Scene:
    def __init__(self, seed, vcpus, others, has_raw_calls=False):
        self.has_raw_calls = has_raw_calls  # numbers of system calls, as ftrace and perf record them
        self.order = "<>"[seed % 2]  # of the bytes of what these were given
        self.dice, self.t, self.host = random.Random(seed), START, Machine("host")
        self.vcpus = {vcpu.tid: vcpu for vcpu in vcpus}
        self.comms = {0: "swapper/0", **others, **{vcpu.tid: vcpu.comm for vcpu in vcpus}}
        self.ran = collections.Counter()  # thread of the host → ns on its CPU
        self.pids = {vcpu.tid: vcpu.pid for vcpu in vcpus}
        self.running = 0
        self.states = collections.Counter()  # virtual machine, state → ns
        self.fused = collections.Counter()  # virtual machine, its task, state → ns
        self.steals = collections.Counter()  # virtual machine, its task, who, whose task → ns
        self.exits, self.injections, self.gaps = collections.Counter(), collections.Counter(), collections.Counter()
        self.waits = []  # of a guest's tasks, from waking to switch: virtual machine, task, start, end, stolen
        self.intervals = []  # from exit to entry: virtual machine, its task, start, end, switched

    def pid_of(self, tid):
        return self.pids.get(tid, tid)

    def host_event(self, name, payload, cpu=0, tid=None):
        tid = self.running if tid is None else tid
        self.host.event(self.t, name, payload, cpu, tid, self.pid_of(tid), self.comms[tid])

    def advance(self, ns):
        by = self.vcpus.get(self.running)
        self.ran[self.running] += ns
        for vcpu in self.vcpus.values():
            if vcpu.entered:
                stolen = (self.running, by.task if by else None) if vcpu.state in ("preempted", "woken") else None
                vcpu.pending.append((vcpu.state, vcpu.task, stolen, ns))
        self.t += ns

    def settle(self, vcpu):
        name = vcpu.guest.name
        for state, task, stolen, ns in vcpu.pending:
            self.states[name, state] += ns
            self.fused[name, task, state] += ns
            if stolen:
                self.steals[(name, task, *stolen)] += ns
                vcpu.waits = {task: (since, so_far + ns) for task, (since, so_far) in vcpu.waits.items()}
        vcpu.pending.clear()

    def machines(self):
        return [self.host, *(vcpu.guest for vcpu in self.vcpus.values())]

    # ---- the host ----

    def switch(self, to, state=RUNNING):
        before, after = self.vcpus.get(self.running), self.vcpus.get(to)
        self.host_event("sched_switch", {"prev_comm": self.comms[self.running], "prev_tid": self.running, "prev_prio": 20, "prev_state": state,
                                         "next_comm": self.comms[to], "next_tid": to, "next_prio": 20})
        if before:
            before.state = "preempted" if state == RUNNING else "halted" if before.in_run else "blocked"
            before.was_out = True
        if after:
            after.state = "kvm" if after.in_run else "qemu"
        self.running = to

    def wake(self, vcpu):
        """From the other CPU, which is idle."""
        self.host_event("sched_waking", {"comm": vcpu.comm, "tid": vcpu.tid, "prio": 20, "target_cpu": 0}, cpu=1, tid=0)
        vcpu.state = "woken"

    def enter(self, vcpu, vector=None):
        if not vcpu.in_run:
            if self.has_raw_calls:
                self.host_event("sys_enter", {"id": 16, "args": list(struct.pack(self.order + "6Q", 9, 0xAE80, 0, 0, 0, 0))})
            else:
                self.host_event("syscall_entry_ioctl", {"fd": 9, "cmd": 0xAE80, "arg": 0})
            vcpu.in_run, vcpu.state = True, "kvm"
            self.advance(2 * US)
        if vector:
            self.host_event("kvm_inj_virq", {"irq": vector})
            self.injections[vcpu.guest.name, vector] += 1
            self.advance(US)
        self.host_event("kvm_entry", {"vcpu_id": 0})
        if vcpu.entered:
            self.gaps[vcpu.guest.name, vcpu.reason] += self.t - vcpu.left
            self.intervals.append((vcpu.guest.name, vcpu.task, vcpu.left, self.t, vcpu.was_out))
        self.settle(vcpu)
        vcpu.entered, vcpu.state, vcpu.was_out = True, "guest", False

    def exit(self, vcpu, reason):
        self.host_event("kvm_exit", {"exit_reason": reason, "isa": 1, "info1": 7, "vcpu_id": 0})
        self.settle(vcpu)
        self.exits[vcpu.guest.name, reason] += 1
        vcpu.state, vcpu.reason, vcpu.left = "kvm", reason, self.t

    # ---- the guest, while it is entered ----

    def guest_event(self, vcpu, name, payload):
        vcpu.guest.event(self.t, name, payload, 0, vcpu.task, vcpu.task, vcpu.tasks.get(vcpu.task, "swapper/0"))

    def guest_switch(self, vcpu, task, state=RUNNING):
        names = {0: "swapper/0", **vcpu.tasks}
        if task in vcpu.asleep:
            self.guest_wake(vcpu, task)
        if task in vcpu.waits:
            self.waits.append((vcpu.guest.name, task, vcpu.waits[task][0], self.t, vcpu.waits[task][1]))
            del vcpu.waits[task]
        if state == ASLEEP:
            vcpu.asleep.add(vcpu.task)
        self.guest_event(vcpu, "sched_switch", {"prev_comm": names[vcpu.task], "prev_tid": vcpu.task, "prev_prio": 20, "prev_state": state,
                                                "next_comm": names[task], "next_tid": task, "next_prio": 20})
        vcpu.task = task

    def guest_wake(self, vcpu, task):
        self.guest_event(vcpu, "sched_waking", {"comm": vcpu.tasks[task], "tid": task, "prio": 20, "target_cpu": 0})
        vcpu.asleep.discard(task)
        vcpu.waits[task] = (self.t, 0)

    def compute(self, vcpu, ns):
        """Entered, with something recorded now and then."""
        end = self.t + ns
        while self.t < end:
            self.advance(min(self.dice.randrange(20 * US, 200 * US), end - self.t))
            self.guest_event(vcpu, "work", {"n": 1})

    # ---- what happens ----

    def leave_and_enter(self, vcpu):
        """Short exits: some to KVM only, some to the program."""
        self.exit(vcpu, self.dice.choice((1, 30, 48)))
        self.advance(self.dice.randrange(2 * US, 30 * US))
        if self.dice.random() < 0.3:
            self.host_event("sys_exit" if self.has_raw_calls else "syscall_exit_ioctl", {"id": 16, "ret": 0})
            vcpu.in_run, vcpu.state = False, "qemu"
            self.advance(self.dice.randrange(5 * US, 300 * US))
        self.enter(vcpu, self.dice.choice((None, None, 236)))

    def turn(self, vcpu, ns):
        """It has the CPU for so long; at the end it is out of the guest, in KVM."""
        if self.running != vcpu.tid:
            self.switch(vcpu.tid)
        self.advance(self.dice.randrange(3 * US, 20 * US))
        self.enter(vcpu)
        if vcpu.task == 0:
            self.advance(10 * US)
            self.guest_switch(vcpu, self.dice.choice(list(vcpu.tasks)))
        end = self.t + ns
        while self.t < end:
            self.compute(vcpu, self.dice.randrange(30 * US, 700 * US))
            if self.dice.random() < 0.3:
                task = self.dice.choice([task for task in vcpu.tasks if task != vcpu.task])
                if task in vcpu.asleep:
                    self.guest_wake(vcpu, task)
                else:
                    self.guest_switch(vcpu, task, self.dice.choice((RUNNING, ASLEEP)))
            self.leave_and_enter(vcpu)
        self.compute(vcpu, 30 * US)
        self.exit(vcpu, 1)
        self.advance(self.dice.randrange(2 * US, 9 * US))

    def halt(self, vcpu, ns, after):
        """At the end of its turn: its guest has nothing to do; meanwhile another task has the CPU."""
        self.enter(vcpu)
        self.advance(20 * US)
        self.guest_switch(vcpu, 0, ASLEEP)
        self.advance(10 * US)
        self.exit(vcpu, 12)
        self.advance(4 * US)
        self.switch(after, ASLEEP)
        self.advance(ns)
        self.wake(vcpu)
        self.advance(self.dice.randrange(50 * US, 900 * US))

    def hold(self, tid, ns):
        self.switch(tid)
        self.advance(ns)


class NestedScene(Scene):
    """A guest whose task is a virtual CPU of an inner guest. That goes on only while it was entered by the guest, and the guest by the
    host; what else keeps it from going on is what the guest's virtual CPU does."""

    def __init__(self, seed, vcpu, inner, others):
        super().__init__(seed, (vcpu,), others)
        self.outer, self.inner = vcpu, inner
        self.inner_windows = []  # from entry to exit

    def advance(self, ns):
        inner = self.inner
        if inner.entered:
            has_cpu = self.outer.task == inner.tid
            state = self.outer.state if has_cpu and self.outer.state != "guest" else inner.state
            by = self.running if has_cpu else self.outer.task
            inner.pending.append((state, inner.task, (by, None) if state in ("preempted", "woken") else None, ns))
        super().advance(ns)

    def machines(self):
        return [*super().machines(), self.inner.guest]

    def inner_event(self, name, payload):
        self.inner.guest.event(self.t, name, payload, 0, self.inner.task, self.inner.task, self.inner.tasks.get(self.inner.task, "swapper/0"))

    def inner_enter(self):
        if not self.inner.in_run:
            self.guest_event(self.outer, "syscall_entry_ioctl", {"fd": 9, "cmd": 0xAE80, "arg": 0})
            self.inner.in_run = True
        self.guest_event(self.outer, "kvm_entry", {"vcpu_id": 0})
        self.settle(self.inner)
        self.inner.entered, self.inner.state = True, "guest"
        self.inner_entered = self.t

    def inner_exit(self):
        self.guest_event(self.outer, "kvm_exit", {"exit_reason": 1, "isa": 1, "info1": 7, "vcpu_id": 0})
        self.settle(self.inner)
        self.inner.state = "kvm"
        self.inner_windows.append((self.inner_entered, self.t))

    def inner_switch(self, task):
        names = {0: "swapper/0", **self.inner.tasks}
        self.inner_event("sched_switch", {"prev_comm": names[self.inner.task], "prev_tid": self.inner.task, "prev_prio": 20, "prev_state": RUNNING,
                                          "next_comm": names[task], "next_tid": task, "next_prio": 20})
        self.inner.task = task

    def inner_compute(self, ns):
        end = self.t + ns
        while self.t < end:
            self.advance(min(self.dice.randrange(10 * US, 100 * US), end - self.t))
            self.inner_event("work", {"n": 1})

    def lose_cpu(self, ns):
        """Of the host, to another of its tasks."""
        self.exit(self.outer, 1)
        self.advance(self.dice.randrange(2 * US, 9 * US))
        self.switch(300)
        self.advance(ns)
        self.switch(self.outer.tid)
        self.advance(self.dice.randrange(3 * US, 20 * US))
        self.enter(self.outer)

    def inner_turn(self):
        """From an entry of the inner guest to its exit."""
        self.inner_enter()
        self.advance(3 * US)
        if self.inner.task == 0 or self.dice.random() < 0.2:
            self.inner_switch(self.dice.choice([task for task in self.inner.tasks if task != self.inner.task]))
        for _ in range(self.dice.randrange(3)):
            self.inner_compute(self.dice.randrange(30 * US, 300 * US))
            self.leave_and_enter(self.outer)
        if self.dice.random() < 0.2:
            self.lose_cpu(self.dice.randrange(MS, 6 * MS))
        self.inner_compute(self.dice.randrange(20 * US, 300 * US))
        self.inner_exit()
        self.advance(self.dice.randrange(2 * US, 15 * US))
        if self.dice.random() < 0.1:  # out of both at once
            self.lose_cpu(self.dice.randrange(MS, 3 * MS))

    def give_away(self, ns):
        """The guest's CPU, to another task of the guest."""
        self.inner.state = "preempted"
        self.guest_switch(self.outer, 41)
        self.compute(self.outer, ns)
        self.guest_switch(self.outer, self.inner.tid)
        self.inner.state = "kvm"
        self.advance(5 * US)


def nested_scene(seed=1, gap_ns=9 * MS):
    """A host, its guest "outer", and in that a guest "inner". In the end a program in the latter sees a gap, while a compiler on the host
    has the CPU. Returns the scene, and the gap as the program measures it."""
    outer = Vcpu("outer", 100, 101, {41: "sh", 51: "inner-cpu"}, 5 * SECOND + 123456)
    inner = Vcpu("inner", 51, 51, {61: "clock", 62: "other"}, 3 * SECOND)
    scene = NestedScene(seed, outer, inner, {300: "cc1"})
    scene.switch(101)
    scene.advance(5 * US)
    scene.enter(outer)
    scene.advance(5 * US)
    scene.guest_switch(outer, 51)
    for i in range(250):
        scene.inner_turn()
        if i % 6 == 5:
            scene.give_away(scene.dice.randrange(MS, 4 * MS))
    scene.inner_enter()
    scene.advance(3 * US)
    if inner.task != 61:
        scene.inner_switch(61)
    scene.inner_event("lap_begin", {"n": 1})
    before = scene.t
    scene.advance(US)
    scene.lose_cpu(gap_ns)
    scene.advance(US)
    scene.inner_event("lap_end", {"n": 1})
    gap = scene.t - before
    scene.inner_compute(MS)
    scene.inner_exit()
    scene.advance(5 * US)
    scene.exit(outer, 1)
    return scene, gap


class DiskScene(Scene):
    """A guest whose program reads from a disk. The program that runs the guest has a main thread, and a thread that reads from the host's disk;
    when that is done, the main thread raises the guest's interrupt, or a thread of the kernel does. `how`: what of that is recorded: KVM's event,
    or the calls; "hardware": the hardware injects interrupts; "damaged": there are events besides that mean nothing. In the end the program sleeps."""

    VECTORS = {"irq 25 virtio0-req.0": 38, "irq 26 virtio1-input.0": 39}

    def __init__(self, seed, vcpu, how):
        super().__init__(seed, (vcpu,), {vcpu.pid: "qemu-main", vcpu.pid + 2: "qemu-io", 300: "cc1", 150: f"vhost-{vcpu.pid}"})
        self.vcpu, self.how, self.sector = vcpu, how, 0
        self.raiser = 150 if how == "vhost" else vcpu.pid
        self.pids[vcpu.pid + 2] = vcpu.pid
        self.naps = []  # from when to when, and since when its timer had expired
        self.truth = []  # of each wait: start, end, when the host's disk was read, whether the virtual CPU slept

    def enter(self, vcpu, vector=None):
        super().enter(vcpu, None if self.how == "hardware" else vector)

    def damage(self):
        """The program writes to many descriptors, and KVM's events name what cannot be."""
        for apic, vector in ((0, 256), (0, -1), (-1, 38), (1 << 40, 38), (7, 38), (0, 1 << 40)):
            self.host_event("kvm_apic_accept_irq", {"apicid": apic, "vec": vector}, 1, self.raiser)
            self.host_event("syscall_entry_write", {"fd": self.dice.randrange(1000), "buf": 0, "count": 8}, 1, self.raiser)

    def nap(self, late_ns):
        """The program sleeps, as does the virtual CPU; when the timer of the host has expired, somebody else has the CPU."""
        vcpu = self.vcpu
        self.guest_switch(vcpu, 0, ASLEEP)
        start = self.t
        self.advance(4 * US)
        self.exit(vcpu, 12)
        self.switch(300, ASLEEP)
        self.advance(self.dice.randrange(MS, 9 * MS))
        self.host_event("hrtimer_expire_entry", {"hrtimer": 5, "now": self.t, "function": 6}, 1, 0)
        self.wake(vcpu)
        self.host_event("hrtimer_expire_exit", {"hrtimer": 5}, 1, 0)
        self.advance(late_ns)
        self.switch(vcpu.tid)
        self.advance(3 * US)
        self.enter(vcpu, 236)
        late = self.t - late_ns - 3 * US
        self.guest_event(vcpu, "local_timer_entry", {"vector": 236})
        self.guest_event(vcpu, "hrtimer_expire_entry", {"hrtimer": 7, "now": self.t, "function": 8})
        self.advance(2 * US)
        self.guest_wake(vcpu, 42)
        self.naps.append((start, late, self.t))
        self.guest_event(vcpu, "hrtimer_expire_exit", {"hrtimer": 7})
        self.guest_event(vcpu, "local_timer_exit", {"vector": 236})
        self.guest_switch(vcpu, 42)
        self.advance(200 * US)

    def on_other_cpu(self, tid, before, state, events):
        """Another CPU runs a thread for a while."""
        names = {0: "swapper/1", **self.comms}
        self.host_event("sched_switch", {"prev_comm": names[before], "prev_tid": before, "prev_prio": 20, "prev_state": state, "next_comm": names[tid],
                                         "next_tid": tid, "next_prio": 20}, 1, before)
        for ns, name, payload in events:
            self.advance(ns)
            self.host_event(name, payload, 1, tid)
        self.advance(3 * US)

    def wake_thread(self, tid, by):
        self.host_event("sched_waking", {"comm": self.comms[tid], "tid": tid, "prio": 20, "target_cpu": 1}, 1, by)

    def raise_irq(self, label):
        """By who does so, and is on the other CPU."""
        if self.how == "calls" and label.startswith("irq 25"):
            call = ("ioctl", {"fd": 5, "cmd": 0x4020AEA5, "arg": 0})
        else:
            call = ("write", {"fd": 13, "buf": 0, "count": 8})
        if self.how == "damaged":
            self.damage()
        if self.how in ("events", "calls"):
            self.host_event("syscall_entry_" + call[0], call[1], 1, self.raiser)
        self.advance(2 * US)
        if self.how in ("events", "vhost", "hardware", "damaged"):
            self.host_event("kvm_apic_accept_irq", {"apicid": 0, "vec": self.VECTORS[label]}, 1, self.raiser)
        self.raised = self.t

    def interrupt(self, label, wakes=None):
        """In the guest."""
        number, name = label.split()[1:]
        self.guest_event(self.vcpu, "irq_handler_entry", {"irq": int(number), "name": name})
        self.advance(3 * US)
        if wakes:
            self.guest_event(self.vcpu, "block_rq_complete", {"dev": 0xFE00000, "sector": self.sector, "nr_sector": 8, "error": 0, "rwbs": 4})
            self.guest_wake(self.vcpu, wakes)
            self.end = self.t
        self.advance(2 * US)
        self.guest_event(self.vcpu, "irq_handler_exit", {"irq": int(number), "ret": 1})

    def read(self, has_other):
        """A task of the guest reads; meanwhile another one runs there, or nothing."""
        vcpu, main, io = self.vcpu, self.vcpu.pid, self.vcpu.pid + 2
        self.sector += 64
        disk = {"dev": 0x800000, "sector": 7 * self.sector, "nr_sector": 8}
        self.guest_event(vcpu, "block_rq_issue", {"dev": 0xFE00000, "sector": self.sector, "nr_sector": 8, "bytes": 4096, "tid": 42, "rwbs": 4, "comm": "reader"})
        self.advance(5 * US)
        self.guest_switch(vcpu, 41 if has_other else 0, ASLEEP)
        start = self.t
        self.advance(4 * US)
        self.exit(vcpu, 48)
        self.wake_thread(main, vcpu.tid)
        self.on_other_cpu(main, 0, RUNNING, [])
        self.wake_thread(io, main)
        if self.dice.random() < 0.5:  # for itself
            self.host_event("syscall_entry_write", {"fd": 7, "buf": 0, "count": 8}, 1, main)
        self.enter(vcpu)
        if not has_other:
            self.advance(5 * US)
            self.exit(vcpu, 12)
            self.switch(300, ASLEEP)
        self.on_other_cpu(io, main, ASLEEP, [(9 * US, "block_rq_issue", {**disk, "bytes": 4096, "tid": io, "rwbs": 4, "comm": "qemu-io"})])
        self.on_other_cpu(0, io, ASLEEP, [])
        issued = self.t
        end = self.t + self.dice.randrange(2 * MS, 12 * MS)
        while self.t < end:
            self.advance(self.dice.randrange(100 * US, 900 * US))
            if has_other:
                self.guest_event(vcpu, "work", {"n": 1})
                if self.dice.random() < 0.5:
                    self.exit(vcpu, 1)
                    self.advance(3 * US)
                    self.enter(vcpu, 236)
        self.host_event("irq_handler_entry", {"irq": 29, "name": "sda"}, 1, 0)
        self.advance(US)
        self.host_event("block_rq_complete", {**disk, "error": 0, "rwbs": 4}, 1, 0)
        self.wake_thread(io, 0)
        self.host_event("irq_handler_exit", {"irq": 29, "ret": 1}, 1, 0)
        disk_ns = self.t - issued
        self.on_other_cpu(io, 0, RUNNING, [])
        self.wake_thread(self.raiser, io)
        self.on_other_cpu(self.raiser, io, ASLEEP, [])
        label = "irq 25 virtio0-req.0"
        self.raise_irq(label)
        if has_other:
            self.advance(2 * US)
            self.exit(vcpu, 1)
            self.advance(3 * US)
        else:
            self.host_event("sched_waking", {"comm": vcpu.comm, "tid": vcpu.tid, "prio": 20, "target_cpu": 0}, 1, self.raiser)
            vcpu.state = "woken"
            self.advance(self.dice.randrange(50 * US, 2 * MS))
            self.switch(vcpu.tid)
            self.advance(3 * US)
        woken = self.raised
        self.enter(vcpu, self.VECTORS[label])
        self.on_other_cpu(0, self.raiser, ASLEEP, [])
        self.interrupt(label, 42)
        self.truth.append((start, self.end, disk_ns, self.end - woken, not has_other))
        self.advance(2 * US)
        self.guest_switch(vcpu, 42)
        self.advance(300 * US)
        if self.dice.random() < 0.3:  # a network card, about which nobody waits
            label = "irq 26 virtio1-input.0"
            self.on_other_cpu(self.raiser, 0, RUNNING, [])
            self.raise_irq(label)
            self.on_other_cpu(0, self.raiser, ASLEEP, [])
            self.exit(vcpu, 1)
            self.advance(2 * US)
            self.enter(vcpu, self.VECTORS[label])
            self.advance(US)
            self.interrupt(label)
        self.advance(50 * US)


def disk_scene(how, n=40, seed=1):
    """The program reads n times."""
    vcpu = Vcpu("web", 100, 101, {41: "other", 42: "reader"}, 7 * SECOND + 654321)
    scene = DiskScene(seed, vcpu, how)
    scene.switch(101)
    scene.advance(5 * US)
    scene.enter(vcpu)
    scene.advance(5 * US)
    scene.guest_switch(vcpu, 42)
    for _ in range(n):
        for _ in range(8):
            scene.advance(100 * US)
            scene.guest_event(vcpu, "work", {"n": 1})
        scene.leave_and_enter(vcpu)
        scene.read(scene.dice.random() < 0.5)
    for late_ns in (0, 20 * US, MS, 7 * MS, 3 * MS):
        scene.nap(late_ns)
    scene.exit(vcpu, 1)
    return scene

def laps(scene, vcpu, n):
    """A program reads the clock before and after something short."""
    for _ in range(n):
        scene.guest_event(vcpu, "lap_begin", {"n": 1})
        scene.advance(30 * US)
        scene.guest_event(vcpu, "lap_end", {"n": 1})
        scene.advance(5 * US)


def gap_scene(seed=1, gap_ns=13 * MS, has_raw_calls=False):
    """Two guests, "web" and "db", and a compiler on one CPU. In the end a program of web that reads the clock in a loop sees a gap, while
    a task of db has the CPU. Returns the scene, and the gap as the program measures it."""
    web = Vcpu("web", 100, 101, {41: "nginx", 42: "clock"}, 5 * SECOND + 123456)
    db = Vcpu("db", 200, 201, {41: "postgres", 43: "burner"}, 2 * SECOND)
    scene = Scene(seed, (web, db), {300: "cc1", 110: "web-io", 250: "vhost-200"}, has_raw_calls)
    scene.pids[110] = 100
    for i in range(60):
        scene.turn(web, scene.dice.randrange(MS, 6 * MS))
        if i % 5 == 4:
            scene.halt(web, scene.dice.randrange(MS, 5 * MS), 300)
            scene.turn(web, MS)
        scene.turn(db, scene.dice.randrange(MS, 6 * MS))
        if i % 3 == 2:
            scene.hold(300, scene.dice.randrange(MS, 4 * MS))
        if i % 10 == 1:
            scene.hold(110, MS)
            scene.hold(250, 2 * MS)
    scene.turn(web, MS)
    scene.enter(web)
    scene.advance(5 * US)
    if web.task != 42:
        scene.guest_switch(web, 42)
    laps(scene, web, 20)
    scene.guest_event(web, "lap_begin", {"n": 1})
    before = scene.t
    scene.advance(US)
    scene.exit(web, 1)
    scene.advance(3 * US)
    out = scene.t
    scene.switch(201)
    scene.advance(5 * US)
    scene.enter(db)
    scene.advance(5 * US)
    if db.task != 43:
        scene.guest_switch(db, 43)
    while scene.t < out + gap_ns - MS:
        scene.compute(db, 900 * US)
        scene.leave_and_enter(db)
    scene.compute(db, out + gap_ns - scene.t)
    scene.exit(db, 1)
    scene.advance(4 * US)
    scene.switch(101)
    scene.advance(6 * US)
    scene.enter(web)
    scene.advance(US)
    scene.guest_event(web, "lap_end", {"n": 1})
    gap = scene.t - before
    laps(scene, web, 20)
    scene.compute(web, 3 * MS)
    scene.exit(web, 1)
    return scene, gap


def write(scene, folder):
    for machine in scene.machines():
        machine.write(folder)

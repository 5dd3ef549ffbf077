#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Machines of chance that know their critical paths, waits and requests, and whether Lull finds them.

    random_machines.py [SCENE FIRST LAST]

A simulation schedules tasks that compute, wake each other, sleep, read from a disk, exchange packets, fork and exit, on CPUs that
interrupts take. It writes a script for make_traces, and keeps for each task what it did and who or what ended each of its waits:
the path follows from these by the definition alone (who waits for a task waits for what that did meanwhile), and so do the sums of
lull waits and what lull requests lists. Of what a machine could not record nothing may be made up. Without arguments: some seeds of
each scene. Prints TAP. LULL and MAKE_TRACES are the programs.
"""

import concurrent.futures
import heapq
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap  # noqa: E402

US, MS = 1000, 1000000
EPOCH = 1700000000 * 10**9  # make_traces' zero
LOCAL = ("wake", "wake", "wait", "sleep", "disk")
GROWING = (*LOCAL, "fork", "exit")
NETWORK = ("wake", "wait", "sleep", "disk", "send", "send", "recv")
# odd: wake-ups of who is awake or not yet asleep, or finished by an IPI on another CPU; nested interrupts; tids used again.
SCENES = {
    "one": {"acts": LOCAL, "tasks": 8},
    "odd": {"acts": GROWING, "odd": True},
    "windows": {"acts": GROWING, "odd": True, "windows": True},
    "bare": {"acts": GROWING, "odd": True, "options": " contexts none be natural"},
    "wakeup": {"acts": GROWING, "options": " omit sched_waking"},
    "waking": {"acts": GROWING, "odd": True, "options": " omit sched_wakeup"},
    "network": {"acts": NETWORK, "odd": True, "hosts": 3, "ms": 200},
    "batches": {"acts": ("wake", "sleep", "ask", "ask", "send", "send"), "odd": True, "hosts": 2, "ms": 200},
    "calls": {"acts": ("serve", "sleep"), "clients": ("call", "call", "sleep", "wake", "wait"), "hosts": 3, "ms": 300, "skewed": True},
    "bursts": {"acts": ("serve", "sleep"), "clients": ("call", "call", "sleep", "wake"), "hosts": 3, "ms": 600, "burst": 30, "odd": True},
    "local-bursts": {"acts": ("serve", "sleep"), "clients": ("call", "call", "sleep", "wake"), "ms": 600, "burst": 30, "odd": True,
                     "via": (" via veth0", " translated veth1", ""), "seeds": 10},
    "namespaces": {"acts": NETWORK, "ms": 200, "via": (" via veth0", " translated veth1", "")},
    "headerless": {"acts": NETWORK, "ms": 200, "via": (" via veth0", " translated veth1", ""), "options": " headerless"},
    "skewed": {"acts": NETWORK, "hosts": 4, "ms": 400, "skewed": True},
    "pinned": {"acts": LOCAL, "pinned": True, "seeds": 6},
    "pinned-holes": {"acts": LOCAL, "pinned": True, "gaps": "packet", "options": " contexts none"},
    "gaps": {"acts": GROWING, "gaps": "discarded"},
    "holes": {"acts": GROWING, "gaps": "packet"},
    "bare-holes": {"acts": GROWING, "gaps": "packet", "options": " contexts none"},
    "network-holes": {"acts": NETWORK, "gaps": "packet", "hosts": 3, "ms": 200},
}


class Task:
    def __init__(self, host, tid, pid):
        self.host, self.tid, self.pid = host, tid, pid
        self.name = f"{host.name}t{len(host.tasks)}"
        self.log = []  # [start, end, state, why it ended]
        self.cpu, self.left, self.turn = None, 0, 0
        self.then = None  # what comes after this burst
        self.ends, self.inbox, self.sent_on = [], [], set()  # of connections
        self.is_child = self.is_reused = self.hears = False
        self.home = None  # the number of the only CPU on which it runs; None: on any

    @property
    def state(self):
        return self.log[-1][2] if self.log else None

    def become(self, time, state):
        if self.log:
            self.log[-1][1] = time
        self.log.append([time, None, state, None])


class Cpu:
    def __init__(self, host, number):
        self.where, self.number = f"{host.name}/{number}", number
        self.task, self.since, self.busy = None, 0, -1  # busy: an interrupt until then
        self.idle = []  # [start, end] of each time


class Host:
    def __init__(self, name, n_cpus, options, first_tid):
        self.name, self.options, self.next_tid, self.sector = name, options, first_tid, 4096
        self.cpus = [Cpu(self, i) for i in range(n_cpus)]
        self.tasks, self.queue, self.waiters, self.held, self.offset = [], [], [], [], 0


class Simulation:  # pylint: disable=R0904
    def __init__(self, seed, scene):
        self.chance, self.scene, self.odd = random.Random(seed), scene, scene.get("odd", False)
        self.due, self.order, self.now, self.end = [], 0, 0, scene.get("ms", 120) * MS
        self.calls, self.gaps, self.lines, self.flows, self.n_packets, self.hosts, self.arrivals = [], [], [], [], 0, [], {}
        self.sent = {}  # packets: when they were sent, each time
        self.coming = {}  # packets: which of these copies are under way
        self.ended = {}  # by the time of its first send: of what was sent together the packet that came last, and which copy of it
        for i in range(scene.get("hosts", 1)):
            host = Host(f"h{i}", self.chance.randrange(1, 5), scene.get("options", ""), self.chance.randrange(100, 30000))
            if i and scene.get("skewed"):
                host.offset = self.chance.randrange(-5 * 10**9, 5 * 10**9)
                host.options += f" offset {host.offset}ns drift {self.chance.uniform(-50, 50):.1f}"
            self.hosts.append(host)
            for cpu in host.cpus:
                cpu.idle.append([0, self.end])
            for _ in range(self.chance.randrange(3, scene.get("tasks", 6) + 1)):
                task = self.add_task(host)
                task.home = self.chance.choice((0, 0, None, *range(len(host.cpus)))) if scene.get("pinned") else None
                task.become(0, "unknown")
                self.at(self.chance.randrange(10 * US, 3 * MS), self.first, task)
        self.connect()
        self.has_gaps = "gaps" in scene
        if self.has_gaps:
            self.lose()
        self.at(50 * US, self.noise)
        while self.due[0][0] <= self.end:
            self.now, _, function, arguments = heapq.heappop(self.due)
            function(*arguments)
        for task in self.all_tasks():
            task.log[-1][1] = self.end

    def at(self, time, function, *arguments):
        self.order += 1
        heapq.heappush(self.due, (time, self.order, function, arguments))

    def say(self, time, where, text):
        self.lines.append((time, f"{time}ns {where} {text}"))

    def all_tasks(self):
        return [task for host in self.hosts for task in host.tasks]

    def script(self):
        found = [f"host {host.name}{host.options}" for host in self.hosts]
        found += [f"task {task.name} {task.host.name} {task.tid}/{task.pid}" + (f" on {task.home}" if task.home is not None else "")
                  for task in self.all_tasks()]
        found += self.flows + [line for _, line in sorted(self.lines, key=lambda one: one[0])]
        return "\n".join(found) + "\n"

    # ---- tasks and connections ----

    def add_task(self, host, parent=None):
        tid = host.next_tid
        dead = [task for task in host.tasks if task.state == "dead" and not task.is_reused and task.log[-1][0] < self.now - 100 * US]
        if self.odd and dead and self.chance.random() < 0.5:
            dead = self.chance.choice(dead)
            dead.is_reused, tid = True, dead.tid
        else:
            host.next_tid += 1
        host.tasks.append(Task(host, tid, parent.pid if parent and self.chance.random() < 0.5 else tid))
        return host.tasks[-1]

    def is_client(self, task):
        """On the first host, or if there is no other, every second one."""
        return "clients" in self.scene and (task.host is self.hosts[0] if len(self.hosts) > 1 else task.host.tasks.index(task) % 2 == 0)

    def connect(self):
        for task in [task for task in self.all_tasks() if self.is_client(task)] if "clients" in self.scene else self.all_tasks():
            others = [other for other in self.all_tasks() if other is not task and (other.host is not task.host or "via" in self.scene)]
            if "clients" in self.scene:
                others = [other for other in others if not self.is_client(other)]
            if others and self.chance.random() < 0.8:
                other, name = self.chance.choice(others), f"f{len(self.flows)}"
                self.flows.append(f"flow {name} tcp {task.host.name}:{40000 + len(self.flows)} {other.host.name}:{80 + len(self.flows)}"
                                  + (self.chance.choice(self.scene["via"]) if "via" in self.scene else ""))
                task.ends.append((name, "client", other))
                other.ends.append((name, "server", task))

    def lose(self):
        """Events, or a packet, of a CPU."""
        for cpu in [cpu for host in self.hosts for cpu in host.cpus]:
            start = 0
            while self.chance.random() < 0.7:
                start += self.chance.randrange(4 * MS, 40 * MS)
                length = self.chance.choice((self.chance.randrange(20 * US, 300 * US), self.chance.randrange(300 * US, 8 * MS)))
                kind = self.scene["gaps"] if self.chance.random() < 0.5 else "packet"
                self.say(start, cpu.where, f"gap {length}ns {kind}")
                self.gaps.append((start, start + length, cpu.where, kind))
                start += length

    def is_excused(self, segment, time, low):
        """Of discarded events a trace says only afterwards where they are missing: until then a task has done what was recorded."""
        if segment["cause"] == "network":  # the send was lost: nobody knows what the sender did before
            waits = (entry for task in self.all_tasks() if (task.host.name, task.tid) == (segment["host"], segment["tid"]) for entry in task.log)
            return any(entry[0] <= low < entry[1] and entry[2] == "blocked" and entry[3] and entry[3][0] == "network" for entry in waits)
        for start, end, where, kind in self.gaps:
            if where.startswith(segment["host"] + "/") and start < time:
                over = min((line[0] for line in self.lines if line[0] >= end and f" {where} " in line[1]), default=None)
                if over is None or (time < over and kind != "packet"):  # or never: nothing follows
                    return True
        return False

    # ---- the scheduler ----

    def burst(self):
        return self.chance.choice((self.chance.randrange(30 * US, 200 * US), self.chance.randrange(200 * US, 4 * MS)))

    def first(self, task):
        free = [cpu for cpu in task.host.cpus if not cpu.task and cpu.busy < self.now and task.home in (None, cpu.number)]
        if not free:
            self.at(self.now + 100 * US, self.first, task)
            return
        task.left = self.burst()
        self.start(self.chance.choice(free), task, f"run {task.name}")

    def start(self, cpu, task, line):
        self.say(self.now, cpu.where, line)
        if not cpu.task:
            cpu.idle[-1][1] = self.now
        cpu.task, cpu.since, task.cpu = task, self.now, cpu
        task.become(self.now, "running")
        self.go_on(task, task.left)
        if self.chance.random() < 0.7:
            self.at(self.now + self.chance.randrange(100 * US, 2 * MS), self.slice, task, task.turn)

    def go_on(self, task, left=None):
        task.left, task.cpu.since = left or self.burst(), self.now
        task.turn += 1
        self.at(self.now + task.left, self.finish, task, task.turn)

    def is_held(self, cpu, function, *arguments):
        """An interrupt runs on the CPU: later."""
        if cpu.busy >= self.now:
            self.at(cpu.busy + 2 * US, function, *arguments)
        return cpu.busy >= self.now

    @staticmethod
    def may_take(cpu, host):
        return [task for task in host.queue if task.home in (None, cpu.number)]

    def take_next(self, cpu, host):
        may = self.may_take(cpu, host)
        older = [task for task in may if task.log[-1][0] < self.now - US]  # sched_wakeup comes a moment after sched_waking
        task = self.chance.choice(older or may)
        host.queue.remove(task)
        return task

    def slice(self, task, turn):
        if task.turn != turn or task.state != "running" or self.is_held(task.cpu, self.slice, task, turn):
            return
        done = self.now - task.cpu.since
        if self.may_take(task.cpu, task.host) and task.left - done >= 20 * US:
            following = self.take_next(task.cpu, task.host)
            task.left -= done
            self.be_runnable(task)
            self.start(task.cpu, following, f"run {following.name}")

    def be_runnable(self, task):
        task.turn += 1
        task.become(self.now, "preempted")
        task.host.queue.append(task)

    def leave(self, task, state, prev_state):
        cpu, host = task.cpu, task.host
        task.become(self.now, state)
        task.turn += 1
        if self.may_take(cpu, host) and self.chance.random() < 0.9:
            following = self.take_next(cpu, host)
            self.start(cpu, following, f"block {prev_state} then {following.name}")
            return
        self.say(self.now, cpu.where, f"block {prev_state}")
        cpu.task = None
        cpu.idle.append([self.now, self.end])
        self.kick_later(host, [cpu])

    def kick_later(self, host, cpus):
        idle = [cpu for cpu in cpus if not cpu.task]
        if idle:
            self.at(self.now + self.chance.randrange(10 * US, 60 * US), self.kick, host, self.chance.choice(idle))

    def kick(self, host, cpu):
        if not cpu.task and self.may_take(cpu, host) and not self.is_held(cpu, self.kick, host, cpu):
            task = self.take_next(cpu, host)
            self.start(cpu, task, f"run {task.name}")

    def woken(self, task, why):
        task.log[-1][3] = why
        # Who looks only for a moment between two waits waits once: "tries" of docs/HOWITWORKS.md are not what this is about.
        task.left = max(self.burst(), (self.now - task.log[-1][0]) // 5 if why[0] == "timer" else 0)
        self.be_runnable(task)
        self.kick_later(task.host, [cpu for cpu in task.host.cpus if task.home in (None, cpu.number)])

    def finish(self, task, turn):
        if task.turn != turn or task.state != "running" or self.is_held(task.cpu, self.finish, task, turn):
            return
        acts = self.scene["clients" if self.is_client(task) else "acts"]
        act = task.then or getattr(self, "act_" + self.chance.choice(acts))
        task.then = None
        act(task)

    # ---- what tasks do ----

    def act_wake(self, task):
        host, cpu = task.host, task.cpu
        if host.waiters:
            other = host.waiters.pop(self.chance.randrange(len(host.waiters)))
            self.say_wake(host, cpu, other)
            self.woken(other, ("task", task))
        elif self.odd and not self.scene.get("options"):  # who is awake is not woken again, unless it was about to sleep
            other = self.chance.choice(host.tasks)
            runs = other.state == "running" and other.cpu.since + other.left > self.now + 5 * US  # and is not about to sleep
            if other is not task and (runs or other.state == "preempted"):
                self.say(self.now, cpu.where, f"wake {other.name}")
        self.go_on(task)

    def quiet(self, host, cpu):
        """The other CPUs where nothing happens just now."""
        return [other for other in host.cpus if other is not cpu and max(other.busy, other.since) < self.now - 20 * US]

    def say_wake(self, host, cpu, task):
        others = self.quiet(host, cpu) if self.odd and self.chance.random() < 0.5 else None
        if not others:
            self.say(self.now, cpu.where, f"wake {task.name}")
            return
        other = self.chance.choice(others)
        values = f'comm="{task.name}" tid={task.tid} prio=20'
        self.say(self.now, cpu.where, f"event sched_waking {values} target_cpu={other.number}")
        self.say(self.now + 500, cpu.where, f"event sched_migrate_task {values} orig_cpu={cpu.number} dest_cpu={other.number}")
        other.busy = self.now + 8 * US
        self.say(self.now + 3 * US, other.where, f"vector reschedule {4 * US}ns")
        self.say(self.now + 4 * US, other.where, f"event sched_wakeup {values} target_cpu={other.number}")

    def act_wait(self, task):
        wakers = [cpu for cpu in self.quiet(task.host, task.cpu) if cpu.task] if self.odd else []
        if not wakers or self.chance.random() < 0.7:
            task.host.waiters.append(task)
            self.leave(task, "blocked", self.chance.choice((1, 1, 2)))
            return
        # It is woken before it has left its CPU, which the kernel lets it do first.
        cpu = self.chance.choice(wakers)
        values = f'comm="{task.name}" tid={task.tid} prio=20 target_cpu={task.cpu.number}'
        self.say(self.now - 2 * US, cpu.where, "event sched_waking " + values)
        self.say(self.now + US, cpu.where, "event sched_wakeup " + values)
        why = ("task", cpu.task)
        self.leave(task, "blocked", 1)
        self.now += US
        self.woken(task, why)

    def act_sleep(self, task):
        self.leave(task, "blocked", 1)
        self.at(self.now + self.chance.randrange(100 * US, 8 * MS), self.expire, task)

    def act_disk(self, task):
        sector = task.host.sector = task.host.sector + 64
        self.say(self.now, task.cpu.where, f"disk issue {task.name} {sector}")

        def wait(_):
            self.leave(task, "blocked", 2)
            self.at(self.now + self.chance.randrange(100 * US, 9 * MS), self.complete, task, sector)
        task.then = wait
        self.go_on(task, 6 * US)

    def act_send(self, task):
        if task.ends:
            flow, side, other = self.chance.choice(task.ends)
            self.n_packets += 1
            self.say(self.now, task.cpu.where, f"send p{self.n_packets} {flow} {side} {self.chance.choice((20, 400, 1400))}")
            arrival = self.now + 100 * US + self.chance.choice((0, 0, self.chance.randrange(2 * MS)))
            arrival = self.arrivals[flow, side] = max(arrival, self.arrivals.get((flow, side), 0) + MS)  # in order
            self.at(arrival, self.arrive, f"p{self.n_packets}", other, ("network", task, self.now), flow)
            task.sent_on.add(flow)
        self.go_on(task)

    def act_ask(self, task):
        task.then = self.act_recv
        self.act_send(task)

    def act_recv(self, task):
        if task.inbox or not task.ends:
            task.inbox = task.inbox[1:]
            self.go_on(task)
        else:
            task.hears = True
            self.leave(task, "blocked", 1)

    def act_fork(self, task):
        host = task.host
        if len(host.tasks) < 40:
            child = self.add_task(host, task)
            child.is_child, child.left = True, self.burst()
            self.say(self.now, task.cpu.where, f"fork {task.name} {child.name}")
            self.be_runnable(child)
            self.kick_later(host, host.cpus)
        self.go_on(task)

    def act_exit(self, task):
        if task.is_child:
            self.say(self.now, task.cpu.where, f'event sched_process_exit comm="{task.name}" tid={task.tid} prio=20')
            task.then = lambda _: self.leave(task, "dead", 32)
        self.go_on(task, 15 * US if task.is_child else None)

    # ---- calls over TCP, of which packets are lost, come twice or late ----

    def act_call(self, task):
        flows = [flow for flow, side, _ in task.ends if side == "client"]
        if not flows:
            self.act_sleep(task)
            return
        flow, server = self.chance.choice([(flow, other) for flow, side, other in task.ends if side == "client"])
        call = {"task": task, "flow": flow, "begin": self.now, "arrived": None, "sent": 0, "received": 0}
        self.calls.append(call)
        call["sent"] = self.transmit(task, flow, "client", server, self.ask, call)
        task.then = lambda _: self.await_answer(task, call)
        self.go_on(task, 15 * US + self.scene.get("burst", 0) * US)

    def transmit(self, task, flow, side, other, function, call):
        """Sends segments; the function is called when all have arrived, with why that took so long."""
        total, missing, last, is_burst = 0, set(), self.now + 100 * US, "burst" in self.scene
        timer = self.now + self.chance.randrange(3 * MS, 20 * MS)
        count = self.chance.randrange(1, self.chance.choice((4, self.scene["burst"])) if is_burst else 5)
        task.cpu.busy = self.now + count * US  # no interrupt comes between them
        for i in range(count):
            self.n_packets += 1
            name, bytes_ = f"p{self.n_packets}", self.chance.choice((20, 400, 1400))
            total += bytes_
            missing.add(name)
            self.say(self.now + i * US, task.cpu.where, f"send {name} {flow} {side} {bytes_}")
            self.sent[name], self.coming[name] = [self.now + i * US], []
            last += self.chance.choice((0, 0, 10 * US))
            arrival, why = last + i * 60 * US, ("network", task, self.now + i * US)
            fate = self.chance.random()
            if fate < 0.1:  # lost, and sent again by a timer, of a burst all at once
                timer = timer + 21 * US if is_burst else self.now + self.chance.randrange(3 * MS, 20 * MS)
                self.at(timer, self.send_again, task.host, is_burst and self.chance.random() < 0.3, name, other, missing, function, call, why)
                continue
            self.coming[name].append(0)
            if fate < 0.2:  # late
                arrival += self.chance.randrange(500 * US)
            if fate > 0.9:  # twice: it was not lost
                self.at(arrival + self.chance.randrange(MS), self.send_again, task.host, False, name, other, missing, function, call, why)
            self.at(arrival, self.deliver, 0, name, other, missing, function, call, why)
        return total

    def send_again(self, host, is_lost, *what):
        cpu = self.interrupt(host, 20 * US, self.send_again, host, is_lost, *what)
        if cpu:
            self.say(self.now, cpu.where, f"softirq 1 {18 * US}ns")
            name, copy = what[0], len(self.sent[what[0]])  # the buffer of what was lost is free, and the first that TCP takes
            self.say(self.now + 9 * US, cpu.where, f"resend {name}" + ("" if self.coming[name] else " reused"))
            self.sent[name].append(self.now + 9 * US)
            if is_lost:
                self.at(self.now + self.chance.randrange(2, 5) * 8 * MS, self.send_again, host, False, *what)
            else:
                self.coming[name].append(copy)
                self.at(self.now + 109 * US, self.deliver, copy, *what)

    def deliver(self, copy, name, task, missing, function, call, why):
        if self.coming[name][0] != copy:  # one after the other, as they were sent
            self.at(self.now + 50 * US, self.deliver, copy, name, task, missing, function, call, why)
            return
        cpu = self.interrupt(task.host, 55 * US, self.deliver, copy, name, task, missing, function, call, why)
        if cpu:
            self.at(self.now + 30 * US, self.coming[name].pop, 0)
            self.say(self.now + 30 * US, cpu.where, f"receive {name} copy {copy}")
            if missing == {name}:
                self.ended[why[2]] = name, copy
                self.at(self.now + 35 * US, function, task, call, why, cpu)
            missing.discard(name)

    def wake_by_packet(self, task, cpu, why):
        if task.hears:
            task.hears = False
            self.say(self.now, cpu.where, f"wake {task.name}")
            self.woken(task, why)

    def ask(self, server, call, why, cpu):
        server.inbox.append(call)
        self.wake_by_packet(server, cpu, why)

    def act_serve(self, task):
        if task.inbox:
            call = task.inbox.pop(0)
            call["received"] = self.transmit(task, call["flow"], "server", call["task"], self.answer, call)
            self.go_on(task, max(self.burst(), self.scene.get("burst", 0) * US))
        elif any(side == "server" for _, side, _ in task.ends):
            task.hears, task.then = True, self.act_serve
            self.leave(task, "blocked", 1)
        else:
            self.go_on(task)

    def answer(self, client, call, why, cpu):
        call["arrived"], call["was"] = self.now - 5 * US, client.state
        self.wake_by_packet(client, cpu, why)

    def await_answer(self, task, call):
        if call["arrived"]:
            self.go_on(task)
        else:
            task.hears = True
            self.leave(task, "blocked", 1)

    # ---- interrupts ----

    def interrupt(self, host, length, function, *arguments):
        """A CPU that has just now no interrupt and no switch; else the function is called later."""
        cpu = self.chance.choice(host.cpus)
        if cpu.busy >= self.now - 40 * US or (cpu.task and self.now - cpu.since < 2 * US):
            self.at(self.now + 50 * US, function, *arguments)
            return None
        cpu.busy = self.now + length
        return cpu

    def expire(self, task):
        cpu = self.interrupt(task.host, 80 * US, self.expire, task)
        if cpu:
            if self.odd and self.chance.random() < 0.5:  # within another interrupt
                self.say(self.now, cpu.where, f"{self.chance.choice(('irq 9 kbd', 'softirq 1', 'softirq 9'))} {79 * US}ns")
            self.say(self.now + 20 * US, cpu.where, f"hrtimer {task.name}")
            self.at(self.now + 25 * US, self.woken, task, ("timer",))

    def complete(self, task, sector):
        cpu = self.interrupt(task.host, 31 * US, self.complete, task, sector)
        if cpu:
            self.say(self.now + 5 * US, cpu.where, f"disk complete {sector} wake {task.name}")
            self.at(self.now + 10 * US, self.woken, task, ("disk",))

    def arrive(self, packet, task, why, flow):
        """One interrupt may bring several packets before it wakes anyone: whom each is for shows who has sent on its connection."""
        held = task.host.held
        if self.odd and flow in task.sent_on and task not in [one[1] for one in held] and len(held) < 4:
            held.append((packet, task, why))
            if len(held) == 1:
                self.at(self.now + self.chance.randrange(900 * US), self.bring, task.host)
        else:
            self.bring(task.host, [(packet, task, why)])

    def bring(self, host, held=None):
        cpu = self.interrupt(host, 70 * US, self.bring, host, held)
        if not cpu:
            return
        now = held or host.held
        host.held = host.held if held else []
        for i, (packet, _, _) in enumerate(now):
            self.say(self.now + (30 + i) * US, cpu.where, f"receive {packet}" + (" plain" if i else ""))
        for i, (packet, task, why) in enumerate(self.chance.sample(now, len(now))):
            if task.hears:
                self.say(self.now + (35 + 2 * i) * US, cpu.where, f"wake {task.name}")
                self.at(self.now + (35 + 2 * i) * US, self.woken, task, why)
            else:
                task.inbox.append(packet)
            task.hears = False

    def noise(self):
        length = self.chance.randrange(3 * US, 200 * US)
        cpu = self.interrupt(self.chance.choice(self.hosts), length + US, self.noise)
        if cpu:
            kind = self.chance.choice(("irq 9 kbd", "softirq 9", "vector reschedule", "vector local_timer"))
            self.say(self.now, cpu.where, f"{kind} {length}ns")
            self.at(self.now + self.chance.randrange(100 * US, 4 * MS), self.noise)


# ---- the path, by its definition ----

def path_of(task, start, end, is_within=False):
    """[(start, end, task, state, cause)]; state None: the script does not say. is_within: it is of who ended another's wait."""
    found = []
    for begin, until, state, why in task.log:
        low, high = max(begin, start), min(until, end)
        if low >= high:
            continue
        if state in ("running", "preempted"):
            found.append((low, high, task, state, None))
        elif state != "blocked" or not why:
            found.append((low, high, task, None, None))
        elif why[0] == "task":
            found += cut(path_of(why[1], low if is_within else begin, until, True), low, high)
        elif why[0] == "network":
            if is_within and why[2] <= start:  # under way for as long as the other one waits
                found, low = [], start
            sent = min(max(why[2], low), high)
            found += path_of(why[1], low, sent, True) + [(sent, high, task, "blocked", "network")] * (sent < high)
        else:
            found.append((low, high, task, "blocked", why[0]))
    if found and found[0][0] > start:
        found.insert(0, (start, found[0][0], task, None, None))  # it did not live yet
    return found or ([(start, end, task, None, None)] if start < end else [])


def cut(steps, start, end):
    return [(max(step[0], start), min(step[1], end), *step[2:]) for step in steps if step[1] > start and step[0] < end]


def compare(truth, segments, shift, simulation):
    """How long they differ where the truth is known, how long it is, and the longest difference."""
    differs, known, worst, i = 0, sum(step[1] - step[0] for step in truth if step[3]), (0, None), 0
    for start, end, task, state, cause in truth:
        while i < len(segments) and segments[i]["end_ns"] - shift <= start:
            i += 1
        for segment in segments[i:]:
            low, high = max(segment["begin_ns"] - shift, start), min(segment["end_ns"] - shift, end)
            if segment["begin_ns"] - shift >= end:
                break
            found = (segment["host"], segment["tid"], segment["state"].replace("interrupted", "running"), segment["cause"] if cause else None)
            if low < high and state and found != (task.host.name, task.tid, state, cause):
                if segment["tid"] < 0 and cause == segment["cause"] == "network":
                    continue  # on its way through a kernel that forwards it
                if simulation.has_gaps and (segment["cause"] == "unknown" or simulation.is_excused(segment, segment["end_ns"] - shift, low)):
                    continue
                differs += high - low
                worst = max(worst, (high - low, f"{low}-{high} {task.name}/{task.tid} {state}:{cause}, found {found}"))
    return differs, known, worst[1]


def waits_of(simulation):
    """{(host, tid, cause, tid of who woke it): [ns, number, short ones]}"""
    sums = {}
    for task in simulation.all_tasks():
        for begin, end, state, why in task.log:
            if state == "blocked":
                cause, by = why[0] if why else "not ended", why[1].tid if why and why[0] == "task" else None
                one = sums.setdefault((task.host.name, task.tid, cause, by), [0, 0, 0])
                one[0] += end - begin
                one[1] += 1
                one[2] += end - begin <= US  # woken on its way out: the trace need not show that it waited
    return sums


def check_waits(simulation, lull, traces):
    """What lull waits adds up, where the machine did not; of lossy traces, what it adds up that was not so."""
    answer = subprocess.run([lull, "waits", traces, "--asleep", "--no-sync", "--limit", "0", "--end", str(EPOCH + simulation.end), "--json"],
                            capture_output=True, text=True, check=True)
    truth, found = waits_of(simulation), {}
    for row in (row for window in json.loads(answer.stdout)["windows"] for row in window["tables"]["waits"]):
        if row["state"] != "R":
            one = found.setdefault((row["task"]["comm"][:2], row["task"]["tid"], row["cause"], row["by"] and row["by"]["tid"]), [0, 0])
            one[0] += row["total_ns"]
            one[1] += row["count"]
    wrong = []
    for key in truth.keys() | found.keys():
        (is_ns, count, short), (found_ns, found_count) = truth.get(key, (0, 0, 0)), found.get(key, (0, 0))
        if key[2] in ("unknown", "not ended"):
            continue
        if simulation.has_gaps and found_ns <= is_ns + 5 * US * count and found_count <= count:
            continue
        if abs(found_ns - is_ns) > 5 * US * count or not count - short <= found_count <= count:
            wrong.append(f"{key}: {found_ns} ns, {found_count}x, instead of {is_ns} ns, {count}x")
    return wrong


def check_calls(simulation, lull, traces):
    """What lull requests lists, where the machines called otherwise."""
    answer = subprocess.run([lull, "requests", traces, "--no-sync", "--json"], capture_output=True, text=True, check=True)
    found = {(one["tid"], one["begin_ns"] - EPOCH): one for one in json.loads(answer.stdout)["requests"]}
    wrong = []
    for call in simulation.calls:
        if not call["arrived"]:
            continue
        end, task = call["arrived"], call["task"]
        if call["was"] != "running":
            end = min((entry[0] for entry in task.log if entry[2] == "running" and entry[0] > end), default=None)
        one = found.get((task.tid, call["begin"]), {"duration_ns": 0, "blocked_ns": 0, "bytes_sent": 0, "bytes_received": 0})
        if end and end < simulation.end - MS:
            blocked = sum(max(0, min(entry[1], end) - max(entry[0], call["begin"])) for entry in task.log if entry[2] == "blocked")
            truth = end - call["begin"], blocked, call["sent"], call["received"]
            is_ = one["duration_ns"], one["blocked_ns"], one["bytes_sent"], one["bytes_received"]
            if abs(truth[0] - is_[0]) > 6 * US or abs(truth[1] - is_[1]) > 6 * US or truth[2:] != is_[2:]:
                wrong.append(f"call of {task.name} at {call['begin']}: took, blocked, sent, received {is_}, not {truth}")
    return wrong


def check_tcp(simulation, segments):
    """What a path says of packets that were sent again, where that was otherwise."""
    wrong, again = [], {}
    for begin, (name, copy) in simulation.ended.items():
        again[begin] = (simulation.sent[name][0], simulation.sent[name][copy], copy) if copy else None
    for segment in segments:
        tcp, begin = segment.get("tcp"), segment["begin_ns"] - EPOCH
        is_ = tcp and (tcp["first_ns"] - EPOCH, tcp["last_ns"] - EPOCH, tcp["times"])
        if tcp and (tcp["kind"] != "sent-again" or is_ not in again.values()):
            wrong.append(f"{begin}: {tcp}, which was not so")
        elif segment["cause"] == "network" and again.get(begin, is_) != is_:
            wrong.append(f"{begin}: sent again {is_}, not {again[begin]}")
    return wrong


LEAST_WAIT = MS // 2  # a moment is what it takes to bring a task to an idle CPU
SLACK = LEAST_WAIT + 50 * US  # of one wait that is about so long


def idle_elsewhere(host, own, begin, end, since):
    """For how long some CPU of the host but its own number was idle, of each CPU since a time."""
    edges = [(max(begin, low, since.get(cpu, 0)), min(end, high)) for cpu in host.cpus if cpu.number != own
             for low, high in cpu.idle if low < end and high > begin]
    moments = sorted({begin, end, *(moment for edge in edges for moment in edge)})
    return sum(high - low for low, high in zip(moments, moments[1:]) if any(edge[0] <= low and high <= edge[1] for edge in edges))


def idle_of(truth, since):
    """{tid: [how long the steps of a path have it wait for its CPU, so long of that another one was idle]}"""
    sums = {}
    for begin, end, task, state, _ in truth:
        if state == "preempted" and end - begin >= LEAST_WAIT:
            one = sums.setdefault(task.tid, [0, 0])
            one[0] += end - begin
            one[1] += idle_elsewhere(task.host, task.home, begin, end, since)
    return sums


def made_up(simulation, answer):
    """What a path says of idle CPUs and was not so in the waits that it has, which may not be those that there were."""
    hosts, most = {host.name: host for host in simulation.hosts}, {}
    for one in answer["segments"]:
        if one["state"] == "preempted":
            idle = idle_elsewhere(hosts[one["host"]], one["cpu"], one["begin_ns"] - EPOCH, one["end_ns"] - EPOCH, {})
            most[one["tid"]] = most.get(one["tid"], 0) + idle
    return [f"{one}, but it was {most[one['tid']]} ns" for one in answer["idle_elsewhere"] if one["idle_ns"] > most[one["tid"]] + 10 * US]


def check_idle(simulation, truth, answer):
    """What a path says of CPUs that were idle while its tasks waited for theirs, where that was otherwise."""
    if simulation.has_gaps:
        return made_up(simulation, answer)
    found = {one["tid"]: one for one in answer["idle_elsewhere"]}
    truth = cut(truth, 0, answer["segments"][-1]["end_ns"] - EPOCH)  # the trace ends with its last event
    least, wrong = (answer["segments"][-1]["end_ns"] - answer["segments"][0]["begin_ns"]) / 100, []
    first = {cpu: min((time for time, line in simulation.lines if f" {cpu.where} " in line), default=simulation.end)
             for host in simulation.hosts for cpu in host.cpus}  # nothing is known of it before
    seen = idle_of(truth, first)
    for tid, (waited, idle) in idle_of(truth, {}).items():
        home = next(task.home for task in simulation.all_tasks() if task.tid == tid)
        one = found.pop(tid, None)
        if home is None:  # which CPU it waits for is what a wake-up says
            continue
        if one is None:
            wrong += [f"{tid}: {idle} ns of {waited} ns are missing"] if seen[tid][1] > least + SLACK else []
        elif one["cpu"] != home or abs(one["waited_ns"] - waited) > SLACK or not seen[tid][1] - SLACK <= one["idle_ns"] <= idle + SLACK:
            wrong.append(f"{tid}: {one}, not {idle} ns of {waited} ns for CPU {home}")
    return wrong + [f"{one}, which is wrong" for one in found.values() if one["idle_ns"] > least + SLACK] + made_up(simulation, answer)


def check(seed, scene, folder, programs):
    """What is wrong, and how many ns of paths were looked at."""
    lull, make_traces = programs
    simulation = Simulation(seed, scene)
    script, traces = os.path.join(folder, f"{seed}.scn"), os.path.join(folder, str(seed))
    with open(script, "w", encoding="utf-8") as file:
        file.write(simulation.script())
    subprocess.run([make_traces, script, traces], check=True)
    numbers = [(task.host, task.tid) for task in simulation.all_tasks()]
    tasks = [task for task in simulation.all_tasks() if numbers.count((task.host, task.tid)) == 1 and len(task.log) > 5]
    total, wrong = 0, []
    if scene.get("gaps") != "discarded" and not scene.get("skewed") and "sched_waking" not in scene.get("options", ""):  # it comes in time
        wrong = [f"seed {seed}: waits of {text}" for text in check_waits(simulation, lull, traces)]
    if simulation.calls:
        wrong += [f"seed {seed}: {text}" for text in check_calls(simulation, lull, traces)]
    for task in simulation.chance.sample(tasks, min(len(tasks), 3)):
        start, end, question = task.log[0][0], simulation.end, []
        if scene.get("windows"):
            start = simulation.chance.randrange(10 * MS, end - 10 * MS)
            end = simulation.chance.randrange(start + MS, end)
            question = ["--begin", str(EPOCH + start), "--end", str(EPOCH + end)]
        if not scene.get("skewed"):
            question.append("--no-sync")
        done = subprocess.run([lull, "critpath", traces, "--host", task.host.name, "--tid", str(task.tid), "--json", *question],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            if "was not alive" not in done.stderr:
                wrong.append(f"seed {seed}: {task.name}: {done.stderr.strip()}")
            continue
        answer = json.loads(done.stdout)
        truth = cut(path_of(task, task.log[0][0], simulation.end), start, end)
        if "pinned" in scene:
            wrong += [f"seed {seed}: {task.name}: {text}" for text in check_idle(simulation, truth, answer)]
        if "burst" in scene:
            wrong += [f"seed {seed}: {task.name}: {text}" for text in check_tcp(simulation, answer["segments"])]
        # The clocks of hosts are those of the reference plus the error that sync states.
        clocks = {clock["host"]: clock for clock in answer["sync"]}
        offsets = {host.name: host.offset + clocks[host.name]["offset_ns"] for host in simulation.hosts}
        bounds = {name: clock["bound_ns"] for name, clock in clocks.items()}
        hosts = {step[2].host.name for step in truth} if scene.get("skewed") else set()
        shift, slack, is_joined = offsets[task.host.name], 3 * US, None not in [bounds[name] for name in hosts]
        for name in clocks if scene.get("skewed") else ():
            if None in (bounds[name], bounds[task.host.name]):
                continue
            error, bound = abs(offsets[name] - shift), bounds[name] + bounds[task.host.name] + 50 * US
            slack = max(slack, 2 * error + 50 * US) if name in hosts else slack
            if error > bound:
                wrong.append(f"seed {seed}: the clock of {name} is {error} ns wrong, with a bound of {bound}")
        differs, known, worst = compare(truth, answer["segments"], EPOCH + shift, simulation)
        total += known
        if is_joined and differs > slack * (len(truth) + 2):
            wrong.append(f"seed {seed}: {task.name}/{task.tid}: {differs / MS} ms of {known / MS}: {worst}")
    return wrong, total


def main():
    programs = os.environ["LULL"], os.environ["MAKE_TRACES"]
    tap = Tap()
    for name in sys.argv[1:2] or SCENES:
        first, last = map(int, sys.argv[2:4] or (0, SCENES[name].get("seeds", 2)))
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda seed, scene=SCENES[name], where=folder: check(seed, scene, where, programs), range(first, last)))
        wrong, known = sum((one[0] for one in found), []), sum(one[1] for one in found)
        tap.ok(not wrong and known > 20 * MS, f"{name}: the critical paths are those that the machines took", known, *wrong[:5])
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())

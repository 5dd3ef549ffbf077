#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Who raised the softirq that woke a task, and which interrupt wakes its thread: made-up traces in which that is known. `reader` waits from 10 ms to 90 ms; at 80 ms a softirq on
# the other CPU wakes it, where `other` runs from 0 to 50 ms and `sender` from there on. LULL is the program.
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "lib")]
import vm_scene  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
US, MS = 1000, 10**6
TIMER, NET_RX, TASKLET, RCU = 1, 3, 6, 9
IN_INTERRUPT = 8  # of common_flags: TRACE_FLAG_HARDIRQ
NAMES = {0: "swapper", 7: "reader", 8: "sender", 9: "other"}


class Scene:
    def __init__(self, flags):
        self.machine, self.on, self.flags = vm_scene.Machine("host"), [7, 9], flags

    def event(self, ms, name, payload, cpu=1, flags=0):
        self.machine.event(vm_scene.START + int(ms * MS), name, payload, cpu, self.on[cpu], comm=NAMES[self.on[cpu]])
        if self.flags:
            self.machine.events[-1]["sec"]["common_flags"] = flags

    def switch(self, ms, cpu, tid, state=0):
        before, self.on[cpu] = self.on[cpu], tid
        self.machine.event(vm_scene.START + int(ms * MS), "sched_switch", {
            "prev_comm": NAMES[before], "prev_tid": before, "prev_prio": 20, "prev_state": state, "next_comm": NAMES[tid], "next_tid": tid,
            "next_prio": 20}, cpu, before, comm=NAMES[before])

    def raised(self, ms, vec, flags=0):
        self.event(ms, "irq_softirq_raise", {"vec": vec}, flags=flags)

    def handler(self, start, end, vec=None, ret=1, irq=28):
        self.event(start, "irq_handler_entry", {"irq": irq, "name": "eth0"}, flags=IN_INTERRUPT)
        if vec is not None:
            self.raised((start + end) / 2, vec, IN_INTERRUPT)
        self.event(end, "irq_handler_exit", {"irq": irq, "ret": ret}, flags=IN_INTERRUPT)

    def waking(self, ms, name, flags):
        self.event(ms, "sched_waking", {"comm": name, "tid": 7, "prio": 20, "target_cpu": 0}, flags=flags)


def path_of(vec, steps, flags, name="reader", state=1):
    """Of `reader`: who did what for how long, in ms, and the words about the wait. Without `vec` the steps wake it."""
    NAMES[7] = name
    scene = Scene(flags)
    scene.switch(10, 0, 0, state)
    scene.switch(50, 1, 8)
    steps(scene)
    if vec is not None:
        scene.event(79, "irq_softirq_entry", {"vec": vec})
        scene.waking(80, name, 16)
        scene.event(81, "irq_softirq_exit", {"vec": vec}, flags=16)
    scene.switch(80.5, 0, 7)
    scene.switch(90, 0, 0, 1)
    scene.switch(95, 1, 0, 1)
    with tempfile.TemporaryDirectory() as folder:
        scene.machine.write(folder)
        done = subprocess.run([os.environ["LULL"], "critpath", "--json", "--full", "--tid", "7", folder], capture_output=True, text=True, check=False)
    if done.returncode:
        tap.ok(False, "the path is found", done.stderr)
        return {}, ""
    times, words = {}, ""
    for step in json.loads(done.stdout)["segments"]:
        if step["begin_ns"] < vm_scene.START + 80 * MS:
            key = step["comm"], step["state"]
            times[key] = round(times.get(key, 0) + (step["end_ns"] - step["begin_ns"]) / MS, 3)
            words = step["detail"] if key == (name, "blocked") else words
    return times, words


def check(what, vec, steps, words, ran=0, flags=False):
    times, said = path_of(vec, steps, flags)
    transit, before = (10, 40) if ran else (70, 0)
    truth = {("reader", "blocked"): transit, ("sender", "running"): ran, ("sender", "blocked"): before}
    tap.ok(said == words and times == {key: ms for key, ms in truth.items() if ms}, what, f"{said}; {times}")


def both(scene):
    scene.raised(70, NET_RX)
    scene.handler(72, 73, NET_RX)


def interrupted(scene):
    scene.raised(70, NET_RX)
    scene.handler(79.2, 79.4)


# The wait is 70 ms long. The sender is first seen at 50 ms and raises the softirq at 70.
check("a task raises it, and the path goes on there", NET_RX, lambda scene: scene.raised(70, NET_RX), "softirq NET_RX, raised by sender (8)", 20)
check("an interrupt raises it", NET_RX, lambda scene: scene.handler(70, 71, NET_RX), "softirq NET_RX, raised by irq 28 eth0")
check("both raise it: no one knows", NET_RX, both, "softirq NET_RX")
check("an interrupt comes while it runs: no one knows", NET_RX, interrupted, "softirq NET_RX")
check("nobody is seen to raise it", NET_RX, lambda scene: None, "softirq NET_RX")
check("RCU's, in the time of a task: an interrupt that is not recorded may have raised it", RCU, lambda scene: scene.raised(70, RCU), "softirq RCU")
check("a tasklet's, and the flags say that no interrupt raised it", TASKLET, lambda scene: scene.raised(70, TASKLET),
      "softirq TASKLET, raised by sender (8)", 20, True)
check("a tasklet's, and the flags say that an interrupt did", TASKLET, lambda scene: scene.raised(70, TASKLET, IN_INTERRUPT),
      "softirq TASKLET, raised by hard interrupt", 0, True)


def check_thread(what, steps, words, name="irq/28-eth0", sender=None, flags=False, state=1):
    """The kernel wakes a handler's thread once the handler has returned IRQ_WAKE_THREAD, at 80 ms: nothing but that says who does. `sender`:
    who runs if it is the sender's doing."""
    times, said = path_of(None, steps, flags, name, state)
    truth = {("sender", state): ms for state, ms in {**sender, "blocked": 40}.items()} if sender else {}
    truth[(name, "blocked")] = 70 - sum(truth.values())
    truth = {key: round(ms, 3) for key, ms in truth.items() if ms > 0.001}
    tap.ok(said == words and times == truth, what, f"{said}; {times}")


def of_interrupt(ret, name="irq/28-eth0", flags=IN_INTERRUPT):
    def steps(scene):
        scene.handler(79.9, 79.95, ret=ret)
        scene.waking(80, name, flags)
    return steps


def in_idle(scene):
    scene.switch(60, 1, 0, 1)
    of_interrupt(2)(scene)


def in_softirq(scene):
    scene.event(79, "irq_softirq_entry", {"vec": NET_RX})
    of_interrupt(2)(scene)
    scene.event(81, "irq_softirq_exit", {"vec": NET_RX})


def ran_already(scene):
    """The thread was not asleep, and goes to sleep in another interrupt's time."""
    scene.handler(79.9, 79.95, ret=2)
    scene.handler(79.96, 79.97, irq=29)
    scene.waking(80, "irq/28-eth0", 0)


TASK = {"running": 29.95, "interrupted": 0.05}
for told in (False, True):
    with_flags = ", with flags" if told else ""
    check_thread("a handler's thread, in the time of a task" + with_flags, of_interrupt(2), "irq 28 eth0", flags=told)
    check_thread("a handler's thread, in idle time" + with_flags, in_idle, "irq 28 eth0", flags=told)
    check_thread("a handler's thread, while a softirq is interrupted" + with_flags, in_softirq, "irq 28 eth0", flags=told)
check_thread("the thread of another interrupt: a task woke it", of_interrupt(2, "irq/29-eth1"), "", "irq/29-eth1", TASK)
check_thread("the interrupt of whose number its own is the start: a task woke it", of_interrupt(2, "irq/280-eth1"), "", "irq/280-eth1", TASK)
check_thread("the handler left nothing to do: a task woke it", of_interrupt(1), "", sender=TASK)
check_thread("its thread was not asleep, and another interrupt came since: a task woke it", ran_already, "", sender={"running": 29.94, "interrupted": 0.06})
check_thread("the waking says that it is in no interrupt: a task woke it", of_interrupt(2, flags=0), "", sender=TASK, flags=True)
check_thread("a task that its thread is not: a task woke it", of_interrupt(2, "reader"), "", "reader", TASK)


def left_over(raised, name):
    """What was raised is left to the CPU's thread, after others have run."""
    def steps(scene):
        raised(scene)
        scene.event(79.96, "irq_softirq_entry", {"vec": RCU})
        scene.event(79.97, "irq_softirq_exit", {"vec": RCU})
        scene.waking(80, name, 0)
    return steps


def check_left_over(what, raised, words, name="ksoftirqd/1", sender=None):
    check_thread("left to a softirq thread: " + what, left_over(raised, name), words, name, sender)


check_left_over("what an interrupt raised", lambda scene: scene.handler(79.9, 79.95, NET_RX), "softirq NET_RX, raised by irq 28 eth0")
check_left_over("what a task raised", lambda scene: scene.raised(70, NET_RX), "softirq NET_RX, raised by sender (8)", sender={"running": 20})
check_left_over("what was raised first", lambda scene: (scene.raised(60, NET_RX), scene.handler(79.9, 79.95, TASKLET)),
                "softirq NET_RX, raised by sender (8)", sender={"running": 10})
check_left_over("what nobody is seen to raise", lambda scene: None, "softirq")
check_left_over("timers, in a kernel with PREEMPT_RT", lambda scene: scene.handler(79.9, 79.95, TIMER), "softirq TIMER, raised by irq 28 eth0", "ktimers/1")
check_left_over("not the timers, where others are raised too", lambda scene: (scene.raised(60, TIMER, IN_INTERRUPT), scene.handler(79.9, 79.95, NET_RX)),
                "softirq NET_RX, raised by irq 28 eth0")
check_left_over("timers alone, where others are raised too", lambda scene: (scene.handler(79.85, 79.87, NET_RX), scene.handler(79.9, 79.95, TIMER)),
                "softirq TIMER, raised by irq 28 eth0", "ktimers/1")
check_thread("a softirq thread that waits for a lock, with PREEMPT_RT: a task woke it",
             left_over(lambda scene: scene.handler(79.9, 79.95, NET_RX), "ksoftirqd/1"), "", "ksoftirqd/1", {"running": 29.94, "interrupted": 0.06}, state=2)
check_left_over("not to that of another CPU, which a task wakes", lambda scene: scene.handler(79.9, 79.95, NET_RX), "", "ksoftirqd/0",
                {"running": 29.94, "interrupted": 0.06})
tap.done()

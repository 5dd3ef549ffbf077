#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Who raised the softirq that woke a task: made-up traces in which that is known. `reader` waits from 10 ms to 90 ms; at 80 ms a softirq on
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
NET_RX, TASKLET, RCU = 3, 6, 9
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

    def handler(self, start, end, vec=None):
        self.event(start, "irq_handler_entry", {"irq": 28, "name": "eth0"}, flags=IN_INTERRUPT)
        if vec is not None:
            self.raised((start + end) / 2, vec, IN_INTERRUPT)
        self.event(end, "irq_handler_exit", {"irq": 28, "ret": 1}, flags=IN_INTERRUPT)


def path_of(vec, steps, flags):
    """Of `reader`: who did what for how long, in ms, and the words about the wait."""
    scene = Scene(flags)
    scene.switch(10, 0, 0, 1)
    scene.switch(50, 1, 8)
    steps(scene)
    scene.event(79, "irq_softirq_entry", {"vec": vec})
    scene.event(80, "sched_waking", {"comm": "reader", "tid": 7, "prio": 20, "target_cpu": 0}, flags=16)
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
            times[key] = times.get(key, 0) + (step["end_ns"] - step["begin_ns"]) / MS
            words = step["detail"] if key == ("reader", "blocked") else words
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
tap.done()

# SPDX-License-Identifier: MIT
# What the programs of tests/programs do, as their sources say: the one table of the legs of their critical paths.
#
# A leg is what one task did after its stamps of one label, until its next stamp: (task, label, what it is, for how long
# at least). What it is: "running", or the cause for which it was blocked, or OTHERS: it waited for tasks of the kernel,
# which are not recorded. How long exactly is told by the stamps.
# A leg of another task is on the path only as far as the asked task waited meanwhile; where a third task stands between
# them, `inside` names all that waited.
import collections

OTHERS = "others"

Leg = collections.namedtuple("Leg", "comm label what ms inside", defaults=[None])
Program = collections.namedtuple("Program", "command comm legs rival", defaults=[None])

WAYS = ("pipe", "unix", "tcp", "eventfd", "poll", "select", "epoll", "futex", "semaphore", "mutex", "condition", "flock",
        "waitpid", "sigwait", "sigsuspend", "join")
TIMERS = ("nanosleep", "timerfd", "poll", "select", "epoll", "itimer", "futex", "receive")

PROGRAMS = {
    "chain": Program(["truth-chain"], "t-asker", [
        Leg("t-writer", "naps", "timer", 40),
        Leg("t-writer", "burns", "running", 30),
        Leg("t-writer", "syncs", OTHERS, 0),
        Leg("t-worker", "burns", "running", 5),
        Leg("t-asker", "burns", "running", 10)]),
    "preempt": Program(["truth-preempt"], "t-victim", [Leg("t-victim", "burns", "running", 80)], "t-rival"),
    "relay": Program(["truth-relay"], "t-client", [
        Leg("t-client", "burns", "running", 9),
        Leg("t-backend", "naps", "timer", 75),
        Leg("t-backend", "burns", "running", 45),
        Leg("t-broker", "burns", "running", 12)]),
    "locks": Program(["truth-locks"], "t-waiter", [
        Leg("t-holder", "naps", "timer", 70),
        Leg("t-holder", "burns", "running", 10),
        Leg("t-waiter", "burns", "running", 5),
        Leg("t-child", "naps", "timer", 20),
        Leg("t-child", "burns", "running", 12)]),
    "tcp": Program(["truth-tcp"], "t-caller", [
        Leg("t-server", "burns", "running", 50),
        Leg("t-caller", "burns", "running", 10),
        Leg("t-server", "naps", "timer", 30)]),
    "disk-direct": Program(["truth-disk", "direct"], "t-asks", [
        Leg("t-reads", "reads", "disk", 0),
        Leg("t-reads", "burns", "running", 40)]),
    "disk-sync": Program(["truth-disk", "sync"], "t-sync", [Leg("t-sync", "syncs", OTHERS, 0)]),
    "exec": Program(["truth-exec"], "t-asker", [
        Leg("t-runner", "naps", "timer", 20),
        Leg("t-runner", "burns", "running", 15),
        Leg("t-asker", "burns", "running", 10)]),
    "timers": Program(["truth-timer"], "t-timer",
                      [Leg("t-timer", name, "timer", 15) for name in TIMERS] + [Leg("t-timer", "burns", "running", 40)]),
    "cpm1": Program(["wk-cpm", "nested"], "t-master", [
        Leg("t-master", "burns", "running", 20),
        Leg("t-child1", "burns", "running", 20),
        Leg("t-child2", "burns", "running", 20, ("t-master", "t-child1"))]),
    "cpm2": Program(["wk-cpm", "alone"], "t-master", [Leg("t-master", "burns", "running", 80)]),
    "pipeline": Program(["wk-pipeline"], "t-third", [
        Leg("t-third", "burns", "running", 15),
        Leg("t-second", "naps", "timer", 45),
        Leg("t-first", "burns", "running", 10, ("t-third", "t-second"))]),
    "mutex": Program(["wk-mutex"], "t-third", [
        Leg("t-first", "burns", "running", 10, ("t-third", "t-second")),
        Leg("t-first", "naps", "timer", 10, ("t-third", "t-second")),
        Leg("t-second", "burns", "running", 10),
        Leg("t-third", "burns", "running", 5)]),
}
for way in WAYS:
    PROGRAMS["wait-" + way] = Program(["truth-wait", way], "t-waiter", [
        Leg("t-waker", "naps", "timer", 20),
        Leg("t-waker", "burns", "running", 15),
        Leg("t-waiter", "burns", "running", 10)])

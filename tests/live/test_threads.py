#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Who wakes the threads to which interrupts leave work (irq/NN-…, ksoftirqd/N, ktimers/N), and how long after the interrupt the task runs that such a
# thread wakes. What is true the kernel says of itself: over eBPF by where it was when it woke the thread, which is in the alarm; and by its own
# events, which an instance of ftrace has. Packets over the loopback are more than the kernel handles in interrupts; files are read for interrupts
# of disks, of which some machines handle those in threads: all with PREEMPT_RT (tests/vm/test_threads_vm.py), others seldom.
import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

from live.ftraced import Ftrace
from live.tracked import LULL, why_no_ftrace, why_not
from tap import Tap

tap = Tap()
SECONDS = 6
FOLDER = os.environ["LULL_SCRATCH"]
RESPONSE = "response: comm == \"reads\" > 0ns"
SOFTIRQS = ("softirq", "timer")
NEAR = 500_000

# Some threads send as much as they can, and a program looks for files, each time with a new name, and reads one past the page cache.
WORK = """
import os, socket, sys, threading, time
end, folder = time.monotonic() + float(sys.argv[1]), sys.argv[2]
server = socket.create_server(("127.0.0.1", 0))
def sink():
    one, _ = server.accept()
    while one.recv(1 << 20):
        pass
def source():
    with socket.create_connection(server.getsockname()) as one:
        while time.monotonic() < end:
            one.sendall(bytes(1 << 20))
if os.fork() == 0:
    with open("/proc/self/comm", "w") as file:
        file.write("reads")
    path = os.path.join(folder, f"reads-{os.getpid()}")
    with open(path, "wb") as file:
        file.write(bytes(1 << 20))
        os.fsync(file.fileno())
    n = 0
    while time.monotonic() < end:
        os.path.exists(f"{path}-{n}")
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.read(4096)
        n += 1
        time.sleep(0.01)
    os.unlink(path)
    os._exit(0)
threads = [threading.Thread(target=what) for what in (sink, source) for _ in range(int(sys.argv[3]))]
for one in threads:
    one.start()
for one in threads:
    one.join()
os.wait()
"""


def track(backend, rules, pairs, *options):
    """The alarms by rule while that works, and the summary."""
    with tempfile.TemporaryFile("w+") as out:
        command = [LULL, "track", "--json", "--backend", backend, "--max-overhead", "100%", "-d", str(SECONDS), *options, *rules]
        with subprocess.Popen([sys.executable, "-S", "-c", WORK, str(SECONDS + 3), FOLDER, str(pairs)]) as work:
            done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, timeout=200, check=False)
            work.wait(60)
        out.seek(0)
        *alarms, last = map(json.loads, out)
    if done.returncode or done.stderr:
        raise RuntimeError(f"{command}: {done}")
    return {rule: [one for one in alarms if one["rule"] == rule] for rule in rules}, last["summary"]


def waker(alarm):
    """What kind it is, and which."""
    part = alarm["chain"][0] if alarm["chain"] else None
    number = re.match(r"interrupt (\d+)", part["detail"] or "") if part and not part["task"] else None
    return (part["kind"], number and int(number[1])) if part else (None, None)


def where(alarm):
    """What woke, by the functions that the kernel was in: the innermost says it, as an interrupt may have interrupted another thing like it."""
    for name in alarm["waker_stack"][:4]:
        if re.match(r"(__irq_wake_thread|__handle_irq_event_percpu|handle_irq_event)\b", name):
            return "handler"
        if re.match(r"(__do_softirq|handle_softirqs|__irq_exit_rcu|irq_exit_rcu)\b", name):
            return "exit"
        if re.match(r"(rt_mutex_slowunlock|rt_spin_unlock|rt_mutex_unlock|mutex_unlock)\b", name):
            return "task"
    return None


def threads():
    """The threads that there are, by name, of which events have 15 bytes: those of handlers that ran most, and of softirqs; at most as many as there may be rules."""
    ran = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as name, open(f"/proc/{pid}/status", encoding="utf-8") as status:
            switches = re.findall(r"^(?:non)?voluntary_ctxt_switches:\t(\d+)", status.read(), re.M)
            ran[name.read().rstrip("\n")[:15]] = sum(map(int, switches))
    names = sorted(ran, key=ran.get, reverse=True)
    return [name for name in names if re.match(r"(ksoftirqd|ktimers)/[01]$", name)] + [name for name in names if name.startswith("irq/")][:4]


def judge(what, alarms, is_right, few=0):
    """Each of them; `few` may be wrong. Of none, nothing is said."""
    wrong = [one for one in alarms if not is_right(one)]
    if alarms:
        tap.ok(len(wrong) <= few, f"{what} ({len(alarms)})", len(wrong), wrong[:2])
    else:
        tap.skip(what, "there were none")


def test_wakings():
    rules = [f'wakeup: comm == "{name}" > 0ns' for name in threads()]
    alarms, summary = track("bpf", rules, 1, "--rate", "100", "--stack", "waker")
    tap.ok(any(alarms.values()) and summary["damaged"] == 0, "there are such threads", rules, summary)
    of = collections.defaultdict(list)
    for alarm in sum(alarms.values(), []):
        of[where(alarm)].append(alarm)
    judge("threads of handlers are woken by these", [one for one in of["handler"] if one["task"]["comm"].startswith("irq/")],
          lambda one: waker(one) == ("irq", int(re.match(r"irq/(\d+)-", one["task"]["comm"])[1])))
    # Those that were raised before tracking began are not known.
    judge("the thread of softirqs, in an interrupt's exit, by what was raised", [one for one in of["exit"] if one["task"]["comm"].startswith("ksoftirqd/")],
          lambda one: waker(one)[0] in SOFTIRQS, 2)
    judge("that of timers by timers", [one for one in of["exit"] if one["task"]["comm"].startswith("ktimers/")], lambda one: waker(one)[0] == "timer", 2)
    judge("whom a task woke, as it gave back a lock, that woke", of["task"], lambda one: waker(one)[0] == "task")


# ---- how long after the interrupt ----

def found_by_events(lines):
    """By the kernel's own events: of each wait of the program that a handler's thread ended, which that handler had woken: when the interrupt came, when it
    had woken the thread, both at the soonest when the program went to sleep, and when the program ran."""
    came, serves, woken, left = {}, {}, {}, {}
    for when, event, tid, text, cpu, context in lines:
        is_hard = re.search("[hH]", context)
        number = re.search(r"\birq=(\d+)", text)
        thread = re.search(r"comm=irq/(\d+)-.* pid=(\d+)", text)
        if event == "irq_handler_entry":
            came[cpu] = number[1], when
            for one in [one for one, (irq, *_) in serves.items() if irq == number[1]]:
                del serves[one]  # whether the thread runs for the first or for this one no event says
        elif event == "sched_waking" and thread and is_hard and came.get(cpu, ("",))[0] == thread[1]:
            serves[thread[2]] = *came[cpu], when
        elif event == "sched_waking" and "comm=reads " in text:
            woken[re.search(r"pid=(\d+)", text)[1]] = None if is_hard else serves.get(tid)
        elif event == "sched_switch" and "next_comm=reads " in text:
            of = re.search(r"next_pid=(\d+)", text)[1]
            by, since = woken.pop(of, None), left.pop(of, None)
            if by and since:
                yield max(by[1], since), max(by[2], since), when
        elif event == "sched_switch" and "prev_comm=reads " in text:
            left[re.search(r"prev_pid=(\d+)", text)[1]] = when


def test_responses(backend):
    ftrace = Ftrace(["irq/irq_handler_entry", "sched/sched_waking", "sched/sched_switch"])
    try:
        alarms, summary = track(backend, [RESPONSE], 0, "--rate", "0")
        lines, lost = ftrace.lines(), ftrace.lost()
    finally:
        ftrace.end()
    own = [(one["monotonic_ns"] - one["delay_ns"], one) for one in alarms[RESPONSE]]
    first, last = min((b for b, _ in own), default=0), max((one["monotonic_ns"] for _, one in own), default=0)
    true = [one for one in found_by_events(lines) if first <= one[0] and one[2] <= last]
    what = f"{backend}: who is woken by a handler's thread responds to its interrupt"
    if lost or len(true) < 20:
        tap.skip(what, f"{len(true)} times; {lost} events were lost")
        return
    # Both look at the same moments, one after the other; an emulated machine may stop between the two.
    found = [next((one for begin, one in own if came - NEAR < begin < woke + NEAR and abs(one["monotonic_ns"] - ran) < NEAR), None) for came, woke, ran in true]
    if os.environ.get("LULL_TEST_KEEP"):
        with open(f"{os.environ['LULL_TEST_KEEP']}/{backend}.json", "w", encoding="utf-8") as file:
            json.dump([own, true, lines], file)
    missing = [one for one, alarm in zip(true, found) if not alarm]
    tap.ok(len(missing) <= len(true) // 20, f"{what} ({len(true)})", len(missing), len(true), missing[:3], summary)
    threads_of = [one["chain"][0] for one in found if one]
    tap.ok(threads_of and all(part["task"] and part["task"]["comm"].startswith("irq/") for part in threads_of), f"{backend}: whom the thread wakes, the thread wakes", threads_of[:2])


def main():
    why = why_not()
    if why:
        tap.skip("who wakes threads of interrupts, over eBPF", why)
    else:
        tap.run("wakings", test_wakings)
    for backend, why in (("bpf", why or why_no_ftrace()), ("ftrace", why_no_ftrace())):
        if why:
            tap.skip(f"{backend}: responses", why)
        else:
            tap.run(f"{backend}: responses", test_responses, backend)
    return tap.done()


sys.exit(main())

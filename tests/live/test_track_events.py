#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull track` of what is no wait of a task, against programs that know when it happened, by their own stamps.
#
# With LULL_LIVE=all more rounds of each. Without the right to bpf() it is skipped, with the reason.
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

from live.tracked import LULL, Hidden, has_event, inside, lull_track, track, track_once, why_not
from tap import Tap

MS = 1_000_000
ROUNDS = 10 if os.environ.get("LULL_LIVE") == "all" else 1
tap = Tap()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def begin_of(alarm):
    return alarm["monotonic_ns"] - alarm["delay_ns"]


def judge(kind, alarms, stamps, threshold):
    """Of `stamps`, those it lies within and those within it in turn: each surely longer one is reported once, no shorter one."""
    alarms = [alarm for alarm in alarms if alarm["kind"] == kind]
    outer = [s for s in stamps if s.label == f"{kind}-within"]
    inner = [s for s in stamps if s.label == f"{kind}-around"]
    found = [[alarm for alarm in alarms if inside(alarm, one)] for one in outer]
    longer = [index for index, one in enumerate(inner) if one.after - one.before > threshold]
    tap.ok(all(len(found[index]) == 1 for index in longer), f"{kind}: each longer one is reported exactly once",
           [(inner[index], found[index]) for index in longer if len(found[index]) != 1][:3])
    wrong = [one for one, of in zip(outer, found) if len(of) > 1 or (of and one.after - one.before <= threshold)]
    tap.ok(not wrong, f"{kind}: none twice, and none that its stamps say was not longer", wrong[:3])
    around = [alarm for one, of in zip(inner, found) for alarm in of
              if begin_of(alarm) > one.before or alarm["monotonic_ns"] < one.after]
    tap.ok(not around, f"{kind}: each reaches from before to after what it is about", around[:3])
    tap.ok(sum(map(len, found)) == len(alarms), f"{kind}: no alarm is of anything else", len(alarms), found[:2])
    return longer


def test_exchanges():
    """Requests, answers and connections of one program that is both ends."""
    threshold, port = MS, free_port()
    rules = [f"{kind}({port}) > {limit}" for kind, limit in
             (("serve", "1ms"), ("ask", "1ms"), ("ttfb", "1ms"), ("connect", "0ns"))]
    alarms, summary, stamps = track_once(rules, "exchange", port, 100 * ROUNDS, threshold)
    for kind in "serve", "ask", "ttfb":
        longer = judge(kind, alarms, stamps, threshold)
        tap.ok(45 * ROUNDS <= len(longer), f"{kind}: there are longer ones", len(longer))
    connects = [stamp for stamp in stamps if stamp.label == "connect"]
    found = [[alarm for alarm in alarms if alarm["kind"] == "connect" and inside(alarm, one)] for one in connects]
    tap.ok(len(found) == 100 * ROUNDS and all(len(of) == 1 for of in found), "connect: one for each", found[:3])
    tap.ok(summary["limited"] == summary["lost"] == summary["untracked"] == 0, "nothing was lost", summary)
    tap.ok(summary["events"] == 4 * 100 * ROUNDS, "shorter ones are counted, too", summary)
    for alarm in alarms:
        of, is_server = alarm["object"], alarm["kind"] in ("serve", "ttfb")
        server, client = (of["local_port"], of["remote_port"]) if is_server else (of["remote_port"], of["local_port"])
        words = f"connection from 127.0.0.1:{client} to port {port}" if is_server else f"connection to 127.0.0.1:{port}"
        if (server, of["remote_address"], of["has_failed"], of["detail"]) != (port, "127.0.0.1", False, words) or client == port:
            tap.ok(False, "addresses are those of the program", alarm)
            break


def test_connections():
    """A connection that is refused has failed; one that is asked for twice takes the second that TCP waits."""
    port = free_port()
    rules = [f"connect({port}): raddr == \"127.0.0.1\" && lport != {port} > 0ns", f"connect({port}) > 500ms"]
    alarms, _, stamps = track_once(rules, "refused", port, ROUNDS - 1)
    refused = [alarm for alarm in alarms if inside(alarm, stamps[-1]) and alarm["rule"] == rules[0]]
    tap.ok(len(refused) == 1 and refused[0]["object"]["has_failed"] and "(failed)" in refused[0]["object"]["detail"],
           "one was refused", refused)
    if ROUNDS > 1:
        waited = [alarm for alarm in alarms if alarm["rule"] == rules[1] and alarm["monotonic_ns"] < stamps[-1].before]
        tap.ok(waited and all(not a["object"]["has_failed"] for a in waited), "one waited for the repetition", stamps, waited)


def test_datagrams():
    """A question in a datagram, as to a name server, which is answered after 30 ms."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        client.connect(("127.0.0.1", port))
        with subprocess.Popen([LULL, "track", "--json", "--count", "1", f"ask({port}) > 30ms"], stdout=subprocess.PIPE,
                              text=True) as process:
            for _ in range(600):
                client.send(b"?")
                _, address = server.recvfrom(1)
                time.sleep(0.03)
                server.sendto(b"!", address)
                client.recv(1)
                if process.poll() is not None:
                    break
            process.terminate()
            alarm, _ = map(json.loads, process.stdout)
    tap.ok(alarm["object"]["detail"] == f"connection to 127.0.0.1:{port}" and alarm["delay_ns"] >= 30 * MS and
           alarm["task"]["pid"] == os.getpid(), "who asked, and whom", alarm)


def test_packets():
    """Packets that lay in the socket for a known time."""
    alarms, summary, stamps = track_once(["netrx(lo) > 1ms"], "late", 50 * ROUNDS, MS)
    longer = judge("netrx", alarms, stamps, MS)
    tap.ok(len(longer) >= 20 * ROUNDS and summary["lost"] == 0, "there are longer ones", len(longer), summary)
    tap.ok(all(alarm["object"]["detail"] == "a packet of interface lo" and alarm["object"]["number"] == socket.if_nametoindex("lo")
               for alarm in alarms), "of that interface", alarms[:2])


def test_locks():
    """Waits for the lock of a pipe, which its other writer has for a known time."""
    alarms, summary, stamps = track_once(["lock > 1ms"], "lock", 50 * ROUNDS, MS)
    if not stamps:
        tap.skip("locks of the kernel", "it does not let programs handle page faults")
        return
    waiter = next(stamp.tid for stamp in stamps if stamp.label == "lock-within")
    own = [a for a in alarms if a["task"]["tid"] == waiter and any("mutex_lock" in function for function in a["stack"])]
    longer = judge("lock", own, stamps, MS)
    tap.ok(len(longer) >= 20 * ROUNDS and summary["untracked"] == summary["damaged"] == 0, "there are longer ones", len(longer), summary)
    tap.ok(all(any("pipe" in function for function in alarm["stack"]) for alarm in own), "in the kernel's functions for pipes", own[:2])


def test_responses():
    """The timer that ends a sleep cannot come before its time."""
    alarms, _, sleeps = track(["response > 0ns"], "sleeps", 30 * ROUNDS, 2 * MS)
    found = [[a for a in alarms if a["task"]["tid"] == one.tid and one.before < a["monotonic_ns"] < one.after and
              a["call"] == "clock_nanosleep"] for one in sleeps]
    tap.ok(all(len(of) <= 1 for of in found) and len(sum(found, [])) >= 15 * ROUNDS, "one for each sleep", found[:3])
    wrong = [(one, of) for one, of in zip(sleeps, found) for alarm in of
             if begin_of(alarm) < one.before + int(one.label) or alarm["delay_ns"] < alarm["cpu_wait_ns"]]
    tap.ok(not wrong, "from when the timer was due, at the soonest, over when the task was woken", wrong[:3])


def test_exec():
    """The shell, and each program that it starts, by their new names."""
    if not has_event("sched_prepare_exec"):
        tap.skip("exec", "this kernel does not show the start: it needs Linux 6.10")
        return
    lines = lull_track("--json", "exec > 0ns", "--", "sh", "-c", "/bin/true; /bin/cat /dev/null; /bin/true").splitlines()
    *alarms, _ = map(json.loads, lines)
    comms = [alarm["task"]["comm"] for alarm in alarms]
    tap.ok(comms == ["sh", "true", "cat", "true"] and all(alarm["object"] is None for alarm in alarms), "one for each", alarms)


# ---- against ftrace, which the kernel has of its own ----

# By kind: the event that starts it, the one that ends it, and what of their texts says which it is.
PAIRS = {
    "work": ("workqueue/workqueue_queue_work", "workqueue/workqueue_execute_start", r"work struct[= ](\w+)"),
    "nettx": ("net/net_dev_queue", "net/net_dev_start_xmit", r"skbaddr=(\w+)"),
    "queue": ("block/block_rq_insert", "block/block_rq_issue", r"(\d+,\d+) .* (\d+) \+ \d+"),
    "reclaim": ("vmscan/mm_vmscan_memcg_reclaim_begin", "vmscan/mm_vmscan_memcg_reclaim_end", None),
    "timer": ("timer/hrtimer_start", "timer/hrtimer_expire_entry", r"hrtimer=(\w+) function=hrtimer_wakeup"),
}
LINE = re.compile(r"^ .*-(\d+) +\[\d+\] \S+ +(\d+)\.(\d+): (\w+): (.*)$", re.M)


class Ftrace:
    """These events in an instance of its own, on CLOCK_MONOTONIC."""

    def __init__(self, events):
        self.folder = f"/sys/kernel/tracing/instances/lull-test-{os.getpid()}"
        os.mkdir(self.folder)
        try:
            for name, value in ("trace_clock", "mono"), *((f"events/{event}/enable", "1") for event in events):
                self.write(name, value)
        except OSError:
            self.end()
            raise

    def write(self, name, value):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(value)

    def lines(self):
        """When, which event, which task, and its text."""
        self.write("tracing_on", "0")
        with open(os.path.join(self.folder, "trace"), encoding="utf-8", errors="replace") as file:
            text = file.read()
        return [(int(f[1]) * 10**9 + int(f[2].ljust(9, "0")), f[3], f[0], f[4]) for f in LINE.findall(text)]

    def lost(self):
        """Events that were overwritten."""
        folder = os.path.join(self.folder, "per_cpu")
        lost = 0
        for cpu in os.listdir(folder):
            with open(os.path.join(folder, cpu, "stats"), encoding="ascii") as file:
                lost += int(re.search(r"^overrun: (\d+)", file.read(), re.M)[1])
        return lost

    def end(self):
        os.rmdir(self.folder)


def pairs_of(kind, lines):
    """(start, end) of each, by the names of the events; of timers, when it should have expired and when it did."""
    first, last, pattern = PAIRS[kind]
    first, last = first.split("/")[1], last.split("/")[1]
    started, pairs = {}, []
    for when, event, tid, text in lines:
        found = re.search(pattern, text) if pattern else None
        if event not in (first, last) or (pattern and not found):
            continue
        key = found.groups() if found else tid
        if event == first:
            started[key] = int(re.search(r" expires=(\d+)", text)[1]) if kind == "timer" else when
        elif key in started:
            since = started.pop(key)
            late = int(re.search(r"now=(\d+)", text)[1]) - since if kind == "timer" else when - since
            pairs.append((when - max(late, 0), when))
    return pairs


def memory_group():
    """A control group that may have little memory, or None."""
    for folder, limit in ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"):
        group = os.path.join(folder, f"lull-test-{os.getpid()}")
        try:
            if not os.path.exists(os.path.join(folder, "cgroup.procs")):
                continue
            os.mkdir(group)
            with open(os.path.join(group, limit), "w", encoding="ascii") as file:
                file.write("4194304")
            return group
        except OSError:
            if os.path.isdir(group):
                os.rmdir(group)
    return None


def fill_group(group, path):
    """A process in the group writes more than its memory holds."""
    command = f"echo $$ > {group}/cgroup.procs && exec dd if=/dev/zero of={path} bs=1M count=12 2>/dev/null"
    subprocess.run(["sh", "-c", command], check=False, timeout=60)


def stir(group):
    """Makes work, packets, timers, and a lack of memory."""
    path = os.path.join(os.environ["LULL_SCRATCH"], f"track-events-{os.getpid()}")
    master, slave = os.openpty()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.connect(one.getsockname())
        for _ in range(100):
            os.write(master, b"x")
            one.send(b"x")
            one.recv(1)
            time.sleep(0.001)
    os.close(master)
    os.close(slave)
    if group:
        fill_group(group, path)
    else:
        with open(path, "wb") as file:
            file.write(bytes(1 << 20))
            os.fsync(file.fileno())
    if os.path.exists(path):
        os.unlink(path)


def tracked_meanwhile(kinds, group):
    """The alarms, and from when to when Lull surely tracked."""
    rules = [f"{kind} > {'20us' if kind == 'timer' else '0ns'}" for kind in kinds]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        with subprocess.Popen([LULL, "track", "--json", *rules], stdout=out) as process:
            while os.fstat(out.fileno()).st_size == 0 and process.poll() is None:
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
                    one.sendto(b"x", ("127.0.0.1", 9))
                time.sleep(0.005)
            begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            stir(group)
            end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            process.terminate()
        out.seek(0)
        *alarms, last = map(json.loads, out)
    return alarms, last["summary"], begin, end


def check_peer(kind, pairs, alarms):
    """As many as ftrace has, give or take those of which a stop of the machine came between both programs, and as long."""
    if len(pairs) < 5:
        tap.skip(kind, f"the machine did it {len(pairs)} times")
        return
    lengths = [sorted(end - begin for begin, end in pairs), sorted(alarm["delay_ns"] for alarm in alarms)]
    tap.ok(0.9 * len(pairs) - 2 <= len(alarms) <= 1.1 * len(pairs) + 2, f"{kind}: as many as ftrace has", len(pairs), len(alarms),
           [lengths[0][:5], lengths[1][:5]])
    if not alarms:
        return
    if kind == "timer":  # both have the very numbers of the event
        tap.ok(lengths[0] == lengths[1] or len(set(lengths[0]) - set(lengths[1])) <= 2, "timer: to the nanosecond", lengths)
    halves = [of[len(of) // 2] for of in lengths]
    tap.ok(abs(halves[0] - halves[1]) <= 10_000 + 0.3 * halves[0], f"{kind}: half of them as long", halves)


def test_peer():
    """What the kernel's own tracer sees of the same."""
    group = memory_group()
    kinds = [kind for kind in PAIRS if kind != "reclaim" or group]
    try:
        ftrace = Ftrace([event for kind in kinds for event in PAIRS[kind][:2]])
    except OSError as error:
        tap.skip("against ftrace", str(error))
        return
    try:
        alarms, summary, begin, end = tracked_meanwhile(kinds, group)
        lines, overwritten = ftrace.lines(), ftrace.lost()
    finally:
        ftrace.end()
        if group:
            os.rmdir(group)
    tap.ok(summary["untracked"] == summary["damaged"] == 0, "there was room for all", summary)
    if summary["limited"] or summary["lost"] or overwritten:
        tap.skip("against ftrace", f"the machine does too much of it: {summary}, {overwritten}")
        return
    for kind in kinds:
        least = 20_000 if kind == "timer" else 0
        pairs = [pair for pair in pairs_of(kind, lines) if begin < pair[0] and pair[1] < end and pair[1] - pair[0] > least]
        of = [a for a in alarms if a["kind"] == kind and begin < begin_of(a) and a["monotonic_ns"] < end]
        # The other timers start anew without an event.
        check_peer(kind, pairs, [a for a in of if kind != "timer" or a["object"]["detail"] == "a timer of hrtimer_wakeup"])


def test_text():
    port = free_port()
    program = os.path.join(os.environ["LULL_PROGRAMS"], "live-waits")
    out = lull_track(f"serve({port}) > 1ms", "--", program, "/dev/null", "exchange", str(port), "1", "4000000")
    tap.ok(re.match(rf"\d\d:\d\d:\d\d\.\d{{9}} serve [\d.]+ ms > 1\.000 ms  connection from 127\.0\.0\.1:\d+ to port {port}, "
                    r"read by live-waits/\d+\n1 alarm of ", out), "text says from where, to where, and who", out)


def unless_hidden(test):
    try:
        test()
    except Hidden as hidden:
        tap.skip(test.__name__, str(hidden))


def main():
    reason = why_not()
    if reason:
        tap.skip("lull track", reason)
        return tap.done()
    if not has_event("sock_send_length"):
        tap.skip("requests and answers", "this kernel does not show what sockets send: it needs Linux 6.3")
        return tap.done()
    for test in (test_exchanges, test_connections, test_datagrams, test_packets, test_locks, test_responses, test_exec, test_peer,
                 test_text):
        tap.run(test.__name__, unless_hidden, test)
    return tap.done()


sys.exit(main())

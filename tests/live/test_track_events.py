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

from lib.running import Running
from live.ftraced import Ftrace
from live.tracked import LULL, PROGRAM, Stamp, has_event, inside, lull_track, names, track_once, why_not
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
    refused = [alarm for alarm in alarms if inside(alarm, stamps[-1])]
    tap.ok(len(refused) == 1 and refused[0]["object"]["has_failed"] and "(failed)" in refused[0]["object"]["detail"],
           "one at the end is refused", refused)
    alarms = [alarm for alarm in alarms if alarm not in refused]
    tap.ok(summary["limited"] == summary["lost"] == summary["untracked"] == 0, "nothing was lost", summary)
    tap.ok(summary["events"] == 4 * 100 * ROUNDS + 1, "shorter ones are counted, too", summary)
    for alarm in alarms:
        of, is_server = alarm["object"], alarm["kind"] in ("serve", "ttfb")
        server, client = (of["local_port"], of["remote_port"]) if is_server else (of["remote_port"], of["local_port"])
        words = f"connection from 127.0.0.1:{client} to port {port}" if is_server else f"connection to 127.0.0.1:{port}"
        if (server, of["remote_address"], of["has_failed"], of["detail"]) != (port, "127.0.0.1", False, words) or client == port:
            tap.ok(False, "addresses are those of the program", alarm)
            break


def bucket_of(length_ns):
    return min((length_ns // 1000).bit_length(), 25)


def test_histograms():
    """Each exchange is counted once, between the buckets of what lies within it and of what it lies within."""
    port = free_port()
    rules = [f"serve({port})", f"serve({port}) > 1ms", "syscall(clock_nanosleep)"]
    with tempfile.TemporaryDirectory() as folder:
        program = [PROGRAM, os.path.join(folder, "stamps"), "exchange", str(port),
                   "60", "2000000"]
        lines = lull_track("--hist", "--json", *rules, "--", *program).splitlines()
        with open(os.path.join(folder, "stamps"), encoding="utf-8") as file:
            fields = [line.split() for line in file]
    shown, summary = map(json.loads, lines)
    lengths = [[int(f[3]) - int(f[2]) for f in fields if f[1] == f"serve-{which}"] for which in ("around", "within")]
    served, longer, slept = [of["n"] for of in shown["histograms"]]
    tap.ok([of["rule"] for of in shown["histograms"]] == rules and summary["summary"]["alarms"] == 0, "rules, and no alarms", shown)
    tap.ok(sum(served) == sum(slept) == len(lengths[0]) == 60, "each is counted once", served, slept)
    for i in range(26):
        # So many may be, and so many must be, shorter than the end of this bucket.
        most, least = [sum(bucket_of(length) <= i for length in of) for of in lengths]
        tap.ok(least <= sum(served[:i + 1]) <= most, f"bucket {i}", served, lengths)
    tap.ok(sum(n > MS for n in lengths[0]) <= sum(longer) <= sum(n > MS for n in lengths[1]), "with a time only those that are longer",
           longer)
    text = lull_track("--hist", "--duration", "450ms", "--interval", "200ms", "softirq", "offcpu")
    tap.ok(len(re.findall(r"how many were how long, in .*\nBELOW +softirq +offcpu\n", text)) >= 2, "a table in each interval", text)
    for arguments, says in (["--hist", "serve(80) worst"], "are for alarms"), (["--hist", "serve(80): pid == 1"], "a filter can only"), \
            (["--hist", "offcpu: pid > 1"], "a filter can only"), (["--interval", "1s", "offcpu > 1s"], "needs --hist"), (["--hist", "offcpu", "--interval", "10ms"], "at least 100ms"), \
            (["--hist", "offcpu", "--exec", "true"], "--hist has none"):
        done = subprocess.run([LULL, "track", *arguments], capture_output=True, text=True, timeout=60, check=False)
        tap.ok(done.returncode == 2 and says in done.stderr, f"{arguments} is refused", done)


def test_commands():
    """An alarm runs a command, which finds it in its environment; those that come meanwhile do not. Text says what happened."""
    port = free_port()
    rule, words = f"serve({port}) > 1ms", rf"connection from 127\.0\.0\.1:\d+ to port {port}"
    command = "echo \"$LULL_RULE $LULL_KIND $LULL_PID $LULL_TID $LULL_COMM $LULL_CALL $((LULL_DELAY_NS > 1000000)) $LULL_OBJECT\"; " \
              "sleep 0.5; exit 3"
    done = subprocess.run([LULL, "track", "--count", "3", rule, "--exec", command, "--", PROGRAM, "/dev/null", "exchange", str(port), "3",
                           "4000000"], capture_output=True, text=True, timeout=60, check=False)
    found = re.match(rf"\d\d:\d\d:\d\d\.\d{{9}} serve [\d.]+ ms > 1\.000 ms  {words}, read by live-waits/(\d+)\n", done.stdout)
    tap.ok(found and done.stdout.count("\n") == 4, "text says from where, to where, and who", done)
    tap.ok(found and re.fullmatch(rf"{re.escape(rule)} serve {found[1]} {found[1]} live-waits  1 {words}\n", done.stderr),
           "what the command finds", done)
    tap.ok(re.search(r"\n3 alarms of .*; ran 1 command \(1 failed\), none for 2 alarms that came while one ran", done.stdout),
           "one ran, and failed", done)


def test_connections():
    """A connection that is asked for twice takes the second that TCP waits."""
    if ROUNDS == 1:
        tap.skip("connections that wait", "only with LULL_LIVE=all: it takes a second")
        return
    port = free_port()
    alarms, _, stamps = track_once([f"connect({port}) > 500ms"], "slow", port)
    tap.ok(alarms and all(not a["object"]["has_failed"] for a in alarms), "one waited for the repetition", stamps, alarms)


def test_datagrams():
    """A question in a datagram, as to a name server, which is answered after 30 ms."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        client.connect(("127.0.0.1", port))
        with Running([LULL, "track", "--json", "--count", "1", f"ask({port}) > 30ms"], stdout=subprocess.PIPE,
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


def track_all(rules, *runs):
    """The same for several runs of the program, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        stamps = os.path.join(folder, "stamps")
        script = "; ".join(f"{PROGRAM} {stamps} {run}" for run in runs)
        *alarms, last = map(json.loads, lull_track("--json", *rules, "--", "sh", "-c", script).splitlines())
        with open(stamps, encoding="utf-8") as file:
            fields = [line.split() for line in file]
    return alarms, last["summary"], [Stamp(int(f[0]), f[1], int(f[2]), int(f[3]), int(f[4])) for f in fields]


def check_packets(alarms, stamps):
    """Packets that lay in the socket for a known time."""
    longer = judge("netrx", alarms, stamps, MS)
    tap.ok(len(longer) >= 20 * ROUNDS, "there are longer ones", len(longer))
    tap.ok(all(alarm["object"]["detail"] == "a packet of interface lo" and alarm["object"]["number"] == socket.if_nametoindex("lo")
               for alarm in alarms if alarm["kind"] == "netrx"), "of that interface", alarms[:2])


def check_locks(alarms, stamps):
    """Waits for the lock of a pipe, which its other writer has for a known time."""
    waiters = [stamp.tid for stamp in stamps if stamp.label == "lock-within"]
    if not waiters:
        tap.skip("locks of the kernel", "it does not let programs handle page faults")
        return
    own = [a for a in alarms if a["task"]["tid"] == waiters[0] and any("mutex_lock" in function for function in a["stack"])]
    longer = judge("lock", own, stamps, MS)
    tap.ok(len(longer) >= 20 * ROUNDS, "there are longer ones", len(longer))
    tap.ok(all(any("pipe" in function for function in alarm["stack"]) for alarm in own), "in the kernel's functions for pipes", own[:2])


def check_responses(alarms, summary, stamps):
    """The timer that ends a sleep cannot come before its time."""
    if summary["unseen"] or summary["unknown_wakers"]:
        tap.skip("responses", f"this kernel hides switches: {summary}")
        return
    sleeps = [stamp for stamp in stamps if stamp.label.isdigit()]
    found = [[a for a in alarms if a["kind"] == "response" and a["task"]["tid"] == one.tid and
              one.before < a["monotonic_ns"] < one.after and a["call"] == "clock_nanosleep"] for one in sleeps]
    tap.ok(all(len(of) <= 1 for of in found) and len(sum(found, [])) >= 15 * ROUNDS, "one for each sleep", found[:3])
    wrong = [(one, of) for one, of in zip(sleeps, found) for alarm in of
             if begin_of(alarm) < one.before + int(one.label) or alarm["delay_ns"] < alarm["cpu_wait_ns"]]
    tap.ok(not wrong, "from when the timer was due, at the soonest, over when the task was woken", wrong[:3])


def test_tasks():
    rules = ["netrx(lo) > 1ms", "lock > 1ms", "response: comm == \"live-waits\" > 0ns"]
    alarms, summary, stamps = track_all(rules, f"late {50 * ROUNDS} {MS}", f"lock {50 * ROUNDS} {MS}", f"sleeps {30 * ROUNDS} {2 * MS}")
    tap.ok(summary["lost"] == summary["untracked"] == summary["damaged"] == 0, "nothing was lost", summary)
    check_packets(alarms, stamps)
    check_locks(alarms, stamps)
    check_responses(alarms, summary, stamps)


def test_stacks():
    """In the program the function that called the one that slept; of a waker, that it wrote into a pipe."""
    alarms, _, _ = track_all(["--stack", "waker,user", "offcpu > 3ms"], "deep 20 5", "chain 2 20 3")
    tap.ok(all(alarm["stack"] == [] for alarm in alarms), "the kernel's was not asked for", alarms[:2])
    deep = [a for a in alarms if a["call"] == "nanosleep" and a["task"]["comm"] == "live-waits"]
    tap.ok(deep and all(len(alarm["user_stack"]) > 2 for alarm in deep), "who called who slept", deep[:2])
    # A process that has ended before its maps were read has no names.
    known = [a for a in deep if not all(function.startswith("0x") for function in a["user_stack"])]
    if not known:
        tap.skip("names in programs", "this machine is too busy: it had ended before")
    tap.ok(all(any(function.startswith("deep_outer") for function in a["user_stack"]) for a in known), "by name", known[:2])
    woken = [a for a in alarms if a["task"]["comm"] == "c0" and names(a)[:1] == ["c1"]]
    written = [a for a in woken if any("pipe_write" in function for function in a["waker_stack"])]
    tap.ok(2 * len(written) >= len(woken), "where the waker was", woken[:2])
    done = subprocess.run([LULL, "track", "--stack", "kernel,usr", "offcpu > 1s"], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 2 and "there are kernel, waker and user" in done.stderr, "others are refused", done)


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


def pairs_of(kind, lines):
    """(start, end) of each, by the names of the events; of timers, when it should have expired and when it did."""
    first, last, pattern = PAIRS[kind]
    first, last = first.split("/")[1], last.split("/")[1]
    started, pairs = {}, []
    for when, event, tid, text, *_ in lines:
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


def remove_group(group):
    """The kernel may take a moment to see that its processes have ended."""
    for _ in range(100):
        try:
            os.rmdir(group)
            return
        except OSError:
            time.sleep(0.05)


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
        with Running([LULL, "track", "--json", *rules], stdout=out) as process:
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
            remove_group(group)
    tap.ok(summary["untracked"] == summary["damaged"] == 0, "there was room for all", summary)
    if summary["limited"] or summary["lost"] or overwritten:
        tap.skip("against ftrace", f"the machine does too much of it: {summary}, {overwritten}")
        return
    for kind in kinds:
        least = 20_000 if kind == "timer" else -1  # ftrace writes microseconds: what takes less may start and end in the same one
        pairs = [pair for pair in pairs_of(kind, lines) if begin < pair[0] and pair[1] < end and pair[1] - pair[0] > least]
        of = [a for a in alarms if a["kind"] == kind and begin < begin_of(a) and a["monotonic_ns"] < end]
        # The other timers start anew without an event.
        check_peer(kind, pairs, [a for a in of if kind != "timer" or a["object"]["detail"] == "a timer of hrtimer_wakeup"])


def main():
    reason = why_not()
    if reason:
        tap.skip("lull track", reason)
        return tap.done()
    if not has_event("sock_send_length"):
        tap.skip("requests and answers", "this kernel does not show what sockets send: it needs Linux 6.3")
        return tap.done()
    for test in (test_exchanges, test_histograms, test_commands, test_connections, test_datagrams, test_tasks, test_stacks, test_exec, test_peer):
        tap.run(test.__name__, test)
    return tap.done()


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The interval store: every state in it against a replay of the events that shares no code, sums against lull cputop, bins against
# the intervals they are of; and what becomes of a store that is damaged, cut short, outdated, or that cannot be written.
# LULL is the program, LULL_SAMPLES the directory of the unpacked samples.
import bisect
import collections
import glob
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import vm_scene  # noqa: E402
from server.serving import Server  # noqa: E402
from store.replay import Replay  # noqa: E402
from store.store_file import NONE, Store  # noqa: E402
from tap import Tap, scratch  # noqa: E402

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
tap = Tap()
ON_CPU = ("user", "syscall", "interrupt", "softirq")
WAITS = ("wait-task", "wait-disk", "wait-network", "wait-timer", "wait-input", "wait-irq", "wait-unknown")
# The tid that sched_switch names is that of a life: a task that is dead, or not born, is not the one meant.
NOWHERE = ("unknown", "none", "lost")
KEPT_WHOLE = 32 << 20  # bytes of a store
cache = scratch("lull-store-")
env = {**os.environ, "XDG_CACHE_HOME": cache, "XDG_STATE_HOME": cache + "/no-state", "LC_ALL": "C.UTF-8"}


def run(*arguments, **more):
    return subprocess.run([lull, *arguments], capture_output=True, timeout=600, env=env, stdin=subprocess.DEVNULL, text=True, **more)


def index(*arguments):
    done = run("index", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- truth ---------------------------------------------------------------------------------------------------

def check_form(name, store):
    faults = []
    for row in store.rows:
        edges = [store.start] + [interval[1] for interval in row.intervals]
        starts = [interval[0] for interval in row.intervals]
        if starts != edges[:-1] or edges[-1] != store.end:
            faults.append(f"{row.kind} {row.name} {row.tid}")
    tap.ok(store.rows and not faults, f"{name}: every row covers the whole trace without hole or overlap", *faults)


def agrees(found, expected):
    return found == expected or expected == "ready" and found == "wait-cpu" or expected == "blocked" and found in WAITS


def check_cpus(name, store, replay):
    faults, count = [], 0
    for row in store.of("cpu"):
        line = replay.cpus[store.hosts[row.host], row.cpu].line
        for start, end, state, label, _ in row.intervals:
            for time in (start, (start + end) // 2, end - 1):
                expected, detail = line.at(time) if time < replay.last[store.hosts[row.host]] else (None, None)
                count += expected is not None
                if expected is not None and (state != expected or state == "syscall" and detail not in (store.texts[label], "unknown")):
                    faults.append(f"CPU {row.cpu} at {time}: {state}, expected {expected} {detail}")
    tap.ok(count > 1000 and not faults, f"{name}: at {count} times each CPU does what the events say", *faults[:10])


def check_tasks(name, store, replay):
    faults, count, wakers = [], 0, 0
    for row in store.of("task"):
        host = store.hosts[row.host]
        line = replay.task(host, row.tid)
        for start, end, state, label, evidence in row.intervals:
            if state in NOWHERE:
                continue
            for time in (start, (start + end) // 2, end - 1):
                expected, detail = line.at(time)
                count += expected is not None
                if expected is not None and (not agrees(state, expected) or
                                             state == "syscall" and detail not in (store.texts[label], "unknown")):
                    faults.append(f"{row.name} {row.tid} at {time}: {state}, expected {expected} {detail}")
            if state == "wait-task":
                waker = replay.wakers.get((host, row.tid, end), row)
                wakers += 1
                if waker is not row and waker != store.rows[evidence].tid:
                    faults.append(f"{row.name} {row.tid} at {end}: woken by {store.rows[evidence].tid}, not {waker}")
    tap.ok(count > 1000 and wakers and not faults,
           f"{name}: at {count} times each task does what the events say, {wakers} wakers", *faults[:10])


def cumulated(pieces, states):
    """(times, ns in one of the states before each) of (start, end, state)."""
    times, before = [], [0]
    for start, end, state in pieces:
        times.append(start)
        before.append(before[-1] + (end - start if state in states else 0))
    inside = [state in states for _, _, state in pieces]

    def until(time):
        i = bisect.bisect_right(times, time) - 1
        return before[i] + (time - times[i] if inside[i] else 0) if i >= 0 else 0
    return until


def check_ranges(name, store, replay):
    """How long tasks and CPUs ran in a hundred random ranges, by the store and by the events."""
    dice, faults, count = random.Random(name), [], 0
    ranges = [sorted(dice.sample(range(store.start, store.end), 2)) for _ in range(100)]
    for row in (*store.of("cpu"), *store.of("task")):
        host = store.hosts[row.host]
        line = replay.cpus[host, row.cpu].line if row.kind == "cpu" else replay.task(host, row.tid)
        if not line.starts:
            continue
        last = replay.last[host]
        ends = [*line.starts[1:], max(last, line.starts[-1])]
        by_events = [(start, end, state) for start, end, (state, _) in zip(line.starts, ends, line.states)]
        known = cumulated([one[:3] for one in row.intervals], (*NOWHERE,))
        for states in (ON_CPU, ("syscall",), ("interrupt", "softirq"), *([("idle",)] if row.kind == "cpu" else [])):
            found, expected = cumulated([one[:3] for one in row.intervals], states), cumulated(by_events, states)
            for start, end in ranges:
                start, end = max(start, line.starts[0]), min(end, last)
                if start < end and known(start) == known(end):
                    count += 1
                    if found(end) - found(start) != expected(end) - expected(start):
                        faults.append(f"{row.kind} {row.name} {row.tid} {states} {start}…{end}: {found(end) - found(start)}, "
                                      f"not {expected(end) - expected(start)}")
    tap.ok(count > 1000 and not faults, f"{name}: {count} sums of random ranges are those of the events to the nanosecond", *faults[:10])


def check_samples(name, store, *paths):
    """A trace that is too large to be looked at whole: 10 000 random rows and times."""
    dice, asked = random.Random(name), []
    rows = [row for row in (*store.of("cpu"), *store.of("task")) if row.passive > row.active]
    for row in dice.choices(rows, weights=[row.n_intervals for row in rows], k=10000):
        asked.append((row, dice.randrange(row.active, row.passive)))
    replay = Replay(lull, *paths, samples=[(store.hosts[row.host], row.cpu if row.kind == "cpu" else None, row.tid, time) for row, time in asked])
    faults, count = [], 0
    for row, time in asked:
        host = store.hosts[row.host]
        line = replay.cpus[host, row.cpu].line if row.kind == "cpu" else replay.task(host, row.tid)
        expected, detail = line.answers[time] if time < replay.last[host] else (None, None)
        _, _, state, label, _ = row.at(time)
        if expected is not None and state not in NOWHERE:
            count += 1
            if not agrees(state, expected) or state == "syscall" and detail not in (store.texts[label], "unknown"):
                faults.append(f"{row.kind} {row.name} {row.tid} at {time}: {state}, expected {expected} {detail}")
    tap.ok(count > 5000 and not faults, f"{name}: at {count} random times rows are in the state that the events say", *faults[:10])


def check_threads(name, place, *paths):
    with open(place, "rb") as file:
        whole = file.read()
    others = []
    for threads in ("1", "2", "8"):
        os.unlink(place)
        index("--threads", threads, *paths)
        if read(place) != whole:
            others.append(threads)
    tap.ok(not others, f"{name}: 1, 2 and 8 threads make the same bytes", *others)


def sums(row, start, end, states):
    return sum(min(e, end) - max(s, start) for s, e, state, *_ in row.intervals if state in states and s < end and e > start)


def check_cputop(name, store, start, end, *options):
    answer = json.loads(run("cputop", "--json", "--limit", "100000", *options).stdout)["windows"][0]
    faults = []
    if not options[:-len(store.hosts)] and (answer["begin_ns"], answer["end_ns"]) != (store.start, store.end):
        faults.append("the store covers another time")
    expected = {}
    for line in answer["tables"]["per-process"]:
        expected[line["process"]["tid"]] = expected.get(line["process"]["tid"], 0) + line["cpu_ns"]
    found = {}
    for row in store.of("task"):
        found[row.tid] = found.get(row.tid, 0) + sums(row, start, end, ON_CPU)
    faults += [f"tid {tid}: {found.get(tid)}, not {ns}" for tid, ns in expected.items() if found.get(tid) != ns]
    faults += [f"tid {tid}: {ns}, not in cputop" for tid, ns in found.items() if ns and tid not in expected]
    cpus = {}
    for line in answer["tables"]["per-cpu"]:
        cpus.setdefault(line["cpu"]["cpu"] if isinstance(line["cpu"], dict) else line["cpu"], []).append(
            (line["busy_ns"], line["idle_ns"], line["unknown_ns"]))
    rows = {}
    for row in store.of("thread"):
        rows.setdefault(row.cpu, []).append((sums(row, start, end, ("user",)), sums(row, start, end, ("idle",)),
                                             sums(row, start, end, ("unknown", "lost"))))
    for cpu, lines in cpus.items():
        known = [row for row in rows.get(cpu, []) if row[0] + row[1]]  # a host may have recorded nothing in this part
        if sorted(line for line in lines if line[0] + line[1]) != sorted(known):
            faults.append(f"CPU {cpu}: {known}, not {lines}")
    states = {row.cpu: 0 for row in store.of("cpu")}
    for row in store.of("cpu"):
        states[row.cpu] += sums(row, start, end, (*ON_CPU, "idle"))
    for cpu, total in states.items():
        if cpu in rows and total != sum(busy + idle for busy, idle, _ in rows[cpu]):
            faults.append(f"CPU {cpu}: its states take {total} ns")
    return faults


def check_sums(name, store, paths):
    tap.ok(not (faults := check_cputop(name, store, store.start, store.end, *paths)),
           f"{name}: the time of tasks and CPUs is that of lull cputop to the nanosecond", *faults[:10])
    dice = random.Random(name)
    faults = []
    for _ in range(4):
        start = dice.randrange(store.start + 1, store.end - 2)
        end = dice.randrange(start + 1, store.end)
        faults += check_cputop(name, store, start, end, "--begin", str(start), "--end", str(end), *paths)
    tap.ok(not faults, f"{name}: and so it is of random parts", *faults[:10])


def exact_shares(row, starts, start, end):
    shares = {}
    inside = row.intervals[max(0, bisect.bisect_right(starts, start) - 1):bisect.bisect_left(starts, end)]
    for s, e, state in [(start, min(row.intervals[0][0], end), row.before), *(i[:3] for i in inside),
                        (max(row.intervals[-1][1], start), end, row.after)]:
        ns = min(e, end) - max(s, start)
        if ns > 0:
            shares[state] = shares.get(state, 0) + ns
    return shares


def check_bins(name, store):
    from store.store_file import STATES
    faults, count = [], 0
    dice = random.Random(name)
    for row in store.rows:
        starts = [interval[0] for interval in row.intervals] if row.levels else []
        for level in range(row.levels):
            bins = row.level(level)
            if level == row.levels - 1 and len(bins) != 1:
                faults.append(f"{row.name}: the last level has {len(bins)} bins")
            chosen = {0, len(bins) - 1, *(dice.randrange(len(bins)) for _ in range(6))}
            for start, end, shares in (bins[i] for i in chosen):
                exact = exact_shares(row, starts, start, end)
                count += 1
                for i, state in enumerate(STATES):
                    ns = exact.get(state, 0)
                    wanted = 255 * ns / (end - start)
                    if abs(shares[i] - wanted) > 1 or (ns > 0) != (shares[i] > 0):
                        faults.append(f"{row.kind} {row.name} {start}…{end}: {state} {shares[i]}, not {wanted}")
    tap.ok(count > 50 and not faults, f"{name}: {count} bins have the shares of the intervals in them", *faults[:10])


def check_trace(name, *paths):
    place = index(*paths)["path"]
    store = Store(place)
    check_threads(name, place, *paths)
    if os.path.getsize(place) > KEPT_WHOLE:
        check_samples(name, store, *paths)
        return
    replay = Replay(lull, *paths)
    check_form(name, store)
    check_cpus(name, store, replay)
    check_tasks(name, store, replay)
    check_ranges(name, store, replay)
    check_sums(name, store, paths)
    check_bins(name, store)


# --- the file ------------------------------------------------------------------------------------------------

def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def view_files():
    return sorted(os.listdir(os.path.join(cache, "lull", "view")))


def check_file(trace):
    place = index(trace)["path"]
    whole = read(place)
    again = index(trace)
    tap.ok(not again["is_new"] and again["bytes"] == len(whole), "a store that is there is taken as it is")
    os.unlink(place)
    tap.ok(index(trace)["is_new"] and read(place) == whole, "the bytes are the same when it is made again")
    dice = random.Random(7)
    blocks = Store(place).ranges["blocks"]
    outside = [at for at in range(len(whole)) if not blocks[0] <= at < blocks[0] + blocks[1]]
    kept = []
    for at in [0, 9, 40, len(whole) - 1, *dice.sample(outside, 12)]:
        write(place, whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1:])
        if not index(trace)["is_new"] or read(place) != whole:
            kept.append(at)
    tap.ok(not kept, "a store with a changed byte is made again", kept)
    kept = []
    for size in (0, 7, 200, len(whole) // 2, len(whole) - 1, len(whole) + 1):
        write(place, (whole + b"\0")[:size])
        if not index(trace)["is_new"] or read(place) != whole:
            kept.append(size)
    tap.ok(not kept, "a store that is cut short or has more at its end is made again", kept)
    tap.ok(view_files() == [os.path.basename(place)], "nothing else is left", view_files())
    done = run("index", "--rm", trace)
    tap.ok(done.returncode == 0 and not view_files(), "--rm removes it", done.stderr)
    done = run("index", "--rm", trace)
    tap.ok(done.returncode == 0, "and is content if there is none", done.stderr)


def check_changed(trace):
    copy = os.path.join(cache, "copy")
    shutil.copytree(trace, copy)
    place = index(copy)["path"]
    before = read(place)
    stream = glob.glob(os.path.join(copy, "**", "c*_0"), recursive=True)[0]
    os.utime(stream, (1, 1))
    changed = index(copy)
    tap.ok(changed["is_new"] and changed["path"] == place and read(place) != before,
           "a trace that has changed has its store replaced")
    shutil.rmtree(copy)
    done = run("index", copy)
    tap.ok(done.returncode == 1 and copy in done.stderr, "a trace that is gone is named", done.stderr)
    os.unlink(place)


VCPU_STATES = {"guest": "user", "kvm": "syscall", "qemu": "syscall", "preempted": "wait-cpu", "woken": "wait-cpu", "halted": "idle", "blocked": "wait-unknown"}
RESOURCES = "org.eclipse.tracecompass.internal.analysis.os.linux.core.threadstatus.ResourcesStatusDataProvider"


def open_store(*paths):
    return Store(index(*paths)["path"])


def sums_of(row, key):
    sums = collections.Counter()
    for start, end, *rest in row.intervals:
        sums[key(*rest)] += end - start
    return sums


def check_vcpus(folder):
    """Of guests and a host that are made up, against what was summed meanwhile."""
    scene, _ = vm_scene.gap_scene()
    vm_scene.write(scene, folder)
    store = open_store(os.path.join(folder, "host"))
    rows = {row.tid: row for row in store.of("vcpu")}
    tap.ok(rows.keys() == scene.vcpus.keys() and all(str(vcpu.pid) in rows[tid].name for tid, vcpu in scene.vcpus.items()),
           "each virtual CPU has a row", [row.name for row in rows.values()])
    for tid, vcpu in scene.vcpus.items():
        name, known, takers = vcpu.guest.name, collections.Counter(), collections.Counter()
        for (vm, state), ns in scene.states.items():
            known[VCPU_STATES[state]] += ns * (vm == name)
        for (vm, _, taker, _), ns in scene.steals.items():
            takers[taker] += ns * (vm == name)
        found = sums_of(rows[tid], lambda state, label, evidence: state)
        tap.ok({state: found[state] for state in known} == dict(known) and found.keys() <= known.keys() | {"unknown"},
               f"{name}: how long it was in each state, to the ns", found, known)
        found = sums_of(rows[tid], lambda state, label, evidence: evidence if state == "wait-cpu" else None)
        tids = {0 if row == NONE else store.rows[row].tid: ns for row, ns in found.items() if row is not None}
        tap.ok(tids == {taker: ns for taker, ns in takers.items() if ns}, f"{name}: who had the CPU meanwhile", tids, takers)
    store = open_store(folder)
    check_form("guests", store)
    check_bins("guests", store)
    for row in store.of("vcpu"):
        vm = row.name.removesuffix(" vCPU 0")
        found = sums_of(row, lambda state, label, evidence: None if state != "user" else 0 if evidence == NONE else store.rows[evidence].tid)
        wrong = [(tid, found[tid], ns) for (guest, tid, state), ns in scene.fused.items()
                 if guest == vm and state == "guest" and tid and abs(found[tid] - ns) > 2 * 10**6]
        tap.ok(vm in ("web", "db") and len(found) > 2 and not wrong, f"{vm}: which task of the guest ran", wrong)
    server = Server(lull, env, folder)
    experiment, = server.ask("GET", "experiments")[1]
    where = f"experiments/{experiment['UUID']}/outputs/timeGraph/{RESOURCES}"
    entries = {entry["id"]: entry for entry in server.model(f"{where}/tree", {})["entries"]}
    parents = {entry["labels"][0]: entries[entry["parentId"]]["labels"][0] for entry in entries.values() if "vCPU" in entry["labels"][0]}
    tap.ok(parents == {"web vCPU 0": "host", "db vCPU 0": "host"}, "they are lines of the host", parents)
    web = [id_ for id_, entry in entries.items() if entry["labels"][0] == "web vCPU 0"]
    span = {"start": experiment["start"], "end": experiment["end"], "nbTimes": 4000}
    states = server.model(f"{where}/states", {"requested_timerange": span, "requested_items": web})["rows"][0]["states"]
    labels = {state["label"] for state in states if "label" in state and state["style"]["parentKey"] == "Usermode"}
    tap.ok(labels == {"nginx", "clock"}, "and named after the guest's tasks", labels)
    server.end()


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def check_trouble(trace):
    run("index", "--rm", trace)
    done = run("index", trace, preexec_fn=limit_files)
    tap.ok(done.returncode == 1 and "cannot write" in done.stderr and not view_files(),
           "a store for which there is no room leaves nothing", done.stderr, view_files())
    blocked = os.path.join(cache, "file")
    write(blocked, b"")
    done = subprocess.run([lull, "index", trace], capture_output=True, text=True, env={**env, "XDG_CACHE_HOME": blocked})
    tap.ok(done.returncode == 1 and "XDG_CACHE_HOME" in done.stderr, "a cache that cannot be had is named", done.stderr)
    done = run("index")
    tap.ok(done.returncode != 0 and "trace" in done.stderr, "without a trace it says so", done.stderr)


truth = os.path.join(samples, "truth")
for sample in ("truth-chain", "truth-disk-sync"):
    tap.run(sample, check_trace, sample, os.path.join(truth, sample))
tap.run("django", check_trace, "django", *(os.path.join(samples, "django", host) for host in ("client", "httpd", "db")))
# More traces, which take minutes: all of which there are metadata below a directory.
for found in glob.glob(os.path.join(os.environ.get("LULL_TEST_REPLAY") or "/nowhere", "**", "kernel", "metadata"), recursive=True):
    found = os.path.dirname(os.path.dirname(found))
    tap.run(found, check_trace, os.path.basename(found), found)
tap.run("vcpus", check_vcpus, os.path.join(cache, "guests"))
shutil.rmtree(os.path.join(cache, "lull"))
tap.run("file", check_file, os.path.join(truth, "truth-chain"))
tap.run("changed", check_changed, os.path.join(truth, "truth-preempt"))
tap.run("trouble", check_trouble, os.path.join(truth, "truth-chain"))
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull heap: against threads that allocate as chance has it, which know by block what is true (heap_scene.py), and small scenes that were
# reckoned by hand: call stacks, fork and exec, losses, times, and what a broken trace says.
import json
import os
import subprocess
import sys
import tarfile
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(source, "tests", "lib")]
import heap_scene  # noqa: E402
import jsonl_to_ctf  # noqa: E402
import painted  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732


def run(verb, *arguments):
    return subprocess.run([lull, verb, *arguments], capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL)


def trace(name, events, kernel=(), **more):
    path = os.path.join(scratch.name, name)
    for folder, found, domain in (("user", events, {"domain": "ust", "tracer_name": "lttng-ust"}), ("kernel", kernel, None)):
        if found:
            os.makedirs(path, exist_ok=True)
            jsonl_to_ctf.write_trace(sorted(found, key=lambda one: one["t"]), os.path.join(path, folder), domain, **more)
    return path


def names_file():
    path = os.path.join(scratch.name, "names.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{heap_scene.ADDRESS + 16 * i:016x} T f{i}\n" for i in range(64))
    return "--symbols", path


NAMES = names_file()


def number(row):
    return row["process"].get("pid", row["process"]["tid"])


def window(*arguments):
    done = run("heap", "--json", "--limit", "0", *arguments)
    if not done.stdout:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)["windows"][0]


def heap(*arguments):
    """{(pid, path): row}, {pid: row}, notes"""
    found = window(*NAMES, *arguments)
    tables = found["tables"]
    return ({(number(row), row["path"]): row for row in tables.get("paths", [])},
            {number(row): row for row in tables.get("processes", [])}, " ".join(found["notes"]))


# ---- chance ----

def check_random():
    wrong, n_raced, n_events = [], 0, 0
    for seed in range(12):
        processes = [heap_scene.Process(100 * seed + pid, pid).run(1500) for pid in (100, 200)]
        paths, rows, _ = heap(trace(f"random{seed}", [one for process in processes for one in process.events]))
        for process in processes:
            shown = {name: [row["allocations"], row["bytes"], row["live_bytes"], row["live_blocks"]]
                     for (pid, name), row in paths.items() if pid == process.pid}
            expected = {name: [*sums, *process.live[name][:2]] for name, sums in process.truth.items()}
            row = rows[process.pid]
            sums = [row["unknown_frees"], row["lost_frees"], row["failed"], row["live_bytes"]]
            if shown != expected or sums != [0, 0, process.n_failed, sum(one[0] for one in process.live.values())]:
                wrong.append((seed, process.pid, sums, sorted(set(map(str, shown.items())) ^ set(map(str, expected.items())))[:4]))
            n_raced += process.n_raced
            n_events += len(process.events)
    tap.ok(not wrong and n_raced > 100 and n_events > 15000,
           "threads of chance, whose reallocs race with others: each path, no free unknown or lost", n_raced, n_events, *wrong[:3])


def check_peaks():
    """Where no thread comes between a call and its record, what there was at each moment is known."""
    wrong = []
    for seed in range(8):
        process = heap_scene.Process(seed, 100, is_atomic=True, offsets=(5,)).run(800)
        path = trace(f"peaks{seed}", process.events)
        paths, rows, _ = heap(path)
        shown = {name: [row["peak_bytes"], row["at_peak_bytes"], row["temporary"]] for (_, name), row in paths.items()}
        expected = {name: [now[2], process.at_peak.get(name, 0), process.temporary.get(name, 0)] for name, now in process.live.items()}
        row = rows[100]
        if shown != expected or [row["peak_bytes"], row["peak"]] != [process.peak, process.peak_time]:
            wrong.append((seed, shown, expected, row))
        folded = dict(line.rsplit(" ", 1) for line in run("flame", "--heap", "peak", *NAMES, path).stdout.splitlines())
        if folded != {f"prog/100;{name}": str(size) for name, size in process.at_peak.items() if size}:
            wrong.append((seed, folded, process.at_peak))
    tap.ok(not wrong, "threads of chance, one after the other: peaks, what there was at the peak, and what was temporary", *wrong[:2])


# ---- by hand ----

def event(time, name, pid=100, tid=None, cpu=0, **payload):
    contexts = {"vtid": tid or pid} if pid is None else {"vpid": pid, "vtid": tid or pid}
    if "ip" in payload:
        contexts["ip"] = payload.pop("ip")
    return {"t": time, "n": f"lttng_ust_{name}", "p": payload, "pc": {"cpu_id": cpu}, "sec": contexts}


def at(number):
    return heap_scene.ADDRESS + 16 * number


def malloc(time, ptr, size, ip=1, **more):
    return event(time, "libc:malloc", size=size, ptr=ptr, ip=at(ip) + 4, **more)


def free(time, ptr, **more):
    return event(time, "libc:free", ptr=ptr, **more)


def realloc(time, before, size, ptr, **more):
    return event(time, "libc:realloc", in_ptr=before, size=size, ptr=ptr, **more)


def call(time, what, number, **more):
    return event(time, f"cyg_profile:func_{what}", addr=at(number), **more)


def check_stacks():
    """f1 calls f2, which allocates; another thread of the process is in f1, and so in the same path, where it calls f2."""
    events = []
    for tid, start in ((100, 10), (101, 100)):
        more = {"pid": 100, "tid": tid}
        events += [call(start, "entry", 1, **more), malloc(start + 1, 0x1000 + tid, 5, ip=1, **more), call(start + 2, "entry", 2, **more),
                   malloc(start + 3, 0x2000 + tid, 7, ip=40, **more), call(start + 4, "exit", 2, **more),
                   free(start + 5, 0x2000 + 100, **more), call(start + 6, "exit", 1, **more), malloc(start + 7, 0x3000 + tid, 9, ip=3, **more)]
    path = trace("stacks", events)
    paths, rows, _ = heap(path)
    shown = {name: [row["allocations"], row["live_bytes"], row["peak_bytes"]] for (_, name), row in paths.items()}
    # The second thread frees at 105 what was free already: one unknown free.
    tap.ok(shown == {"f1": [2, 10, 10], "f2 < f1": [2, 7, 7], "f3": [2, 18, 18]} and rows[100]["unknown_frees"] == 1,
           "calls that were recorded are the path, of all threads of a process; else where malloc returns to", shown, rows)
    paths, _, notes = heap("--ignore", "f2", path)
    tap.ok({name for _, name in paths} == {"f1", "f3"} and "2 allocations, of which 7 bytes in 1 blocks" in notes,
           "--ignore leaves out paths with such a function", paths, notes)
    done = run("heap", "--ignore", "[x", path)
    tap.ok(done.returncode == 1 and "has no closing ]" in done.stderr and not done.stdout, "a pattern that is none", done)
    paths, _, _ = heap("--begin", "0.000000100", "--end", "0.000000104", path)
    shown = {name: [row["allocations"], row["live_bytes"]] for (_, name), row in paths.items()}
    tap.ok(shown == {"f1": [1, 5], "f2 < f1": [1, 7]}, "only what was allocated in a time counts, on stacks from before", shown)
    folded = run("flame", "--heap", "live", *NAMES, path).stdout
    tap.ok({line.partition(";")[2] for line in folded.splitlines()} == {"f1 10", "f1;f2 7", "f3 18"},
           "the same as folded stacks", folded)
    for weight, expected in (("allocated", {"f1 10", "f1;f2 14", "f3 18"}), ("allocations", {"f1 2", "f1;f2 2", "f3 2"})):
        folded = run("flame", "--heap", weight, *NAMES, path).stdout
        tap.ok({line.partition(";")[2] for line in folded.splitlines()} == expected, f"folded: {weight}", folded)
    for weight, said in (("live", ("Where memory was allocated", "<title>f3: 18 B (18 bytes), 51.43 %")), ("allocations", ("Where allocations were", "<title>f3: 2 allocations, 33.33 %"))):
        picture = run("flame", "--heap", weight, "--svg", "-", *NAMES, path).stdout
        tap.ok(all(text in picture for text in said) and not painted.faults(picture), f"the picture says what its boxes are: {weight}",
               picture[:600], painted.faults(picture))
    done = run("flame", "--heap", "live", "--off-cpu", path)
    tap.ok(done.returncode == 2 and "--heap is about memory" in done.stderr, "memory has no time off CPU", done.stderr)


def fork(time, parent, child):
    return {"t": time, "n": "sched_process_fork", "pc": {"cpu_id": 0},
            "p": {"parent_comm": "p", "parent_tid": parent, "parent_pid": parent, "child_comm": "p", "child_tid": child, "child_pid": child}}


def execute(time, tid):
    return {"t": time, "n": "sched_process_exec", "pc": {"cpu_id": 0}, "p": {"filename": "/bin/x", "tid": tid, "old_tid": tid}}


def switch(time, prev, following):
    return {"t": time, "n": "sched_switch", "pc": {"cpu_id": 0},
            "p": {"prev_comm": "p", "prev_tid": prev, "prev_prio": 20, "prev_state": 0,
                  "next_comm": "p", "next_tid": following, "next_prio": 20}}


def check_lives():
    """The child frees what it inherited, and allocates where its parent did; then it executes: what it has is new."""
    events = [malloc(10, 0x1000, 5), malloc(11, 0x2000, 6),
              free(30, 0x1000, pid=200), malloc(31, 0x1000, 50, pid=200), malloc(32, 0x3000, 3, pid=200),
              malloc(50, 0x3000, 70, pid=200), free(51, 0x2000, pid=200), free(60, 0x1000)]
    kernel = [switch(1, 0, 100), fork(20, 100, 200), switch(25, 100, 200), execute(40, 200), switch(55, 200, 100), switch(90, 100, 0)]
    paths, rows, _ = heap(trace("lives", events, kernel))
    both = [row for row in run_rows(trace_path("lives")) if row["process"]["pid"] == 200]
    tap.ok(rows[100]["live_bytes"] == 6 and rows[100]["unknown_frees"] == 0, "a parent keeps what its child freed", rows)
    first, second = sorted(both, key=lambda row: row["live_bytes"])
    tap.ok(first["live_bytes"] == 53 and first["unknown_frees"] == 0 and first["lost_frees"] == 0
           and [first["inherited_blocks"], first["inherited_bytes"]] == [2, 11], "a child starts with copies", first)
    tap.ok(second["live_bytes"] == 70 and second["unknown_frees"] == 1 and second["lost_frees"] == 0,
           "exec ends all blocks", second)
    tap.ok(paths[100, "f1"]["live_bytes"] == 6, "copies count in no path", paths)


def trace_path(name):
    return os.path.join(scratch.name, name)


def run_rows(path):
    return window(path)["tables"]["processes"]


def check_rules():
    events = [malloc(1, 0x1000, 10), malloc(2, 0x1000, 20),            # a free was lost
              realloc(3, 0x1000, 30, 0x2000),                          # of the live one: this thread has done something since
              realloc(4, 0, 40, 0x3000), realloc(5, 0x3000, 0, 0),     # as malloc, as free
              realloc(6, 0x2000, 99, 0),                               # failed: it stays
              event(7, "libc:posix_memalign", out_ptr=0x9999, alignment=3, size=8, result=22),
              event(8, "libc:calloc", nmemb=1 << 62, size=8, ptr=0),
              free(9, 0x7777), free(10, 0)]
    _, rows, _ = heap(trace("rules", events))
    row = rows[100]
    tap.ok([row[key] for key in ("live_bytes", "live_blocks", "allocations", "bytes", "failed", "unknown_frees", "lost_frees", "temporary")]
           == [30, 1, 4, 100, 3, 1, 1, 1], "each rule, by hand", row)
    # 7 allocates, 8 frees it and is given the same address, which 7 frees: not what it allocated last.
    events = [malloc(1, 0x1000, 1, pid=7), free(2, 0x1000, pid=7, tid=8), malloc(3, 0x1000, 1, pid=7, tid=8), free(4, 0x1000, pid=7),
              malloc(5, 0x1000, 1, pid=7), malloc(6, 0x2000, 1, pid=7), free(7, 0x1000, pid=7), free(8, 0x2000, pid=7)]
    _, rows, _ = heap(trace("temporary", events))
    tap.ok(rows[7]["temporary"] == 1, "temporary: by the thread that allocated it, before it allocated again", rows)


def check_unknown():
    paths, rows, notes = heap(trace("nopid", [malloc(1, 0x10, 8, pid=None, tid=5), free(2, 0x10, pid=None, tid=6)]))
    tap.ok(len(rows) == 1 or sorted(row["live_bytes"] for row in rows.values()) == [0, 8], "without vpid each thread is alone", rows)
    tap.ok("context vpid" in notes, "and a note says so", notes)
    nobody = malloc(1, 0x10, 8)
    nobody["sec"] = {}
    done = run("heap", trace("nobody", [nobody, malloc(2, 0x20, 4)]))
    tap.ok("1 event does not say of which thread it is" in done.stdout and " 4 B " in done.stdout and "? <" not in done.stdout, "events of nobody", done.stdout)
    no_ip = malloc(2, 0x20, 4)
    del no_ip["sec"]["ip"]
    paths, _, _ = heap(trace("noip", [no_ip]))
    tap.ok([name for _, name in paths] == ["?"], "no caller, no name", paths)
    _, _, notes = heap(trace("lost", [malloc(1, 0x20, 4), free(20, 0x20)], lost=7))
    tap.ok("events were lost" in notes, "losses are reported", notes)
    done = run("heap", os.path.join(os.environ["LULL_SAMPLES"], "truth", "truth-chain"))
    tap.ok(done.returncode == 0 and "no allocation was recorded" in done.stdout, "a trace without allocations", done.stdout, done.stderr)


def check_hostile():
    """Numbers that no allocator gives, and ten thousand blocks at one place."""
    huge = -1  # 2^64 - 1
    events = [malloc(1, huge, huge), malloc(2, 0x10, huge), malloc(3, 0x20, 1 << 62), free(4, huge), realloc(5, 0x10, huge, huge)]
    events += [malloc(10 + i, 0x1000, 1) for i in range(10000)]
    done = run("heap", "--json", trace("hostile", events))
    row = json.loads(done.stdout)["windows"][0]["tables"]["processes"][0]
    tap.ok(done.returncode == 0 and row["lost_frees"] == 9999 and row["live_blocks"] == 3, "numbers that cannot be", row, done.stderr)


def check_recorded():
    """tests/programs/allocates.c, recorded with LTTng's wrapper, against what it says of itself. What a thread costs, the function
    that started it allocated, too: glibc keeps it."""
    with tarfile.open(os.path.join(source, "tests", "data", "heap.tar.xz")) as archive:
        archive.extractall(scratch.name)
    folder = os.path.join(scratch.name, "heap")
    with open(os.path.join(folder, "said"), encoding="utf-8") as file:
        said = {name: [int(one) for one in sums] for name, *sums in map(str.split, file)}
    rows = window("--symbols", folder, os.path.join(folder, "trace"))["tables"]
    parent = next(number(row) for row in rows["paths"] if row["path"] == "keep")
    child = {number(row) for row in rows["processes"]} - {parent}
    shown = {row["path"]: [row[key] for key in ("allocations", "bytes", "live_blocks", "live_bytes")]
             for row in rows["paths"] if number(row) == parent}
    said.pop("child_keeps")
    thread = [now - one for now, one in zip(shown["take_over"], said.pop("take_over"))]
    tap.ok(len(said) == 6 and all(shown[name] == sums for name, sums in said.items()), "a program that counts for itself", shown, said)
    tap.ok(thread[0] == thread[2] == 1 and thread[1] == thread[3] < 1000, "what it gave to a thread, the thread freed", thread)
    kept, = (row for row in rows["paths"] if row["path"] == "child_keeps")
    tap.ok(len(child) == 1 and number(kept) in child and kept["live_bytes"] == 123, "and its child", kept)
    whole = window(os.path.join(folder, "trace"))["tables"]["paths"]
    tap.ok(any(row["path"].startswith("allocates+0x") and row["live_bytes"] == 4000 for row in whole),
           "without names: file and offset", [row["path"] for row in whole][:5])


def check_containers():
    """Process 100 is in a container, 200 in another, 300 in none: each allocates bytes that are its own number."""
    ids = {100: "0a" * 32, 200: "0b" * 32}
    events = [malloc(20 + i, 0x1000 + i, pid, pid=pid) for i, pid in enumerate((100, 200, 300))]
    kernel = [{"t": 1 + i, "n": "lull_statedump_cgroup", "pc": {"cpu_id": 0}, "p": {"tid": pid, "path": f"/docker/{number}"}}
              for i, (pid, number) in enumerate(ids.items())]
    kernel += [{"t": 3, "n": "lull_statedump_cgroup", "pc": {"cpu_id": 0}, "p": {"tid": 300, "path": "/"}},
               {"t": 3, "n": "lull_statedump_container", "pc": {"cpu_id": 0}, "p": {"id": ids[100], "name": "web"}},
               *(switch(10 + i, before, after) for i, (before, after) in enumerate(((0, 100), (100, 200), (200, 300), (300, 0))))]
    path = trace("containers", events, kernel)
    for pattern, wanted in (("web", [100]), ("0b0b0b0b", [200]), ("web,docker:*", [100, 200]), ("/docker/*", [100, 200]), ("host", [300])):
        shown = {number(row): row["live_bytes"] for row in window("--container", pattern, path)["tables"]["processes"]}
        tap.ok(shown == {pid: pid for pid in wanted}, f"--container {pattern}", shown)
    nobody = run("heap", "--container", "nobody", path)
    tap.ok(nobody.returncode == 1 and "nobody" in nobody.stderr, "a container that is not there", nobody.stderr)


check_recorded()
check_containers()
check_random()
check_peaks()
check_stacks()
check_lives()
check_rules()
check_unknown()
check_hostile()
tap.done()

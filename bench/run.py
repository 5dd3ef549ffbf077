#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Times lull against Babeltrace 2 on the same trace in the same run: `make bench`.
#
# The commands run in turn (A B C A B C …), so that a machine that slows down slows all of them; what is
# compared is the median of wall times of whole processes. Peak memory is the kernel's own figure for the finished
# child. One uncounted round warms the file cache. Prints a table and writes BUILD/bench.json, which also says on
# which machine and at what load, and of each floor whether it was kept.
#
# With --lttng-analyses (or $LULL_LTTNG_ANALYSES), the path of a checkout of lttng-analyses that runs here, its
# lttng-cputop is timed as well, once: it takes minutes.
#
# With --hosts N (1002 is what was promised), cputop of N machines is timed as well, once; they are made out of the
# bundled sample beside the trace, 5 MB each, and removed again.
#
# With --states N, lull states is timed on N events of 100 000 rows, with ten rules.
#
# With --calls N, flame graphs and tables of as many calls of functions are timed (bench/calls_load.py); with --heap N, as many
# allocations and frees, and with --dump BYTES a heap dump of Java of that size (bench/memory_load.py).
#
# With --exits N, what virtual CPUs did (lull vms) is timed on a recording of as many exits from guests.
#
# The trace is --trace, or $LULL_BIG, or ../shared/traces/big.tar.xz unpacked into BUILD/bench, or else the bundled
# sample, which is too small to judge by: the output says so.
import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

import calls_load
import memory_load
import states_load
import vm_load

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What was promised: shares of the peer's time on one thread, and of the trace's size. Text is
# measured against the peer's text, all else against its reading alone; text goes to /dev/null.
FLOORS = {"critpath": 1 / 15, "info --events": 1 / 40, "count-fields": 1 / 30, "print": 1 / 10,
          "print --format=babeltrace": 1 / 10, "cputop": 1 / 15, "stats": 1 / 10}
# The same work with one thread and with two, which must take at most this share of the time: a thread that reads ahead
# must be worth it, however far the CPUs are from each other.
THREADS_FLOORS = {("info --events", "info, threads"): 0.58, ("count-fields", "count, threads"): 1 / 1.7, ("stats, one CPU", "stats"): 0.9}
# A path of 0.2 s must take at most this share of the time of a whole life, and this memory.
RANGE_FLOOR = 0.15
RANGE_MEMORY_FLOOR = 40 * 2**20
RANGE = ["--begin", "+50s", "--end", "+50.2s"]
AT_START = ["--begin", "+0s", "--end", "+0.2s"]
RANGES = {"critpath, 0.2 s", "critpath, first 0.2 s"}
# cputop of as many hosts.
HOSTS_JUDGED = 1000
HOSTS_FLOOR = 4.0  # seconds of CPU
HOSTS_MEMORY_FLOOR = 150 * 2**20
MEMORY_FLOOR = 1 / 2
MEMORY_FLOORS = {"stats": 1 / 4}  # instead of it
ANALYSES_FLOOR = 1 / 300  # lull cputop against lttng-cputop
# What virtual CPUs did, against cputop of as many events of which none is of a virtual machine.
EXITS_JUDGED = 100000
EXITS_FLOOR = 1.1
# Events a second of CPU that declared states follow.
STATES_JUDGED = 10**7
STATES_FLOOR = 3e6
# A flame graph of as many calls: seconds of CPU, and memory.
CALLS_JUDGED = 1000000
CALLS_FLOOR = 0.4
CALLS_MEMORY_FLOOR = 64 * 2**20
# Names from as many files, which are loaded for them: seconds of CPU.
FILES_JUDGED = 100
FILES_FLOOR = 1.0
# Allocations and frees a second of CPU, and memory for each block that lives.
HEAP_JUDGED = 10**7
HEAP_FLOOR = 3e6
HEAP_MEMORY_FLOOR = 64
# Seconds of CPU for a heap dump of Java, by its size.
DUMP_FLOORS = ((10**9, 60), (7300000, 0.3))
PEER = "babeltrace2"
TEXT_PEER = "babeltrace2 (text)"
# Below this, starting a process weighs more than reading.
BIG_ENOUGH = 100 * 2**20


def parse_arguments():
    parser = argparse.ArgumentParser(description="Times lull against Babeltrace 2.")
    parser.add_argument("--lull", default="build/lull")
    parser.add_argument("--trace", help="directory of a trace with a task named --comm")
    parser.add_argument("--comm", default="postgres", help="whose critical path (default: postgres)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--lttng-analyses", default=os.environ.get("LULL_LTTNG_ANALYSES"), metavar="DIR",
                        help="a checkout of lttng-analyses to measure against")
    parser.add_argument("--exits", type=int, default=0, metavar="N", help="also time vms of N exits from guests")
    parser.add_argument("--states", type=int, default=0, metavar="N", help="also time declared states on N events (10000000)")
    parser.add_argument("--calls", type=int, default=0, metavar="N", help="also time flame and calls of N calls of functions")
    parser.add_argument("--heap", type=int, default=0, metavar="N", help="also time heap of N allocations and frees (10000000)")
    parser.add_argument("--dump", type=int, default=0, metavar="BYTES", help="also time hprof of a heap dump of that size (1000000000)")
    parser.add_argument("--hosts", type=int, default=0, metavar="N", help="also time cputop of N machines")
    parser.add_argument("--json", default=None, help="where to write the figures")
    return parser.parse_args()


def unpack(archive, directory):
    subprocess.run([sys.executable, os.path.join(SOURCE, "tools", "unpack.py"), directory, archive], check=True)


def find_trace(args):
    """The directory to measure on."""
    if args.trace or os.environ.get("LULL_BIG"):
        return args.trace or os.environ["LULL_BIG"]
    directory = os.path.join(os.path.dirname(os.path.abspath(args.lull)), "bench")
    archive = os.path.join(SOURCE, "..", "shared", "traces", "big.tar.xz")
    if os.path.exists(archive):
        unpack(archive, directory)
        return os.path.join(directory, "big")
    unpack(os.path.join(SOURCE, "examples", "data", "django.tar.xz"), directory)
    return os.path.join(directory, "django", "db")


def size_of(directory):
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(directory) for name in names)


def run_once(command, output):
    """Wall seconds, CPU seconds and peak memory in bytes of one run; the child's output goes to a file.

    The kernel counts what the child used before exec as well: no peak reads below this program's own, about 15 MiB."""
    output.seek(0)
    output.truncate()
    begin = time.monotonic()
    is_text = command[1] in ("print", "schedfreq") or "-c" not in command and command[0] == PEER
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL if is_text else output,
                             stderr=output)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        output.seek(0)
        sys.exit(f"bench: {' '.join(command)}: exit {child.returncode}\n{output.read()[-2000:]}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def measure(commands, runs):
    figures = {name: [] for name in commands}
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        for number in range(runs + 1):
            for name, command in commands.items():
                figure = run_once(command, output)
                if number > 0:
                    figures[name].append(figure)
    return figures


def summarise(name, command, figures, peer_wall, size):
    wall, cpu, memory = ([figure[i] for figure in figures] for i in range(3))
    result = {"name": name, "command": command, "wall_s": statistics.median(wall), "wall_min_s": min(wall),
              "wall_max_s": max(wall), "cpu_s": statistics.median(cpu), "peak_bytes": max(memory),
              "peak_share_of_trace": max(memory) / size}
    if peer_wall is not None:
        # By pairs that ran one after the other, not the ratio of two medians.
        result["ratio_to_peer"] = statistics.median(own / peer for own, peer in zip(wall, peer_wall))
    return result


def measure_analyses(directory, trace, lull_wall, judged, judgements):
    """One run of lttng-cputop, and what share of its time lull cputop takes."""
    command = [os.path.join(directory, "lttng-cputop"), "--no-progress", "--skip-validation", trace]
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        wall, cpu, memory = run_once(command, output)
    ratio = lull_wall / wall
    print(f"lttng-cputop takes {wall:.1f} s ({cpu:.1f} s of CPU, {memory / 2**20:.0f} MiB), lull cputop {share(ratio)} of that "
          f"({verdict(judgements, 'cputop, share of lttng-cputop', ratio, ANALYSES_FLOOR, judged)})")
    return {"command": command, "wall_s": wall, "cpu_s": cpu, "peak_bytes": memory, "ratio_of_lull": ratio}


def tid_at_start(lull, trace):
    """Of the task that ran most then."""
    done = subprocess.run([lull, "cputop", "--json", "--limit", "1", *AT_START, trace], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["windows"][0]["tables"]["per-process"][0]["process"]["tid"]


def judge_range(figures, judged, judgements):
    """What the path of a short time costs, as a share of that of a whole life."""
    for name in sorted(RANGES & figures.keys()):
        pairs = list(zip(figures[name], figures["critpath"]))
        ratio = statistics.median(short[1] / whole[1] for short, whole in pairs)
        memory = max(short[2] for short, _ in pairs)
        print(f"{name} takes {ratio:.2f} of the CPU of the whole (<= {RANGE_FLOOR}: "
              f"{verdict(judgements, f'{name}, share of the whole', ratio, RANGE_FLOOR, judged)}), {memory / 2**20:.0f} MiB (<= {RANGE_MEMORY_FLOOR / 2**20:.0f} MiB: "
              f"{verdict(judgements, f'{name}, bytes', memory, RANGE_MEMORY_FLOOR, judged)})")


def measure_hosts(lull, n, judgements):
    """One run of cputop of n machines."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(lull)) as directory:
        unpack(os.path.join(SOURCE, "examples", "data", "django.tar.xz"), directory)
        hosts = os.path.join(directory, "hosts")
        subprocess.run([sys.executable, os.path.join(SOURCE, "tests", "lib", "many_hosts.py"),
                        os.path.join(directory, "django"), str(n), hosts], check=True)
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            wall, cpu, memory = run_once([lull, "cputop", hosts], output)
    judged = n >= HOSTS_JUDGED
    print(f"cputop of {n} hosts takes {cpu:.1f} s of CPU (<= {HOSTS_FLOOR} s: {verdict(judgements, 'hosts, s of CPU', cpu, HOSTS_FLOOR, judged)}), "
          f"{memory / 2**20:.0f} MiB (<= {HOSTS_MEMORY_FLOOR / 2**20:.0f} MiB: "
          f"{verdict(judgements, 'hosts, bytes', memory, HOSTS_MEMORY_FLOOR, judged)})")
    return {"hosts": n, "wall_s": wall, "cpu_s": cpu, "peak_bytes": memory}


def measure_exits(lull, n, runs, judgements):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(lull)) as directory:
        commands = {}
        for verb, entries in (("cputop", 0), ("vms", vm_load.ENTRIES)):
            trace = os.path.join(directory, verb)
            vm_load.write(trace, n * (2 * vm_load.ENTRIES + 2) // vm_load.ENTRIES, entries)
            commands[verb] = [lull, verb, trace]
        figures = measure(commands, runs)
    cpu = {verb: min(figure[1] for figure in figures[verb]) for verb in commands}
    ratio = cpu["vms"] / cpu["cputop"]
    print(f"vms of {n} exits takes {cpu['vms']:.2f} s of CPU, {ratio:.2f} of what cputop takes for as many events without "
          f"(<= {EXITS_FLOOR}: {verdict(judgements, 'exits, share of cputop', ratio, EXITS_FLOOR, n >= EXITS_JUDGED)})")
    return {"exits": n, "cpu_s": cpu["vms"], "cpu_s_without": cpu["cputop"], "ratio": ratio}


def measure_states(lull, n, runs, judgements):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(lull)) as directory:
        trace, path = os.path.join(directory, "jobs"), os.path.join(directory, "jobs.states")
        states_load.write(trace, n)
        with open(path, "w", encoding="utf-8") as file:
            file.write(states_load.FILE)
        figures = measure({"read": [lull, "print", "--count-fields", "--threads", "1", trace],
                           "states": [lull, "states", "--states", path, "--limit", "10", trace]}, runs)
    cpu = {name: min(figure[1] for figure in figures[name]) for name in figures}
    rate, memory = n / cpu["states"], max(figure[2] for figure in figures["states"])
    print(f"states of {n} events, {states_load.ROWS} rows and 10 rules: {rate / 1e6:.2f} M events/s of CPU (>= {STATES_FLOOR / 1e6:.0f} M: "
          f"{verdict(judgements, 'states, s of CPU an event', 1 / rate, 1 / STATES_FLOOR, n >= STATES_JUDGED)}), {memory / 2**20:.0f} MiB; count-fields takes {cpu['read'] / cpu['states']:.2f} of that")
    return {"events": n, "rows": states_load.ROWS, "cpu_s": cpu["states"], "cpu_s_reading": cpu["read"], "peak_bytes": memory,
            "events_per_s": rate}


def measure_calls(lull, n, runs, judgements):
    """Flame graphs and tables of a program that called functions so often."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(lull)) as directory:
        trace = os.path.join(directory, "calls")
        calls_load.write(trace, n)
        calls_load.write(trace + "-fast", n, True)
        files = calls_load.largest_libraries(FILES_JUDGED)
        calls_load.write_libraries(trace + "-files", files)
        figures = measure({"info": [lull, "info", "--events", trace], "flame": [lull, "flame", trace], "flame, fast": [lull, "flame", trace + "-fast"],
                           "calls": [lull, "calls", trace], "calls --callers": [lull, "calls", "--callers", "*", trace],
                           "names": [lull, "flame", "--symbols", "/", trace + "-files"]}, runs)
    cpu = {verb: min(figure[1] for figure in figures[verb]) for verb in figures}
    peak = {verb: max(figure[2] for figure in figures[verb]) for verb in figures}
    floor = CALLS_FLOOR * n / CALLS_JUDGED
    print(f"flame of {n} calls takes {cpu['flame']:.2f} s of CPU (<= {floor:.2f} s: {verdict(judgements, 'flame, s of CPU', cpu['flame'], floor, n >= CALLS_JUDGED)}), "
          f"{peak['flame'] / 2**20:.0f} MiB (<= {CALLS_MEMORY_FLOOR / 2**20:.0f} MiB: "
          f"{verdict(judgements, 'flame, bytes', peak['flame'], CALLS_MEMORY_FLOOR, n >= CALLS_JUDGED)}); returns without address {cpu['flame, fast']:.2f} s "
          f"({verdict(judgements, 'flame of returns without address, s of CPU', cpu['flame, fast'], floor, n >= CALLS_JUDGED)}); calls {cpu['calls']:.2f} s, "
          f"with callers {cpu['calls --callers']:.2f} s; reading alone {cpu['info']:.2f} s; names from {len(files)} libraries {cpu['names']:.2f} s "
          f"({verdict(judgements, 'names, s of CPU', cpu['names'], FILES_FLOOR, len(files) >= FILES_JUDGED)})")
    return {"calls": n, "cpu_s": cpu, "peak_bytes": peak}


def shows(lull, *question):
    done = subprocess.run([lull, *question], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure_heap(lull, n, runs, judgements):
    """With few blocks and with many, whose memory is compared; what is shown of them has to be right."""
    rows = {"few": n // 10000, "many": n // 10}
    with tempfile.TemporaryDirectory(dir=os.path.dirname(lull)) as directory:
        for name, n_live in rows.items():
            allocated, live = memory_load.write_heap(os.path.join(directory, name), n, n_live)
            (row,) = shows(lull, "heap", "--json", os.path.join(directory, name))["windows"][0]["tables"]["processes"]
            if (row["allocations"], row["live_blocks"], row["bytes"]) != (allocated, live, allocated * memory_load.SIZE):
                sys.exit(f"bench: lull heap is wrong about {allocated} allocations, of which {live} live: {row}")
        figures = measure({name: [lull, "heap", os.path.join(directory, name)] for name in rows}, runs)
    rate = {name: n / min(figure[1] for figure in figures[name]) for name in rows}
    peak = {name: max(figure[2] for figure in figures[name]) for name in rows}
    each = (peak["many"] - peak["few"]) / (rows["many"] - rows["few"])
    print(f"heap of {n} events: {rate['few'] / 1e6:.1f} M events/s of CPU (>= {HEAP_FLOOR / 1e6:.0f} M: "
          f"{verdict(judgements, 'heap, s of CPU an event', 1 / rate['few'], 1 / HEAP_FLOOR, n >= HEAP_JUDGED)}), {rate['many'] / 1e6:.1f} M with "
          f"{rows['many']} blocks, {each:.0f} bytes each (<= {HEAP_MEMORY_FLOOR}: {verdict(judgements, 'heap, bytes a block', each, HEAP_MEMORY_FLOOR, n >= HEAP_JUDGED)})")
    return {"events": n, "events_per_s": rate, "peak_bytes": peak}


def measure_dump(lull, size, runs, judgements):
    """Objects of 58 bytes in the dump, all of which one array retains."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(lull)) as directory:
        path = os.path.join(directory, "heap.hprof")
        objects, retained = memory_load.write_dump(path, size)
        size = os.path.getsize(path)
        (row,) = shows(lull, "hprof", "--json", "--limit", "1", path)["largest"]
        if row["retained_bytes"] != retained:
            sys.exit(f"bench: lull hprof is wrong about {retained} bytes that one array retains: {row}")
        figures = measure({"hprof": [lull, "hprof", path]}, runs)["hprof"]
    cpu, peak = min(figure[1] for figure in figures), max(figure[2] for figure in figures)
    floor = next((seconds for least, seconds in DUMP_FLOORS if size >= least), None)
    most = 1 if size >= DUMP_FLOORS[0][0] else None
    print(f"hprof of {size / 2**20:.1f} MiB and {objects} objects takes {cpu:.2f} s of CPU (<= {floor} s: "
          f"{verdict(judgements, 'hprof, s of CPU', cpu, floor, True)}), {peak / size:.2f} of its size in memory (<= {most}: "
          f"{verdict(judgements, 'hprof, memory of the size', peak / size, most, True)})")
    return {"bytes": size, "objects": objects, "cpu_s": cpu, "peak_bytes": peak}


def version_of(program):
    text = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return text.splitlines()[0].strip() if text else "unknown"


def verdict(judgements, line, value, floor, judged):
    """Whether what a line takes is at most its floor; "" if it is not to be judged."""
    if not judged or floor is None:
        return ""
    judgements.append({"line": line, "value": value, "floor": floor, "is_kept": value <= floor})
    return "ok" if value <= floor else "MISSED"


def machine():
    """What the figures depend on, besides the trace."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.*)", file.read(), re.M)
    return {"arch": platform.machine(), "kernel": platform.release(), "cpu": model.group(1) if model else None,
            "cpus": os.cpu_count(), "usable_cpus": len(os.sched_getaffinity(0)),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")}


def warn_of_load(before, after):
    """Ratios bear some load, times on the clock do not."""
    most = max(before[0], after[0])
    if most > os.cpu_count():
        print(f"bench: the load was {most:.1f} on {os.cpu_count()} CPUs: what is measured on the clock, as two threads are, means little")


def print_missed(judgements):
    missed = [one for one in judgements if not one["is_kept"]]
    for one in missed:
        print(f"bench: MISSED: {one['line']}: {one['value']:.4g} (floor {one['floor']:.4g})")
    if judgements:
        print(f"bench: {len(judgements) - len(missed)} of {len(judgements)} floors kept")


def share(value):
    return f"1/{1 / value:.1f}" if value < 1 else f"{value:.2f}"


def memory_verdict(result, judgements):
    name = result["name"]
    return verdict(judgements, f"{name}, memory", result["peak_share_of_trace"], MEMORY_FLOORS.get(name, MEMORY_FLOOR), True)


def print_table(results, judged, judgements):
    print(f"{'':27}{'median':>9}{'min':>9}{'max':>9}{'CPU':>9}{'peak':>10}   of peer's time     of trace's size")
    for r in results:
        floor = FLOORS.get(r["name"])
        time_text = memory_text = ""
        if "ratio_to_peer" in r:
            time_text = f"{share(r['ratio_to_peer']):>7}"
            memory_text = f"{r['peak_share_of_trace']:>6.1%}"
            if judged and floor:
                time_text += f" (<= {share(floor)}: {verdict(judgements, r['name'], r['ratio_to_peer'], floor, judged)})"
            if judged:
                memory_text += f" ({memory_verdict(r, judgements)})"
        print(f"{r['name']:27}{r['wall_s']:8.3f}s{r['wall_min_s']:8.3f}s{r['wall_max_s']:8.3f}s{r['cpu_s']:8.3f}s"
              f"{r['peak_bytes'] / 2**20:7.1f}MiB  {time_text:20} {memory_text}")


def main():
    args = parse_arguments()
    trace = find_trace(args)
    size = size_of(trace)
    judged = size >= BIG_ENOUGH
    lull = os.path.abspath(args.lull)
    commands = {
        PEER: [PEER, "-c", "sink.utils.dummy", trace],
        "critpath": [lull, "critpath", trace, "--comm", args.comm],
        "info --events": [lull, "info", "--events", "--threads", "1", trace],
        "info, threads": [lull, "info", "--events", "--threads", "2", trace],
        "count-fields": [lull, "print", "--count-fields", "--threads", "1", trace],
        "count, threads": [lull, "print", "--count-fields", "--threads", "2", trace],
        "cputop": [lull, "cputop", trace],
        "stats": [lull, "stats", trace],
        "stats, one CPU": ["taskset", "-c", str(max(os.sched_getaffinity(0))), lull, "stats", trace],
        "syscallstats": [lull, "syscallstats", trace],
        "requests": [lull, "requests", trace],
        TEXT_PEER: [PEER, trace],
        "print": [lull, "print", trace],
        "print --format=babeltrace": [lull, "print", "--format=babeltrace", trace],
    }
    if judged:
        commands["critpath, 0.2 s"] = [*commands["critpath"], *RANGE]
        commands["critpath, first 0.2 s"] = [lull, "critpath", trace, "--tid", str(tid_at_start(lull, trace)), *AT_START]
        commands["schedfreq, 100000 bins"] = [lull, "schedfreq", "--freq-resolution", "100000", trace]
    print(f"bench: {trace}, {size / 2**20:.1f} MiB, {args.runs} rounds after one to warm up, "
          f"{os.cpu_count()} CPUs, {platform.machine()}")
    print(f"bench: {version_of(lull)}; {version_of(PEER)}")
    if not judged:
        print("bench: too small to judge by: starting a process weighs more here than reading.")
        print("bench: Set LULL_BIG to the directory of a trace of 100 MiB or more.")
    load_before = os.getloadavg()
    figures = measure(commands, args.runs)
    peer_wall = {name: [figure[0] for figure in figures[name]] for name in (PEER, TEXT_PEER)}
    results = [summarise(name, command, figures[name],
                         None if name in peer_wall else peer_wall[TEXT_PEER if name.startswith("print") else PEER], size)
               for name, command in commands.items()]
    judgements = []
    print_table(results, judged, judgements)
    for (one, two), floor in THREADS_FLOORS.items():
        ratio = statistics.median(b[0] / a[0] for a, b in zip(figures[one], figures[two]))
        print(f"{two} takes {ratio:.2f} of the time of {one} (<= {floor:.2f}: "
              f"{verdict(judgements, f'{two}, share of {one}', ratio, floor if os.cpu_count() > 1 else None, judged)})")
    judge_range(figures, judged, judgements)
    hosts = measure_hosts(lull, args.hosts, judgements) if args.hosts else None
    states = measure_states(lull, args.states, args.runs, judgements) if args.states else None
    exits = measure_exits(lull, args.exits, args.runs, judgements) if args.exits else None
    calls = measure_calls(lull, args.calls, args.runs, judgements) if args.calls else None
    heap = measure_heap(lull, args.heap, args.runs, judgements) if args.heap else None
    dump = measure_dump(lull, args.dump, args.runs, judgements) if args.dump else None
    analyses = None
    if args.lttng_analyses:
        lull_wall = next(r["wall_s"] for r in results if r["name"] == "cputop")
        analyses = measure_analyses(args.lttng_analyses, trace, lull_wall, judged, judgements)
    report = {"version": 1, "trace": os.path.abspath(trace), "trace_bytes": size, "is_judged": judged,
              "runs": args.runs, "machine": machine(), "load_before": load_before, "load_after": os.getloadavg(), "lull": version_of(lull), "peer": version_of(PEER),
              "floors": judgements, "results": results,
              "hosts": hosts, "exits": exits, "states": states, "calls": calls, "heap": heap, "dump": dump, "lttng_analyses": analyses}
    target = args.json or os.path.join(os.path.dirname(lull), "bench.json")
    with open(target, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=2)
        file.write("\n")
    print_missed(judgements)
    warn_of_load(load_before, report["load_after"])
    print(f"bench: wrote {target}")
    if not re.search("release|debugoptimized|O[23]", build_options(lull)):
        print("bench: this build of lull is not optimised")


def build_options(lull):
    """The optimisation of a Meson build directory, for the warning above."""
    try:
        with open(os.path.join(os.path.dirname(lull), "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
            return " ".join(str(o["value"]) for o in json.load(file) if o["name"] == "buildtype")
    except (OSError, ValueError):
        return "release"


if __name__ == "__main__":
    main()

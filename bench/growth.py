#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# How time and memory grow with what a trace holds: `make bench-growth`.
#
# For each dimension (tasks, renames, descriptors, disks, hosts, damaged packets …) growth_traces.py makes a trace with N
# of it, for three or more N, and the commands concerned read it. The CPU time and the peak memory of each command,
# less what it takes to do nothing, are fitted by N^e. An exponent above 1.3 fails. CPU time is the kernel's own count for
# the finished child, the least of several runs, so that it says the same on a busy machine. Traces are made by processes
# of their own: the kernel starts to count a child's peak memory at its parent's, so this program must stay small.
#
# --short is for the tests: time alone, two sizes that lie far apart, and a wider limit, which what grows with the square
# still misses.
#
# --functions counts instead of measuring: valgrind's callgrind says how many instructions each function of the program
# executed for two sizes, and none that matters may have needed more than the trace grew. What grows with the square is so
# seen long before it takes time that could be measured.
import argparse
import ctypes
import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile

import growth_traces as traces

LIMIT, SHORT_LIMIT = 1.3, 1.4
# What takes less than this for the largest N says nothing about growth, and need not.
LEAST_S = 0.02
# What lull takes without a trace. The kernel counts what the child used before exec as well, so small peaks are this
# program's own: only those well above the peak for N = 1 count.
OWN_BYTES, VISIBLE = 6 * 2**20, 1.25
ATTEMPTS = 3
PR_SET_THP_DISABLE = 41
SIZES, SHORT_SIZES = (10000, 40000, 160000), (2000, 32000)
KEYED = '$evt.$name == "begin" : $evt.$name == "end" && $evt.key == $begin.$evt.key'
KEYLESS = '$evt.$name == "begin" : $evt.$name == "end" && $evt.key < $begin.$evt.key'

# Dimension: commands without the trace, and how much smaller than SIZES its N are.
DIMENSIONS = {
    "tasks": (("stats", "cputop", "critpath --tid 7", "critpath --tid 7 --unbounded", "schedstats", "waits",
               "schedtop", "index"), 1),
    "processes": (("stats", "critpath --tid 1"), 1),
    "lineage": (("stats", "critpath --tid 7"), 1),
    "slices": (("critpath --tid 7", "schedlog"), 1),
    "waking_tree": (("critpath --tid 1", "stats"), 1),
    "renames": (("critpath --tid 7", "stats", "cputop"), 1),
    "priorities": (("cputop", "schedstats"), 1),
    "dumped_descriptors": (("iousagetop", "stats"), 1),
    "opened_descriptors": (("iousagetop", "iolog"), 1),
    "files": (("iousagetop --limit 0", "iolatencytop"), 1),
    "open_calls": (("syscallstats", "critpath --tid 7"), 1),
    "outcomes": (("syscallstats",), 1),
    "futexes": (("futex --limit 0", "stats"), 1),
    "disks": (("iousagetop", "iolatencystats", "index"), 1),
    "requests_in_flight": (("iolatencystats", "critpath --tid 7"), 1),
    "remaps": (("iolatencystats",), 1),
    "interfaces": (("nettop --limit 0", "stats"), 1),
    "flows": (("sync", "requests --limit 0", "nettop --limit 0"), 1),
    "segments": (("nettop", "critpath --tid 7"), 1),
    "closed_windows": (("critpath --tid 7",), 1),
    "alike": (("sync", "critpath --tid 9 --no-sync"), 1),
    "reordered": (("sync",), 1),
    "curved": (("sync",), 1),
    "irqs": (("irqstats", "stats", "index"), 1),
    "irq_names": (("irqstats",), 1),
    "nests": (("irqstats",), 1),
    "frequencies": (("freq",), 1),
    "mappings": (("critpath --tid 7 --stacks",), 1),
    "open_periods": ((("periodlog", "--period", "p : " + KEYED),), 1),
    "endless_periods": ((("periodlog", "--period", "p : " + KEYED), ("periodlog", "--period", "p : " + KEYLESS),
                         ("cputop", "--period", "p : " + KEYED)), 1),
    "packets": (("info --events", "stats"), 1),
    "damaged": (("info --events --threads 2", "print"), 1 / 2),
    "losses": (("stats", "critpath --tid 7", "info", "index"), 1),
    "waiting_vcpus": (("vms", "cputop"), 4),
    "lost_vcpus": (("vms", "sync"), 4),
    "cpus": (("stats", "cputop"), 20),
    "event_classes": (("info --events", "stats"), 4),
    "labels": (("info",), 4),
    "fields": (("info",), 4),
    "hosts": (("cputop --no-sync", "stats --no-sync", "requests --no-sync", "sync", "info", "index"), 40),
    "star": (("sync", "cputop", "stats", "requests"), 40),
    "pairs_of_hosts": (("sync",), 4),
    "directories": (("cputop", "info"), 40),
}
# With --functions: dimension, commands, and the smaller of the two sizes.
FUNCTIONS = {
    "couples": (("sync",), 100),
    "star": (("sync",), 100),
    "waking_tree": (("critpath --tid 7 --svg /dev/null",), 300),
    "pairs_of_hosts": (("sync",), 2000),
}
# How many times the larger size is; and functions with less than this share of all instructions do not matter.
FUNCTION_STEP, FUNCTION_LIMIT, FUNCTION_SHARE = 4, 1.5, 0.003

# Of few rows a store's memory still fits into caches, so two sizes say little of these.
FULL_ONLY = {("tasks", "index"), ("disks", "index"), ("alike", "sync"), ("alike", "critpath --tid 9 --no-sync")}
# What other lines of the short version hold as well.
FULL_ONLY |= {("tasks", "schedtop"), ("hosts", "stats --no-sync"), ("hosts", "sync"), ("star", "cputop"), ("star", "stats"), ("star", "requests")}


def words(command):
    return list(command) if isinstance(command, tuple) else command.split()


def run(lull, command, trace):
    """CPU seconds and peak bytes. Exit 1 says that something is damaged or was not found: so it may be."""
    verb, *options = words(command)
    with tempfile.TemporaryDirectory(prefix="lull-growth-") as cache:  # a store is made each time
        child = subprocess.Popen([lull, verb, trace, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, env={**os.environ, "XDG_CACHE_HOME": cache})
        with child.stderr:
            error = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        sys.exit(f"growth: {' '.join([verb, trace, *options])}: exit {child.returncode}\n{error.decode(errors='replace')[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def least(lull, command, trace, runs):
    figures = [run(lull, command, trace) for _ in range(runs)]
    return min(f[0] for f in figures), min(f[1] for f in figures)


def fit(pairs):
    """The exponent of the growth of (size, cost) by least squares; None if there is too little to tell."""
    points = [(math.log(n), math.log(cost)) for n, cost in pairs]
    if len(points) < 2:
        return None
    x_mean, y_mean = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    return sum((x - x_mean) * (y - y_mean) for x, y in points) / sum((x - x_mean) ** 2 for x, _ in points)


def fit_time(sizes, costs, floor):
    if costs[-1] - floor < LEAST_S:
        return None
    return fit([(n, max(cost - floor, LEAST_S / 16)) for n, cost in zip(sizes, costs)])


def fit_memory(sizes, costs, floor):
    return fit([(n, cost - OWN_BYTES) for n, cost in zip(sizes, costs) if cost > floor * VISIBLE])


def own_instructions(profile):
    """By function: the instructions in itself, from a profile that callgrind wrote without lines."""
    found, names, function, is_call = {}, {}, None, False
    with open(profile, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("fn="):
                number, _, name = line[3:].rstrip().partition(" ")
                function = names.setdefault(number, name)
            elif line.startswith("calls="):
                is_call = True
            elif line[0].isdigit() or line[0] in "+-*":
                if not is_call:  # the line behind a call has what was executed in it
                    found[function] = found.get(function, 0) + int(line.split()[1])
                is_call = False
            elif line.startswith("cfn="):
                number, _, name = line[4:].rstrip().partition(" ")
                if name:
                    names.setdefault(number, name)
    return found


def profile(lull, command, traces_read):
    """The instructions by function for each trace; they are read at the same time."""
    verb, *options = words(command)
    with tempfile.TemporaryDirectory(prefix="lull-growth-") as folder:
        outs = [os.path.join(folder, f"profile{i}") for i in range(len(traces_read))]
        children = [subprocess.Popen(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-line=no", "--compress-pos=no", lull, verb,
             trace, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, "XDG_CACHE_HOME": out + ".cache"}) for out, trace in zip(outs, traces_read)]
        for child in children:
            _, error = child.communicate()
            if child.returncode not in (0, 1):
                sys.exit(f"growth: {verb}: exit {child.returncode}\n{error.decode(errors='replace')[-2000:]}")
        return [own_instructions(out) for out in outs]


class Bench:
    def __init__(self, args, directory):
        self.lull, self.directory, self.is_short = os.path.abspath(args.lull), directory, args.short
        self.limit = SHORT_LIMIT if args.short else LIMIT
        self.results, self.failed, self.count = [], 0, 0

    def dimension(self, name):
        commands, smaller = DIMENSIONS[name]
        sizes = [max(int(n / smaller), 2) for n in (SHORT_SIZES if self.is_short else SIZES)]
        places = []
        with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as maker:
            for n in (1, *sizes):
                places.append(maker.apply(getattr(traces, name), (os.path.join(self.directory, f"{name}_{n}"), n)))
        for command in (c for c in commands if not (self.is_short and (name, c) in FULL_ONLY)):
            for attempt in range(ATTEMPTS):
                result = self.measure(name, command, sizes, places, 1 + attempt if self.is_short else 3)
                if result["ok"]:
                    break
            self.report(result)
        for n in (1, *sizes):
            shutil.rmtree(os.path.join(self.directory, f"{name}_{n}"))

    def functions(self, name):
        commands, size = FUNCTIONS[name]
        sizes = size, size * FUNCTION_STEP
        places = [getattr(traces, name)(os.path.join(self.directory, f"{name}_{n}"), n) for n in sizes]
        for command in commands:
            few, many = profile(self.lull, command, places)
            total = sum(many.values())
            grown = {function: math.log(count / few.get(function, 1)) / math.log(FUNCTION_STEP)
                     for function, count in many.items() if count > total * FUNCTION_SHARE}
            wrong = sorted((f for f in grown if grown[f] > FUNCTION_LIMIT), key=lambda f: -many[f])
            self.count += 1
            self.failed += bool(wrong)
            self.results.append({"dimension": name, "command": command, "sizes": sizes, "ok": not wrong,
                                 "instructions": [sum(few.values()), total], "exponents": grown})
            print(f"{'not ok' if wrong else 'ok'} {self.count} {name}: {command}: {sum(few.values()) / 1e6:.0f} and "
                  f"{total / 1e6:.0f} million instructions for {sizes[0]} and {sizes[1]}; no function's own grow with the square",
                  flush=True)
            for function in wrong:
                print(f"# {function}: n^{grown[function]:.2f}, {many[function] / total:.1%} of {total}")
        for place in places:
            shutil.rmtree(place)

    def measure(self, name, command, sizes, places, runs):
        floor, *costs = [least(self.lull, command, place, runs) for place in places]
        time_e = fit_time(sizes, [c[0] for c in costs], floor[0])
        memory_e = None if self.is_short else fit_memory(sizes, [c[1] for c in costs], floor[1])
        return {"dimension": name, "command": " ".join(words(command)), "sizes": sizes, "cpu_s": [c[0] for c in costs],
                "peak_bytes": [c[1] for c in costs], "cpu_exponent": time_e, "memory_exponent": memory_e,
                "ok": all(e is None or e <= self.limit for e in (time_e, memory_e))}

    def report(self, result):
        self.count += 1
        self.failed += not result["ok"]
        self.results.append(result)

        def shown(exponent):
            return "    -" if exponent is None else f"{exponent:5.2f}"
        text = (f"{result['dimension']}: {result['command']}: n^{shown(result['cpu_exponent']).strip()} of time, "
                f"n^{shown(result['memory_exponent']).strip()} of memory; {result['sizes'][-1]} take "
                f"{result['cpu_s'][-1]:.3f} s, {result['peak_bytes'][-1] / 2**20:.0f} MiB")
        print(f"{'ok' if result['ok'] else 'not ok'} {self.count} {text}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="How time and memory grow with what a trace holds.")
    parser.add_argument("--lull", default=os.environ.get("LULL", "build/lull"))
    parser.add_argument("--short", action="store_true", help="time only, two small sizes: for the tests")
    parser.add_argument("--functions", action="store_true", help="count the instructions of each function, with valgrind")
    parser.add_argument("--json", help="where to write the figures")
    parser.add_argument("dimensions", nargs="*", help="which (default: all)")
    args = parser.parse_args()
    dimensions = FUNCTIONS if args.functions else DIMENSIONS
    unknown = [name for name in args.dimensions if name not in dimensions]
    if unknown:
        sys.exit(f"growth: no such dimension: {', '.join(unknown)}; there are {', '.join(dimensions)}")
    if args.functions and not shutil.which("valgrind"):
        print("1..0 # SKIP valgrind is not installed")
        return 0
    # A program that grows out of its huge pages needs small ones, which cost some ten times as much: that would count as growth.
    ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="lull-growth-") as directory:
        bench = Bench(args, directory)
        for name in args.dimensions or dimensions:
            (bench.functions if args.functions else bench.dimension)(name)
    print(f"1..{bench.count}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "limit": bench.limit, "results": bench.results}, file, indent=2)
            file.write("\n")
    return bench.failed > 0


if __name__ == "__main__":
    raise SystemExit(main())

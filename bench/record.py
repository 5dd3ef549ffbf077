#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What recording costs the recorded: `make bench-record`, as root.
#
# Two programs (record_load.c) measure their own loops: one of system calls, one of switches between two processes. What is
# compared is their CPU time, in which the work of tracing is; time that passes is told too, but what else runs is in that. They run
# without tracing, under `lull record` with ftrace and with perf, of the whole machine and of the command alone (--only), and
# under `perf record` with the same events, of the whole machine (-a) and of the command. The runs alternate (A B C A B C …)
# after one round that does not count; printed are medians of the ratios to the untraced run of the same round. A tracer that
# loses events is faster for it, so all get the same large buffers, and losses are told. Prints a table and writes BUILD/bench-record.json.
import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

LOADS = {"calls": 200_000, "switches": 40_000}
UNTRACED = "no tracing"
PAIRS = [("lull ftrace", "perf record -a"), ("lull ftrace --only", "perf record"), ("lull perf", "perf record -a"),
         ("lull perf --only", "perf record")]


def parse_arguments():
    parser = argparse.ArgumentParser(description="Times programs under lull record and perf record.")
    parser.add_argument("--lull", default="build/lull")
    parser.add_argument("--load", default=None, help="the program bench/record_load (default: beside lull)")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--buffer", default="64M", help="of each CPU (default: 64M)")
    parser.add_argument("--for", dest="purpose", default="critpath", help="what lull records for (default: critpath)")
    parser.add_argument("--json", default=None, help="where to write the figures")
    return parser.parse_args()


class Failed(Exception):
    pass


def run(command, folder):
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, cwd=folder)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command[:6])} …: exit {done.returncode}: {done.stderr.strip()}")
    return [int(word) for word in done.stdout.split()]


def with_lull(args, tracer, *options):
    """Runs the load in a recording: its nanoseconds, how many events were recorded and lost, and their names."""
    def record(load, folder):
        out = os.path.join(folder, "recording")
        took_ns = run([args.lull, "record", "--tracer", tracer, "--for", args.purpose, "--buffer", args.buffer, "-o", out, *options,
                       "--", *load], folder)
        with open(os.path.join(out, "recording.json"), encoding="utf-8") as file:
            told = json.load(file)
        shutil.rmtree(out)
        return took_ns, told["recorded"].get("events", 0), told["recorded"]["lost_events"], told["events"]
    return record


def with_perf(args, events, *options):
    def record(load, folder):
        out = os.path.join(folder, "perf.data")
        took_ns = run(["perf", "record", "-q", "-o", out, "-c", "1", "-k", "CLOCK_MONOTONIC", "-m", args.buffer, *options,
                       *(word for event in events for word in ("-e", event)), "--", *load], folder)
        told = json.loads(subprocess.run([args.lull, "info", "--events", "--json", "--no-progress", out], capture_output=True,
                                         text=True, check=True).stdout)
        os.remove(out)
        return took_ns, sum(event["count"] for event in told["events"]), told["lost"]["events"], events
    return record


def untraced(load, folder):
    return run(load, folder), 0, 0, []


def make_modes(args, folder):
    """What can be used here; the events are those that lull's tracer perf says it recorded."""
    modes = {UNTRACED: untraced, "lull ftrace": with_lull(args, "ftrace"), "lull ftrace --only": with_lull(args, "ftrace", "--only"),
             "lull perf": with_lull(args, "perf"), "lull perf --only": with_lull(args, "perf", "--only")}
    events = []
    for name in list(modes):
        try:
            events = modes[name]([args.load, "calls", "1000"], folder)[3]
        except Failed as why:
            print(f"bench: without {name}: {why}")
            del modes[name]
    if shutil.which("perf") and events:
        modes["perf record -a"] = with_perf(args, events, "-a")
        modes["perf record"] = with_perf(args, events)
    return modes


def measure(modes, load, runs, folder):
    figures = {name: [] for name in modes}
    for number in range(runs + 1):
        for name, mode in modes.items():
            figure = mode(load, folder)
            if number > 0:
                figures[name].append(figure)
    return figures


def summarise(load, figures):
    def ratio(a, b, which):
        return statistics.median(x[0][which] / y[0][which] for x, y in zip(figures[a], figures[b]))

    results = []
    for name, own in figures.items():
        wall, cpu = ([figure[0][which] for figure in own] for which in range(2))
        results.append({"load": load, "name": name, "wall_ns": statistics.median(wall), "cpu_ns": statistics.median(cpu),
                        "cpu_min_ns": min(cpu), "cpu_max_ns": max(cpu), "slow_down": ratio(name, UNTRACED, 1),
                        "wall_slow_down": ratio(name, UNTRACED, 0),
                        "events": statistics.median(figure[1] for figure in own), "lost": max(figure[2] for figure in own)})
    ratios = [{"load": load, "name": a, "to": b, "ratio": ratio(a, b, 1), "wall_ratio": ratio(a, b, 0)} for a, b in PAIRS
              if a in figures and b in figures]
    return results, ratios


def print_table(load, count, results, ratios):
    print(f"{load}, {count}")
    for r in results:
        print(f"  {r['name']:20}{r['cpu_ns'] / count:9.0f} ns each {r['slow_down']:7.2f} times {r['wall_slow_down']:9.2f} in time passed"
              f" {r['events']:10.0f} events"
              + (f", {r['lost']} lost" if r["lost"] else ""))
    for r in ratios:
        print(f"  {r['name']} takes {r['ratio']:.2f} of the CPU time under {r['to']}, {r['wall_ratio']:.2f} of the time passed")


def main():
    args = parse_arguments()
    args.lull = os.path.abspath(args.lull)
    args.load = os.path.abspath(args.load or os.path.join(os.path.dirname(args.lull), "bench", "record_load"))
    print(f"bench: {args.runs} rounds after one to warm up, {os.cpu_count()} CPUs, Linux {platform.release()}, {platform.machine()}")
    report = {"version": 1, "runs": args.runs, "cpus": os.cpu_count(), "kernel": platform.release(), "results": [], "ratios": []}
    with tempfile.TemporaryDirectory(dir=os.path.dirname(args.lull)) as folder:
        modes = make_modes(args, folder)
        if len(modes) < 2:
            sys.exit("bench: nothing can be recorded here")
        for load, count in LOADS.items():
            results, ratios = summarise(load, measure(modes, [args.load, load, str(count)], args.runs, folder))
            print_table(load, count, results, ratios)
            report["results"] += results
            report["ratios"] += ratios
    target = args.json or os.path.join(os.path.dirname(args.lull), "bench-record.json")
    with open(target, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=2)
        file.write("\n")
    print(f"bench: wrote {target}")


if __name__ == "__main__":
    main()

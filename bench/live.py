#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What watching this machine costs what runs on it: `make bench-live`, as root.
#
# Two processes on one CPU pass a byte to and fro (record_load.c) and measure their own CPU time, in which the work of tracing
# is. They run with nothing, under `lull top` by each of its back-ends and `lull track`, under `perf record` of the two events that these need most, and
# under runqslower and offcputime of bcc, if they are installed and work here. The runs alternate (A B C A B C …) after one
# round that does not count. Of each the smallest counts: what else runs on the machine only ever adds. Then the share that lull
# top shows of itself is compared with what the bench says. Prints a table and writes BUILD/bench-live.json.
#
# With --kinds (`make bench-live BENCHFLAGS=--kinds`) it measures each kind of `lull track` instead: those of packets and
# connections where the byte goes by TCP over the loopback, `syscall` with system calls that do next to nothing, and all others
# where it goes by pipes; so for kinds of disks, work and the like it says what they cost programs that use none of these.
import argparse
import json
import os
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from run import verdict

COUNT = 20_000
REPEATS = 6  # of each run: what else runs comes and goes
NOTHING = "nothing"
# Kinds of lull track that are measured by another load than switches; PORT is the load's.
PACKETS = {"serve": "serve(PORT)", "ask": "ask(PORT)", "ttfb": "ttfb(PORT)", "connect": "connect(PORT)", "netrx": "netrx", "nettx": "nettx",
           "softirq": "softirq", "raise": "raise"}
# Of bcc's tools those that are compiled already (libbpf-tools), or else those that compile when they start (bpfcc-tools).
BCC = {"runqslower": [["runqslower", "1000000"], ["runqslower-bpfcc", "1000000"]],
       "offcputime": [["offcputime", "3600"], ["offcputime-bpfcc", "-f", "3600"]]}
# How much lull top may add: ns a switch, and shares of what these add; and how far it may be off when it says so itself.
MOST_NS, MOST_OF, MOST_OFF = 400, {"runqslower": 0.6, "offcputime": 0.15}, 0.25


def parse_arguments():
    parser = argparse.ArgumentParser(description="Times two programs that wake each other, under lull top and its like.")
    parser.add_argument("--lull", default="build/lull")
    parser.add_argument("--load", default=None, help="the program bench/record_load (default: beside lull)")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--kinds", action="store_true", help="measure each kind of lull track instead")
    parser.add_argument("--json", default=None, help="where to write the figures")
    return parser.parse_args()


def starts(command):
    """None, or why this tool does not run here."""
    if not shutil.which(command[0]):
        return f"{command[0]} is not installed"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as tool:
        time.sleep(8 if "bpfcc" in command[0] else 1)
        if tool.poll() is not None:
            said = tool.stderr.read().strip().splitlines() or ["it ended"]
            return f"{command[0]}: {said[0]}"
        tool.terminate()
        tool.communicate()
    return None


def bcc_tool(name):
    """The command, or None and why not, said."""
    why = []
    for command in BCC[name]:
        why.append(starts(command))
        if not why[-1]:
            return command
    print(f"bench: without {name}: {'; '.join(why)} (Debian: apt-get install libbpf-tools)")
    return None


def judge(judgements, line, value, most):
    print(f"  {line}: {value:.2f}, at most {most:g}: {verdict(judgements, line, value, most, True)}")


def make_modes(args, folder):
    modes = {NOTHING: None,
             "lull top": [args.lull, "top", "--json", "--max-overhead", "100%"],
             "top, ftrace": [args.lull, "top", "--json", "--max-overhead", "100%", "--backend", "ftrace"],
             # It gives system calls up after a second.
             "ftrace, no calls": [args.lull, "top", "--json", "--max-overhead", "0.0001%", "--backend", "ftrace"],
             "top, poll": [args.lull, "top", "--json", "--backend", "poll"],
             "lull track": [args.lull, "track", "--max-overhead", "100%", "offcpu > 1h"]}
    if shutil.which("perf"):
        modes["perf record"] = ["perf", "record", "-q", "-a", "-m", "64M", "-o", os.path.join(folder, "perf.data"), "-c", "1",
                                "-e", "sched:sched_switch", "-e", "sched:sched_waking"]
    for name in BCC:
        command = bcc_tool(name)
        if command:
            modes[name] = command
    return modes


def cpu_ns(load):
    """CPU time of the load itself, as it measured it."""
    done = [subprocess.run(load, capture_output=True, text=True, check=True, timeout=300) for _ in range(REPEATS)]
    return min(int(one.stdout.split()[1]) for one in done)


def run_under(command, load):
    """The same while a command watches, or None if that does not work here."""
    if not command:
        return cpu_ns(load)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as watcher:
        time.sleep(5 if "bpfcc" in command[0] else 1)  # it has started
        if watcher.poll() is not None:
            said = watcher.stderr.read().strip().splitlines() or ["it ended"]
            print(f"bench: without {os.path.basename(command[0])}: {said[-1]}")
            return None
        took = cpu_ns(load)
        watcher.send_signal(signal.SIGTERM)
        watcher.communicate()
    return took


def measure(modes, loads, runs):
    """ns of each mode by name, one for each run; `loads` has what is run under each."""
    figures = {name: [] for name in modes}
    for number in range(runs + 1):
        for name in list(figures):
            took = run_under(modes[name], loads[name])
            if took is None:
                del figures[name]
            elif number > 0:
                figures[name].append(took / COUNT)
    return figures


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def measure_kinds(args):
    """What each kind of lull track adds to its load: a list of objects for the JSON."""
    port = str(free_port())
    words = {"switches": ["switches", str(COUNT)], "packets": ["packets", str(COUNT), port], "calls": ["calls", str(COUNT)]}
    listed = json.loads(subprocess.run([args.lull, "track", "--list", "--json"], capture_output=True, check=True, timeout=60).stdout)
    modes, used = {f"{NOTHING}: {name}": None for name in words}, {f"{NOTHING}: {name}": name for name in words}
    for kind in (kind["kind"] for kind in listed["kinds"] if not kind["lacks"]):
        rule = PACKETS.get(kind, kind).replace("PORT", port)
        modes[kind] = [args.lull, "track", "--max-overhead", "100%", f"{rule} > 1h"]
        used[kind] = "packets" if kind in PACKETS else "calls" if kind == "syscall" else "switches"
    figures = measure(modes, {name: [args.load, *words[load]] for name, load in used.items()}, args.runs)
    rows = []
    for name, own in figures.items():
        added = min(own) - min(figures[f"{NOTHING}: {used[name]}"])
        rows.append({"name": name, "load": used[name], "ns": min(own), "median_ns": statistics.median(own), "added_ns": added})
        print(f"  {name:18} {min(own):7.0f} ns (median {statistics.median(own):.0f}), {added:+6.0f} ns for each of {used[name]}")
    return rows


def own_figure(args):
    """What lull top shows of itself while the load runs: ns for each switch of the machine, which are nearly all of the load."""
    with subprocess.Popen([args.load, "switches", str(200 * COUNT)], stdout=subprocess.DEVNULL) as load:
        time.sleep(0.2)
        done = subprocess.run([args.lull, "top", "--json", "--once", "--duration", "1s", "--max-overhead", "100%"], capture_output=True,
                              text=True, check=True, timeout=60)
        load.kill()
    line = json.loads(done.stdout)
    summary, seconds = line["summary"], (line["end_ns"] - line["begin_ns"]) / 1e9
    return summary["overhead"] * os.cpu_count() * 1e9 * seconds / summary["switches"]


def measure_top(args):
    """What lull top and its like add to a switch, and what it says of itself: an object for the JSON."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(args.lull)) as folder:
        modes = make_modes(args, folder)
        figures = measure(modes, dict.fromkeys(modes, [args.load, "switches", str(COUNT)]), args.runs)
    if "lull top" not in figures:
        sys.exit("bench: lull top does not work here")
    least = {name: min(own) for name, own in figures.items()}
    added = {name: ns - least[NOTHING] for name, ns in least.items()}
    for name, own in figures.items():
        print(f"  {name:16} {least[name]:7.0f} ns a switch (median {statistics.median(own):.0f}), {added[name]:+6.0f} ns")
    judgements = []
    judge(judgements, "ns that lull top adds to a switch", added["lull top"], MOST_NS)
    for name in set(MOST_OF) & set(added):
        judge(judgements, f"of what {name} adds", added["lull top"] / added[name], MOST_OF[name])
    own = statistics.median(own_figure(args) for _ in range(args.runs))
    judge(judgements, f"lull top says {own:.0f} ns of itself, off by", abs(own / added["lull top"] - 1), MOST_OFF)
    return {"ns_a_switch": least, "added_ns": added, "own_figure_ns": own, "judgements": judgements}


def main():
    args = parse_arguments()
    args.lull = os.path.abspath(args.lull)
    args.load = os.path.abspath(args.load or os.path.join(os.path.dirname(args.lull), "bench", "record_load"))
    print(f"bench: {args.runs} rounds after one to warm up, {os.cpu_count()} CPUs, Linux {platform.release()}, {platform.machine()}")
    figures = {"kinds": measure_kinds(args)} if args.kinds else measure_top(args)
    target = args.json or os.path.join(os.path.dirname(args.lull), "bench-live.json")
    with open(target, "w", encoding="utf-8") as file:
        json.dump({"version": 1, "runs": args.runs, "cpus": os.cpu_count(), "kernel": platform.release(), **figures}, file, indent=2)
        file.write("\n")
    print(f"bench: wrote {target}")


if __name__ == "__main__":
    main()

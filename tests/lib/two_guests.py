# SPDX-License-Identifier: MIT
"""What is true of a recording of a host and its guests "web" and "db", made by tests/vm/test_guests_vm.py: the programs in it say with their own
clocks what happened to them. In web one reads the clock in a loop, and tells each time that it jumped ("gap"); in db one uses CPU ("burn"), and so
does one on the host; then one in web reads from a disk ("read"). Both virtual CPUs and the program on the host share one CPU.
"""
import collections
import json
import os
import re
import shutil
import statistics
import subprocess

MS = 10**6
LULL = os.environ["LULL"]


def run(*arguments):
    done = subprocess.run([LULL, *arguments], capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        print("#", done.stderr.replace("\n", "\n# "))
    return done.stdout


class Stamps:
    """What the programs of a machine say, in the time that all recordings have in common."""

    def __init__(self, folder, name, added_ns):
        with open(os.path.join(folder, name, "recording.json"), encoding="utf-8") as file:
            offset = json.load(file)["clock"]["offset_ns"] + added_ns
        self.spans, self.tids = collections.defaultdict(list), {}
        with open(os.path.join(folder, name, "stamps"), encoding="ascii") as file:
            for what, start, end, *more in map(str.split, file):
                self.spans[what].append((int(start) + offset, int(end) + offset))
                if more:
                    self.tids[what] = int(more[1])


def parts_of(steps, start, end):
    """What a path did in that time: pairs of step and ns."""
    found = [(step, min(step["end_ns"], end) - max(step["begin_ns"], start)) for step in steps]
    return [(step, ns) for step, ns in found if ns > 0]


def check_sync(tap, folder):
    sync = json.loads(run("sync", "--json", folder))
    joined = {pair.get("guest"): (pair["contained"] > 1000, pair["not_contained"]) for pair in sync["pairs"]}
    tap.ok(joined == {"web": (True, 0), "db": (True, 0)}, "both guests are joined with their host: all of their events lie where they ran", sync)
    return {host["host"]: host["offset_ns"] for host in sync["hosts"]}


def preempted_by(parts, detail, comm):
    """Of steps by several, the detail says how long each had the CPU; all that was the other guest's counts."""
    return sum(ns for step, ns in parts if step["state"] == "preempted" and (step["by"] or {}).get("comm") == comm and detail in step["detail"])


def check_gaps(tap, folder, web, db, host, quiet):
    """The gaps that the program saw, while nothing changed about who wants the CPU. Some hold time in which the emulated machine itself had no
    CPU, of which nothing inside can know; `quiet` is the least share of those without."""
    path = json.loads(run("critpath", "--json", "--full", "--host", "web", "--tid", str(web.tids["gaps"]), folder))
    steps = path["segments"]
    for who, detail, (start, end) in (("burner", "db's burner/", db.spans["burn"][0]), ("hog", "hog/", host.spans["burn"][0])):
        gaps = [(a, b) for a, b in web.spans["gap"] if start <= a and b <= end and b - a >= 10 * MS]
        explained, by = [], []
        for a, b in gaps:
            parts = parts_of(steps, a, b)
            runs = sum(ns for step, ns in parts if step["state"] == "running" and step["host"] == "web")
            explained.append(1 - runs / (b - a))
            by.append(preempted_by(parts, detail, who) / (b - a))
        known = [share for share, all_of_it in zip(by, explained) if all_of_it >= 0.95]
        if not known and quiet < 0.5:
            tap.skip(f"gaps beside {who}", "the machine is too busy")
            continue
        tap.ok(len(gaps) >= 5 and len(known) >= quiet * len(gaps),
               f"gaps that a program in a guest saw: where it did not run is within 5 %, beside {who}", sorted(explained))
        tap.ok(known and statistics.median(known) >= (0.9 if quiet > 0.5 else 0.75), f"they are time of {detail}", sorted(by))


def had_cpu(report, tid):
    """How long a task had the CPU that the guests share, the last one, in ns, as trace-cmd reads it."""
    total, since = 0, {}
    last = max(re.findall(r"\[(\d+)\] +\d+\.", report))
    for cpu, seconds, ns, before, after in re.findall(r"\[(\d+)\] +(\d+)\.(\d+): sched_switch: .+:(\d+) \[.* ==> .+:(\d+) \[", report):
        now = int(seconds) * 10**9 + int(ns.ljust(9, "0"))
        if int(before) == tid and cpu in since:
            total += now - since.pop(cpu)
        if int(after) == tid and cpu == last:
            since[cpu] = now
    return total


def check_vms(tap, folder, web, db, host):
    window, = json.loads(run("vms", "--json", "--limit=0", folder))["windows"]
    tables = window["tables"]
    stolen = {(row["vm"], row["task"]["comm"], row["by"]["comm"], (row.get("by_task") or {}).get("comm")): row["time_ns"]
              for row in tables["stolen_from"]}
    vcpus = {(row["vm"], row["by"]["comm"], (row.get("by_task") or {}).get("comm")): row["time_ns"] for row in tables["stolen"]}
    start, end = db.spans["burn"][0]
    seen = sum(min(b, end) - max(a, start) for a, b in web.spans["gap"] if a < end and b > start)
    took = stolen["web", "clockloop", "CPU 0/KVM", "burner"]
    tap.ok(0.7 * seen <= took <= 1.02 * seen, "vms: what the program lost to the other guest's is what it saw", f"{took} {seen}")
    if not shutil.which("trace-cmd"):
        tap.skip("exits are those that trace-cmd reads", "no trace-cmd")
        return
    report = subprocess.run(["trace-cmd", "report", "-t", os.path.join(folder, "host", "trace.dat")], capture_output=True, text=True, check=False).stdout
    took, had = vcpus["web", "hog", None], had_cpu(report, host.tids["burn"])
    tap.ok(had > 100 * MS and abs(took - had) <= 0.03 * had, "what a program on the host took is the CPU time that it had", f"{took} {had}")
    names = {"EXIT_HLT": "HLT", "EXIT_MSR": "MSR", "EXIT_CPUID": "CPUID", "EXIT_IOIO": "I/O instruction", "EXIT_INTR": "external interrupt"}
    read = collections.Counter(re.findall(r"kvm_exit: +reason (\w+)", report))
    told = collections.Counter()
    for row in tables["exits"]:
        told[row["reason"]] += row["count"]
    wrong = {name: (read[name], told[ours]) for name, ours in names.items() if not read[name] - 3 <= told[ours] <= read[name]}
    tap.ok(not wrong and read["EXIT_HLT"] > 50, "exits are those that trace-cmd reads", wrong)  # the last of a virtual CPU leads to no entry


def requests_of(report, sectors):
    """When the host's disk read each block of the guest's, in ns, as trace-cmd reads it: by the block's first sector."""
    issued, done = {}, {}
    for seconds, ns, what, sector, length in re.findall(r"(\d+)\.(\d+): block_rq_(issue|complete): .*? (\d+) \+ (\d+) ", report):
        if int(length) == sectors:
            (issued if what == "issue" else done).setdefault(int(sector), int(seconds) * 10**9 + int(ns))
    return {sector: (issued[sector], end) for sector, end in done.items() if sector in issued}


def check_reads(tap, folder, web, quiet):
    """A program in the guest reads blocks of 8 sectors, 2048 apart; the host's disk takes 25 ms for each. If the emulated machine has no CPU for
    long, a block may be there before the program waits for it."""
    spans = web.spans["read"]
    path = json.loads(run("critpath", "--json", "--full", "--host", "web", "--tid", str(web.tids["reads"]), folder))
    steps = path["segments"]
    tap.ok(all(a["end_ns"] == b["begin_ns"] for a, b in zip(steps, steps[1:])), "the path of the program that reads has no hole")
    known = [sum(ns for step, ns in parts_of(steps, a, b) if step["host"] == "host" and step["cause"] == "disk") for a, b in spans]
    if not shutil.which("trace-cmd"):
        tap.skip("the host's disk explains them", "no trace-cmd")
        return
    report = subprocess.run(["trace-cmd", "report", "-t", os.path.join(folder, "host", "trace.dat")], capture_output=True, text=True, check=False).stdout
    requests = requests_of(report, 8)
    took = [requests[i * 2048][1] - requests[i * 2048][0] for i in range(len(spans))]
    near = [abs(a - b) <= 0.05 * b + MS for a, b in zip(known, took)]
    tap.ok(sum(near) >= quiet * len(took) and sum(known) >= quiet * sum(took), "what a guest reads is a wait for the host's disk, as long as trace-cmd says",
           list(zip(known, took)))
    # The host's thread that reads is one of the program that runs the guest, and the program's main thread raises the interrupt.
    waits = path["waits"]
    whose = collections.Counter()
    for step in steps:
        if step["host"] == "host" and step["cause"] == "disk":
            chain, at = [], step["wait"]
            while at is not None:
                chain.append((waits[at]["host"], waits[at]["comm"]))
                at = waits[at]["within"]
            whose[step["comm"], *chain] += 1
    tap.ok(set(whose) == {("worker", ("host", "qemu-system-x86"), ("web", "reader"))}, "the way there: its worker, its main thread, the guest", whose)


def check(tap, folder, quiet):
    added = check_sync(tap, folder)
    web, db, host = (Stamps(folder, name, added[name]) for name in ("web", "db", "host"))
    check_gaps(tap, folder, web, db, host, quiet)
    check_vms(tap, folder, web, db, host)
    check_reads(tap, folder, web, quiet)

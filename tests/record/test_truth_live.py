#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs of known structure are recorded now, with each tracer of this machine: each leg of their critical paths is found.
#
# Expected is what the programs' own stamps say (truth_stamps.py) of the legs that their sources have (truth_legs.py); a leg
# may be off by 3 ms or 15 %, whichever is larger. What else runs on the machine makes tasks wait for CPUs, and the stamps
# count that; only if it goes on for long is a wrong answer taken for the machine's doing, and the program skipped. Traced
# are these programs alone. LULL is the program, LULL_PROGRAMS the directory of the programs.
import json
import os
import subprocess
import sys
import tempfile

from paths import MS, describe, faults_of_form, faults_of_summary, length
from record import recorders
from record.truth_legs import PROGRAMS
from record.truth_stamps import Stamps, judge_leg
from tap import Tap

LULL = os.environ["LULL"]
FOLDER = os.environ["LULL_PROGRAMS"]
ATTEMPTS = 3
WITHOUT_CALLS = {"ftrace": ("chain", "tcp")}  # recorded for `wait`, too
tap = Tap()
checked = []  # how many legs, of each program


def critical_path(recording, stamps):
    arguments = [LULL, "critpath", "--json", "--no-progress", "--tid", str(stamps.begin.tid), "--begin",
                 str(stamps.begin.time_ns), "--end", str(stamps.end.time_ns), recording]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=250)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def judge(program, stamps, answer):
    """What is right and wrong with a path: (name, faults) of each check, and how many legs were long enough to tell."""
    segments, query = answer["segments"], answer["query"]
    asked_ns = stamps.end.time_ns - stamps.begin.time_ns
    exact = (query["begin_ns"], query["end_ns"]) == (stamps.begin.time_ns, stamps.end.time_ns)
    checks = [("answers the question asked", [] if exact else [query]),
              ("covers the asked time without hole or overlap", faults_of_form(answer)),
              ("the summary is that of the segments", faults_of_summary(answer))]
    unknown_ns = sum(length(s) for s in segments if s["cause"] == "unknown" and s["comm"] in stamps.comms)
    checks.append(("little is unknown", [] if unknown_ns <= max(3 * MS, 0.05 * asked_ns) else [f"{unknown_ns / MS:.3f} ms"]))
    telling = 0
    for leg in program.legs:
        wrong, tells = judge_leg(leg, program.comm, stamps, segments)
        telling += tells
        checks.append((f"{leg.comm} {leg.label}: {leg.what}", wrong))
    if program.rival:
        checks.append((f"says that {program.rival} ran instead", judge_rival(program, stamps, segments)))
    return checks, telling


def judge_rival(program, stamps, segments):
    """It is named where the task waited for a CPU, for the better part of what it ran meanwhile."""
    preempted = [s for s in segments if s["state"] == "preempted"]
    named_ns = sum(length(s) for s in preempted if program.rival in (s["detail"] or ""))
    ran_ns = stamps.cpu_ns(program.rival)
    return [] if named_ns > 0.5 * ran_ns else [f"named in {named_ns / MS:.3f} ms, ran for {ran_ns / MS:.3f}", describe(preempted)]


def is_busy(program, stamps):
    """Whether what else runs kept the program waiting for more than a quarter of its time."""
    own_ns = 2 * stamps.cpu_ns(program.rival) if program.rival else 0  # each was kept waiting by the other
    return stamps.delayed_ns() - own_ns > 0.25 * (stamps.end.time_ns - stamps.begin.time_ns)


def attempt(program, tracer, purpose):
    with tempfile.TemporaryDirectory(dir=os.environ.get("LULL_SCRATCH")) as folder:
        stamps_file = os.path.join(folder, "stamps")
        command = [os.path.join(FOLDER, program.command[0]), stamps_file, *program.command[1:]]
        recording, offset_ns = recorders.record(tracer, command, folder, "--only", "--for", purpose)
        stamps = Stamps(stamps_file, offset_ns)
        answer = critical_path(recording, stamps)
        checks, telling = judge(program, stamps, answer)
        return checks, telling, is_busy(program, stamps), describe(answer["segments"])


def run(name, program, tracer, purpose):
    for number in range(ATTEMPTS):
        checks, telling, busy, path = attempt(program, tracer, purpose)
        if not any(faults for _, faults in checks):
            break
        if number < ATTEMPTS - 1:
            print(f"# {name}: once more:", "; ".join(f"{what}: {faults[0]}" for what, faults in checks if faults))
    if busy and any(faults for _, faults in checks):
        tap.skip(name, f"the machine is too busy, {ATTEMPTS} times")
        return
    blind = recorders.blind_cpus() if tracer == "perf" and any(faults for _, faults in checks) else []
    if blind:
        faulty = "; ".join(f"{what}: {faults[0]}" for what, faults in checks if faults)
        tap.skip(name, f"{recorders.blind_reason()}: {faulty}")
        return
    for what, faults in checks:
        tap.ok(not faults, f"{name}: {what}", *faults, path)
    checked.append(telling)
    print(f"# {name}: {telling} of {len(program.legs)} legs were long enough to tell")


def run_all(tracer, wanted):
    with tempfile.TemporaryDirectory() as folder:
        why_not = recorders.why_not(tracer, folder)
    if why_not:
        tap.skip(tracer, why_not)
        return
    for name, program in PROGRAMS.items():
        if not wanted or name in wanted:
            tap.run(f"{tracer} {name}", run, f"{tracer} {name}", program, tracer, "critpath")
    for name in WITHOUT_CALLS.get(tracer, ()):
        if not wanted or name in wanted:
            tap.run(f"{tracer} {name} without calls", run, f"{tracer} {name} without calls", PROGRAMS[name], tracer, "wait")


for each in recorders.TRACERS:
    tap.run(each, run_all, each, sys.argv[1:])
print(f"# {sum(checked)} legs of {len(checked)} recordings were checked")
sys.exit(tap.done())

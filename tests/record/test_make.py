#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull record -- make -j2` of a small project, and what the analyses say of it against what the kernel accounted for the
# same processes: CPU time (rusage), bytes read and written (/proc/PID/io), switches (rusage), the compilers that make
# started. LULL is the program, LULL_SOURCE this source tree.
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from paths import MS, faults_of_form, faults_of_summary
from record import recorders
from tap import Tap

LULL = os.environ["LULL"]
PROJECT = os.path.join(os.environ["LULL_SOURCE"], "tests", "programs", "project")
COMPILERS = 9
ATTEMPTS = 3
tap = Tap()


def build(account):
    """Run under the recorder: builds, and writes what the kernel says of all that was started for it."""
    begin_ns = time.monotonic_ns()
    before = dict(line.split(": ") for line in open("/proc/self/io", encoding="ascii").read().splitlines())
    # The compiler that the project names, whatever this run's surroundings say.
    subprocess.run(["make", "-j2", "CC=cc"], check=True, stdout=subprocess.DEVNULL)
    after = dict(line.split(": ") for line in open("/proc/self/io", encoding="ascii").read().splitlines())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(account, "w", encoding="utf-8") as file:
        json.dump({"cpu_ns": int((used.ru_utime + used.ru_stime) * 1e9), "waits": used.ru_nvcsw,
                   "read": int(after["rchar"]) - int(before["rchar"]), "written": int(after["wchar"]) - int(before["wchar"]),
                   "begin_ns": begin_ns, "end_ns": time.monotonic_ns()}, file)


def ask(*arguments):
    done = subprocess.run([LULL, *arguments, "--json", "--no-progress"], capture_output=True, text=True, check=False, timeout=250)
    if done.returncode != 0:
        raise RuntimeError(f"lull {' '.join(arguments)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def table(recording, verb, name):
    (window,) = json.loads(ask(verb, recording, "--limit", "1000000"))["windows"]
    return window["tables"][name]


def family(recording, pid):
    """The tasks that descend from one, that one left out, and their starts and ends; from the plain events."""
    events = [json.loads(line) for line in
              ask("print", "--events", "sched_process_fork,sched_process_exec,sched_process_exit", recording).splitlines()]
    tids = {pid}
    for event in events:
        fields = event["fields"]
        if event["name"] == "sched_process_fork" and fields["parent_pid"] in tids:
            tids.add(fields["child_pid"])
    return tids - {pid}, events


def is_near(found, expected, share, least):
    return abs(found - expected) <= max(share * expected, least)


class Checks:
    """What came of one attempt: what else runs on the machine can spoil it."""

    def __init__(self):
        self.calls = []

    def ok(self, passed, *words):
        self.calls.append((tap.ok, passed, words))

    def skip(self, *words):
        self.calls.append((tap.skip, True, words))

    def failed(self):
        return [words[0] for _, passed, words in self.calls if not passed]

    def tell(self):
        for call, passed, words in self.calls:
            if call == tap.ok:
                call(passed, *words)
            else:
                call(*words)


def check_blindly(checks, name, what, is_same, counted, expected):
    """Who is woken on a CPU whose idle task the kernel hides from perf is not seen until it is heard of: there is less than there was."""
    if name == "perf" and counted < expected and not is_same and recorders.blind_cpus():
        checks.skip(f"{name}: {what}", recorders.blind_reason())
    else:
        checks.ok(is_same, f"{name}: {what}", counted, expected)


def check_sums(checks, name, recording, tids, account):
    rows = table(recording, "cputop", "per-process")
    cpu_ns = sum(row["cpu_ns"] for row in rows if row["process"]["tid"] in tids)
    check_blindly(checks, name, "cputop has the CPU time that the kernel accounted",
                  is_near(cpu_ns, account["cpu_ns"], 0.05, 20 * MS), cpu_ns, account["cpu_ns"])
    compilers = [row for row in rows if row["process"]["comm"] == "cc1" and row["process"]["tid"] in tids]
    checks.ok(len(compilers) == COMPILERS and all(row["cpu_ns"] > 0 for row in compilers), f"{name}: cputop has each compiler", compilers)
    for of in "read", "written":
        total = sum(row["total_bytes"] for row in table(recording, "iousagetop", "per-process-top")
                    if row["of"] == of and row["process"]["tid"] in tids)
        checks.ok(is_near(total, account[of], 0.02, 4096), f"{name}: iousagetop has the bytes {of} that the kernel accounted", total,
               account[of])
    # A task is woken when it is new, and after each time that it left the CPU by itself, but for the last. How many of the
    # last ones the kernel counts depends on who comes first, the task to its end or its parent to the account; and a task
    # that is woken on its way out of the CPU was never away.
    counted = sum(row["count"] for row in table(recording, "schedstats", "per_tid_stats") if row["wakee"]["tid"] in tids)
    check_blindly(checks, name, "schedstats has as many delays as there were wake-ups",
                  abs(counted - account["waits"]) <= len(tids) + 0.05 * account["waits"], counted, account["waits"])


def check_path(checks, name, recording, pid, events, account, offset_ns):
    answer = json.loads(ask("critpath", recording))
    query, segments = answer["query"], answer["segments"]
    begins = [e["time_ns"] for e in events if e["name"] == "sched_process_exec" and e["fields"]["pid"] == pid]
    ends = [e["time_ns"] for e in events if e["name"] == "sched_process_exit" and e["fields"]["pid"] == pid]
    checks.ok(len(begins) == 1 and len(ends) == 1 and query["begin_ns"] <= begins[0] and query["end_ns"] >= ends[0]
           and begins[0] < account["begin_ns"] + offset_ns and account["end_ns"] + offset_ns < ends[0],
           f"{name}: the path is that of the command, from its begin to its end", query, begins, ends, account)
    for faults, what in ((faults_of_form(answer), "covers the asked time without hole or overlap"),
                         (faults_of_summary(answer), "the summary is that of the segments")):
        checks.ok(not faults, f"{name}: {what}", *faults)
    comms = {s["comm"] for s in segments}
    checks.ok({"make", "cc1", "as", "ar", "ld"} <= comms, f"{name}: the path goes through the tools of the build", comms)
    # Most of a build is work of compilers, and who waits in it waits for them, or for a CPU.
    unknown_ns = sum(s["end_ns"] - s["begin_ns"] for s in segments if s["cause"] == "unknown")
    checks.ok(unknown_ns < 0.05 * (query["end_ns"] - query["begin_ns"]), f"{name}: little is unknown", unknown_ns)


def attempt(tracer):
    checks = Checks()
    with tempfile.TemporaryDirectory(dir=os.environ.get("LULL_SCRATCH")) as folder:
        project, account_file = os.path.join(folder, "project"), os.path.join(folder, "account")
        shutil.copytree(PROJECT, project)
        command = [sys.executable, os.path.abspath(__file__), "--build", account_file, project]
        recording, offset_ns = recorders.record(tracer, command, folder, "--only", "--for", "io")
        with open(os.path.join(project, "result.txt"), encoding="utf-8") as file:
            checks.ok(file.read() == "8 parts agree\n", f"{tracer}: the build was not disturbed")
        with open(account_file, encoding="utf-8") as file:
            account = json.load(file)
        with open(os.path.join(recording, "recording.json"), encoding="utf-8") as file:
            description = json.load(file)
        checks.ok(description["command"] == command and description["exit_status"] == 0, f"{tracer}: the recording says what ran",
                  description)
        tids, events = family(recording, description["pid"])
        check_sums(checks, tracer, recording, tids, account)
        check_path(checks, tracer, recording, description["pid"], events, account, offset_ns)
    return checks


def run(tracer):
    with tempfile.TemporaryDirectory(dir=os.environ.get("LULL_SCRATCH")) as folder:
        why_not = recorders.why_not(tracer, folder)
    if why_not or shutil.which("make") is None or shutil.which("cc") is None:
        tap.skip(tracer, why_not or "make and cc are needed")
        return
    for _ in range(ATTEMPTS - 1):
        checks = attempt(tracer)
        if not checks.failed():
            break
        print(f"# {tracer}: once more:", "; ".join(checks.failed()))
    else:
        checks = attempt(tracer)
    checks.tell()


if sys.argv[1:2] == ["--build"]:
    os.chdir(sys.argv[3])
    build(sys.argv[2])
    sys.exit(0)
for each in recorders.TRACERS:
    tap.run(each, run, each)
sys.exit(tap.done())

# SPDX-License-Identifier: MIT
# `lull record` of a program that a test starts, and of nothing else.
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile

LULL = os.environ["LULL"]
TRACERS = ("ftrace", "perf")


def record(tracer, command, folder, *options):
    """The recording, and what brings CLOCK_MONOTONIC to the Unix epoch in it."""
    out = os.path.join(folder, "recording")
    done = subprocess.run([LULL, "record", "--tracer", tracer, "--output", out, *options, "--", *command],
                          capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"lull record --tracer {tracer} {command}: exit {done.returncode}: {done.stderr}")
    with open(os.path.join(out, "recording.json"), encoding="utf-8") as file:
        description = json.load(file)
    if description["recorded"]["lost_events"]:
        raise RuntimeError(f"{description['recorded']} events were lost")
    return out, description["clock"]["offset_ns"]


def why_not(tracer, folder):
    """None if the tracer can be used here, else what it says."""
    done = subprocess.run([LULL, "record", "--tracer", tracer, "--only", "--output", os.path.join(folder, "try"), "--", "true"],
                          capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1) or "Sanitizer" in done.stderr:
        raise RuntimeError(f"lull record --tracer {tracer}: exit {done.returncode}: {done.stderr}")
    return None if done.returncode == 0 else done.stderr.strip().replace("\n", "; ")


def run_each(tap, run):
    """The test with each tracer that can be used here. The exit status."""
    for tracer in TRACERS:
        with tempfile.TemporaryDirectory() as folder:
            reason = why_not(tracer, folder)
        if reason:
            tap.skip(tracer, reason)
        else:
            tap.run(tracer, run, tracer)
    return tap.done()


def ask(*command):
    """What lull prints."""
    done = subprocess.run([LULL, *command], capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(f"lull {command}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def ask_json(*command):
    return json.loads(ask(*command))


def idle_switches(cpu):
    """How often perf saw the CPU become idle, and leave that."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        naps = f"for i in $(seq 30); do taskset -c {cpu} sleep 0.01; done"
        subprocess.run(["perf", "record", "-q", "-a", "-o", data, "-e", "sched:sched_switch", "--", "sh", "-c", naps],
                       capture_output=True, check=False, timeout=120)
        done = subprocess.run(["perf", "script", "-i", data, "-F", "cpu,event,trace"], capture_output=True, text=True,
                              check=False, timeout=120)
    found = re.findall(rf"\[0*{cpu}\].* prev_pid=(\d+) .* next_pid=(\d+) ", done.stdout)
    return sum(after == "0" for _, after in found), sum(before == "0" for before, _ in found)


@functools.lru_cache
def blind_cpus():
    """CPUs of whose idle task this kernel gives no perf event to anybody: perf itself sees them become idle, and never
    leave that. Interrupts that come meanwhile are lost to perf, and with them the ends of waits. Empty if perf is not
    installed, or if a CPU is too busy to tell."""
    blind = []
    for cpu in sorted(os.sched_getaffinity(0)) if shutil.which("perf") else []:
        into = out_of = 0
        for _ in range(5):
            more_into, more_out_of = idle_switches(cpu)
            into, out_of = into + more_into, out_of + more_out_of
            if into >= 2 or out_of:
                break
        blind += [cpu] if into >= 2 and not out_of else []
    return blind


def blind_reason():
    return f"this kernel gives perf no event of the idle task of CPU {blind_cpus()}, perf record neither"

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


@functools.lru_cache
def blind_cpus():
    """CPUs of whose idle task this kernel gives no perf event to anybody: perf itself sees them become idle, and never
    leave that. Interrupts that come meanwhile are lost to perf, and with them the ends of waits. Empty if perf is not
    installed."""
    if not shutil.which("perf"):
        return []
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        naps = [f"taskset -c {cpu} sh -c 'for i in $(seq 30); do sleep 0.01; done'" for cpu in os.sched_getaffinity(0)]
        subprocess.run(["perf", "record", "-q", "-a", "-o", data, "-e", "sched:sched_switch", "--", "sh", "-c", "; ".join(naps)],
                       capture_output=True, check=False, timeout=120)
        done = subprocess.run(["perf", "script", "-i", data, "-F", "cpu,event,trace"], capture_output=True, text=True,
                              check=False, timeout=120)
    into, out_of = {}, set()
    for line in done.stdout.splitlines():
        found = re.search(r"\[(\d+)\].* prev_pid=(\d+) .* next_pid=(\d+) ", line)
        if found:
            cpu, previous, following = map(int, found.groups())
            into[cpu] = into.get(cpu, 0) + (following == 0)
            out_of |= {cpu} if previous == 0 else set()
    return sorted(cpu for cpu, times in into.items() if times >= 3 and cpu not in out_of)

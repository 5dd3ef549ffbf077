# `lull record` of a program that a test starts, and of nothing else.
import json
import os
import subprocess

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

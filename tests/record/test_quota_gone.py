#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A CPU quota of a control group that is made and removed while a recording lasts, as of a container that ends: the recording knows it all
# the same. What it was is what the program wrote, and how often it was used up is what the kernel counted before the group was removed.
# Needs root. LULL is the program.
#
# With the argument FILE it is what is recorded.
import json
import os
import re
import subprocess
import sys
import tempfile
import time

GROUPS = "/sys/fs/cgroup"
QUOTA_US, PERIOD_US, BUSY_S = 20000, 100000, 1.5
# Between two looks of the recorder at a quota that it knows, and until it sees a new one.
LOOK_S, FIND_S = 0.2, 0.7


# ---- what is recorded ----

def group(name):
    root = next((path for path in (f"{GROUPS}/cpu", f"{GROUPS}/cpu,cpuacct") if os.path.isdir(path)), GROUPS)
    path = os.path.join(root, name)
    os.mkdir(path)
    settings = {"cpu.max": f"{QUOTA_US} {PERIOD_US}"} if root == GROUPS else {"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": QUOTA_US}
    for key, value in settings.items():
        with open(os.path.join(path, key), "w", encoding="ascii") as file:
            file.write(str(value))
    return path


def be_busy(path):
    with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    with open("/proc/self/comm", "w", encoding="ascii") as comm:
        comm.write("qg-busy")
    end = time.monotonic() + BUSY_S
    while time.monotonic() < end:
        pass
    os._exit(0)


def leave(report):
    path = group(f"lull-gone-{os.getpid()}")
    pid = os.fork()
    if pid == 0:
        be_busy(path)
    os.waitpid(pid, 0)
    with open(os.path.join(path, "cpu.stat"), encoding="ascii") as file:
        counted = {key: int(value) for key, value in (line.split() for line in file)}
    for _ in range(100):
        try:
            os.rmdir(path)
            break
        except OSError:
            time.sleep(0.01)
    with open(report, "w", encoding="ascii") as file:
        json.dump({"pid": pid, "group": os.path.basename(path), "is_gone": not os.path.isdir(path), "times": counted["nr_throttled"],
                   "ns": counted.get("throttled_time", 1000 * counted.get("throttled_usec", 0))}, file)
    time.sleep(2 * LOOK_S)


# ---- what is said of it ----

def ask(*command):
    return subprocess.run([LULL, *command], capture_output=True, text=True, encoding="utf-8", check=True, timeout=120).stdout


def run(tracer):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        out, _ = recorders.record(tracer, [sys.executable, __file__, report], folder)
        with open(report, encoding="ascii") as file:
            known = json.load(file)
        tap.ok(known["is_gone"] and known["ns"] > 0, f"{tracer}: a group was throttled and is gone", known)
        quotas = [quota for quota in json.loads(ask("info", "--json", out))["recordings"][0]["cpu_quotas"]
                  if quota["cgroup"].endswith("/" + known["group"])]
        tap.ok([(quota["quota_us"], quota["period_us"], quota["gone"]) for quota in quotas] == [(QUOTA_US, PERIOD_US, True)],
               f"{tracer}: info has its quota", quotas)
        missing = known["ns"] - quotas[0]["throttled_ns"] if quotas else None
        tap.ok(quotas and 0 <= missing <= (LOOK_S + FIND_S) * 1e9, f"{tracer}: and what was counted of it, up to the last look", missing, known)
        text = ask("critpath", "--tid", str(known["pid"]), out)
        tap.ok(re.search(rf"/{known['group']}, 20\.00 ms (each|per) 100\.0 ms", text), f"{tracer}: critpath names it", text[:2500])


def main():
    try:
        os.rmdir(group(f"lull-gone-{os.getpid()}"))
    except OSError as error:
        tap.skip("quotas", f"control groups cannot be made: {error.strerror}")
        return tap.done()
    with tempfile.TemporaryDirectory() as folder:
        why_not = recorders.why_not("ftrace", folder)
    if why_not:
        tap.skip("ftrace", why_not)
    else:
        tap.run("ftrace", run, "ftrace")
    return tap.done()


if len(sys.argv) == 2:
    leave(sys.argv[1])
else:
    from record import recorders
    from tap import Tap
    LULL, tap = os.environ["LULL"], Tap()
    sys.exit(main())

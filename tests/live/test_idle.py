#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Which waits `lull top` hides as those of idle tasks: what /proc says of the tasks is the truth.
import glob
import json
import subprocess
import sys
import threading

from live.tracked import LULL, why_no_ftrace, why_not
from tap import Tap

tap = Tap()
PF_KTHREAD = 0x00200000  # of the flags in /proc/PID/stat (proc(5))


def kernel_threads():
    found = set()
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:  # it has ended
            continue
        if int(text.rsplit(")", 1)[1].split()[6]) & PF_KTHREAD:
            found.add(int(text.split(" ", 1)[0]))
    return found


def top(*arguments):
    """With somebody who reads from the disk, so that threads of the kernel have work and wait for more."""
    over = threading.Event()

    def work():
        while not over.is_set():
            subprocess.run(["sync", "/"], check=False)
            over.wait(0.05)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        return subprocess.run([LULL, "top", "--once", "--duration", "1s", *arguments], capture_output=True, text=True, check=False, timeout=60,
                              stdin=subprocess.DEVNULL)
    finally:
        over.set()
        worker.join()


def test_threads_of_the_kernel(backend):
    before = kernel_threads()
    line = json.loads(top("--backend", backend, "--json").stdout)
    known = before & kernel_threads()
    rows = [row for row in line["rows"] if row["pid"] in known]
    tap.ok(len(rows) > 3 and len({row["pid"] for row in rows}) > 2, f"{backend}: threads of the kernel waited", line["rows"])
    wrong = [row for row in rows if row["is_idle"] != (row["state"] not in "RD") and row["end"] != "timer"]
    tap.ok(not wrong, f"{backend}: for work, unless they waited for a CPU or in state D", wrong)
    rows = [row for row in line["rows"] if row["pid"] not in before and row["is_idle"] and row["end"] != "timer"]
    tap.ok(not [row for row in rows if not row["comm"].startswith("kworker")], f"{backend}: no program is idle so", rows)
    out = top("--backend", backend, "--limit", "1000")
    shown = [text.split()[5] for text in out.stdout.splitlines() if text[:1] == " " and " (runnable) " not in text and len(text.split()) > 6]
    tap.ok(out.returncode == 0 and "rows of idle tasks not shown" in out.stdout and not any(name.startswith(("migration/", "ksoftirqd/")) for name in shown),
           f"{backend}: they are in no row of the table", out.stdout)


def main():
    backends = [backend for backend, why in (("bpf", why_not()), ("ftrace", why_no_ftrace())) if not why]
    if not backends:
        tap.skip("idle tasks", f"{why_not()}; {why_no_ftrace()}")
    for backend in backends:
        tap.run(backend, test_threads_of_the_kernel, backend)
    return tap.done()


sys.exit(main())

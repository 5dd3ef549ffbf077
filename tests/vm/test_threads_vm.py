#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Live tracking in an emulated machine with PREEMPT_RT, where all interrupts and softirqs are handled in threads: tests/live/test_threads.py, of which
# nothing is skipped there. It runs only when asked for with LULL_TEST_VM=1 (it downloads 66 MB, and emulates for minutes).
import os
import re
import shlex
import sys

import machine
from tap import Tap

tap = Tap()
TESTS = os.path.dirname(machine.HERE)
HANDED_ON = ("LULL", "LULL_PROGRAMS", "LULL_SOURCE", "LULL_BUILD", "LD_LIBRARY_PATH")


def main():
    why = machine.why_not([])
    if why:
        tap.skip("threads of interrupts", why)
        return tap.done()
    paths = {name: os.pathsep.join(map(os.path.abspath, os.environ[name].split(os.pathsep))) for name in HANDED_ON if name in os.environ}
    # What is looked for in that directory the host is asked for, by an interrupt.
    given = {**paths, "PYTHONPATH": TESTS, "LULL_SCRATCH": "/mnt/out", "TMPDIR": "/tmp/memory"}
    words = [f"{name}={shlex.quote(value)}" for name, value in given.items()]
    with machine.place_of("threads") as place:
        log, status = machine.Realtime(place).run(f"exec env {' '.join(words)} {shlex.quote(sys.executable)} {TESTS}/live/test_threads.py\n", more=["-smp", "2"])
    if tap.ok(status == 0, "it passes", log[-4000:]):
        for line in re.findall(r"^ok \d+ (.+)$", log, re.M):
            tap.ok("# SKIP" not in line, f"with PREEMPT_RT: {line}")
    return tap.done()


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull record --call-graph says so where programs keep no frame pointers: the same programs, compiled with and without, which sleep
# as often as they are written to.
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

LULL = os.environ["LULL"]
NAPS = 100
PROGRAM = """
#include <pthread.h>
#include <time.h>
__attribute__((noinline)) void inner(void) { struct timespec t = {0, 1000000}; nanosleep(&t, 0); __asm__ volatile(""); }
__attribute__((noinline)) void outer(void) { inner(); __asm__ volatile(""); }
static void *run(void *unused) { for (int i = 0; i < NAPS; i++) outer(); return 0; }
int main(void) { pthread_t t; if (!THREAD) run(0); else if (!pthread_create(&t, 0, run, 0)) pthread_join(t, 0); return 0; }
"""
NOTE = re.compile(r"lull: (\d+) % of the (\d+) call chains of programs lack their outer calls \(of (.*); they end in (.*)\): code without frame "
                  r"pointers; --call-graph=dwarf records what does without\n")
tap = Tap()


def notes(folder, name, *options, call_graph="--call-graph", thread=0):
    """What lull record says of a program that is compiled so; (share, chains, programs, files)."""
    path = os.path.join(folder, name)
    subprocess.run(["cc", "-O2", *options, f"-DNAPS={NAPS}", f"-DTHREAD={thread}", "-x", "c", "-o", path, "-"], input=PROGRAM, text=True, check=True)
    done = subprocess.run([LULL, "record", "--tracer", "perf", "--only", "--for", "sched", call_graph, "-o", path + ".rec", "--", path],
                          capture_output=True, text=True, check=False, timeout=100)
    return done, [(int(share), int(n), programs.split(", "), files.split(", ")) for share, n, programs, files in NOTE.findall(done.stderr)]


def check(folder):
    done, with_them = notes(folder, "kept", "-fno-omit-frame-pointer")
    if done.returncode and "perf" in done.stderr:
        tap.skip("frame pointers", done.stderr.strip())
        return
    tap.ok(done.returncode == 0 and not with_them, "with frame pointers: no note", done.stderr)
    done, with_them = notes(folder, "threads", "-fno-omit-frame-pointer", thread=1)
    tap.ok(done.returncode == 0 and not with_them, "in a thread with frame pointers: no note", done.stderr)
    done, without = notes(folder, "omitted", "-fomit-frame-pointer")
    tap.ok(done.returncode == 0 and len(without) == 1 and without[0][0] >= 90 and NAPS <= without[0][1] <= 2 * NAPS and "omitted" in without[0][2],
           "without: how many chains, of which program", done.stderr)
    done, unwound = notes(folder, "unwound", "-fomit-frame-pointer", call_graph="--call-graph=dwarf")
    tap.ok(done.returncode == 0 and not unwound, "without, with copies of the stack: no note", done.stderr)


with tempfile.TemporaryDirectory() as scratch:
    if shutil.which("cc"):
        tap.run("frame pointers", check, scratch)
    else:
        tap.skip("frame pointers", "there is no compiler")
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull record --heap: programs that count what they allocate, threads that get each other's addresses while that is recorded, threads that
# free when they are nearly gone, C++, and programs that do not notice.
import json
import os
import shutil
import subprocess
import sys
import tempfile

import recorders
from tap import Tap

LULL = os.environ["LULL"]
ALLOCATES = os.path.join(os.environ["LULL_PROGRAMS"], "allocates")
HOOK = os.path.join(os.environ["LULL_HOOKS"], "liblull-heap.so")
KEYS = ("allocations", "bytes", "live_blocks", "live_bytes")
CPP = r"""
#include <new>
#include <string>
struct alignas(64) Wide { char bytes[100]; };
static void *volatile kept[5];
static char byte() { return 'x'; }
__attribute__((noinline)) void make_wide() { kept[0] = new Wide; }
__attribute__((noinline)) void make_many() { kept[1] = new int[10]; }
__attribute__((noinline)) void make_quietly() { kept[2] = new (std::nothrow) int[7]; }
__attribute__((noinline)) void make_text() { kept[3] = new std::string(100, byte()); }
__attribute__((noinline)) bool fail() {
  volatile std::size_t n = (std::size_t)1 << 46;
  try { kept[4] = new char[n]; } catch (std::bad_alloc &) { return true; }
  return false;
}
int main() { make_wide(); make_many(); make_quietly(); make_text(); return fail() ? 0 : 9; }
"""
tap = Tap()


def rows(recording, table="paths"):
    done = subprocess.run([LULL, "heap", "--json", "--limit", "0", recording], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)["windows"][0]["tables"][table]


def record(tracer, scratch, *command):
    """Again, if another program filled the kernel's buffers meanwhile."""
    for attempt in range(3):
        try:
            return recorders.record(tracer, command, tempfile.mkdtemp(dir=scratch), "--only", "--heap")[0]
        except RuntimeError as error:
            if "events were lost" not in str(error) or attempt == 2:
                raise
    return None


def check_counted(tracer, scratch):
    said = subprocess.run([ALLOCATES], capture_output=True, text=True, timeout=60, check=True).stdout
    said = {name: [int(one) for one in sums] for name, *sums in map(str.split, said.splitlines())}
    said.pop("child_keeps")
    recording = record(tracer, scratch, ALLOCATES)
    found = rows(recording)
    shown = {row["path"]: [row[key] for key in KEYS] for row in found}
    # What glibc needs for a thread, it allocates when the thread is made, and keeps.
    thread = [now - one for now, one in zip(shown["take_over"], said.pop("take_over"))]
    tap.ok(all(shown.get(name) == sums for name, sums in said.items()), f"{tracer}: a program that counts for itself", shown, said)
    tap.ok(thread[0] == thread[2] <= 1 and thread[1] == thread[3] < 1000, f"{tracer}: what another thread freed", thread)
    tap.ok(shown["child_keeps"] == [1, 123, 1, 123], f"{tracer}: its child", shown)
    processes = rows(recording, "processes")
    shown_blocks = max(row["live_blocks"] for row in processes)  # the parent frees nothing after the fork
    tap.ok(len(processes) == 2 and all(row["unknown_frees"] == row["lost_frees"] == 0 for row in processes) and
           sorted(row["inherited_blocks"] for row in processes) == [0, shown_blocks], f"{tracer}: no free is unknown, also of the child", processes)
    tap.ok(sum(row["failed"] for row in processes) == 1, f"{tracer}: a realloc that failed", processes)
    calls = subprocess.run([LULL, "calls", "--json", "--limit", "0", recording], capture_output=True, text=True, timeout=60, check=True).stdout
    counted = {row["function"]: row["calls"] for row in json.loads(calls)["windows"][0]["tables"]["functions"]}
    tap.ok(counted["keep"] == counted["hand_on"] == 1, f"{tracer}: and the calls, as --functions has them", counted)


def check_race(tracer, scratch):
    n = 50000
    found, = rows(record(tracer, scratch, ALLOCATES, "race", str(n)), "processes")
    tap.ok(found["unknown_frees"] == found["lost_frees"] == 0 and found["allocations"] >= 4 * n + 4 and found["live_blocks"] <= 8,
           f"{tracer}: four threads whose reallocs give each other's addresses", found)


def check_threads(tracer, scratch):
    n = 30
    recording = record(tracer, scratch, ALLOCATES, "threads", str(n))
    found = {row["path"]: row for row in rows(recording)}
    row = found["ask_library"]
    tap.ok(row["allocations"] >= n and row["live_blocks"] == 0, f"{tracer}: what the C library frees when threads are gone", row)
    tap.ok(len(os.listdir(os.path.join(recording, "calls"))) <= 2 * n + 4, f"{tracer}: two streams of each thread at most")


def check_cpp(tracer, scratch):
    compiler = shutil.which("g++")
    if not compiler:
        tap.skip("C++", "there is no g++")
        return
    program = os.path.join(scratch, "makes")
    with open(program + ".cc", "w", encoding="utf-8") as file:
        file.write(CPP)
    subprocess.run([compiler, "-std=c++17", "-O1", "-o", program, program + ".cc"], check=True, timeout=120)
    recording = record(tracer, scratch, program)
    shown = {row["path"]: [row["allocations"], row["live_bytes"]] for row in rows(recording)}
    expected = {"make_wide": [1, 128], "make_many": [1, 40], "make_quietly": [1, 28]}
    text = [sums for name, sums in shown.items() if name.startswith("make_text") and sums[1] >= 32]
    tap.ok({name: shown.get(name) for name in expected} == expected and text, "C++: whoever calls new is who allocates", shown)
    failed, = (row["failed"] for row in rows(recording, "processes"))
    tap.ok(failed >= 1, "C++: an exception passes", failed)


def check_unseen():
    """Without a recording, a program runs as ever."""
    environment = {name: value for name, value in os.environ.items() if name != "LULL_CALLS"} | {"LD_PRELOAD": HOOK}
    done = subprocess.run([ALLOCATES], capture_output=True, text=True, timeout=60, check=False, env=environment)
    plain = subprocess.run([ALLOCATES], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 0 and done.stdout == plain.stdout and not done.stderr, "where nothing is recorded", done)
    done = subprocess.run([LULL, "record", "--heap"], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 2 and "--heap is about the command" in done.stderr, "--heap without a command", done.stderr)


def main():
    check_unseen()
    with tempfile.TemporaryDirectory() as scratch:
        why = {tracer: recorders.why_not(tracer, tempfile.mkdtemp(dir=scratch)) for tracer in recorders.TRACERS}
        usable = [tracer for tracer in why if why[tracer] is None]
        if not usable:
            tap.skip("recording", str(why))
            return
        for tracer in usable:
            tap.run(f"{tracer}: counted", check_counted, tracer, scratch)
        for check in check_race, check_threads, check_cpp:
            tap.run(check.__name__, check, usable[0], scratch)


main()
sys.exit(tap.done())

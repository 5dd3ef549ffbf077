#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What is written to standard error has nothing in it that a terminal would obey, whatever a trace, a file or a path is called. LULL is the
# program.
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "lib")]
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
# Clears the screen; of one byte, which is also no UTF-8; writes from right to left.
BAD = "\x1b[2J", "\x9b2J", "\u202e"


def said(*arguments):
    done = subprocess.run([os.environ["LULL"], *arguments], capture_output=True, check=False, timeout=100)
    return done.returncode, done.stderr.decode("utf-8", "replace")


def is_clean(text):
    return text and not any(ord(char) < 0x20 and char != "\n" or 0x7f <= ord(char) <= 0x9f or char == "\u202e" for char in text)


def write(folder, hostname, name):
    events = [{"t": 1000 + i, "n": "sched_switch", "pc": {"cpu_id": 0},
               "p": {"prev_comm": "a", "prev_tid": i, "prev_prio": 20, "prev_state": 0, "next_comm": "b", "next_tid": i + 1, "next_prio": 20}}
              for i in range(3)]
    jsonl_to_ctf.write_trace(events, os.path.join(folder, name), {"hostname": hostname, "domain": "kernel", "tracer_name": "lttng-modules"})


def main(folder):
    for number, bad in enumerate(BAD):
        place = os.path.join(folder, str(number))
        for name in "ab":  # of which a note says that they may be of two machines
            write(place, f"db{bad}", name)
        status, text = said("info", place)
        tap.ok(status == 0 and "for traces of one machine, “db\ufffd" in text and is_clean(text), f"the name of a host: {bad!r}", text)
        status, text = said("info", os.path.join(folder, f"no{bad}file"))
        tap.ok(status == 1 and "No such file" in text and is_clean(text), f"a path: {bad!r}", text)
        status, text = said("cputop", "--host", f"x{bad}", place)
        tap.ok(status in (1, 2) and "no host" in text.lower() and is_clean(text), f"a question: {bad!r}", text)
    status, text = said("print", "--filter", 'name == "é" && (', os.path.join(folder, "0"))
    lines = text.splitlines()
    tap.ok(status == 2 and lines[1] == '  name == "é" && (' and lines[2].strip() == "^", "lines stay lines, and letters letters", text)


with tempfile.TemporaryDirectory() as scratch:
    tap.run("messages", main, scratch)
sys.exit(tap.done())

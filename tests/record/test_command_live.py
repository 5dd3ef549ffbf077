#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Whose waits lull waits shows of a recorded command: its tasks', which write down who they are, and nobody else's, though others run. Needs root.
#
# With the argument FILE it is what is recorded: a process with a thread, a child with a child of its own that outlives it, and one in a session
# of its own.
import json
import os
import subprocess
import sys
import tempfile
import threading
import time


def nap(file):
    os.write(file, f"{threading.get_native_id()}\n".encode())
    for _ in range(3):
        time.sleep(0.02)


def child(file, *after):
    """A process that naps, then starts the next, and ends before that does."""
    pid = os.fork()
    if pid == 0:
        nap(file)
        if after:
            after[0]()
            child(file, *after[1:])
        os._exit(0)
    return pid


def leave(path):
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    thread = threading.Thread(target=nap, args=(file,))
    thread.start()
    os.waitpid(child(file, os.setsid, lambda: None), 0)
    nap(file)
    thread.join()
    time.sleep(0.4)  # longer than those of which nobody waits for the end


def ask(*options):
    window = recorders.ask_json("waits", "--json", "--limit", "0", *options)["windows"][0]
    return {row["task"]["tid"] for row in window["tables"]["waits-by-task"]}, window.get("notes", [])


def run(tracer):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        with subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.01)"]) as other:
            try:
                out, _ = recorders.record(tracer, [sys.executable, __file__, report], folder)
            finally:
                other.kill()
        with open(report, encoding="utf-8") as file:
            known = {int(line) for line in file}
        found, notes = ask(out)
        tap.ok(len(known) == 5 and found == known, f"{tracer}: the command's tasks, and no others", "wanted", known, "found", found)
        tap.ok(any("--all-tasks" in note for note in notes), f"{tracer}: says so", notes)
        found, notes = ask("--all-tasks", out)
        tap.ok(found >= known | {other.pid} and not any("--all-tasks" in note for note in notes), f"{tracer}: all tasks", found, notes)
        found, notes = ask("--tid", str(other.pid), out)
        tap.ok(found == {other.pid}, f"{tracer}: one that was asked for", found, notes)


if len(sys.argv) == 2:
    leave(sys.argv[1])
else:
    from record import recorders
    from tap import Tap
    tap = Tap()
    sys.exit(recorders.run_each(tap, run))

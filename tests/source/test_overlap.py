#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Recordings of one machine that overlap in time, as two snapshots of a flight recorder do: what both hold is read once. The recording
# is whole in one place, and in two parts of which the later begins before the earlier ends.
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from tap import Tap

LULL = os.environ["LULL"]
ONCE = "Lull reads what both hold only once"
SOONER, LATER = "23:35:32.1", "23:35:32.6"
tap = Tap()


def lull(*arguments):
    return subprocess.run([LULL, *arguments], capture_output=True, text=True, timeout=60, check=False)


def switches(*recordings):
    """All of them: when, on which CPU, from whom to whom. And what else was said."""
    done = lull("print", "--no-progress", "--events", "sched_switch", *recordings)
    return re.findall(r"^(?:\S+ )?(\d\d:\S+) (?:\S+ )?(cpu\d+) .*prev_pid = (\d+).*next_pid = (\d+)", done.stdout, re.M), done.stderr


def part(directory, whole, name, *limits):
    """A recording of a part of the time, which says of itself what the whole one does."""
    path = os.path.join(directory, name)
    os.mkdir(path)
    done = lull("export", "--ctf2", os.path.join(path, "kernel"), *limits, os.path.join(whole, "trace.dat"))
    if done.returncode:
        raise RuntimeError(done.stderr)
    shutil.copy(os.path.join(whole, "recording.json"), path)
    return path


def change(path, **members):
    file = os.path.join(path, "recording.json")
    with open(file, encoding="utf-8") as old:
        description = json.load(old)
    with open(file, "w", encoding="utf-8") as new:
        json.dump({**description, **members}, new)


def main(directory):
    with tarfile.open(os.path.join(os.environ["LULL_SOURCE"], "tests", "data", "cgroups.tar.xz")) as archive:
        archive.extractall(directory)
    whole = os.path.join(directory, "iomax")
    all_of_it, said = switches(whole)
    tap.ok(len(all_of_it) > 200 and ONCE not in said, "one recording", len(all_of_it), said)
    copy = shutil.copytree(whole, os.path.join(directory, "copy"))
    found, said = switches(whole, copy)
    tap.ok(found == all_of_it and said.count(ONCE) == 1, "the same twice is read once, and that is said once", len(found), said)
    early, late = part(directory, whole, "early", "--end", LATER), part(directory, whole, "late", "--begin", SOONER)
    n = [len(switches(path)[0]) for path in (early, late)]
    tap.ok(all(50 < some < len(all_of_it) for some in n) and sum(n) > len(all_of_it) + 20, "both parts have the middle", n)
    for order in (early, late), (late, early):
        found, said = switches(*order)
        tap.ok(found == all_of_it and ONCE in said, "what both have is read once, and nothing is missing", len(found), said)
    for what, member in (("of another boot", {"boot_id": "01234567-89ab-4cde-8f01-23456789abcd"}), ("of some tasks", {"filtered": True}),
                         ("of other events", {"events": ["sched:sched_switch"]})):
        other = shutil.copytree(late, os.path.join(directory, "other"))
        change(other, **member)
        found, said = switches(early, other)
        tap.ok(len(found) == sum(n) and ONCE not in said, f"{what}: all of both is read", len(found), said)
        shutil.rmtree(other)


with tempfile.TemporaryDirectory(prefix="lull-overlap-") as scratch:
    main(scratch)
sys.exit(tap.done())

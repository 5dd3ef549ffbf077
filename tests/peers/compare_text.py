#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares `lull print --format=babeltrace` with what babeltrace2 prints, byte for byte.

    compare_text.py [--lull PROGRAM] [--scripted MAKE_TRACES SCRIPTS] FOLDER...

FOLDER holds traces: each is compared by itself with the options as they are by default, the folder as a whole too,
and the first trace with all options that matter. One difference is allowed: babeltrace2 2.0.4 prints an empty string
as the text that a field of such an event had before. TAP; everything is skipped without babeltrace2.
"""

import argparse
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

COMBINATIONS = [
    ["--no-delta"], ["--clock-seconds"], ["--clock-date"], ["--clock-gmt"], ["--clock-date", "--clock-gmt"],
    ["--clock-cycles"], ["--clock-cycles", "--clock-seconds"], ["--clock-offset=3600"], ["--clock-offset=-86400",
    "--clock-offset-ns=-999999999", "--clock-seconds"], ["--names=all"], ["--names=none"], ["--names=scope"],
    ["--names=payload"], ["--names=context"], ["--names=header"], ["--names=args,ctx"], ["--names=all",
    "--clock-date", "--no-delta"], ["--fields=all"], ["--fields=trace"], ["--fields=trace:domain,trace:hostname"],
    ["--fields=loglevel,emf,callsite"], ["-f", "all", "--names=all"],
]
ZONES = ["UTC", "Europe/Helsinki", "Asia/Kathmandu", "America/New_York"]
QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')


def class_of(line):
    """The name of the event: what comes before ": ", or after "name = ". Of a million lines a regular expression would take a minute."""
    end, named = line.find(b": "), line.find(b" name = ")
    if end < 0 or 0 <= named < end:
        return line[named + len(b" name = "):line.find(b",", named)]
    return line[line.rfind(b" ", 0, end) + 1:end]


class Stale:
    """What the strings of each class of events have been, as babeltrace2 printed them. Lines are taken apart once a difference asks for them."""

    def __init__(self):
        self.texts, self.count, self.unread = {}, 0, []

    def explains(self, ours, theirs):
        """The lines differ only where ours has an empty string, and theirs one that was there before."""
        self.read()
        known = self.texts.get(class_of(ours), ())
        mine, other = QUOTED.findall(ours), QUOTED.findall(theirs)
        if QUOTED.sub(b'""', ours) != QUOTED.sub(b'""', theirs) or len(mine) != len(other):
            return False
        good = all(m == o or (m == b"" and o in known) for m, o in zip(mine, other))
        self.count += good
        return good

    def read(self):
        for line in self.unread:
            if b'"' in line:
                self.texts.setdefault(class_of(line), set()).update(QUOTED.findall(line))
        self.unread.clear()


def lines(command, zone):
    env = {**os.environ, "TZ": zone}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as child:
        yield from child.stdout
        child.stdout.close()
        child.wait()


def first_difference(lull, options, path, zone="UTC", limit=None, is_part=False):
    """(lines compared, those with stale strings, lines that tell of the first difference); with is_part babeltrace2 may
    have given up before the end."""
    stale, count = Stale(), 0
    ours = lines([lull, "print", "--format=babeltrace", *options, path], zone)
    theirs = lines(["babeltrace2", *options, path], zone)
    for mine, other in itertools.islice(itertools.zip_longest(ours, theirs, fillvalue=b""), limit):
        if is_part and other == b"":
            break
        count += 1
        if mine != other and not stale.explains(mine, other):
            return count, stale.count, [f"line {count}", f"lull:        {mine[:500]!r}", f"babeltrace2: {other[:500]!r}"]
        stale.unread.append(other)
    return count, stale.count, []


def compare(tap, lull, options, path, zone="UTC"):
    name = f"{os.path.basename(path)} {' '.join(options)} TZ={zone}"
    count, stale, difference = first_difference(lull, options, path, zone)
    if difference:
        tap.ok(False, name, *difference)
    else:
        tap.ok(count > 0, f"{name} ({count} lines, {stale} with a stale string)", "no line was printed")


def traces_in(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder)
                  if os.path.isdir(os.path.join(folder, name)))


def compare_folder(tap, lull, folder):
    traces = traces_in(folder)
    for trace in traces:
        compare(tap, lull, [], trace)
    if len(traces) > 1:
        compare(tap, lull, ["--fields=trace,trace:hostname", "--clock-seconds"], folder)


def compare_scripted(tap, lull, make_traces, scripts):
    """Scripted machines: big-endian, other contexts, lost events, several channels."""
    for script in sorted(os.listdir(scripts)):
        with tempfile.TemporaryDirectory() as work:
            out = os.path.join(work, script.removesuffix(".scn"))
            os.mkdir(out)
            subprocess.run([make_traces, os.path.join(scripts, script), out], check=True)
            compare(tap, lull, ["--fields=all"], out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lull", default="build/lull")
    parser.add_argument("--scripted", nargs=2, metavar=("MAKE_TRACES", "SCRIPTS"))
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args()
    tap = Tap()
    if not shutil.which("babeltrace2"):
        tap.skip("babeltrace2's text", "babeltrace2 is not installed")
        return tap.done()
    for folder in args.folders:
        compare_folder(tap, args.lull, folder)
    first = traces_in(args.folders[-1])[0]
    for options, zone in zip(COMBINATIONS, itertools.cycle(ZONES)):
        compare(tap, args.lull, options, first, zone)
    if args.scripted:
        compare_scripted(tap, args.lull, *args.scripted)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())

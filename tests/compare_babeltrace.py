#!/usr/bin/env python3
"""Compares every event of traces, with all fields, with what babeltrace2 prints.

Usage: compare_babeltrace.py DUMP_EVENTS [TRACE...]   (default: traces below $LULL_TRACES or /tmp/tr)
Exit status 0: same, 1: different, 77: babeltrace2 or the traces are not here.

Known differences that are allowed: babeltrace2 2.0 prints the value of an earlier event for an empty
string, so where we print "" it may print any string; and events of equal time may come in another
order.
"""
import os
import re
import shutil
import subprocess
import sys


def lines_of(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    yield from process.stdout
    if process.wait() != 0:
        raise SystemExit("%s: exit status %d" % (command, process.returncode))


def same(ours, theirs):
    if ours == theirs:
        return True
    if b'= ""' not in ours:
        return False
    pattern = re.escape(ours).replace(re.escape(b'= ""'), rb'= "(?:[^"\\]|\\.)*"')
    return re.fullmatch(pattern, theirs) is not None


def by_time(lines):
    """Groups of lines of equal time."""
    time, group = None, []
    for line in lines:
        stamp = line.split(b"]", 1)[0]
        if stamp != time and group:
            yield group
            group = []
        time = stamp
        group.append(line)
    if group:
        yield group


def same_group(ours, theirs):
    if len(ours) != len(theirs):
        return False
    rest = list(theirs)
    for line in ours:
        match = next((other for other in rest if same(line, other)), None)
        if match is None:
            return False
        rest.remove(match)
    return True


def compare(dump, trace):
    ours = by_time(lines_of([dump, trace]))
    theirs = by_time(lines_of(["babeltrace2", "--clock-seconds", "--no-delta", trace]))
    n = 0
    while True:
        a, b = next(ours, None), next(theirs, None)
        if a is None and b is None:
            print("ok: %s: %d events" % (trace, n))
            return True
        if a is None or b is None or not same_group(a, b):
            print("different: %s after %d events\n ours:   %s\n theirs: %s" % (trace, n, a, b))
            return False
        n += len(a)


def find_traces(root):
    for directory, _, files in os.walk(root):
        # the large one takes minutes
        if "metadata" in files and "/big/" not in directory + "/":
            yield directory


def main():
    dump, traces = sys.argv[1], sys.argv[2:]
    root = os.environ.get("LULL_TRACES", "/tmp/tr")
    traces = traces or sorted(find_traces(root))
    if not traces or shutil.which("babeltrace2") is None:
        print("no traces or no babeltrace2: skipped")
        return 77
    return 0 if all([compare(dump, trace) for trace in traces]) else 1


if __name__ == "__main__":
    sys.exit(main())

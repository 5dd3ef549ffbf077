#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the conformance traces of other projects with lull and babeltrace2, and reports a table.

    conformance.py [--lull PROGRAM] [--limit N] [FOLDER...]

FOLDER (or LULL_CONFORMANCE) holds traces at any depth: `tests/data/ctf-traces` of efficios/babeltrace, `ctf/src/main/resources` of
eclipse-tracecompass/tracecompass-test-traces. None of them is part of this project. What babeltrace2 reads, lull
must read to the same events, times and values, and print to the same text; what it refuses, lull must refuse with a message, or REASONS
must say why lull is right. A trace of CTF 2 (babeltrace2 2.0 has none) is compared with babeltrace2's reading of the
trace that it was converted from, if that is in one of the folders too.
Exit status: 0 all as it should be, 1 something is not, 77 (skipped) without babeltrace2 or a folder.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import compare_babeltrace as peer
import compare_text

# Where lull and babeltrace2 2.0 do not agree and lull is right: end of the trace's path, and why.
REASONS = {
    "intersection/3eventsintersectreverse": "the packets' UUID is not that of the metadata, so they belong to another "
                                            "trace (CTF 1.8.3, 5.1)",
    "intersection/onestream": "the same",
    "CTF2-7.0-debug-info": "its stream file is not quite the original's: it says libhello_so where that says libhello-so",
    "succeed/meta-ctx-sequence": "its one stream file is empty; babeltrace2 2.0.4 aborts on its metadata",
}

# What babeltrace2 2.0 refuses and lull need not: part of its message, and why.
PEER_REASONS = {
    "timestamp is less than muxer's": "packets of one stream overlap in time; babeltrace2 gives up, lull gives an event the "
                                      "time of the one before at least",
}


def run(*command):
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                          check=False, timeout=600)
    return done.returncode, done.stderr


def peer_message(text):
    """The last cause that babeltrace2 gives: the root of its chain."""
    causes = re.split(r"^(?:CAUSED BY|ERROR).*$", text, flags=re.M)
    return " ".join(causes[-1].split())[:200] or "no message"


def own_message(text):
    lines = [line for line in text.splitlines() if line.startswith("lull") and "the traces have gaps" not in line]
    return lines[0].split(": ", 1)[1] if lines else ""


def is_ctf2(path):
    with open(os.path.join(path, "metadata"), "rb") as file:
        return file.read(1) in (b"\x1e", b"[")


def traces_in(folder):
    return sorted(root for root, _, files in os.walk(folder) if "metadata" in files)


def original_of(path, folders):
    match = re.search(r"CTF2-[\d.]+-([^/]+)$", path)
    for folder in folders if match else []:
        found = os.path.join(folder, "succeed", match.group(1))
        if os.path.isdir(found):
            return found
    return None


class Row:
    def __init__(self, path, name):
        self.path, self.name = path, name
        self.events, self.verdict, self.is_right, self.details = 0, "", False, []


def counts_nanoseconds(lull, path):
    out = subprocess.run([lull, "info", "--json", path], capture_output=True, check=False).stdout
    return all(trace["clock"]["frequency_hz"] == 10**9 for trace in json.loads(out)["traces"])


def compare_texts(row, lull, limit, is_part=False):
    """What `--format=babeltrace` prints; with is_part only what babeltrace2 printed before it gave up."""
    for options in ([], ["--names=all", "--fields=all", "--clock-cycles"]):
        _, _, difference = compare_text.first_difference(lull, options, row.path, limit=limit or None, is_part=is_part)
        if difference:
            row.details.append("\n".join([" ".join(["text", *options]), *difference]))
            row.is_right, row.verdict = False, f"{row.verdict}; the text differs"


def compare_readable(row, lull, reference, limit):
    compare = peer.compare if counts_nanoseconds(lull, row.path) else peer.compare_rounded
    try:
        row.events, stale, row.details = compare(lull, row.path, limit, reference)
    except ValueError as error:
        row.details = [str(error)]
    row.is_right = not row.details
    row.verdict = "same" if row.is_right else f"{len(row.details)} differ"
    if row.is_right and stale:
        row.verdict += f" ({stale} stale texts of babeltrace2)"
    if reference == row.path:
        compare_texts(row, lull, limit)


def examine(row, lull, folders, limit):
    reference = row.path
    if is_ctf2(row.path):
        reference = original_of(row.path, folders)
    own_status, own_text = run(lull, "print", row.path)
    message = own_message(own_text)
    if reference is None:
        row.is_right = own_status == 0
        row.verdict = "read; babeltrace2 has no CTF 2" if row.is_right else f"refused: {message}"
        return
    peer_status, peer_text = run("babeltrace2", reference)
    if peer_status == 0 and own_status == 0:
        compare_readable(row, lull, reference, limit)
    elif peer_status == 0:
        row.verdict = f"only babeltrace2 reads it: {message}"
    elif own_status == 0:
        row.verdict = f"only lull reads it; babeltrace2: {peer_message(peer_text)}"
        compare_texts(row, lull, limit, is_part=True)
    else:
        row.is_right = bool(message)
        row.verdict = f"both find it damaged: {message or 'without a message'}"
        compare_texts(row, lull, limit, is_part=True)


def main():
    parser = argparse.ArgumentParser(description="Conformance of lull with babeltrace2, as a table.")
    parser.add_argument("--lull", default="build/lull")
    parser.add_argument("--limit", type=int, default=20000, help="events compared per trace (0: all)")
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args()
    given = args.folders or os.environ.get("LULL_CONFORMANCE", "").split(":")
    folders = [folder for folder in given if os.path.isdir(folder)]
    if not folders or not shutil.which("babeltrace2"):
        print("skipped: " + ("babeltrace2 is not installed" if folders else "no folder of traces is given"))
        return 77
    wrong = total = 0
    print(f"{'events':>8}  {'right':>5}  trace: verdict")
    for folder in folders:
        for path in traces_in(folder):
            row = Row(path, os.path.relpath(path, folder))
            examine(row, args.lull, folders, args.limit)
            reason = next((why for end, why in REASONS.items() if row.name.endswith(end)), None)
            reason = reason or next((why for part, why in PEER_REASONS.items() if part in row.verdict), None)
            if not row.is_right and reason:
                row.is_right, row.verdict = True, f"{row.verdict}; lull is right: {reason}"
            print(f"{row.events:>8}  {'yes' if row.is_right else 'NO':>5}  {row.name}: {row.verdict}", flush=True)
            for detail in [] if reason else row.details[:2]:
                print("    " + detail.replace("\n", "\n    "))
            total += 1
            wrong += not row.is_right
    print(f"{total} traces, {wrong} not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads the test traces of other projects with lull and the projects' own programs, and prints a table of what differs and why.

    conformance.py [--lull PROGRAM] [--limit N] [--all] [FOLDER...]

FOLDER (or LULL_CONFORMANCE) is a checkout, or a part of one: efficios/babeltrace, efficios/ctf-testsuite, eepp/yactfr (its tests are
written down as text, and made with its normand.py), efficios/barectf, Crablicious/actf, eclipse-tracecompass/tracecompass-test-traces,
google/perf_data_converter (quipper), KDAB/hotspot, ARM-software/trappy, ARM-software/lisa. None of them is part of this project.

What babeltrace2 reads of CTF, lull must read to the same events, times and values, and print to the same text; what it refuses, lull
must refuse with a message. Where a project says itself what a reader has to make of its trace, that counts, and babeltrace2 does not.
Else REASONS must say why lull is right. A trace of CTF 2 (babeltrace2 2.0 has none) is compared with babeltrace2's reading of the
trace that it was converted from, if that is in one of the folders too. Of perf.data and trace.dat, lull must read as many events of
each name as `perf script` and `trace-cmd report`.
Exit status: 0 all as it should be, 1 something is not, 77 (skipped) without babeltrace2 or a folder.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import compare_babeltrace as peer
import compare_text
import corpora

# Where lull and a peer do not agree and lull is right: end of the trace's path, or part of the verdict, and why.
REASONS = {
    "CTF2-7.0-debug-info": "its stream file is not quite the original's: it says libhello_so where that says libhello-so",
    "succeed/meta-ctx-sequence": "its one stream file is empty; babeltrace2 2.0.4 aborts on its metadata",
    "timestamp is less than muxer's": "packets of one stream overlap in time; babeltrace2 gives up, lull gives an event the "
                                      "time of the one before at least",
    "a packet of another stream lies between": "in a directory each data stream is a file of its own (yactfr reads a lone file)",
    "is of a stream that the metadata does not declare": "yactfr lets metadata have no stream class",
    "the metadata ends without a data stream class": "yactfr lets metadata have no stream class",
    "ctf-2/pass-rel-data-loc-5.streams": "its path goes through fields that do not exist, and back",
    "ctf-2/pass-dt-aliases.streams": "yactfr does not look at the packet's magic number",
    "it is in an array, sequence or variant that does not hold the referring field": "a length that is one of several options of a variant "
                                                                                     "is CTF 2's; babeltrace2 refuses it, too",
    "keyword 'int': a name after the type": "a keyword is no name (CTF 1.8.3, C.1); babeltrace2 refuses it, too",
    "ctf-1/pass-clk-type-full": "0b101 is no number of CTF 1.8; babeltrace2 refuses it, too",
    "string-literal-escape": "the name of its host has a line break, which the comparison does not understand",
    "at most 64 are understood": "integers of more than 64 bits are understood by neither",
    "tests-metadata-stream/pass-": "only its packets are meant: the text in them is no metadata",
    "no property 'preferred-display-base' here": "a row of bits has no base (CTF2-SPEC-2.0, 5.3.5)",
    "ctfs/fxd_len_int_print": "two members of one structure have one name, which CTF2-SPEC-2.0 forbids (5.3.18)",
    "but its selector is a boolean": "a boolean selects by itself (CTF2-SPEC-2.0, 5.3.20)",
    "bad JSON at byte": "it is not JSON: a comma before a closing bracket",
    "perf.data.intel_pt-4.14": "perf turns what the processor traced by itself (AUX) into events",
}
# What yactfr refuses and lull, unlike babeltrace2, reads: odd, but there is one meaning only.
LENIENT = ("fail-clk-type-wrong-descr-attr-2", "fail-clk-type-wrong-offset-attr-1", "fail-ert-", "fail-trace-type-missing-m",
           "fail-trace-type-wrong-minor-attr", "fail-trace-type-ph-type-inval-magic-member-", "fail-var-type-inval-sel-loc-11",
           "fail-var-type-named-rel-sel-loc", "fail-fl-uint-type-mappings-prop-ranges-neg",
           "fail-vl-uint-type-mappings-prop-ranges-neg", "fail-syntax-dt-alias-block-reserved-name-")
# What it reads, but neither lull nor babeltrace2 does, because CTF 1.8.3 does not have it.
BEYOND = ("pass-dl-array-type-len-loc-multi-", "pass-dl-str-type-len-loc-multi-", "pass-dt-aliases-", "pass-type-defs-everywhere",
          "pass-fl-enum-type-ranges-s64-bin", "pass-fl-enum-type-ranges-u64-bin", "pass-syntax-extra-semicolons",
          "pass-syntax-literal-escape-chars")
SECONDS = 120


def run(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                              check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return 124, f"it takes more than {SECONDS} s"
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
        start = file.read(36)
    return start[:1] in (b"\x1e", b"[") or (start[:4] in (b"\x57\x1d\xd1\x75", b"\x75\xd1\x1d\x57") and start[35:] == b"\2")


def original_of(path, folders):
    match = re.search(r"CTF2-[\d.]+-([^/]+)$", path)
    for folder in folders if match else []:
        found = os.path.join(folder, "succeed", match.group(1))
        if os.path.isdir(found):
            return found
    return None


class Row:
    def __init__(self, case):
        self.case, self.path, self.name = case, case.path, case.name
        self.events, self.verdict, self.is_right, self.details = 0, "", False, []

    def decide(self, is_right, verdict):
        self.is_right, self.verdict = is_right, verdict


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


def number_of_events(lull, path):
    out = subprocess.run([lull, "print", "--json", path], capture_output=True, check=False, timeout=SECONDS).stdout
    return out.count(b"\n")


def examine_alone(row, lull, is_read, message):
    """By what the trace's own project says of it, or that it is read."""
    wanted = row.case.wanted is not False
    row.decide(is_read == wanted, ("read" if is_read else f"refused: {message}"))
    if is_read and not wanted and row.case.kind == "ctf" and not is_ctf2(row.path) and run("babeltrace2", row.path)[0] == 0:
        row.decide(True, "read; lull is right: babeltrace2 reads it, too, and the project is stricter than the rest")
    elif is_read and not wanted and os.path.basename(row.name).startswith(LENIENT):
        row.decide(True, "read; lull is right: it is odd, but there is one meaning only")
    if is_read and row.case.events is not None:
        row.events = number_of_events(lull, row.path)
        if row.events != row.case.events:
            row.decide(False, f"{row.events} events instead of {row.case.events}")


def examine_ctf(row, lull, folders, limit):
    reference, wanted = row.path, row.case.wanted
    if is_ctf2(row.path):
        reference = original_of(row.path, folders)
    own_status, own_text = run(lull, "print", row.path)
    own_text = own_text.replace("lull: no event was found\n", "")  # which is no complaint
    message = own_message(own_text)
    # A UUID that is another trace's is reported, but babeltrace2 reads on without a word.
    complaints = [line for line in own_text.splitlines() if line.startswith("lull")]
    only_uuids = bool(complaints) and all(line.endswith("Lull reads it anyway") for line in complaints)
    is_read = own_status == 0 or only_uuids
    if reference is None or (row.case.corpus == "yactfr" and wanted is False):
        examine_alone(row, lull, is_read, message)
        return
    peer_status, peer_text = run("babeltrace2", reference)
    if peer_status == 0 and is_read and only_uuids:
        row.decide(True, "same, and the UUID is reported")
        compare_texts(row, lull, limit)
    elif peer_status == 0 and is_read:
        compare_readable(row, lull, reference, limit)
    elif peer_status == 0:
        row.decide(wanted is False, f"only babeltrace2 reads it: {message}")
    elif is_read:
        row.decide(wanted is True, f"only lull reads it; babeltrace2: {peer_message(peer_text)}")
        if wanted is None:
            compare_texts(row, lull, limit, is_part=True)
    else:
        row.decide(bool(message) and wanted is not True, f"both find it damaged: {message or 'without a message'}")
        if wanted is None:
            compare_texts(row, lull, limit, is_part=True)
    if not row.is_right and row.verdict.startswith("both") and os.path.basename(row.name).startswith(BEYOND):
        row.decide(True, f"{row.verdict}; lull is right: CTF 1.8.3 does not have it")
    if row.is_right and wanted is not None and is_read != wanted:
        row.verdict += f" (its project wants it {'read' if wanted else 'refused'})"


# --- perf.data and trace.dat ------------------------------------------------------------------------------------

def own_names(lull, path):
    done = subprocess.run([lull, "print", "--json", path], capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS)
    names = (json.loads(line)["name"] for line in done.stdout.splitlines())
    return Counter(name for name in names if not name.startswith("perf:")), own_message(done.stderr) or (done.stderr if done.returncode else "")


def perf_names(path):
    done = subprocess.run(["perf", "script", "-G", "-F", "event", "-i", path], capture_output=True, text=True, errors="replace",
                          check=False, timeout=SECONDS)
    names = (line.strip().rstrip(":").split(":") for line in done.stdout.splitlines() if line.rstrip().endswith(":"))
    return Counter(":".join(name[1:] if name[0] in perf_systems else name) for name in names), done.returncode


def trace_cmd_names(path):
    done = subprocess.run(["trace-cmd", "report", "-i", path], capture_output=True, text=True, errors="replace", check=False,
                          timeout=SECONDS)
    return Counter(re.findall(r"^.{16,}?\[\d+\].*? \d+\.\d+: +([\w.-]+):", done.stdout, flags=re.M)), done.returncode


def examine_names(row, lull, names):
    ours, message = own_names(lull, row.path)
    theirs, status = names(row.path)
    row.events = sum(ours.values())
    more = {name: f"{ours[name]} instead of {theirs[name]}" for name in sorted({*ours, *theirs}) if ours[name] != theirs[name]}
    if not more:
        row.decide(True, f"same{'; ' + message if message else ''}")
    elif not theirs and (status or row.events):
        row.decide(bool(row.events), f"only lull reads it{'; ' + message if message else ''}")
    else:
        row.decide(False, f"{len(more)} names differ{'; ' + message if message else ''}")
        row.details = [f"{name}: {text}" for name, text in list(more.items())[:4]]


# Tracepoints that perf calls SYSTEM:NAME; other names have modifiers behind a colon.
perf_systems = {"sched", "syscalls", "raw_syscalls", "irq", "block", "power", "net", "skb", "timer", "workqueue", "kmem", "signal", "task",
                "exceptions", "cgroup", "probe", "sdt_libc"}
PEERS = {"perf": ("perf", perf_names), "trace.dat": ("trace-cmd", trace_cmd_names)}


# --- the table ----------------------------------------------------------------------------------------------------

def examine(row, args, folders):
    if row.case.kind == "ctf":
        examine_ctf(row, args.lull, folders, args.limit)
    elif shutil.which(PEERS[row.case.kind][0]):
        examine_names(row, args.lull, PEERS[row.case.kind][1])
    else:
        examine_alone(row, args.lull, run(args.lull, "print", row.path)[0] == 0, "")
    reason = next((why for words, why in REASONS.items() if row.name.endswith(words) or words in row.verdict), None)
    if not row.is_right and reason and (row.case.wanted is not False or row.case.kind != "ctf"):
        row.decide(True, f"{row.verdict}; lull is right: {reason}")
        row.details = []


def show(row, is_all):
    if is_all or not row.is_right or not re.match("same|read|both|refused", row.verdict):
        print(f"{row.events:>8}  {'yes' if row.is_right else 'NO':>5}  {row.case.corpus}/{row.name}: {row.verdict}", flush=True)
        for detail in row.details[:4]:
            print("    " + detail.replace("\n", "\n    "))


def main():
    parser = argparse.ArgumentParser(description="Conformance of lull with other readers, as a table.")
    parser.add_argument("--lull", default="build/lull")
    parser.add_argument("--limit", type=int, default=20000, help="events compared per trace (0: all)")
    parser.add_argument("--all", action="store_true", help="also what does not differ")
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args()
    given = args.folders or os.environ.get("LULL_CONFORMANCE", "").split(":")
    folders = [folder for folder in given if os.path.isdir(folder)]
    if not folders or not shutil.which("babeltrace2"):
        print("skipped: " + ("babeltrace2 is not installed" if folders else "no folder of traces is given"))
        return 77
    sums = {}
    print(f"{'events':>8}  {'right':>5}  trace: verdict")
    with tempfile.TemporaryDirectory(prefix="lull-conformance-") as scratch:
        for folder in folders:
            for case in corpora.cases_in(folder, scratch):
                row = Row(case)
                try:
                    examine(row, args, folders)
                except subprocess.TimeoutExpired as error:
                    row.decide(False, f"{error.cmd[0]} takes more than {SECONDS} s")
                show(row, args.all)
                sums.setdefault((case.corpus, case.kind), Counter())["explained" if "lull is right" in row.verdict else
                                                                     "right" if row.is_right else "wrong"] += 1
    print(f"\n{'corpus':28} {'kind':10} {'traces':>7} {'right':>7} {'explained':>10} {'wrong':>7}")
    for (corpus, kind), counts in sorted(sums.items()):
        print(f"{corpus:28} {kind:10} {sum(counts.values()):>7} {counts['right']:>7} {counts['explained']:>10} {counts['wrong']:>7}")
    wrong = sum(counts["wrong"] for counts in sums.values())
    print(f"{sum(sum(counts.values()) for counts in sums.values())} traces, {wrong} not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares `lull print --json` with babeltrace2, event by event.

    compare_babeltrace.py [--lull PROGRAM] [--limit N] [--scripted MAKE_TRACES SCRIPTS] TRACE...

Time, name, CPU and every value of contexts and payload must agree; events of the same time may come in
any order. babeltrace2 2.0.4 prints an empty string as the text that the same field had in an earlier event; such
events are counted as "stale" and do not differ. Prints a table with a line per trace and the first differences.
Exit status: 0 all agree, 1 something differs, 77 (skipped) without babeltrace2 or without a trace.
"""

import argparse
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

SHOWN = 5  # differences shown per trace


# ---- babeltrace2's text -------------------------------------------------------------------------------

TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([{}\[\](),:|=])|([^\s{}\[\](),:|="]+))', re.S)
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", re.S)
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "0": "\0"}


def unescape(match):
    code = match.group(1)
    if code[0] == "x":
        return chr(int(code[1:], 16))
    return LETTERS.get(code, code)


class Text(str):
    """A quoted text, to tell it from a word."""


def tokens(line, at):
    out = []
    while True:
        match = TOKEN.match(line, at)
        if not match:
            if line[at:].strip():
                raise ValueError(f"cannot read babeltrace2's text at: {line[at:at + 60]!r}")
            return out
        text, sign, word = match.groups()
        out.append(("text", Text(ESCAPE.sub(unescape, text))) if text is not None else (sign or "word", word))
        at = match.end()


class Enum:
    def __init__(self, labels, number):
        self.labels, self.number = labels, number


class Parser:
    """Values as [(name, value), …] for structures and variants, [value, …] for arrays."""

    def __init__(self, pieces):
        self.pieces, self.at = pieces, 0

    def peek(self):
        return self.pieces[self.at][0] if self.at < len(self.pieces) else None

    def take(self, kind=None):
        found, value = self.pieces[self.at]
        if kind and found != kind:
            raise ValueError(f"babeltrace2's text: {found} where {kind} should be")
        self.at += 1
        return value

    def value(self):
        kind = self.peek()
        if kind == "{":
            return self.members()
        if kind == "[":
            return self.array()
        if kind == "(":
            return self.enumeration()
        return self.take()

    def members(self):
        self.take("{")
        out = []
        while self.peek() != "}":
            name = None
            if self.peek() == "word" and self.pieces[self.at + 1][0] == "=":
                name = self.take()
                self.take("=")
            out.append((name, self.value()))
            if self.peek() == ",":
                self.take()
        self.take("}")
        return out

    def array(self):
        self.take("[")
        out = []
        while self.peek() != "]":
            if self.peek() == "[" and self.pieces[self.at + 1][0] == "word" and self.pieces[self.at + 3][0] == "=":
                self.at += 4  # "[0] ="
            out.append(self.value())
            if self.peek() == ",":
                self.take()
        self.take("]")
        return ("array", out)

    def enumeration(self):
        self.take("(")
        labels = []
        while self.peek() != ":":
            kind, value = self.pieces[self.at]
            self.at += 1
            if kind == "text":
                labels.append(value)
        self.take(":")
        self.take("word")  # container
        self.take("=")
        number = self.take()
        self.take(")")
        return Enum(labels, number)


LINE = re.compile(r"(?:\[(?:(-?)(\d+)\.(\d{9})|[^\]]*)\] )?(.*)$")


def babeltrace_events(path):
    """Time (None without a clock), name with what stands before it, CPU, and fields of each event."""
    command = ["babeltrace2", "--clock-seconds", "--no-delta", "--names=scope,payload,context", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          encoding="utf-8", errors="surrogateescape") as child:
        for line in child.stdout:
            # the name ends where the first scope begins
            scope = re.search(r": (stream\.packet\.context|stream\.event\.context|event\.context|event\.fields) = \{", line)
            head = line[:scope.start()] if scope else line.rstrip().rstrip(":")
            sign, seconds, ns, rest = LINE.match(head).groups()
            time = int(sign + "1") * (int(seconds) * 10**9 + int(ns)) if ns else None
            groups = {}
            if scope:
                parser = Parser([("{", None)] + tokens(line, scope.start() + 2) + [("}", None)])
                groups = dict(parser.members())
            cpu = dict(groups.pop("stream.packet.context", [])).get("cpu_id")
            yield time, rest, int(cpu, 0) if cpu is not None else None, sum(groups.values(), [])
        child.stdout.close()
        child.wait()
        if child.returncode:
            raise ValueError(f"babeltrace2 failed with status {child.returncode}")


# ---- lull's JSON --------------------------------------------------------------------------------------

class Pairs(list):
    """An object of JSON with its order and repeated names."""


def lull_events(lull, path):
    with subprocess.Popen([lull, "print", "--json", path], stdout=subprocess.PIPE, text=True,
                          encoding="utf-8", errors="surrogateescape") as child:
        for line in child.stdout:
            event = dict(json.loads(line, object_pairs_hook=Pairs))
            yield event["time_ns"], event["name"], event["cpu"], event["context"] + event["fields"]
        child.stdout.close()
        child.wait()
        if child.returncode:
            raise ValueError(f"lull print ends with status {child.returncode}")


# ---- comparing ----------------------------------------------------------------------------------------

def same_number(word, number):
    if isinstance(word, Text) or isinstance(number, (str, list)) or number is None:
        return number is None and word.lower().lstrip("-") in ("inf", "nan")
    if isinstance(number, float) or not re.fullmatch(r"-?(0x[0-9a-fA-F]+|0b[01]+|\d+)", word):
        return math.isclose(float(word), number, rel_tol=1e-5)
    if re.match(r"-?0[xb]", word):
        value = int(word, 0)
    elif re.match(r"-?0\d", word):
        value = int(word, 8)
    else:
        return int(word) == number
    # in these bases babeltrace2 prints a negative number as its bits
    return any(value == number % (1 << bits) for bits in (64, 32, 16, 8)) or value == number


def bare(label):
    return label[1:] if label.startswith("_") else label


def same_enum(enum, value):
    parts = dict(value) if isinstance(value, Pairs) else {}
    if "value" not in parts or not same_number(enum.number, parts["value"]):
        return False
    label = parts.get("label")
    return bare(label) in map(bare, enum.labels) if label is not None else not enum.labels


def same_text(text, value):
    if not isinstance(value, str):
        return False
    plain = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    other = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return plain == other or plain.encode("ascii", "replace") == other.encode("ascii", "replace")


def same(ours, theirs):
    """ours: lull's value; theirs: babeltrace2's."""
    if isinstance(theirs, Enum):
        return same_enum(theirs, ours)
    if isinstance(theirs, Text):
        return same_text(theirs, ours)
    if isinstance(theirs, tuple):
        return (isinstance(ours, list) and not isinstance(ours, Pairs) and len(ours) == len(theirs[1])
                and all(map(same, ours, theirs[1])))
    if isinstance(theirs, list):
        return (isinstance(ours, Pairs) and len(ours) == len(theirs)
                # an option of a variant has no name in babeltrace2's text
                and all((t[0] is None or o[0] == t[0]) and same(o[1], t[1]) for o, t in zip(ours, theirs)))
    return same_number(theirs, ours)


def same_event(ours, theirs):
    time, heading, cpu, fields = theirs
    # the name of the host and others may stand before that of the event
    return ((time is None or ours[0] == time) and (" " + heading).endswith(" " + ours[1]) and ours[2] == cpu
            and same(Pairs(ours[3]), fields))


class Stale:
    """Texts that each field had so far, to know babeltrace2's empty strings by."""

    def __init__(self):
        self.texts, self.count = {}, 0

    def remember(self, event):
        for field, value in event[3]:
            if isinstance(value, Text):
                self.texts.setdefault((event[1], field), set()).add(value)

    def explains(self, ours, theirs):
        if len(ours[3]) != len(theirs[3]):
            return False
        mended = [(field, Text("") if mine == "" and value in self.texts.get((theirs[1], field), ()) else value)
                  for (field, value), (_, mine) in zip(theirs[3], ours[3])]
        explained = same_event(ours, (*theirs[:3], mended))
        self.count += explained
        return explained


def moments(events):
    """Events of the same time; without a clock each for itself, in order."""
    for time, group in itertools.groupby(events, key=lambda event: event[0] or None):
        if time is None:
            yield from ([event] for event in group)
        else:
            yield list(group)


def describe(event):
    if event is None:
        return "nothing"
    return f"{event[0]} {event[1]} cpu {event[2]} {show(event[3])}"[:600]


def show(value):
    if isinstance(value, Enum):
        return f"({'|'.join(value.labels)}={value.number})"
    if isinstance(value, tuple):
        return "[" + " ".join(map(show, value[1])) + "]"
    if isinstance(value, Pairs) or (isinstance(value, list) and value and isinstance(value[0], tuple)):
        return "{" + " ".join(f"{name}={show(inner)}" for name, inner in value) + "}"
    if isinstance(value, list):
        return "[" + " ".join(map(show, value)) + "]"
    return str(value)


def compare_rounded(lull, path, limit, reference=None, slack=2):
    """The same for clocks that do not count nanoseconds: babeltrace2 computes with doubles, lull exactly. Times may
    differ by `slack`, and the order of what is as close."""
    ours = list(itertools.islice(lull_events(lull, path), limit and 2 * limit or None))
    count, differences = 0, []
    for theirs in babeltrace_events(reference or path):
        for i, mine in enumerate(ours):
            if theirs[0] is not None and mine[0] > theirs[0] + slack:
                i = len(ours)
                break
            if abs(mine[0] - (theirs[0] or 0)) <= slack and same_event(mine, (mine[0], *theirs[1:])):
                break
        else:
            i = len(ours)
        if i < len(ours):
            del ours[i]
        else:
            differences.append(f"lull:       nothing\n  babeltrace2: {describe(theirs)}")
        count += 1
        if (limit and count >= limit) or len(differences) >= 20:
            return count, 0, differences
    return count, 0, differences + [f"lull:       {describe(mine)}\n  babeltrace2: nothing" for mine in ours]


def compare(lull, path, limit, reference=None):
    """(events compared, those with stale texts, list of differences); babeltrace2 reads `reference`, or the same"""
    count, differences, stale = 0, [], Stale()
    for ours, theirs in itertools.zip_longest(moments(lull_events(lull, path)),
                                              moments(babeltrace_events(reference or path)), fillvalue=[]):
        left = list(ours)
        for event in theirs:
            match = next((o for o in left if same_event(o, event)), None)
            if match is None:
                match = next((o for o in left if stale.explains(o, event)), None)
            stale.remember(event)
            if match is not None:
                left.remove(match)
                continue
            closest = next((o for o in left if event[1].endswith(o[1])), left[0] if left else None)
            if closest is not None:
                left.remove(closest)
            differences.append(f"lull:       {describe(closest)}\n  babeltrace2: {describe(event)}")
        differences += [f"lull:       {describe(event)}\n  babeltrace2: nothing" for event in left]
        count += len(theirs)
        if (limit and count >= limit) or len(differences) >= 20:
            break
    return count, stale.count, differences


def trace_dirs(path):
    return sorted(root for root, _, files in os.walk(path) if "metadata" in files)


def script_traces(make_traces, scripts, directory):
    for name in sorted(os.listdir(scripts)):
        if name.endswith(".scn"):
            out = os.path.join(directory, name[:-4])
            subprocess.run([make_traces, os.path.join(scripts, name), out], check=True)
            yield out


def main():
    parser = argparse.ArgumentParser(description="Compares lull print with babeltrace2.")
    parser.add_argument("--lull", default="build/lull")
    parser.add_argument("--limit", type=int, default=0, help="events per trace")
    parser.add_argument("--scripted", nargs=2, metavar=("MAKE_TRACES", "SCRIPTS"))
    parser.add_argument("traces", nargs="*")
    args = parser.parse_args()
    if not shutil.which("babeltrace2"):
        print("skipped: babeltrace2 is not installed")
        return 77
    failed, compared = False, 0
    with tempfile.TemporaryDirectory() as scratch:
        given = list(args.traces) + (list(script_traces(*args.scripted, scratch)) if args.scripted else [])
        print(f"{'events':>10}  {'stale':>6}  {'different':>9}  trace")
        for path in (p for trace in given for p in trace_dirs(trace)):
            try:
                count, stale, differences = compare(args.lull, path, args.limit)
            except ValueError as error:
                count, stale, differences = 0, 0, [str(error)]
            print(f"{count:>10}  {stale:>6}  {len(differences):>9}  {path}")
            for difference in differences[:SHOWN]:
                print("  " + difference)
            failed |= bool(differences)
            compared += 1
    if not compared:
        print("skipped: no traces")
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

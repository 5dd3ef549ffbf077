#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The forms for programs hold the same: --csv and --tsv, read with Python's csv module, against --json; --json-times=iso against
# nanoseconds. Samples are in LULL_SAMPLES.
import csv
import datetime
import io
import json
import os
import subprocess
import sys

from tap import Tap

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
tap = Tap()
chain, db = os.path.join(samples, "truth", "truth-chain"), os.path.join(samples, "django", "db")
READ = ("read : $evt.$name == \"syscall_entry_read\" : $evt.$name == \"syscall_exit_read\" && $evt.$tid == $begin.$evt.$tid")


def run(*arguments):
    return subprocess.run([lull, *arguments], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})


def flat(row):
    """A row of JSON as fields of text; those of a cell with parts by name."""
    found = {}
    for key, value in row.items():
        if isinstance(value, dict):
            found.update(flat({f"{key}.{part}": one for part, one in value.items()}))
        elif isinstance(value, bool):
            found[key] = str(value).lower()
        elif value is not None:
            found[key] = value
    return found


def rows_of_json(document):
    for window in document["windows"]:
        for name, rows in window["tables"].items():
            for row in rows:
                more = {key: window[key] for key in ("period", "captures") if window["period"]}
                head = {"analysis": window.get("analysis", document.get("analysis")), "table": name,
                        "begin_ns": window["begin_ns"], "end_ns": window["end_ns"], **more}
                yield flat({**head, **row})


def unescaped(text):
    return text.replace("\\\\", "\0").replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r").replace("\0", "\\")


def rows_of_text(text, is_tsv):
    heads, rows = None, []
    for line in csv.reader(io.StringIO(text), delimiter="\t" if is_tsv else ",", quoting=csv.QUOTE_NONE if is_tsv else csv.QUOTE_MINIMAL):
        if not line or line[:2] == ["analysis", "table"]:
            heads = line or heads
            continue
        if len(line) != len(heads):
            raise AssertionError((heads, line))
        rows.append({key: unescaped(value) if is_tsv else value for key, value in zip(heads, line) if value != ""})
    return rows


def same(mine, other):
    def key(row):
        return sorted((name, str(value)) for name, value in row.items())

    def text(value):
        return json.dumps(value) if isinstance(value, float) else str(value)

    def close(a, b):
        return a == text(b) or (isinstance(b, (int, float)) and not isinstance(b, bool) and float(a) == float(b))

    if len(mine) != len(other):
        return False
    left = sorted(mine, key=lambda row: key({name: row[name] for name in ("table", "begin_ns")}))
    right = sorted(other, key=lambda row: key({name: row[name] for name in ("table", "begin_ns")}))
    return all(a.keys() == {name for name, value in b.items() if value != ""} and all(close(a[name], b[name]) for name in a)
               for a, b in zip(left, right))


def forms_are_the_same():
    for arguments in (("cputop", chain), ("waits", "--asleep", chain), ("schedlog", db), ("irqstats", db), ("iolatencyfreq", db), ("iolog", chain),
                      ("iousagetop", db), ("syscallstats", chain), ("memtop", chain), ("cputop", "--refresh", "100ms", chain), ("futex", chain),
                      ("periodlog", "--period", READ, chain), ("cputop", "--period", READ, "--period-captures", "read : fd = $evt.fd", chain),
                      ("stats", db), ("nettop", os.path.join(samples, "django"))):
        document = json.loads(run(arguments[0], "--json", "--limit=0", *arguments[1:]).stdout)
        expected = list(rows_of_json(document))
        notes = list(dict.fromkeys(note for window in document["windows"] for note in window["notes"]))
        notes += [gap["missing"] for gap in document.get("unanswered", ())]
        for option in ("--csv", "--tsv"):
            done = run(arguments[0], option, "--limit=0", *arguments[1:])
            rows = rows_of_text(done.stdout, option == "--tsv")
            tap.ok(done.returncode == 0 and expected and same(rows, expected), f"{' '.join(arguments[:2])[:40]} {option}", len(rows), len(expected),
                   [pair for pair in zip(rows, expected) if not same([pair[0]], [pair[1]])][:1])
            said = [line for line in done.stderr.splitlines() if line.startswith("lull: ")]
            tap.ok(len(said) == len(notes) and all(line.endswith(note) for line, note in zip(said, notes)), "its notes, once each, on standard error",
                   said[:3], notes[:3])


def nothing_is_said():
    done = run("calls", "--csv", chain)
    tap.ok(done.returncode == 0 and not done.stdout and done.stderr.endswith("lull: nothing was found in this time\n"), "no row", done.stderr)
    for arguments in (["requests", "--port", "9"], ["why", "--port", "9"], ["requests", "--end", "+0.1us"]):
        done = run(*arguments, "--tsv", chain)
        tap.ok(done.returncode == 0 and not done.stdout and done.stderr.endswith("lull: nothing was found\n"), f"{arguments}: no row", done.stderr)


def nanoseconds(text):
    whole, _, part = text.rstrip("Z").partition(".")
    seconds = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc).timestamp()
    return int(seconds) * 10**9 + int(part.ljust(9, "0"))


def times_of(value, times):
    if isinstance(value, dict):
        for key, one in value.items():
            if key in ("begin_ns", "end_ns", "wakeup_ns", "switch_ns", "longest_at_ns"):
                times.append(one)
            else:
                times_of(one, times)
    elif isinstance(value, list):
        for one in value:
            times_of(one, times)
    return times


def times_as_texts():
    for verb in ("schedlog", "waits", "cputop"):
        plain = times_of(json.loads(run(verb, "--json", chain).stdout), [])
        texts = times_of(json.loads(run(verb, "--json", "--json-times=iso", chain).stdout), [])
        tap.ok(plain and all(isinstance(text, str) for text in texts) and [nanoseconds(text) for text in texts] == plain,
               f"{verb} --json-times=iso: the same times", plain[:2], texts[:2])
        tap.ok(run(verb, "--json", "--json-times=ns", chain).stdout == run(verb, "--json", chain).stdout, f"{verb} --json-times=ns: as without")
    rows = rows_of_text(run("schedlog", "--csv", "--json-times=iso", chain).stdout, False)
    plain = rows_of_text(run("schedlog", "--csv", chain).stdout, False)
    tap.ok(rows and [nanoseconds(row["wakeup_ns"]) for row in rows] == [int(row["wakeup_ns"]) for row in plain], "--csv --json-times=iso")


def one_form():
    for two in (("--json", "--csv"), ("--csv", "--tsv")):
        done = run("cputop", *two, chain)
        tap.ok(done.returncode == 2 and "exclude each other" in done.stderr, " ".join(two), done.stderr)
    done = run("stats", "--html", "-", "--csv", chain)
    tap.ok(done.returncode == 2 and "--html and --csv" in done.stderr, "--html --csv", done.stderr)


for test in (forms_are_the_same, nothing_is_said, times_as_texts, one_form):
    tap.run(test.__name__, test)
sys.exit(tap.done())

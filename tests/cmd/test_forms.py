#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What verbs print for programs has one content in all forms: --csv and --tsv have the rows of the lists in --json, as Python
# flattens them here and its csv module reads them; --json-times=iso changes times of day and nothing else.
import csv
import datetime
import io
import json
import os
import re
import subprocess
import sys

from tap import Tap

LULL = os.environ["LULL"]
SAMPLES = os.environ["LULL_SAMPLES"]
DJANGO, CHAIN, DISK = (os.path.join(SAMPLES, name) for name in ("django", "truth/truth-chain", "truth/truth-disk-sync"))
READ = 'read : $evt.$name == "syscall_entry_read" : $evt.$name == "syscall_exit_read" && $evt.$tid == $begin.$evt.$tid'
TIMES = {"begin_ns", "end_ns", "asked_begin_ns", "asked_end_ns", "zero_ns", "first_event_ns", "first_ns", "last_ns", "time_ns"}
CALLS = [("requests", DJANGO), ("requests", CHAIN), ("sync", DJANGO), ("info", "--events", DJANGO), ("info", CHAIN), ("why", DJANGO),
         ("critpath", "--request", "17", DJANGO), ("critpath", "--comm", "t-asker", CHAIN), ("critpath", "--comm", "t-sync", DISK),
         ("critpath", "--slowest", "2", DJANGO), ("critpath", "--period", READ, "--period-captures", "read : fd = $evt.fd", CHAIN)]
tap = Tap()


def run(verb, *arguments):
    done = subprocess.run([LULL, verb, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
                          env={**os.environ, "TZ": "UTC"})
    if done.returncode:
        raise AssertionError(f"{verb} {arguments}: {done.returncode} {done.stderr}")
    return done.stdout


def text_of(value):
    """A value as a field."""
    if isinstance(value, list):
        return " ".join(map(text_of, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def members(object_, prefix=""):
    """Path and value of all that is no list of objects; the lists come second."""
    plain, lists = {}, {}
    for key, value in object_.items():
        path = prefix + key
        if isinstance(value, dict):
            inner = members(value, path + ".")
            plain.update(inner[0])
            lists.update(inner[1])
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            lists[path] = value
        else:
            plain[path] = value
    return plain, lists


def tables_of(object_, name="", of=""):
    """(table, what it is of, {column: value}) of each row of each list, however deep."""
    for path, rows in members(object_)[1].items():
        for row in rows:
            yield name + path, of, members(row)[0]
            yield from tables_of(row, f"{name}{path}.", text_of(next(iter(row.values()))))


def read(text, dialect):
    """The same of what was printed: a line of headings before each table, an empty line between."""
    rows, headings = [], None
    lines = csv.reader(io.StringIO(text)) if dialect == "csv" else (line.split("\t") for line in text.splitlines())
    for line in lines:
        if not line or line == [""]:
            headings = None
        elif headings is None:
            headings = line
        else:
            fields = dict(zip(headings, line, strict=True))
            rows.append((fields.pop("table"), fields.pop("of"), {k: v for k, v in fields.items() if k != "analysis"}))
    return rows


def same(cell, value):
    if isinstance(value, float):
        return float(cell) == value
    return cell == text_of(value)


def unescaped(text):
    return re.sub(r"\\([tnr\\])", lambda match: {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}[match[1]], text)


def tables(call):
    expected = list(tables_of(json.loads(run(call[0], "--json", *call[1:]))))
    for dialect in ("csv", "tsv"):
        got = read(run(call[0], f"--{dialect}", *call[1:]), dialect)
        if dialect == "tsv":
            got = [(table, unescaped(of), {key: unescaped(cell) for key, cell in row.items()}) for table, of, row in got]
        wrong = []
        for name in dict.fromkeys(table for table, _, _ in expected):
            mine = [(of, row) for table, of, row in got if table == name]
            theirs = [(of, row) for table, of, row in expected if table == name]
            if len(mine) != len(theirs):
                wrong.append((name, len(mine), len(theirs)))
            wrong += [(name, a, b) for (a_of, a), (b_of, b) in zip(mine, theirs)
                      if a_of != b_of or any(not same(a.get(key, ""), value) for key, value in b.items())
                      or any(cell for key, cell in a.items() if key not in b)]
        tap.ok(not wrong and len(got) == len(expected) and got or not (expected or got), f"{dialect} of {' '.join(call)[:80]}",
               len(got), len(expected), *wrong[:2])


def nanoseconds(text):
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})Z", text)
    return int(datetime.datetime.fromisoformat(match[1] + "+00:00").timestamp()) * 10**9 + int(match[2])


def restored(value, key=None):
    """Times as numbers again; a number that should be a text becomes something else."""
    if isinstance(value, dict):
        return {k: restored(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [restored(v) for v in value]
    if key in TIMES and value is not None:
        return nanoseconds(value) if isinstance(value, str) else "a number"
    return value


def times(call):
    plain, iso = (json.loads(run(call[0], "--json", *more, *call[1:])) for more in ((), ("--json-times=iso",)))
    tap.ok(restored(iso) == plain and (iso != plain or call in (("sync", DJANGO), ("requests", CHAIN))), f"times of {' '.join(call)[:80]}",
           json.dumps(iso)[:300])


def usage():
    for verb, path in (("requests", DJANGO), ("sync", DJANGO), ("info", CHAIN), ("why", DJANGO), ("critpath", CHAIN)):
        done = subprocess.run([LULL, verb, "--csv", "--json", path], capture_output=True, text=True, timeout=120, check=False)
        tap.ok(done.returncode == 2 and "--json and --csv exclude each other" in done.stderr and not done.stdout, f"{verb}: one form",
               done.stderr)
    lines = [json.loads(line) for line in run("print", "--json", "--limit", "50", CHAIN).splitlines()]
    iso = [json.loads(line) for line in run("print", "--json", "--json-times=iso", "--limit", "50", CHAIN).splitlines()]
    tap.ok([{**line, "time_ns": nanoseconds(line["time_ns"])} for line in iso] == lines and len(lines) == 50, "print: times")
    tap.ok(run("requests", "--csv", CHAIN) == "", "no row, no table")


for this in CALLS:
    tap.run(" ".join(this), tables, this)
    tap.run(" ".join(this), times, this)
tap.run("usage", usage)
sys.exit(tap.done())

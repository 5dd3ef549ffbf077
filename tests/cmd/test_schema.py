#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The JSON Schemas of the analyses: what the verbs print is valid, and what is altered is not. Needs the Python module jsonschema.
# LULL_BUILD is the build directory, with schema/.
import copy
import json
import os
import subprocess
import sys

from tap import Tap

try:
    import jsonschema
except ImportError:
    jsonschema = None

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
schemas = os.path.join(os.environ.get("LULL_BUILD", os.path.dirname(lull)), "schema")
tap = Tap()
READ = ("read : $evt.$name == \"syscall_entry_read\" : $evt.$name == \"syscall_exit_read\" && $evt.$tid == $begin.$evt.$tid")


def answer(verb, *arguments):
    done = subprocess.run([lull, verb, "--json", *arguments], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise AssertionError(f"{verb} {arguments}: {done.returncode} {done.stderr}")
    return json.loads(done.stdout)


def errors(checker, document):
    return [error.message[:200] for error, _ in zip(checker.iter_errors(document), range(3))]


def first_row(document):
    for window in document["windows"]:
        for rows in window["tables"].values():
            if rows:
                return rows[0]
    return None


def altered(document, is_strict):
    """The document with one fault each, and what it is."""
    def change(name, do):
        other = copy.deepcopy(document)
        do(other)
        return name, other

    yield change("another version", lambda other: other.update(version=2))
    yield change("no windows", lambda other: other.pop("windows"))
    yield change("a member more", lambda other: other.update(more=1))
    yield change("no time", lambda other: other["windows"][0].pop("begin_ns"))
    yield change("a real time", lambda other: other["windows"][0].update(begin_ns=1.5))
    yield change("a time that is no date", lambda other: other["windows"][0].update(end_ns="yesterday"))
    yield change("notes that are no texts", lambda other: other["windows"][0].update(notes=[1]))
    yield change("another table", lambda other: other["windows"][0]["tables"].update(none=[]))
    if first_row(document) and is_strict:
        key = next(key for key in first_row(document) if key not in ("of", "host"))
        yield change(f"a row without {key}", lambda other: first_row(other).pop(key))
        yield change("a column more", lambda other: first_row(other).update(more=1))
        yield change(f"a list as {key}", lambda other: first_row(other).update({key: [1]}))


def check(verb, *arguments):
    with open(os.path.join(schemas, f"lull-{verb}.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    document = answer(verb, *arguments)
    found = errors(checker, document)
    tap.ok(not found and document["windows"], f"{verb} {' '.join(arguments)[:60]}: valid", *found)
    return checker, document


def outputs():
    if not jsonschema:
        tap.skip("schemas", "the Python module jsonschema is not installed")
        return
    if not os.path.isdir(schemas):
        tap.skip("schemas", "not built")
        return
    db, chain = (os.path.join(samples, name) for name in ("django/db", "truth/truth-chain"))
    for name in sorted(os.listdir(schemas)):
        verb = name.removeprefix("lull-").removesuffix(".schema.json")
        if name == verb:
            continue
        more = ("--period", READ, "--period-captures", "read : fd = $evt.fd : $evt.ret", "--log", "--top", "--stats", "--freq") \
            if verb.startswith("period") else ()
        limit = () if verb.endswith("freq") else ("--limit", "20")
        checker, document = check(verb, *more, *(limit if not verb.startswith("period") else ()), db)
        for what, other in altered(document, not verb.startswith("period") and not verb.endswith("freq")):
            tap.ok(errors(checker, other), f"{verb}: {what} is not valid")
        check(verb, *more, "--json-times=iso", chain)
    for verb in ("cputop", "waits", "iousagetop", "nettop", "syscallstats"):
        check(verb, os.path.join(samples, "django"))
        check(verb, "--period", READ, "--period-captures", "read : fd = $evt.fd", chain)
    check("waits", "--stacks", os.path.join(samples, "perf/chains.data"))
    check("stats", os.path.join(samples, "perf/file.data"))
    for verb in ("irqstats", "iolatencystats", "schedstats"):
        check(verb, "--freq", "--log", chain)
        check(verb, "--freq", "--freq-series", chain) if verb == "schedstats" else None


tap.run("outputs", outputs)
sys.exit(tap.done())

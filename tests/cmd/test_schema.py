#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The JSON Schemas: what the verbs print is valid, and what is altered is not. Those of the analyses, of their tables, are made and
# lie in schema/ of the build directory LULL_BUILD; the others are files in schema/. Needs the Python module jsonschema.
import copy
import functools
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile

from server.serving import Server, environment
from source.relay import Relay, Session
from tap import Tap

try:
    import jsonschema
except ImportError:
    jsonschema = None

lull = os.environ["LULL"]
CALLS, HEAP = (os.path.join(os.environ["LULL_SOURCE"], "tests", "data", f"{name}.tar.xz") for name in ("calls", "heap"))
STATES = os.path.join(os.environ["LULL_SOURCE"], "share", "states", "cpu.states")
samples = os.environ["LULL_SAMPLES"]
own = os.path.join(os.environ["LULL_SOURCE"], "schema")
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


@functools.cache
def checker_of(path):
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(verb, *arguments):
    checker = checker_of(os.path.join(schemas, f"lull-{verb}.schema.json"))
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
            if verb.startswith("period") else ("--states", STATES) if verb == "states" else ()
        limit = () if verb.endswith("freq") else ("--limit", "20")
        checker, document = check(verb, *more, *(limit if not verb.startswith("period") else ()), db)
        for what, other in altered(trimmed(document), not verb.startswith("period") and not verb.endswith("freq")):
            tap.ok(errors(checker, other), f"{verb}: {what} is not valid")
        check(verb, *more, "--json-times=iso", chain)
    for verb in ("cputop", "waits", "iousagetop", "nettop", "syscallstats"):
        check(verb, os.path.join(samples, "django"))
        check(verb, "--period", READ, "--period-captures", "read : fd = $evt.fd", chain)
    check("waits", "--stacks", os.path.join(samples, "perf/chains.data"))
    check("stats", os.path.join(samples, "perf/file.data"))
    for verb, other in (("calls", "--log"), ("calllog", "--top")):
        check(verb, other, CALLS)
    check("heap", HEAP)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(os.path.join(os.environ["LULL_SOURCE"], "tests/data/vm.tar.xz")) as archive:
        archive.extractall(folder)
        check("cputop", os.path.join(folder, "vm"))
    for verb in ("irqstats", "iolatencystats", "schedstats"):
        check(verb, "--freq", "--log", chain)
        check(verb, "--freq", "--freq-series", chain) if verb == "schedstats" else None


# What a schema does not describe would be members that nobody documented. Those of the summary are still growing.
def undescribed(schema, value, root, path=""):
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    options = [option for option in schema.get("anyOf", [schema])]
    found = [list(members_without(option, value, root, path)) for option in options]
    return min(found, key=len)


def members_without(schema, value, root, path):
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, dict) and "properties" in schema and not path.endswith(".summary"):
        for key, member in value.items():
            if key not in schema["properties"]:
                yield f"{path}.{key}"
            else:
                yield from undescribed(schema["properties"][key], member, root, f"{path}.{key}")
    elif isinstance(value, list) and schema.get("items"):
        for element in value:
            yield from undescribed(schema["items"], element, root, path)


def rows_of(document):
    """Some objects of a document, deepest first, and a member that each must have."""
    if isinstance(document, dict):
        for value in document.values():
            yield from rows_of(value)
        yield document
    elif isinstance(document, list):
        for value in document[:1]:
            yield from rows_of(value)


def trimmed(value):
    """The document with two elements of each list."""
    if isinstance(value, dict):
        return {key: trimmed(member) for key, member in value.items()}
    return [trimmed(element) for element in value[:2]] if isinstance(value, list) else value


def check_own(verb, *arguments, lines=False):
    checker = checker_of(os.path.join(own, f"lull-{verb}.schema.json"))
    schema = checker.schema
    done = subprocess.run([lull, verb, "--json", *arguments], capture_output=True, text=True, timeout=120, check=False)
    documents = [json.loads(line) for line in done.stdout.splitlines()] if lines else [json.loads(done.stdout)]
    wrong = [message for document in documents for message in errors(checker, document)]
    missing = {member for document in documents for member in undescribed(schema, document, schema)}
    tap.ok(documents and not wrong and not missing and not done.returncode, f"{verb} {' '.join(arguments)[-70:]}: valid", done.stderr,
           *wrong[:3], *sorted(missing)[:9])
    return checker, documents[0]


def own_outputs():
    if not jsonschema:
        tap.skip("own schemas", "the Python module jsonschema is not installed")
        return
    django, chain = os.path.join(samples, "django"), os.path.join(samples, "truth/truth-chain")
    truth = os.path.join(samples, "truth")
    for verb, arguments in (("requests", [django]), ("sync", [django]), ("info", ["--events", django]), ("why", [django]),
                            ("critpath", ["--request", "17", django]), ("critpath", ["--slowest", "2", django])):
        checker, document = check_own(verb, *arguments)
        check_own(verb, *arguments, "--json-times=iso")
        document = trimmed(document)
        tap.ok(not errors(checker, document), f"{verb}: less of it is valid")
        for what, do in (("another version", lambda other: other.update(version=2)), ("no version", lambda other: other.pop("version")),
                         ("a list that is none", lambda other: other.update({next(k for k, v in other.items() if isinstance(v, list)): 1}))):
            other = copy.deepcopy(document)
            do(other)
            tap.ok(errors(checker, other), f"{verb}: {what} is not valid")
        # Each kind of object, without its first member and with an object as that.
        count = sum(1 for _ in rows_of(document))
        for i in range(count):
            for change in ("left out", "odd"):
                other = copy.deepcopy(document)
                row = list(rows_of(other))[i]
                key = next(iter(row))
                row.pop(key)
                row.update({key: {"odd": 1}} if change == "odd" else {})
                tap.ok(errors(checker, other), f"{verb}: object {i}, {key} {change}: not valid")
    for name in sorted(os.listdir(truth)):
        trace = os.path.join(truth, name)
        if os.path.isdir(trace) and name.startswith("truth-"):
            check_own("critpath", "--comm", "t-*", trace)
    for verb, arguments in (("critpath", ["--period", READ, "--period-captures", "read : fd = $evt.fd", chain]), ("requests", [chain]),
                            ("critpath", ["--stacks", "--comm", "sh", os.path.join(samples, "perf/chains.data")]), ("sync", [chain]),
                            ("critpath", ["--calls", "--comm", "t-*", chain]), ("why", ["--calls", "--period", READ, chain]),
                            ("flame", ["--diff", CALLS, CALLS]), ("flame", ["--heap", "peak", HEAP]),
                            ("symbols", ["--lines", os.path.join(samples, "perf/chains.data")]),
                            ("hprof", ["--leaks", os.path.join(os.environ["LULL_SOURCE"], "tests/fuzz/seeds/hprof/ids-of-8")]),
                            ("info", [os.path.join(os.environ["LULL_SOURCE"], "tests/data/cgroups.tar.xz")]),
                            ("info", [os.path.join(samples, "ftrace/whole.dat")]), ("info", [os.path.join(samples, "perf/file.data")]),
                            ("why", ["--period", READ, chain])):
        check_own(verb, *arguments)
        if verb not in ("flame", "symbols", "hprof"):  # without times of day
            check_own(verb, *arguments, "--json-times=iso")
    for trace in (django, chain, os.path.join(samples, "ftrace/ring.dat"), os.path.join(samples, "perf/file.data")):
        checker, event = check_own("print", "--limit", "200", trace, lines=True)
    check_own("print", "--limit", "10", "--json-times=iso", chain, lines=True)
    check_own("print", "--limit", "40", "--places", os.path.join(samples, "perf/chains.data"), lines=True)
    for key in event:
        tap.ok(key in ("context", "fields") or errors(checker, {k: v for k, v in event.items() if k != key}), f"print: without {key}")


def servers():
    """What the verbs that go on running say first, index writes, and print counts."""
    if not jsonschema:
        tap.skip("servers", "the Python module jsonschema is not installed")
        return
    chain = os.path.join(samples, "truth/truth-chain")
    check_own("print", "--count-fields", chain)
    with Relay([Session(2, "other", [], [], host="db", timer=1500000)]) as relay:
        checker, document = check_own("info", relay.url)
        tap.ok(document["sessions"] and errors(checker, {**document, "sessions": [{}]}), "info of a relay: no empty session")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        for state in (True, False):
            checker, document = check_own("index", chain)
            tap.ok(document["is_new"] is state, "index: written once", document)
        for key in document:
            tap.ok(errors(checker, {k: v for k, v in document.items() if k != key}), f"index: without {key}: not valid")
        for verb, key in (("serve", "tsp"), ("view", "view")):
            try:
                server = Server(lull, environment(cache), *(("--no-browser",) if verb == "view" else ()), chain, verb=verb)
            except RuntimeError as error:
                if "built" not in str(error):
                    raise
                tap.skip(f"{verb} --json", str(error).strip())
                continue
            with open(os.path.join(own, f"lull-{verb}.schema.json"), encoding="utf-8") as file:
                checker = jsonschema.Draft202012Validator(json.load(file))
            server.end()
            said = server.said
            tap.ok(not errors(checker, said) and set(said) == {"version", key} and errors(checker, {"version": 1}) and
                   errors(checker, {**said, key: 1}) and errors(checker, {**said, "version": 2}), f"{verb}: valid, and no other", said)


def every_verb():
    """Each that takes --json has one, and what is there is of a verb."""
    text = subprocess.run([lull, "--help"], capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^  ([a-z]+) ", text.split("\nRecord:")[1], re.M)
    takers = {verb for verb in verbs if "--json " in subprocess.run([lull, verb, "--help"], capture_output=True, text=True, check=True).stdout}
    there = {name.removeprefix("lull-").removesuffix(".schema.json") for folder in (own, schemas) if os.path.isdir(folder)
             for name in os.listdir(folder) if name.endswith(".schema.json")}
    tap.ok(takers == there or not os.path.isdir(schemas), "a schema for each verb with --json", sorted(takers ^ there))


tap.run("outputs", outputs)
tap.run("every verb", every_verb)
tap.run("servers", servers)
tap.run("own outputs", own_outputs)
sys.exit(tap.done())

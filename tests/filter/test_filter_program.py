#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Filters through the program: on recorded traces, `lull print --filter E` prints the lines of the whole trace for which an
# independent evaluation in Python says so; the other verbs count and read what passes; mistakes are usage errors; the
# expressions in docs/FILTER.md are accepted. That what a name excludes is not decoded is tested by test_push_down.c.
import collections
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

from tap import Tap

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
source = os.environ["LULL_SOURCE"]
make_traces = sys.argv[1]
client, httpd, db = (os.path.join(samples, "django", host) for host in ("client", "httpd", "db"))
tap = Tap()


def run(*arguments, **more):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", **more.pop("env", {})}
    return subprocess.run([lull, *arguments], capture_output=True, text=True, timeout=120, env=environment,
                          stdin=subprocess.DEVNULL, check=False, **more)


# --- the same by Python --------------------------------------------------------------------------------------

ABSENT = object()


def plain(value):
    """An enumeration's value; everything else as it is."""
    return value["value"] if isinstance(value, dict) and set(value) == {"value", "label"} else value


def field(event, path, scopes=("fields", "context")):
    """The value at a path of names and numbers; ABSENT if the event has none."""
    for scope in scopes:
        value = event.get(scope, {})
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                value = ABSENT
                break
        if value is not ABSENT:
            return value
    return ABSENT


def has(event, test, *path, scopes=("fields", "context")):
    """Whether the field is there and its value passes."""
    value = field(event, path, scopes)
    return value is not ABSENT and test(plain(value))


def is_ipv4(event, test, *path):
    return has(event, test, "network_header", "ipv4", *path)


begin = 0  # of the traces, set when they are read

CASES = [
    ('name == "sched_switch" && next_comm =~ "post*"',
     lambda e: e["name"] == "sched_switch" and e["fields"]["next_comm"].startswith("post")),
    ('name == "sched_switch" && next_comm =~ "python3*"',
     lambda e: e["name"] == "sched_switch" and e["fields"]["next_comm"].startswith("python3")),
    ('name =~ "irq_softirq_*" && vec in (1, 3) && cpu == 0',
     lambda e: fnmatch.fnmatchcase(e["name"], "irq_softirq_*") and e["fields"].get("vec") in (1, 3) and e["cpu"] == 0),
    ("ret < 0", lambda e: has(e, lambda v: v < 0, "ret")),
    ("ret >= 4KiB && ret < 0x100000", lambda e: has(e, lambda v: 4096 <= v < 0x100000, "ret")),
    ("tid == 0", lambda e: has(e, lambda v: v == 0, "tid")),
    ("context.tid == 0", lambda e: has(e, lambda v: v == 0, "tid", scopes=("context",))),
    ("!(tid != 0) && !exists(fields.tid)",
     lambda e: not has(e, lambda v: v != 0, "tid") and "tid" not in e["fields"]),
    ("exists(filename) && filename != '' || name =~ '*_openat'",
     lambda e: has(e, lambda v: v != "", "filename") or e["name"].endswith("_openat")),
    ('network_header.ipv4.saddr[0] == 10 && network_header.ipv4.daddr[3] > 1',
     lambda e: is_ipv4(e, lambda v: v == 10, "saddr", 0) and is_ipv4(e, lambda v: v > 1, "daddr", 3)),
    ('network_header.ipv4.transport_header.tcp.dest_port == 80 && network_header.ipv4.protocol == "_tcp"',
     lambda e: is_ipv4(e, lambda v: v == 80, "transport_header", "tcp", "dest_port")
     and field(e, ("network_header", "ipv4", "protocol"))["label"] == "_tcp"),
    ("exists(network_header.ipv4.transport_header.tcp) && !(network_header.ipv4.transport_header.tcp.seq < 3523797738)",
     lambda e: is_ipv4(e, lambda v: True, "transport_header", "tcp")
     and not is_ipv4(e, lambda v: v < 3523797738, "transport_header", "tcp", "seq")),
    ("host == 'httpd' && time >= +12.5s && time < +14s",
     lambda e: e["host"] == "httpd" and begin + 12500000000 <= e["time_ns"] < begin + 14000000000),
    ("(cpu == 1 || host == 'client') && name !~ '*[sm]*'",
     lambda e: (e["cpu"] == 1 or e["host"] == "client") and not re.search("[sm]", e["name"])),
    ('page > 0x7fffffffffffffff && order != 0',
     lambda e: has(e, lambda v: v > 0x7fffffffffffffff, "page") and has(e, lambda v: v != 0, "order")),
    ("buf == 0 || page == 0.5 || ret == -11.0", lambda e: has(e, lambda v: v == 0, "buf") or has(e, lambda v: v == -11, "ret")),
    ("fields.name == 'ens4'", lambda e: has(e, lambda v: v == "ens4", "name", scopes=("fields",))),
    ("prev_state in (1, 2) && prev_prio >= next_prio",
     lambda e: has(e, lambda v: v in (1, 2), "prev_state") and e["fields"]["prev_prio"] >= e["fields"]["next_prio"]),
    ("name == 'nosuch' || false", lambda e: False),
]


def equivalence():
    global begin
    lines = run("print", "--json", "--no-sync", client, httpd).stdout.splitlines()
    events = [json.loads(line) for line in lines]
    begin = events[0]["time_ns"]
    tap.ok(len(events) > 100000, "there are events to filter", len(events))
    somewhere = 0
    for expression, passes in CASES:
        done = run("print", "--json", "--no-sync", "--filter", expression, client, httpd)
        expected = [line for line, event in zip(lines, events) if passes(event)]
        got = done.stdout.splitlines()
        differing = [pair for pair in zip(got, expected) if pair[0] != pair[1]][:1]
        tap.ok(done.returncode == 0 and got == expected, f"{expression}: {len(expected)} events", done.stderr, len(got), differing)
        somewhere += 0 < len(expected) < len(lines)
        counted = json.loads(run("info", "--events", "--json", "--no-sync", "--filter", expression, client, httpd).stdout)["events"]
        wanted = collections.Counter((json.loads(line)["host"], json.loads(line)["name"]) for line in expected)
        tap.ok({(row["host"], row["name"]): row["count"] for row in counted} == wanted, f"{expression}: counted", counted[:5])
    tap.ok(somewhere >= 12, "the expressions say something", somewhere)


def with_other_options():
    """--filter and --tid, --events, --begin at once: what passes all of them."""
    expression = "name =~ 'irq_*' && cpu == 0"
    tid = collections.Counter(json.loads(line)["context"]["tid"] for line in
                              run("print", "--json", "--filter", expression, client).stdout.splitlines()).most_common(2)[-1][0]
    wide = run("print", "--json", "--tid", str(tid), client).stdout.splitlines()
    expected = [line for line in wide if (event := json.loads(line))["name"].startswith("irq_") and event["cpu"] == 0]
    done = run("print", "--json", "--tid", str(tid), "--filter", expression, client)
    tap.ok(done.stdout.splitlines() == expected and expected, "--tid and --filter", len(expected), len(done.stdout.splitlines()))
    expected = [line for line in run("print", "--events", "irq_handler_*", "--begin", "+1s", client).stdout.splitlines()
                if "cpu0 " in line]
    done = run("print", "--events", "irq_handler_*", "--begin", "+1s", "--filter", expression, client)
    tap.ok(done.stdout.splitlines() == expected and expected, "--events, --begin and --filter")


def without_contexts():
    """Who runs is known from sched_switch even if the filter rejects sched_switch, or all that was before."""
    script = os.path.join(source, "tests", "e2e", "scenarios", "chain-no-contexts.scn")
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "traces")
        subprocess.run([make_traces, script, trace], check=True)
        wide = run("print", "--json", "--no-sync", "--tid", "200", trace).stdout.splitlines()
        sent = [line for line in wide if '"net_dev_queue"' in line]
        tap.ok(1 < len(sent) < len(wide), "task 200 sends and switches", wide)
        done = run("print", "--json", "--no-sync", "--tid", "200", "--filter", "name != 'sched_switch'", trace)
        tap.ok(done.stdout.splitlines() == sent, "--tid and a filter without sched_switch", done.stdout)
        time = json.loads(sent[-1])["time_ns"]
        done = run("print", "--json", "--no-sync", "--tid", "200", "--filter", f"time >= {time} && name =~ 'net*'", trace)
        tap.ok(done.stdout.splitlines() == sent[-1:], "--tid and a filter by time", done.stdout)


def clocks():
    """The clocks are joined by all packets, whatever the filter leaves."""
    expression = 'name == "net_dev_queue" && fields.len > 1KiB'
    whole = [line for line in run("print", "--events", "net_dev_queue", client, httpd).stdout.splitlines()
             if int(re.search(r", len = (\d+),", line)[1]) > 1024]
    done = run("print", "--filter", expression, client, httpd)
    tap.ok(done.stdout.splitlines() == whole and whole, "the filter does not bend the clocks", len(whole))


def other_verbs():
    every = json.loads(run("requests", "--json", client, httpd, db).stdout)["requests"]
    same = json.loads(run("requests", "--json", "--filter", "true", client, httpd, db).stdout)["requests"]
    tap.ok(every == same and every, "requests: true changes nothing")
    none = json.loads(run("requests", "--json", "--filter", 'name !~ "net*"', client, httpd, db).stdout)["requests"]
    tap.ok(none == [], "requests: none without packets", none)
    whole = run("critpath", "--comm", "python3", "--json", client)
    same = run("critpath", "--comm", "python3", "--json", "--filter", "cpu >= 0", client)
    tap.ok(whole.stdout == same.stdout and whole.returncode == 0, "critpath: cpu >= 0 changes nothing")
    less = run("critpath", "--comm", "python3", "--json", "--filter", 'name == "sched_switch"', client)
    tap.ok(less.returncode == 0 and less.stdout != whole.stdout, "critpath: without wake-ups it is another path", less.stderr)


def mistakes():
    for verb in ("print", "info", "requests"):
        done = run(verb, "--filter", "name == ", client)
        tap.ok(done.returncode == 2 and done.stdout == ""
               and "column 9: expected a number or a text in quotes\n  name == \n          ^\n" in done.stderr,
               f"{verb}: a mistake is shown", done.returncode, done.stderr)
    done = run("print", "--filter", "time < '01:00:00'", "--local", client, env={"TZ": "XYZ-02"})
    other = run("print", "--filter", "time < '2026-11-20T23:00:00Z'", "--local", client, env={"TZ": "XYZ-02"})
    tap.ok(done.returncode == 0 and done.stdout == other.stdout, "--local: times of the filter are local")


# --- documents -----------------------------------------------------------------------------------------------


def documents():
    with open(os.path.join(source, "docs", "FILTER.md"), encoding="utf-8") as file:
        text = file.read()
    examples = [line for block in re.findall(r"^```filter\n(.*?)^```", text, re.M | re.S) for line in block.splitlines() if line]
    tap.ok(len(examples) >= 10, "docs/FILTER.md has examples", len(examples))
    for expression in examples:
        done = run("print", "--limit", "1", "--no-sync", "--filter", expression, client, httpd, db)
        tap.ok(done.returncode == 0, f"docs/FILTER.md: {expression}", done.stderr)
    page = os.path.join(os.path.dirname(lull), "man", "lull-filter.7")
    tap.ok(os.path.exists(page), "lull-filter(7) exists", page)
    with open(page, encoding="utf-8") as file:
        kept = "".join(re.findall(r"^\.nf\n(.*?)^\.fi", file.read(), re.M | re.S)).splitlines()
    characters = {"aq": "'", "ha": "^", "ti": "~", "ga": "`"}
    shown = [re.sub(r"\\\((\w\w)|\\(-)|\\(e)", lambda m: characters[m[1]] if m[1] else m[2] or "\\", line).strip() for line in kept]
    tap.ok(len(shown) >= 8, "lull-filter(7) has examples", shown)
    for expression in shown:
        done = run("print", "--limit", "1", "--no-sync", "--filter", expression, client)
        tap.ok(done.returncode == 0, f"lull-filter(7): {expression}", done.stderr)


for test in (equivalence, with_other_options, without_contexts, clocks, other_verbs, mistakes, documents):
    tap.run(test.__name__, test)
raise SystemExit(tap.done())

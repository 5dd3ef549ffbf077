#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Many machines at once: each one's figures are those that it has alone, in every order of the hosts, and what a machine more costs in
# memory is small. LULL is the program, LULL_SOURCE the project's directory.
import json
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile

from tap import Tap
from lib import many_hosts

lull = os.environ["LULL"]
source = os.environ["LULL_SOURCE"]
tap = Tap()
FEW, MANY = 9, 60
CROWD = 70  # more streams than are merged by time when clocks are joined
KIB_FOR_A_HOST, KIB_FOR_A_REPORT = 150, 1100
FILES = 40  # fewer than there are machines, so fewer than streams


def run(*arguments, files=None):
    """What Lull prints, and the most memory it had, in KiB; with so many open files at most."""
    child = subprocess.Popen([lull, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             preexec_fn=files and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))))
    out = child.stdout.read()
    err = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{arguments}: {child.returncode}\n{err}")
    return out, usage.ru_maxrss


def absolute(value):
    """Without shares, and what was not recorded: both depend on the time that all machines cover together."""
    if isinstance(value, dict):
        return {key: absolute(part) for key, part in value.items() if not isinstance(part, float) and key != "unknown_ns"}
    return value


def rows_by_host(verb, path, *options):
    """By host: its rows of all tables."""
    found = {}
    for window in json.loads(run(verb, "--json", "--limit", "0", *options, path)[0])["windows"]:
        for name, rows in window["tables"].items():
            for row in rows:
                host = row.pop("host", "")
                if name == "open":  # calls that have not returned last until the end of all
                    row.pop("duration_ns")
                    row.pop("begin_ns")  # on the clock of each
                found.setdefault(host, []).append(json.dumps((name, absolute(row)), sort_keys=True))
    return {host: sorted(rows) for host, rows in found.items()}


def starts_of(path):
    """By host: when its open calls started, in ns."""
    found = {}
    for row in json.loads(run("syscallstats", "--json", "--limit", "0", "--no-sync", path)[0])["windows"][0]["tables"]["open"]:
        found.setdefault(row.get("host", ""), []).append(row["begin_ns"])
    return {host: sorted(times) for host, times in found.items()}


def requests_of(path, *options):
    """Without what numbers them across machines, by host: begin_ns is on the clock of each."""
    found = {}
    for request in json.loads(run("requests", "--json", *options, path)[0])["requests"]:
        del request["id"]
        found.setdefault(request.pop("host", ""), []).append(request)
    return found


def joined(*paths):
    """What packets say of the clocks of pairs of hosts, and what is added to the clocks that are joined."""
    found = json.loads(run("sync", "--json", *paths)[0])
    return found["pairs"], [host for host in found["hosts"] if host["clock"] != "not joined"]


def without_number(text):
    return re.sub(r'("(?:client|httpd|db))-\d+"', r'\1"', text)


with tempfile.TemporaryDirectory() as folder:
    with tarfile.open(os.path.join(source, "examples", "data", "django.tar.xz")) as archive:
        archive.extractall(folder)
    traces = os.path.join(folder, "django")
    many = os.path.join(folder, "many")
    names = many_hosts.make(traces, MANY, many)
    few = os.path.join(folder, "few")
    many_hosts.make(traces, FEW, few)

    for verb in "cputop", "syscallstats", "irqstats":
        alone = {}
        for name in "client", "db", "httpd":
            at = next(i for i, host in enumerate(names) if host.startswith(name))
            rows = rows_by_host(verb, os.path.join(many, f"host-{at:04}"))
            alone[name] = sorted(without_number(row) for host in rows for row in rows[host])
        together = rows_by_host(verb, many, "--no-sync")
        tap.ok(set(together) == set(names), f"{verb}: {MANY} machines", sorted(map(str, together)))
        wrong = [name for name, rows in together.items()
                 if sorted(map(without_number, rows)) != alone[name.split("-")[0]] or not rows]
        tap.ok(not wrong, f"{verb}: each has the figures that it has alone", wrong)
        if verb == "syscallstats":  # calls that have not returned: since when, on the clock of each
            starts = starts_of(many)
            wrong = [at for at in (3, 4, 5, MANY - 1) if starts_of(os.path.join(many, f"host-{at:04}"))[""] != starts[names[at]]]
            tap.ok(not wrong, "each machine has its own clock", wrong)
        # For slices of time all hosts are read at once: the figures are the same.
        merged = rows_by_host(verb, few, "--refresh", "1h")
        apart = rows_by_host(verb, few)
        tap.ok(merged == apart, f"{verb}: host after host or all at once", [row for name in merged for row in merged[name]
                                                                           if row not in apart.get(name, [])][:3])

    for verb in "nettop", "freq", "stats":
        merged, apart = rows_by_host(verb, few, "--refresh", "1h"), rows_by_host(verb, few)
        tap.ok(merged == apart and apart, f"{verb}: host after host or all at once", [
            row for name in merged for row in merged[name] if row not in apart.get(name, [])][:3])

    # What a filter makes of events is the same for machines with the same kernel, unless it asks for the host.
    chosen = [rows_by_host("cputop", few, "--no-sync", "--filter", text) for text in ("tid != 5", f"host != '{names[1]}' && tid != 5")]
    tap.ok(set(chosen[0]) == set(names[:FEW]) and chosen[1] == {name: rows for name, rows in chosen[0].items() if name != names[1]},
           "a filter of the host's name leaves out that host, and changes nothing of others", chosen[1])
    for verb in (["cputop"], ["cputop", "--no-sync", "--filter", "tid != 5"], ["info"], ["info", "--events"], ["stats"]):
        name = " ".join(verb)
        if os.environ.get("LULL_SANITIZED"):
            tap.skip(f"{name}: memory for a machine more", "sanitizers take more")
            continue
        used = [run(*verb, path)[1] for path in (few, many)]
        each, allowed = (used[1] - used[0]) / (MANY - FEW), KIB_FOR_A_REPORT if verb == ["stats"] else KIB_FOR_A_HOST
        tap.ok(each < allowed, f"{name}: a machine more costs less than {allowed} KiB", f"{used} KiB: {each:.0f}")

    # Streams that are looked at one after the other are not open at a time.
    # Those that are merged are open while they are read, if there are more of them than may be open.
    for verb in (["info", "--events", "--json"], ["cputop", "--json"], ["print", "--events", "sched_process_exit"]):
        limited, free = (run(*verb, many, files=files)[0] for files in (FILES, None))
        tap.ok(limited == free, f"{verb[0]} of {MANY} machines with {FILES} open files")
    counts = [{}, {}]
    for of_host, path in zip(counts, (traces, many)):
        for row in json.loads(run("info", "--events", "--json", path)[0])["events"]:
            of_host.setdefault(row["host"], {})[row["name"]] = row["count"]
    tap.ok(counts[1] == {name: counts[0][name.rsplit("-", 1)[0]] for name in names}, "each has the events that it has alone")

    # Many streams are read in slices of time when clocks are joined: machines that talk to nobody change nothing for those that do.
    with tarfile.open(os.path.join(source, "tests", "data", "truth.tar.xz")) as archive:
        archive.extractall(folder, members=[m for m in archive.getmembers() if "/truth-tcp/" in m.name])
    crowd = os.path.join(folder, "crowd")
    many_hosts.make(os.path.join(folder, "truth", "truth-tcp"), CROWD, crowd)
    alone, among = (joined(*paths) for paths in ((traces,), (crowd, traces)))
    tap.ok(len(alone[0]) == 2 and among == alone, f"clocks that are joined among {CROWD} other machines", f"{among} {alone}")

    # The loopback of each is its own, though their connections have the same addresses and ports.
    pair = os.path.join(folder, "pair")
    names = many_hosts.make(os.path.join(folder, "truth", "truth-tcp"), 2, pair)
    alone = [requests_of(os.path.join(pair, f"host-{at:04}")) for at in (0, 1)]
    together = requests_of(pair, "--no-sync")
    tap.ok(all(len(one) == 1 and together.get(name) == list(one.values())[0] for name, one in zip(names, alone)),
           "requests on the loopbacks of two machines", f"{alone} {together}")
sys.exit(tap.done())

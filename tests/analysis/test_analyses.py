#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The verbs of analyses on the bundled traces: LAMI as the names of lttng-analyses speak it, sums that must hold whatever
# the trace, and the command line.
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lami  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
django = os.path.join(samples, "django")
one_host = os.path.join(samples, "truth", "truth-chain")
# Of lttng-analyses; the other verbs have no LAMI classes of a peer.
PEERS = ("cputop memtop syscallstats iolatencyfreq iolatencystats iolatencytop iolog iousagetop irqfreq irqlog irqstats "
         "schedfreq schedlog schedstats schedtop").split()
OWN = ("futex", "nettop", "freq")


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=200,
                          stdin=subprocess.DEVNULL, check=False)


def answer(verb, *arguments):
    """The windows of lull VERB --json."""
    done = run(lull, verb, "--json", *arguments)
    tap.ok(done.returncode == 0 and not done.stderr, f"{verb} {' '.join(arguments[:-1])}: no complaint", done.stderr)
    return json.loads(done.stdout)["windows"]


def link(folder, name):
    path = os.path.join(folder, name)
    os.symlink(lull, path)
    return path


# ---- LAMI ----

def protocol(folder, verb):
    program = link(folder, f"lttng-{verb}-mi")
    version = run(program, "--mi-version")
    tap.ok((version.returncode, version.stdout) == (0, "1.0\n"), f"{verb}-mi: --mi-version", version.stdout)
    metadata = json.loads(run(program, "--metadata").stdout)
    wrong = lami.check_metadata(metadata)
    tap.ok(not wrong, f"{verb}-mi: the metadata are LAMI", *wrong)
    test = run(program, "--test-compatibility", one_host)
    tap.ok(test.returncode == 0 and not test.stdout, f"{verb}-mi: --test-compatibility is silent", test.stdout, test.stderr)
    for name, arguments in (("one host", [one_host]), ("three hosts", [django]), ("no limit", ["--limit=unlimited", one_host]),
                            ("slices", ["-r", "0.5", one_host]), ("a time of no events", ["--end=1", one_host])):
        done = run(program, *arguments)
        document = json.loads(done.stdout)
        if "error-message" in document:
            tap.ok(done.returncode == 1 and name == "a time of no events", f"{verb}-mi: {name}", done.stdout)
            continue
        wrong = lami.check_results(document, metadata)
        tap.ok(done.returncode == 0 and not wrong, f"{verb}-mi: {name}", done.stderr, *wrong)
        tap.ok(all(table["data"] for table in document["results"]), f"{verb}-mi: {name}: no table is empty")


def lami_over_all_verbs():
    with tempfile.TemporaryDirectory() as folder:
        for verb in PEERS:
            protocol(folder, verb)
        progress = run(os.path.join(folder, "lttng-cputop-mi"), "--output-progress", one_host)
        *lines, document = progress.stdout.splitlines()
        tap.ok(lines and all(re.fullmatch(r"(\*|[01]|0\.\d+|1\.0|0\.0)( .*)?", line) for line in lines),
               "--output-progress prints shares and messages", *lines)
        tap.ok(json.loads(document)["results"], "--output-progress: the document follows")
        series = run(link(folder, "lttng-schedfreq-mi"[:-3]), one_host)
        tap.ok(series.returncode == 0 and series.stdout.startswith("Scheduling"), "lttng-schedfreq prints text", series.stderr)


def dropin_errors():
    with tempfile.TemporaryDirectory() as folder:
        program, text = link(folder, "lttng-cputop-mi"), link(folder, "lttng-cputop")
        missing = run(program, "/nonexistent")
        tap.ok(missing.returncode == 255 and list(json.loads(missing.stdout)) == ["error-message"],
               "-mi: a trace that cannot be opened is an error object", missing.stdout, missing.returncode)
        bad = run(program, "--tid", "x", one_host)
        tap.ok(bad.returncode == 1 and "--tid" in json.loads(bad.stdout)["error-message"],
               "-mi: a bad argument is an error object", bad.stdout)
        unknown = run(program, "--nonsense", one_host)
        tap.ok(unknown.returncode == 2 and not unknown.stdout and "--nonsense" in unknown.stderr,
               "-mi: an unknown option ends with status 2", unknown.stderr)
        short = run(text, "--lim=1", "--no-prog", "--no-color", "--skip-val", one_host)
        tap.ok(short.returncode == 0 and short.stdout, "options may be abbreviated", short.stderr)
        two = run(text, "--no", one_host)
        tap.ok(two.returncode == 2, "but not ambiguously", two.stdout)
        tap.ok(run(text, "--version").stdout.startswith("lttng-cputop "), "--version says the name")
        tap.ok(run(lull, "cputop", "--lim=1", one_host).returncode == 2, "lull itself wants whole names")


# ---- what must hold on every trace ----

def cpu_sums(name, *arguments):
    for window in answer("cputop", "--limit=0", *arguments):
        length = window["end_ns"] - window["begin_ns"]
        cpus, tasks = window["tables"].get("per-cpu", []), window["tables"].get("per-process", [])
        whole = [cpu for cpu in cpus if cpu["busy_ns"] + cpu["idle_ns"] + cpu["other_ns"] + cpu["unknown_ns"] != length]
        negative = [cpu for cpu in cpus if min(cpu[key] for key in ("busy_ns", "idle_ns", "other_ns", "unknown_ns")) < 0]
        busy, ran = sum(cpu["busy_ns"] for cpu in cpus), sum(task["cpu_ns"] for task in tasks)
        if whole or negative or busy != ran:
            tap.ok(False, f"cputop, {name}: sums", whole, negative, busy, ran)
            return
    tap.ok(True, f"cputop, {name}: busy, idle, other and unknown are the range; tasks sum to busy")


def slices_sum_to_the_whole():
    whole, slices = answer("cputop", "--limit=0", django), answer("cputop", "--limit=0", "--refresh=100ms", django)
    tap.ok(len(whole) == 1 and len(slices) > 10, "--refresh gives many windows")
    tap.ok(all(a["end_ns"] == b["begin_ns"] for a, b in zip(slices, slices[1:])), "slices touch each other")
    tap.ok((slices[0]["begin_ns"], slices[-1]["end_ns"]) == (whole[0]["begin_ns"], whole[0]["end_ns"]),
           "slices cover the range")
    ran = {}
    for window in slices:
        for task in window["tables"].get("per-process", []):
            key = (task["host"], task["process"]["tid"])
            ran[key] = ran.get(key, 0) + task["cpu_ns"]
    in_whole = {}
    for task in whole[0]["tables"]["per-process"]:
        key = (task["host"], task["process"]["tid"])
        in_whole[key] = in_whole.get(key, 0) + task["cpu_ns"]
    tap.ok(ran == in_whole, "the CPU time of a task in all slices is its CPU time")


def histograms_sum_to_their_counts():
    for options in ([], ["--freq-uniform"], ["--freq-log"], ["--freq-resolution=7"]):
        tables = answer("schedstats", "--freq", "--total", "--per-prio", *options, one_host)[0]["tables"]
        counts = {}
        for row in tables["freq"]:
            counts[row.get("of")] = counts.get(row.get("of"), 0) + row["count"]
        wanted = {f"Priority: {row['prio']}": row["count"] for row in tables["per_prio_stats"]}
        wanted[None] = tables["total_stats"][0]["count"]
        tap.ok(counts == wanted, f"schedfreq {' '.join(options)}: histograms sum to the counts", counts, wanted)
    series = answer("schedfreq", "--per-prio", "--freq-series", one_host)[0]["tables"]["freq-series"]
    stats = answer("schedstats", "--per-prio", one_host)[0]["tables"]["per_prio_stats"]
    tap.ok({f"Priority: {row['prio']}": row["count"] for row in stats} ==
           {key: sum(row[key] for row in series) for key in series[0] if key.startswith("Priority")},
           "--freq-series: the columns sum to the counts")


def logs_agree_with_statistics():
    log = answer("schedlog", one_host)[0]["tables"]["log"]
    top = answer("schedtop", "--limit=5", one_host)[0]["tables"]["top"]
    total = answer("schedstats", "--total", one_host)[0]["tables"]["total_stats"][0]
    latencies = sorted(row["latency_ns"] for row in log)
    tap.ok([row["latency_ns"] for row in top] == latencies[:-6:-1], "schedtop lists the longest of schedlog")
    tap.ok((total["count"], total["min_ns"], total["max_ns"]) == (len(latencies), latencies[0], latencies[-1]),
           "schedstats counts what schedlog lists")
    rank = (len(latencies) + 1) // 2
    tap.ok(abs(total["p50_ns"] - latencies[rank - 1]) * 64 <= latencies[rank - 1], "P50 is the median, within a 64th",
           total["p50_ns"], latencies[rank - 1])
    low, high = latencies[len(latencies) // 4], latencies[len(latencies) * 3 // 4]
    bounded = answer("schedlog", f"--min={low}ns", f"--max={high}ns", one_host)[0]["tables"]["log"]
    tap.ok(len(bounded) == sum(low <= latency <= high for latency in latencies), "--min and --max are within")


def lists_can_be_limited(folder):
    def split(verb, *arguments):
        found = answer(verb, *arguments, one_host)[0]
        more = [int(note.split()[2]) for note in found["notes"] if "are not shown" in note]
        return found["tables"], more
    for verb in ("schedlog", "irqlog", "iolog"):
        whole, none = split(verb)
        part, more = split(verb, "--limit=3")
        tap.ok(none == [] and max(map(len, whole.values())) > 3
               and part == {name: rows[:3] for name, rows in whole.items()}, f"{verb} --limit: the first rows", part)
        tap.ok(more == [len(rows) - 3 for rows in whole.values() if len(rows) > 3], f"{verb} --limit: how many more", more)
        tap.ok(split(verb, f"--limit={max(map(len, whole.values()))}") == (whole, []), f"{verb} --limit: as many as there are")
        lami = [run(lull, verb, "--lami", *limit, one_host).stdout for limit in ([], ["--limit=3"])]
        tap.ok(lami[0] == lami[1], f"{verb} --lami --limit: the log is whole, as the peer's")
        program = link(folder, f"lttng-{verb}")
        tap.ok(len(run(program, "--limit=3", one_host).stdout.splitlines()) > len(whole["log"]),
               f"lttng-{verb} --limit: the log is whole")
    (whole, _), (part, more) = split("syscallstats"), split("syscallstats", "--limit=2")
    calls = [row["calls"] for row in whole["total"]]
    tap.ok(part["total"] == whole["total"][:2] and [row["calls"] for row in part["total"]] == sorted(calls)[:-3:-1]
           and more == [len(calls) - 2], "syscallstats --limit: the tasks with most calls", part["total"], more)
    of = {row["of"] for row in part["per-tid"]}
    first = [[row for row in whole["per-tid"] if row["of"] == task][:2] for task in of]
    tap.ok(len(of) == 2 and sorted(map(str, part["per-tid"])) == sorted(map(str, sum(first, []))),
           "syscallstats --limit: the first calls of each of these tasks", part["per-tid"])


# ---- the command line ----

def text_is_readable():
    for verb in PEERS + list(OWN):
        done = run(lull, verb, one_host)
        lines = done.stdout.splitlines()
        tap.ok(done.returncode == 0 and re.search(r", from \d{4}-\d\d-\d\dT[\d:.]+Z to [\d:.]+ \(.*\)$", lines[0]),
               f"{verb}: the first line says which time is covered", lines[:1], done.stderr)
        tap.ok("\033" not in done.stdout and not any(line.endswith(" ") for line in lines),
               f"{verb}: plain when piped")
    missing = run(lull, "schedlog", "--min=3600000000", one_host).stdout
    tap.ok("Nothing was found" in missing and "Scheduling log" in missing, "an empty answer says what was not found", missing)
    hosts = run(lull, "cputop", django).stdout
    tap.ok("HOST" in hosts and "HOST" not in run(lull, "cputop", "--host=db", django).stdout,
           "several hosts have a column")
    ascii_only = subprocess.run([lull, "cputop", one_host], capture_output=True, env=dict(os.environ, LC_ALL="C"), timeout=200,
                                check=False).stdout
    tap.ok(ascii_only.isascii() and b"###" in ascii_only, "without UTF-8 bars are ASCII")


def bad_options_are_refused():
    for arguments in (["--tid=1,x"], ["--cpu=-1"], ["--limit=few"], ["--refresh=0"], ["--refresh=soon"], ["--irq=1"],
                      ["--timerange=[1,2"], ["--begin=never"]):
        done = run(lull, "cputop", *arguments, one_host)
        tap.ok(done.returncode in (1, 2) and done.stderr and not done.stdout, f"cputop {arguments[0]} is refused", done.stderr)
    done = run(lull, "schedfreq", "--freq-resolution=0", one_host)
    tap.ok(done.returncode == 2 and "--freq-resolution" in done.stderr, "a histogram needs bins", done.stderr)
    done = run(lull, "cputop", "--refresh=1ns", one_host)
    tap.ok(done.returncode == 1 and "--refresh" in done.stderr, "a slice of a nanosecond is a slip", done.stderr)


def brackets_are_a_range():
    first = answer("cputop", one_host)[0]
    begin, end = first["begin_ns"] + 1000000, first["begin_ns"] + 2000000
    plain = answer("cputop", f"--timerange={begin},{end}", one_host)
    bracketed = answer("cputop", f"--timerange=[{begin}, {end}]", one_host)
    tap.ok(plain == bracketed and (plain[0]["begin_ns"], plain[0]["end_ns"]) == (begin, end),
           "--timerange takes [A, B], and windows have exact ends")


tap.run("LAMI", lami_over_all_verbs)
tap.run("errors of the names of lttng-analyses", dropin_errors)
tap.run("CPU sums", cpu_sums, "one host", one_host)
tap.run("CPU sums", cpu_sums, "three hosts", django)
tap.run("CPU sums", cpu_sums, "slices", "--refresh=50ms", django)
tap.run("CPU sums", cpu_sums, "some tasks", "--comm=apache2,postgres", django)
tap.run("slices", slices_sum_to_the_whole)
tap.run("histograms", histograms_sum_to_their_counts)
tap.run("logs", logs_agree_with_statistics)
with tempfile.TemporaryDirectory() as links:
    tap.run("limits", lists_can_be_limited, links)
tap.run("text", text_is_readable)
tap.run("options", bad_options_are_refused)
tap.run("ranges", brackets_are_a_range)
sys.exit(tap.done())

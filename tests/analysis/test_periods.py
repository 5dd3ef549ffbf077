#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The verbs of periods, and --period on the others. On a recording of a real server: requests as a script pairs them over the
# plain events. On the streams that were made by hand for lttng-analyses: its answers (data/peer.tar.xz); where docs/PERIODS.md
# says that Lull differs, what is right, worked out by hand.
import ast
import collections
import io
import json
import math
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.environ["LULL_SOURCE"], "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
import lami  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
httpd = os.path.join(os.environ["LULL_SAMPLES"], "django", "httpd")
peer = tarfile.open(os.path.join(os.environ["LULL_SOURCE"], "tests", "data", "peer.tar.xz"))  # pylint: disable=R1732
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
VERBS = ("periodlog", "periodtop", "periodstats", "periodfreq")
REQUEST = ('request : $evt.$name == "syscall_exit_accept4" && $evt.$comm == "apache2" && $evt.family == 10 && $evt.ret >= 0'
           ' : $evt.$name == "syscall_entry_close" && $evt.fd == $begin.$evt.ret && $evt.$ctx.pid == $begin.$evt.$ctx.pid')
SEND = ('send(request) : $evt.$name == "syscall_entry_writev" && $evt.fd == $parent.$begin.$evt.ret'
        ' && $evt.$ctx.pid == $parent.$begin.$evt.$ctx.pid'
        ' : $evt.$name == "syscall_exit_writev" && $evt.$tid == $begin.$evt.$tid')
PORT = "request : port = $evt.sport :"
REQUESTS = ("--period", REQUEST, "--period", SEND, "--period-captures", PORT)


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=200,
                          stdin=subprocess.DEVNULL, check=False)


def windows(verb, *arguments):
    done = run(lull, verb, "--json", *arguments)
    if done.returncode != 0:
        tap.ok(False, f"{verb}: no complaint", done.stderr)
        return []
    return json.loads(done.stdout)["windows"]


def tables(verb, *arguments):
    return windows(verb, *arguments)[0]["tables"]


def program(name):
    """lull under a name of lttng-analyses."""
    path = os.path.join(scratch.name, name)
    if not os.path.lexists(path):
        os.symlink(lull, path)
    return path


def trace(name, events):
    path = os.path.join(scratch.name, name)
    jsonl_to_ctf.write_trace(events, path)
    return path


def at(time, name, **payload):
    return {"t": time, "n": name, "p": payload, "pc": {"cpu_id": 0}}


# ---- requests of a server ----

def requests_by_hand():
    """Requests and what was sent in them: (begin, end, port), (begin, end), from the plain events."""
    names = ("syscall_exit_accept4", "syscall_entry_close", "syscall_entry_writev", "syscall_exit_writev")
    done = run(lull, "print", "--json", "--filter", " || ".join(f'name == "{name}"' for name in names), httpd)
    requests, sends, open_requests, open_sends = [], [], {}, {}
    for event in map(json.loads, done.stdout.splitlines()):
        now, fields, context = event["time_ns"], event["fields"], event["context"]
        pid, tid = context["pid"], context["tid"]
        if event["name"] == names[0] and context["procname"] == "apache2" and fields["ret"] >= 0 and fields["family"] == 10:
            open_requests[pid, fields["ret"]] = now, fields["sport"]
        elif event["name"] == names[1] and (pid, fields["fd"]) in open_requests:
            begin, port = open_requests.pop((pid, fields["fd"]))
            requests.append((begin, now, port))
        elif event["name"] == names[2] and (pid, fields["fd"]) in open_requests:
            open_sends[tid] = now
        elif event["name"] == names[3] and tid in open_sends:
            sends.append((open_sends.pop(tid), now))
    return sorted(requests), sorted(sends)


def requests_of_a_server():
    requests, sends = requests_by_hand()
    # The same, computed once from the text of babeltrace2 (tests/period/test_django.c).
    tap.ok((len(requests), sum(end - begin for begin, end, _ in requests)) == (20, 7307836067) and len(sends) == 40,
           "the script finds the requests")
    log = tables("periodlog", *REQUESTS, httpd)["log"]
    found = [(row["begin_ns"], row["end_ns"], row["begin_captures"]) for row in log if row["period"] == "request"]
    tap.ok(found == [(begin, end, f"port = {port}") for begin, end, port in requests], "periodlog lists them, with the ports of the clients", found[:2], requests[:2])
    found = [(row["begin_ns"], row["end_ns"]) for row in log if row["period"] == "request/send"]
    tap.ok(found == sends, "and what was sent in them", found[:2], sends[:2])
    tap.ok([row["begin_ns"] for row in log] == sorted(row["begin_ns"] for row in log), "by time")
    stats = {row["period"]: row for row in tables("periodstats", *REQUESTS, httpd)["per_period_stats"]}
    tap.ok((stats["request"]["count"], stats["request"]["total_ns"]) == (20, 7307836067), "periodstats: 20 requests",
           stats["request"])
    durations = sorted(end - begin for begin, end in sends)
    tap.ok((stats["request/send"]["count"], stats["request/send"]["total_ns"], stats["request/send"]["min_ns"]) ==
           (40, sum(durations), durations[0]), "periodstats: 40 sends", stats["request/send"])
    top = tables("periodtop", "--limit=3", *REQUESTS, httpd)["top"]
    longest = sorted((end - begin for begin, end, _ in requests), reverse=True)
    tap.ok([row["duration_ns"] for row in top] == longest[:3], "periodtop: the three longest")
    freq = tables("periodfreq", *REQUESTS, httpd)["freq_duration"]
    counts = collections.Counter()
    for row in freq:
        counts[row["of"]] += row["count"]
    tap.ok(counts["Duration of period: request"] == 20 and counts["Duration of period: send"] == 40,
           "periodfreq: the histograms hold all", counts)


def histogram_bounds():
    durations = [end - begin for begin, end, _ in requests_by_hand()[0]]
    for options, low, high in ((["--min=330ms", "--max=400000"], 330000000, 400000000), (["--min=350ms"], 350000000, max(durations))):
        rows = tables("periodfreq", "--period", REQUEST, "--freq-resolution=4", *options, httpd)["freq_duration"]
        want = sum(low <= duration <= high for duration in durations)
        tap.ok((rows[0]["lower_ns"], rows[-1]["upper_ns"], sum(row["count"] for row in rows)) == (low, high, want),
               f"periodfreq {' '.join(options)}: the histogram has these bounds", rows)
    none = tables("periodfreq", "--period", REQUEST, "--min=2s", "--max=3s", httpd)
    tap.ok(not none.get("freq_duration"), "periodfreq: no duration within the bounds", none)
    for low, high in (("330ms", "400ms"), ("330000", "400000")):
        rows = tables("periodlog", "--period", REQUEST, "--min-duration", low, "--max-duration", high, httpd)["log"]
        tap.ok(len(rows) == sum(330000000 <= duration <= 400000000 for duration in durations),
               f"--min-duration {low}, --max-duration {high}")


def a_range_of_time():
    requests, _ = requests_by_hand()
    begin, end = requests[4][0], requests[9][1]
    inside = [request for request in requests if begin <= request[0] and request[1] < end]
    window = windows("periodlog", "--period", REQUEST, f"--begin={begin}", f"--end={end}", httpd)[0]
    found = [(row["begin_ns"], row["end_ns"]) for row in window["tables"]["log"]]
    tap.ok(found == [request[:2] for request in inside] and inside, "--begin and --end: what lies in them", found)
    tap.ok((window["begin_ns"], window["end_ns"]) == (begin, end), "and the window is the range")


# ---- other verbs by period ----

def windows_of_other_verbs():
    requests, sends = requests_by_hand()
    found = windows("cputop", "--limit=0", *REQUESTS, httpd)
    spans = sorted((w["begin_ns"], w["end_ns"], w["period"], w["captures"], w["is_complete"]) for w in found)
    want = sorted([(begin, end, "request", f"request.port = {port}", True) for begin, end, port in requests] +
                  [(begin, end, "request/send", None, True) for begin, end in sends])
    tap.ok([span[:3] for span in spans] == [span[:3] for span in want], "cputop: a window for each instance")
    roots = [span for span in spans if span[2] == "request"]
    tap.ok(roots == [span for span in want if span[2] == "request"], "with what it captured", roots[:2])
    for window in found:
        length = window["end_ns"] - window["begin_ns"]
        cpus = window["tables"]["per-cpu"]
        busy, ran = sum(cpu["busy_ns"] for cpu in cpus), sum(task["cpu_ns"] for task in window["tables"]["per-process"])
        whole = all(cpu["busy_ns"] + cpu["idle_ns"] + cpu["other_ns"] + cpu["unknown_ns"] == length for cpu in cpus)
        if not whole or busy != ran or busy > length * len(cpus):
            tap.ok(False, "cputop: CPU time in a window", window["begin_ns"], busy, ran, length)
            return
    tap.ok(found, "cputop: in each window busy, idle and unknown time are its length, and tasks sum to busy")
    # A window is what --begin and --end of the same time give.
    one = next(window for window in found if window["period"] == "request")
    same = windows("cputop", "--limit=0", f"--begin={one['begin_ns']}", f"--end={one['end_ns']}", httpd)[0]
    tap.ok(one["tables"] == same["tables"], "cputop: a window tells what --begin and --end tell")
    text = run(lull, "cputop", "--limit=1", *REQUESTS, httpd).stdout
    port = requests[0][2]
    tap.ok(text.count("Top CPU usage in request (request.port = ") == 20 and f"request.port = {port})" in text,
           "cputop: text names period and captures")


def every_verb_takes_periods():
    for verb in ("memtop syscallstats iolatencyfreq iolatencystats iolatencytop iolog iousagetop irqfreq irqlog irqstats "
                 "schedfreq schedlog schedstats schedtop futex nettop freq").split():
        found = windows(verb, "--period", REQUEST, httpd)
        tap.ok(len(found) == 20 and all(w["period"] == "request" for w in found), f"{verb}: a window for each request")


# ---- the streams of lttng-analyses ----

def peer_file(path):
    return peer.extractfile(f"./vectors/{path}").read().decode()


def peer_trace(name):
    path = os.path.join(scratch.name, name)
    if not os.path.isdir(path):
        jsonl_to_ctf.write_trace([json.loads(line) for line in peer_file(f"{name}/events.jsonl").splitlines()], path)
    return path


def peer_options(path):
    """The options that its answer begins with."""
    return shlex.split(peer_file(path).splitlines()[0].removeprefix("$ "))[1:]


def table_key(table):
    return table["class"] if isinstance(table["class"], str) else table["class"]["title"]


def same_cell(cls, column, theirs, ours):
    if theirs["class"] == "string" and theirs["value"].startswith("{"):
        return json.loads(ours["value"]) == ast.literal_eval(theirs["value"])  # Q-M5
    value = theirs["value"]
    if cls.startswith(("Period count freq", "Period usage ratio freq")) and column < 2:
        if (theirs["class"], ours["class"]) != ("duration", "number"):
            return False
        value /= 1000  # Q-M6
    elif theirs["class"] != ours["class"]:
        return False
    if isinstance(value, str) or theirs["class"] == "timestamp":
        return value == ours["value"]
    return math.isclose(value, ours["value"], rel_tol=1e-8, abs_tol=1e-9)


def on_edges(theirs, ours):
    """Shares are fractions: one that is a bin's edge may be found in the bin before it, there or here. Puts it where it is there."""
    for at_ in range(len(theirs) - 1):
        left, right = ([row[2] for row in rows[at_:at_ + 2]] for rows in (theirs, ours))
        moved = right[0]["value"] - left[0]["value"]
        if moved in (-1, 1) and left[1]["value"] - right[1]["value"] == moved:
            right[0]["value"], right[1]["value"] = left[0]["value"], left[1]["value"]


def answers_of_the_peer():
    for verb in VERBS:
        theirs = json.loads(peer_file(f"per/{verb}.json"))["results"]
        done = run(program(f"lttng-{verb}-mi"), *peer_options(f"per/{verb}.out"), peer_trace("per"))
        ours = {table_key(table): table for table in json.loads(done.stdout)["results"]}
        tap.ok(len(theirs) == len(ours) and {table_key(table) for table in theirs} == set(ours),
               f"{verb}: the tables of lttng-analyses", *ours)
        wrong = []
        for table in theirs:
            mine = ours[table_key(table)]
            if mine["time-range"] != table["time-range"] or len(mine["data"]) != len(table["data"]):
                wrong.append((table_key(table), mine["time-range"], len(mine["data"])))
                continue
            # Statistics: the order of periods is undefined there (Q-P7).
            key = (lambda row: [cell["value"] for cell in row[:2]]) if verb == "periodstats" else (lambda row: 0)
            theirs_rows, our_rows = sorted(table["data"], key=key), sorted(mine["data"], key=key)
            if "ratio freq" in table_key(table):
                on_edges(theirs_rows, our_rows)
            for left, right in zip(theirs_rows, our_rows):
                wrong += [(table_key(table), a, b) for column, (a, b) in enumerate(zip(left, right))
                          if not same_cell(table_key(table), column, a, b)]
        tap.ok(not wrong, f"{verb}: every cell of it", *wrong[:5])


def rows_of_text(text, begin):
    """The cells of the lines that begin so, by blanks, without what only draws."""
    return [line.replace("|", " ").split() for line in text.splitlines() if line.startswith(begin)]


def aggregated_log():
    # [begin, end] duration name child count min avg max stdev runtime captures: its order of parents is by time, as ours.
    for name in ("periodlog-agg", "periodlog-agg-group"):
        theirs = [[row[3], row[4], int(row[5]), *(None if cell == "?" else round(float(cell) * 1000) for cell in
                                                  (row[2], row[6], row[8], row[10]))]
                  for row in rows_of_text(peer_file(f"per/{name}.out"), "[")]
        done = tables("periodlog", *peer_options(f"per/{name}.out"), peer_trace("per"))["aggregated_stats"]
        ours = [[row["parent"], row["period"], row["count"], row["parent_end_ns"] - row["parent_begin_ns"], row["min_ns"],
                 row["max_ns"], row["total_ns"]] for row in done]
        tap.ok(sorted(theirs) == sorted(ours) and theirs, f"{name}: every line of it", theirs[:2], ours[:2])
    theirs = [(row[3], float(row[2])) for row in rows_of_text(peer_file("per/periodlog-hier.out"), "[")]
    ours = [(row["period"], row["duration_ns"] / 1000)
            for row in tables("periodlog", *peer_options("per/periodlog-hier.out"), peer_trace("per"))["log"]]
    tap.ok(theirs == ours and theirs, "--order-by hierarchy: its order", ours)


def groups():
    """Q-P10: per group, grandchildren count once, and `Globally` is over the group's own instances."""
    options = peer_options("per/periodstats-group.out")
    stats = tables("periodstats", *options, peer_trace("per"))["per_period_stats"]
    found = {(row.get("of"), row["period"]): (row["count"], row["total_ns"]) for row in stats}
    # Of w0 the requests 0, 2 and 4 of 5, 7 and 9 ms, of w1 the requests 1 and 3 of 6 and 8 ms.
    tap.ok(found["req.who = w0", "req"] == (3, 21000000) and found["req.who = w1", "req"] == (2, 14000000),
           "--group-by: the requests of each group", found)
    answer, wanted = peer_file("per/periodstats-group.out"), {}
    for part in answer.split("### Group: ")[1:]:
        table = part.split("Period statistics (us)\n")[1].split("\n\n")[0]
        for name, count_, *_, total in map(str.split, table.splitlines()[1:]):
            wanted[part.split(" ###")[0], name] = int(count_), round(float(total) * 1000)
    tap.ok(wanted == {key: value for key, value in found.items() if key[0]} and len(wanted) == 6,
           "--group-by: the statistics of each group", found, wanted)
    # The one b of each request of w0 took 1.0, 1.2 and 1.4 ms, in the one a of it. There: 2.0 to 2.8.
    pairs = tables("periodstats", *options, peer_trace("per"))["per_parent_stats"]
    one = [(row["min_ns"], row["avg_ns"], row["max_ns"]) for row in pairs
           if row["of"].startswith("'req.who = w0'") and row["period"] == "req/a/b"]
    tap.ok(one == [(1000000, 1200000, 1400000)] * 4, "--group-by: what lies deeper counts once", one)


def nested_windows():
    wanted = [tuple(int(part.rstrip("]").split(".")[1]) for part in line.split("[")[1].split(","))
              for line in peer_file("nest/memtop.out").splitlines() if line.startswith("Timerange")]
    found = windows("memtop", *peer_options("nest/memtop.out"), peer_trace("nest"))
    spans = [(w["begin_ns"], w["end_ns"]) for w in found]
    # Among siblings and instances that end together there is no order there (Q-P7).
    tap.ok(sorted(spans) == sorted(wanted) and len(wanted) == 9, "memtop: the windows of lttng-analyses", spans, wanted)
    tap.ok([(w["begin_ns"], w["period"]) for w in found if not w["is_complete"]][0][1] == "p/c",
           "children before parents, also of those whose end was not seen")
    tap.ok(sum(w["period"] == "p" and w["is_complete"] for w in found) == 2, "two of three were closed by their own event")


# ---- docs/PERIODS.md: differences ----

def count(path, *definitions, more=()):
    arguments = [word for definition in definitions for word in ("--period", definition)]
    return {row["period"]: row["count"] for row in
            tables("periodstats", *arguments, *more, path).get("per_period_stats", [])}


def differences():
    path = trace("differences", [
        at(0, "go", path="/a/b", empty="", big=9007199254740993, real=3), at(1000, "stop", path="/a/b"),
        at(2000, "go", path="", empty="", big=9007199254740992, real=4), at(3000, "stop", path=""),
        at(3000, "none"), at(4000, "none"), at(5000, "go", path="x", empty="", big=0, real=0)])
    close = ' : $evt.$name == "stop"'
    for quirk, begin, want in (
            ("Q-P2: a text with slashes", '$evt.path == "/a/b"', 2),
            ("Q-P4: an empty text", '$evt.$name == "go" && $evt.path == ""', 1),
            ("Q-P5: != with a missing field is false", '$evt.path != "nowhere" && $evt.big >= 1', 2),
            ("Q-P6: integers of 64 bits", "$evt.big == 9007199254740993", 1),
            ("Q-P6: 3.9 is not 3", "$evt.real == 3.9", 0)):
        found = count(path, "p : " + begin + (' : $evt.$name == "none"' if want == 2 else close))
        tap.ok(found.get("p", 0) == want, quirk, found)
    tap.ok(count(path, 'p : $evt.$name == "go" : $evt.$name != $begin.$evt.$name') == {"p": 2}, "Q-P3: names of two events")
    nested = ('p : $evt.$name == "go"' + close, 'pp(p) : $evt.$name == "go"' + close)
    tap.ok(count(path, *nested, more=("--select", "pp")) == {"p/pp": 2} and
           count(path, *nested, more=("--select", "p")) == {"p": 2}, "Q-P8: --select is exact")
    tree = tables("periodstats", "--period", nested[0], "--period", nested[1], "--period", nested[1].replace("pp", "q"), path)
    tap.ok([row["period"].strip() for row in tree["tree"]] == ["p", "pp", "q"], "Q-P9: the tree is shown once", tree["tree"])
    tap.ok(count(path, nested[0][2:], nested[0]) == {"(period 1)": 2, "p": 2}, "Q-P11: periods without name are counted")
    instant = ('p : $evt.$name == "stop" : $evt.$name == "none"', 'c(p) : $evt.$name == "stop" : $evt.$name == "none"')
    # The second `stop` and the first `none` are at one time.
    shares = tables("periodstats", "--period", instant[0], "--period", instant[1], "--begin=+2500ns", path)
    tap.ok("per_parent_percentage" not in shares or all(row["min"] is None for row in shares["per_parent_percentage"]),
           "Q-P17: an ancestor that took no time has no share", shares.get("per_parent_percentage"))
    done = run(lull, "periodstats", "--period", instant[0], "--period", instant[1], path)
    tap.ok(done.returncode == 0, "Q-P17: and it does not end the program", done.stderr)


# ---- the command line ----

def command_line():
    simple = 'p : $evt.$name == "a" : $evt.$name == "b"'
    for words, arguments in (
            ("--period-captures: needs a period", ["periodlog", "--period-captures", "p : $evt.x :"]),
            ("--period-captures: needs a period", ["why", "--period-captures", "p : $evt.x :"]),
            ("--period-captures: needs a period", ["critpath", "--tid=1", "--period-captures", "p : $evt.x :"]),
            ("--select", ["critpath", "--tid=1", "--select=p"]),
            ("no period", ["why", "--period", simple, "--select=q"]),
            ("--period: a definition is needed", ["periodstats"]),
            ("--refresh", ["cputop", "--period", simple, "--refresh=1s"]),
            ("column", ["cputop", "--period", 'p : $evt.$name = "a"']),
            ("no period", ["periodlog", "--period", simple, "--select=q"]),
            ("--order-by", ["periodlog", "--period", simple, "--order-by=size"]),
            ("no capture", ["periodlog", "--period", simple, "--group-by=p.x"]),
            ("--period needs a value", ["periodlog", "--period"]),
            ("--period-begin", ["periodlog", "--period", simple, "--period-begin=a"]),
            ("--period-begin", ["periodlog", "--period-end=a"])):
        done = run(lull, *arguments, *([] if arguments[-1] == "--period" else [httpd]))
        tap.ok(done.returncode == 2 and words in done.stderr and not done.stdout, f"refused: {' '.join(arguments)}", done.stderr)
    done = run(lull, "cputop", "--period", 'p : $evt.$name == "nosuch"', httpd)
    tap.ok(done.returncode == 1 and "no trace declares the event “nosuch” of the period “p”" in done.stderr and not done.stdout,
           "an event that does not exist", done.stderr)
    done = run(lull, "cputop", "--period", 'p : $evt.$name == "sched_switch" && $evt.next_prio == 12345', httpd)
    tap.ok(done.returncode == 0 and "no event opened a period" in done.stderr, "no period at all is told", done.stderr)
    # Options that are given several times keep their order: a child needs its parent before it.
    done = run(lull, "periodlog", "--period", SEND, "--period", REQUEST, httpd)
    tap.ok(done.returncode == 2 and "request" in done.stderr, "a parent stands before its children", done.stderr)
    page = run(lull, "periodlog", "--help").stdout
    tap.ok("several times" in " ".join(page.split()), "--help says what may be given several times")


def deprecated_options():
    events = [at(0, "other", k=0)]
    for number in range(3):
        events += [at(1000 + 10000 * number, "open", k=number, who=number % 2), at(4000 + 10000 * number, "shut", id=number)]
    path = trace("deprecated", events)
    old = ("--period-begin=open", "--period-end=shut", "--period-begin-key=k", "--period-end-key=id")
    new = ("--period", ': $evt.$name == "open" : $evt.$name == "shut" && $evt.id == $begin.$evt.k')
    for verb in ("periodlog", "periodstats"):
        done, same = run(lull, verb, "--json", *old, path), run(lull, verb, "--json", *new, path)
        tap.ok(done.stdout == same.stdout and "deprecated" in done.stderr and not same.stderr,
               f"{verb}: --period-begin is a --period", done.stderr)
    tap.ok(len(json.loads(run(lull, "periodlog", "--json", *old, path).stdout)["windows"][0]["tables"]["log"]) == 3,
           "three periods were found")
    done = run(program("lttng-periodlog-mi"), "--period-begin=open", "--period-end=shut", "--period-begin-key=k,who",
               "--period-end-key=id,id", "--period-key-value=0,0", path)
    tap.ok([[cell["value"] for cell in row[:2]] for row in json.loads(done.stdout)["results"][0]["data"]] == [[1000, 4000]],
           "--period-key-value chooses", done.stdout, done.stderr)
    done = run(program("lttng-memtop"), *old, path)
    tap.ok(done.returncode == 0 and done.stdout.count("(period 1)") == 3 and "deprecated" in done.stderr,
           "lttng-memtop takes them", done.stdout, done.stderr)
    tap.ok(run(lull, "memtop", *old, path).returncode == 2, "lull memtop does not")


# ---- LAMI ----

# What is not as lttng-analyses declares it: class, place of the column, its title, what it says of it, what is right.
DECLARED = {
    ("freq_duration", 2): "the column counts periods: its unit is not us",
    ("freq_ratio", 0): "the bounds are in %",
    ("freq_ratio", 1): "the bounds are in %",
    ("freq_ratio", 2): "the column counts periods: its unit is not %",
    ("per_parent_count", 5): "a number is delivered, no duration",
    ("per_parent_percentage", 2): "in %, not in occurrences",
    ("per_parent_percentage", 3): "in %, not in occurrences",
    ("per_parent_percentage", 4): "in %, not in occurrences",
    ("per_parent_percentage", 5): "a number is delivered, no duration",
}


def metadata_of_the_peer():
    theirs = json.load(io.TextIOWrapper(peer.extractfile("./metadata/periodlog.json"), encoding="utf-8"))
    for verb in VERBS:
        ours = json.loads(run(program(f"lttng-{verb}-mi"), "--metadata").stdout)
        tap.ok(not lami.check_metadata(ours), f"{verb}-mi: the metadata are LAMI")
        tap.ok({key: ours[key] for key in ("mi-version", "title", "description", "tags")} ==
               {key: theirs[key] for key in ("mi-version", "title", "description", "tags")}, f"{verb}-mi: title and tags")
        classes = theirs["table-classes"]
        tap.ok(set(classes) == set(ours["table-classes"]), f"{verb}-mi: the classes of lttng-analyses")
        differ = {(name, at) for name, cls in classes.items() for at, column in enumerate(cls["column-descriptions"])
                  if ours["table-classes"][name]["column-descriptions"][at] != column}
        tap.ok(differ == set(DECLARED), f"{verb}-mi: their columns, but for those that say what is wrong", differ)
        tap.ok(all([column["title"] for column in cls["column-descriptions"]] ==
                   [column["title"] for column in ours["table-classes"][name]["column-descriptions"]]
                   and cls["title"] == ours["table-classes"][name]["title"] for name, cls in classes.items()),
               f"{verb}-mi: all titles")


def lami_of_periods():
    for verb in (*VERBS, "cputop", "memtop", "irqstats", "syscallstats", "schedlog", "iolog"):
        path = program(f"lttng-{verb}-mi")
        metadata = json.loads(run(path, "--metadata").stdout)
        more = ("--log", "--top", "--stats", "--freq") if verb in VERBS else ()
        variants = [(), ("--group-by=request.port",), ("--select=send", "--aggregate-by=request")] if verb in VERBS else [()]
        for variant in variants:
            done = run(path, *REQUESTS, *more, *variant, httpd)
            document = json.loads(done.stdout)
            wrong = lami.check_results(document, metadata)
            tap.ok(done.returncode == 0 and not wrong and document["results"], f"{verb}-mi {' '.join(variant)}: LAMI",
                   done.stderr, *wrong)
        if verb == "schedlog":
            spans = {(table["time-range"]["begin"]["value"], table["time-range"]["end"]["value"])
                     for table in document["results"]}
            tap.ok(len(spans) >= 20, "schedlog-mi: each period has its table", len(spans))
    test = run(program("lttng-periodlog-mi"), "--test-compatibility", httpd)
    tap.ok((test.returncode, test.stdout) == (0, ""), "periodlog-mi: --test-compatibility is silent", test.stdout)
    none = run(program("lttng-periodlog-mi"), httpd)
    tap.ok((none.returncode, json.loads(none.stdout)) == (0, {"results": []}), "periodlog-mi: without a period, nothing")
    bad = run(program("lttng-periodlog-mi"), "--period", "p : $evt", httpd)
    tap.ok(bad.returncode == 1 and "column" in json.loads(bad.stdout)["error-message"],
           "periodlog-mi: a definition that is wrong is an error object", bad.stdout)
    both = run(program("lttng-cputop"), "--period", REQUEST, "-r", "1", httpd)
    tap.ok(both.returncode == 1 and "--refresh" in both.stderr, "lttng-cputop: no -r with --period", both.stderr)


for test in (requests_of_a_server, histogram_bounds, a_range_of_time, windows_of_other_verbs, every_verb_takes_periods,
             answers_of_the_peer, aggregated_log, groups, nested_windows, differences, command_line, deprecated_options,
             metadata_of_the_peer, lami_of_periods):
    tap.run(test.__name__, test)
scratch.cleanup()
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What all verbs have in common, held against each that `lull --help` lists: exit statuses (2 for bad usage, 1 for what never existed,
# 0 with a sentence where nothing is found), --limit and --slowest. The numbers of rows are arithmetic on what --limit 0 prints.
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from tap import Tap

sys.path[:0] = [os.path.join(os.environ["LULL_SOURCE"], "tests", "lib")]
import jsonl_to_ctf  # noqa: E402

LULL = os.environ["LULL"]
SAMPLES = os.environ["LULL_SAMPLES"]
CHAIN, DJANGO = (os.path.join(SAMPLES, name) for name in ("truth/truth-chain", "django"))
VM, OF_CALLS, OF_HEAP = (os.path.join(os.environ["LULL_SOURCE"], "tests", "data", f"{name}.tar.xz") for name in ("vm", "calls", "heap"))
OF_VERB = {"requests": DJANGO, "nettop": DJANGO, "vms": VM, "calls": OF_CALLS, "calllog": OF_CALLS, "heap": OF_HEAP}
MADE = tempfile.TemporaryDirectory()  # pylint: disable=R1732
COUNTED = os.path.join(MADE.name, "counted")
jsonl_to_ctf.write_trace([{"t": 1000 + n, "n": "sched_switch", "sec": {"perf_cpu_cycles": 10 * n}, "pc": {"cpu_id": n // 10},
                           "p": {"prev_tid": 10 + n % 9, "prev_state": 0, "next_tid": 11 + n % 9}} for n in range(40)], COUNTED)
OF_VERB["counters"] = COUNTED
READ = 'read : $evt.$name == "syscall_entry_read" : $evt.$name == "syscall_exit_read" && $evt.$tid == $begin.$evt.$tid'
# Verbs that are about no trace, or serve one until they are stopped: only their usage is tried.
NO_ANSWER = {"record", "snapshot", "top", "track", "daemon", "trigger", "mark", "collect", "view", "serve", "help", "hprof"}
# What a verb needs to have something to answer.
NEEDS = {"critpath": ("--comm", "t-asker"),
         "states": ("--states", os.path.join(os.environ["LULL_SOURCE"], "share", "states", "cpu.states")),
         **{f"period{what}": ("--period", READ) for what in ("log", "top", "stats", "freq")}}
tap = Tap()


def run(*arguments):
    return subprocess.run([LULL, *arguments], capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_STATE_HOME": "/nonexistent"})


def is_status(name, done, status, said=None):
    tap.ok(done.returncode == status and (said is None or re.search(said, done.stdout + done.stderr)), name, done.returncode,
           done.stdout[-300:], done.stderr[-300:])


def options(verb):
    return set(re.findall(r"^\s+(?:-\w, )?--([a-z0-9-]+)", run(verb, "--help").stdout, re.M))


def arguments_of(verb, scratch):
    return ("--ctf2", os.path.join(scratch, "new")) if verb == "export" else NEEDS.get(verb, ())


def statuses(verb, takes, scratch):
    is_status(f"{verb}: an unknown option", run(verb, "--no-such-option", CHAIN), 2, "there is no option --no-such-option")
    if verb in NO_ANSWER:
        return
    more = arguments_of(verb, scratch)
    is_status(f"{verb}: no trace", run(verb, *more), 2, "no trace given")
    is_status(f"{verb}: no such trace", run(verb, *more, os.path.join(scratch, "nowhere")), 1, "nowhere")
    for option, value, said in (("comm", "nobody", "no task named “nobody”"), ("host", "mars", "there is no host “mars”"),
                                ("cpu", "99", "no CPU 99"), ("container", "nowhere", "container “nowhere”")):
        if option in takes:
            done = run(verb, *(more if verb != "critpath" or option == "host" else ()), f"--{option}", value, CHAIN)
            is_status(f"{verb}: --{option} that never was", done, 1, said)
            tap.ok(not done.stdout, f"{verb}: --{option} that never was gets an error, and no empty report", done.stdout[:200])
            tap.ok(not os.listdir(scratch), f"{verb}: nothing is left", os.listdir(scratch))
    if "filter" in takes and verb not in ("critpath", "info"):
        is_status(f"{verb}: nothing found", run(verb, *more, "--filter", "cpu == 7", CHAIN), 0,
                  "[Nn]othing was|No request|There is no instance|no event was found")
    if "limit" in takes:
        is_status(f"{verb}: a bad limit", run(verb, *more, "--limit", "-1", CHAIN), 2, "--limit takes a whole number from 0, or unlimited")


def rows(verb, more, limit):
    """The rows of each table, histograms and values over time aside; of verbs without tables the lines."""
    if verb == "print":
        return {"lines": run(verb, *more, "--limit", limit, "--begin", "+300ms", "--end", "+310ms", CHAIN).stdout.splitlines()}
    done = json.loads(run(verb, "--json", *more, "--limit", limit, OF_VERB.get(verb, CHAIN)).stdout)
    if "requests" in done:
        return {"requests": done["requests"]}
    tables = {}
    for window in done["windows"]:
        for name, found in window["tables"].items():
            for row in found:
                tables.setdefault((window.get("analysis"), name, str(row.get("of"))), []).append(row)
    return {key: found for key, found in tables.items() if "freq" not in key[1] and "over-time" not in key[1]}


def limits(verb):
    more = NEEDS.get(verb, ())
    whole, limited = rows(verb, more, "0"), rows(verb, more, "2")
    if verb in ("print", "requests", "cputop"):
        tap.ok(whole == rows(verb, more, "unlimited"), f"{verb}: --limit unlimited is all too")
    wrong = {key: len(found) for key, found in limited.items() if len(found) != min(2, len(whole[key]))}
    tap.ok(limited and not wrong, f"{verb}: --limit 2 is two rows of each table", wrong)


def slowest():
    took = [one["duration_ns"] for one in json.loads(run("requests", "--json", DJANGO).stdout)["requests"]]
    took.sort(reverse=True)
    for given, count in (("3", 3), ("5%", len(took) // 20), ("0.01%", 1), ("99999", len(took))):
        found = [one["duration_ns"] for one in json.loads(run("requests", "--json", "--slowest", given, DJANGO).stdout)["requests"]]
        tap.ok(found == took[:count], f"requests --slowest {given}", len(found), count)
    for given, count in (("3", 3), ("1%", len(took) // 100)):
        found = json.loads(run("critpath", "--json", "--slowest", given, DJANGO).stdout)["paths"]
        tap.ok(len(found) == count, f"critpath --slowest {given}", len(found), count)
    whole = {kind["kind"]: kind["instances"] for kind in json.loads(run("why", "--json", DJANGO).stdout)["kinds"]}
    for given, rule in (("3", lambda n: 3), ("20%", lambda n: max(1, n // 5))):
        kinds = json.loads(run("why", "--json", "--slowest", given, DJANGO).stdout)["kinds"]
        wrong = [(kind["kind"], len(kind["slow"])) for kind in kinds
                 if whole[kind["kind"]] >= 4 and len(kind["slow"]) != rule(whole[kind["kind"]])]
        tap.ok(kinds and not wrong, f"why --slowest {given}", *wrong)
    for verb in ("requests", "critpath", "why"):
        for bad in ("0", "-1", "x", "101%", "5%%", "1.5"):
            is_status(f"{verb} --slowest {bad}", run(verb, "--slowest", bad, DJANGO), 2, "--slowest takes a number, as in 5, or a percentage")
    picture = run("critpath", "--slowest", "1", "--svg", "-", DJANGO)
    tap.ok(picture.stdout.startswith("<?xml") and picture.stdout.endswith("</svg>\n") and not picture.returncode,
           "critpath --slowest 1 --svg -: the picture alone")


def period_verbs():
    """Who opened a period is who it is of."""
    def tasks(*more):
        window, = json.loads(run("periodlog", "--json", "--period", READ, *more, CHAIN).stdout)["windows"]
        return [(row["task"]["tid"], row["task"]["comm"], row["cpu"]) for row in window["tables"]["log"]]
    everyone = tasks()
    worker = next(tid for tid, comm, _ in everyone if comm == "t-worker")
    asker = json.loads(run("critpath", "--json", "--comm", "t-asker", CHAIN).stdout)["query"]["tid"]
    for more, keeps in ((("--comm", "t-*,lttng"), lambda tid, comm, cpu: comm.startswith("t-") or comm == "lttng"),
                        (("--tid", str(worker)), lambda tid, comm, cpu: tid == worker), (("--cpu", "0"), lambda tid, comm, cpu: cpu == 0),
                        (("--pid", str(asker)), lambda tid, comm, cpu: tid in (asker, worker))):
        expected = [one for one in everyone if keeps(*one)]
        tap.ok(expected and expected != everyone and tasks(*more) == expected, f"periodlog {' '.join(more)}", tasks(*more), expected)


# What examples of the help may say of a trace in which the program that they speak of did not run.
NOT_THERE = r"was seen in the traces|no function .* was called|no counter .* was recorded|there is no host|there is no request|no trace declares the event|nothing was recorded in that time range"
NAMES = ("my-trace", "client", "httpd", "db", "host", "guest", "web", "traces")


def examples(verb, scratch):
    """Each example of the help is a command that runs, with whatever trace."""
    given = run("help", verb).stdout.partition("\nExamples:\n")[2]
    for command in re.findall(r"^  (\S.*)$", given, re.M):
        words = shlex.split(command.partition(" | ")[0].partition(" > ")[0])
        if words[0] != "lull" or not set(words) & set(NAMES):
            continue
        done = subprocess.run([LULL, *words[1:]], cwd=scratch, capture_output=True, text=True, timeout=120, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": scratch})
        tap.ok(not done.returncode or (done.returncode == 1 and re.search(NOT_THERE, done.stderr)), f"the example {command}",
               done.returncode, done.stderr[-300:])


def no_instance():
    """Requests and instances of periods that are not there are not the same."""
    nothing = ("--period", READ.replace("_read", "_mount"), CHAIN)
    for verb in ("why", "critpath", "requests"):
        is_status(f"{verb}: no request", run(verb, *(("--aggregate",) if verb == "critpath" else ()), CHAIN), 0, r"\ANo request was found\.|\A\s+No request")
    is_status("why --port: no such request", run("why", "--port", "1", DJANGO), 0, "None of the 180 requests matches")
    is_status("critpath --instance: no such request", run("critpath", "--instance", "181", DJANGO), 1,
              "no instance 181 of the requests: there are 180 .'lull requests'")
    is_status("critpath --instance: no such instance", run("critpath", "--instance", "1", *nothing), 1,
              "no instance 1 of the period: there are 0 .'lull critpath --period'")
    is_status("why: no instance", run("why", *nothing), 0, "There is no instance in these traces")


def prose(text):
    """A text without the commands in it, of whose own programs their options are."""
    text = text.replace("’", "'").replace("‘", "'").partition("\nExamples:\n")[0].partition("\nEXAMPLES\n")[0]
    text = re.sub(r"\(lull [^)]*\)|'(?:lull|perf|sudo|lttng|trace-cmd)\b[^']*'", "", text)
    return re.sub(r"^ +(?:lull|sudo|perf|lttng|trace-cmd) .*$", "", text, flags=re.M)


def mentioned(text):
    return set(re.findall(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?![\w-])", prose(text)))


def accepts(verb, option):
    """Whether the parser takes it: it says what is wrong first."""
    return f"there is no option --{option}" not in run(verb, f"--{option}=x", "--no-such-option").stderr


def mentions():
    """What help and manual page say of options and what the parser takes are the same."""
    helps = {verb: run(verb, "--help").stdout for verb in VERBS if verb != "help"}  # which is about those of all verbs
    tables = {verb: options(verb) for verb in helps}
    usual = {option for option in set().union(*tables.values()) if sum(option in table for table in tables.values()) > 4}
    tap.ok(len(usual) > 15, "the options that many verbs have", usual)
    for verb, text in helps.items():
        with open(os.path.join(os.environ["LULL_BUILD"], "man", f"lull-{verb}.1"), encoding="utf-8") as file:
            page = file.read().replace("\\-", "-").replace("\\(aq", "'").replace(".SH EXAMPLES", "EXAMPLES")
        # The parser takes what it prints as help: of that one option will do.
        asked = (mentioned(text) | mentioned(page)) - tables[verb] | {min(tables[verb])}
        missing = [option for option in asked if not accepts(verb, option)]
        tap.ok(not missing, f"{verb}: takes each option that its help and its manual page speak of", *missing)
        hidden = [option for option in usual - tables[verb] if accepts(verb, option)]
        tap.ok(not hidden, f"{verb}: its help has each usual option that it takes", *hidden)
        tap.ok(tables[verb] <= set(re.findall(r"--([a-z0-9-]+)", page)), f"{verb}: so has its manual page")


VERBS = re.findall(r"^  ([a-z]+) ", run("--help").stdout.split("\nRecord:")[1], re.M)
tap.ok(len(VERBS) > 30 and NO_ANSWER < set(VERBS), "the verbs", VERBS)
for this in VERBS:
    taken = options(this)
    with tempfile.TemporaryDirectory() as folder:
        tap.run(this, statuses, this, taken, folder)
    if "limit" in taken and this not in NO_ANSWER | {"critpath", "why"}:
        tap.run(f"{this} --limit", limits, this) if not this.endswith("freq") or this == "freq" else None
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "names.txt"), "w", encoding="utf-8") as names:
        names.write("0000000000401aac T main\n")
    for given_name in NAMES:
        os.symlink(CHAIN, os.path.join(folder, given_name))
    os.symlink(os.path.join(os.environ["LULL_SOURCE"], "share", "states", "mpi.states"), os.path.join(folder, "mpi.states"))
    for this in VERBS:
        if this not in NO_ANSWER:
            tap.run(f"{this}: examples", examples, this, folder)
tap.run("mentions", mentions)
tap.run("slowest", slowest)
tap.run("periods", period_verbs)
tap.run("no instance", no_instance)
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What verbs print on terminals of 40, 80 and 132 columns: no line is wider, in a locale without UTF-8 all is ASCII with the same
# words between blanks, and no value is shown as a program would write it. `lull print` is left out: an event is a line. So are
# commands, which are there to be copied.
import os
import pty
import re
import subprocess
import sys
import unicodedata

from tap import Tap

LULL = os.environ["LULL"]
SAMPLES = os.environ["LULL_SAMPLES"]
CHAIN, DJANGO = (os.path.join(SAMPLES, name) for name in ("truth/truth-chain", "django"))
READ = 'read : $evt.$name == "syscall_entry_read" : $evt.$name == "syscall_exit_read" && $evt.$tid == $begin.$evt.$tid'
STATES = os.path.join(os.environ["LULL_SOURCE"], "share", "states", "cpu.states")
NO_TABLES = {"record", "snapshot", "top", "track", "daemon", "trigger", "mark", "collect", "view", "serve", "help", "print", "export", "index", "flame", "hprof"}
SEVERAL_HOSTS = {"requests", "why", "sync", "nettop", "info"}
CALLS = {"critpath": [("--comm", "t-asker"), ("--comm", "t-asker", "--by-tid", "--full"), ("--period", READ, "--each")],
         "info": [("--events",)], "requests": [("--limit", "20")], "schedlog": [("--limit", "50")], "irqlog": [("--limit", "50")],
         "states": [("--states", STATES), ("--states", STATES, "--log", "--limit", "50")],
         "iolog": [("--limit", "50")], "schedfreq": [("--total",)], "periodlog": [("--period", READ, "--period-captures", "read : fd = $evt.fd")],
         **{f"period{what}": [("--period", READ)] for what in ("top", "stats", "freq")}}
FORMS = ((40, "C.UTF-8"), (80, "C.UTF-8"), (80, "C"), (132, "C"))
tap = Tap()


def in_terminal(columns, locale, *arguments):
    main, side = pty.openpty()
    process = subprocess.Popen([LULL, *arguments], stdout=side, stderr=side, stdin=subprocess.DEVNULL,
                               env={**os.environ, "TERM": "dumb", "LC_ALL": locale, "COLUMNS": str(columns), "LULL_PAGER": "cat", "TZ": "UTC"})
    os.close(side)
    output = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            break
        if not piece:
            break
        output += piece
    os.close(main)
    return process.wait(60), output.decode().replace("\r\n", "\n")


def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def words(text):
    return re.findall(r"\w+", text)


def check(verb, more):
    traces = [os.path.join(DJANGO, host) for host in ("client", "httpd", "db")] if verb in SEVERAL_HOSTS else [CHAIN]
    name = " ".join((verb, *more))[:60]
    shown = {}
    for columns, locale in FORMS:
        status, text = in_terminal(columns, locale, verb, *more, *traces)
        shown[columns, locale] = text
        lines = [line for line in text.splitlines() if not line.startswith("    lull ")]
        wide = [line for line in lines if width(line) > columns]
        tap.ok(status == 0 and len(lines) > 1 and not wide, f"{name}: {columns} columns, {locale}", status, len(wide), *wide[:3])
        tap.ok(not re.search(r"\{'|\['|: None\b|\bTrue\b|\(null\)|\bnan\b", text), f"{name}: words, no values of a language")
        if locale == "C":
            foreign = [line for line in lines if not line.isascii()]
            tap.ok(not foreign, f"{name}: ASCII, {columns} columns", *foreign[:3])
    tap.ok(words(shown[80, "C"]) == words(shown[80, "C.UTF-8"]), f"{name}: the same words in ASCII",
           *[pair for pair in zip(words(shown[80, "C"]), words(shown[80, "C.UTF-8"])) if pair[0] != pair[1]][:3])


help_text = subprocess.run([LULL, "--help"], capture_output=True, text=True, check=True).stdout
verbs = set(re.findall(r"^  ([a-z]+) ", help_text.split("\nRecord:")[1], re.M)) - NO_TABLES
tap.ok(len(verbs) > 25, "the verbs", sorted(verbs))
for this in sorted(verbs):
    for options in CALLS.get(this, [()]):
        tap.run(this, check, this, options)
sys.exit(tap.done())

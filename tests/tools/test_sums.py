#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/sum_tests.py adds up logs of Meson that are made here, and lets few tests run again."""
import json
import os
import subprocess
import sys
import tempfile

from tap import Tap

TOOL = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools", "sum_tests.py")


def entry(name, text, verdict="OK"):
    return {"name": name, "result": verdict, "stdout": text, "duration": 1}


GOOD = entry("lull:unit / sum", "ok 1 a\nok 2 b # SKIP none\n1..2\n")
CRASHED = entry("lull:unit / crash", "ok 1 a\n", "ERROR")
TOP = entry("lull:program+machine / top", "ok 1 a\nnot ok 2 b\n1..2\n", "FAIL")
TRACK = entry("lull:program+machine / track", "not ok 1 c\n1..1\n", "FAIL")
STORY = entry("lull:program+machine / story", "", "TIMEOUT")


def main():
    tap = Tap()

    def said(results, second, *options, suffix=""):
        with tempfile.TemporaryDirectory() as folder:
            for name, entries in (f"testlog{suffix}.json", results), (f"again{suffix}.json", second):
                if entries:
                    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                        file.writelines(json.dumps(one) + "\n" for one in entries)
            return subprocess.run([sys.executable, TOOL, *options, os.path.join(folder, f"testlog{suffix}.json")], capture_output=True,
                                  text=True, check=True).stdout

    better, still = entry("lull:program+machine / top", "ok 1 a\nok 2 b\n1..2\n"), TOP
    for name, results, second, wanted in (
            ("lines count", [GOOD], [], "1 0 1"),
            ("a crash is a failure", [GOOD, CRASHED], [], "2 1 1"),
            ("no log is a failure", [], [], "0 1 0"),
            ("a failed line", [GOOD, TOP], [], "2 1 1"),
            ("the second run counts", [GOOD, TOP], [better], "3 0 1"),
            ("also if it fails", [GOOD, TOP], [still], "2 1 1"),
            ("for its own test alone", [GOOD, CRASHED, TOP], [better], "4 1 1")):
        for suffix in "", "-least.sh":
            tap.ok(said(results, second, suffix=suffix).strip() == wanted, name + suffix, said(results, second, suffix=suffix))
    for name, results, wanted in (
            ("nothing failed", [GOOD], ""), ("one that observes the machine", [GOOD, TOP], "top"), ("two of them", [TOP, TRACK], "top track"),
            ("one that hung", [STORY], "story"), ("three are too many", [TOP, TRACK, STORY], ""), ("another failed too", [CRASHED, TOP], "")):
        tap.ok(said(results, [], "--again").strip() == wanted, f"again: {name}", said(results, [], "--again"))
    for name, results, wanted in (("any", [CRASHED, TOP], "crash top"), ("three are too many", [CRASHED, TOP, STORY], "")):
        tap.ok(said(results, [], "--again-any").strip() == wanted, f"again, of any suite: {name}", said(results, [], "--again-any"))
    tap.ok(said([TOP], [], "--failed").startswith("FAILED lull:program+machine / top"), "what failed is named")
    tap.ok(said([TOP], [better], "--failed").startswith("PASSED ON ITS SECOND RUN lull:program+machine / top"), "what failed at first too")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Sums the results of `meson test` runs: every TAP line counts, not only every program.
#
#   tools/sum_tests.py TESTLOG.json...           prints "PASSED FAILED SKIPPED"
#   tools/sum_tests.py --failed TESTLOG.json...  prints each failed test with its reason
#   tools/sum_tests.py --again TESTLOG.json      prints the names of failed tests that may run again
#   tools/sum_tests.py --again-any TESTLOG.json  the same where tests of any suite may
#
# A log again….json beside testlog….json holds the second run of some tests, which counts instead of their first.
#
# Only a test of the suite "machine" may run again: it observes what else happens on the machine, so that one of
# a hundred runs meets something that no recorder can see. If other tests failed too, or more than MOST_AGAIN of
# these, something is wrong with the change, and nothing runs again. Tests that had only the processor time that
# nothing else wanted may all have had too little, but no more of them.
#
# A program that speaks no TAP counts as one test. A program that failed without a failed TAP line
# (it crashed, hung or stopped before its plan was done) counts as one failed test more. A missing
# or empty log is a failed test: a run that did not happen has not passed.
import json
import os
import re
import sys

MOST_AGAIN = 2
TAP_LINE = re.compile(r"^(not )?ok\b[^#\n]*(#\s*(skip|todo)\b)?", re.IGNORECASE)
SKIP_ALL = re.compile(r"^1\.\.0\b")


def count_tap(text):
    passed = failed = skipped = 0
    for line in text.splitlines():
        match = TAP_LINE.match(line)
        if match:
            if match.group(3):
                skipped += 1
            elif match.group(1):
                failed += 1
            else:
                passed += 1
        elif SKIP_ALL.match(line):
            skipped += 1
    return passed, failed, skipped


def count_program(result):
    """Counts of one program, from its entry in meson's testlog.json."""
    verdict = result.get("result", "ERROR")
    passed, failed, skipped = count_tap(result.get("stdout") or "")
    if passed + failed + skipped == 0:
        if verdict == "SKIP":
            return 0, 0, 1
        return (1, 0, 0) if verdict in ("OK", "EXPECTEDFAIL") else (0, 1, 0)
    if verdict not in ("OK", "SKIP", "EXPECTEDFAIL") and failed == 0:
        failed = 1
    return passed, failed, skipped


def results_of(path):
    with open(path, encoding="utf-8") as log:
        return [json.loads(line) for line in log if line.strip()]


def short_name(result):
    return result["name"].rsplit(" / ", 1)[-1]


def second_results(path):
    """By name; none if nothing ran again."""
    again = os.path.join(os.path.dirname(path), os.path.basename(path).replace("testlog", "again"))
    return {short_name(result): result for result in results_of(again)} if os.path.exists(again) else {}


def names_to_repeat(path, of_any_suite):
    failed = [result for result in results_of(path) if count_program(result)[1]]
    may = len(failed) <= MOST_AGAIN and (of_any_suite or all("machine" in re.split(r"[:+ ]", result["name"]) for result in failed))
    return [short_name(result) for result in failed] if may else []


def print_failed(path):
    """Each failed program: its failed TAP lines with what explains them, or its verdict and last words."""
    try:
        results, second = results_of(path), second_results(path)
    except (OSError, ValueError):
        return  # count_log reports it
    for result in results:
        if not count_program(result)[1]:
            continue
        repeated = second.get(short_name(result))
        word = "PASSED ON ITS SECOND RUN" if repeated and not count_program(repeated)[1] else "FAILED"
        lines = (result.get("stdout") or "").splitlines()
        said = [line for line in lines if line.startswith("not ok")]
        said += [line for line in lines if line.startswith("#")][-10:]
        said += (result.get("stderr") or "").splitlines()[-5:]
        print(f"{word} {result['name']}: {result.get('result', 'ERROR')} after {result.get('duration', 0):.0f} s")
        print(*(f"    {line[:500]}" for line in said), sep="\n")


def count_log(path):
    try:
        results, second = results_of(path), second_results(path)
    except (OSError, ValueError) as error:
        print(f"sum_tests: {path}: {error}", file=sys.stderr)
        return 0, 1, 0
    if not results:
        print(f"sum_tests: {path}: no test ran", file=sys.stderr)
        return 0, 1, 0
    return tuple(map(sum, zip(*(count_program(second.get(short_name(result), result)) for result in results))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--failed"]:
        for log_path in sys.argv[2:]:
            print_failed(log_path)
        sys.exit()
    if sys.argv[1:2] in (["--again"], ["--again-any"]):
        print(*names_to_repeat(sys.argv[2], sys.argv[1] == "--again-any"))
        sys.exit()
    totals = [count_log(path) for path in sys.argv[1:]]
    print(*map(sum, zip(*totals)) if totals else (0, 1, 0))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants small faults in C sources and reports which of them no test sees.

  tools/mutate.py [-n COUNT] [--seed SEED] FILE-OR-FOLDER...
  tools/mutate.py --again REPORT.json [FILE-OR-FOLDER...]

One fault at a time: a relation or its boundary, && for ||, a constant one more or less, a negated condition, a
statement, assignment or call less, another returned value, two arguments swapped. Each is built in a copy of the tree
and meets the tests that execute its lines, the fastest and those of its own room first, until one fails. What no test
fails on has survived: a test is missing, or the fault changes nothing that matters. --again plants the survivors of a
report once more (of all files, or of those named), after tests were written for them.

A fault that does not compile, or to the same machine code, does not count. Tests that must run alone (they record, or
install) and tests over --slowest seconds of CPU time take no part; neither do removed calls that only free memory,
which the sanitizers see. The first run builds twice and measures what each test covers, which takes some minutes; the next
ones reuse what did not change. A faulty program does what it likes with your rights: do not plant in src/record as root.
"""
import argparse
import collections
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading

from mutants import find_mutants

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FAILED = re.compile(r"not ok\b(?!.*#\s*(skip|todo))", re.IGNORECASE)
PLAIN = ["-Doptimization=1", "-Ddebug=false", "-Dwerror=false",
         "-Dc_args=-Werror=int-conversion -Werror=incompatible-pointer-types"]
COVERED = ["-Doptimization=0", "-Ddebug=false", "-Dwerror=false", "-Db_coverage=true"]
MEMORY = 4 << 30  # bytes of address space and of one file that a test may use
LINK_SECONDS = 0.2  # about what it costs to link a test
ROUND = 40
OWN_ROOM = 4  # a test of the room of a file is worth so many others: it looks at what the file is for
# How long a test may take before it counts as hanging, in its usual CPU time and in seconds: the machine may be busy.
PATIENCE, LEAST_PATIENCE = 10, 20


def parse_arguments():
    head, _, rest = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(description=head, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="FILE-OR-FOLDER", help="where to plant, from the root of the tree")
    parser.add_argument("-n", "--count", type=int, default=100, help="how many faults are planted (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed plants the same faults (default: 1)")
    parser.add_argument("--again", metavar="REPORT", help="plant the survivors of this report again, and nothing else")
    parser.add_argument("--tests", default="", metavar="REGEX", help="only tests whose names match take part")
    parser.add_argument("--slowest", type=float, default=12, metavar="SECONDS",
                        help="leave out tests that take more CPU time (default: 12)")
    parser.add_argument("--scratch", default=os.path.join(SOURCE, "build-mutate"), metavar="DIR",
                        help="where the copy and its builds are kept (default: build-mutate)")
    parser.add_argument("--report", metavar="FILE", help="where the results go (default: report.json in the scratch folder)")
    args = parser.parse_args()
    if not args.paths and not args.again:
        parser.error("name files or folders, or a report with --again")
    args.scratch = os.path.abspath(args.scratch)
    return args


def read(path, mode="r"):
    with open(path, mode, encoding=None if "b" in mode else "utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def copy_tree(target):
    """Makes target a copy of the tree as it stands; what did not change is left alone, for ninja's sake."""
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
    names = {name for name in listed if name and os.path.isfile(os.path.join(SOURCE, name))}
    for folder, _, files in os.walk(target):
        for name in files:
            if os.path.relpath(os.path.join(folder, name), target) not in names:
                os.unlink(os.path.join(folder, name))
    for name in sorted(names):
        here, there = os.path.join(SOURCE, name), os.path.join(target, name)
        if not os.path.exists(there) or read(here, "rb") != read(there, "rb"):
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.copy(here, there)


def is_wanted(test, pattern):
    """Not tests that must run alone, nor the replayed inputs of fuzzing, which only look for crashes."""
    name = test["name"]
    return test["is_parallel"] and not name.startswith(("fuzz_", "replay_")) and re.search(pattern, name)


class Build:
    """A Meson build of the copy."""

    def __init__(self, tree, folder, options, pattern):
        """Of all programs, those that the tests with names of this pattern need."""
        self.folder = folder
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            subprocess.run(["meson", "setup", *options, folder, tree], check=True, stdout=subprocess.DEVNULL)
        self.make("build.ninja")  # there may be other tests than last time
        self.objects = {os.path.relpath(os.path.join(folder, command["file"]), tree): command["output"]
                        for command in json.loads(read(os.path.join(folder, "compile_commands.json")))}
        self.files = {target["id"]: [os.path.relpath(name, folder) for name in target["filename"]]
                      for target in self.introspect("targets")}

        self.tests = {test["name"]: test for test in self.introspect("tests") if is_wanted(test, pattern)}
        if not self.make(*sorted({name for test in self.tests.values() for name in self.needs(test)})):
            sys.exit(f"mutate: ninja -C {folder} fails")

    def introspect(self, what):
        return json.loads(subprocess.run(["meson", "introspect", "--" + what, self.folder], check=True,
                                         stdout=subprocess.PIPE).stdout)

    def make(self, *targets):
        return subprocess.run(["ninja", "-C", self.folder, "--quiet", *targets], check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def needs(self, test):
        return [name for target in test["depends"] for name in self.files.get(target, [])]

    def run(self, test, seconds, environment=()):
        """Whether the test passes: "passed", "failed" or "hung". Stops at the first failure."""
        process = subprocess.Popen(test["cmd"], cwd=test["workdir"] or self.folder, text=True, errors="replace",
                                   env={**os.environ, **test["env"], **dict(environment)}, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   preexec_fn=limit_resources)
        hung = threading.Event()
        timer = threading.Timer(seconds, lambda: (hung.set(), end_group(process)))
        timer.start()
        try:
            failed = any(FAILED.match(line) for line in process.stdout)
            if failed:
                end_group(process)
            process.stdout.close()
            process.wait()
        finally:  # also when a person has had enough
            timer.cancel()
            end_group(process)
        return "hung" if hung.is_set() else "failed" if failed or process.returncode != 0 else "passed"


def limit_resources():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def children_seconds():
    """CPU time of all that was waited for, which other people's work does not stretch."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Coverage:
    """What each test executes of the chosen files, and how long it takes."""

    def __init__(self, scratch, tree, covered, plain, files, args):
        self.cache_path = os.path.join(scratch, "coverage.json")
        self.tree, self.covered, self.files = tree, covered, files
        cache = json.loads(read(self.cache_path)) if os.path.exists(self.cache_path) else {}
        self.tests, self.known = plain.tests, {}
        chosen = [(name, hashlib.sha256(read(os.path.join(tree, name), "rb")).hexdigest()) for name in files]
        scripts = self.digest(os.path.join(tree, "src"), None) + self.digest(os.path.join(tree, "tests"), ".c")
        for number, (name, test) in enumerate(sorted(self.tests.items())):
            key = hashlib.sha256(repr((chosen, self.identity(test, scripts))).encode()).hexdigest()
            if cache.get(name, {}).get("key") != key:
                progress(f"what tests cover: {number}/{len(self.tests)} {name}")
                cache[name] = {"key": key, **self.measure(plain, test, covered.tests[name], args.slowest)}
                write(self.cache_path, json.dumps(cache))
            self.known[name] = cache[name]
        self.known = {name: entry for name, entry in self.known.items()
                      if entry["verdict"] == "passed" and entry["seconds"] <= args.slowest}
        left = sorted(set(self.tests) - set(self.known))
        progress()
        print(f"{len(self.known)} tests take part; left out as slow or failing: {' '.join(left) or 'none'}", flush=True)

    @staticmethod
    def digest(folder, but):
        digest = hashlib.sha256()
        for name in sorted(os.path.join(where, name) for where, _, names in os.walk(folder) for name in names):
            if but is None or not name.endswith(but):
                digest.update(name.encode() + read(name, "rb"))
        return digest.hexdigest()

    @staticmethod
    def identity(test, scripts):
        programs = [hashlib.sha256(read(word, "rb")).hexdigest() for word in test["cmd"] if os.path.isfile(word)]
        return test["cmd"], programs, scripts if any(word.endswith(".py") for word in test["cmd"]) else ""

    def measure(self, plain, test, mirror, slowest):
        begin = children_seconds()
        verdict = plain.run(test, PATIENCE * slowest)
        seconds = children_seconds() - begin
        lines, functions = {}, {}
        if verdict == "passed" and seconds <= slowest:
            folder = os.path.join(os.path.dirname(self.cache_path), "counts")
            shutil.rmtree(folder, ignore_errors=True)
            verdict = self.covered.run(mirror, 10 * PATIENCE * slowest, {"GCOV_PREFIX": folder}.items())
            lines, functions = self.collect(folder)
            shutil.rmtree(folder, ignore_errors=True)
        return {"verdict": verdict, "seconds": seconds, "lines": lines, "functions": functions}

    def collect(self, folder):
        """For each chosen file the lines and the functions (first and last line) that were executed."""
        lines, functions = {}, {}
        for file in self.files:
            place = os.path.join(self.covered.folder, self.covered.objects[file])[:-len(".o")]
            counts = folder + place + ".gcda"
            if not os.path.exists(counts):
                continue
            shutil.copy(place + ".gcno", folder + place + ".gcno")
            output = subprocess.run(["gcov", "--json-format", "--stdout", counts], check=True, stdout=subprocess.PIPE,
                                    cwd=self.covered.folder).stdout
            for entry in json.loads(output)["files"]:
                if os.path.relpath(os.path.join(self.covered.folder, entry["file"]), self.tree) == file:
                    lines[file] = [line["line_number"] for line in entry["lines"] if line["count"]]
                    functions[file] = [(function["start_line"], function["end_line"]) for function in entry["functions"]
                                       if function["execution_count"]]
        return lines, functions

    def tests_of(self, file, first, last):
        """The tests that execute the lines. Of a line without code: who enters its function, or, outside of functions,
        the file."""
        ways = [lambda entry: any(first <= line <= last for line in entry["lines"].get(file, ()))]
        if not self.has_code(file, first, last):
            ways += [lambda entry: any(a <= first <= b for a, b in entry["functions"].get(file, ())),
                     lambda entry: entry["lines"].get(file)]
        for way in ways:
            found = [name for name, entry in self.known.items() if way(entry)]
            if found:
                break
        return found

    def has_code(self, file, first, last):
        if not hasattr(self, "code"):
            self.code = {}
        if file not in self.code:
            place = os.path.join(self.covered.folder, self.covered.objects[file])[:-len(".o")]
            alone = os.path.join(os.path.dirname(self.cache_path), "notes.gcno")  # away from counts of other runs
            shutil.copy(place + ".gcno", alone)
            output = subprocess.run(["gcov", "--json-format", "--stdout", alone], check=True, cwd=self.covered.folder,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            self.code[file] = {line["line_number"] for entry in json.loads(output)["files"] for line in entry["lines"]
                               if os.path.relpath(os.path.join(self.covered.folder, entry["file"]), self.tree) == file}
        return any(line in self.code[file] for line in range(first, last + 1))


class Fault:
    """A mutant of a file, with all that a person needs to find it again."""

    def __init__(self, file, text, mutant):
        self.file, self.mutant = file, mutant
        self.first = text.count("\n", 0, mutant.start) + 1
        self.last = text.count("\n", 0, mutant.end) + 1
        begin = text.rfind("\n", 0, mutant.start) + 1
        end = text.find("\n", mutant.end)
        self.column = mutant.start - begin
        self.before = text[begin:end]
        self.after = text[begin:mutant.start] + mutant.text.rstrip("\n") + text[mutant.end:end]
        self.text = text[:mutant.start] + mutant.text + text[mutant.end:]

    def record(self, verdict, by):
        return {"file": self.file, "line": self.first, "kind": self.mutant.kind, "before": self.before,
                "after": self.after, "verdict": verdict, "by": by}

    def __str__(self):
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.file}:{self.first}: {self.mutant.kind}\n    - {before}\n    + {after}"


def chosen_files(tree, paths):
    files = []
    for path in paths:
        path = os.path.relpath(os.path.abspath(path), SOURCE)
        whole = os.path.join(tree, path)
        if os.path.isdir(whole):
            files += [os.path.relpath(os.path.join(where, name), tree) for where, _, names in os.walk(whole)
                      for name in names if name.endswith(".c")]
        elif path.endswith(".c") and os.path.exists(whole):
            files.append(path)
        else:
            sys.exit(f"mutate: {path}: neither a folder nor a C file")
    return sorted(set(files))


def choose(tree, files, args):
    """As many faults as asked for, from places that are drawn evenly over all files."""
    places = []
    for file in files:
        text = read(os.path.join(tree, file))
        places += [(file, text, place) for place in find_mutants(text)]
    rng = random.Random(args.seed)
    rng.shuffle(places)
    for file, text, place in places:
        yield Fault(file, text, rng.choice(place))


def find_again(tree, report):
    """The survivors of a report, in files that may have changed around them."""
    for old in report:
        if not old["verdict"].startswith("survived"):
            continue
        path = os.path.join(tree, old["file"])
        text = read(path) if os.path.exists(path) else ""
        faults = [fault for place in find_mutants(text) for fault in (Fault(old["file"], text, one) for one in place)]
        faults = [fault for fault in faults if (fault.before, fault.after) == (old["before"], old["after"])]
        if faults:
            yield min(faults, key=lambda fault: abs(fault.first - old["line"]))
        else:
            print(f"gone: {old['file']}:{old['line']}: {' '.join(old['before'].split())}")


class Planter:
    def __init__(self, tree, build, coverage):
        self.tree, self.build, self.coverage = tree, build, coverage
        self.dirty, self.sound, self.plain_code = None, "", {}
        self.kills = collections.Counter()  # by file and test

    def restore(self):
        if self.dirty is not None:
            write(os.path.join(self.tree, self.dirty), self.sound)
            self.dirty = None

    def code(self, file):
        return read(os.path.join(self.build.folder, self.build.objects[file]), "rb")

    def cost(self, file, name):
        """What comes first is fast, of the same room, or has seen faults of this file before."""
        is_own = name.startswith("_".join(["test", *file.split("/")[1:2]]) + "_")
        return (self.coverage.known[name]["seconds"] + LINK_SECONDS) / (1 + OWN_ROOM * is_own + self.kills[file, name])

    def plant(self, fault):
        """(verdict, by which test)"""
        file = fault.file
        tests = self.coverage.tests_of(file, fault.first, fault.last)
        if file not in self.plain_code:
            self.restore()
            self.build.make(self.build.objects[file])
            self.plain_code[file] = self.code(file)
        if self.dirty != file:
            self.restore()
            self.dirty, self.sound = file, read(os.path.join(self.tree, file))
        write(os.path.join(self.tree, file), fault.text)
        if not self.build.make(self.build.objects[file]):
            return "does not compile", None
        if self.code(file) == self.plain_code[file]:
            return "same code", None
        if not tests:
            return "survived, never executed", None
        for name in sorted(tests, key=lambda name: self.cost(file, name)):
            test = self.coverage.tests[name]
            if not self.build.make(*self.build.needs(test)):
                return "does not compile", None
            seconds = max(LEAST_PATIENCE, PATIENCE * self.coverage.known[name]["seconds"])
            verdict = self.build.run(test, seconds)
            if verdict != "passed":
                self.kills[file, name] += 1
                return "killed" if verdict == "failed" else "killed by time-out", name
        return "survived", None


def progress(text=""):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text[:100]}")
        sys.stderr.flush()


def summarize(results):
    verdicts = collections.Counter(result["verdict"] for result in results)
    killed = verdicts["killed"] + verdicts["killed by time-out"]
    survived = verdicts["survived"] + verdicts["survived, never executed"]
    if killed + survived == 0:
        return "no fault was planted"
    return (f"{killed + survived} faults: {killed} killed ({verdicts['killed by time-out']} by time-out), {survived} survived "
            f"({verdicts['survived, never executed']} never executed): {100 * killed / (killed + survived):.1f} %\n"
            f"not counted: {verdicts['does not compile']} did not compile, {verdicts['same code']} gave the same code")


def main():
    args = parse_arguments()
    tree = os.path.join(args.scratch, "tree")
    os.makedirs(tree, exist_ok=True)
    copy_tree(tree)
    if args.again:
        within = set(chosen_files(tree, args.paths))
        report = [entry for entry in json.loads(read(args.again)) if not within or entry["file"] in within]
        faults = list(find_again(tree, report))
        files, wanted = sorted({fault.file for fault in faults}), len(faults)
    else:
        files = chosen_files(tree, args.paths)
        faults, wanted = choose(tree, files, args), args.count
    progress("building")
    covered = Build(tree, os.path.join(args.scratch, "covered"), COVERED, args.tests)
    build = Build(tree, os.path.join(args.scratch, "plain"), PLAIN, args.tests)
    files = [file for file in files if file in build.objects]
    coverage = Coverage(args.scratch, tree, covered, build, files, args)
    planter, results, counted = Planter(tree, build, coverage), [], 0
    report = args.report or os.path.join(args.scratch, "report.json")
    try:
        for fault in in_order(faults, files):
            progress(f"{counted}/{wanted} {fault.file}:{fault.first}")
            verdict, by = planter.plant(fault)
            results.append(fault.record(verdict, by))
            write(report, json.dumps(results, indent=1))
            counted += verdict.startswith(("killed", "survived"))
            if verdict.startswith("survived"):
                progress()
                print(f"{fault}\n    {verdict}", flush=True)
            if counted == wanted:
                break
    finally:
        planter.restore()
        progress()
    print(summarize(results))
    print(f"results: {report}")
    return any(result["verdict"].startswith("survived") for result in results)


def in_order(faults, files):
    """In rounds that are sorted by file, so that the build seldom goes back and forth."""
    batch = []
    for fault in faults:
        if fault.file in files:
            batch.append(fault)
        if len(batch) >= ROUND:
            yield from sorted(batch, key=lambda fault: (fault.file, fault.first))
            batch = []
    yield from sorted(batch, key=lambda fault: (fault.file, fault.first))


if __name__ == "__main__":
    sys.exit(main())

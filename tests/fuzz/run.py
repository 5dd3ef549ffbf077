#!/usr/bin/env python3
"""Runs the fuzz targets of a build for some seconds each, from seeds made of scripted machines. Prints TAP.

    run.py BUILD [--seconds N] [--target NAME] [--corpus DIR] [--scripts DIR]

BUILD: a build directory configured with CC=clang and -Dfuzz=true. The corpus grows below DIR (default
BUILD/fuzz); what crashes a target is left there as crash-*, leak-*, timeout-* or oom-*, to be made a test.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "live"))
import relay  # noqa: E402


def filter_seeds():
    """The expressions of filter/language.txt."""
    with open(os.path.join(here, "..", "filter", "language.txt"), encoding="utf-8") as file:
        for line in file:
            if "\t" in line and line[0] != "#":
                yield line.rstrip("\n").split("\t")[-1].encode()


def live_seeds():
    """What a relay says to a viewer, with metadata of CTF 1.8 and of CTF 2."""
    for minor, metadata in ((13, relay.head() + relay.declare(0, "tick")), (15, b"".join(relay.head2()) + relay.declare2(0, "tick"))):
        steps = [relay.packet([(1000 + i, 0, i) for i in range(9)], 1000, 2000), ("inactive", 5000), ("retry",),
                 relay.packet([(6000, 0, 9)], 6000, 7000, discarded=2)]
        session = relay.Session(1, "test", [relay.Trace(1, [metadata])], [relay.Stream(11, 1, steps)])
        yield relay.conversation(session, minor)


# Target: the file of a trace that its seeds are, or what makes them.
TARGETS = {"filter": filter_seeds, "live": live_seeds, "metadata": "metadata", "stream": "c0_0", "index": "index/c0_0.idx"}


def make_seeds(build, corpus, scripts):
    """Traces of all scripts; returns their directories, those with an index and a stream c0_0 first."""
    traces = []
    for script in sorted(glob.glob(os.path.join(scripts, "*.scn"))):
        target = os.path.join(corpus, "traces", os.path.splitext(os.path.basename(script))[0])
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run([os.path.join(build, "tests", "make_traces"), script, target], check=True)
        traces += [os.path.dirname(path) for path in glob.glob(os.path.join(target, "**", "metadata"), recursive=True)]
    # Of CTF 2, which the scripts do not write; only their metadata is of use here.
    subprocess.run([sys.executable, os.path.join(here, "..", "corpus", "test_ctf2.py"), "--make",
                    os.path.join(corpus, "traces")], check=True,
                   env=dict(os.environ, PYTHONPATH=os.path.join(here, "..")))
    traces += [os.path.dirname(path) for path in glob.glob(os.path.join(corpus, "traces", "ctf2-*", "metadata"))]
    return sorted(traces, key=lambda t: (not os.path.exists(os.path.join(t, "index", "c0_0.idx")),
                                         not os.path.exists(os.path.join(t, "c0_0")), t))


def run(build, corpus, name, traces, seconds):
    seeds = os.path.join(corpus, name)
    os.makedirs(seeds, exist_ok=True)
    for number, seed in enumerate(TARGETS[name]() if callable(TARGETS[name]) else ()):
        with open(os.path.join(seeds, f"seed-{number}"), "wb") as file:
            file.write(seed)
    for number, trace in enumerate(() if callable(TARGETS[name]) else traces):
        source = os.path.join(trace, TARGETS[name])
        if os.path.exists(source) and os.path.getsize(source) <= 65536:
            shutil.copyfile(source, os.path.join(seeds, f"seed-{number}"))
    environment = dict(os.environ, LULL_FUZZ_TRACE=traces[0], G_SLICE="always-malloc")
    return subprocess.run([os.path.join(build, "tests", "fuzz", "fuzz_" + name), f"-max_total_time={seconds}", "-timeout=20",
                           "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1",
                           f"-artifact_prefix={corpus}/{name}-", seeds],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("build")
parser.add_argument("--seconds", type=int, default=20)
parser.add_argument("--target", choices=sorted(TARGETS))
parser.add_argument("--corpus")
parser.add_argument("--scripts", default=os.path.join(here, "..", "e2e", "scenarios"))
options = parser.parse_args()
corpus_dir = os.path.abspath(options.corpus or os.path.join(options.build, "fuzz"))
os.makedirs(corpus_dir, exist_ok=True)
trace_dirs = make_seeds(options.build, corpus_dir, options.scripts)
names = [options.target] if options.target else sorted(TARGETS)
failed = 0
print(f"1..{len(names)}")
for i, target_name in enumerate(names, 1):
    result = run(options.build, corpus_dir, target_name, trace_dirs, options.seconds)
    runs = [line.split()[-1] for line in result.stdout.splitlines() if "number_of_executed_units" in line]
    good = result.returncode == 0
    failed += not good
    print(f"{'ok' if good else 'not ok'} {i} - fuzz {target_name}: {runs[0] if runs else '?'} inputs", flush=True)
    if not good:
        print("".join(f"# {line}\n" for line in result.stdout.splitlines()[-40:]), flush=True)
sys.exit(1 if failed else 0)

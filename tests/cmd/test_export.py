#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull export --ctf2`: what it writes is checked against the rules of CTF2-SPEC-2.0 by a reader of its own (lib/ctf2.py), and Lull reads
# it back to the events that `lull print` shows of the input with the same options.
# LULL is the program, LULL_SAMPLES the directory of the unpacked samples, MAKE_TRACES the program that makes scripted traces.
import glob
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from lib.ctf2 import Broken, Metadata, check_rules, packets
from tap import Tap

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
source = os.environ["LULL_SOURCE"]
make_traces = os.environ.get("MAKE_TRACES")
django = os.path.join(samples, "django")
chain = os.path.join(samples, "truth", "truth-chain")
tap = Tap()


def run(*arguments, **more):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    environment.pop("LD_PRELOAD", None)
    return subprocess.run([lull, *arguments], capture_output=True, text=True, timeout=120, env=environment,
                          stdin=subprocess.DEVNULL, **more)


def scratch():
    return tempfile.TemporaryDirectory(prefix="lull-export-")


# --- round trips ---------------------------------------------------------------------------------------------


def events_of(*arguments):
    done = run("print", "--json", *arguments)
    return done.returncode, done.stdout, done.stderr


def round_trip(name, traces, options=(), read_options=(), least=1):
    with scratch() as scratch_dir:
        out = os.path.join(scratch_dir, "out")
        done = run("export", "--ctf2", out, *options, *traces)
        if not tap.ok(done.returncode == 0, f"{name}: exported", done.stderr):
            return
        try:
            tap.ok(check_rules(out) >= 1, f"{name}: follows the rules of CTF 2")
        except (Broken, KeyError, struct.error) as error:
            tap.ok(False, f"{name}: follows the rules of CTF 2", repr(error))
        wanted, got = events_of(*options, *traces), events_of(*read_options, out)
        tap.ok(wanted[1].count("\n") >= least, f"{name}: there is something to compare", wanted)
        same = tap.ok(wanted[1] == got[1] and got[0] == 0, f"{name}: the same events", got[2])
        if not same:
            pairs = [(a, b) for a, b in zip(wanted[1].splitlines(), got[1].splitlines()) if a != b]
            tap.ok(False, name, len(wanted[1]), len(got[1]), *pairs[:1])
        tap.ok(not os.path.exists(out + ".part"), f"{name}: nothing is left over")


def test_samples():
    round_trip("django", [django])
    for name in sorted(os.listdir(os.path.join(samples, "truth"))):
        trace = os.path.join(samples, "truth", name)
        if os.path.isdir(trace):
            round_trip(name, [trace])


def test_selections():
    round_trip("events", [django], ["--events", "sched_switch,irq_*"])
    round_trip("events without packets: still on the joined clock", [django], ["--events", "sched_switch"])
    round_trip("own clocks", [django], ["--no-sync"], ["--no-sync"])
    round_trip("one host", [django], ["--host", "db"])
    round_trip("a time range", [chain], ["--timerange", "+50ms,+150ms"])
    round_trip("begin, joined", [django], ["--begin", "+15s"])
    round_trip("a CPU", [chain], ["--cpu", "0"])
    names = {json.loads(line)["context"]["procname"] for line in events_of(chain)[1].splitlines()
             if "procname" in json.loads(line).get("context", {})}
    comm = sorted(n for n in names if n.isalnum())[0]
    round_trip("a task", [chain], ["--comm", comm])
    round_trip("a filter", [django], ["--filter", 'name == "sched_switch" && next_comm =~ "p*" || name == "irq_*"'])
    round_trip("a filter of hosts and CPUs", [django], ["--filter", 'host == "db" && cpu == 0'])
    round_trip("nothing", [chain], ["--timerange", "+0ns,+1ns", "--filter", "false"], least=0)
    with scratch() as scratch_dir:
        done = run("export", "--ctf2", os.path.join(scratch_dir, "out"), "--tid", "999999999", chain)
        tap.ok(done.returncode == 1 and "999999999" in done.stderr and not os.listdir(scratch_dir),
               "a task that never was: an error, and nothing is written", done.returncode, done.stderr)


def test_twice():
    with scratch() as scratch_dir:
        once, twice = os.path.join(scratch_dir, "once"), os.path.join(scratch_dir, "twice")
        run("export", "--ctf2", once, django)
        done = run("export", "--ctf2", twice, once)
        tap.ok(done.returncode == 0, "an export can be exported", done.stderr)
        check_rules(twice)
        tap.ok(events_of(once)[1] == events_of(twice)[1], "the same events again")
        again = os.path.join(scratch_dir, "again")
        run("export", "--ctf2", again, django)
        same = subprocess.run(["diff", "-r", once, again], capture_output=True).returncode == 0
        tap.ok(same, "the same input gives the same bytes")
        metadata = Metadata(os.path.join(once, "db", "metadata"))
        clock = next(iter(metadata.clocks.values()))
        tap.ok(clock["frequency"] == 10**9 and clock["origin"] == "unix-epoch", "the clock of a joined host", clock)


def tsdl_of(path):
    """The text in the packets of LTTng's metadata (CTF 1.8.3, 7.1; little-endian)."""
    data, at, text = open(path, "rb").read(), 0, b""
    while at < len(data):
        content, size = struct.unpack_from("<II", data, at + 24)
        text += data[at + 37:at + content // 8]
        at += size // 8
    return text.decode("utf-8")


def test_metadata():
    """What the metadata says against the input's TSDL, as LTTng wrote it."""
    with scratch() as scratch_dir:
        out = os.path.join(scratch_dir, "out")
        run("export", "--ctf2", out, chain)
        trace = os.path.dirname(glob.glob(os.path.join(out, "**", "metadata"), recursive=True)[0])
        metadata = Metadata(os.path.join(trace, "metadata"))
        tsdl = tsdl_of(glob.glob(os.path.join(chain, "**", "metadata"), recursive=True)[0])
        number = lambda text: int(text.split(" = ")[1].split(";")[0])
        clock = next(iter(metadata.clocks.values()))
        block = tsdl[tsdl.index("clock {"):]
        tap.ok(clock["frequency"] == number(block[block.index("freq = "):]), "frequency of the clock", clock)
        offset = clock["offset-from-origin"]
        tap.ok(offset["seconds"] * clock["frequency"] + offset["cycles"] == number(block[block.index("offset = "):]),
               "offset of the clock", clock)
        tap.ok(f'uuid = "{clock["uid"]}"' in block[:block.index("};")], "UUID of the clock", clock)
        environment = metadata.trace["environment"]
        tap.ok(environment["domain"] == "kernel" and f'hostname = "{environment["hostname"]}"' in tsdl, "environment",
               environment)
        names = {event["name"] for event in metadata.events.values()}
        tap.ok(all(f'name = "{name}"' in tsdl for name in names) and "sched_switch" in names, "names of events")
        for name in os.listdir(trace):
            if name != "metadata":
                tap.ok(len({packet["cpu_id"] for packet in packets(trace, name, metadata)}) == 1, f"cpu_id of {name}")


def test_scripted():
    """Traces with other shapes than the samples have: byte orders, contexts, losses."""
    if not make_traces:
        return tap.skip("scripted traces", "no make_traces")
    for script in sorted(glob.glob(os.path.join(source, "tests/e2e/scenarios/*.scn"))):
        with scratch() as scratch_dir:
            traces = os.path.join(scratch_dir, "traces")
            subprocess.run([make_traces, script, traces], check=True, capture_output=True)
            round_trip(os.path.basename(script), [traces])
            if "lost" in script:
                out = os.path.join(scratch_dir, "out")
                run("export", "--ctf2", out, traces)
                wanted, got = (json.loads(run("info", "--json", t).stdout) for t in (traces, out))
                tap.ok(lost_of(got) == lost_of(wanted) and any(lost_of(wanted)), "what was lost is still told",
                       lost_of(wanted), lost_of(got))


def lost_of(value):
    """What info's JSON says of losses, but for the paths of traces."""
    if isinstance(value, list):
        return [n for item in value for n in lost_of(item)]
    if not isinstance(value, dict):
        return []
    found = []
    for key, item in value.items():
        if key == "lost":
            intervals = [{k: v for k, v in interval.items() if k != "path"} for interval in item["intervals"]]
            found.append({**item, "intervals": intervals})
        else:
            found += lost_of(item)
    return found


# --- what goes wrong -----------------------------------------------------------------------------------------


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))


def test_errors():
    with scratch() as scratch_dir:
        out = os.path.join(scratch_dir, "out")
        done = run("export", chain)
        tap.ok(done.returncode == 2 and "--ctf2" in done.stderr, "without --ctf2", done.stderr)
        os.mkdir(out)
        done = run("export", "--ctf2", out, chain)
        tap.ok(done.returncode == 1 and out in done.stderr and "already" in done.stderr, "DIR is there", done.stderr)
        tap.ok(os.listdir(scratch_dir) == ["out"], "nothing was made", os.listdir(scratch_dir))
        os.rename(out, out + ".part")
        done = run("export", "--ctf2", out, chain)
        tap.ok(done.returncode == 1 and "out.part" in done.stderr, "DIR.part is there", done.stderr)
        tap.ok(os.listdir(scratch_dir) == ["out.part"], "and stays", os.listdir(scratch_dir))
        os.rmdir(out + ".part")
        done = run("export", "--ctf2", os.path.join(scratch_dir, "no", "out"), chain)
        tap.ok(done.returncode == 1 and "No such file" in done.stderr, "no parent", done.stderr)
        # A file that may not grow is what a full disk looks like; Python ignores the signal, and the child with it.
        done = run("export", "--ctf2", out, chain, preexec_fn=small_files, restore_signals=False)
        lines = done.stderr.strip().splitlines()
        tap.ok(done.returncode == 1 and len(lines) == 1 and "cannot be written" in lines[0], "the disk is full", *lines)
        tap.ok(os.listdir(scratch_dir) == [], "nothing half-written stays", os.listdir(scratch_dir))
        done = run("export", "--ctf2", out, "--events", "no_such", chain)
        tap.ok(done.returncode == 1 and not os.path.exists(out), "an event that is not there", done.stderr)
        bad = os.path.join(scratch_dir, "bad")
        shutil.copytree(chain, bad)
        stream = max(glob.glob(os.path.join(bad, "**", "*_0"), recursive=True), key=os.path.getsize)
        os.chmod(stream, 0o644)
        os.truncate(stream, os.path.getsize(stream) * 2 // 3)
        done = run("export", "--ctf2", out, bad)
        tap.ok(done.returncode == 1 and "damaged" in done.stderr and os.path.isdir(out), "a damaged trace", done.stderr)
        check_rules(out)
        tap.ok(events_of(out)[1] == events_of(bad)[1] != "", "what could be read was exported")


def test_interrupted():
    """Ctrl-C, kill, a closed terminal: nothing half-written stays, and the signal shows in the status."""
    big = os.path.join(samples, "django")
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        with scratch() as scratch_dir:
            out = os.path.join(scratch_dir, "out")
            done, seen = None, False
            for _ in range(20):  # a fast machine may be done before it is seen
                child = subprocess.Popen([lull, "export", "--ctf2", out, big], stderr=subprocess.DEVNULL)
                while child.poll() is None and not os.path.isdir(out + ".part"):
                    time.sleep(0.0001)
                child.send_signal(number)
                done = child.wait(timeout=60)
                seen = done == -number and not os.path.isdir(out)  # else it was done before the signal came
                if seen:
                    break
                shutil.rmtree(out, ignore_errors=True)
            tap.ok(seen, f"{number.name} ends the export", done)
            tap.ok(os.listdir(scratch_dir) == [], f"{number.name}: nothing stays", os.listdir(scratch_dir))


def test_damage():
    """A packet that is damaged in the middle is a lost packet in the export, between the times that info says."""
    with scratch() as scratch_dir:
        bad, out = os.path.join(scratch_dir, "bad"), os.path.join(scratch_dir, "out")
        shutil.copytree(chain, bad)
        stream = max(glob.glob(os.path.join(bad, "**", "*_0"), recursive=True), key=os.path.getsize)
        os.chmod(stream, 0o644)
        with open(stream, "r+b") as file:
            file.seek(1000)
            file.write(b"\xf0\x77" * 500)
        done = run("export", "--ctf2", out, bad)
        tap.ok(done.returncode == 1 and "count it as lost packets" in done.stderr, "damage is told", done.stderr)
        tap.ok(events_of(out)[1] == events_of(bad)[1] != "", "what could be read was exported")
        wanted, got = (json.loads(run("info", "--events", "--json", t).stdout)["lost"] for t in (bad, out))
        tap.ok(got["packets"] == wanted["packets"] > 0, "it is a lost packet", wanted, got)
        tap.ok(run("print", out).returncode == 0, "the export itself is whole")
        check_rules(out)


for test in (test_interrupted, test_damage, test_samples, test_selections, test_twice, test_metadata, test_scripted, test_errors):
    tap.run(test.__name__, test)
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Live sessions against a scripted relay (relay.py): what is printed, when, and how it ends. Expectations are computed
# from what the relay was told to serve; a recorded trace served live must print as it does from its directory. LULL
# is the program, LULL_SAMPLES the directory of the unpacked samples.
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import relay as r
from relay import Packet, Relay, Session, Stream, Trace, declare, declare2, head, head2, packet
from tap import Tap

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
environment = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
S = 1000000000


class Notes(threading.local):
    """The checks of one test: several tests run at a time, since most of their time is waiting."""

    def __init__(self):
        self.checks = []

    def ok(self, passed, *texts):
        self.checks.append((passed, *texts))
        return passed

    def skip(self, name, reason):
        self.checks.append((None, name, reason))


tap = Notes()


def start(*arguments):
    return subprocess.Popen([lull, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                            stdin=subprocess.DEVNULL)


def finish(process, timeout=60):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def run(*arguments, timeout=60):
    return finish(start(*arguments), timeout)


def follow(relay, *options, name="test"):
    return run("print", "--time=ns", *options, relay.session_url(name))


def events(out):
    """(time, name, number) of lines like `1000000000 cpu0 tick number = 7`."""
    found = [re.fullmatch(r"(\d+) (?:\S+ )?cpu\d+ (\w+) number = (\d+)", line) for line in out.splitlines()]
    return [(int(m[1]), m[2], int(m[3])) if m else None for m in found]


def simple(steps, pieces=None, gates=None, **more):
    return Session(1, "test", [Trace(1, pieces or [head() + declare(0, "tick")], gates)], [Stream(11, 1, steps)], **more)


def ticks(first, count, at, step=1000, id=0):
    return [(at + i * step, id, first + i) for i in range(count)]


def expected(listed, name="tick"):
    return [(time, name, number) for time, _, number in listed]


def ends_well(name, result, wanted):
    status, out, err = result
    got = events(out)
    return tap.ok(status == 0 and err == "" and got == wanted, name, f"status {status}", err,
                  f"{len(got)} events, {len(wanted)} expected", out[:300])


def fails(name, result, message, wanted=None):
    status, out, err = result
    good = status == 1 and re.search(message, err) is not None and (wanted is None or events(out) == wanted)
    return tap.ok(good, name, f"status {status}", err, out[:300])


# --- what is printed -------------------------------------------------------------------------------------------


def test_plain():
    a, b = ticks(0, 100, S), ticks(100, 50, 2 * S)
    with Relay([simple([packet(a, S, S + 500000), ("retry",), packet([], S + 600000, S + 700000), packet(b, 2 * S, 3 * S, padding=100)])]) as relay:
        ends_well("events of several packets, one of them empty", follow(relay), expected(a + b))
        tap.ok(relay.detached.wait(5), "the viewer detaches at the end")
        tap.ok(relay.commands[:4] == [r.CONNECT, r.LIST, r.CREATE, r.ATTACH], "commands come in order", relay.commands[:9])


def test_many():
    """100 000 events in packets of several streams; some larger than what is fetched at once."""
    streams, all_events, number = [], [], 0
    for cpu in range(3):
        steps, at = [], S + cpu * 7
        for size in (1, 999, 30000, 2333):
            batch = ticks(number, size, at)
            number += size
            steps += [packet(batch, at, batch[-1][0], cpu=cpu), ("retry",)]
            at = batch[-1][0] + 1000
        streams.append(Stream(20 + cpu, 1, steps))
    session = Session(1, "test", [Trace(1, [head() + declare(0, "tick")])], streams)
    for stream in streams:
        for step in stream.steps:
            if isinstance(step, Packet):
                body = step.data[52:step.content // 8]
                all_events += [(t, "tick", n) for _, t, n in struct.iter_unpack("<IQI", body)]
    with Relay([session]) as relay:
        ends_well(f"{len(all_events)} events of three streams: none missing, none twice, in order", follow(relay), sorted(all_events))


def test_beacons():
    """A quiet stream does not hold the others back once a beacon has said so, and not before."""
    seen, quiet = threading.Event(), threading.Event()
    a, b, late = ticks(0, 10, S), ticks(10, 10, 3 * S), ticks(20, 5, 4 * S)
    busy = Stream(11, 1, [packet(a, S, S + 500000), packet(b, 3 * S, 3 * S + 500000)])
    idle = Stream(12, 1, [("inactive", S // 2), quiet, ("inactive", 2 * S), seen, packet(late, 4 * S, 5 * S, cpu=1)])
    with Relay([Session(1, "test", [Trace(1, [head() + declare(0, "tick")])], [busy, idle])]) as relay:
        process = start("print", "--time=ns", relay.session_url())
        os.set_blocking(process.stdout.fileno(), False)
        time.sleep(0.7)
        before = os.read(process.stdout.fileno(), 65536) if select_readable(process) else b""
        tap.ok(before == b"", "nothing is printed that an event of the quiet stream could precede", before)
        quiet.set()
        text = b""
        end = time.monotonic() + 10
        while text.count(b"\n") < 10 and time.monotonic() < end:
            if select_readable(process):
                text += os.read(process.stdout.fileno(), 65536)
        time.sleep(0.3)
        if select_readable(process):
            text += os.read(process.stdout.fileno(), 65536)
        tap.ok(events(text.decode()) == expected(a), "what lies before the beacon is printed while both go on", text[:500])
        seen.set()
        os.set_blocking(process.stdout.fileno(), True)
        status, out, err = finish(process)
        tap.ok(status == 0 and err == "" and events(out) == expected(b + late), "and then the rest", status, err, out)


def select_readable(process, timeout=0.1):
    import select
    return bool(select.select([process.stdout], [], [], timeout)[0])


def test_beacon_merges_with_files():
    """A trace on disk goes on beside a live one that is quiet."""
    chain = os.path.join(samples, "truth", "truth-chain")
    status, out, _ = run("print", "--time=ns", "--no-sync", chain)
    times = [int(line.split()[0]) for line in out.splitlines()]
    middle = times[len(times) // 2]
    gate = threading.Event()
    stream = Stream(11, 1, [("inactive", middle), gate])
    with Relay([Session(1, "test", [Trace(1, [head() + declare(0, "tick")])], [stream])]) as relay:
        process = start("print", "--time=ns", "--no-sync", chain, relay.session_url())
        wanted, text = sum(t < middle for t in times), b""
        end = time.monotonic() + 20
        while text.count(b"\n") < wanted and time.monotonic() < end:
            if select_readable(process):
                text += os.read(process.stdout.fileno(), 1 << 20)
        tap.ok(wanted > 0 and text.count(b"\n") >= wanted and not gate.is_set(), "a file's events up to the beacon are printed", wanted,
               text.count(b"\n"))
        gate.set()
        rest = b""
        while piece := os.read(process.stdout.fileno(), 1 << 20):
            rest += piece
        process.wait(20)
        tap.ok((text + rest).count(b"\n") == len(times) and process.returncode == 0, "and all of them in the end", process.stderr.read())


def test_new_streams():
    gate = threading.Event()
    a, b, c = ticks(0, 10, S), ticks(10, 10, S + 2000000), ticks(20, 10, S + 1000000)
    first = Stream(11, 1, [packet(a, S, S + 500000), gate, packet(b, S + 2000000, 2 * S)])
    second = Stream(12, 1, [packet(c, S + 1000000, 2 * S, cpu=1)])
    session = Session(1, "test", [Trace(1, [head() + declare(0, "tick")])], [first], later=[(gate, second)])
    with Relay([session]) as relay:
        threading.Timer(0.5, gate.set).start()
        ends_well("a stream that comes later is merged in order of time", follow(relay), expected(a + c + b))
    # A trace that comes later, of another class of events, when all other streams have ended.
    gate = threading.Event()
    d = ticks(30, 10, 3 * S)
    session = Session(1, "test", [Trace(1, [head() + declare(0, "tick")]), Trace(2, [head() + declare(0, "tock")])],
                      [Stream(11, 1, [packet(a, S, S + 500000)])], later=[(gate, Stream(12, 2, [packet(d, 3 * S, 4 * S)]))])
    with Relay([session]) as relay:
        threading.Timer(0.5, gate.set).start()
        ends_well("a trace that comes when the others have ended", follow(relay), expected(a) + expected(d, "tock"))
    # Attached before anything is recorded.
    gate = threading.Event()
    session = Session(1, "test", [], [], later=[(gate, Stream(11, 1, [packet(a, S, S + 500000)]))], open=gate)
    session.traces = {1: Trace(1, [head() + declare(0, "tick")])}
    with Relay([session]) as relay:
        threading.Timer(0.5, gate.set).start()
        ends_well("a session without streams is waited for", follow(relay), expected(a))


def test_metadata():
    a, b = ticks(0, 10, S), ticks(10, 10, 2 * S, id=1)
    pieces = [head() + declare(0, "tick"), declare(1, "tock")]
    steps = [packet(a, S, S + 500000), packet(b, 2 * S, 3 * S, needs=1)]
    gate = threading.Event()
    gated = [steps[0], gate, steps[1]]
    with Relay([simple(gated, pieces, {1: gate})]) as relay:
        threading.Timer(0.3, gate.set).start()
        ends_well("event classes that come later", follow(relay), expected(a) + expected(b, "tock"))
    # A subscription by name holds for classes that come later.
    gate = threading.Event()
    with Relay([simple([packet(a, S, S + 500000), gate, packet(b, 2 * S, 3 * S, needs=1)], pieces, {1: gate})]) as relay:
        threading.Timer(0.3, gate.set).start()
        ends_well("--events of a class that comes later", follow(relay, "--events", "tock"), expected(b, "tock"))
    # Other streams go on with what they know while one needs more.
    gate = threading.Event()
    c = ticks(20, 10, 2 * S + 500)
    session = Session(1, "test", [Trace(1, pieces, {1: gate})],
                      [Stream(11, 1, [packet(a, S, S + 500000), gate, packet(b, 2 * S, 3 * S, needs=1)]),
                       Stream(12, 1, [packet(c, S, 3 * S, cpu=1)])])
    with Relay([session]) as relay:
        threading.Timer(0.3, gate.set).start()
        ends_well("a stream in the middle of a packet when metadata comes", follow(relay),
                  sorted(expected(b, "tock") + expected(a) + expected(c)))
    # Several times; each time the stream changes over to what it is then.
    gates = [threading.Event() for _ in range(4)]
    steps, wanted = [packet(a, S, S + 500000)], expected(a)
    for i, gate in enumerate(gates):
        listed = ticks(10 * i, 10, (2 + i) * S, id=1 + i)
        steps += [gate, packet(listed, (2 + i) * S, (3 + i) * S, needs=1 + i)]
        wanted += expected(listed, f"class{i}")
        threading.Timer(0.2 * (i + 1), gate.set).start()
    grown = [pieces[0], *(declare(1 + i, f"class{i}") for i in range(4))]
    with Relay([simple(steps, grown, {1 + i: gate for i, gate in enumerate(gates)})]) as relay:
        ends_well("event classes that come one after the other", follow(relay), wanted)
    # Cut in the middle of a declaration.
    text = b"".join(pieces)
    gate = threading.Event()
    with Relay([simple([packet(a, S, S + 500000), packet(b, 2 * S, 3 * S, needs=1)], [text[:-30], text[-30:]], {1: gate})]) as relay:
        threading.Timer(0.5, gate.set).start()
        for step in relay.sessions[0].streams[0].steps:
            step.needs = 1
        ends_well("metadata that comes cut in the middle", follow(relay), expected(a) + expected(b, "tock"))
    # Nothing at first.
    gate = threading.Event()
    with Relay([simple([packet(a, S, S + 500000)], [pieces[0]], {0: gate})]) as relay:
        threading.Timer(0.5, gate.set).start()
        ends_well("metadata that comes after the stream", follow(relay), expected(a))
    # As relays before 2.7 do it: the packet is refused until the metadata was fetched.
    gate = threading.Event()
    old = packet(b, 2 * S, 3 * S, needs=1, wrong="old")
    with Relay([simple([packet(a, S, S + 500000), old], pieces, {1: gate})]) as relay:
        threading.Timer(0.5, gate.set).start()
        ends_well("a packet that is refused until metadata was fetched", follow(relay), expected(a) + expected(b, "tock"))


def test_several():
    a, b = ticks(0, 10, S), ticks(10, 10, S + 500)
    kernel = Session(1, "test", [Trace(1, [head() + declare(0, "tick")])], [Stream(11, 1, [packet(a, S, 2 * S)])])
    ust = Session(2, "test", [Trace(1, [head() + declare(0, "tock")])], [Stream(12, 1, [packet(b, S, 2 * S)])])
    other = Session(3, "other", [Trace(1, [head() + declare(0, "no")])], [Stream(13, 1, [packet(a, S, 2 * S)])])
    with Relay([kernel, ust, other]) as relay:
        ends_well("all recordings of the session's name, no others", follow(relay), sorted(expected(a) + expected(b, "tock")))
    a, b = ticks(0, 10, S), ticks(10, 10, S + 500)
    session = Session(1, "test", [Trace(1, [head() + declare(0, "tick")]), Trace(2, [head("b") + declare(0, "tock")])],
                      [Stream(11, 1, [packet(a, S, 2 * S)]), Stream(12, 2, [packet(b, S, 2 * S)])])
    with Relay([session]) as relay:
        ends_well("several traces of two hosts in a session", follow(relay), sorted(expected(a) + expected(b, "tock")))


def test_limits():
    a, b = ticks(0, 10, S), ticks(10, 10, 2 * S)

    def session():
        never = threading.Event()
        return Session(1, "test", [Trace(1, [head() + declare(0, "tick")])],
                       [Stream(11, 1, [packet(a, S, S + 10000), packet(b, 2 * S, 3 * S), never]),
                        Stream(12, 1, [packet(ticks(50, 3, S + 100), S, S + 10000, cpu=1), ("inactive", 9 * S), never])], open=never)
    with Relay([session()]) as relay:
        ends_well("--limit ends a session that goes on", follow(relay, "--limit=3"),
                  sorted(expected(a[:2]) + [(S + 100, "tick", 50)]))
        tap.ok(relay.detached.wait(5), "and detaches")
    with Relay([session()]) as relay:
        ends_well("--end ends it, --cpu chooses", follow(relay, "--cpu=0", "--end=@2.000003".replace("@", "1970-01-01T00:00:0")),
                  expected(a + b[:3]))
    with Relay([session()]) as relay:
        ends_well("--begin leaves out what is before", follow(relay, "--begin=1970-01-01T00:00:02", "--end=1970-01-01T00:00:02.1"),
                  expected(b))


def test_losses():
    a, b = ticks(0, 2, S), ticks(2, 2, 2 * S)
    with Relay([simple([packet(a, S, S + 5000, discarded=4), packet(b, 2 * S, 3 * S, discarded=11)])]) as relay:
        status, out, err = follow(relay)
        tap.ok(status == 0 and events(out) == expected(a + b) and "7 events and 0 packets were lost" in err,
               "events that were discarded while attached are told", err)
    with Relay([simple([packet(a, S, S + 5000, discarded=4), packet(b, 2 * S, 3 * S, discarded=11)])]) as relay:
        status, out, err = follow(relay, "--from-start")
        tap.ok(status == 0 and events(out) == expected(a + b) and "11 events and 0 packets were lost" in err,
               "from the start on, all that were", err)


def test_recorded():
    """A recorded kernel trace, served by its index files."""
    directory = os.path.join(samples, "truth", "truth-chain")
    for root, folders, files in os.walk(directory):
        if "metadata" in files and "index" in folders:
            break
    metadata = open(os.path.join(root, "metadata"), "rb").read()

    def streams():
        for number, name in enumerate(sorted(f for f in os.listdir(root) if f not in ("metadata", "index"))):
            data = open(os.path.join(root, name), "rb").read()
            index = open(os.path.join(root, "index", name + ".idx"), "rb").read()
            size = struct.unpack(">I", index[12:16])[0]
            steps = []
            for at in range(16, len(index), size):
                offset, bits, content, begin, end, discarded, id = struct.unpack(">7Q", index[at:at + 56])
                steps += [Packet(data[offset:offset + bits // 8], begin, end, content, discarded), ("retry",)]
            if steps:
                yield Stream(100 + number, 1, steps, name, id)

    def session():
        return Session(1, "test", [Trace(1, [metadata])], streams())
    status, wanted, _ = run("print", "--time=ns", root)
    with Relay([session()]) as relay:
        got, out, err = follow(relay)
        tap.ok(got == status == 0 and out == wanted and len(out) > 1000, "a recorded trace prints live as from its directory",
               err, len(out), len(wanted))
    for options in (["--comm", "timeout"], ["--tid", "506", "--events", "sched_*"], ["--json", "--limit", "500"], ["--cpu", "1"],
                    ["--filter", 'procname == "timeout" && (name == "syscall_*" || prev_state >= 1)']):
        status, wanted, _ = run("print", *options, root)
        with Relay([session()]) as relay:
            got, text, err = run("print", *options, relay.session_url())
            tap.ok(got == status == 0 and text == wanted and len(text) > 500, f"the same with {' '.join(options)}", err, len(text), len(wanted))
    babeltrace = shutil.which("babeltrace2")
    if not babeltrace:
        tap.skip("babeltrace2 reads the same from the same relay", "babeltrace2 is not installed")
        return
    with Relay([session()], minor=13) as relay:
        parameters = f'inputs=["{relay.session_url()}"],session-not-found-action="end"'
        done = subprocess.run([babeltrace, "--no-delta", "--clock-gmt", "--clock-seconds", "-c", "source.ctf.lttng-live",
                               "-p", parameters], capture_output=True, text=True, timeout=60, env=environment)
        theirs = [m[1].replace(".", "") for line in done.stdout.splitlines() if (m := re.match(r"\[(\d+\.\d{9})\]", line))]
        ours = [line.split()[0] for line in out.splitlines()]
        tap.ok(bool(ours) and theirs == ours, "babeltrace2 reads the same from the same relay", done.stderr[-500:], len(theirs), len(ours))
    with Relay([session()], minor=13) as relay:
        status, out, err = run("print", "--format=babeltrace", "--no-delta", "--clock-gmt", "--clock-seconds", relay.session_url())
        ours, theirs = out.splitlines(), done.stdout.splitlines()
        # babeltrace2 2.0.4 prints an empty text as what the field held before.
        other = [pair for pair in zip(ours, theirs) if pair[0] != pair[1] and '= ""' not in pair[0]]
        tap.ok(status == 0 and len(ours) == len(theirs) and not other, "--format=babeltrace prints the same bytes", err, len(ours),
               len(theirs), *other[:3])


def test_filter():
    a, b = ticks(0, 10, S), ticks(10, 10, 2 * S, id=1)
    pieces = [head() + declare(0, "tick"), declare(1, "tock")]

    def session():
        gate = threading.Event()
        threading.Timer(0.3, gate.set).start()
        return simple([packet(a, S, S + 500000), gate, packet(b, 2 * S, 3 * S, needs=1)], pieces, {1: gate})
    for text, wanted in (("number >= 8 && number < 12", expected(a[8:]) + expected(b[:2], "tock")),
                         ('name == "tock" && number != 15', expected(b[:5] + b[6:], "tock")),
                         ('name == "tick"', expected(a)),
                         ("cpu == 0 && time >= 2.000000008 || number == 1", expected(a[1:2]) + expected(b[1:], "tock")),
                         ("number == 77", []),
                         ('host == "other"', [])):
        with Relay([session()]) as relay:
            ends_well(f"--filter {text}, of classes that come later too", follow(relay, "--filter", text), wanted)
    # Labels of an enumeration live in metadata that are replaced while events of it are tested.
    kind = {"type": "fixed-length-unsigned-integer", "length": 32, "byte-order": "little-endian", "alignment": 8,
            "mappings": {"low": [[0, 4]], "high": [[5, 30]]}}
    pieces = [*head2(), declare2(0, "tick", kind)]
    gates = [threading.Event() for _ in range(3)]
    later = {len(pieces) + i: gate for i, gate in enumerate(gates)}
    steps = [packet(a, S, S + 500000)]
    for i, gate in enumerate(gates):
        steps += [gate, packet(ticks(0, 10, (2 + i) * S), (2 + i) * S, (3 + i) * S, needs=len(pieces) + i)]
    with Relay([simple(steps, pieces + [declare2(1 + i, f"other{i}", kind) for i in range(3)], later)]) as relay:
        for i, gate in enumerate(gates):
            threading.Timer(0.2 * (i + 1), gate.set).start()
        status, out, err = follow(relay, "--filter", 'number == "low"', "--limit=18")
        times = [int(line.split()[0]) for line in out.splitlines()]
        tap.ok(status == 0 and err == "" and times == [(1 + n // 5) * S + n % 5 * 1000 for n in range(18)],
               "--filter by a label, while metadata grow", status, err, times)


def test_ctf2():
    """Metadata as CTF 2, which lttng-relayd 2.15 sends; fragments, and pieces of them, come one by one."""
    a, b = ticks(0, 10, S), ticks(10, 10, 2 * S, id=1)
    text = b"".join(head2()) + declare2(0, "tick")
    with Relay([simple([packet(a, S, 2 * S)], [text])], minor=15) as relay:
        ends_well("CTF 2 metadata at once", follow(relay), expected(a))
    gate = threading.Event()
    with Relay([simple([packet(a, S, S + 500000), gate, packet(b, 2 * S, 3 * S, needs=1)], [text, declare2(1, "tock")], {1: gate})]) as relay:
        threading.Timer(0.3, gate.set).start()
        ends_well("CTF 2: event record classes that come later", follow(relay), expected(a) + expected(b, "tock"))
    gates = {i: threading.Event() for i in range(1, len(head2()) + 1)}
    with Relay([simple([packet(a, S, 2 * S)], [*head2(), declare2(0, "tick")], gates)], minor=15) as relay:
        for i, gate in gates.items():
            threading.Timer(0.2 * i, gate.set).start()
        relay.sessions[0].streams[0].steps[0].needs = len(gates)
        relay.sessions[0].streams[0].steps.insert(0, gates[len(gates)])
        ends_well("CTF 2: fragment by fragment", follow(relay), expected(a))
    gate = threading.Event()
    with Relay([simple([packet(a, S, 2 * S)], [*head2(), declare2(0, "tick")], {3: gate})], minor=15) as relay:
        threading.Timer(0.3, gate.set).start()
        ends_well("CTF 2: a packet whose class comes late", follow(relay), expected(a))
    gate = threading.Event()
    with Relay([simple([gate, packet(a, S, 2 * S, needs=1)], [text[:-40], text[-40:]], {1: gate})]) as relay:
        threading.Timer(0.3, gate.set).start()
        ends_well("CTF 2: cut in the middle of a fragment", follow(relay), expected(a))


def test_start():
    """Without --from-start as babeltrace2 has it: what comes after attaching."""
    a, b = ticks(0, 10, S), ticks(10, 10, 2 * S)

    def session():
        stream = Stream(11, 1, [packet(b, 2 * S, 3 * S)], kept=[packet(a, S, S + 500000)])
        return Session(1, "test", [Trace(1, [head() + declare(0, "tick")])], [stream])
    with Relay([session()]) as relay:
        ends_well("what comes from now on", follow(relay), expected(b))
    with Relay([session()]) as relay:
        ends_well("--from-start: what the relay has kept, too", follow(relay, "--from-start"), expected(a + b))


def test_hosts():
    a, b = ticks(0, 10, S), ticks(10, 10, S + 500)

    def session():
        return Session(1, "test", [Trace(1, [head() + declare(0, "tick")]), Trace(2, [head("b") + declare(0, "tock")])],
                       [Stream(11, 1, [packet(a, S, 2 * S)]), Stream(12, 2, [packet(b, S, 2 * S)])])
    with Relay([session()]) as relay:
        ends_well("--host: the others' streams do not hold up the end", follow(relay, "--host=b"), expected(b, "tock"))
        tap.ok(relay.detached.wait(20), "and the viewer detaches")
    with Relay([session()]) as relay:
        ends_well("a filter by host", follow(relay, "--filter", 'host == "machine"'), expected(a))
    with Relay([session()]) as relay:
        status, out, err = run("print", "--format=babeltrace", "--clock-seconds", "--clock-gmt", relay.session_url())
        tap.ok(status == 0 and err == "" and len(out.splitlines()) == 20 and
               out.startswith("[1.000000000] (+?.?????????) machine tick: { cpu_id = 0 }, { number = 0 }\n"
                              "[1.000000500] (+0.000000500) b tock: { cpu_id = 0 }, { number = 10 }\n"),
               "--format=babeltrace", status, err, out[:200])


def test_relative_times():
    """Times like +1s count from when the session was attached to."""
    now = time.time_ns()
    never = threading.Event()
    a = ticks(0, 3, now - 3600 * S) + ticks(3, 3, now + 1800 * S) + ticks(6, 3, now + 7200 * S)

    def session():
        return simple([packet(a, a[0][0], a[-1][0]), ("inactive", a[-1][0] + S), never], open=never)
    with Relay([session()]) as relay:
        ends_well("--begin and --end after the attaching", follow(relay, "--begin=+1s", "--end=+1h"), expected(a[3:6]))
    with Relay([session()]) as relay:
        ends_well("the same in a filter", follow(relay, "--filter", "time >= +1s && time < +1h"), expected(a[3:6]))
    with Relay([session()]) as relay:
        status, out, err = run("print", "--time=elapsed", "--limit=4", relay.session_url())
        tap.ok(status == 0 and [line.split()[0] for line in out.splitlines()] == ["+0.000000000", "+0.000001000", "+0.000002000", "+5400.000000000"],
               "elapsed times count from the first event", status, out, err)


# --- lists -----------------------------------------------------------------------------------------------------


def test_list():
    for minor in (4, 13, 15, 99):
        sessions = [simple([]), Session(2, "other\x1b[1m", [], [], host="db", timer=1500000)]
        with Relay(sessions, minor=minor) as relay:
            status, out, err = run("info", "--json", relay.url)
            tap.ok(status == 0 and err == "" and json.loads(out) == {"version": 1, "sessions": [
                {"url": f"{relay.url}/host/machine/test", "host": "machine", "session": "test", "timer_ns": 100000000,
                 "streams": 2, "viewers": 0},
                {"url": f"{relay.url}/host/db/other?[1m", "host": "db", "session": "other?[1m", "timer_ns": 1500000000,
                 "streams": 0, "viewers": 0}]}, f"info --json lists sessions, version 2.{minor}", out, err)
            status, out, err = run("print", relay.url)
            tap.ok(status == 0 and f"{relay.url}/host/machine/test" in out and "1.5" in out and "\x1b" not in out,
                   "print lists them too when none is named", out, err)
    with Relay([]) as relay:
        status, out, err = run("info", relay.url.replace("net:", "net4:"))
        tap.ok(status == 0 and "no live sessions" in out, "a relay without sessions", out, err)


# --- how it ends otherwise ----------------------------------------------------------------------------------


def test_questions():
    with Relay([simple([])]) as relay:
        fails("an unknown session", run("print", relay.session_url("nope")), r"no such session; it has: /host/machine/test")
        for verb in (["sync"], ["requests"], ["export", "--ctf2", "no-such-directory"], ["critpath", "--tid=1"]):
            status, out, err = run(*verb, relay.session_url())
            tap.ok(status == 2 and "only once" in err, f"{verb[0]} does not take a live session", err)
        for option in ("--count-fields", "--intersection"):
            status, out, err = run("print", option, relay.session_url())
            tap.ok(status == 2 and f"no {option} of a live session" in err, f"print {option} does not", err)
    with Relay([simple([packet(ticks(0, 10, S), S, 2 * S)])]) as relay:
        with open("/dev/full", "w") as full:
            process = subprocess.run([lull, "print", relay.session_url()], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        tap.ok(process.returncode == 1 and "cannot write to standard output: No space left" in process.stderr, "a full disk",
               process.returncode, process.stderr)
    fails("a host that there is not", run("print", "net://no-such-host.invalid/host/a/b"), "address cannot be found")
    for text in ("net://", "net://:1", "net://h:0", "net://h:x", "net://h/host/a", "net://h/host//b", "net://h/a/b/c", "net://[::1"):
        status, out, err = run("print", text)
        tap.ok(status == 2 and "not the address of a live session" in err, f"bad address {text}", err)
    for status in (2, 3, 4, 5, 6, 7):
        with Relay([simple([])], attach_status=status) as relay:
            fails(f"attaching is refused with status {status}", follow(relay), r"cannot attach to the session: \w")
    with Relay([]) as relay:
        port = relay.port
    fails("nobody listens", run("print", f"net://127.0.0.1:{port}/host/a/b"), r"cannot connect to the relay: Connection refused")
    with Relay([simple([])], major=3) as relay:
        fails("another major version", follow(relay), r"speaks version 3\.13")


def test_interrupt():
    never = threading.Event()
    a = ticks(0, 10, S)
    for number in (signal.SIGINT, signal.SIGTERM):
        with Relay([simple([packet(a, S, S + 5000), never], open=never)]) as relay:
            process = start("print", "--time=ns", relay.session_url())
            first = b""
            while first.count(b"\n") < 10:
                first += os.read(process.stdout.fileno(), 65536)
            process.send_signal(number)
            status, out, err = finish(process)
            tap.ok(status == 0 and err == "" and events(first.decode() + out) == expected(a),
                   f"{number.name}: what came is printed, exit 0", status, err, out)
            tap.ok(relay.detached.wait(5), f"{number.name}: and the viewer detaches")
    # Before anything is recorded.
    with Relay([Session(1, "test", [], [], open=never)]) as relay:
        process = start("print", relay.session_url())
        end = time.monotonic() + 5
        while r.STREAMS not in relay.commands and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        status, out, err = finish(process)
        tap.ok(status == 0 and out == err == "", "Ctrl-C while nothing is recorded", status, err)
        tap.ok(relay.detached.wait(5), "and the viewer detaches")


def test_gone():
    a, b = ticks(0, 10, S), ticks(10, 30000, 2 * S)
    good = packet(a, S, S + 5000)
    for wrong in ("close",):
        with Relay([simple([good, packet(b, 2 * S, 3 * S, wrong=wrong)])]) as relay:
            fails("the relay goes away instead of a packet", follow(relay), r"relay closed the connection|connection to the relay broke", expected(a))
    with Relay([simple([good, ("close",)])]) as relay:
        fails("the relay goes away instead of an index", follow(relay), r"relay closed the connection", expected(a))
    with Relay([simple([good, ("raw", b"abc"), ("close",)])], wrong={}) as relay:
        threading.Timer(1, relay.close).start()
        fails("the relay stops in the middle of an answer", follow(relay), r"(relay closed the connection|connection to the relay broke|relay did not answer within 10 s)", expected(a))
    with Relay([simple([good])], wrong={r.STREAMS: None}) as relay:
        fails("the relay goes away when asked for streams", follow(relay), r"relay closed the connection|connection to the relay broke")
    with Relay([simple([good])], wrong={r.CONNECT: None}) as relay:
        fails("the relay goes away at once", follow(relay), r"no LTTng relay answers here: .*(closed the connection|relay broke)")
    with Relay([simple([good, packet(b, 2 * S, 3 * S, wrong="silent")])]) as relay:
        fails("a relay that is silent", follow(relay), r"did not answer within 10 s", expected(a))


def test_relay_errors():
    a, b, c = ticks(0, 10, S), ticks(10, 10, 2 * S), ticks(20, 10, 3 * S)
    good = packet(a, S, S + 5000)
    for wrong, message in (("err", "cannot read the packet"), ("eof", "ends within the packet")):
        steps = [good, packet(b, 2 * S, 2 * S + 50000, wrong=wrong), packet(c, 3 * S, 4 * S)]
        with Relay([simple(steps)]) as relay:
            fails(f"a packet the relay cannot give ({wrong})", follow(relay), message, expected(a + c))
    with Relay([simple([good, ("err",)])]) as relay:
        fails("an index the relay cannot give", follow(relay), "the relay reports an error; the stream is left out", expected(a))
    with Relay([Session(1, "test", [Trace(1, [], error=True), Trace(2, [head() + declare(0, "tick")])],
                        [Stream(11, 1, [good]), Stream(12, 2, [packet(a, S, 2 * S)])])]) as relay:
        fails("a trace without metadata is left out", follow(relay), "the relay has no metadata for it; the trace is left out", expected(a))


def index(offset=0, packet=4096, content=4096, begin=0, end=1, discarded=0, id=0, status=1, flags=0):
    return struct.pack(">7QII", offset, packet, content, begin, end, discarded, id, status, flags)


def test_hostile():
    big = (1 << 64) - 1
    a = ticks(0, 10, S)
    good = packet(a, S, S + 5000)
    answers = [
        (r.CONNECT, struct.pack(">QIII", 1, 2, 3, 1), "speaks version 2.3"),
        (r.CONNECT, b"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks version"),
        (r.LIST, struct.pack(">I", 0xFFFFFFFF), "claims to have 4294967295 sessions"),
        (r.CREATE, struct.pack(">I", 2), "refuses a viewer"),
        (r.ATTACH, struct.pack(">II", 1, 0xFFFFFFFF), "claims to have 4294967295 new streams"),
        (r.STREAMS, struct.pack(">II", 1, 0x7FFFFFFF), "claims to have 2147483647 new streams"),
        (r.STREAMS, struct.pack(">II", 77, 0), "GET_NEW_STREAMS with status 77"),
        (r.METADATA, struct.pack(">QI", big, 1), "bytes of metadata: Lull reads at most"),
        (r.METADATA, struct.pack(">QI", 1 << 40, 1), "bytes of metadata: Lull reads at most"),
        (r.METADATA, struct.pack(">QI", 4, 44), "GET_METADATA with status 44"),
        (r.INDEX, index(packet=big - 7, content=8), "impossible packet"),
        (r.INDEX, index(packet=0, content=0), "impossible packet"),
        (r.INDEX, index(packet=12, content=8), "impossible packet"),
        (r.INDEX, index(packet=4096, content=8192), "impossible packet"),
        (r.INDEX, index(offset=big), "impossible packet"),
        (r.INDEX, index(begin=5, end=4), "impossible packet"),
        (r.INDEX, index(status=0), "GET_NEXT_INDEX with status 0"),
        (r.INDEX, index(status=7), "GET_NEXT_INDEX with status 7"),
    ]
    for command, answer, message in answers:
        with Relay([simple([good])], wrong={command: answer}) as relay:
            fails(f"hostile answer to command {command}: {message}", follow(relay), message)
    with Relay([Session(1, "x" * 64, [], [])], minor=15,
               wrong={r.LIST: struct.pack(">IQIIIIII", 1, 1, 1, 1, 1, 0xFFFFFFF0, 1, 0)}) as relay:
        fails("a session's name of 4 GiB", run("info", relay.url), "session name of 4294967280 bytes")
    for wrong, message in (("long", "but 4?[0-9]+ were requested"), ("zero", "sent 0 bytes of a packet"), ("status", "with status 99")):
        with Relay([simple([good, packet(ticks(10, 10, 2 * S), 2 * S, 3 * S, wrong=wrong)])]) as relay:
            fails(f"a packet's answer: {wrong}", follow(relay), message, expected(a))
    damaged = packet(ticks(10, 10, 2 * S), 2 * S, 2 * S + 50000)
    damaged.data = b"\x00" * len(damaged.data)
    with Relay([simple([good, damaged, packet(ticks(20, 10, 3 * S), 3 * S, 4 * S)])]) as relay:
        fails("a packet of zeros is left out", follow(relay), "no packet starts here", expected(a + ticks(20, 10, 3 * S)))


class Flood(Relay):
    """Answers requests for an index before they come, without end: `piece` and again `piece`, `pause` seconds between."""

    def __init__(self, sessions, piece, pause=0.0):
        self.piece, self.pause = piece, pause
        super().__init__(sessions)

    def index(self, _):
        connection = self.connection
        threading.Thread(target=self.drain, args=(connection,), daemon=True).start()
        while not self.stop.wait(self.pause) if self.pause else not self.stop.is_set():
            connection.sendall(self.piece)
        return None

    def drain(self, connection):
        try:
            while connection.recv(65536):
                pass
        except OSError:
            pass


def peak_mib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def test_flood():
    """A relay that is never waited for: the reader can be stopped, and what it keeps of the damage has a bound."""
    with Flood([simple([])], index(packet=416, content=0, begin=S, end=S) * 4096) as relay:
        process = start("print", relay.session_url())
        time.sleep(6)
        peak = peak_mib(process)
        process.send_signal(signal.SIGINT)
        try:
            status, _, err = finish(process, 20)
        except subprocess.TimeoutExpired:
            process.kill()
            status, err = "goes on", process.communicate()[1]
        more = re.search(r"… and (\d+) more places", err)
        tap.ok(status == 1 and more is not None, "Ctrl-C in a flood of empty packets", status, err[-300:])
        # Whoever kept each of 300 000 would need more than 64 MiB for them; addresses that are watched take more by themselves.
        if more and int(more[1]) > 300000 and "ASAN_OPTIONS" not in os.environ:
            tap.ok(peak < 64, f"{more[1]} damaged packets do not pile up", f"{peak:.1f} MiB")
        else:
            tap.skip("damaged packets do not pile up", "the machine was too slow for a flood")


def test_drip():
    """Each byte of an answer in time, but not the answer."""
    with Flood([simple([])], b"\0", 0.5) as relay:
        began = time.monotonic()
        result = follow(relay)
        fails("a relay that drips is given up", result, "the relay did not answer within 10 s")
        took = time.monotonic() - began
        tap.ok(took < 25, "after 10 s in all", f"{took:.1f} s")


def test_unparsed():
    """Metadata with an error that more text will not mend: it is reported also if nobody waits until patience ends."""
    never = threading.Event()
    session = simple([never], [b"what is this { ; }"], timer=100000000, open=never)
    with Relay([session]) as relay:
        process = start("print", relay.session_url())
        end = time.monotonic() + 10
        while r.METADATA not in relay.commands and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        fails("metadata that cannot be parsed is reported", finish(process), "line 1, column 6.*the trace is left out")
    with Relay([Session(1, "test", [Trace(1, [b"what is this { ; }"])], [], open=never)]) as relay:
        process = start("print", relay.session_url())
        end = time.monotonic() + 10
        while r.METADATA not in relay.commands and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        fails("also if no stream needs it yet", finish(process), "line 1, column 6.*the trace is left out")


def test_nonsense():
    """What might yet become clear is waited for."""
    good = packet(ticks(0, 10, S), S, S + 5000)
    with Relay([simple([good], [b"nonsense {"])]) as relay:
        fails("metadata that is nonsense", follow(relay), "metadata of trace 1:.*; the trace is left out", [])
    with Relay([Session(1, "test", [Trace(1, [head() + declare(0, "tick")])], [Stream(11, 1, [good], class_id=5)])]) as relay:
        fails("a stream of an unknown class", follow(relay), "class 5, which the metadata does not declare", [])


def test_noise():
    """Answers of random bytes: an end with a message, never a crash."""
    noise = random.Random(5)
    bad = []
    for batch in range(4):
        turns = []
        for turn in range(10):
            command = noise.choice([r.CONNECT, r.LIST, r.ATTACH, r.STREAMS, r.INDEX, r.PACKET, r.METADATA])
            data = bytearray(noise.randbytes(noise.choice([4, 12, 20, 64, 5000])))
            if noise.random() < 0.5:
                data[:4] = struct.pack(">I", 1)
            relay = Relay([simple([packet(ticks(0, 100, S), S, 2 * S)])], wrong={command: bytes(data)})
            turns.append((command, relay, start("print", relay.session_url())))
        time.sleep(1)
        for command, relay, process in turns:
            relay.close()
        for command, relay, process in turns:
            try:
                status, _, err = finish(process, 15)
            except subprocess.TimeoutExpired:
                process.kill()
                status, err = "hangs", ""
            if status not in (0, 1) or "anitizer" in err:
                bad.append((batch, command, status, err[-300:]))
    tap.ok(not bad, "forty answers of noise", *bad)



FUNCTIONS = (test_drip, test_flood, test_unparsed, test_gone, test_hostile, test_nonsense, test_noise, test_plain, test_many,
             test_beacons, test_beacon_merges_with_files, test_new_streams, test_metadata, test_several, test_limits, test_losses, test_recorded, test_list, test_questions,
             test_interrupt, test_relay_errors, test_filter, test_ctf2, test_start, test_hosts, test_relative_times)


def checks_of(function):
    tap.checks = []
    began = time.monotonic()
    try:
        function()
    except Exception:  # noqa: BLE001 - whatever it was, the other tests go on
        tap.ok(False, function.__name__ + ": no exception", traceback.format_exc())
    return tap.checks, f"# {function.__name__}: {time.monotonic() - began:.1f} s"


def main():
    results = Tap()
    with ThreadPoolExecutor(6) as pool:
        for checks, note in pool.map(checks_of, FUNCTIONS):
            print(note)
            for passed, *texts in checks:
                if passed is None:
                    results.skip(*texts)
                else:
                    results.ok(passed, *texts)
    return results.done()


raise SystemExit(main())

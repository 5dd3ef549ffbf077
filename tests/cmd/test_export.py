#!/usr/bin/env python3
# `lull export --ctf2`: what it writes is checked against the rules of CTF2-SPEC-2.0 by a reader of its own (metadata and packets, not
# a line shared with Lull), and Lull reads it back to the events that `lull print` shows of the input with the same options.
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


# --- the rules of CTF 2, told anew ---------------------------------------------------------------------------

INTEGERS = {f"{length}-length-{sign}-integer" for length in ("fixed", "variable") for sign in ("signed", "unsigned")}
NUMBER = {"length", "byte-order", "bit-order", "alignment"}
PROPERTIES = {
    "fixed-length-bit-array": NUMBER,
    "fixed-length-bit-map": NUMBER | {"flags"},
    "fixed-length-boolean": NUMBER,
    "fixed-length-unsigned-integer": NUMBER | {"preferred-display-base", "mappings", "roles"},
    "fixed-length-signed-integer": NUMBER | {"preferred-display-base", "mappings"},
    "fixed-length-floating-point-number": NUMBER,
    "variable-length-unsigned-integer": {"preferred-display-base", "mappings", "roles"},
    "variable-length-signed-integer": {"preferred-display-base", "mappings"},
    "null-terminated-string": {"encoding"},
    "static-length-string": {"length", "encoding"},
    "dynamic-length-string": {"length-field-location", "encoding"},
    "static-length-blob": {"length", "media-type", "roles"},
    "dynamic-length-blob": {"length-field-location", "media-type"},
    "structure": {"member-classes", "minimum-alignment"},
    "static-length-array": {"element-field-class", "length", "minimum-alignment"},
    "dynamic-length-array": {"element-field-class", "length-field-location", "minimum-alignment"},
    "optional": {"field-class", "selector-field-location", "selector-field-ranges"},
    "variant": {"options", "selector-field-location"},
}
REQUIRED = {"length", "byte-order", "member-classes", "element-field-class", "length-field-location", "field-class",
            "selector-field-location", "options", "flags"}
SCOPES = ["packet-header", "packet-context", "event-record-header", "event-record-common-context",
          "event-record-specific-context", "event-record-payload"]
ROLES = {"packet-header": {"packet-magic-number", "metadata-stream-uuid", "data-stream-class-id", "data-stream-id"},
         "packet-context": {"packet-total-length", "packet-content-length", "default-clock-timestamp",
                            "packet-end-default-clock-timestamp", "discarded-event-record-counter-snapshot",
                            "packet-sequence-number"},
         "event-record-header": {"event-record-class-id", "default-clock-timestamp"}}


class Broken(Exception):
    pass


def rule(holds, *what):
    if not holds:
        raise Broken(" ".join(map(str, what)))


def power_of_two(n):
    return isinstance(n, int) and n > 0 and n & (n - 1) == 0


def ranges_of(value):
    rule(isinstance(value, list) and value, "ranges are a list", value)
    for lower, upper in value:
        rule(isinstance(lower, int) and isinstance(upper, int) and lower <= upper, "range", lower, upper)
    return value


class Scope:
    """Walks the classes of an event record in their order; knows which fields stand before."""

    def __init__(self):
        self.roots = {}

    def find(self, location, trail):
        """The class that a location leads to, which must stand before the field that `trail` leads to."""
        rule(set(location) <= {"origin", "path"} and location["origin"] in SCOPES, "location", location)
        rule(location["origin"] in self.roots, "no fields of", location["origin"])
        found = self.roots[location["origin"]]
        place = [location["origin"]]
        rule(location["path"], "an empty path")
        for name in location["path"]:
            found = self.inside(found)
            while found["type"] == "variant":  # the option that the referring field is in, if it is in one
                option = trail[len(place)] if place == trail[:len(place)] else None
                rule(option is not None, "a way into an option from outside", location)
                place.append(option)
                found = self.inside(found["options"][option]["field-class"])
            hits = [(i, m) for i, m in enumerate(found["member-classes"]) if m["name"] == name]
            rule(len(hits) == 1, "no field", name, "of", location)
            place.append(hits[0][0])
            found = hits[0][1]["field-class"]
        order = [SCOPES.index(place[0])] + place[1:]
        rule(order < [SCOPES.index(trail[0])] + trail[1:], "a reference forward", location)
        return found

    @staticmethod
    def inside(field_class):
        while field_class["type"] in ("static-length-array", "dynamic-length-array", "optional"):
            field_class = field_class.get("element-field-class") or field_class["field-class"]
        return field_class

    def check(self, name, root):
        rule(root["type"] == "structure", name, "is a structure")
        self.roots[name] = root
        self.field(root, [name], ROLES.get(name, set()))
        return root

    def field(self, fc, trail, roles):
        kind = fc.get("type")
        rule(kind in PROPERTIES, "field class type", kind)
        rule(set(fc) <= PROPERTIES[kind] | {"type"}, kind, "has", set(fc) - PROPERTIES[kind])
        for key in (PROPERTIES[kind] & REQUIRED):
            rule(key in fc, kind, "lacks", key)
        rule(set(fc.get("roles", [])) <= roles, "roles", fc.get("roles"), trail)
        for key in ("alignment", "minimum-alignment"):
            rule(power_of_two(fc.get(key, 1)), key, fc.get(key))
        if kind.startswith("fixed-length"):
            rule(1 <= fc["length"] <= 64, "length", fc["length"])
            rule(fc["byte-order"] in ("little-endian", "big-endian"), fc["byte-order"])
            rule(fc.get("bit-order", "first-to-last") in ("first-to-last", "last-to-first"), fc)
            rule(kind != "fixed-length-floating-point-number" or fc["length"] in (16, 32, 64), fc)
        elif "length" in fc:
            rule(isinstance(fc["length"], int) and fc["length"] >= 0, fc)
        rule(fc.get("preferred-display-base", 10) in (2, 8, 10, 16), fc)
        rule(fc.get("encoding", "utf-8") in ("utf-8", "utf-16be", "utf-16le", "utf-32be", "utf-32le"), fc)
        for ranges in list(fc.get("mappings", {}).values()) + list(fc.get("flags", {}).values()):
            ranges_of(ranges)
        if "length-field-location" in fc:
            rule(self.find(fc["length-field-location"], trail)["type"] in INTEGERS, "a length is an integer")
        if kind == "structure":
            names = [member["name"] for member in fc["member-classes"]]
            rule(len(set(names)) == len(names), "names twice", names)
            for i, member in enumerate(fc["member-classes"]):
                rule(set(member) <= {"name", "field-class", "attributes"}, member)
                self.field(member["field-class"], trail + [i], roles)
        if "element-field-class" in fc:
            self.field(fc["element-field-class"], trail, set())
        if kind == "optional":
            selector = self.find(fc["selector-field-location"], trail)["type"]
            rule(("selector-field-ranges" in fc) == (selector != "fixed-length-boolean"), fc)
            self.field(fc["field-class"], trail, set())
        if kind == "variant":
            rule(self.find(fc["selector-field-location"], trail)["type"] in INTEGERS, "a selector is an integer")
            rule(fc["options"], "a variant without options")
            spans = sorted(tuple(r) for o in fc["options"] for r in ranges_of(o["selector-field-ranges"]))
            rule(all(a[1] < b[0] for a, b in zip(spans, spans[1:])), "ranges overlap", spans)
            names = [o["name"] for o in fc["options"] if "name" in o]
            rule(len(set(names)) == len(names), "option names twice", names)
            for i, option in enumerate(fc["options"]):
                rule(set(option) <= {"name", "selector-field-ranges", "field-class", "attributes"}, option)
                self.field(option["field-class"], trail + [i], set())


def no_duplicates(pairs):
    rule(len({key for key, _ in pairs}) == len(pairs), "keys twice", [key for key, _ in pairs])
    return dict(pairs)


def fragments(path):
    data = open(path, "rb").read()
    rule(data.startswith(b"\x1e"), "the metadata begins with a record separator")
    for text in data[1:].split(b"\x1e"):
        rule(text.endswith(b"\n"), "a JSON text ends with a line feed")
        yield json.loads(text.decode("utf-8"), object_pairs_hook=no_duplicates)


IDENTITY = {"namespace", "name", "uid"}
FRAGMENTS = {
    "preamble": {"version", "uuid", "attributes"},
    "trace-class": IDENTITY | {"environment", "packet-header-field-class", "attributes"},
    "clock-class": IDENTITY | {"id", "description", "frequency", "origin", "offset-from-origin", "precision", "accuracy",
                               "attributes"},
    "data-stream-class": IDENTITY | {"id", "default-clock-class-id", "packet-context-field-class",
                                     "event-record-header-field-class", "event-record-common-context-field-class",
                                     "attributes"},
    "event-record-class": IDENTITY | {"id", "data-stream-class-id", "specific-context-field-class",
                                      "payload-field-class", "attributes"},
}


class Metadata:
    def __init__(self, path):
        self.clocks, self.streams, self.events, self.trace = {}, {}, {}, None
        for number, fragment in enumerate(fragments(path)):
            kind = fragment["type"]
            rule((kind == "preamble") == (number == 0), "the preamble comes first, and once")
            rule(kind in FRAGMENTS and set(fragment) <= FRAGMENTS[kind] | {"type"}, kind, sorted(fragment))
            getattr(self, kind.replace("-", "_"))(fragment)

    def preamble(self, fragment):
        rule(fragment["version"] == 2, "version")
        rule(len(fragment["uuid"]) == 16 and all(0 <= b < 256 for b in fragment["uuid"]), "uuid")
        self.uuid = bytes(fragment["uuid"])

    def trace_class(self, fragment):
        rule(self.trace is None and not self.streams, "one trace class, before the streams")
        rule(all(isinstance(v, (str, int)) for v in fragment.get("environment", {}).values()), "environment")
        self.trace = fragment

    def clock_class(self, fragment):
        rule(fragment["id"] not in self.clocks and fragment["frequency"] > 0, "clock", fragment)
        offset = fragment.get("offset-from-origin", {"seconds": 0, "cycles": 0})
        rule(0 <= offset["cycles"] < fragment["frequency"], "offset", offset)
        rule(fragment.get("origin", "unix-epoch") == "unix-epoch" or {"name", "uid"} <= set(fragment["origin"]), "origin")
        self.clocks[fragment["id"]] = fragment

    def data_stream_class(self, fragment):
        rule(fragment["id"] not in self.streams, "stream class twice")
        rule(fragment.get("default-clock-class-id", "") in list(self.clocks) + [""], "clock of the stream class")
        scope = Scope()
        scope.check("packet-header", self.trace["packet-header-field-class"])
        for name in SCOPES[1:4]:
            if name + "-field-class" in fragment:
                scope.check(name, fragment[name + "-field-class"])
        self.streams[fragment["id"]] = fragment

    def event_record_class(self, fragment):
        stream = self.streams[fragment["data-stream-class-id"]]
        key = (fragment["data-stream-class-id"], fragment["id"])
        rule(key not in self.events, "event record class twice", key)
        scope = Scope()
        scope.roots["packet-header"] = self.trace["packet-header-field-class"]
        for name in SCOPES[1:4]:
            if name + "-field-class" in stream:
                scope.roots[name] = stream[name + "-field-class"]
        for name, key_name in (("event-record-specific-context", "specific-context-field-class"),
                               ("event-record-payload", "payload-field-class")):
            if key_name in fragment:
                scope.check(name, fragment[key_name])
        self.events[key] = fragment


# --- packets, by the layout that the metadata declares -------------------------------------------------------


def alignment(fc):
    inner = [member["field-class"] for member in fc.get("member-classes", [])]
    inner += [fc["element-field-class"]] if "element-field-class" in fc else []
    of_bytes = 8 if "string" in fc["type"] or "blob" in fc["type"] or "variable" in fc["type"] else 1
    return max([fc.get("alignment", 1), fc.get("minimum-alignment", 1), of_bytes] + [alignment(c) for c in inner])


def leaves(structure, data, bit):
    """The integers and blobs of a structure of bytes, up to something else; and the position behind."""
    values = {}
    bit += -bit % alignment(structure)
    for member in structure["member-classes"]:
        fc = member["field-class"]
        if fc["type"] == "fixed-length-unsigned-integer" and fc["length"] % 8 == 0:
            align = fc.get("alignment", 1)
            bit = (bit + align - 1) // align * align
            order = fc["byte-order"].split("-")[0]
            value = int.from_bytes(data[bit // 8:(bit + fc["length"]) // 8], order)
            bit += fc["length"]
        elif fc["type"] == "static-length-blob":
            value = data[bit // 8:bit // 8 + fc["length"]]
            bit += fc["length"] * 8
        else:
            return values, None
        values[member["name"]] = value
        for role in fc.get("roles", []):
            values[role] = value
    return values, bit


def packets(trace, name, metadata):
    data = open(os.path.join(trace, name), "rb").read()
    at, before, found = 0, None, []
    while at < len(data):
        head, bit = leaves(metadata.trace["packet-header-field-class"], data[at:at + 4096], 0)
        rule(head["packet-magic-number"] == 0xC1FC1FC1, "magic at", at)
        rule(head["metadata-stream-uuid"] == metadata.uuid, "UUID at", at)
        stream = metadata.streams[head["data-stream-class-id"]]
        context, _ = leaves(stream["packet-context-field-class"], data[at:at + 4096], bit)
        total, content = context["packet-total-length"], context["packet-content-length"]
        rule(total % 8 == 0 and content <= total and at + total // 8 <= len(data), "sizes at", at, total, content)
        begin, end = context.get("default-clock-timestamp", 0), context.get("packet-end-default-clock-timestamp", 0)
        rule(begin <= end, "times at", at)
        if before:
            rule(context["packet-sequence-number"] > before["packet-sequence-number"], "sequence at", at)
            rule(begin >= before["packet-end-default-clock-timestamp"], "packets overlap at", at)
            rule(context.get("discarded-event-record-counter-snapshot", 0)
                 >= before.get("discarded-event-record-counter-snapshot", 0), "discarded at", at)
        found.append(context)
        before = context
        at += total // 8
    return found


def check_rules(directory):
    """Number of traces; raises Broken if a rule does not hold."""
    traces = [os.path.dirname(path) for path in glob.glob(os.path.join(directory, "**", "metadata"), recursive=True)]
    for trace in traces:
        metadata = Metadata(os.path.join(trace, "metadata"))
        for name in os.listdir(trace):
            if name != "metadata":
                packets(trace, name, metadata)
    return len(traces)


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
    round_trip("a time range", [chain], ["--timerange", "+4.8s,+5s"])
    round_trip("begin, joined", [django], ["--begin", "+15s"])
    round_trip("a CPU", [chain], ["--cpu", "0"])
    names = {json.loads(line)["context"]["procname"] for line in events_of(chain)[1].splitlines()
             if "procname" in json.loads(line).get("context", {})}
    comm = sorted(n for n in names if n.isalnum())[0]
    round_trip("a task", [chain], ["--comm", comm])
    round_trip("a filter", [django], ["--filter", 'name == "sched_switch" && next_comm =~ "p*" || name == "irq_*"'])
    round_trip("a filter of hosts and CPUs", [django], ["--filter", 'host == "db" && cpu == 0'])
    round_trip("nothing", [chain], ["--tid", "999999999"], least=0)


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
                seen = done == -number
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

# SPDX-License-Identifier: MIT
# The rules of CTF2-SPEC-2.0, told anew: a reader of metadata, packets and events that shares not a line with Lull.
import glob
import json
import os
import struct

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


# --- event records: byte-aligned ones without optionals and variants ------------------------------------------


class Events:
    """The events of one stream file, as (time, CPU, name, context, payload)."""

    def __init__(self, trace, name, metadata):
        with open(os.path.join(trace, name), "rb") as file:
            self.data = file.read()
        self.metadata, self.at, self.scopes = metadata, 0, {}

    def integer(self, fc):
        rule(fc["length"] % 8 == 0 and fc.get("alignment", 1) == 8, "not of bytes", fc)
        size = fc["length"] // 8
        self.at += size
        return int.from_bytes(self.data[self.at - size:self.at], fc["byte-order"].split("-")[0],
                              signed="-signed-" in fc["type"])

    def length_of(self, fc):
        if "length" in fc:
            return fc["length"]
        found = self.scopes[fc["length-field-location"]["origin"]]
        for name in fc["length-field-location"]["path"]:
            found = found[name]
        return found

    def text(self, size):
        self.at += size
        return self.data[self.at - size:self.at].split(b"\0")[0].decode(errors="surrogateescape")

    def field(self, fc, into=None):
        kind = fc["type"]
        if kind == "structure":
            for member in fc["member-classes"]:
                into[member["name"]] = self.field(member["field-class"], {})
            return into
        if kind in ("static-length-array", "dynamic-length-array"):
            return [self.field(fc["element-field-class"], {}) for _ in range(self.length_of(fc))]
        if kind in ("static-length-string", "dynamic-length-string"):
            return self.text(self.length_of(fc))
        if kind == "null-terminated-string":
            return self.text(self.data.index(b"\0", self.at) + 1 - self.at)
        if kind == "static-length-blob":
            self.at += fc["length"]
            return self.data[self.at - fc["length"]:self.at]
        rule(kind.startswith("fixed-length-") and kind.endswith("-integer"), "cannot read", kind)
        return self.integer(fc)

    def scope(self, name, fc):
        self.scopes[name] = {}
        return self.field(fc, self.scopes[name]) if fc else {}

    def role(self, scope, fc, role):
        return next(self.scopes[scope][m["name"]] for m in fc["member-classes"] if role in m["field-class"].get("roles", []))

    def packet(self):
        begin, header = self.at, self.metadata.trace["packet-header-field-class"]
        self.scope("packet-header", header)
        stream = self.metadata.streams[self.role("packet-header", header, "data-stream-class-id")]
        packet = stream["packet-context-field-class"]
        self.scope("packet-context", packet)
        end = begin + self.role("packet-context", packet, "packet-content-length") // 8
        head, clock = stream["event-record-header-field-class"], self.metadata.clocks[stream["default-clock-class-id"]]
        offset = clock["offset-from-origin"]
        rule(clock["frequency"] == 10**9, "not of nanoseconds", clock)
        while self.at < end:
            self.scope("event-record-header", head)
            event = self.metadata.events[stream["id"], self.role("event-record-header", head, "event-record-class-id")]
            context = self.scope("event-record-specific-context", event.get("specific-context-field-class"))
            payload = self.scope("event-record-payload", event.get("payload-field-class"))
            time = self.role("event-record-header", head, "default-clock-timestamp")
            yield (offset["seconds"] * 10**9 + offset["cycles"] + time, self.scopes["packet-context"]["cpu_id"],
                   event["name"], context, payload)
        rule(self.at == end, "events pass the packet's end", self.at, end)
        self.at = begin + self.role("packet-context", packet, "packet-total-length") // 8

    def __iter__(self):
        while self.at < len(self.data):
            yield from self.packet()


def events_in(directory):
    """Those of all traces below, by time and CPU."""
    found = []
    for path in glob.glob(os.path.join(directory, "**", "metadata"), recursive=True):
        trace, metadata = os.path.dirname(path), Metadata(path)
        for name in sorted(os.listdir(trace)):
            if name != "metadata":
                found += Events(trace, name, metadata)
    return sorted(found, key=lambda event: event[:2])

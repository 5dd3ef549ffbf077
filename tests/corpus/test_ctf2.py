#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CTF 2 traces of each feature of CTF2-SPEC-2.0, and of CTF2-PMETA-1.0, written here and read with lull.

    test_ctf2.py [--make FOLDER]

With --make the traces are only written, into FOLDER/ctf2-FEATURE and FOLDER/ctf2-FEATURE_nok."""

import os
import struct
import sys
import tempfile

from ctf2_writer import (BE, FTL, LE, LTF, PacketWriter, dynamic, fixed, location, members, option, optional, shown,
                         sint, string, uint, varint, variant, write_trace)
from reading import check_case, read
from tap import Tap

CASES = {}      # name: (fragments, streams, events)
REFUSED = {}    # name: (fragments, streams, words of the message)


def payload_case(name, payload, *values):
    """Events of one class without any header; the file is one packet, each event begins where the last ended."""
    writer = PacketWriter()
    for value in values:
        writer.put(payload, value)
    fragments = [{"type": "data-stream-class"},
                 {"type": "event-record-class", "name": "e", "payload-field-class": payload}]
    CASES[name] = fragments, [[writer.data()]], [{"name": "e", "fields": shown(payload, value)} for value in values]


def bits():
    pairs, value = [], {}
    for big in LE, BE:
        for order in FTL, LTF:
            for length in 3, 9, 14, 4, 2, 33, 63, 64, 1, 7, 32, 16, 8:
                name = f"{big[0]}{order[0]}{length}"
                pairs.append((name, fixed("bit-array", length, big, bit_order=order)))
                value[name] = 0x9E3779B97F4A7C15 % (1 << length)
        pairs.append((f"pad{big[0]}", uint(8, big, alignment=8)))
        value[f"pad{big[0]}"] = 7
    payload_case("bits", members(*pairs), value)


def numbers():
    pairs = [("a", sint(5)), ("b", sint(11, bit_order=LTF)), ("c", sint(64, BE, alignment=32)),
             ("d", uint(64, BE, bit_order=FTL)), ("e", fixed("boolean", 3)), ("f", fixed("boolean", 5)),
             ("g", fixed("bit-map", 16, BE, alignment=8, flags={
                 "RED": [[0, 2], [4, 4], [10, 10]], "ORANGE": [[6, 6]], "GREEN": [[7, 7], [9, 9], [11, 11]],
                 "YELLOW": [[9, 9], [13, 14]], "BLUE": [[15, 15]]})),
             ("h", sint(32, mappings={"banana": [[-27399, -1882], [8, 199]], "orange": [[67, 67], [43, 1534]]})),
             ("i", fixed("floating-point-number", 32)), ("j", fixed("floating-point-number", 64, BE, alignment=8)),
             ("k", fixed("floating-point-number", 64, LE, bit_order=LTF)), ("l", fixed("floating-point-number", 16))]
    common = {"g": 0b0000001000010000, "i": 0.5, "j": -1234.25, "k": 3.0, "l": -2.5}
    payload_case("numbers", members(*pairs),
                 {**common, "a": -16, "b": -1023, "c": -2**63, "d": 2**64 - 1, "e": 0, "f": 16, "h": 67},
                 {**common, "a": 15, "b": 1, "c": 2**63 - 1, "d": 1, "e": 7, "f": 0, "h": -28000})


def varints():
    values = [0, 1, 63, 64, 127, 128, 8191, 8192, 1876916, 2**32 - 1, 2**63 - 1]
    pairs = [("x", uint(3))] + [(f"u{i}", varint()) for i in range(len(values) + 1)]
    pairs += [(f"s{i}", {"type": "variable-length-signed-integer"}) for i in range(2 * len(values) + 2)]
    signed = values + [-v - 1 for v in values] + [-220236, -2**63]
    payload_case("varints", members(*pairs), {"x": 5, **{f"u{i}": v for i, v in enumerate(values + [2**64 - 1])},
                                              **{f"s{i}": v for i, v in enumerate(signed)}})


def texts():
    pairs, value = [("n", uint(7))], {"n": 24}
    for number, encoding in enumerate(["utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be"]):
        where = location("n")
        pairs += [(f"a{number}", string(encoding)), (f"b{number}", string(encoding)),
                  (f"c{number}", {"type": "static-length-string", "encoding": encoding, "length": 40}),
                  (f"d{number}", dynamic("string", where, encoding=encoding))]
        full = "x" * (24 // len("x".encode(encoding)))
        value |= {f"a{number}": "Źdźbło 𝄞 e", f"b{number}": "", f"c{number}": "Ω 𝄞 g", f"d{number}": full}
    pairs += [("z", {"type": "static-length-string", "length": 0})]
    payload_case("texts", members(*pairs), value | {"z": ""})


def blobs():
    payload_case("blobs", members(("n", varint()), ("a", {"type": "static-length-blob", "length": 5}),
                                  ("b", dynamic("blob", location("n"), media_type="image/jpeg")), ("c", uint(8))),
                 {"n": 3, "a": b"\x00\xff\x10\x7f\x80", "b": b"abc", "c": 1},
                 {"n": 0, "a": b"12345", "b": b"", "c": 2})


def optionals():
    here = lambda name: location(name, origin="event-record-payload")  # noqa: E731
    payload = members(("t", fixed("boolean", 8)), ("u", varint()), ("s", sint(8)),
                      ("a", optional(here("t"), uint(16))), ("b", optional(here("u"), string(), [[1, 3], [255, 400]])),
                      ("c", optional(here("s"), members(("x", uint(8)), ("y", optional(location(None, "t"), uint(8)))),
                                     [[-12, -12], [-5, 0]])), ("d", uint(8)))
    payload_case("optionals", payload,
                 {"t": 0, "u": 0, "s": 1, "a": None, "b": None, "c": None, "d": 1},
                 {"t": 4, "u": 300, "s": -5, "a": 9, "b": "there", "c": {"x": 3, "y": 8}, "d": 2},
                 {"t": 0, "u": 3, "s": -12, "a": None, "b": "x", "c": {"x": 4, "y": None}, "d": 3},
                 {"t": 1, "u": 401, "s": -6, "a": 65535, "b": None, "c": None, "d": 4})


def variants():
    glass = variant(location("sel"), option([[-9, -1]], uint(8)), option([[0, 0], [2, 2]], uint(16, BE, alignment=16)),
                    option([[1, 1], [3, 127]], varint()))
    mug = variant(location("sel"), option([[-9, -1]], members(("eagle", uint(16)), ("road", string()))),
                  option([[0, 2]], members(("nuance", string()), ("eagle", uint(24, BE))), "named"),
                  option([[3, 127]], members(("eagle", varint()),
                                             ("lock", dynamic("blob", location("mug", "eagle",
                                                                               origin="event-record-payload"))))))
    payload = members(("sel", sint(8)), ("glass", glass),
                      ("margin", dynamic("array", location("glass"), element_field_class=string())), ("mug", mug),
                      ("rim", dynamic("array", location("mug", "eagle"), element_field_class=uint(4))), ("end", uint(8)))
    payload_case("variants", payload,
                 {"sel": -3, "glass": (0, 2), "margin": ["a", "bc"], "mug": (0, {"eagle": 3, "road": "r"}),
                  "rim": [1, 2, 15], "end": 1},
                 {"sel": 0, "glass": (1, 1), "margin": ["q"], "mug": (1, {"nuance": "n", "eagle": 1}), "rim": [7],
                  "end": 2},
                 {"sel": 127, "glass": (2, 0), "margin": [], "mug": (2, {"eagle": 2, "lock": b"zz"}), "rim": [8, 9],
                  "end": 3})


def arrays():
    inner = members(("laser", varint()),
                    ("joystick", dynamic("array", location("laser"), element_field_class=string())),
                    ("again", dynamic("array", location(None, "corn"), element_field_class=uint(3),
                                      minimum_alignment=16)))
    payload = members(("corn", uint(5)),
                      ("flags", {"type": "static-length-array", "length": 32, "minimum-alignment": 32,
                                 "element-field-class": fixed("boolean", 1)}),
                      ("nature", {"type": "static-length-array", "length": 2, "element-field-class": inner}),
                      ("none", {"type": "static-length-array", "length": 0, "element-field-class": string()}),
                      ("deep", dynamic("array", location("corn"), element_field_class=dynamic(
                          "array", location("corn"), element_field_class=uint(12, BE, alignment=4)))))
    payload_case("arrays", payload,
                 {"corn": 2, "flags": [i % 3 == 0 for i in range(32)],
                  "nature": [{"laser": 1, "joystick": ["one"], "again": [5, 6]},
                             {"laser": 3, "joystick": ["", "b", "c"], "again": [7, 0]}],
                  "none": [], "deep": [[1, 2], [4095, 4]]},
                 {"corn": 0, "flags": [False] * 32, "nature": [{"laser": 0, "joystick": [], "again": []}] * 2,
                  "none": [], "deep": []})


def structures():
    payload = members(("a", uint(3)), ("s", members(("b", uint(8, alignment=8)), ("e", members()),
                                                    ("x", optional(location(None, "a"), uint(32, alignment=32),
                                                                   [[1, 7]])), minimum_alignment=16)),
                      ("c", uint(1)), ("last", members(minimum_alignment=64)), ("d", uint(8)))
    payload_case("structures", payload, {"a": 1, "s": {"b": 2, "e": {}, "x": 77}, "c": 1, "last": {}, "d": 4},
                 {"a": 0, "s": {"b": 3, "e": {}, "x": None}, "c": 0, "last": {}, "d": 5})


UUID = bytes(range(100, 116))
HEADER = members(("the magic!", uint(32, roles=["packet-magic-number"])),
                 ("u", {"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}),
                 ("class", varint(roles=["data-stream-class-id"])), ("stream", uint(16, BE, roles=["data-stream-id"])))
CONTEXT = members(("total", varint(roles=["packet-total-length"])),
                  ("content", uint(40, roles=["packet-content-length"])),
                  ("first", uint(64, roles=["default-clock-timestamp"])),
                  ("last", uint(64, roles=["packet-end-default-clock-timestamp"])),
                  ("lost", uint(16, roles=["discarded-event-record-counter-snapshot"])),
                  ("number", varint(roles=["packet-sequence-number"])))
RECORD = members(("short", uint(2)), ("id", variant(location("short"),
                                                    option([[0, 2]], members()),
                                                    option([[3, 3]], members(
                                                        ("long", varint(roles=["event-record-class-id"])))))),
                 ("time", uint(8, roles=["default-clock-timestamp"])))
PREAMBLE = {"type": "preamble", "version": 2, "uuid": list(UUID)}


def role_fragments():
    alias = {"type": "field-class-alias", "name": "own", "field-class": members(("k", uint(8)))}
    trace = {"type": "trace-class", "environment": {"hostname": "h"}, "packet-header-field-class": HEADER}
    fragments = [PREAMBLE, alias, trace]
    for number, (frequency, cycles) in {4: (1000, 250), 9: (2000000000, 1)}.items():
        clock = {"type": "clock-class", "id": f"c{number}", "frequency": frequency, "origin": "unix-epoch",
                 "offset-from-origin": {"seconds": 100, "cycles": cycles}}
        stream = {"type": "data-stream-class", "id": number, "default-clock-class-id": f"c{number}",
                  "packet-context-field-class": CONTEXT, "event-record-header-field-class": RECORD,
                  "event-record-common-context-field-class": "own"}
        fragments += [clock, stream]
        for identifier in 0, 1000:
            fragments.append({"type": "event-record-class", "id": identifier, "data-stream-class-id": number,
                              "name": f"e{number}/{identifier}", "specific-context-field-class": members(("j", uint(8))),
                              "payload-field-class": members(("v", uint(8)))})
    return fragments


def role_packet(number, stream, first, times, uuid=UUID, magic=0xC1FC1FC1, sequence=0, spare=0):
    """A packet of 2048 bytes with an event at each time; those of odd index have the class 1000, the others 0."""
    def write(content):
        writer = PacketWriter().put(HEADER, {"the magic!": magic, "u": uuid, "class": number, "stream": stream})
        writer.put(CONTEXT, {"total": 1 << 14, "content": content, "first": first, "last": times[-1], "lost": 0,
                             "number": sequence})
        for i, time in enumerate(times):
            writer.put(RECORD, {"short": 3 if i % 2 else 0, "id": (1, {"long": 1000}) if i % 2 else (0, {}),
                                "time": time & 255})
            for value in i + 1, i + 2, i + 3:
                writer.put(uint(8), value)
        return writer

    return write(write(0).x + spare).data(2048)


def roles():
    slow = [1000, 1100, 1255, 1256, 1510, 1700]      # low 8 bits of the time only: it advances by less than 256
    fast = [5000000000, 5000000255, 5000000510]
    streams = [[role_packet(4, 0, 1000, slow), role_packet(4, 0, 2000, [2100], sequence=1)], [role_packet(9, 0, fast[0], fast)]]
    events = []
    for number, times, base, tick in (4, slow, 100250000000, 1000000), (4, [2100], 100250000000, 1000000), \
            (9, fast, 100000000000, 0.5):
        for i, time in enumerate(times):
            at = base + (int((time + 1) * tick) if number == 9 else time * tick)
            events.append({"time_ns": at, "host": "h", "name": f"e{number}/{1000 if i % 2 else 0}",
                           "context": {"k": i + 1, "j": i + 2}, "fields": {"v": i + 3}})
    CASES["roles"] = role_fragments(), streams, sorted(events, key=lambda event: event["time_ns"])


def clocks():
    """An origin of its own or none, precision, accuracy, any frequency; attributes, namespaces and UIDs that are nobody's
    business."""
    mine = {"attributes": {"me.example": {"colour": [1, {"x": None}]}, "other": 5}}
    record = members(("t", uint(64, roles=["default-clock-timestamp"])), ("id", uint(8, roles=["event-record-class-id"])))
    fragments = [{**PREAMBLE, **mine},
                 {"type": "trace-class", "namespace": "me.example", "name": "n", "uid": "u1", **mine}]
    streams, events = [], []
    for number, (frequency, origin, seconds, cycles) in enumerate([
            (3, "unix-epoch", -2, 1), (2500000000, {"name": "boot", "uid": "b", "namespace": "me"}, 7, 0), (10**9, None, 1, 5)]):
        clock = {"type": "clock-class", "id": f"c{number}", "frequency": frequency, "precision": 100, "accuracy": 7,
                 "description": "ticks", "namespace": "me", "name": f"n{number}", "uid": "c",
                 "offset-from-origin": {"seconds": seconds, "cycles": cycles}, **mine}
        if origin:
            clock["origin"] = origin
        fragments += [clock,
                      {"type": "data-stream-class", "id": number, "namespace": "me", "name": f"s{number}", "uid": "d",
                       "default-clock-class-id": f"c{number}", "event-record-header-field-class": record, **mine},
                      {"type": "event-record-class", "id": 5, "data-stream-class-id": number, "namespace": "me", "uid": "e",
                       "name": f"e{number}", "payload-field-class": members(("n", uint(8)), **mine), **mine}]
        writer = PacketWriter().put(uint(8), number)
        for value in 0, 1, 4:
            writer.put(record, {"t": value, "id": 5}).put(uint(8), value)
            events.append({"name": f"e{number}", "fields": {"n": value},
                           "time_ns": seconds * 10**9 + (cycles + value) * 10**9 // frequency})
        streams.append([writer.data()])
    fragments[1]["packet-header-field-class"] = members(("s", uint(8, roles=["data-stream-class-id"])))
    CASES["clocks"] = fragments, streams, sorted(events, key=lambda event: event["time_ns"])


def bad_metadata():
    """Rules of the metadata that are broken."""
    def fragment(name, words, *fragments):
        REFUSED[name] = list(fragments), [[b"\0"]], words

    stream, record = {"type": "data-stream-class"}, {"type": "event-record-class"}
    fragment("extension", "extension", {"type": "preamble", "version": 2, "extensions": {"me.example": {"x": True}}}, stream)
    fragment("version", "version", {"type": "preamble", "version": 3}, stream)
    fragment("fragment", "no-such-class", stream, {"type": "no-such-class"})
    fragment("alias", "nothing", stream, {**record, "payload-field-class": members(("a", "nothing"))})
    fragment("field-class", "no-such-field", stream, {**record, "payload-field-class": members(("a", {"type": "no-such-field"}))})
    fragment("location", "later", stream, {**record, "payload-field-class": members(
        ("a", dynamic("array", location("later"), element_field_class=uint(8))), ("later", uint(8)))})
    fragment("twice", "'a'", stream, {**record, "payload-field-class": members(("a", uint(8)), ("a", uint(8)))})
    fragment("length", "length", stream, {**record, "payload-field-class": members(("a", uint(0)))})
    fragment("alignment", "alignment", stream, {**record, "payload-field-class": members(("a", uint(8, alignment=3)))})
    fragment("mappings", "mappings", stream, {**record, "payload-field-class": members(("a", uint(8, mappings={"x": [[5, 2]]})))})
    fragment("clock", "none", {**stream, "default-clock-class-id": "none"})
    fragment("role", "role", {**stream, "event-record-header-field-class": members(
        ("a", uint(8, roles=["default-clock-timestamp"])))}, record)
    fragment("frequency", "frequency", {"type": "clock-class", "id": "c", "frequency": 0}, stream)
    fragment("stream-id", "data stream class 3 already", {**stream, "id": 3}, {**stream, "id": 3})


def refused():
    good = role_packet(4, 0, 1000, [1000])
    fragments = role_fragments()
    REFUSED["magic"] = fragments, [[role_packet(4, 0, 0, [1], magic=0xC1FC1FC0)]], "magic"
    REFUSED["uuid"] = fragments, [[role_packet(4, 0, 0, [1], uuid=bytes(16))]], "UUID"
    REFUSED["class"] = fragments, [[role_packet(5, 0, 0, [1])]], "does not declare"
    REFUSED["content"] = fragments, [[role_packet(4, 0, 0, [1], spare=1 << 14)]], "impossible content_size"
    REFUSED["cut"] = fragments, [[good[:100]]], "byte 100: the file is cut short"

    def payload(name, fields, data, words):
        REFUSED[name] = [{"type": "data-stream-class"},
                         {"type": "event-record-class", "payload-field-class": fields}], [[data]], words

    payload("leb128", members(("u", varint())), b"\xff" * 9 + b"\x02", "has more than 64 bits")
    payload("leb128-cut", members(("u", varint())), b"\x80", "goes past the end of the packet's content")
    payload("string-cut", members(("s", string("utf-16le"))), b"a\0b", "goes past the end of the packet's content")
    payload("option", members(("u", uint(8)), ("v", variant(location("u"), option([[1, 1]], uint(8))))), b"\2\0", "tag selects no option")
    payload("lost-key", members(("u", uint(8)), ("v", variant(location("u"), option([[1, 1]], members()), option(
        [[2, 2]], members(("n", uint(8)))))), ("d", dynamic("blob", location("v", "n")))), b"\1\0\0",
            "the length or tag of a field is missing")


def wrap(text, order, sizes, header=44, **broken):
    """The metadata in packets as CTF2-PMETA-1.0 has them, of these many bytes of text in turn, each padded by some."""
    out, i = b"", 0
    while text or i < len(sizes):
        part, text = text[:sizes[i % len(sizes)]], text[sizes[i % len(sizes)]:]
        content, spare = 44 + len(part), i % 3 * 5
        fields = {"major": 2, "scheme": 0, "header": header * 8, **(broken if i == 1 else {})}
        out += struct.pack(order + "I16sIIIBBBBB3xI", 0x75d11d57, UUID, 1337, content * 8, (content + spare) * 8, 0, 0,
                           fields["scheme"], fields["major"], 0, fields["header"]) + part + b"#" * spare
        i += 1
    return out


def check_packets(tap, scratch):
    name = "integers" if "integers" in CASES else sorted(CASES)[0]
    with open(os.path.join(scratch, f"ctf2-{name}", "metadata"), "rb") as file:
        text = file.read()
    fragments, streams, events = CASES[name]

    def write(which, data):
        folder = os.path.join(scratch, f"pmeta-{which}")
        write_trace(folder, fragments, streams)
        with open(os.path.join(folder, "metadata"), "wb") as file:
            file.write(data)
        return folder

    for which, order in ("le", "<"), ("be", ">"):
        check_case(tap, write(which, wrap(text, order, [1, 0, 7, 200])), f"metadata in packets, {which}", events)
    for which, data, words in (("scheme", wrap(text, "<", [50], scheme=1), "checksum scheme 1"),
                               ("major", wrap(text, "<", [50], major=3), "version 3.0 of CTF"),
                               ("cut", wrap(text, "<", [50])[:-1], "ends")):
        done, _ = read(write(which, data))
        tap.ok(done.returncode == 1 and words in done.stderr, f"metadata in packets: {which}", done.stderr)


def main():
    for make in bits, numbers, varints, texts, blobs, optionals, variants, arrays, structures, roles, clocks, refused, bad_metadata:
        make()
    tap = Tap()
    with tempfile.TemporaryDirectory() as scratch:
        if len(sys.argv) == 3 and sys.argv[1] == "--make":
            scratch = sys.argv[2]
        for name, (fragments, streams, _) in CASES.items():
            write_trace(os.path.join(scratch, f"ctf2-{name}"), fragments, streams)
        for name, (fragments, streams, _) in REFUSED.items():
            write_trace(os.path.join(scratch, f"ctf2-{name}_nok"), fragments, streams)
        if len(sys.argv) > 1:
            return 0
        for name, (_, _, events) in CASES.items():
            tap.run(name, check_case, tap, os.path.join(scratch, f"ctf2-{name}"), name, events)
        tap.run("metadata in packets", check_packets, tap, scratch)
        for name, (_, _, words) in REFUSED.items():
            done, found = read(os.path.join(scratch, f"ctf2-{name}_nok"))
            tap.ok(done.stderr != "" and words in done.stderr and done.returncode in (0, 1), f"{name} is complained about",
                   f"exit {done.returncode}", done.stderr, found)
    return tap.done()


sys.exit(main())

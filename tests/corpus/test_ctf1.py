#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CTF 1.8 traces of each feature of CTF 1.8.3, written here and read with lull, and of each a trace that breaks its rule.

    test_ctf1.py [--make FOLDER]

With --make the traces are only written, into FOLDER/ctf1-FEATURE and FOLDER/ctf1-FEATURE_nok."""

import os
import struct
import sys
import tempfile
import uuid

from ctf2_writer import BE, LE, PacketWriter, fixed, members, sint, uint
from reading import check_case, read
from tap import Tap

CASES = {}      # name: (metadata, streams, events, words on stderr, exit status)
REFUSED = {}    # name: (metadata, streams, words of the message)

UUID = bytes(range(0x20, 0x30))
HEAD = f'''/* CTF 1.8 */
trace {{ major = 1; minor = 8; byte_order = le; uuid = "{uuid.UUID(bytes=UUID)}"; %s }};
'''
TYPES = '''
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 16; align = 8; signed = false; } := u16;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 8; align = 8; signed = true; } := s8;
'''
U8, S8 = uint(8, alignment=8), sint(8, alignment=8)


def plain(fields):
    """Events of one class without packet headers and event headers: each begins where the last ended."""
    return HEAD % "" + TYPES + "stream { };\nevent { name = e; fields := struct { " + fields + " }; };\n"


def case(name, metadata, streams, events, words="", status=0):
    CASES[name] = metadata, streams, events, words, status


def refused(name, metadata, streams, words):
    REFUSED[name] = metadata, streams, words


def event(fields, **more):
    return {"name": "e", "fields": fields, **more}


def integers():
    """Of 1 to 64 bits, one behind the other at any bit, in both byte orders."""
    text, value, writer = "", {}, PacketWriter()
    for order, signed in (LE, 0), (LE, 1), (BE, 0), (BE, 1):
        for size in range(1, 65):
            name = f"{order[0]}{signed}x{size}"
            text += f"integer {{ size = {size}; align = 1; signed = {'true' if signed else 'false'}; " \
                    f"byte_order = {order[0]}e; }} {name}; "
            bits = 0x9E3779B97F4A7C15 >> (64 - size)
            value[name] = bits - (1 << size) if signed and bits >> (size - 1) else bits
            writer.put((sint if signed else uint)(size, order), value[name])
    case("integers", plain(text), [writer.data()], [event(value)])
    refused("integers", plain("integer { size = 65; } a;"), [bytes(9)], "65")
    refused("integers-none", plain("integer { size = 0; } a;"), [bytes(9)], "size")


def alignments():
    text = '''integer { size = 3; } a; u8 b; integer { size = 8; align = 64; } c; integer { size = 1; } d;
        struct { integer { size = 2; } x; } align(16) s; integer { size = 5; } f; string t; integer { size = 2; } g;
        struct { integer { size = 16; align = 32; } x; } w; u8 h; struct { integer { size = 4; } x[3]; u8 y; } list[2]; u8 end;'''
    item = members(("x", {"type": "static-length-array", "length": 3, "element-field-class": uint(4)}), ("y", U8))
    payload = members(("a", uint(3)), ("b", U8), ("c", uint(8, alignment=64)), ("d", uint(1)),
                      ("s", members(("x", uint(2)), minimum_alignment=16)), ("f", uint(5)),
                      ("t", {"type": "null-terminated-string", "encoding": "utf-8"}), ("g", uint(2)),
                      ("w", members(("x", uint(16, alignment=32)))), ("h", U8),
                      ("list", {"type": "static-length-array", "length": 2, "element-field-class": item}), ("end", U8))
    values = [{"a": 5, "b": 1, "c": 2, "d": 1, "s": {"x": 3}, "f": 17, "t": "text", "g": 2, "w": {"x": 700}, "h": 9,
               "list": [{"x": [1, 2, 3], "y": 4}, {"x": [15, 0, 15], "y": 5}], "end": 255},
              {"a": 2, "b": 3, "c": 4, "d": 0, "s": {"x": 0}, "f": 1, "t": "", "g": 1, "w": {"x": 1}, "h": 8,
               "list": [{"x": [0, 0, 0], "y": 0}] * 2, "end": 7}]
    writer = PacketWriter()
    for value in values:
        writer.put(payload, value)
    case("alignments", plain(text), [writer.data()], [event(value) for value in values])
    refused("alignments", plain("integer { size = 8; align = 24; } a;"), [bytes(9)], "align")


def reals():
    text = '''floating_point { exp_dig = 8; mant_dig = 24; align = 8; byte_order = le; } a;
        floating_point { exp_dig = 8; mant_dig = 24; align = 1; byte_order = be; } b; integer { size = 3; } skip;
        floating_point { exp_dig = 11; mant_dig = 53; align = 1; } c;
        floating_point { exp_dig = 11; mant_dig = 53; align = 32; byte_order = be; } d;'''
    number = "floating-point-number"
    payload = members(("a", fixed(number, 32, alignment=8)), ("b", fixed(number, 32, BE)), ("skip", uint(3)),
                      ("c", fixed(number, 64)), ("d", fixed(number, 64, BE, alignment=32)))
    value = {"a": 0.5, "b": -1234.25, "skip": 5, "c": 1e300, "d": -3.0e-300}
    case("reals", plain(text), [PacketWriter().put(payload, value).data()], [event(value)])
    refused("reals", plain("floating_point { exp_dig = 9; mant_dig = 25; } a;"), [bytes(9)], "floating")


def texts():
    text = '''string a; string { encoding = UTF8; } b; string { encoding = ASCII; } c; u8 n;
        integer { size = 8; align = 8; encoding = UTF8; } d[6]; integer { size = 8; align = 8; encoding = ASCII; } f[n];
        integer { size = 8; align = 8; encoding = none; } g[2]; string list[2];'''
    data = "ä b".encode() + b"\0" + "𝄞".encode() + b"\0plain\0\x03" + b"six\0\0\0" + b"abc" + b"\x07\x08" + b"x\0\0"
    case("texts", plain(text), [data], [event({"a": "ä b", "b": "𝄞", "c": "plain", "n": 3, "d": "six", "f": "abc",
                                               "g": [7, 8], "list": ["x", ""]})])
    refused("texts", plain("string a;"), [b"no end"], "goes past the end of the packet's content")
    refused("texts-encoding", plain("string { encoding = EBCDIC; } a;"), [b"\0"], "encoding")


def enumerations():
    text = '''enum : u8 { a, b, c = 10, d, e = 20 ... 29, f = 25 ... 40, "two words" = 41, g = 255 } one;
        enum : s8 { low = -128 ... -1, zero = 0, high = 1 ... 127 } two;
        enum { x = 1, y = 2 } three;'''
    label = lambda value, name, *more: {"value": value, "label": name,  # noqa: E731
                                        **({"labels": [name, *more]} if more else {})}
    rows = [((0, -128, 1), label(0, "a"), label(-128, "low"), label(1, "x")),
            ((1, -1, 2), label(1, "b"), label(-1, "low"), label(2, "y")),
            ((11, 0, 3), label(11, "d"), label(0, "zero"), label(3, None)),
            ((25, 1, 1), label(25, "e", "f"), label(1, "high"), label(1, "x")),
            ((41, 127, 1), label(41, "two words"), label(127, "high"), label(1, "x")),
            ((255, 5, 1), label(255, "g"), label(5, "high"), label(1, "x"))]
    case("enumerations", plain(text).replace("stream {", "typealias integer { size = 8; align = 8; } := int;\nstream {"),
         [b"".join(struct.pack("<BbB", *row[0]) for row in rows)],
         [event(dict(zip(("one", "two", "three"), row[1:]))) for row in rows])
    refused("enumerations", plain("enum : u8 { a = 5 ... 2 } one;"), [bytes(2)], "5")
    refused("enumerations-container", plain("typedef string text; enum : text { a } one;"), [bytes(2)], "enumeration")


def variants():
    """Variants in variants in arrays; sequences of sequences; a sequence of variants."""
    text = '''enum : u8 { number = 0, text = 1, deep = 2 } tag; u8 n;
        variant <tag> { u16 number; string text; struct { enum : u8 { in = 5, out = 6 } tag; variant <tag> { u8 in; string out; } v; }
          deep; } v;
        struct { u8 m; u8 list[m]; } lists[n]; variant <tag> { u8 number; u16 text; u32 deep; } same[n]; u8 end;'''
    tag = lambda value, name: {"value": value, "label": name}  # noqa: E731
    data = (b"\0\1" + b"\x34\x12" + b"\2\7\x08" + b"\x09" + b"\xff"
            b"\1\0" + b"hi\0" + b"\xfe"
            b"\2\2" + b"\6end\0" + b"\0" + b"\1\5" + b"\1\0\0\0\2\0\0\0" + b"\xfd")
    case("variants", plain(text), [data], [
        event({"tag": tag(0, "number"), "n": 1, "v": {"number": 0x1234}, "lists": [{"m": 2, "list": [7, 8]}],
               "same": [{"number": 9}], "end": 255}),
        event({"tag": tag(1, "text"), "n": 0, "v": {"text": "hi"}, "lists": [], "same": [], "end": 254}),
        event({"tag": tag(2, "deep"), "n": 2, "v": {"deep": {"tag": tag(6, "out"), "v": {"out": "end"}}},
               "lists": [{"m": 0, "list": []}, {"m": 1, "list": [5]}], "same": [{"deep": 1}, {"deep": 2}], "end": 253})])
    refused("variants", plain("enum : u8 { a = 1 } t; variant <t> { u8 a; } v;"), [b"\2\0"], "tag selects no option")
    refused("variants-tag", plain("u8 t; variant <t> { u8 a; } v;"), [b"\2\0"], "tag")
    refused("sequences", plain("u8 n; u8 list[n];"), [b"\5abcd"], "goes past the end of the packet's content")


def scopes():
    """Lengths and tags from every dynamic scope; a name is looked for from the inside outwards."""
    metadata = HEAD % "packet.header := struct { u32 magic; u8 k; };" + '''
stream { packet.context := struct { u8 n; u64 content_size; u64 packet_size; };
  event.header := struct { enum : u8 { first = 0, second = 1 } id; };
  event.context := struct { u8 c; }; };
event { id = 1; name = e; context := struct { u8 x; u8 from_context[stream.event.context.c]; };
  fields := struct { u8 from_header[trace.packet.header.k]; u8 from_packet[stream.packet.context.n]; u8 from_own[event.context.x];
    variant <stream.event.header.id> { u8 first; u16 second; } v;
    struct { u8 x; struct { u8 from_inner[x]; u8 from_outer[event.fields.s.x]; u8 y; } in; u8 from_in[in.y]; } s;
    u8 from_s[s.in.y]; u8 c; u8 near[c]; }; };
'''
    metadata = metadata.replace("trace {", TYPES + "trace {", 1)
    body = b"\1\2" + b"\1\7\x08" + b"\xa1\xa2" + b"\xb1\xb2\xb3" + b"\xc1" + b"\x01\x01" + b"\2\xd1\xd2\xe1\xe2\1\xf1" + b"\x77" + b"\1\x66"
    size = (4 + 1 + 1 + 16 + len(body)) * 8
    data = struct.pack("<IBBQQ", 0xC1FC1FC1, 2, 3, size, size) + body
    case("scopes", metadata, [data], [event({
        "from_header": [0xa1, 0xa2], "from_packet": [0xb1, 0xb2, 0xb3], "from_own": [0xc1], "v": {"second": 0x101},
        "s": {"x": 2, "in": {"from_inner": [0xd1, 0xd2], "from_outer": [0xe1, 0xe2], "y": 1}, "from_in": [0xf1]},
        "from_s": [0x77], "c": 1, "near": [0x66]}, context={"c": 2, "x": 1, "from_context": [7, 8]})])
    refused("scopes", plain("u8 list[later]; u8 later;"), [bytes(4)], "later")
    refused("scopes-none", plain("u8 list[stream.event.context.nothing];"), [bytes(4)], "nothing")


def types():
    """Aliases, typedefs and named types; an inner scope hides what the outer one declares."""
    metadata = HEAD % "" + TYPES + '''
typealias integer { size = 16; align = 8; } := unsigned long int;
typedef u8 byte; typedef byte pair[2];
struct point { byte x; byte y; };
enum colour : u8 { red = 1, blue = 2 };
stream { typealias integer { size = 32; align = 8; } := wide;
  struct point { u16 x; };
  event.context := struct { struct point at; wide w; }; };
event { name = e; typealias integer { size = 8; align = 8; } := wide;
  fields := struct { wide w; unsigned long int l; pair p; struct point at; enum colour hue;
    typealias integer { size = 24; align = 8; } := inner; struct { typedef inner wide; wide w; } s; wide after; }; };
'''
    data = b"\1\2" + b"\1\0\0\0" + b"\5" + b"\2\1" + b"\6\7" + b"\x08\x09" + b"\2" + b"\1\0\1" + b"\x0b"
    case("types", metadata, [data], [event(
        {"w": 5, "l": 0x102, "p": [6, 7], "at": {"x": 8, "y": 9}, "hue": {"value": 2, "label": "blue"}, "s": {"w": 0x10001},
         "after": 11}, context={"at": {"x": 0x201}, "w": 1})])
    refused("types", plain("struct { typedef u8 inner; inner a; } s; inner b;"), [bytes(4)], "inner")
    two = TYPES + "struct s { u8 a; }\nstruct t { u8 b; struct s s; };\nstream { };\nevent { name = e; fields := struct { struct t t; }; };\n"
    case("types-two", HEAD % "" + two, [b"\1\2"], [event({"t": {"b": 1, "s": {"a": 2}}})])
    refused("types-two", plain("struct s { u8 a; } struct t { u8 b; }; struct s c;"), [bytes(4)], "struct")
    refused("types-keyword", plain("u8 a;") + "typealias integer { size = 8; } := trace;\n", [bytes(4)], "trace")
    refused("types-class", plain("u8 a;") + "typealias string := integer;\n", [bytes(4)], "integer")


HEADER = "packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; };"
CLOCK = "clock { name = c; freq = 1000; offset_s = 5; offset = 500; };\n" \
        "typealias integer { size = 64; align = 8; map = clock.c.value; } := time;\n"
CONTEXT = "packet.context := struct { time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size; " \
          "u64 packet_seq_num; u64 events_discarded; u32 cpu_id; };"
SHORT = "event.header := struct { u8 id; integer { size = 8; align = 8; map = clock.c.value; } timestamp; };"


def usual(more=""):
    return (HEAD % HEADER).replace("trace {", TYPES + "trace {", 1) + CLOCK + f"stream {{ id = 0; {CONTEXT} {SHORT} }};\n" \
        "event { id = 3; name = e; stream_id = 0; fields := struct { u8 n; }; };\n" + more


def packet(begin, end, times, sequence=0, discarded=0, cpu=0, stream=0, magic=0xC1FC1FC1, owner=UUID, spare=0, identifier=3):
    body = b"".join(struct.pack("<BBB", identifier, time & 255, i) for i, time in enumerate(times))
    bits = (4 + 16 + 4 + 52 + len(body)) * 8
    return struct.pack("<I16sI", magic, owner, stream) + struct.pack(
        "<QQQQQQI", begin, end, bits, bits + spare * 8, sequence, discarded, cpu) + body + bytes(spare)


def at(time, n, cpu=0):
    """1 kHz: a cycle is a millisecond; the clock begins 5.5 s after the epoch."""
    return event({"n": n}, time_ns=5500000000 + time * 1000000, cpu=cpu)


def packets():
    case("packets", usual(), [packet(0, 300, [1, 255, 256, 300], spare=5) + packet(400, 600, [400, 401], 1, cpu=0),
                              packet(2, 2, [], cpu=1) + packet(450, 450, [450], 1, cpu=1)],
         [at(1, 0), at(255, 1), at(256, 2), at(300, 3), at(400, 0), at(401, 1), at(450, 0, 1)])
    good = packet(0, 10, [1, 2])
    refused("packets-magic", usual(), [packet(0, 9, [1], magic=0xC1FC1FC0)], "no packet starts here")
    # Babeltrace 2 does not look at it; its tests/data/ctf-traces/intersection have such.
    foreign = packet(0, 9, [1], owner=bytes(16)) + packet(10, 19, [11], 1, owner=bytes(16)) + packet(20, 29, [21], 2)
    case("packets-uuid", usual(), [foreign], [at(1, 0), at(11, 0), at(21, 0)], "UUID differs", 1)
    bad = packet(0, 9, [1], owner=bytes(16)) + b"#" * 40 + packet(10, 19, [11], 1, owner=bytes(16))
    case("packets-uuid-found", usual(), [bad], [at(1, 0), at(11, 0)], "no packet starts here", 1)
    refused("packets-stream", usual(), [packet(0, 9, [1], stream=7)], "does not declare")
    refused("packets-cut", usual(), [good[:-2]], f"byte {len(good) - 2}: the file is cut short")
    # A file that ends within a packet without events lacks nothing.
    case("packets-cut-empty", usual(), [packet(0, 10, [1, 2], spare=9) + packet(10, 10, [], 1, spare=9)[:-4]], [at(1, 0), at(2, 1)])
    # Nor does one whose padding is cut off, to the byte; elsewhere the cut is chance, and more may be missing.
    padded = packet(0, 10, [1, 2], spare=9)
    case("packets-cut-padding", usual(), [padded[:-9]], [at(1, 0), at(2, 1)])
    refused("packets-cut-in-padding", usual(), [padded[:-4]], f"byte {len(padded) - 4}: the file is cut short")
    refused("packets-event", usual(), [packet(0, 9, [1], identifier=4)], "does not declare")


def wide_packets(*packets, cpu=0):
    """With whole times in the headers of events."""
    data = b""
    for sequence, (begin, end, times) in enumerate(packets):
        body = b"".join(struct.pack("<BQB", 3, time, i) for i, time in enumerate(times))
        head = bytearray(packet(begin, end, [], sequence, cpu=cpu))
        struct.pack_into("<QQ", head, 40, (len(head) + len(body)) * 8, (len(head) + len(body)) * 8)
        data += head + body
    return data


def open_packets():
    """Packets that say when they end but not when they start: each goes on from the end of the one before."""
    metadata = usual().replace("time timestamp_begin; ", "")
    pieces = packet(0, 300, [1, 255, 290]) + packet(0, 1500, [400, 401], 1) + packet(0, 1700, [1600, 1650], 2)
    size = len(packet(0, 300, [1, 255, 290])), len(packet(0, 1500, [400, 401], 1))
    out, start = b"", 0
    for part in size[0], size[1], size[1]:
        one, start = pieces[start:start + part], start + part
        bits = (len(one) - 8) * 8
        out += one[:24] + one[32:40] + struct.pack("<QQ", bits, bits) + one[56:]
    case("open-packets", metadata, [out], [at(1, 0), at(255, 1), at(290, 2), at(400, 0), at(401, 1), at(1600, 0), at(1650, 1)])


def twins():
    """The stream's and the event's context may have fields of one name: both are there, under keys of their own."""
    metadata = HEAD % "" + TYPES + "stream { event.context := struct { u8 n; u8 only; struct { u8 n; } s; }; };\n" \
        "event { name = e; context := struct { u8 n; struct { u8 n; } s; }; fields := struct { u8 n; }; };\n" \
        "event { name = f; id = 1; fields := struct { u8 n; }; };\n"
    metadata = metadata.replace("stream {", "stream { event.header := struct { u8 id; };")
    case("twins", metadata, [bytes([0, 1, 2, 3, 4, 5, 6, 1, 7, 8, 9, 10])],
         [event({"n": 6}, context={"n": 1, "only": 2, "s": {"n": 3}, "n#2": 4, "s#2": {"n": 5}}),
          {"name": "f", "fields": {"n": 10}, "context": {"n": 7, "only": 8, "s": {"n": 9}}}])


def escapes():
    """As in C, a NUL ends a text; a hexadecimal number has up to three digits, as Babeltrace 2 reads it."""
    text = r'enum : u8 { "one\0 not seen" = 1, "\x41\x0231\101\0431\n" = 2, "\0" = 3, x = \'\0\', y = \'\x7\' } a;'.replace("\\'", "'")
    label = lambda value, name: {"a": {"value": value, "label": name}}  # noqa: E731
    case("escapes", plain(text), [bytes([1, 2, 3, 0, 7])], [event(label(1, "one")), event(label(2, "A#1A#1\n")), event(label(3, "")),
                                                            event(label(0, "x")), event(label(7, "y"))])
    refused("escapes", plain(r'enum : u8 { "\x100" = 1 } a;'), [b"\1"], "escape")


def environment_lengths():
    text = "u8 a[env.n]; u8 b; integer { size = 8; align = 8; encoding = UTF8; } c[env.m];"
    env = 'env { n = 2; m = 3; none = 0; name = "x"; less = -1; };\n'
    case("environment-lengths", plain(text) + env, [b"\1\2\3abc"], [event({"a": [1, 2], "b": 3, "c": "abc"})])
    case("environment-none", plain("u8 a[env.none]; u8 b;") + env, [b"\3"], [event({"a": [], "b": 3})])
    for name in "missing", "name", "less":
        refused(f"environment-{name}", plain(f"u8 a[env.{name}];") + env, [b"\1"], "env")
    refused("environment-tag", plain("variant <env.n> { u8 a; } v;") + env, [b"\1"], "env")


def byte_orders():
    """The byte order may change between bytes, not within one: nobody could say which bits are whose."""
    little, big = "integer { size = %d; align = %d; byte_order = le; }", "integer { size = %d; align = %d; byte_order = be; }"
    one = f"u8 n; {little % (3, 1)} a[n]; {big % (8, 1)} b; u8 c;"
    case("byte-orders", plain(f"{little % (3, 1)} a; {little % (5, 1)} b; {big % (16, 1)} c; {little % (1, 1)} d; {big % (16, 8)} e;"),
         [b"\x2a\1\2\1\3\4"], [event({"a": 2, "b": 5, "c": 0x102, "d": 1, "e": 0x304})])
    case("byte-orders-late", plain(one), [b"\x08\x01\x00\x00\x07\x09" + b"\x01\1\1\1\1"],
         [event({"n": 8, "a": [1, 0, 0, 0, 0, 0, 0, 0], "b": 7, "c": 9})], "byte 6: the byte order changes within a byte", 1)
    for name, text in {
            "plain": f"{little % (3, 1)} a; {big % (5, 1)} b;",
            "array": f"{big % (3, 1)} a[1]; {little % (5, 1)} b;",
            "struct": f"struct {{ {little % (3, 1)} a; {big % (5, 1)} b; }} s[2];",
            "variant": f"enum : u8 {{ x = 0, y = 1 }} t; variant <t> {{ {big % (3, 1)} x; {big % (4, 1)} y; }} v; {little % (5, 1)} b;",
            "real": f"{big % (3, 1)} a; floating_point {{ exp_dig = 8; mant_dig = 24; align = 1; byte_order = le; }} b;"}.items():
        refused(f"byte-orders-{name}", plain(text), [bytes(16)], "the byte order changes within a byte")


def outside():
    """Events before the packet's begin and after its end are events all the same."""
    case("outside", usual(), [packet(100, 120, [110, 130, 150])], [at(110, 0), at(130, 1), at(150, 2)])
    wide = usual().replace("integer { size = 8; align = 8; map = clock.c.value; } timestamp", "time timestamp")
    whole = [at(50, 0), at(70, 1), at(90, 0), at(110, 1), at(130, 2)]
    case("outside-whole", wide, [wide_packets((50, 60, [50, 70]), (100, 120, [90, 110, 130]))], whole)
    # Before the first packet's begin, too, and in the order of all streams' events; each packet's last event is behind
    # its end, and lies behind the begin of the next.
    first = wide_packets((50, 60, [10, 50, 65]), (62, 70, [66, 85]), (80, 90, [86, 130]), (120, 125, [140]))
    second = wide_packets((5, 30, [7, 20, 60]), (40, 50, [75, 120]), cpu=1)
    merged = [at(7, 0, 1), at(10, 0), at(20, 1, 1), at(50, 1), at(60, 2, 1), at(65, 2), at(66, 0), at(75, 0, 1), at(85, 1),
              at(86, 0), at(120, 1, 1), at(130, 1), at(140, 0)]
    case("outside-first", wide, [first, second], merged)
    return merged
    refused("outside", usual(), [packet(100, 50, [110])], "timestamp_begin is after its timestamp_end")


def losses():
    """The counter is of the whole session: what it says of the first packet may have been lost before."""
    streams = [packet(0, 10, [1], 4, 2) + packet(20, 30, [21], 5, 5) + packet(40, 50, [41], 8, 6)]
    case("losses", usual(), streams, [at(1, 0), at(21, 0), at(41, 0)], "4 events and 2 packets were lost")


def clocks():
    """Any frequency and offset; each stream has its own clock; times are rounded down."""
    metadata = (HEAD % "packet.header := struct { u8 stream_id; };").replace("trace {", TYPES + "trace {", 1) + '''
clock { name = third; freq = 3; offset_s = -2; offset = 1; absolute = TRUE; };
clock { name = fast; freq = 2500000000; offset_s = 1; };
stream { id = 0; event.header := struct { integer { size = 64; align = 8; map = clock.third.value; } timestamp; }; };
stream { id = 1; event.header := struct { integer { size = 64; align = 8; map = clock.fast.value; } timestamp; }; };
event { name = slow; stream_id = 0; fields := struct { u8 n; }; };
event { name = fast; stream_id = 1; fields := struct { u8 n; }; };
'''
    slow, fast = [0, 1, 5, 9], [0, 2, 5000000001]
    events = [{"name": "slow", "fields": {"n": t % 7}, "time_ns": -2 * 10**9 + (t + 1) * 10**9 // 3} for t in slow] + \
        [{"name": "fast", "fields": {"n": t % 7}, "time_ns": 10**9 + t * 2 // 5} for t in fast]
    case("clocks", metadata, [b"\0" + b"".join(struct.pack("<QB", t, t % 7) for t in slow),
                              b"\1" + b"".join(struct.pack("<QB", t, t % 7) for t in fast)],
         sorted(events, key=lambda one: one["time_ns"]))
    refused("clocks", metadata.replace("clock.fast.value", "clock.none.value"), [b"\1"], "none")
    refused("clocks-frequency", metadata.replace("freq = 3;", "freq = 0;"), [b"\1"], "freq")


def headers():
    """The two forms of LTTng, with small and large ids and times, beside each other."""
    metadata = (HEAD % "packet.header := struct { u8 stream_id; };").replace("trace {", TYPES + "trace {", 1) + CLOCK + '''
typealias integer { size = 27; align = 1; map = clock.c.value; } := time27;
typealias integer { size = 32; align = 8; map = clock.c.value; } := time32;
struct compact { enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;
  variant <id> { struct { time27 timestamp; } compact; struct { u32 id; time timestamp; } extended; } v; } align(8);
struct large { enum : u16 { compact = 0 ... 65534, extended = 65535 } id;
  variant <id> { struct { time32 timestamp; } compact; struct { u32 id; time timestamp; } extended; } v; } align(8);
stream { id = 0; event.header := struct compact; };
stream { id = 1; event.header := struct large; };
event { name = a; id = 7; stream_id = 0; fields := struct { u8 n; }; };
event { name = b; id = 100000; stream_id = 0; fields := struct { u8 n; }; };
event { name = c; id = 7; stream_id = 1; fields := struct { u8 n; }; };
event { name = d; id = 100000; stream_id = 1; fields := struct { u8 n; }; };
'''
    wrap27, wrap32 = 1 << 27, 1 << 32
    small = b"\0" + struct.pack("<IB", 7 | 10 << 5, 1) + struct.pack("<BIQB", 31, 100000, wrap27 + 5, 2) + \
        struct.pack("<IB", 7 | 4 << 5, 3)  # 4 is less than 5: the low bits came round once more
    big = b"\1" + struct.pack("<HIB", 7, 12, 4) + struct.pack("<HIQB", 65535, 100000, wrap32 + 5, 5) + struct.pack("<HIB", 7, 4, 6)
    wanted = [("a", 10, 1), ("c", 12, 4), ("b", wrap27 + 5, 2), ("a", 2 * wrap27 + 4, 3), ("d", wrap32 + 5, 5),
              ("c", 2 * wrap32 + 4, 6)]
    case("headers", metadata, [small, big], [{"name": name, "time_ns": 5500000000 + time * 1000000, "fields": {"n": n}}
                                             for name, time, n in wanted])
    refused("headers", metadata, [b"\0" + struct.pack("<BIQB", 31, 9, 1, 1)], "does not declare")


def bare():
    """No packet header, no packet context, no event header: the file is one packet of events of one class."""
    case("bare", plain("u8 a; u16 b;"), [b"\1\2\0\3\4\1"], [event({"a": 1, "b": 2}), event({"a": 3, "b": 0x104})])
    refused("bare", plain("u8 a; u16 b;"), [b"\1\2\0\3"], "goes past the end of the packet's content")
    refused("bare-classes", plain("u8 a;") + "event { name = f; fields := struct { u8 b; }; };\n", [b"\1"], "id")


def wrap(text, order, sizes, **broken):
    """The metadata in packets of these content sizes, in turn, each padded by some bytes."""
    data, out, i = text.encode(), b"", 0
    while data:
        part, data = data[:sizes[i % len(sizes)]], data[sizes[i % len(sizes)]:]
        content, spare = 37 + len(part), i % 3 * 5
        fields = {"magic": 0x75d11d57, "uuid": UUID, "scheme": 0, **(broken if i == 1 else {})}
        out += struct.pack(order + "I16sIIIBBBBB", fields["magic"], fields["uuid"], 0, content * 8, (content + spare) * 8, 0, 0,
                           fields["scheme"], 1, 8) + part + b"#" * spare
        i += 1
    return out


def metadata_packets():
    text, data, events = plain("u8 a;"), b"\1\2", [event({"a": 1}), event({"a": 2})]
    for name, order in ("le", "<"), ("be", ">"):
        case(f"metadata-{name}", wrap(text, order, [1, 7, 100]), [data], events)
    refused("metadata-uuid", wrap(text, "<", [50], uuid=bytes(16)), [data], "UUID")
    refused("metadata-checksum", wrap(text, "<", [50], scheme=1), [data], "checksum")
    refused("metadata-magic", wrap(text, "<", [50], magic=1), [data], "magic")
    refused("metadata-cut", wrap(text, "<", [50])[:-1], [data], "ends")


def unknown():
    """What a reader does not know it leaves alone: attributes of every block, call sites, comments anywhere."""
    metadata = plain("integer { size = 8; align = 8; colour = green; } a; // to the end\n u8 /* inside */ b;")
    for block, more in ("trace", 'shade = 5; maker = "x";'), ("stream", "lane = 3;"), ("event", 'mood = "odd"; loglevel = 6;'):
        metadata = metadata.replace(block + " {", f"{block} {{ {more} ")
    metadata += 'callsite { name = "e"; func = "main"; file = "a.c"; line = 7; ip = 0x40096c; };\n' \
                'env { hostname = "h"; strange_key = 5; };\n' \
                'clock { name = unused; freq = 10; taste = "salt"; };\n'
    case("unknown", metadata, [b"\1\2"], [event({"a": 1, "b": 2}, host="h")])
    refused("unknown", metadata + "callsite { name = ; };\n", [b"\1\2"], "line")
    refused("unknown-type", plain("quark a;"), [b"\1"], "quark")


def write_trace(folder, metadata, streams):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "metadata"), "wb") as file:
        file.write(metadata if isinstance(metadata, bytes) else metadata.encode())
    for number, data in enumerate(streams):
        with open(os.path.join(folder, f"stream_{number}"), "wb") as file:
            file.write(data)


def check_limits(tap, folder, events):
    """Each range of time has the events that lie in it, wherever their packets' headers say that they lie."""
    edges = sorted({one["time_ns"] + more for one in events for more in (0, 1)})
    wrong = []
    for i, begin in enumerate(edges[::3]):
        for end in [begin + 1, begin + 5000000, *edges[3 * i + 1::6], edges[-1] + 1]:
            limits = ["--begin", f"{begin // 10**9}.{begin % 10**9:09}", "--end", f"{end // 10**9}.{end % 10**9:09}"]
            wanted = [one["time_ns"] for one in events if begin <= one["time_ns"] < end]
            _, found = read(folder, *limits)
            _, counted = read(folder, "--count-fields", *limits)
            if [one["time_ns"] for one in found] != wanted or [one["events"] for one in counted] != [len(wanted)]:
                wrong.append((begin, end, wanted, found, counted))
    tap.ok(not wrong, "limits of time keep events outside of their packets' times", *wrong[:3])


def check_intersection(tap, folder):
    """Files without a stream's number are streams of their own, whether or not they follow each other."""
    apart = [packet(0, 10, [1]), packet(20, 30, [21])]
    overlapping = [packet(0, 15, [1, 12]), packet(11, 30, [12, 21])]
    for name, streams, status, times in ("apart", apart, 1, []), ("overlapping", overlapping, 0, [12, 12]):
        path = os.path.join(folder, name)
        write_trace(path, usual(), streams)
        done, found = read(path, "--intersection")
        tap.ok(done.returncode == status and [one["time_ns"] for one in found] == [at(time, 0)["time_ns"] for time in times],
               f"the common time of streams that are {name}", done.stderr, found)
        tap.ok(status == 0 or "no time in which all streams" in done.stderr, f"{name}: why there is none", done.stderr)


def main():
    for make in (integers, alignments, reals, texts, enumerations, variants, scopes, types, packets, losses, clocks, headers,
                 bare, metadata_packets, unknown, open_packets, twins, escapes, environment_lengths, byte_orders):
        make()
    merged = outside()
    tap = Tap()
    with tempfile.TemporaryDirectory() as scratch:
        if len(sys.argv) == 3 and sys.argv[1] == "--make":
            scratch = sys.argv[2]
        for name, (metadata, streams, *_) in CASES.items():
            write_trace(os.path.join(scratch, f"ctf1-{name}"), metadata, streams)
        for name, (metadata, streams, _) in REFUSED.items():
            write_trace(os.path.join(scratch, f"ctf1-{name}_nok"), metadata, streams)
        if len(sys.argv) > 1:
            return 0
        for name, (_, _, events, words, status) in CASES.items():
            tap.run(name, check_case, tap, os.path.join(scratch, f"ctf1-{name}"), name, events, words, status)
        tap.run("intersection", check_intersection, tap, os.path.join(scratch, "intersection"))
        tap.run("limits", check_limits, tap, os.path.join(scratch, "ctf1-outside-first"), merged)
        for name, (_, _, words) in REFUSED.items():
            done, found = read(os.path.join(scratch, f"ctf1-{name}_nok"))
            tap.ok(done.returncode == 1 and words in done.stderr, f"{name} is complained about",
                   f"exit {done.returncode}", done.stderr, found)
    return tap.done()


sys.exit(main())

# SPDX-License-Identifier: MIT
"""Writes small CTF 2 traces, bit by bit as section 6.4 of CTF2-SPEC-2.0 has them read, and says what is in them.

A trace is a list of fragments (dictionaries) and of packets (PacketWriter). Nothing here is shared with lull."""

import json
import os
import struct

LE, BE = "little-endian", "big-endian"
FTL, LTF = "first-to-last", "last-to-first"
ENCODINGS = {"utf-8": 1, "utf-16le": 2, "utf-16be": 2, "utf-32le": 4, "utf-32be": 4}


def fixed(kind, length, byte_order=LE, **more):
    return {"type": f"fixed-length-{kind}", "length": length, "byte-order": byte_order,
            **{key.replace("_", "-"): value for key, value in more.items()}}


def uint(length, byte_order=LE, **more):
    return fixed("unsigned-integer", length, byte_order, **more)


def sint(length, byte_order=LE, **more):
    return fixed("signed-integer", length, byte_order, **more)


def varint(**more):
    return {"type": "variable-length-unsigned-integer", **more}


def string(encoding="utf-8"):
    return {"type": "null-terminated-string", "encoding": encoding}


def members(*pairs, **more):
    return {"type": "structure", "member-classes": [{"name": n, "field-class": c} for n, c in pairs],
            **{key.replace("_", "-"): value for key, value in more.items()}}


def location(*path, origin=None):
    return {"path": list(path), **({"origin": origin} if origin else {})}


def dynamic(kind, where, **more):
    return {"type": f"dynamic-length-{kind}", "length-field-location": where,
            **{key.replace("_", "-"): value for key, value in more.items()}}


def option(ranges, field_class, name=None):
    return {"selector-field-ranges": ranges, "field-class": field_class, **({"name": name} if name else {})}


def variant(where, *options):
    return {"type": "variant", "selector-field-location": where, "options": list(options)}


def optional(where, field_class, ranges=None):
    return {"type": "optional", "selector-field-location": where, "field-class": field_class,
            **({"selector-field-ranges": ranges} if ranges else {})}


def alignment(c):
    """Section 6.4.1."""
    if c["type"].startswith("fixed-length"):
        return c.get("alignment", 1)
    if c["type"] == "structure":
        return max([c.get("minimum-alignment", 1)] + [alignment(m["field-class"]) for m in c["member-classes"]])
    if c["type"].endswith("length-array"):
        return max(c.get("minimum-alignment", 1), alignment(c["element-field-class"]))
    return 1 if c["type"] in ("optional", "variant") else 8


def pattern(c, value):
    """The bits of a fixed-length field, least significant first."""
    if c["type"] == "fixed-length-floating-point-number":
        value = int.from_bytes(struct.pack({16: "<e", 32: "<f", 64: "<d"}[c["length"]], value), "little")
    return [int(value) >> i & 1 for i in range(c["length"])]


def leb128(value, is_signed):
    out = bytearray()
    while True:
        byte, value = value & 127, value >> 7
        if (value == 0 and not (is_signed and byte & 64)) or (is_signed and value == -1 and byte & 64):
            return bytes(out + bytes([byte]))
        out.append(byte | 128)


class PacketWriter:
    """Bytes of a packet; `x` is the position behind the last field, in bits, as in section 6.1."""

    def __init__(self):
        self.bytes = bytearray()
        self.x = 0

    def align(self, n):
        self.x += -self.x % n

    def put_fixed(self, c, value):
        bits = pattern(c, value)
        big = c["byte-order"] == BE
        order = c.get("bit-order", LTF if big else FTL)
        for i in range(len(bits)):
            self.put_bit(big, bits[i if order == FTL else len(bits) - i - 1])

    def put_bit(self, big, bit):
        self.bytes += b"\0" * (self.x // 8 + 1 - len(self.bytes))
        self.bytes[self.x // 8] |= bit << (7 - self.x % 8 if big else self.x % 8)
        self.x += 1

    def put_bytes(self, data):
        for byte in data:
            for i in range(8):
                self.put_bit(False, byte >> i & 1)

    def put(self, c, value):
        """One field. Structures are dictionaries, arrays lists, variants pairs of option and value, optional fields
        that are not there None."""
        kind = c["type"]
        self.align(alignment(c))
        if kind.startswith("fixed-length"):
            self.put_fixed(c, value)
        elif kind.startswith("variable-length"):
            self.put_bytes(leb128(value, "-signed-" in kind))
        elif kind == "null-terminated-string":
            self.put_bytes(value.encode(c["encoding"]) + b"\0" * ENCODINGS[c["encoding"]])
        elif kind.endswith("length-string"):
            data = value.encode(c.get("encoding", "utf-8"))
            self.put_bytes(data if kind.startswith("dynamic") else data + b"\0" * (c["length"] - len(data)))
        elif kind.endswith("length-blob"):
            self.put_bytes(value)
        elif kind == "structure":
            for m in c["member-classes"]:
                self.put(m["field-class"], value[m["name"]])
        elif kind.endswith("length-array"):
            for element in value:
                self.put(c["element-field-class"], element)
        elif kind == "optional":
            if value is not None:
                self.put(c["field-class"], value)
        else:
            self.put(c["options"][value[0]]["field-class"], value[1])
        return self

    def data(self, size=None):
        size = size or (self.x + 7) // 8
        return bytes(self.bytes) + b"\0" * (size - len(self.bytes))


def labels(ranges_by_name, hits):
    return [name for name, ranges in ranges_by_name.items() if any(hits(low, high) for low, high in ranges)]


def shown(c, value):
    """The value as `lull print --json` has it."""
    kind = c["type"]
    if kind == "fixed-length-boolean":
        return value != 0
    if kind == "fixed-length-bit-map":
        return {"value": value,
                "flags": labels(c["flags"], lambda low, high: any(value >> i & 1 for i in range(low, high + 1)))}
    if c.get("mappings"):
        names = labels(c["mappings"], lambda low, high: low <= value <= high)
        return {"value": value, "label": names[0] if names else None, **({"labels": names} if len(names) > 1 else {})}
    if kind.endswith("-blob"):
        return value.hex()
    if kind == "structure":
        return {m["name"]: shown(m["field-class"], value[m["name"]]) for m in c["member-classes"]
                if not (m["field-class"]["type"] == "optional" and value[m["name"]] is None)}
    if kind.endswith("length-array"):
        return [shown(c["element-field-class"], element) for element in value]
    if kind == "optional":
        return shown(c["field-class"], value)
    if kind == "variant":
        chosen = c["options"][value[0]]
        return {chosen.get("name", ""): shown(chosen["field-class"], value[1])}
    return value


def write_trace(folder, fragments, streams):
    """`streams` is a list of lists of packets (bytes)."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "metadata"), "w", encoding="utf-8") as file:
        for fragment in [{"type": "preamble", "version": 2}] * (fragments[0]["type"] != "preamble") + fragments:
            file.write("\x1e" + json.dumps(fragment) + "\n")
    for number, packets in enumerate(streams):
        with open(os.path.join(folder, f"stream_{number}"), "wb") as file:
            file.write(b"".join(packets))

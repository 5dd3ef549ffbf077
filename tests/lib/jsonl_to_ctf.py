# SPDX-License-Identifier: MIT
"""Turns a file of events, one JSON object a line, into a CTF 2 trace.

    {"t": ns, "n": name, "p": {payload}, "pc": {"cpu_id": c}, "sec": {contexts}}

is an event: integers become signed 64-bit fields, texts strings, lists of integers arrays of bytes;
{"bits": 32, "signed": false, "value": v} is an integer of another kind. One stream for each CPU. So that a test can say what happened in a line of text, and so
that the synthetic streams made for other tools can be read.
"""
import json
import os
import struct
import sys

SEPARATOR = b"\x1e"


def field_class(value):
    if isinstance(value, str):
        return {"type": "null-terminated-string"}
    if isinstance(value, list):
        return {"type": "static-length-array", "length": len(value), "minimum-alignment": 8,
                "element-field-class": unsigned(8)}
    if isinstance(value, dict) and not value["signed"]:
        return unsigned(value["bits"])
    return {"type": "fixed-length-signed-integer", "length": value["bits"] if isinstance(value, dict) else 64,
            "byte-order": "little-endian", "alignment": 8}


def unsigned(bits, *roles):
    integer = {"type": "fixed-length-unsigned-integer", "length": bits,
               "byte-order": "little-endian", "alignment": 8}
    if roles:
        integer["roles"] = list(roles)
    return integer


def structure(members):
    return {"type": "structure",
            "member-classes": [{"name": name, "field-class": cls} for name, cls in members]}


def value_bytes(value):
    if isinstance(value, str):
        return value.encode() + b"\0"
    if isinstance(value, list):
        return bytes(value)
    if isinstance(value, dict):
        return value["value"].to_bytes(value["bits"] // 8, "little", signed=value["signed"])
    return struct.pack("<q", value)


def shape_of(event):
    """What makes two events of one class: name and the kinds of their fields."""
    def kinds(fields):
        return tuple((name, type(value).__name__, json.dumps(field_class(value)) if isinstance(value, (dict, list)) else 0)
                     for name, value in fields.items())
    return event["n"], kinds(event.get("p", {})), kinds(event.get("sec", {}))


def preamble(environment, offset_ns):
    return [
        {"type": "preamble", "version": 2},
        {"type": "trace-class", "environment": environment,
         "packet-header-field-class": structure([
             ("magic", unsigned(32, "packet-magic-number")),
             ("stream_id", unsigned(64, "data-stream-class-id"))])},
        {"type": "clock-class", "id": "monotonic", "name": "monotonic", "frequency": 1000000000,
         "origin": "unix-epoch",
         "offset-from-origin": {"seconds": offset_ns // 10**9, "cycles": offset_ns % 10**9}},
        {"type": "data-stream-class", "id": 0, "default-clock-class-id": "monotonic",
         "packet-context-field-class": structure([
             ("packet_size", unsigned(64, "packet-total-length")),
             ("content_size", unsigned(64, "packet-content-length")),
             ("timestamp_begin", unsigned(64, "default-clock-timestamp")),
             ("timestamp_end", unsigned(64, "packet-end-default-clock-timestamp")),
             ("events_discarded", unsigned(64, "discarded-event-record-counter-snapshot")),
             ("cpu_id", unsigned(32))]),
         "event-record-header-field-class": structure([
             ("id", unsigned(16, "event-record-class-id")),
             ("timestamp", unsigned(64, "default-clock-timestamp"))])},
    ]


def event_class(number, event):
    fragment = {"type": "event-record-class", "id": number, "data-stream-class-id": 0,
                "name": event["n"]}
    if event.get("sec"):
        fragment["specific-context-field-class"] = structure(
            [(name, field_class(value)) for name, value in event["sec"].items()])
    if event.get("p"):
        fragment["payload-field-class"] = structure(
            [(name, field_class(value)) for name, value in event["p"].items()])
    return fragment


def record(number, event):
    data = struct.pack("<HQ", number, event["t"])
    for fields in (event.get("sec", {}), event.get("p", {})):
        data += b"".join(value_bytes(value) for value in fields.values())
    return data


def packet(cpu, records, lost):
    begin, end = records[0][0], records[-1][0]
    body = b"".join(data for _, data in records)
    size = 8 * (12 + 5 * 8 + 4 + len(body))
    return struct.pack("<IQQQQQQI", 0xC1FC1FC1, 0, size, size, begin, end, lost, cpu) + body


def write_stream(path, cpu, records, lost, early, cuts):
    """One packet; two if events were lost. LTTng counts them in the packet after whose last event they are missing."""
    half = len(records) // 2 if lost else 0
    with open(path, "wb") as stream:
        for cut in cuts:
            before = [one for one in records if one[0] < cut]
            records = records[len(before):]
            if before:
                stream.write(packet(cpu, before, 0))
        if not records:
            return
        if half:
            stream.write(packet(cpu, records[:half], lost if early else 0))
        stream.write(packet(cpu, records[half:], lost))


def write_trace(events, directory, environment=None, lost=0, offset_ns=0, early=False, cuts=()):
    """Writes the events (dictionaries, in order of time) as a trace into `directory`, which is made. `lost`: events that the
    tracer had to drop, after the last event of each stream, or in its middle if `early`. `offset_ns`: what the times of events count from. `cuts`: times at which each
    stream ends a packet; the next starts with its first event."""
    os.makedirs(directory)
    environment = {"domain": "kernel", "hostname": "synthetic", "tracer_name": "lttng-modules",
                   "tracer_major": 2, "tracer_minor": 13, "tracer_patchlevel": 9,
                   **(environment or {})}
    fragments = preamble(environment, offset_ns)
    numbers, streams = {}, {}
    for event in events:
        shape = shape_of(event)
        if shape not in numbers:
            numbers[shape] = len(numbers)
            fragments.append(event_class(numbers[shape], event))
        streams.setdefault(event.get("pc", {}).get("cpu_id", 0), []).append((event["t"], record(numbers[shape], event)))
    with open(os.path.join(directory, "metadata"), "wb") as metadata:
        for fragment in fragments:
            metadata.write(SEPARATOR + json.dumps(fragment).encode() + b"\n")
    for cpu, records in streams.items():
        write_stream(os.path.join(directory, "channel_%d" % cpu), cpu, records, lost, early, cuts)


def read_events(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: jsonl_to_ctf.py EVENTS.jsonl DIRECTORY")
    write_trace(read_events(sys.argv[1]), sys.argv[2])

# SPDX-License-Identifier: MIT
# What `trace-cmd report -R -t` prints, and whether an event is as it says.
import re

REPORT_LINE = re.compile(r"\s*(?:\S+:\s+)?.*?-(\d+)\s+\[(\d+)\]\s+(?:\S+\s+)?(\d+)\.(\d{9}): (\S+):\s*(.*)$", re.DOTALL)


def report_of(text):
    """(time, CPU, event, tid, fields) of each line of `trace-cmd report -R -t`."""
    events = []
    for line in text.splitlines():
        match = REPORT_LINE.match(line)
        if match:
            tid, cpu, seconds, ns, name, fields = match.groups()
            events.append((int(seconds) * 10**9 + int(ns), int(cpu), name, int(tid), fields))
    return events


# What trace-cmd shows in hexadecimal, as the events' own formats do.
HEX_FIELDS = "sa_flags", "sa_handler"


def is_same(field, value, told):
    """Whether trace-cmd shows the value so."""
    if told.startswith("ARRAY["):
        octets = bytes(int(octet, 16) for octet in re.findall("[0-9a-f]{2}", told[5:]))
        if isinstance(value, str):
            return octets.split(b"\0")[0] == value.encode(errors="surrogateescape")
        width = len(octets) // max(len(value), 1)
        return all(int.from_bytes(octets[i * width:(i + 1) * width], "little") == number % (1 << 8 * width)
                   for i, number in enumerate(value))
    if isinstance(value, int):
        return int(told, 16 if told.startswith("0x") or field in HEX_FIELDS else 10) == value
    return told == (value if isinstance(value, str) else None)


def difference(told, event):
    """What is not the same, or None."""
    time, cpu, name, tid, text = told
    mine = event["time_ns"], event["cpu"], event["name"], event["context"]["common_pid"]
    if (time, cpu, name, tid) != mine:
        return f"{(time, cpu, name, tid)} != {mine}"
    pattern = " ".join(re.escape(field) + "=(.*)" for field in event["fields"])
    match = re.fullmatch(pattern, text, re.DOTALL)
    if match is None:
        return f"{name}: fields of {text!r} != {list(event['fields'])}"
    for (field, value), shown in zip(event["fields"].items(), match.groups()):
        if isinstance(value, int) and value > 1 << 63 and re.fullmatch(r"[A-Za-z_][\w.]*", shown):
            continue  # an address of the kernel: trace-cmd shows the name of the function there
        if not is_same(field, value, shown):
            return f"{name}: {field}: {shown!r} != {value!r}"
    return None

# SPDX-License-Identifier: MIT
"""Compares two LAMI documents cell by cell: tables by class and subtitle, rows by what identifies them."""
import math

# Columns of a table that say which thing a row is about, by the table's class; other tables: the row's place.
KEYS = {
    "per-process": [0], "per-cpu": [0], "allocd": [0], "freed": [0], "per-tid": [0],
    "syscall-latency-stats": [0], "disk-latency-stats": [0], "per-process-top": [0],
    "per-file-top": [0], "per-process-top-block": [0], "per-disk-top-sector": [0],
    "per-disk-top-request": [0], "per-disk-top-rps": [0], "per-netif-top": [0], "hard-stats": [0],
    "soft-stats": [0], "per_tid_stats": [0], "per_prio_stats": [0],
    "iolog": [0, 3, 5], "top-syscall": [0, 3, 5], "irqlog": [0, 2, 3], "schedlog": [0, 1, 5],
    "top": [0, 1, 5],
}
KEYS_OF_TOTAL = {"memtop": [], "cputop": [], "syscallstats": [0]}


def subtitle(table):
    """What stands in the brackets at the end of the title of one of several tables of a class."""
    title = table["class"].get("title", "") if isinstance(table["class"], dict) else ""
    return title[title.find("[") + 1:-1] if title.endswith("]") else ""


def class_of(table):
    cls = table["class"]
    return cls if isinstance(cls, str) else cls.get("inherit", cls.get("title"))


def identity(cell):
    """A cell as something that can be a key: processes by tid, interrupts by kind and number."""
    if cell is None:
        return None
    if cell["class"] == "process":
        return ("process", cell.get("tid"))
    if cell["class"] == "irq":
        return ("irq", cell["hard"], cell["nr"])
    if cell["class"] == "time-range":
        return (cell["begin"]["value"], cell["end"]["value"])
    return tuple(sorted((name, value) for name, value in cell.items() if name != "class"))


def keys_of(command, cls):
    if cls == "total":
        return KEYS_OF_TOTAL.get(command, [])
    if cls == "log":
        return KEYS.get(command)
    return KEYS.get(cls)


def rows_by_key(command, cls, rows):
    """{key: row}; rows of one key are told apart by how many came before."""
    columns, seen, found = keys_of(command, cls), {}, {}
    for place, row in enumerate(rows):
        key = (place,) if columns is None else tuple(identity(row[i]) for i in columns)
        seen[key] = seen.get(key, 0) + 1
        found[key + (seen[key],)] = row
    return found


def tables_by_key(document):
    return {(class_of(table), subtitle(table)): table for table in document["results"]}


def same_number(a, b):
    return a == b or (isinstance(a, (int, float)) and isinstance(b, (int, float)) and
                      math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12))


def same(a, b):
    """Whether two cells say the same: numbers to a billionth, as one side adds in floating point."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    return same_number(a, b)


class Difference:
    """A cell that is not the same, or a row or table that only one side has."""

    def __init__(self, command, cls, sub, key=None, column=None, peer=None, ours=None, rows=None):
        self.command, self.cls, self.sub, self.key = command, cls, sub, key
        self.column, self.peer, self.ours = column, peer, ours
        self.peer_row, self.our_row = rows or (None, None)

    def kind(self):
        if self.key is None:
            return "table"
        return "row" if self.column is None else "cell"

    def __str__(self):
        where = f"{self.command} {self.cls}" + (f" [{self.sub}]" if self.sub else "")
        return f"{where} {self.key or ''} {self.column or self.kind()}: peer {self.peer}, lull {self.ours}"


def compare(command, peer, ours, columns):
    """All differences of two documents; `columns` gives the titles of a class's columns."""
    peers, own = tables_by_key(peer), tables_by_key(ours)
    for name in sorted(peers.keys() | own.keys()):
        cls, sub = name
        if name not in peers or name not in own:
            yield Difference(command, cls, sub, peer=peers.get(name), ours=own.get(name))
            continue
        for side in ("begin", "end"):
            a, b = (t["time-range"][side]["value"] for t in (peers[name], own[name]))
            if a != b:
                yield Difference(command, cls, sub, ("time-range",), side, a, b)
        left = rows_by_key(command, cls, peers[name]["data"])
        right = rows_by_key(command, cls, own[name]["data"])
        for key in list(left) + [key for key in right if key not in left]:
            if key not in left or key not in right:
                yield Difference(command, cls, sub, key, None, left.get(key), right.get(key),
                                 (left.get(key), right.get(key)))
                continue
            for title, a, b in zip(columns(cls), left[key], right[key]):
                if not same(a, b):
                    yield Difference(command, cls, sub, key, title, a, b, (left[key], right[key]))


def count_cells(document):
    return sum(len(row) for table in document["results"] for row in table["data"])

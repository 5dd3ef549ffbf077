#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull hprof: heap dumps that chance made, whose sizes the generator knows. What an object retains is found by taking it out of
# the graph and looking at what can still be reached. With LULL_TEST_JAVA=1 also a dump of a JVM that runs, against its jmap.
import collections
import gzip
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "bench"), os.path.join(source, "tests", "lib")]
import memory_load  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
DUMP = os.path.join(scratch.name, "heap.hprof")
ROOTS = {0xff: (1, 0), 1: (2, 0), 2: (1, 8), 3: (1, 8), 4: (1, 4), 5: (1, 0), 6: (1, 4), 7: (1, 0), 8: (1, 8)}  # ids, other bytes
PRIMITIVES = {4: ("[Z", 1), 5: ("[C", 2), 6: ("[F", 4), 7: ("[D", 8), 8: ("[B", 1), 9: ("[S", 2), 10: ("[I", 4), 11: ("[J", 8)}


def run(*arguments):
    return subprocess.run([lull, "hprof", *arguments], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def answer(data, *arguments, status=0):
    with open(DUMP, "wb") as file:
        file.write(data)
    done = run("--json", "--limit", "0", *arguments, DUMP)
    tap.ok(done.returncode == status, f"exit status {status}", done.returncode, done.stderr)
    return json.loads(done.stdout)


class Heap:
    """Objects are laid out one after the other, as long as their shallow sizes."""
    def __init__(self, id_size, reference, head=None):
        self.id_size, self.reference = id_size, reference
        self.head = head or (12 if reference == 4 else 16)
        self.next, self.strings, self.records, self.body = 0x1000, {}, b"", []
        self.sizes, self.kinds, self.names, self.links, self.roots, self.tags = {}, {}, {}, {}, [], []
        self.fields, self.supers = {}, {}

    def id(self, number):
        return number.to_bytes(self.id_size, "big")

    def record(self, tag, content):
        return struct.pack(">BII", tag, 0, len(content)) + content

    def place(self, size, kind, name):
        at, size = self.next, (size + 7) // 8 * 8
        self.next += max(size, 8)
        self.sizes[at], self.kinds[at], self.names[at], self.links[at] = size, kind, name, []
        return at

    def make_class(self, name, fields, super_class=0):
        """`fields`: the types of its own."""
        at = self.place(0, "java.lang.Class", f"class {name.replace('/', '.')}")
        self.strings[name] = 0x10 + len(self.strings)
        self.records += self.record(1, self.id(self.strings[name]) + name.encode())
        self.records += self.record(2, struct.pack(">I", 1) + self.id(at) + struct.pack(">I", 0) + self.id(self.strings[name]))
        self.fields[at], self.supers[at] = fields, super_class
        return at

    def width(self, kind, reference):
        return reference if kind == 2 else PRIMITIVES[kind][1]

    def all_fields(self, of):
        return self.fields[of] + (self.all_fields(self.supers[of]) if self.supers[of] else [])

    def instance(self, of):
        size = self.head + sum(self.width(kind, self.reference) for kind in self.all_fields(of))
        name = self.names[of].removeprefix("class ")
        return self.place(size, name, name)

    def write_class(self, at, statics=(), loader=0):
        self.links[at] = [one for one in (*statics, loader, self.supers[at]) if one in self.links]
        zero = self.id(0)
        constants = struct.pack(">HHBI", 1, 1, 10, 5)
        values = b"".join(self.id(0x10) + b"\x02" + self.id(one) for one in statics) + self.id(0x10) + b"\x0b" + bytes(8)
        types = b"".join(self.id(0x10) + bytes([kind]) for kind in self.fields[at])
        self.body.append(b"\x20" + self.id(at) + bytes(4) + self.id(self.supers[at]) + self.id(loader) + 4 * zero + bytes(4) + constants
                         + struct.pack(">H", len(statics) + 1) + values + struct.pack(">H", len(self.fields[at])) + types)

    def write_instance(self, at, of, references):
        self.links[at] = [of, *(one for one in references if one in self.links)]
        left = list(references)
        data = b"".join(self.id(left.pop()) if kind == 2 else b"\x77" * self.width(kind, 0) for kind in self.all_fields(of))
        self.body.append(b"\x21" + self.id(at) + bytes(4) + self.id(of) + struct.pack(">I", len(data)) + data)

    def array(self, of, count):
        return self.place(self.head + 4 + count * self.reference, self.names[of].removeprefix("class "), self.names[of].removeprefix("class "))

    def write_array(self, at, of, references):
        self.links[at] = [of, *(one for one in references if one in self.links)]
        self.body.append(b"\x22" + self.id(at) + bytes(4) + struct.pack(">I", len(references)) + self.id(of) + b"".join(map(self.id, references)))

    def primitives(self, kind, count):
        name, width = PRIMITIVES[kind]
        at = self.place(self.head + 4 + count * width, name, name)
        self.body.append(b"\x23" + self.id(at) + bytes(4) + struct.pack(">IB", count, kind) + b"\x55" * (count * width))
        return at

    def root(self, at, tag):
        ids, more = ROOTS[tag]
        self.roots.append(at)
        self.tags.append(tag)
        self.body.append(bytes([tag]) + self.id(at) + self.id(7) * (ids - 1) + bytes(more))

    def write(self, segments=3):
        parts = [b"".join(self.body[i::segments]) for i in range(segments)]
        return (b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", self.id_size, 1) + self.records
                + b"".join(self.record(0x1c, part) for part in parts) + self.record(0x2c, b""))

    def reached(self, without=None):
        todo, seen = [one for one in self.roots if one in self.links and one != without], set()
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += [one for one in self.links[at] if one != without]
        return seen


def by_chance(seed, id_size, reference, objects, head=None, start=0x1000):
    """Records are in any order; of ids of 8 bytes the upper halves differ where they `start` just below 4 GiB."""
    rng = random.Random(seed)
    heap = Heap(id_size, reference, head)
    heap.next = start
    of_classes = heap.make_class("java/lang/Class", [])
    base = heap.make_class("a/Base", [2, 8, 11])
    node = heap.make_class("a/Node", [10, 2, 2, 9], base)
    arrays = heap.make_class("[La/Node;", [])
    nodes = [heap.instance(node if rng.random() < 0.7 else base) for _ in range(objects)]
    lists = [(heap.array(arrays, count), count) for count in (rng.randrange(9) for _ in range(objects // 8))]
    lists += [(heap.array(arrays, 9), 9), (heap.array(arrays, 5), 5)]
    plain = [heap.primitives(kind, rng.randrange(40)) for kind in PRIMITIVES for _ in range(2)]
    everything = nodes + plain + [at for at, _ in lists]

    def some(count):
        """Mostly objects nearby, so that the tree is deep; sometimes none, and sometimes one that is not there."""
        return [rng.choice((0, 0, 0xdead0, rng.choice(everything), *rng.choices(everything, k=3))) for _ in range(count)]
    for at in (of_classes, base, node, arrays):
        heap.write_class(at, some(2) if at == node else (), nodes[0] if at == base else 0)
    for at in nodes:
        of = node if heap.names[at] == "a.Node" else base
        heap.write_instance(at, of, some(heap.all_fields(of).count(2)))
    for at, count in lists:
        heap.write_array(at, arrays, some(count))
    for tag in ROOTS:
        heap.root(rng.choice(everything), tag)
    heap.root(0xdead0, 1)
    rng.shuffle(heap.body)
    return heap


def check(heap, told, reference):
    reached = heap.reached()
    tap.ok(told["reference_bytes"] == reference, "the size of references", told["reference_bytes"])
    tap.ok((told["objects"], told["bytes"], told["reachable_objects"], told["reachable_bytes"], told["is_whole"])
           == (len(heap.sizes), sum(heap.sizes.values()), len(reached), sum(heap.sizes[at] for at in reached), True), "sums", told["objects"])
    count = collections.Counter(heap.kinds.values())
    size = collections.Counter()
    for at, kind in heap.kinds.items():
        size[kind] += heap.sizes[at]
    tap.ok({row["class"]: (row["objects"], row["bytes"]) for row in told["classes"]} == {kind: (count[kind], size[kind]) for kind in count},
           "the histogram", told["classes"])
    lost = {at: reached - heap.reached(at) for at in reached}
    rows = {int(row["id"], 16): row for row in told["largest"]}
    tap.ok(set(rows) == reached and len(rows) == len(told["largest"]), "all that can be reached")
    wrong = [at for at in reached if rows[at]["retained_bytes"] != sum(heap.sizes[one] for one in lost[at])
             or rows[at]["class"] != heap.names[at] or rows[at]["bytes"] != heap.sizes[at]]
    tap.ok(not wrong, "what each object retains", *(rows[at] for at in wrong[:5]))
    # Who keeps it is the dominator that loses least besides.
    for at in reached:
        above = [one for one in reached if one != at and at in lost[one]]
        nearest = min(above, key=lambda one: len(lost[one]), default=None)
        if rows[at]["keeper_id"] != (hex(nearest) if nearest else None) or rows[at]["keeper"] != (heap.names[nearest] if nearest else None):
            wrong.append(rows[at])
    tap.ok(not wrong, "who keeps each object", *wrong[:5])
    order = [(-row["retained_bytes"], int(row["id"], 16)) for row in told["largest"]]
    tap.ok(order == sorted(order), "most first")


def made_heaps():
    # The last has references of 8 bytes, and 4 for the class: as Java since 15 with large heaps, or with its collector ZGC.
    for seed, (id_size, reference, *head) in enumerate(((8, 4), (8, 8), (4, 4), (8, 4), (8, 8), (8, 8, 12))):
        heap = by_chance(seed, id_size, reference, 60 + 60 * (seed % 3), *head, start=0xffff_f000 if id_size == 8 and seed else 0x1000)
        check(heap, answer(heap.write(1 + seed)), reference)
    told = answer(by_chance(1, 8, 8, 60).write(), "--reference-size", "4")
    tap.ok(told["reference_bytes"] == 4, "--reference-size")


def shared():
    """Two holders of one array: it is kept by what keeps both."""
    heap = Heap(8, 8)
    kind = heap.make_class("Holder", [2])
    top, left, right = (heap.instance(kind) for _ in range(3))
    pair = heap.array(kind, 2)
    data = heap.primitives(8, 1000)
    heap.write_class(kind)
    heap.write_instance(top, kind, [pair])
    heap.write_array(pair, kind, [left, right])
    for holder in left, right:
        heap.write_instance(holder, kind, [data])
    heap.root(top, 3)
    rows = {int(row["id"], 16): row for row in answer(heap.write(1), "--reference-size", "8")["largest"]}
    # 16 + 4 + 1000, rounded up; 16 + 8; 16 + 4 + 2 * 8, rounded up.
    expected = {data: (1024, pair), left: (24, pair), right: (24, pair), pair: (40 + 48 + 1024, top), top: (24 + 1112, None), kind: (0, top)}
    tap.ok({at: (row["retained_bytes"], row["keeper_id"] and int(row["keeper_id"], 16)) for at, row in rows.items()} == expected,
           "what two share", rows)


def distances(heap, root):
    """How far each object is from a root."""
    found, todo = {root: 0}, collections.deque([root])
    while todo:
        at = todo.popleft()
        for one in heap.links[at]:
            if one not in found:
                found[one] = found[at] + 1
                todo.append(one)
    return found


# Best first: what `lull hprof --path` calls them, and their tags.
KINDS = ["thread", "frame", "JNI local", "JNI global", "system class", "thread block", "busy monitor", "native stack", "unknown root"]
RANKED = [8, 3, 2, 1, 5, 6, 7, 4, 0xff]


def paths():
    wrong, n = [], 0
    for seed in range(3):
        heap = by_chance(10 + seed, 8, 4, 80)
        with open(DUMP, "wb") as file:
            file.write(heap.write(2))
        away = [(RANKED.index(tag), at, distances(heap, at)) for at, tag in zip(heap.roots, heap.tags) if at in heap.links]
        for target in random.Random(seed).sample(sorted(heap.reached()), 12):
            steps = json.loads(run("--json", "--path", hex(target), DUMP).stdout)["path"]
            ids = [int(step["id"], 16) for step in steps]
            length, rank, root = min((found[target], rank, at) for rank, at, found in away if target in found)
            linked = all(after in heap.links[before] for before, after in zip(ids, ids[1:]))
            n += length > 2
            if [ids[0], ids[-1], len(ids)] != [root, target, length + 1] or not linked or steps[0]["reference"] != KINDS[rank]:
                wrong.append((seed, steps, length, rank, root))
    tap.ok(not wrong and n > 9, "shortest paths, from the roots that say most", n, *wrong[:3])


def weak():
    """All fields have the name of the first string of the dump: "referent"."""
    heap = Heap(8, 4)
    heap.make_class("referent", [])
    reference = heap.make_class("java/lang/ref/Reference", [2])
    soft = heap.make_class("java/lang/ref/SoftReference", [], reference)
    plain = heap.make_class("Plain", [2])
    many = heap.make_class("[LPlain;", [])
    ref, other, first, second, target, lonely = (heap.instance(of) for of in (soft, soft, plain, plain, plain, plain))
    array = heap.array(many, 2)
    for at in reference, soft, plain, many:
        heap.write_class(at)
    heap.write_instance(ref, soft, [target])
    heap.write_instance(other, soft, [lonely])
    for at, to in (first, second), (second, array), (target, 0), (lonely, 0):
        heap.write_instance(at, plain, [to])
    heap.write_array(array, many, [0, target])
    heap.root(ref, 3)
    heap.root(other, 3)
    heap.root(first, 1)
    with open(DUMP, "wb") as file:
        file.write(heap.write(1))

    def by(*arguments):
        return [(step["reference"], int(step["id"], 16)) for step in json.loads(run("--json", *arguments, DUMP).stdout)["path"]]
    tap.ok(by("--path", hex(target), "--weak") == [("frame", ref), ("referent", target)], "--weak follows soft references", by("--path", hex(target), "--weak"))
    tap.ok(by("--path", hex(array)) == [("JNI global", first), ("referent", second), ("referent", array)], "a path by fields", by("--path", hex(array)))
    tap.ok(by("--path", hex(target)) == [("JNI global", first), ("referent", second), ("referent", array), ("[1]", target)],
           "a soft reference is none; elements have numbers", by("--path", hex(target)))
    done = run("--path", hex(lonely), DUMP)
    tap.ok(done.returncode == 1 and "only reached by weak references" in done.stderr and not done.stdout, "what is only weakly there", done)
    done = run("--path", "Nothing", DUMP)
    tap.ok(done.returncode == 1 and "has no object “Nothing”" in done.stderr, "no such class", done.stderr)
    done = run("--path", "Plain", DUMP)
    tap.ok(done.returncode == 0 and "which of 4 objects of its class retains most" in done.stdout, "of a class", done.stdout)


def suspects():
    wrong, n = [], 0
    for seed in range(4):
        heap = by_chance(20 + seed, 8, 8, 100)
        told = answer(heap.write(1), "--leaks")
        rows = {row["id"]: row for row in told["largest"]}  # made_heaps() shows that these are right
        least = told["reachable_bytes"] / 10
        top = [row for row in rows.values() if row["keeper_id"] is None]
        expected = {(row["id"], 1, row["retained_bytes"]) for row in top if row["retained_bytes"] >= least}
        groups = {}
        for row in top:
            if row["retained_bytes"] < least and not row["class"].startswith("class "):
                groups.setdefault(row["class"], []).append(row)
        for group in groups.values():
            retained = sum(row["retained_bytes"] for row in group)
            if len(group) > 1 and retained >= least:
                largest = max(group, key=lambda row: (row["retained_bytes"], -int(row["id"], 16)))
                expected.add((largest["id"], len(group), retained))
        shown = {(row["id"], row["objects"], row["retained_bytes"]) for row in told["suspects"]}
        for row in told["suspects"]:
            at, n = rows[row["id"]], n + 1
            while row["objects"] == 1:
                below = [one for one in rows.values() if one["keeper_id"] == at["id"]]
                most = max(below, key=lambda one: (one["retained_bytes"], -int(one["id"], 16)), default=None)
                if not most or most["retained_bytes"] < 0.7 * at["retained_bytes"]:
                    break
                at = most
            kept = collections.Counter()
            for one in rows.values():
                if one["keeper_id"] == at["id"]:
                    kept[one["class"].removeprefix("class ")] += one["retained_bytes"]
            if row["gatherer_id"] != at["id"] or row["kept_bytes"] != (max(kept.values()) if kept else None):
                wrong.append((seed, row, at, kept))
        if shown != expected:
            wrong.append((seed, shown, expected))
    tap.ok(not wrong and n > 3, "what retains a tenth or more, and where that gathers", n, *wrong[:3])


def shrinks():
    """Cut while it is read: the program is stopped as soon as it has mapped the file."""
    heap = Heap(8, 8)
    for _ in range(40000):
        heap.primitives(8, 1000)
    data = heap.write(1)
    for _ in range(20):
        with open(DUMP, "wb") as file:
            file.write(data)
        with subprocess.Popen([lull, "hprof", DUMP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            while program.poll() is None:
                with open(f"/proc/{program.pid}/maps", encoding="utf-8") as file:
                    if DUMP in file.read():
                        program.send_signal(signal.SIGSTOP)
                        os.truncate(DUMP, 4096)
                        program.send_signal(signal.SIGCONT)
                        break
            out, said = program.communicate(timeout=60)
        if program.returncode != 0:
            break
    tap.ok(program.returncode == 1 and "became shorter while it was read" in said and DUMP in said and not out, "a file that shrinks",
           program.returncode, said[-300:])


def memory():
    """No more than the dump has bytes, half of them ids and fields. It comes first: what the system says is at least what this program had when it forked."""
    with open(lull, "rb") as file:
        if b"__asan_init" in file.read():
            tap.skip("memory", "the address sanitizer takes more")
            return
    path = os.path.join(scratch.name, "large.hprof")
    _, retained = memory_load.write_dump(path, 60_000_000)
    with subprocess.Popen([lull, "hprof", "--json", "--limit", "1", path], stdout=subprocess.PIPE) as process:
        (row,) = json.loads(process.stdout.read())["largest"]
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    tap.ok(row["retained_bytes"] == retained, "what one array retains", row, retained)
    tap.ok(usage.ru_maxrss * 1024 <= os.path.getsize(path), "a dump takes no more memory than it has bytes", usage.ru_maxrss * 1024, os.path.getsize(path))


def refused(name, data, said):
    with open(DUMP, "wb") as file:
        file.write(data)
    done = run(DUMP)
    tap.ok(done.returncode == 1 and said in done.stderr and not done.stdout and DUMP in done.stderr, name, done.returncode, done.stderr)


def bad_input():
    heap = by_chance(3, 8, 4, 40)
    whole = heap.write(1)
    segment = whole.index(b"\x1c" + bytes(4))
    refused("an empty file", b"", "not a heap dump")
    refused("another file", b"\x1f\x8a" + bytes(100), "not a heap dump")
    refused("ids of 3 bytes", whole.replace(struct.pack(">I", 8), struct.pack(">I", 3), 1), "byte 19: the size of ids")
    refused("an unknown record of the heap", whole[:segment + 9] + b"\x89" + whole[segment + 10:], f"byte {segment + 9}: a record of the heap")
    head = heap.head and whole[:segment]
    long_array = b"\x22" + heap.id(0x10) + bytes(4) + struct.pack(">I", 1 << 31) + heap.id(0)
    refused("an array that is longer than its segment", head + heap.record(0x1c, long_array) + heap.record(0x2c, b""), "longer than its segment")
    told = answer(whole[:segment + 9 + (len(whole) - segment) // 2], status=1)
    tap.ok(not told["is_whole"] and 0 < told["objects"] < len(heap.sizes), "a dump that was cut", told["objects"])
    twice = b"\x23" + heap.id(0x10) + bytes(4) + struct.pack(">IB", 0, 8)
    told = answer(head + heap.record(0x1c, twice + twice), status=1)
    tap.ok(told["objects"] == 1, "an id that two objects have", told["objects"])
    many = b"".join(b"\x23" + heap.id(0x10) + bytes(4) + struct.pack(">IB", 1000 - i, 8) + bytes(1000 - i) for i in range(300))
    told = answer(head + heap.record(0x1c, many), status=1)
    tap.ok((told["objects"], told["bytes"]) == (1, 1024), "of many with one id the first of the file counts: 16 + 4 + 1000, rounded up", told["objects"], told["bytes"])
    circle = Heap(8, 8)
    one, two = circle.make_class("One", [10]), circle.make_class("Two", [2], 0x1000)
    circle.supers[one] = two
    circle.write_class(one)
    circle.write_class(two)
    circle.body.append(b"\x21" + circle.id(0x2000) + bytes(4) + circle.id(one) + struct.pack(">I", 4) + bytes(4))
    circle.root(0x2000, 8)
    told = answer(circle.write(1))
    tap.ok((told["objects"], told["reachable_objects"]) == (3, 3), "classes that are each other's super class", told)
    os.mkfifo(os.path.join(scratch.name, "pipe"))
    for path in os.path.join(scratch.name, "pipe"), scratch.name, os.path.join(scratch.name, "absent"):
        done = run(path)
        tap.ok(done.returncode == 1 and path in done.stderr, f"not a file: {os.path.basename(path)}", done.stderr)
    tap.ok(run().returncode == 2 and run("a", "b").returncode == 2, "one file, no more and no less")


def packed():
    """By gzip, in one piece or in several (the JVM writes many), says the same; cut, it has what was there; damaged, it is refused."""
    heap = by_chance(9, 8, 4, 60)
    whole = heap.write(3)
    plain, middle = answer(whole), len(whole) // 2
    with open(DUMP, "wb") as file:
        file.write(gzip.compress(whole))
    if "without zlib" in run(DUMP).stderr:
        tap.skip("packed dumps", "this Lull was built without zlib")
        return
    pieces = b"".join(gzip.compress(whole[at:at + 1000]) for at in range(0, len(whole), 1000))
    tap.ok(answer(gzip.compress(whole)) == plain == answer(pieces) and plain["objects"] == len(heap.sizes), "a packed dump says the same", plain["objects"])
    told = answer(gzip.compress(whole, compresslevel=0)[:middle], status=1)
    tap.ok(not told["is_whole"] and 0 < told["objects"] < plain["objects"], "a packed dump that was cut", told["objects"])
    good = gzip.compress(whole)
    refused("a packed dump with other bytes than were packed", good[:-8] + bytes(4) + good[-4:], "damaged")
    refused("a packed file that is no dump", gzip.compress(bytes(1000)), "not a heap dump")
    refused("what only looks packed", b"\x1f\x8b" + bytes(100), "damaged")


def text():
    with open(DUMP, "wb") as file:
        file.write(by_chance(2, 8, 4, 90).write())
    done = run("--limit", "3", DUMP)
    lines = done.stdout.splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith(("CLASS", "OBJECT "))]
    tap.ok(len(heads) == 2 and len(lines) == heads[1] + 4 == heads[0] + 9, "--limit: three rows of each table", done.stdout)


def live_without_compression():
    live("-XX:-UseCompressedOops")


def live(*options):
    if not os.environ.get("LULL_TEST_JAVA") or not all(map(shutil.which, ("javac", "java", "jmap"))):
        tap.skip("a JVM that runs", "LULL_TEST_JAVA is not set, or there is no JDK")
        return
    path = os.path.join(scratch.name, "Waits.java")
    with open(path, "w", encoding="utf-8") as file:
        file.write("""public class Waits {
  static class Thing { long a, b; byte[] data; Object other; }
  static Thing[] things = new Thing[1000];
  public static void main(String[] a) throws Exception {
    for (int i = 0; i < 1000; i++) { things[i] = new Thing(); things[i].data = new byte[i]; }
    System.out.println("ready"); System.out.flush(); System.in.read();
  }
}""")
    with subprocess.Popen(["java", "-Xmx64m", *options, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        dump = os.path.join(tempfile.mkdtemp(dir=scratch.name), "live.hprof")
        subprocess.run(["jmap", f"-dump:live,format=b,file={dump}", str(program.pid)], check=True, capture_output=True, timeout=60)
        said = subprocess.run(["jmap", "-histo:live", str(program.pid)], check=True, capture_output=True, text=True, timeout=60).stdout
        program.communicate("\n", timeout=60)
    told = json.loads(run("--json", "--limit", "0", dump).stdout)
    mine = {row["class"]: (row["objects"], row["bytes"]) for row in told["classes"]}
    peer = {words[3]: (int(words[1]), int(words[2])) for words in map(str.split, said.splitlines()) if len(words) > 3 and words[0][-1] == ":"}
    for name in "Waits$Thing", "[LWaits$Thing;":
        tap.ok(mine[name] == peer[name], f"{name} as jmap counts", mine[name], peer[name])
    things = [row for row in told["largest"] if row["class"] == "[LWaits$Thing;"]
    # The array, 1000 things of 12 + 16 + 2 references, and their data of 16 + i.
    reference = 8 if options else 4
    expected = 16 + 1000 * reference + 1000 * ((28 + 2 * reference + 7) // 8 * 8) + sum((16 + i + 7) // 8 * 8 for i in range(1000))
    tap.ok([row["retained_bytes"] for row in things] == [expected], "what an array of things retains", things, expected)


for test in memory, made_heaps, shared, paths, weak, suspects, shrinks, bad_input, packed, text, live, live_without_compression:
    tap.run(test.__name__, test)
sys.exit(tap.done())

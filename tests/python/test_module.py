#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The Python module: on a trace written here by hand, whose values are what was written; on the bundled samples against what
# babeltrace2 prints of them; and that nothing leaks. The examples of docs/PYTHON.md are run too.
#   test_module.py [FOLDER]     FOLDER holds the package; without it the module was not built, and all is skipped
import bisect
import gc
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import tracemalloc
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "corpus"))
import ctf2_writer as ctf2  # noqa: E402
from tap import Tap

if len(sys.argv) > 1:
    sys.path.insert(0, sys.argv[1])
    import lull
try:
    import numpy
except ImportError:
    numpy = None
    sys.modules["numpy"] = None  # so that nobody looks for it again: the hooks of some installations leak then

samples = os.environ["LULL_SAMPLES"]
client = os.path.join(samples, "django", "client")

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
trace { major = 1; minor = 8; byte_order = le;
  packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
env { hostname = "box"; domain = "kernel"; };
clock { name = "mono"; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; map = clock.mono.value; } := time64_t;
stream { id = 0;
  packet.context := struct { time64_t timestamp_begin; time64_t timestamp_end; uint64_t content_size;
    uint64_t packet_size; uint32_t cpu_id; };
  event.header := struct { uint16_t id; time64_t timestamp; };
  event.context := struct { integer { size = 32; align = 8; signed = 1; } _tid; }; };
event { id = 1; name = "all"; stream_id = 0; fields := struct {
  integer { size = 16; align = 8; signed = 1; } _small; uint64_t _large;
  floating_point { exp_dig = 8; mant_dig = 24; align = 8; } _real;
  integer { size = 8; align = 8; encoding = UTF8; } _comm[8]; string _text;
  enum : uint8_t { one = 1, two = 2 } _tag;
  variant <_tag> { struct { uint8_t _x; } one; struct { string _y; } two; } _choice;
  uint8_t _n; integer { size = 16; align = 8; byte_order = be; } _list[_n]; uint8_t _four[4];
  struct { uint8_t _a; } _pairs[2]; }; };
event { id = 2; name = "all_but"; stream_id = 0; fields := struct {
  integer { size = 16; align = 8; signed = 1; } _small; }; };
"""
# time, then the fields of "all"; the other class has (time, small)
ROWS = [(1000, -5, 1 << 63, 1.5, b"abc", b"hello", 1, 77, [1, 258]),
        (1001, 7, 3, -0.25, b"12345678", b"\xff", 2, b"why", []),
        (1002, 9),
        (1003, -1, 0, 0.0, b"", b"", 9, None, [])]  # no option has tag 9: the event is damaged there


def event_bytes(row):
    head = struct.pack("<HQi", 1 if len(row) > 2 else 2, row[0], -42) + struct.pack("<h", row[1])
    if len(row) == 2:
        return head
    _, _, large, real, comm, text, tag, option, elements = row
    body = struct.pack("<Qf8s", large, real, comm) + text + b"\0" + bytes([tag])
    if tag > 2:
        return head + body
    body += bytes([option]) if tag == 1 else option + b"\0"
    body += bytes([len(elements)]) + b"".join(struct.pack(">H", one) for one in elements) + b"\1\2\3\0"
    return head + body + b"\x0a\x0b"


def write_trace(folder, rows=ROWS):
    with open(os.path.join(folder, "metadata"), "w", encoding="ascii") as file:
        file.write(METADATA)
    contents = b"".join(event_bytes(row) for row in rows)
    size = 8 * (8 + 36 + len(contents))
    with open(os.path.join(folder, "s0"), "wb") as file:
        file.write(struct.pack("<IIQQQQI", 0xC1FC1FC1, 0, 1000, 2000, size, size, 3) + contents)


class OnWrittenTrace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        write_trace(self.folder.name, ROWS[:3])
        self.session = lull.Session(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def test_what_there_is(self):
        self.assertEqual(self.session.hosts, ["box"])
        (trace,) = self.session.traces
        self.assertEqual((trace.path, trace.host, trace.domain, trace.tracer, trace.format, trace.begin_ns, trace.end_ns),
                         (self.folder.name, "box", "kernel", None, "CTF 1.8", 1000, 2000))
        self.assertEqual(self.session.range, (1000, 2000))
        self.assertEqual((self.session.problems, self.session.losses), ([], []))
        all_fields, but = self.session.classes()
        self.assertEqual((all_fields.number, all_fields.name, but.name), (0, "all", "all_but"))
        self.assertEqual([(field.path, field.kind) for field in all_fields.fields],
                         [("context.tid", "int"), ("small", "int"), ("large", "int"), ("real", "real"), ("comm", "text"),
                          ("text", "text"), ("tag", "enum"), ("choice.one.x", "int"), ("choice.two.y", "text"), ("n", "int"),
                          ("list", "bytes"), ("four", "bytes"), ("pairs", "array")])
        self.assertEqual(all_fields.fields[7], ("choice.one.x", "int", True, False, False, 8, 0))

    def test_events(self):
        events = list(self.session.events())
        self.assertEqual([(one.time_ns, one.name, one.host, one.cpu, one.trace, one.class_number) for one in events],
                         [(1000, "all", "box", 3, 0, 0), (1001, "all", "box", 3, 0, 0), (1002, "all_but", "box", 3, 0, 1)])
        first, second, third = events
        self.assertEqual(first.payload, {
            "small": -5, "large": 1 << 63, "real": 1.5, "comm": "abc", "text": "hello", "tag": 1, "choice": {"one": {"x": 77}},
            "n": 2, "list": [1, 258], "four": [1, 2, 3, 0], "pairs": [{"a": 10}, {"a": 11}]})
        self.assertEqual(first.context, {"tid": -42})
        self.assertEqual((first["tag"].label, second["tag"].label, str(first["tag"])), ("one", "two", "1"))
        self.assertEqual((first["choice.one.x"], first["context.tid"], second["choice.two.y"]), (77, -42, "why"))
        self.assertEqual((second["comm"], second["text"]), ("12345678", "\\xff"))
        self.assertEqual(dict(third.items()), {"small": 9})
        self.assertEqual((len(third), list(third), list(third.values()), "small" in third, "context.tid" in third),
                         (1, ["small"], [9], True, True))
        for absent in "tid", "choice.one.x", "context", "context.small", "", ".", "small.small":
            self.assertNotIn(absent, third)
            self.assertEqual(third.get(absent, 5), 5)
        with self.assertRaises(KeyError):
            third["large"]
        with self.assertRaises(TypeError):
            third[1]
        self.assertIsNone(first.damage)
        self.assertEqual(repr(third), "<lull.Event all_but at 1002 ns>")

    def test_filter(self):
        def times(*names, **limits):
            return [one.time_ns for one in self.session.events(*names, **limits)]
        self.assertEqual(times(filter="small > 0"), [1001, 1002])
        self.assertEqual(times("all", filter="small > 0"), [1001])
        self.assertEqual(times(filter='comm =~ "ab*" || context.tid == 5 || small == 9'), [1000, 1002])
        self.assertEqual(times(), [1000, 1001, 1002])
        self.assertEqual(self.session.count(filter="small > 0"), {"all": 1, "all_but": 1})
        self.assertEqual(self.session.count(), {"all": 2, "all_but": 1})
        self.assertEqual(list(self.session.columns("all*", ["small"], filter="small < 8")["time_ns"]), [1000, 1001])
        before = self.session.events()
        with self.assertRaisesRegex(lull.Error, r"(?s)column 7.*\^"):
            self.session.events(filter="small ! 3")
        self.assertEqual(next(before).time_ns, 1000)
        self.assertEqual(self.session.count(filter="small == 9"), {"all_but": 1})
        with self.assertRaisesRegex(lull.Error, "another reading"):
            next(before)

    def test_booleans_and_blobs(self):
        payload = ctf2.members(("is_on", ctf2.fixed("boolean", 8)), ("n", ctf2.uint(8)),
                               ("blob", {"type": "static-length-blob", "length": 3}),
                               ("more", ctf2.dynamic("blob", ctf2.location("n"))),
                               ("flags", {"type": "static-length-array", "length": 2,
                                          "element-field-class": ctf2.fixed("boolean", 8)}))
        writer = ctf2.PacketWriter()
        rows = [{"is_on": 1, "n": 2, "blob": b"\0\xff\n", "more": b"ab", "flags": [0, 255]},
                {"is_on": 0, "n": 0, "blob": b"xyz", "more": b"", "flags": [1, 0]}]
        for row in rows:
            writer.put(payload, row)
        with tempfile.TemporaryDirectory() as folder:
            ctf2.write_trace(folder, [{"type": "data-stream-class"}, {"type": "event-record-class", "name": "e",
                                                                      "payload-field-class": payload}], [[writer.data()]])
            first, second = lull.Session(folder).events()
        self.assertEqual(first.payload, {"is_on": True, "n": 2, "blob": b"\0\xff\n", "more": b"ab", "flags": [False, True]})
        self.assertEqual(second.payload, {"is_on": False, "n": 0, "blob": b"xyz", "more": b"", "flags": [True, False]})
        self.assertEqual((type(first["is_on"]), type(first["n"]), type(first["blob"])), (bool, int, bytes))

    def test_selection(self):
        def times(*names, **limits):
            return [one.time_ns for one in self.session.events(*names, **limits)]
        self.assertEqual(times("all"), [1000, 1001])
        self.assertEqual(times("all*"), [1000, 1001, 1002])
        self.assertEqual(times("none"), [])
        self.assertEqual(times(begin=1001, end=1002), [1001])
        self.assertEqual(times(cpu=3, host="box"), [1000, 1001, 1002])
        self.assertEqual(times(cpu=2), [])
        self.assertEqual(times(cpu=[2, 3]), [1000, 1001, 1002])
        self.assertEqual(self.session.count(cpu=(3,)), {"all": 2, "all_but": 1})
        self.assertEqual(self.session.count(cpu=[0, 2]), {})
        self.assertEqual(self.session.count(), {"all": 2, "all_but": 1})
        self.assertEqual(self.session.count("all_*", begin=0), {"all_but": 1})
        self.assertEqual(self.session.count(end=1001), {"all": 1})

    def test_columns(self):
        if numpy is None:
            self.skipTest("NumPy is not installed")
        columns = self.session.columns("all*")
        def check(name, dtype, values):
            self.assertEqual((columns[name].dtype, columns[name].tolist()), (numpy.dtype(dtype), values), name)
        check("time_ns", "int64", [1000, 1001, 1002])
        check("small", "int64", [-5, 7, 9])
        check("large", "uint64", [1 << 63, 3, 0])
        check("real", "float64", [1.5, -0.25, 0.0])
        check("comm", "S8", [b"abc", b"12345678", b""])
        check("text", "S5", [b"hello", b"\xff", b""])
        check("tag", "int64", [1, 2, 0])
        check("choice.one.x", "int64", [77, 0, 0])
        check("context.tid", "int64", [-42, -42, -42])
        self.assertEqual((columns["list"][0].tolist(), columns["list"][1].tolist()), ([0, 2, 2, 2], [1, 258]))
        self.assertNotIn("pairs", columns)
        self.assertEqual(columns.present["choice.one.x"].tolist(), [True, False, False])
        self.assertEqual(columns.present["large"].tolist(), [True, True, False])
        self.assertNotIn("small", columns.present)
        columns = self.session.columns("all", ["four", "event.cpu", "event.host", "event.class", "text"], text="offsets")
        check("four", "uint8", [[1, 2, 3, 0], [1, 2, 3, 0]])
        check("event.cpu", "int64", [3, 3])
        check("event.class", "int64", [0, 0])
        offsets, data = columns["text"]
        self.assertEqual((offsets.tolist(), data.tobytes()), ([0, 5, 6], b"hello\xff"))
        empty = self.session.columns("all", begin=5000)
        self.assertEqual({name: len(column) for name, column in empty.items() if name not in ("list",)},
                         {name: 0 for name in empty if name != "list"})

    def test_columns_without_numpy(self):
        """A None in sys.modules is how Python says that there is no such module."""
        before, sys.modules["numpy"] = sys.modules["numpy"], None
        try:
            columns = self.session.columns("all*")
        finally:
            sys.modules["numpy"] = before
        self.assertEqual(columns["time_ns"].tolist(), [1000, 1001, 1002])
        self.assertEqual(columns["large"].tolist(), [1 << 63, 3, 0])
        self.assertEqual(columns["real"].tolist(), [1.5, -0.25, 0.0])
        self.assertEqual(columns.present["large"].tolist(), [True, True, False])
        offsets, data = columns["text"]
        self.assertEqual((offsets.tolist(), data.tobytes()), ([0, 5, 6, 6], b"hello\xff"))
        self.assertEqual(columns["list"][1].tobytes(), b"\0\1\1\2")

    def test_errors(self):
        def message(call, *arguments, **more):
            with self.assertRaises(lull.Error) as caught:
                call(*arguments, **more)
            return str(caught.exception)
        self.assertIn("no-such-trace", message(lull.Session, os.path.join(self.folder.name, "no-such-trace")))
        message(lull.Session)
        self.assertIn("not read from Python", message(lull.Session, "net://localhost/host/a/b"))
        self.assertIn("did you mean small", message(self.session.columns, "all", ["smal"]))
        self.assertIn("did you mean all", message(self.session.columns, "al"))
        self.assertIn("pairs", message(self.session.columns, "all", ["pairs"]))
        self.assertIn("nobody", message(self.session.events, host="nobody"))
        message(self.session.events, host=1)
        message(self.session.events, cpu=-1)
        self.assertIn("CPU -1", message(self.session.count, cpu=[3, -1]))
        self.assertIn("cpu takes one int or several", message(self.session.columns, "all", cpu=[]))
        message(self.session.columns, "all", ["small"] * 65)
        self.assertTrue(issubclass(lull.Error, Exception))
        self.assertRaises(TypeError, lull.Event)
        self.assertRaises(TypeError, self.session.events, 1)
        self.assertRaises(ValueError, self.session.columns, "all", text="wide")

    def test_one_reading_at_a_time(self):
        events = self.session.events()
        next(events)
        self.session.count()
        self.assertRaises(lull.Error, next, events)
        self.assertEqual(len(list(self.session.events())), 3)

    def test_damage(self):
        with tempfile.TemporaryDirectory() as folder:
            write_trace(folder)
            session = lull.Session(folder)
            self.assertEqual([one.time_ns for one in session.events()], [1000, 1001, 1002])
            (problem,) = session.problems
            self.assertIn(os.path.join(folder, "s0"), problem)

    def test_events_outlive_the_session(self):
        events = list(lull.Session(self.folder.name).events("all"))
        gc.collect()
        self.assertEqual([one["text"] for one in events], ["hello", "\\xff"])

    def test_path_like_and_time(self):
        import datetime
        import pathlib
        session = lull.Session(pathlib.Path(self.folder.name))
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        end = epoch + datetime.timedelta(microseconds=1)
        self.assertEqual(session.count(end=end), {})
        self.assertEqual(sum(session.count(begin=end).values()), 3)
        self.assertRaises(lull.Error, session.count, begin=epoch.replace(tzinfo=None))


class OnSamples(unittest.TestCase):
    def test_against_babeltrace(self):
        if not shutil.which("babeltrace2"):
            self.skipTest("babeltrace2 is not installed")
        text = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", client], check=True, capture_output=True,
                              text=True, errors="replace").stdout
        pattern = re.compile(r"\[(\d+)\].* sched_switch: \{ cpu_id = (\d+) \}.*prev_comm = \"([^\"]*)\", prev_tid = (-?\d+),"
                             r".*next_comm = \"([^\"]*)\", next_tid = (-?\d+),")
        theirs = [(int(match[2]), match[3], int(match[4]), match[5], int(match[6]))
                  for match in map(pattern.match, text.splitlines()) if match]
        self.assertGreater(len(theirs), 100)
        session = lull.Session(client)
        ours = [(one.cpu, one["prev_comm"], one["prev_tid"], one["next_comm"], one["next_tid"])
                for one in session.events("sched_switch")]
        self.assertEqual(ours, theirs)
        self.assertEqual(session.count("sched_switch"), {"sched_switch": len(theirs)})
        self.assertEqual(sum(session.count().values()), len(text.splitlines()))
        if numpy is not None:
            columns = session.columns("sched_switch", ["event.cpu", "prev_comm", "prev_tid", "next_comm", "next_tid"])
            del columns["time_ns"]
            rows = zip(*(column.tolist() for column in columns.values()))
            self.assertEqual([(cpu, prev.decode(), tid, after.decode(), other) for cpu, prev, tid, after, other in rows],
                             theirs)

    def test_join(self):
        session = lull.Session(os.path.join(samples, "django"))
        before = session.range
        clocks = session.join_clocks()
        self.assertEqual(sorted(clocks), ["client", "db", "httpd"])
        self.assertTrue(all(clock.is_joined for clock in clocks.values()))
        self.assertIn(0, [clock.bound_ns for clock in clocks.values()])
        self.assertNotEqual(session.range, before)
        times = [one.time_ns for one in session.events("sched_switch")]
        self.assertEqual(times, sorted(times))
        self.assertEqual({one.host for one in session.events("sched_switch", host="db")}, {"db"})

    def test_threads(self):
        results, session = [], lull.Session(client)
        one = session.count()
        threads = [threading.Thread(target=lambda: results.append(lull.Session(client).count())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [one] * 4)

    def test_same_session_in_threads(self):
        """Either one waits its turn or it is refused; never anything else."""
        session, results = lull.Session(client), []
        count = session.count()

        def read():
            try:
                results.append(session.count() == count)
            except lull.Error:
                results.append(True)
        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 8)


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Leaks(unittest.TestCase):
    def use(self, folder):
        session = lull.Session(folder)
        kept = [(one, one.payload, one.context) for one in session.events()]
        for one, _, _ in kept:
            one["small"], one.get("x"), repr(one), one.name, one.host
        session.columns("all*", text="offsets")
        session.columns("all*")
        session.count(), session.classes(), session.traces, session.problems, session.losses, session.join_clocks()
        for wrong in ["nothing"], ["all", ["nothing"]], ["all", ["pairs"]]:
            try:
                session.columns(*wrong)
            except lull.Error:
                pass
        try:
            lull.Session(folder + "/none")
        except lull.Error:
            pass

    def test_nothing_is_left(self):
        sizes = (50, 400) if "LULL_SANITIZED" not in os.environ else (10, 40)
        with tempfile.TemporaryDirectory() as folder:
            write_trace(folder)
            for _ in range(sizes[0]):
                self.use(folder)
            gc.collect()
            tracemalloc.start()
            self.use(folder)
            gc.collect()
            python, resident, nones = tracemalloc.get_traced_memory()[0], resident_bytes(), sys.getrefcount(None)
            blocks = sys.getallocatedblocks()
            for _ in range(sizes[1]):
                self.use(folder)
            gc.collect()
            grown = tracemalloc.get_traced_memory()[0] - python
            tracemalloc.stop()
            # A single object a round would be some 20 kB, a reference to None 400.
            self.assertLess(grown, 50 * sizes[1])
            self.assertLess(sys.getallocatedblocks() - blocks, sizes[1] // 2)
            if sys.version_info < (3, 12):  # since then None is immortal, and its count means nothing (PEP 683)
                self.assertLess(abs(sys.getrefcount(None) - nones), sizes[1] // 2)
            if "LULL_SANITIZED" not in os.environ:  # which keeps freed memory for a while
                self.assertLess(resident_bytes() - resident, 2 << 20)


class Documentation(unittest.TestCase):
    def test_examples(self):
        """The examples of docs/PYTHON.md work, in the order they stand there, beside the sample `django`."""
        with open(os.path.join(os.environ["LULL_SOURCE"], "docs", "PYTHON.md"), encoding="utf-8") as file:
            blocks = re.findall(r"^```python\n(.*?)^```", file.read(), flags=re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 3)
        if numpy is None:
            self.skipTest("NumPy is not installed")
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.join(samples, "django"), os.path.join(folder, "django"))
            os.chdir(folder)
            try:
                names = {"print": lambda *text: None}
                for block in blocks:
                    exec(compile(block, "docs/PYTHON.md", "exec"), names)
            finally:
                os.chdir(before)

    def test_docstrings(self):
        for name in lull.__all__:
            self.assertTrue(getattr(lull, name).__doc__, name)
        for owner in lull.Session, lull.Event:
            for name in dir(owner):
                if not name.startswith("_"):
                    self.assertTrue(getattr(owner, name).__doc__, name)


class Answers(unittest.TestCase):
    """What tasks waited for, and tables, of the bundled samples."""

    @classmethod
    def setUpClass(cls):
        cls.session = lull.Session(os.path.join(samples, "django"))
        cls.session.join_clocks()

    def test_slowest_request(self):
        requests = self.session.requests()
        slowest = self.session.requests(slowest=3)
        took = sorted((one["end_ns"] - one["begin_ns"] for one in requests), reverse=True)
        self.assertEqual([one["duration_ns"] for one in slowest], took[:3])
        self.assertEqual([one["id"] for one in requests], list(range(1, len(requests) + 1)))
        path = self.session.critpath(request=slowest[0]["id"])
        self.assertEqual(path.duration_ns, took[0])
        # It covers the request without hole or overlap, and its sums are those of its segments.
        ends = [slowest[0]["begin_ns"]] + [one["end_ns"] for one in path.segments]
        self.assertEqual([one["begin_ns"] for one in path.segments], ends[:-1])
        self.assertEqual(ends[-1], slowest[0]["end_ns"])
        for shares in path.by_state, path.by_task, path.by_host:
            self.assertEqual(sum(one["duration_ns"] for one in shares), took[0])
            self.assertEqual([one["duration_ns"] for one in shares],
                             sorted((one["duration_ns"] for one in shares), reverse=True))
        self.assertEqual({one["host"] for one in path.segments}, {one["host"] for one in path.by_host})

    def test_selection(self):
        everything = self.session.requests()
        to_80 = self.session.requests(port=80)
        self.assertEqual(to_80, [one for one in everything if one["port"] == 80])
        self.assertTrue(0 < len(to_80) < len(everything))
        python = self.session.requests(comm="python3", host="client")
        self.assertEqual(python, [one for one in everything if one["comm"] == "python3" and one["host"] == "client"])
        tids = sorted({one["tid"] for one in everything if one["tid"]})[:2]
        self.assertEqual(len(tids), 2)
        self.assertEqual(self.session.requests(tid=tids), [one for one in everything if one["tid"] in tids])
        self.assertEqual(self.session.requests(tid=tids[0]), [one for one in everything if one["tid"] == tids[0]])
        comms = ["apache*", "post*"]
        self.assertEqual(self.session.requests(comm=comms),
                         [one for one in everything if one["comm"] and one["comm"].startswith(("apache", "post"))])

    def test_lists_of_tasks(self):
        """t-asker has the thread t-worker, t-writer is another process: see the README of the sample."""
        session = lull.Session(os.path.join(samples, "truth", "truth-chain"))
        tids = {event["context.procname"]: event["context.tid"] for event in session.events()}
        asker, worker, writer = tids["t-asker"], tids["t-worker"], tids["t-writer"]
        for tid in worker, writer:
            self.assertEqual(session.critpath(tid=tid).segments, session.critpath(tid=[tid]).segments)
            self.assertEqual(session.critpath(pid=[asker, writer], tid=[tid]).segments, session.critpath(tid=tid).segments)
        self.assertEqual(session.critpath(pid=asker).segments, session.critpath(tid=asker).segments)
        self.assertEqual(session.critpath(tid=[asker, worker], comm=["t-w*"]).segments, session.critpath(tid=worker).segments)
        lives = {tid: session.critpath(tid=tid) for tid in (asker, worker, writer)}
        longest = max(lives, key=lambda tid: sum(one["end_ns"] - one["begin_ns"] for one in lives[tid].segments))
        self.assertEqual(session.critpath(tid=[asker, worker, writer]).segments, lives[longest].segments)

    def test_preemptors(self):
        """Who had the CPU longest while the task was preempted is who did so by the switches in the trace."""
        session = lull.Session(os.path.join(samples, "django", "db"))
        switches = [(event.time_ns, event["next_tid"]) for event in session.events("sched_switch")]
        times = [time for time, _ in switches]
        path = session.critpath(comm="postgres")
        preempted = [one for one in path.segments if one["state"] == "preempted" and one["other_tid"] is not None]
        self.assertGreater(len(preempted), 100)
        self.assertEqual({event.cpu for event in session.events("sched_switch")}, {0})
        for one in preempted:
            took = {}
            at = bisect.bisect_right(times, one["begin_ns"]) - 1
            while at < len(times) and times[at] < one["end_ns"]:
                until = min(times[at + 1] if at + 1 < len(times) else one["end_ns"], one["end_ns"])
                tid = switches[at][1]
                took[tid] = took.get(tid, 0) + until - max(times[at], one["begin_ns"])
                at += 1
            took.pop(one["tid"], None)
            self.assertEqual(took[one["other_tid"]], max(took.values()), one)

    def test_waits(self):
        """What a path goes into is waited for by those whose steps follow, in calls that the trace has."""
        session = lull.Session(os.path.join(samples, "django", "db"))
        calls = {event.name.removeprefix("syscall_entry_") for event in session.events("syscall_entry_*")}
        path = session.critpath(comm="postgres")
        self.assertGreater(len(path.waits), 0)
        for number, wait in enumerate(path.waits):
            self.assertIs(wait["is_shared"], "does other things meanwhile" in (wait["detail"] or ""))
            within = [one for one in path.segments if one["wait"] == number]
            self.assertTrue(all(wait["begin_ns"] <= one["begin_ns"] and one["end_ns"] <= wait["end_ns"] for one in within))
            self.assertTrue(wait["within"] is None or wait["within"] < number)
            self.assertIn(wait["call"], calls | {None})

    def test_disk_evidence(self):
        """The size of the request that was waited for is that of a completed one."""
        session = lull.Session(os.path.join(samples, "django", "db"))
        sizes = {event["nr_sector"] * 512 for event in session.events("block_rq_complete")}
        waits = [one for one in session.critpath(comm="postgres").segments if one["cause"] == "disk"]
        for one in waits:
            if one["object"] is not None:
                self.assertIn(one["size_bytes"], sizes)
                self.assertIn(one["operation"], ("read", "write", "flush", "discard"))

    def test_period(self):
        period = "switch : $evt.$name == 'sched_switch' : $evt.$name == 'sched_switch'".replace("'", '"')
        session = lull.Session(os.path.join(samples, "django", "db"))
        start = next(session.events("sched_switch")).time_ns
        end = start + 1_000_000_000
        rows = session.instances(period, begin=start, end=end)
        times = [event.time_ns for event in session.events("sched_switch", begin=start, end=end)]
        self.assertGreater(len(times), 10)
        # Each switch closes the instance that the one before opened.
        self.assertEqual([one["begin_ns"] for one in rows], times)
        self.assertEqual([one["end_ns"] for one in rows if one["is_complete"]], times[1:])
        number = next(one["number"] for one in rows if one["is_complete"] and one["tid"] is not None)
        path = session.critpath(period=period, instance=number, begin=start, end=end)
        self.assertEqual((path.begin_ns, path.end_ns), (rows[number - 1]["begin_ns"], rows[number - 1]["end_ns"]))
        with self.assertRaisesRegex(lull.Error, "no instance"):
            session.critpath(period=period, instance=10 ** 9)

    def test_why(self):
        kinds = self.session.why(port=80)
        total = sum(kind["instances"] for kind in kinds)
        self.assertEqual(total, len([one for one in self.session.requests(port=80) if one["tid"] is not None]))
        for kind in kinds:
            slow, typical = ([one["duration_ns"] for one in kind[name]] for name in ("slow", "typical"))
            self.assertEqual(slow, sorted(slow, reverse=True))
            if kind["verdict"] == "explained":
                self.assertAlmostEqual(kind["difference_ns"], sum(slow) / len(slow) - sum(typical) / len(typical), delta=1)
                self.assertTrue(kind["findings"])
                self.assertIn(kind["findings"][0]["most"], [one["number"] for one in kind["slow"]])
        slower = self.session.why(port=80, slower_than_ns=1)
        self.assertTrue(all(kind["verdict"] in ("too-few", "no-typical") for kind in slower))

    def test_analysis(self):
        result, = self.session.analysis("cputop", host="db")
        table = result["per-process"]
        self.assertEqual(len(table), 10)
        by_time = [row["cpu_ns"] for row in table]
        self.assertEqual(by_time, sorted(by_time, reverse=True))
        # What one CPU was busy is what its tasks ran.
        everything, = self.session.analysis("cputop", host="db", limit=0)
        cpus = [row["busy_ns"] for row in everything["per-cpu"]]
        self.assertEqual(sum(row["cpu_ns"] for row in everything["per-process"]), sum(cpus))
        slices = self.session.analysis("cputop", host="db", refresh="1s", limit=0)
        self.assertEqual([one.begin_ns for one in slices[1:]], [one.end_ns for one in slices[:-1]])
        self.assertEqual(sum(row["busy_ns"] for one in slices for row in one["per-cpu"]), sum(cpus))

    def test_columns(self):
        if numpy is None:
            self.skipTest("NumPy is not installed")
        table = self.session.requests()
        columns = table.columns()
        self.assertEqual(columns["duration_ns"].dtype, numpy.dtype("int64"))
        self.assertEqual(list(columns["comm"]), [row["comm"] for row in table])
        self.assertEqual(columns["duration_ns"].sum(), sum(row["duration_ns"] for row in table))
        try:
            import pandas  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(lull.Error, "pandas"):
                table.frame()
        else:
            self.assertEqual(list(table.frame()["id"]), [row["id"] for row in table])

    def test_module_functions(self):
        path = os.path.join(samples, "django", "client")
        self.assertEqual(lull.requests(path), lull.Session(path).requests())
        self.assertEqual(lull.analysis("irq", path), lull.Session(path).analysis("irq"))

    def test_refused(self):
        for wrong, message in ((lambda: self.session.critpath(request=10 ** 6), "there is no request"),
                               (lambda: self.session.critpath(request=0), "count from 1"),
                               (lambda: self.session.critpath(request=1, tid=2), "one of"),
                               (lambda: self.session.critpath(), "say whose path"),
                               (lambda: self.session.critpath(tid=2 ** 40), "no task"),
                               (lambda: self.session.critpath(tid=[1, 2 ** 40]), "no task"),
                               (lambda: self.session.critpath(tid=[]), "tid takes one int or several"),
                               (lambda: self.session.critpath(comm=[7]), "comm takes one str or several"),
                               (lambda: self.session.requests(pid="7"), "pid takes one int or several"),
                               (lambda: self.session.critpath(comm="nobody"), "no task named"),
                               (lambda: self.session.requests(tid=2 ** 30), "^no task with tid 1073741824 was seen in the traces$"),
                               (lambda: self.session.requests(comm="nobody"), "^no task named “nobody”"),
                               (lambda: self.session.why(pid=[1, 2 ** 30]), "^no task with pid 1073741824 "),
                               (lambda: self.session.instances('t : $evt.$name == "sched_switch" : $evt.$name == "sched_switch"', tid=2 ** 30), "^no task with tid 1073741824 "),
                               (lambda: self.session.analysis("waits", tid=2 ** 30), "^no task with tid 1073741824 "),
                               (lambda: self.session.instances("a : b"), ""),
                               (lambda: self.session.analysis("cputops"), "no analysis"),
                               (lambda: self.session.analysis("cputop", colour="red"), "no setting"),
                               (lambda: self.session.analysis("cputop", limit="x"), "limit")):
            with self.assertRaisesRegex(lull.Error, message):
                wrong()
        # And nothing is left of it: events can be read.
        self.assertTrue(next(self.session.events("sched_switch")).time_ns)

    def test_stubs(self):
        """The stubs name what there is."""
        with open(os.path.join(os.path.dirname(lull.__file__), "__init__.pyi"), encoding="utf-8") as file:
            stubs = file.read()
        for name in lull.__all__:
            self.assertRegex(stubs, rf"(?m)^(class|def) {name}\b")
        for name in dir(lull.Session):
            if not name.startswith("_"):
                self.assertRegex(stubs, rf"(?m)^    def {name}\b")


class States(unittest.TestCase):
    """Declared states of four ranks of OpenMPI. Truth: what tests/programs/mpi-ranks.c measured by its own clocks, in ms: it computed, it
    waited, it ran while it waited; readings of the clock and events are some microseconds apart at each of five barriers."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        source = os.environ["LULL_SOURCE"]
        with tarfile.open(os.path.join(source, "tests", "data", "openmpi.tar.xz")) as archive:
            archive.extractall(cls.folder.name)
        cls.session = lull.Session(os.path.join(cls.folder.name, "openmpi"))
        cls.path = pathlib.Path(source, "share", "states", "mpi.states")
        with open(os.path.join(cls.folder.name, "openmpi", "truth.txt"), encoding="utf-8") as file:
            cls.truth = {f"rank {line.split()[1]}": [float(word) * 1e9 for word in re.findall(r"\d+\.\d+", line)] for line in file}

    def test_rows_and_intervals(self):
        result, = self.session.states(self.path, log=True)
        self.assertEqual({row["row"] for row in result["states"]}, set(self.truth))
        for row, (compute, wait, _) in self.truth.items():
            for state, truth in (("compute", compute), ("at the barrier", wait)):
                one, = [line for line in result["states"] if (line["row"], line["state"]) == (row, state)]
                self.assertAlmostEqual(one["ns"], truth, delta=120000)
                intervals = [line for line in result["log"] if (line["row"], line["state"]) == (row, state)]
                self.assertEqual(sum(end - begin for begin, end in (line["time_range"] for line in intervals)), one["ns"])
                self.assertEqual(len(intervals), one["times"])
            self.assertEqual(one["times"], 5)
        begins = [line["time_range"][0] for line in result["log"]]
        self.assertEqual(begins, sorted(begins))

    def test_kernel(self):
        result, = self.session.states(self.path, kernel=True, row="rank 0")
        running = sum(line["ns"] for line in result["kernel"] if (line["state"], line["task"]) == ("at the barrier", "running"))
        self.assertAlmostEqual(running, self.truth["rank 0"][2], delta=120000)

    def test_choice(self):
        result, = self.session.states(self.path, row="*1", limit=1)
        self.assertEqual(len(result["states"]), 1)
        self.assertEqual(result["states"][0]["row"], "rank 1")
        slices = self.session.states(self.path, refresh="10ms")
        self.assertEqual([one.begin_ns for one in slices[1:]], [one.end_ns for one in slices[:-1]])
        whole, = self.session.states(self.path)
        self.assertEqual(sum(line["ns"] for one in slices for line in one["states"]), sum(line["ns"] for line in whole["states"]))

    def test_mistakes(self):
        other = os.path.join(self.folder.name, "other.states")
        with open(other, "w", encoding="utf-8") as file:
            file.write('group g { row rank states a, b on name == "mpi:begin" : a }')
        notes = "\n".join(self.session.states(other)[0].notes)
        self.assertIn("no rule uses this state", notes)
        self.assertIn("mpi:begin", notes)
        with open(other, "a", encoding="utf-8") as file:
            file.write("}")
        for wrong, message in ((lambda: self.session.states(other), r"other\.states:1:60"),
                               (lambda: self.session.states(other + "x"), "No such file"),
                               (lambda: self.session.states(self.path, group="nobody"), "no group"),
                               (lambda: self.session.states(self.path, limit="x"), "limit"),
                               (lambda: self.session.states(self.path, refresh="1ns"), "refresh"),
                               (lambda: self.session.states(self.path, refresh="1s", kernel=True), "kernel"),
                               (lambda: self.session.analysis("states"), "states")):
            with self.assertRaisesRegex(lull.Error, message):
                wrong()


class CallChains(unittest.TestCase):
    """Frames of a wait, by a trace and a list of functions that are written here."""

    def test_names(self):
        os.environ.setdefault("LULL", "")
        from source import test_perf as scene  # pylint: disable=import-outside-toplevel
        task, idle, base = (42, b"waiter"), (0, b"swapper/0"), 0x7F0000000000
        w = scene.Writer(False)
        w.features = {1: w.tracing((("sched", scene.SWITCH),)), 29: w.pack("IIQQ", 1, 1, 10**18, 0)}
        w.attr([5], scene.CHAINS, config=300)
        scene.mapped(w, 42, base, 0x9000, 0, "/opt/waiter", 500_000, 7)
        scene.switch(w, 1_000_000, idle, task, 0, [])
        scene.switch(w, 2_000_000, task, idle, 1, [2**64 - 512, base + 0x15, base + 0x800])
        scene.switch(w, 5_000_000, idle, task, 0, [])
        scene.switch(w, 6_000_000, task, idle, 0, [])
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("perf.data", w.file()), ("recording.json", b'{"lull_recording": 1, "hostname": "elsewhere"}'),
                                  ("symbols", b"object - 7 /opt/waiter\nload 0 9000 400000\n400010 20 pause_here\n")):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(content)
            try:
                session = lull.Session(folder)
            except lull.Error as error:
                if "libtraceevent" in str(error):
                    self.skipTest("Lull is built without perf.data")
                raise
            stacks = [one["stack"] for one in session.critpath(tid=42).segments if one["stack"]]
        self.assertEqual(stacks, [[("/opt/waiter", 0x15, "pause_here", 5), ("/opt/waiter", 0x800, None, None)]])


class TapResult(unittest.TestResult):
    def __init__(self, tap):
        super().__init__()
        self.tap = tap

    def addSuccess(self, test):
        self.tap.ok(True, test.id())

    def addSkip(self, test, reason):
        self.tap.skip(test.id(), reason)

    def addError(self, test, err):
        self.tap.ok(False, test.id(), self._exc_info_to_string(err, test))

    addFailure = addError


def main():
    tap = Tap()
    if len(sys.argv) < 2:
        tap.skip("the Python module", "it was not built")
    else:
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]).run(TapResult(tap))
    return tap.done()


sys.exit(main())

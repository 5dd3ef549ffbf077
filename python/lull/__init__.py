# SPDX-License-Identifier: MIT
"""Reads kernel traces: what tasks waited for, statistics, events in one order of time, whole columns as NumPy arrays.

    import lull
    session = lull.Session("/path/to/trace")
    for event in session.events("sched_switch"):
        print(event.time_ns, event.cpu, event["prev_comm"], "->", event["next_comm"])
    columns = session.columns("sched_switch", ["prev_tid", "next_tid", "prev_comm"])
    slowest = session.requests(slowest=1)[0]
    path = session.critpath(request=slowest["id"])

A session holds any number of traces of any number of hosts. Times are nanoseconds since the Unix epoch. What cannot be
read or answered raises lull.Error. See docs/PYTHON.md in Lull's source.
"""
import array
import collections
import datetime
import difflib
from typing import NamedTuple

from . import _lull
from ._lull import Error, Event
from .answers import Answers, Irq, Path, Process, Result, Table, _list

__all__ = ["ClassInfo", "Columns", "EnumValue", "Error", "Event", "Field", "HostClock", "Irq", "Loss", "Path", "Process",
           "Result", "Session", "Table", "Trace", "analysis", "critpath", "requests", "why"]


class EnumValue(int):
    """Value of an enumeration: an int that also knows its `label`, a str, or None if no label covers it."""

    def __new__(cls, value, label):
        self = super().__new__(cls, value)
        self.label = label
        return self

    def __repr__(self):
        return f"<{self.label or 'no label'}: {int(self)}>"

    __str__ = int.__repr__

    def __reduce__(self):
        return EnumValue, (int(self), self.label)


_lull.set_enum_value(EnumValue)


class Trace(NamedTuple):
    """One trace of a session. Times are on its host's own clock; begin_ns > end_ns if it holds nothing."""

    path: str
    host: str
    tracer: "str | None"
    domain: "str | None"
    kernel: "str | None"
    name: "str | None"
    format: str
    clock_name: "str | None"
    clock_frequency_hz: int
    clock_offset_ns: int
    begin_ns: int
    end_ns: int
    stream_count: int
    packet_count: int
    size_bytes: int


class Loss(NamedTuple):
    """What was lost between two times: events that the tracer discarded, packets that are missing or damaged."""

    host: str
    trace: int
    stream: int
    begin_ns: int
    end_ns: int
    events: int
    packets: int


class Field(NamedTuple):
    """One field that events of a class have. `kind` is int, enum, real, text, bytes (an array of integers) or array (any
    other, which columns() cannot give); `length` is that of arrays and texts of fixed length, else 0."""

    path: str
    kind: str
    is_optional: bool
    is_signed: bool
    is_big_endian: bool
    size_bits: int
    length: int


class ClassInfo(NamedTuple):
    """A class of events that a trace declares; `number` is its index in Session.classes()."""

    number: int
    name: str
    trace: int
    fields: "list[Field]"


class HostClock(NamedTuple):
    """How well a host's clock was joined: `bound_ns` is the largest possible error, None if not known."""

    is_joined: bool
    bound_ns: "int | None"


class Columns(dict):
    """Columns by name, and in `present`, by name too, which events have a field that some lack."""

    def __init__(self):
        super().__init__()
        self.present = {}


_FIRST, _LAST = -(1 << 63), (1 << 63) - 1
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_EVENT_COLUMNS = {"event.cpu": "cpu", "event.host": "host", "event.class": "class"}
# Up to here arrays and texts of fixed length are laid out as wide as they are declared.
_MOST_FIXED_BYTES = 256


def _time_ns(time, otherwise):
    if time is None:
        return otherwise
    if isinstance(time, datetime.datetime):
        if time.tzinfo is None:
            raise Error("a datetime without a time zone could be any time: give it one")
        time = (time - _EPOCH) // datetime.timedelta(microseconds=1) * 1000
    return min(max(int(time), _FIRST), _LAST)


def _matches(name, wanted):
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in wanted)


def _numpy():
    try:
        import numpy
    except ImportError:
        return None
    return numpy


class Session(Answers):
    """Any number of traces, read as one sequence of events in order of time.

    Session(*paths) opens each path: a trace, or a directory with traces below it; lull.Error if one of them has none. A
    session has one reading at a time: events(), columns(), count() and join_clocks() each begin one, after which an
    iterator from before raises lull.Error.
    """

    def __init__(self, *paths):
        if not paths:
            raise Error("a session needs the path of a trace")
        self._session = _lull.open(*paths)
        self._hosts = self._session.hosts()
        self._classes = None

    def __repr__(self):
        return f"<lull.Session of {len(self.traces)} traces, {len(self._hosts)} hosts>"

    @property
    def hosts(self):
        """Names of the hosts."""
        return list(self._hosts)

    @property
    def traces(self):
        """The traces, a list of lull.Trace."""
        return [Trace(one[0], self._hosts[one[1]], *one[2:]) for one in self._session.traces()]

    @property
    def problems(self):
        """What was found damaged so far, opening and reading: a str for each, with file, byte and reason."""
        return self._session.problems()

    @property
    def losses(self):
        """What was lost, by the tracer or to damage: a list of lull.Loss, in order of time."""
        return [Loss(self._hosts[one[0]], *one[1:]) for one in self._session.losses()]

    @property
    def range(self):
        """(begin, end) of all that there is, in nanoseconds; None if there is nothing."""
        return self._session.range()

    def classes(self):
        """All event classes that the traces declare: a list of lull.ClassInfo, in a fixed order."""
        if self._classes is None:
            self._classes = [ClassInfo(number, name, trace, [Field(*field) for field in fields])
                             for number, name, trace, fields in self._session.classes()]
        return list(self._classes)

    def join_clocks(self):
        """Puts all hosts on one clock, by the packets that they exchanged; from then on all times are on it.

        Returns a dict of host name to lull.HostClock. Hosts that exchanged nothing keep their own clock.
        """
        self._session.filter(None)  # all packets count
        return {host: HostClock(is_joined, bound_ns if bound_ns >= 0 else None)
                for host, (is_joined, bound_ns) in zip(self._hosts, self._session.join())}

    def events(self, *names, begin=None, end=None, host=None, cpu=None, filter=None):
        """An iterator over the events with one of these names, in order of time.

        A name that ends with * matches all names with that start; without names, all events. Only events with
        begin <= time < end are read (nanoseconds, or a datetime with time zone), only those of one host (name or index)
        and of one CPU or several (cpu=0, cpu=[0, 2]), if these are given. `filter` is an expression in the language of --filter, such as
        'next_comm =~ "postgres*" && prev_prio < 20'; times in it are UTC if they name no zone. Each event is a lull.Event,
        which may be kept.
        """
        window = self._window(begin, end, host, cpu)
        self._session.filter(filter)
        return self._session.events(names or ("*",), *window)

    def count(self, *names, begin=None, end=None, host=None, cpu=None, filter=None):
        """How many events of each name there are: a collections.Counter. Arguments as for events(); nothing is decoded but
        what a filter looks at."""
        counts = collections.Counter()
        classes = self.classes()
        window = self._window(begin, end, host, cpu)
        self._session.filter(filter)
        for number, count in self._session.count(*window):
            if _matches(classes[number].name, names or ("*",)):
                counts[classes[number].name] += count
        return counts

    def columns(self, names, fields=None, *, begin=None, end=None, host=None, cpu=None, filter=None, text="fixed"):
        """The fields of all events of these names (one str or several), each as one array: a lull.Columns, which is a dict.

        `fields` are paths as Event takes them ("prev_tid", "context.tid", "network_header.ipv4.saddr"), and "event.cpu"
        (-1: none), "event.host" (index in hosts), "event.class" (index in classes()). None: all that the classes have
        and columns can hold. "time_ns" is always there. With NumPy, values are

          integers, enumerations   int64, or uint64 if the trace has unsigned ones of 64 bits
          floating point           float64
          texts                    bytes of fixed width, such as S16; with text="offsets" a pair (offsets, data):
                                   value i is data[offsets[i]:offsets[i + 1]], for texts of very different length
          arrays of integers       two-dimensional if of one small length, else a pair (offsets, data) of elements

        Without NumPy, numbers are memoryview objects, texts and arrays are pairs of them, in bytes. A field that an event
        lacks is 0 or empty; which events have it is in .present[path], an array of bool, for each field that can be absent.
        """
        names = (names,) if isinstance(names, str) else tuple(names)
        if text not in ("fixed", "offsets"):
            raise ValueError(f"text is 'fixed' or 'offsets', not {text!r}")
        window = self._window(begin, end, host, cpu)
        traces = self._session.traces()
        classes = [one for one in self.classes()
                   if _matches(one.name, names) and (window[2] < 0 or traces[one.trace][1] == window[2])]
        if not classes:
            raise Error("no trace declares events of the name " + ", ".join(names) + self._near(names))
        if fields is None:
            fields = list(dict.fromkeys(field.path for one in classes for field in one.fields
                                        if field.kind != "array"))
        elif isinstance(fields, str):
            fields = [fields]
        numpy = _numpy()
        plans = [_Plan(path, classes, text if numpy else "offsets") for path in fields]
        # 64 bindings are what one reading can have.
        if len(plans) > 64:
            raise Error(f"columns() gives at most 64 fields at a time, not {len(plans)}")
        self._session.filter(filter)
        count, times, data = self._session.columns(names, [plan.subscription() for plan in plans], *window)
        columns = Columns()
        columns["time_ns"] = _numbers(numpy, times, "q")
        for plan, (values, ends, width, is_in) in zip(plans, data):
            columns[plan.path] = plan.finish(numpy, count, values, ends, width)
            if is_in is not None:
                columns.present[plan.path] = _numbers(numpy, is_in, "?")
        return columns

    def _near(self, names):
        known = {one.name for one in self.classes()}
        near = [match for name in names for match in difflib.get_close_matches(name, known, 1)]
        return f"; did you mean {near[0]}?" if near else ""

    def _window(self, begin, end, host, cpu):
        if isinstance(host, str):
            if host not in self._hosts:
                raise Error(f"there is no host {host}; there are: {', '.join(self._hosts)}")
            host = self._hosts.index(host)
        elif host is not None and not 0 <= host < len(self._hosts):
            raise Error(f"there is no host {host}; there are {len(self._hosts)}")
        cpus = _list("cpu", cpu, int)
        for one in cpus:
            if not 0 <= one < 1 << 31:
                raise Error(f"there is no CPU {one}")
        return (_time_ns(begin, _FIRST), _time_ns(end, _LAST), -1 if host is None else host, cpus)


def _opened(trace):
    """A session as it is; a path, or several, as a session on one clock."""
    if isinstance(trace, Session):
        return trace
    session = Session(*((trace,) if isinstance(trace, (str, bytes)) or hasattr(trace, "__fspath__") else trace))
    session.join_clocks()
    return session


def requests(trace, **arguments):
    """Session.requests() of a session, of a path, or of several paths, whose clocks are joined."""
    return _opened(trace).requests(**arguments)


def critpath(trace, **arguments):
    """Session.critpath() likewise."""
    return _opened(trace).critpath(**arguments)


def why(trace, **arguments):
    """Session.why() likewise."""
    return _opened(trace).why(**arguments)


def analysis(name, trace, **arguments):
    """Session.analysis() likewise."""
    return _opened(trace).analysis(name, **arguments)


class _Plan:
    """How one column is read and shown, from what the classes say of the field."""

    def __init__(self, path, classes, text):
        self.path = path
        self.kind = _EVENT_COLUMNS.get(path)
        self.is_optional = False
        self.width = 8
        self.dtype = "q"
        if self.kind is None:
            self._choose(classes, text)

    def _choose(self, classes, text):
        found = [next((field for field in one.fields if field.path == self.path), None) for one in classes]
        there = [field for field in found if field is not None]
        if not there:
            near = difflib.get_close_matches(self.path, {field.path for one in classes for field in one.fields}, 1)
            raise Error(f"{classes[0].name} has no field {self.path}" + (f"; did you mean {near[0]}?" if near else ""))
        kinds = {"int" if field.kind == "enum" else field.kind for field in there}
        if kinds == {"array"}:
            raise Error(f"columns() cannot give {self.path}, an array of parts that are not plain integers; see events()")
        if len(kinds) > 1:
            raise Error(f"{self.path} is of different kinds ({', '.join(sorted(kinds))}) in the classes that were asked for")
        self.kind = kinds.pop()
        self.is_optional = len(there) < len(found) or any(field.is_optional for field in there)
        if self.kind == "int":
            self._choose_integer(there)
        elif self.kind == "real":
            self.dtype = "d"
        elif self.kind == "text":
            self._choose_text(there, text)
        else:
            self._choose_elements(there)

    def _choose_integer(self, fields):
        if any(not field.is_signed and field.size_bits == 64 for field in fields):
            if any(field.is_signed for field in fields):
                raise Error(f"{self.path} is signed in some of the classes that were asked for, and of 64 unsigned bits in "
                            "others")
            self.dtype = "Q"

    def _choose_text(self, fields, text):
        longest = max(field.length for field in fields)
        is_short = all(0 < field.length for field in fields) and longest <= _MOST_FIXED_BYTES
        self.width = 0 if text == "offsets" else longest if is_short else -1

    def _choose_elements(self, fields):
        forms = {(field.size_bits, field.is_signed, field.size_bits > 8 and field.is_big_endian) for field in fields}
        if len(forms) > 1:
            raise Error(f"{self.path} has elements of different forms in the classes that were asked for")
        bits, is_signed, is_big_endian = forms.pop()
        self.dtype = (">" if is_big_endian else "<") + ("i" if is_signed else "u") + str(bits // 8)
        lengths = {field.length for field in fields}
        size = max(lengths) * bits // 8
        self.width = size if len(lengths) == 1 and 0 < size <= _MOST_FIXED_BYTES and not self.is_optional else 0

    def subscription(self):
        return self.path, self.kind, self.width, self.is_optional

    def finish(self, numpy, count, values, ends, width):
        if self.kind in ("text", "bytes"):
            if numpy is None:
                return _bytes_without_numpy(count, values, ends, width)
            if self.kind == "text" and ends is None:
                return numpy.frombuffer(values, dtype=f"S{width}")
            elements = numpy.frombuffer(values, dtype=self.dtype if self.kind == "bytes" else "u1")
            if ends is None:
                return elements.reshape(count, width // elements.itemsize)
            return numpy.frombuffer(ends, dtype="q") // elements.itemsize, elements
        return _numbers(numpy, values, self.dtype)


def _numbers(numpy, data, dtype):
    if numpy is not None:
        return numpy.frombuffer(data, dtype=dtype)
    return memoryview(data).cast(dtype)


def _bytes_without_numpy(count, values, ends, width):
    if ends is None:
        ends = array.array("q", range(0, (count + 1) * width, width))
        return memoryview(ends), memoryview(values)
    return memoryview(ends).cast("q"), memoryview(values)

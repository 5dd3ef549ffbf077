# SPDX-License-Identifier: MIT
"""What the tasks of a session waited for, and tables of analyses: the part of lull.Session that answers questions."""
import os
from typing import NamedTuple

from ._lull import Error

_ALL = object()


def _optional(module):
    try:
        return __import__(module)
    except ImportError:
        raise Error(f"this needs {module}, which is not installed") from None


class Table(list):
    """A table: a list of rows, each a dict of the same keys. Times and durations are in ns, sizes in bytes."""

    def __init__(self, rows=(), name=None, title=None, keys=None):
        super().__init__(rows)
        self.name = name
        self.title = title
        self.keys = list(keys) if keys is not None else list(self[0]) if self else []

    def columns(self):
        """A dict of key to NumPy array: int64, float64 or bool where all values are of that kind, else objects."""
        numpy = _optional("numpy")
        return {key: _column(numpy, [row.get(key) for row in self]) for key in self.keys}

    def frame(self):
        """The same as a pandas.DataFrame."""
        return _optional("pandas").DataFrame(self.columns(), columns=self.keys)


def _column(numpy, values):
    kinds = {type(value) for value in values}
    if kinds <= {int} or kinds <= {bool}:
        return numpy.array(values, dtype="q" if kinds <= {int} else "?")
    if kinds <= {int, float}:
        return numpy.array(values, dtype="d")
    column = numpy.empty(len(values), dtype=object)
    column[:] = values
    return column


class Process(NamedTuple):
    """A task in a table."""

    comm: "str | None"
    tid: "int | None"
    pid: "int | None"


class Irq(NamedTuple):
    """An interrupt in a table."""

    is_hard: bool
    number: int
    name: "str | None"


class Path(NamedTuple):
    """A critical path: `segments` (a Table) in order of time, each of which starts where the one before ends, and their sums
    by_state, by_task, by_host, by_container, by_cause and by_mode (what runs), longest first; `waits` that it goes into, by the
    number that segments have as "wait"."""

    segments: Table
    by_state: Table
    by_task: Table
    by_host: Table
    begin_ns: int
    end_ns: int
    lost_events: int
    lost_packets: int
    waits: Table
    by_cause: Table
    by_mode: Table
    by_container: Table

    @property
    def duration_ns(self):
        return self.end_ns - self.begin_ns


class Result(NamedTuple):
    """What an analysis found in one window of time. result["per-process"] is the Table of that name."""

    begin_ns: int
    end_ns: int
    number: int
    period: "str | None"
    captures: "str | None"
    is_complete: bool
    lost_events: int
    lost_packets: int
    notes: list
    tables: dict

    def __getitem__(self, name):
        return self.tables[name] if isinstance(name, str) else tuple.__getitem__(self, name)


# Numbers of enum lull_cell_class whose values come as tuples.
_PROCESS, _IRQ = 11, 14


def _cell(value, kind):
    if value is None:
        return None
    return Process(*value) if kind == _PROCESS else Irq(*value) if kind == _IRQ else value


def _tables(parts):
    """Tables of one name, such as histograms, are one; their rows say under "of" which they belong to."""
    tables = {}
    for name, title, subtitle, columns, rows in parts:
        keys = (["of"] if subtitle is not None else []) + [column[0] for column in columns]
        kinds = [column[3] for column in columns]
        table = tables.setdefault(name, Table((), name, title, keys))
        for row in rows:
            values = [_cell(value, kind) for value, kind in zip(row, kinds)]
            table.append(dict(zip(keys, ([subtitle] if subtitle is not None else []) + values)))
    return tables


def _texts(one_or_several):
    if one_or_several is None:
        return ()
    return (one_or_several,) if isinstance(one_or_several, str) else tuple(one_or_several)


def _list(name, one_or_several, kind):
    """A tuple of the items, () for None."""
    if one_or_several is None:
        return ()
    items = (one_or_several,) if isinstance(one_or_several, kind) else tuple(one_or_several)
    if not items or not all(isinstance(one, kind) for one in items):
        raise Error(f"{name} takes one {kind.__name__} or several, not {one_or_several!r}")
    return items


def _setting(value):
    """The text of a setting as the command line would have it; None for one without value."""
    if value is True:
        return None
    if isinstance(value, (list, tuple, set, range)):
        return ",".join(str(one) for one in value)
    return str(value)


class Answers:
    """Methods of lull.Session. Each reads the session once; iterators from before then raise lull.Error.

    tid, pid, comm and container take one or several, as the options of the command line do: tid=7, tid=[3, 7],
    comm="post*", comm=["nginx", "post*"]. Tasks are meant that all of them fit."""

    def _question(self, begin, end, host, whom, port=None, period=None, captures=None, group_by=None,
                  select=None):
        start_ns, end_ns, host_index, _ = self._window(begin, end, host, None)
        tids, pids = (_list(name, number, int) for name, number in zip(("tid", "pid"), whom))
        comm, container = (",".join(_list(name, text, str)) or None for name, text in zip(("comm", "container"), whom[2:]))
        return (host_index, tids, pids, comm, container, -1 if port is None else port, start_ns, end_ns,
                _texts(period), _texts(captures), _texts(group_by), select)

    def requests(self, *, slowest=None, port=None, host=None, tid=None, pid=None, comm=None, container=None, begin=None, end=None,
                 filter=None):
        """The requests on TCP connections, found from packets alone: a Table with id, host, tid, comm, peer, port, begin_ns,
        end_ns, duration_ns, blocked_ns, bytes_sent, bytes_received. `slowest`: only so many that took longest, the slowest
        first."""
        question = self._question(begin, end, host, (tid, pid, comm, container), port)
        self._session.filter(filter)
        return Table(self._session.requests(question, -1 if slowest is None else slowest), "requests")

    def instances(self, period, *, captures=None, select=None, slowest=None, host=None, tid=None, pid=None, comm=None, container=None,
                  begin=None, end=None, filter=None):
        """The instances of a period ("NAME : BEGIN : END", or several definitions, of which `select` names one): a Table with
        number, host, tid, comm, begin_ns, end_ns, duration_ns, is_complete, captures."""
        question = self._question(begin, end, host, (tid, pid, comm, container), None, period, captures, None, select)
        self._session.filter(filter)
        return Table(self._session.instances(question, -1 if slowest is None else slowest), "instances")

    def critpath(self, *, request=None, period=None, instance=None, captures=None, select=None, host=None, tid=None, pid=None, comm=None,
                 container=None, begin=None, end=None, unbounded=False, filter=None):
        """The critical path of one thing: a request by its id, an instance of a period by its number, a task by tid, pid,
        comm and container (all of them hold; of several tasks the one that lived, or had such a name, longest), or, with nothing of these, the
        command of a recording. A lull.Path."""
        is_of_task = any(one is not None for one in (tid, pid, comm, container))
        if (request is not None) + (period is not None) + is_of_task > 1:
            raise Error("say whose path it is with one of request, period, and tid, pid, comm or container")
        if (period is None) != (instance is None):
            raise Error("period and instance go together")
        question = self._question(begin, end, host, (tid, pid, comm, container), None, period, captures, None, select)
        self._session.filter(filter)
        number = request if request is not None else instance if instance is not None else 0
        if request is not None and request < 1 or instance is not None and instance < 1:
            raise Error(f"there is no number {number}: they count from 1")
        segments, waits, (states, tasks, hosts, causes, modes, containers), *rest = \
            self._session.critpath(question, number, unbounded)
        return Path(Table(segments, "segments"), Table(states, "by_state"), Table(tasks, "by_task"), Table(hosts, "by_host"),
                    *rest, Table(waits, "waits"), Table(causes, "by_cause"), Table(modes, "by_mode"),
                    Table(containers, "by_container"))

    def why(self, *, period=None, captures=None, group_by=None, select=None, port=None, slowest=None, slower_than_ns=None,
            typical=(25, 75), limit=5, host=None, tid=None, pid=None, comm=None, container=None, begin=None, end=None, filter=None):
        """Why some instances of a period, or requests, take longer: a list with a dict for each kind that can be compared:
        kind, verdict, instances, slow and typical (lists of instances), slow_ns, typical_ns, difference_ns, …, and findings,
        the largest difference first. `slowest`: how many of each kind are the slow ones, as 3, or which share, as "10%"."""
        is_share = isinstance(slowest, str) and slowest.endswith("%")
        question = self._question(begin, end, host, (tid, pid, comm, container), port, period, captures, group_by, select)
        self._session.filter(filter)
        return self._session.why(question, float(slowest[:-1]) if is_share else -1.0,
                                 0 if slowest is None or is_share else int(slowest),
                                 -(1 << 63) if slower_than_ns is None else slower_than_ns, float(typical[0]),
                                 float(typical[1]), limit)

    def states(self, path, *, group=None, row=None, log=False, kernel=False, limit=0, refresh=None, partial=False, begin=None,
               end=None, host=None, filter=None):
        """What the states that a file declares (docs/STATES.md) were: a list with a lull.Result for each window of time, which is one
        unless there is a `refresh`. Its tables are "states" (how long each row was in each state), "numbers", "counts", with
        `log` "log" (the intervals of all rows, in order of time), and with `kernel` "kernel" (what the tasks did in each state).
        `limit`: rows of each table; 0 is all."""
        return self.analysis("states", states=os.fsdecode(path), group=group, row=row, log=log, kernel=kernel, limit=str(limit),
                             refresh=refresh, partial=partial, begin=begin, end=end, host=host, filter=filter)

    def analyses(self):
        """The names that analysis() takes."""
        return self._session.analyses()

    def analysis(self, name, *, begin=None, end=None, host=None, filter=None, **settings):
        """The tables of an analysis ("cputop", "sched", "io", …): a list with a lull.Result for each window of time, which is
        one unless there is a `refresh` or a `period`. Settings are the options of the verb: limit=5, tid=[3, 7],
        min="20us", log=True, period="…", with _ for -."""
        start_ns, end_ns, host_index, _ = self._window(begin, end, host, None)
        pairs = [(key.replace("_", "-"), _setting(one)) for key, value in settings.items()
                 if value is not None and value is not False
                 for one in (_texts(value) if key in ("period", "period_captures") else (value,))]
        self._session.filter(filter)
        return [Result(*window[:-1], _tables(window[-1]))
                for window in self._session.analysis(name, pairs, start_ns, end_ns, host_index)]

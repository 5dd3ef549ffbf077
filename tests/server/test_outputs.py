#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Outputs of lull serve that are read from the traces: the histogram and the table of events, and latencies as points, bars, statistics
# and tables, on a trace that is written in latency_trace.py.
import collections
import os
import statistics
import sys
import tempfile

from server.latency_trace import A, B, PERIOD, PHASES, READS, REQUESTS, START, US, WRITES, events, write
from server.serving import Server, environment
from tap import Tap, scratch

lull = os.environ["LULL"]
tap = Tap()
P = "org.eclipse.tracecompass."
HISTOGRAM = P + "internal.tmf.core.histogram.HistogramDataProvider"
EVENTS = P + "internal.provisional.tmf.core.model.events.TmfEventTableDataProvider"
SCATTER = P + "internal.analysis.timing.core.segmentstore.scatter.dataprovider:"
DENSITY = P + "internal.analysis.timing.core.segmentstore.SegmentStoreDensityDataProvider:"
STATISTICS = P + "analysis.timing.core.segmentstore.SegmentStoreStatisticsDataProvider:"
TABLE = P + "analysis.timing.core.segmentstore.SegmentStoreTableDataProvider:"
SYSCALLS = P + "analysis.os.linux.latency.syscall"
KINDS = [SYSCALLS, P + "analysis.os.linux.core.swslatency.sws", "lull.irq", "lull.block", "lull.futex", "lull.period-1"]
known = events()
times = [event["t"] for event in known]


def span(start, end, n):
    return {"requested_timerange": {"start": start, "end": end, "nbTimes": n}}


def check_list(server, where):
    listed = server.ask("GET", where)[1]
    types = {"TREE_TIME_XY": [HISTOGRAM, *(SCATTER + kind for kind in KINDS)], "TREE_GENERIC_XY": [DENSITY + kind for kind in KINDS],
             "DATA_TREE": [STATISTICS + kind for kind in KINDS], "TABLE": [EVENTS, *(TABLE + kind for kind in KINDS)]}
    found = {one["id"]: one["type"] for one in listed}
    tap.ok(all(found.get(id_) == type_ for type_, ids in types.items() for id_ in ids) and len(listed) == 4 + 26 and
           [one["name"] for one in listed] == sorted(one["name"] for one in listed), "there is one of each kind, in order of names", found)
    for id_ in (HISTOGRAM, SCATTER + SYSCALLS, EVENTS):
        tap.ok(server.ask("GET", f"{where}/{id_}")[1] in listed and server.model(f"{where}/{id_}/style", {}) == {"styles": {}} and
               server.model(f"{where}/timeGraph/{id_}/tree", {})["entries"] is not None, "and can be asked for itself", id_)
    wrong = [("POST", f"timeGraph/{HISTOGRAM}/states", 405), ("POST", f"table/{HISTOGRAM}/lines", 405), ("POST", f"XY/{EVENTS}/xy", 405),
             ("POST", f"XY/{SCATTER}x/xy", 404), ("POST", f"XY/{SCATTER}/xy", 404), ("POST", HISTOGRAM, 405), ("DELETE", HISTOGRAM, 405)]
    statuses = [(path, server.ask(method, f"{where}/{path}", {})[0]) for method, path, _ in wrong]
    tap.ok([status for _, status in statuses] == [status for _, _, status in wrong], "what they cannot be asked is refused", statuses)


def check_histogram(server, where):
    tree = server.model(f"{where}/XY/{HISTOGRAM}/tree", {})
    tap.ok([(e["labels"], e["isDefault"]) for e in tree["entries"]] == [(["Events"], False), (["Total"], True)], "nothing was lost, so there is one line", tree)
    experiment = server.ask("GET", "experiments")[1][0]
    for start, end, n in ((experiment["start"], experiment["end"], 50), (START + 1000 * US - 50, START + 1000 * US + 950, 11),
                          (START + 2000 * US, START + 3000 * US, 2), (START - 500, START + 500, 101)):
        series, = server.model(f"{where}/XY/{HISTOGRAM}/xy", {**span(start, end, n), "requested_items": [2]})["series"]
        xs = [start + (end - start) * i // (n - 1) for i in range(n)]
        edges = [*xs, end + xs[1] - xs[0]]
        # Events in the same 65536th of the trace as an edge may be on its other side.
        slack = (experiment["end"] - experiment["start"]) / 65536 if xs[1] - xs[0] > 200 else 0
        wrong = [(i, y) for i, y in enumerate(series["yValues"])
                 if not sum(edges[i] + slack < t < edges[i + 1] - slack for t in times) <= y <=
                 sum(edges[i] - slack <= t <= edges[i + 1] + slack - (slack == 0) for t in times)]
        tap.ok(series["xValues"] == xs and not wrong, f"{n} columns count their events", wrong, series["yValues"])
        if n == 50:
            tap.ok(sum(series["yValues"]) == len(known), f"all {len(known)} of them in all", series["yValues"])
    tap.ok(server.model(f"{where}/XY/{HISTOGRAM}/xy", {**span(START, START + 9, 2), "requested_items": [1, 3, 9, -1]})["series"][:-1] == [], "other lines have none")


def lines(server, where, id_, **params):
    return server.model(f"{where}/table/{id_}/lines", {"requested_table_count": 200, **params})


def check_events(server, where):
    columns = server.model(f"{where}/table/{EVENTS}/columns", {})
    names = [column["name"] for column in columns]
    tap.ok(names == ["Timestamp", "Host", "CPU", "Event type", "Contents", "TID", "PID", "Timestamp ns"] and [c["id"] for c in columns] == list(range(8)),
           "columns have the names that clients look for", columns)
    found = [line for first in (0, 40, 80) for line in lines(server, where, EVENTS, requested_table_index=first, requested_table_count=40)["lines"]]
    cells = [[cell["content"] for cell in line["cells"]] for line in found]
    tap.ok([line["index"] for line in found] == list(range(len(known))) and [int(cell[7]) for cell in cells] == times and
           collections.Counter((int(cell[7]), cell[3], cell[2]) for cell in cells) ==
           collections.Counter((event["t"], event["n"], str(event["pc"]["cpu_id"])) for event in known), f"all {len(known)} events are there", cells[:3])
    read = next(cell for cell in cells if cell[3] == "syscall_entry_read")
    tap.ok(read[1] == "box" and read[5] == str(A) and "fd = 3" in read[4] and read[0] == "01:46:40.001000000", "each with its host, task and fields", read)
    for time in (START - 1, START, times[20], times[20] + 1, times[-1], times[-1] + 1):
        answer = lines(server, where, EVENTS, requested_times=[time], requested_table_count=1)
        expected = sum(one < time for one in times)
        tap.ok(answer["lowIndex"] == expected and answer["size"] == len(known), "a time is found", time, answer, expected)
    exits = [i for i, cell in enumerate(cells) if cell[3] == "irq_handler_exit"]
    search = {"table_search_expressions": {"3": "HANDLER_exit$", "2": "1"}, "requested_table_count": 1}
    for direction, first, expected in (("NEXT", 0, exits[0]), ("NEXT", exits[0] + 1, exits[1]), ("NEXT", exits[-1], exits[-1]),
                                       ("NEXT", exits[-1] + 1, None), ("PREVIOUS", len(known) - 1, exits[-1]), ("PREVIOUS", exits[1] - 1, exits[0]),
                                       ("PREVIOUS", exits[0] - 1, None), ("PREVIOUS", 10**6, exits[-1])):
        answer = lines(server, where, EVENTS, requested_table_index=first, table_search_direction=direction, **search)
        tap.ok([line["index"] for line in answer["lines"]] == ([] if expected is None else [expected]), f"{direction} from {first}", answer, expected)
    answer = lines(server, where, EVENTS, requested_table_index=0, requested_table_column_ids=[3, 7], table_search_expressions={"3": "irq"})
    marked = [line["index"] for line in answer["lines"] if line.get("tags")]
    tap.ok(answer["columnIds"] == [3, 7] and all(len(line["cells"]) == 2 for line in answer["lines"]) and
           marked == [i for i, cell in enumerate(cells) if "irq" in cell[3]] and "tags" in answer["lines"][marked[0]]["cells"][0],
           "without a direction, what matches is marked", marked)
    for wrong in ({}, {"requested_table_index": 0, "requested_table_count": 0}, {"requested_table_index": 0, "requested_table_column_ids": [8]},
                  {"requested_table_index": 0, "table_search_expressions": {"3": "("}}, {"requested_table_index": 0, "table_search_expressions": {"9": "x"}},
                  {"requested_table_index": 0, "table_search_expressions": {"3": None}}, {"requested_table_index": 0, "table_search_expressions": {"3": ["x"]}},
                  {"requested_table_index": 0, "table_search_expressions": {"3": "(*UTF)x"}},
                  {"requested_table_index": 0, "table_search_expressions": {"3": "x" * 257}}):
        status, answer = server.ask("POST", f"{where}/table/{EVENTS}/lines", {"requested_table_count": 5, **wrong})
        tap.ok(status == 400 and answer["detail"], f"{str(wrong)[:60]} is refused", status, answer)
    endless = lines(server, where, EVENTS, requested_table_index=0, table_search_expressions={"4": "(.*)*(.*)*(.*)*x{9}$"}, table_search_direction="NEXT")
    tap.ok(endless["lines"] == [], "an expression that would take for ever matches nothing")


def check_points(server, where):
    view = f"{where}/XY/{SCATTER}{SYSCALLS}"
    entries = server.model(f"{view}/tree", {})["entries"]
    ids = {entry["labels"][0]: entry["id"] for entry in entries}
    tap.ok([e["labels"][0] for e in entries] == ["System calls", "read", "write", "futex"] and all(e["isDefault"] for e in entries[1:]),
           "names come by how many there are", entries)
    params = {**span(START, START + 9 * 10**6, 100), "requested_items": [ids["write"], ids["read"]]}
    series = server.model(f"{view}/xy", params)["series"]
    found = [(one["seriesName"], one["style"]["values"]["series-type"], list(zip(one["xValues"], one["yValues"]))) for one in series]
    tap.ok(found == [(name, "scatter", [(START + start, took) for start, took in expected]) for name, expected in (("write", WRITES), ("read", READS))],
           "each call is a point", found)
    within = server.model(f"{view}/xy", {**span(START + READS[2][0], START + READS[4][0], 2), "requested_items": [ids["read"]]})["series"][0]
    tap.ok(within["yValues"] == [took for _, took in READS[2:5]], "those of a range are those that start in it", within)
    view = f"{where}/genericXY/{DENSITY}{SYSCALLS}"
    params = {"requested_timerange": {"start": START, "end": START + 9 * 10**6, "nbSamples": 10}, "requested_items": [ids["read"], ids["write"]]}
    series = server.model(f"{view}/xy", params)["series"]
    width = 50 * US // 10 + 1
    expected = [[sum(i == took // width for _, took in calls) for i in range(10)] for calls in (READS, WRITES)]
    tap.ok([one["yValues"] for one in series] == expected and series[0]["xRanges"] == [{"start": i * width, "end": (i + 1) * width} for i in range(10)],
           "bars count durations", series, expected)
    empty = server.model(f"{view}/xy", {**span(START, START + 9, 50), "requested_items": [10**9, 0]})["series"]
    tap.ok(empty == [], "entries that are not there have none", empty)


def spread(calls, name):
    """The labels of a statistic, computed here; durations have four digits."""
    def text(ns):
        return f"{ns / US:.3f}"[:5] + " us" if ns >= US else f"{ns:.0f} ns"
    took = [one[1] for one in calls]
    least, most = min(calls, key=lambda one: one[1]), max(calls, key=lambda one: one[1])
    ends = [f"[{START + start},{START + start + length}]" for start, length in (least, most)]
    deviation = "0 ns" if len(set(took)) == 1 else text(statistics.stdev(took))
    return [name, text(min(took)), text(max(took)), text(statistics.mean(took)), deviation, str(len(took)), text(sum(took)), *ends]


def check_statistics(server, where):
    view = f"{where}/data/{STATISTICS}{SYSCALLS}"
    tree = server.model(f"{view}/tree", span(START + READS[2][0], START + READS[4][0], 2))
    names = {entry["id"]: entry["labels"][0] for entry in tree["entries"]}
    found = {(names.get(entry["parentId"]), entry["labels"][0]): entry["labels"] for entry in tree["entries"]}
    tap.ok(len(names) == len(tree["entries"]) and [h["name"] for h in tree["headers"]] ==
           ["Label", "Minimum", "Maximum", "Average", "Std Dev", "Count", "Total", "Min Time Range", "Max Time Range"], "columns", tree["headers"])
    tap.ok(found[("Total", "read")] == spread(READS, "read") and found[("Total", "write")] == spread(WRITES, "write") and
           found[("System calls", "Total")][5] == "13", "statistics of all", found, spread(READS, "read"))
    tap.ok(found[("Selection", "read")] == spread(READS[2:5], "read"), "and of a range", found.get(("Selection", "read")), spread(READS[2:5], "read"))
    tap.ok(not any(entry["labels"][0] == "Selection" for entry in server.model(f"{view}/tree", {})["entries"]), "which is not there if none is asked for")


def check_tables(server, where):
    answer = lines(server, where, TABLE + "lull.block", requested_table_index=0)
    found = [[cell["content"] for cell in line["cells"]] for line in answer["lines"]]
    expected = [[str(START + start), str(START + start + took), f"{took / US:.1f} us", f"254:0 {name}", f"beta ({B})"] for name, _, start, took in REQUESTS]
    tap.ok(answer["size"] == 2 and found == expected, "block requests", found, expected)
    answer = lines(server, where, TABLE + "lull.period-1", requested_times=[START + PHASES[1][0]])
    tap.ok(answer["size"] == 2 and answer["lowIndex"] == 1 and answer["lines"][0]["cells"][4]["content"] == f"beta ({B})", "instances of a period", answer)
    answer = lines(server, where, TABLE + SYSCALLS, requested_table_index=0, table_search_expressions={"3": "^write$"}, table_search_direction="NEXT",
                   requested_table_count=1)
    tap.ok([cell["content"] for cell in answer["lines"][0]["cells"]][::4] == [str(START + WRITES[0][0]), f"beta ({B})"], "a search", answer)


cache = scratch("lull-outputs-")
with tempfile.TemporaryDirectory(prefix="lull-outputs-") as directory:
    try:
        main = Server(lull, environment(cache), "--period", PERIOD, write(known, directory, "known"))
    except RuntimeError as failure:
        if "without" not in str(failure):
            raise
        tap.skip("outputs", "built without it")
        sys.exit(tap.done())
    outputs = f"experiments/{main.ask('GET', 'experiments')[1][0]['UUID']}/outputs"
    for check in (check_list, check_histogram, check_events, check_points, check_statistics, check_tables):
        tap.run(check.__name__, check, main, outputs)
    tap.ok(main.end()[0] == 0, "it ends")
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull serve: who may ask, the shapes that clients of the Trace Server Protocol need, and the truth of what is in them, taken from
# the store's file by a reader that shares no code with Lull, and from lull cputop.
import json
import os
import shutil
import subprocess
import sys

from server.serving import Server, environment
from store.store_file import NONE, Store
from tap import Tap, scratch

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
tap = Tap()
cache = scratch("lull-serve-")
env = environment(cache)
original = os.path.join(samples, "truth", "truth-chain")
trace = os.path.join(cache, "chain")
shutil.copytree(original, trace)
TASKS = "org.eclipse.tracecompass.internal.analysis.os.linux.core.threadstatus.ThreadStatusDataProvider"
RESOURCES = "org.eclipse.tracecompass.internal.analysis.os.linux.core.threadstatus.ResourcesStatusDataProvider"
PATHS = "org.eclipse.tracecompass.analysis.graph.core.dataprovider.CriticalPathDataProvider"
USAGE = "org.eclipse.tracecompass.analysis.os.linux.core.cpuusage.CpuUsageDataProvider"
STYLES = {"user": "Usermode", "syscall": "System call", "interrupt": "Interrupt", "softirq": "Soft Irq", "wait-cpu": "Wait for CPU",
          "wait-task": "Wait task", "wait-disk": "Wait disk", "wait-network": "Wait network", "wait-timer": "Wait timer",
          "wait-input": "Wait user input", "wait-irq": "Wait irq", "wait-unknown": "Wait blocked", "idle": "Idle",
          "lost": "Lost events", "unknown": None, "none": None}


# --- who may ask ---------------------------------------------------------------------------------------------

def check_guard(server):
    health = f"{server.base}/health"
    local = f"127.0.0.1:{server.port}"
    taken = subprocess.run([lull, "serve", "--allow-root", "--port", str(server.port), trace], capture_output=True, text=True, timeout=60,
                           check=False, env=env)
    tap.ok(taken.returncode == 1 and f"port {server.port} " in taken.stderr and "choose another with --port" in taken.stderr,
           "a port that is in use: what to do", taken.stderr)
    statuses = {
        "the right address": (server.raw("GET", health), 200),
        "localhost on another port, as through SSH": (server.raw("GET", health, headers={"Host": "localhost:9"}), 200),
        "another host": (server.raw("GET", health, headers={"Host": "evil.example"}), 421),
        "a host that starts like this one": (server.raw("GET", health, headers={"Host": "127.0.0.1.evil.example"}), 421),
        "a port that is none": (server.raw("GET", health, headers={"Host": "localhost:80x"}), 421),
        "our own page": (server.raw("GET", health, headers={"Origin": f"http://{local}"}), 200),
        "a page of another port": (server.raw("GET", health, headers={"Origin": "http://127.0.0.1:1"}), 403),
        "a page of another site": (server.raw("GET", health, headers={"Origin": "https://evil.example"}), 403),
        "no site at all": (server.raw("GET", health, headers={"Origin": "null"}), 403),
        "VS Code": (server.raw("GET", health, headers={"Origin": "vscode-webview://0abc"}), 200),
        "VS Code in a browser": (server.raw("GET", health, headers={"Origin": "https://a.vscode-cdn.net"}), 200),
        "a site named like it": (server.raw("GET", health, headers={"Origin": "https://evil.example/.vscode-cdn.net"}), 403),
        "another site named like it": (server.raw("GET", health, headers={"Origin": "https://evilvscode-cdn.net"}), 403),
        "no token": (server.raw("GET", "/tsp/api/health"), 404),
        "a wrong token": (server.raw("GET", f"/t/{'0' * 32}/tsp/api/health"), 404),
        "half a token": (server.raw("GET", f"/t/{server.base.split('/')[2][:16]}/tsp/api/health"), 404),
        "another path": (server.raw("GET", f"/t/{server.base.split('/')[2]}/etc/passwd"), 404),
        "a form": (server.raw("POST", f"{server.base}/experiments", b"{}", {"Content-Type": "text/plain"}), 415),
        "a body that is no JSON": (server.raw("POST", f"{server.base}/experiments", b"{"), 400),
        "a body that is no object": (server.raw("POST", f"{server.base}/experiments", b"[]"), 400),
        "a deep body": (server.raw("POST", f"{server.base}/experiments", b'{"a":' * 40 + b"1" + b"}" * 40), 400),
        "a long body": (server.raw("POST", f"{server.base}/experiments", b" " * 1200000), 413),
        "a long header": (server.raw("GET", health, headers={"X-Long": "x" * 60000}), 431),
    }
    for name, ((status, headers, data), expected) in statuses.items():
        tap.ok(status == expected, f"{name}: {expected}", status, data[:200])
    status, headers, _ = server.raw("OPTIONS", health, headers={"Origin": "vscode-webview://0abc"})
    tap.ok(status == 204 and headers["Access-Control-Allow-Origin"] == "vscode-webview://0abc" and headers["Vary"] == "Origin",
           "a preflight of VS Code is answered", status, headers)
    _, headers, _ = server.raw("GET", health)
    tap.ok(headers["Access-Control-Allow-Origin"] is None and headers["Cache-Control"] == "no-store" and
           headers["X-Content-Type-Options"] == "nosniff" and "default-src 'none'" in headers["Content-Security-Policy"] and
           "*" not in str(headers), "nothing is for everyone", headers)
    with open(f"/proc/{server.process.pid}/net/tcp", encoding="ascii") as file:
        mine = [line.split()[1] for line in file if line.split()[1].endswith(f":{server.port:04X}") and line.split()[3] == "0A"]
    tap.ok(mine == [f"0100007F:{server.port:04X}"], "it listens on 127.0.0.1 alone", mine)


# --- shapes --------------------------------------------------------------------------------------------------

def check_objects(server, store):
    status, health = server.ask("GET", "health")
    tap.ok((status, health) == (200, {"status": "UP"}), "health", health)
    _, identity = server.ask("GET", "identifier")
    tap.ok(identity["tspVersion"] == "0.6.0" and isinstance(identity["cpuCount"], int), "identifier", identity)
    _, traces = server.ask("GET", "traces")
    _, experiments = server.ask("GET", "experiments")
    experiment = experiments[0]
    tap.ok(len(traces) == 1 and traces[0]["path"] == os.path.realpath(trace) and
           set(traces[0]) == {"name", "path", "UUID", "nbEvents", "start", "end", "properties", "indexingStatus"}, "traces", traces)
    tap.ok((experiment["start"], experiment["end"]) == (store.start, store.end) and experiment["traces"] == traces and
           experiment["indexingStatus"] == "COMPLETED", "experiments", experiments)
    uuid = experiment["UUID"]
    answers = [
        ("GET", f"traces/{traces[0]['UUID']}", None, 200, traces[0]),
        ("POST", "traces", ("uri", trace), 200, traces[0]),
        ("POST", "traces", ("uri", "/etc"), 404, None),
        ("POST", "traces", ("name", "x"), 400, None),
        ("GET", "traces/x", None, 404, None),
        ("DELETE", f"traces/{traces[0]['UUID']}", None, 409, None),
        ("GET", f"experiments/{uuid}", None, 200, experiment),
        ("GET", "experiments/x", None, 404, None),
        ("GET", f"experiments/{uuid}/x", None, 404, None),
        ("GET", f"experiments/{uuid}/outputs/x", None, 404, None),
        ("GET", f"experiments/{uuid}/outputs/markerSets", None, 200, {"model": [], "status": "COMPLETED", "statusMessage": ""}),
        ("GET", f"experiments/{uuid}/outputs/{TASKS}/configTypes", None, 200, []),
        ("GET", "config/types", None, 200, []),
        ("GET", "nothing", None, 404, None),
        ("POST", f"experiments/{uuid}/outputs/timeGraph/{USAGE}/states", ("requested_items", [1]), 405, None),
        ("POST", f"experiments/{uuid}/outputs/timeGraph/{TASKS}/states", ("requested_items", [1]), 400, None),
        ("POST", f"experiments/{uuid}/outputs/XY/{USAGE}/tooltip", ("x", 1), 501, None),
    ]
    for method, path, param, expected, body in answers:
        status, answer = server.ask(method, path, None if param is None else dict([param]))
        tap.ok(status == expected and body in (None, answer) and (status == 200 or set(answer) == {"title", "detail"}),
               f"{method} {path[-60:]} {param or ''}: {expected}", status, answer)
    _, outputs = server.ask("GET", f"experiments/{uuid}/outputs")
    tap.ok([o["name"] for o in outputs] == sorted(o["name"] for o in outputs) and {o["id"] for o in outputs} >= {TASKS, RESOURCES, USAGE, PATHS},
           "outputs are sorted by name", outputs)
    return f"experiments/{uuid}/outputs"


def check_delete(server):
    """An experiment that is deleted is gone until it is made again; its traces stay."""
    experiment, = server.ask("GET", "experiments")[1]
    uuid = experiment["UUID"]
    tap.ok(server.ask("DELETE", "experiments/x")[0] == 404 and len(server.ask("GET", "experiments")[1]) == 1, "no other experiment can be deleted")
    tap.ok(server.ask("DELETE", f"experiments/{uuid}") == (200, experiment), "deleting an experiment answers with it")
    tap.ok(server.ask("GET", "experiments") == (200, []) and server.ask("GET", f"experiments/{uuid}")[0] == 404 and
           server.ask("GET", f"experiments/{uuid}/outputs")[0] == 404 and server.ask("DELETE", f"experiments/{uuid}")[0] == 404,
           "and then there is none")
    tap.ok(server.ask("GET", "traces") == (200, experiment["traces"]) and os.path.exists(trace), "the traces stay")
    again = server.ask("POST", "experiments", {"name": "again", "traces": [one["UUID"] for one in experiment["traces"]]})
    tap.ok(again == (200, experiment) and server.ask("GET", "experiments") == (200, [experiment]), "it can be made again", again)


def check_tree(name, tree, store):
    ids = [entry["id"] for entry in tree["entries"]]
    faults = [entry for i, entry in enumerate(tree["entries"])
              if not 0 < entry["id"] < 1 << 31 or entry["parentId"] not in (-1, *ids[:i]) or "hasData" not in entry or
              len(entry["labels"]) != len(tree["headers"])]
    tap.ok(ids and len(ids) == len(set(ids)) and not faults, f"{name}: every entry comes after its parent", faults[:3])
    if name != "usage":
        tap.ok(all((e["start"], e["end"]) == (store.start, store.end) for e in tree["entries"]), f"{name}: entries last as long as the trace")


def check_views(server, outputs, store):
    trees = {}
    for name, kind, view in (("tasks", "timeGraph", TASKS), ("resources", "timeGraph", RESOURCES), ("usage", "XY", USAGE)):
        trees[name] = server.model(f"{outputs}/{kind}/{view}/tree", {})
        check_tree(name, trees[name], store)
    tids = sorted(e["metadata"]["TID"][0] for e in trees["tasks"]["entries"] if e["metadata"])
    tap.ok(tids == sorted(row.tid for row in store.of("task")), "each task has an entry")
    threads = [e for e in trees["tasks"]["entries"] if e["labels"][0] == "t-worker"]
    leaders = [e for e in trees["tasks"]["entries"] if e["labels"][0] == "t-asker"]
    tap.ok(len(threads) == len(leaders) == 1 and threads[0]["parentId"] == leaders[0]["id"], "t-worker is a thread of t-asker")
    styles = server.model(f"{outputs}/{TASKS}/style", {})["styles"]
    tap.ok(set(filter(None, STYLES.values())) <= set(styles) and all(s.get("parentKey", "Wait blocked") in styles for s in styles.values()),
           "every state has a style", styles)
    marks = server.model(f"{outputs}/{TASKS}/annotations", {"requested_timerange": {"start": store.start, "end": store.end, "nbTimes": 9}})
    tap.ok(marks == {"annotations": {"Lost Events": []}}, "nothing was lost", marks)
    return trees


# --- truth ---------------------------------------------------------------------------------------------------

def states_of(server, outputs, view, entry, start, end, times):
    rows = server.model(f"{outputs}/timeGraph/{view}/states",
                        {"requested_timerange": {"start": start, "end": end, "nbTimes": times}, "requested_items": [entry["id"]]})["rows"]
    assert [row["entryId"] for row in rows] == [entry["id"]]
    return [(s["start"], s["end"], s.get("style", {}).get("parentKey"), s.get("label")) for s in rows[0]["states"]]


def row_of(store, entry):
    tid = entry["metadata"].get("TID")
    rows = [row for row in store.of("task") if [row.tid] == tid]
    return rows[0] if len(rows) == 1 else None


def check_states(server, outputs, store, trees):
    fine, coarse, count = [], [], 0
    for entry in trees["tasks"]["entries"]:
        row = row_of(store, entry) if entry["hasData"] else None
        if not row:
            continue
        middle = (store.start + store.end) // 2
        # Columns of 1 ns: everything is exact.
        found = states_of(server, outputs, TASKS, entry, middle, middle + 60000, 60001)
        exact = [(s, e, STYLES[state], store.texts[label] if label >= 0 else None) for s, e, state, label, _ in row.intervals
                 if e > middle and s < middle + 60000]
        exact[0] = (middle, *exact[0][1:])
        fine += [(entry["labels"], found, exact)] if found != exact else []
        # Few columns: states touch, cover the range, and what is wide is exact.
        found = states_of(server, outputs, TASKS, entry, store.start, store.end, 200)
        width = (store.end - store.start) / 199
        edges = [store.start, *(s[1] for s in found)]
        wide = {(s, e, STYLES[state]) for s, e, state, *_ in row.intervals if e - s > 4 * width}
        long = {(s, e, style) for s, e, style, _ in found}
        bad = [w for w in wide if not any(w[2] == f[2] and abs(w[0] - f[0]) <= width and w[1] == f[1] for f in long)]
        count += len(wide)
        if [s[0] for s in found] != edges[:-1] or edges[-1] < store.end or len(found) > 600 or bad:
            coarse.append((entry["labels"], bad))
    tap.ok(not fine, "close by, states are the intervals of the store", *fine[:2])
    tap.ok(count > 20 and not coarse, f"from afar, states touch, and {count} long ones keep their ends", *coarse[:5])


def tagged(server, outputs, entry, span, strategy, expressions):
    """[(start, end, tags), …]"""
    rows = server.model(f"{outputs}/timeGraph/{TASKS}/states",
                        {"requested_timerange": span, "requested_items": [entry["id"]],
                         "filter_query_parameters": {"strategy": strategy, "filter_expressions_map": expressions}})["rows"]
    return [(s["start"], s["end"], s.get("tags", 0)) for s in rows[0]["states"]]


def check_filters(server, outputs, store, trees):
    """Tags by hand from the intervals of the store: close by of each, from afar of those that are drawn as one."""
    entry = next(e for e in trees["tasks"]["entries"] if e["labels"][0] == "t-asker")
    row = row_of(store, entry)
    calls = [store.texts[label] for *_, label, _ in row.intervals if label >= 0]
    rare = min(sorted(set(calls)), key=calls.count)

    def call(interval):
        return store.texts[interval[3]] if interval[3] >= 0 else None

    def length(interval):
        return interval[1] - interval[0]

    def style(interval):
        return STYLES[interval[2]] or "Unknown"

    cases = {
        rare: lambda i: rare in (call(i) or ""),
        f"^{rare.upper()}$": lambda i: call(i) == rare,
        f'"System call" == {rare}': lambda i: call(i) == rare,
        f'"system call"!="{rare}"': lambda i: call(i) not in (None, rare),
        '"System call" present': lambda i: call(i) is not None,
        "Duration > 10us": lambda i: length(i) > 10000,
        "Duration<1000 || Duration == 1.5ms": lambda i: length(i) < 1000 or length(i) == 1500000,
        "State contains wait && !(Duration < 100us)": lambda i: "wait" in style(i).lower() and length(i) >= 100000,
        'State matches "^(user|sys)" && Duration < 20us': lambda i: style(i)[:3].lower() in ("use", "sys") and length(i) < 20000,
        f"TID == {row.tid}": lambda i: True,
        f"!TID == {row.tid} || t-nobody": lambda i: False,
    }
    middle = (store.start + store.end) // 2
    near = {"start": middle, "end": middle + 60000, "nbTimes": 60001}
    far = {"start": store.start, "end": store.end, "nbTimes": 200}
    faults, seen = [], set()
    for expression, matches in cases.items():
        wanted = [0 if matches(i) else 1 for i in row.intervals if i[1] > middle and i[0] < middle + 60000]
        found = [tags for *_, tags in tagged(server, outputs, entry, near, "SAMPLED", {"1": [expression]})]
        faults += [(expression, found, wanted)] if found != wanted else []
        for start, end, tags in tagged(server, outputs, entry, far, "DEEP", {"1": [expression]}):
            within = any(matches(i) for i in row.intervals if i[1] > start and i[0] < end)
            seen.add((expression, tags))
            faults += [(expression, start, end, tags)] if tags != (0 if within else 1) else []
    tap.ok(not faults and len(seen) > len(cases), f"{len(cases)} filters tag what does not match, close by and from afar", *faults[:3])
    both = tagged(server, outputs, entry, near, "SAMPLED", {"1": [f"TID != {row.tid}"], "2": [f"TID == {row.tid}"], "4": ["t-nobody", "user"]})
    tap.ok({tags for *_, tags in both} == {7}, "dimmed, emphasised and left out", both[:3])
    states = f"{outputs}/timeGraph/{TASKS}/states"
    for name, expressions in {"no end": {"1": ["(a"]}, "no start": {"1": ["a)"]}, "no text": {"1": ["a &&"]}, "no pattern": {"1": ["[a"]},
                              "nothing": {"1": [""]}, "another key": {"3": ["a"]}, "no list": {"1": "a"}, "no texts": {"1": [1]},
                              "too long": {"1": ["a" * 257]}, "too many": {"1": ["a"] * 17}, "too deep": {"1": ["!" * 100 + "a"]},
                              "too much": {"1": ["||".join("a" * 80)]}, "an open quote": {"1": ['"a']}, "half a condition": {"4": ["a =="]}}.items():
        status, answer = server.ask("POST", states, {"requested_timerange": near, "requested_items": [entry["id"]],
                                                     "filter_query_parameters": {"strategy": "DEEP", "filter_expressions_map": expressions}})
        tap.ok(status == 400 and "filter expression" in answer["detail"], f"a filter with {name} is refused", status, answer)


def check_bookmarks(server, outputs):
    path = outputs.rsplit("/", 1)[0] + "/bookmarks"
    tap.ok(server.ask("GET", path) == (200, []), "no bookmarks at first")
    made = [server.ask("POST", path, {"name": name, "start": start, "end": end})
            for name, start, end in (('first "one" <b>', 1795222893691536001, 1795222893691536009), ("second", 5, 5))]
    first, second = (answer for _, answer in made)
    tap.ok([status for status, _ in made] == [200, 200] and first["uuid"] != second["uuid"] and
           {**first, "uuid": 0} == {"uuid": 0, "name": 'first "one" <b>', "start": 1795222893691536001, "end": 1795222893691536009}, "a bookmark", made)
    tap.ok(server.ask("GET", path) == (200, [first, second]) and server.ask("GET", f"{path}/{second['uuid']}") == (200, second), "are listed")
    renamed = server.ask("PUT", f"{path}/{second['uuid']}", {"name": "other", "start": 6, "end": 7})
    tap.ok(renamed == (200, {"uuid": second["uuid"], "name": "other", "start": 6, "end": 7}), "is changed", renamed)
    tap.ok(server.ask("DELETE", f"{path}/{first['uuid']}") == (200, first) and server.ask("GET", path) == (200, [renamed[1]]), "is deleted")
    statuses = {
        "unknown": server.ask("GET", f"{path}/{first['uuid']}")[0] == 404,
        "without a name": server.ask("POST", path, {"start": 1, "end": 2})[0] == 400,
        "ends before it starts": server.ask("POST", path, {"name": "x", "start": 3, "end": 2})[0] == 400,
        "changed to nothing": server.ask("PUT", f"{path}/{second['uuid']}", {"name": "", "start": 3, "end": 4})[0] == 400,
        "all at once": server.ask("DELETE", path)[0] == 405,
    }
    tap.ok(all(statuses.values()) and server.ask("GET", path) == (200, [renamed[1]]), "what is no bookmark changes nothing", statuses)
    filled = [server.ask("POST", path, {"name": "x", "start": 1, "end": 2})[0] for _ in range(1000)]
    tap.ok(filled == [200] * 999 + [409], "a thousand is enough", filled[-3:])


def check_counts(server, outputs):
    """nbEvents, once the histogram has counted them; lull info counts on its own."""
    info = json.loads(subprocess.run([lull, "info", "--events", "--json", trace], capture_output=True, env=env, check=True).stdout)
    wanted = sum(one["count"] for one in info["events"])
    experiment = outputs.rsplit("/", 1)[0]
    span = {"start": the_store.start, "end": the_store.end, "nbTimes": 10}
    histogram = "org.eclipse.tracecompass.internal.tmf.core.histogram.HistogramDataProvider"
    server.model(f"{outputs}/XY/{histogram}/xy", {"requested_timerange": span, "requested_items": [2]})
    found = server.ask("GET", experiment)[1]
    tap.ok(wanted > 100 and found["nbEvents"] == wanted == found["traces"][0]["nbEvents"], "nbEvents is what lull info counts", found, wanted)


def check_limits(server, outputs, store, trees):
    ids = [entry["id"] for entry in trees["tasks"]["entries"] if entry["hasData"]]
    span = {"start": store.start, "end": store.end, "nbTimes": 1000}
    rows = server.model(f"{outputs}/timeGraph/{TASKS}/states", {"requested_timerange": span, "requested_items": (ids * 60)[:2000]})["rows"]
    tap.ok(len(rows) == 2000 and sum(len(row["states"]) for row in rows) <= 40000, "many rows have fewer states each")
    status, answer = server.ask("POST", f"{outputs}/timeGraph/{TASKS}/states",
                                {"requested_timerange": {**span, "nbTimes": 65536}, "requested_items": ids * 60})
    tap.ok(status == 400 and "too many rows and times" in answer["detail"], "too many rows and times are refused", status, answer)


def check_arrows(server, outputs, store, trees):
    rows = {entry["id"]: row_of(store, entry) for entry in trees["tasks"]["entries"] if entry["hasData"]}
    params = {"requested_timerange": {"start": store.start, "end": store.end, "nbTimes": 65536}}
    found = server.model(f"{outputs}/timeGraph/{TASKS}/arrows", params)
    faults = []
    ends = {(s, evidence) for row in store.of("thread") for s, _, state, _, evidence in row.intervals if state == "user"}
    starts = {(e, evidence) for row in store.of("thread") for _, e, state, _, evidence in row.intervals if state == "user"}
    for arrow in found:
        source, target = rows[arrow["sourceId"]], rows[arrow["targetId"]]
        if source and target and not ((arrow["start"], store.rows.index(source)) in starts and
                                      (arrow["end"], store.rows.index(target)) in ends and arrow["start"] <= arrow["end"]):
            faults.append(arrow)
    tap.ok(len(found) > 50 and not faults, f"{len(found)} arrows go from who left a CPU to who came", *faults[:3])


def check_tooltips(server, outputs, store, trees):
    entry = next(e for e in trees["tasks"]["entries"] if e["labels"][0] == "t-asker")
    row, faults, count = row_of(store, entry), [], 0
    for start, end, state, label, evidence in row.intervals[::7]:
        found = server.model(f"{outputs}/timeGraph/{TASKS}/tooltip",
                             {"requested_times": [(start + end) // 2], "requested_items": [entry["id"]],
                              "requested_element": {"elementType": "state", "time": start, "duration": end - start}})
        count += 1
        waker = store.rows[evidence] if state == "wait-task" and evidence < NONE else None
        if found["State"] != (STYLES[state] or "Unknown") or found.get("System call") != (store.texts[label] if label >= 0 else None) or \
                state in ("user", "syscall") and found["CPU"] != str(evidence) or \
                waker and found["Woken by"] != f"{waker.name} ({waker.tid})":
            faults.append((found, state))
    tap.ok(count > 5 and not faults, f"{count} tooltips say what the store holds", *faults[:3])


def check_usage(server, outputs, store, trees):
    tops = json.loads(subprocess.run([lull, "cputop", "--json", trace], capture_output=True, env=env, check=True).stdout)
    expected = {line["process"]["tid"]: line["cpu_ns"] for line in tops["windows"][0]["tables"]["per-process"]}
    faults = []
    for entry in trees["usage"]["entries"]:
        tid = entry["labels"][1]
        if tid != "Total" and int(tid) in expected and entry["labels"][3] != f"{expected[int(tid)]} ns":
            faults.append(entry)
    tap.ok(len(trees["usage"]["entries"]) > 10 and not faults, "the times of tasks are those of lull cputop", *faults[:3])
    ids = [entry["id"] for entry in trees["usage"]["entries"] if entry["isDefault"]]
    answer = server.model(f"{outputs}/XY/{USAGE}/xy",
                          {"requested_timerange": {"start": store.start, "end": store.end, "nbTimes": 101}, "requested_items": ids})
    faults = []
    for series in answer["series"]:
        entry = next(e for e in trees["usage"]["entries"] if e["id"] == series["seriesId"])
        x, y = series["xValues"], series["yValues"]
        total = sum(y[i] / 100 * (x[i] - x[i - 1]) for i in range(1, 101))
        if len(x) != len(y) or len(x) != 101 or abs(total - int(entry["labels"][3].split()[0])) > 100 or \
                any(len(f"{v:.9g}") > 15 for v in y):
            faults.append((entry, total))
    tap.ok(len(ids) == 6 and not faults, "use of CPUs over time adds up to it", *faults[:3])


def style_of(segment):
    """The words of Trace Compass for states of a path."""
    causes = {"task": "BLOCKED", "timer": "TIMER", "disk": "BLOCK_DEVICE", "network": "NETWORK", "user-input": "USER_INPUT",
              "ipi": "IPI", "irq": "UNKNOWN", "unknown": "UNKNOWN"}
    return causes[segment["cause"]] if segment["state"] == "blocked" else segment["state"].upper()


def check_paths(server, outputs, store, trees):
    tid = next(row.tid for row in store.of("task") if row.name == "t-asker")
    path = json.loads(subprocess.run([lull, "critpath", "--json", "--tid", str(tid), trace], capture_output=True, env=env,
                                     check=True).stdout)
    status, types = server.ask("GET", f"{outputs}/{PATHS}/configTypes")
    one = server.ask("GET", f"{outputs}/{PATHS}/configTypes/lull.critpath")
    tap.ok(status == 200 and types[0]["schema"]["anyOf"] == [{"required": ["tid"]}, {"required": ["request"]}] and one == (200, types[0]), "paths say what they are made of", types)
    for params in ({"tid": 999999}, {"tid": "x"}, {}, {"tid": tid, "host": "nowhere"}, {"tid": tid, "host": None}, {"request": 10**9}, {"request": "1"}):
        status, answer = server.ask("POST", f"{outputs}/{PATHS}", params)
        tap.ok(status == 400 and answer["detail"], f"no path of {params}", status, answer)
    status, made = server.ask("POST", f"{outputs}/{PATHS}", {"tid": tid})
    _, again = server.ask("POST", f"{outputs}/{PATHS}", {"tid": tid})
    _, listed = server.ask("GET", f"{outputs}")
    tap.ok(status == 200 and made == again and made in listed and made["parentId"] == PATHS and "t-asker" in made["name"],
           "a path is derived once", made, listed)
    view = f"{outputs}/timeGraph/{made['id']}"
    tree = server.model(f"{view}/tree", {})
    rows = server.model(f"{view}/states", {"requested_timerange": {"start": store.start, "end": store.end, "nbTimes": 1000},
                                           "requested_items": [e["id"] for e in tree["entries"]]})["rows"]
    tids = {e["id"]: e["metadata"].get("TID", [None])[0] for e in tree["entries"]}
    found = sorted((s["start"], s["end"], tids[row["entryId"]], s["style"]["parentKey"])
                   for row in rows for s in row["states"] if "style" in s)
    expected = [(s["begin_ns"], s["end_ns"], s["tid"], style_of(s)) for s in path["segments"]]
    tap.ok(len(expected) > 10 and found == expected, f"its {len(expected)} segments are those of lull critpath", found[:4], expected[:4])
    touching = all(a["end"] == b["start"] for row in rows for a, b in zip(row["states"], row["states"][1:]))
    tap.ok(touching, "its states touch")
    arrows = server.model(f"{view}/arrows", {"requested_timerange": {"start": store.start, "end": store.end, "nbTimes": 1000}})
    turns = [(b["begin_ns"], a["tid"], b["tid"]) for a, b in zip(path["segments"], path["segments"][1:]) if a["tid"] != b["tid"]]
    tap.ok(turns and [(a["start"], tids[a["sourceId"]], tids[a["targetId"]]) for a in arrows] == turns, "arrows go from task to task")
    styles = server.model(f"{outputs}/{made['id']}/style", {})["styles"]
    tap.ok({s["parentKey"] for s in (s["style"] for row in rows for s in row["states"] if "style" in s)} <= set(styles), "each has a style")
    status, _ = server.ask("DELETE", f"{outputs}/{PATHS}/{made['id']}")
    tap.ok(status == 200 and server.ask("GET", f"{outputs}/{made['id']}")[0] == 404, "it can be deleted", status)
    tap.ok(server.ask("DELETE", f"{outputs}/{PATHS}")[0] == 405, "and its base cannot")


def check_end(server, outputs):
    shutil.rmtree(trace)
    status, _ = server.ask("POST", f"{outputs}/timeGraph/{TASKS}/tree", {})
    tap.ok(status == 200, "a trace that is gone is still served", status)
    status, output, errors = server.end()
    tap.ok((status, output, errors) == (0, "", ""), "a signal ends it in order", status, output, errors)


def check_refusals():
    done = subprocess.run([lull, "serve", "--allow-root", "--port", "70000", original], capture_output=True, text=True, env=env)
    tap.ok(done.returncode == 2 and "65535" in done.stderr, "a port that is none is refused", done.stderr)
    one = Server(lull, env, original)
    done = subprocess.run([lull, "serve", "--allow-root", "--port", str(one.port), original], capture_output=True, text=True, env=env)
    tap.ok(done.returncode == 1 and str(one.port) in done.stderr, "a port in use is named", done.stderr)
    one.end()
    if os.geteuid() == 0:
        done = subprocess.run([lull, "serve", original], capture_output=True, text=True, env=env)
        tap.ok(done.returncode == 2 and "--allow-root" in done.stderr, "root has to say that it means it", done.stderr)
    two = Server(lull, env, "--no-token", "--allow-origin", "https://a.example", "--host-name", "proxy", original)
    tap.ok(two.base == "/tsp/api" and two.ask("GET", "health")[0] == 200, "--no-token: the customary path", two.base)
    statuses = [two.raw("GET", "/tsp/api/health", headers=h)[0]
                for h in ({"Origin": "https://a.example"}, {"Origin": "https://a.example.b"}, {"Host": "proxy:80"})]
    tap.ok(statuses == [200, 403, 200], "--allow-origin and --host-name allow one more", statuses)
    two.end()


try:
    main = Server(lull, env, trace)
except RuntimeError as failure:
    if "libmicrohttpd" not in str(failure):
        raise
    tap.skip("lull serve", "built without libmicrohttpd")
    sys.exit(tap.done())
the_store = Store(next(os.path.join(folder, name) for folder, _, names in os.walk(cache) for name in names if name.endswith(".lullview")))
tap.run("guard", check_guard, main)
where = check_objects(main, the_store)
the_trees = check_views(main, where, the_store)
for check in (check_states, check_filters, check_limits, check_arrows, check_tooltips, check_usage, check_paths):
    tap.run(check.__name__, check, main, where, the_store, the_trees)
tap.run("bookmarks", check_bookmarks, main, where)
tap.run("counts", check_counts, main, where)
tap.run("delete", check_delete, main)
tap.run("end", check_end, main, where)
tap.run("refusals", check_refusals)
sys.exit(tap.done())

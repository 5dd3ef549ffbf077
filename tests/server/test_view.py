#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull view without a browser: who may ask, what the page's questions answer, and when it ends. The truth is in the store's file, read
# by code that shares nothing with Lull, and in lull critpath and lull requests.
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

from server.serving import Server, environment
from store.store_file import KINDS, NONE, STATES, Store
from tap import Tap, scratch

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
tap = Tap()
cache = scratch("lull-view-")
env = environment(cache)
trace = os.path.join(samples, "truth", "truth-chain")
DRAWN = [i for i, state in enumerate(STATES) if state not in ("unknown", "none")]


def ask(server, what, **parameters):
    """(status, object)."""
    status, _, data = server.raw("POST", f"{server.base}api/{what}", json.dumps({"parameters": parameters}).encode())
    return status, json.loads(data)


def run(*arguments):
    return json.loads(subprocess.run([lull, *arguments], capture_output=True, env=env, check=True).stdout)


# --- the page ------------------------------------------------------------------------------------------------

def check_page(server):
    status, headers, page = server.raw("GET", server.base)
    page = page.decode()
    policy = headers["Content-Security-Policy"]
    tap.ok(status == 200 and headers["Content-Type"].startswith("text/html") and "default-src 'none'" in policy and "unsafe" not in policy,
           "the page comes with its policy", status, policy)
    files = re.findall(r'(?:src|href)="([^"]+)"', page)
    sizes = {}
    for name in files:
        if name != "data:,":
            status, headers, data = server.raw("GET", server.base + name)
            sizes[name] = len(data) if status == 200 and headers["X-Content-Type-Options"] == "nosniff" else -1
    tap.ok(len(sizes) == 2 and min(sizes.values()) > 1000 and sum(sizes.values()) <= 150000,
           f"all that it loads is there, and is small: {sizes}", files)
    tap.ok("<script>" not in page and not re.search(r"\bon\w+=|style=", page) and "http" not in page.replace("https://", ""),
           "nothing in it runs that the policy forbids, and nothing is elsewhere")
    for path in ("nothing", "../view.js", "api/nothing", "view.js/x", "%2e%2e/etc/passwd"):
        status, _, _ = server.raw("GET", server.base + path)
        tap.ok(status == 404, f"there is no {path}", status)
    token = server.base.split("/")[2]
    statuses = {path: server.raw("GET", path)[0] for path in ("/", "/view.js", f"/t/{'0' * 32}/", f"/t/{token[:-1]}/", f"/o/{token}", "/o/")}
    tap.ok(set(statuses.values()) == {404}, "without the token there is nothing", statuses)
    statuses = [server.raw("POST", server.base + "api/trace", b"{}", headers)[0]
                for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}, {"Content-Type": "text/plain"})]
    tap.ok(statuses == [403, 421, 415], "pages of others may not ask", statuses)


def check_entrance(bin_dir):
    """A browser is given an address that works once and leads to the page."""
    script = os.path.join(bin_dir, "xdg-open")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\necho "$1" >{bin_dir}/url.part && mv {bin_dir}/url.part {bin_dir}/url\n')
    os.chmod(script, 0o755)
    with_browser = {**env, "PATH": f"{bin_dir}:{os.environ['PATH']}", "DISPLAY": ":0"}
    server = Server(lull, with_browser, "--at", "#t=1,2&q=<a b>\r\nX: y", trace, verb="view")
    for _ in range(500):
        if os.path.exists(f"{bin_dir}/url"):
            break
        time.sleep(0.02)
    with open(f"{bin_dir}/url", encoding="utf-8") as file:
        url = file.read().strip()
    token = server.base.split("/")[2]
    path = url.removeprefix(f"http://127.0.0.1:{server.port}")
    first, second = (server.raw("GET", path) for _ in range(2))
    tap.ok(token not in url and first[0] == 303 and first[1]["Location"] == server.base + "#t=1,2&q=%3Ca%20b%3E%0D%0AX:%20y",
           "the browser is led to the page", url, first[0], first[1]["Location"])
    tap.ok(second[0] == 404, "and nobody after it", second[0])
    server.end()


# --- rows ----------------------------------------------------------------------------------------------------

def columns(server, **parameters):
    status, headers, data = server.raw("POST", f"{server.base}api/columns", json.dumps({"parameters": parameters}).encode())
    assert (status, headers["Content-Type"]) == (200, "application/octet-stream"), (status, data)
    magic, rows, count, shift, start = struct.unpack_from("<4sIIId", data)
    assert magic == b"LLC1" and rows == len(parameters["rows"])
    pictures = [[[(data[at + 2 * i * count + c], data[at + (2 * i + 1) * count + c]) for i in range(3)] for c in range(count)]
                for at in range(24, 24 + rows * 6 * count, 6 * count)]
    return shift, int(start), pictures, json.loads(data[24 + rows * 6 * count:])


def shares_of(row, start, end):
    """How long a row was in each state."""
    sums = [0] * len(STATES)
    for s, e, state, *_ in row.intervals:
        if s < end and e > start:
            sums[STATES.index(state)] += min(e, end) - max(s, start)
    return sums


def check_columns(server, store):
    numbers = [i for i, row in enumerate(store.rows) if row.intervals]
    length = store.end - store.start
    faults, looked = [], 0
    for start, end, most in ((0, length, 100), (length // 3, length // 3 + 1000003, 64), (length // 2, length // 2 + 50, 50)):
        shift, first, pictures, spans = columns(server, rows=numbers, start=start, end=end, columns=most)
        width = 1 << shift
        if (first + store.start) % width or not first <= start or len(pictures[0]) > most + 1:
            faults.append(("the columns do not lie right", first, shift, len(pictures[0])))
        for index, number in enumerate(numbers):
            row = store.rows[number]
            for c, found in enumerate(pictures[index]):
                low = store.start + first + c * width
                exact = shares_of(row, low, low + width)
                inside = min(low + width, store.end) - max(low, store.start)
                expected = {s for s in DRAWN if exact[s]}
                shown = {s for s, share in found if share}
                order = [share for _, share in found]
                looked += 1
                if not shown <= expected or len(shown) != min(3, len(expected)) or order != sorted(order, reverse=True) or \
                        inside == width and any(abs(share - 255 * exact[s] / width) > 1 for s, share in found if share > 1):
                    faults.append((row.name, c, found, [(s, exact[s]) for s in expected]))
        seen = {(number, store.start + s, store.start + e, state) for number, state, s, e, *_ in
                ((numbers[span[0]], *span[1:]) for span in spans)}
        exact = {(n, s, e, STATES.index(state)) for n in numbers for s, e, state, *_ in store.rows[n].intervals}
        wide = {one for one in exact if one[2] - one[1] >= 14 * width and one[3] in DRAWN and
                one[2] > store.start + start + 7 * width and one[1] < store.start + end - 7 * width and
                min(one[2], store.start + end) - max(one[1], store.start + start) >= 14 * width}
        if not wide <= seen or not seen <= exact:
            faults.append(("wide ones", list(wide - seen)[:3], list(seen - exact)[:3]))
    tap.ok(looked > 5000 and not faults, f"{looked} columns hold what the store does, and nothing that is short is left out", *faults[:4])


def check_totals(server, store):
    numbers = [i for i, row in enumerate(store.rows) if row.kind == "task"]
    middle = (store.end - store.start) // 2
    status, found = ask(server, "totals", rows=numbers, start=middle, end=middle + 12345678)
    expected = [sum(part) for part in zip(*(shares_of(store.rows[n], store.start + middle, store.start + middle + 12345678) for n in numbers))]
    tap.ok(status == 200 and found == expected, "the totals of a range are right to the nanosecond", found, expected)


def check_moments(server, store):
    faults, count = [], 0
    for number, row in enumerate(store.rows):
        for at in range(1, len(row.intervals) - 1, max(1, len(row.intervals) // 20)):
            start, end, state, label, evidence = row.intervals[at]
            here, before, after = (ask(server, "moment", row=number, time=(start + end) // 2 - store.start, step=step)[1]
                                   for step in (0, -1, 1))
            count += 1
            if (here["start"] + store.start, here["end"] + store.start, STATES[here["state"]]) != (start, end, state) or \
                    here.get("label") != (store.texts[label] if label >= 0 else None) or \
                    (before["end"], after["start"]) != (here["start"], here["end"]) or \
                    row.kind == "task" and state == "wait-task" and evidence < NONE and here["other"] != evidence or \
                    row.kind == "task" and state in ("user", "syscall") and here["cpu"] != evidence:
                faults.append((row.name, here, state))
    tap.ok(count > 100 and not faults, f"{count} moments, and those before and after, are those of the store", *faults[:3])


def check_causes(server, store):
    """t-asker waits for t-worker, which reads what t-writer writes: so the chain of causes goes."""
    rows = {row.name: number for number, row in enumerate(store.rows) if row.name.startswith("t-")}
    asker = store.rows[rows["t-asker"]]
    start, end = max(((s, e) for s, e, state, *_ in asker.intervals if state == "wait-task"), key=lambda one: one[1] - one[0])
    chain, moment = [], {"row": rows["t-asker"], "time": (start + end) // 2 - store.start}
    for _ in range(4):
        status, found = ask(server, "cause", **moment)
        if status != 200:
            break
        chain.append((store.rows[found["row"]].name, "waits" if STATES[found["state"]].startswith("wait") else "runs", found["time"]))
        moment = {"row": found["row"], "time": found["time"]}
    tap.ok([one[:2] for one in chain] == [("t-worker", "runs"), ("t-worker", "waits"), ("t-writer", "runs"), ("t-writer", "waits")] and
           all(b[2] <= a[2] for a, b in zip(chain, chain[1:])), "causes lead from the asker to the worker to the writer", chain)
    cpu = next(number for number, row in enumerate(store.rows) if row.kind == "thread")
    start, end, _, _, task = next(i for i in store.rows[cpu].intervals if i[2] == "user" and i[4] < NONE)
    status, found = ask(server, "cause", row=cpu, time=start - store.start)
    tap.ok(status == 200 and found["row"] == task, "from a CPU one goes to the task that was there", found)
    status, found = ask(server, "cause", row=rows["t-asker"], time=0)
    tap.ok(status == 404 and found["detail"], "what has no cause says so", found)


# --- paths ---------------------------------------------------------------------------------------------------

def segments_of(flow):
    origin = int(flow["origin"])
    return [(s + origin, e + origin, flow["tasks"][task][2], state, cause or None, detail or None)
            for task, s, e, state, cause, detail in flow["segments"]]


def check_flow(server, store):
    number = next(n for n, row in enumerate(store.rows) if row.name == "t-asker")
    row, length = store.rows[number], store.end - store.start
    path = run("critpath", "--json", "--tid", str(row.tid), "--begin", str(store.start), "--end", str(store.end), trace)
    status, flow = ask(server, "flow", row=number, start=0, end=length)
    expected = [(s["begin_ns"], s["end_ns"], s["tid"], s["state"], s["cause"], s["detail"]) for s in path["segments"]]
    found = segments_of(flow)
    tap.ok(status == 200 and len(expected) > 10 and found == expected, f"its {len(expected)} segments are those of lull critpath",
           found[:3], expected[:3])
    wrong = [task for task in flow["tasks"] if task[3] >= 0 and (store.rows[task[3]].tid, store.rows[task[3]].kind) != (task[2], "task")]
    tap.ok(not wrong and any(task[3] == number for task in flow["tasks"]), "its tasks are rows of the store", wrong)
    status, answer = ask(server, "flow", row=next(n for n, r in enumerate(store.rows) if r.kind == "cpu"), start=0, end=length)
    tap.ok(status == 404 and "only tasks" in answer["detail"], "a CPU has no path", status, answer)


def check_request_path(server, request, start, path):
    """Clients of the Trace Server Protocol see the path of the longest request, and can make one of any."""
    def tsp(method, where, params=None):
        body = None if params is None else json.dumps({"parameters": params}).encode()
        return json.loads(server.raw(method, f"{server.base}tsp/api/{where}", body)[2])
    outputs = f"experiments/{tsp('GET', 'experiments')[0]['UUID']}/outputs"
    base = "org.eclipse.tracecompass.analysis.graph.core.dataprovider.CriticalPathDataProvider"
    made = tsp("POST", f"{outputs}/{base}", {"request": request})
    expected = [(s["begin_ns"], s["end_ns"], s["host"], s["tid"]) for s in path["segments"]]
    for name, id_ in (("the base", base), ("a path of a request", made["id"])):
        entries = tsp("POST", f"{outputs}/timeGraph/{id_}/tree", {})["model"]["entries"]
        hosts = {entry["id"]: entry["labels"][0] for entry in entries if entry["parentId"] == -1}
        who = {entry["id"]: (hosts[entry["parentId"]], entry["metadata"]["TID"][0]) for entry in entries if entry["parentId"] != -1}
        who.update((entry, (host, -1)) for entry, host in hosts.items())  # interrupts
        rows = tsp("POST", f"{outputs}/timeGraph/{id_}/states", {"requested_timerange": {"start": start, "end": start + 10**12, "nbTimes": 9},
                                                                 "requested_items": list(who)})["model"]["rows"]
        found = sorted((s["start"], s["end"], *who[row["entryId"]]) for row in rows for s in row["states"] if "style" in s)
        own = {row["entryId"] for row in rows if any("style" in s for s in row["states"])}
        tap.ok([entry["id"] for entry in entries if entry["hasData"]] == sorted(own), f"entries of {name} say whether they have states", entries)
        tap.ok(len(expected) > 10 and found == expected, f"{name} has its {len(expected)} segments", found[:3], expected[:3])


def check_requests(server):
    traces = [os.path.join(samples, "django", host) for host in ("client", "httpd", "db")]
    listed = run("requests", "--json", *traces)["requests"]
    many = Server(lull, env, "--no-browser", *traces, verb="view")
    status, answer = ask(many, "requests")
    _, about = ask(many, "trace")
    start = int(about["start"])
    found = sorted((r[0], about["hosts"][r[1]], r[2], r[3], r[4], r[5], start + r[6], r[7] - r[6], r[8], r[9], r[10]) for r in answer["requests"])
    expected = [(r["id"], r["host"], r["tid"], r["comm"], r["peer"], r["port"], r["begin_ns"], r["duration_ns"], r["blocked_ns"],
                 r["bytes_sent"], r["bytes_received"]) for r in listed]
    took = [r[7] - r[6] for r in answer["requests"]]
    tap.ok(status == 200 and found == expected and took == sorted(took, reverse=True), f"{len(expected)} requests are those of lull requests",
           found[:1], expected[:1])
    slowest = answer["requests"][0]
    path = run("critpath", "--json", "--request", str(slowest[0]), *traces)
    status, flow = ask(many, "flow", request=slowest[0])
    expected = [(s["begin_ns"], s["end_ns"], s["tid"], s["state"], s["cause"], s["detail"]) for s in path["segments"]]
    tap.ok(status == 200 and segments_of(flow) == expected and len({task[0] for task in flow["tasks"]}) == 3,
           "the path of a request goes through three hosts", flow["tasks"])
    check_request_path(many, slowest[0], start, path)
    status, answer = ask(many, "why")
    expected = run("why", "--json", *traces)["kinds"]
    sentences = [[c["sentence"] for c in kind.get("contributions", [])] for kind in expected]
    found = [[f["said"] for f in kind["findings"]] for kind in answer["kinds"]]
    tap.ok(status == 200 and [kind["name"] for kind in answer["kinds"]] == [kind["kind"] for kind in expected] and any(sentences) and
           all(len(a) == len(b) and all(y in x for x, y in zip(a, b)) for a, b in zip(found, sentences)), "why is what lull why says", answer)
    kinds = [(about["kinds"][row[0]], about["hosts"][row[1]]) for row in about["rows"]]
    tap.ok(about["states"] == STATES and about["kinds"] == KINDS and {h for k, h in kinds if k == "cpu"} == {"client", "httpd", "db"},
           "rows are of all hosts")
    many.end()


# --- hostile questions, and the end --------------------------------------------------------------------------

def check_refusals(server, store):
    length = store.end - store.start
    good = {"rows": [0], "start": 0, "end": length, "columns": 10}
    bad = [{**good, "rows": None}, {**good, "rows": [len(store.rows)]}, {**good, "rows": [-1]}, {**good, "rows": ["x"] * 5000},
           {**good, "columns": 0}, {**good, "columns": 1 << 40}, {**good, "columns": 16384, "rows": [0] * 4000}, {**good, "start": "0"},
           {**good, "start": length, "end": 0}, {}]
    statuses = [server.raw("POST", f"{server.base}api/columns", json.dumps({"parameters": p}).encode())[0] for p in bad]
    tap.ok(set(statuses) == {400}, "bad questions about rows are refused", statuses)
    statuses = [ask(server, what, **p)[0] for what, p in (("moment", {"row": 1e9, "time": 0}), ("moment", {"row": 0}), ("cause", {"time": 3}),
                                                          ("totals", {"rows": [0]}), ("flow", {"row": 0}), ("flow", {"request": "x"}))]
    tap.ok(set(statuses) == {400}, "and so are others", statuses)
    status, answer = ask(server, "flow", request=10**12)
    tap.ok(status == 404 and "request" in answer["detail"], "a request that is not there is none", answer)
    status, _ = ask(server, "moment", row=0, time=-(1 << 63))
    far, _ = ask(server, "moment", row=0, time=(1 << 63) - 1)
    tap.ok((status, far) == (200, 200), "times far outside are those of the ends", status, far)
    bodies = [b"[]", b"{", b'{"parameters": 5}', b'{"parameters": {"rows": {}}}', b"\0" * 100, b"[" * 1000]
    statuses = [server.raw("POST", f"{server.base}api/columns", body)[0] for body in bodies]
    tap.ok(set(statuses) == {400}, "and what is no question at all", statuses)


def check_end(server):
    ask(server, "here", page="a" * 32)
    ask(server, "here", page="b" * 32)
    ask(server, "here", page="")
    ask(server, "here", page="x" * 1000)
    ask(server, "bye", page="a" * 32)
    time.sleep(1)
    ask(server, "bye", page="b" * 32)
    ask(server, "here", page="c" * 32)  # the page was loaded again
    time.sleep(3.5)
    alive = server.process.poll() is None
    ask(server, "bye", page="c" * 32)
    ask(server, "here", page="c" * 32)  # what it sent before it went, and arrived later
    status = server.process.wait(30)
    output, errors = server.process.stdout.read(), server.process.stderr.read()
    tap.ok(alive and (status, output, errors) == (0, "", ""), "it ends when the last page is closed, not when one is loaded again",
           alive, status, output, errors)


def check_without_display():
    bare = {key: value for key, value in env.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
    server = Server(lull, bare, trace, verb="view")
    status, output, errors = server.end()
    tap.ok(status == 0 and "no display" in errors, "without a display it says so, and prints the address", status, output, errors)


try:
    main = Server(lull, env, "--no-browser", trace, verb="view")
except RuntimeError as failure:
    if "without" not in str(failure):
        raise
    tap.skip("lull view", "built without the page")
    sys.exit(tap.done())
made = Store(os.path.join(cache, "lull", "view", next(iter(os.listdir(os.path.join(cache, "lull", "view"))))))
tap.run("page", check_page, main)
for check in (check_columns, check_totals, check_moments, check_causes, check_flow, check_refusals):
    tap.run(check.__name__, check, main, made)
tap.run("end", check_end, main)
with tempfile.TemporaryDirectory(prefix="lull-bin-") as directory:
    tap.run("entrance", check_entrance, directory)
tap.run("requests", check_requests, main)
tap.run("display", check_without_display)
sys.exit(tap.done())

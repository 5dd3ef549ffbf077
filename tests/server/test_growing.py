#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull serve on a trace that is still being indexed: it answers at once from what is finished, what it says grows, and a server that is
# ended early leaves nothing. A machine may be too fast to be seen at work; then the trace is made longer.
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from server.growing_trace import STEP, TID, make
from server.serving import Server, environment
from tap import Tap

lull = os.environ["LULL"]
tap = Tap()
P = "org.eclipse.tracecompass.internal.analysis.os.linux.core.threadstatus."
TASKS = P + "ThreadStatusDataProvider"


def files_in(cache):
    return [name for _, _, names in os.walk(cache) for name in names]


def ask_page(server, what, **parameters):
    path = server.base[:-len("tsp/api")] + "api/" + what
    return json.loads(server.raw("POST", path, json.dumps({"parameters": parameters}).encode())[2])


def check_part(server, experiment, start, end):
    """What a server says that has part of the trace. Returns the number of the task."""
    outputs = f"experiments/{experiment['UUID']}/outputs"
    tap.ok(experiment["start"] == start < experiment["end"] < end and experiment["traces"][0]["indexingStatus"] == "RUNNING",
           "while the trace is being indexed, its end is that of what is finished", experiment)
    _, answer = server.ask("POST", f"{outputs}/timeGraph/{TASKS}/tree", {})
    entry = next((e["id"] for e in answer["model"]["entries"] if e["labels"][1:2] == [str(TID)]), None)
    _, rows = server.ask("POST", f"{outputs}/timeGraph/{TASKS}/states", {
        "requested_timerange": {"start": start, "end": start + 8 * STEP, "nbTimes": 8 * STEP // 4}, "requested_items": [entry]})
    found = [(s["start"], s["end"], s["style"]["parentKey"]) for s in rows["model"]["rows"][0]["states"]]
    expected = []
    for i in range(8):
        at = start + i * STEP
        expected += [(at - (i > 0), at + STEP // 2, "Usermode"), (at + STEP // 2, at + STEP - 1, "System call")]
    expected.append((start + 8 * STEP - 1, start + 8 * STEP, "Usermode"))
    whole = [(s, min(e, start + 8 * STEP), k) for s, e, k in found]
    tap.ok({answer["status"], rows["status"]} <= {"RUNNING", "COMPLETED"} and whole == expected, "and its states are there already", found[:4], expected[:4])
    trace = ask_page(server, "trace")
    row = next((i for i, r in enumerate(trace["rows"]) if r[5] == TID), None)
    done = trace["done"]
    sums = dict(zip(trace["states"], ask_page(server, "totals", rows=[row], start=0, end=done)))
    late = ask_page(server, "totals", rows=[row], start=0, end=trace["length"])
    tap.ok(trace["length"] == end - start and done < trace["length"] or trace["isWhole"], "the page knows how much is to come", trace["length"], done)
    # Of each step the call takes all but 1 ns of the second half.
    calls, rest = divmod(done, STEP)
    expected = calls * (STEP // 2 - 1) + max(0, min(rest, STEP - 1) - STEP // 2)
    tap.ok(sums["user"] + sums["syscall"] == done and sums["syscall"] == expected, "sums are right up to there", sums, expected)
    tap.ok(sum(late) >= sum(sums.values()), "what is not indexed yet can be asked about", late)
    status, answer = server.ask("POST", f"{outputs}/org.eclipse.tracecompass.analysis.graph.core.dataprovider.CriticalPathDataProvider",
                                {"tid": TID})
    tap.ok(status in (200, 400) and (status == 200 or "indexed" in answer["detail"]), "critical paths come with the whole", answer)
    # What is read from the traces themselves comes with the whole too; until then it is empty, and says that it is not all.
    for output, kind, what, nothing in (
            ("org.eclipse.tracecompass.internal.tmf.core.histogram.HistogramDataProvider", "XY", "tree", {"headers": [], "entries": []}),
            ("org.eclipse.tracecompass.internal.provisional.tmf.core.model.events.TmfEventTableDataProvider", "table", "lines",
             {"size": 0, "lowIndex": 0, "columnIds": [], "lines": []})):
        status, answer = server.ask("POST", f"{outputs}/{kind}/{output}/{what}", {"requested_table_index": 0, "requested_table_count": 1})
        tap.ok(status == 200 and (answer["status"] == "RUNNING") == (answer["model"] == nothing), f"so does the {what} of the {kind}", answer)
    return entry


def check_growth(server, first, entry, start, end):
    ends, statuses = [first["end"]], ["RUNNING"]
    while statuses[-1] == "RUNNING":
        time.sleep(0.02)
        _, experiments = server.ask("GET", "experiments")
        ends.append(experiments[0]["end"])
        statuses.append(experiments[0]["indexingStatus"])
    tap.ok(ends == sorted(ends) and ends[-1] == end and statuses[-1] == "COMPLETED", "it grows to the whole", ends)
    _, answer = server.ask("POST", f"experiments/{first['UUID']}/outputs/timeGraph/{TASKS}/tree", {})
    tap.ok(answer["status"] == "COMPLETED" and [e["id"] for e in answer["model"]["entries"] if e["labels"][1:2] == [str(TID)]] == [entry],
           "the task has the number that it had", answer["model"]["entries"])


def check(env, cache):
    for packets in (12, 48, 144, 432):
        with tempfile.TemporaryDirectory(prefix="lull-growing-") as trace:
            start, end = make(trace, packets)
            server = Server(lull, env, trace, waits=False)
            _, experiments = server.ask("GET", "experiments")
            if experiments[0]["indexingStatus"] == "COMPLETED" and packets < 432:
                server.end()
                shutil.rmtree(os.path.join(cache, "lull"))
                continue
            entry = check_part(server, experiments[0], start, end)
            check_growth(server, experiments[0], entry, start, end)
            status, _, errors = server.end()
            tap.ok((status, errors) == (0, "") and len(files_in(cache)) == 1, "the store is there then", status, errors, files_in(cache))
            again = Server(lull, env, trace, waits=False)
            tap.ok(again.ask("GET", "experiments")[1][0]["indexingStatus"] == "COMPLETED", "and is used the next time")
            again.end()
            place = os.path.join(cache, "lull", "view", files_in(cache)[0])
            with open(place, "rb") as file:
                made = file.read()
            os.unlink(place)
            subprocess.run([lull, "index", trace], env=env, check=True, capture_output=True)
            with open(place, "rb") as file:
                tap.ok(file.read() == made, "its bytes are those of lull index, at which nobody looked meanwhile")
            os.unlink(place)
            early = Server(lull, env, trace, waits=False)
            status, _, errors = early.end()
            tap.ok((status, errors) == (0, ""), "a server that is ended early ends in order", status, errors)
            return


def check_full_disk(env, cache):
    """The store would take some megabytes, of which the limit allows 200 KiB: it says so when it ends, and nothing is left."""
    before = files_in(cache)
    with tempfile.TemporaryDirectory(prefix="lull-growing-") as trace:
        make(trace, 12)
        script = 'trap "" XFSZ; ulimit -f 400; exec "$0" serve --allow-root --port 0 "$1"'
        done = subprocess.run(["sh", "-c", script, lull, trace], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        tap.ok(done.returncode == 1 and "cannot write" in done.stderr and files_in(cache) == before,
               "a full disk ends the server, which says so, and leaves nothing", done.returncode, done.stderr, files_in(cache))


with tempfile.TemporaryDirectory(prefix="lull-growing-cache-") as folder:
    try:
        Server(lull, environment(folder), os.path.join(os.environ["LULL_SAMPLES"], "truth", "truth-chain")).end()
        os.unlink(os.path.join(folder, "lull", "view", files_in(folder)[0]))
        tap.run("growing", check, environment(folder), folder)
        tap.run("full disk", check_full_disk, environment(folder), folder)
    except RuntimeError as failure:
        if "libmicrohttpd" not in str(failure):
            raise
        tap.skip("growing", "built without libmicrohttpd")
sys.exit(tap.done())

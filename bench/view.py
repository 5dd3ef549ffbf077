#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What the time view costs: the store against lull stats on the same trace in the same run, what is asked of it at every zoom, and
# when a browser shows the first picture: `make bench-view`.
#
# The trace is found as by run.py, or is --trace; --repeat 20 repeats it that often, which makes the large one 100 million events. Figures
# of pictures are those of the clock, so they need a quiet machine.
import argparse
import glob
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection

import run
from repeat import repeat

sys.path.insert(0, os.path.join(run.SOURCE, "tests"))
from server.serving import Server, environment  # noqa: E402 - found by the line above
from web import browser  # noqa: E402

BUILD_FLOOR = 2.0  # of the CPU time of lull stats
SIZE_FLOOR = 0.30  # of the trace
MEMORY_FLOOR = 300 * 2**20
ANSWER_FLOORS = {"columns": 5, "states": 60, "arrows": 20}  # ms, p99
PICTURE_FLOORS = {"without a store": 1.5, "with a store": 0.6}  # s
FRAME_FLOOR = 6  # ms of CPU
BUNDLE_FLOOR, PACKED_FLOOR = 150, 50  # kB
# What draws asks for a frame: counts the frames.
COUNT_FRAMES = """frames = new Set(); (before => window.requestAnimationFrame = draw => before(time => {
    frames.add(time); draw(time);
}))(window.requestAnimationFrame.bind(window)); 0"""
ROWS, COLUMNS, FRAMES, HOT = 50, 2000, 60, 3
KEYS = "wwadssda"  # zooms and pans, and comes back
ZOOMS = [2**i for i in range(21)]
P = "org.eclipse.tracecompass.internal.analysis.os.linux.core.threadstatus."
PAINTED = """document.querySelectorAll('[data-panel=tasks] .name').length >= Math.min(20, %d) && (canvas => canvas &&
    new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width || 1, canvas.height || 1).data.buffer)).size > 4)(
    document.querySelector('[data-panel=tasks] canvas'))"""


def verdict(value, floor, judged):
    return f"(<= {floor}{': ' + run.verdict(value, floor, judged) if judged else ''})"


def measure_build(lull, trace, env, runs, judged):
    """CPU time of the store as a share of that of stats, by pairs; its size; its memory."""
    os.environ["XDG_CACHE_HOME"] = env["XDG_CACHE_HOME"]
    figures = {"stats": [], "index": []}
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        for number in range(runs + 1):
            run.run_once([lull, "index", "--rm", trace], output)
            for verb in figures:
                figure = run.run_once([lull, verb, trace], output)
                if number or runs == 1:
                    figures[verb].append(figure)
    ratio = statistics.median(index[1] / stats[1] for index, stats in zip(figures["index"], figures["stats"]))
    memory = max(figure[2] for figure in figures["index"])
    size = run.size_of(env["XDG_CACHE_HOME"]) / run.size_of(trace)
    print(f"index takes {ratio:.2f} of the CPU time of stats {verdict(ratio, BUILD_FLOOR, judged)}, "
          f"{statistics.median(f[1] for f in figures['index']):.2f} s; {size:.1%} of the trace's size {verdict(size, SIZE_FLOOR, judged)}; "
          f"{memory / 2**20:.0f} MiB {verdict(memory / 2**20, MEMORY_FLOOR / 2**20, judged)}")
    return {"ratio_to_stats": ratio, "share_of_trace": size, "peak_bytes": memory}


def cpu_of(pid):
    """CPU time of a process, in seconds, to the ns."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="utf-8") as file:
            total += int(file.read().split()[0])
    return total / 1e9


class Questions:
    """Asks a server, and takes the time: its CPU time and that of the clock, as a client sees it."""

    def __init__(self, server):
        self.pid, self.root = server.process.pid, server.base[:-len("tsp/api")]
        self.connection = HTTPConnection("127.0.0.1", server.port)

    def once(self, path, parameters):
        cpu, start = cpu_of(self.pid), time.perf_counter()
        self.connection.request("POST", self.root + path, json.dumps({"parameters": parameters}), {"Content-Type": "application/json"})
        data = self.connection.getresponse().read()
        seen = time.perf_counter() - start
        return cpu_of(self.pid) - cpu, seen, data

    def ask(self, path, parameters):
        """The least of some: with all in memory, on a machine that does other things too."""
        return tuple(map(min, zip(*(self.once(path, parameters)[:2] for _ in range(HOT)))))


def p99(zooms, at):
    """At the slowest zoom, in ms."""
    return max(sorted(times[at] for times in found)[int(len(found) * 0.99)] for found in zooms.values()) * 1000


def measure_answers(lull, trace, env, judged):
    """p99 of what 50 rows cost the server, over random places at every zoom."""
    server = Server(lull, env, trace)
    questions = Questions(server)
    about = json.loads(questions.once("api/trace", {})[2])
    origin, length = int(about["start"]), about["length"]
    rows = sorted((r for r, row in enumerate(about["rows"]) if about["kinds"][row[0]] == "task"), key=lambda r: -about["rows"][r][6])[:ROWS]
    output = f"tsp/api/experiments/{server.ask('GET', 'experiments')[1][0]['UUID']}/outputs/timeGraph/{P}ThreadStatusDataProvider"
    tids = {about["rows"][r][5] for r in rows}
    tree = json.loads(questions.once(output + "/tree", {})[2])["model"]["entries"]
    items = [e["id"] for e in tree if e.get("metadata", {}).get("TID", [None])[0] in tids][:ROWS]
    dice, times = random.Random(1), {name: {zoom: [] for zoom in ZOOMS} for name in ANSWER_FLOORS}
    for zoom in ZOOMS * 6:
        width = max(length // zoom, COLUMNS)
        start = dice.randrange(length - width + 1)
        wanted = {"start": origin + start, "end": origin + start + width, "nbTimes": COLUMNS}
        times["columns"][zoom].append(questions.ask("api/columns", {"rows": rows, "columns": COLUMNS, "start": start, "end": start + width}))
        times["states"][zoom].append(questions.ask(output + "/states", {"requested_timerange": wanted, "requested_items": items}))
        times["arrows"][zoom].append(questions.ask(output + "/arrows", {"requested_timerange": wanted}))
    memory = memory_of(server.process.pid)
    server.end()
    result = {}
    for name, zooms in times.items():
        result[name] = {"cpu": p99(zooms, 0), "seen": p99(zooms, 1)}
        print(f"{name:8} of {ROWS} rows, {COLUMNS} columns: p99 at the slowest zoom {result[name]['cpu']:.1f} ms of the server "
              f"{verdict(result[name]['cpu'], ANSWER_FLOORS[name], judged)}, {result[name]['seen']:.1f} ms as a client sees it")
    print(f"serving needs {memory[0]:.0f} MiB {verdict(memory[0], MEMORY_FLOOR / 2**20, judged)}, {memory[1]:.0f} MiB with what it has mapped of the store")
    return {"p99_ms": result, "serving_MiB": memory}


def measure_both(lull, trace, env, judged):
    """What a server needs at most while it makes the store and is asked, as the page asks."""
    subprocess.run([lull, "index", "--rm", trace], env=env, check=True, stdout=subprocess.DEVNULL)
    server = Server(lull, env, trace, waits=False)
    questions, about = Questions(server), {}
    while not about.get("isWhole"):
        data = questions.once("api/trace", {})[2]
        about = json.loads(data) if data.startswith(b'{"name"') else {}
        rows = [r for r, row in enumerate(about.get("rows", ())) if about["kinds"][row[0]] == "task"][:ROWS]
        if rows:
            questions.once("api/columns", {"rows": rows, "columns": COLUMNS, "start": 0, "end": about["length"]})
        time.sleep(0.5)
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        peak = next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))
    server.end()
    print(f"indexing and serving at the same time need {peak:.0f} MiB at most {verdict(peak, MEMORY_FLOOR / 2**20, judged)}")
    return peak


def memory_of(pid):
    """What is its own, and all with the pages of files that it maps, which the system may take back: MiB."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        sizes = {key: int(value.split()[0]) / 1024 for key, _, value in (line.partition(":") for line in file) if key in ("VmRSS", "RssAnon")}
    return sizes["RssAnon"], sizes["VmRSS"]


def measure_bundle(lull, judged):
    """What a browser loads, as it is and as it comes."""
    data = b""
    for path in (os.path.join(os.path.dirname(lull), "web", "view.js"), *(os.path.join(run.SOURCE, "web", name) for name in ("index.html", "view.css"))):
        with open(path, "rb") as file:
            data += file.read()
    size, packed = len(data) / 1000, len(gzip.compress(data)) / 1000
    print(f"the page has {size:.0f} kB {verdict(size, BUNDLE_FLOOR, judged)}, {packed:.0f} kB with gzip {verdict(packed, PACKED_FLOOR, judged)}")
    return {"kB": size, "packed_kB": packed}


def script_ms(window):
    """CPU time of the page's scripts so far."""
    return next(one["value"] for one in window.call("Performance.getMetrics")["metrics"] if one["name"] == "ScriptDuration") * 1000


def measure_frames(window):
    """CPU time of all that scripts do for a frame, from the key to the last pixel, with three views."""
    window.call("Performance.enable", timeDomain="threadTicks")
    window.run(COUNT_FRAMES)
    before = script_ms(window)
    for number in range(FRAMES):
        window.key(KEYS[number % len(KEYS)])
        window.run("new Promise(done => setTimeout(done, 60))")
    return (script_ms(window) - before) / max(FRAMES, window.run("frames.size"))


def measure_picture(lull, trace, env, name, judged):
    """From the start of lull view to 20 rows that are painted, in a Chromium that runs already; then CPU time of frames."""
    window = browser.Browser()
    try:
        window.open("about:blank")
        window.size(1280, 800)
        start = time.monotonic()
        server = Server(lull, env, "--no-browser", trace, verb="view", waits=False)
        window.call("Page.navigate", url=server.said["view"] + "#v=tasks")
        window.wait(PAINTED % 20)
        found = time.monotonic() - start
        print(f"first picture {name}: {found:.2f} s {verdict(found, PICTURE_FLOORS[name], judged)}")
        window.wait("document.querySelector('progress').hidden")
        window.run("location.hash = location.hash.replace(/v=[a-z,]*/, 'v=tasks,cpus,usage')")
        window.wait("document.querySelectorAll('[data-panel]').length >= 3")
        frame = measure_frames(window)
        print(f"a frame takes {frame:.1f} ms of CPU {verdict(frame, FRAME_FLOOR, judged)}")
        window.call("Page.navigate", url="about:blank")
        server.end()
    finally:
        window.end()
    return {"first_picture_s": found, "frame_ms": frame}


def repeated(lull, trace, times, directory):
    """The trace that often, one after the other."""
    about = json.loads(subprocess.run([lull, "info", "--json", trace], capture_output=True, check=True).stdout)
    length = max(host["end_ns"] for host in about["hosts"]) - min(host["begin_ns"] for host in about["hosts"])
    target = os.path.join(directory, "repeated")
    repeat(trace, target, times, length)
    return target


def main():
    parser = argparse.ArgumentParser(description="What the time view costs.")
    parser.add_argument("--lull", default="build/lull")
    parser.add_argument("--trace")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=1, help="how often the trace comes, one after the other")
    parser.add_argument("--json", help="where to write the figures")
    args = parser.parse_args()
    trace, lull = run.find_trace(args), os.path.abspath(args.lull)
    judged = run.size_of(trace) >= run.BIG_ENOUGH
    with tempfile.TemporaryDirectory(prefix="lull-bench-", dir=os.path.dirname(lull)) as cache:
        if args.repeat > 1:
            trace = repeated(lull, trace, args.repeat, cache)
        print(f"bench: {trace}, {run.size_of(trace) / 2**20:.1f} MiB, {os.cpu_count()} CPUs; {run.version_of(lull)}")
        env = environment(os.path.join(cache, "home"))
        os.mkdir(env["XDG_CACHE_HOME"])
        report = {"version": 1, "trace": os.path.abspath(trace), **measure_build(lull, trace, env, args.runs, judged),
                  **measure_answers(lull, trace, env, judged), "both_MiB": measure_both(lull, trace, env, judged)}
        if os.path.exists(os.path.join(os.path.dirname(lull), "web", "view.js")):
            report["page"] = measure_bundle(lull, judged)
        if browser.find():
            report["with"] = measure_picture(lull, trace, env, "with a store", judged)
            subprocess.run([lull, "index", "--rm", trace], env=env, check=True)
            report["without"] = measure_picture(lull, trace, env, "without a store", judged)
    target = args.json or os.path.join(os.path.dirname(lull), "bench-view.json")
    with open(target, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=2)
        file.write("\n")
    print(f"bench: wrote {target}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull stats: the same numbers as the verbs that it is made of, sums over time that must hold, and the page of --html: well
# formed, nothing loaded, the numbers of --json, names of any kind harmless, whole or not there; in Chromium, if it is
# installed, that its tables sort.
import base64
import glob
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import jsonl_to_ctf  # noqa: E402
from page import Page  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
script = os.path.join(os.environ["LULL_SOURCE"], "src", "view", "result", "report.js")
django = os.path.join(samples, "django")
one_host = os.path.join(samples, "django", "db")
MINUTE = 60 * 10**9


def run(*arguments, **more):
    return subprocess.run([lull, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=250,
                          stdin=subprocess.DEVNULL, check=False, **more)


def answer(verb, *arguments):
    done = run(verb, "--json", *arguments)
    tap.ok(done.returncode == 0, f"{verb} {' '.join(arguments[:-1])}: is answered", done.stderr)
    return json.loads(done.stdout)


def make_page(folder, *arguments):
    path = os.path.join(folder, "report.html")
    done = run("stats", "--html", path, *arguments)
    tap.ok((done.returncode, done.stdout) == (0, ""), "--html prints nothing", done.returncode, done.stdout, done.stderr)
    tap.ok(os.listdir(folder).count("report.html.part") == 0, "--html leaves no draft")
    with open(path, encoding="utf-8") as file:
        return path, file.read()


# ---- the numbers ----

def parts_are_the_verbs():
    """The tables of a part are those of its verb; those that only long reports have are apart."""
    whole = {window["analysis"]: window["tables"] for window in answer("stats", one_host)["windows"]}
    for analysis, verb, options in (
            ("cputop", "cputop", []), ("freq", "freq", []), ("nettop", "nettop", []), ("memtop", "memtop", []),
            ("futex", "futex", []), ("irq", "irqstats", ["--freq", "--freq-log"]),
            ("io", "iousagetop", ["--stats", "--top", "--freq", "--freq-log"])):
        if analysis in whole:
            tap.ok(answer(verb, *options, one_host)["windows"][0]["tables"] == whole[analysis],
                   f"stats: {analysis} has the numbers of lull {verb}")
    tap.ok(len(whole) >= 6, "the sample answers most parts", *whole)
    sched = answer("schedstats", "--total", "--top", one_host)["windows"][0]["tables"]
    for table in ("total_stats", "top"):
        tap.ok(sched[table] == whole["sched"][table], f"stats: sched {table} has the numbers of schedstats and schedtop")
    waits = answer("schedstats", one_host)["windows"][0]["tables"]
    name = next(iter(waits))
    rows = sorted(waits[name], key=lambda row: -row["avg_ns"] * row["count"])[:10]
    tap.ok([row["wakee"] for row in rows] == [row["wakee"] for row in whole["sched"][name]],
           "stats: the tasks that waited longest in all", rows, whole["sched"][name])


def calls_are_summed():
    """System calls over all tasks are the sums of those by task."""
    whole = {w["analysis"]: w["tables"] for w in answer("stats", "--limit", "0", one_host)["windows"]}
    counts, times, errors = {}, {}, {}
    for row in answer("syscallstats", one_host)["windows"][0]["tables"]["per-tid"]:
        name = row["syscall"]
        counts[name] = counts.get(name, 0) + row["count"]
        times[name] = times.get(name, 0) + row["total_ns"]
        errors[name] = errors.get(name, 0) + row["errors"]
    rows = whole["syscallstats"]["per-call"]
    for key, sums in (("count", counts), ("total_ns", times), ("errors", errors)):
        tap.ok({row["syscall"]: row[key] for row in rows} == sums, f"stats: {key} of calls are sums over tasks")
    tap.ok([row["total_ns"] for row in rows] == sorted((row["total_ns"] for row in rows), reverse=True),
           "stats: calls by time")
    tap.ok(sum(row["count"] for row in whole["syscallstats"]["freq"]) == sum(counts.values()),
           "stats: the histogram of calls sums to their count")


def lengths(window, rows):
    ends = [row["begin_ns"] for row in rows[1:]] + [window["end_ns"]]
    return [(end - row["begin_ns"]) / 1e9 for row, end in zip(rows, ends)]


def time_sums_up(*options):
    """What the bins over time hold is what the other parts count."""
    windows = {window["analysis"]: window for window in answer("stats", "--limit", "0", *options, one_host)["windows"]}
    line, tables = windows["timeline"], windows["timeline"]["tables"]
    rows = tables["cpu-over-time"]
    tap.ok(len(rows) > 100 and rows[0]["begin_ns"] == line["begin_ns"], f"{options}: many bins from the begin", len(rows))
    parts = lengths(line, rows)
    tap.ok(max(parts[:-1]) - min(parts[:-1]) < 1e-9 and parts[0] / 2 - 1e-9 <= parts[-1] <= parts[0] * 1.5 + 1e-9,
           f"{options}: of one width but for the last")
    for cpu in windows["cputop"]["tables"]["per-cpu"]:
        if cpu["unknown_ns"] == 0:
            busy = sum(row[f"cpu{cpu['cpu']}"] * part for row, part in zip(rows, parts))
            tap.ok(abs(busy - cpu["busy_ns"] / 1e9) < 1e-6, f"{options}: CPU {cpu['cpu']} was as busy as cputop says", busy,
                   cpu)
    calls = sum(row["calls_per_s"] * part for row, part in zip(tables["calls-over-time"], parts))
    counted = sum(row["count"] for row in windows["syscallstats"]["tables"]["per-call"])
    unseen = sum(int(note.split()[0]) for note in windows["syscallstats"]["notes"] if "start was not seen" in note)
    tap.ok(abs(calls - counted - unseen) < 1e-3, f"{options}: calls over time are all calls", calls, counted, unseen)
    interfaces = windows["nettop"]["tables"]["per-interface"]
    for key, column in (("sent_bytes", "sent_bytes_per_s"), ("received_bytes", "received_bytes_per_s")):
        moved = sum(row[column] * part for row, part in zip(tables["network-over-time"], parts))
        tap.ok(abs(moved - sum(row[key] for row in interfaces)) < 1, f"{options}: {key} are those of the interfaces", moved,
               interfaces)


# ---- the page ----

def values_of_page(page):
    """Each row of each table, in order: its table, and a list of numbers, None for what is not known, "" for the rest."""
    for table in page.root.each("table"):
        for row in table.first("tbody").each("tr"):
            cells = [cell for cell in row.children if not isinstance(cell, str)]
            yield table.attributes["data-name"], [
                json.loads(cell.attributes["data-v"]) if "data-v" in cell.attributes
                else None if "data-none" in cell.attributes else "" for cell in cells]


def values_of_json(document):
    def plain(value):
        return value if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) else ""
    for window in document["windows"]:
        for name, rows in window["tables"].items():
            for row in rows:
                yield name, [plain(value) for key, value in row.items() if key != "of"]


def check_form(page, name):
    tap.ok(not page.wrong, f"{name}: the page is well formed", *page.wrong[:10])
    tap.ok(not page.loads(), f"{name}: nothing is loaded from elsewhere", *page.loads()[:10])
    wrong = []
    for table in page.root.each("table"):
        heads = list(table.first("thead").each("th"))
        rows = list(table.first("tbody").each("tr"))
        if not table.first("caption") and not any(a.name == "figure" for a in table.ancestors()):
            wrong.append("a table without caption")
        if not heads or any(head.attributes.get("scope") != "col" for head in heads):
            wrong.append("headings without scope")
        if not rows or any(len([c for c in row.children if not isinstance(c, str)]) != len(heads) for row in rows):
            wrong.append("rows of another width")
    tap.ok(not wrong, f"{name}: tables have captions, scopes and full rows", *wrong)
    targets = {element.attributes.get("id") for element in page.root.everything()}
    links = [link.attributes["href"][1:] for link in page.root.each("a")]
    tap.ok(links and not set(links) - targets, f"{name}: the chapters are there", links)
    tap.ok(all(svg.attributes.get("role") == "img" and (svg.attributes.get("aria-label") or svg.attributes.get("aria-labelledby")) for svg in page.root.each("svg")),
           f"{name}: charts have names")
    check_script(page, name)


def check_script(page, name):
    scripts = list(page.root.each("script"))
    with open(script, encoding="utf-8") as file:
        own = file.read()
    tap.ok([one.text for one in scripts] == [own], f"{name}: one script, which is Lull's", len(scripts))
    policy = next(meta.attributes["content"] for meta in page.root.each("meta") if "http-equiv" in meta.attributes)
    digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    tap.ok("default-src 'none'" in policy and f"'sha256-{digest}'" in policy, f"{name}: no other script may run", policy)


def page_is_the_report(name, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        _, text = make_page(folder, *arguments)
        page = Page(text)
        check_form(page, name)
        document = answer("stats", *arguments)
        there, told = list(values_of_page(page)), list(values_of_json(document))
        tap.ok(len(told) > 100 and there == told, f"{name}: the page has the {len(told)} rows of --json",
               *[pair for pair in zip(there, told) if pair[0] != pair[1]][:5], len(there))
        for gap in document["unanswered"]:
            tap.ok(gap["missing"] in page.root.text, f"{name}: the page says what {gap['analysis']} lacks")
        tap.ok(make_page(folder, *arguments)[1] == text, f"{name}: the same bytes again")


def top_of_the_page(traces):
    """The slowest exchange of that trace is one of the client's with the web server, which asks the database meanwhile; the rest is
    what lull why says. Values of all hosts over time are in one figure."""
    with tempfile.TemporaryDirectory() as folder:
        page = Page(make_page(folder, *traces)[1])
        sections = {one.attributes.get("id"): one for one in page.root.each("section")}
        drawn = sections["longest"].first("svg").text
        tap.ok(re.search(r"What was python3/\d+ on client waiting for\?", drawn) and all(name in drawn for name in ("apache2/", "postgres/")),
               "the path of what took longest", drawn[:200])
        said = [" ".join(line.split()) for line in run("why", *traces, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout.splitlines() if line.strip()]
        there = [" ".join(one.text.split()) for one in sections["why"].each("p")]
        tap.ok(len(said) > 20 and there == said, "what lull why says", *[pair for pair in zip(there, said) if pair[0] != pair[1]][:3])
        ids = [one.attributes["id"] for one in page.root.everything() if "id" in one.attributes]
        tap.ok(len(ids) == len(set(ids)) and len(list(page.root.each("h1"))) == 1, "one title, and no id twice")
        figures = {figure.first("figcaption").text.split(" over time")[0]: figure for figure in page.root.each("figure")
                   if " over time" in figure.first("figcaption").text}
        calls, cpus = figures["System calls"], figures["CPU usage"]
        lines = [one.attributes["class"] for one in calls.each("path") if re.fullmatch("l[0-9]", one.attributes.get("class", ""))]
        tap.ok(lines == ["l0", "l1", "l2"] and len(list(calls.each("details"))) == 3 and
               all(f"{host} System calls per second" in calls.text for host in ("client", "db", "httpd")),
               "three hosts are three lines of one chart", lines)
        strips = [one.text for one in cpus.first("svg").parent.each("span") if "CPU" in one.text]
        tap.ok(strips == ["client CPU 0", "httpd CPU 0", "db CPU 0"], "and strips of one", strips)


# ---- any name ----

EVIL = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"'><b>&lt;&amp;", "]]><!--", "a\u202eb\u2028c",
        "BADBYTES"]


def evil_trace(path):
    """A task of each name runs a millisecond and opens a file of that name."""
    events, time_ns = [], MINUTE
    for number, name in enumerate([*EVIL, "end"]):
        events.append({"t": time_ns, "n": "sched_switch", "pc": {"cpu_id": 0}, "p": {
            "prev_comm": EVIL[number - 1] if number else "first", "prev_tid": 99 + number, "prev_prio": 20, "prev_state": 1,
            "next_comm": name, "next_tid": 100 + number, "next_prio": 20}})
        events.append({"t": time_ns + 1000, "n": "syscall_entry_openat", "p": {"dfd": -100, "filename": name, "flags": 0}})
        events.append({"t": time_ns + 2000, "n": "syscall_exit_openat", "p": {"ret": 5}})
        events.append({"t": time_ns + 3000, "n": "syscall_entry_read", "p": {"fd": 5, "count": 10}})
        events.append({"t": time_ns + 9000, "n": "syscall_exit_read", "p": {"ret": 7}})
        time_ns += 10**6
    jsonl_to_ctf.write_trace(events, path, {"hostname": EVIL[0]})
    for stream in glob.glob(os.path.join(path, "channel_*")):
        with open(stream, "rb") as file:
            data = file.read()
        with open(stream, "wb") as file:
            file.write(data.replace(b"BADBYTES", b"\xff\xfe\xc0\x80\xed\xa0\x80\x01"))


def any_name_is_harmless(folder):
    trace = os.path.join(folder, "trace <i>&amp;")
    evil_trace(trace)
    _, text = make_page(folder, trace)
    page = Page(text)
    check_form(page, "hostile names")
    cells = {cell.text for table in page.root.each("table") if table.attributes["data-name"] == "per-process"
             for row in table.first("tbody").each("tr") for cell in row.each("th")}
    shown = [*EVIL[:4], "a\ufffdb\ufffdc"]
    for number, name in enumerate(shown):
        tap.ok(f"{name}/{100 + number}" in cells, f"hostile names: {name!r} is shown as it is", *cells)
    bad = next((cell for cell in cells if cell.endswith("/105")), "")
    tap.ok(bad.startswith("\ufffd") and "\x01" not in text, "hostile names: bytes that are no text are replaced", bad)
    tap.ok(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text), "hostile names: no control characters")
    tap.ok(EVIL[0] in page.root.first("title").text, "hostile names: the host is named")
    done = run("stats", "--json", trace)
    missing = {gap["analysis"]: gap["missing"] for gap in json.loads(done.stdout)["unanswered"]}
    tap.ok(missing.get("memtop") == "kmem_mm_page_alloc, kmem_mm_page_free", "what was not recorded is named", missing)
    tap.ok(missing.get("io") == "syscall_entry_write", "of several needs, the one that is not met", missing)
    tap.ok(set(missing) == {"freq", "io", "nettop", "irq", "memtop"}, "and nothing else", *missing)
    tap.ok("kmem_mm_page_alloc, kmem_mm_page_free" in run("stats", trace).stdout, "and in the text")


# ---- whole or not at all ----

def limited():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))


def whole_or_not(folder):
    path = os.path.join(folder, "kept.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write("kept")
    done = run("stats", "--html", path, one_host, preexec_fn=limited)
    with open(path, encoding="utf-8") as file:
        tap.ok(file.read() == "kept" and done.returncode == 1 and "cannot write" in done.stderr,
               "a page that does not fit leaves the old one", done.stderr)
    tap.ok(not os.path.exists(path + ".part"), "and no draft")
    done = run("stats", "--html", os.path.join(folder, "no", "where.html"), one_host)
    tap.ok(done.returncode == 1 and "No such file" in done.stderr, "a place that is not there is an error", done.stderr)
    done = run("stats", "--html", path, "--json", one_host)
    tap.ok(done.returncode == 2, "--html and --json exclude each other", done.stderr)
    done = run("stats", "--html", path, "--end", "1", one_host)
    with open(path, encoding="utf-8") as file:
        tap.ok(done.returncode == 1 and file.read() == "kept", "a time of no events is an error", done.stderr)


# ---- Chromium ----

DRIVER = """<script>
var table = document.querySelector("table[data-name='per-process']"), out = [];
function row() { return Array.prototype.map.call(table.tBodies[0].rows, function (r) {
  return r.lastElementChild.getAttribute("data-v"); }); }
out.push(row());
table.tHead.querySelectorAll("button")[table.tHead.rows[0].cells.length - 1].click(); out.push(row());
table.tHead.querySelectorAll("button")[table.tHead.rows[0].cells.length - 1].click(); out.push(row());
document.body.setAttribute("data-test", JSON.stringify(out));
</script></body>"""


def browse(chromium, folder, path):
    return subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                           "--disable-background-networking", "--disable-component-update", "--disable-sync",
                           "--enable-logging=stderr", f"--user-data-dir={os.path.join(folder, 'profile')}", "--dump-dom",
                           "file://" + path], capture_output=True, text=True, timeout=200, check=False)


def tables_sort(folder):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        return tap.skip("tables sort in a browser", "no chromium")
    path, text = make_page(folder, one_host)
    done = browse(chromium, folder, path)
    if done.returncode != 0 or "<html" not in done.stdout:
        return tap.skip("tables sort in a browser", "chromium does not start here")
    tap.ok("CONSOLE" not in done.stderr, "the browser has nothing to say of the page",
           *[line for line in done.stderr.splitlines() if "CONSOLE" in line])
    tap.ok("<button" in done.stdout and 'aria-sort="none"' in done.stdout, "the script runs under the page's policy")
    driven = os.path.join(folder, "driven.html")
    with open(driven, "w", encoding="utf-8") as file:
        file.write(re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</body>", DRIVER))
    found = re.search(r'data-test="([^"]*)"', browse(chromium, folder, driven).stdout)
    before, first, second = json.loads(found[1].replace("&quot;", '"'))
    numbers = sorted(map(float, before))
    tap.ok(list(map(float, first)) == numbers[::-1], "a click sorts the largest to the top", before, first)
    tap.ok(list(map(float, second)) == numbers, "another click turns the order", second)
    return None


tap.run("parts", parts_are_the_verbs)
tap.run("calls", calls_are_summed)
tap.run("time", time_sums_up)
tap.run("time, a part", time_sums_up, "--begin", "1795222897000000000", "--end", "1795222901000000000")
tap.run("one host", page_is_the_report, "one host", one_host)
tap.run("three hosts", page_is_the_report, "three hosts", "--limit", "3", django)
tap.run("top", top_of_the_page, [os.path.join(django, host) for host in ("client", "httpd", "db")])
for test in (any_name_is_harmless, whole_or_not, tables_sort):
    with tempfile.TemporaryDirectory() as scratch:
        tap.run(test.__name__, test, scratch)
sys.exit(tap.done())

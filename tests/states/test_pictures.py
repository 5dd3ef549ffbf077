#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull states: how many rows are in a state, and the pictures of rows over time, against arithmetic and against the
# interpreter of the language in reference.py.
import json
import os
import re
import sys
import xml.etree.ElementTree as ET

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.environ["LULL_SOURCE"], "tests", "lib")]
import painted  # noqa: E402
import reference  # noqa: E402
from scene import MS, at, run, scratch, tables, trace, write  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
SVG = "{http://www.w3.org/2000/svg}"


# ---- counts ----

def counted(pieces, state, start, end):
    """(fewest, sum over time, most) of the intervals of a state, by looking at each moment where something changes."""
    within = [(begin, stop) for name, begin, stop in pieces if name == state]
    edges = sorted({start, end, *(time for both in within for time in both)})
    seen = [(sum(begin <= left < stop for begin, stop in within), right - left) for left, right in zip(edges, edges[1:])]
    values = [value for value, _ in seen]
    return min(values), sum(value * length for value, length in seen), max(values)


def check_counts():
    wrong, lines = [], 0
    for number in range(4):
        chance = reference.Chance(2000 + number)
        events = chance.events(80)
        groups = [group for i in range(8) for group in chance.groups(f"file{i}")]
        text = "".join(reference.text_of_group(group).replace("\n}", f"\n    count u\n    count v \"those in v\" #123456\n}}")
                       for group in groups) + reference.text_of_more(groups)
        interpreter = reference.Interpreter(groups, events[-1]["t"])
        interpreter.run(events)
        pieces = {}
        for (name, _), log in interpreter.answer().items():
            pieces.setdefault(name, []).extend(log)
        start, end = events[0]["t"], events[-1]["t"]
        expected = {(name, label): counted(log, state, start, end) for name, log in pieces.items()
                    for state, label in (("u", "u"), ("v", "those in v"))}
        found = {(line["of"], line["count"]): (line["min"], round(line["avg"] * (end - start)), line["max"])
                 for line in tables(write("counts.states", text), trace(f"counts{number}", events)).get("counts", [])}
        # Rows that were never in any state are counted as well: there are none of them.
        found = {key: value for key, value in found.items() if key in expected or value != (0, 0, 0)}
        lines += len(expected)
        if found != expected:
            wrong.append((number, {key: (found.get(key), value) for key, value in expected.items() if found.get(key) != value}))
    tap.ok(not wrong and lines > 50, "counts are those of the reference's intervals", lines, *wrong[:1])


def check_count_mistakes():
    for text, place, reason in (("count", "5:1", "expected the name of a state"), ("    count t", "4:11", "no state “t”"),
                                ("    keep count", "4:10", "a word of the language")):
        done = run("--states", write("count.states", f"group g {{\n    row p = a\n    states s\n{text}\n}}\n"), scratch.name)
        tap.ok(done.returncode == 2 and f":{place}: " in done.stderr and reason in done.stderr, f"{reason}: shown", done.stderr)
    where = trace("unused", [at(1, "x", a=1)])
    done = run("--states", write("unused.states", "group g {\n row p = a\n states s\n count s\n on name == \"x\" : none\n}\n"), where)
    tap.ok("no rule uses this state" in done.stderr, "counting a state does not use it", done.stderr)


# ---- pictures ----

HOSTILE = "<script>&\"]]>"
FILE = """group g "Rows <&>" {
    row p    title "row {p}"
    states one #112233, two
    number level "how much" m #445566
    on name == "one" : one, level = fields.level
    on name == "two" : two
    on name == "rest" : none
    count one "how many"
}
"""


def drawing(path, where, *arguments):
    done = run("--states", path, "--svg", "-", *arguments, where)
    if done.returncode:
        raise ValueError(done.stderr)
    return ET.fromstring(done.stdout.encode()), done.stdout


def texts(svg):
    return [element.text for element in svg.iter(SVG + "text")]


def boxes(svg):
    """{y: [(x, width, colour, tip), …]} of what has a tip: states of a row."""
    found = {}
    for rect in svg.iter(SVG + "rect"):
        title = rect.find(SVG + "title")
        if title is not None:
            found.setdefault(float(rect.get("y")), []).append(
                (float(rect.get("x")), float(rect.get("width")), rect.get("fill"), title.text))
    return found


def check_picture():
    # Row 1 is in one for 10 ms, in two for 30 ms, in none for 20 ms, and in one to the end.
    events = [at(0, "one", p=1, level=5), at(10 * MS, "two", p=1), at(40 * MS, "rest", p=1), at(50 * MS, "one", p=HOSTILE, level=-3),
              at(60 * MS, "one", p=1, level=7), at(100 * MS, "other", p=0)]
    svg, text = drawing(write("picture.states", FILE), trace("picture", events))
    rows = boxes(svg)
    first, second = (rows[y] for y in sorted(rows))
    plot = first[0][0], (first[-1][0] + first[-1][1] - first[0][0]) / 100  # where it starts, and pixels of 1 ms
    found = [(round((x - plot[0]) / plot[1], 1), round(width / plot[1], 1), colour) for x, width, colour, _ in first]
    tap.ok(found == [(0, 10, "#112233"), (10, 30, "#e69f00"), (60, 40, "#112233")], "boxes are as long as the states, in their colours",
           found)
    found = [(round((x - plot[0]) / plot[1], 1), round(width / plot[1], 1), colour) for x, width, colour, _ in second]
    tap.ok(found == [(0, 50, None), (50, 50, "#112233")], "what is not known is no state", found)
    tap.ok(f"row {HOSTILE}" in texts(svg) and "Rows <&>" in texts(svg) and "<script" not in text, "what comes from a trace is text",
           texts(svg))
    tap.ok("one: 10.00 ms" in first[0][3] and first[0][3].startswith("row 1"), "a box says what it is", first[0])
    tap.ok(not painted.faults(text), "it is read in light and in the dark", painted.faults(text))
    tap.ok("how much: -3 to 7 m" in texts(svg), "the key has the range of a number", texts(svg))
    lines = [path for path in svg.iter(SVG + "path") if path.get("style") == "stroke:#445566"]
    steps = [[float(number) for number in re.findall(r"[MVH ]([-\d.]+)", path.get("d"))] for path in lines]
    # Of the first row: at 5 from the start, at 7 from 60 ms on; 7 is the top, -3 the bottom of the line.
    y = steps[0][1], steps[0][4]
    tap.ok(len(lines) == 2 and abs(steps[0][3] - plot[0] - 60 * plot[1]) < 0.2 and y[0] > y[1], "a number is a line", steps)
    height = (y[0] - y[1]) / 2
    below = max(rows) - min(rows)
    tap.ok(abs(steps[1][1] - (y[1] + 10 * height + below)) < 0.3, "that has one scale for all rows", steps, y)
    area = next(path for path in svg.iter(SVG + "path") if path.get("class") == "c").get("d")
    values = re.findall(r"V([\d.]+)H([\d.]+)", area)
    levels = sorted({float(value) for value, _ in values}, reverse=True)
    counts = [(levels.index(float(value)), round((float(x) - plot[0]) / plot[1])) for value, x in values]
    tap.ok(counts == [(1, 10), (0, 50), (1, 60), (2, 100)], "a count is an area", counts)


def check_small():
    # 20 000 intervals in 10 ms, three quarters of the time in two: many are merged into a pixel, in the colour of what took most of it.
    events = [event for i in range(10000) for event in (at(i * 1000, "one", p=1, level=i % 3), at(i * 1000 + 250, "two", p=1))]
    svg, text = drawing(write("picture.states", FILE), trace("small", events))
    (row,) = boxes(svg).values()
    colours = {colour for *_, colour, _ in row[:-1]}
    tap.ok(200 < len(row) < 2500 and len(text) < 1_000_000 and colours == {"#e69f00"}, "what is narrower than a pixel is merged",
           len(row), len(text), colours)
    shares = [float(re.search(r"two: ([\d.]+) us", tip).group(1)) / (float(re.search(r"one: ([\d.]+) us", tip).group(1)))
              for *_, tip in row[5:-5]]
    tap.ok(all(2 < share < 4.2 for share in shares), "and its tip has the time of each", shares[:5])


def check_many():
    events = [at(i, "one", p=i, level=1) for i in range(130)]
    where, path = trace("many", events), write("picture.states", FILE)
    svg, _ = drawing(path, where)
    tap.ok(len(boxes(svg)) == 100 and "30 more rows" in texts(svg), "rows that are too many for a picture are told", texts(svg)[-5:])
    svg, _ = drawing(path, where, "--limit", "7")
    tap.ok(len(boxes(svg)) == 7 and "123 more rows" in texts(svg), "--limit says how many", len(boxes(svg)))
    svg, _ = drawing(path, where, "--row", "row 12")
    tap.ok(len(boxes(svg)) == 1 and "row 12" in texts(svg), "--row chooses them", texts(svg))
    svg, _ = drawing(path, trace("nobody", [at(1, "x", p=1), at(2, "x", p=1)]))
    tap.ok("No row was seen" in texts(svg), "without a row, the picture says so", texts(svg))


def check_files():
    events = [at(0, "one", p=HOSTILE, level=5), at(10 * MS, "two", p=HOSTILE), at(20 * MS, "two", p=0)]
    where, path = trace("files", events), write("picture.states", FILE)
    picture, page = (os.path.join(scratch.name, name) for name in ("out.svg", "out.html"))
    done = run("--states", path, "--svg", picture, where)
    with open(picture, encoding="utf-8") as file:
        kept = file.read()
    tap.ok(done.returncode == 0 and "States: Rows" in done.stdout and kept == drawing(path, where)[1], "--svg FILE beside the text", done)
    done = run("--states", path, "--json", "--svg", picture, where)
    tap.ok(done.returncode == 0 and "states" in json.loads(done.stdout)["windows"][0]["tables"], "and beside JSON", done)
    done = run("--states", path, "--html", page, where)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    tap.ok(done.returncode == 0 and not done.stdout and text.count("<svg") == 1 and "<table" in text and
           f"row {HOSTILE}" not in text and "row &lt;script&gt;&amp;" in text, "--html: a page with the picture and the tables", done)
    outside = [link for link in re.findall(r"(?:src|href)=\"([^\"]*)", text) if not link.startswith("#")]
    tap.ok(not outside, "it needs nothing but itself", outside)
    for arguments in (("--svg", "-", "--refresh", "1ms"), ("--html", "-", "--svg", "-"), ("--html", "-", "--json"), ("--svg", "-", "--csv")):
        done = run("--states", path, *arguments, where)
        tap.ok(done.returncode == 2 and not done.stdout, f"{' '.join(arguments)}: refused", done)
    done = run("--states", path, "--svg", os.path.join(scratch.name, "nowhere", "x.svg"), where)
    tap.ok(done.returncode == 1 and "nowhere" in done.stderr and not done.stdout, "a file that cannot be made", done)


tap.run("counts", check_counts)
tap.run("mistakes", check_count_mistakes)
tap.run("picture", check_picture)
tap.run("small", check_small)
tap.run("many", check_many)
tap.run("files", check_files)
sys.exit(tap.done())

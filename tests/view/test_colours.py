#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The names of tasks in pictures, and the colours of states: whoever looks can tell any two apart, and each from a white and from a
# dark background. How people without one kind of cones see is computed (Machado, Oliveira and Fernandes 2009, severity 1), the difference in CIELAB.
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.environ["LULL_SOURCE"], "tests", "lib")]
import painted  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
LEAST = 20  # about ten times what can just be noticed
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
BACKGROUNDS = ("#ffffff", "#0d1117")


def cielab(red, green, blue):
    def root(t):
        return t ** (1 / 3) if t > 216 / 24389 else t * 841 / 108 + 4 / 29
    x = root((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047)
    y = root(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    z = root((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour, matrix):
    light = [painted.linear(part) for part in painted.parse(colour)]
    return cielab(*(min(1, max(0, sum(a * b for a, b in zip(row, light)))) for row in matrix))


def names_then(chain):
    """A row has the names of its task in their order, as its events recorded them."""
    def lull(*arguments):
        return subprocess.run([os.environ["LULL"], *arguments, chain], capture_output=True, text=True, encoding="utf-8", check=True).stdout
    query = json.loads(lull("critpath", "--comm", "t-asker", "--json"))["query"]
    tid = query["tid"]
    seen_by = [json.loads(line)["context"]["procname"] for line in lull("print", "--json", "--filter", f"context.tid == {tid}").splitlines()]
    names = [name for name, _ in itertools.groupby(seen_by)]
    label = " → ".join(names) + f"/{tid}"
    tap.ok(len(names) > 1 and f">{label}</text>" in lull("critpath", "--tid", str(tid), "--svg", "-"), "the names a task had then", label)


def paths():
    """Pictures of what programs waited for that did known things."""
    for name, comm in (("chain", "t-asker"), ("preempt", "t-victim"), ("locks", "t-waiter"), ("tcp", "t-caller"), ("disk-direct", "t-asks")):
        where = os.path.join(os.environ["LULL_SAMPLES"], "truth", f"truth-{name}")
        yield name, subprocess.run([os.environ["LULL"], "critpath", "--comm", comm, "--svg", "-", where], capture_output=True, text=True,
                                   encoding="utf-8", check=True).stdout


def main():
    names_then(os.path.join(os.environ["LULL_SAMPLES"], "truth", "truth-chain"))
    django = os.path.join(os.environ["LULL_SAMPLES"], "django")
    svg = subprocess.run([os.environ["LULL"], "critpath", "--request", "1", "--svg", "-", django], capture_output=True, text=True,
                         encoding="utf-8", check=True).stdout
    fills = dict(re.findall(r"\.([a-z]{3})\{fill:(#[0-9a-f]{6})\}", svg))
    tap.ok(len(fills) == 12, "each state has a colour", fills)
    for vision, matrix in VISION.items():
        near = [(one, other) for one, other in itertools.combinations([*fills.values(), BACKGROUNDS[0]], 2)
                if math.dist(seen(one, matrix), seen(other, matrix)) < LEAST]
        near += [(fill, BACKGROUNDS[1]) for fill in fills.values()
                 if math.dist(seen(fill, matrix), seen(BACKGROUNDS[1], matrix)) < LEAST]
        tap.ok(not near, f"{vision}: any two can be told apart", near)
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        subprocess.run([os.environ["LULL"], "stats", "--html", page, django], check=True, stdout=subprocess.DEVNULL)
        with open(page, encoding="utf-8") as file:
            narrow = re.search(r'<svg[^>]*class="lull narrow".*?</svg>', file.read(), re.S).group()
    for name, picture in {"a path": svg, "a path on a telephone": narrow, **dict(paths())}.items():
        found = painted.faults(picture)
        tap.ok(not found, f"{name}: read in light and in the dark", found)
    tap.ok('role="img"' in svg and 'aria-labelledby="lull-title lull-desc"' in svg
           and '<title id="lull-title">' in svg and '<desc id="lull-desc">' in svg,
           "there are a title and a description for who hears it")
    return tap.done()


sys.exit(main())

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

from tap import Tap

tap = Tap()
LEAST = 20  # about ten times what can just be noticed
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
BACKGROUNDS = ("#ffffff", "#0d1117")


def linear(byte):
    value = byte / 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def cielab(red, green, blue):
    def root(t):
        return t ** (1 / 3) if t > 216 / 24389 else t * 841 / 108 + 4 / 29
    x = root((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047)
    y = root(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    z = root((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour, matrix):
    light = [linear(int(colour[at:at + 2], 16)) for at in (1, 3, 5)]
    return cielab(*(min(1, max(0, sum(a * b for a, b in zip(row, light)))) for row in matrix))


def luminance(colour):
    return sum(part * linear(int(colour[at:at + 2], 16)) for part, at in ((0.2126, 1), (0.7152, 3), (0.0722, 5)))


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


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
    inks = {"d": "#1f2328", "w": "#ffffff"}
    for state, ink in set(re.findall(r'class="([a-z]{3})"><title>[^<]*</title></rect>\n<text [^>]*class="t m ([dw])"', svg)):
        tap.ok(contrast(fills[state], inks[ink]) >= 3, f"the text on {state} can be read", contrast(fills[state], inks[ink]))
    tap.ok("prefers-color-scheme:dark" in svg and 'role="img"' in svg and 'aria-labelledby="lull-title lull-desc"' in svg
           and '<title id="lull-title">' in svg and '<desc id="lull-desc">' in svg,
           "there is a dark form, and a title and a description for who hears it")
    return tap.done()


sys.exit(main())

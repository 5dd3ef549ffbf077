#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/mutants.py on a few lines of C: which faults it finds in them, and that it finds none where there are none."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["LULL_SOURCE"], "tools"))

from mutants import find_mutants  # noqa: E402 (lies in tools)
from tap import Tap  # noqa: E402

# A line within a function (`bool f(int *a, int b)`), and what it becomes.
WITHIN = {
    "if (b < 3) {}": {"if (b <= 3) {}", "if (b >= 3) {}", "if (b < (3 + 1)) {}", "if (b < (3 - 1)) {}", "if (!(b < 3)) {}"},
    "while (*a && !b) ;": {"while (*a || !b) ;", "while (*a && b) ;", "while (!(*a && !b)) ;"},
    "b += g(b, *a);": {"b -= g(b, *a);", "b += g(*a, b);", "{}"},
    "int c = b * -b;": {"int c = b / -b;"},
    "return b == *a;": {"return b != *a;", "return !(b == *a);"},
    "return true;": {"return false;"},
    "b = MIN(b, c);": {"b = MAX(b, c);", "{}"},
    "char *text = &a[b];": set(),
    "int list[20];": set(),
    "struct thing t = {0};": set(),
    "g_assert(b < 3);": set(),
    "g_free(a);": set(),
    "h(\"a < 1\", '\"'); /* b < 2 */ // b < 3": {"h('\"', \"a < 1\"); /* b < 2 */ // b < 3", "{} /* b < 2 */ // b < 3"},
    "case 4: break;": {"case (4 + 1): break;", "case (4 - 1): break;", "case 4: {}"},
    "t = (struct thing){.a = 1, .b = b};": {"t = (struct thing){.a = (1 + 1), .b = b};",
                                            "t = (struct thing){.a = (1 - 1), .b = b};", "{}"},
    "for (i = b; i != c; i++) h();": {"for (i = b; i == c; i++) h();", "for (i = b; i != c; i--) h();",
                                      "for (i = b; i != c; i++) {}"},
}
# A whole file, and what it becomes.
WHOLE = {
    "#define MOST 20 /* entries */\n": {"#define MOST (20 + 1) /* entries */\n", "#define MOST (20 - 1) /* entries */\n"},
    "#define AT(i) \\\n    (base + 1)\n": set(),
    "struct thing { int a : 3; };\n": {"struct thing { int a : (3 + 1); };\n", "struct thing { int a : (3 - 1); };\n"},
    "int f(int a, int b);\n": set(),
    "int *f(void)\n{\n    return p;\n}\n": {"int *f(void)\n{\n    return NULL;\n}\n"},
    "int f(int a)\n{\n    return a;\n}\n": {"int f(int a)\n{\n    return (a) + 1;\n}\n"},
    "void f(void)\n{\n    g(\n    );\n}\n": {"void f(void)\n{\n    {}\n\n}\n"},
}


def results(text):
    return [text[:mutant.start] + mutant.text + text[mutant.end:] for place in find_mutants(text) for mutant in place]


def main():
    tap = Tap()
    around = "static bool f(int *a, int b)\n{{\n    {}\n}}\n"
    for line, expected in WITHIN.items():
        found = results(around.format(line))
        wanted = {around.format(text) for text in expected}
        tap.ok(set(found) == wanted and len(found) == len(wanted), line, sorted(wanted ^ set(found)))
    for text, expected in WHOLE.items():
        found = results(text)
        tap.ok(set(found) == expected and len(found) == len(expected), repr(text), sorted(expected ^ set(found)))
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Where frames and registers are, at every address where a library's call frame information changes, is what readelf says: of the C
# library, its dynamic linker, and of programs with .debug_frame, in the file, packed, and in a file apart.
# LULL_TEST_ROWS=FILE… (with colons between) compares further files.
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import Tap  # noqa: E402

tap = Tap()
dump = sys.argv[1]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)")
SOURCE = """
#include <stdarg.h>
#include <string.h>
static int __attribute__((noinline)) sum(int n, ...) { va_list l; int s = 0; va_start(l, n); while (n--) s += va_arg(l, int);
  va_end(l); return s; }
int __attribute__((noinline)) wide(int a, int b, int c, int d, int e, int f, int g, int h) { char t[a + 1]; memset(t, b, a + 1);
  if (t[0] == c) return sum(3, d, e, f); for (int i = 0; i < h; i++) g += sum(8, a, b, c, d, e, f, g, i) + t[i % a]; return g; }
int main(int c, char **v) { return c > 1 ? wide(c, 1, 2, 3, 4, 5, 6, 7) : sum(2, c, 5); }
"""


def readelf_rows(path, section):
    """address → (frame, {register: rule}), as readelf works them out; and the addresses of each function."""
    text = subprocess.run(["readelf", "-W", "--debug-dump=frames-interp", path], capture_output=True, text=True,
                          check=False).stdout  # it complains about links to debug files that are not there
    rows, end, columns, is_wanted = {}, 0, None, False
    for line in text.splitlines():
        if line.startswith("Contents of the"):
            is_wanted = f" {section} " in line
        if not is_wanted:
            continue
        found = FDE.match(line)
        words = line.split()
        if found:
            end, columns = int(found[2], 16), None
        elif " CIE " in line:
            end, columns = 0, None
        elif words[:1] == ["LOC"]:
            columns = words[2:]
        elif columns is not None and end and len(words) == len(columns) + 2 and int(words[0], 16) < end:
            rules = {name: rule for name, rule in zip(columns, words[2:]) if rule not in ("s", "u") or (name, rule) == ("ra", "u")}
            rows[int(words[0], 16)] = (words[1], rules)
    return rows


def lull_rows(path, addresses, debug_root=None):
    result = subprocess.run([dump, path, *([debug_root] if debug_root else [])], input="\n".join(f"{a:x}" for a in addresses),
                            capture_output=True, text=True, check=False, timeout=100)
    rows = {}
    for line in result.stdout.splitlines():
        address, frame, *rules = line.split()
        rows[int(address, 16)] = (frame, {rule.split("=")[0]: rule.split("=")[1] for rule in rules})
    return rows


def compare(name, path, section=".eh_frame", described=None, debug_root=None):
    theirs = readelf_rows(described or path, section)
    ours = lull_rows(path, theirs, debug_root)
    wrong = [f"{address:x}: {ours.get(address)} instead of {row}" for address, row in theirs.items() if ours.get(address) != row]
    tap.ok(len(theirs) > 5 and not wrong, f"{name}: as readelf says at {len(theirs)} addresses", len(wrong), *wrong[:5])


def compiled(name, *options):
    path = os.path.join(scratch.name, name)
    subprocess.run(["cc", "-O2", *options, "-Wl,--build-id=sha1", "-x", "c", "-o", path, "-"], input=SOURCE, text=True, check=True)
    return path


def test_debug_frame():
    flags = ["-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    compare(".debug_frame", compiled("plain", *flags), ".debug_frame")
    compare(".debug_frame, packed", compiled("packed", *flags, "-gz"), ".debug_frame")
    path = compiled("apart", *flags)
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    build_id = re.search("Build ID: ([0-9a-f]+)", notes)[1]
    debug = os.path.join(scratch.name, "debug", ".build-id", build_id[:2], build_id[2:] + ".debug")
    os.makedirs(os.path.dirname(debug))
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["strip", path], check=True)
    compare(".debug_frame of a file apart", path, ".debug_frame", debug, os.path.join(scratch.name, "debug"))


if platform.machine() != "x86_64" or not shutil.which("readelf") or not shutil.which("cc"):
    tap.skip("rows", "needs readelf and cc of x86-64")
else:
    for library in ["ld-linux-x86-64.so.2", "libm.so.6"]:
        for found in glob.glob(f"/lib*/x86_64-linux-gnu/{library}")[:1]:
            compare(library, found)
    test_debug_frame()
    for found in filter(None, os.environ.get("LULL_TEST_ROWS", "").split(":")):
        compare(found, found)
sys.exit(tap.done())

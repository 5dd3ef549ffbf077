#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Debug information that was made to take all memory or all time of who looks at it: what is sound beside it is read. Peak memory and
# processor time are the kernel's account of the process (getrusage(2)). LULL is the program.
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests", "symbol"), os.path.join(source, "tests", "lib")]
from asked import ask  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
ZLIB, ZSTD, COMPRESSED = 1, 2, 0x800
MIB = 1 << 20
PART = """static inline __attribute__((always_inline)) int NAME_leaf(int n) { return n * 3 + (n >> 2); }
__attribute__((noinline)) int NAME(int n) { return NAME_leaf(n) + NAME_leaf(n + 1) * n; }
"""


def run(*command, **how):
    return subprocess.run(command, check=True, capture_output=True, text=True, **how).stdout


def built(name, parts, *options):
    """A library with a function of each name, and a unit of debug information for each."""
    folder = os.path.join(scratch.name, name)
    os.makedirs(folder)
    for part in parts:
        with open(os.path.join(folder, part + ".c"), "w", encoding="ascii") as file:
            file.write(PART.replace("NAME", part))
    run("cc", "-O2", "-g", "-fPIC", "-shared", "-Wl,--build-id", *options, "-o", "library.so", *(part + ".c" for part in parts), cwd=folder)
    return os.path.join(folder, "library.so")


def inside(path, name):
    """The addresses of a function."""
    start, size = next((int(words[0], 16), int(words[1], 16)) for words in map(str.split, run("nm", "-S", path).splitlines()) if words[-1] == name)
    return list(range(start, start + size))


def most_calls(found, addresses):
    """Where most calls are in line."""
    return max((found[at] for at in addresses), key=len)


def pack(path, name, kind, size, content):
    """Adds a section that says that it unpacks to so many bytes."""
    with tempfile.NamedTemporaryFile(dir=scratch.name) as part:
        part.write(struct.pack("=IIQQ", kind, 0, size, 1) + content)
        part.flush()
        run("objcopy", "--add-section", f"{name}={part.name}", path)
    number = int(re.search(rf"\[\s*(\d+)\] {re.escape(name)} ", run("readelf", "-SW", path)).group(1))
    with open(path, "r+b") as file:
        file.seek(40)
        flags = struct.unpack("=Q", file.read(8))[0] + number * 64 + 8
        file.seek(flags)
        file.write(struct.pack("=Q", COMPRESSED))


def zeros(size):
    """As zstd packs them: a head without sizes but for the window, and blocks of one byte that repeats (RFC 8878, 3.1.1)."""
    n = size >> 17
    blocks = [struct.pack("<I", (1 << 17) << 3 | 1 << 1 | (i == n - 1))[:3] + b"\0" for i in range(n)]
    return b"\x28\xb5\x2f\xfd\x00\x38" + b"".join(blocks)


def use_of(*command):
    """What it says, how much memory it took, and how many seconds of a CPU."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        said = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, said, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def check_bomb():
    """A section beside the debug information: nobody asked for it."""
    path = built("bomb", ["work"])
    pack(path, ".bomb", ZSTD, 1024 * MIB, zeros(1024 * MIB))
    at = inside(path, "work")[0]
    found, _, where = ask(scratch.name, path, [at])
    _, _, memory, _ = use_of(lull, "symbols", "--json", "--places", "--lines", where)
    tap.ok(found[at][-1][0] == "work" and found[at][0][2] > 0, "lines beside a section that would be a GiB", found)
    tap.ok("ASAN_OPTIONS" in os.environ or memory < 256 * MIB, "which is not unpacked", memory // MIB)


def check_parts():
    """Parts in files of their own, each of which is small, and says that it is large when unpacked: together they have a limit."""
    path = built("parts", ["work", "more"], "-gsplit-dwarf")
    folder = os.path.dirname(path)
    at = {name: inside(path, name) for name in ("work", "more")}
    everywhere = [address for addresses in at.values() for address in addresses]
    found = ask(scratch.name, path, everywhere)[0]
    whole = [most_calls(found, addresses) for addresses in at.values()]
    for part in [name for name in os.listdir(folder) if name.endswith(".dwo")]:
        pack(os.path.join(folder, part), ".debug_more.dwo", ZLIB, 600 * MIB, b"\0" * 64)
    found = ask(scratch.name, path, everywhere)[0]
    kept = [most_calls(found, addresses) for addresses in at.values()]
    tap.ok(all(len(block) == 2 for block in whole), "calls in line of both parts", whole)
    tap.ok(sorted(map(len, kept)) == [1, 2] and all(found[one][0][2] > 0 for one in everywhere), "of one that fits, and of the other the lines alone", kept)


# A unit of 3000 functions, each of which has the same list of a million ranges.
LISTS = """
    .section .debug_abbrev,"",@progbits
    .uleb128 1; .uleb128 0x11; .byte 1
    .uleb128 0x11; .uleb128 0x01; .uleb128 0x12; .uleb128 0x07; .uleb128 0; .uleb128 0
    .uleb128 2; .uleb128 0x2e; .byte 0
    .uleb128 0x55; .uleb128 0x17; .uleb128 0; .uleb128 0
    .uleb128 0
    .section .debug_ranges,"",@progbits
    .rept 1000000
    .quad 0, 1
    .endr
    .quad 0, 0
    .section .debug_info,"",@progbits
start:
    .long end - start - 4
    .short 4
    .long 0
    .byte 8
    .uleb128 1
    .quad work
    .quad 64
    .rept 3000
    .uleb128 2
    .long 0
    .endr
    .byte 0
end:
    .text
    .globl work
    .type work, @function
work:
    .skip 64, 0x90
    .size work, 64
"""


def check_lists():
    """Lists of ranges that many functions share are not read for each of them to the end."""
    path = os.path.join(scratch.name, "lists.so")
    done = subprocess.run(["cc", "-x", "assembler", "-shared", "-nostdlib", "-Wl,--build-id", "-o", path, "-"], input=LISTS, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        tap.skip("lists of ranges", done.stderr.splitlines()[0])
        return
    at = inside(path, "work")[0]
    where = ask(scratch.name, path, [at])[2]
    status, said, _, seconds = use_of(lull, "symbols", "--json", "--places", "--lines", where)
    tap.ok(status == 0 and '"work"' in said and seconds < 15, "3000 functions with a million ranges each", f"{seconds} s", said)


if not all(shutil.which(tool) for tool in ("cc", "nm", "objcopy", "readelf")):
    tap.skip("hostile debug information", "there is no compiler")
elif struct.calcsize("P") != 8 or "libdw" not in run(lull, "--version").partition("Not built in")[0]:
    tap.skip("hostile debug information", "Lull is built without libdw, or not for 64 bits")
else:
    for check in (check_bomb, check_parts, check_lists):
        tap.run(check.__name__, check)
sys.exit(tap.done())

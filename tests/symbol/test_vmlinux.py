# SPDX-License-Identifier: MIT
"""Names and lines of a kernel from its vmlinux. The trace is one of perf's in which functions of the kernel have no names; the vmlinux is a file with
the build-id that perf noted, in which functions lie where the trace has kernel addresses. What they are there, addr2line says. The kernel was at
another address than its file says, by KASLR."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
RECORDED = os.path.join(os.environ["LULL_SAMPLES"], "perf", "chains.data")
DATA = os.path.join(scratch.name, "chains.data")
START = 0xffffffff90000000


def run(verb, *arguments):
    return subprocess.run([lull, verb, *arguments], capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL)


def listing(*arguments):
    """The kernel's file, and {offset: [(function, base name of the file, line), …]}, what is innermost first."""
    found = json.loads(run("symbols", "--lines", "--json", *arguments, DATA).stdout)
    places = {}
    for row in found["places"]:
        if row["file"] == "[kernel.kallsyms]":
            places.setdefault(int(row["offset"], 16), []).append((row["function"], os.path.basename(row["source"] or "?"), row["line"]))
    return next(row for row in found["files"] if row["file"] == "[kernel.kallsyms]"), places


def build(path, offsets, build_id):
    """A function for each offset, which is somewhere in it, and calls another that is put in line there. The first segment starts where the code
    does, as in each vmlinux."""
    lines = ["void _start(void) {}", "static inline __attribute__((always_inline)) void inner(void)", "{", '    asm volatile("nop");',
             '    asm volatile("nop");', "}"]
    for i in range(len(offsets)):
        lines += [f'__attribute__((section(".k{i}"))) void kernel_function_{i}(void)', "{", *['    asm volatile("nop");'] * 9, "    inner();",
                  *['    asm volatile("nop");'] * 30, "}"]
    source, script = os.path.join(scratch.name, "kernel.c"), os.path.join(scratch.name, "kernel.lds")
    with open(source, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    segments = [(f"k{i}", START + offset - 10) for i, offset in enumerate(offsets)]
    with open(script, "w", encoding="utf-8") as file:
        file.write("ENTRY(_start)\nPHDRS { text PT_LOAD; " + " ".join(f"{name} PT_LOAD;" for name, _ in segments) + " notes PT_LOAD; note PT_NOTE; }\n"
                   "SECTIONS {\n. = 0x%x;\n.text : { _text = .; *(.text) } :text\n" % START)
        file.writelines(f".{name} {at:#x} : {{ *(.{name}) }} :{name}\n" for name, at in segments)
        file.write(".notes ALIGN(4096) : { *(.note.gnu.build-id) } :notes :note\n/DISCARD/ : { *(.eh_frame) *(.comment) *(.note*) }\n}\n")
    subprocess.run(["gcc", "-g", "-O2", "-mcmodel=kernel", "-fno-pic", "-no-pie", "-nostdlib", "-static", "-falign-functions=1", "-o", path, source,
                    "-Wl,-T," + script, "-Wl,--build-id=0x" + build_id], check=True)


def truth(path, address):
    """[(function, file, line), …] by addr2line, innermost first."""
    said = subprocess.run(["addr2line", "-fie", path, hex(address)], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    return [(name, *re.search(r"([^/]*):(\d+)", place).groups()) for name, place in zip(said[::2], said[1::2], strict=True)]


def spaced(offsets):
    """Those that are far enough from one another for a function each."""
    chosen = []
    for offset in sorted(offsets):
        if not chosen or offset > chosen[-1] + 256:
            chosen.append(offset)
    return chosen


def make_foreign():
    """The trace, of a kernel that is not the one that runs here: of that, lull has the names from /proc/kallsyms."""
    with open(RECORDED, "rb") as file:
        data = file.read()
    recorded = json.loads(subprocess.run([lull, "symbols", "--json", RECORDED], capture_output=True, text=True, check=True).stdout)
    own = bytes.fromhex(next(row["build_id"] for row in recorded["files"] if row["file"] == "[kernel.kallsyms]"))
    assert own in data
    with open(DATA, "wb") as file:
        file.write(data.replace(own, bytes(range(0x70, 0x70 + len(own)))))


def check_names():
    file, places = listing()
    tap.ok(file["named"] == 0 and file["build_id"] and len(places) > 10, "without its file the kernel has no names", file)
    for verb in (("flame", "--off-cpu"), ("waits", "--stacks"), ("critpath", "--stacks", "--comm", "sleep"), ("stats",)):
        told = run(*verb, DATA).stderr.count("functions of the kernel have no names")
        tap.ok(told == 1, f"{' '.join(verb)}: says once that names are hidden", told)
    offsets = spaced(places)
    vmlinux = os.path.join(scratch.name, "vmlinux")
    build(vmlinux, offsets, file["build_id"])
    for folder in ("by-name", "by-name/boot", "sysroot/usr/lib/debug/boot", "modules/lib/modules/6.1/build"):
        shutil.rmtree(os.path.join(scratch.name, folder.split("/", maxsplit=1)[0]), ignore_errors=True)
        os.makedirs(os.path.join(scratch.name, folder))
        name = "vmlinux-6.1" if folder.endswith("boot") else "vmlinux"
        shutil.copy(vmlinux, os.path.join(scratch.name, folder, name))
        named, places = listing("--symbols", os.path.join(scratch.name, folder.split("/", maxsplit=1)[0]))
        tap.ok(named["named"] >= len(offsets) and named["from"] == "directory" and named["why"] is None, f"{folder}: the file is found", named)
    by_id = os.path.join(scratch.name, "id", ".build-id", file["build_id"][:2])
    os.makedirs(by_id)
    shutil.copy(vmlinux, os.path.join(by_id, file["build_id"][2:] + ".debug"))
    named, places = listing("--symbols", os.path.join(scratch.name, "id"))
    wrong, n_inlined = [], 0
    for offset in offsets:
        shown = [(name, source, str(line)) for name, source, line in places[offset]]
        # A place to which a call returns has the line of the call, before it; only of the innermost one it is the place itself.
        if shown not in [truth(vmlinux, START + offset - back) for back in (0, 1)]:
            wrong.append((hex(offset), shown, truth(vmlinux, START + offset), truth(vmlinux, START + offset - 1)))
        n_inlined += len(shown) > 1
    tap.ok(not wrong and n_inlined > 3, "names, lines and calls in line as addr2line has them", wrong[:3], n_inlined)
    done = run("flame", "--off-cpu", "--inlines", "--symbols", os.path.join(scratch.name, "id"), DATA)
    tap.ok("inner [inlined]" in done.stdout and "kernel_function_0" in done.stdout and "have no names" not in done.stderr, "flame --inlines", done)


def check_other():
    file, places = listing()
    folder = os.path.join(scratch.name, "other")
    os.makedirs(folder)
    build(os.path.join(folder, "vmlinux"), spaced(places), "00" + file["build_id"][2:])
    named, _ = listing("--symbols", folder)
    tap.ok(named["named"] == 0, "a file of another build is refused", named)
    os.remove(os.path.join(folder, "vmlinux"))
    os.mkfifo(os.path.join(folder, "vmlinux"))
    named, _ = listing("--symbols", folder)
    tap.ok(named["named"] == 0, "a FIFO in its place is not waited for", named)


if not shutil.which("gcc") or not shutil.which("addr2line") or os.uname().machine != "x86_64":
    tap.skip("vmlinux", "it needs gcc and addr2line for x86-64")
else:
    make_foreign()
    for check in (check_names, check_other):
        tap.run(check.__name__, check)
sys.exit(tap.done())

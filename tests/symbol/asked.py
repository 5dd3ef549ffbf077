# SPDX-License-Identifier: MIT
# What Lull says of addresses in programs and libraries, and what others say of them.
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests", "calls"), os.path.join(source, "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
import scene  # noqa: E402

lull = os.environ["LULL"]
BASE = 0x7f0000000000


def id_of(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return found.group(1) if found else None


def peer(path, addresses):
    """address → [(function, file, line), …], the innermost first, by addr2line."""
    done = subprocess.run(["addr2line", "-a", "-f", "-i", "-C", "-e", path], input="".join(f"{at:#x}\n" for at in addresses), text=True,
                          capture_output=True, check=True)
    found, lines = {}, iter(done.stdout.splitlines())
    for line in lines:
        if line.startswith("0x"):
            block = found[int(line, 16)] = []
            continue
        file, number = re.sub(r" \(discriminator \d+\)$", "", next(lines)).rsplit(":", 1)
        block.append((line, os.path.normpath(file) if file[:1] not in ("", "?") else None, int(number) if number.isdigit() else 0))
    return found


def symbolizer(path, addresses):
    """address → [(function, file, line), …], the innermost first, by llvm-symbolizer; names as compilers write them."""
    done = subprocess.run(["llvm-symbolizer", "--output-style=JSON", "--no-demangle", f"--obj={path}"], input="".join(f"{at:#x}\n" for at in addresses),
                          capture_output=True, text=True, check=True).stdout
    found = {}
    for one in map(json.loads, done.splitlines()):
        found[int(one["Address"], 16)] = [(level["FunctionName"], os.path.normpath(level["FileName"]) if level["FileName"] else None, level["Line"])
                                          for level in one.get("Symbol", [])]
    return found


def lowest_of(path):
    """Where its lowest part lies, if it is put where it says."""
    listed = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    return min(int(word, 16) for word in re.findall(r"LOAD\s+\S+\s+(\S+)", listed))


def ask(scratch, path, addresses, mapped=None, folder=None, options=("--lines",)):
    """The same of Lull, of a trace of a program that called all these; how long the options took; and the trace."""
    mapped, build_id, lowest = mapped or path, id_of(path), lowest_of(path)
    events = [scene.event(1000, 0, "lttng_ust_statedump:bin_info", 100, pid=100, baddr=BASE, memsz=1 << 30, path=mapped, is_pic=1)]
    if build_id:
        events.append(scene.event(1001, 0, "lttng_ust_statedump:build_id", 100, pid=100, baddr=BASE, build_id=list(bytes.fromhex(build_id))))
    for i, at in enumerate(addresses):
        events += [scene.event(2000 + 2 * i + k, 0, f"lttng_ust_cyg_profile:func_{what}", 100, pid=100, addr=BASE + at - lowest)
                   for k, what in enumerate(("entry", "exit"))]
    where = os.path.join(tempfile.mkdtemp(dir=scratch), "trace")
    jsonl_to_ctf.write_trace(events, where, {"domain": "ust", "tracer_name": "lttng-ust"})
    times = [0]
    for asked in ((), options)["LULL_TEST_LINES" not in os.environ:]:
        start = time.monotonic()
        done = subprocess.run([lull, "symbols", "--json", "--places", *asked, *(("--symbols", folder) if folder else ()), where], capture_output=True, text=True, check=True, timeout=600)
        times.append(time.monotonic() - start)
    found = collections.defaultdict(list)
    for one in json.loads(done.stdout)["places"]:
        found[int(one["offset"], 16) + lowest].append((one["function"], one["source"], one["line"] or 0))
    return found, times[-1] - times[-2], where


def bare(name):
    """Without the types of parameters, and what the compiler split off: "f(int)" and "f.part.0" are f."""
    return re.sub(r"\(.*\)( const)?$|\.(part|isra|constprop|cold)\b.*$", "", re.sub(r"^[\w:<>]+ (?=\w+::)", "", name or "")) if name != "??" else ""

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull symbols: programs that are compiled here with build-ids that we choose, and traces that say they were mapped. Which functions
# lie where is what nm says.
import json
import os
import shutil
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests", "calls"), os.path.join(source, "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
import scene  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
PROGRAM = "".join(f"int f{i}(int n) {{ return n ? n * {i + 3} : 0; }}\n" for i in range(6)) + "int main(void) { return f0(0); }\n"
IDS = {"right": "a1" * 20, "other": "b2" * 20}
BASE, SIZE = 0x7f0000000000, 0x10000


def run(*arguments):
    return subprocess.run([lull, "symbols", *arguments], capture_output=True, text=True, timeout=100, check=False,
                          stdin=subprocess.DEVNULL)


def compiled(path, build_id):
    """The program, and where nm says that its functions are."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(["cc", "-O0", "-fPIE", "-pie", f"-Wl,--build-id=0x{build_id}", "-x", "c", "-o", path, "-"], input=PROGRAM, text=True,
                   check=True)
    listed = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in listed.splitlines() if len(line.split()) == 3]
    return {name: int(address, 16) for address, kind, name in words if kind == "T" and name[0] == "f"}


def trace(name, images, offsets):
    """A process for each (path, build-id or None), which calls what lies at these offsets; a last one has no file."""
    events, time = [], 1000
    for pid, (path, build_id) in enumerate(images, 100):
        image = {"baddr": BASE, "memsz": SIZE, "path": path, "is_pic": 1}
        events.append(scene.event(time, 0, "lttng_ust_statedump:bin_info", pid, pid=pid, **image))
        if build_id:
            events.append(scene.event(time + 1, 0, "lttng_ust_statedump:build_id", pid, pid=pid, baddr=BASE,
                                      build_id=list(bytes.fromhex(build_id))))
        time += 10
    for pid in range(100, 101 + len(images)):
        for offset in [*offsets, *offsets[:2]]:  # some twice
            events.append(scene.event(time, 0, "lttng_ust_cyg_profile:func_entry", pid, pid=pid, addr=BASE + offset))
            time += 10
    path = os.path.join(scratch.name, name)
    jsonl_to_ctf.write_trace(events, path, {"domain": "ust", "tracer_name": "lttng-ust"})
    return path


def check_files():
    paths = {name: os.path.join(scratch.name, "bin", name) for name in IDS}
    functions = {name: compiled(paths[name], IDS[name]) for name in IDS}["right"]
    gone = os.path.join(scratch.name, "bin", "gone")
    images = [(paths["right"], IDS["right"]), (paths["other"], IDS["right"]), (gone, IDS["right"]), (paths["other"] + "/../other", None)]
    path = trace("files", images, list(functions.values()))
    done = run("--json", "--places", path)
    answer = json.loads(done.stdout)
    files = {one["file"]: one for one in answer["files"]}
    tap.ok(len(functions) == 6 and all(one["places"] == 6 for one in files.values()) and len(files) == 5, "places: each once", files)
    tap.ok([files[paths["right"]][key] for key in ("named", "from", "why", "build_id")] == [6, "build-id", None, IDS["right"]],
           "the file of this build", files[paths["right"]])
    for where, said in ((paths["other"], "another build"), (gone, "no file of this build"), (images[3][0], "without a build-id"),
                        (None, "nothing is known")):
        one = files[where]
        tap.ok(one["named"] == 0 and one["from"] is None and said in one["why"], f"refused: {said}", one)
    places = {(one["file"], int(one["offset"], 16)): (one["function"], one["bytes"]) for one in answer["places"]}
    expected = {(paths["right"], offset): (name, 0) for name, offset in functions.items()}
    expected |= {(where, offset): (None, None) for where in files if where and where != paths["right"] for offset in functions.values()}
    expected |= {(None, BASE + offset): (None, None) for offset in functions.values()}
    tap.ok(places == expected, "--places: the functions that nm lists", *sorted(set(places.items()) ^ set(expected.items()), key=str)[:4])
    text = run(path).stdout
    tap.ok("6 of 30 places in call stacks have names." in text and "(unknown)" in text and "another build" in text, "as text", text)


def check_inside():
    """Addresses within functions, as samples have them, and before the first one."""
    path = os.path.join(scratch.name, "bin", "inside")
    functions = compiled(path, IDS["right"])
    where = trace("inside", [(path, IDS["right"])], [functions["f0"] + 3, 0x10])
    places = [(one["function"], one["bytes"]) for one in json.loads(run("--json", "--places", where).stdout)["places"] if one["file"]]
    tap.ok(places == [(None, None), ("f0", 3)], "within a function, and in none", places)


if shutil.which("cc") and shutil.which("nm"):
    for check in (check_files, check_inside):
        tap.run(check.__name__, check)
else:
    tap.skip("lull symbols", "there is no compiler")
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull symbols: programs that are compiled here with build-ids that we choose, and traces that say they were mapped. Which functions
# lie where is what nm says.
import json
import lzma
import os
import re
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


def check_stripped():
    """A file of the right build that names no function is no source of names, and the copy that perf keeps is looked for."""
    home, build_id = os.path.join(scratch.name, "home"), "d4" * 20
    path, kept = os.path.join(scratch.name, "bin", "stripped"), os.path.join(home, ".debug", ".build-id", "d4", "d4" * 19, "elf")
    os.makedirs(os.path.dirname(kept))
    subprocess.run(["cc", "-O0", "-fPIE", "-pie", "-nostdlib", "-Wl,-e,f0", f"-Wl,--build-id=0x{build_id}", "-x", "c", "-o", kept, "-"], check=True, text=True,
                   input="void f0(void) { for (;;); }\n")
    subprocess.run(["strip", "-s", "-o", path, kept], check=True)
    listed = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, check=True).stdout
    start = int(next(line.split()[0] for line in subprocess.run(["nm", kept], capture_output=True, text=True, check=True).stdout.splitlines()
                     if line.endswith(" f0")), 16)
    where = trace("stripped", [(path, build_id)], [start])
    for environment, expected in (({"HOME": "/nowhere"}, (0, None)), ({"HOME": home}, (1, "build-id"))):
        done = subprocess.run([lull, "symbols", "--json", where], capture_output=True, text=True, check=False, timeout=100,
                              env={**os.environ, **environment})
        one = next(one for one in json.loads(done.stdout)["files"] if one["file"] == path)
        tap.ok("FUNC" not in listed and (one["named"], one["from"]) == expected and
               (expected[0] or "this machine has no file of this build that names functions" in one["why"]), "a file without functions", one, listed)


def check_inside():
    """Addresses within functions, as samples have them, and before the first one."""
    path = os.path.join(scratch.name, "bin", "inside")
    functions = compiled(path, IDS["right"])
    where = trace("inside", [(path, IDS["right"])], [functions["f0"] + 3, 0x10])
    places = [(one["function"], one["bytes"]) for one in json.loads(run("--json", "--places", where).stdout)["places"] if one["file"]]
    tap.ok(places == [(None, None), ("f0", 3)], "within a function, and in none", places)


def check_directory():
    """Copies of what is gone here: below the directory as there, beside each other, by build-id; and of another build."""
    folder, gone = os.path.join(scratch.name, "copies"), os.path.join(scratch.name, "gone")
    names = {"same": "a1" * 20, "beside": "a2" * 20, "kept": "a3" * 20, "debug": "a4" * 20, "wrong": "a5" * 20}
    where = {"same": folder + os.path.join(gone, "same"), "beside": os.path.join(folder, "beside"),
             "kept": os.path.join(folder, ".build-id", "a3", "a3" * 19, "elf"),
             "debug": os.path.join(folder, ".build-id", "a4", "a4" * 19 + ".debug"), "wrong": os.path.join(folder, "wrong")}
    offsets = [compiled(where[name], "cc" * 20 if name == "wrong" else build_id) for name, build_id in names.items()][0]
    images = [(os.path.join(gone, name), build_id) for name, build_id in names.items()]
    # One without build-id is taken at its word; no path leads out of the directory.
    images += [("/elsewhere/beside", None), ("/../copies/beside", None)]
    path = trace("directory", images, list(offsets.values()))
    done = run("--json", "--places", "--symbols", folder, path)
    files = {one["file"]: one for one in json.loads(done.stdout)["files"]}
    found = {name: (files[name]["named"], files[name]["from"]) for name, _ in images}
    tap.ok(found == {name: (0, None) if name in (os.path.join(gone, "wrong"), "/../copies/beside") else (6, "directory")
                     for name, _ in images}, "--symbols DIR: copies", found)
    tap.ok("directory of --symbols is another build" in files[os.path.join(gone, "wrong")]["why"], "--symbols DIR: another build is refused")
    tap.ok({one["function"] for one in json.loads(done.stdout)["places"] if one["file"] == os.path.join(gone, "same")} == set(offsets),
           "--symbols DIR: the names")
    bare = json.loads(run("--json", path).stdout)["files"]
    tap.ok(not any(one["named"] for one in bare), "without --symbols there is none", bare)
    for bad in (os.path.join(folder, "beside"), "/nowhere"):
        done = run("--symbols", bad, path)
        tap.ok(done.returncode == 1 and "is not a directory" in done.stderr, "--symbols: no directory", done.stderr)
    rows = subprocess.run([lull, "calls", "--json", "--limit", "0", "--symbols", folder, path], capture_output=True, text=True, timeout=100, check=False)
    rows = json.loads(rows.stdout)["windows"][0]["tables"]["functions"]
    tap.ok(set(offsets) <= {row["function"] for row in rows}, "lull calls --symbols DIR", rows[:3])


def check_path_map():
    """Of several maps the first that fits; by whole names; a build is checked; nothing leads out of where a map leads."""
    built = os.path.join(scratch.name, "built")
    offsets = compiled(os.path.join(built, "deep", "server"), "e1" * 20)
    compiled(os.path.join(built, "wrong"), "ee" * 20)
    images = [("/app/deep/server", "e1" * 20), ("/app/wrong", "e2" * 20), ("/application/deep/server", "e1" * 20), ("/app/none/../deep/server", None)]
    path = trace("mapped", images, list(offsets.values()))
    for maps, named in ((("/app=" + built,), 1), (("/app/=" + built + "/",), 1), (("/app=/nowhere", "/app=" + built), 0), (("/other=" + built,), 0),
                        (("/=" + built,), 0), (("/app/deep/server=" + os.path.join(built, "deep", "server"),), 1)):
        files = {one["file"]: one for one in json.loads(run("--json", *(word for one in maps for word in ("--path-map", one)), path).stdout)["files"]}
        found = {where: (files[where]["named"], files[where]["from"]) for where, _ in images}
        tap.ok(found == {where: (6, "directory") if named and where == "/app/deep/server" else (0, None) for where, _ in images}, f"--path-map {maps}",
               found)
    why = [one["why"] for one in json.loads(run("--json", "--path-map", "/app=" + built, path).stdout)["files"] if one["file"] == "/app/wrong"]
    tap.ok("--path-map leads is another build" in why[0], "--path-map: another build is refused", why)
    for bad in ("app=/x", "/app", "/app="):
        done = run("--path-map", bad, path)
        tap.ok(done.returncode == 2 and "is not OLD=NEW" in done.stderr, f"--path-map {bad}", done.stderr)
    rows = subprocess.run([lull, "calls", "--json", "--limit", "0", "--path-map", "/app=" + built, path], capture_output=True, text=True, timeout=100, check=False)
    tap.ok(set(offsets) <= {row["function"] for row in json.loads(rows.stdout)["windows"][0]["tables"]["functions"]}, "lull calls --path-map")


def check_order():
    """One build in all places, each of which calls its function differently: the first that there is counts. Of separate debug symbols,
    too, which a stripped file has; and what is packed in it comes after these."""
    where, build_id = os.path.join(scratch.name, "order"), "c7" * 20
    home, folder, mapped = (os.path.join(where, name) for name in ("home", "folder", "mapped"))
    path = os.path.join(where, "app", "server")
    offset = compiled(path, build_id)["f0"]
    kept = os.path.join(home, ".debug", ".build-id", build_id[:2], build_id[2:], "elf")
    places = {"path map": os.path.join(mapped, "server"), "directory": folder + path, "beside": os.path.join(folder, "server"),
              "by id": os.path.join(folder, ".build-id", build_id[:2], build_id[2:], "elf"), "path": path,
              "perf": kept}
    plain = os.path.join(where, "plain")
    shutil.copy(path, plain)
    for name, at in places.items():
        os.makedirs(os.path.dirname(at), exist_ok=True)
        subprocess.run(["objcopy", "--redefine-sym", f"f0=from_{name.replace(' ', '_')}", plain, at], check=True)
    trace_path = trace("ordered", [(path, build_id)], [offset])

    def found():
        done = subprocess.run([lull, "symbols", "--json", "--places", "--path-map", f"{where}/app={mapped}", "--symbols", folder, trace_path],
                              capture_output=True, text=True, check=False, timeout=100, env={**os.environ, "HOME": home})
        return [one["function"] for one in json.loads(done.stdout)["places"] if one["file"]][0]
    shown = []
    for at in places.values():
        shown.append(found())
        os.remove(at)
    tap.ok(shown == [f"from_{name.replace(' ', '_')}" for name in places] and found() is None, "one build in all places: the order", shown)
    # The file itself is stripped, and its symbols are apart: beside it, below .debug, or packed in it.
    apart = {"beside": os.path.join(where, "app", "server.debug"), "below": os.path.join(where, "app", ".debug", "server.debug")}
    os.makedirs(os.path.dirname(apart["below"]))
    stripped = os.path.join(where, "stripped")
    subprocess.run(["strip", "-s", "-o", stripped, plain], check=True)
    packed = os.path.join(where, "packed")
    subprocess.run(["objcopy", "--only-keep-debug", "--redefine-sym", "f0=from_packed", plain, packed], check=True)
    with open(packed, "rb") as file, open(packed + ".xz", "wb") as out:
        out.write(lzma.compress(file.read()))
    for name in "apart", "other":
        subprocess.run(["objcopy", "--only-keep-debug", "--redefine-sym", f"f0=from_{name}", plain, os.path.join(where, "server.debug")], check=True)
        if name == "apart":
            subprocess.run(["objcopy", f"--add-gnu-debuglink={where}/server.debug", "--add-section", f".gnu_debugdata={packed}.xz", stripped, path], check=True)
            for at in apart.values():
                shutil.copy(os.path.join(where, "server.debug"), at)
    shown = [found()]
    os.remove(apart["beside"])
    shown.append(found())
    shutil.copy(os.path.join(where, "server.debug"), apart["below"])  # another checksum
    shown.append(found())
    tap.ok(shown == ["from_apart", "from_apart", "from_packed"], "symbols apart, by name and checksum; then what is packed in the file", shown)


def check_all():
    """Files in which no call lies: as old and new LTTng-UST say it (soinfo without is_pic, a vdso without a size), once for each path."""
    old, new = "lttng_ust_statedump:soinfo", "lttng_ust_statedump:bin_info"
    names = [f"/lib/{name}.so" for name in "abcdef"]
    loads = [(old, {"baddr": BASE + i * SIZE, "memsz": SIZE, "sopath": name}) for i, name in enumerate(names)]
    loads += [("lttng_ust_dl:dlopen", {"baddr": BASE, "memsz": SIZE, "path": names[0]}), (old, {"baddr": BASE - SIZE, "memsz": 0, "sopath": "[vdso]"}),
              (new, {"baddr": BASE + 9 * SIZE, "memsz": SIZE, "path": "/bin/app", "is_pic": 1}), ("lttng_ust_dl:dlclose", {"baddr": BASE})]
    path = os.path.join(scratch.name, "all")
    jsonl_to_ctf.write_trace([scene.event(1000 + i, 0, what, 100, pid=100, **payload) for i, (what, payload) in enumerate(loads)], path,
                             {"domain": "ust", "tracer_name": "lttng-ust"})
    answer = json.loads(run("--json", "--all", path).stdout)["files"]
    tap.ok(sorted(one["file"] for one in answer) == sorted([*names, "/bin/app", "[vdso]"]) and not any(one["places"] for one in answer), "--all", answer)
    tap.ok(json.loads(run("--json", path).stdout)["files"] == [] and "/lib/c.so" in run("--all", path).stdout, "without --all none")
    folder = os.path.join(os.environ.get("LULL_TEST_TRACECOMPASS", "/nowhere"), "ctf", "src", "main", "resources")
    for name, what, count in (("debuginfo-test-app4", "path", 14), ("debuginfo-test-app2", "soinfo", 12)):
        where = os.path.join(folder, name)
        if not os.path.isdir(where) or not shutil.which("babeltrace2"):
            tap.skip(name, "LULL_TEST_TRACECOMPASS is not set, or there is no babeltrace2")
            continue
        shown = subprocess.run(["babeltrace2", where], capture_output=True, text=True, check=True).stdout
        theirs = {re.search(r'path = "([^"]*)"', line).group(1) for line in shown.splitlines() if re.search(r":(bin_info|soinfo|dlopen)", line)}
        ours = [one["file"] for one in json.loads(run("--json", "--all", where).stdout)["files"]]
        tap.ok(sorted(ours) == sorted(theirs) and (shown.count(":soinfo") if what == "soinfo" else len(theirs)) == count, f"{name}: as babeltrace2", sorted(theirs ^ set(ours)), len(theirs))
    where = os.path.join(folder, "debuginfo-test-app4")
    if os.path.isdir(where):
        done = subprocess.run([lull, "print", "--places", "--events", "my_provider:*", where], capture_output=True, text=True, check=False, timeout=100)
        tap.ok("libhello_so+0x14d4" in done.stdout, "debuginfo-test-app4: where its event happened, as Trace Compass", done.stdout, done.stderr)


def check_raw_names():
    """Names as compilers write them, of a file and, where that is not known, of a list of nm."""
    path = os.path.join(scratch.name, "bin", "mangled")
    offset = compiled(path, "f1" * 20)["f0"]
    subprocess.run(["objcopy", "--redefine-sym", "f0=_ZN3app4workEi", path], check=True)
    where = trace("raw", [(path, "f1" * 20)], [offset])
    listed = os.path.join(scratch.name, "listed.txt")
    with open(listed, "w", encoding="ascii") as out:
        out.write(f"{BASE + offset:016x} T _ZN3app5otherEv\n")
    for options, name, other in (((), "app::work", "app::other"), (("--raw-names",), "_ZN3app4workEi", "_ZN3app5otherEv")):
        places = json.loads(run("--json", "--places", *options, where).stdout)["places"]
        tap.ok([one["function"] for one in places if one["file"]] == [name], f"names of files {options}", places)
        rows = subprocess.run([lull, "calls", "--json", "--symbols", listed, *options, where], capture_output=True, text=True, timeout=100, check=False)
        functions = {row["function"] for row in json.loads(rows.stdout)["windows"][0]["tables"]["functions"]}
        tap.ok(functions == {name, other}, f"names of a list {options}", functions, rows.stderr)


def check_critpath():
    """A recording of perf without build-ids: libc's calls are where a copy has one function that fills it."""
    chains = os.path.join(os.environ["LULL_SAMPLES"], "perf", "chains.data")
    folder = os.path.join(scratch.name, "filled")
    os.makedirs(folder)
    assembly = ".text\n.globl all_of_it\n.type all_of_it, @function\nall_of_it: .fill 0x300000, 1, 0\n.size all_of_it, . - all_of_it\n"
    subprocess.run(["cc", "-shared", "-nostdlib", "-x", "assembler", "-o", os.path.join(folder, "libc.so.6"), "-"], input=assembly,
                   text=True, check=True)
    if run(chains).returncode:
        tap.skip("lull critpath --symbols DIR", "this Lull reads no perf.data")
        return
    one = [one for one in json.loads(run("--json", "--symbols", folder, chains).stdout)["files"] if "libc" in str(one["file"])][0]
    tap.ok(one["places"] == one["named"] > 0 and one["from"] == "directory", "files of perf, by their loads", one)
    shown = [subprocess.run([lull, "critpath", "--stacks", "--comm", "sh", *more, chains], capture_output=True, text=True, timeout=100,
                            check=False) for more in ((), ("--symbols", folder), ("--symbols", chains))]
    tap.ok("all_of_it" in shown[1].stdout and "all_of_it" not in shown[0].stdout and shown[2].returncode == 1
           and "is not a directory" in shown[2].stderr, "lull critpath --symbols DIR", shown[1].stdout[-500:], shown[2].stderr)
    shown = [subprocess.run([lull, "waits", "--stacks", *more, chains], capture_output=True, text=True, timeout=100, check=False)
             for more in ((), ("--symbols", folder), ("--symbols", chains))]
    tap.ok("all_of_it" in shown[1].stdout and "all_of_it" not in shown[0].stdout and shown[2].returncode == 1
           and "is not a directory" in shown[2].stderr, "lull waits --symbols DIR", shown[1].stdout[-500:], shown[2].stderr)


if shutil.which("cc") and shutil.which("nm"):
    for check in (check_files, check_inside, check_stripped, check_directory, check_path_map, check_order, check_all, check_raw_names, check_critpath):
        tap.run(check.__name__, check)
else:
    tap.skip("lull symbols", "there is no compiler")
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull print --places: in which function, line and file events happened. Compiled here: the truth is of objdump and of the lines
# that the program was written with. And made by chance: what lies where is looked up here in the list of all loads.
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests"), os.path.join(source, "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
BASE = 0x7f0000100000
USER = {"domain": "ust", "tracer_name": "lttng-ust"}
PROGRAM = """\
extern void marker(void);
extern void leave(void) __attribute__((noreturn));
void first(void)
{
    marker();
    leave();
}
void second(void)
{
    first();

    marker();
}
"""


def same(found, expected, name):
    tap.ok(found == expected, name, f"{found} instead of {expected}")


def run(*arguments):
    return subprocess.run([lull, "print", *arguments], capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL)


def event(time, name, pid, ip=0x10, **payload):
    context = {"ip": ip} if pid is None else {"ip": ip, "vpid": pid}
    return {"t": time, "n": name, "p": payload, "pc": {"cpu_id": time % 2}, "sec": context}


def load(time, pid, base, path, size=0x10000, is_pic=1, name="lttng_ust_statedump:bin_info"):
    return event(time, name, pid, baddr=base, memsz=size, path=path, is_pic=is_pic)


def here(time, pid, ip):
    return event(time, "app:event", pid, ip, number=time)


def write(name, events, env=None):
    path = os.path.join(scratch.name, name)
    jsonl_to_ctf.write_trace(sorted(events, key=lambda one: one["t"]), path, {**USER, **(env or {})})
    return path


def places(*arguments):
    """{time: place} of the program's events."""
    done = run("--json", "--places", "--events", "app:event", *arguments)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["fields"]["number"]: row["place"] for row in rows}


def short(place):
    return place and f"{place['file']}+{place['offset']}"


def check_names():
    """An event knows the address that the call returns to, which may be behind the function."""
    if not all(shutil.which(tool) for tool in ("gcc", "objdump")):
        tap.skip("names and lines", "needs gcc and objdump")
        return
    code, library = (os.path.join(scratch.name, name) for name in ("app.c", "libapp.so"))
    with open(code, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-fPIC", "-shared", "-Wl,-z,lazy", "-Wl,--build-id", code, "-o", library], check=True)
    listing = subprocess.run(["objdump", "-d", library], capture_output=True, text=True, check=True).stdout
    asked = re.findall(r"call\S*\s+[0-9a-f]+ <(\w+)@plt>\n\s*([0-9a-f]+):|call\S*\s+[0-9a-f]+ <(leave)@plt>\n\n([0-9a-f]+) <", listing)
    returns = [(one[0] or one[2], int(one[1] or one[3], 16)) for one in asked]
    lines = {"leave": [6], "marker": [5, 12], "first": [10]}
    functions = {5: "first", 6: "first", 10: "second", 12: "second"}
    note = subprocess.run(["readelf", "-n", library], capture_output=True, text=True, check=True).stdout
    build_id = list(bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", note).group(1)))
    events = [load(1, 7, BASE, library), event(2, "lttng_ust_statedump:build_id", 7, baddr=BASE, build_id=build_id)]
    expected = {}
    for i, (callee, address) in enumerate(returns):
        if callee in lines and lines[callee]:
            line = lines[callee].pop(0)
            expected[10 + i] = (functions[line], line, hex(address))
            events.append(here(10 + i, 7, BASE + address))
    trace = write("names", events)
    found = {time: (place["function"], place["line"], place["offset"]) for time, place in places(trace).items()}
    same((len(expected), found), (4, expected), "functions and lines of calls that do and do not return")
    text = run("--places", "--events", "app:event", trace).stdout.splitlines()
    same([line.split(" at ")[1] for line in text], [f"{name} (app.c:{line}) libapp.so+{offset}"
                                                         for name, line, offset in expected.values()], "the same as text")
    events[1]["p"]["build_id"][0] ^= 1
    found = places(write("another", events)).values()
    same([(place["function"], place["line"]) for place in found], [(None, None)] * 4, "another build has no names")


def check_by_hand():
    a, b = "/lib/a.so", "/lib/b.so"
    trace = write("hand", [
        here(5, 7, BASE + 0x10), load(10, 7, BASE, a), here(11, 7, BASE + 0x10), here(12, 8, BASE + 0x10),
        event(20, "lttng_ust_dl:dlclose", 7, baddr=BASE), load(30, 7, BASE, b, name="lttng_ust_dl:dlopen"), here(31, 7, BASE + 0x10),
        load(40, 8, 0x400000, "/bin/exe", is_pic=0), here(41, 8, 0x400100), event(50, "lttng_ust_statedump:start", 8),
        load(51, 8, 0x500000, "/bin/other", is_pic=0), here(52, 8, 0x400100), here(53, 8, 0x500100),
        load(60, 9, BASE, "[linux-vdso.so.1]", size=0), here(61, 9, BASE + 0x2000), here(62, 9, BASE + 0x2001), here(63, 9, BASE)])
    found = {time: short(place) for time, place in places(trace).items()}
    same(found, {5: a + "+0x10", 11: a + "+0x10", 12: None, 31: b + "+0x10", 41: "/bin/exe+0x400100", 52: None,
                      53: "/bin/other+0x500100", 61: "[linux-vdso.so.1]+0x2000", 62: None, 63: None},
              "before it is known, after unloading, in another process, another program, the kernel's code")
    some = places("--filter", "number > 20", trace)
    same({time: short(place) for time, place in some.items()}, {time: place for time, place in found.items() if time > 20},
              "what --filter leaves out is known all the same")
    end = places("--begin", "1970-01-01T00:00:00.000000041Z", trace)
    same({time: short(place) for time, place in end.items()}, {time: place for time, place in found.items() if time > 40},
              "and what was before --begin")
    alone = write("alone", [load(1, None, BASE, a), here(2, None, BASE + 1)], {"procname": "app", "vpid": 300})
    same([short(place) for place in places(alone).values()], [a + "+0x1"], "a trace of one process need not say which")
    none = write("none", [{"t": 1, "n": "app:event", "p": {"number": 1}, "pc": {"cpu_id": 0}, "sec": {"vpid": 1}}])
    done = run("--places", none)
    tap.ok(done.returncode == 0 and "add-context -u -t ip -t vpid" in done.stderr and " at " not in done.stdout, "no addresses: a note")
    same(run("--places", "--format=babeltrace", none).returncode, 2, "not in Babeltrace's form")
    huge = write("huge", [load(1, 7, BASE, a, size=-1), load(2, 7, -1, b), here(3, 7, BASE), here(4, 7, -1), here(5, 7, 0)])
    done = run("--places", "--events", "app:event", huge)
    tap.ok(done.returncode == 0 and len(done.stdout.splitlines()) == 3, "sizes and addresses that cannot be")


def truth_of(history, time, pid, ip):
    """The list of what happened in a process, from its start to the end, for each question anew."""
    slots = {}
    for when, whose, what, base, path in history:
        if whose != pid:
            continue
        if when > time and base <= ip - 1 < base + 0x10000 and what == "load" and not any(b <= ip - 1 < b + 0x10000 for b in slots):
            return f"{path}+{hex(ip - base)}"
        if when > time:
            continue
        if what == "load":
            slots[base] = path
        elif what == "unload":
            slots.pop(base, None)
        else:
            slots = {}
    for base, path in slots.items():
        if base <= ip - 1 < base + 0x10000:
            return f"{path}+{hex(ip - base)}"
    return None


def check_chance():
    for seed in range(4):
        chance, history, events, asked = random.Random(seed), [], [], []
        loaded = {pid: set() for pid in (7, 8, 9)}
        for time in range(1, 400):
            pid, base, path = chance.choice((7, 8, 9)), BASE + 0x10000 * chance.randrange(5), f"/lib/{chance.choice('abc')}.so"
            what = chance.choices(("ask", "load", "unload", "start"), (60, 20, 15, 1))[0]
            if what == "ask" or (what == "load" and base in loaded[pid]):
                ip = base + chance.randint(1, 3)
                asked.append((time, pid, ip))
                events.append(here(time, pid, ip))
                continue
            history.append((time, pid, what, base, path))
            if what == "load":
                loaded[pid].add(base)
                events.append(load(time, pid, base, path, name=chance.choice(("lttng_ust_dl:dlopen", "lttng_ust_lib:load"))))
            elif what == "unload":
                loaded[pid].discard(base)
                events.append(event(time, "lttng_ust_dl:dlclose", pid, baddr=base))
            else:
                loaded[pid].clear()
                events.append(event(time, "lttng_ust_statedump:start", pid))
        found = {time: short(place) for time, place in places(write(f"chance{seed}", events)).items()}
        same(found, {time: truth_of(history, time, pid, ip) for time, pid, ip in asked}, f"made by chance, {seed}")


for check in (check_names, check_by_hand, check_chance):
    tap.run(check.__name__, check)
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# lull record --python and --functions: programs whose calls are known by counting, with threads, processes, generators and exceptions
# in them, libraries that come and go, some that are killed at a moment that nobody chose, and what is not recorded.
import glob
import json
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import recorders
from tap import Tap

LULL = os.environ["LULL"]
HOOK = os.path.join(os.environ["LULL_HOOKS"], "python")
PROGRAMS = os.environ["LULL_PROGRAMS"]
PATIENCE = 60
tap = Tap()

FAMILY = """
import os, subprocess, sys, threading, time
def leaf(): pass
def thread_main(n):
    for _ in range(n): leaf()
def numbers(n):
    for i in range(n): yield i
def dig(n): return 0 if n == 0 else 1 + dig(n - 1)
def fail(n):
    if n == 0: raise ValueError
    fail(n - 1)
class Shop:
    def sell(self): return [leaf() for _ in range(2)]
def in_child():
    for _ in range(7): leaf()
    os._exit(0)
def parent():
    child = os.fork()
    if child == 0: in_child()
    os.waitpid(child, 0)
def writer(fd):
    for _ in range(50): os.write(fd, b"x")
def nap(): time.sleep(0.02)
def main():
    threads = [threading.Thread(target=thread_main, args=(1000,)) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    sum(numbers(10)); dig(20); Shop().sell(); parent(); nap()
    try: fail(5)
    except ValueError: pass
    with open(os.devnull, "wb") as null: writer(null.fileno())
    subprocess.run([sys.executable, "-c", "def sub(): pass\\nsub(); sub()"], check=True)
main()
"""
# CPython before 3.11 knows no qualified names.
SELL = "Shop.sell" if sys.version_info >= (3, 11) else "sell"
# How often each was called: a generator once for each number, and to find that there is none.
COUNTED = {"leaf": 3 * 1000 + 2 + 7, "thread_main": 3, "numbers": 11, "dig": 21, "fail": 6, SELL: 1, "in_child": 1, "parent": 1,
           "writer": 1, "nap": 1, "main": 1, "<module>": 1}
# Python, which calls a library, which calls the kernel; and another library, when the first is gone.
MIXED = """
import _ctypes, ctypes, os, sys
os.chdir(sys.argv[1])
def call(letter, n):
    library = ctypes.CDLL(f"./libcalled-{letter}.so")
    library[f"outer_{letter}"](n)
    _ctypes.dlclose(library._handle)
call("a", 30)
call("b", 40)
"""
# Each call says when it is, and then its number, in memory that outlives the program, before it returns; all eight bytes at once.
COUNTER = """
import mmap, sys, time
with open(sys.argv[1], "r+b") as file: memory = mmap.mmap(file.fileno(), 40)
def count(i):
    at = 8 + i % 4 * 8
    memory[at : at + 8] = time.monotonic_ns().to_bytes(8, "little")
    memory[0:8] = i.to_bytes(8, "little")
def main():
    i = 0
    while True: i += 1; count(i)
main()
"""
# Says what it did in each function, as the kernel counts it for the thread between two looks at that. Memory is touched page by page.
COUNTERS = """
import json, mmap, os, resource, threading, time
def faults(): return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
def switches():
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nvcsw + usage.ru_nivcsw
def touch(memory):
    for i in range(0, len(memory), mmap.PAGESIZE): memory[i] = 1
def spin(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end: pass
def nap():
    for _ in range(20): time.sleep(0.001)
def leaf(): pass
def many():
    for _ in range(20000): leaf()
def pages(n):
    memory = mmap.mmap(-1, n * mmap.PAGESIZE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return memory
def main():
    said, mine, others, childs = {}, pages(1000), pages(300), pages(200)
    before = faults(); touch(mine); said["touch"] = faults() - before
    spin(20_000_000); many()
    before = switches(); nap(); said["nap"] = switches() - before
    thread = threading.Thread(target=touch, args=(others,)); thread.start(); thread.join()
    child = os.fork()
    if child == 0:
        touch(childs)
        os._exit(0)
    os.waitpid(child, 0)
    print(json.dumps(said))
main()
"""
# An interpreter in the interpreter lies on the calls that made it, and so do its own.
INTERPRETERS = """
import _xxsubinterpreters as interpreters
def leaf(): pass
def run():
    one = interpreters.create()
    interpreters.run_string(one, "def inner(): pass\\nfor _ in range(10): inner()")
    leaf()
    interpreters.destroy(one)
def main():
    for _ in range(3): run()
    leaf()
main()
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def ask(verb, *arguments):
    done = subprocess.run([LULL, verb, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"lull {verb}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def tables(trace):
    return json.loads(ask("calls", "--json", "--limit", "0", trace))["windows"][0]["tables"]


def rows_of(trace, file):
    """The functions of a file, by their names in it."""
    prefix = os.path.basename(file) + ":"
    return {row["function"].removeprefix(prefix): row for row in tables(trace)["functions"] if row["function"].startswith(prefix)}


def hooked(folder, *command, **more):
    """Starts a program as `lull record` does, to write its calls there."""
    environment = os.environ | {"PYTHONPATH": HOOK, "LULL_CALLS": folder, "LULL_CALLS_C": "0"} | more
    return subprocess.Popen([sys.executable, *command], env=environment, stdin=subprocess.DEVNULL)


def record(tracer, command, scratch):
    """Again, if another program filled the kernel's buffers meanwhile."""
    for _ in range(2):
        try:
            return recorders.record(tracer, command, tempfile.mkdtemp(dir=scratch), "--only", "--python", "--functions")[0]
        except RuntimeError as error:
            if "events were lost" not in str(error):
                raise
    return recorders.record(tracer, command, tempfile.mkdtemp(dir=scratch), "--only", "--python", "--functions")[0]


def check_family(recording, program):
    rows = rows_of(recording, program)
    counted = {name: rows[name]["calls"] for name in COUNTED if name in rows}
    tap.ok(counted == COUNTED, "each call of threads, processes, generators and exceptions", counted, COUNTED)
    tap.ok(rows["nap"]["total_ns"] >= 20_000_000, "a function that slept for 20 ms lasted so long", rows["nap"])
    # What Python itself calls (os.read in subprocess, …) is not counted by hand: the system calls of one function are.
    log = json.loads(ask("calllog", "--json", "--limit", "0", recording))["windows"][0]["tables"]["log"]
    (writer,) = [row for row in log if row["function"].endswith(":writer")]
    begin, end = writer["time_range"]["begin_ns"], writer["time_range"]["end_ns"]
    within = [row for row in log if row["function"] == "[write]" and row["task"]["tid"] == writer["task"]["tid"]
              and begin <= row["time_range"]["begin_ns"] and row["time_range"]["end_ns"] <= end and row["depth"] == writer["depth"] + 1]
    tap.ok(len(within) == 50, "50 system calls, each within the Python function that made it", len(within))
    sub = [row["calls"] for row in tables(recording)["functions"] if row["function"] == "<string>:sub"]
    tap.ok(sub == [2], "an interpreter that the program started", sub)


def check_functions(recording, said, what):
    """The programs say which functions they called; those of dig ended by longjmp. Handlers of signals are calls like others."""
    counted, pid_of = {}, {}
    with open(said, encoding="utf-8") as file:
        for pid, name, count in map(str.split, file):
            counted[name] = counted.get(name, 0) + int(count)
            pid_of[name] = int(pid)
    window = json.loads(ask("calls", "--json", "--limit", "0", recording))["windows"][0]
    found, lost = window["tables"], window["lost_events"]
    shown = {row["function"]: row["calls"] for row in found["functions"] if row["kind"] == "native"}
    expected = {**counted, "outer_a": 1, "inner_a": 30, "outer_b": 1, "inner_b": 40}
    # On a slow machine the next signal is there before the handler of the last one has ended: so many cannot all wait until they are
    # written. What is missing is counted as lost, and is of handlers alone.
    missing = {name: expected[name] - shown.get(name, 0) for name in expected if expected[name] != shown.get(name)}
    tap.ok(counted and shown.keys() == expected.keys() and set(missing) <= {"spin", "handler"} and all(0 < n <= lost for n in missing.values()),
           f"functions of C {what}", shown, expected, lost)
    written = sum(name.endswith((":entry", ":exit")) for name in (json.loads(line)["name"] for line in
                                                                  ask("print", "--json", os.path.join(recording, "calls")).splitlines()))
    tap.ok(written + lost == 2 * sum(expected.values()) - counted["dig"], f"starts and ends of C {what}: all are there, or lost", written, lost, expected)
    tasks = found["tasks"]
    # The family: three threads, two children and the program. The calls: two threads, a child and the program. The signals: three threads, too.
    tap.ok(len(tasks) == 6 + 1 + 4 + 4, "a row for each task", *tasks)
    whole = [row for row in tasks if not lost or row["task"]["pid"] != pid_of["handler"]]
    tap.ok(sum(row["unwound"] for row in whole) == counted["dig"] and not any(row["orphans"] for row in whole),
           "no return without its call; no call without its return, but for longjmp", *tasks)
    streams = [os.path.basename(path).split("-") for path in glob.glob(os.path.join(recording, "calls", "f-*"))]
    tap.ok(streams and len({(pid, tid) for _, pid, tid, _ in streams}) == len(streams), "a thread has one file, also of what it calls at its end", len(streams), streams)
    folded = ask("flame", recording)
    stacks = {tuple(line.rsplit(" ", 1)[0].split(";")[1:]) for line in folded.splitlines()}
    for letter in "ab":
        stack = ("mixed.py:<module>", "mixed.py:call", f"outer_{letter}", f"inner_{letter}", "[getppid]")
        tap.ok(any(one[:5] == stack for one in stacks), f"one stack of Python, C and the kernel: {letter}", *stacks)


def check_own(recording):
    """What the recording does in the middle of programs is called that, at the least twice for each thread that ended: none of these
    programs makes the system calls by which it has room on the disk, and gives back what it did not need."""
    shown = {row["function"]: row for row in tables(recording)["functions"]}
    streams = len(glob.glob(os.path.join(recording, "calls", "*-*")))
    others = [name for name in ("[fallocate]", "[pwritev]", "[pwrite64]", "[truncate]") if name in shown]
    own = shown.get("[recording]", {})
    tap.ok(not others and own.get("kind") == "recording" and own["calls"] >= 2 * streams > 10, "what the recording does in the program", others, own, streams)


def check_lost(scratch, metadata):
    """Of a program whose signals bring more than can wait: each event is in the file, or counted as lost, in whichever packet that was."""
    folder = os.path.join(tempfile.mkdtemp(dir=scratch), "calls")
    os.mkdir(folder)
    shutil.copy(metadata, folder)
    done = subprocess.run([os.path.join(PROGRAMS, "floods")], capture_output=True, text=True, timeout=PATIENCE, check=True,
                          env=os.environ | {"LULL_CALLS": folder, "LD_PRELOAD": os.path.join(os.environ["LULL_HOOKS"], "liblull-functions.so")})
    made = sum(int(count) for _, _, count in map(str.split, done.stdout.splitlines()))
    lost = json.loads(ask("info", "--json", folder))["lost"]["events"]
    shown = sum(json.loads(line)["name"].endswith(("entry", "exit")) for line in ask("print", "--json", folder).splitlines())
    packets = os.path.getsize(glob.glob(os.path.join(folder, "f-*"))[0]) / (128 << 10)
    tap.ok(packets > 3 and lost > 100 and 2 * made == shown + lost, "what signals bring is recorded or counted as lost, in each packet",
           packets, made, shown, lost)


def check_counters(tracer, scratch):
    """Counters that are read with each call: each function has what it did itself, whatever the recording costs."""
    folder = tempfile.mkdtemp(dir=scratch)
    program, said = write(os.path.join(folder, "counters.py"), COUNTERS), os.path.join(folder, "said")
    recording, _ = recorders.record(tracer, ["sh", "-c", '"$1" "$2" >"$3"', "sh", sys.executable, program, said], folder, "--only", "--python",
                                    "--call-counters", "context-switches,task-clock,page-faults")
    with open(said, encoding="utf-8") as file:
        seen = json.load(file)
    found = json.loads(ask("calls", "--json", "--limit", "0", "--weight", "thread-page-faults", recording))["windows"][0]
    rows = {row["function"].removeprefix("counters.py:"): row for row in found["tables"]["functions"] if row["function"].startswith("counters.py:")}
    pages, clock, turns = ({name: row[f"self_thread_{what}"] for name, row in rows.items()} for what in ("page_faults", "task_clock_ns", "context_switches"))
    # The program looks from outside of touch, which may touch some pages of its own, the more after a fork; main does so where it forks.
    others = {name: pages[name] for name in ("spin", "many", "leaf", "nap")}
    tap.ok(seen["touch"] >= 1000 and 0 <= pages["touch"] - seen["touch"] - 300 - 200 <= 10 and max(others.values()) <= 20,
           "page faults are those of the function that touches memory, and of no other", seen, pages)
    tap.ok(20_000_000 <= clock["spin"] <= 24_000_000, "a clock of the thread", clock)
    tap.ok(seen["nap"] >= 20 and abs(turns["nap"] - seen["nap"]) <= 2, "switches of a function that sleeps", seen, turns)
    for row in found["tables"]["counters"]:
        parts = sum(row[what] for what in ("in_calls", "not_in_calls", "idle", "interrupts", "unknown"))
        tap.ok(parts == row["counted"] > 0 == row["unknown"], f"{row['counter']}: nothing is missing", row)
    tap.ok(not any("several calls" in note for note in found["notes"]), "nothing is shared", found["notes"])


def check_interpreters(scratch, metadata):
    if sys.version_info >= (3, 12):
        tap.skip("interpreters in an interpreter", "from CPython 3.12 on they do not load the hook")
        return
    folder = os.path.join(tempfile.mkdtemp(dir=scratch), "calls")
    os.mkdir(folder)
    shutil.copy(metadata, folder)
    process = hooked(folder, write(os.path.join(scratch, "interpreters.py"), INTERPRETERS))
    status = process.wait(PATIENCE)
    rows = rows_of(folder, "interpreters.py")
    outer = ("<module>", "main", "run", "leaf")
    tap.ok(status == 0 and [rows[name]["calls"] for name in outer] == [1, 1, 3, 4], "calls around interpreters in an interpreter", status, rows)
    tap.ok(rows["<module>"]["total_ns"] >= rows["main"]["total_ns"] >= rows["run"]["total_ns"] > 0, "each lasts until it returns", rows)
    stacks = [line.rsplit(" ", 1)[0].split(";")[1:] for line in ask("flame", folder).splitlines()]
    below = [stack[:3] for stack in stacks if stack[-1] == "<string>:inner"]
    tap.ok(below == [[f"interpreters.py:{name}" for name in outer[:3]]], "and what these call lies on them", below, stacks[:5])
    (task,) = tables(folder)["tasks"]
    tap.ok(not any(task[what] for what in ("open", "unwound", "orphans")), "no return without its call", task)


def check_peer(recording):
    if not shutil.which("babeltrace2"):
        tap.skip("babeltrace2 reads the calls", "babeltrace2 is not installed")
        return
    done = subprocess.run(["babeltrace2", os.path.join(recording, "calls")], capture_output=True, text=True, timeout=PATIENCE, check=False)
    lines = done.stdout.splitlines()
    calls, codes = (sum(f" lull_python:{what}: " in line for line in lines) for what in ("call", "code"))
    shown = sum(row["calls"] for row in tables(recording)["functions"] if row["kind"] == "python")
    tap.ok(done.returncode == 0 and calls == shown and codes > 0, "babeltrace2 reads as many calls", done.returncode, calls, shown, done.stderr)


def last_event_ns(calls):
    """When Lull says that the last event was, on the clock by which programs stamp."""
    (trace,) = json.loads(ask("info", "--json", calls))["traces"]
    return trace["end_ns"] - trace["clock"]["offset_ns"]


def kill_one(scratch, metadata, chance):
    """Whether what a program did until it was killed is all there: it says how often it called, and when it did so last. The event of a
    call comes before what the call says, and after what the one before said, also if another program had the CPU in between."""
    folder = tempfile.mkdtemp(dir=scratch)
    calls, said = os.path.join(folder, "calls"), os.path.join(folder, "said")
    os.mkdir(calls)
    shutil.copy(metadata, calls)
    program = write(os.path.join(folder, "counter.py"), COUNTER)
    with open(said, "w+b") as file:
        file.truncate(40)
        memory = mmap.mmap(file.fileno(), 40)
    process = hooked(calls, program, said)
    limit = time.monotonic() + PATIENCE
    while struct.unpack_from("<q", memory)[0] == 0 and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.05))
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed_ns = time.monotonic_ns()
    (counted,) = struct.unpack_from("<q", memory)
    said_ns = [struct.unpack_from("<q", memory, 8 + i % 4 * 8)[0] for i in (counted - 1, counted)]
    done = subprocess.run([LULL, "calls", "--json", "--limit", "0", calls], capture_output=True, text=True, timeout=PATIENCE, check=False)
    rows = {row["function"]: row for row in json.loads(done.stdout)["windows"][0]["tables"]["functions"]}
    recorded = rows["counter.py:count"]["calls"]
    last_ns = last_event_ns(calls)
    is_right = 1 < counted <= recorded <= counted + 1 and said_ns[0] <= last_ns <= killed_ns and not done.stderr
    return is_right, (counted, recorded, last_ns - said_ns[1], killed_ns - last_ns, done.stderr)


def check_killed(scratch, metadata):
    chance = random.Random(15)
    found = [kill_one(scratch, metadata, chance) for _ in range(int(os.environ.get("LULL_TEST_KILLS", "3")))]
    tap.ok(all(is_right for is_right, _ in found), "programs that were killed: all calls until then", *found)


def check_full_disk(scratch, metadata):
    """A program goes on when the disk is full, and what it could not write is counted: each call has two events."""
    folder = os.path.join(scratch, "full")
    os.makedirs(os.path.join(folder, "disk"))
    script = """mount -t tmpfs -o size=400k none "$1/disk" 2>/dev/null || exit 77
                mkdir "$1/disk/calls" && cp "$2" "$1/disk/calls" &&
                LULL_CALLS="$1/disk/calls" LD_PRELOAD="$3/liblull-functions.so" "$4/signals" >"$1/said" && cp -r "$1/disk/calls" "$1" """
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", folder, metadata, os.environ["LULL_HOOKS"], PROGRAMS], timeout=PATIENCE, check=False)
    if done.returncode == 77:
        tap.skip("a full disk", "nothing may be mounted here")
        return
    with open(os.path.join(folder, "said"), encoding="utf-8") as file:
        events = 2 * sum(int(line.split()[2]) for line in file)
    calls = os.path.join(folder, "calls")
    kept = sum("lull_functions:entry" in line or "lull_functions:exit" in line for line in ask("print", calls).splitlines())
    lost = json.loads(ask("calls", "--json", calls))["windows"][0]["lost_events"]
    tap.ok(done.returncode == 0 and 0 < kept < events == kept + lost, "a full disk: what is not kept is counted", done.returncode, kept, lost, events)


def check_own_sitecustomize(scratch):
    """The program has the sitecustomize and the search path that it would have."""
    folder = os.path.join(scratch, "site")
    os.makedirs(os.path.join(folder, "calls"))
    write(os.path.join(folder, "sitecustomize.py"), "import sys\nsys.mine = True\n")
    program = write(os.path.join(folder, "program.py"), f"import sys, sitecustomize\nassert sys.mine and {HOOK!r} not in sys.path\n"
                                                        f"assert sitecustomize.__file__ == {folder!r} + '/sitecustomize.py'\n")
    process = hooked(os.path.join(folder, "calls"), program, PYTHONPATH=f"{HOOK}:{folder}")
    tap.ok(process.wait(PATIENCE) == 0 and len(os.listdir(os.path.join(folder, "calls"))) == 1, "the program's own sitecustomize", process.returncode)


def check_over(scratch):
    """A program that outlives the recording goes on, and writes no new packet where that was."""
    folder = os.path.join(scratch, "calls.part")
    os.mkdir(folder)
    program = write(os.path.join(scratch, "outlives.py"),
                    f"import os\ndef leaf(): pass\nleaf()\nos.rename({folder!r}, {folder!r}[:-5])\nfor _ in range(20000): leaf()\n")
    process = hooked(folder, program)
    status = process.wait(PATIENCE)
    sizes = [os.path.getsize(path) for path in glob.glob(os.path.join(scratch, "calls", "*"))]
    tap.ok(status == 0 and len(sizes) == 1 and sizes[0] <= 65536 and not os.path.exists(folder), "a program that outlives the recording", status, sizes)


def check_usage():
    for arguments, said in ((("--python",), "and there is none"), (("--python", "--snapshot", "--", "true"), "a flight recorder"),
                            (("--call-counters", "page-faults", "--", "true"), "needs --python"),
                            (("--python", "--call-counters", "cycles", "--", "true"), "takes different ones of task-clock"),
                            (("--heap", "--call-counters", "task-clock,task-clock", "--", "true"), "takes different ones of task-clock")):
        done = subprocess.run([LULL, "record", *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
        tap.ok(done.returncode == 2 and said in done.stderr, f"refused: {said}", done.returncode, done.stderr)


def record_nothing(tracer, scratch, hooks):
    command = [LULL, "record", "--tracer", tracer, "--only", "--output", os.path.join(scratch, "nothing"), "--python", "--", "true"]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=os.environ | {"LULL_HOOKS": hooks})


def usable_tracer(scratch):
    """The first that can be used here, after a recording of a program that is not of Python; or why there is none."""
    for tracer in ("perf", "ftrace"):
        done = record_nothing(tracer, scratch, os.environ["LULL_HOOKS"])
        if done.returncode == 0:
            tap.ok("no program recorded" in done.stderr, "no Python program: a notice", done.stderr)
            return tracer, None
    return None, recorders.why_not("ftrace", scratch)


def check_path(recording, said):
    """naps.c waits in two functions, one of them in the thread that main waits for, and says for how long it was in each."""
    with open(said, encoding="utf-8") as file:
        stamped = {name: int(ns) for name, ns in (line.split() for line in file)}
    path = json.loads(ask("critpath", "--calls", "--json", recording))
    whole = path["query"]["end_ns"] - path["query"]["begin_ns"]
    shown, waits = {}, {}
    for row in path["summary"]["by_function"]:
        shown[row["function"]] = shown.get(row["function"], 0) + row["duration_ns"]
        if row["state"] == "blocked":
            waits[row["function"]] = waits.get(row["function"], 0) + row["duration_ns"]
    tap.ok(sum(shown.values()) == whole, "the path by function: all of it", whole, shown)
    # The stamps lie within the function, and the path is in it from its call to its return.
    tap.ok(all(abs(shown.get(name, 0) - ns) < 0.05 * ns + 2_000_000 for name, ns in stamped.items()), "the path by function: as the program says", stamped, shown)
    naps = waits.get("sleep_long", 0) + waits.get("sleep_short", 0)
    tap.ok(naps >= 0.95 * sum(waits.values()) > 0.2e9, "the path by function: waits are those of the functions that sleep", waits)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        check_own_sitecustomize(scratch)
        check_over(scratch)
        check_usage()
        tracer, why = usable_tracer(scratch)
        if why:
            tap.skip("recording", why)
            return
        shutil.rmtree(os.path.join(scratch, "nothing"))
        done = record_nothing(tracer, scratch, scratch)
        tap.ok(done.returncode == 1 and "_lull_calls" in done.stderr and not glob.glob(os.path.join(scratch, "nothing*")),
               "no hook: an error, and nothing is left", done.stderr)
        program = write(os.path.join(scratch, "family.py"), FAMILY)
        mixed, said = write(os.path.join(scratch, "mixed.py"), MIXED), os.path.join(scratch, "said")
        programs = os.path.join(scratch, "programs")
        os.mkdir(programs)
        for name in ("calls", "signals", "libcalled-a.so", "libcalled-b.so"):
            shutil.copy(os.path.join(PROGRAMS, name), programs)
        recording = record(tracer, ["sh", "-c", '"$1" "$2"; "$1" "$3" "$4"; "$4/calls" >"$5"; "$4/signals" >>"$5"', "sh", sys.executable, program, mixed, programs, said],
                           scratch)
        check_functions(recording, said, "by their names, also of libraries that were closed")
        shutil.rmtree(programs)
        check_family(recording, program)
        check_functions(recording, said, "by their names in the recording, when the files are gone")
        check_peer(recording)
        check_own(recording)
        said = os.path.join(scratch, "naps")
        check_path(record(tracer, ["sh", "-c", 'exec "$1" >"$2"', "sh", os.path.join(PROGRAMS, "naps"), said], scratch), said)
        check_killed(scratch, os.path.join(recording, "calls", "metadata"))
        check_full_disk(scratch, os.path.join(recording, "calls", "metadata"))
        check_lost(scratch, os.path.join(recording, "calls", "metadata"))
        check_counters(tracer, scratch)
        check_interpreters(scratch, os.path.join(recording, "calls", "metadata"))


tap.run("python", main)
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Two that wait for each other when a recording ends, some since before it started, by mutexes, by locks of readers and writers, and by locks of files: the first ten lines of the critical path of one
# say who waits for what, and that the other has it. Needs root. LULL is the program.
#
# With arguments FOLDER FILE it is what is recorded: it leaves pairs that wait, and their numbers in the file.
import ctypes
import fcntl
import json
import mmap
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

FIRST_LINES, NAP = 10, 0.1
LIFE_S = 60
HAS_OWN = 4000  # in the memory of the two, behind their locks: a byte of each, which has taken its own
# Which call they wait in.
KINDS = {"threads": "futex", "processes": "futex", "robust": "futex", "readers": "futex", "writers": "futex", "writers_apart": "futex",
         "flock": "flock", "open_files": "fcntl"}
# Of locks of readers and writers, all taken by writers first: how the second one is asked for, and which word of it glibc waits for.
RWLOCKS = {"readers": ("rdlock", 8), "writers": ("wrlock", 12), "writers_apart": ("wrlock", 12)}
THREADS = ("threads", "readers", "writers")
# The kernel prevents the one of mutexes that inherit priorities: it says EDEADLK to one, and glibc has that wait for ever.
PREVENTED = "inheriting"
LIBC = ctypes.CDLL(None)


# ---- what is recorded ----

def mutexes(kind, memory):
    """Where two lie."""
    attributes = ctypes.create_string_buffer(64)
    what = "rwlock" if kind in RWLOCKS else "mutex"
    getattr(LIBC, f"pthread_{what}attr_init")(attributes)
    if kind not in THREADS:
        getattr(LIBC, f"pthread_{what}attr_setpshared")(attributes, 1)
    if kind == "robust":
        LIBC.pthread_mutexattr_setrobust(attributes, 1)
    if kind == PREVENTED:
        LIBC.pthread_mutexattr_setprotocol(attributes, 1)
    places = [ctypes.addressof(ctypes.c_char.from_buffer(memory, 128 * number)) for number in range(2)]
    for place in places:
        getattr(LIBC, f"pthread_{what}_init")(ctypes.c_void_p(place), attributes)
    return places


def take(kind, lock, is_first):
    if kind in RWLOCKS:
        how = "wrlock" if is_first else RWLOCKS[kind][0]
        getattr(LIBC, f"pthread_rwlock_{how}")(ctypes.c_void_p(lock))
    elif kind == "flock":
        fcntl.flock(lock, fcntl.LOCK_EX)
    elif kind == "open_files":
        fcntl.fcntl(lock, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLKW
    else:
        LIBC.pthread_mutex_lock(ctypes.c_void_p(lock))


def wait_for_each_other(kind, number, folder, memory, places, file):
    """The first takes its own lock, then that of the second, and the other way round."""
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w", encoding="ascii") as comm:
        comm.write(f"dl-{number}")
    locks = places or [open(os.path.join(folder, f"{kind}-{lock}"), "w", encoding="ascii") for lock in range(2)]  # noqa: SIM115
    names = [hex(place + RWLOCKS.get(kind, (None, 0))[1]) for place in places] or [lock.name for lock in locks]
    os.write(file, (json.dumps({"kind": kind, "number": number, "tid": threading.get_native_id(), "pid": os.getpid(),
                                "waits_for": names[1 - number]}) + "\n").encode())
    take(kind, locks[number], True)
    memory[HAS_OWN + number] = 1
    while not memory[HAS_OWN + 1 - number]:  # else the first may have both, and leave
        time.sleep(NAP / 10)
    time.sleep(NAP)
    take(kind, locks[1 - number], False)


def start(kind, folder, file):
    memory = mmap.mmap(-1, 4096)
    places = mutexes(kind, memory) if KINDS.get(kind, "futex") == "futex" else []
    for number in range(1 if kind in THREADS else 2):
        if os.fork() == 0:
            signal.alarm(LIFE_S)
            for stream in range(3):  # whoever reads what the recorder prints must not wait for us
                os.dup2(os.open(os.devnull, os.O_RDWR), stream)
            if kind in THREADS:
                threading.Thread(target=wait_for_each_other, args=(kind, 1, folder, memory, places, file)).start()
            wait_for_each_other(kind, number, folder, memory, places, file)
            os._exit(1)


def leave(folder, path):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for kind in (*KINDS, PREVENTED):
        start(kind, folder, file)
    time.sleep(8 * NAP)


# ---- what is said of it ----

def question(tracer, folder, is_before):
    """What they reported, and the recording, in which they came to wait, or before which they did. They are gone afterwards."""
    reports = os.path.join(folder, "reports")
    program = [sys.executable, __file__, folder, reports]
    try:
        if is_before:
            subprocess.run(program, check=True, timeout=LIFE_S)
        out, _ = recorders.record(tracer, ["sleep", "0.3"] if is_before else program, folder)
    finally:
        with open(reports, encoding="utf-8") as file:
            known = [json.loads(line) for line in file]
        for pid in {one["pid"] for one in known}:
            os.kill(pid, signal.SIGKILL)
    return known, out


def path_of(one, out, *options):
    return recorders.ask("critpath", "--tid", str(one["tid"]), *options, out)


def check(tracer, one, other, out):
    kind, call = one["kind"], KINDS[one["kind"]]
    text = path_of(one, out)
    first = "\n".join(text.splitlines()[:FIRST_LINES])
    of = "of " if call != "futex" else ""
    said = [f"dl-{who['number']}/{who['tid']} waits in {call} {of}{who['waits_for']}, which dl-{whose['number']}/{whose['tid']} holds"
            for who, whose in ((one, other), (other, one))]
    tap.ok("Deadlock: " in first and all(sentence in first for sentence in said), f"{tracer} {kind}: says that they wait for each other",
           *said, text[:3000])
    row = re.search(rf"^.*dl-{one['number']}: blocked on a task: .*$", text, re.MULTILINE)
    tap.ok(row and f"in {call} {of}{one['waits_for']}, which dl-{other['number']} holds" in row[0], f"{tracer} {kind}: so does the cause", text[:3000])
    tap.ok("is unknown" not in text, f"{tracer} {kind}: nothing is unknown", text[:3000])
    path = json.loads(path_of(one, out, "--json"))
    tap.ok(path["deadlock"] and [(wait["tid"], wait["call"], wait["object"], wait["holder_tid"]) for wait in path["open_waits"]] ==
           [(one["tid"], call, one["waits_for"], other["tid"]), (other["tid"], call, other["waits_for"], one["tid"])],
           f"{tracer} {kind}: so does JSON", path["open_waits"])


def check_prevented(tracer, pair, out):
    texts = [path_of(one, out) for one in pair]
    firsts = ["\n".join(text.splitlines()[:FIRST_LINES]) for text in texts]
    held = [f"dl-{one['number']}/{one['tid']} waits in futex {one['waits_for']}, which dl-{1 - one['number']}/" in first
            for one, first in zip(pair, firsts)]
    tap.ok(all("Deadlock: " in first and "after futex failed as it would never have ended (EDEADLK)" in first for first in firsts) and
           sorted(held) == [False, True], f"{tracer} {PREVENTED}: one was refused the mutex, for which the other waits", *texts)


def without_holders(tracer, one, out):
    """A recording of somebody else: who waits for what is known, not who has it."""
    path = os.path.join(out, "recording.json")
    with open(path, encoding="utf-8") as file:
        description = json.load(file)
    del description["lock_holders"]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(description, file)
    text = path_of(one, out)
    tap.ok(f"Not over when the trace ends: dl-{one['number']}/{one['tid']} waits in {KINDS[one['kind']]} " in text and "Deadlock" not in text and
           " holds" not in text, f"{tracer}: claims nothing where it is not known who has it", text[:3000])


def check_all(tracer, known, out):
    for kind in KINDS:
        pair = sorted((one for one in known if one["kind"] == kind), key=lambda one: one["number"])
        check(tracer, *pair, out)


def run(tracer):
    with tempfile.TemporaryDirectory() as folder:
        check_all(f"{tracer}, before", *question(tracer, folder, is_before=True))
    with tempfile.TemporaryDirectory() as folder:
        known, out = question(tracer, folder, is_before=False)
        check_all(tracer, known, out)
        check_prevented(tracer, sorted((one for one in known if one["kind"] == PREVENTED), key=lambda one: one["number"]), out)
        without_holders(tracer, next(one for one in known if one["kind"] in KINDS), out)


if len(sys.argv) == 3:
    leave(*sys.argv[1:])
else:
    from record import recorders
    from tap import Tap
    tap = Tap()
    sys.exit(recorders.run_each(tap, run))

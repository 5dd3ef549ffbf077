#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Files of a trace that are not what they should be: pipes, links, sizes out of reason, parts that are missing. Each gives one message
# and exit status 1, nothing waits for them, and memory stays small.
# LULL is the program, LULL_SAMPLES the directory of the unpacked samples.
import ctypes
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading

from tap import Tap

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
tap = Tap()
HEAD = "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"
U8 = "integer { size = 8; }"
METADATA = HEAD + f"event {{ name = e; fields := struct {{ {U8} v; }}; }};\n"
MIB = 1 << 20


class Result:
    def __init__(self, arguments, seconds=30, before=None):
        """Runs Lull; memory is the most it had, in MiB. What does not end is killed: status None. before: called in the child."""
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        child = subprocess.Popen([lull, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, errors="replace", env=environment, preexec_fn=before)
        late = threading.Event()

        def end():
            late.set()
            child.kill()
        timer = threading.Timer(seconds, end)
        timer.start()
        texts = {}
        readers = [threading.Thread(target=lambda key=key, file=file: texts.update({key: file.read(20 * MIB)}))
                   for key, file in (("out", child.stdout), ("err", child.stderr))]
        for reader in readers:
            reader.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        for reader in readers:
            reader.join()
        child.returncode = os.waitstatus_to_exitcode(status)
        self.status = None if late.is_set() else child.returncode
        self.memory = usage.ru_maxrss // 1024
        self.out, self.err = texts["out"], texts["err"]

    def __str__(self):
        return f"status {self.status}, {self.memory} MiB\n{self.out[:500]}\n{self.err[:1000]}"


def scratch():
    return tempfile.TemporaryDirectory(prefix="lull-files-")


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)


def make_trace(path, metadata=METADATA, stream=bytes([1, 2, 3])):
    write(os.path.join(path, "metadata"), metadata)
    write(os.path.join(path, "s"), stream)


def complains(name, result, *words):
    """One message, which says these words; not a success."""
    said = [line for line in result.err.splitlines() if all(word in line for word in words)]
    tap.ok(result.status == 1 and len(said) == 1, name, result)


def test_deep():
    """Traces are found however deep they lie, and what lies too deep is named."""
    with scratch() as folder:
        make_trace(os.path.join(folder, *["d"] * 40))
        result = Result(["print", folder])
        tap.ok(result.status == 0 and result.out.count("\n") == 3, "40 directories deep", result)
        make_trace(os.path.join(folder, *["e"] * 300))
        result = Result(["print", folder])
        complains("300 directories deep", result, "e/e/e", "left out", "directories deep")
        tap.ok(result.out.count("\n") == 3, "the other trace is read", result)


# --- pipes and links ----------------------------------------------------------------------------------------------------------------------

def test_pipes():
    with scratch() as folder:
        trace = os.path.join(folder, "trace")
        make_trace(trace)
        os.mkdir(os.path.join(trace, "index"))
        os.mkfifo(os.path.join(trace, "index", "s.idx"))
        result = Result(["print", trace])
        complains("an index that is a pipe", result, "s.idx", "a pipe", "the index is not used")
        tap.ok(result.out.count("\n") == 3, "all events are read without it", result)
        os.remove(os.path.join(trace, "index", "s.idx"))
        os.mkfifo(os.path.join(trace, "other"))
        result = Result(["print", trace])
        complains("a stream that is a pipe", result, "other", "a pipe", "left out")
        tap.ok(result.out.count("\n") == 3, "the other stream is read", result)
        os.remove(os.path.join(trace, "other"))
        os.remove(os.path.join(trace, "metadata"))
        os.mkfifo(os.path.join(trace, "metadata"))
        complains("metadata that are a pipe", Result(["print", trace]), "metadata", "a pipe")
        make_trace(os.path.join(folder, "sound"))
        complains("beside a trace that is sound", Result(["info", folder]), "metadata", "a pipe")
        shutil.rmtree(trace)
        os.mkfifo(os.path.join(folder, "trace.dat"))
        complains("a trace.dat that is a pipe", Result(["info", folder]), "trace.dat", "a pipe")
        shutil.copytree(os.path.join(folder, "sound"), trace)
        os.mkfifo(os.path.join(trace, "recording.json"))
        complains("a recording.json that is a pipe", Result(["info", trace]), "recording.json", "a pipe")


def add(archive, name, data=b"", kind=tarfile.REGTYPE, target="", **more):
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname = len(data), kind, target
    member.pax_headers = more.get("pax", {})
    archive.addfile(member, io.BytesIO(data))


def make_tar(path, *members):
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            add(archive, *member[:-1], **member[-1]) if isinstance(member[-1], dict) else add(archive, *member)
    return path


def test_archives():
    stream, metadata = ("t/s", bytes([1, 2])), ("t/metadata", METADATA.encode())
    with scratch() as folder:
        path = os.path.join(folder, "t.tar")
        result = Result(["print", make_tar(path, metadata, stream)])
        tap.ok(result.status == 0 and result.out.count("\n") == 2, "a sound archive", result)
        result = Result(["print", make_tar(path, stream, ("t/metadata", b"", tarfile.LNKTYPE, "else/metadata"))])
        complains("metadata that are a link to nowhere", result, "t/metadata", "link")
        result = Result(["print", make_tar(path, stream, ("t/metadata", b"", tarfile.SYMTYPE, "else/metadata"),
                                           ("u/s", bytes([1])), ("u/metadata", METADATA.encode()))])
        complains("metadata that are a symbolic link", result, "t/metadata", "link")
        result = Result(["print", make_tar(path, metadata, stream, ("t/p", b"", tarfile.FIFOTYPE))])
        complains("a stream that is a pipe in an archive", result, "t/p", "pipe")
        result = Result(["print", make_tar(path, metadata, stream, ("t/l", b"", tarfile.LNKTYPE, "t/s"), ("latest", b"", tarfile.SYMTYPE, "t"))])
        tap.ok(result.status == 0 and result.out.count("\n") == 4, "links that can be followed, or do not matter", result)


# --- sizes ----------------------------------------------------------------------------------------------------------------------------------

def sparse(size):
    """What a file with one byte at its end is in a tar: GNU tar manual, “Storing Sparse Files”, PAX format 1.0."""
    pax = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "t/metadata", "GNU.sparse.realsize": str(size)}
    return f"1\n{size - 1}\n1\n".encode().ljust(512, b"\0") + b"x", pax


def test_sizes():
    with scratch() as folder:
        data, pax = sparse(1000 * MIB)
        path = make_tar(os.path.join(folder, "t.tar"), ("t/s", bytes([1])), ("t/metadata", data, {"pax": pax}))
        result = Result(["info", path])
        complains("huge metadata in an archive", result, "metadata", "more than such a file can have")
        tap.ok(result.memory < 300, "it is not unpacked into memory", result)
        trace = os.path.join(folder, "trace")
        make_trace(trace)
        os.truncate(os.path.join(trace, "metadata"), 1600 * MIB)
        result = Result(["info", trace])
        complains("huge metadata", result, "metadata", "more than such a file can have")
        tap.ok(result.memory < 300, "they are not read", result)
        make_trace(trace)
        write(os.path.join(trace, "index", "s.idx"), b"")
        os.truncate(os.path.join(trace, "index", "s.idx"), 1600 * MIB)
        result = Result(["print", trace])
        complains("a huge index", result, "s.idx", "more than such a file can have", "the index is not used")
        tap.ok(result.memory < 300 and result.out.count("\n") == 3, "it is not read", result)


def test_empty_elements():
    """4000^6 structures without a bit."""
    with scratch() as folder:
        metadata = HEAD + f"event {{ name = e; fields := struct {{ struct {{ }} s{'[4000]' * 6}; {U8} v; }}; }};\n"
        make_trace(folder, metadata)
        for verb in ("print",), ("print", "--json"), ("print", "--format", "babeltrace"):
            result = Result([*verb, folder])
            tap.ok(result.status is not None and result.memory < 300, "lull " + " ".join(verb) + " ends", result)


def test_large_context():
    """Nothing limits the context of a packet to what is read at a time."""
    size = 700_000
    metadata = HEAD + (f"stream {{ packet.context := struct {{ {U8} filler[{size}]; integer {{ size = 64; }} packet_size; "
                       "integer { size = 64; } content_size; }; };\n"
                       f"event {{ name = e; fields := struct {{ {U8} v; }}; }};\n")
    packet = bytes(size) + struct.pack("<QQ", 8 * (size + 19), 8 * (size + 19)) + bytes([4, 5, 6])
    with scratch() as folder:
        make_trace(folder, metadata, 2 * packet)
        result = Result(["print", folder])
        tap.ok(result.status == 0 and re.findall(r"v = (\d)", result.out) == list("456456") and not result.err,
               "packets with contexts of 700 kB are whole", result)


# --- descriptors ------------------------------------------------------------------------------------------------------------------------

I32, I64 = (f"integer {{ size = {size}; align = 8; signed = true; }}" for size in (32, 64))
TEXT = "string { encoding = UTF8; }"
FORKS = ('env { domain = "kernel"; tracer_name = "lttng-modules"; hostname = "h"; };\nclock { name = c; freq = 1000000000; };\n'
         f"stream {{ packet.context := struct {{ {I32} cpu_id; }}; event.header := struct {{ {U8} id; "
         "integer { size = 64; align = 8; map = clock.c.value; } timestamp; }; };\n")
EVENTS = (("sched_process_fork", f"{TEXT} parent_comm; {I32} parent_tid; {I32} parent_pid; {TEXT} child_comm; {I32} child_tid; {I32} child_pid;"),
          ("syscall_entry_openat", f"{I32} dfd; {TEXT} filename; {I32} flags;"), ("syscall_exit_openat", f"{I64} ret;"),
          ("sched_switch", f"{TEXT} prev_comm; {I32} prev_tid; {I32} prev_prio; {I64} prev_state; {TEXT} next_comm; {I32} next_tid; "
           f"{I32} next_prio;"),
          ("syscall_entry_write", f"{I32} fd; {I64} count;"), ("syscall_exit_write", f"{I64} ret;"),
          ("sched_process_exec", f"{TEXT} filename; {I32} tid; {I32} old_tid;"))
CLOEXEC = 0o2000000


def fork_trace(path, n_files, n_children, opens, executes):
    """A process opens files, every second with O_CLOEXEC, and forks children that write 5 bytes to one of the others each. It opens one more
    after each fork, or they execute a program first."""
    metadata = HEAD + FORKS + "".join(f'event {{ name = "{name}"; id = {i}; fields := struct {{ {fields} }}; }};\n'
                                      for i, (name, fields) in enumerate(EVENTS))
    ids = {name: i for i, (name, _) in enumerate(EVENTS)}
    stream = [struct.pack("<i", 0)]

    def event(name, form, *values):
        values = [value.encode() + b"\0" if isinstance(value, str) else value for value in values]
        form = "".join(f"{len(value)}s" if isinstance(value, bytes) else kind for kind, value in zip(form, values))
        stream.append(struct.pack("<BQ" + form, ids[name], 1000 * len(stream), *values))

    def switch(before, after):
        event("sched_switch", "siiqsii", "x", before, 20, 0, "x", after, 20)

    def open_file(fd, flags):
        event("syscall_entry_openat", "isi", -100, f"/f{fd % 50}", flags)
        event("syscall_exit_openat", "q", fd)
    switch(0, 100)
    for fd in range(n_files):
        open_file(fd, CLOEXEC * (fd % 2))
    for child in range(1000, 1000 + n_children):
        event("sched_process_fork", "siisii", "x", 100, 100, "x", child, child)
        switch(100, child)
        if executes:
            event("sched_process_exec", "sii", "p", child, child)
        event("syscall_entry_write", "iq", child * 2 % n_files, 5)
        event("syscall_exit_write", "q", 5)
        switch(child, 100)
        if opens:
            open_file(child * 7 % n_files & ~1, 0)
    make_trace(path, metadata, b"".join(stream))


def test_forks():
    """5000 children of a process with 5000 descriptors: 25 million descriptors that nobody has changed, of 12 bytes each."""
    for opens, executes in (False, False), (True, False), (False, True):
        with scratch() as folder:
            fork_trace(folder, 5000, 5000, opens, executes)
            result = Result(["iousagetop", "--json", "--limit", "0", folder], 60)
            name = "forks" + " and files opened between" * opens + " and programs executed" * executes
            tap.ok(result.status == 0 and result.memory < 200, f"{name}: memory is small", result)
            rows = [row for window in json.loads(result.out)["windows"] for row in window["tables"]["per-file-top"]]
            written = [row["bytes"] for row in rows if row["of"] == "written" and row["path"].startswith("/f")]
            tap.ok(sum(written) == 5000 * 5, f"{name}: the children write to the files of their parent", rows[:3])


# --- parts that are missing ------------------------------------------------------------------------------------------------------------------

def test_recordings():
    with scratch() as folder:
        recording = os.path.join(folder, "r")
        make_trace(os.path.join(recording, "state"))
        for tracer, file in (("ftrace", "trace.dat"), ("perf", "perf.data"), ("lttng", "kernel/metadata")):
            write(os.path.join(recording, "recording.json"), json.dumps({"lull_recording": 1, "tracer": tracer}))
            complains(f"a recording of {tracer} without its events", Result(["info", recording]), "r: ", file, "is missing")
            path = os.path.join(folder, "r.tar")
            with tarfile.open(path, "w") as archive:
                archive.add(recording, "r")
            complains(f"the same in an archive, {tracer}", Result(["info", path]), "r: ", file, "is missing")
        make_trace(os.path.join(recording, "kernel"))
        result = Result(["info", recording])
        tap.ok(result.status == 0 and "missing" not in result.err, "a recording that is whole", result)


def give_up_reading():
    """Rights hold for root too."""
    for capability in 1, 2:  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_rights():
    with scratch() as folder:
        recording, plain, both = (os.path.join(folder, name) for name in ("r", "p", "b"))
        make_trace(os.path.join(recording, "state"))
        write(os.path.join(recording, "recording.json"), json.dumps({"lull_recording": 1, "tracer": "ftrace"}))
        make_trace(os.path.join(both, "a"))
        for place in recording, plain, both:
            write(os.path.join(place, "trace.dat"), "x")
            os.chmod(os.path.join(place, "trace.dat"), 0)
            complains(f"a file that must not be read, in {os.path.basename(place)}", Result(["info", place], before=give_up_reading),
                      "/trace.dat: ", "Permission denied")
        result = Result(["info", recording], before=give_up_reading)
        tap.ok("missing" not in result.err, "it is not said to be missing", result)
        write(os.path.join(folder, "empty"), "")
        complains("a name for standard input that other programs have", Result(["info", "-"]), "-: it is not a trace", "/dev/stdin")
        complains("an empty file", Result(["info", os.path.join(folder, "empty")]), "empty: it is empty")


def test_cut():
    """A byte less than the file says it has."""
    for name in "v6.dat", "v7.dat", "v7-zstd.dat":
        path = os.path.join(samples, "tracedat", name)
        if not os.path.exists(path):
            tap.skip(name, "no sample")
            continue
        with scratch() as folder:
            shutil.copy(path, folder)
            cut = os.path.join(folder, name)
            tap.ok(Result(["info", cut]).status == 0, f"{name} is whole", "")
            os.truncate(cut, os.path.getsize(cut) - 1)
            result = Result(["info", cut])
            tap.ok(result.status == 1 and re.search(r"cut|short|end", result.err), f"{name} without its last byte", result)


# --- names that are not known --------------------------------------------------------------------------------------------------------------

def test_empty_interface():
    """The kernel's names of network interfaces are never empty; those of a damaged trace may be."""
    path = os.path.join(samples, "ftrace", "whole.dat")
    if not os.path.exists(path):
        tap.skip("empty names", "no sample")
        return
    with open(path, "rb") as file:
        data = file.read()
    with scratch() as folder:
        damaged = os.path.join(folder, "d.dat")
        write(damaged, re.sub(rb"(?<=\0)lo\0", b"\0o\0", data))
        for verb in "stats", "iousagetop", "nettop":
            good, bad = Result([verb, "--json", path]), Result([verb, "--json", damaged])
            tap.ok(bad.status in (0, 1), f"{verb}: an interface without a name", bad)
            if verb == "nettop" and bad.status == 0:
                names = [[row.get("netif", row.get("interface")) for window in json.loads(result.out)["windows"]
                          for row in next(iter(window["tables"].values()))] for result in (good, bad)]
                tap.ok("lo" in names[0] and None in names[1] and "lo" not in names[1], "nettop: its name is unknown", names)


for test in (test_deep, test_pipes, test_archives, test_sizes, test_empty_elements, test_large_context, test_forks, test_recordings, test_rights,
             test_cut, test_empty_interface):
    tap.run(test.__name__, test)
sys.exit(tap.done())

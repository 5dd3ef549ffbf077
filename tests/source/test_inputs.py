#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What lull takes as input: zip archives, compressed files, standard input; and what it says of files that are no traces.

What is packed here is read to the same events as before it was packed."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import pty
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib

from lib import perf_writer as perf
from lib.perf_writer import Writer
from tap import Tap

LULL = os.environ["LULL"]
tap = Tap()
METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
stream { };
event { name = e; fields := struct { u8 a; }; };
"""
EVENTS = "".join(f"00:00:00.000000000 cpu- e a = {n}\n" for n in (1, 2, 3))


def run(*arguments, stdin=None, pipe=None):
    """With `pipe`, the bytes come through a pipe."""
    with subprocess.Popen([LULL, *arguments], stdin=subprocess.PIPE if pipe is not None else stdin or subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, err = process.communicate(pipe, timeout=60)
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return path


def perf_data(form="file"):
    w = Writer()
    w.features = {3: w.text("farm")}
    w.attr([5], perf.TID | perf.TIME | perf.CPU | perf.ID, kind=0, config=0, flags=1 << 20)
    for n in range(3):
        w.record(9, w.pack("IIQQII", 10, 11, 1000 + n, 5, n, 0))
    return getattr(w, form)()


def printed(result):
    """Events of a perf.data; the name of the host is the same."""
    return result[0] == 0 and result[2] == "" and result[1].count("cycles") == 3


# --- archives and compressed files ----------------------------------------------------------------------------

class Unseekable(io.RawIOBase):
    """As a pipe: zipfile then writes sizes behind the data."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def zipped(method, target=None, prefix="t/", comment=b""):
    out = target if target is not None else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(prefix + "metadata", METADATA)
        archive.writestr(prefix + "index/", b"")
        archive.writestr(prefix + "s", bytes([1, 2, 3]))
        archive.comment = comment
    return out.data if target is not None else out.getvalue()


def test_zip(folder):
    for name, data in {"stored": zipped(zipfile.ZIP_STORED), "deflated": zipped(zipfile.ZIP_DEFLATED),
                       "streamed": zipped(zipfile.ZIP_DEFLATED, Unseekable()), "flat": zipped(zipfile.ZIP_STORED, prefix=""),
                       "commented": zipped(zipfile.ZIP_DEFLATED, comment=b"of the machine"),
                       "behind a program": b"#!/bin/sh\n" * 30 + zipped(zipfile.ZIP_DEFLATED)}.items():
        path = write(os.path.join(folder, "t.zip"), data)
        result = run("print", path)
        good = result == (0, EVENTS, "") if name != "behind a program" else result[0] in (0, 1)
        tap.ok(good, f"a zip, {name}", result)
        if name != "behind a program":
            result = run("print", "/dev/stdin", pipe=data)
            tap.ok(result == (0, EVENTS, ""), f"a zip through a pipe, {name}", result)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../metadata", METADATA)
        archive.writestr("a/../../s", b"\1")
    result = run("print", write(os.path.join(folder, "out.zip"), out.getvalue()))
    tap.ok(result[0] == 1 and "no trace in it" in result[2] and "points outside the archive" in result[2], "names that lead out of a zip",
           result)
    data = zipped(zipfile.ZIP_DEFLATED)
    bad = [cut for cut in range(1, len(data), 7) if run("print", write(os.path.join(folder, "cut.zip"), data[:cut]))[0] not in (0, 1)]
    tap.ok(not bad, "cut zips end in an answer or an error", bad)


def test_zip_bomb(folder):
    """A member of 1.2 GiB in 1.2 MiB: of each MiB, the same compressed block. What says its size is refused at once."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(b"\xff" * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    data = block * 1200 + zlib.compress(b"", 9, -15)
    name, size = b"t/s", 1200 << 20
    fields = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0x21, 0, len(data), size, len(name), 0)
    local = b"PK\3\4" + fields + name + data
    central = b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    result = run("print", write(os.path.join(folder, "bomb.zip"), local + central + end))
    tap.ok(result[0] == 1 and "far more than its size suggests" in result[2], "a zip that unpacks to far too much", result)


def test_compressed(folder):
    data = perf_data()
    plain = run("print", write(os.path.join(folder, "perf.data"), data))
    tap.ok(printed(plain), "a perf.data", plain)
    packers = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
    if shutil.which("zstd"):
        packers[".zst"] = lambda data: subprocess.run(["zstd", "-q"], input=data, capture_output=True, check=True).stdout
    for suffix, pack in packers.items():
        path = write(os.path.join(folder, "one", "perf.data" + suffix), pack(data))
        tap.ok(run("print", path) == plain, f"perf.data{suffix}", run("print", path))
        tap.ok(printed(run("print", "/dev/stdin", pipe=pack(data))), f"perf.data{suffix} through a pipe")
        path = write(os.path.join(folder, "two", "other"), pack(data[:-1]))
        result = run("print", path)
        tap.ok(result[0] == 1 and f"{path}/other: byte " in result[2], f"what is wrong within a {suffix} is said", result)
        result = run("print", write(os.path.join(folder, "x" + suffix), pack(b"nothing that anybody knows")))
        tap.ok(result[0] == 1 and "it is compressed, but its contents are not a trace" in result[2], f"something else as {suffix}", result)
        result = run("print", write(os.path.join(folder, "y" + suffix), pack(data)[:-9]))
        tap.ok(result[0] == 1 and f"y{suffix}: " in result[2] and not result[1], f"a {suffix} that is cut", result)
    samples = os.path.join(os.environ["LULL_SAMPLES"], "ftrace", "whole.dat")
    if not os.path.exists(samples):
        tap.skip("trace.dat.xz", "no sample")
        return
    with open(samples, "rb") as file:
        data = file.read()
    plain = run("info", "--events", samples)
    packed = run("info", "--events", write(os.path.join(folder, "whole.dat.xz"), lzma.compress(data, preset=0)))
    lines = [line for line in plain[1].splitlines() if "/" not in line and "whole" not in line]
    tap.ok(packed[0] == 0 and len(lines) > 10 and not [line for line in lines if line not in packed[1]], "trace.dat.xz", packed)


# --- standard input -------------------------------------------------------------------------------------------

def test_pipe(folder):
    for form in "file", "pipe":
        for name in "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
            result = run("print", name, pipe=perf_data(form))
            tap.ok(printed(result), f"perf.data of {form} mode through {name}", result)
    path = write(os.path.join(folder, "perf.data"), perf_data())
    with open(path, "rb") as file:
        result = run("print", "/dev/stdin", stdin=file)
    tap.ok(printed(result), "a file as standard input", result)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in ("t/metadata", METADATA.encode()), ("t/s", bytes([1, 2, 3])):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    result = run("print", "/dev/stdin", pipe=out.getvalue())
    tap.ok(result == (0, EVENTS, ""), "a packed directory through a pipe", result)
    result = run("print", "/dev/stdin", pipe=b"")
    tap.ok(result[0] == 1 and "/dev/stdin: it is a pipe, and nothing came through it" in result[2], "an empty pipe", result)
    result = run("print", "/dev/stdin", pipe=b"\x7fELF" + bytes(60))
    tap.ok(result[0] == 1 and "/dev/stdin: it is an ELF file" in result[2], "a program through a pipe", result)
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    start = time.monotonic()
    result = run("print", fifo)
    tap.ok(result[0] == 1 and "it is a pipe, and Lull does not wait for it" in result[2] and time.monotonic() - start < 20,
           "a pipe in the file system is refused at once", result)


def test_progress(folder):
    """A pipe that takes more than a second, watched by a terminal."""
    data = perf_data("pipe") + bytes(0)
    master, slave = pty.openpty()
    with subprocess.Popen([LULL, "print", "/dev/stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        for at in range(0, len(data), len(data) // 8):
            process.stdin.write(data[at:at + len(data) // 8])
            process.stdin.flush()
            time.sleep(0.25)
        out, _ = process.communicate(timeout=60)
    said = b""
    with contextlib.suppress(OSError):  # EIO: it was the last to write there
        while piece := os.read(master, 65536):
            said += piece
    os.close(master)
    tap.ok(out.count(b"cycles") == 3 and b"unpacking 0 MiB" in said and said.endswith(b"\x1b[K"),
           "a terminal sees how much came through the pipe, and then no more of it", out, said)


# --- what is no trace -----------------------------------------------------------------------------------------

def etl():
    """WMI_BUFFER_HEADER of 0x48 bytes, then SYSTEM_TRACE_HEADER: version, type, flags (evntrace.h of Windows)."""
    return struct.pack("<III", 0x10000, 0x1000, 0x1000) + bytes(60) + struct.pack("<HBB", 2, 2, 0xC0) + bytes(200)


def perfetto():
    """Packets (field 1 of Trace) with a timestamp (field 8) and a sequence id (field 10), as protobuf writes them."""
    packet = b"\x40\xe8\x07" + b"\x50\x01" + bytes([0x32, 3]) + b"abc"
    return (b"\x0a" + bytes([len(packet)]) + packet) * 20


def database(folder):
    path = os.path.join(folder, "db")
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (a)")
    connection.close()
    with open(path, "rb") as file:
        return file.read()


def test_others(folder):
    elf = lambda kind, big: b"\x7fELF" + bytes([2, 2 if big else 1, 1]) + bytes(9) + struct.pack(">H" if big else "<H", kind) + bytes(40)  # noqa: E731
    files = {"core": (elf(4, False), "an ELF core dump"), "core, big endian": (elf(4, True), "an ELF core dump"),
             "program": (elf(3, False), "an ELF file"), "pcap": (struct.pack("<IHH", 0xA1B2C3D4, 2, 4) + bytes(16), "pcap"),
             "pcap, big endian": (struct.pack(">IHH", 0xA1B2C3D4, 2, 4) + bytes(16), "pcap"),
             "pcap of ns": (struct.pack("<IHH", 0xA1B23C4D, 2, 4) + bytes(16), "pcap"),
             "pcapng": (struct.pack("<III", 0x0A0D0D0A, 28, 0x1A2B3C4D) + bytes(16), "pcapng"), "etl": (etl(), "Windows (etl)"),
             "perfetto": (perfetto(), "a trace of Perfetto"), "sqlite": (database(folder), "a database of SQLite"),
             "index": (struct.pack(">IIII", 0xC1F1DCC1, 1, 1, 72), "an index of an LTTng trace"),
             "stream": (struct.pack("<I", 0xC1FC1FC1) + bytes(60), "a stream file of a CTF trace"),
             "stream, big endian": (struct.pack(">I", 0xC1FC1FC1) + bytes(60), "a stream file of a CTF trace"),
             "metadata": (METADATA.encode(), "the metadata of a CTF trace"),
             "metadata in packets": (struct.pack("<I", 0x75D11D57) + bytes(60), "the metadata of a CTF trace"),
             "metadata of CTF 2": (b'\x1e{"type": "preamble", "version": 2}\n', "the metadata of a CTF 2 trace"),
             "ftrace's text": (b"# tracer: nop\n#\n", "text that ftrace printed"),
             "Chrome": (b'{"traceEvents":[]}', "a trace of Chrome"), "JSON": (b'{"a": 1}', "JSON, not a trace"),
             "journal": (b"LPKSHHRH" + bytes(200), "a journal of systemd"),
             "perf.data 1": (b"PERFFILE" + bytes(100), "a perf.data of before")}
    for name, (data, words) in files.items():
        path = write(os.path.join(folder, "one", "file"), data)
        result = run("info", path)
        tap.ok(result[0] == 1 and f"{path}: it is" in result[2] and words in result[2], f"{name}: is called so", result)
        result = run("info", os.path.dirname(path))
        tap.ok(result[0] == 1 and f"there is no trace in it; {path} is" in result[2] and words in result[2],
               f"{name}: is named if there is nothing else", result)
    path = write(os.path.join(folder, "core.gz"), gzip.compress(elf(4, False)))
    result = run("info", path)
    tap.ok(result[0] == 1 and f"{path}/core is an ELF core dump" in result[2], "a compressed core dump", result)
    result = run("info", write(os.path.join(folder, "other"), b""))
    tap.ok(result[0] == 1 and "other: it is empty" in result[2], "an empty file: is called so", result)
    for name, data in ("text", b"nothing special\n" * 20), ("a byte", b"\x0a"), ("zeros", bytes(5000)):
        result = run("info", write(os.path.join(folder, "other"), data))
        words = "there is no trace in it" if name == "zeros" else "not a directory"  # zeros are an empty tar
        tap.ok(result[0] == 1 and words in result[2] and " it is " not in result[2], f"a file of {name}: is not called anything", result)


def test_threads(folder):
    """perf.data of `perf record --threads`: feature 24 of the header says that there are further files."""
    w = Writer()
    w.features = {24: w.pack("Q", 1)}
    w.attr([5], perf.TID | perf.TIME | perf.CPU | perf.ID, kind=0, config=0)
    w.record(3, w.pack("II", 10, 10) + b"parent\0\0" + w.trailer(10, 10, 50, 1, 5, perf.TID | perf.TIME | perf.CPU | perf.ID))
    path = write(os.path.join(folder, "perf.data", "data"), w.file())
    write(os.path.join(folder, "perf.data", "data.0"), bytes(100))
    for where in path, os.path.dirname(path):
        result = run("print", where)
        tap.ok(result[0] == 1 and "a perf.data of 'perf record --threads': not supported" in result[2], "perf record --threads", result)


def main():
    for test in test_zip, test_zip_bomb, test_compressed, test_pipe, test_progress, test_others, test_threads:
        with tempfile.TemporaryDirectory(prefix="lull-inputs-") as folder:
            tap.run(test.__name__, test, folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
# A recording prints the same in whatever shape its files lie: ring of files, rotation chunks,
# snapshots, archives. What is expected is known by how the traces were made.
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from shapes import Trace, cut_stream
from tap import Tap

LULL = os.environ["LULL"]
SAMPLES = os.environ["LULL_SAMPLES"]
tap = Tap()


def lull(*arguments, env=None):
    done = subprocess.run([LULL, *arguments], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def numbers(*arguments):
    status, out, err = lull("print", "--no-sync", "--json", *arguments)
    return status, [json.loads(line)["fields"]["n"] for line in out.splitlines()], err


def check_numbers(name, arguments, expected, note=""):
    """These events, in this order, and on standard error that one note, or nothing."""
    status, found, err = numbers(*arguments)
    tap.ok(status == 0 and found == list(expected) and note in err and err.count("\n") == bool(note), name,
           f"status {status}, {len(found)} events, {err}", found[:20])


def info(*arguments):
    status, out, err = lull("info", "--json", *arguments)
    return json.loads(out) if status == 0 else {"error": err}


def check_info(name, path, expected):
    found = info(path)
    traces = found.get("traces", [])
    result = [(t["directories"], t["streams"], t["packets"]) for t in traces]
    tap.ok(result == expected and found["lost"]["packets"] == 0, name, result, found)


def test_ring(directory):
    for instance in (True, False):
        kind = "with stream ids" if instance else "by names"
        trace = Trace(instance=instance)
        plain = trace.plain(f"{directory}/plain{instance}")
        check_numbers(f"plain {kind}", [plain], range(trace.count))
        ring = trace.ring(f"{directory}/ring{instance}")
        check_numbers(f"ring of files {kind}", [ring], range(trace.count))
        check_info(f"ring of files {kind}: one stream a CPU", ring, [(1, 2, 24)])
        os.remove(f"{ring}/c_0_3")  # the second oldest
        lost = info(ring)["lost"]
        tap.ok(lost["packets"] == 3 and len(lost["intervals"]) == 1, f"a file of the ring is missing {kind}", lost)


def test_names(directory):
    # Channel "c_0" on CPU 0 and 1 looks like a ring of channel "c" on CPU 0: it is none.
    trace = Trace(instance=False)
    path = trace.write(f"{directory}/names", {"c_0_0": trace.streams[0], "c_0_1": trace.streams[1]})
    check_numbers("a channel with a number in its name", [path], range(trace.count))
    check_info("a channel with a number in its name: two streams", path, [(1, 2, 24)])


def test_chunks(directory):
    trace = Trace()
    chunks = [f"{directory}/rot/archives/20260101T00000{i}+0000-20260101T00000{i + 1}+0000-{i}/kernel" for i in range(3)]
    trace.parts(chunks + [f"{directory}/rot/20260101T000003+0000-3/kernel"])
    check_numbers("rotation chunks, one unfinished", [f"{directory}/rot"], range(trace.count))
    check_info("rotation chunks are one trace", f"{directory}/rot", [(4, 2, 24)])
    check_numbers("chunks given one by one, in any order", list(reversed(chunks)), range(90))
    check_numbers("the time range reaches over chunks", ["--begin", "1000.0000002", "--end", "1000.0000010",
                                                         f"{directory}/rot"], range(20, 100))
    os.rename(f"{directory}/rot/20260101T000003+0000-3", f"{directory}/rot/.tmp_old_chunk")
    check_numbers("a chunk that was being moved", [f"{directory}/rot"], range(trace.count))


def test_no_uuid(directory):
    # The same program on two machines: without UUID nothing says that it is one trace.
    trace = Trace(instance=False, with_uuid=False, cpus=1)
    trace.plain(f"{directory}/two/a")
    trace.plain(f"{directory}/two/b")
    check_numbers("equal traces without UUID are two", [f"{directory}/two"],
                  [n for n in range(trace.count) for _ in "ab"], "two/b for traces of one machine, “shapes”")


def test_snapshots(directory):
    trace = Trace()
    for number, (begin, end) in enumerate([(0, 7), (4, 10), (9, 12)]):
        trace.write(f"{directory}/snap/snapshot-{number}-x-{number}/kernel",
                    {f"c_{cpu}": packets[begin:end] for cpu, packets in enumerate(trace.streams)})
    check_numbers("snapshots that overlap", [f"{directory}/snap"], range(trace.count))
    check_info("snapshots are one trace", f"{directory}/snap", [(3, 2, 24)])
    # The same begin and end but not the same packet: nothing is left out.
    path = f"{directory}/snap/snapshot-1-x-1/kernel/c_0"
    with open(path, "r+b") as file:
        file.seek(103)  # the first event's number, not its time
        file.write(b"\x07")
    status, found, _ = numbers(f"{directory}/snap")
    tap.ok(status == 0 and set(range(trace.count)) <= set(found), "packets that differ are all read", len(found))


def test_crash(directory):
    # A packet that was being written when the program died has no end.
    trace = Trace(cpus=1)
    last = trace.streams[0][-1]
    trace.streams[0][-1] = last[:40] + bytes(8) + last[48:]
    path = trace.plain(f"{directory}/crash")
    check_numbers("a packet without end, as lttng-crash leaves it", [path], range(trace.count))
    found = info(path)["traces"][0]
    tap.ok(found["end_ns"] == 1000000000000 + (trace.count - 1) * 10, "its last event is its end", found)


def test_unused(directory):
    trace = Trace(cpus=1)
    path = trace.plain(f"{directory}/unused")
    os.mkdir(f"{path}/index")
    open(f"{path}/c_1", "wb").close()
    with open(f"{path}/index/c_1.idx", "wb") as file:
        file.write(bytes.fromhex("c1f1dcc1" "00000001" "00000001" "00000048"))
    check_numbers("a stream in which nothing was recorded yet", [path], range(trace.count))


def test_damage(directory):
    trace = Trace(cpus=1)
    ring = trace.ring(f"{directory}/damaged", per_file=6, oldest=1)
    with open(f"{ring}/c_0_0", "r+b") as file:  # the newer one; id of its second packet's first event
        file.seek(512 + 84)
        file.write(b"\x09")
    status, found, err = numbers(ring)
    tap.ok(status == 1 and found == [n for n in range(60) if not 35 <= n < 40], "damage in a ring", found)
    tap.ok("damaged/c_0_0: packet 7, byte 596:" in err, "damage names the file of the ring and its byte", err)


def test_damage_everywhere(directory):
    # Twenty complaints are shown, the others are counted.
    for damaged in (20, 21, 24):
        trace = Trace()
        for number in range(damaged):
            packet = bytearray(trace.streams[number % 2][number // 2])
            packet[84] = 9  # the id of its first event
            trace.streams[number % 2][number // 2] = packet
        status, found, err = numbers(trace.plain(f"{directory}/{damaged}"))
        lines = err.splitlines()
        # With all packets damaged there is nothing to print.
        tap.ok(("lull: no event was found" in lines) == (not found), f"{damaged} damaged packets: nothing was found", err)
        lines = [line for line in lines if line != "lull: no event was found"]
        more = {20: [], 21: ["lull: … and 1 more place"], 24: ["lull: … and 4 more places"]}[damaged]
        tap.ok(status == 1 and len(found) == 120 - 5 * damaged, f"{damaged} damaged packets: the others are read", found)
        tap.ok(all(line.startswith("lull: damaged: ") for line in lines[:20]) and len(set(lines)) == len(lines)
               and lines[20:-1] == more and f" {damaged} packets were lost" in lines[-1], f"{damaged} damaged packets: what is said", err)


def test_intersection(directory):
    trace = Trace()
    # CPU 0 has the first nine packets, CPU 1 from the fourth on.
    path = trace.write(f"{directory}/common", {"c_0": trace.streams[0][:9], "c_1": trace.streams[1][3:]})
    all_events = sorted([n for n in range(0, 90, 2)] + [n for n in range(31, 120, 2)])
    check_numbers("all of the streams", [path], all_events)
    # From the begin of CPU 1's first packet (event 31) to the end of CPU 0's last (event 88).
    check_numbers("--intersection", ["--intersection", path], range(31, 89))
    check_numbers("--intersection within a time range", ["--intersection", "--begin", "1000.0000005", path],
                  range(50, 89))
    other = Trace(cpus=1).plain(f"{directory}/other")
    status, found, err = numbers("--intersection", path, other)
    tap.ok(status == 0 and sorted(found) == sorted(list(range(31, 89)) + list(range(60))),
           "--intersection is of each trace by itself", err)
    apart = trace.write(f"{directory}/apart", {"c_0": trace.streams[0][:2], "c_1": trace.streams[1][8:]})
    status, _, err = numbers("--intersection", apart)
    tap.ok(status == 1 and "no time in which all streams" in err, "no time in common", status, err)


def test_several(directory):
    first, second = Trace(cpus=1), Trace(cpus=1, first=5)
    a, b = first.plain(f"{directory}/lap/a"), second.plain(f"{directory}/lap/b")
    check_numbers("traces that overlap", [a, b], [n for n in range(60) for _ in "ab"], "lap/b for traces of one machine, “shapes”")
    late = Trace(cpus=1, first=10**9).plain(f"{directory}/late")
    check_numbers("traces one after the other, given the other way round", [late, a], [*range(60), *range(60)])


def test_user_space(directory):
    boot = "11111111-2222-3333-4444-555555555555"
    Trace(cpus=1, clock_uuid=boot).plain(f"{directory}/session/kernel")
    Trace(cpus=1, clock_uuid=boot, domain="ust", event="sched:sched_switch").plain(
        f"{directory}/session/ust/uid/0/64-bit")
    found = info(f"{directory}/session")
    tap.ok(len(found["hosts"]) == 1 and [t["domain"] for t in found["traces"]] == ["kernel", "ust"],
           "kernel and user space of one boot are one host", found)


def test_false_kernel_events(directory):
    # A program may call its events what the kernel does; no task runs because of them.
    source = f"{SAMPLES}/truth/truth-relay/kernel"
    if not os.path.isdir(source):
        tap.skip("events of programs are not the kernel's", "no samples")
        return
    recorded = info(source)["traces"][0]
    boot = re.search(rb'clock \{.*?uuid = "([^"]+)"', open(f"{source}/metadata", "rb").read(), re.S).group(1).decode()
    shutil.copytree(source, f"{directory}/both/kernel")
    question = ["critpath", "--json", "--comm", "t-client"]
    expected = lull(*question, f"{directory}/both")[1]
    answers = {}
    running = json.loads(lull("print", "--json", "--comm", "t-client", "--limit", "50", source)[1].splitlines()[-1])
    for domain in ("ust", "kernel"):
        middle = running["time_ns"] - recorded["clock"]["offset_ns"]
        trace = Trace(cpus=2, domain=domain, event="sched_switch", clock_uuid=boot, first=middle)
        trace.metadata = trace.metadata.replace("uint64_t n;", "uint32_t next_tid; uint32_t prev_tid;").replace(
            'hostname = "shapes"', f'hostname = "{recorded["host"]}"')
        trace.plain(f"{directory}/both/ust/uid/0/64-bit")
        answers[domain] = lull(*question, f"{directory}/both")[1]
        hosts = info(f"{directory}/both")["hosts"]
        tap.ok(len(hosts) == 1 and hosts[0]["traces"] == 2, f"one host with a trace of domain {domain}", hosts)
    tap.ok(len(expected) > 1000 and answers["ust"] == expected, "events of programs are not the kernel's")
    tap.ok(answers["kernel"] != expected, "they would change the answer if they were")


# ---- archives ----

def pack(path, source, mode="w", name="session"):
    with tarfile.open(path, mode) as tar:
        tar.add(source, name)
    return path


def test_archives(directory):
    trace = Trace()
    trace.parts([f"{directory}/pack/archives/{i}/kernel" for i in range(3)])
    for mode, ending in (("w", "tar"), ("w:gz", "tar.gz"), ("w:xz", "tar.xz"), ("w:bz2", "tar.bz2")):
        path = pack(f"{directory}/t.{ending}", f"{directory}/pack", mode)
        check_numbers(f"packed as {ending}", [path], range(trace.count))
        check_info(f"packed as {ending}: one trace", path, [(3, 2, 24)])
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", f"{directory}/t.tar"], check=True)
        check_numbers("packed as tar.zst", [f"{directory}/t.tar.zst"], range(trace.count))
    else:
        tap.skip("packed as tar.zst", "no zstd")
    flat = pack(f"{directory}/flat.tar", trace.plain(f"{directory}/flat"), name=".")
    check_numbers("the trace itself is packed", [flat], range(trace.count))


def member(tar, name, data=b"", **fields):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    for key, value in fields.items():
        setattr(entry, key, value)
    tar.addfile(entry, io.BytesIO(data))


def sparse(name, size):
    """A member of so many bytes, of which only the last 512 are in the archive."""
    entry = tarfile.TarInfo(name)
    entry.size = 512
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"S"
    header[386:410] = b"%011o\0%011o\0" % (size - 512, 512)
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(512)


def test_hostile(directory):
    trace = Trace(cpus=1)
    stream, metadata = b"".join(trace.streams[0]), trace.metadata.encode()
    path = f"{directory}/hostile.tar"
    with tarfile.open(path, "w") as tar:
        member(tar, "../../evil/metadata", metadata)
        member(tar, "t/c_9", type=tarfile.SYMTYPE, linkname="/etc/passwd")
        member(tar, "t/null", type=tarfile.CHRTYPE, devmajor=1, devminor=5)
        member(tar, "t/a\x1b[31mb", b"x")
        member(tar, "/t/metadata", metadata)
        member(tar, "./t/./c_0", stream)
        member(tar, "t/c_0", b"twice")
        member(tar, "t/.hidden", b"x")
    status, found, err = numbers(path)
    tap.ok(status == 1 and found == list(range(60)), "a hostile archive: what is a trace is read", status, err)
    tap.ok("points outside the archive" in err and "already has a file of this name" in err and "\x1b" not in err,
           "what is left out is told", err)
    tap.ok(not os.path.exists(f"{directory}/../../evil"), "nothing is written")
    with tarfile.open(f"{directory}/links.tar", "w") as tar:
        member(tar, "a/metadata", metadata)
        member(tar, "a/x", stream)
        member(tar, "b/metadata", type=tarfile.LNKTYPE, linkname="a/metadata")
    check_numbers("a hard link", [f"{directory}/links.tar"], range(60))


def test_bad_archives(directory):
    trace = Trace(cpus=1)
    for mode, words in (("w", "the archive is damaged: "), ("w:gz", "truncated gzip input")):
        path = pack(f"{directory}/short.tar", trace.plain(f"{directory}/whole"), mode)
        os.truncate(path, os.path.getsize(path) // 2)
        status, out, err = lull("print", path)
        tap.ok(status == 1 and not out and "short.tar: " in err and words in err, f"an archive cut short, {mode}", err)
    with open(f"{directory}/text.tar", "w") as file:
        file.write("not an archive\n")
    status, _, err = lull("print", f"{directory}/text.tar")
    tap.ok(status == 1 and "text.tar: not a directory" in err, "a file that is no archive", err)
    with tarfile.open(f"{directory}/empty.tar", "w") as tar:
        member(tar, "readme", b"x")
    status, _, err = lull("print", f"{directory}/empty.tar")
    tap.ok(status == 1 and "no trace in it" in err, "an archive without a trace", err)
    with open(f"{directory}/bomb.tar", "wb") as file:
        file.write(sparse("t/metadata", 3 * 2**30) + bytes(1024))  # 3 GiB in 2 KiB
    status, _, err = lull("print", f"{directory}/bomb.tar")
    tap.ok(status == 1 and "unpacks to more than 1024 MiB" in err, "an archive bomb", status, err)


def test_archive_limits(directory):
    # What an archive unpacks to: up to 250 times its size, if that is more than 1 GiB.
    trace, padding = Trace(cpus=1), bytes(5 << 20)
    path = f"{directory}/large.tar"
    with tarfile.open(path, "w") as tar:
        for name, data in (("t/metadata", trace.metadata.encode()), ("t/c_0", b"".join(trace.streams[0])),
                           ("notes/padding", padding)):
            member(tar, name, data)
    with open(path, "rb") as file:
        whole = file.read()
    others = len(trace.metadata) + 12 * 512 + len(padding)
    most = 250 * (len(whole) + 1024)  # the sparse member takes a header and 512 bytes of data
    for end, expected in ((most, 0), (most + 1, 1)):
        with open(path, "wb") as file:
            file.write(sparse("notes/sparse", end - others) + whole)
        status, found, err = numbers(path)
        tap.ok(status == expected and len(found) == 60 * (1 - expected), f"an archive of {end} bytes", status, err)
        tap.ok((f"unpacks to more than {most >> 20} MiB" in err) == bool(expected), f"an archive of {end} bytes: why", err)
    # Members that are left out are named, the first twenty of them.
    with tarfile.open(path, "w") as tar:
        for number in range(23):
            member(tar, f"../{number}", b"x")
        member(tar, "t/metadata", trace.metadata.encode())
        member(tar, "t/c_0", b"".join(trace.streams[0]))
    found = json.loads(lull("info", "--json", path)[1])["problems"]
    tap.ok([f"“../{number}”" in text for number, text in enumerate(found)] == [True] * 20, "members are left out", found)


def test_large_archive(directory):
    # More than stays in memory: goes through a file in $TMPDIR of which nothing is left.
    trace = Trace(cpus=1)
    path = trace.plain(f"{directory}/large")
    for i in range(3):
        with open(f"{path}/.tmp_{i}", "wb") as file:
            file.truncate(30 << 20)
    with open(f"{path}/c_0", "rb") as file:
        stream = file.read()
    packed = pack(f"{directory}/large.tar.gz", path, "w:gz", "t")
    os.mkdir(f"{directory}/tmp")
    status, out, err = lull("print", "--json", packed, env={"TMPDIR": f"{directory}/tmp"})
    tap.ok(status == 0 and out.count("\n") == 60 and len(stream) == 12 * 512, "an archive of 90 MiB", err)
    tap.ok(os.listdir(f"{directory}/tmp") == [], "no temporary file is left")
    status, _, err = lull("print", packed, env={"TMPDIR": f"{directory}/none"})
    tap.ok(status == 1 and "temporary file" in err, "no place for temporary files", err)


# ---- a recorded trace ----

def test_recorded(directory):
    source = f"{SAMPLES}/django/db/kernel"
    if not os.path.isdir(source):
        tap.skip("a recorded trace", "no samples")
        return
    shapes = {
        "ring": lambda number: (f"{directory}/r/ring/kernel", f"c0_0_{(number + 4) % 7}"),
        "chunks": lambda number: (f"{directory}/r/chunks/archives/{number // 3}/kernel", "c0_0"),
        "both": lambda number: (f"{directory}/r/both/archives/{number // 4}/kernel", f"c0_0_{number % 4 // 2}"),
    }
    plain = lull("print", source)[1]
    for name, target_of in shapes.items():
        cut_stream(source, "c0_0", target_of)
        status, out, err = lull("print", f"{directory}/r/{name}")
        tap.ok(status == 0 and out == plain and len(out) > 10**6, f"a recorded trace as {name}", status, err)
    if "libarchive" not in lull("--version")[1]:
        return
    packed = pack(f"{directory}/both.tar.xz", f"{directory}/r/both", "w:xz")
    tap.ok(lull("print", packed)[1] == plain, "a recorded trace, packed")


def main():
    tests = [test_ring, test_names, test_chunks, test_no_uuid, test_snapshots, test_crash, test_unused, test_damage, test_damage_everywhere,
             test_intersection, test_several, test_user_space,
             test_false_kernel_events, test_recorded]
    archives = [test_archives, test_hostile, test_bad_archives, test_archive_limits, test_large_archive]
    if "libarchive" in lull("--version")[1]:
        tests += archives
    else:
        tap.skip("archives", "built without libarchive")
    for test in tests:
        with tempfile.TemporaryDirectory() as directory:
            tap.run(test.__name__, test, directory)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())

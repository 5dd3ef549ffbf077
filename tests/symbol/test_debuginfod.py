#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# --debuginfod: names and lines of programs that are not here, from a server on the loopback. Which functions lie where is what nm and
# addr2line say of the program before it was stripped. The server is ours, so that it can be slow, wrong and hostile; and elfutils' own,
# if it is installed. LULL_TEST_DEBUGINFOD=1 also waits for the limit of all questions together, 20 s.
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests", "calls"), os.path.join(source, "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
import perf_writer as perf  # noqa: E402
import scene  # noqa: E402
from asked import BASE, peer  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
PROGRAM = """static volatile int sum;
static inline __attribute__((always_inline)) int leaf(int n) { sum += n; return sum * 3; }
__attribute__((noinline)) static int hidden(int n) { return leaf(n) + 1; }
__attribute__((noinline)) int work(int n)
{
    return hidden(n) + leaf(n + 2);
}
int main(int argc, char **argv) { return work(argc); }
"""
NOBODY = 65534
IDS = {"right": "a1" * 20, "other": "b2" * 20}


class Server(http.server.ThreadingHTTPServer):
    """Answers what `answer` says of a path; keeps what it was asked."""

    def __init__(self, answer):
        self.asked, self.answer = [], answer

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=C0103
                self.server.asked.append(self.path)
                self.server.answer(self)

            def log_message(self, *arguments):  # pylint: disable=W0221
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.daemon_threads = True
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *arguments):
        self.shutdown()
        super().__exit__(*arguments)

    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


def gives(files):
    """Answers with these: {path: bytes}; else there is nothing."""
    def answer(handler):
        body = files.get(handler.path)
        handler.send_response(404 if body is None else 200)
        handler.send_header("Content-Length", str(len(body or b"")))
        handler.end_headers()
        handler.wfile.write(body or b"")
    return answer


def stalls(handler):
    """Takes the question, and says nothing for as long as anybody waits."""
    handler.connection.recv(1)


def never_ends(handler):
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"\x7fELF" + bytes(4096))
            time.sleep(0.001)
    except OSError:
        pass


def is_huge(handler):
    """Says that it has more than is fetched, and sends it slowly."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(3 << 30))
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"\x7fELF" + bytes(4096))
            time.sleep(0.1)
    except OSError:
        pass


def leads_to(url):
    """Sends whoever asks to another place."""
    def answer(handler):
        handler.send_response(302)
        handler.send_header("Location", url)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    return answer


def recording(name, build_id):
    """Of perf, with a sample in a program of which the list of functions in the recording says that build-id."""
    kind = perf.TID | perf.TIME | perf.CPU | perf.ID | perf.CALLCHAIN
    w = perf.Writer()
    w.attr([5], kind, kind=1, config=0)
    mapping = w.pack("IIQQQIIQQII", 42, 42, BASE, 0x1000, 0, 0, 0, 7, 0, 5, 2) + b"/elsewhere/prog\0"
    w.record(10, mapping + w.trailer(42, 42, 1000, 0, 5, kind))
    w.record(9, w.pack("IIQQII", 42, 42, 2000, 5, 0, 0) + w.pack("QQQ", 2, 2**64 - 512, BASE + 0x10))
    where = os.path.join(scratch.name, name)
    os.makedirs(where)
    with open(os.path.join(where, "perf.data"), "wb") as file:
        file.write(w.file())
    with open(os.path.join(where, "symbols"), "w", encoding="ascii") as file:
        file.write(f"object {build_id} 7 /elsewhere/prog\nload 0 1000 0\n0 100 work\n")
    with open(os.path.join(where, "recording.json"), "w", encoding="ascii") as file:
        json.dump({"lull_recording": 1, "hostname": "elsewhere", "boot_id": "01234567-89ab-cdef-0123-456789abcdef"}, file)
    return where


def run(where, *options, url=None, cache=None, most_seconds=None, verb="symbols"):
    home = cache or tempfile.mkdtemp(dir=scratch.name)
    environment = {name: text for name, text in os.environ.items() if not name.startswith("DEBUGINFOD")}
    environment |= {"DEBUGINFOD_CACHE_PATH": home, "HOME": home, **({"DEBUGINFOD_URLS": url} if url else {})}
    environment |= {"DEBUGINFOD_MAXTIME": str(most_seconds)} if most_seconds else {}
    start = time.monotonic()
    done = subprocess.run([lull, verb, *options, where], capture_output=True, text=True, check=False, timeout=100, env=environment, stdin=subprocess.DEVNULL)
    return done, time.monotonic() - start


def ask(where, *options, **how):
    done, seconds = run(where, "--json", "--lines", "--debuginfod", *options, **how)
    answer = json.loads(done.stdout)
    files = {os.path.basename(one["file"]): (one["named"], one["from"], one["why"]) for one in answer["files"]}
    places = {}
    for one in answer["places"]:
        places.setdefault((os.path.basename(one["file"]), int(one["offset"], 16)), []).append((one["function"], one["source"], one["line"]))
    return files, places, seconds


def built(name, build_id):
    """The whole program, its debug symbols alone, and the program without them; where its functions are."""
    path = os.path.join(scratch.name, name)
    subprocess.run(["cc", "-O2", "-g", f"-Wl,--build-id=0x{build_id}", "-x", "c", "-o", path, "-"], input=PROGRAM, text=True, check=True, cwd=scratch.name)
    subprocess.run(["objcopy", "--only-keep-debug", path, path + ".debug"], check=True)
    subprocess.run(["strip", "-s", "-o", path + ".stripped", path], check=True)
    listed = [line.split() for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()]
    files = {}
    for kind in ("", ".debug", ".stripped"):
        with open(path + kind, "rb") as file:
            files[kind] = file.read()
    return path, files, sorted(int(words[0], 16) for words in listed if words[-1] in ("hidden", "work", "main"))


def trace(name, images, offsets):
    events, now = [], 1000
    for pid, (path, build_id) in enumerate(images, 100):
        events += [scene.event(now, 0, "lttng_ust_statedump:bin_info", pid, pid=pid, baddr=BASE, memsz=1 << 20, path=path, is_pic=1),
                   scene.event(now + 1, 0, "lttng_ust_statedump:build_id", pid, pid=pid, baddr=BASE, build_id=list(bytes.fromhex(build_id)))]
        for offset in offsets:
            now += 10
            events.append(scene.event(now, 0, "lttng_ust_cyg_profile:func_entry", pid, pid=pid, addr=BASE + offset))
        now += 10
    where = os.path.join(scratch.name, name)
    jsonl_to_ctf.write_trace(events, where, {"domain": "ust", "tracer_name": "lttng-ust"})
    return where


def main():
    path, files, offsets = built("right", IDS["right"])
    other = built("other", IDS["other"])[1]
    theirs = {("prog", at): [(name, file, line) for name, file, line in block] for at, block in peer(path, offsets).items()}
    where = trace("one", [("/elsewhere/prog", IDS["right"])], offsets)
    two = trace("two", [("/elsewhere/prog", IDS["right"]), ("/elsewhere/another", IDS["other"])], offsets)
    at = f"/buildid/{IDS['right']}"

    with Server(gives({at + "/debuginfo": files[".debug"], at + "/executable": files[".stripped"]})) as server:
        done, _ = run(where, url=server.url())
        tap.ok(done.returncode == 0 and not server.asked and "0 of 3 places" in done.stdout, "nobody is asked without the option", server.asked, done.stdout)
        cache = tempfile.mkdtemp(dir=scratch.name)
        found, places, _ = ask(where, url=server.url(), cache=cache)
        tap.ok(found == {"prog": (3, "debuginfod", None)} and len(theirs) == 3 and places == theirs and server.asked == [at + "/debuginfo"],
               "names, lines and calls in line as addr2line of the whole program", found, places, theirs, server.asked)
        again = ask(where, url=server.url(), cache=cache)
        tap.ok(again[:2] == (found, places) and len(server.asked) == 1, "what was asked is kept, and not asked again", server.asked)
        done, _ = run(where, "--json", "--debuginfod", "--limit", "0", url=server.url(), cache=cache, verb="calls")
        tap.ok({"work", "hidden", "main"} == {row["function"] for row in json.loads(done.stdout)["windows"][0]["tables"]["functions"]}, "lull calls", done.stderr)
        found, _, _ = ask(two, url=server.url())
        tap.ok(found["prog"][:2] == (3, "debuginfod") and found["another"] == (0, None, "no debuginfod server has a file of this build"), "another is not there", found)
        tap.ok(set(server.asked) == {f"/buildid/{one}/{kind}" for one in IDS.values() for kind in ("debuginfo", "executable")} - {at + "/executable"},
               "nothing else is asked", server.asked)
    # What is here without its symbols.
    copies = os.path.join(scratch.name, "copies")
    os.makedirs(copies)
    shutil.copy(path + ".stripped", os.path.join(copies, "prog"))
    with Server(gives({at + "/debuginfo": files[".debug"]})) as server:
        found, places, _ = ask(where, "--symbols", copies, url=server.url())
        tap.ok(found["prog"][:2] == (3, "directory") and places == theirs, "symbols of a stripped copy", found, places)
    with Server(gives({at + "/executable": files[""]})) as server:
        found, places, _ = ask(where, url=server.url())
        tap.ok(found["prog"][:2] == (3, "debuginfod") and places == theirs, "a program with its symbols", found, places)

    for name, body, said in (("of another build", other[".debug"], "of another build"), ("no program", b"\x7fELF" + bytes(5000), "names no functions"),
                             ("empty", b"", "no debuginfod server has"), ("cut", files[".debug"][:900], None), ("a page", b"<html>" * 1000, "names no functions")):
        with Server(gives({at + "/debuginfo": body, at + "/executable": body})) as server:
            found, places, _ = ask(where, url=server.url())
            named, whence, why = found["prog"]
            tap.ok((named, whence) == (0, None) and (not said or said in why or "could not be reached, or failed" in why) and
                   all(block == [(None, None, None)] for block in places.values()), f"what is sent is {name}: refused", found, places)
    check_bad_ids()
    with Server(is_huge) as server:
        found, _, seconds = ask(where, url=server.url())
        tap.ok(found["prog"][:2] == (0, None) and "too large" in found["prog"][2] and seconds < 10, "a file of 3 GiB is not fetched", found, seconds)
    # Wherever they lead, what is there has to be of this build.
    with Server(gives({"/there": other[".debug"]})) as elsewhere:
        for name, url in (("another server", elsewhere.url() + "/there"), ("a file of this machine", "file://" + path + ".debug")):
            with Server(leads_to(url)) as server:
                found, _, _ = ask(where, url=server.url())
                tap.ok(found["prog"][:2] == (0, None) and found["prog"][2], f"a server that leads to {name}: refused", found)
    # A port that nobody listens to.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        found, _, seconds = ask(where, url=f"http://127.0.0.1:{taken.getsockname()[1]}")
        tap.ok("could not be reached" in found["prog"][2] and seconds < 10, "nobody there", found, seconds)
    for name, answer in (("stalls", stalls), ("never ends", never_ends)):
        with Server(answer) as server:
            found, _, seconds = ask(two, url=server.url(), most_seconds=1)
            tap.ok({(one[0], one[2]) for one in found.values()} == {(0, "the debuginfod servers took too long together")} and seconds < 6 and len(server.asked) < 4,
                   f"a server that {name}", found, seconds, server.asked)
            if "LULL_TEST_DEBUGINFOD" in os.environ:
                found, _, seconds = ask(two, url=server.url())
                tap.ok({one[0] for one in found.values()} == {0} and 15 < seconds < 30, f"a server that {name}: the limit is 20 s", found, seconds)
    for environment in ({}, {"url": " "}):
        done, _ = run(where, "--debuginfod", **environment)
        tap.ok(done.returncode == 1 and "DEBUGINFOD_URLS=https://" in done.stderr and not done.stdout, "no server is named", done.stderr)
    if os.geteuid() == 0:
        check_cache(where)
    check_elfutils(where, path, theirs)


def check_bad_ids():
    """What a recording calls a build-id becomes a part of addresses and of paths in the cache: only digits do."""
    for name, build_id, is_asked in (("digits", IDS["right"], True), ("a path", "../../../outside", False), ("long", "ab" * 65, False),
                                     ("half a byte", "abc", False), ("a question", "ab?cd", False)):
        home = tempfile.mkdtemp(dir=scratch.name)
        cache = os.path.join(home, "one", "two")
        os.makedirs(cache)
        before = {place for place, _, _ in os.walk(scratch.name)}
        with Server(gives({})) as server:
            found, places, _ = ask(recording("id-" + name.replace(" ", "-"), build_id), url=server.url(), cache=cache)
            made = {place for place, _, _ in os.walk(scratch.name) if place not in before and not place.startswith((cache, os.path.join(scratch.name, "id-")))}
            tap.ok([block[0][0] for block in places.values()] == ["work"] and bool(server.asked) == is_asked and not made,
                   f"a recording's build-id that is {name}", server.asked, made, found, places)


def check_cache(where):
    """Root writes nowhere where another user could have it write: elsewhere that is the user's own business."""
    theirs, own = (tempfile.mkdtemp(dir=scratch.name) for _ in "ab")
    os.chown(theirs, NOBODY, NOBODY)
    os.symlink(own, os.path.join(theirs, "link"))
    os.symlink(theirs, os.path.join(own, "link"))
    open_to_all = os.path.join(own, "all")
    os.mkdir(open_to_all)
    os.chmod(open_to_all, 0o1777)
    for name, cache, is_good in (("theirs", theirs, False), ("in theirs, not there yet", os.path.join(theirs, "new", "er"), False),
                                 ("a link in theirs", os.path.join(theirs, "link"), False), ("a link to theirs", os.path.join(own, "link"), False),
                                 ("where all may make it", os.path.join(open_to_all, "new"), False), ("not there yet", os.path.join(own, "new"), True),
                                 ("relative", "cache", False), ("root's", own, True)):
        with Server(gives({})) as server:
            done, _ = run(where, "--debuginfod", url=server.url(), cache=cache)
            refused = done.returncode == 1 and "as root nothing is kept in" in done.stderr and not server.asked
            tap.ok(bool(server.asked) == is_good != refused, f"the cache is {name}", done.stderr, server.asked)
    tap.ok(os.listdir(theirs) == ["link"], "nothing is made in theirs", os.listdir(theirs))


def check_elfutils(where, path, theirs):
    """The server that distributions run."""
    if not shutil.which("debuginfod"):
        tap.skip("elfutils' server", "there is no debuginfod")
        return
    folder = os.path.join(scratch.name, "served")
    os.makedirs(folder)
    shutil.copy(path, folder)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with subprocess.Popen(["debuginfod", "-F", "-p", str(port), "-d", ":memory:", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        found = {"prog": (0, None, None)}
        for _ in range(40):
            time.sleep(0.25)
            found, places, _ = ask(where, url=f"http://127.0.0.1:{port}")
            if found["prog"][0]:
                break
        server.terminate()
    tap.ok(found["prog"][:2] == (3, "debuginfod") and places == theirs, "elfutils' server", found, places)


built_in = subprocess.run([lull, "--version"], capture_output=True, text=True, check=True).stdout.partition("Not built in")[0]
if "libdebuginfod" not in built_in or "libdw" not in built_in:
    tap.skip("--debuginfod", "Lull is built without libdebuginfod or libdw")
elif not all(shutil.which(tool) for tool in ("cc", "nm", "addr2line", "objcopy", "strip")):
    tap.skip("--debuginfod", "there is no compiler")
else:
    tap.run("--debuginfod", main)
sys.exit(tap.done())

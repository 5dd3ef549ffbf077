#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Live against the real thing: a private relay and session daemon on loopback, a traced program, and `lull print` attached
# while 100 000 events are made: none may be missing, none come twice. It runs only when asked for with LULL_TEST_LTTNG=1:
# starting daemons is not for every check. Skips without LTTng or a compiler. LULL is the program; the arguments are the
# compiler's command.
import glob
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from tap import Tap

lull = os.environ["LULL"]
tap = Tap()
COUNT = 100000
NOBODY = 65534


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def wait_for(what, condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"no {what} within {seconds} s")
        time.sleep(0.05)


def accepts(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Lttng:
    """Daemons of our own: below a home of their own, and never root's, whose place is fixed and may be in use."""

    def __init__(self, home):
        self.home, self.processes = home, []
        self.program = os.path.join(home, "ust_program")
        self.control, self.data, self.live = free_ports(3)
        self.environment = {**os.environ, "HOME": home, "LTTNG_HOME": home, "LC_ALL": "C", "TZ": "UTC",
                            "LTTNG_UST_REGISTER_TIMEOUT": "5000"}
        self.environment.pop("LD_PRELOAD", None)
        self.identity = {}
        if os.geteuid() == 0:
            self.identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            os.chown(home, NOBODY, NOBODY)

    def build(self, compiler):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ust_program.c")
        done = subprocess.run([*compiler, "-O1", source, "-o", self.program, "-llttng-ust", "-ldl"], capture_output=True)
        return done.returncode == 0

    def start(self, *command, **more):
        log = open(os.path.join(self.home, os.path.basename(command[0]) + ".log"), "wb")
        process = subprocess.Popen(command, env=self.environment, cwd=self.home, stderr=log, start_new_session=True,
                                   **{"stdout": log, "stdin": subprocess.DEVNULL, **more}, **self.identity)
        self.processes.append(process)
        return process

    def lttng(self, *arguments):
        done = subprocess.run(["lttng", *arguments], env=self.environment, cwd=self.home, capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL, **self.identity)
        if done.returncode != 0:
            raise RuntimeError(f"lttng {' '.join(arguments)}: {done.stdout}{done.stderr}")

    def up(self):
        url = "tcp://127.0.0.1:"
        self.start("lttng-relayd", "-C", f"{url}{self.control}", "-D", f"{url}{self.data}", "-L", f"{url}{self.live}",
                   "-o", os.path.join(self.home, "traces"))
        wait_for("relay", lambda: accepts(self.live))
        self.start("lttng-sessiond", "--no-kernel", "--agent-tcp-port", str(free_ports(1)[0]))
        wait_for("session daemon", lambda: subprocess.run(["lttng", "list"], env=self.environment, capture_output=True,
                                                          timeout=20, **self.identity).returncode == 0)

    def create(self, name):
        self.lttng("create", name, "--live=100000", f"--ctrl-url=tcp://127.0.0.1:{self.control}",
                   f"--data-url=tcp://127.0.0.1:{self.data}")
        self.lttng("enable-channel", "-u", "channel", "--subbuf-size=4M", "--num-subbuf=8")
        self.lttng("enable-event", "-u", "lttng_ust_tracef:*", "-c", "channel")
        self.lttng("start")

    def down(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(15)


class Traced:
    def __init__(self, lttng):
        self.process = lttng.start(lttng.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"

    def make(self, count):
        self.process.stdin.write(b"%d\n" % count)
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)


def follow(lttng, session, out, *options):
    url = f"net://127.0.0.1:{lttng.live}/host/{socket.gethostname()}/{session}"
    return subprocess.Popen([lull, "print", *options, url], stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                            env={**os.environ, "LC_ALL": "C.UTF-8"})


def numbers(path):
    with open(path) as file:
        return [int(m[1]) for m in re.finditer(r'msg = "number (\d+)"\n', file.read())]


def attached(lttng):
    done = subprocess.run([lull, "info", f"net://127.0.0.1:{lttng.live}"], capture_output=True, text=True, timeout=20)
    return re.search(r" 1\s*$", done.stdout, re.M) is not None


def test_all_events(lttng):
    lttng.create("floor")
    path = os.path.join(lttng.home, "out")
    with open(path, "wb") as out:
        process = follow(lttng, "floor", out)
        wait_for("viewer", lambda: attached(lttng))
        traced = Traced(lttng)
        for _ in range(20):
            made = traced.make(COUNT // 20)
            time.sleep(0.02)
        wait_for("first events", lambda: os.path.getsize(path) > 0)
        tap.ok(process.poll() is None, "events are printed while the session goes on")
        traced.end()
        late = Traced(lttng)  # a second program, after the first has gone
        made += late.make(10)
        late.end()
        lttng.lttng("stop")
        lttng.lttng("destroy")
        _, err = process.communicate(timeout=60)
    got = numbers(path)
    tap.ok(process.returncode == 0 and err == b"", "the session's end is the end", process.returncode, err)
    tap.ok(made == COUNT + 10 and sorted(got) == sorted([*range(COUNT), *range(10)]),
           f"{COUNT} events and those of a later program: none missing, none twice", made, len(got), len(set(got)))
    tap.ok(got == [*range(COUNT), *range(10)], "in order of time")


def watch(lttng, name, options, made, seen):
    """What a viewer prints that attaches, sees that `made()` happens and what `seen(numbers)` wants, and is stopped."""
    path = os.path.join(lttng.home, "watched")
    with open(path, "wb") as out:
        process = follow(lttng, name, out, *options)
        wait_for("viewer", lambda: attached(lttng) or process.poll() is not None)
        made()
        wait_for("events", lambda: seen(numbers(path)) or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    wait_for("end of the viewer", lambda: not attached(lttng))
    return process.returncode, err, numbers(path)


def test_start(lttng):
    """What was recorded before: with --from-start it is read, without it only what comes. One viewer after the other: a
    relay takes one at a time."""
    lttng.create("start")
    traced = Traced(lttng)
    traced.make(100)
    got = watch(lttng, "start", ["--from-start"], lambda: None, lambda n: len(n) >= 100)
    tap.ok(got == (0, b"", [*range(100)]), "--from-start: what was before", got)
    got = watch(lttng, "start", [], lambda: traced.make(100), lambda n: n and n[-1] == 199)
    tap.ok(got[:2] == (0, b"") and got[2] == [*range(100, 200)], "without it what comes", got)
    got = watch(lttng, "start", ["--from-start", "--filter", 'msg =~ "number 25*"'], lambda: traced.make(100), lambda n: len(n) >= 11)
    tap.ok(got == (0, b"", [25, *range(250, 260)]), "with a filter", got)
    got = watch(lttng, "start", ["--from-start"], lambda: traced.make(1), lambda n: len(n) >= 301)
    tap.ok(got == (0, b"", [*range(301)]), "everything again", got)
    traced.end()
    lttng.lttng("stop")
    lttng.lttng("destroy")


def test_interrupt(lttng):
    lttng.create("stop")
    path = os.path.join(lttng.home, "out2")
    traced = Traced(lttng)
    with open(path, "wb") as out:
        process = follow(lttng, "stop", out)
        wait_for("viewer", lambda: attached(lttng))
        traced.make(100)
        wait_for("events", lambda: len(numbers(path)) == 100)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    tap.ok(process.returncode == 0 and err == b"", "Ctrl-C: exit 0", process.returncode, err)
    wait_for("end of the viewer", lambda: not attached(lttng))
    tap.ok(True, "Ctrl-C: the relay has no viewer any more")
    with open(path, "wb") as out:
        process = follow(lttng, "stop", out)
        wait_for("viewer", lambda: attached(lttng))
        traced.make(10)
        wait_for("events", lambda: len(numbers(path)) == 10)
        lttng.processes[0].terminate()
        _, err = process.communicate(timeout=30)
    tap.ok(process.returncode == 1 and (b"relay closed the connection" in err or b"connection to the relay broke" in err), "a relay that goes away: message, exit 1",
           process.returncode, err)
    traced.end()


def leave(reason):
    tap.skip("live sessions of LTTng", reason)


def main():
    if not os.environ.get("LULL_TEST_LTTNG"):
        return leave("not asked for: LULL_TEST_LTTNG=1 runs it")
    missing = [p for p in ("lttng", "lttng-relayd", "lttng-sessiond") if shutil.which(p) is None]
    if missing:
        return leave("no " + ", ".join(missing))
    compiler = shlex.split(sys.argv[1]) if len(sys.argv) == 2 else sys.argv[1:]
    before = set(glob.glob("/dev/shm/lttng-ust-*"))
    with tempfile.TemporaryDirectory(prefix="lull-lttng-", ignore_cleanup_errors=True) as home:
        lttng = Lttng(home)
        if not lttng.build(compiler or ["cc"]):
            return leave("no liblttng-ust to build with")
        try:
            lttng.up()
            tap.run("all events", test_all_events, lttng)
            tap.run("start", test_start, lttng)
            tap.run("interrupt", test_interrupt, lttng)
        except (RuntimeError, TimeoutError, OSError) as error:
            leave(f"the daemons do not work here: {error}")
        finally:
            lttng.down()
    for path in set(glob.glob("/dev/shm/lttng-ust-*")) - before:
        if os.stat(path).st_uid in (NOBODY, os.geteuid()):
            os.unlink(path)
    return None


main()
raise SystemExit(tap.done())

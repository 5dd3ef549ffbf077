# SPDX-License-Identifier: MIT
# Records a user-space program with LTTng in each shape and compares what Lull reads of it with
# babeltrace2. The session daemon is this test's own: it has a home and a run directory of its own (as root:
# in a mount namespace of its own) and ends with the test. It runs only when asked for with LULL_TEST_LTTNG=1: starting daemons
# is not for every check. Skips without LTTng, a compiler or the right to do so.
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from tap import Tap

LULL = os.environ["LULL"]
HERE = os.path.dirname(os.path.abspath(__file__))
COMPARE = os.path.join(os.environ["LULL_SOURCE"], "tests", "peers", "compare_babeltrace.py")
PRIVATE = "LULL_TEST_PRIVATE"
tap = Tap()


def run(*command, check=True, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **options)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def leave(reason):
    tap.skip("recordings of LTTng", reason)
    sys.exit(tap.done())


if not os.environ.get("LULL_TEST_LTTNG"):
    leave("not asked for: LULL_TEST_LTTNG=1 runs it")


def become_private():
    """Root's session daemon lives in /run, for all of the machine: gives this process a /run of its own."""
    if os.geteuid() != 0 or os.environ.get(PRIVATE):
        return
    mounts = 'mount -t tmpfs none "$(realpath /var/run)" && mount -t tmpfs none /dev/shm'
    if not shutil.which("unshare") or run("unshare", "-m", "sh", "-c", mounts, check=False).returncode:
        leave("no private mount namespace can be made")
    os.environ[PRIVATE] = "1"
    os.execvp("unshare", ["unshare", "-m", "sh", "-c", f'{mounts} && exec "$@"', "sh", sys.executable, *sys.argv])


class Recorder:
    def __init__(self, directory):
        self.directory = directory
        self.home = f"{directory}/home"
        os.mkdir(self.home)
        os.environ["LTTNG_HOME"] = os.environ["HOME"] = self.home
        os.environ["LTTNG_UST_REGISTER_TIMEOUT"] = "5000"
        self.program = f"{directory}/tick"
        self.daemon = None

    def build(self, compiler):
        command = [*compiler, "-O1", "-I", HERE, f"{HERE}/tick.c", "-o", self.program, "-llttng-ust", "-ldl"]
        return run(*command, check=False).returncode == 0

    def start(self):
        self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            time.sleep(0.1)
            if self.daemon.poll() is not None:
                return False
            if run("lttng", "--no-sessiond", "list", check=False).returncode == 0:
                return True
        return False

    def stop(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            self.daemon.wait(20)

    def lttng(self, *arguments):
        return run("lttng", "--no-sessiond", *arguments)

    def begin(self, name, *create, channel=()):
        path = f"{self.directory}/traces/{name}"
        self.lttng("create", name, f"--output={path}", *create)
        self.lttng("enable-channel", "-u", "-s", name, "ch", "--subbuf-size=4096", "--num-subbuf=16", *channel)
        self.lttng("enable-event", "-u", "-s", name, "-c", "ch", "lull_test:tick")
        self.lttng("add-context", "-u", "-s", name, "-c", "ch", "-t", "vpid", "-t", "vtid", "-t", "procname")
        self.lttng("start", name)
        return path

    def tick(self, count, pause_us=50):
        run(self.program, str(count), str(pause_us))

    def end(self, name):
        self.lttng("destroy", name)


def lines(path, *options):
    done = run(LULL, "print", *options, path, check=False)
    return done.stdout.splitlines() if done.returncode == 0 and not done.stderr else [done.stderr]


def compare(name, path, at_least, exactly=None):
    found = lines(path)
    enough = len(found) == exactly if exactly is not None else len(found) >= at_least
    if not tap.ok(enough, f"{name}: {exactly or at_least} events", len(found), found[:3]):
        return
    if not shutil.which("babeltrace2"):
        tap.skip(f"{name}: as babeltrace2", "no babeltrace2")
        return
    done = run(sys.executable, COMPARE, "--lull", LULL, path, check=False)
    tap.ok(done.returncode == 0, f"{name}: as babeltrace2", done.stdout, done.stderr)
    common = run("babeltrace2", "--stream-intersection", path, check=False)
    found = run(LULL, "print", "--intersection", path, check=False)
    tap.ok((common.returncode == 0) == (found.returncode == 0)
           and common.stdout.count("\n") == found.stdout.count("\n"),
           f"{name}: --intersection as babeltrace2", common.stderr[-300:], found.stderr)


def record_uid(recorder):
    path = recorder.begin("uid")
    recorder.tick(200)
    recorder.end("uid")
    compare("per-UID buffers", path, 200, 200)
    text = run(LULL, "info", path).stdout
    tap.ok("lttng-ust" in text and ", ust," in text, "lull info tells the domain", text[:400])
    first = lines(path, "--limit", "1")[0]
    tap.ok(re.search(r'\(vpid = \d+, vtid = \d+, procname = "tick"', first), "contexts are shown", first)
    tid = re.search(r"vtid = (\d+)", first).group(1)
    tap.ok(len(lines(path, "--tid", tid)) == 200 and len(lines(path, "--tid", "1")) == 0, "--tid means vtid")
    packed = f"{path}.tar.gz"
    run("tar", "-C", os.path.dirname(path), "-czf", packed, "uid")
    if "libarchive" in run(LULL, "--version").stdout:
        tap.ok(lines(packed) == lines(path), "the same when packed")


def record_pid(recorder):
    path = recorder.begin("pid", channel=["--buffers-pid"])
    recorder.tick(100)
    recorder.tick(100)
    recorder.end("pid")
    traces = sorted(glob.glob(f"{path}/ust/pid/*"))
    tap.ok(len(traces) == 2 and len(lines(path)) == 200, "per-PID buffers: two processes", traces)
    for number, trace in enumerate(traces):
        compare(f"per-PID buffers, process {number}", trace, 100, 100)
        pid = re.search(r"tick-(\d+)-", trace).group(1)
        tap.ok(all(f" tick({pid}) lull_test:tick " in line for line in lines(trace)), "the process is shown", trace)


def record_ring(recorder):
    path = recorder.begin("ring", channel=["--tracefile-size=8192", "--tracefile-count=3"])
    recorder.tick(1500)
    recorder.end("ring")
    compare("ring of files", path, 100)


def record_rotation(recorder):
    path = recorder.begin("rotate")
    for _ in range(2):
        recorder.tick(200)
        recorder.lttng("rotate", "rotate")
    recorder.tick(200)
    shutil.copytree(path, f"{path}-unfinished")
    recorder.tick(100)
    recorder.end("rotate")
    compare("rotation", path, 700, 700)
    compare("rotation, unfinished", f"{path}-unfinished", 400)
    chunks = sorted(glob.glob(f"{path}/archives/*"), reverse=True)
    tap.ok(len(chunks) == 3, "three chunks", chunks)


def record_snapshots(recorder):
    path = recorder.begin("snap", "--snapshot")
    recorder.tick(200)
    recorder.lttng("snapshot", "record", "-s", "snap")
    recorder.tick(20)
    recorder.lttng("snapshot", "record", "-s", "snap")
    recorder.end("snap")
    compare("snapshots", path, 220, 220)


def record_crash(recorder):
    memory = f"{recorder.directory}/shm"
    recorder.begin("crash", f"--shm-path={memory}")
    recorder.tick(100)
    shutil.copytree(memory, f"{memory}-left")  # as it would be left, were the machine reset now
    recorder.end("crash")
    path = f"{recorder.directory}/traces/recovered"
    run("lttng-crash", "-x", path, f"{memory}-left")
    compare("recovered by lttng-crash", path, 1)


def main():
    missing = [p for p in ("lttng", "lttng-sessiond", "lttng-crash") if not shutil.which(p)]
    if missing:
        leave("no " + ", ".join(missing))
    become_private()
    compiler = shlex.split(sys.argv[1]) if len(sys.argv) == 2 else sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        recorder = Recorder(directory)
        if not recorder.build(compiler or ["cc"]):
            leave("no liblttng-ust to build with")
        try:
            if not recorder.start():
                leave("lttng-sessiond does not run here")
            for record in (record_uid, record_pid, record_ring, record_rotation, record_snapshots, record_crash):
                tap.run(record.__name__, record, recorder)
        finally:
            recorder.stop()
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())

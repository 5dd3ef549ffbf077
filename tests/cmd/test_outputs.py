#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Where output files go: devices and pipes are written to, links are followed as a shell does, a regular file is replaced when all is
# written. And what is left when a pipe closes.
# LULL is the program, LULL_SAMPLES the directory of the unpacked samples.
import glob
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

from tap import Tap

lull = os.environ["LULL"]
samples = os.environ["LULL_SAMPLES"]
chain = os.path.join(samples, "truth", "truth-chain")
tap = Tap()
NOBODY = 65534
# What is written, and how it begins and ends.
OUTPUTS = {
    "--html": (["stats", chain], b"<!DOCTYPE html>", b"</html>"),
    "--svg": (["critpath", "--tid", None, chain], b"<?xml", b"</svg>"),
    "--perfetto": (["critpath", "--tid", None, chain], b"{", b"}"),
}


def run(*arguments, **more):
    return subprocess.run([lull, *arguments], capture_output=True, timeout=120, env={**os.environ, "LC_ALL": "C.UTF-8"},
                          stdin=subprocess.DEVNULL, **more)


def some_tid():
    """A task that ran: of the first event that says a tid."""
    events = run("print", "--json", "--events", "sched_switch", chain).stdout.decode().splitlines()
    return str(next(tid for tid in (json.loads(line)["fields"]["next_tid"] for line in events[len(events) // 2:]) if tid > 0))


def command(option, name):
    arguments = [some_tid() if word is None else word for word in OUTPUTS[option][0]]
    return [arguments[0], option, name, *arguments[1:]]


def is_whole(option, data):
    data = data.strip()
    return data.startswith(OUTPUTS[option][1]) and data.endswith(OUTPUTS[option][2])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def scratch():
    return tempfile.TemporaryDirectory(prefix="lull-outputs-")


def replaces(option, folder, name, *also):
    """Writes to `name`; nothing but it and `also` is in the directory then."""
    done = run(*command(option, os.path.join(folder, name)))
    left = sorted(os.listdir(folder))
    tap.ok(done.returncode == 0 and left == sorted({name, *also}), f"{option} to {name}", done, left)
    return read(os.path.join(folder, name))


# --- regular files and links ---------------------------------------------------------------------------------------------------------------

def test_regular(option):
    old = os.umask(0o027)
    with scratch() as folder:
        path = os.path.join(folder, "out")
        tap.ok(is_whole(option, replaces(option, folder, "out")), f"{option}: a new file is whole")
        tap.ok(stat.S_IMODE(os.stat(path).st_mode) == 0o640, f"{option}: its mode is that of the umask", oct(os.stat(path).st_mode))
        write(path, b"old " * 100000)
        os.chmod(path, 0o604)
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        before = os.stat(path)
        with open(path, "rb") as file:
            tap.ok(is_whole(option, replaces(option, folder, "out")), f"{option}: an old file is replaced")
            tap.ok(file.read() == b"old " * 100000, f"{option}: who reads the old one sees no part of the new one")
        after = os.stat(path)
        tap.ok((after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid),
               f"{option}: mode and owner stay", before, after)
        os.link(path, os.path.join(folder, "other"))
        write(path, b"old")
        replaces(option, folder, "out", "other")
        tap.ok(is_whole(option, read(os.path.join(folder, "other"))), f"{option}: the other name of a file shows the new contents")
    os.umask(old)


def test_links(option):
    with scratch() as folder:
        for name, target in ("link", "file"), ("dangling", "new"), ("chain", "link"):
            os.symlink(target, os.path.join(folder, name))
        write(os.path.join(folder, "file"), b"old")
        all_names = {"link", "dangling", "chain", "file"}
        for name, target in ("link", "file"), ("chain", "file"), ("dangling", "new"):
            write(os.path.join(folder, "file"), b"old")
            replaces(option, folder, name, *all_names, target)
            all_names.add(target)
            tap.ok(os.path.islink(os.path.join(folder, name)) and is_whole(option, read(os.path.join(folder, target))),
                   f"{option}: what {name} leads to is written")


def test_failures(option):
    with scratch() as folder:
        path = os.path.join(folder, "out")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        for before in None, b"old":
            if before is not None:
                write(path, before)
            done = run(*command(option, path), preexec_fn=limit)
            tap.ok(done.returncode == 1 and b"cannot write" in done.stderr, f"{option}: what does not fit is an error", done)
            left = {name: read(os.path.join(folder, name)) for name in os.listdir(folder)}
            tap.ok(left == ({} if before is None else {"out": before}), f"{option}: all is as it was before", left)
        for name in os.path.join(folder, "nowhere", "out"), folder:
            done = run(*command(option, name))
            tap.ok(done.returncode == 1 and b"cannot write" in done.stderr, f"{option}: a name that cannot be written", done)
    with scratch() as folder:
        path = make_device(folder, 7)
        if path is not None:
            done = run(*command(option, path))
            tap.ok(done.returncode == 1 and stat.S_ISCHR(os.stat(path).st_mode), f"{option}: a full device is an error", done)


def test_link_of_others():
    """A link that somebody else left in a directory like /tmp is not followed where the kernel forbids it."""
    try:
        is_protected = read("/proc/sys/fs/protected_symlinks").strip() == b"1"
    except OSError:
        is_protected = False
    if os.geteuid() != 0 or not is_protected:
        tap.skip("a link of somebody else", "needs root and fs.protected_symlinks")
        return
    with scratch() as folder:
        os.chmod(folder, 0o1777)
        for name in "secret", "new":
            link, secret = os.path.join(folder, "link"), os.path.join(folder, "private", name)
            os.makedirs(os.path.dirname(secret), mode=0o700, exist_ok=True)
            write(os.path.join(folder, "private", "secret"), b"old")
            os.symlink(secret, link)
            os.lchown(link, NOBODY, NOBODY)
            done = run(*command("--html", link))
            tap.ok(done.returncode == 1 and os.listdir(os.path.dirname(secret)) == ["secret"] and
                   read(os.path.join(folder, "private", "secret")) == b"old", f"a link of somebody else to “{name}”", done)
            os.remove(link)


# --- what is no regular file ----------------------------------------------------------------------------------------------------------------

def test_standard_output(option):
    done = run(*command(option, "-"))
    tap.ok(done.returncode == 0 and is_whole(option, done.stdout), f"{option} -: it and nothing else is printed", done.stdout[:99])
    with scratch() as folder:
        wanted = replaces(option, folder, "out")
    tap.ok(done.stdout == wanted, f"{option} -: as in a file")


def test_pipe(option):
    with scratch() as folder:
        path, got = os.path.join(folder, "pipe"), []
        os.mkfifo(path)
        reader = threading.Thread(target=lambda: got.append(read(path)), daemon=True)
        reader.start()
        done = run(*command(option, path))
        reader.join(10)
        tap.ok(done.returncode == 0 and os.listdir(folder) == ["pipe"] and stat.S_ISFIFO(os.lstat(path).st_mode) and got and
               is_whole(option, got[0]), f"{option}: a pipe is written to", done)


def make_device(folder, minor):
    """A node of its own: 3 is /dev/null, 7 /dev/full. A test must not touch those of the machine, which root could replace."""
    path = os.path.join(folder, "node")
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        os.close(os.open(path, os.O_WRONLY))
    except OSError as why:
        tap.skip("a device", str(why))
        return None
    return path


def test_device(option):
    with scratch() as folder:
        path = make_device(folder, 3)
        if path is None:
            return
        done = run(*command(option, path))
        now = os.lstat(path)
        tap.ok(done.returncode == 0 and stat.S_ISCHR(now.st_mode) and os.listdir(folder) == ["node"],
               f"{option}: a device stays a device", done, now)


def test_usage():
    for arguments in (["--svg", "-", "--perfetto", "-"], ["--html", "-", "--svg", "-"], ["--svg", "-", "--json"], ["--perfetto", "-", "--folded"]):
        done = run("critpath", "--tid", "1", *arguments, chain)
        tap.ok(done.returncode == 2 and b"standard output" in done.stderr, " ".join(arguments), done)


# --- pipes that close -------------------------------------------------------------------------------------------------------------------------

def damaged_trace(folder):
    bad = os.path.join(folder, "bad")
    shutil.copytree(chain, bad)
    stream = max(glob.glob(os.path.join(bad, "**", "*_0"), recursive=True), key=os.path.getsize)
    os.chmod(stream, 0o644)
    with open(stream, "r+b") as file:
        file.seek(1000)
        file.write(b"\xf0\x77" * 500)
    return bad


def closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def run_closed(arguments, **more):
    return subprocess.run([lull, *arguments], timeout=120, stdin=subprocess.DEVNULL, check=False, **more).returncode


def test_damaged_export():
    """Its exit status is 1, whoever reads its messages."""
    with scratch() as folder:
        bad, out = damaged_trace(folder), os.path.join(folder, "out")
        pipe = closed_pipe()
        wanted = None
        for name, more in (("open", {"stderr": subprocess.DEVNULL}), ("a closed pipe", {"stderr": pipe}),
                           ("closed pipes", {"stderr": pipe, "stdout": pipe}), ("closed", {"preexec_fn": lambda: os.close(2)})):
            status = run_closed(["export", "--ctf2", out, bad], **more)
            tap.ok(status == 1 and sorted(os.listdir(folder)) == ["bad", "out"], f"stderr is {name}", status, os.listdir(folder))
            files = {os.path.relpath(path, out): read(path) for path in sorted(glob.glob(out + "/**", recursive=True))
                     if os.path.isfile(path) and not path.endswith("metadata")}
            wanted = wanted or files
            tap.ok(files and files == wanted, f"stderr is {name}: the same is exported")
            shutil.rmtree(out, ignore_errors=True)
            shutil.rmtree(out + ".part", ignore_errors=True)
        tap.ok(run_closed(["stats", bad], stdout=subprocess.DEVNULL, stderr=pipe) == 1, "a damaged trace, and nobody reads the messages")
        tap.ok(run_closed(["print", chain], stdout=pipe, stderr=subprocess.DEVNULL) == 0, "nobody reads the output")
        os.close(pipe)


def test_signal_in_export():
    """SIGPIPE while it writes: it goes on, and leaves no part."""
    with scratch() as folder:
        out = os.path.join(folder, "out")
        child = subprocess.Popen([lull, "export", "--ctf2", out, os.path.join(samples, "django")], stderr=subprocess.DEVNULL)
        while child.poll() is None and not os.path.isdir(out + ".part"):
            time.sleep(0.0001)
        child.send_signal(signal.SIGPIPE)
        status = child.wait(timeout=60)
        tap.ok(os.listdir(folder) == ["out"] and status == 0, "SIGPIPE in an export", status, os.listdir(folder))


def test_new_key():
    """A file that must not be there yet: '-' is not the name of one."""
    with scratch() as folder:
        done = subprocess.run([lull, "daemon", "--new-key", "-"], capture_output=True, text=True, cwd=folder, timeout=60, check=False)
        tap.ok(done.returncode == 0 and re.fullmatch(r"[0-9a-f]{64}\n", done.stdout) and not os.listdir(folder), "daemon --new-key -: to standard output",
               done.returncode, done.stdout, os.listdir(folder))


for key in OUTPUTS:
    for test in test_regular, test_links, test_failures, test_standard_output, test_pipe, test_device:
        tap.run(f"{test.__name__} {key}", test, key)
for test in test_link_of_others, test_usage, test_new_key, test_damaged_export, test_signal_in_export:
    tap.run(test.__name__, test)
sys.exit(tap.done())

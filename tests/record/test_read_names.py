#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What system calls are given by pointer: a program knows which files it opened and closed, with whom it spoke, and what it
# executed; a recording of it must say the same. Root only, and only where eBPF may be loaded.
import csv
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

from live.tracked import LULL, why_not
from tap import Tap

tap = Tap()
NAMES = ("plain", "with blank", "größe", "x" * 200, "a,\"b\"")
# Each name three times: written, read through a path with "..", and as seen from another directory.
PROGRAM = r"""
import os, select, socket, subprocess, sys
folder, port, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
for name in names:
    path = os.path.join(folder, name)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"x" * 100)
    os.close(fd)
    fd = os.open(os.path.join(folder, "..", os.path.basename(folder), name), os.O_RDONLY)
    os.read(fd, 100)
    os.close(fd)
os.chdir(folder)
fd = os.open(names[0], os.O_RDONLY)
os.read(fd, 10)
os.close(fd)
try:
    os.open("/nonexistent/file", os.O_RDONLY)
except OSError:
    pass
out, into = os.pipe()
if os.fork() == 0:
    select.select([], [], [], 0.15)
    os.write(into, b"x")
    os._exit(0)
os.read(out, 1)
os.wait()
asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asker.connect(("127.0.0.1", port))
asker.send(b"hello")
select.select([asker], [], [], 0.1)
poll = select.poll()
poll.register(asker, select.POLLIN)
poll.poll(200)
asker.close()
other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
other.sendto(b"longer", ("127.0.0.1", port))
poll = select.poll()
poll.register(other, select.POLLIN)
poll.poll(100)
server = socket.socket(socket.AF_UNIX)
server.bind("unix-socket")
server.listen()
client = socket.socket(socket.AF_UNIX)
client.connect(os.path.join(folder, "unix-socket"))
client.send(b"12345")
accepted, _ = server.accept()
accepted.recv(100)
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
accepted, _ = listener.accept()
client.send(b"1234567")
accepted.recv(100)
with open("accepted", "w") as told:
    print(*listener.getsockname(), *client.getsockname(), file=told)
subprocess.run(["sh", "-c", "sleep 0.12; exit 0", "two words", "it's", ""])
with open("script", "w") as script:
    print("#!/bin/sleep", file=script)
os.chmod("script", 0o755)
subprocess.run([os.path.join(folder, "script")], stderr=subprocess.DEVNULL)
print(os.getpid())
"""


def lull(*arguments, **more):
    return subprocess.run([LULL, *arguments], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **more)


def rows_of(recording, pid):
    text = lull("iolog", "--csv", "--pid", str(pid), recording).stdout
    return list(csv.DictReader(io.StringIO(text)))


def check_files(tracer, rows, folder):
    opened = [row["path"] for row in rows if row["syscall"] == "openat" and not row["error"]]
    above = os.path.join(folder, "..", os.path.basename(folder))
    for name in NAMES:
        known = [os.path.join(folder, name), os.path.join(above, name)]
        tap.ok(all(opened.count(path) == 1 for path in known), f"{tracer}: “{name[:20]}” was opened twice, by two paths",
               [path for path in opened if folder in path])
        moved = [(row["syscall"], row["bytes"]) for row in rows if row["path"] in known and row["bytes"]]
        tap.ok(sorted(moved) == [("read", "100"), ("write", "100")], f"{tracer}: and is the file that was written and read", moved)
    tap.ok(opened.count(NAMES[0]) == 1, f"{tracer}: a path from the working directory is as it was given", opened)
    tap.ok("/nonexistent/file" not in opened, f"{tracer}: what could not be opened is not open")
    pipes = [row for row in rows if row["path"] == "pipe" and row["syscall"] == "read" and row["bytes"] == "1"]
    tap.ok(len(pipes) == 1, f"{tracer}: the pipe is a pipe", [row["path"] for row in rows if row["syscall"] == "read"])


def check_inodes(tracer, recording, folder):
    """What was opened, executed and interpreted a script has the number that stat() says, by which page faults name a file."""
    events = [json.loads(line) for line in lull("print", "--json", os.path.join(recording, "state")).stdout.splitlines()]
    of = {kind: [event["fields"] for event in events if event["name"] == kind] for kind in ("lull_call_path", "lull_mapped_file")}
    opened = {file["path"]: file["inode"] for file in of["lull_call_path"] if file["inode"]}
    wrong = [name for name in NAMES if opened.get(os.path.join(folder, name)) != os.stat(os.path.join(folder, name)).st_ino]
    tap.ok(not wrong, f"{tracer}: what was opened has its inode", wrong, opened)
    tap.ok(not any(path in opened for path in (folder, "/dev/null")), f"{tracer}: what is no regular file has none", opened)
    executed = {file["path"]: file["inode"] for file in of["lull_mapped_file"]}
    shell = next((path for path in executed if os.path.basename(path) == "sh"), None)
    tap.ok(shell and executed[shell] == os.stat(shell).st_ino, f"{tracer}: so has what was executed", executed)
    script = os.path.join(folder, "script")
    given = [file for file in of["lull_call_path"] if file["path"] == script]
    tap.ok(given and not given[0]["inode"], f"{tracer}: a script was executed", given)
    interpreter = "/bin/sleep"
    tap.ok(executed.get(interpreter) == os.stat(interpreter).st_ino, f"{tracer}: but its interpreter is in memory", executed)


def check_sockets(tracer, rows, folder, port):
    peer = f"127.0.0.1:{port}"
    sent = [(row["syscall"], row["path"], row["bytes"]) for row in rows if row["syscall"] in ("sendto", "send")]
    tap.ok(("sendto", peer, "5") in sent and ("sendto", peer, "6") in sent, f"{tracer}: both datagrams went to {peer}", sent)
    tap.ok(("sendto", os.path.join(folder, "unix-socket"), "5") in sent, f"{tracer}: the unix socket has its path", sent)
    answered = [row["path"] for row in rows if row["syscall"] == "recvfrom" and row["bytes"] == "5"]
    tap.ok(answered == ["unix-socket"], f"{tracer}: who accepts at a unix socket reads from what it was bound to", answered)
    with open(os.path.join(folder, "accepted"), encoding="ascii") as told:
        host, port, own_host, own_port = told.read().split()
    received = [(row["syscall"], row["path"], row["bytes"]) for row in rows if row["bytes"] == "7"]
    tap.ok(sorted(received) == [("recvfrom", f"{own_host}:{own_port}", "7"), ("sendto", f"{host}:{port}", "7")], f"{tracer}: who was accepted is known by address", received)


def check_path(tracer, recording, port):
    path = json.loads(lull("critpath", "--json", recording).stdout)
    details = [segment["detail"] or "" for segment in path["segments"]]
    answers = [rf"poll timed out after .*: no answer from udp 127\.0\.0\.1:{port} to {bytes_sent} bytes" for bytes_sent in (5, 6)]
    tap.ok(all(any(re.search(answer, detail) for detail in details) for answer in answers),
           f"{tracer}: the time-outs say who did not answer", [detail for detail in details if "timed out" in detail])
    reasons = [segment["reason"]["object"] for segment in path["segments"] + path.get("waits", []) if segment.get("reason")]
    tap.ok(any(reason and "pipe" in reason for reason in reasons), f"{tracer}: who waited for the child waited on a pipe", reasons)
    polls = [segment["reason"]["object"] for segment in path["segments"] + path.get("waits", []) if segment.get("reason") and segment["reason"]["call"] == "poll"]
    tap.ok(polls and set(polls) <= {f"udp 127.0.0.1:{port}"}, f"{tracer}: who polls one socket waits for its peer", polls)
    commands = {task["comm"]: task["command_line"] for task in path["summary"]["by_task"]}
    tap.ok(any(line == "sh -c 'sleep 0.12; exit 0' 'two words' 'it'\\''s' ''" for line in commands.values()),
           f"{tracer}: the command is as it was called", commands)


def record(tracer, recording, program, *arguments, options=(), **more):
    done = lull("record", "--tracer", tracer, "-o", recording, *options, "--", sys.executable, "-c", program, *arguments, **more)
    if done.returncode:
        raise SystemExit(f"lull record: {done.stderr}")
    return int(done.stdout)


def check_tracer(tracer, directory, port):
    folder, recording = os.path.join(directory, "files-" + tracer), os.path.join(directory, tracer)
    os.mkdir(folder)
    pid = record(tracer, recording, PROGRAM, folder, str(port), *NAMES)
    description = json.load(open(os.path.join(recording, "recording.json")))
    tap.ok("names_missing" not in description, f"{tracer}: names are recorded", description)
    tap.ok(not description.get("lost_names"), f"{tracer}: and none is lost, of programs that were executed neither", description.get("lost_names"))
    rows = rows_of(recording, pid)
    check_files(tracer, rows, folder)
    check_sockets(tracer, rows, folder, port)
    check_path(tracer, recording, port)
    check_inodes(tracer, recording, folder)


def check_only(directory):
    """What others do is not in a recording of the command alone."""
    recording, secret = os.path.join(directory, "only"), os.path.join(directory, "secret-of-others")
    other = subprocess.Popen(["sh", "-c", f"while :; do : > {secret}; /bin/true {secret}; done"])
    program = "import os, sys, time\nopen(sys.argv[1], 'w').close(); time.sleep(0.2); print(os.getpid())"
    try:
        record("ftrace", recording, program, os.path.join(directory, "own-file"), options=("--only",))
    finally:
        other.kill()
        other.wait()
    with open(os.path.join(recording, "state", "names"), "rb") as file:
        names = file.read()
    tap.ok(b"own-file" in names and b"secret-of-others" not in names, "--only: names of the command, and of nobody else", len(names))


def check_executed(directory):
    """What the recorded command went on to execute; a script is itself, behind its interpreter, however long its words."""
    script, words = os.path.join(directory, "a-script"), "x y " * 1000
    for name, interpreter in ((script, "/bin/sh"), (script + "-of-env", "/usr/bin/env -S sh")):
        with open(name, "w", encoding="ascii") as file:
            file.write(f"#!{interpreter}\nsleep 0.01\ntrue\n")
        os.chmod(name, 0o755)
    for number, (command, executed) in enumerate((
            (["sh", "-c", "exec sleep 0.01"], "sleep 0.01"),
            (["sh", "-c", "exec sh -c 'sleep 0.01; true'"], "sh -c 'sleep 0.01; true'"),
            (["env", "A=1", script, "two words"], f"/bin/sh {script} 'two words'"),
            ([script, "two words"], None),
            ([script, words], None),
            ([script + "-of-env", "a"], None),
            (["sleep", "0.01"], None))):
        recording = os.path.join(directory, f"executed-{number}")
        done = lull("record", "--tracer", "ftrace", "-o", recording, "--", *command)
        shown = [line for line in lull("critpath", recording).stdout.splitlines() if line.startswith(("Its command was: ", "It then executed: "))]
        tap.ok(not done.returncode and len(shown) == (2 if executed else 1) and shown[0].startswith(f"Its command was: {command[0]} "),
               f"{' '.join(command)[:80]}: its command is said", shown or done.stderr)
        tap.ok(shown[1:] == ([f"It then executed: {executed}"] if executed else []), f"and it executed {executed or 'no other'}", shown)


def check_without(directory):
    """Who may not load eBPF programs gets a recording that says so."""
    recording = os.path.join(directory, "without")
    lacking = "-bpf,-perfmon,-sys_admin"
    done = subprocess.run(["setpriv", "--bounding-set", lacking, LULL, "record", "--tracer", "ftrace", "-o", recording, "--", "true"],
                          capture_output=True, text=True, timeout=120)
    if done.returncode:
        tap.skip("without eBPF", done.stderr.strip())
        return
    missing = json.load(open(os.path.join(recording, "recording.json"))).get("names_missing", "")
    tap.ok("eBPF" in missing and not os.path.exists(os.path.join(recording, "state", "names")), "recording.json says why", missing)
    tap.ok("open at the start or the end" in lull("info", recording).stdout, "and lull info what that means")


def main(directory):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        for tracer in ("ftrace", "perf"):
            check_tracer(tracer, directory, silent.getsockname()[1])
    check_only(directory)
    check_executed(directory)
    if shutil.which("setpriv"):
        check_without(directory)


if os.geteuid() != 0:
    tap.skip("names", "recording takes root")
elif why_not():
    tap.skip("names", why_not())
else:
    scratch = tempfile.mkdtemp(prefix="lull-names-")
    try:
        main(scratch)
    finally:
        shutil.rmtree(scratch)
tap.done()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Who the processes of a recording are, what the command inherits, what a clean-up leaves alone, and recording without root. What is
# expected are the kernel's own accounts of processes. Needs root.
import os
import re
import shutil
import signal
import subprocess
import sys

from scene import LULL, NOBODY, PATIENCE, STRANGER, USABLE, Scene, environment, find_tracers, finish, helpers, kill, start
from tap import Tap

tap = Tap()


# ---- what recorders are, and what they hand on ----

def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return {key: value.split() for key, _, value in (line.partition(":") for line in file)}


def check_identities(name):
    """Who the processes of a recording are: from the kernel's own account of them."""
    scene = Scene()
    script = "grep -E '^(Uid|Gid|Groups|Cap)' /proc/self/status; ls -l /proc/self/fd; env; echo begun; exec sleep 60"
    recorder = start(scene, "-o", "a", "sh", "-c", script, tracer=name)
    lines = []
    while (line := recorder.stdout.readline()) and line != "begun\n":
        lines.append(line.strip())
    told = {line.split(":")[0]: line.split()[1:] for line in lines if re.match("Uid|Gid|Groups|Cap", line)}
    groups = sorted(os.getgrouplist("nobody", NOBODY))
    all_nobody = [str(NOBODY)] * 4
    tap.ok(told["Uid"] == told["Gid"] == all_nobody and sorted(map(int, told["Groups"])) == groups, f"{name}: the command is its user's",
           told)
    tap.ok({told[cap][0] for cap in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}, f"{name}: and has no capability", told)
    tap.ok(sum(" -> " in line for line in lines) == 4, f"{name}: and no file of ours", lines)
    tap.ok(not [line for line in lines if line.startswith("SUDO_")] and "HOME=/nonexistent" in lines, f"{name}: and nothing of sudo's",
           lines)
    guard, keeper = helpers(recorder)
    seen = status_of(keeper)
    tap.ok(seen["Uid"] == seen["Gid"] == all_nobody and sorted(map(int, seen["Groups"])) == groups and
           {seen[cap][0] for cap in ("CapPrm", "CapEff", "CapAmb")} == {"0" * 16}, f"{name}: so is who makes the files", seen)
    closed = [subprocess.run(["ls", f"/proc/{pid}/fd"], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True,
                             check=False).returncode != 0 for pid in (recorder.pid, guard, keeper)]
    tap.ok(all(closed), f"{name}: into which the user cannot look", closed)
    seen = status_of(recorder.pid)
    may = int(seen["CapPrm"][0], 16)
    writes = [0, 1, 3, 4, 6, 7, 8, 9, 21, 27, 31]  # chown, override, owner, set*id, set*cap, linux_immutable, sys_admin, mknod
    tap.ok(not any(may >> bit & 1 for bit in writes), f"{name}: the recorder has given up to write where it may not", seen["CapPrm"])
    if name == "perf":
        tap.ok(seen["Uid"] == all_nobody, "perf: and to be root", seen["Uid"])
    recorder.send_signal(signal.SIGINT)
    finish(recorder)
    owners = {os.lstat(path).st_uid for path in (os.path.join(scene.home, "a"), os.path.join(scene.home, "a", "recording.json"))}
    tap.ok(owners == {NOBODY}, f"{name}: whose the recording is", owners)
    scene.remove()


def check_capabilities():
    """Without root: what RECORDING.md says is enough, and the command gets none of it."""
    if shutil.which("setpriv") is None or "perf" not in USABLE:
        tap.skip("capabilities", "no setpriv, or no perf events")
        return
    capabilities = "+perfmon,+dac_read_search,+ipc_lock"
    scene = Scene()
    user = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", f"--inh-caps={capabilities}",
            f"--ambient-caps={capabilities}", f"--bounding-set=-all,{capabilities}"]
    if subprocess.run([*user, LULL, "--version"], capture_output=True, check=False).returncode != 0:
        tap.skip("capabilities", "this kernel does not give them, or that user cannot execute lull here")
        scene.remove()
        return
    done = subprocess.run([*user, LULL, "record", "--tracer", "perf", "--only", "-o", "a", "grep", "^Cap", "/proc/self/status"],
                          cwd=scene.strangers, env=environment(scene, False), capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    path = os.path.join(scene.strangers, "a")
    tap.ok(done.returncode == 0 and os.path.getsize(os.path.join(path, "perf.data")) > 0 and os.stat(path).st_uid == STRANGER,
           "without root, with capabilities: it records", done)
    seen = dict(line.split(":\t") for line in done.stdout.splitlines())
    tap.ok(all(int(seen[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")), "and the command has none of them", seen)
    scene.remove()


def check_remains():
    """What others have put into the directory is not removed with it, and what they have replaced is theirs."""
    for how in "not published", "killed":
        scene = Scene()
        script = "echo mine >a.part/mine; rm a.part/state/state; echo mine >a.part/state/state; "
        script += "mkdir a" if how == "not published" else "echo begun; exec sleep 60"
        recorder = start(scene, "-o", "a", "sh", "-c", script)
        if how == "killed":
            recorder.stdout.readline()
            kill(recorder)
        finish(recorder)
        part = os.path.join(scene.home, "a.part")
        left = sorted(os.path.relpath(os.path.join(folder, name), part) for folder, _, names in os.walk(part) for name in names)
        tap.ok(left == ["mine", "state/state"], f"{how}: what others made stays, and nothing else", left)
        scene.remove()


def check_refused():
    """A directory that looks like a recording in work, but was not left by Lull."""
    for name, mode, owner, extra in (("not closed", 0o755, NOBODY, None), ("another's", 0o700, STRANGER, None),
                                     ("with more in it", 0o700, NOBODY, "letter")):
        scene = Scene()
        part = os.path.join(scene.home, "a.part")
        os.mkdir(part, mode)
        for file in filter(None, (".lull-recording", extra)):
            with open(os.path.join(part, file), "w", encoding="ascii"):
                os.chown(os.path.join(part, file), owner, owner)
        os.chown(part, owner, owner)
        recorder = start(scene, "-o", "a", "echo", "ran")
        out, problems = finish(recorder)
        tap.ok(recorder.returncode == 1 and "a.part" in problems and "ran" not in out and os.path.exists(os.path.join(part, ".lull-recording")),
               f"a directory a.part that is {name} is refused, and stays", out, problems)
        scene.remove()


def main():
    if os.geteuid() != 0:
        tap.skip("rights", "needs root, who can play other users")
        return tap.done()
    for name, why in find_tracers().items():
        tap.skip(name, why)
    for name in USABLE:
        tap.run("identities", check_identities, name)
    for check in (check_capabilities, check_remains, check_refused) if USABLE else ():
        tap.run(check.__name__, check)
    return tap.done()


sys.exit(main())

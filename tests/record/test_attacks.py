#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What another user does to a recorder of root's: renames, symlinks, hard links, FIFOs and directories at each step of a
# recording's life. Each attack is made again and again, for LULL_ATTACK_SECONDS (10), or LULL_ATTACK_ROUNDS times if
# that is set; afterwards a tree of root's must be what it was, to the inode and the nanosecond. Needs root.
#
# “nobody” stands for who calls sudo and whose command is recorded; STRANGER for another user of the machine.
# With a list of attacks as arguments only these are made.
import contextlib
import ctypes
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from tap import Tap

LULL = os.environ["LULL"]
SECONDS = float(os.environ.get("LULL_ATTACK_SECONDS", "10"))
ROUNDS = int(os.environ.get("LULL_ATTACK_ROUNDS", "0"))
NOBODY, STRANGER = 65534, 65533
PATIENCE = 60
RENAME_EXCHANGE = 2
LIBC = ctypes.CDLL(None, use_errno=True)
DIRECTORIES = 40  # that are exchanged for symlinks all the time
MOMENTS = random.Random(10)
tap = Tap()


# ---- the scene ----

class Scene:
    """Directories of both users, and one of root's that must not change."""

    def __init__(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="lull-attack-"))
        os.chmod(self.base, 0o755)
        self.canary = self.join("canary")
        os.mkdir(self.canary, 0o755)
        for name in ("shadow", "recording", "inner/deep/secret", "inner/key", "kernel/modules", "state/hosts"):
            path = os.path.join(self.canary, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write(f"of root: {name}\n")
            os.chmod(path, 0o600)
        self.home = self.make("home", NOBODY)
        self.public = self.make("public", 0, 0o1777)  # as /tmp is
        self.strangers = self.make("strangers", STRANGER)
        self.before = self.look()

    def join(self, *names):
        return os.path.join(self.base, *names)

    def make(self, name, owner, mode=0o755):
        path = self.join(name)
        os.mkdir(path)
        os.chown(path, owner, owner)
        os.chmod(path, mode)
        return path

    def look(self):
        """All that may not change. The number of links may: everybody may make one."""
        seen = {}
        for folder, _, names in os.walk(self.canary):
            for path in (folder, *(os.path.join(folder, name) for name in names)):
                st = os.lstat(path)
                text = b""
                if stat.S_ISREG(st.st_mode):
                    with open(path, "rb") as file:
                        text = file.read()
                seen[path] = (st.st_mode, st.st_uid, st.st_gid, st.st_ino, st.st_size, st.st_mtime_ns, text)
        return seen

    def harm(self):
        """What was done to the tree, in words; empty: nothing."""
        now = self.look()
        changed = [path for path in sorted({*now, *self.before}) if now.get(path) != self.before.get(path)]
        return [f"{path}: {self.before.get(path, 'new')} -> {now.get(path, 'gone')}" for path in changed]

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)


def environment(scene, is_sudo):
    env = {name: value for name, value in os.environ.items() if not name.startswith("SUDO_") and name != "LD_PRELOAD"}
    sudo = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"} if is_sudo else {}
    return {**env, "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": scene.join("state"), **sudo, "CANARY": scene.canary}


def tracer():
    return ["--tracer", TRACER, "--only", "--buffer", "64k"]


def start(scene, *arguments, sudo=True, folder=None, **how):
    return subprocess.Popen([LULL, "record", *tracer(), *arguments], cwd=folder or scene.home, env=environment(scene, sudo),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True, **how)


def finish(recorder):
    """It ends, whatever is done to it."""
    try:
        return recorder.communicate(timeout=PATIENCE)
    finally:
        end_command(recorder)
        recorder.wait()


def children(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    return []


def helpers(recorder):
    """The processes that outlive it, and clean up."""
    own = [pid for pid in children(recorder.pid) if is_session(pid)]
    return own + [below for pid in own for below in children(pid)]


def is_session(pid):
    with contextlib.suppress(OSError):
        return os.getsid(pid) == pid
    return False


def is_alive(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


def wait_until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def kill(recorder):
    """SIGKILL, and until nobody cleans up any more."""
    left = helpers(recorder)
    recorder.kill()
    recorder.wait()
    wait_until(lambda: not any(map(is_alive, left)))
    end_command(recorder)


def end_command(recorder):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(recorder.pid, signal.SIGKILL)


# ---- the other user ----

@contextlib.contextmanager
def attacker(user, act, *arguments):
    """`act` again and again, as that user, while the block runs."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            while True:
                with contextlib.suppress(OSError):
                    act(*arguments)
        finally:
            os._exit(0)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def as_user(user, act, *arguments):
    """Once; what it raises is an error of the test."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            act(*arguments)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0, act


def exchange(one, other):
    LIBC.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), RENAME_EXCHANGE)


def lay_traps(folder, canary):
    """A directory that looks like a recording in work, and is full of directories that will be something else."""
    os.mkdir(folder, 0o755)
    with open(os.path.join(folder, ".lull-recording"), "w", encoding="ascii"):
        pass
    for i in range(DIRECTORIES):
        trap = os.path.join(folder, f"d{i:03}")
        os.mkdir(trap)
        for k in range(3):
            with open(os.path.join(trap, f"f{k}"), "w", encoding="ascii"):
                pass
        os.symlink(canary, trap + ".link")
    for name in ("shadow", "inner/key"):
        os.symlink(os.path.join(canary, name), os.path.join(folder, name.replace("/", "-")))
    os.mkfifo(os.path.join(folder, "fifo"))


def spring_traps(folder):
    for i in range(DIRECTORIES):
        trap = os.path.join(folder, f"d{i:03}")
        exchange(trap, trap + ".link")


def links(folder, canary):
    """Hard links of root's files, where the kernel lets everybody make them (fs.protected_hardlinks)."""
    for name in ("shadow", "inner/key"):
        with contextlib.suppress(OSError):
            os.link(os.path.join(canary, name), os.path.join(folder, "hard-" + name.replace("/", "-")))


def steal(folder, canary, names):
    """Moves recordings in work away as they appear, a link to root's directory in their place, and takes their names."""
    for name in names if names else [n[:-len(".part")] for n in os.listdir(folder) if n.endswith(".part")]:
        part = os.path.join(folder, name + ".part")
        if not stat.S_ISDIR(os.lstat(part).st_mode):
            continue
        os.rename(part, os.path.join(folder, f"away-{time.monotonic_ns()}"))
        os.symlink(canary, part)
        with contextlib.suppress(OSError):
            os.mkdir(os.path.join(folder, name))


def juggle(part, spare):
    """DIR.part and a link to root's directory change places all the time."""
    exchange(part, spare)


# ---- attacks on a recorder that was called with sudo ----

SWAP = 'mv a.part away; ln -s "$CANARY" a.part; '


def command_replaces_by_link(scene):
    """The recorded command puts a link in the place of the directory: nothing is made behind it."""
    finish(start(scene, "-o", "a", "sh", "-c", SWAP))


def command_takes_name(scene):
    """And takes the name, so that it cannot be published."""
    finish(start(scene, "-o", "a", "sh", "-c", SWAP + "mkdir a"))


def command_gives_own(scene):
    """A directory of its own in the place, with hard links, and directories that turn into links when ownership is given."""
    part = os.path.join(scene.home, "a.part")
    as_user(NOBODY, lay_traps, os.path.join(scene.home, "b"), scene.canary)
    as_user(NOBODY, links, os.path.join(scene.home, "b"), scene.canary)
    with attacker(NOBODY, spring_traps, part):
        finish(start(scene, "-o", "a", "sh", "-c", "mv a.part away; mv b a.part"))


def command_gives_fifos(scene):
    """A directory with FIFOs and links of the names of a recording's files."""
    prepare = ('mv a.part away; mkdir a.part; cd a.part; for f in trace.dat trace.dat.part recording.json .lull-recording; do '
               'mkfifo $f; done; ln -s "$CANARY/shadow" perf.data; ln -s "$CANARY" state; ln -s "$CANARY" kernel')
    finish(start(scene, "-o", "a", "sh", "-c", prepare))


def directories_change_places(scene):
    """While all of it happens."""
    part, spare = os.path.join(scene.home, "a.part"), os.path.join(scene.home, "spare")
    as_user(NOBODY, os.symlink, scene.canary, spare)
    with attacker(NOBODY, juggle, part, spare):
        finish(start(scene, "-o", "a", "sh", "-c", "mkdir a"))


def killed(scene):
    """The helper that cleans up after SIGKILL finds a link."""
    recorder = start(scene, "-o", "a", "sh", "-c", SWAP + "mkdir a; echo done; exec sleep 60")
    recorder.stdout.readline()
    kill(recorder)
    finish(recorder)


def killed_at_once(scene):
    """The same at any moment."""
    with attacker(NOBODY, steal, scene.home, scene.canary, ["a"]):
        recorder = start(scene, "-o", "a", "true")
        wait_until(lambda: os.path.lexists(os.path.join(scene.home, "a.part")) or recorder.poll() is not None)
        time.sleep(MOMENTS.uniform(0, 0.1))
        kill(recorder)
        finish(recorder)


def resumed(scene):
    """What a recorder left whose helpers were killed too is cleaned up by the next: the user has put something else there."""
    part = os.path.join(scene.home, "a.part")
    as_user(NOBODY, lay_traps, part, scene.canary)
    as_user(NOBODY, links, part, scene.canary)
    with attacker(NOBODY, spring_traps, part):
        finish(start(scene, "-o", "a", "true"))


def resumed_of_root(scene):
    """The same with what root really left."""
    recorder = start(scene, "-o", "a", "sh", "-c", "echo begun; exec sleep 60")
    recorder.stdout.readline()
    for pid in (*helpers(recorder), recorder.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end_command(recorder)
    finish(recorder)
    script = 'mv a.part old; mkdir a.part; mv old/.lull-recording a.part || cp /dev/null a.part/.lull-recording; ln -s "$CANARY" a.part/state'
    subprocess.run(["sh", "-c", script], cwd=scene.home, env=environment(scene, True), user=NOBODY, group=NOBODY, extra_groups=[],
                   stderr=subprocess.DEVNULL, check=False)
    finish(start(scene, "-o", "a", "true"))


def if_slower(scene):
    """The directory that --if-slower makes at the end is stolen as it appears."""
    with attacker(NOBODY, steal, scene.home, scene.canary, None):
        finish(start(scene, "--if-slower", "1ns", "true"))


def ask(scene, recorder, *options, **how):
    return subprocess.run([LULL, "snapshot", "--recorder", str(recorder.pid), *options], cwd=scene.home, stdin=subprocess.DEVNULL,
                          env=environment(scene, False), capture_output=True, text=True, timeout=PATIENCE, check=False, **how)


def recorder_listens(recorder):
    return wait_until(lambda: os.path.exists(f"/run/lull/{recorder.pid}/socket") or recorder.poll() is not None)


def snapshots(scene):
    """The same of snapshots, with and without a name."""
    recorder = start(scene, "--snapshot", "sleep", "60")
    recorder_listens(recorder)
    with attacker(NOBODY, steal, scene.home, scene.canary, None):
        for i in range(4):
            ask(scene, recorder, *(["-o", f"s{i}"] if i % 2 else []))
    if MOMENTS.random() < 0.5:
        kill(recorder)
    else:
        recorder.terminate()
    finish(recorder)


def snapshot_killed(scene):
    """SIGKILL while a snapshot is written to a directory that was stolen."""
    recorder = start(scene, "--snapshot", "sleep", "60")
    recorder_listens(recorder)
    with attacker(NOBODY, steal, scene.home, scene.canary, ["s"]):
        with subprocess.Popen([LULL, "snapshot", "--recorder", str(recorder.pid), "-o", "s"], cwd=scene.home,
                              env=environment(scene, False), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL):
            wait_until(lambda: os.path.lexists(os.path.join(scene.home, "s.part")), 5)
            time.sleep(MOMENTS.uniform(0, 0.02))
            kill(recorder)
    finish(recorder)


def last_is_a_trap(scene):
    """The state directory and its file are links, or a FIFO, at which root would wait for ever."""
    state = scene.join("state")
    as_user(NOBODY, os.mkdir, os.path.join(scene.home, "lull"))
    os.symlink(scene.home, state)
    trap = os.path.join(scene.home, "lull", "last")
    kind = MOMENTS.randrange(3)
    if kind == 0:
        as_user(NOBODY, os.mkfifo, trap)
    elif kind == 1:
        as_user(NOBODY, os.symlink, os.path.join(scene.canary, "shadow"), trap)
    else:
        as_user(NOBODY, os.rmdir, os.path.join(scene.home, "lull"))
        as_user(NOBODY, os.symlink, scene.canary, os.path.join(scene.home, "lull"))
    subprocess.run([LULL, "info"], env=environment(scene, False), cwd=scene.strangers, stdin=subprocess.DEVNULL, capture_output=True,
                   timeout=5, check=False)
    finish(start(scene, "-o", "a", "true", sudo=False, folder=scene.make("root", 0)))


# ---- attacks on root, who records for itself where others may write ----

def sticky_prepared(scene):
    """An unrelated user has made PUBLIC/x.part."""
    part = os.path.join(scene.public, "x.part")
    as_user(STRANGER, lay_traps, part, scene.canary)
    with attacker(STRANGER, spring_traps, part):
        finish(start(scene, "-o", os.path.join(scene.public, "x"), "true", sudo=False, folder=scene.public))


def sticky_linked(scene):
    """Or has made it a link."""
    as_user(STRANGER, os.symlink, scene.canary, os.path.join(scene.public, "x.part"))
    finish(start(scene, "-o", os.path.join(scene.public, "x"), "true", sudo=False, folder=scene.public))
    finish(start(scene, "-o", "x", "true", sudo=False, folder=scene.public))


def strangers_directory(scene):
    """Root records into a directory of that user, who steals the recording."""
    with attacker(STRANGER, steal, scene.strangers, scene.canary, ["x"]):
        finish(start(scene, "-o", os.path.join(scene.strangers, "x"), "true", sudo=False))


def strangers_killed(scene):
    """And root's recorder is killed."""
    with attacker(STRANGER, steal, scene.strangers, scene.canary, ["x"]):
        recorder = start(scene, "-o", os.path.join(scene.strangers, "x"), "sleep", "60", sudo=False)
        wait_until(lambda: os.path.islink(os.path.join(scene.strangers, "x.part")) or recorder.poll() is not None, 5)
        kill(recorder)
        finish(recorder)


ATTACKS = [command_replaces_by_link, command_takes_name, command_gives_own, command_gives_fifos, directories_change_places,
           killed, killed_at_once, resumed, resumed_of_root, if_slower, snapshots, snapshot_killed, last_is_a_trap, sticky_prepared,
           sticky_linked, strangers_directory, strangers_killed]


def try_once(attack):
    scene = Scene()
    try:
        attack(scene)
        return scene.harm()
    except subprocess.TimeoutExpired as late:
        return [f"it hangs: {late}"]
    finally:
        scene.remove()


def repeat(attack):
    """Until it succeeds, the time is over, or it was tried often enough."""
    end, n, harm = time.monotonic() + SECONDS, 0, []
    while not harm and (n < ROUNDS if ROUNDS else n == 0 or time.monotonic() < end):
        harm = try_once(attack)
        n += 1
    name = attack.__name__.replace("_", " ")
    tap.ok(not harm, f"{name}: " + ("fails each time" if not harm else f"succeeds at try {n}"), *harm[:8])
    print(f"# {name}: {n} rounds", flush=True)


# ---- what recorders are, and what they hand on ----

def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return {key: value.split() for key, _, value in (line.partition(":") for line in file)}


def check_identities(name):
    """Who the processes of a recording are: from the kernel's own account of them."""
    scene = Scene()
    script = "grep -E '^(Uid|Gid|Groups|Cap)' /proc/self/status; ls -l /proc/self/fd; env; echo begun; exec sleep 60"
    recorder = start(scene, "-o", "a", "sh", "-c", script)
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


def can_record(name):
    global TRACER
    TRACER = name
    scene = Scene()
    recorder = start(scene, "-o", "a", "true")
    _, problems = finish(recorder)
    scene.remove()
    return recorder.returncode == 0, problems


def main():
    global TRACER
    if os.geteuid() != 0:
        tap.skip("attacks", "needs root, who is attacked")
        return tap.done()
    usable = []
    for name in "perf", "ftrace":
        is_usable, problems = can_record(name)
        usable += [name] if is_usable else []
        if not is_usable:
            tap.skip(name, problems.replace("\n", "; "))
    chosen = [attack for attack in ATTACKS if not sys.argv[1:] or attack.__name__ in sys.argv[1:]]
    for TRACER in usable if not sys.argv[1:] else []:
        tap.run("identities", check_identities, TRACER)
    for TRACER in usable[-1:]:
        for check in (check_remains, check_refused) if not sys.argv[1:] else ():
            tap.run(check.__name__, check)
        for attack in chosen:
            tap.run(attack.__name__, repeat, attack)
    return tap.done()


TRACER = "ftrace"
sys.exit(main())

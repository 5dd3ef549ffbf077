#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What another user does to a recorder of root's: renames, symlinks, hard links, FIFOs and directories at each step of a
# recording's life. Each attack is made again and again, for LULL_ATTACK_SECONDS (10), or LULL_ATTACK_ROUNDS times if
# that is set; afterwards a tree of root's must be what it was, to the inode and the nanosecond. Needs root.
# With a list of attacks as arguments only these are made.
import contextlib
import ctypes
import os
import random
import signal
import stat
import subprocess
import sys
import time

from scene import LULL, NOBODY, PATIENCE, STRANGER, USABLE, Scene, end_command, environment, find_tracers, finish, helpers, kill, start, wait_until
from tap import Tap

SECONDS = float(os.environ.get("LULL_ATTACK_SECONDS", "10"))
ROUNDS = int(os.environ.get("LULL_ATTACK_ROUNDS", "0"))
RENAME_EXCHANGE = 2
LIBC = ctypes.CDLL(None, use_errno=True)
DIRECTORIES = 20  # that are exchanged for symlinks all the time
MOMENTS = random.Random(10)
tap = Tap()


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
                try:
                    act(*arguments)
                except OSError:
                    time.sleep(0.0002)  # nothing to attack yet
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
    if LIBC.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), one)


def lay_traps(folder, canary):
    """A directory that looks like a recording in work, and is full of directories that will be something else. They hold the
    names of root's files, so that these are met if a path is used twice."""
    os.mkdir(folder, 0o755)
    with open(os.path.join(folder, ".lull-recording"), "w", encoding="ascii"):
        pass
    for i in range(DIRECTORIES):
        trap = os.path.join(folder, f"d{i:03}")
        os.mkdir(trap)
        for name in ("shadow", "recording", *(f"f{k}" for k in range(20))):
            with open(os.path.join(trap, name), "w", encoding="ascii"):
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
    for name in names if names else [n[:-len(".part")] for n in os.listdir(folder) if n.endswith(".part")] or [""]:
        part = os.path.join(folder, name + ".part")
        if not stat.S_ISDIR(os.lstat(part).st_mode):
            raise NotADirectoryError(part)
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
    name = attack.__name__.replace("_", " ")
    end, n, harm = time.monotonic() + SECONDS, 0, []
    while not harm and (n < ROUNDS if ROUNDS else n == 0 or time.monotonic() < end):
        harm = try_once(attack)
        n += 1
        if n % 100 == 0:
            print(f"# {name}: {n} rounds so far", flush=True)
    tap.ok(not harm, f"{name}: " + ("fails each time" if not harm else f"succeeds at try {n}"), *harm[:8])
    print(f"# {name}: {n} rounds", flush=True)


def chosen(words):
    """All, those that are named, or each second one: 1/2 and 2/2."""
    if words and "/" in words[0]:
        first, step = map(int, words[0].split("/"))
        return ATTACKS[first - 1::step]
    return [attack for attack in ATTACKS if not words or attack.__name__ in words]


def main():
    if os.geteuid() != 0:
        tap.skip("attacks", "needs root, who is attacked")
        return tap.done()
    missing = find_tracers()
    if not USABLE:
        tap.skip("attacks", "; ".join(missing.values()))
    for attack in chosen(sys.argv[1:]) if USABLE else ():
        tap.run(attack.__name__, repeat, attack)
    return tap.done()


sys.exit(main())

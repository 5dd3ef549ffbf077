# SPDX-License-Identifier: MIT
# A recorder of root's, another user's directories, and a tree of root's that must not change: for tests of what users can do to
# each other. “nobody” stands for who calls sudo and whose command is recorded; STRANGER for another user of the machine.
import contextlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time

LULL = os.environ["LULL"]
NOBODY, STRANGER = 65534, 65533
PATIENCE = 60
USABLE = []  # tracers


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
        return [f"{path}: {self.before.get(path, 'new')} -> {now.get(path, 'gone')}"[:300] for path in changed]

    def remove(self):
        shutil.rmtree(self.base, ignore_errors=True)


def environment(scene, is_sudo):
    env = {name: value for name, value in os.environ.items() if not name.startswith("SUDO_") and name != "LD_PRELOAD"}
    sudo = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"} if is_sudo else {}
    return {**env, "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": scene.join("state"), **sudo, "CANARY": scene.canary}


def start(scene, *arguments, sudo=True, folder=None, tracer=None, **how):
    options = ["--tracer", tracer or USABLE[-1], "--for", "sched", "--only", "--buffer", "64k"]
    return subprocess.Popen([LULL, "record", *options, *arguments], cwd=folder or scene.home, env=environment(scene, sudo),
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


def find_tracers():
    """Fills USABLE; why others cannot be used, by name."""
    missing = {}
    for name in "perf", "ftrace":
        scene = Scene()
        recorder = start(scene, "-o", "a", "true", tracer=name)
        _, problems = finish(recorder)
        scene.remove()
        if recorder.returncode == 0:
            USABLE.append(name)
        else:
            missing[name] = problems.replace("\n", "; ")
    return missing

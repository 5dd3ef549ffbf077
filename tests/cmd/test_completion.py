#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What bash, zsh and fish complete for lull, each asked as its user would ask it: for a line, the words it offers.
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

from tap import Tap

tap = Tap()
folder = os.path.join(os.environ["LULL_BUILD"], "completions")
lull = os.environ["LULL"]


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **more)


def bash(line):
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
    script = (f"source '{folder}/lull'; COMP_WORDS=({' '.join(repr(w) for w in words)}); "
              f"COMP_CWORD={len(words) - 1}; _lull 2>/dev/null; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    return set(run("bash", "-c", script).stdout.split())


def fish(line, scratch):
    script = f"source '{folder}/lull.fish'; complete -C '{line}'"
    output = run("fish", "--no-config", "-c", script, cwd=scratch, env=dict(os.environ, HOME=scratch)).stdout
    words = {text.split("\t")[0] for text in output.splitlines()}
    return {word.rpartition("=")[2] if "=" in line else word for word in words}


class Zsh:
    """An interactive zsh, since zsh completes nowhere else. Each word that it would offer passes through compadd, which
    here writes it to a file, and then that it is all: no word ends so, as --end does with "end"."""

    def __init__(self, scratch):
        self.answer = os.path.join(scratch, "answer")
        setup = os.path.join(scratch, "setup.zsh")
        with open(setup, "w", encoding="utf-8") as file:
            file.write(f"""
fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D
compadd() {{
    local -a offered; local name word
    builtin compadd -O offered "$@" 2>/dev/null
    for word in $offered; do print -r -- $word >> {self.answer}; done
    builtin compadd "$@"
}}
ask() {{ zle complete-word; print that is all >> {self.answer}; BUFFER= }}
zle -N ask; bindkey '^X' ask; LISTMAX=100000; setopt no_always_last_prompt no_beep; PS1=
print ready > {self.answer}
""")
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(scratch)
            os.execvpe("zsh", ["zsh", "-f", "-i"], dict(os.environ, HOME=scratch, TERM="dumb"))
        self.send(f"source {setup}\n")
        self.wait_for("ready\n")

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, ending):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if select.select([self.terminal], [], [], 0.02)[0]:
                os.read(self.terminal, 65536)
            if os.path.exists(self.answer):
                with open(self.answer, encoding="utf-8") as file:
                    text = file.read()
                if text.endswith(ending):
                    return text[:-len(ending)]
        raise TimeoutError(f"zsh did not answer: {ending!r}")

    def __call__(self, line):
        open(self.answer, "w", encoding="utf-8").close()
        self.send(line + "\x18")
        return set(self.wait_for("that is all\n").split())

    def close(self):
        self.send("exit\n")
        os.close(self.terminal)
        os.waitpid(self.process, 0)


def verbs():
    listed = run(lull, "--help").stdout.partition("\nRecord:")[2]
    return set(re.findall(r"^  ([a-z]+)  ", listed, flags=re.MULTILINE))


def options(verb):
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)", run(lull, verb, "--help").stdout, flags=re.MULTILINE))


def names(words):
    return {word.rstrip("=") for word in words}


def check(shell, complete):
    known = verbs()
    tap.ok(len(known) > 20, f"{shell}: lull --help lists verbs", known)
    tap.ok(complete("lull ") >= known | {"help"}, f"{shell}: all verbs", known - complete("lull "))
    tap.ok(complete("lull prin") == {"print"}, f"{shell}: a verb", complete("lull prin"))
    tap.ok(complete("lull help inf") == {"info"}, f"{shell}: a verb after help", complete("lull help inf"))
    tap.ok(complete("lull help per") >= {"periods"} and complete("lull help sta") >= {"states"}, f"{shell}: a topic after help",
           complete("lull help per"), complete("lull help sta"))
    tap.ok(complete("lull --no-p") == {"--no-pager"} and complete("lull --no-pager prin") == {"print"}
           and names(complete("lull --no-pager print --ev")) == {"--events"}, f"{shell}: --no-pager before the verb",
           complete("lull --no-p"), complete("lull --no-pager prin"), complete("lull --no-pager print --ev"))
    tap.ok(names(complete("lull print --ev")) == {"--events"}, f"{shell}: an option", complete("lull print --ev"))
    for verb in ("record", "critpath", "periodlog"):
        offered = names(complete(f"lull {verb} --"))
        tap.ok(offered == options(verb), f"{shell}: every option of {verb}, and no other", offered ^ options(verb))
    tap.ok(complete("lull print --color ") == {"auto", "always", "never"}, f"{shell}: a choice", complete("lull print --color "))
    tap.ok(complete("lull print --color=al") == {"always"}, f"{shell}: a choice after =", complete("lull print --color=al"))
    tap.ok(complete("lull print --time ") == {"clock", "iso", "seconds", "ns", "elapsed"}, f"{shell}: a verb's own choice",
           complete("lull print --time "))
    tap.ok(complete("lull print --cpu ") == set(), f"{shell}: no number", complete("lull print --cpu "))


def check_traces(shell, complete):
    offered = {word.rstrip("/") for word in complete("lull info first")}
    tap.ok(offered == {"first-trace", "first.tar.xz"}, f"{shell}: directories and files of traces", offered)


def shells():
    with tempfile.TemporaryDirectory() as scratch:
        os.mkdir(os.path.join(scratch, "first-trace"))
        open(os.path.join(scratch, "first.tar.xz"), "w", encoding="utf-8").close()
        os.chdir(scratch)
        check("bash", bash)
        check_traces("bash", bash)
        if shutil.which("fish"):
            check("fish", lambda line: fish(line, scratch))
            check_traces("fish", lambda line: fish(line, scratch))
        else:
            tap.skip("fish", "fish is not installed")
        if shutil.which("zsh"):
            zsh = Zsh(scratch)
            check("zsh", zsh)
            check_traces("zsh", zsh)
            zsh.close()
        else:
            tap.skip("zsh", "zsh is not installed")
        os.chdir("/")


tap.run("completion", shells)
sys.exit(tap.done())

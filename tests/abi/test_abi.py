#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Holds liblull.so against the dump of the last release: what a program was linked with is still there, and public structs
# are as it knows them. New functions are no difference.
#   test_abi.py BUILD SANITIZERS BUILDTYPE
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from tap import Tap

tap = Tap()
source = os.environ["LULL_SOURCE"]
build, sanitizers, debug = sys.argv[1:4]
released = os.path.join(source, "tests", "abi", "liblull.abi")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=280, stdin=subprocess.DEVNULL)


def difference(old, new):
    return run("abidiff", "--no-added-syms", old, new)


def damage(path, out):
    """The dump of a library in which a function is missing."""
    tree = xml.etree.ElementTree.parse(path)
    for parent in tree.iter():
        for child in list(parent):
            if child.tag in ("elf-symbol", "function-decl") and child.get("name") == "lull_session_add":
                parent.remove(child)
    tree.write(out)


def resize(path, out):
    """One in which a public struct has lost its last member."""
    tree = xml.etree.ElementTree.parse(path)
    for struct in tree.iter("class-decl"):
        if struct.get("name") == "lull_clock_transform":
            struct.set("size-in-bits", "128")
            struct.remove(struct[-1])
    tree.write(out)


def compare():
    with tempfile.TemporaryDirectory() as scratch:
        now = os.path.join(scratch, "now.abi")
        result = run(os.path.join(source, "tools", "abi.sh"), build, now)
        if not tap.ok(result.returncode == 0, "the library's interface can be dumped", result.stdout, result.stderr):
            return
        result = difference(released, now)
        tap.ok(result.returncode == 0, "programs that were linked with the last release still run", result.stdout,
               result.stderr, "if this is a new major version: tools/abi.sh BUILD")
        # The comparison itself: it must see what is wrong.
        for spoil in damage, resize:
            broken = os.path.join(scratch, "broken.abi")
            spoil(now, broken)
            tap.ok(difference(released, broken).returncode & 4, f"is seen: {spoil.__doc__}")


if not shutil.which("abidw") or not shutil.which("abidiff"):
    tap.skip("the interface of the last release", "abigail-tools is not installed")
elif sanitizers != "none" or debug != "true":
    tap.skip("the interface of the last release", "this build has sanitizers or no debugging information")
else:
    tap.run("interface", compare)
sys.exit(tap.done())

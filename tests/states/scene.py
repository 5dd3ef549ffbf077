# SPDX-License-Identifier: MIT
"""What the tests of declared states share: files, made traces, and what lull says of them."""
import json
import os
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests", "lib")]
import jsonl_to_ctf  # noqa: E402

lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
MS = 1_000_000


def run(*arguments, verb="states"):
    return subprocess.run([lull, verb, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=200,
                          stdin=subprocess.DEVNULL, check=False)


def write(name, text):
    path = os.path.join(scratch.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def trace(name, events):
    path = os.path.join(scratch.name, name)
    jsonl_to_ctf.write_trace(events, path)
    return path


def at(time, name, **payload):
    return {"t": time, "n": name, "p": payload, "pc": {"cpu_id": 0}}


def tables(path, where, *arguments):
    done = run("--json", "--states", path, *arguments, where)
    if not done.stdout:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)["windows"][0]["tables"]


def example(name):
    return os.path.join(source, "share", "states", name + ".states")

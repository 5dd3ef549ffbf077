#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The client library of VS Code and Theia reads all that lull serve answers. LULL_TEST_NPM=1 allows to fetch it with npm; without it
# there is nothing to test with.
import json
import os
import shutil
import subprocess
import sys
import tempfile

from server.serving import Server, environment
from tap import Tap

lull = os.environ["LULL"]
tap = Tap()
PACKAGE = {"private": True, "type": "module", "dependencies": {"tsp-typescript-client": "0.9.0"},
           # What it pins is a repository; numbers of 15 characters and fewer are the same to the release.
           "overrides": {"json-bigint": "1.0.0"}}


def check(folder):
    with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as file:
        json.dump(PACKAGE, file)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True, timeout=300)
    shutil.copy(os.path.join(os.path.dirname(__file__), "client.mjs"), folder)
    server = Server(lull, environment(folder), os.path.join(os.environ["LULL_SAMPLES"], "truth", "truth-chain"))
    experiments = server.ask("GET", "experiments")[1]
    outputs = f"experiments/{experiments[0]['UUID']}/outputs"
    view = next(o["id"] for o in server.ask("GET", outputs)[1] if o["name"] == "Thread Status")
    tree = server.model(f"{outputs}/timeGraph/{view}/tree", {})
    tid = next(entry["labels"][1] for entry in tree["entries"] if entry["labels"][0] == "t-asker")
    url = f"http://127.0.0.1:{server.port}{server.base}"
    done = subprocess.run(["node", "client.mjs", url, tid], cwd=folder, capture_output=True, text=True, timeout=120)
    answer = json.loads(done.stdout or "null")
    tap.ok(answer and answer["failed"] == [] and answer["done"] >= 24, "tsp-typescript-client reads every answer", done.stdout, done.stderr)
    server.end()


if os.environ.get("LULL_TEST_NPM") and shutil.which("npm") and shutil.which("node"):
    with tempfile.TemporaryDirectory(prefix="lull-clients-") as directory:
        tap.run("clients", check, directory)
else:
    tap.skip("tsp-typescript-client", "LULL_TEST_NPM is not set, or there is no npm")
sys.exit(tap.done())

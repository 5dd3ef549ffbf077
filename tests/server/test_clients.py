#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# The client library of VS Code and Theia reads all that lull serve answers. LULL_TEST_NPM=1 allows to fetch it with npm; without it
# there is nothing to test with. LULL_TEST_TSP_PYTHON=DIR is a checkout of eclipse-cdt-cloud/tsp-python-client, whose own tests are run; they
# want port 8080, and the package requests.
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
    tap.ok(answer and answer["failed"] == [] and answer["done"] >= 29 and answer["lines"] > 100, "tsp-typescript-client reads every answer", done.stdout, done.stderr)
    server.end()


# Of its tests: the others open or delete traces, want the traces and configurations of Trace Compass, or call stacks.
PYTHON_TESTS = ["test_fetch_traces", "test_fetch_opened_trace", "test_fetch_opened_experiment", "test_fetch_experiment_outputs",
                "test_fetch_experiment_output", "test_fetch_timegraph_tree", "test_fetch_timegraph_tree_complete", "test_fetch_xy_tree",
                "test_fetch_xy", "test_fetch_health", "test_fetch_identifier", "test_fetch_data_tree", "test_fetch_virtual_table_columns",
                "test_fetch_virtual_table_lines"]


def check_python(checkout, folder):
    work = os.path.join(folder, "client")
    shutil.copytree(checkout, work)
    trace = os.path.join(work, "tracecompass-test-traces", "ctf", "src", "main", "resources", "kernel")
    shutil.copytree(os.path.join(os.environ["LULL_SAMPLES"], "django", "db"), trace)
    server = Server(lull, environment(folder), "--no-token", "--port", "8080", trace)
    runner = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_client.py")
    done = subprocess.run([sys.executable, runner, *PYTHON_TESTS], cwd=work, capture_output=True, text=True, timeout=120)
    tap.ok(done.stdout and json.loads(done.stdout.splitlines()[-1]) == {}, f"{len(PYTHON_TESTS)} tests of tsp-python-client pass",
           done.stdout, done.stderr)
    server.end()


if os.environ.get("LULL_TEST_TSP_PYTHON"):
    with tempfile.TemporaryDirectory(prefix="lull-clients-") as directory:
        tap.run("tsp-python-client", check_python, os.environ["LULL_TEST_TSP_PYTHON"], directory)
else:
    tap.skip("tsp-python-client", "LULL_TEST_TSP_PYTHON is not set")
if os.environ.get("LULL_TEST_NPM") and shutil.which("npm") and shutil.which("node"):
    with tempfile.TemporaryDirectory(prefix="lull-clients-") as directory:
        tap.run("clients", check, directory)
else:
    tap.skip("tsp-typescript-client", "LULL_TEST_NPM is not set, or there is no npm")
sys.exit(tap.done())

# SPDX-License-Identifier: MIT
"""What is true of snapshots that daemons of three machines wrote and one collected, as tests/vm/test_daemon_vm.py makes them: web asked app, which
asked db, which slept. `folder` also holds what the programs say of when they sent and received, each by its own machine's clock."""
import json
import os
import subprocess

LULL = os.path.abspath(os.environ["LULL"])
SLOW = 0.4


def heard(folder, name):
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return None


def lull(*words):
    return subprocess.run([LULL, *words], capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL)


def check_clocks(tap, folder):
    """What was sent was received later: that bounds how far each clock is ahead of the one before."""
    web, app, db = (heard(folder, name + ".stamps") for name in ("web", "app", "db"))
    ahead = {("web", "app"): (app[3] - web[1], app[0] - web[0]), ("app", "db"): (db[1] - app[2], db[0] - app[1])}
    done = lull("sync", "--json", folder + "/collected")
    pairs = {(pair["a"], pair["b"]): pair["offset_ns"] for pair in json.loads(done.stdout)["pairs"]}
    tap.ok(sorted(pairs) == sorted(ahead) and all(ahead[pair][0] <= offset <= ahead[pair][1] for pair, offset in pairs.items()),
           "the clocks are joined as the programs' stamps allow", pairs, ahead, done.stderr)


def check_path(tap, folder):
    pid, (start, end) = heard(folder, "web.program"), heard(folder, "db.stamps")
    done = lull("critpath", "--json", folder + "/collected")
    if not tap.ok(done.returncode == 0, "critpath takes what was collected", done.stderr):
        return
    path = json.loads(done.stdout)
    tap.ok(path["query"]["tid"] == pid and path["query"]["host"] == "web", "it answers for the slow request without a question", path["query"])
    steps = path["segments"]
    nap = sum(step["end_ns"] - step["begin_ns"] for step in steps if step["host"] == "db" and step["cause"] == "timer")
    tap.ok(0.9 * SLOW * 1e9 < nap <= end - start, "and ends at the sleep of db", nap, end - start, steps)
    hosts = [step["host"] for step in steps]
    order = [host for i, host in enumerate(hosts) if i == 0 or host != hosts[i - 1]]
    tap.ok(order == ["web", "app", "db", "app", "web"], "it leads there and back again", order)
    tap.ok(all(one["end_ns"] == next_one["begin_ns"] for one, next_one in zip(steps, steps[1:])), "without a hole", steps)


def check(tap, folder):
    check_clocks(tap, folder)
    check_path(tap, folder)

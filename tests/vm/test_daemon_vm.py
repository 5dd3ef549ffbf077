#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Four emulated machines, each with a kernel, clocks and a daemon of its own, at one wire: web asks app, app asks db, db sleeps, and an unused
# connection leads to pool. A slow request at web freezes web, app and db, and nothing at pool; web collects the snapshots over TLS; and here
# “lull critpath” of them ends at the sleep of db. It runs only when asked for with LULL_TEST_VM=1 (it downloads 106 MB, and emulates for
# minutes). LULL_TEST_VM_DIR keeps the snapshots and stamps, as daemons.tar.xz.
import datetime
import os
import shlex
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
import collected  # noqa: E402
import machine  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
LULL = os.path.abspath(os.environ["LULL"])
# What their clocks show beside ours, in seconds, and how long each waits before it starts its kernel.
MACHINES = {"web": 0, "app": 7, "db": -9, "pool": 3}
SCRIPT = """
hostname {name}
mkdir -p /mnt/all /tmp/memory/own
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none all /mnt/all
ip link set eth0 up
ip addr add {address}/24 dev eth0
exec python3 -I -S {here}/daemons/host.py {name} {lull} {slow}
"""


def wires(place, name):
    """All cables end in a hub within the process that emulates web. What is sent to who is not there yet is lost."""
    def cable(other, end):
        paths = [os.path.join(place, f"cable-{other}-{side}") for side in ("web", "other")]
        local, remote = paths if end == "web" else reversed(paths)
        return f"local.type=unix,local.path={local},remote.type=unix,remote.path={remote}"
    others = [other for other in MACHINES if other != "web"]
    card = f"virtio-net-pci,netdev=card,mac=52:54:00:00:00:{list(MACHINES).index(name) + 1:02x}"
    if name != "web":
        return ["-netdev", f"dgram,id=card,{cable(name, name)}", "-device", card]
    words = ["-netdev", "hubport,id=card,hubid=0", "-device", card]
    for other in others:
        words += ["-netdev", f"dgram,id=to-{other},{cable(other, 'web')}", "-netdev", f"hubport,id=port-{other},hubid=0,netdev=to-{other}"]
    return words


def emulate(built, place, name, ended):
    """One of them; what its script printed is in `ended`."""
    base = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=MACHINES[name])
    script = SCRIPT.format(name=name, address=f"10.9.0.{list(MACHINES).index(name) + 1}", here=shlex.quote(HERE), lull=shlex.quote(LULL), slow=collected.SLOW)
    more = ["-smp", "1", "-rtc", f"base={base.strftime('%Y-%m-%dT%H:%M:%S')}", *wires(place, name),
            "-virtfs", f"local,path={place}/all,mount_tag=all,security_model=none"]
    ended[name] = built.run(script, "tcg,thread=multi", more, nice=5)


def heard(place, name):
    return collected.heard(place + "/all", name)


def check_frozen(place, ended):
    """Returns the name of the set."""
    sets = {name: heard(place, name + ".sets") for name in MACHINES}
    said = {name: (heard(place, name + ".end") or {}).get("said", ended[name][0][-2000:]) for name in MACHINES}
    names = sorted(sets["web"] or [])
    if not tap.ok(len(names) == 1 and list(sets["app"]) == list(sets["db"]) == names and sets["pool"] == {},
                  "exactly the machines that the request touched have a snapshot, of one name", sets, said):
        return None
    tap.ok(sets["web"][names[0]] == [f"10.9.0.2 frozen {names[0]}"] and sets["app"][names[0]] == [f"10.9.0.3 frozen {names[0]}"],
           "each asked the next", sets)
    boots = {heard(place, name + ".ready")["boot"] for name in MACHINES}
    tap.ok(len(boots) == len(MACHINES), "each has a kernel of its own", boots)
    ends = {name: heard(place, name + ".end") for name in MACHINES}
    tap.ok(all(end["code"] == 0 and end["left"] == [] for end in ends.values()), "they end, and leave nothing", ends)
    return names[0]


def check(place, ended):
    name = check_frozen(place, ended)
    if not name:
        return
    taken, folder = heard(place, "collect"), os.path.join(place, "all", "collected")
    tap.ok(taken["good"] == {"status": 0, "stderr": ""} and sorted(os.listdir(folder)) == ["10.9.0.1", "10.9.0.2", "10.9.0.3"],
           "they come together over TLS", taken)
    tap.ok(taken["refused"]["status"] == 1 and "same key" in taken["refused"]["stderr"], "with another key none does", taken)
    collected.check(tap, place + "/all")
    if os.environ.get("LULL_TEST_VM_DIR"):
        names = [name for name in sorted(os.listdir(place + "/all")) if name == "collected" or name.endswith((".stamps", ".program"))]
        machine.run("tar", "--sort=name", "-cJf", os.path.join(os.environ["LULL_TEST_VM_DIR"], "daemons.tar.xz"), "-C", place + "/all", *names)


def main():
    why = machine.why_not([])
    if why:
        tap.skip("daemons of several machines", why)
        return
    with machine.place_of("functions") as kept, tempfile.TemporaryDirectory(prefix="lull-vm-") as place:
        os.mkdir(place + "/all")
        subprocess.run([LULL, "daemon", "--new-key", place + "/all/key"], check=True, timeout=20)
        built, ended = machine.Newer(kept, ["virtio_net"]), {}
        threads = [threading.Thread(target=emulate, args=(built, place, name, ended)) for name in MACHINES]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tap.run("the machines", check, place, ended)


main()
sys.exit(tap.done())

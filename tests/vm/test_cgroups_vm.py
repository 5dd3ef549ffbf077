#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Records programs in control groups of version 2 with limits of CPU time, disks and memory, in an emulated machine with Linux 6.12, and makes the
# checks of tests/lib/cgroups.py. It runs only when asked for with LULL_TEST_VM=1 (it downloads 106 MB, and emulates for minutes).
# LULL_TEST_VM_DIR keeps the recordings, as cgroups.tar.xz.
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
import cgroups  # noqa: E402
import machine  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
SCENES = [*cgroups.QUOTAS, "iomax", *cgroups.MEMORY, *cgroups.HIGH, "rivals"]
DISK_MB, SWAP_MB, SWAPS_PER_S = 64, 128, 400
# What is run first is read from the host's files then.
SCRIPT = """
scene="python3 -I -S {scene}"
mount -t cgroup2 groups /sys/fs/cgroup
echo '+cpu +io +memory' >/sys/fs/cgroup/cgroup.subtree_control
mkswap -q /dev/vdb && swapon /dev/vdb || exit 1
$scene quota50 /dev/vda >/dev/null && rmdir /sys/fs/cgroup/quota50 || exit 1
{lull} record -d 0.2 -o /tmp/memory/first || exit 1
for name in {names}; do
    {lull} record --tracer ftrace -o /tmp/memory/$name -- $scene $name /dev/vda >/mnt/out/$name.json || exit 1
    cp -r /tmp/memory/$name /mnt/out && rmdir /sys/fs/cgroup/$name || exit 1
done
"""


def disk(place, name, megabytes, limit=""):
    path = os.path.join(place, name)
    with open(path, "wb") as file:
        file.truncate(megabytes << 20)
    return ["-drive", f"file={path},format=raw,if=virtio{limit}"]


def record(place, folder):
    """Time in the machine goes on by instructions, whatever else this one does."""
    more = ["-smp", "2", "-icount", "shift=2,sleep=on", *disk(place, "disk", DISK_MB),
            *disk(place, "swap", SWAP_MB, f",throttling.iops-total={SWAPS_PER_S}")]
    script = SCRIPT.format(scene=shlex.quote(f"{HERE}/cgroups/scene.py"), lull=shlex.quote(os.path.abspath(os.environ["LULL"])), names=" ".join(SCENES))

    def take(out):
        made = [name for name in sorted(os.listdir(out)) if name.split(".")[0] in SCENES]
        subprocess.run(["cp", "-r", *(os.path.join(out, name) for name in made), folder], check=True)

    log, status = machine.Newer(place, ["virtio_blk"]).run(script, "tcg,thread=single", more, take, nice=0)
    if os.environ.get("LULL_TEST_VM_DIR"):
        machine.run("tar", "-cJf", os.path.join(place, "cgroups.tar.xz"), "-C", folder, ".")
    return tap.ok(status == 0, "programs in groups are recorded", log[-3000:])


def main():
    why = machine.why_not([])
    if why:
        tap.skip("control groups of version 2", why)
        return
    with machine.place_of("functions") as place, tempfile.TemporaryDirectory() as folder:
        if record(place, folder):
            tap.run("groups", cgroups.check, tap, folder)


main()
sys.exit(tap.done())

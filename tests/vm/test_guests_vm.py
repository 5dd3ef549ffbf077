#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Records an emulated host and its two guests, which share a CPU, and makes the checks of two_guests.py with what was recorded. It runs only
# when asked for with LULL_TEST_VM=1 (it downloads 70 MB, and emulates for minutes), and needs root's apt-get, qemu-system-x86_64, busybox, kmod and
# xz. LULL_TEST_VM_DIR keeps the recordings, as guests.tar.xz.
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
import machine  # noqa: E402
import two_guests  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
PROGRAMS = {"web": ("clockloop", "reader"), "db": ("burner",)}
DISK_BYTES, REQUESTS_PER_S = 64 << 20, 40  # of the host's disk: a read takes about 25 ms


def kernel_of(found, place):
    """As an ELF file, which starts without unpacking itself."""
    with open(found.kernel, "rb") as file:
        packed = file.read()
    path = os.path.join(place, "vmlinux")
    start = packed.find(b"\xfd7zXZ\0")
    if start < 0:
        return found.kernel
    with open(path, "wb") as file:
        subprocess.run(["xz", "-dcq"], input=packed[start:], stdout=file, stderr=subprocess.DEVNULL, check=False)  # more follows
    with open(path, "rb") as file:
        return path if file.read(4) == b"\x7fELF" else found.kernel


def build_guests(found, place):
    """What the guests start with."""
    scene, lull = os.path.join(place, "scene"), os.path.join(place, "lull")
    machine.run("gcc", "-O1", "-static", "-o", scene, HERE + "/guests/scene.c")
    shutil.copy(os.environ["LULL"], lull)
    machine.run("strip", lull)
    for guest, programs in PROGRAMS.items():
        files = {"init": HERE + "/guests/init", "bin/scene": HERE + f"/guests/scene_{guest}", "bin/lull": lull}
        files.update({f"bin/{name}": scene for name in programs})
        with open(os.path.join(place, guest + ".cpio"), "wb") as file:
            file.write(found.archive(["virtio_pci", "virtio_blk"], files))


def record(place, folder):
    found = machine.Machine(place, ["virtio_blk"])
    build_guests(found, place)
    disk = os.path.join(place, "disk")
    with open(disk, "wb") as file:
        file.truncate(DISK_BYTES)
    names = {"LULL": os.path.abspath(os.environ["LULL"]), "KERNEL": kernel_of(found, place), "GUESTS": place}
    script = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in names.items())

    def take(out):
        made = os.path.join(out, "guests.tar")
        if os.path.exists(made):
            with tarfile.open(made) as archive:
                archive.extractall(folder, filter="data")

    log, status = found.run(script + f"exec sh {shlex.quote(HERE + '/guests/host')}\n", "tcg,thread=multi",
                            ["-smp", "2", "-m", "3000", "-drive", f"file={disk},format=raw,if=virtio,throttling.iops-total={REQUESTS_PER_S}"], take,
                            nice=0)
    if os.environ.get("LULL_TEST_VM_DIR"):
        machine.run("tar", "-cJf", os.path.join(place, "guests.tar.xz"), "-C", folder, ".")
    return tap.ok(status == 0, "a host and two guests are recorded", log)


def main():
    reason = machine.why_not(["gcc", "strip", "ldd", "xz", "taskset"])
    if reason:
        tap.skip("two guests in an emulated machine", reason)
        return tap.done()
    with machine.place_of("guests") as place, tempfile.TemporaryDirectory() as folder:
        if record(place, folder):
            tap.run("two_guests", two_guests.check, tap, folder, 0.2)
    return tap.done()


sys.exit(main())

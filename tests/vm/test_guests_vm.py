#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Records an emulated host and its guests, and makes the checks of tests/lib with what was recorded: "guests" are two that share a CPU, "nested"
# is one in which another one runs. It runs only when asked for with LULL_TEST_VM=1 (it downloads 70 MB, and emulates for minutes), and needs root's
# apt-get, qemu-system-x86_64, busybox, kmod and xz. LULL_TEST_VM_DIR keeps the recordings, as guests.tar.xz and nested.tar.xz.
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
import nested_guests  # noqa: E402
import two_guests  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
DISK_BYTES, REQUESTS_PER_S = 64 << 20, 40  # of the host's disk: a read takes about 25 ms
QEMU_FILES = ("seabios/bios-256k.bin", "qemu/kvmvapic.bin", "qemu/linuxboot_dma.bin", "qemu/multiboot_dma.bin", "qemu/pvh.bin")


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


class Guests:
    """Builds what guests start with, NAME.cpio each."""

    def __init__(self, found, place):
        self.found, self.place = found, place
        self.kernel = kernel_of(found, place)
        self.scene, self.lull = os.path.join(place, "scene"), os.path.join(place, "lull")
        machine.run("gcc", "-O1", "-static", "-o", self.scene, HERE + "/guests/scene.c")
        shutil.copy(os.environ["LULL"], self.lull)
        machine.run("strip", self.lull)

    def add(self, name, programs, modules, files):
        files = {**files, "bin/lull": self.lull, **{f"bin/{program}": self.scene for program in programs}}
        path = os.path.join(self.place, name + ".cpio")
        with open(path, "wb") as file:
            file.write(self.found.archive(["virtio_pci", "virtio_blk", *modules], files))
        return path

    def add_scene(self, name, programs):
        return self.add(name, programs, [], {"init": HERE + "/guests/init", "bin/scene": HERE + f"/guests/scene_{name}"})


def two(guests):
    disk = os.path.join(guests.place, "disk")
    with open(disk, "wb") as file:
        file.truncate(DISK_BYTES)
    guests.add_scene("web", ("clockloop", "reader"))
    guests.add_scene("db", ("burner",))
    return ["-m", "3000", "-drive", f"file={disk},format=raw,if=virtio,throttling.iops-total={REQUESTS_PER_S}"]


def nested(guests):
    qemu = "qemu-system-x86_64"
    files = {"init": HERE + "/guests/mid", f"bin/{qemu}": shutil.which(qemu), "inner.kernel": guests.kernel,
             "inner.cpio": guests.add_scene("inner", ("clockloop",))}
    files.update({"share/" + os.path.basename(name): "/usr/share/" + name for name in QEMU_FILES})
    guests.add("mid", ("burner",), ["kvm_amd"], files)
    return ["-m", "4000"]


# Scene → what builds its guests and says what the machine needs; the script; its checks, and the least share of quiet gaps.
SCENES = {"guests": (two, "host", two_guests.check), "nested": (nested, "outer", nested_guests.check)}


def record(scene, place, folder):
    build, host, _ = SCENES[scene]
    found = machine.Machine(place, ["virtio_blk"])
    guests = Guests(found, place)
    more = build(guests)
    names = {"LULL": os.path.abspath(os.environ["LULL"]), "KERNEL": guests.kernel, "GUESTS": place}
    script = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in names.items())

    def take(out):
        made = os.path.join(out, scene + ".tar")
        if os.path.exists(made):
            with tarfile.open(made) as archive:
                archive.extractall(folder)

    log, status = found.run(script + f"exec sh {shlex.quote(f'{HERE}/guests/{host}')}\n", "tcg,thread=multi", ["-smp", "2", *more], take, nice=0)
    if os.environ.get("LULL_TEST_VM_DIR"):
        machine.run("tar", "-cJf", os.path.join(place, scene + ".tar.xz"), "-C", folder, ".")
    return tap.ok(status == 0, "a host and its guests are recorded", log)


def main():
    reason = machine.why_not(["gcc", "strip", "ldd", "xz", "taskset"])
    for scene in sys.argv[1:] or SCENES:
        if reason:
            tap.skip(f"{scene} in an emulated machine", reason)
            continue
        with machine.place_of("guests") as place, tempfile.TemporaryDirectory() as folder:
            if record(scene, place, folder):
                tap.run(scene, SCENES[scene][2], tap, folder, 0.2)
    return tap.done()


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull record` with LTTng's kernel modules, which few machines have: in an emulated one. It gets Debian's oldest
# kernel of this release, builds Debian's lttng-modules for it, and runs guest_lttng.py there, which makes the checks; its
# files are those of this machine, read only. It runs only when asked for with LULL_TEST_VM=1 (it downloads 90 MB,
# and emulates for minutes), and needs root's apt-get, qemu-system-x86_64, busybox, kmod and LTTng's tools.
# LULL_TEST_VM_DIR keeps what was built for the next time. The argument is the program take_snapshots.
import glob
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

tap = Tap()
HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ["apt-get", "apt-cache", "dpkg-deb", "qemu-system-x86_64", "busybox", "modprobe", "depmod", "make", "gcc",
          "cpio", "lttng", "lttng-sessiond", "babeltrace2"]
MODULES = ["virtio_pci", "9p", "9pnet_virtio", "overlay"]
SECONDS = 1500


def run(*words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(words)}: status {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


class Machine:
    """A kernel with its modules, unpacked below `root`."""

    def __init__(self, place):
        self.place, self.root = place, os.path.join(place, "root")
        if not os.path.exists(os.path.join(place, "ready")):
            self.fetch()
            self.build_modules()
            open(os.path.join(place, "ready"), "w", encoding="ascii").close()
        self.kernel, = glob.glob(f"{self.root}/boot/vmlinuz-*")
        self.release = self.kernel.split("vmlinuz-")[1]
        self.initrd = os.path.join(place, "initrd.gz")
        self.build_initrd()

    def fetch(self):
        """The oldest kernel is the one for which the release's lttng-modules were made."""
        names = re.findall(r"^linux-headers-(\d[\d.]*-\d+-amd64)$", run("apt-cache", "pkgnames"), re.M)
        release = min(names, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
        version = ".".join(release.split(".")[:2])
        packages = os.path.join(self.place, "packages")
        os.makedirs(packages, exist_ok=True)
        run("apt-get", "download", f"linux-image-{release}", f"linux-headers-{release}",
            f"linux-headers-{release.replace('amd64', 'common')}", f"linux-kbuild-{version}", "lttng-modules-dkms",
            cwd=packages)
        for package in glob.glob(packages + "/*.deb"):
            run("dpkg-deb", "-x", package, self.root)

    def build_modules(self):
        headers, = glob.glob(f"{self.root}/usr/src/linux-headers-*-amd64")
        source, = glob.glob(f"{self.root}/usr/src/lttng-modules-*")
        with open(f"{headers}/Makefile", encoding="utf-8") as file:
            text = file.read()
        with open(f"{headers}/Makefile", "w", encoding="utf-8") as file:
            file.write(text.replace("include /usr/src", f"include {self.root}/usr/src"))
        run("make", "-j2", f"KERNELDIR={headers}", "modules", cwd=source)
        modules, = glob.glob(f"{self.root}/lib/modules/*-amd64")
        os.makedirs(modules + "/extra", exist_ok=True)
        for path in glob.glob(source + "/**/*.ko", recursive=True):
            shutil.copy(path, modules + "/extra")
        run("depmod", "-b", self.root, os.path.basename(modules))

    def build_initrd(self):
        """Busybox, and the modules with which the host's files can be reached."""
        tree = tempfile.mkdtemp(dir=self.place)
        for name in ("bin", "proc", "sys", "dev", "new", "lower", "upper", f"lib/modules/{self.release}"):
            os.makedirs(os.path.join(tree, name))
        shutil.copy(shutil.which("busybox"), tree + "/bin/busybox")
        shutil.copy(HERE + "/init", tree + "/init")
        os.chmod(tree + "/init", 0o755)
        for name in MODULES:
            for path in re.findall(r"^insmod (\S+)", run("modprobe", "-d", self.root, "-S", self.release,
                                                         "--show-depends", name), re.M):
                target = tree + "/" + os.path.relpath(path, self.root)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(path, target)
        shutil.copy(f"{self.root}/lib/modules/{self.release}/modules.dep", f"{tree}/lib/modules/{self.release}")
        names = subprocess.run(["find", "."], cwd=tree, check=True, capture_output=True).stdout
        archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, input=names, check=True,
                                 capture_output=True).stdout
        with open(self.initrd, "wb") as file:
            file.write(gzip.compress(archive, 1))
        shutil.rmtree(tree)

    def run(self, script):
        """Runs the shell script there; what it printed, and its status or None."""
        out = tempfile.mkdtemp(dir=self.place)
        with open(out + "/run", "w", encoding="utf-8") as file:
            file.write(script)
        words = ["nice", "-n", "19", "qemu-system-x86_64", "-machine", "q35,accel=tcg", "-cpu", "max", "-smp", "1",
                 "-m", "1500", "-nographic", "-no-reboot", "-net", "none", "-kernel", self.kernel, "-initrd",
                 self.initrd, "-append", f"console=ttyS0 quiet panic=-1 modules={self.root}/lib/modules"]
        for tag, path, more in (("host", "/", ",readonly=on"), ("out", out, "")):
            words += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{more}"]
        try:
            console = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                     stderr=subprocess.STDOUT, timeout=SECONDS, check=False, errors="replace").stdout
        except subprocess.TimeoutExpired:
            console = f"still running after {SECONDS} s"
        texts = {}
        for name in ("log", "status"):
            path = os.path.join(out, name)
            texts[name] = open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else ""
        shutil.rmtree(out)
        return texts["log"] or console, int(texts["status"]) if texts["status"] else None


def main():
    if os.environ.get("LULL_TEST_VM") != "1":
        tap.skip("lull record with LTTng in an emulated machine", "only with LULL_TEST_VM=1")
        return tap.done()
    lacking = [name for name in NEEDED if not shutil.which(name)]
    if lacking:
        tap.skip("lull record with LTTng in an emulated machine", "without " + ", ".join(lacking))
        return tap.done()
    kept = os.environ.get("LULL_TEST_VM_DIR")
    place = os.path.abspath(kept) if kept else tempfile.mkdtemp(prefix="lull-vm-", dir="/var/tmp")
    os.makedirs(place, exist_ok=True)
    names = {name: os.environ[name] for name in ("LULL", "PYTHONPATH")}
    names["PYTHONDONTWRITEBYTECODE"] = "1"
    names["TAKE_SNAPSHOTS"] = os.path.abspath(sys.argv[1])
    script = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in names.items())
    try:
        log, status = Machine(place).run(script + f"exec python3 {shlex.quote(HERE + '/guest_lttng.py')}\n")
    finally:
        if not kept:
            shutil.rmtree(place)
    sys.stdout.write(log)  # its TAP, with the plan
    if status is None or not re.search(r"^1\.\.\d+$", log, re.M):
        print("Bail out! the emulated machine did not come to the end")
        return 1
    return status


sys.exit(main())

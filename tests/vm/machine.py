# SPDX-License-Identifier: MIT
"""An emulated machine with Debian's oldest kernel of this release, whose files are those of this machine, read only. For the tests that need
another kernel; they are asked for with LULL_TEST_VM=1, as they download and emulate for minutes. LULL_TEST_VM_DIR keeps what was downloaded
and built for the next time.
"""
import contextlib
import glob
import gzip
import os
import re
import shlex
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ["apt-get", "apt-cache", "dpkg-deb", "qemu-system-x86_64", "busybox", "modprobe", "depmod", "cpio"]
MODULES = ["virtio_pci", "9p", "9pnet_virtio", "overlay"]
SECONDS = 1500


def why_not(needed):
    """Why such a test does not run here; or None."""
    lacking = [name for name in NEEDED + needed if not shutil.which(name)]
    if os.environ.get("LULL_TEST_VM") != "1":
        return "only with LULL_TEST_VM=1"
    return "without " + ", ".join(lacking) if lacking else None


@contextlib.contextmanager
def place_of(name):
    """A directory for what is downloaded and built."""
    kept = os.environ.get("LULL_TEST_VM_DIR")
    place = os.path.join(os.path.abspath(kept), name) if kept else tempfile.mkdtemp(prefix="lull-vm-", dir="/var/tmp")
    os.makedirs(place, exist_ok=True)
    try:
        yield place
    finally:
        if not kept:
            shutil.rmtree(place)


def run(*words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(words)}: status {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


class Machine:
    """A kernel with its modules, unpacked below `root`."""

    def __init__(self, place, modules=()):
        self.place, self.root = place, os.path.join(place, "root")
        if not os.path.exists(os.path.join(place, "ready")):
            self.fetch()
            self.build_modules()
            open(os.path.join(place, "ready"), "w", encoding="ascii").close()
        self.kernel, = glob.glob(f"{self.root}/boot/vmlinuz-*")
        self.release = self.kernel.split("vmlinuz-")[1]
        self.initrd = os.path.join(place, "initrd.gz")
        with open(self.initrd, "wb") as file:
            file.write(gzip.compress(self.archive([*MODULES, *modules], {"init": HERE + "/init"}, ("new", "lower", "upper")), 1))

    def packages(self, release):
        return [f"linux-image-{release}"]

    def fetch(self):
        """The oldest kernel is the one for which the release's lttng-modules were made."""
        names = re.findall(r"^linux-headers-(\d[\d.]*-\d+-amd64)$", run("apt-cache", "pkgnames"), re.M)
        release = min(names, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
        packages = os.path.join(self.place, "packages")
        os.makedirs(packages, exist_ok=True)
        run("apt-get", "download", *self.packages(release), cwd=packages)
        for package in glob.glob(packages + "/*.deb"):
            run("dpkg-deb", "-x", package, self.root)

    def build_modules(self):
        modules, = glob.glob(f"{self.root}/lib/modules/*-amd64")
        run("depmod", "-b", self.root, os.path.basename(modules))

    def archive(self, modules, files, folders=()):
        """An initial file system for the kernel: busybox, these modules, `files` (name → path here; what is a program gets its libraries)."""
        tree = tempfile.mkdtemp(dir=self.place)
        order = os.path.join(tree, "modules")
        for name in ("bin", "proc", "sys", "dev", "tmp", *folders):
            os.makedirs(os.path.join(tree, name))
        for name, path in [("bin/busybox", shutil.which("busybox")), *files.items()]:
            for target, source in [(name, path), *libraries_of(path)]:
                target = os.path.join(tree, target)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target)
                os.chmod(target, 0o755)
        loaded = []
        for name in modules:
            found = run("modprobe", "-d", self.root, "-S", self.release, "--show-depends", name)
            loaded += [path for path in re.findall(r"^insmod (\S+)", found, re.M) if path not in loaded]
        with open(order, "w", encoding="ascii") as file:
            for path in loaded:
                name = os.path.relpath(path, self.root)
                os.makedirs(os.path.join(tree, os.path.dirname(name)), exist_ok=True)
                shutil.copy(path, os.path.join(tree, name))
                file.write(f"/{name}\n")
        names = subprocess.run(["find", "."], cwd=tree, check=True, capture_output=True).stdout
        archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree, input=names, check=True, capture_output=True).stdout
        shutil.rmtree(tree)
        return archive

    def run(self, script, accelerator="tcg", more=(), take=lambda out: None, nice=19):
        """Runs the shell script there; what it printed, and its status or None. `take` gets the directory that it sees as /mnt/out."""
        out = tempfile.mkdtemp(dir=self.place)
        with open(out + "/run", "w", encoding="utf-8") as file:
            file.write(script)
        words = ["nice", "-n", str(nice), "qemu-system-x86_64", "-machine", "q35", "-accel", accelerator, "-cpu", "max", "-m", "1500", "-nographic",
                 "-no-reboot", "-net", "none", "-kernel", self.kernel, "-initrd", self.initrd, *more, "-append",
                 f"console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check modules={self.root}/lib/modules"]
        for tag, path, options in (("host", "/", ",readonly=on"), ("out", out, "")):
            words += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{options}"]
        try:
            console = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                     stderr=subprocess.STDOUT, timeout=SECONDS, check=False, errors="replace").stdout
        except subprocess.TimeoutExpired:
            console = f"still running after {SECONDS} s"
        texts = {}
        for name in ("log", "status"):
            path = os.path.join(out, name)
            texts[name] = open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else ""
        take(out)
        shutil.rmtree(out)
        return texts["log"] or console, int(texts["status"]) if texts["status"] else None


class Newer(Machine):
    """With the oldest kernel from 6.12 on."""

    def fetch(self):
        names = [name for name in re.findall(r"^linux-image-(\d\S*)-amd64$", run("apt-cache", "pkgnames"), re.M)
                 if [int(n) for n in re.findall(r"\d+", name)[:2]] >= [6, 12] and re.match(r"[\d.]+(-|\+|$)", name) and name.count(".") > 1
                 and not re.search("cloud|rt", name)]
        if not names:
            raise RuntimeError("no package of a kernel from 6.12 on")
        packages = os.path.join(self.place, "packages")
        os.makedirs(packages, exist_ok=True)
        run("apt-get", "download", f"linux-image-{min(names)}-amd64", cwd=packages)
        for package in os.listdir(packages):
            run("dpkg-deb", "-x", os.path.join(packages, package), self.root)


class Realtime(Machine):
    """With the newest kernel of this release with PREEMPT_RT: it handles interrupts and softirqs in threads."""

    def fetch(self):
        names = re.findall(r"^linux-image-(6\.1\.\S+-rt-amd64)$", run("apt-cache", "pkgnames"), re.M)
        packages = os.path.join(self.place, "packages")
        os.makedirs(packages, exist_ok=True)
        name = max(names, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])
        run("apt-get", "download", f"linux-image-{name}", cwd=packages)
        for package in os.listdir(packages):
            run("dpkg-deb", "-x", os.path.join(packages, package), self.root)



def libraries_of(path):
    """Of a program: where each belongs, and where it is. Of what is none, nothing."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    return [(found.lstrip("/"), found) for found in re.findall(r"(/\S+) \(0x", done.stdout)]

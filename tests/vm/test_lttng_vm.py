#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# `lull record` with LTTng's kernel modules, which few machines have: in an emulated one. It gets Debian's oldest
# kernel of this release, builds Debian's lttng-modules for it, and runs guest_lttng.py there, which makes the checks; its
# files are those of this machine, read only. It runs only when asked for with LULL_TEST_VM=1 (it downloads 90 MB,
# and emulates for minutes), and needs root's apt-get, qemu-system-x86_64, busybox, kmod and LTTng's tools.
# LULL_TEST_VM_DIR keeps what was built for the next time. The argument is the program take_snapshots.
import glob
import os
import re
import shlex
import shutil
import sys

import machine
from tap import Tap

tap = Tap()
HERE = os.path.dirname(os.path.abspath(__file__))
NEEDED = ["make", "gcc", "lttng", "lttng-sessiond", "babeltrace2"]


class LttngMachine(machine.Machine):
    """With LTTng's modules."""

    def packages(self, release):
        version = ".".join(release.split(".")[:2])
        return [*super().packages(release), f"linux-headers-{release}", f"linux-headers-{release.replace('amd64', 'common')}",
                f"linux-kbuild-{version}", "lttng-modules-dkms"]

    def build_modules(self):
        headers, = glob.glob(f"{self.root}/usr/src/linux-headers-*-amd64")
        source, = glob.glob(f"{self.root}/usr/src/lttng-modules-*")
        with open(f"{headers}/Makefile", encoding="utf-8") as file:
            text = file.read()
        with open(f"{headers}/Makefile", "w", encoding="utf-8") as file:
            file.write(text.replace("include /usr/src", f"include {self.root}/usr/src"))
        machine.run("make", "-j2", f"KERNELDIR={headers}", "modules", cwd=source)
        modules, = glob.glob(f"{self.root}/lib/modules/*-amd64")
        os.makedirs(modules + "/extra", exist_ok=True)
        for path in glob.glob(source + "/**/*.ko", recursive=True):
            shutil.copy(path, modules + "/extra")
        super().build_modules()


def main():
    reason = machine.why_not(NEEDED)
    if reason:
        tap.skip("lull record with LTTng in an emulated machine", reason)
        return tap.done()
    names = {name: os.environ[name] for name in ("LULL", "PYTHONPATH")}
    names["PYTHONDONTWRITEBYTECODE"] = "1"
    names["TAKE_SNAPSHOTS"] = os.path.abspath(sys.argv[1])
    script = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in names.items())
    with machine.place_of("lttng") as place:
        log, status = LttngMachine(place).run(script + f"exec python3 {shlex.quote(HERE + '/guest_lttng.py')}\n")
    sys.stdout.write(log)  # its TAP, with the plan
    if status is None or not re.search(r"^1\.\.\d+$", log, re.M):
        print("Bail out! the emulated machine did not come to the end")
        return 1
    return status


sys.exit(main())

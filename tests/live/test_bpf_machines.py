#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The eBPF programs can be built for each machine whose registers they know, with the headers of libbpf, which declare types of their own
for some of them. Nothing is loaded."""
import glob
import os
import shutil
import subprocess

from tap import Tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MACHINES = ("x86", "arm64")


def main():
    tap = Tap()
    clang = shutil.which("clang")
    if not clang or not os.path.exists("/usr/include/bpf/bpf_tracing.h"):
        tap.skip("eBPF programs are built", "without clang or libbpf's headers")
        tap.done()
    sources = sorted(glob.glob(f"{ROOT}/src/**/*.bpf.c", recursive=True))
    tap.ok(sources, "there are programs")
    headers = glob.glob("/usr/include/*-linux-gnu*/asm")  # of any machine: what is used is alike
    asm = [word for folder in headers[:1] for word in ("-idirafter", os.path.dirname(folder))]
    for machine in MACHINES:
        for source in sources:
            done = subprocess.run([clang, "-target", "bpfel", "-mcpu=v3", "-O2", "-g", "-ffreestanding", "-Wall", "-Wextra", "-Werror",
                                   "-Wno-unused-parameter", f"-D__TARGET_ARCH_{machine}", f"-I{ROOT}/src", *asm, "-c", source, "-o", os.devnull],
                                  capture_output=True, text=True, check=False)
            tap.ok(done.returncode == 0, f"{os.path.basename(source)} for {machine}", done.stderr)
    tap.done()


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Recordings of programs in control groups of version 2 with limits of CPU time, disks and memory, made by tests/vm/test_cgroups_vm.py in an emulated
# machine with Linux 6.12, against what the kernel counted. LULL is the program, LULL_SOURCE the project's directory.
import os
import sys
import tarfile
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib")]
import cgroups  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
with tempfile.TemporaryDirectory() as place:
    with tarfile.open(os.path.join(os.environ["LULL_SOURCE"], "tests", "data", "cgroups.tar.xz")) as archive:
        archive.extractall(place)
    cgroups.check(tap, place)
sys.exit(tap.done())

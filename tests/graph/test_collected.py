#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Snapshots of three machines with kernels and clocks of their own, from tests/data/daemons.tar.xz (tests/vm/test_daemon_vm.py made it): over ftrace,
# which records no headers of packets, so that the recorder's own say which packet is which.
import os
import sys
import tarfile
import tempfile

from lib import collected
from tap import Tap

tap = Tap()
with tempfile.TemporaryDirectory() as folder:
    with tarfile.open(os.path.join(os.environ["LULL_SOURCE"], "tests", "data", "daemons.tar.xz")) as archive:
        archive.extractall(folder)
    tap.run("collected snapshots", collected.check, tap, folder)
sys.exit(tap.done())

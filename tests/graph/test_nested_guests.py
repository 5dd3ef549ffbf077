#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A recording of a host, its guest and a guest in that, against what the programs in it say of themselves and what trace-cmd reads. LULL is the
# program, LULL_SOURCE the project's directory.
import os
import sys
import tarfile
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib")]
import nested_guests  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
with tempfile.TemporaryDirectory() as place:
    with tarfile.open(os.path.join(os.environ["LULL_SOURCE"], "tests", "data", "nested.tar.xz")) as archive:
        archive.extractall(place)
    nested_guests.check(tap, place, 0.8)
sys.exit(tap.done())

# SPDX-License-Identifier: MIT
# A trace repeated in time: a trace for each time, as rotation of a recording leaves them, with another offset of its clock. The
# events are those of the original, by links. The clock is one without a UUID: clocks with the same one have the same offset.
import glob
import os
import re

CLOCK = re.compile(rb'(clock \{[^}]*?)(\buuid = "[0-9a-f-]{36}";)([^}]*?\boffset = )(\d+)(;)')
PAUSE_NS = 10**6


def repeat(trace, directory, times, length_ns):
    """Repeats each CTF 1.8 trace below `trace`, which is `length_ns` long and has a clock in ns, into `directory`."""
    for metadata in glob.glob(os.path.join(trace, "**", "metadata"), recursive=True):
        source = os.path.dirname(os.path.abspath(metadata))
        with open(metadata, "rb") as file:
            data = file.read()
        for number in range(times):
            target = os.path.join(directory, f"{number:04}", os.path.relpath(source, os.path.abspath(trace)))
            os.makedirs(target)
            late = number * (length_ns + PAUSE_NS)
            moved, found = CLOCK.subn(lambda m, late=late: m[1] + b" " * len(m[2]) + m[3] + b"%d" % (int(m[4]) + late) + m[5], data)
            assert found == 1, f"{metadata}: not one clock with an offset"
            with open(os.path.join(target, "metadata"), "wb") as file:
                file.write(moved)
            for name in os.listdir(source):
                if name != "metadata":
                    os.symlink(os.path.join(source, name), os.path.join(target, name))

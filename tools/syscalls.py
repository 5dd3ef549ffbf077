#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/kernel/syscalls.def, the numbers of system calls, from a kernel's headers for programs.

    tools/syscalls.py [INCLUDE] > src/kernel/syscalls.def
    tools/syscalls.py --check FILE [INCLUDE]

INCLUDE is a folder with asm/unistd_64.h and asm/unistd_32.h of x86, asm-generic/unistd.h and linux/version.h: what
`make headers_install` of a kernel's source writes, or Debian's linux-libc-dev installs. Without it, the compiler's own.
ARM's asm/unistd-eabi.h comes from INCLUDE or from Debian's linux-libc-dev-armhf-cross.

--check compares: headers of the kernel that FILE names must give FILE to the byte. A call keeps its number for ever, so
older headers must give a part of FILE, and newer ones all of it. Exit 1 and a line for each difference, 77 without headers."""
import os
import re
import subprocess
import sys

HEAD = """/* SPDX-License-Identifier: MIT */
/* Numbers of system calls, from the headers asm/unistd_64.h and asm/unistd_32.h of x86, asm-generic/unistd.h (arm64,
 * riscv and others) and asm/unistd-eabi.h (ARM of 32 bits) of Linux {}, for tracers that tell a number only.
 * -1: the architecture has no such call. Written by tools/syscalls.py, which knows {} of later kernels.
 *
 * NUMBER(name, x86_64, i386, generic, arm) */

"""
# Calls that headers of Debian's kernels lack so far, from the patches that added them (Linux 6.19, 7.0). Headers that have them come first.
LATER = {"listns": (470,) * 4, "rseq_slice_yield": (471,) * 4}
# From here on all architectures number calls alike (Linux 5.1), so ARM's that are newer than its headers have i386's numbers.
ALIKE = 403
CROSS = "/usr/arm-linux-gnueabihf/include"  # of Debian's package
# What the architectures that use the generic numbers have asked for, some of them or all.
WANTED = ["RENAMEAT", "NEW_STAT", "SET_GET_RLIMIT", "MEMFD_SECRET", "SYS_CLONE3"]
HEADERS = [("asm/unistd_64.h", []), ("asm/unistd_32.h", []),
           ("asm-generic/unistd.h", ["-D__BITS_PER_LONG=64"] + [f"-D__ARCH_WANT_{name}" for name in WANTED])]


def macros(header, include, flags):
    """Name → value of what a header defines."""
    folder = [f"-I{include}"] if include else []
    out = subprocess.run([os.environ.get("CC", "cc").split()[-1], "-E", "-dM", *flags, *folder, "-"],
                         input=f"#include <{header}>\n", capture_output=True, text=True, check=False)
    if out.returncode:
        print(f"syscalls: no <{header}>", file=sys.stderr)
        sys.exit(77)
    return dict(re.findall(r"^#define (\w+) (.*)$", out.stdout, re.M))


def numbers(header, include, flags):
    """Name → number of the calls in a header."""
    defined = macros(header, include, flags)
    calls = {}
    for name, value in defined.items():
        if name.startswith("__NR_"):
            value = defined.get(value, value)  # __NR_fstat is __NR3264_fstat
            value = re.sub(r"^\(__NR_SYSCALL_BASE \+ (\d+)\)$", r"\1", value)  # ARM's of the ABI that there is
            if value.isdigit():
                calls[name.removeprefix("__NR_")] = int(value)
    return calls


def version(include):
    code = int(macros("linux/version.h", include, [])["LINUX_VERSION_CODE"])
    return code >> 16, code >> 8 & 255


def arm_numbers(include, i386):
    """Name → number of ARM's calls; None without its headers."""
    place = next((place for place in (include, CROSS) if place and os.path.exists(f"{place}/asm/unistd-eabi.h")), None)
    if not place:
        return None
    calls = numbers("asm/unistd-eabi.h", place, [])
    newest = max(calls.values())
    return {**{name: number for name, number in i386.items() if number >= ALIKE and number > newest}, **calls}


def table(include, known=None):
    """Name → numbers on x86-64, i386, the generic machine and ARM, whose are those `known` where there are no headers of it."""
    columns = [numbers(header, include, flags) for header, flags in HEADERS]
    columns[2].pop("arch_specific_syscall", None)
    columns[2].pop("syscalls", None)
    arm = arm_numbers(include, columns[1])
    if arm is None and known is None:
        print("syscalls: no <asm/unistd-eabi.h> of ARM", file=sys.stderr)
        sys.exit(77)
    columns.append({name: row[3] for name, row in known.items() if row[3] >= 0} if arm is None else arm)
    named = {name: tuple(column.get(name, -1) for column in columns) for name in set().union(*columns)}
    return dict(sorted({**LATER, **named}.items()))


def text(calls, kernel):
    lines = [f"NUMBER({name}, {', '.join(map(str, row))})\n" for name, row in calls.items()]
    return HEAD.format(".".join(map(str, kernel)), " and ".join(LATER)) + "".join(lines) + "\n#undef NUMBER\n"


def check(path, include):
    with open(path, encoding="utf-8") as file:
        committed = file.read()
    named = tuple(map(int, re.search(r"of Linux (\d+)\.(\d+)", committed).groups()))
    rows = re.findall(r"^NUMBER\((\w+), (-?\d+), (-?\d+), (-?\d+), (-?\d+)\)$", committed, re.M)
    known = {name: tuple(map(int, row)) for name, *row in rows}
    kernel, calls = version(include), table(include, known)
    if text(calls if kernel == named else known, named) != committed:
        return [f"{path} is not what this script writes"]
    less, more = (calls, known) if kernel < named else (known, calls)
    return [f"{name}: {row} is {more.get(name)} in the newer table" for name, row in less.items()
            if any(number not in (-1, other) for number, other in zip(row, more.get(name, (None,) * 4)))]


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--check"]:
        breaches = check(arguments[1], arguments[2] if len(arguments) > 2 else None)
        print("\n".join(breaches), end="\n" if breaches else "")
        sys.exit(1 if breaches else 0)
    include = arguments[0] if arguments else None
    sys.stdout.write(text(table(include), version(include)))


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The other tables of the kernel's numbers too: operations of io_uring, error numbers. src/kernel/syscalls.def is what tools/syscalls.py writes, by the headers of this machine; a wrong number is found."""
import os
import re
import subprocess
import sys
import tempfile

from tap import Tap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(ROOT, "src", "kernel", "syscalls.def")


def check(path):
    return subprocess.run([sys.executable, os.path.join(ROOT, "tools", "syscalls.py"), "--check", path],
                          capture_output=True, text=True, check=False)


def source(name):
    with open(os.path.join(ROOT, "src", "kernel", name), encoding="utf-8") as file:
        return file.read()


def preprocessed(header, *flags):
    result = subprocess.run([os.environ.get("CC", "cc").split()[-1], "-E", *flags, "-"], input=f"#include <{header}>\n", capture_output=True,
                            text=True, check=False)
    return result.stdout if result.returncode == 0 else ""


# How an operation is said that is a form of another, or is called otherwise.
FORMS = r"_(fixed|zc|multishot)$|128$|_add$|^async_"
# Numbers that headers older than Linux 7.0 lack (its include/uapi/linux/io_uring.h).
LATER = {49: "read_multishot", 50: "waitid", 51: "futex_wait", 52: "futex_wake", 53: "futex_waitv", 54: "fixed_fd_install", 55: "ftruncate",
         56: "bind", 57: "listen", 58: "recv_zc", 59: "epoll_wait", 60: "readv_fixed", 61: "writev_fixed", 62: "pipe", 63: "nop128", 64: "uring_cmd128"}


def operations(tap):
    names = re.findall(r'^    \{"(\w+)", "\w+"\},$', source("uring_operations.c"), re.M)
    known = re.findall(r"\bIORING_OP_(\w+)", preprocessed("linux/io_uring.h", "-P"))
    expected = {**LATER, **{number: name.lower() for number, name in enumerate(known) if name != "LAST"}}
    wrong = [(number, names[number:number + 1], name) for number, name in sorted(expected.items())
             if names[number:number + 1] != [re.sub(FORMS, "", name)]]
    tap.ok(not wrong and len(names) == max(expected) + 1, "operations of io_uring have the kernel's numbers", *wrong)


def errors(tap):
    known = re.findall(r"^#define (E\w+) (\d+)$", preprocessed("errno.h", "-dM"), re.M)
    names = re.findall(r'NULL|"\w+"', source("errnos.c").partition("user[] = {")[2].partition("};")[0])
    wrong = [(name, number) for name, number in known if names[int(number)] != f'"{name}"']
    tap.ok(not wrong and (not known or len(names) == max(int(number) for _, number in known) + 1), "error numbers are the kernel's", *wrong)


def main():
    tap = Tap()
    operations(tap)
    errors(tap)
    result = check(TABLE)
    if result.returncode == 77:
        tap.skip("the table is that of the headers", result.stderr.strip())
        tap.done()
    tap.ok(result.returncode == 0, "the table is that of the headers", result.stdout, result.stderr)
    with open(TABLE, encoding="utf-8") as file:
        table = file.read()
    planted = {
        "a wrong number": table.replace("NUMBER(accept, 43,", "NUMBER(accept, 44,"),
        "a missing call": re.sub(r"NUMBER\(write, .*\n", "", table),
        "a row out of its form": table.replace("NUMBER(read, ", "NUMBER( read, "),
    }
    for name, text in planted.items():
        with tempfile.NamedTemporaryFile("w", suffix=".def", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            result = check(file.name)
            tap.ok(text != table and result.returncode == 1 and result.stdout, f"{name} is found", result.stderr)
    tap.done()


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Unpacks bundled sample traces, once: does nothing while DIRECTORY holds what the archive holds.
#
#   tools/unpack.py DIRECTORY ARCHIVE.tar.xz... [--stamp FILE]
#
# An archive's members go below DIRECTORY; DIRECTORY/.NAME.done remembers size and time of the
# archive. Needs nothing but Python's own tar and xz.
import argparse
import os
import sys
import tarfile


def identity(archive):
    status = os.stat(archive)
    return f"{status.st_size} {status.st_mtime_ns}\n"


def unpack(archive, directory):
    done = os.path.join(directory, "." + os.path.basename(archive) + ".done")
    wanted = identity(archive)
    try:
        with open(done, encoding="utf-8") as file:
            if file.read() == wanted:
                return
    except OSError:
        pass
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            parts = member.name.split("/")
            if member.name.startswith("/") or ".." in parts or not (member.isdir() or member.isreg()):
                sys.exit(f"unpack: {archive}: refuses member {member.name}")
            member.mode = 0o755 if member.isdir() else 0o644
        tar.extractall(directory)
    with open(done, "w", encoding="utf-8") as file:
        file.write(wanted)


def main():
    parser = argparse.ArgumentParser(description="Unpacks bundled sample traces, once.")
    parser.add_argument("directory")
    parser.add_argument("archives", nargs="+")
    parser.add_argument("--stamp", help="file to write when all is done, for the build system")
    args = parser.parse_args()
    os.makedirs(args.directory, exist_ok=True)
    for archive in args.archives:
        unpack(archive, args.directory)
    if args.stamp:
        with open(args.stamp, "w", encoding="utf-8") as file:
            file.write("".join(map(identity, args.archives)))


if __name__ == "__main__":
    main()

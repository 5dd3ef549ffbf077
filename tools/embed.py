#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Writes files as C arrays: tools/embed.py OUT.h NAME.css NAME.js … gives the strings `name_css`, `name_js`, and of an object
# NAME.o the bytes `name_o`. So a view can hold style sheets and scripts that are files of their own, and the program needs
# none of them.
import os
import re
import sys


def literal(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("?", "\\?") + '\\n"'


def main():
    output, *inputs = sys.argv[1:]
    parts = ["/* Made by tools/embed.py. */\n"]
    for name in inputs:
        symbol = re.sub(r"\W", "_", os.path.basename(name))
        if name.endswith(".o"):
            with open(name, "rb") as file:
                body = ",".join(map(str, file.read()))
            parts.append(f"static const unsigned char {symbol}[] __attribute__((aligned(8))) = {{{body}}};\n")
            continue
        with open(name, encoding="utf-8") as file:
            lines = file.read().splitlines()
        body = "\n    ".join(literal(line) for line in lines)
        parts.append(f"static const char {symbol}[] =\n    {body};\n")
    with open(output, "w", encoding="utf-8") as file:
        file.writelines(parts)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Writes files of text as C strings: tools/embed.py OUT.h NAME.css NAME.js … gives `name_css`, `name_js`. So a view can
# hold style sheets and scripts that are files of their own, and the program needs none of them.
import os
import re
import sys


def literal(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("?", "\\?") + '\\n"'


def main():
    output, *inputs = sys.argv[1:]
    parts = ["/* Made by tools/embed.py. */\n"]
    for name in inputs:
        with open(name, encoding="utf-8") as file:
            lines = file.read().splitlines()
        symbol = re.sub(r"\W", "_", os.path.basename(name))
        body = "\n    ".join(literal(line) for line in lines)
        parts.append(f"static const char {symbol}[] =\n    {body};\n")
    with open(output, "w", encoding="utf-8") as file:
        file.writelines(parts)


main()

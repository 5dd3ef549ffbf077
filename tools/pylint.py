#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the Python of the project to two rules.

    tools/pylint.py FILE…

Each file can be parsed. Each function at the top level of a test_….py is used there, or imported by another file: a test that
nobody runs passes for ever. Where `globals()` is gone through, that uses what is called test_… or check_…. Exit 1 with one line
for each breach."""
import ast
import collections
import os
import sys


def parse(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        return ast.parse(text, path), text
    except SyntaxError as error:
        sys.exit(f"{error.filename}:{error.lineno}: {error.msg}")


def main(paths):
    taken, functions, status = collections.Counter(), [], 0
    for path in paths:
        tree, text = parse(path)
        read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        taken.update(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
        taken.update(alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names)
        goes_through = "globals()" in text
        if os.path.basename(path).startswith("test_"):
            functions += [(path, node.lineno, node.name) for node in tree.body if isinstance(node, ast.FunctionDef) and node.name not in read
                          and not (goes_through and node.name.startswith(("test_", "check_")))]
    for path, line, name in functions:
        if not taken[name]:
            print(f"{path}:{line}: nobody calls {name}")
            status = 1
    return status


sys.exit(main(sys.argv[1:]))

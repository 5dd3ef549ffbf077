#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the manual pages of section 3, one for each public header, from its comments.

    tools/man3.py DIRECTORY VERSION HEADER...      writes DIRECTORY/lull-NAME.3 for each

A header starts with a comment that says what it is for; each declaration, or group of declarations without an empty line
between, has its comment in front."""
import os
import re
import sys


def roff(text):
    """Text as roff: backslashes and hyphens as they are, no line taken for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def comment_text(comment):
    """The words of a comment: paragraphs, and lines that are set further in as they are."""
    lines = [re.sub(r"^ ?\*? ?", "", line) for line in re.sub(r"^/\*\**<?|\*/$", "", comment.strip()).split("\n")]
    lines[0] = lines[0].strip()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def paragraphs(text):
    out = []
    for part in re.split(r"\n\s*\n", text):
        if part.startswith("   "):
            out.append(".PP\n.EX\n" + roff(part) + "\n.EE")
        else:
            out.append(".PP\n" + roff("\n".join(line.strip() for line in part.split("\n"))))
    return "\n".join(out)


def body_of(header):
    """What is declared: without guard, includes and the first comment."""
    text = header[header.index("G_BEGIN_DECLS") + len("G_BEGIN_DECLS"):header.rindex("G_END_DECLS")] \
        if "G_BEGIN_DECLS" in header else ""
    # Of what is inline, the prototype.
    return re.sub(r"^(static inline [^{;]*?)\n\{.*?^\}", r"\1;", text, flags=re.MULTILINE | re.DOTALL)


def items(body):
    """(comment or "", declarations) in order; a comment at the start of a line begins an item."""
    found, comment, code, depth = [], "", [], 0

    def close():
        nonlocal comment, code
        if any(line.strip() for line in code):
            found.append((comment, "\n".join(code).strip("\n")))
        comment, code = "", []

    lines = iter(body.split("\n"))
    for line in lines:
        if depth == 0 and line.startswith("/*"):
            close()
            comment = line
            while "*/" not in line:
                line = next(lines)
                comment += "\n" + line
        elif depth == 0 and not line.strip():
            close()
        else:
            code.append(line)
            plain = re.sub(r"/\*.*?\*/", "", line)
            depth += plain.count("{") - plain.count("}")
    close()
    return found


def heading(code):
    functions = re.findall(r"\b(lull_\w+)\(", re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL))
    named = re.match(r"(?:struct|enum) (\w+)", code)
    defined = re.findall(r"^#define (\w+)", code, flags=re.MULTILINE)
    if named and not functions or named and code.rstrip().endswith("};"):
        return code.split()[0] + " " + named.group(1)
    return ", ".join(dict.fromkeys([name + "()" for name in functions] or defined)) or code.split("\n")[0]


def page(name, header, version):
    header = re.sub(r"^/\* SPDX-.*\n", "", header)
    first = re.match(r"\s*/\*(.*?)\*/", header, flags=re.DOTALL).group(0)
    about = comment_text(first)
    summary = re.split(r"(?<=[a-z)])[.:](?:\s|$)", about.replace("\n", " "), maxsplit=1)[0]
    out = [f'.TH LULL\\-{name.upper()} 3 "" "Lull {roff(version)}" "liblull"', ".SH NAME",
           f"lull\\-{name} \\- {roff(summary[0].lower() + summary[1:] if summary[1:2].islower() else summary)}",
           ".SH SYNOPSIS", ".nf", f".B #include <lull/{name}.h>", ".fi", ".PP",
           "Compile and link with what", roff("pkg-config --cflags --libs lull"), "says.",
           ".SH DESCRIPTION", paragraphs(about)]
    declared = items(body_of(header))
    if declared:
        out.append(".SH DECLARATIONS")
    for comment, code in declared:
        out += [f".SS {roff(heading(code))}", ".EX", roff(re.sub(r"/\*\*<?", "/*", code)), ".EE"]
        if comment:
            out.append(paragraphs(comment_text(comment)))
    out += [".SH SEE ALSO", ".BR lull (1)"]
    return "\n".join(out) + "\n"


def main():
    folder, version, *headers = sys.argv[1:]
    for path in headers:
        name = os.path.basename(path).removesuffix(".h")
        with open(path, encoding="utf-8") as file:
            text = page(name, file.read(), version)
        with open(os.path.join(folder, f"lull-{name}.3"), "w", encoding="utf-8") as file:
            file.write(text)


main()

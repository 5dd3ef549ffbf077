#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Installs into a scratch directory and uses the result as a stranger would: the files that must be there, the symbols that
# liblull.so exports, an example compiled with nothing but what pkg-config says.
#   test_install.py BUILD COMPILER SANITIZERS PYTHON     (the last empty if the Python module was not built)
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

tap = Tap()
source = os.environ["LULL_SOURCE"]
build, compiler, sanitizers, module_python = sys.argv[1:5]


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL, **more)


def installed_files(root):
    found = set()
    for folder, _, names in os.walk(root):
        found |= {os.path.relpath(os.path.join(folder, name), root) for name in names}
    return found


def files_are_there(found):
    headers = {name.removesuffix(".in") for name in os.listdir(os.path.join(source, "include", "lull"))
               if name != "meson.build"}
    installed = {os.path.basename(path) for path in found if "/include/" in path}
    tap.ok(installed == headers, "the public headers are installed and no others", installed ^ headers)
    for what, pattern in (("the program", r"/bin/lull$"), ("the library", r"/lib(64)?/(.*/)?liblull\.so\.\d+$"),
                          ("the pkg-config file", r"/pkgconfig/lull\.pc$"), ("manual pages", r"/man/man1/lull[\w-]*\.1$"),
                          ("manual pages of the library", r"/man/man3/lull-session\.3$"),
                          ("bash completion", r"/bash-completion/completions/lull$"),
                          ("zsh completion", r"/zsh/site-functions/_lull$"),
                          ("fish completion", r"/fish/vendor_completions\.d/lull\.fish$"),
                          ("a name of lttng-analyses", r"/bin/lttng-cputop$"), ("its manual page", r"/man/man1/lttng-cputop\.1$"),
                          ("its form for programs", r"/bin/lttng-iolog-mi$"),
                          ("the daemon's own name", r"/bin/lulld$"), ("its manual page", r"/man/man1/lulld\.1$"),
                          ("what Python programs load", r"/lull/python/_lull_calls\.abi3\.so$"), ("and how", r"/lull/python/sitecustomize\.py$"),
                          ("what other programs load", r"/lull/liblull-functions\.so$")):
        tap.ok(any(re.search(pattern, path) for path in found), f"{what}: installed", "\n".join(sorted(found)))


def pages_of_verbs(found):
    """Each verb that the program lists has its page, and its schema if it prints JSON."""
    verbs = re.findall(r"^  (\w+)  ", run(os.environ["LULL"], "--help").stdout, flags=re.MULTILINE)
    names = {os.path.basename(path) for path in found}
    tap.ok(len(verbs) > 40, "the program lists its verbs", verbs)
    missing = [verb for verb in verbs if f"lull-{verb}.1" not in names]
    tap.ok(not missing, "each verb has a manual page", missing)
    said = [verb for verb in verbs if "schema.json" in run(os.environ["LULL"], verb, "--help").stdout]
    missing = [verb for verb in said if f"lull-{verb}.schema.json" not in names]
    tap.ok(len(said) > 20 and not missing, "and the schema of its JSON that its help speaks of", missing, said)


def daemon(root, found):
    """By its own name the program is the daemon: its options come without a verb."""
    lulld = os.path.join(root, next(path for path in found if path.endswith("/bin/lulld")).lstrip("/"))
    checked = run(lulld, "--check", "--config", "/dev/null")
    same = run(os.environ["LULL"], "daemon", "--check", "--config", "/dev/null")
    tap.ok((checked.returncode, checked.stdout, checked.stderr) == (same.returncode, same.stdout, same.stderr) and
           "/dev/null" in checked.stdout + checked.stderr, "lulld --check is lull daemon --check", checked, same)


def symbols(root, found):
    library = os.path.join(root, next(path for path in sorted(found) if re.search(r"liblull\.so\.\d+$", path)))
    defined = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", library).stdout.splitlines()}
    with open(os.path.join(source, "src", "liblull.map"), encoding="utf-8") as file:
        wanted = set(re.findall(r"^\s*(lull_\w+);", file.read(), flags=re.MULTILINE))
    # The linker adds the names of version nodes.
    extra = {name for name in defined - wanted if not re.match(r"LULL_\d", name)}
    tap.ok(not extra and wanted <= defined, "liblull.so exports the public functions and nothing else",
           f"more: {sorted(extra)}", f"missing: {sorted(wanted - defined)}")


def version(root, found):
    """Headers, pkg-config and the program say the same."""
    header = next(path for path in found if path.endswith("/lull/version.h"))
    with open(os.path.join(root, header), encoding="utf-8") as file:
        stated = re.search(r'LULL_VERSION "(.*)"', file.read()).group(1)
    with open(os.path.join(root, next(path for path in found if path.endswith("/lull.pc"))), encoding="utf-8") as file:
        packaged = re.search(r"^Version: (.*)$", file.read(), flags=re.MULTILINE).group(1)
    program = run(os.environ["LULL"], "--version").stdout.split("\n")[0]
    tap.ok(stated == packaged and program == "lull " + stated, "one version everywhere", stated, packaged, program)


def compile_example(root, found, scratch):
    folder = os.path.dirname(os.path.join(root, next(path for path in found if path.endswith("/lull.pc"))))
    # Our own paths in lull.pc are below the scratch root, GLib's are not: so no PKG_CONFIG_SYSROOT_DIR.
    with open(os.path.join(folder, "lull.pc"), encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(scratch, "lull.pc"), "w", encoding="utf-8") as file:
        file.write(re.sub(r"^prefix=", f"prefix={root}", text, flags=re.MULTILINE))
    environment = dict(os.environ, PKG_CONFIG_PATH=scratch)
    flags = run("pkg-config", "--cflags", "--libs", "lull", env=environment)
    tap.ok(flags.returncode == 0 and "-llull" in flags.stdout, "pkg-config knows lull", flags.stderr)
    program = os.path.join(scratch, "example")
    more = [] if sanitizers == "none" else [f"-fsanitize={sanitizers}"]
    result = run(*compiler.split(), *more, os.path.join(source, "examples", "count_switches.c"), "-o", program,
                 *flags.stdout.split())
    if not tap.ok(result.returncode == 0, "an example compiles with what pkg-config says", result.stderr):
        return
    library_folder = re.search(r"-L(\S+)", flags.stdout).group(1)
    result = run(program, os.path.join(os.environ["LULL_SAMPLES"], "django", "db"),
                 env=dict(os.environ, LD_LIBRARY_PATH=library_folder))
    tap.ok(result.returncode == 0 and "postgres" in result.stdout, "and runs", result.stderr)
    slowest_request(root, found, scratch, flags.stdout.split(), more)


def slowest_request(root, found, scratch, flags, sanitizer_flags):
    """The C program and the Python script say the same of the bundled trace, built from what is installed."""
    program = os.path.join(scratch, "slowest_request")
    result = run(*compiler.split(), *sanitizer_flags, os.path.join(source, "examples", "slowest_request.c"), "-o", program,
                 *flags)
    if not tap.ok(result.returncode == 0, "a program for the slowest request compiles", result.stderr):
        return
    library = os.path.dirname(os.path.join(root, next(path for path in sorted(found)
                                                      if re.search(r"liblull\.so\.\d+$", path))))
    trace = os.path.join(os.environ["LULL_SAMPLES"], "django")
    result = run(program, trace, env=dict(os.environ, LD_LIBRARY_PATH=library))
    lines = result.stdout.splitlines()
    total = sum(float(line.split()[0]) for line in lines)
    # How long a request took is known from its packets; lines are rounded to a microsecond each.
    slowest = run(os.environ["LULL"], "requests", "--slowest", "1", "--json", trace)
    took_ms = json.loads(slowest.stdout)["requests"][0]["duration_ns"] / 1e6
    tap.ok(result.returncode == 0 and len(lines) > 10 and abs(total - took_ms) < 0.0005 * len(lines),
           "and its path is as long as the request", total, took_ms, result.stderr)
    tap.ok({line.split(" on ")[1].split()[0] for line in lines} == {"client", "httpd", "db"}, "and goes over three machines")
    links_what_reading_needs(program, library)
    if not module_python:
        tap.skip("the Python script says the same", "the module was not built")
        return
    module = os.path.dirname(os.path.dirname(os.path.join(root, next(path for path in found
                                                                     if path.endswith("/lull/_lull.abi3.so")))))
    environment = dict(os.environ, PYTHONPATH=module, LD_LIBRARY_PATH=library)
    if "address" in sanitizers:
        environment.update(LD_PRELOAD=run(*compiler.split(), "-print-file-name=libasan.so").stdout.strip(),
                           ASAN_OPTIONS="detect_leaks=0")
    script = run(module_python, os.path.join(source, "examples", "slowest_request.py"), trace, env=environment)
    tap.ok(script.returncode == 0 and [line.split() for line in script.stdout.splitlines()] == [line.split() for line in lines],
           "the Python script says the same", script.stdout[-500:], script.stderr)


def links_what_reading_needs(program, library_folder):
    """No tracer's control library, and none for terminals, in a program that reads."""
    result = run("ldd", program, env=dict(os.environ, LD_LIBRARY_PATH=library_folder))
    names = set(re.findall(r"^\s*(lib[\w.+-]+?)\.so", result.stdout, flags=re.MULTILINE))
    wrong = {name for name in names if re.search(r"lttng|tracefs|smartcols|bpf|microhttpd", name)}
    tap.ok("liblull" in names and not wrong, "a program that reads links no tracer and no terminal library", sorted(names))


def python_module(root, found):
    """The module lies where its Python looks, and works with the installed library."""
    if not module_python:
        tap.skip("the Python module is installed", "it was not built")
        return
    module = next((path for path in found if path.endswith("/lull/_lull.abi3.so")), None)
    if not tap.ok(module is not None, "the Python module is installed", "\n".join(sorted(found))):
        return
    folder = os.path.dirname(os.path.dirname(module))
    looks = run(module_python, "-c", "import site; print(*site.getsitepackages(), sep='\\n')").stdout.splitlines()
    # With a prefix that this Python knows nothing of, no folder is right.
    if any(path.startswith("/" + folder.split("/lib/")[0] + "/") for path in looks):
        tap.ok("/" + folder in looks, "where its Python looks", folder, looks)
    library = os.path.dirname(next(path for path in sorted(found) if re.search(r"liblull\.so\.\d+$", path)))
    environment = dict(os.environ, PYTHONPATH=os.path.join(root, folder), LD_LIBRARY_PATH=os.path.join(root, library))
    if "address" in sanitizers:
        preload = run(*compiler.split(), "-print-file-name=libasan.so").stdout.strip()
        environment.update(LD_PRELOAD=preload, ASAN_OPTIONS="detect_leaks=0")
    result = run(module_python, "-c", "import sys, lull; print(lull.__file__, lull.Session(sys.argv[1]).hosts)",
                 os.path.join(os.environ["LULL_SAMPLES"], "django", "db"), env=environment)
    tap.ok(result.returncode == 0 and folder in result.stdout and "db" in result.stdout, "and works", result.stdout,
           result.stderr)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        root = os.path.join(scratch, "root")
        meson = shutil.which("meson")
        result = run(meson, "install", "-C", build, "--no-rebuild", "--destdir", root)
        if not tap.ok(result.returncode == 0, "meson install", result.stdout, result.stderr):
            return
        found = installed_files(root)
        tap.run("files", files_are_there, found)
        tap.run("pages", pages_of_verbs, found)
        tap.run("lulld", daemon, root, found)
        tap.run("symbols", symbols, root, found)
        tap.run("version", version, root, found)
        tap.run("Python module", python_module, root, found)
        tap.run("example", compile_example, root, found, scratch)


main()
sys.exit(tap.done())

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Forms in which programs keep names and lines: at addresses that are not from 0 on, chosen when they start (IFUNC), packed by zlib and
# zstd, in files and packages apart from the program, written by Rust. What is true of them say nm, addr2line, llvm-symbolizer and the sources.
# And files and images that are none, or lie.
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

source = os.environ["LULL_SOURCE"]
sys.path[:0] = [os.path.join(source, "tests", "calls"), os.path.join(source, "tests", "lib")]
import jsonl_to_ctf  # noqa: E402
import scene  # noqa: E402
from asked import BASE, ask, bare, id_of, lowest_of, peer  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
lull = os.environ["LULL"]
scratch = tempfile.TemporaryDirectory()  # pylint: disable=R1732
PROGRAM = """static volatile int sum;
static inline __attribute__((always_inline)) int leaf(int n) { sum += n; return sum * 3; }
static inline __attribute__((always_inline)) int middle(int n) { return leaf(n) + leaf(n + 1); }
__attribute__((noinline, cold)) int seldom(int n) { return middle(n) - 7; }
__attribute__((noinline)) int work(int n)
{
    int all = 0;
    for (int i = 0; i < n; i++) {
        all += middle(i);
        if (i % 3 == 0)
            all -= leaf(all);
    }
    return all > 100 ? seldom(all) : all;
}
int START(int argc) { return work(argc) + middle(argc); }
"""


def run(*command, **how):
    return subprocess.run(command, check=True, capture_output=True, text=True, **how).stdout


def built(name, *options, text=PROGRAM, start="main", compiler="cc"):
    folder = os.path.join(scratch.name, name)
    os.makedirs(folder)
    with open(os.path.join(folder, "main.c"), "w", encoding="ascii") as file:
        file.write(text)
    run(compiler, "-O2", "-g", f"-DSTART={start}", "-Wl,--build-id", *options, "-o", "program", "main.c", cwd=folder)
    return os.path.join(folder, "program")


def functions_of(path, *options):
    """name → (address, size), by nm."""
    words = [line.split() for line in run("nm", "-S", *options, path).splitlines()]
    return {one[3]: (int(one[0], 16), int(one[1], 16)) for one in words if len(one) == 4 and one[2] in "tTwWi"}


def inside(functions):
    return sorted({at for start, size in functions.values() for at in range(start, start + size)})


def without_types(found):
    return {at: [(bare(one[0]), *one[1:]) for one in block] for at, block in found.items()}


def check_split():
    """Split debug information, in files beside objects and in packages: the calls in line, too."""
    for version in ("4", "5"):
        for compiler in ("cc", "clang"):
            for options in ((), ("-ffunction-sections", "-no-pie"), ("-gz",))[:None if "LULL_TEST_FORMS" in os.environ else 2 if version == "5" and compiler == "cc" else 1]:
                # dwp of binutils 2.40 crashes on DWARF 5; llvm-dwp 14 hangs on that of GCC, and reads no packed sections.
                known = ["dwp", *(["llvm-dwp"] if "-gz" not in options else [])] if version == "4" else ["llvm-dwp"] if compiler == "clang" else []
                packers = [tool for tool in known if shutil.which(tool)][:None if "LULL_TEST_FORMS" in os.environ else 1]
                name = " ".join((compiler, f"-gdwarf-{version}", *options))
                if not shutil.which(compiler):
                    tap.skip(name, f"there is no {compiler}")
                    continue
                whole = built(f"whole-{name}".replace(" ", ""), f"-gdwarf-{version}", *options, compiler=compiler)
                path = built(f"split-{name}".replace(" ", ""), f"-gdwarf-{version}", "-gsplit-dwarf", *options, compiler=compiler)
                functions = {name: place for name, place in functions_of(whole).items() if name in ("main", "work", "seldom")}
                addresses = inside(functions)
                same_code = functions == {name: place for name, place in functions_of(path).items() if name in functions}
                expected = {at: [(one, os.path.basename(file or ""), line) for one, file, line in block] for at, block in peer(whole, addresses).items()}
                n_inlined = sum(len(block) - 1 for block in expected.values())

                def compare(what, path, folder=None):
                    found = without_types(ask(scratch.name, path, addresses, "/elsewhere/program" if folder else None, folder=folder)[0])
                    found = {at: [(one, os.path.basename(file or ""), line) for one, file, line in found[at]] for at in addresses}
                    other = [(hex(at), found[at], expected[at]) for at in addresses if found[at] != expected[at]]
                    tap.ok(same_code and n_inlined > 100 and not other, f"{name}: {what}, as addr2line of the whole", n_inlined, *other[:3])

                compare("beside the object", path)
                folder = os.path.dirname(path)
                parts = [file for file in os.listdir(folder) if file.endswith(".dwo")]
                for packer in packers or [None]:
                    if packer:
                        subprocess.run([packer, *(("-e", "program") if packer == "dwp" else parts), "-o", "program.dwp"], cwd=folder, check=True, timeout=20, stdin=subprocess.DEVNULL)
                    away = os.path.join(scratch.name, "away")
                    os.makedirs(away)
                    for part in parts:
                        os.rename(os.path.join(folder, part), os.path.join(away, part))
                    if packer:
                        compare(f"in a package of {packer}", path)
                        os.remove(path + ".dwp")
                    compare("among copies", shutil.copy(path, away), away)
                    if packer == (packers or [None])[0]:
                        found = ask(scratch.name, path, addresses)[0]
                        tap.ok(all(len(found[at]) == 1 and found[at][0][2] == expected[at][0][2] for at in addresses), f"{name}: without that part lines alone")
                    # Of another program: it has the name, and not the unit.
                    wrong = built(f"wrong-{packer}-{name}".replace(" ", ""), f"-gdwarf-{version}", "-gsplit-dwarf", compiler=compiler, text=PROGRAM + "int more;\n")
                    part = [file for file in os.listdir(os.path.dirname(wrong)) if file.endswith(".dwo")][0]
                    shutil.copy(os.path.join(os.path.dirname(wrong), part), os.path.join(folder, parts[0]))
                    found = ask(scratch.name, path, addresses)[0]
                    tap.ok(all(len(found[at]) == 1 for at in addresses), f"{name}: a part of another program is refused")
                    for part in parts:
                        os.replace(os.path.join(away, part), os.path.join(folder, part))
                    shutil.rmtree(away)


def check_packed():
    """Sections of debug information that were packed afterwards, in the program and apart."""
    path = built("packed")
    addresses = inside({name: place for name, place in functions_of(path).items() if name in ("main", "work", "seldom")})
    expected = peer(path, addresses)
    for form in ("zlib", "zlib-gnu", "zstd"):
        copy = f"{path}-{form}"
        done = subprocess.run(["objcopy", f"--compress-debug-sections={form}", path, copy], capture_output=True, text=True, check=False)
        if done.returncode:
            tap.skip(form, done.stderr.strip())
            continue
        found = without_types(ask(scratch.name, copy, addresses)[0])
        names = {at: [found[at][-1][0]] for at in addresses}
        tap.ok(names == {at: [expected[at][-1][0]] for at in addresses}, f"{form}: names", *list(found.items())[:2])
        if form == "zlib-gnu":  # its size is not known before it is unpacked: such files are refused
            tap.ok(all(block[0][1:] == (None, 0) for block in found.values()), f"{form}: no lines")
        else:
            tap.ok({at: found[at] for at in addresses} == expected, f"{form}: lines and calls in line, as addr2line of the whole", *list(found.items())[:2])


def check_base():
    """Libraries that were linked, or prelinked, for an address: they lie from where their lowest part is (lttng-ust's baddr is that address)."""
    for base in (0, 0x10000000, 0x3f5c400000):
        path = built(f"base-{base:x}", "-shared", "-fPIC", f"-Wl,-Ttext-segment={base:#x}", start="first")
        functions = functions_of(path)
        starts = {functions[name][0]: name for name in ("first", "work", "seldom")}
        found = without_types(ask(scratch.name, path, sorted(starts))[0])
        lines = peer(path, sorted(starts))
        tap.ok(lowest_of(path) == base and {at: found[at][-1][0] for at in starts} == starts and
               all(found[at][0][1:] == lines[at][0][1:] for at in starts), f"linked for {base:#x}: names and lines", found, starts)


def check_ifunc():
    """The function that chooses another has the name that is called; what is chosen, its own."""
    text = """static int slow(int n) { return n * 3; }
static int fast(int n) { return n * 5; }
static int (*choose(void))(int) { return __builtin_cpu_supports("sse2") ? fast : slow; }
int chosen(int n) __attribute__((ifunc("choose")));
int START(int n) { return chosen(n); }
"""
    path = built("ifunc", "-shared", "-fPIC", text=text, start="first")
    kinds = {words[7]: (words[3], int(words[1], 16)) for words in map(str.split, run("readelf", "-sW", path).splitlines()) if len(words) == 8 and words[0] != "Num:"}
    names = {"slow": {"slow"}, "fast": {"fast"}, "chosen": {"chosen", "choose"}}
    found = ask(scratch.name, path, [kinds[name][1] for name in names], options=())[0]
    tap.ok(kinds["chosen"][0] == "IFUNC" and all(found[kinds[name][1]][0][0] in wanted for name, wanted in names.items()), "IFUNC", found, kinds)


def check_rust():
    """Both ways in which Rust writes names, as the source has them."""
    rust = shutil.which("rustc")
    if not rust:
        tap.skip("Rust", "there is no rustc")
        return
    code = """pub mod outer { pub struct Held<T>(pub T); impl<T: std::fmt::Debug> Held<T> { #[inline(never)] pub fn take(&self, n: usize) -> usize { println!("{:?}{}", self.0, n); n + 1 } } 
pub mod inner { #[inline(never)] pub fn work(n: usize) -> usize { println!("{}", n); n * 3 } } }
fn main() { let n = std::env::args().count(); std::process::exit((outer::inner::work(n) + outer::Held(n).take(n)) as i32 & 1); }
"""
    folder = os.path.join(scratch.name, "rust")
    os.makedirs(folder)
    with open(os.path.join(folder, "prog.rs"), "w", encoding="ascii") as file:
        file.write(code)
    for form in ("legacy", "v0"):
        path = os.path.join(folder, form)
        done = subprocess.run([rust, "-O", "-C", f"symbol-mangling-version={form}", *(("-Z", "unstable-options") if form == "legacy" else ()), "-o", path, "prog.rs"],
                              cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "RUSTC_BOOTSTRAP": "1"})
        if done.returncode:
            tap.skip(f"Rust, {form}", done.stderr.splitlines()[0])
            continue
        functions = functions_of(path)
        raw = {part: next(name for name in functions if re.search(rf"\d{part}(17h|$|[A-Z])", name)) for part in ("work", "take")}
        found = ask(scratch.name, path, [functions[name][0] for name in raw.values()], folder=None if id_of(path) else "/", options=())[0]
        names = {part: found[functions[name][0]][0][0] for part, name in raw.items()}
        tap.ok(names["work"] == "prog::outer::inner::work" and
               re.fullmatch(r"<prog::outer::Held<usize>>::take|prog::outer::Held<T>::take|<prog::outer::Held<_>>::take", names["take"]),
               f"Rust, {form}", names, raw)


def images(name, events):
    where = os.path.join(scratch.name, name)
    jsonl_to_ctf.write_trace([scene.event(1000 + i, 0, what, 100, pid=100, **payload) for i, (what, payload) in enumerate(events)], where,
                             {"domain": "ust", "tracer_name": "lttng-ust"})
    return where


def listed(where, *options):
    done = subprocess.run([lull, "symbols", "--json", "--places", *options, where], capture_output=True, text=True, check=False, timeout=100)
    return done, json.loads(done.stdout) if done.stdout else None


def check_bad_images():
    """Images that overlap, that go beyond all memory, that go without having come; an address of 0; a call that ends before it began."""
    path = built("bad", "-shared", "-fPIC", start="first")
    at = functions_of(path)["work"][0]
    image, entry = "lttng_ust_statedump:bin_info", "lttng_ust_cyg_profile:func_entry"
    here = {"is_pic": 1, "path": path}
    build_id = ("lttng_ust_statedump:build_id", {"baddr": BASE, "build_id": list(bytes.fromhex(id_of(path)))})
    for name, before, named in (("over all memory", [(image, {"baddr": BASE - 4096, "memsz": -1, "is_pic": 1, "path": "/x"})], 1),
                                ("overlapping", [(image, {"baddr": BASE - 4096, "memsz": 1 << 21, "is_pic": 1, "path": "/x"})], 1),
                                ("gone without having come", [("lttng_ust_dl:dlclose", {"baddr": BASE - 4096}), ("lttng_ust_lib:unload", {"baddr": -1})], 1),
                                ("of no size", [(image, {"baddr": BASE - 4096, "memsz": 0, "is_pic": 1, "path": "/x"})], 1)):
        where = images(f"bad-{name}".replace(" ", "-"), [*before, (image, {"baddr": BASE, "memsz": 1 << 20, **here}), build_id, (entry, {"addr": BASE + at}), (entry, {"addr": 0}),
                                                    ("lttng_ust_cyg_profile:func_exit", {"addr": 77})])
        done, found = listed(where)
        names = [one["function"] for one in found["places"]]
        tap.ok(done.returncode == 0 and names.count("work") == named and names.count(None) == len(names) - named, f"images: {name}", found, done.stderr)
    # The last one that was there has the place; where it ends, the one below goes on.
    where = images("bad-above", [(image, {"baddr": BASE, "memsz": 1 << 20, **here}), build_id, (image, {"baddr": BASE + at, "memsz": 1, "is_pic": 1, "path": "/above"}),
                                 (entry, {"addr": BASE + at}), (entry, {"addr": BASE + at + 1})])
    found = listed(where)[1]
    tap.ok({(one["file"], one["function"]) for one in found["places"]} == {("/above", None), (path, "work")}, "images: one above another", found)


def check_bad_files():
    """What has the name of a program and is none: nobody waits for it, nobody is misled."""
    folder = os.path.join(scratch.name, "odd")
    os.makedirs(folder)
    os.mkfifo(os.path.join(folder, "fifo"))
    os.symlink("loop", os.path.join(folder, "loop"))
    os.makedirs(os.path.join(folder, "directory"))
    with open(os.path.join(folder, "text"), "w", encoding="ascii") as file:
        file.write("no program\n")
    with open(os.path.join(folder, "hole"), "wb") as file:
        file.write(b"\x7fELF\x02\x01\x01")
        file.truncate(1 << 40)
    whole = built("cut", "-shared", "-fPIC", start="first")
    with open(whole, "rb") as file:
        body = bytearray(file.read())
    with open(os.path.join(folder, "cut"), "wb") as file:
        file.write(body[:len(body) // 2])
    # Names 4 GiB beyond the table; a table of symbols whose table of names is itself.
    headers = run("readelf", "-SW", whole)
    number, at, size = re.search(r"\[\s*(\d+)\] \.symtab\s+SYMTAB\s+\S+ (\S+) (\S+)", headers).groups()
    far = bytearray(body)
    for symbol in range(int(at, 16), int(at, 16) + int(size, 16), 24):
        far[symbol:symbol + 4] = b"\xff\xff\xff\xff"
    cyclic = bytearray(body)
    start = int.from_bytes(body[40:48], "little") + int(number) * 64
    cyclic[start + 40:start + 44] = int(number).to_bytes(4, "little")
    for name, bytes_ in (("far", far), ("cyclic", cyclic)):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(bytes_)
    exported = {"first", "work", "seldom"}
    address = functions_of(whole)["work"][0]
    for name in ("fifo", "loop", "directory", "text", "hole", "cut", "far", "cyclic", "/dev/zero", "/dev/stdin", "/proc/self/mem"):
        path = os.path.join(folder, name)
        where = images("odd-" + os.path.basename(name), [("lttng_ust_statedump:bin_info", {"baddr": BASE, "memsz": 1 << 20, "is_pic": 1, "path": path}),
                                                         ("lttng_ust_cyg_profile:func_entry", {"addr": BASE + address})])
        done, found = listed(where, "--lines", "--symbols", "/")
        named = [one["function"] for one in found["places"]]
        tap.ok(done.returncode == 0 and (named == [None] and found["files"][0]["why"] or (name in ("far", "cyclic") and set(named) <= exported)), f"no program: {name}", found,
               done.stderr)


if not all(shutil.which(tool) for tool in ("cc", "nm", "addr2line", "objcopy", "readelf")):
    tap.skip("forms", "there is no compiler")
elif "libdw" not in run(lull, "--version").partition("Not built in")[0]:
    tap.skip("forms", "Lull is built without libdw")
else:
    for check in (check_split, check_packed, check_base, check_ifunc, check_rust, check_bad_images, check_bad_files):
        tap.run(check.__name__, check)
sys.exit(tap.done())

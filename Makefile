# SPDX-License-Identifier: MIT
# Shortcuts to Meson; meson.build says what is built, and how.
#
#   make            builds build/lull; installs nothing, says what is missing
#   make demo       shows what a slow web request waited for, from the bundled trace
#   make check      builds and runs all tests
#   make bench      times lull against Babeltrace 2; BENCHFLAGS='--hosts 1002' also times cputop of that many machines,
#                   BENCHFLAGS='--exits 500000' what virtual CPUs did, BENCHFLAGS='--calls 1000000' call stacks
#   make bench-view  what the time view costs, and when a browser shows it; BENCHFLAGS='--repeat 20' repeats the trace to 100 million events
#   make bench-growth  shows that no cost grows faster than the trace
#   make bench-record  as root: what lull record costs programs, against perf record
#   make bench-live  as root: what lull top costs programs, against perf record and tools of bcc
#   make bench-apache  as root: what mod_lull costs requests of a real Apache
#   make workloads  as root: whether lull says what programs of many kinds wait for, from pgbench to swap
#   make package    builds the Debian packages in build-deb, and runs lintian
#   make install    installs below PREFIX (default /usr/local), DESTDIR is honoured
#   make format     rewrites the sources as .clang-format says
#   make lint       builds, checks format and rooms, and runs the linters
#   make clean      removes the build directory
#
# demo, check, bench, bench-view, bench-growth, bench-record, bench-live, bench-apache, workloads, package, format and lint first install missing Debian packages (tools/setup.sh).

BUILD ?= build
PREFIX ?= /usr/local
# Left to itself Meson takes lib64 on a Debian without dpkg-dev, where the loader does not look.
LIBDIR ?= lib
MESONFLAGS ?=
# Passed to `meson test`, such as TESTFLAGS='--suite unit'
TESTFLAGS ?=

all:
	@tools/setup.sh --check build
	@$(MAKE) --no-print-directory compile

setup:
	@tools/setup.sh build

$(BUILD)/build.ninja:
	meson setup $(MESONFLAGS) --prefix $(PREFIX) --libdir $(LIBDIR) $(BUILD)

compile: $(BUILD)/build.ninja
	ninja -C $(BUILD)

demo: setup
	@$(MAKE) --no-print-directory compile
	@tools/demo.sh $(BUILD)

check: setup
	@$(MAKE) --no-print-directory compile
	meson test -C $(BUILD) --no-rebuild --print-errorlogs $(TESTFLAGS)

bench:
	@tools/setup.sh ci
	@$(MAKE) --no-print-directory compile
	@python3 bench/run.py --lull $(BUILD)/lull --json $(BUILD)/bench.json $(BENCHFLAGS)

bench-view:
	@tools/setup.sh ci
	@$(MAKE) --no-print-directory compile
	@python3 bench/view.py --lull $(BUILD)/lull --json $(BUILD)/bench-view.json $(BENCHFLAGS)

bench-growth:
	@tools/setup.sh ci
	@$(MAKE) --no-print-directory compile
	@python3 bench/growth.py --lull $(BUILD)/lull --json $(BUILD)/bench-growth.json
	@python3 bench/growth.py --functions --lull $(BUILD)/lull --json $(BUILD)/bench-growth-functions.json

bench-record:
	@tools/setup.sh ci
	@$(MAKE) --no-print-directory compile
	@python3 bench/record.py --lull $(BUILD)/lull --json $(BUILD)/bench-record.json

bench-live:
	@tools/setup.sh ci
	@$(MAKE) --no-print-directory compile
	@python3 bench/live.py --lull $(BUILD)/lull --json $(BUILD)/bench-live.json $(BENCHFLAGS)

bench-apache:
	@tools/setup.sh ci
	@$(MAKE) --no-print-directory compile
	@python3 bench/apache.py --module $(BUILD)/src/hook/apache/mod_lull.so --json $(BUILD)/bench-apache.json $(BENCHFLAGS)

# Programs that are not installed are skipped.
workloads: setup
	@$(MAKE) --no-print-directory compile
	LULL_WORKLOADS=all meson test -C $(BUILD) --no-rebuild --verbose workloads

package:
	@tools/setup.sh ci
	@tools/package.sh build-deb

install: all
	meson install -C $(BUILD) --no-rebuild

format:
	@tools/setup.sh ci
	@tools/lint.sh --fix

lint:
	@tools/setup.sh ci
	@$(MAKE) --no-print-directory compile
	@BUILD=$(BUILD) tools/lint.sh

clean:
	rm -rf $(BUILD)

.PHONY: all setup compile demo check bench bench-view bench-growth bench-record bench-live bench-apache workloads package install format lint clean

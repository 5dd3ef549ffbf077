# SPDX-License-Identifier: MIT
# The little TAP that the Python tests need: one line a check, a plan at the end, exit 1 if one failed; and a directory to work in.
import atexit
import shutil
import signal
import sys
import tempfile
import traceback


def scratch(prefix):
    """A directory that is gone when the test has ended."""
    path = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


class Tap:
    def __init__(self):
        # What is started here can be ended as from a terminal, also where the tests themselves run in the background.
        for number in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP:
            if signal.getsignal(number) == signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        self.count = 0
        self.failures = 0

    def ok(self, passed, name, *why):
        """One check; `why` is printed only when it failed: on stderr, which `meson test` shows."""
        self.count += 1
        name = name.replace("#", "no. ").replace("\n", " ")
        print(f"{'ok' if passed else 'not ok'} {self.count} {name}")
        if not passed:
            self.failures += 1
            print(f"not ok {self.count} {name}", *(f"# {line}" for line in "\n".join(map(str, why)).splitlines()),
                  sep="\n", file=sys.stderr)
        sys.stdout.flush()
        return passed

    def skip(self, name, reason):
        self.count += 1
        print(f"ok {self.count} {name} # SKIP {reason}")

    def run(self, name, function, *args):
        """Runs function(*args), which makes checks of its own; an exception is a failed check."""
        try:
            function(*args)
        except Exception:  # noqa: BLE001 - whatever it was, the other tests go on
            self.ok(False, name + ": no exception", traceback.format_exc())

    def done(self):
        print(f"1..{self.count}")
        return 1 if self.failures or self.count == 0 else 0

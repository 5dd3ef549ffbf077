# SPDX-License-Identifier: MIT
"""A program that runs while a test looks at it. If the test fails there, the program is killed: nobody would end it otherwise, and
whoever left the block would wait for it until the time-out of the test, which says nothing of what failed."""
import subprocess


class Running(subprocess.Popen):
    def __exit__(self, kind, value, traceback):
        if kind is not None and self.poll() is None:
            self.kill()
        super().__exit__(kind, value, traceback)

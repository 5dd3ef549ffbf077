#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command that has large pages of memory only where it asks for them, as if the system said "madvise"
(/sys/kernel/mm/transparent_hugepage/enabled) and not "always": pages.py COMMAND…

So does all that the command starts. Exit 125 if the kernel cannot do that (Linux before 6.18)."""
import ctypes
import os
import sys

PR_SET_THP_DISABLE, PR_THP_DISABLE_EXCEPT_ADVISED = 41, 1 << 1

if ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, PR_THP_DISABLE_EXCEPT_ADVISED, 0, 0) != 0:
    sys.exit(125)
os.execvp(sys.argv[1], sys.argv[1:])

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds the slowest request in traces and prints its critical path: slowest_request.py TRACE..."""
import sys

import lull

session = lull.Session(*sys.argv[1:])
session.join_clocks()
for request in session.requests(slowest=1):
    path = session.critpath(request=request["id"])
    for segment in path.segments:
        took_ms = (segment["end_ns"] - segment["begin_ns"]) / 1e6
        print(f"{took_ms:10.3f} ms  {segment['comm']}/{segment['tid']} on {segment['host']}", segment["state"],
              segment["detail"] or "")

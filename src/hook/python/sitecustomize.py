# SPDX-License-Identifier: MIT
"""Found first by each interpreter that `lull record --python` started: has its calls recorded (hook.c), and makes way for the
program's own sitecustomize. Whatever goes wrong with the former is none of the program's business."""
import os
import sys


def make_way(here):
    """Imports what this module is in the place of, if there is such a thing."""
    me = sys.modules.pop(__name__, None)
    sys.path[:] = [path for path in sys.path if path != here]
    try:
        __import__(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, me)


def monitor(calls):
    """CPython 3.12 reports calls of all threads. The tool numbers below 3 are those of debuggers, coverage and profilers, which the
    program may use itself. False if the others are taken."""
    monitoring = sys.monitoring
    tool = next((number for number in (4, 3) if monitoring.get_tool(number) is None), None)
    if tool is None:
        return False
    monitoring.use_tool_id(tool, "lull")
    events = monitoring.events
    wanted = 0
    for function, chosen in ((calls.started, (events.PY_START, events.PY_RESUME, events.PY_THROW)),
                             (calls.ended, (events.PY_RETURN, events.PY_YIELD, events.PY_UNWIND))):
        for event in chosen:
            monitoring.register_callback(tool, event, function)
            wanted |= event
    monitoring.set_events(tool, wanted)
    return True


def profile(calls):
    """The main thread, and those that threading starts. Calls that were made until now return later."""
    import threading
    threading.setprofile(calls.profile_thread)
    frame, n_frames = sys._getframe(), 0
    while frame:
        frame, n_frames = frame.f_back, n_frames + 1
    calls.profile(n_frames)


def load():
    """The module that records, or None: this is no interpreter that it knows, or was not to be recorded."""
    if sys.implementation.name != "cpython" or "LULL_CALLS" not in os.environ:
        return None
    if object.__basicsize__ != 2 * ((sys.maxsize.bit_length() + 1) // 8):  # reference count and type, as in hook.c
        return None
    try:
        import _lull_calls
        return _lull_calls
    except ImportError:
        return None


def start(calls):
    if not hasattr(sys, "monitoring") or os.environ.get("LULL_CALLS_C") == "1" or not monitor(calls):
        profile(calls)


CALLS = load()
try:
    make_way(os.path.dirname(os.path.abspath(__file__)))
finally:
    if CALLS:
        start(CALLS)

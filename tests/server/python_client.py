# SPDX-License-Identifier: MIT
# Runs tests of tsp-python-client (test_tsp.py of its checkout, the working directory), which are named on the command line, without
# pytest, and prints which of them fail. Run by test_clients.py.
import inspect
import json
import sys
import types

sys.path.insert(0, ".")
shim = types.ModuleType("pytest")
shim.fixture = lambda function=None, **_: function or (lambda inner: inner)
sys.modules["pytest"] = shim
import test_tsp  # noqa: E402 - it needs what is above
from test_tsp import TestTspClient  # noqa: E402

# Tables and statistics of call stacks become those of system calls; the trace is the same.
SYSCALLS = "org.eclipse.tracecompass.analysis.os.linux.latency.syscall"
for constant in ("STATISTICS_DP_ID", "TABLE_DP_ID"):
    setattr(test_tsp, constant, getattr(test_tsp, constant).rsplit(":", 1)[0] + ":" + SYSCALLS)
TestTspClient.ust = inspect.getattr_static(TestTspClient, "kernel")


def argument(tests, name):
    """What a fixture gives."""
    made = inspect.getattr_static(TestTspClient, name)
    return made.__func__() if isinstance(made, staticmethod) else made(tests)


failed = {}
for wanted in sys.argv[1:]:
    suite = TestTspClient()
    test = getattr(suite, wanted)
    try:
        test(*(argument(suite, name) for name in inspect.signature(test).parameters))
    except Exception as problem:  # noqa: BLE001 - whatever it was, the others go on
        failed[wanted] = repr(problem)
print(json.dumps(failed))

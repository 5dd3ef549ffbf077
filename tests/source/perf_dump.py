# SPDX-License-Identifier: MIT
# Runs inside `perf script -s`: prints each sample of a tracepoint as a line of JSON, as perf itself decodes it.
import json


def plain(value):
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    return value


def trace_unhandled(name, context, fields, *rest):
    line = {"name": name.replace("__", ":", 1), "time": fields["common_s"] * 10**9 + fields["common_ns"], "cpu": fields["common_cpu"],
            "tid": fields["common_pid"], "comm": fields["common_comm"],
            "chain": [entry["ip"] for entry in fields["common_callchain"]],
            "fields": {key: plain(value) for key, value in fields.items() if not key.startswith("common_")}}
    print(json.dumps(line))

/* SPDX-License-Identifier: MIT */
/* The language of --filter for 'lull help filter' and lull-filter(7); docs/FILTER.md says the same
 * at length. */
#include "cmd/verb.h"

#include <stddef.h>

const struct lull_topic lull_topic_filter = {
    .name = "filter",
    .summary = "the language of --filter: which events are wanted",
    .description =
        "Verbs that read events take --filter EXPR and keep the events for which the expression "
        "is true; for them the other events are not in the trace. For example\n"
        "\n"
        " name == \"sched_switch\" && next_comm =~ \"postgres*\"\n"
        "\n"
        "name, host, cpu and time are the event's own (also $name and so on). Every other name "
        "is a field, looked up in the payload and then in the contexts: next_comm, tid, "
        "network_header.ipv4.saddr[0]. Members and options of variants follow a point; elements "
        "are in brackets, counted from 0. fields.name and context.tid look in one place only.\n"
        "\n"
        " fields.name == \"ens4\" && network_header.ipv4.saddr[0] == 10\n"
        "\n"
        "Events of system calls are also called as LTTng calls them, whatever the tracer: "
        "syscall_entry_openat and syscall_exit_openat are the sys_enter_openat and "
        "sys_exit_openat of ftrace and perf, and the sys_enter and sys_exit with that number.\n"
        "\n"
        "== != < <= > >= compare exactly, integers over all 64 bits, signed or not. A "
        "comparison with a field that the event lacks is false, also with !=; so is a "
        "comparison of a text with a number. exists(FIELD) is true if the event has the field. "
        "=~ is true if the whole text matches a pattern of * (any characters), ? (one), [a-z] "
        "(one of a set) and [!a-z]; !~ is true if there is a text that does not match. FIELD in "
        "(A, B) is true if one is equal. An enumeration is compared by its value or its label.\n"
        "\n"
        " prev_state in (1, 2)\n"
        " name =~ \"syscall_exit_*\" && ret < 0 && ret != -11\n"
        " exists(filename) && filename !~ \"/proc/*\"\n"
        "\n"
        "Numbers: 10, 0x1f, 0o17, 0b101, 1.5, 1e-3; with a unit of time (ns us ms s min h) "
        "nanoseconds, with a unit of size (B kB MB GB TB KiB MiB GiB TiB) bytes. Texts are in "
        "\" or '; \\n \\t \\r \\xHH are characters, a backslash before punctuation makes it "
        "ordinary, also in patterns.\n"
        "\n"
        " bytes >= 64KiB || expires < 3ms\n"
        "\n"
        "time is compared with +1.5s (after the first event), nanoseconds or seconds "
        "since 1970, or in quotes a date and time or a time of day; without a zone it is UTC, "
        "or local with --local.\n"
        "\n"
        " time >= +1.5s && time < +2s\n"
        " time < \"2026-11-21T01:01:45\" && cpu == 0\n"
        "\n"
        "&& binds closer than ||; parentheses group. The condition after ! is in parentheses, "
        "or is exists(…).\n"
        "\n"
        " (cpu == 0 || cpu == 1) && !(name =~ \"lttng_*\")\n"
        "\n"
        "What the expression says about names, hosts, CPUs and times decides what Lull reads; "
        "damage in the rest is not found. A filter that hides events from lull requests or lull "
        "critpath makes their answers poorer: without sched_switch no task ever waits, without "
        "wake-ups no wait has a cause. The clocks of several machines are always joined by all "
        "packets.",
};

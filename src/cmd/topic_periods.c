/* SPDX-License-Identifier: MIT */
/* The language of --period for 'lull help periods' and lull-periods(7); docs/PERIODS.md says the
 * same at length. */
#include "cmd/verb.h"

#include <stddef.h>

const struct lull_topic lull_topic_periods = {
    .name = "periods",
    .summary = "the language of --period: intervals that one event opens and another closes",
    .description =
        "A period is an interval that one event opens and another closes. A definition is a "
        "name, the condition that opens, and the condition that closes:\n"
        "\n"
        " request : $evt.$name == \"syscall_exit_accept4\" && $evt.$comm == \"apache2\" &&\n"
        "           $evt.family == 10 && $evt.ret >= 0\n"
        "         : $evt.$name == \"syscall_entry_close\" && $evt.fd == $begin.$evt.ret &&\n"
        "           $evt.$ctx.pid == $begin.$evt.$ctx.pid\n"
        "\n"
        "$evt is the current event, $begin.$evt the one that opened the period. Without the "
        "second condition the first also closes. Every event that opens makes one more "
        "instance. An event closes all instances for which its condition is true, so use a "
        "condition that ties the two events, such as the equality of a descriptor or a thread. "
        "The event that opens belongs to the period, the one that closes does not; closing "
        "comes first.\n"
        "\n"
        "NAME(PARENT) makes instances only inside an open instance of the parent, which is "
        "defined before it; $parent.$begin.$evt is the event that opened that one, "
        "$parent.$parent.$begin.$evt the one above. When a parent is closed, its open children "
        "end with it, incomplete.\n"
        "\n"
        " send(request) : $evt.$name == \"syscall_entry_writev\" &&\n"
        "                 $evt.fd == $parent.$begin.$evt.ret &&\n"
        "                 $evt.$ctx.pid == $parent.$begin.$evt.$ctx.pid\n"
        "               : $evt.$name == \"syscall_exit_writev\" && $evt.$tid == $begin.$evt.$tid\n"
        "\n"
        "After $evt. comes $name, $host, $cpu, $timestamp (nanoseconds since 1970), $tid or "
        "$comm (who runs, from contexts if the trace has them, else from sched_switch), "
        "$container, $cgroup or $pod (where that task was then), or a field: ret, $payload.ret, $ctx.pid, list[0].x. $ctx and $stream_ctx are the same, "
        "$pkt_ctx.cpu_id is the CPU. $name is also what LTTng calls an event of a system call, "
        "whatever the tracer: syscall_entry_openat.\n"
        "\n"
        "== != < <= > >= compare exactly: fields, numbers and texts on either side. =* is true "
        "if a text matches a pattern (* ? [a-z] [!a-z]). A comparison with a missing field is "
        "false, also with !=. ! binds closer than &&, and && closer than ||; parentheses group.\n"
        "\n"
        "Captures keep values of the events that open and close:\n"
        "\n"
        " request : port = $evt.sport : $evt.$timestamp, fd = $begin.$evt.ret\n"
        "\n"
        "A capture is NAME = VALUE; without NAME, it is called as the value is written. A value "
        "that the event lacks is unknown. At most 1000000 periods are open at once; more are "
        "not followed, and the result says so.\n"
        "\n"
        "A state that a file declares is a period, too, written FILE.states:GROUP.STATE: "
        "--period mpi.states:mpi.wait ('lull help states').",
};

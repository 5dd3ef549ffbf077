/* SPDX-License-Identifier: MIT */
/* TCP's waits in words. */
#include "clock/tcp_waits.h"

#include "base/time.h"

const char *lull_tcp_wait_kind_name(enum lull_tcp_wait_kind kind)
{
    static const char *const names[] = {
        [LULL_TCP_SENT_AGAIN] = "sent-again",
        [LULL_TCP_SYN_AGAIN] = "syn-again",
        [LULL_TCP_DELAYED_ACK] = "delayed-ack",
        [LULL_TCP_ZERO_WINDOW] = "zero-window",
    };
    return names[kind];
}

const char *lull_tcp_wait_subject(enum lull_tcp_wait_kind kind)
{
    static const char *const subjects[] = {
        [LULL_TCP_SENT_AGAIN] = "sent again",
        [LULL_TCP_SYN_AGAIN] = "SYN sent again",
        [LULL_TCP_DELAYED_ACK] = "delayed acknowledgement",
        [LULL_TCP_ZERO_WINDOW] = "zero window",
    };
    return subjects[kind];
}

void lull_tcp_wait_append(const struct lull_tcp_wait_note *found, GString *out)
{
    char took[LULL_TIME_TEXT_SIZE];
    lull_duration_format(found->last_ns - found->first_ns, took);
    switch ((enum lull_tcp_wait_kind)found->kind) {
    case LULL_TCP_SENT_AGAIN:
        g_string_append_printf(out, "sent again %s after it was sent first", took);
        break;
    case LULL_TCP_SYN_AGAIN:
        g_string_append_printf(out, "SYN sent again %s after it was sent first", took);
        break;
    case LULL_TCP_DELAYED_ACK:
        if (found->is_before) {
            g_string_append_printf(out,
                                   "after an acknowledgement that was delayed by %s; more was "
                                   "sent only when it came (Nagle's algorithm)",
                                   took);
            break;
        }
        g_string_append_printf(out, "delayed acknowledgement of what came %s before%s", took,
                               found->is_nagle ? "; the other end sent more only when it came "
                                                 "(Nagle's algorithm)"
                                               : "");
        break;
    case LULL_TCP_ZERO_WINDOW:
        g_string_append_printf(out, "the receiver had no room for more for %s (zero window)", took);
        break;
    }
    if (found->times > 1) {
        g_string_append_printf(out, " (%u times)", found->times);
    }
}

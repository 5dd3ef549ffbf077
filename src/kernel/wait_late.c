/* SPDX-License-Identifier: MIT */
/* What is known of a wait only when its call ends: the request of an io_uring, what was opened, whom a socket was to be connected
 * with, and what tracers do not record of the start of a call. */
#include "kernel/calls.h"
#include "kernel/uring_operations.h"
#include "kernel/wait_reason.h"

#include <string.h>

bool lull_wait_reason_is_uring(const struct lull_model *model,
                               const struct lull_wait_reason *reason)
{
    const char *call = lull_model_label(model, reason->call);
    return call && !lull_wait_reason_is_imposed(reason) && strcmp(call, "io_uring_enter") == 0;
}

void lull_wait_reason_set_uring(struct lull_wait_reason *reason, const struct lull_uring_wait *wait)
{
    if (lull_uring_operation(wait->operation)) {
        reason->operation = wait->operation;
        reason->file = wait->file;
        reason->fd = -1;
    }
}

/* The call says itself what its socket is called. */
static bool is_naming(const struct lull_model *model, const struct lull_wait_reason *reason)
{
    static const char *const names[] = {"connect", "sendto", NULL};
    const char *call = lull_model_label(model, reason->call);
    return call && g_strv_contains(names, call);
}

bool lull_wait_reason_is_connect(const struct lull_model *model,
                                 const struct lull_wait_reason *reason)
{
    return g_strcmp0(lull_model_label(model, reason->call), "connect") == 0;
}

/* The call is given a path, and opens nothing, or descriptors to wait for. A call of which nothing is known may be. */
static bool is_given(const struct lull_model *model, const struct lull_wait_reason *reason)
{
    const char *call = lull_model_label(model, reason->call);
    const struct call_kind *kind = call ? call_kind_find(call) : NULL;
    return kind && (kind->effect == CALL_POLL || kind->effect == CALL_EPOLL_WAIT ||
                    kind->effect == CALL_EXEC ||
                    (!*kind->name && lull_wait_reason_kind(model, reason) == LULL_WAIT_NONE));
}

bool lull_wait_reason_is_late(const struct lull_model *model, const struct lull_wait_reason *reason)
{
    return lull_wait_reason_is_uring(model, reason) || lull_wait_reason_is_open(model, reason) ||
           is_naming(model, reason) || is_given(model, reason);
}

bool lull_wait_reason_learn(const struct lull_model *model, struct lull_wait_reason *reason,
                            const struct lull_syscall_fact *fact)
{
    static const struct lull_io nothing = {.fd = -1, .file = LULL_NONE};
    if (!fact || fact->name != reason->call || reason->fault) {
        return false;
    }
    const struct lull_io *io = fact->io ? fact->io : &nothing;
    const bool has_none = reason->file == LULL_NONE && reason->fd < 0;
    const bool has_file = io->file != LULL_NONE;
    const uint32_t path = has_file ? lull_model_file(model, io->file)->path : LULL_NONE;
    const bool is_opened = has_file && io->kind == LULL_IO_OPEN && has_none;
    const bool is_named = path != reason->path && path != LULL_NONE && io->fd == reason->fd &&
                          is_naming(model, reason);
    if (is_opened || is_named) {
        reason->file = io->file;
        reason->path = path;
        return true;
    }
    /* Of what it polled, or the descriptor of an epoll watches, only a part became ready. */
    const bool is_better =
        fact->polled ? reason->path != fact->path : has_none && reason->path == LULL_NONE;
    if (!is_better || fact->path == LULL_NONE) {
        return false;
    }
    reason->path = fact->path;
    if (fact->polled && fact->polled->n == 1) { /* as if it had been called for that */
        reason->file = fact->polled->files[0];
        reason->path = lull_model_file(model, reason->file)->path;
    }
    return true;
}

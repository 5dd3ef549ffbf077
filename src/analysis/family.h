/* SPDX-License-Identifier: MIT */
/* The tasks of a recorded command: its own, and those of all processes that it started, and these. */
#ifndef LULL_ANALYSIS_FAMILY_H
#define LULL_ANALYSIS_FAMILY_H

#include <lull/session.h>

#include "base/slots.h"
#include "kernel/model.h"

struct lull_family {
    int32_t pid;              /* of the command; 0: there is none */
    const char *command;      /* its first argument, borrowed from the session */
    uint32_t root;            /* its first task; LULL_NONE: not seen yet */
    struct lull_slots judged; /* task → 1: it belongs to it */
};

/* That of the only command which the traces of a session record, all of one host; pid is 0 if there is none, or several. */
void lull_family_find(struct lull_family *family, const struct lull_session *session);
void lull_family_free(struct lull_family *family);
/* Whether the task belongs to it, as far as is known by now; nobody does if there is no command. */
bool lull_family_has(struct lull_family *family, const struct lull_model *model, uint32_t task);

#endif

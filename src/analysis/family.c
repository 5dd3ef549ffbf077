/* SPDX-License-Identifier: MIT */
/* See family.h. A task is judged by its parents, up to the command or to one whose parent nobody saw: it was there before. */
#include "analysis/family.h"

#include <lull/recording.h>

enum { UNJUDGED, IN };

void lull_family_find(struct lull_family *family, const struct lull_session *session)
{
    const struct lull_recording_info *found = NULL;
    uint32_t n = 0;
    *family = (struct lull_family){.root = LULL_NONE};
    for (uint32_t i = 0; session && i < lull_session_recording_count(session); i++) {
        const struct lull_recording_info *info = lull_session_recording(session, i);
        if (info->command && info->pid > 0 && info->pid <= INT32_MAX) {
            found = info;
            n++;
        }
    }
    if (n == 1 && lull_session_host_count(session) == 1) {
        family->pid = (int32_t)found->pid;
        family->command = found->command[0];
    }
}

void lull_family_free(struct lull_family *family)
{
    lull_slots_free(&family->judged);
}

/* The task itself, without its parents. */
static uint32_t judge(struct lull_family *family, const struct lull_task *known, uint32_t task)
{
    if (known->tid == family->pid && family->root == LULL_NONE) {
        family->root = task; /* the pid may be used again later */
    }
    const bool is_thread = known->pid == family->pid && known->tid != family->pid &&
                           known->parent == LULL_NONE; /* the fork was lost */
    return task == family->root || is_thread ? IN : lull_slots_get(&family->judged, task);
}

bool lull_family_has(struct lull_family *family, const struct lull_model *model, uint32_t task)
{
    enum { DEEPEST = 1000 }; /* a trace may say that two tasks made each other */
    uint32_t line[DEEPEST], n = 0, verdict = UNJUDGED;
    for (uint32_t at = task;
         family->pid != 0 && at != LULL_NONE && verdict == UNJUDGED && n < DEEPEST;
         at = lull_model_task(model, at)->parent) {
        verdict = judge(family, lull_model_task(model, at), at);
        line[n++] = at;
    }
    /* Where the line ends in a task of which nobody saw the parent, that may yet be seen. */
    while (verdict != UNJUDGED && n > 0) {
        *lull_slots_at(&family->judged, line[--n]) = verdict;
    }
    return verdict == IN;
}

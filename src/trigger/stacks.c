/* SPDX-License-Identifier: MIT */
/* Addresses become words while the processes live. */
#include "trigger/stacks.h"

#include <inttypes.h>

/* Free with g_strfreev(). */
static const char *const *name_kernel(struct lull_machine_names *names, const uint64_t *frames,
                                      uint32_t n)
{
    frames = lull_machine_own_frames(names, frames, &n);
    char **functions = g_new0(char *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const char *function = lull_machine_function(names, frames[i]);
        functions[i] = function ? g_strdup(function) : g_strdup_printf("0x%" PRIx64, frames[i]);
    }
    return (const char *const *)functions;
}

static const char *const *name_user(struct lull_user_names *names,
                                    const struct lull_track_alarm *alarm)
{
    char **functions = g_new0(char *, alarm->n_user + 1);
    for (uint32_t i = 0; i < alarm->n_user; i++) {
        GString *name = g_string_new(NULL);
        lull_user_names_append(names, alarm->record->tgid, alarm->record->user.frame[i], name);
        functions[i] = g_utf8_make_valid(name->str, -1); /* of files of anybody's */
        g_string_free(name, TRUE);
    }
    return (const char *const *)functions;
}

void lull_trigger_stacks_add(struct lull_recording_trigger *trigger,
                             const struct lull_track_alarm *alarm, uint32_t wanted,
                             struct lull_machine_names *names, struct lull_user_names *user_names)
{
    const struct lull_track_record *record = alarm->record;
    if (wanted & LULL_TRACK_USER_STACK) { /* first: it may end */
        trigger->user_stack = name_user(user_names, alarm);
    }
    if (wanted & LULL_TRACK_KERNEL_STACK) {
        trigger->kernel_stack = name_kernel(names, record->kernel.frame, alarm->n_kernel);
    }
    if (wanted & LULL_TRACK_WAKER_STACK) {
        trigger->waker_stack = name_kernel(names, record->waker.frame, alarm->n_waker);
    }
}

void lull_trigger_stacks_clear(struct lull_recording_trigger *trigger)
{
    g_strfreev((char **)trigger->kernel_stack);
    g_strfreev((char **)trigger->waker_stack);
    g_strfreev((char **)trigger->user_stack);
    trigger->kernel_stack = trigger->waker_stack = trigger->user_stack = NULL;
}

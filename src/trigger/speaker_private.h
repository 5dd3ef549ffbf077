/* SPDX-License-Identifier: MIT */
/* What both sides of the process that listens know. */
#ifndef LULL_TRIGGER_SPEAKER_PRIVATE_H
#define LULL_TRIGGER_SPEAKER_PRIVATE_H

#include "trigger/speaker.h"

/* Of an answer, with its NUL. */
#define LULL_SPEAKER_ANSWER 512

struct lull_speaker_answer {
    uint32_t client;
    char text[LULL_SPEAKER_ANSWER];
};

/* The first message: "", or why it cannot listen. */
struct lull_speaker_hello {
    char why[LULL_SPEAKER_ANSWER];
};

/* Becomes the user, without any right, and serves until the daemon has gone. `hook` may be -1. */
void lull_speaker_serve(int socket, int hook, const struct lull_trigger_config *config,
                        struct lull_trigger_counts *counts, uid_t uid, gid_t gid);

#endif

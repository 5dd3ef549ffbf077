/* SPDX-License-Identifier: MIT */
/* What both sides of the process that listens know. */
#ifndef LULL_TRIGGER_SPEAKER_PRIVATE_H
#define LULL_TRIGGER_SPEAKER_PRIVATE_H

#include "trigger/message.h"
#include "trigger/speaker.h"

/* Of an answer, with its NUL. */
#define LULL_SPEAKER_ANSWER 512

/* What the daemon wants of it. */
enum lull_speaker_order_kind {
    LULL_SPEAKER_REPLY,
    LULL_SPEAKER_REPLY_MACHINE,
    LULL_SPEAKER_ASK,
    LULL_SPEAKER_OFFER, /* others, to be read: with the text of the configuration, as a file */
    LULL_SPEAKER_RULES, /* those hold from now on */
};

struct lull_speaker_order {
    uint32_t kind;   /* enum lull_speaker_order_kind */
    uint32_t number; /* who gets the answer, or of the offer */
    union {
        char text[LULL_SPEAKER_ANSWER];
        struct {
            enum lull_trigger_verdict verdict;
            char made[LULL_SET_ID];
        };
        struct lull_spread_question question;
    };
};

/* What it is given; -1: there is none. */
struct lull_speaker_sockets {
    int daemon, hook, peers, collectors;
};

/* The first message: "", or why it cannot listen. */
struct lull_speaker_hello {
    char why[LULL_SPEAKER_ANSWER];
};

/* Becomes the user, without any right, and serves until the daemon has gone. */
void lull_speaker_serve(const struct lull_speaker_sockets *sockets,
                        const struct lull_trigger_config *config, const struct lull_peer_keys *keys,
                        const struct lull_peer_keys *tokens, struct lull_trigger_counts *counts,
                        uid_t uid, gid_t gid);

#endif

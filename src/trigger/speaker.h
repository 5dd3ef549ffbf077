/* SPDX-License-Identifier: MIT */
/* The process that listens: it has no rights, reads what servers and scrapers send, and passes on, as
 * messages of one size, which rule a slow request is about. The daemon, which is root, reads nothing else. */
#ifndef LULL_TRIGGER_SPEAKER_H
#define LULL_TRIGGER_SPEAKER_H

#include "trigger/counts.h"
#include "trigger/hook.h"
#include "trigger/inside.h"

/* What it passes on. */
enum lull_speaker_kind {
    LULL_SPEAKER_SLOW,    /* a request was too slow */
    LULL_SPEAKER_ASKED,   /* another machine asks for a snapshot */
    LULL_SPEAKER_OUTCOME, /* what came of a question to another machine */
    LULL_SPEAKER_FETCH,   /* another machine collects a set */
    LULL_SPEAKER_READ,    /* it has read the rules that it was offered, or could not */
};

struct lull_speaker_report {
    uint32_t kind;   /* enum lull_speaker_kind */
    uint32_t number; /* who gets an answer: a client, 0 is none; or a question */
    union {
        struct {
            char rule
                [LULL_TRIGGER_NAME]; /* not its number: the daemon may know other rules already */
            struct lull_inside_sender sender; /* who reports it */
            struct lull_hook hook;
        };
        struct lull_spread_question question;
        struct lull_spread_outcome outcome;
        char set[LULL_SET_ID];
        bool is_read; /* the rules that were offered with that number */
    };
    int fd; /* where the set goes, the receiver's; -1: nowhere */
};

struct lull_speaker {
    pid_t pid;
    int socket; /* readable when there is a report; -1: there is no process */
    struct lull_trigger_counts *counts;
    uint32_t offered; /* how often it was offered rules */
    GQueue waiting;   /* struct lull_speaker_report *, which came while it read them */
};

/* Opens the socket, and starts the process; before there are threads. False and an error if it cannot
 * listen. Clear it in any case. */
bool lull_speaker_start(struct lull_speaker *speaker, const struct lull_trigger_config *config,
                        GError **error);
/* The next report. False if there is none. */
bool lull_speaker_take(struct lull_speaker *speaker, const struct lull_trigger_config *config,
                       struct lull_speaker_report *report);
/* Answers who waits for it: "written /var/lib/lull/…". */
void lull_speaker_answer(const struct lull_speaker *speaker,
                         const struct lull_speaker_report *report, const char *text);
/* Answers the machine that asked. */
void lull_speaker_answer_machine(const struct lull_speaker *speaker, uint32_t number,
                                 enum lull_trigger_verdict verdict, const char *made);
/* Asks another machine. */
void lull_speaker_ask(const struct lull_speaker *speaker,
                      const struct lull_spread_question *question);
/* Has it read another configuration; `text` is a file (lull_process_text()). Nothing changes yet. False and an error if it
 * cannot, or does not answer within two seconds. */
bool lull_speaker_offer_rules(struct lull_speaker *speaker, int text, GError **error);
/* From now on the rules hold that it has read last. */
bool lull_speaker_set_rules(const struct lull_speaker *speaker, GError **error);
/* False and an error if the process has ended. */
bool lull_speaker_check(struct lull_speaker *speaker, GError **error);
/* Ends the process and removes the socket. */
void lull_speaker_clear(struct lull_speaker *speaker, const struct lull_trigger_config *config);

#endif

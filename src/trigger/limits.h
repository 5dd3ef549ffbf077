/* SPDX-License-Identifier: MIT */
/* How often a snapshot is written: one for each pause of a rule, so many in an hour and a day, and none
 * while the last is fresh. */
#ifndef LULL_TRIGGER_LIMITS_H
#define LULL_TRIGGER_LIMITS_H

#include "trigger/config.h"

enum lull_trigger_verdict {
    LULL_TRIGGER_WRITTEN,   /* a snapshot was written */
    LULL_TRIGGER_COALESCED, /* one had just been written, which shows this too */
    LULL_TRIGGER_LIMITED,   /* a limit forbids it */
    LULL_TRIGGER_FAILED,    /* it could not be written */
    LULL_TRIGGER_FAST,      /* no rule is about such a request */
    LULL_TRIGGER_VERDICTS
};

/* Words for logs, metrics and answers. */
extern const char *const lull_trigger_verdicts[LULL_TRIGGER_VERDICTS];
/* What another machine did, which answers before it writes; LULL_TRIGGER_FAST is one that did not answer. */
extern const char *const lull_trigger_answers[LULL_TRIGGER_VERDICTS];

/* The rule for what other machines ask: it has no pause, for what they ask is limited there. */
#define LULL_TRIGGER_ASKED LULL_TRIGGER_RULES

struct lull_trigger_limits {
    const struct lull_trigger_config *config;
    int64_t rule_ns[LULL_TRIGGER_RULES +
                    1]; /* when the last of each rule was tried; INT64_MIN: never */
    int64_t fresh_until_ns;
    int64_t failing_until_ns; /* what could not be written is not tried again before */
    GArray *written_ns;       /* within the last day, oldest first */
};

void lull_trigger_limits_init(struct lull_trigger_limits *limits,
                              const struct lull_trigger_config *config);
/* Another configuration holds from now on. What was written counts still, that of a rule by its name. */
void lull_trigger_limits_change(struct lull_trigger_limits *limits,
                                const struct lull_trigger_config *config);
void lull_trigger_limits_clear(struct lull_trigger_limits *limits);
/* What is to be done at `now_ns` (any clock that only goes forwards): WRITTEN, COALESCED, LIMITED, or FAILED if the last
 * one has failed just before. */
enum lull_trigger_verdict lull_trigger_limits_judge(struct lull_trigger_limits *limits,
                                                    uint32_t rule, int64_t now_ns);
/* A snapshot of the rule was written, or could not be, from `start_ns` to `end_ns`. One that could not be uses up none of
 * an hour or a day, but the pause of its rule. */
void lull_trigger_limits_count(struct lull_trigger_limits *limits, uint32_t rule, int64_t start_ns,
                               int64_t end_ns, bool is_written);

#endif

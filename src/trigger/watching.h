/* SPDX-License-Identifier: MIT */
/* What a daemon has its tracker watch: the rules about waits, by eBPF, and where the kernel refuses that, by ftrace: then
 * without the rules that ftrace cannot see anything of. */
#ifndef LULL_TRIGGER_WATCHING_H
#define LULL_TRIGGER_WATCHING_H

#include "live/tracker.h"
#include "trigger/counts.h"

struct lull_watching {
    struct lull_tracker *tracker;        /* NULL: nothing is about waits */
    GPtrArray *when;                     /* rules of the tracker; */
    uint32_t number[LULL_TRIGGER_RULES]; /* which of the configuration each is, */
    uint32_t place[LULL_TRIGGER_RULES];  /* and which of its rules about waits */
    uint64_t unwatched; /* bits: rules of the configuration that cannot be watched here */
};

struct lull_watching_question {
    const struct lull_trigger_config *config; /* borrowed as long as it watches */
    void (*alarm)(void *user, const struct lull_track_alarm *alarm);
    void (*report)(void *user, const char *line);
    void *user;        /* of alarm() */
    void *report_user; /* of report() */
};

/* What cannot be watched is reported. False and an error if that is all that rules are about, or if a rule asks for what
 * this kernel lacks. */
bool lull_watching_start(struct lull_watching *watching,
                         const struct lull_watching_question *question, GError **error);
void lull_watching_clear(struct lull_watching *watching);
/* What was lost until now, and how it watches. */
bool lull_watching_count(const struct lull_watching *watching, struct lull_trigger_counts *counts,
                         GError **error);
/* How many waits were how long: of rules, as the configuration numbers those about waits. */
bool lull_watching_histograms(const struct lull_watching *watching,
                              struct lull_track_histograms *lengths, GError **error);

#endif

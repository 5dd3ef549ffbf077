/* SPDX-License-Identifier: MIT */
/* The process that starts the commands of rules: it may become another user, and reads nothing but what the
 * daemon says. */
#ifndef LULL_TRIGGER_EXECUTOR_H
#define LULL_TRIGGER_EXECUTOR_H

#include "trigger/commands.h"

struct lull_executor {
    pid_t pid;  /* -1: there is none */
    int socket; /* -1: likewise */
};

/* Starts it; before there are threads, and while root has its rights. `counts` is shared memory. Clear it in any case. */
bool lull_executor_start(struct lull_executor *executor, const struct lull_trigger_config *config,
                         struct lull_trigger_counts *counts, GError **error);
/* Starts the command of the rule that wrote this, if it has one. */
void lull_executor_run(const struct lull_executor *executor,
                       const struct lull_trigger_written *written);
/* As lull_speaker_offer_rules() and lull_speaker_set_rules(). */
bool lull_executor_offer_rules(const struct lull_executor *executor, int text, GError **error);
bool lull_executor_set_rules(const struct lull_executor *executor, GError **error);
/* False and an error if the process has ended. */
bool lull_executor_check(struct lull_executor *executor, GError **error);
/* Ends it, and the commands that run. */
void lull_executor_clear(struct lull_executor *executor);

#endif

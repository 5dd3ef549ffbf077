/* SPDX-License-Identifier: MIT */
/* The commands of rules, each as its user and without any right. */
#ifndef LULL_TRIGGER_COMMANDS_H
#define LULL_TRIGGER_COMMANDS_H

#include "trigger/counts.h"

/* What was written, for the environment of the command. */
struct lull_trigger_written {
    char rule[LULL_TRIGGER_NAME]; /* not its number: whoever starts commands may know other rules */
    char set[LULL_SET_ID];
    char comm[64]; /* of who was slow, escaped; "": not known */
    int64_t pid;   /* -1: not known */
    int64_t delay_ns;
};

/* Those that run, by the names of their rules: when the rules are read again, a name is all that stays. */
struct lull_commands {
    struct lull_command_running {
        pid_t pid; /* 0: none */
        int64_t due_ns;
        char rule[LULL_TRIGGER_NAME];
    } running[LULL_TRIGGER_RULES];
};

/* Starts the command of the rule, if it has one and none of it runs, under whichever configuration it began. */
void lull_commands_start(struct lull_commands *commands, const struct lull_trigger_config *config,
                         const struct lull_trigger_written *written,
                         struct lull_trigger_counts *counts);
/* Sees which have ended, and kills those whose time is over. Milliseconds until it has to be called again;
 * -1: none runs. */
int lull_commands_check(struct lull_commands *commands, struct lull_trigger_counts *counts);
/* Kills those that run. */
void lull_commands_end(struct lull_commands *commands);

#endif

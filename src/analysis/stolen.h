/* SPDX-License-Identifier: MIT */
/* For tables of tasks: while a task of a virtual machine was on its virtual CPU, or waited for it, how
 * long that really ran, and how long it could run and had no CPU of the host. */
#ifndef LULL_ANALYSIS_STOLEN_H
#define LULL_ANALYSIS_STOLEN_H

#include "analysis/analysis.h"

struct lull_stolen;

struct lull_stolen_sum {
    int64_t real_ns;
    int64_t stolen_ns;
};

/* NULL: nothing is known (lull_stolen_is_known()). The following take NULL. `analysis` is borrowed. */
struct lull_stolen *lull_stolen_new(const struct lull_analysis *analysis);
void lull_stolen_free(struct lull_stolen *stolen);
/* The facts, in the order in which the model reports them. */
void lull_stolen_vcpu(struct lull_stolen *stolen, const struct lull_vcpu_fact *fact);
void lull_stolen_state(struct lull_stolen *stolen, const struct lull_state_fact *fact);
void lull_stolen_switched(struct lull_stolen *stolen, const struct lull_switch_fact *fact);
void lull_stolen_lost(struct lull_stolen *stolen, const struct lull_lost_fact *fact);

/* Of a row of the table (lull_params_row()); NULL: not known, or none of a guest. */
const struct lull_stolen_sum *lull_stolen_find(const struct lull_stolen *stolen, uint32_t row);

/* At the switch to a task, after lull_stolen_switched(): how long the virtual CPU that it waited for
 * had no CPU of the host since the task could run; -1: not known, or none of a guest. */
int64_t lull_stolen_wait(const struct lull_stolen *stolen, const struct lull_switch_fact *fact);

/* Whether the clock of any guest was joined with that of its host, and no host (host < 0) was chosen,
 * as then the other is not read. */
bool lull_stolen_is_known(const struct lull_session *session, int32_t host);

#endif

/* SPDX-License-Identifier: MIT */
/* The plan compiler's last step: what needs no decision becomes straight code, see straight.h. */
#ifndef LULL_CTF_PLAN_GATHER_H
#define LULL_CTF_PLAN_GATHER_H

#include "ctf/plan/plan.h"

/* Puts the plain loads and sums at the start of each run together; what is allocated belongs to
 * `owned`. */
void lull_gather_straight(GArray *ops, GPtrArray *owned);
/* What the operations of a whole event, LOADS or SUMS, do with its only run; NULL: they do more. */
const struct lull_loads *lull_gathered(const struct lull_op *ops, enum lull_op_code code);

#endif

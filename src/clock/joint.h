/* SPDX-License-Identifier: MIT */
/* A small linear programme: the unknowns within a box that make the smallest of many slacks as
 * large as possible. */
#ifndef LULL_CLOCK_JOINT_H
#define LULL_CLOCK_JOINT_H

#include <stdbool.h>
#include <stdint.h>

enum { LULL_JOINT_TERMS = 4 };

/* Its slack is slack + sum of weight * value of the unknown. */
struct lull_joint_row {
    uint32_t unknown[LULL_JOINT_TERMS];
    long double weight[LULL_JOINT_TERMS];
    uint32_t n_terms;
    long double slack;
};

/* Finds values[i], |values[i]| <= box[i], that maximise the smallest slack of n_rows >= 1 rows.
 * False if rounding errors kept it from finishing; the values are then the best so far and must be
 * checked (as always). */
bool lull_joint_solve(const struct lull_joint_row *rows, uint32_t n_rows, const long double *box,
                      uint32_t n_unknowns, long double *values);

#endif

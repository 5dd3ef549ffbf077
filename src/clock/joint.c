/* SPDX-License-Identifier: MIT */
/* Revised simplex on the dual: few equations (one per unknown, and "the multipliers sum to 1"), one
 * column per row and two per side of the box. The box makes the first basis trivial, the dual
 * variables are the unknowns. */
#include "clock/joint.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* Slacks are nanoseconds: a thousandth does not matter. */
static const long double tolerance = 1e-3L;
/* Weights are shares of 1 or 0: what is smaller than this is a rounding error. */
static const long double tiny = 1e-10L;

struct simplex {
    const struct lull_joint_row *rows;
    uint32_t n_rows;
    const long double *box;
    uint32_t n;            /* unknowns; n + 1 equations */
    long double *inverse;  /* of the basis, (n + 1) x (n + 1) */
    long double *solution; /* multipliers in the basis */
    long double *prices;   /* -unknowns, and the smallest slack */
    long double *column;   /* entering, in terms of the basis */
    uint32_t *basis;       /* row index, or n_rows + 2 * unknown + (0: from below, 1: from above) */
};

static long double cost(const struct simplex *lp, uint32_t column)
{
    return column < lp->n_rows ? lp->rows[column].slack : lp->box[(column - lp->n_rows) / 2];
}

/* What the column is worth beyond what the basis pays for it: its row's slack less the smallest. */
static long double reduced_cost(const struct simplex *lp, uint32_t column)
{
    if (column >= lp->n_rows) {
        long double price = lp->prices[(column - lp->n_rows) / 2];

        return cost(lp, column) - ((column - lp->n_rows) & 1 ? -price : price);
    }
    const struct lull_joint_row *row = &lp->rows[column];
    long double result = row->slack - lp->prices[lp->n];

    for (uint32_t i = 0; i < row->n_terms; i++) {
        result -= row->weight[i] * lp->prices[row->unknown[i]];
    }
    return result;
}

/* The right-hand side of the unknown's equation. Zero would make most steps degenerate; a little
 * more, different for each, only means that large unknowns are liked a little. */
static long double nudge(uint32_t unknown)
{
    return 1e-7L * (1 + (long double)(unknown * UINT32_C(2654435761) >> 16) / 65536);
}

static void start(struct simplex *lp)
{
    uint32_t size = lp->n + 1, worst = 0;
    long double *weights = g_new0(long double, size);

    for (uint32_t i = 1; i < lp->n_rows; i++) {
        if (lp->rows[i].slack < lp->rows[worst].slack) {
            worst = i;
        }
    }
    for (uint32_t i = 0; i < lp->rows[worst].n_terms; i++) {
        weights[lp->rows[worst].unknown[i]] += lp->rows[worst].weight[i];
    }
    for (uint32_t j = 0; j < lp->n; j++) {
        long double rest = nudge(j) - weights[j], sign = rest < 0 ? -1 : 1;

        lp->basis[j] = lp->n_rows + 2 * j + (sign < 0);
        lp->inverse[j * size + j] = sign;
        lp->inverse[j * size + lp->n] = -sign * weights[j];
        lp->solution[j] = fabsl(rest);
    }
    lp->basis[lp->n] = worst;
    lp->inverse[lp->n * size + lp->n] = 1;
    lp->solution[lp->n] = 1;
    g_free(weights);
}

static void set_prices(struct simplex *lp)
{
    uint32_t size = lp->n + 1;

    memset(lp->prices, 0, size * sizeof *lp->prices);
    for (uint32_t i = 0; i < size; i++) {
        long double c = cost(lp, lp->basis[i]);

        for (uint32_t j = 0; j < size; j++) {
            lp->prices[j] += c * lp->inverse[i * size + j];
        }
    }
}

/* The column that gains most, or after a stall the first that gains (Bland's rule, which cannot
 * cycle). */
static uint32_t choose_column(const struct simplex *lp, bool first)
{
    uint32_t n_columns = lp->n_rows + 2 * lp->n, best = UINT32_MAX;
    long double best_cost = -tolerance;

    for (uint32_t i = 0; i < n_columns; i++) {
        long double reduced = reduced_cost(lp, i);

        if (reduced < best_cost) {
            best = i;
            best_cost = reduced;
            if (first) {
                break;
            }
        }
    }
    return best;
}

static void set_column(struct simplex *lp, uint32_t column)
{
    uint32_t size = lp->n + 1;

    for (uint32_t i = 0; i < size; i++) {
        const long double *line = lp->inverse + (size_t)i * size;

        if (column >= lp->n_rows) {
            long double sign = (column - lp->n_rows) & 1 ? -1 : 1;

            lp->column[i] = sign * line[(column - lp->n_rows) / 2];
            continue;
        }
        const struct lull_joint_row *row = &lp->rows[column];

        lp->column[i] = line[lp->n];
        for (uint32_t k = 0; k < row->n_terms; k++) {
            lp->column[i] += row->weight[k] * line[row->unknown[k]];
        }
    }
}

/* The equation whose multiplier gets to zero first. */
static uint32_t choose_leaving(const struct simplex *lp)
{
    uint32_t best = UINT32_MAX;
    long double best_ratio = 0;

    for (uint32_t i = 0; i <= lp->n; i++) {
        if (lp->column[i] <= tiny) {
            continue;
        }
        long double ratio = lp->solution[i] / lp->column[i];

        if (best == UINT32_MAX || ratio < best_ratio ||
            (ratio == best_ratio && lp->column[i] > lp->column[best])) {
            best = i;
            best_ratio = ratio;
        }
    }
    return best;
}

static void pivot(struct simplex *lp, uint32_t leaving, uint32_t column)
{
    uint32_t size = lp->n + 1;
    long double *pivot_line = lp->inverse + (size_t)leaving * size;
    long double element = lp->column[leaving];

    for (uint32_t j = 0; j < size; j++) {
        pivot_line[j] /= element;
    }
    lp->solution[leaving] /= element;
    for (uint32_t i = 0; i < size; i++) {
        long double factor = lp->column[i], *line = lp->inverse + (size_t)i * size;

        if (i == leaving || factor == 0) {
            continue;
        }
        for (uint32_t j = 0; j < size; j++) {
            line[j] -= factor * pivot_line[j];
        }
        lp->solution[i] = fmaxl(lp->solution[i] - factor * lp->solution[leaving], 0);
    }
    lp->basis[leaving] = column;
}

static long double total(const struct simplex *lp)
{
    long double sum = 0;

    for (uint32_t i = 0; i <= lp->n; i++) {
        sum += lp->solution[i] * cost(lp, lp->basis[i]);
    }
    return sum;
}

static bool run(struct simplex *lp)
{
    uint64_t limit = 1000 + 20 * ((uint64_t)lp->n + lp->n_rows);
    long double before = INFINITY;
    unsigned stalled = 0;

    start(lp);
    for (uint64_t i = 0; i < limit; i++) {
        set_prices(lp);
        long double value = total(lp);

        stalled = value < before ? 0 : stalled + 1;
        before = value;
        uint32_t column = choose_column(lp, stalled > 20);

        if (column == UINT32_MAX) {
            return true;
        }
        set_column(lp, column);
        uint32_t leaving = choose_leaving(lp);

        if (leaving == UINT32_MAX) {
            return false;
        }
        pivot(lp, leaving, column);
    }
    return false;
}

bool lull_joint_solve(const struct lull_joint_row *rows, uint32_t n_rows, const long double *box,
                      uint32_t n_unknowns, long double *values)
{
    uint32_t size = n_unknowns + 1;
    struct simplex lp = {
        .rows = rows,
        .n_rows = n_rows,
        .box = box,
        .n = n_unknowns,
        .inverse = g_new0(long double, (size_t)size *size),
        .solution = g_new0(long double, size),
        .prices = g_new0(long double, size),
        .column = g_new0(long double, size),
        .basis = g_new0(uint32_t, size),
    };
    bool result = run(&lp);

    for (uint32_t i = 0; i < n_unknowns; i++) {
        values[i] = CLAMP(-lp.prices[i], -box[i], box[i]);
    }
    g_free(lp.inverse);
    g_free(lp.solution);
    g_free(lp.prices);
    g_free(lp.column);
    g_free(lp.basis);
    return result;
}

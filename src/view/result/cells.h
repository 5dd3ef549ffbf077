/* SPDX-License-Identifier: MIT */
/* How the cells of results read as text. */
#ifndef LULL_VIEW_RESULT_CELLS_H
#define LULL_VIEW_RESULT_CELLS_H

#include "analysis/result.h"
#include "view/view.h"

/* Appends what a cell says, cleaned. Times have their date if `has_date`. */
void lull_cell_append(GString *text, const struct lull_cell *cell,
                      const struct lull_view_style *style, bool has_date);

/* Appends a value of a column with its unit, as on the scale of a chart. */
void lull_result_value_append(GString *text, const struct lull_result_column *column, double value,
                              const struct lull_view_style *style);

/* Whether the cells of a column are aligned right, as numbers do. */
bool lull_cell_is_right(enum lull_cell_class class);

/* The number in a cell, for bars; 0 if it has none. */
double lull_cell_value(const struct lull_cell *cell);

#endif

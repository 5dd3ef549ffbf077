/* SPDX-License-Identifier: MIT */
/* Writing to a FILE* with one check at the end: the first failure is kept and what follows is
 * dropped. */
#ifndef LULL_VIEW_OUT_H
#define LULL_VIEW_OUT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

struct lull_out {
    FILE *file;    /* borrowed */
    int error;     /* errno of the first failure, or 0 */
    int fold;      /* width to which lines of text are folded, 0: never */
    GString *line; /* the start of one that is to be folded, or NULL */
};

/* Enough for every text of lull_decimal_format(). */
#define LULL_DECIMAL_SIZE 64

void lull_out_start(struct lull_out *out, FILE *file);
/* From now on lines of lull_out_text() and lull_out_printf() that are wider than `width` go on in the next
 * one, a little to the right; those of lull_out_bytes() stay as they are, and commands. 0: never. */
void lull_out_fold(struct lull_out *out, int width);
void lull_out_text(struct lull_out *out, const char *text);
void lull_out_bytes(struct lull_out *out, const char *bytes, size_t length);
/* No %f, %e, %g: they follow the locale; see lull_decimal_format(). */
void lull_out_printf(struct lull_out *out, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The object, on one line. Frees it. */
void lull_out_json(struct lull_out *out, struct json_object *object);
/* Flushes. False with LULL_ERROR_IO, "cannot write WHAT: …", if anything failed, except for a
 * closed pipe. */
bool lull_out_end(struct lull_out *out, const char *what, GError **error);

/* `value` with `digits` (0..9) decimals and a point in every locale; "0.000", never "-0.000".
 * Returns out. */
const char *lull_decimal_format(double value, int digits, char out[static LULL_DECIMAL_SIZE]);
/* The same without trailing zeros, but at least one decimal: "0.5", "1.0". Valid JSON for finite
 * values. */
const char *lull_decimal_format_short(double value, int digits, char out[static LULL_DECIMAL_SIZE]);
/* That for JSON; what is not finite is 0. */
struct json_object *lull_decimal_json(double value, int digits);

#endif

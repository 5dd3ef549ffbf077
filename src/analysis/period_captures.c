/* SPDX-License-Identifier: MIT */
/* What periods captured, as text for people and as JSON for programs. */
#include <math.h>

#include "analysis/period_windows.h"
#include "base/json.h"

const char *lull_period_label(const struct lull_periods *periods, uint32_t period,
                              char unnamed[LULL_PERIOD_UNNAMED])
{
    const struct lull_period *definition = lull_periods_at(periods, period);
    if (definition->name) {
        return definition->path;
    }
    g_snprintf(unnamed, LULL_PERIOD_UNNAMED, "(period %u)", period + 1);
    return unnamed;
}

void lull_period_append_value(GString *text, const struct lull_value *value)
{
    char real[G_ASCII_DTOSTR_BUF_SIZE];
    if (value->kind == LULL_VALUE_NONE) {
        g_string_append_c(text, '?');
    } else if (value->text.data) {
        g_string_append_len(text, value->text.data, value->text.length);
    } else if (value->kind == LULL_VALUE_REAL) {
        g_string_append(text, g_ascii_dtostr(real, sizeof real, value->real));
    } else if (value->is_signed) {
        g_string_append_printf(text, "%" G_GINT64_FORMAT, (int64_t)value->bits);
    } else {
        g_string_append_printf(text, "%" G_GUINT64_FORMAT, value->bits);
    }
}

static void append_json(GString *out, const struct lull_value *value)
{
    if (value->text.data) {
        lull_json_append(out, value->text.data, value->text.length);
    } else if (value->kind == LULL_VALUE_NONE ||
               (value->kind == LULL_VALUE_REAL && !isfinite(value->real))) {
        g_string_append(out, "null");
    } else {
        lull_period_append_value(out, value);
    }
}

static const struct lull_period *period_of(const struct lull_periods *periods,
                                           const struct lull_period_tracker *tracker,
                                           uint32_t instance)
{
    return lull_periods_at(periods, lull_period_at(tracker, instance)->period);
}

static void append_side(GString *out, const struct lull_period *period,
                        const struct lull_period_tracker *tracker, uint32_t instance, bool at_end,
                        const char *prefix)
{
    const char *const *names = at_end ? period->end_captures : period->start_captures;
    const uint32_t n = at_end ? period->n_end_captures : period->n_start_captures;
    for (uint32_t i = 0; i < n; i++) {
        g_string_append(out, out->len > 0 ? ", " : "");
        g_string_append_printf(out, "%s%s%s = ", prefix, *prefix != '\0' ? "." : "", names[i]);
        lull_period_append_value(out, lull_period_value(tracker, instance, at_end, i));
    }
}

char *lull_period_captures_side(const struct lull_periods *periods,
                                const struct lull_period_tracker *tracker, uint32_t instance,
                                bool at_end)
{
    GString *out = g_string_new(NULL);
    append_side(out, period_of(periods, tracker, instance), tracker, instance, at_end, "");
    return g_string_free(out, FALSE);
}

char *lull_period_captures_text(const struct lull_periods *periods,
                                const struct lull_period_tracker *tracker, uint32_t instance)
{
    const struct lull_period *period = period_of(periods, tracker, instance);
    GString *out = g_string_new(NULL);
    for (int at_end = 0; at_end < 2; at_end++) {
        append_side(out, period, tracker, instance, at_end, period->name ? period->name : "");
    }
    return g_string_free(out, FALSE);
}

char *lull_period_captures_json(const struct lull_periods *periods,
                                const struct lull_period_tracker *tracker, uint32_t instance,
                                bool at_end)
{
    const struct lull_period *period = period_of(periods, tracker, instance);
    const char *const *names = at_end ? period->end_captures : period->start_captures;
    const uint32_t n = at_end ? period->n_end_captures : period->n_start_captures;
    GString *out = g_string_new("{");
    for (uint32_t i = 0; i < n; i++) {
        g_string_append(out, i > 0 ? ", " : "");
        lull_json_append(out, names[i], strlen(names[i]));
        g_string_append(out, ": ");
        append_json(out, lull_period_value(tracker, instance, at_end, i));
    }
    g_string_append_c(out, '}');
    return g_string_free(out, FALSE);
}

char *lull_period_captures_whole_json(const struct lull_periods *periods,
                                      const struct lull_period_tracker *tracker, uint32_t instance)
{
    g_autofree char *start = lull_period_captures_json(periods, tracker, instance, false);
    g_autofree char *end = lull_period_captures_json(periods, tracker, instance, true);
    return g_strdup_printf("{\"begin\": %s, \"end\": %s}", start, end);
}

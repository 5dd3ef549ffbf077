/* SPDX-License-Identifier: MIT */
/* Names, keys and headings of counters. */
#include "analysis/counter_names.h"

#include <string.h>

const char *lull_counter_name(const struct lull_model *model, uint32_t counter)
{
    return lull_model_label(model, lull_model_counter(model, counter));
}

bool lull_counter_is_clock(const char *name)
{
    return g_str_has_suffix(name, "task-clock") || g_str_has_suffix(name, "cpu-clock");
}

enum lull_cell_class lull_counter_class(const char *name)
{
    return lull_counter_is_clock(name) ? LULL_CELL_DURATION : LULL_CELL_NUMBER;
}

char *lull_counter_key(const char *prefix, const char *name)
{
    char *key = g_strconcat(prefix, name, lull_counter_is_clock(name) ? "_ns" : NULL, NULL);
    return g_strdelimit(key, "-", '_');
}

char *lull_counter_heading(const char *name, bool is_estimate)
{
    g_autofree char *upper = g_ascii_strup(name, -1);
    return g_strconcat(is_estimate ? "≈" : "", upper, NULL);
}

bool lull_counter_find(const struct lull_model *model, const char *name, uint32_t *counter,
                       GError **error)
{
    const uint32_t n = lull_model_counter_count(model);
    g_autofree char *of_thread = g_strconcat("thread-", name, NULL);
    const char *const wanted[] = {name, of_thread};
    g_autoptr(GString) all = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        for (*counter = 0; *counter < n; ++*counter) {
            if (strcmp(lull_counter_name(model, *counter), wanted[i]) == 0) {
                return true;
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        g_string_append_printf(all, "%s%s", i ? ", " : "; there are ", lull_counter_name(model, i));
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "no counter “%s” was recorded%s", name,
                n ? all->str : ", nor another; 'lull record --counters' records some");
    return false;
}

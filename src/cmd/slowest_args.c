/* SPDX-License-Identifier: MIT */
/* Reads --slowest N and --slowest P%. */
#include "cmd/slowest_args.h"

#include <string.h>

#include <lull/error.h>

bool lull_parse_percent(const char *text, double *percent, const char **end)
{
    char *behind;
    *percent = g_ascii_strtod(text, &behind);
    if (behind == text || !(*percent >= 0 && *percent <= 100)) {
        return false;
    }
    *end = behind + (*behind == '%');
    return true;
}

bool lull_args_slowest(const struct lull_args *args, struct lull_slowest *slowest, GError **error)
{
    const char *text = lull_args_text(args, "slowest"), *end;
    guint64 count = 0;
    *slowest = (struct lull_slowest){0, -1};
    if (!text) {
        return true;
    }
    const bool is_share = strchr(text, '%') != NULL;
    if (is_share ? lull_parse_percent(text, &slowest->percent, &end) && !*end
                 : g_ascii_string_to_unsigned(text, 10, 1, UINT32_MAX, &count, NULL)) {
        slowest->count = (uint32_t)count;
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                "--slowest takes a number, as in 5, or a percentage from 0 to 100, as in 5%%, not "
                "“%s”",
                text);
    return false;
}

uint32_t lull_slowest_of(const struct lull_slowest *slowest, uint32_t n)
{
    if (slowest->percent >= 0) {
        return MIN(MAX((uint32_t)(n * slowest->percent / 100), 1), n);
    }
    return slowest->count ? MIN(slowest->count, n) : n;
}

/* SPDX-License-Identifier: MIT */
/* Powers of 1024, as buffers and disks are counted; shares of a hundred. */
#include "base/size.h"

#include <glib.h>
#include <string.h>

#define MOST (UINT64_C(1) << 40)

bool lull_size_parse(const char *text, uint64_t *bytes)
{
    static const char units[] = "kMG";
    char *end = NULL;
    const guint64 number = g_ascii_isdigit(*text) ? g_ascii_strtoull(text, &end, 10) : 0;
    const char *unit = end && *end ? strchr(units, *end) : NULL;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    *bytes = number << shift;
    return number > 0 && (unit ? end[1] : *end) == '\0' && *bytes >> shift == number &&
           *bytes <= MOST;
}

bool lull_share_parse(const char *text, double *share)
{
    char *end = NULL;
    const double percent = g_ascii_strtod(text, &end);
    *share = percent / 100;
    return end > text && (*end == '\0' || strcmp(end, "%") == 0) && percent >= 0 && percent <= 100;
}

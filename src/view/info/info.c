/* SPDX-License-Identifier: MIT */
/* What the text and the JSON of lull info share. */
#include "view/info/info.h"

#include "base/search.h"

const struct lull_gap *lull_info_gaps(const struct lull_info *info, uint32_t host, size_t *n)
{
    const struct lull_gap *gaps = info->gaps.all.items;
    const size_t count = info->gaps.all.count;
    const size_t first = LULL_LOWER_BOUND(i, count, gaps[i].host < host);
    *n = LULL_LOWER_BOUND(i, count, gaps[i].host <= host) - first;
    return *n ? &gaps[first] : NULL;
}

bool lull_info_guest(const struct lull_session *session, uint32_t trace, uint32_t number,
                     struct lull_info_guest *guest)
{
    const char **const parts[] = {&guest->name, &guest->trace_id, &guest->vcpu_tids};
    static const char *const keys[] = {"name", "trace_id", "vcpu_tids"};
    bool found = true;
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        g_autofree char *key = g_strdup_printf("guest_%u_%s", number, keys[i]);
        *parts[i] = lull_session_environment(session, trace, key);
        found = found && *parts[i];
    }
    return found;
}

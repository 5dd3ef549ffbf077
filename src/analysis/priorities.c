/* SPDX-License-Identifier: MIT */
/* Lists of priorities. A task has one or two, so they are searched from the front. */
#include "analysis/priorities.h"

#include "kernel/facts.h"

void lull_priorities_add(struct lull_priorities *priorities, int32_t prio)
{
    size_t at = 0;
    if (prio == LULL_NO_PRIO) {
        return;
    }
    while (at < priorities->items.count && priorities->items.items[at].prio < prio) {
        at++;
    }
    if (at == priorities->items.count || priorities->items.items[at].prio != prio) {
        lull_vec_push(&priorities->items, (struct lull_priority_count){0});
        memmove(&priorities->items.items[at + 1], &priorities->items.items[at],
                (priorities->items.count - 1 - at) * sizeof *priorities->items.items);
        priorities->items.items[at] = (struct lull_priority_count){.prio = prio};
    }
    priorities->items.items[at].count++;
}

void lull_priorities_clear(struct lull_priorities *priorities)
{
    lull_vec_free(&priorities->items);
}

void lull_priorities_format(const struct lull_priorities *priorities, bool is_lami, GString *text)
{
    g_string_assign(text, is_lami ? "[" : "");
    for (size_t i = 0; i < priorities->items.count; i++) {
        const struct lull_priority_count *item = &priorities->items.items[i];
        g_string_append_printf(text, "%s%d", i ? ", " : "", lull_priority_shown(item->prio));
        if (item->count > 1) {
            g_string_append_printf(text, " (%u times)", item->count);
        }
    }
    g_string_append(text, is_lami ? "]" : "");
}

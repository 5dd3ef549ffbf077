/* SPDX-License-Identifier: MIT */
/* Print programs by class, and what is done without one. */
#include "view/event/fields.h"

#include "view/event/program.h"

void lull_event_fields_clear(struct lull_event_fields *fields)
{
    for (uint32_t i = 0; i < fields->n_heads; i++) {
        lull_event_program_free(fields->heads[i].program);
        lull_linebuf_free(&fields->heads[i].before);
        lull_linebuf_free(&fields->heads[i].after);
    }
    g_clear_pointer(&fields->heads, g_free);
    fields->n_heads = 0;
}

struct lull_event_head *lull_event_fields_head(struct lull_event_fields *fields,
                                               const struct lull_event *event)
{
    const uint32_t number = lull_event_class_number(event->event_class);
    if (G_UNLIKELY(number >= fields->n_heads)) {
        const uint32_t n = MAX(number + 1, fields->n_heads * 2);
        fields->heads = g_renew(struct lull_event_head, fields->heads, n);
        memset(fields->heads + fields->n_heads, 0, (n - fields->n_heads) * sizeof fields->heads[0]);
        fields->n_heads = n;
    }
    return &fields->heads[number];
}

void lull_event_fields_learn(struct lull_event_fields *fields, struct lull_event_head *head,
                             const struct lull_event *event, bool follows_scope)
{
    head->is_known = true;
    head->follows_scope = follows_scope;
    if (!fields->always_walks) {
        head->program = lull_event_program_new(event, &fields->dialect, follows_scope);
    }
}

bool lull_event_fields_add(const struct lull_event_fields *fields,
                           const struct lull_event_head *head, const struct lull_event *event,
                           struct lull_linebuf *line, GError **error)
{
    if (G_LIKELY(head->program) && lull_event_program_run(head->program, event, line)) {
        return true;
    }
    struct lull_event_writer writer;
    writer.dialect = &fields->dialect;
    writer.line = line;
    writer.follows_scope = head->follows_scope;
    writer.is_element = writer.with_names = false;
    writer.depth = 0;
    return lull_event_writer_visit(&writer, event, error);
}

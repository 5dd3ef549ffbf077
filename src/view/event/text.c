/* SPDX-License-Identifier: MIT */
/* One event as one line: time, host, CPU, name, contexts in parentheses, then the fields as `key =
 * value`. */
#include "view/event/text.h"

#include <inttypes.h>
#include <string.h>

#include "view/digits.h"

void lull_event_text_clear(struct lull_event_text *text)
{
    lull_event_fields_clear(&text->fields);
    lull_linebuf_free(&text->line);
}

/* The header of a class: " HOST cpu" before the number of the CPU, " PROCESS(PID) NAME" after. */
static void learn(struct lull_event_text *text, struct lull_event_head *head,
                  const struct lull_event *event)
{
    if (text->with_host) {
        const char *host = lull_session_host(text->session, event->host)->name;
        lull_linebuf_char(&head->before, ' ');
        lull_linebuf_escaped(&head->before, host, strlen(host));
    }
    lull_linebuf_literal(&head->before, " cpu");
    const struct lull_trace *trace = lull_session_trace(text->session, event->trace);
    if (trace->process[0]) {
        lull_linebuf_char(&head->after, ' ');
        lull_linebuf_escaped(&head->after, trace->process, strlen(trace->process));
        lull_linebuf_char(&head->after, '(');
        lull_linebuf_signed(&head->after, trace->process_id);
        lull_linebuf_char(&head->after, ')');
    }
    const char *name = lull_event_class_name(event->event_class);
    lull_linebuf_char(&head->after, ' ');
    lull_linebuf_escaped(&head->after, name, strlen(name));
    lull_event_fields_learn(&text->fields, head, event, false);
}

static void add_cpu(struct lull_linebuf *line, int32_t cpu)
{
    if (cpu < 0) {
        lull_linebuf_char(line, '-');
        return;
    }
    char *out = lull_linebuf_reserve(line, 24);
    line->length += (size_t)(lull_put_unsigned(out, (uint64_t)cpu) - out);
}

/* " at handle_request (server.c:120) libserver.so+0x14d4". */
static void add_place(struct lull_linebuf *line, const struct lull_event_place *place)
{
    const char *slash = strrchr(place->object, '/');
    const char *file = slash && slash[1] ? slash + 1 : place->object;
    g_autofree char *source = lull_source_line_text(&place->source);
    lull_linebuf_literal(line, " at ");
    if (place->function) {
        lull_linebuf_escaped(line, place->function, strlen(place->function));
        lull_linebuf_char(line, ' ');
    }
    if (source) {
        lull_linebuf_char(line, '(');
        lull_linebuf_escaped(line, source, strlen(source));
        lull_linebuf_literal(line, ") ");
    }
    lull_linebuf_escaped(line, file, strlen(file));
    char offset[32];
    lull_linebuf_bytes(line, offset,
                       (size_t)g_snprintf(offset, sizeof offset, "+0x%" PRIx64, place->offset));
}

bool lull_event_text_format(struct lull_event_text *text, const struct lull_event *event,
                            GError **error)
{
    struct lull_linebuf *line = &text->line;
    struct lull_event_head *head = lull_event_fields_head(&text->fields, event);
    if (G_UNLIKELY(!head->is_known)) {
        learn(text, head, event);
    }
    lull_event_clock_add(&text->clock, line, event);
    lull_linebuf_bytes(line, head->before.data, head->before.length);
    add_cpu(line, event->cpu);
    lull_linebuf_bytes(line, head->after.data, head->after.length);
    bool done = lull_event_fields_add(&text->fields, head, event, line, error);
    if (!done) {
        lull_linebuf_literal(line, " [damaged]");
    }
    if (G_UNLIKELY(text->place)) {
        add_place(line, text->place);
    }
    lull_linebuf_char(line, '\n');
    return done;
}

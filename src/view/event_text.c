/* One event as one line: time, host, CPU, name, contexts in parentheses, then the fields as `key =
 * value`. */
#include "view/event_text.h"

static int64_t floor_second(int64_t time_ns)
{
    int64_t second = time_ns / LULL_NS_PER_S;
    return time_ns % LULL_NS_PER_S < 0 ? second - 1 : second;
}

/* Clock and ISO times: formatted anew once a second, only the nine digits change between. */
static void add_calendar_time(struct lull_event_text *text, int64_t time_ns)
{
    int64_t second = floor_second(time_ns);
    if (!text->has_cache || text->cached_second != second) {
        if (text->time_style == LULL_TIME_ISO) {
            lull_time_format_iso(time_ns, text->is_local, text->cached);
        } else {
            lull_time_format_clock(time_ns, text->is_local, text->cached);
        }
        text->has_cache = true;
        text->cached_second = second;
        text->cached_length = (uint32_t)strlen(text->cached);
        const char *point = strchr(text->cached, '.');
        text->cached_fraction = point ? (uint32_t)(point + 1 - text->cached) : text->cached_length;
    }
    lull_line_bytes(&text->line, text->cached, text->cached_fraction);
    if (text->cached_fraction == text->cached_length) {
        return;
    }
    lull_line_nanoseconds(&text->line, (uint32_t)(time_ns - second * LULL_NS_PER_S));
    const uint32_t after = text->cached_fraction + 9;
    lull_line_bytes(&text->line, text->cached + after, text->cached_length - after);
}

static void add_seconds(struct lull_line *line, int64_t time_ns)
{
    uint64_t magnitude = time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns;
    if (time_ns < 0) {
        lull_line_char(line, '-');
    }
    lull_line_unsigned(line, magnitude / LULL_NS_PER_S);
    lull_line_char(line, '.');
    lull_line_nanoseconds(line, (uint32_t)(magnitude % LULL_NS_PER_S));
}

static void add_time(struct lull_event_text *text, int64_t time_ns)
{
    int64_t elapsed_ns;
    switch (text->time_style) {
    case LULL_TIME_CLOCK:
    case LULL_TIME_ISO:
        add_calendar_time(text, time_ns);
        return;
    case LULL_TIME_SECONDS:
        add_seconds(&text->line, time_ns);
        return;
    case LULL_TIME_NS:
        lull_line_signed(&text->line, time_ns);
        return;
    case LULL_TIME_ELAPSED:
        if (__builtin_sub_overflow(time_ns, text->origin_ns, &elapsed_ns)) {
            elapsed_ns = time_ns < text->origin_ns ? INT64_MIN : INT64_MAX;
        }
        if (elapsed_ns >= 0) {
            lull_line_char(&text->line, '+');
        }
        add_seconds(&text->line, elapsed_ns);
        return;
    }
}

static void add_name(struct lull_event_text *text, const char *name)
{
    if (text->needs_comma) {
        lull_line_literal(&text->line, ", ");
    }
    if (name) {
        lull_line_escaped(&text->line, name, strlen(name));
        if (text->in_variant) {
            lull_line_literal(&text->line, ": ");
        } else {
            lull_line_literal(&text->line, " = ");
        }
    }
    text->in_variant = false;
    text->needs_comma = true;
}

static void on_begin(void *user, const char *name, enum lull_visit_kind kind)
{
    struct lull_event_text *text = user;
    if (kind == LULL_VISIT_SCOPE) {
        if (name && strcmp(name, "context") == 0) {
            lull_line_literal(&text->line, " (");
            text->in_context = true;
        } else {
            lull_line_char(&text->line, ' ');
        }
        text->needs_comma = false;
        text->in_variant = false;
        return;
    }
    add_name(text, name);
    text->needs_comma = false;
    if (kind == LULL_VISIT_STRUCT) {
        lull_line_char(&text->line, '{');
    } else if (kind == LULL_VISIT_ARRAY) {
        lull_line_char(&text->line, '[');
    } else {
        text->in_variant = true;
    }
}

static void end_scope(struct lull_event_text *text)
{
    if (text->in_context) {
        lull_line_char(&text->line, ')');
        text->in_context = false;
    } else if (text->line.data[text->line.length - 1] == ' ') {
        text->line.length--; /* no fields */
    }
}

static void on_end(void *user, enum lull_visit_kind kind)
{
    struct lull_event_text *text = user;
    if (kind == LULL_VISIT_SCOPE) {
        end_scope(text);
    } else if (kind == LULL_VISIT_STRUCT) {
        lull_line_char(&text->line, '}');
    } else if (kind == LULL_VISIT_ARRAY) {
        lull_line_char(&text->line, ']');
    }
    text->needs_comma = true;
    text->in_variant = false;
}

/* "a | b (": the labels of a value, or the names of the flags that are set. */
static bool add_labels(struct lull_event_text *text, const struct lull_visit_int *value)
{
    for (uint32_t i = 0; i < value->n_labels; i++) {
        if (i) {
            lull_line_literal(&text->line, " | ");
        }
        lull_line_escaped(&text->line, value->labels[i], strlen(value->labels[i]));
    }
    if (value->n_labels) {
        lull_line_literal(&text->line, " (");
    }
    return value->n_labels > 0;
}

static void on_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    struct lull_event_text *text = user;
    add_name(text, name);
    if (value->is_boolean) {
        if (value->bits) {
            lull_line_literal(&text->line, "true");
        } else {
            lull_line_literal(&text->line, "false");
        }
        return;
    }
    const bool has_labels = add_labels(text, value);
    if (value->base == 16 || value->is_bits) {
        lull_line_hex(&text->line, value->size_bits < 64
                                       ? value->bits & ((UINT64_C(1) << value->size_bits) - 1)
                                       : value->bits);
    } else if (value->base == 8) {
        lull_line_octal(&text->line, value->bits);
    } else if (value->is_signed) {
        lull_line_signed(&text->line, (int64_t)value->bits);
    } else {
        lull_line_unsigned(&text->line, value->bits);
    }
    if (has_labels) {
        lull_line_char(&text->line, ')');
    }
}

static void on_real(void *user, const char *name, double value)
{
    struct lull_event_text *text = user;
    add_name(text, name);
    lull_line_real(&text->line, value);
}

static void on_text(void *user, const char *name, struct lull_text value)
{
    struct lull_event_text *text = user;
    add_name(text, name);
    lull_line_char(&text->line, '"');
    lull_line_escaped(&text->line, value.data, value.length);
    lull_line_char(&text->line, '"');
}

static void on_blob(void *user, const char *name, struct lull_text bytes, const char *media_type)
{
    struct lull_event_text *text = user;
    add_name(text, name);
    lull_line_char(&text->line, '<');
    lull_line_unsigned(&text->line, bytes.length);
    lull_line_literal(&text->line, " bytes");
    if (bytes.length) {
        lull_line_literal(&text->line, ": ");
    }
    lull_line_hex_bytes(&text->line, bytes.data, bytes.length);
    lull_line_char(&text->line, '>');
}

void lull_event_text_clear(struct lull_event_text *text)
{
    lull_line_free(&text->line);
}

bool lull_event_text_format(struct lull_event_text *text, const struct lull_event *event,
                            GError **error)
{
    static const struct lull_visitor visitor = {
        .begin = on_begin,
        .end = on_end,
        .integer = on_integer,
        .real = on_real,
        .text = on_text,
        .blob = on_blob,
    };
    struct lull_line *line = &text->line;
    line->length = 0;
    text->needs_comma = text->in_variant = text->in_context = false;
    add_time(text, event->time_ns);
    if (text->with_host) {
        const char *host = lull_session_host(text->session, event->host)->name;
        lull_line_char(line, ' ');
        lull_line_escaped(line, host, strlen(host));
    }
    lull_line_literal(line, " cpu");
    if (event->cpu >= 0) {
        lull_line_unsigned(line, (uint64_t)event->cpu);
    } else {
        lull_line_char(line, '-');
    }
    const struct lull_trace *trace = lull_session_trace(text->session, event->trace);
    if (trace->process[0]) {
        lull_line_char(line, ' ');
        lull_line_escaped(line, trace->process, strlen(trace->process));
        lull_line_char(line, '(');
        lull_line_signed(line, trace->process_id);
        lull_line_char(line, ')');
    }
    const char *name = lull_event_class_name(event->event_class);
    lull_line_char(line, ' ');
    lull_line_escaped(line, name, strlen(name));
    bool done = lull_event_visit(event, &visitor, text, error);
    if (!done) {
        lull_line_literal(line, " [damaged]");
    }
    lull_line_char(line, '\n');
    return done;
}

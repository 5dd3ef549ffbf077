/* SPDX-License-Identifier: MIT */
/* One event as one JSON object on a line, written straight into a buffer: a tree of JSON objects
 * per event would cost more than reading the trace. */
#include "view/event/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/time.h"

/* ---- fields of the same name ---- */

enum lull_json_twins { TWINS_UNKNOWN, TWINS_NONE, TWINS_POSSIBLE };

static void find_twin(void *user, const struct lull_field_info *field)
{
    GHashTable *paths = user;
    if (!g_hash_table_add(paths, g_strdup(field->path))) {
        g_hash_table_add(paths, g_strdup("")); /* which no field has */
    }
}

/* Found out once of each class. */
static bool has_twins(struct lull_event_json *json, const struct lull_event_class *event_class)
{
    const uint32_t number = lull_event_class_number(event_class);
    if (!json->twins) {
        json->twins = g_byte_array_new();
        json->names = g_ptr_array_new();
    }
    if (number >= json->twins->len) {
        const guint before = json->twins->len;
        g_byte_array_set_size(json->twins, MAX(number + 1, before * 2));
        memset(json->twins->data + before, TWINS_UNKNOWN, json->twins->len - before);
    }
    uint8_t *state = &json->twins->data[number];
    if (G_UNLIKELY(*state == TWINS_UNKNOWN)) {
        g_autoptr(GHashTable) paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        lull_event_class_each_field(event_class, find_twin, paths);
        *state = g_hash_table_contains(paths, "") ? TWINS_POSSIBLE : TWINS_NONE;
    }
    return *state == TWINS_POSSIBLE;
}

/* How many fields of this name the innermost object has had before. */
static unsigned count_twins(struct lull_event_json *json, const char *name)
{
    unsigned n = 0;
    for (guint i = json->names->len; i > 0 && json->names->pdata[i - 1]; i--) {
        n += strcmp(json->names->pdata[i - 1], name) == 0;
    }
    g_ptr_array_add(json->names, (gpointer)name);
    return n;
}

static void add_twin(struct lull_event_json *json, const char *name, unsigned before)
{
    g_autofree char *numbered = g_strdup_printf("%s#%u", name, before + 1);
    lull_linebuf_json(&json->line, numbered, strlen(numbered));
}

/* ---- the event ---- */

static void add_name(struct lull_event_json *json, const char *name)
{
    unsigned before = 0;
    if (json->needs_comma) {
        lull_linebuf_char(&json->line, ',');
    }
    json->needs_comma = true;
    if (name && G_UNLIKELY(json->has_twins)) {
        before = count_twins(json, name);
    }
    if (before > 0) {
        add_twin(json, name, before);
        lull_linebuf_char(&json->line, ':');
    } else if (name) {
        lull_linebuf_json(&json->line, name, strlen(name));
        lull_linebuf_char(&json->line, ':');
    } else if (json->open.length && json->open.data[json->open.length - 1] == '}') {
        lull_linebuf_literal(&json->line, "\"\":"); /* an option without a name */
    }
}

static void open_bracket(struct lull_event_json *json, char open, char close)
{
    lull_linebuf_char(&json->line, open);
    lull_linebuf_char(&json->open, close);
    json->needs_comma = false;
    if (G_UNLIKELY(json->has_twins)) {
        g_ptr_array_add(json->names, NULL);
    }
}

static void close_bracket(struct lull_event_json *json)
{
    if (json->open.length) {
        lull_linebuf_char(&json->line, json->open.data[--json->open.length]);
    }
    json->needs_comma = true;
    if (G_UNLIKELY(json->has_twins)) {
        guint n = json->names->len;
        while (n > 0 && json->names->pdata[n - 1]) {
            n--;
        }
        g_ptr_array_set_size(json->names, (gint)(n > 0 ? n - 1 : 0));
    }
}

static void start_scope(struct lull_event_json *json, bool is_context)
{
    if (is_context) {
        lull_linebuf_literal(&json->line, ",\"context\":");
        json->has_context = true;
    } else {
        if (!json->has_context) {
            lull_linebuf_literal(&json->line, ",\"context\":{}");
            json->has_context = true;
        }
        lull_linebuf_literal(&json->line, ",\"fields\":");
        json->has_fields = true;
    }
    open_bracket(json, '{', '}');
}

static void on_start(void *user, const char *name, enum lull_visit_kind kind)
{
    struct lull_event_json *json = user;
    if (kind == LULL_VISIT_SCOPE) {
        start_scope(json, strcmp(name, "context") == 0);
        return;
    }
    add_name(json, name);
    if (kind == LULL_VISIT_ARRAY) {
        open_bracket(json, '[', ']');
    } else {
        open_bracket(json, '{', '}');
    }
}

static void on_end(void *user, enum lull_visit_kind kind)
{
    close_bracket(user);
}

static void add_texts(struct lull_event_json *json, const struct lull_visit_int *value)
{
    for (uint32_t i = 0; i < value->n_labels; i++) {
        lull_linebuf_char(&json->line, i ? ',' : '[');
        lull_linebuf_json(&json->line, value->labels[i], strlen(value->labels[i]));
    }
    if (value->n_labels == 0) {
        lull_linebuf_char(&json->line, '[');
    }
    lull_linebuf_char(&json->line, ']');
}

/* What follows the value of an enumeration or of flags. */
static void add_labels(struct lull_event_json *json, const struct lull_visit_int *value)
{
    if (value->is_flags) {
        lull_linebuf_literal(&json->line, ",\"flags\":");
        add_texts(json, value);
    } else {
        lull_linebuf_literal(&json->line, ",\"label\":");
        if (value->label) {
            lull_linebuf_json(&json->line, value->label, strlen(value->label));
        } else {
            lull_linebuf_literal(&json->line, "null");
        }
        if (value->n_labels > 1) {
            lull_linebuf_literal(&json->line, ",\"labels\":");
            add_texts(json, value);
        }
    }
    lull_linebuf_char(&json->line, '}');
}

static void on_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    struct lull_event_json *json = user;
    const bool has_labels = value->is_enum || value->is_flags;
    add_name(json, name);
    if (value->is_boolean) {
        if (value->bits) {
            lull_linebuf_literal(&json->line, "true");
        } else {
            lull_linebuf_literal(&json->line, "false");
        }
        return;
    }
    if (has_labels) {
        lull_linebuf_literal(&json->line, "{\"value\":");
    }
    if (value->is_signed) {
        lull_linebuf_signed(&json->line, (int64_t)value->bits);
    } else {
        lull_linebuf_unsigned(&json->line, value->bits);
    }
    if (has_labels) {
        add_labels(json, value);
    }
}

static void on_real(void *user, const char *name, double value)
{
    struct lull_event_json *json = user;
    add_name(json, name);
    if (isfinite(value)) {
        lull_linebuf_real(&json->line, value);
    } else {
        lull_linebuf_literal(&json->line, "null"); /* JSON has no word for it */
    }
}

static void on_text(void *user, const char *name, struct lull_text value)
{
    struct lull_event_json *json = user;
    add_name(json, name);
    lull_linebuf_json(&json->line, value.data, value.length);
}

static void on_blob(void *user, const char *name, struct lull_text bytes, const char *media_type)
{
    struct lull_event_json *json = user;
    add_name(json, name);
    lull_linebuf_char(&json->line, '"');
    lull_linebuf_hex_bytes(&json->line, bytes.data, bytes.length);
    lull_linebuf_char(&json->line, '"');
}

static void append_time(struct lull_event_json *json, int64_t time_ns)
{
    char text[LULL_TIME_TEXT_SIZE];
    if (!json->has_iso_times) {
        lull_linebuf_signed(&json->line, time_ns);
        return;
    }
    lull_time_format_iso(time_ns, json->local_time, text);
    lull_linebuf_char(&json->line, '"');
    lull_linebuf_string(&json->line, text);
    lull_linebuf_char(&json->line, '"');
}

static void start_event(struct lull_event_json *json, const struct lull_event *event)
{
    struct lull_linebuf *line = &json->line;
    const char *host = lull_session_host(json->session, event->host)->name;
    const char *name = lull_event_class_name(event->event_class);
    lull_linebuf_literal(line, "{\"time_ns\":");
    append_time(json, event->time_ns);
    lull_linebuf_literal(line, ",\"host\":");
    lull_linebuf_json(line, host, strlen(host));
    lull_linebuf_literal(line, ",\"cpu\":");
    if (event->cpu >= 0) {
        lull_linebuf_signed(line, event->cpu);
    } else {
        lull_linebuf_literal(line, "null");
    }
    const struct lull_trace *trace = lull_session_trace(json->session, event->trace);
    if (trace->process[0]) {
        lull_linebuf_literal(line, ",\"process\":{\"name\":");
        lull_linebuf_json(line, trace->process, strlen(trace->process));
        lull_linebuf_literal(line, ",\"pid\":");
        lull_linebuf_signed(line, trace->process_id);
        lull_linebuf_char(line, '}');
    }
    lull_linebuf_literal(line, ",\"name\":");
    lull_linebuf_json(line, name, strlen(name));
}

static void add_text_or_null(struct lull_linebuf *line, const char *text)
{
    if (text) {
        lull_linebuf_json(line, text, strlen(text));
    } else {
        lull_linebuf_literal(line, "null");
    }
}

/* As `lull symbols` has it. */
static void add_place(struct lull_linebuf *line, const struct lull_event_place *place)
{
    lull_linebuf_literal(line, ",\"place\":");
    if (!place) {
        lull_linebuf_literal(line, "null");
        return;
    }
    lull_linebuf_literal(line, "{\"file\":");
    add_text_or_null(line, place->object);
    char offset[32];
    g_snprintf(offset, sizeof offset, "0x%" PRIx64, place->offset);
    lull_linebuf_literal(line, ",\"offset\":");
    add_text_or_null(line, offset);
    lull_linebuf_literal(line, ",\"function\":");
    add_text_or_null(line, place->function);
    lull_linebuf_literal(line, ",\"source\":");
    add_text_or_null(line, place->source.file);
    lull_linebuf_literal(line, ",\"line\":");
    if (place->source.line > 0) {
        lull_linebuf_unsigned(line, place->source.line);
    } else {
        lull_linebuf_literal(line, "null");
    }
    lull_linebuf_char(line, '}');
}

static void end_event(struct lull_event_json *json, bool is_damaged)
{
    while (json->open.length) {
        close_bracket(json);
    }
    if (!json->has_context) {
        lull_linebuf_literal(&json->line, ",\"context\":{}");
    }
    if (!json->has_fields) {
        lull_linebuf_literal(&json->line, ",\"fields\":{}");
    }
    if (json->shows_places) {
        add_place(&json->line, json->place);
    }
    if (is_damaged) {
        lull_linebuf_literal(&json->line, ",\"damaged\":true");
    }
    lull_linebuf_literal(&json->line, "}\n");
}

void lull_event_json_clear(struct lull_event_json *json)
{
    lull_linebuf_free(&json->line);
    lull_linebuf_free(&json->open);
    g_clear_pointer(&json->twins, g_byte_array_unref);
    g_clear_pointer(&json->names, g_ptr_array_unref);
}

bool lull_event_json_format(struct lull_event_json *json, const struct lull_event *event,
                            GError **error)
{
    static const struct lull_visitor visitor = {
        .start = on_start,
        .end = on_end,
        .integer = on_integer,
        .real = on_real,
        .text = on_text,
        .blob = on_blob,
    };
    json->open.length = 0;
    json->needs_comma = false;
    json->has_context = json->has_fields = false;
    json->has_twins = has_twins(json, event->event_class);
    g_ptr_array_set_size(json->names, 0);
    start_event(json, event);
    bool done = lull_event_visit(event, &visitor, json, error);
    end_event(json, !done);
    return done;
}

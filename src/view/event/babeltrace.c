/* SPDX-License-Identifier: MIT */
/* Events in the text form of Babeltrace 2.0.4, byte for byte: scripts read it. What is known to
 * differ is in the manual page of `lull print`. */
#include "view/event/babeltrace.h"

#include <lull/error.h>

#include "source/event_layout.h"
#include "view/digits.h"

/* ---- options ---- */

struct word {
    const char *text;
    uint32_t bit;
};

/* Or's the bits of the words in `text`; "all" and "none" are separate. */
static bool parse_words(const char *option, const char *text, const struct word *words,
                        uint32_t *bits, bool *is_all, bool *is_none, GError **error)
{
    g_auto(GStrv) list = g_strsplit(text, ",", -1);
    *bits = 0;
    *is_all = *is_none = false;
    for (uint32_t i = 0; list[i]; i++) {
        const char *name = g_strstrip(list[i]);
        const struct word *word = words;
        while (word->text && strcmp(word->text, name) != 0) {
            word++;
        }
        *is_all |= strcmp(name, "all") == 0;
        *is_none |= strcmp(name, "none") == 0;
        if (word->text) {
            *bits |= word->bit;
        } else if (*name && strcmp(name, "all") != 0 && strcmp(name, "none") != 0) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "--%s does not know “%s”", option,
                        name);
            return false;
        }
    }
    if (*is_all && *is_none) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "--%s takes “all” or “none”, not both",
                    option);
        return false;
    }
    return true;
}

bool lull_babeltrace_parse_fields(const char *text, uint32_t *fields, GError **error)
{
    static const struct word words[] = {
        {"trace", LULL_BABELTRACE_TRACE},
        {"trace:hostname", LULL_BABELTRACE_HOSTNAME},
        {"trace:domain", LULL_BABELTRACE_DOMAIN},
        {"trace:procname", LULL_BABELTRACE_PROCNAME},
        {"trace:vpid", LULL_BABELTRACE_VPID},
        {"loglevel", LULL_BABELTRACE_LOGLEVEL},
        {"emf", LULL_BABELTRACE_EMF},
        {"callsite", LULL_BABELTRACE_CALLSITE},
        {NULL, 0},
    };
    const uint32_t usual =
        LULL_BABELTRACE_HOSTNAME | LULL_BABELTRACE_PROCNAME | LULL_BABELTRACE_VPID;
    bool is_all = false, is_none = false;
    *fields = 0;
    if (text && !parse_words("fields", text, words, fields, &is_all, &is_none, error)) {
        return false;
    }
    if (is_all) {
        *fields = LULL_BABELTRACE_ALL_FIELDS;
    } else if (*fields == 0 && !is_none) {
        *fields = usual;
    }
    return true;
}

bool lull_babeltrace_parse_names(const char *text, uint32_t *names, GError **error)
{
    static const struct word words[] = {
        {"payload", LULL_BABELTRACE_NAME_PAYLOAD}, {"args", LULL_BABELTRACE_NAME_PAYLOAD},
        {"arg", LULL_BABELTRACE_NAME_PAYLOAD},     {"context", LULL_BABELTRACE_NAME_CONTEXT},
        {"ctx", LULL_BABELTRACE_NAME_CONTEXT},     {"scope", LULL_BABELTRACE_NAME_SCOPE},
        {"header", LULL_BABELTRACE_NAME_HEADER},   {NULL, 0},
    };
    bool is_all = false, is_none = false;
    *names = 0;
    if (text && !parse_words("names", text, words, names, &is_all, &is_none, error)) {
        return false;
    }
    if (is_all) {
        *names = LULL_BABELTRACE_ALL_NAMES;
    } else if (*names == 0 && !is_none) {
        *names = LULL_BABELTRACE_NAME_PAYLOAD | LULL_BABELTRACE_NAME_CONTEXT;
    }
    return true;
}

/* ---- what is the same for all events ---- */

static void make_ready(struct lull_event_babeltrace *text)
{
    struct lull_dialect *dialect = &text->fields.dialect;
    *dialect = lull_dialect_babeltrace;
    const bool context = (text->shown_names & LULL_BABELTRACE_NAME_CONTEXT) != 0;
    dialect->with_names[LULL_BRACKET_PACKET] = context;
    dialect->with_names[LULL_BRACKET_COMMON] = context;
    dialect->with_names[LULL_BRACKET_CONTEXT] = context;
    dialect->with_names[LULL_BRACKET_PAYLOAD] =
        (text->shown_names & LULL_BABELTRACE_NAME_PAYLOAD) != 0;
    if (text->shown_names & LULL_BABELTRACE_NAME_SCOPE) {
        dialect->scope_names[LULL_BRACKET_PACKET] = "stream.packet.context";
        dialect->scope_names[LULL_BRACKET_COMMON] = "stream.event.context";
        dialect->scope_names[LULL_BRACKET_CONTEXT] = "event.context";
        dialect->scope_names[LULL_BRACKET_PAYLOAD] = "event.fields";
    }
    text->fields.always_walks = text->always_walks;
    text->is_ready = true;
}

void lull_event_babeltrace_clear(struct lull_event_babeltrace *text)
{
    for (uint32_t i = 0; i < text->n_packets; i++) {
        lull_linebuf_free(&text->packets[i]);
    }
    g_clear_pointer(&text->packets, g_free);
    g_clear_pointer(&text->packet_ids, g_free);
    lull_event_fields_clear(&text->fields);
    lull_linebuf_free(&text->line);
}

/* ---- packets ---- */

static void grow_packets(struct lull_event_babeltrace *text, uint32_t stream)
{
    const uint32_t n = MAX(stream + 1, text->n_packets * 2);
    text->packets = g_renew(struct lull_linebuf, text->packets, n);
    text->packet_ids = g_renew(uint64_t, text->packet_ids, n);
    for (uint32_t i = text->n_packets; i < n; i++) {
        text->packets[i] = (struct lull_linebuf){0};
        text->packet_ids[i] = UINT64_MAX;
    }
    text->n_packets = n;
}

/* What the packet of the event says: made anew when a stream has come to its next packet. */
static const struct lull_linebuf *packet_text(struct lull_event_babeltrace *text,
                                              const struct lull_event *event)
{
    struct lull_event_bytes bytes;
    lull_event_bytes(event, &bytes);
    if (G_UNLIKELY(event->stream >= text->n_packets)) {
        grow_packets(text, event->stream);
    }
    struct lull_linebuf *line = &text->packets[event->stream];
    if (G_UNLIKELY(text->packet_ids[event->stream] != bytes.packet)) {
        struct lull_event_writer writer = {.dialect = &text->fields.dialect, .line = line};
        line->length = 0;
        text->packet_ids[event->stream] = bytes.packet;
        /* What cannot be read here has just been read as part of the packet. */
        lull_event_writer_visit_packet(&writer, event, NULL);
    }
    return line;
}

/* ---- heads ---- */

static const char *log_level_name(int64_t level)
{
    static const char *const names[] = {
        "TRACE_EMERG",          "TRACE_ALERT",         "TRACE_CRIT",         "TRACE_ERR",
        "TRACE_WARNING",        "TRACE_NOTICE",        "TRACE_INFO",         "TRACE_DEBUG_SYSTEM",
        "TRACE_DEBUG_PROGRAM",  "TRACE_DEBUG_PROCESS", "TRACE_DEBUG_MODULE", "TRACE_DEBUG_UNIT",
        "TRACE_DEBUG_FUNCTION", "TRACE_DEBUG_LINE",    "TRACE_DEBUG",
    };
    return level >= 0 && level < (int64_t)G_N_ELEMENTS(names) ? names[level] : NULL;
}

/* A head under way. */
struct head {
    struct lull_linebuf *line;
    bool with_names;
    bool has_time;
    bool has_part; /* one of those in a group, separated by colons */
};

/* What precedes a part of the header: its name, or the colon. */
static void start_part(struct head *head, const char *name)
{
    if (head->with_names) {
        if (head->has_time) {
            lull_linebuf_literal(head->line, ", ");
        }
        lull_linebuf_string(head->line, name);
        lull_linebuf_literal(head->line, " = ");
    } else if (head->has_part) {
        lull_linebuf_char(head->line, ':');
    }
    head->has_part = true;
}

static void add_part(struct head *head, const char *name, const char *value)
{
    start_part(head, name);
    lull_linebuf_string(head->line, value);
}

/* The host's name, and where the trace lies; then, with names, one comma more than there should be.
 */
static void add_trace_name(const struct lull_event_babeltrace *text, struct head *head,
                           const struct lull_event *event)
{
    const char *host = lull_session_environment(text->session, event->trace, "hostname");
    const char *below = lull_session_trace(text->session, event->trace)->below;
    start_part(head, "trace");
    head->has_part = false;
    if (host) {
        lull_linebuf_string(head->line, host);
        lull_linebuf_string(head->line, *below ? "/" : "");
    }
    lull_linebuf_string(head->line, below);
    if (head->with_names) {
        lull_linebuf_literal(head->line, ", ");
    }
}

static void add_environment(const struct lull_event_babeltrace *text, struct head *head,
                            const struct lull_event *event)
{
    static const struct {
        uint32_t bit;
        const char *key, *name;
    } parts[] = {
        {LULL_BABELTRACE_HOSTNAME, "hostname", "trace:hostname"},
        {LULL_BABELTRACE_DOMAIN, "domain", "trace:domain"},
        {LULL_BABELTRACE_PROCNAME, "procname", "trace:procname"},
        {LULL_BABELTRACE_VPID, "vpid", "trace:vpid"},
    };
    for (uint32_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        const char *value = lull_session_environment(text->session, event->trace, parts[i].key);
        if (!(text->shown_fields & parts[i].bit) || !value) {
            continue;
        }
        if (parts[i].bit == LULL_BABELTRACE_VPID) {
            g_autofree char *number = g_strdup_printf("(%s)", value);
            add_part(head, parts[i].name, number);
        } else {
            add_part(head, parts[i].name, value);
        }
    }
}

static void add_class(const struct lull_event_babeltrace *text, struct head *head,
                      const struct lull_event_class *event_class)
{
    const int64_t level = lull_event_class_log_level(event_class);
    const char *level_name = log_level_name(level);
    const char *uri = lull_event_class_model_uri(event_class);
    if ((text->shown_fields & LULL_BABELTRACE_LOGLEVEL) && level_name) {
        g_autofree char *shown = g_strdup_printf("%s (%d)", level_name, (int)level);
        add_part(head, "loglevel", shown);
    }
    if ((text->shown_fields & LULL_BABELTRACE_EMF) && uri && *uri) {
        add_part(head, "model.emf.uri", uri);
    }
}

/* Everything between the time and the fields. */
static void learn(struct lull_event_babeltrace *text, struct lull_event_head *head,
                  const struct lull_event *event, bool has_time, bool has_packet)
{
    const char *name = lull_event_class_name(event->event_class);
    struct head state = {
        .line = &head->before,
        .with_names = (text->shown_names & LULL_BABELTRACE_NAME_HEADER) != 0,
        .has_time = has_time,
    };
    if (text->shown_fields & LULL_BABELTRACE_TRACE) {
        add_trace_name(text, &state, event);
    }
    add_environment(text, &state, event);
    add_class(text, &state, event->event_class);
    if (state.has_part && !state.with_names) {
        lull_linebuf_char(state.line, ' ');
    }
    state.has_part = false;
    start_part(&state, "name");
    lull_linebuf_string(state.line, *name ? name : "<unknown>");
    lull_linebuf_string(state.line, state.with_names ? ", " : ": ");
    lull_event_fields_learn(&text->fields, head, event, has_packet);
}

/* ---- times ---- */

/* "(+0.000001234) ", or as many question marks for the first event; and for a cycle backwards,
 * which babeltrace2 does not distinguish from it. */
static void add_delta(struct lull_event_babeltrace *text, uint64_t now, bool with_names)
{
    struct lull_linebuf *line = &text->line;
    const bool is_cycles = text->clock.style == LULL_TIME_CYCLES;
    const uint64_t delta = now - text->last;
    lull_linebuf_string(line, with_names ? ", delta = +" : "(+");
    if (!text->has_last || delta == UINT64_MAX) {
        lull_linebuf_string(line, is_cycles ? "????????????" : "?.?????????");
    } else if (is_cycles) {
        lull_event_clock_add_cycles(line, delta, 12);
    } else {
        char *start = lull_linebuf_reserve(line, 64);
        char *out = lull_put_unsigned(start, delta / LULL_NS_PER_S);
        *out++ = '.';
        out = lull_put_nanoseconds(out, (uint32_t)(delta % LULL_NS_PER_S));
        line->length += (size_t)(out - start);
    }
    if (!with_names) {
        lull_linebuf_literal(line, ") ");
    }
}

static void add_time(struct lull_event_babeltrace *text, const struct lull_event *event,
                     uint64_t cycles)
{
    const bool with_names = (text->shown_names & LULL_BABELTRACE_NAME_HEADER) != 0;
    const bool is_cycles = text->clock.style == LULL_TIME_CYCLES;
    lull_linebuf_string(&text->line, with_names ? "timestamp = " : "[");
    if (event->time_ns < 0 && !is_cycles) { /* before 1970 there is no time of day */
        lull_event_clock_add_seconds(&text->line, event->time_ns);
    } else {
        lull_event_clock_add(&text->clock, &text->line, event);
    }
    if (!with_names) {
        lull_linebuf_literal(&text->line, "] ");
    }
    const uint64_t now = is_cycles ? cycles : (uint64_t)event->time_ns;
    if (!text->no_delta) {
        add_delta(text, now, with_names);
    }
    text->last = now;
    text->has_last = true;
}

bool lull_event_babeltrace_format(struct lull_event_babeltrace *text,
                                  const struct lull_event *event, GError **error)
{
    struct lull_linebuf *line = &text->line;
    uint64_t cycles;
    if (G_UNLIKELY(!text->is_ready)) {
        make_ready(text);
    }
    const bool has_time = lull_event_cycles(event, &cycles);
    const struct lull_linebuf *packet = packet_text(text, event);
    struct lull_event_head *head = lull_event_fields_head(&text->fields, event);
    if (G_UNLIKELY(!head->is_known)) {
        learn(text, head, event, has_time, packet->length > 0);
    }
    if (has_time) {
        add_time(text, event, cycles);
    }
    lull_linebuf_bytes(line, head->before.data, head->before.length);
    lull_linebuf_bytes(line, packet->data, packet->length);
    bool done = lull_event_fields_add(&text->fields, head, event, line, error);
    lull_linebuf_char(line, '\n');
    return done;
}

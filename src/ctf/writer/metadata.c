/* SPDX-License-Identifier: MIT */
/* The metadata stream of a CTF 2 trace from a schema: a sequence of JSON texts, one a fragment
 * (CTF2-SPEC-2.0, 5). */
#include "ctf/writer/writer.h"

#include <string.h>

#include "ctf/writer/json.h"

#define NS_PER_S 1000000000

struct composer {
    const struct lull_schema *schema;
    const struct lull_ctf_writer_clock *clock;
    struct lull_json_classes *classes;
    GString *text;
};

/* Appends a fragment and frees it: RFC 7464. */
static void append(GString *text, struct json_object *fragment)
{
    g_string_append_c(text, '\x1e');
    g_string_append(text, json_object_to_json_string_ext(
                              fragment, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    g_string_append_c(text, '\n');
    json_object_put(fragment);
}

static struct json_object *fragment(const char *type)
{
    struct json_object *object = json_object_new_object();
    json_object_object_add(object, "type", json_object_new_string(type));
    return object;
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
    if (text) {
        json_object_object_add(object, key, lull_json_text(text));
    }
}

static char *uuid_text(const uint8_t uuid[16])
{
    GString *text = g_string_new(NULL);
    for (unsigned i = 0; i < 16; i++) {
        g_string_append_printf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               uuid[i]);
    }
    return g_string_free(text, FALSE);
}

static void add_identity(struct json_object *object, const struct lull_identity *identity)
{
    add_text(object, "namespace", identity->name_space);
    add_text(object, "name", identity->name);
    add_text(object, "uid", identity->uid);
}

/* Adds the field class of `fc` under `key`; true if there is none. */
static bool add_class(struct composer *c, struct json_object *object, const char *key,
                      const struct lull_fc *fc, GError **error)
{
    if (!fc) {
        return true;
    }
    struct json_object *inner = lull_json_class(c->classes, fc, error);
    if (inner) {
        json_object_object_add(object, key, inner);
    }
    return inner != NULL;
}

/* ---- the trace ---- */

static void put_trace(struct composer *c, const struct lull_ctf_writer_env *env)
{
    const struct lull_schema *schema = c->schema;
    struct json_object *object = fragment("trace-class");
    add_identity(object, &schema->identity);
    if (schema->major < 2 && schema->has_uuid) {
        g_autofree char *uid = uuid_text(schema->uuid);
        add_text(object, "uid", uid);
    }
    struct json_object *entries = json_object_new_object();
    for (uint32_t i = 0; i < schema->n_env; i++) {
        const struct lull_env_entry *entry = &schema->env[i];
        g_autofree char *key = g_utf8_make_valid(entry->key, -1);
        json_object_object_add(entries, key,
                               entry->text ? lull_json_text(entry->text)
                                           : json_object_new_int64(entry->number));
    }
    for (; env->key; env++) {
        add_text(entries, env->key, env->text);
    }
    json_object_object_add(object, "environment", entries);

    struct json_object *header = lull_json_structure();
    lull_json_add_member(header, "magic", lull_json_unsigned(32, "packet-magic-number"));
    struct json_object *uuid = fragment("static-length-blob");
    struct json_object *roles = json_object_new_array();
    json_object_array_add(roles, json_object_new_string("metadata-stream-uuid"));
    json_object_object_add(uuid, "length", json_object_new_int(16));
    json_object_object_add(uuid, "roles", roles);
    lull_json_add_member(header, "uuid", uuid);
    lull_json_add_member(header, "stream_id", lull_json_unsigned(64, "data-stream-class-id"));
    lull_json_add_member(header, "stream_instance_id", lull_json_unsigned(64, "data-stream-id"));
    json_object_object_add(object, "packet-header-field-class", header);
    append(c->text, object);
}

/* ---- clocks ---- */

/* By which data stream classes refer to a clock. */
static char *clock_id(const struct composer *c, const struct lull_clock *clock)
{
    return g_strdup_printf("clock-%td", clock - c->schema->clocks);
}

static uint64_t rescale(uint64_t cycles, uint64_t frequency)
{
    unsigned __int128 ns = (unsigned __int128)cycles * NS_PER_S + (frequency - 1);
    ns /= frequency;
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static void add_offset(struct json_object *object, int64_t seconds, uint64_t cycles)
{
    struct json_object *offset = json_object_new_object();
    json_object_object_add(offset, "seconds", json_object_new_int64(seconds));
    json_object_object_add(offset, "cycles", json_object_new_uint64(cycles));
    json_object_object_add(object, "offset-from-origin", offset);
}

/* Origins of CTF 1.8 clocks are the Unix epoch by the specification's definition of offset_s. */
static void add_origin(const struct composer *c, struct json_object *object,
                       const struct lull_clock *clock)
{
    if (c->schema->major < 2 || clock->origin == LULL_ORIGIN_UNIX_EPOCH) {
        add_text(object, "origin", "unix-epoch");
    } else if (clock->origin == LULL_ORIGIN_NAMED) {
        struct json_object *origin = json_object_new_object();
        add_identity(origin, &clock->origin_identity);
        json_object_object_add(object, "origin", origin);
    }
}

static void put_clock(struct composer *c, const struct lull_clock *clock)
{
    struct json_object *object = fragment("clock-class");
    bool is_new = c->clock->is_rewritten;
    g_autofree char *id = clock_id(c, clock);
    add_text(object, "id", id);
    if (clock->name[0] != '\0') {
        add_text(object, "name", clock->name);
    }
    add_identity(object, &clock->identity);
    if (clock->has_uuid && !clock->identity.uid) {
        g_autofree char *uid = uuid_text(clock->uuid);
        add_text(object, "uid", uid);
    }
    add_text(object, "description", clock->description);
    json_object_object_add(object, "frequency",
                           json_object_new_uint64(is_new ? NS_PER_S : clock->frequency));
    add_origin(c, object, clock);
    if (is_new) {
        int64_t seconds = c->clock->offset_ns / NS_PER_S, rest = c->clock->offset_ns % NS_PER_S;
        add_offset(object, rest < 0 ? seconds - 1 : seconds,
                   (uint64_t)(rest < 0 ? rest + NS_PER_S : rest));
    } else {
        /* CTF 2 wants fewer cycles than a second has. */
        add_offset(object,
                   (int64_t)((uint64_t)clock->offset_s + clock->offset_cycles / clock->frequency),
                   clock->offset_cycles % clock->frequency);
    }
    if (clock->precision > 0) {
        json_object_object_add(
            object, "precision",
            json_object_new_uint64(is_new ? rescale(clock->precision, clock->frequency)
                                          : clock->precision));
    }
    if (clock->has_accuracy) {
        json_object_object_add(
            object, "accuracy",
            json_object_new_uint64(is_new ? rescale(clock->accuracy, clock->frequency)
                                          : clock->accuracy));
    }
    append(c->text, object);
}

/* ---- data streams ---- */

static bool add_packet_context(struct composer *c, struct json_object *object,
                               const struct lull_ctf_layout *layout, GError **error)
{
    struct json_object *context = lull_json_structure();
    json_object_object_add(object, "packet-context-field-class", context);
    lull_json_add_member(context, "packet_size", lull_json_unsigned(64, "packet-total-length"));
    lull_json_add_member(context, "content_size", lull_json_unsigned(64, "packet-content-length"));
    lull_json_add_member(context, "packet_seq_num",
                         lull_json_unsigned(64, "packet-sequence-number"));
    if (layout->has_clock) {
        lull_json_add_member(context, "timestamp_begin",
                             lull_json_unsigned(64, "default-clock-timestamp"));
        lull_json_add_member(context, "timestamp_end",
                             lull_json_unsigned(64, "packet-end-default-clock-timestamp"));
    }
    if (layout->has_discarded) {
        lull_json_add_member(context, "events_discarded",
                             lull_json_unsigned(64, "discarded-event-record-counter-snapshot"));
    }
    if (layout->has_cpu) {
        lull_json_add_member(context, "cpu_id", lull_json_unsigned(32, NULL));
    }
    if (!layout->carries_packet) {
        return true;
    }
    struct json_object *input = lull_json_structure();
    lull_json_add_member(context, "input", input);
    json_object_object_add(input, "minimum-alignment", json_object_new_int64(layout->packet_align));
    const struct lull_fc *parts[] = {c->schema->packet_header,
                                     layout->stream->decl->packet_context};
    for (unsigned i = 0; i < 2; i++) {
        struct json_object *part =
            parts[i] ? lull_json_class(c->classes, parts[i], error) : lull_json_structure();
        if (!part) {
            return false;
        }
        lull_json_add_member(input, i == 0 ? "header" : "context", part);
    }
    return true;
}

static bool add_event_header(struct composer *c, struct json_object *object,
                             const struct lull_ctf_layout *layout, GError **error)
{
    struct json_object *header = lull_json_structure();
    json_object_object_add(object, "event-record-header-field-class", header);
    lull_json_add_member(header, "id",
                         lull_json_unsigned(layout->id_bytes * 8u, "event-record-class-id"));
    if (layout->has_clock) {
        lull_json_add_member(header, "timestamp",
                             lull_json_unsigned(64, "default-clock-timestamp"));
    }
    if (layout->has_padding) {
        lull_json_add_member(header, "padding_length", lull_json_unsigned(16, NULL));
        struct lull_fc bit = {.kind = LULL_FC_INT, .alignment = 1};
        bit.integer.size = 1;
        bit.integer.base = 2;
        bit.integer.is_big_endian = layout->pad_big_endian;
        bit.integer.is_bit_reversed = layout->pad_bit_reversed;
        struct json_object *padding = fragment("dynamic-length-array");
        struct json_object *location = json_object_new_object(), *path = json_object_new_array();
        json_object_object_add(padding, "element-field-class",
                               lull_json_class(c->classes, &bit, NULL));
        json_object_array_add(path, json_object_new_string("padding_length"));
        add_text(location, "origin", "event-record-header");
        json_object_object_add(location, "path", path);
        json_object_object_add(padding, "length-field-location", location);
        lull_json_add_member(header, "padding", padding);
    }
    if (!layout->carries_header) {
        return true;
    }
    struct json_object *input =
        lull_json_class(c->classes, layout->stream->decl->event_header, error);
    if (input) {
        lull_json_add_member(header, "input", input);
    }
    return input != NULL;
}

static bool put_stream(struct composer *c, const struct lull_ctf_layout *layout, GError **error)
{
    const struct lull_stream_decl *decl = layout->stream->decl;
    struct json_object *object = fragment("data-stream-class");
    lull_json_classes_enter(c->classes, decl, NULL);
    json_object_object_add(object, "id", json_object_new_uint64(decl->id));
    add_identity(object, &decl->identity);
    if (layout->has_clock) {
        g_autofree char *id = clock_id(c, layout->stream->clock);
        add_text(object, "default-clock-class-id", id);
    }
    if (add_packet_context(c, object, layout, error) &&
        add_event_header(c, object, layout, error) &&
        add_class(c, object, "event-record-common-context-field-class", decl->event_context,
                  error)) {
        append(c->text, object);
        return true;
    }
    json_object_put(object);
    return false;
}

/* ---- event records ---- */

/* The attributes by which Babeltrace 2 knows what CTF 2 has no property for. */
static void add_attributes(struct json_object *object, const struct lull_event_decl *event)
{
    static const char *const levels[] = {
        "emergency",    "alert",      "critical",       "error",         "warning",
        "notice",       "info",       "debug:system",   "debug:program", "debug:process",
        "debug:module", "debug:unit", "debug:function", "debug:line",    "debug",
    };
    struct json_object *ours = json_object_new_object();
    if (event->loglevel >= 0 && event->loglevel < (int64_t)G_N_ELEMENTS(levels)) {
        add_text(ours, "log-level", levels[event->loglevel]);
    }
    add_text(ours, "emf-uri", event->emf_uri);
    if (json_object_object_length(ours) == 0) {
        json_object_put(ours);
        return;
    }
    struct json_object *attributes = json_object_new_object();
    json_object_object_add(attributes, "babeltrace.org,2020", ours);
    json_object_object_add(object, "attributes", attributes);
}

static bool put_event(struct composer *c, const struct lull_stream_decl *stream,
                      const struct lull_event_decl *event, GError **error)
{
    struct json_object *object = fragment("event-record-class");
    lull_json_classes_enter(c->classes, stream, event);
    json_object_object_add(object, "id", json_object_new_uint64(event->id));
    json_object_object_add(object, "data-stream-class-id", json_object_new_uint64(stream->id));
    add_text(object, "namespace", event->name_space);
    if (event->name[0] != '\0') {
        add_text(object, "name", event->name);
    }
    add_text(object, "uid", event->uid);
    add_attributes(object, event);
    if (add_class(c, object, "specific-context-field-class", event->context, error) &&
        add_class(c, object, "payload-field-class", event->payload, error)) {
        append(c->text, object);
        return true;
    }
    g_prefix_error(error, "event %s: ", event->name);
    json_object_put(object);
    return false;
}

/* ---- all of it ---- */

/* A name-based UUID (RFC 4122, 4.3) of the rest of the metadata. */
static void put_preamble(GString *out, const GString *rest, uint8_t uuid[16])
{
    uint8_t digest[20];
    gsize length = sizeof digest;
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
    g_checksum_update(sum, (const guchar *)rest->str, (gssize)rest->len);
    g_checksum_get_digest(sum, digest, &length);
    memcpy(uuid, digest, 16);
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x50);
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
    struct json_object *object = fragment("preamble"), *bytes = json_object_new_array();
    json_object_object_add(object, "version", json_object_new_int(2));
    for (unsigned i = 0; i < 16; i++) {
        json_object_array_add(bytes, json_object_new_int(uuid[i]));
    }
    json_object_object_add(object, "uuid", bytes);
    append(out, object);
}

static bool compose(struct composer *c, const struct lull_ctf_plan *plan,
                    const struct lull_ctf_layout *layouts, const struct lull_ctf_writer_env *env,
                    GError **error)
{
    put_trace(c, env);
    for (uint32_t i = 0; i < c->schema->n_clocks; i++) {
        bool is_used = false;
        for (uint32_t k = 0; k < c->schema->n_streams; k++) {
            is_used |= plan->streams[k].clock == &c->schema->clocks[i];
        }
        if (is_used) {
            put_clock(c, &c->schema->clocks[i]);
        }
    }
    for (uint32_t i = 0; i < c->schema->n_streams; i++) {
        const struct lull_stream_decl *stream = &c->schema->streams[i];
        if (!put_stream(c, &layouts[i], error)) {
            return false;
        }
        for (uint32_t e = 0; e < stream->n_events; e++) {
            if (!put_event(c, stream, &stream->events[e], error)) {
                return false;
            }
        }
    }
    if (c->schema->n_streams == 0) { /* nothing had been enabled yet; CTF 2 wants at least one */
        append(c->text, fragment("data-stream-class"));
    }
    return true;
}

GString *lull_ctf_writer_metadata(const struct lull_ctf_plan *plan,
                                  const struct lull_ctf_layout *layouts,
                                  const struct lull_ctf_writer_clock *clock,
                                  const struct lull_ctf_writer_env *env, uint8_t uuid[16],
                                  GError **error)
{
    struct composer c = {
        .schema = plan->schema,
        .clock = clock,
        .classes = lull_json_classes_new(plan->schema),
        .text = g_string_new(NULL),
    };
    GString *out = NULL;
    if (compose(&c, plan, layouts, env, error)) {
        out = g_string_new(NULL);
        put_preamble(out, c.text, uuid);
        g_string_append_len(out, c.text->str, (gssize)c.text->len);
    }
    lull_json_classes_free(c.classes);
    g_string_free(c.text, TRUE);
    return out;
}

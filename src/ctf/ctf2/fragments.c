/* SPDX-License-Identifier: MIT */
/* Fragments of CTF 2 metadata (CTF2-SPEC-2.0, sections 5.4 to 5.9): which may occur where, and what
 * each declares. */
#include "ctf/ctf2/fields.h"

#include <string.h>

static struct draft_origin origin_of(const struct ctf2_at *at)
{
    return (struct draft_origin){at->source->fragment, at->source->offset};
}

/* The properties `namespace`, `name` and `uid`. */
static bool get_identity(struct draft_tree *tree, const struct ctf2_at *at,
                         struct lull_identity *identity)
{
    return ctf2_get_copy(tree, at, "namespace", &identity->name_space) &&
           ctf2_get_copy(tree, at, "name", &identity->name) &&
           ctf2_get_copy(tree, at, "uid", &identity->uid);
}

static bool get_uuid(struct draft_tree *tree, const struct ctf2_at *at)
{
    struct ctf2_at position;
    size_t length;

    if (!ctf2_property(at, "uuid", &position)) {
        return true;
    }
    if (!ctf2_is_array(&position, &length)) {
        return false;
    }
    if (length != 16) {
        return ctf2_fail(&position, LULL_ERROR_FORMAT, "a UUID has 16 bytes, not %zu", length);
    }
    for (size_t i = 0; i < length; i++) {
        struct ctf2_at byte = ctf2_element(&position, i);
        uint64_t value;
        if (!ctf2_unsigned(&byte, &value)) {
            return false;
        }
        if (value > 255) {
            return ctf2_fail(&byte, LULL_ERROR_FORMAT, "%" G_GUINT64_FORMAT " is no byte", value);
        }
        tree->uuid[i] = (uint8_t)value;
    }
    tree->has_uuid = true;
    return true;
}

static bool parse_preamble(struct draft_tree *tree, const struct ctf2_at *at)
{
    static const char *const keys[] = {"type", "version", "uuid", NULL};
    struct ctf2_at version;
    uint64_t number;

    /* The version first: another one may have other properties. */
    if (!ctf2_required(at, "version", &version) || !ctf2_unsigned(&version, &number)) {
        return false;
    }
    if (number != 2) {
        return ctf2_fail(&version, LULL_ERROR_UNSUPPORTED,
                         "version %" G_GUINT64_FORMAT " of CTF: in JSON only 2 is understood",
                         number);
    }
    return ctf2_check_object(at, keys) && get_uuid(tree, at);
}

static bool parse_alias(struct draft_tree *tree, const struct ctf2_at *at)
{
    static const char *const keys[] = {"type", "name", "field-class", NULL};
    struct ctf2_at position, name_position;
    const struct draft_atom *name;

    if (!ctf2_check_object(at, keys) || !ctf2_required(at, "name", &name_position) ||
        !ctf2_name(tree, &name_position, &name) || !ctf2_required(at, "field-class", &position)) {
        return false;
    }
    struct draft_class *type = ctf2_parse_type(tree, &position);
    if (!type) {
        return false;
    }
    return draft_names_bind(&tree->names, &tree->packet_header, name, type) ||
           ctf2_fail(&name_position, LULL_ERROR_FORMAT, "there is an alias '%.60s' already",
                     name->text);
}

static bool get_environment(struct draft_tree *tree, const struct ctf2_at *at)
{
    struct ctf2_at position;

    if (!ctf2_property(at, "environment", &position)) {
        return true;
    }
    if (!ctf2_is_object(&position)) {
        return false;
    }
    json_object_object_foreach(position.value, key, value)
    {
        struct ctf2_at entry = {
            .source = at->source, .parent = &position, .key = key, .value = value};
        struct lull_env_entry env = {.key = draft_names_add(&tree->names, key, strlen(key))->text};
        const struct draft_atom *text = NULL;
        if (json_object_is_type(value, json_type_int) ? !ctf2_signed(&entry, &env.number)
                                                      : !ctf2_name(tree, &entry, &text)) {
            return false;
        }
        env.text = text ? text->text : NULL;
        g_array_append_val(tree->env, env);
    }
    return true;
}

static bool parse_trace(struct draft_tree *tree, const struct ctf2_at *at)
{
    static const char *const keys[] = {
        "type", "namespace", "name", "uid", "environment", "packet-header-field-class", NULL};

    if (tree->has_trace) {
        return ctf2_fail(at, LULL_ERROR_FORMAT, "fragment %u is a trace class already",
                         tree->trace_origin.fragment);
    }
    if (tree->streams->len > 0) {
        return ctf2_fail(at, LULL_ERROR_FORMAT, "a trace class after a data stream class");
    }
    tree->has_trace = true;
    tree->trace_origin = origin_of(at);
    return ctf2_check_object(at, keys) && get_identity(tree, at, &tree->identity) &&
           get_environment(tree, at) &&
           ctf2_get_scope(tree, at, "packet-header-field-class", &tree->packet_header);
}

static bool get_clock_origin(struct draft_tree *tree, const struct ctf2_at *at,
                             struct lull_clock *clock)
{
    static const char *const names[] = {"unix-epoch", NULL};
    static const char *const keys[] = {"namespace", "name", "uid", NULL};
    struct ctf2_at position, part;
    int choice;

    clock->origin = LULL_ORIGIN_UNKNOWN;
    if (!ctf2_property(at, "origin", &position)) {
        return true;
    }
    if (json_object_is_type(position.value, json_type_string)) {
        clock->origin = LULL_ORIGIN_UNIX_EPOCH;
        clock->is_absolute = true;
        return ctf2_get_choice(at, "origin", names, &choice);
    }
    clock->origin = LULL_ORIGIN_NAMED;
    return ctf2_check_plain_object(&position, keys) && ctf2_required(&position, "name", &part) &&
           ctf2_required(&position, "uid", &part) &&
           get_identity(tree, &position, &clock->origin_identity);
}

static bool get_clock_offset(const struct ctf2_at *at, struct lull_clock *clock)
{
    static const char *const keys[] = {"seconds", "cycles", NULL};
    struct ctf2_at position, seconds, cycles;

    if (!ctf2_property(at, "offset-from-origin", &position)) {
        return true;
    }
    if (!ctf2_check_plain_object(&position, keys) ||
        (ctf2_property(&position, "seconds", &seconds) &&
         !ctf2_signed(&seconds, &clock->offset_s))) {
        return false;
    }
    if (!ctf2_property(&position, "cycles", &cycles)) {
        return true;
    }
    if (!ctf2_unsigned(&cycles, &clock->offset_cycles)) {
        return false;
    }
    return clock->offset_cycles < clock->frequency ||
           ctf2_fail(&cycles, LULL_ERROR_FORMAT,
                     "%" G_GUINT64_FORMAT " cycles are a second or more at %" G_GUINT64_FORMAT
                     " Hz",
                     clock->offset_cycles, clock->frequency);
}

/* LTTng's UID of a clock is the boot's UUID. */
static void take_uuid(struct lull_clock *clock)
{
    const char *uid = clock->identity.uid;

    if (!uid || !g_uuid_string_is_valid(uid)) {
        return;
    }
    size_t n = 0;
    for (; n < 16; uid += 2) {
        uid += *uid == '-';
        clock->uuid[n++] =
            (uint8_t)(g_ascii_xdigit_value(uid[0]) << 4 | g_ascii_xdigit_value(uid[1]));
    }
    clock->has_uuid = true;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* What clocks of the same identity must have in common (section 5.7). */
static bool agree(const struct lull_clock *a, const struct lull_clock *b)
{
    const struct lull_identity *x = &a->origin_identity, *y = &b->origin_identity;
    return a->frequency == b->frequency && a->precision == b->precision &&
           a->has_accuracy == b->has_accuracy && a->accuracy == b->accuracy &&
           a->origin == b->origin && is_same_text(x->name_space, y->name_space) &&
           is_same_text(x->name, y->name) && is_same_text(x->uid, y->uid);
}

static bool check_identity(struct draft_tree *tree, const struct ctf2_at *at,
                           const struct lull_clock *clock)
{
    const struct lull_identity *identity = &clock->identity;

    if (!identity->name || !identity->uid) {
        return true;
    }
    /* Lengths keep apart what runs together. */
    char *text = g_strdup_printf(
        "%d %zu %zu %s%s%s", identity->name_space != NULL,
        identity->name_space ? strlen(identity->name_space) : 0, strlen(identity->name),
        identity->name_space ? identity->name_space : "", identity->name, identity->uid);
    const struct draft_atom *name = draft_names_add(&tree->names, text, strlen(text));
    gpointer index = draft_names_bound(&tree->names, &tree->identity, name);
    g_free(text);
    if (!index) {
        return draft_names_bind(&tree->names, &tree->identity, name,
                                GUINT_TO_POINTER(tree->clocks->len + 1));
    }
    return agree(clock,
                 &g_array_index(tree->clocks, struct lull_clock, GPOINTER_TO_UINT(index) - 1)) ||
           ctf2_fail(at, LULL_ERROR_FORMAT,
                     "a clock of the same namespace, name and uid has another frequency, "
                     "precision, accuracy or origin");
}

static bool parse_clock(struct draft_tree *tree, const struct ctf2_at *at)
{
    static const char *const keys[] = {"type",   "id",        "namespace",          "name",
                                       "uid",    "frequency", "description",        "precision",
                                       "origin", "accuracy",  "offset-from-origin", NULL};
    struct lull_clock clock = {.name = NULL};
    const struct draft_atom *id;
    struct ctf2_at position, id_position;

    if (!ctf2_check_object(at, keys) || !ctf2_required(at, "id", &id_position) ||
        !ctf2_name(tree, &id_position, &id) || !get_identity(tree, at, &clock.identity) ||
        !ctf2_get_copy(tree, at, "description", &clock.description) ||
        !ctf2_required(at, "frequency", &position) || !ctf2_unsigned(&position, &clock.frequency)) {
        return false;
    }
    if (clock.frequency == 0) {
        return ctf2_fail(&position, LULL_ERROR_FORMAT, "a clock of 0 Hz");
    }
    clock.has_accuracy = ctf2_property(at, "accuracy", &position);
    if (!ctf2_get_unsigned(at, "precision", &clock.precision) ||
        !ctf2_get_unsigned(at, "accuracy", &clock.accuracy) ||
        !get_clock_origin(tree, at, &clock) || !get_clock_offset(at, &clock) ||
        !check_identity(tree, at, &clock)) {
        return false;
    }
    clock.id = id->text;
    clock.name = clock.identity.name ? clock.identity.name : "";
    take_uuid(&clock);
    if (!draft_names_bind(&tree->names, tree->clocks, id,
                          GUINT_TO_POINTER(tree->clocks->len + 1))) {
        return ctf2_fail(&id_position, LULL_ERROR_FORMAT, "there is a clock class '%.60s' already",
                         id->text);
    }
    g_array_append_val(tree->clocks, clock);
    return true;
}

static bool get_default_clock(struct draft_tree *tree, const struct ctf2_at *at,
                              struct draft_stream *stream)
{
    const struct draft_atom *id;
    struct ctf2_at position;

    stream->clock = -1;
    if (!ctf2_property(at, "default-clock-class-id", &position)) {
        return true;
    }
    if (!ctf2_name(tree, &position, &id)) {
        return false;
    }
    stream->clock =
        (int64_t)GPOINTER_TO_UINT(draft_names_bound(&tree->names, tree->clocks, id)) - 1;
    return stream->clock >= 0 || ctf2_fail(&position, LULL_ERROR_FORMAT,
                                           "there is no clock class '%.60s' before this", id->text);
}

/* Numbers as names serve as keys of the tree's map. */
static const struct draft_atom *number_name(struct draft_tree *tree, uint64_t a, uint64_t b)
{
    uint64_t numbers[] = {a, b};
    return draft_names_add(&tree->names, (const char *)numbers, sizeof numbers);
}

static bool parse_stream(struct draft_tree *tree, const struct ctf2_at *at)
{
    static const char *const keys[] = {"type",
                                       "id",
                                       "namespace",
                                       "name",
                                       "uid",
                                       "default-clock-class-id",
                                       "packet-context-field-class",
                                       "event-record-header-field-class",
                                       "event-record-common-context-field-class",
                                       NULL};
    struct draft_stream stream = {.origin = origin_of(at)};

    if (!ctf2_check_object(at, keys) || !ctf2_get_unsigned(at, "id", &stream.id) ||
        !get_identity(tree, at, &stream.identity) || !get_default_clock(tree, at, &stream) ||
        !ctf2_get_scope(tree, at, "packet-context-field-class", &stream.packet_context) ||
        !ctf2_get_scope(tree, at, "event-record-header-field-class", &stream.event_header) ||
        !ctf2_get_scope(tree, at, "event-record-common-context-field-class",
                        &stream.event_context)) {
        return false;
    }
    if (!draft_names_bind(&tree->names, tree->streams, number_name(tree, stream.id, 0), tree)) {
        return ctf2_fail(at, LULL_ERROR_FORMAT,
                         "there is a data stream class %" G_GUINT64_FORMAT " already", stream.id);
    }
    g_array_append_val(tree->streams, stream);
    return true;
}

/* Log level and model of an event as LTTng and Babeltrace give them; anything else there is not
 * looked at, and nothing there is wrong. */
static void take_attributes(struct draft_tree *tree, const struct ctf2_at *at,
                            struct draft_event *event)
{
    static const char *const name_spaces[] = {"lttng.org,2009", "babeltrace.org,2020"};
    static const char *const levels[] = {
        "emergency",    "alert",      "critical",       "error",         "warning",
        "notice",       "info",       "debug:system",   "debug:program", "debug:process",
        "debug:module", "debug:unit", "debug:function", "debug:line",    "debug"};
    struct ctf2_at all, position;

    for (size_t i = 0; i < G_N_ELEMENTS(name_spaces); i++) {
        struct json_object *value;
        if (!ctf2_property(at, "attributes", &all) ||
            !ctf2_property(&all, name_spaces[i], &position) ||
            !json_object_is_type(position.value, json_type_object)) {
            continue;
        }
        if (json_object_object_get_ex(position.value, "emf-uri", &value) &&
            json_object_is_type(value, json_type_string)) {
            const char *uri = json_object_get_string(value);
            event->emf_uri = draft_names_add(&tree->names, uri, strlen(uri))->text;
        }
        if (!json_object_object_get_ex(position.value, "log-level", &value)) {
            continue;
        }
        if (json_object_is_type(value, json_type_int)) {
            event->loglevel = json_object_get_int64(value);
        }
        for (size_t l = 0; l < G_N_ELEMENTS(levels); l++) {
            if (json_object_is_type(value, json_type_string) &&
                strcmp(levels[l], json_object_get_string(value)) == 0) {
                event->loglevel = (int64_t)l;
            }
        }
    }
}

static bool parse_event(struct draft_tree *tree, const struct ctf2_at *at)
{
    static const char *const keys[] = {
        "type", "id",  "data-stream-class-id",         "namespace",
        "name", "uid", "specific-context-field-class", "payload-field-class",
        NULL};
    struct draft_event event = {.origin = origin_of(at), .loglevel = -1};

    if (!ctf2_check_object(at, keys) || !ctf2_get_unsigned(at, "id", &event.id) ||
        !ctf2_get_unsigned(at, "data-stream-class-id", &event.stream_id) ||
        !get_identity(tree, at, &event.identity) ||
        !ctf2_get_scope(tree, at, "specific-context-field-class", &event.context) ||
        !ctf2_get_scope(tree, at, "payload-field-class", &event.payload)) {
        return false;
    }
    take_attributes(tree, at, &event);
    if (!draft_names_bound(&tree->names, tree->streams, number_name(tree, event.stream_id, 0))) {
        return ctf2_fail(at, LULL_ERROR_FORMAT,
                         "there is no data stream class %" G_GUINT64_FORMAT " before this",
                         event.stream_id);
    }
    if (!draft_names_bind(&tree->names, tree->events, number_name(tree, event.id, event.stream_id),
                          tree)) {
        return ctf2_fail(at, LULL_ERROR_FORMAT,
                         "data stream class %" G_GUINT64_FORMAT
                         " has an event record class %" G_GUINT64_FORMAT " already",
                         event.stream_id, event.id);
    }
    g_array_append_val(tree->events, event);
    return true;
}

bool ctf2_parse_fragment(struct draft_tree *tree, const struct ctf2_at *at)
{
    static const char *const types[] = {"preamble",    "field-class-alias", "trace-class",
                                        "clock-class", "data-stream-class", "event-record-class",
                                        NULL};
    static bool (*const parse[])(struct draft_tree *, const struct ctf2_at *) = {
        parse_preamble, parse_alias, parse_trace, parse_clock, parse_stream, parse_event};
    struct ctf2_at position;
    int type = 0;

    if (!ctf2_is_object(at) || !ctf2_required(at, "type", &position) ||
        !ctf2_get_choice(at, "type", types, &type)) {
        return false;
    }
    if ((type == 0) != (at->source->fragment == 1)) {
        return ctf2_fail(at, LULL_ERROR_FORMAT,
                         type == 0 ? "a preamble that is not the first fragment"
                                   : "the first fragment is not a preamble");
    }
    return parse[type](tree, at);
}

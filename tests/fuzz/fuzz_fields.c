/* SPDX-License-Identifier: MIT */
/* Fuzz target: a tape of choices, from which a schema and a stream that fits it are made. What was
 * written must be found again: by the plan that loads subscribed fields, by walking each event, and
 * by adding all values up. */
#include <string.h>

#include "ctf/metadata.h"
#include "ctf/stream/stream.h"
#include "fuzz/fuzz_bytes.h"
#include "fuzz/fuzz_schema.h"
#include "fuzz/made.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BINDINGS 24

/* What is subscribed of one event class. */
struct subscription {
    unsigned n;
    const struct made_field *fields[MOST_BINDINGS];
    char *paths[MOST_BINDINGS];
    const char *names[MOST_BINDINGS][2];
    struct lull_binding bindings[MOST_BINDINGS];
};

struct check {
    const struct made_schema *schema;
    const struct made_stream *stream;
    const char *text; /* metadata */
    struct lull_ctf_plan *plan;
    struct subscription subscriptions[3];
    unsigned item, end; /* of the walk */
};

#define FIELDS_SIZE (8 + MOST_BINDINGS * sizeof(struct lull_text))

/* ---- what a visitor sees ---- */

static const struct made_item *next_item(struct check *check, enum made_item_kind kind)
{
    g_assert_cmpuint(check->item, <, check->end);
    const struct made_item *item =
        &g_array_index(check->stream->items, struct made_item, check->item++);
    g_assert_cmpint(item->kind, ==, kind);
    return item;
}

static void see_start(void *user, const char *name, enum lull_visit_kind kind)
{
    const struct made_item *item = next_item(user, MADE_ITEM_START);
    enum lull_visit_kind expected = !item->field                        ? LULL_VISIT_SCOPE
                                    : item->field->kind == MADE_STRUCT  ? LULL_VISIT_STRUCT
                                    : item->field->kind == MADE_VARIANT ? LULL_VISIT_VARIANT
                                                                        : LULL_VISIT_ARRAY;
    g_assert_cmpstr(name, ==, item->name);
    g_assert_cmpint(kind, ==, expected);
}

static void see_end(void *user, enum lull_visit_kind kind)
{
    next_item(user, MADE_ITEM_END);
}

static void see_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    const struct made_item *item = next_item(user, MADE_ITEM_INT);
    g_assert_cmpstr(name, ==, item->name);
    g_assert_cmphex(value->bits, ==, item->bits);
    g_assert_true(value->is_signed == item->field->is_signed);
    g_assert_true(value->is_boolean == item->field->is_boolean);
    g_assert_true(value->is_bits == item->field->is_bits);
    g_assert_true(value->is_enum == item->field->is_mapped);
    g_assert_cmpuint(value->size_bits, ==, item->field->size);
    g_assert_cmpstr(value->label, ==, made_label(item->field, item->bits));
    if (!value->is_boolean && !value->is_bits && item->field->use < MADE_MAGIC) {
        g_assert_cmpuint(value->base, ==, item->field->base);
    }
}

static void see_real(void *user, const char *name, double value)
{
    const struct made_item *item = next_item(user, MADE_ITEM_REAL);
    g_assert_cmpstr(name, ==, item->name);
    g_assert_true(value == item->real);
}

static void check_text(const struct check *check, const struct made_item *item,
                       struct lull_text text)
{
    /* Without any text there are no bytes to point into. */
    const guint8 *expected = item->length > 0 ? check->stream->texts->data + item->text : NULL;
    g_assert_cmpmem(text.data, text.length, expected, item->length);
}

static void see_text(void *user, const char *name, struct lull_text text)
{
    const struct made_item *item = next_item(user, MADE_ITEM_TEXT);
    g_assert_true(item->field->kind == MADE_STRING || item->field->is_text);
    g_assert_cmpstr(name, ==, item->name);
    check_text(user, item, text);
}

static void see_blob(void *user, const char *name, struct lull_text bytes, const char *media_type)
{
    const struct made_item *item = next_item(user, MADE_ITEM_TEXT);
    g_assert_true(item->field->kind == MADE_BYTES && !item->field->is_text);
    g_assert_cmpstr(name, ==, item->name);
    check_text(user, item, bytes);
}

static const struct lull_visitor visitor = {.start = see_start,
                                            .end = see_end,
                                            .integer = see_integer,
                                            .real = see_real,
                                            .text = see_text,
                                            .blob = see_blob,
                                            .flags = LULL_VISIT_SPLIT_CONTEXTS};

/* ---- subscriptions ---- */

/* How a field is bound, if it can be: arrays as bytes if their numbers are whole ones. */
static bool bind_kind(const struct made_field *field, enum lull_bind_kind *kind)
{
    const struct made_field *element = field->parts->len > 0 ? field->parts->pdata[0] : NULL;
    switch (field->kind) {
    case MADE_INT:
    case MADE_VARINT:
        *kind = LULL_BIND_INT;
        return true;
    case MADE_REAL:
        *kind = LULL_BIND_REAL;
        return true;
    case MADE_STRING:
        *kind = LULL_BIND_TEXT;
        return true;
    case MADE_BYTES:
        *kind = field->is_text ? LULL_BIND_TEXT : LULL_BIND_RAW;
        return true;
    case MADE_ARRAY:
        *kind = LULL_BIND_RAW;
        return element->kind == MADE_INT && element->align >= 8 &&
               element->align <= element->size && field->align <= element->align &&
               (element->size == 8 || element->size == 16 || element->size == 32 ||
                element->size == 64);
    default:
        return false;
    }
}

static void subscribe_field(struct subscription *s, const struct made_field *field)
{
    enum lull_bind_kind kind;
    char *path = s->n < MOST_BINDINGS && bind_kind(field, &kind) ? made_path(field) : NULL;
    if (!path) {
        return;
    }
    unsigned i = s->n++;
    s->fields[i] = field;
    s->paths[i] = path;
    s->names[i][0] = path;
    s->bindings[i] =
        (struct lull_binding){s->names[i], kind, 8 + i * (unsigned)sizeof(struct lull_text)};
}

static void subscribe_all(struct subscription *s, const struct made_field *field)
{
    subscribe_field(s, field);
    for (guint i = 0; i < field->parts->len; i++) {
        subscribe_all(s, field->parts->pdata[i]);
    }
}

static void subscribe(struct check *check, unsigned event)
{
    struct subscription *s = &check->subscriptions[event];
    for (int scope = MADE_COMMON_CONTEXT; scope < MADE_SCOPES; scope++) {
        const struct made_field *root = made_root(check->schema, (enum made_scope)scope, event);
        if (root) {
            subscribe_all(s, root);
        }
    }
    lull_ctf_plan_subscribe(check->plan, &check->plan->streams[0], event, (int32_t)event,
                            s->bindings, s->n, FIELDS_SIZE, NULL);
}

/* The field as it was written for this event, or NULL if it was left out. */
static const struct made_value *find_value(const struct check *check,
                                           const struct made_event *event,
                                           const struct made_field *field)
{
    for (unsigned i = event->first_value; i < event->end_value; i++) {
        const struct made_value *value =
            &g_array_index(check->stream->values, struct made_value, i);
        if (value->field == field) {
            return value;
        }
    }
    return NULL;
}

static void check_binding(const struct check *check, const struct lull_binding *binding,
                          const struct made_value *value, const void *fields)
{
    const uint8_t *at = (const uint8_t *)fields + binding->offset;
    struct lull_text text;
    uint64_t bits;
    double real;
    memcpy(&text, at, sizeof text);
    memcpy(&bits, at, sizeof bits);
    memcpy(&real, at, sizeof real);
    if (!value) {
        g_assert_cmphex(bits, ==, 0);
        return;
    }
    const struct made_item *item =
        &g_array_index(check->stream->items, struct made_item, value->item - 1);
    if (value->field->kind == MADE_ARRAY) {
        g_assert_cmpmem(text.data, text.length, check->stream->bytes->data + value->byte,
                        value->n_bytes);
    } else if (binding->kind == LULL_BIND_INT) {
        g_assert_cmphex(bits, ==, item->bits);
    } else if (binding->kind == LULL_BIND_REAL) {
        g_assert_true(real == item->real);
    } else {
        check_text(check, item, text);
    }
}

static void check_fields(const struct check *check, const struct made_event *event,
                         const void *fields)
{
    const struct subscription *s = &check->subscriptions[event->event_class];
    uint64_t have;
    if (s->n == 0) {
        return;
    }
    memcpy(&have, fields, sizeof have);
    for (unsigned i = 0; i < s->n; i++) {
        const struct made_value *value = find_value(check, event, s->fields[i]);
        g_assert_true((have >> i & 1) == (value != NULL));
        check_binding(check, &s->bindings[i], value, fields);
    }
}

/* ---- reading ---- */

static void start(struct lull_ctf_stream *cursor)
{
    static const struct lull_clock_transform identity;
    struct lull_clock_map map;
    lull_clock_map_init(&map, 1000000000, 0, 0, 0, &identity);
    lull_ctf_stream_start(cursor, &map, INT64_MIN, INT64_MAX, FIELDS_SIZE);
}

static void read_events(struct check *check, struct lull_ctf_stream *cursor)
{
    const struct made_stream *stream = check->stream;
    struct lull_event event;
    start(cursor);
    for (guint i = 0; i < stream->events->len; i++) {
        g_autoptr(GError) error = NULL;
        const struct made_event *made = &g_array_index(stream->events, struct made_event, i);
        const struct made_packet *packet =
            &g_array_index(stream->packets, struct made_packet, made->packet);
        g_assert_true(lull_ctf_stream_next(cursor, &event));
        g_assert_cmpuint(event.subscription, ==, made->event_class);
        g_assert_cmpint(event.time_ns, ==, (int64_t)made->time);
        check_fields(check, made, event.fields);
        check->item = made->first_item;
        check->end = made->end_item;
        lull_ctf_stream_visit(cursor, &visitor, check, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(check->item, ==, check->end);
        check->item = packet->first_item;
        check->end = packet->end_item;
        lull_ctf_stream_visit_packet(cursor, &visitor, check, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(check->item, ==, check->end);
    }
    g_assert_false(lull_ctf_stream_next(cursor, &event));
}

/* As struct lull_decoded says. */
static void add_item(const struct made_stream *stream, const struct made_item *item,
                     struct lull_tally *tally)
{
    uint64_t bits = item->bits;
    if (item->kind == MADE_ITEM_START || item->kind == MADE_ITEM_END) {
        return;
    }
    if (item->kind == MADE_ITEM_REAL) {
        memcpy(&bits, &item->real, sizeof bits);
    } else if (item->kind == MADE_ITEM_TEXT) {
        bits = item->length;
        for (size_t i = 0; i < item->length; i++) {
            bits += (uint64_t)stream->texts->data[item->text + i] << i % 8 * 8;
        }
    }
    tally->fields++;
    tally->checksum += bits;
}

static void sum_events(struct check *check, struct lull_ctf_stream *cursor)
{
    const struct made_stream *stream = check->stream;
    struct lull_tally tally = {0, 0}, expected = {0, 0};
    uint64_t counts[3] = {0, 0, 0}, made[3] = {0, 0, 0};
    for (guint i = 0; i < stream->events->len; i++) {
        const struct made_event *event = &g_array_index(stream->events, struct made_event, i);
        made[event->event_class]++;
        for (unsigned k = event->first_item; k < event->end_item; k++) {
            add_item(stream, &g_array_index(stream->items, struct made_item, k), &expected);
        }
    }
    lull_ctf_plan_load_all(check->plan);
    start(cursor);
    lull_ctf_stream_sum(cursor, counts, &tally);
    g_assert_cmpmem(counts, sizeof counts, made, sizeof made);
    g_assert_cmpuint(tally.fields, ==, expected.fields);
    g_assert_cmphex(tally.checksum, ==, expected.checksum);
}

static void on_problem(void *user, const char *text)
{
    g_error("%s", text);
}

static void on_loss(void *user, uint32_t stream, int64_t start_ns, int64_t end_ns, uint64_t events,
                    uint64_t packets)
{
    g_error("a loss");
}

static void read_stream(struct check *check)
{
    const struct lull_report report = {on_problem, on_loss, NULL, NULL};
    const struct made_stream *stream = check->stream;
    g_autoptr(GError) error = NULL;
    struct lull_packet_file file = {.bytes =
                                        fuzz_bytes_new(stream->bytes->data, stream->bytes->len),
                                    .size = stream->bytes->len,
                                    .path = "s",
                                    .index_path = "index"};
    struct lull_packet_list list;
    lull_packet_list_find(&list, check->plan, &file, &report, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(list.packets->len, ==, stream->packets->len);
    struct lull_ctf_stream *cursor =
        lull_ctf_stream_new_from(check->plan, file.bytes, "s", &list, 0, &report);
    if (!cursor->list.in_order) { /* the packets do not say their times */
        start(cursor);
        lull_ctf_stream_measure(cursor);
    }
    read_events(check, cursor);
    sum_events(check, cursor);
    lull_ctf_stream_free(cursor);
}

static void try_schema(struct check *check)
{
    g_autoptr(GError) error = NULL;
    const uint8_t *text = (const uint8_t *)check->text;
    size_t size = strlen(check->text);
    struct lull_schema *schema = lull_metadata_parse("metadata", text, size, &error);
    g_assert_no_error(error);
    check->plan = lull_ctf_plan_new(schema, &error);
    g_assert_no_error(error);
    for (unsigned i = 0; i < check->schema->n_events; i++) {
        subscribe(check, i);
    }
    read_stream(check);
    lull_ctf_plan_free(check->plan);
    lull_schema_free(schema);
    for (unsigned i = 0; i < check->schema->n_events; i++) {
        for (unsigned k = 0; k < check->subscriptions[i].n; k++) {
            g_free(check->subscriptions[i].paths[k]);
        }
    }
    schema = lull_metadata_parse("metadata", text, size, &error);
    fuzz_schema_try(schema, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct made_tape tape = {.data = data, .size = size, .state = 88172645463325252};
    struct made_schema schema;
    struct made_stream stream;
    for (size_t i = 0; i < size; i++) {
        tape.state = (tape.state ^ data[i]) * 0x100000001b3;
    }
    tape.state |= 1;
    made_schema_init(&schema, &tape);
    made_stream_init(&stream, &schema);
    g_autofree char *text = made_schema_text(&schema);
    struct check check = {.schema = &schema, .stream = &stream, .text = text};
    try_schema(&check);
    made_stream_clear(&stream);
    made_schema_clear(&schema);
    return 0;
}

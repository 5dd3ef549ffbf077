/* SPDX-License-Identifier: MIT */
/* Writes packets and events of a schema that was made up, bit by bit, and notes what a reader must
 * find in them. */
#include "fuzz/made.h"

#include <string.h>

/* Parts of a scope beyond this are as short as their classes let them be. */
#define MANY_ITEMS 1500

struct writer {
    struct made_stream *stream;
    const struct made_schema *schema;
    struct made_tape *tape;
    uint64_t at, start; /* bits in the file: of what is written next, of the packet */
    uint64_t time;
    unsigned event_class;
    unsigned arrays;  /* around the current field */
    bool is_shown;    /* a visitor sees the scope */
    unsigned n_items; /* of the scope, shown or not */
    struct made_item unseen;
};

/* ---- bits ---- */

static void grow(struct writer *w, uint64_t bits)
{
    guint size = (guint)((bits + 7) / 8), before = w->stream->bytes->len;
    if (size > before) {
        g_byte_array_set_size(w->stream->bytes, size);
        memset(w->stream->bytes->data + before, 0, size - before);
    }
}

static void put_bit(struct writer *w, uint64_t at, bool is_big_endian, bool bit)
{
    uint8_t mask = (uint8_t)(1u << (is_big_endian ? 7 - at % 8 : at % 8));
    uint8_t *byte = &w->stream->bytes->data[at / 8];
    *byte = (uint8_t)(bit ? *byte | mask : *byte & ~mask);
}

/* A little-endian number starts with its lowest bit, a big-endian one with its highest; if it is
 * reversed, with the other. */
static void put_number(struct writer *w, uint64_t at, const struct made_field *field, uint64_t bits)
{
    bool from_top = field->is_big_endian != field->is_reversed;
    for (unsigned i = 0; i < field->size; i++) {
        unsigned bit = from_top ? field->size - 1 - i : i;
        put_bit(w, at + i, field->is_big_endian, bits >> bit & 1);
    }
}

static void put_byte(struct writer *w, uint8_t byte)
{
    grow(w, w->at + 8);
    w->stream->bytes->data[w->at / 8] = byte;
    w->at += 8;
}

static void align(struct writer *w, unsigned alignment)
{
    uint64_t rest = (w->at - w->start) % alignment;
    w->at += rest != 0 ? alignment - rest : 0;
    grow(w, w->at);
}

/* ---- items ---- */

static struct made_item *note(struct writer *w, enum made_item_kind kind, struct made_field *field)
{
    struct made_item item = {.kind = kind, .field = field};
    w->n_items++;
    /* Sizes and times of packets are not shown. */
    if (!w->is_shown || (field->use >= MADE_CONTENT_SIZE && field->scope == MADE_PACKET_CONTEXT)) {
        return &w->unseen;
    }
    item.name = field->name[0] != '\0' ? field->name : NULL;
    /* What is optional goes by the name of the optional field. */
    for (const struct made_field *at = field; !item.name && at->around->kind == MADE_OPTIONAL;
         at = at->around) {
        item.name = at->around->name[0] != '\0' ? at->around->name : NULL;
    }
    g_array_append_val(w->stream->items, item);
    field->item = w->stream->items->len;
    return &g_array_index(w->stream->items, struct made_item, w->stream->items->len - 1);
}

static void note_scope(struct writer *w, enum made_item_kind kind, const char *name)
{
    struct made_item item = {.kind = kind, .name = name};
    g_array_append_val(w->stream->items, item);
}

static void note_value(struct writer *w, const struct made_field *field, uint64_t start)
{
    struct made_value value = {
        .field = field, .item = field->item, .byte = start / 8, .n_bytes = (w->at - start) / 8};
    if (w->arrays == 0 && field->scope >= MADE_COMMON_CONTEXT) {
        g_array_append_val(w->stream->values, value);
    }
}

/* ---- numbers ---- */

static uint64_t sign_extend(uint64_t bits, unsigned size)
{
    return size < 64 && bits >> (size - 1) & 1 ? bits | ~UINT64_C(0) << size : bits;
}

static uint64_t low_bits(uint64_t bits, unsigned size)
{
    return size < 64 ? bits & ((UINT64_C(1) << size) - 1) : bits;
}

static uint64_t choose_bits(struct writer *w)
{
    uint64_t bits = 0;
    switch (made_choose(w->tape, 4)) {
    case 0:
        return made_choose(w->tape, 4);
    case 1:
        return ~(uint64_t)made_choose(w->tape, 4);
    default:
        for (unsigned i = 0; i < 8; i++) {
            bits = bits << 8 | made_choose(w->tape, 256);
        }
        return bits >> made_choose(w->tape, 64);
    }
}

static uint64_t choose_value(struct writer *w, const struct made_field *field)
{
    switch (field->use) {
    case MADE_LENGTH:
        return w->n_items > MANY_ITEMS ? 0 : made_choose(w->tape, 7);
    case MADE_TAG:
        return made_choose(w->tape, 3 * MADE_OPTIONS) - (field->is_signed ? UINT64_C(4) : 0);
    case MADE_SELECTOR:
        return made_choose(w->tape, field->is_boolean ? 2 : 6);
    case MADE_MAGIC:
        return 0xC1FC1FC1;
    case MADE_ID:
        return w->event_class;
    case MADE_TIME:
    case MADE_START:
        return w->time;
    default:
        return field->is_mapped ? made_choose(w->tape, 14) - (field->is_signed ? UINT64_C(5) : 0)
                                : choose_bits(w);
    }
}

static void write_leb128(struct writer *w, uint64_t value, bool is_signed)
{
    for (unsigned i = 0; i < 10; i++) {
        uint8_t byte = value & 0x7f;
        value = is_signed ? (uint64_t)((int64_t)value >> 7) : value >> 7;
        bool is_last = is_signed ? value == (byte & 0x40 ? UINT64_MAX : 0) : value == 0;
        put_byte(w, (uint8_t)(byte | (is_last ? 0 : 0x80)));
        if (is_last) {
            return;
        }
    }
}

static void write_integer(struct writer *w, struct made_field *field)
{
    uint64_t bits = low_bits(choose_value(w, field), field->size);
    field->bits = field->is_signed    ? sign_extend(bits, field->size)
                  : field->is_boolean ? bits != 0
                                      : bits;
    field->at = w->at;
    if (field->kind == MADE_VARINT) {
        write_leb128(w, field->bits, field->is_signed);
    } else {
        grow(w, w->at + field->size);
        put_number(w, w->at, field, bits);
        w->at += field->size;
    }
    note(w, MADE_ITEM_INT, field)->bits = field->bits;
    note_value(w, field, field->at);
}

static void write_real(struct writer *w, struct made_field *field)
{
    /* binary16 by hand: sign, five bits of exponent (bias 15), ten of mantissa. */
    static const struct {
        uint16_t bits;
        double value;
    } halves[] = {{0x3c00, 1},     {0xc000, -2},
                  {0x7bff, 65504}, {0x3555, 0.333251953125},
                  {0x0000, 0},     {0x0001, 5.9604644775390625e-08}};
    unsigned which = made_choose(w->tape, G_N_ELEMENTS(halves));
    double value = halves[which].value;
    float single = (float)value;
    uint32_t single_bits;
    uint64_t bits = halves[which].bits;
    if (field->size == 64) {
        memcpy(&bits, &value, sizeof bits);
    } else if (field->size == 32) {
        memcpy(&single_bits, &single, sizeof single_bits);
        bits = single_bits;
        value = (double)single;
    }
    uint64_t start = w->at;
    grow(w, w->at + field->size);
    put_number(w, w->at, field, bits);
    w->at += field->size;
    note(w, MADE_ITEM_REAL, field)->real = value;
    note_value(w, field, start);
}

/* ---- texts ---- */

/* One code unit; strings that end are big-endian in UTF-16 and little-endian in UTF-32, those of a
 * known length the other way round. */
static void put_unit(struct writer *w, const struct made_field *field, char c)
{
    bool is_big_endian = (field->kind == MADE_STRING) == (field->unit == 2);
    for (unsigned i = 0; i < field->unit; i++) {
        bool is_low = is_big_endian ? i + 1 == field->unit : i == 0;
        put_byte(w, is_low ? (uint8_t)c : 0);
    }
}

static void note_text(struct writer *w, struct made_field *field, const char *text, size_t length,
                      uint64_t start)
{
    struct made_item *item = note(w, MADE_ITEM_TEXT, field);
    item->text = w->stream->texts->len;
    item->length = length;
    if (length > 0) {
        g_byte_array_append(w->stream->texts, (const guint8 *)text, (guint)length);
    }
    note_value(w, field, start);
}

static void write_string(struct writer *w, struct made_field *field)
{
    char text[8];
    unsigned n = made_choose(w->tape, sizeof text);
    uint64_t start = w->at;
    for (unsigned i = 0; i < n; i++) {
        text[i] = (char)('a' + made_choose(w->tape, 26));
        put_unit(w, field, text[i]);
    }
    put_unit(w, field, '\0');
    note_text(w, field, text, n, start);
}

/* Of a text, what is behind the first NUL does not count. */
static void write_bytes(struct writer *w, struct made_field *field)
{
    char text[64];
    unsigned length = field->ref ? (unsigned)field->ref->bits : field->length;
    unsigned n = length / field->unit, shown = n;
    uint64_t start = w->at;
    for (unsigned i = 0; i < n; i++) {
        text[i] = (char)made_choose(w->tape, 100);
        text[i] = field->is_text && text[i] > 3 ? (char)('a' + text[i] % 26) : text[i];
        if (field->is_text && text[i] <= 3) {
            text[i] = '\0';
            shown = MIN(shown, i);
        }
        put_unit(w, field, text[i]);
    }
    note_text(w, field, text, shown, start);
}

/* ---- parts ---- */

static void write_field(struct writer *w, struct made_field *field);

static bool is_there(const struct made_field *optional)
{
    uint64_t selector = optional->ref->bits;
    return optional->has_ranges ? selector == 1 || selector == 3 || selector == 4 : selector != 0;
}

static void write_array(struct writer *w, struct made_field *field)
{
    uint64_t n = field->ref ? field->ref->bits : field->length, start = w->at;
    note(w, MADE_ITEM_START, field);
    w->arrays++;
    for (uint64_t i = 0; i < n; i++) {
        write_field(w, field->parts->pdata[0]);
    }
    w->arrays--;
    note(w, MADE_ITEM_END, field);
    note_value(w, field, start);
}

static void write_struct(struct writer *w, struct made_field *field)
{
    if (field->around) {
        note(w, MADE_ITEM_START, field);
    }
    for (guint i = 0; i < field->parts->len; i++) {
        write_field(w, field->parts->pdata[i]);
    }
    if (field->around) {
        note(w, MADE_ITEM_END, field);
    }
}

static void write_variant(struct writer *w, struct made_field *field)
{
    int64_t tag = (int64_t)field->ref->bits + (field->ref->is_signed ? 4 : 0);
    note(w, MADE_ITEM_START, field);
    write_field(w, field->parts->pdata[tag / 3]);
    note(w, MADE_ITEM_END, field);
}

static void write_field(struct writer *w, struct made_field *field)
{
    align(w, made_align(field));
    switch (field->kind) {
    case MADE_INT:
    case MADE_VARINT:
        write_integer(w, field);
        break;
    case MADE_REAL:
        write_real(w, field);
        break;
    case MADE_STRING:
        write_string(w, field);
        break;
    case MADE_BYTES:
        write_bytes(w, field);
        break;
    case MADE_STRUCT:
        write_struct(w, field);
        break;
    case MADE_ARRAY:
        write_array(w, field);
        break;
    case MADE_VARIANT:
        write_variant(w, field);
        break;
    case MADE_OPTIONAL:
        if (is_there(field)) {
            write_field(w, field->parts->pdata[0]);
        }
        break;
    }
}

static bool has_shown_field(enum made_scope scope, const struct made_field *root)
{
    bool found = scope != MADE_PACKET_CONTEXT;
    for (guint i = 0; i < root->parts->len; i++) {
        found |= ((const struct made_field *)root->parts->pdata[i])->use < MADE_CONTENT_SIZE;
    }
    return found;
}

static void write_scope(struct writer *w, enum made_scope scope)
{
    static const char *const names[] = {[MADE_PACKET_CONTEXT] = "packet",
                                        [MADE_COMMON_CONTEXT] = "common context",
                                        [MADE_CONTEXT] = "context",
                                        [MADE_PAYLOAD] = "payload"};
    struct made_field *root = made_root(w->schema, scope, w->event_class);
    if (!root) {
        return;
    }
    w->n_items = 0;
    w->is_shown =
        scope != MADE_PACKET_HEADER && scope != MADE_EVENT_HEADER && has_shown_field(scope, root);
    if (w->is_shown) {
        note_scope(w, MADE_ITEM_START, names[scope]);
    }
    write_field(w, root);
    if (w->is_shown) {
        note_scope(w, MADE_ITEM_END, names[scope]);
    }
}

/* ---- packets ---- */

static void write_event(struct writer *w, unsigned packet)
{
    struct made_stream *stream = w->stream;
    struct made_event event = {
        .packet = packet, .first_item = stream->items->len, .first_value = stream->values->len};
    w->event_class = event.event_class = made_choose(w->tape, w->schema->n_events);
    w->time += made_choose(w->tape, 200);
    event.time = w->time;
    for (int scope = MADE_EVENT_HEADER; scope < MADE_SCOPES; scope++) {
        write_scope(w, (enum made_scope)scope);
    }
    event.end_item = stream->items->len;
    event.end_value = stream->values->len;
    g_array_append_val(stream->events, event);
}

/* What is known when the packet is whole. */
static void patch(struct writer *w, uint64_t content, uint64_t size)
{
    const struct made_field *root = w->schema->scopes[MADE_PACKET_CONTEXT];
    for (guint i = 0; i < root->parts->len; i++) {
        const struct made_field *field = root->parts->pdata[i];
        if (field->use == MADE_CONTENT_SIZE) {
            put_number(w, field->at, field, content);
        } else if (field->use == MADE_PACKET_SIZE) {
            put_number(w, field->at, field, size);
        } else if (field->use == MADE_END) {
            put_number(w, field->at, field, w->time);
        }
    }
}

static void write_packet(struct writer *w, unsigned number)
{
    struct made_packet packet = {.first_item = w->stream->items->len};
    w->start = w->at;
    write_scope(w, MADE_PACKET_HEADER);
    write_scope(w, MADE_PACKET_CONTEXT);
    packet.end_item = w->stream->items->len;
    g_array_append_val(w->stream->packets, packet);
    for (unsigned i = made_choose(w->tape, 5); i > 0; i--) {
        write_event(w, number);
    }
    uint64_t content = w->at - w->start;
    align(w, 8);
    for (unsigned i = made_choose(w->tape, 20); i > 0; i--) {
        put_byte(w, 0xa5);
    }
    patch(w, content, w->at - w->start);
}

void made_stream_init(struct made_stream *stream, const struct made_schema *schema)
{
    *stream = (struct made_stream){
        .bytes = g_byte_array_new(),
        .items = g_array_new(FALSE, FALSE, sizeof(struct made_item)),
        .values = g_array_new(FALSE, FALSE, sizeof(struct made_value)),
        .events = g_array_new(FALSE, FALSE, sizeof(struct made_event)),
        .packets = g_array_new(FALSE, FALSE, sizeof(struct made_packet)),
        .texts = g_byte_array_new(),
    };
    struct writer writer = {.stream = stream, .schema = schema, .tape = schema->tape, .time = 1000};
    unsigned n = made_choose(schema->tape, 3) + 1;
    for (unsigned i = 0; i < n; i++) {
        write_packet(&writer, i);
    }
}

void made_stream_clear(struct made_stream *stream)
{
    g_byte_array_unref(stream->bytes);
    g_array_unref(stream->items);
    g_array_unref(stream->values);
    g_array_unref(stream->events);
    g_array_unref(stream->packets);
    g_byte_array_unref(stream->texts);
}

/* SPDX-License-Identifier: MIT */
/* The blocks of TSDL: trace, env, clock, stream, event (sections 7.4 and 8) and callsite.
 * Attributes that are not known are read and ignored, as tracers add their own. */
#include "ctf/tsdl/parser.h"

#include <string.h>

struct tsdl_clock {
    const struct draft_atom *name;
    uint32_t pos;
    struct lull_clock clock; /* without name */
    bool offset_is_negative; /* then clock.offset_cycles is its magnitude */
};

struct block {
    enum tsdl_word keyword;
    uint32_t pos;
    uint64_t seen;
    struct tsdl_clock clock;
    struct draft_stream stream;
    struct draft_event event;
};

/* An environment value that is no text and fits no int64_t is kept as it is spelled. */
static bool set_env(struct tsdl_parser *parser, const struct draft_atom *key,
                    const struct tsdl_value *value)
{
    struct draft_tree *tree = parser->tree;
    struct lull_env_entry entry = {.key = key->text};

    if (value->kind == TSDL_VALUE_TEXT) {
        entry.text = value->text->text;
    } else if (value->kind == TSDL_VALUE_PATH) {
        g_string_truncate(parser->text, 0);
        for (uint32_t i = 0; i < value->n_names; i++) {
            g_string_append_printf(parser->text, "%s%s", i ? "." : "", value->names[i]->text);
        }
        entry.text = lull_arena_strndup(tree->arena, parser->text->str, parser->text->len);
    } else if (value->number > (uint64_t)INT64_MAX + value->is_negative) {
        g_string_printf(parser->text, "%s%" G_GUINT64_FORMAT, value->is_negative ? "-" : "",
                        value->number);
        entry.text = lull_arena_strndup(tree->arena, parser->text->str, parser->text->len);
    } else {
        entry.number = (int64_t)(value->is_negative ? -value->number : value->number);
    }

    gpointer index = draft_names_bound(&tree->names, &tree->env, key);
    if (index) {
        g_array_index(tree->env, struct lull_env_entry, GPOINTER_TO_UINT(index) - 1) = entry;
        return true;
    }
    g_array_append_val(tree->env, entry);
    draft_names_bind(&tree->names, &tree->env, key, GUINT_TO_POINTER(tree->env->len));
    return true;
}

static bool set_version(struct tsdl_parser *parser, const struct tsdl_value *value,
                        const char *what, uint32_t *out)
{
    uint64_t number;

    if (!tsdl_value_unsigned(parser, value, what, &number)) {
        return false;
    }
    if (what[1] == 'a' && number != 1) {
        return tsdl_fail(parser->source, LULL_ERROR_UNSUPPORTED, value->pos,
                         "major version %" G_GUINT64_FORMAT " of CTF: only 1 is understood here",
                         number);
    }
    *out = (uint32_t)MIN(number, UINT32_MAX);
    return true;
}

static bool set_trace(struct tsdl_parser *parser, enum tsdl_word word,
                      const struct tsdl_value *value)
{
    struct draft_tree *tree = parser->tree;
    enum tsdl_byte_order order;

    switch (word) {
    case TSDL_MAJOR:
        return set_version(parser, value, "major", &tree->major);
    case TSDL_MINOR:
        return set_version(parser, value, "minor", &tree->minor);
    case TSDL_UUID:
        tree->has_uuid = true;
        return tsdl_value_uuid(parser, value, tree->uuid);
    case TSDL_BYTE_ORDER:
        if (!tsdl_value_byte_order(parser, value, &order)) {
            return false;
        }
        if (order == TSDL_NATIVE) {
            return tsdl_fail(parser->source, LULL_ERROR_FORMAT, value->pos,
                             "bad value of byte_order: a trace's is be or le");
        }
        tree->is_big_endian = order == TSDL_BIG;
        parser->has_byte_order = true;
        return true;
    default:
        return true;
    }
}

static bool set_clock_offset(struct tsdl_parser *parser, struct tsdl_clock *clock,
                             const struct tsdl_value *value)
{
    if (value->kind != TSDL_VALUE_NUMBER) {
        return tsdl_value_unsigned(parser, value, "offset", &clock->clock.offset_cycles);
    }
    clock->offset_is_negative = value->is_negative;
    clock->clock.offset_cycles = value->number;
    return true;
}

static bool set_clock(struct tsdl_parser *parser, struct tsdl_clock *clock, enum tsdl_word word,
                      const struct tsdl_value *value)
{
    const struct draft_atom *text;

    switch (word) {
    case TSDL_NAME:
        clock->name = tsdl_value_text(parser, value, "name");
        return clock->name != NULL;
    case TSDL_UUID:
        clock->clock.has_uuid = true;
        return tsdl_value_uuid(parser, value, clock->clock.uuid);
    case TSDL_DESCRIPTION:
        text = tsdl_value_text(parser, value, "description");
        clock->clock.description = text ? text->text : NULL;
        return text != NULL;
    case TSDL_FREQ:
        if (!tsdl_value_unsigned(parser, value, "freq", &clock->clock.frequency)) {
            return false;
        }
        return clock->clock.frequency > 0 ||
               tsdl_fail(parser->source, LULL_ERROR_FORMAT, value->pos, "bad value of freq: 0 Hz");
    case TSDL_PRECISION:
        return tsdl_value_unsigned(parser, value, "precision", &clock->clock.precision);
    case TSDL_OFFSET_S:
        return tsdl_value_signed(parser, value, "offset_s", &clock->clock.offset_s);
    case TSDL_OFFSET:
        return set_clock_offset(parser, clock, value);
    case TSDL_ABSOLUTE:
        return tsdl_value_bool(parser, value, "absolute", &clock->clock.is_absolute);
    default:
        return true;
    }
}

static bool set_event(struct tsdl_parser *parser, struct draft_event *event, enum tsdl_word word,
                      const struct tsdl_value *value)
{
    const struct draft_atom *text;

    switch (word) {
    case TSDL_NAME:
        text = tsdl_value_text(parser, value, "name");
        event->identity.name = text ? text->text : NULL;
        return text != NULL;
    case TSDL_EMF_URI:
        text = tsdl_value_text(parser, value, "model.emf.uri");
        event->emf_uri = text ? text->text : NULL;
        return text != NULL;
    case TSDL_ID:
        return tsdl_value_unsigned(parser, value, "id", &event->id);
    case TSDL_STREAM_ID:
        event->has_stream_id = true;
        return tsdl_value_unsigned(parser, value, "stream_id", &event->stream_id);
    case TSDL_LOGLEVEL:
        return tsdl_value_signed(parser, value, "loglevel", &event->loglevel);
    default:
        return true;
    }
}

/* KEY = VALUE */
static bool set_value(struct tsdl_parser *parser, struct block *block, const struct draft_atom *key,
                      const struct tsdl_value *value)
{
    switch (block->keyword) {
    case TSDL_TRACE:
        return set_trace(parser, key->word, value);
    case TSDL_ENV:
        return set_env(parser, key, value);
    case TSDL_CLOCK:
        return set_clock(parser, &block->clock, key->word, value);
    case TSDL_STREAM:
        if (key->word != TSDL_ID) {
            return true;
        }
        block->stream.has_id = true;
        return tsdl_value_unsigned(parser, value, "id", &block->stream.id);
    case TSDL_EVENT:
        return set_event(parser, &block->event, key->word, value);
    default:
        return true;
    }
}

/* Where the type of a KEY := TYPE goes; NULL if the key is not known in this block. */
static struct draft_class **find_slot(struct tsdl_parser *parser, struct block *block,
                                      enum tsdl_word word)
{
    if (block->keyword == TSDL_TRACE && word == TSDL_PACKET_HEADER) {
        return &parser->tree->packet_header;
    }
    if (block->keyword == TSDL_STREAM && word == TSDL_PACKET_CONTEXT) {
        return &block->stream.packet_context;
    }
    if (block->keyword == TSDL_STREAM && word == TSDL_EVENT_HEADER) {
        return &block->stream.event_header;
    }
    if (block->keyword == TSDL_STREAM && word == TSDL_EVENT_CONTEXT) {
        return &block->stream.event_context;
    }
    if (block->keyword == TSDL_EVENT && word == TSDL_CONTEXT) {
        return &block->event.context;
    }
    if (block->keyword == TSDL_EVENT && word == TSDL_FIELDS) {
        return &block->event.payload;
    }
    return NULL;
}

/* KEY := TYPE */
static bool parse_type_assignment(struct tsdl_parser *parser, struct block *block,
                                  const struct draft_atom *key)
{
    struct tsdl_specifiers specifiers;
    struct draft_class **slot = find_slot(parser, block, key->word);

    if (!tsdl_parse_specifiers(parser, &specifiers)) {
        return false;
    }
    struct draft_class *type = tsdl_specified_type(parser, &specifiers, NULL);
    if (!type) {
        return false;
    }
    if (!slot) {
        return true;
    }
    if (type->fc.kind != LULL_FC_STRUCT) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, specifiers.pos, "%s is not a structure",
                         key->text);
    }
    *slot = type;
    return true;
}

static bool parse_assignment(struct tsdl_parser *parser, struct block *block)
{
    uint32_t pos = parser->token.pos;
    struct tsdl_value value;
    const struct draft_atom *key = tsdl_parse_key(parser);

    if (!key) {
        return false;
    }
    if (block->keyword != TSDL_ENV && block->keyword != TSDL_CALLSITE &&
        !tsdl_once(parser, &block->seen, key, pos)) {
        return false;
    }
    if (tsdl_at(parser, TSDL_TOKEN_ASSIGN_TYPE)) {
        if (!tsdl_advance(parser) || !parse_type_assignment(parser, block, key)) {
            return false;
        }
    } else if (!tsdl_expect(parser, '=', "'=' or ':='") || !tsdl_parse_value(parser, &value) ||
               !set_value(parser, block, key, &value)) {
        return false;
    }
    return tsdl_expect(parser, ';', "';'");
}

/* Offsets are kept unsigned: a negative one borrows whole seconds. */
static bool finish_clock(struct tsdl_parser *parser, struct tsdl_clock *clock)
{
    struct lull_clock *c = &clock->clock;

    if (!clock->name) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, clock->pos,
                         "clock without a name: the attribute is mandatory");
    }
    if (clock->offset_is_negative) {
        uint64_t seconds = c->offset_cycles / c->frequency, rest = c->offset_cycles % c->frequency;
        seconds += rest > 0;
        if (seconds > INT64_MAX ||
            __builtin_sub_overflow(c->offset_s, (int64_t)seconds, &c->offset_s)) {
            return tsdl_fail(parser->source, LULL_ERROR_FORMAT, clock->pos,
                             "bad offset of a clock: it does not fit 64 bits");
        }
        c->offset_cycles = rest ? c->frequency - rest : 0;
    }
    c->name = clock->name->text;
    c->origin = c->is_absolute ? LULL_ORIGIN_UNIX_EPOCH : LULL_ORIGIN_UNKNOWN;
    g_array_append_val(parser->tree->clocks, *c);
    if (!draft_names_bind(&parser->tree->names, &parser->tree->clocks, clock->name,
                          GUINT_TO_POINTER(parser->tree->clocks->len))) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, clock->pos,
                         "clock '%.60s' is declared twice", clock->name->text);
    }
    return true;
}

static bool finish_trace(struct tsdl_parser *parser, const struct block *block)
{
    struct draft_tree *tree = parser->tree;

    if (tree->has_trace) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, block->pos, "second trace declaration");
    }
    if (!parser->has_byte_order) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, block->pos,
                         "trace without byte_order: the attribute is mandatory");
    }
    tree->has_trace = true;
    tree->trace_origin.offset = block->pos;
    return true;
}

static bool finish_block(struct tsdl_parser *parser, struct block *block)
{
    switch (block->keyword) {
    case TSDL_TRACE:
        return finish_trace(parser, block);
    case TSDL_CLOCK:
        return finish_clock(parser, &block->clock);
    case TSDL_STREAM:
        g_array_append_val(parser->tree->streams, block->stream);
        return true;
    case TSDL_EVENT:
        g_array_append_val(parser->tree->events, block->event);
        return true;
    default:
        return true;
    }
}

bool tsdl_parse_block(struct tsdl_parser *parser)
{
    uint32_t pos = parser->token.pos;
    struct block block = {
        .keyword = parser->token.atom->word,
        .pos = pos,
        .clock = {.pos = pos, .clock = {.frequency = 1000000000}},
        .stream = {.origin.offset = pos, .clock = -1},
        .event = {.origin.offset = pos, .identity.name = "", .loglevel = -1},
    };

    if (!tsdl_advance(parser) || !tsdl_expect(parser, '{', "'{'") || !tsdl_open_scope(parser)) {
        return false;
    }
    while (!tsdl_at(parser, '}')) {
        if (!(tsdl_at_declaration(parser) ? tsdl_parse_declaration(parser)
                                          : parse_assignment(parser, &block))) {
            return false;
        }
    }
    tsdl_close_scope(parser);
    return tsdl_advance(parser) && tsdl_expect(parser, ';', "';' after '}'") &&
           finish_block(parser, &block);
}

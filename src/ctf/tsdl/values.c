/* SPDX-License-Identifier: MIT */
/* The right sides of assignments, what they mean, and the attributes of the basic types: integer,
 * floating_point, string (sections 4.1 and 4.2.5) and the labels of enumerations (4.1.8). */
#include "ctf/tsdl/parser.h"

#include <string.h>

_Static_assert(TSDL_WORD_COUNT <= 64, "tsdl_once() keeps a bit a word");

bool tsdl_parse_path(struct tsdl_parser *parser, const struct draft_atom ***names, uint32_t *n)
{
    guint base = parser->names->len;

    for (;;) {
        if (!tsdl_at(parser, TSDL_TOKEN_IDENTIFIER) && !tsdl_at(parser, TSDL_TOKEN_KEYWORD)) {
            return tsdl_unexpected(parser, "a name");
        }
        g_ptr_array_add(parser->names, (gpointer)parser->token.atom);
        if (!tsdl_advance(parser)) {
            return false;
        }
        if (!tsdl_at(parser, '.') && !tsdl_at(parser, TSDL_TOKEN_ARROW)) {
            break;
        }
        if (!tsdl_advance(parser)) {
            return false;
        }
    }
    *n = parser->names->len - base;
    *names = lull_arena_copy(parser->tree->scratch, parser->names->pdata + base,
                             *n * sizeof(struct draft_atom *));
    g_ptr_array_set_size(parser->names, (gint)base);
    return true;
}

const struct draft_atom *tsdl_parse_key(struct tsdl_parser *parser)
{
    const struct draft_atom *key = parser->token.atom;

    if (!tsdl_at(parser, TSDL_TOKEN_IDENTIFIER) && !tsdl_at(parser, TSDL_TOKEN_KEYWORD)) {
        tsdl_unexpected(parser, "the name of an attribute or '}'");
        return NULL;
    }
    if (!tsdl_advance(parser)) {
        return NULL;
    }
    if (!tsdl_at(parser, '.')) {
        return key;
    }
    g_string_assign(parser->text, key->text);
    while (tsdl_at(parser, '.')) {
        if (!tsdl_advance(parser)) {
            return NULL;
        }
        if (!tsdl_at(parser, TSDL_TOKEN_IDENTIFIER) && !tsdl_at(parser, TSDL_TOKEN_KEYWORD)) {
            tsdl_unexpected(parser, "a name");
            return NULL;
        }
        g_string_append_c(parser->text, '.');
        g_string_append(parser->text, parser->token.atom->text);
        if (!tsdl_advance(parser)) {
            return NULL;
        }
    }
    return draft_names_add(&parser->tree->names, parser->text->str, parser->text->len);
}

bool tsdl_parse_value(struct tsdl_parser *parser, struct tsdl_value *value)
{
    bool minus = tsdl_at(parser, '-'), sign = minus || tsdl_at(parser, '+');

    *value = (struct tsdl_value){.pos = parser->token.pos};
    if (sign && !tsdl_advance(parser)) {
        return false;
    }
    if (tsdl_at(parser, '(')) {
        if (!tsdl_enter(parser) || !tsdl_advance(parser) || !tsdl_parse_value(parser, value) ||
            !tsdl_expect(parser, ')', "')'")) {
            return false;
        }
        parser->nesting--;
        if (sign && value->kind != TSDL_VALUE_NUMBER) {
            return tsdl_fail(parser->source, LULL_ERROR_FORMAT, value->pos,
                             "a sign before something that is not a number");
        }
        value->is_negative = value->number != 0 && value->is_negative != minus;
        return true;
    }
    if (tsdl_at(parser, TSDL_TOKEN_NUMBER)) {
        value->kind = TSDL_VALUE_NUMBER;
        value->number = parser->token.number;
        value->is_negative = minus && value->number != 0;
        return tsdl_advance(parser);
    }
    if (sign) {
        return tsdl_unexpected(parser, "a number");
    }
    if (tsdl_at(parser, TSDL_TOKEN_TEXT)) {
        value->kind = TSDL_VALUE_TEXT;
        value->text = parser->token.atom;
        return tsdl_advance(parser);
    }
    if (!tsdl_at(parser, TSDL_TOKEN_IDENTIFIER) && !tsdl_at(parser, TSDL_TOKEN_KEYWORD)) {
        return tsdl_unexpected(parser, "a value");
    }
    value->kind = TSDL_VALUE_PATH;
    value->text = parser->token.atom;
    return tsdl_parse_path(parser, &value->names, &value->n_names);
}

static bool bad_value(struct tsdl_parser *parser, const struct tsdl_value *value, const char *what,
                      const char *why)
{
    return tsdl_fail(parser->source, LULL_ERROR_FORMAT, value->pos, "bad value of %s: %s", what,
                     why);
}

bool tsdl_value_unsigned(struct tsdl_parser *parser, const struct tsdl_value *value,
                         const char *what, uint64_t *out)
{
    if (value->kind != TSDL_VALUE_NUMBER) {
        return bad_value(parser, value, what, "a number is expected");
    }
    if (value->is_negative) {
        return bad_value(parser, value, what, "it is negative");
    }
    *out = value->number;
    return true;
}

bool tsdl_value_signed(struct tsdl_parser *parser, const struct tsdl_value *value, const char *what,
                       int64_t *out)
{
    if (value->kind != TSDL_VALUE_NUMBER) {
        return bad_value(parser, value, what, "a number is expected");
    }
    if (value->number > (uint64_t)INT64_MAX + value->is_negative) {
        return bad_value(parser, value, what, "it does not fit a signed integer of 64 bits");
    }
    *out = (int64_t)(value->is_negative ? -value->number : value->number);
    return true;
}

const struct draft_atom *tsdl_value_text(struct tsdl_parser *parser, const struct tsdl_value *value,
                                         const char *what)
{
    if (value->kind == TSDL_VALUE_TEXT || (value->kind == TSDL_VALUE_PATH && value->n_names == 1)) {
        return value->text;
    }
    bad_value(parser, value, what, "a text is expected");
    return NULL;
}

/* Is the value this text or single name? */
static bool is_text(const struct tsdl_value *value, const char *text)
{
    return value->text && (value->kind == TSDL_VALUE_TEXT || value->n_names == 1) &&
           strcmp(value->text->text, text) == 0;
}

bool tsdl_value_bool(struct tsdl_parser *parser, const struct tsdl_value *value, const char *what,
                     bool *out)
{
    bool is_number = value->kind == TSDL_VALUE_NUMBER && !value->is_negative;

    if ((is_number && value->number == 1) || is_text(value, "true") || is_text(value, "TRUE")) {
        *out = true;
    } else if ((is_number && value->number == 0) || is_text(value, "false") ||
               is_text(value, "FALSE")) {
        *out = false;
    } else {
        return bad_value(parser, value, what, "true, TRUE, 1, false, FALSE or 0 is expected");
    }
    return true;
}

bool tsdl_value_uuid(struct tsdl_parser *parser, const struct tsdl_value *value, uint8_t uuid[16])
{
    const char *text = value->kind == TSDL_VALUE_TEXT ? value->text->text : "";
    uint32_t n_digits = 0;

    for (uint32_t i = 0; text[i]; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        int digit = g_ascii_xdigit_value(text[i]);
        if (i >= 36 || (is_dash ? text[i] != '-' : digit < 0)) {
            n_digits = 0;
            break;
        }
        if (is_dash) {
            continue;
        }
        uuid[n_digits / 2] = (uint8_t)(n_digits % 2 ? uuid[n_digits / 2] | digit : digit << 4);
        n_digits++;
    }
    if (n_digits != 32) {
        return bad_value(parser, value, "uuid",
                         "\"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx\" with hexadecimal digits is "
                         "expected");
    }
    return true;
}

bool tsdl_value_byte_order(struct tsdl_parser *parser, const struct tsdl_value *value,
                           enum tsdl_byte_order *out)
{
    if (is_text(value, "native")) {
        *out = TSDL_NATIVE;
    } else if (is_text(value, "be") || is_text(value, "network")) {
        *out = TSDL_BIG;
    } else if (is_text(value, "le")) {
        *out = TSDL_LITTLE;
    } else {
        return bad_value(parser, value, "byte_order", "native, network, be or le is expected");
    }
    return true;
}

bool tsdl_once(struct tsdl_parser *parser, uint64_t *seen, const struct draft_atom *key,
               uint32_t pos)
{
    uint64_t bit = UINT64_C(1) << key->word;

    if (key->word != TSDL_WORD_NONE && (*seen & bit)) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, pos, "'%s' is given twice", key->text);
    }
    *seen |= bit;
    return true;
}

bool tsdl_value_alignment(struct tsdl_parser *parser, const struct tsdl_value *value, uint32_t *out)
{
    uint64_t alignment;

    if (!tsdl_value_unsigned(parser, value, "align", &alignment)) {
        return false;
    }
    if (alignment == 0 || (alignment & (alignment - 1)) || alignment > UINT64_C(1) << 31) {
        return bad_value(parser, value, "align", "it has to be a power of two");
    }
    *out = (uint32_t)alignment;
    return true;
}

static bool value_base(struct tsdl_parser *parser, const struct tsdl_value *value, uint8_t *out)
{
    static const struct {
        const char *name;
        uint8_t base;
    } names[] = {{"decimal", 10}, {"dec", 10},         {"d", 10},    {"i", 10},
                 {"u", 10},       {"hex", 16},         {"x", 16},    {"X", 16},
                 {"p", 16},       {"hexadecimal", 16}, {"octal", 8}, {"oct", 8},
                 {"o", 8},        {"binary", 2},       {"bin", 2},   {"b", 2}};

    if (value->kind == TSDL_VALUE_NUMBER && !value->is_negative &&
        (value->number == 2 || value->number == 8 || value->number == 10 || value->number == 16)) {
        *out = (uint8_t)value->number;
        return true;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (is_text(value, names[i].name)) {
            *out = names[i].base;
            return true;
        }
    }
    return bad_value(parser, value, "base", "2, 8, 10, 16 or the name of one is expected");
}

static bool value_encoding(struct tsdl_parser *parser, const struct tsdl_value *value,
                           enum lull_encoding *out)
{
    const char *text = value->text && value->n_names <= 1 ? value->text->text : "";

    if (!g_ascii_strcasecmp(text, "UTF8") || !g_ascii_strcasecmp(text, "UTF-8")) {
        *out = LULL_ENCODING_UTF8;
    } else if (!g_ascii_strcasecmp(text, "ASCII")) {
        *out = LULL_ENCODING_ASCII;
    } else if (!g_ascii_strcasecmp(text, "none")) {
        *out = LULL_ENCODING_NONE;
    } else {
        return bad_value(parser, value, "encoding", "none, UTF8 or ASCII is expected");
    }
    return true;
}

/* clock.NAME.value */
static bool value_clock(struct tsdl_parser *parser, const struct tsdl_value *value,
                        const struct draft_atom **out)
{
    if (value->kind != TSDL_VALUE_PATH || value->n_names != 3 ||
        value->names[0]->word != TSDL_CLOCK || strcmp(value->names[2]->text, "value") != 0) {
        return bad_value(parser, value, "map", "clock.NAME.value is expected");
    }
    *out = value->names[1];
    return true;
}

/* Calls `set` for each `KEY = VALUE;` of a block in braces, up to the closing one. */
static bool parse_attributes(struct tsdl_parser *parser, struct draft_class *type, uint64_t *seen,
                             bool (*set)(struct tsdl_parser *parser, struct draft_class *type,
                                         enum tsdl_word word, const struct tsdl_value *value))
{
    if (!tsdl_expect(parser, '{', "'{'")) {
        return false;
    }
    while (!tsdl_at(parser, '}')) {
        struct tsdl_value value;
        uint32_t pos = parser->token.pos;
        const struct draft_atom *key = tsdl_parse_key(parser);
        if (!key || !tsdl_expect(parser, '=', "'='") || !tsdl_parse_value(parser, &value) ||
            !tsdl_expect(parser, ';', "';'") || !tsdl_once(parser, seen, key, pos) ||
            !set(parser, type, key->word, &value)) {
            return false;
        }
    }
    return true;
}

static bool set_byte_order(struct tsdl_parser *parser, const struct tsdl_value *value,
                           struct draft_class *type, bool *is_big_endian)
{
    enum tsdl_byte_order order;

    if (!tsdl_value_byte_order(parser, value, &order)) {
        return false;
    }
    type->is_native = order == TSDL_NATIVE;
    *is_big_endian = order == TSDL_BIG;
    return true;
}

static bool set_integer(struct tsdl_parser *parser, struct draft_class *type, enum tsdl_word word,
                        const struct tsdl_value *value)
{
    switch (word) {
    case TSDL_SIZE:
        return tsdl_value_unsigned(parser, value, "size", &type->fixed_bits);
    case TSDL_ALIGN:
        return tsdl_value_alignment(parser, value, &type->fc.alignment);
    case TSDL_SIGNED:
        return tsdl_value_bool(parser, value, "signed", &type->fc.integer.is_signed);
    case TSDL_BYTE_ORDER:
        return set_byte_order(parser, value, type, &type->fc.integer.is_big_endian);
    case TSDL_BASE:
        return value_base(parser, value, &type->fc.integer.base);
    case TSDL_ENCODING:
        return value_encoding(parser, value, &type->fc.integer.encoding);
    case TSDL_MAP:
        type->integer.clock_pos = value->pos;
        return value_clock(parser, value, &type->integer.clock);
    default:
        return true;
    }
}

/* Tracers write the attributes of an integer out at each field, and few of them differ: what was
 * read before need not be read again. */
static const struct tsdl_integer *find_integer(const struct tsdl_parser *parser)
{
    const struct draft_source *source = parser->source;
    const uint32_t pos = parser->token.pos;
    for (uint32_t i = 0; !parser->has_next && i < MIN(parser->n_integers, TSDL_KNOWN_INTEGERS);
         i++) {
        const struct tsdl_integer *known = &parser->integers[i];
        if (known->length <= source->size - pos &&
            memcmp(source->text + known->pos, source->text + pos, known->length) == 0) {
            return known;
        }
    }
    return NULL;
}

static void keep_integer(struct tsdl_parser *parser, uint32_t pos, uint32_t length,
                         const struct draft_class *type)
{
    if (!type->integer.clock) { /* which has a place of its own */
        parser->integers[parser->n_integers++ % TSDL_KNOWN_INTEGERS] =
            (struct tsdl_integer){pos, length, *type};
    }
}

struct draft_class *tsdl_parse_integer(struct tsdl_parser *parser, uint32_t pos)
{
    const struct tsdl_integer *known = find_integer(parser);
    struct draft_class *type = tsdl_new_type(parser, LULL_FC_INT, pos);
    const uint32_t start = parser->token.pos;
    uint64_t seen = 0;

    if (known) {
        *type = known->type;
        type->pos = pos;
        parser->lexer.pos = start + known->length;
        return tsdl_advance(parser) ? type : NULL;
    }
    type->fc.alignment = 0;
    type->fc.integer.base = 10;
    type->fixed_bits = 0;
    if (!parse_attributes(parser, type, &seen, set_integer)) {
        return NULL;
    }
    const uint32_t length = parser->token.pos + 1 - start;
    if (!tsdl_advance(parser)) {
        return NULL;
    }
    if (type->fixed_bits == 0) {
        tsdl_fail(parser->source, LULL_ERROR_FORMAT, pos, "integer without a size: %s",
                  seen & UINT64_C(1) << TSDL_SIZE ? "0 bits are forbidden"
                                                  : "the attribute has no default");
        return NULL;
    }
    if (type->fc.alignment == 0) {
        type->fc.alignment = type->fixed_bits % 8 == 0 ? 8 : 1;
    }
    keep_integer(parser, start, length, type);
    return type;
}

static bool set_float(struct tsdl_parser *parser, struct draft_class *type, enum tsdl_word word,
                      const struct tsdl_value *value)
{
    switch (word) {
    case TSDL_EXP_DIG:
        return tsdl_value_unsigned(parser, value, "exp_dig", &type->floating.exp_dig);
    case TSDL_MANT_DIG:
        return tsdl_value_unsigned(parser, value, "mant_dig", &type->floating.mant_dig);
    case TSDL_ALIGN:
        return tsdl_value_alignment(parser, value, &type->fc.alignment);
    case TSDL_BYTE_ORDER:
        return set_byte_order(parser, value, type, &type->fc.floating.is_big_endian);
    default:
        return true;
    }
}

struct draft_class *tsdl_parse_float(struct tsdl_parser *parser, uint32_t pos)
{
    struct draft_class *type = tsdl_new_type(parser, LULL_FC_FLOAT, pos);
    uint64_t seen = 0;

    type->fc.alignment = 8;
    if (!parse_attributes(parser, type, &seen, set_float) || !tsdl_advance(parser)) {
        return NULL;
    }
    if (type->floating.exp_dig == 0 || type->floating.mant_dig == 0) {
        tsdl_fail(parser->source, LULL_ERROR_FORMAT, pos,
                  "floating_point without a size: exp_dig and mant_dig have no defaults");
        return NULL;
    }
    /* Saturates: what does not fit is refused when it is used. */
    if (__builtin_add_overflow(type->floating.exp_dig, type->floating.mant_dig,
                               &type->fixed_bits)) {
        type->fixed_bits = DRAFT_UNKNOWN_BITS;
    }
    return type;
}

static bool set_string(struct tsdl_parser *parser, struct draft_class *type, enum tsdl_word word,
                       const struct tsdl_value *value)
{
    return word != TSDL_ENCODING || value_encoding(parser, value, &type->fc.string.encoding);
}

struct draft_class *tsdl_parse_string(struct tsdl_parser *parser, uint32_t pos)
{
    struct draft_class *type = tsdl_new_type(parser, LULL_FC_STRING, pos);
    uint64_t seen = 0;

    type->fc.alignment = 8;
    type->fc.string.encoding = LULL_ENCODING_UTF8;
    if (tsdl_at(parser, '{') &&
        (!parse_attributes(parser, type, &seen, set_string) || !tsdl_advance(parser))) {
        return NULL;
    }
    return type;
}

/* One bound of a range, which may lie outside of what the container can hold. */
static bool parse_bound(struct tsdl_parser *parser, __int128 *bound)
{
    struct tsdl_value value;

    if (!tsdl_parse_value(parser, &value)) {
        return false;
    }
    if (value.kind != TSDL_VALUE_NUMBER) {
        return bad_value(parser, &value, "an enumeration's label", "a number is expected");
    }
    if (value.is_negative && value.number > (uint64_t)INT64_MAX + 1) {
        return bad_value(parser, &value, "an enumeration's label",
                         "it does not fit a signed integer of 64 bits");
    }
    *bound = value.is_negative ? -(__int128)value.number : value.number;
    return true;
}

/* The range as 64 bits of the container's signedness. LTTng-UST writes labels as the program has
 * them, so those of an unsigned integer may be negative. Babeltrace takes their two's complement;
 * of a range that is only partly of the other signedness (where it aborts) the rest counts. */
static struct lull_enum_range range_of(__int128 lower, __int128 upper, bool is_signed)
{
    if (is_signed && lower <= INT64_MAX && upper > INT64_MAX) {
        upper = INT64_MAX;
    } else if (!is_signed && lower < 0 && upper >= 0) {
        lower = 0;
    }
    return (struct lull_enum_range){.lower = (uint64_t)lower, .upper = (uint64_t)upper};
}

static bool parse_enumerator(struct tsdl_parser *parser, bool is_signed, __int128 *next)
{
    const struct draft_atom *label = parser->token.atom;
    uint32_t pos = parser->token.pos;
    __int128 lower = *next, upper;

    if (!tsdl_at(parser, TSDL_TOKEN_IDENTIFIER) && !tsdl_at(parser, TSDL_TOKEN_KEYWORD) &&
        !tsdl_at(parser, TSDL_TOKEN_TEXT)) {
        return tsdl_unexpected(parser, "the label of an enumeration");
    }
    if (!tsdl_advance(parser)) {
        return false;
    }
    if (tsdl_at(parser, '=')) {
        if (!tsdl_advance(parser) || !parse_bound(parser, &lower)) {
            return false;
        }
        upper = lower;
        if (tsdl_at(parser, TSDL_TOKEN_RANGE) &&
            (!tsdl_advance(parser) || !parse_bound(parser, &upper))) {
            return false;
        }
        if (lower > upper) {
            return tsdl_fail(parser->source, LULL_ERROR_FORMAT, pos,
                             "bad range of a label: it ends before it starts");
        }
    } else if (lower > (is_signed ? (__int128)INT64_MAX : (__int128)UINT64_MAX)) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, pos,
                         "label without a value: the value after that of the previous label does "
                         "not fit in 64 bits");
    } else {
        upper = lower;
    }
    *next = (is_signed && upper > INT64_MAX ? (int64_t)upper : upper) + 1;
    struct lull_enum_range range = range_of(lower, upper, is_signed);
    range.label = label->text;
    g_ptr_array_add(parser->names, (gpointer)label);
    g_array_append_val(parser->ranges, range);
    return true;
}

bool tsdl_parse_enumerators(struct tsdl_parser *parser, struct draft_class *type)
{
    bool is_signed = type->fc.integer.is_signed;
    guint base = parser->names->len;
    __int128 next = 0;

    g_array_set_size(parser->ranges, 0);
    if (!tsdl_expect(parser, '{', "'{'")) {
        return false;
    }
    while (!tsdl_at(parser, '}')) {
        if (!parse_enumerator(parser, is_signed, &next)) {
            return false;
        }
        if (tsdl_at(parser, '}')) {
            break;
        }
        if (!tsdl_expect(parser, ',', "',' or '}'")) {
            return false;
        }
    }
    if (parser->ranges->len == 0) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, parser->token.pos,
                         "enumeration without a label: it has to have one at least");
    }
    struct lull_enumeration *enumeration =
        lull_arena_alloc(parser->tree->arena, sizeof *enumeration);
    enumeration->n_ranges = parser->ranges->len;
    enumeration->ranges = lull_arena_copy(parser->tree->arena, parser->ranges->data,
                                          parser->ranges->len * sizeof(struct lull_enum_range));
    type->fc.integer.enumeration = enumeration;
    type->integer.labels = lull_arena_copy(parser->tree->scratch, parser->names->pdata + base,
                                           enumeration->n_ranges * sizeof(struct draft_atom *));
    g_ptr_array_set_size(parser->names, (gint)base);
    return tsdl_advance(parser);
}

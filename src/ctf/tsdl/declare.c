/* SPDX-License-Identifier: MIT */
/* Declarations of TSDL: declarators with pointers, arrays and sequences, typedef, typealias, and
 * the bodies of structures and variants with the layout that GNU/C bit-fields need (section 4.1.6).
 */
#include "ctf/tsdl/parser.h"

#include <string.h>

/* One pair of brackets. */
struct dimension {
    uint32_t pos;
    uint64_t length;
    const struct draft_ref *length_ref; /* not NULL: a sequence */
};

struct dimensions {
    struct dimension list[DRAFT_MAX_DEPTH];
    uint32_t n;
};

static uint64_t align_up(uint64_t bits, uint64_t alignment)
{
    uint64_t sum;
    return __builtin_add_overflow(bits, alignment - 1, &sum) ? DRAFT_UNKNOWN_BITS
                                                             : sum & ~(alignment - 1);
}

static uint64_t array_bits(const struct draft_class *element, uint64_t length)
{
    uint64_t stride = element->fixed_bits, bits;

    if (length == 0) {
        return 0;
    }
    if (stride == DRAFT_UNKNOWN_BITS) {
        return DRAFT_UNKNOWN_BITS;
    }
    stride = align_up(stride, element->fc.alignment);
    if (stride == DRAFT_UNKNOWN_BITS || __builtin_mul_overflow(stride, length - 1, &bits) ||
        __builtin_add_overflow(bits, element->fixed_bits, &bits)) {
        return DRAFT_UNKNOWN_BITS;
    }
    return bits;
}

static struct draft_class *new_array(struct tsdl_parser *parser, struct draft_class *element,
                                     const struct dimension *dimension)
{
    enum lull_fc_kind kind = dimension->length_ref ? LULL_FC_SEQUENCE : LULL_FC_ARRAY;
    struct draft_class *type = tsdl_new_type(parser, kind, dimension->pos);

    if (!tsdl_add_part(parser, type, element)) {
        return NULL;
    }
    type->has_refs |= dimension->length_ref != NULL;
    type->fc.alignment = element->fc.alignment;
    type->body = draft_body_of(parser->tree, element);
    type->ref = dimension->length_ref;
    if (!type->ref) {
        type->fc.array.length = dimension->length;
        type->fixed_bits = array_bits(element, dimension->length);
    }
    return type;
}

/* From after the opening bracket to after the closing one. */
static bool parse_dimension(struct tsdl_parser *parser, struct dimensions *dimensions)
{
    struct tsdl_value value;

    if (dimensions->n == DRAFT_MAX_DEPTH) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, parser->token.pos,
                         "nested too deeply: more than %d dimensions", DRAFT_MAX_DEPTH);
    }
    struct dimension *dimension = &dimensions->list[dimensions->n++];
    *dimension = (struct dimension){.pos = parser->token.pos};
    if (tsdl_at(parser, ']')) {
        return tsdl_unexpected(parser, "the length of an array, or the name of the field it is in");
    }
    if (!tsdl_parse_value(parser, &value)) {
        return false;
    }
    if (value.kind == TSDL_VALUE_PATH) {
        dimension->length_ref = tsdl_new_ref(parser, value.pos, value.names, value.n_names);
        if (!dimension->length_ref) {
            return false;
        }
    } else if (!tsdl_value_unsigned(parser, &value, "an array's length", &dimension->length)) {
        return false;
    }
    return tsdl_expect(parser, ']', "']'");
}

/* A name, or a declarator in parentheses, then dimensions. */
static bool parse_direct(struct tsdl_parser *parser, bool needs_name, struct dimensions *dimensions,
                         struct tsdl_declarator *declarator)
{
    declarator->pos = parser->token.pos;
    if (tsdl_at(parser, '(')) {
        if (!tsdl_enter(parser) || !tsdl_advance(parser)) {
            return false;
        }
        if (tsdl_at(parser, '*')) {
            return tsdl_fail(parser->source, LULL_ERROR_UNSUPPORTED, parser->token.pos,
                             "pointer in parentheses: pointers to arrays are not understood");
        }
        if (!parse_direct(parser, needs_name, dimensions, declarator) ||
            !tsdl_expect(parser, ')', "')'")) {
            return false;
        }
        parser->nesting--;
    } else if (tsdl_at(parser, TSDL_TOKEN_IDENTIFIER)) {
        declarator->name = parser->token.atom;
        if (!tsdl_advance(parser)) {
            return false;
        }
    } else if (needs_name) {
        return tsdl_unexpected(parser, "a name");
    }
    while (tsdl_at(parser, '[')) {
        if (!tsdl_advance(parser) || !parse_dimension(parser, dimensions)) {
            return false;
        }
    }
    return true;
}

/* `*` and `* const`, appended to `out` the way names of types are spelled. */
static bool parse_pointers(struct tsdl_parser *parser, GString *out)
{
    while (tsdl_at(parser, '*')) {
        g_string_append(out, " *");
        if (!tsdl_advance(parser)) {
            return false;
        }
        while (tsdl_at_word(parser, TSDL_CONST)) {
            g_string_append(out, " const");
            if (!tsdl_advance(parser)) {
                return false;
            }
        }
    }
    return true;
}

bool tsdl_parse_declarator(struct tsdl_parser *parser, const struct tsdl_specifiers *specifiers,
                           bool needs_name, struct tsdl_declarator *declarator)
{
    struct dimensions dimensions;
    struct draft_class *type;

    *declarator = (struct tsdl_declarator){.pos = parser->token.pos};
    dimensions.n = 0;
    if (tsdl_at(parser, '*')) {
        GString *pointers = g_string_new(NULL);
        bool ok = parse_pointers(parser, pointers);
        type = ok ? tsdl_specified_type(parser, specifiers, pointers->str) : NULL;
        g_string_free(pointers, TRUE);
    } else {
        type = tsdl_specified_type(parser, specifiers, NULL);
    }
    if (!type || !parse_direct(parser, needs_name, &dimensions, declarator)) {
        return false;
    }
    /* T x[2][3] is an array of two arrays of three. */
    while (type && dimensions.n > 0) {
        type = new_array(parser, type, &dimensions.list[--dimensions.n]);
    }
    declarator->type = type;
    return type != NULL;
}

bool tsdl_parse_typedef(struct tsdl_parser *parser, const struct tsdl_specifiers *specifiers)
{
    for (;;) {
        struct tsdl_declarator declarator;
        if (!tsdl_parse_declarator(parser, specifiers, true, &declarator) ||
            !tsdl_define(parser, declarator.name, declarator.type, declarator.pos)) {
            return false;
        }
        if (!tsdl_at(parser, ',')) {
            return true;
        }
        if (!tsdl_advance(parser)) {
            return false;
        }
    }
}

/* Of keywords only the words of C's types are part of a name. */
static bool is_no_name(const struct tsdl_parser *parser)
{
    static const enum tsdl_word words[] = {
        TSDL_TRACE,    TSDL_ENV,       TSDL_CLOCK,   TSDL_STREAM,         TSDL_EVENT,
        TSDL_CALLSITE, TSDL_TYPEALIAS, TSDL_INTEGER, TSDL_FLOATING_POINT, TSDL_STRING};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (tsdl_at_word(parser, words[i])) {
            return true;
        }
    }
    return false;
}

/* The right side of a typealias as one name: "unsigned long", "const struct page *". */
static const struct draft_atom *parse_alias_name(struct tsdl_parser *parser, GString *name)
{
    bool is_const = false;

    while (tsdl_at(parser, TSDL_TOKEN_KEYWORD) || tsdl_at(parser, TSDL_TOKEN_IDENTIFIER)) {
        if (tsdl_at_word(parser, TSDL_CONST)) {
            is_const = true;
        } else if (is_no_name(parser)) {
            break;
        } else {
            if (name->len) {
                g_string_append_c(name, ' ');
            }
            g_string_append(name, parser->token.atom->text);
        }
        if (!tsdl_advance(parser)) {
            return NULL;
        }
    }
    if (name->len == 0) {
        tsdl_unexpected(parser, "the name of the new type");
        return NULL;
    }
    if (is_const) {
        g_string_prepend(name, "const ");
    }
    if (!parse_pointers(parser, name)) {
        return NULL;
    }
    return draft_names_add(&parser->tree->names, name->str, name->len);
}

bool tsdl_parse_typealias(struct tsdl_parser *parser)
{
    struct tsdl_specifiers specifiers;
    struct tsdl_declarator target;

    if (!tsdl_advance(parser) || !tsdl_parse_specifiers(parser, &specifiers) ||
        !tsdl_parse_declarator(parser, &specifiers, false, &target)) {
        return false;
    }
    if (specifiers.is_typedef || target.name) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, target.pos,
                         "typealias that declares a name on its left-hand side");
    }
    if (!tsdl_expect(parser, TSDL_TOKEN_ASSIGN_TYPE, "':='")) {
        return false;
    }

    uint32_t pos = parser->token.pos;
    GString *text = g_string_new(NULL);
    const struct draft_atom *name = parse_alias_name(parser, text);
    g_string_free(text, TRUE);
    return name && tsdl_define(parser, name, target.type, pos);
}

bool tsdl_at_declaration(struct tsdl_parser *parser)
{
    if (!tsdl_at(parser, TSDL_TOKEN_KEYWORD) && !tsdl_at(parser, TSDL_TOKEN_IDENTIFIER)) {
        return false;
    }
    int next = tsdl_peek(parser)->kind;
    return next != '=' && next != TSDL_TOKEN_ASSIGN_TYPE && next != '.';
}

bool tsdl_parse_declaration(struct tsdl_parser *parser)
{
    struct tsdl_specifiers specifiers = {0};

    if (tsdl_at_word(parser, TSDL_TYPEALIAS)) {
        if (!tsdl_parse_typealias(parser)) {
            return false;
        }
    } else {
        if (!tsdl_parse_specifiers(parser, &specifiers)) {
            return false;
        }
        if (specifiers.is_typedef) {
            if (!tsdl_parse_typedef(parser, &specifiers)) {
                return false;
            }
        } else if (!specifiers.type && tsdl_at(parser, ';')) {
            return tsdl_fail(parser->source, LULL_ERROR_FORMAT, specifiers.pos,
                             "declaration that declares nothing");
        }
    }
    /* As Babeltrace 2, and ctf-testsuite, have it, another type may follow a named one's body. */
    return (specifiers.declares && tsdl_at(parser, TSDL_TOKEN_KEYWORD)) ||
           tsdl_expect(parser, ';', "';'");
}

/* Where the next member of a structure starts, as far as that is the same in every record. */
struct layout {
    uint64_t offset; /* from the start of the structure, or DRAFT_UNKNOWN_BITS */
};

static bool add_member(struct tsdl_parser *parser, struct draft_class *type,
                       struct draft_body *body, struct layout *layout,
                       const struct tsdl_declarator *declarator)
{
    const struct draft_class *part = declarator->type;
    struct draft_part member = {declarator->name, draft_bare_name(declarator->name),
                                declarator->type};

    body->n_parts++;
    if (declarator->name->length > 0 &&
        !draft_names_bind(&parser->tree->names, body, declarator->name,
                          GUINT_TO_POINTER(body->n_parts))) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, declarator->pos,
                         "field '%.60s' is declared twice", declarator->name->text);
    }
    g_array_append_val(parser->members, member);
    if (!tsdl_add_part(parser, type, part)) {
        return false;
    }
    if (type->fc.kind != LULL_FC_STRUCT) {
        return true;
    }
    type->fc.alignment = MAX(type->fc.alignment, part->fc.alignment);
    if (layout->offset != DRAFT_UNKNOWN_BITS) {
        layout->offset = align_up(layout->offset, part->fc.alignment);
    }
    if (part->fixed_bits == DRAFT_UNKNOWN_BITS || layout->offset == DRAFT_UNKNOWN_BITS ||
        __builtin_add_overflow(layout->offset, part->fixed_bits, &layout->offset)) {
        layout->offset = DRAFT_UNKNOWN_BITS;
    }
    return true;
}

/* `: WIDTH`, after the declarator of the unit type. The bit-field follows on the next bit unless
 * it would cross the end of the unit; then it starts the next one. Of width 0 it only ends the
 * unit: an empty structure does that. */
static bool make_bit_field(struct tsdl_parser *parser, struct draft_class *type,
                           const struct layout *layout, struct tsdl_declarator *declarator)
{
    const struct draft_class *unit = declarator->type;
    uint32_t pos = parser->token.pos;
    struct tsdl_value value;
    uint64_t width;

    if (!tsdl_advance(parser) || !tsdl_parse_value(parser, &value) ||
        !tsdl_value_unsigned(parser, &value, "a bit-field's width", &width)) {
        return false;
    }
    if (type->fc.kind != LULL_FC_STRUCT || unit->fc.kind != LULL_FC_INT) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, pos,
                         "bit-field that is not an integer of a structure");
    }
    if (width > unit->fixed_bits || (width == 0 && declarator->name->length > 0)) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, pos,
                         "bad width of a bit-field: its unit has %" G_GUINT64_FORMAT " bits",
                         unit->fixed_bits);
    }
    if (unit->fixed_bits != unit->fc.alignment) {
        return tsdl_fail(parser->source, LULL_ERROR_UNSUPPORTED, pos,
                         "bit-field in a unit that is not aligned to its size");
    }
    if (layout->offset == DRAFT_UNKNOWN_BITS) {
        return tsdl_fail(parser->source, LULL_ERROR_UNSUPPORTED, pos,
                         "a bit-field after fields of variable size has no fixed unit");
    }
    type->fc.alignment = MAX(type->fc.alignment, unit->fc.alignment);
    uint64_t used = layout->offset % unit->fc.alignment;
    if (width == 0) {
        declarator->type = tsdl_new_type(parser, LULL_FC_STRUCT, pos);
        declarator->type->body = lull_arena_alloc(parser->tree->scratch, sizeof(struct draft_body));
        declarator->type->fc.alignment = unit->fc.alignment;
        declarator->type->fixed_bits = 0;
        return true;
    }
    declarator->type = lull_arena_copy(parser->tree->scratch, unit, sizeof *unit);
    declarator->type->built = NULL;
    declarator->type->fc.alignment = used + width > unit->fc.alignment ? unit->fc.alignment : 1;
    declarator->type->fixed_bits = width;
    return true;
}

static bool parse_members(struct tsdl_parser *parser, struct draft_class *type,
                          struct draft_body *body, struct layout *layout,
                          const struct tsdl_specifiers *specifiers)
{
    for (;;) {
        struct tsdl_declarator declarator = {.pos = parser->token.pos};
        if (tsdl_at(parser, ':')) {
            declarator.name = draft_names_add(&parser->tree->names, "", 0);
            declarator.type = tsdl_specified_type(parser, specifiers, NULL);
            if (!declarator.type) {
                return false;
            }
        } else if (!tsdl_parse_declarator(parser, specifiers, true, &declarator)) {
            return false;
        }
        if (tsdl_at(parser, ':') && !make_bit_field(parser, type, layout, &declarator)) {
            return false;
        }
        if (!add_member(parser, type, body, layout, &declarator)) {
            return false;
        }
        if (!tsdl_at(parser, ',')) {
            return true;
        }
        if (!tsdl_advance(parser)) {
            return false;
        }
    }
}

static bool parse_body_statement(struct tsdl_parser *parser, struct draft_class *type,
                                 struct draft_body *body, struct layout *layout)
{
    struct tsdl_specifiers specifiers;

    if (tsdl_at_word(parser, TSDL_TYPEALIAS)) {
        return tsdl_parse_typealias(parser);
    }
    if (!tsdl_parse_specifiers(parser, &specifiers)) {
        return false;
    }
    if (specifiers.is_typedef) {
        return tsdl_parse_typedef(parser, &specifiers);
    }
    if (specifiers.declares && tsdl_at(parser, ';')) {
        return true;
    }
    return parse_members(parser, type, body, layout, &specifiers);
}

bool tsdl_parse_body(struct tsdl_parser *parser, struct draft_class *type)
{
    struct draft_body *body = lull_arena_alloc(parser->tree->scratch, sizeof *body);
    struct layout layout = {0};
    guint base = parser->members->len;

    if (!tsdl_open_scope(parser) || !tsdl_expect(parser, '{', "'{'")) {
        return false;
    }
    if (type->fc.kind == LULL_FC_STRUCT) {
        parser->bodies[parser->n_bodies++] = body;
    }
    while (!tsdl_at(parser, '}')) {
        if (!parse_body_statement(parser, type, body, &layout) ||
            !tsdl_expect(parser, ';', "';'")) {
            return false;
        }
    }
    if (type->fc.kind == LULL_FC_STRUCT) {
        parser->n_bodies--;
        type->fixed_bits = layout.offset;
    }
    type->body = body;
    tsdl_close_scope(parser);
    if (body->n_parts > 0) {
        body->parts = lull_arena_copy(parser->tree->scratch,
                                      &g_array_index(parser->members, struct draft_part, base),
                                      body->n_parts * sizeof(struct draft_part));
    }
    g_array_set_size(parser->members, base);
    return tsdl_advance(parser);
}

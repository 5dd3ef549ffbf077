/* SPDX-License-Identifier: MIT */
/* Type specifiers of TSDL: names of types and their lexical scopes (section 7.3.1), structures,
 * variants and enumerations, and references to the fields that tags and lengths come from. */
#include "ctf/tsdl/parser.h"

#include <string.h>

struct draft_class *tsdl_new_type(struct tsdl_parser *parser, enum lull_fc_kind kind, uint32_t pos)
{
    struct draft_class *type = draft_class_new(parser->tree, kind);
    type->pos = pos;
    type->is_native = true;
    return type;
}

static struct draft_class *copy_type(struct tsdl_parser *parser, const struct draft_class *type)
{
    return lull_arena_copy(parser->tree->scratch, type, sizeof *type);
}

bool tsdl_add_part(struct tsdl_parser *parser, struct draft_class *type,
                   const struct draft_class *part)
{
    type->has_refs |= part->has_refs;
    type->depth = MAX(type->depth, part->depth + 1);
    type->n_classes += part->n_classes; /* each is at most DRAFT_MAX_CLASSES, so it cannot wrap */
    if (type->depth > DRAFT_MAX_DEPTH) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, type->pos,
                         "nested too deeply: more than %d levels", DRAFT_MAX_DEPTH);
    }
    if (type->n_classes > DRAFT_MAX_CLASSES) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, type->pos,
                         "type too large: more than %u fields when it is spelled out",
                         DRAFT_MAX_CLASSES);
    }
    return true;
}

bool tsdl_define(struct tsdl_parser *parser, const struct draft_atom *name,
                 struct draft_class *type, uint32_t pos)
{
    uintptr_t scope = parser->scopes[parser->n_scopes - 1];

    if (!draft_names_bind(&parser->tree->names, (const void *)scope, name, type)) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, pos,
                         "type '%.60s' is declared twice in the same scope", name->text);
    }
    return true;
}

static struct draft_class *find_type(const struct tsdl_parser *parser,
                                     const struct draft_atom *name)
{
    for (uint32_t i = parser->n_scopes; i-- > 0;) {
        struct draft_class *type =
            draft_names_bound(&parser->tree->names, (const void *)parser->scopes[i], name);
        if (type) {
            return type;
        }
    }
    return NULL;
}

struct draft_class *tsdl_specified_type(struct tsdl_parser *parser,
                                        const struct tsdl_specifiers *specifiers,
                                        const char *pointers)
{
    struct draft_class *type = NULL;

    if (specifiers->type && !pointers) {
        return specifiers->type;
    }
    if (!specifiers->words) {
        tsdl_fail(parser->source, LULL_ERROR_FORMAT, specifiers->pos,
                  "pointer to a type without a name: nothing says how it is recorded");
        return NULL;
    }
    if (!pointers && !specifiers->is_const) {
        type = find_type(parser, specifiers->words);
    } else {
        /* A type may be declared with its `const`, and then that is what is meant. */
        for (int with_const = specifiers->is_const; with_const >= 0 && !type; with_const--) {
            g_string_printf(parser->text, "%s%s%s", with_const ? "const " : "",
                            specifiers->words->text, pointers ? pointers : "");
            const struct draft_atom *name =
                draft_names_find(&parser->tree->names, parser->text->str, parser->text->len);
            type = name ? find_type(parser, name) : NULL;
        }
    }
    /* A text that is cut short may have lost the rest of `unsigned long`. */
    if (!type && tsdl_at(parser, TSDL_TOKEN_END)) {
        tsdl_unexpected(parser, "more of a declaration");
    } else if (!type) {
        tsdl_fail(parser->source, LULL_ERROR_FORMAT, specifiers->pos,
                  "type '%.60s%.20s' is not declared", specifiers->words->text,
                  pointers ? pointers : "");
    }
    return type;
}

/* "struct NAME" and the like: tags of compounds do not clash with other names of types. */
static const struct draft_atom *tag_name(struct tsdl_parser *parser,
                                         const struct draft_atom *keyword,
                                         const struct draft_atom *name)
{
    g_string_printf(parser->text, "%s %s", keyword->text, name->text);
    return draft_names_add(&parser->tree->names, parser->text->str, parser->text->len);
}

/* Finds the dynamic scope that an absolute path starts with, and leaves out its names. */
static bool take_scope(struct tsdl_parser *parser, struct draft_ref *ref)
{
    static const struct {
        const char *names[3];
        enum lull_scope scope;
    } prefixes[] = {
        {{"trace", "packet", "header"}, LULL_SCOPE_PACKET_HEADER},
        {{"stream", "packet", "context"}, LULL_SCOPE_PACKET_CONTEXT},
        {{"stream", "event", "header"}, LULL_SCOPE_EVENT_HEADER},
        {{"stream", "event", "context"}, LULL_SCOPE_STREAM_EVENT_CONTEXT},
        {{"event", "context", NULL}, LULL_SCOPE_EVENT_CONTEXT},
        {{"event", "fields", NULL}, LULL_SCOPE_EVENT_PAYLOAD},
    };

    if (ref->names[0]->word == TSDL_ENV) {
        ref->env = ref->n_names == 2 ? ref->names[1] : NULL;
        return ref->env || tsdl_fail(parser->source, LULL_ERROR_FORMAT, ref->pos,
                                     "bad reference to the environment: it is env.NAME");
    }
    for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        uint32_t n = 0;
        while (n < 3 && prefixes[i].names[n] && n < ref->n_names &&
               strcmp(prefixes[i].names[n], ref->names[n]->text) == 0) {
            n++;
        }
        if (n == 3 || !prefixes[i].names[n]) {
            ref->scope = (int)prefixes[i].scope;
            ref->names += n;
            ref->n_names -= n;
            break;
        }
    }
    if (ref->scope < 0) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, ref->pos,
                         "bad reference: no scope of fields starts with '%s'", ref->names[0]->text);
    }
    if (ref->n_names == 0) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, ref->pos,
                         "bad reference: the name of a field is missing after its scope");
    }
    return true;
}

const struct draft_ref *tsdl_new_ref(struct tsdl_parser *parser, uint32_t pos,
                                     const struct draft_atom **names, uint32_t n_names)
{
    struct draft_ref *ref = lull_arena_alloc(parser->tree->scratch, sizeof *ref);

    *ref = (struct draft_ref){.names = names, .n_names = n_names, .pos = pos, .scope = -1};
    if (names[0]->word != TSDL_WORD_NONE && names[0]->word <= TSDL_LAST_KEYWORD) {
        return take_scope(parser, ref) ? ref : NULL;
    }
    for (uint32_t i = parser->n_bodies; i-- > 0 && !ref->anchor;) {
        if (draft_names_bound(&parser->tree->names, parser->bodies[i], names[0])) {
            ref->anchor = parser->bodies[i];
        }
    }
    return ref;
}

/* `< PATH >`, if it is there. */
static bool parse_tag(struct tsdl_parser *parser, const struct draft_ref **tag)
{
    uint32_t pos, n_names;
    const struct draft_atom **names;

    if (!tsdl_at(parser, '<')) {
        return true;
    }
    if (!tsdl_advance(parser)) {
        return false;
    }
    pos = parser->token.pos;
    if (!tsdl_parse_path(parser, &names, &n_names) || !tsdl_expect(parser, '>', "'>'")) {
        return false;
    }
    *tag = tsdl_new_ref(parser, pos, names, n_names);
    return *tag != NULL;
}

/* `align ( VALUE )`, if it is there: raises *alignment. */
static bool parse_align(struct tsdl_parser *parser, uint32_t *alignment)
{
    struct tsdl_value value;
    uint32_t least;

    if (!tsdl_at_word(parser, TSDL_ALIGN)) {
        return true;
    }
    if (!tsdl_advance(parser) || !tsdl_expect(parser, '(', "'('") ||
        !tsdl_parse_value(parser, &value) || !tsdl_expect(parser, ')', "')'") ||
        !tsdl_value_alignment(parser, &value, &least)) {
        return false;
    }
    *alignment = MAX(*alignment, least);
    return true;
}

/* A named compound without a body: what its tag or alignment adds goes to a copy. */
static bool use_named(struct tsdl_parser *parser, struct tsdl_specifiers *specifiers,
                      const struct draft_ref *tag)
{
    if (!tag && !tsdl_at_word(parser, TSDL_ALIGN)) {
        return true; /* looked up when it is known whether there is a pointer to it */
    }
    struct draft_class *type = tsdl_specified_type(parser, specifiers, NULL);
    if (!type) {
        return false;
    }
    type = copy_type(parser, type);
    type->built = NULL;
    specifiers->type = type;
    if (!tag) {
        return parse_align(parser, &type->fc.alignment);
    }
    if (type->fc.kind != LULL_FC_VARIANT) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, tag->pos,
                         "tag for '%.60s', which is not a variant", specifiers->words->text);
    }
    if (type->ref) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, tag->pos,
                         "second tag for '%.60s': its declaration has one",
                         specifiers->words->text);
    }
    type->ref = tag;
    type->has_refs = true;
    return true;
}

/* From after `struct` or `variant`. */
static bool parse_compound(struct tsdl_parser *parser, struct tsdl_specifiers *specifiers,
                           const struct draft_atom *keyword)
{
    bool is_variant = keyword->word == TSDL_VARIANT;
    const struct draft_atom *name = NULL;
    const struct draft_ref *tag = NULL;
    uint32_t name_pos = parser->token.pos;

    if (tsdl_at(parser, TSDL_TOKEN_IDENTIFIER)) {
        name = parser->token.atom;
        specifiers->words = tag_name(parser, keyword, name);
        if (!tsdl_advance(parser)) {
            return false;
        }
    }
    if (is_variant && !parse_tag(parser, &tag)) {
        return false;
    }
    if (!tsdl_at(parser, '{')) {
        return name ? use_named(parser, specifiers, tag) : tsdl_unexpected(parser, "a name or '{'");
    }

    struct draft_class *type =
        tsdl_new_type(parser, is_variant ? LULL_FC_VARIANT : LULL_FC_STRUCT, specifiers->pos);
    if (is_variant) {
        type->ref = tag;
    }
    type->has_refs = tag != NULL;
    if (!tsdl_parse_body(parser, type) ||
        (!is_variant && !parse_align(parser, &type->fc.alignment))) {
        return false;
    }
    specifiers->type = type;
    specifiers->declares = name != NULL;
    return !name || tsdl_define(parser, specifiers->words, type, name_pos);
}

/* The integer that an enumeration is kept in: after a colon, or `int`. */
static const struct draft_class *parse_container(struct tsdl_parser *parser)
{
    struct tsdl_specifiers specifiers = {.pos = parser->token.pos};
    const struct draft_class *type;

    if (tsdl_at(parser, ':')) {
        if (!tsdl_advance(parser) || !tsdl_parse_specifiers(parser, &specifiers)) {
            return NULL;
        }
    } else {
        specifiers.words = draft_names_add(&parser->tree->names, "int", 3);
    }
    type = tsdl_specified_type(parser, &specifiers, NULL);
    if (type && (type->fc.kind != LULL_FC_INT || type->fc.integer.enumeration)) {
        tsdl_fail(parser->source, LULL_ERROR_FORMAT, specifiers.pos,
                  "enumeration of something that is not an integer");
        return NULL;
    }
    return type;
}

/* From after `enum`. */
static bool parse_enum(struct tsdl_parser *parser, struct tsdl_specifiers *specifiers,
                       const struct draft_atom *keyword)
{
    const struct draft_atom *name = NULL;
    uint32_t name_pos = parser->token.pos;

    if (tsdl_at(parser, TSDL_TOKEN_IDENTIFIER)) {
        name = parser->token.atom;
        specifiers->words = tag_name(parser, keyword, name);
        if (!tsdl_advance(parser)) {
            return false;
        }
    }
    if (!tsdl_at(parser, ':') && !tsdl_at(parser, '{')) {
        return name || tsdl_unexpected(parser, "a name, ':' or '{'");
    }

    const struct draft_class *container = parse_container(parser);
    if (!container) {
        return false;
    }
    struct draft_class *type = copy_type(parser, container);
    type->pos = specifiers->pos;
    type->built = NULL;
    if (!tsdl_parse_enumerators(parser, type)) {
        return false;
    }
    specifiers->type = type;
    specifiers->declares = name != NULL;
    return !name || tsdl_define(parser, specifiers->words, type, name_pos);
}

/* A specifier that is a type class of its own rather than a name. */
static bool parse_class(struct tsdl_parser *parser, struct tsdl_specifiers *specifiers)
{
    const struct draft_atom *keyword = parser->token.atom;
    uint32_t pos = parser->token.pos;
    bool ok;

    if (specifiers->type || specifiers->words) {
        return tsdl_unexpected(parser, "a name after the type");
    }
    specifiers->pos = pos;
    if (!tsdl_enter(parser) || !tsdl_advance(parser)) {
        return false;
    }
    switch (keyword->word) {
    case TSDL_INTEGER:
        ok = (specifiers->type = tsdl_parse_integer(parser, pos)) != NULL;
        break;
    case TSDL_FLOATING_POINT:
        ok = (specifiers->type = tsdl_parse_float(parser, pos)) != NULL;
        break;
    case TSDL_STRING:
        ok = (specifiers->type = tsdl_parse_string(parser, pos)) != NULL;
        break;
    case TSDL_ENUM:
        ok = parse_enum(parser, specifiers, keyword);
        break;
    default:
        ok = parse_compound(parser, specifiers, keyword);
        break;
    }
    parser->nesting--;
    return ok;
}

/* One word of a C type such as `unsigned long`. */
static bool parse_c_word(struct tsdl_parser *parser, struct tsdl_specifiers *specifiers,
                         bool *has_c_words)
{
    const struct draft_atom *word = parser->token.atom;

    if (specifiers->type || (specifiers->words && !*has_c_words)) {
        return tsdl_unexpected(parser, "a name after the type");
    }
    if (*has_c_words) {
        word = tag_name(parser, specifiers->words, word);
    }
    specifiers->words = word;
    *has_c_words = true;
    return tsdl_advance(parser);
}

bool tsdl_parse_specifiers(struct tsdl_parser *parser, struct tsdl_specifiers *specifiers)
{
    bool has_c_words = false, ok = true;

    *specifiers = (struct tsdl_specifiers){.pos = parser->token.pos};
    while (ok) {
        if (tsdl_at(parser, TSDL_TOKEN_IDENTIFIER)) {
            if (specifiers->type || specifiers->words) {
                break; /* the name that is declared */
            }
            specifiers->pos = parser->token.pos;
            specifiers->words = parser->token.atom;
            ok = tsdl_advance(parser);
            continue;
        }
        if (!tsdl_at(parser, TSDL_TOKEN_KEYWORD)) {
            break;
        }
        switch (parser->token.atom->word) {
        case TSDL_TYPEDEF:
            specifiers->is_typedef = true;
            ok = tsdl_advance(parser);
            break;
        case TSDL_CONST:
            specifiers->is_const = true;
            ok = tsdl_advance(parser);
            break;
        case TSDL_STRUCT:
        case TSDL_VARIANT:
        case TSDL_ENUM:
        case TSDL_INTEGER:
        case TSDL_FLOATING_POINT:
        case TSDL_STRING:
            if (specifiers->declares) { /* the next declaration, see tsdl_parse_declaration() */
                return true;
            }
            ok = parse_class(parser, specifiers);
            break;
        case TSDL_VOID:
        case TSDL_CHAR:
        case TSDL_SHORT:
        case TSDL_INT:
        case TSDL_LONG:
        case TSDL_FLOAT:
        case TSDL_DOUBLE:
        case TSDL_SIGNED:
        case TSDL_UNSIGNED:
        case TSDL_BOOL:
        case TSDL_COMPLEX:
        case TSDL_IMAGINARY:
            ok = parse_c_word(parser, specifiers, &has_c_words);
            break;
        default:
            return tsdl_unexpected(parser,
                                   specifiers->type || specifiers->words ? "a name" : "a type");
        }
    }
    if (ok && !specifiers->type && !specifiers->words) {
        return tsdl_unexpected(parser, "a type");
    }
    return ok;
}

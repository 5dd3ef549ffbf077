/* SPDX-License-Identifier: MIT */
/* Chooses the field classes of a schema. Lengths, tags and selectors stand before what refers to
 * them: beside it, or at the top of its scope or of one before. */
#include "fuzz/made.h"

#define MOST_DEPTH 4
#define MOST_FIELDS 70

unsigned made_choose(struct made_tape *tape, unsigned n)
{
    if (tape->at < tape->size) {
        return tape->data[tape->at++] % n;
    }
    tape->state ^= tape->state << 13;
    tape->state ^= tape->state >> 7;
    tape->state ^= tape->state << 17;
    return (unsigned)(tape->state >> 33) % n;
}

static struct made_field *new_field(struct made_schema *s, enum made_kind kind,
                                    const struct made_field *around, bool is_named)
{
    struct made_field *field = g_new0(struct made_field, 1);
    field->kind = kind;
    field->around = around;
    field->scope = around ? around->scope : MADE_PACKET_HEADER;
    field->align = 1;
    field->unit = 1;
    field->base = 10;
    field->is_big_endian = s->is_big_endian;
    field->parts = g_ptr_array_new();
    if (is_named) {
        g_snprintf(field->name, sizeof field->name, "f%u", s->n_names++);
    }
    g_ptr_array_add(s->fields, field);
    s->budget--;
    return field;
}

static void free_field(gpointer data)
{
    struct made_field *field = data;
    g_ptr_array_unref(field->parts);
    g_free(field);
}

/* ---- numbers ---- */

static void choose_alignment(struct made_schema *s, struct made_field *field)
{
    static const unsigned aligns[] = {1, 8, 1, 2, 4, 8, 16, 32, 64, 128};
    field->align = aligns[made_choose(s->tape, G_N_ELEMENTS(aligns))];
}

/* Fields of both byte orders must not share a byte. */
static void choose_order(struct made_schema *s, struct made_field *field)
{
    bool is_other = made_choose(s->tape, 4) == 0;
    if (field->align >= 8 && field->size % 8 == 0) {
        field->is_big_endian ^= is_other;
    }
    field->is_reversed = s->is_json && made_choose(s->tape, 5) == 0;
}

static void choose_integer(struct made_schema *s, struct made_field *field, unsigned least_size)
{
    static const unsigned sizes[] = {8, 32, 64, 16, 24, 5, 27, 12, 40, 63};
    static const unsigned bases[] = {10, 16, 8, 2};
    unsigned size = made_choose(s->tape, 16);
    field->size = size < G_N_ELEMENTS(sizes) ? sizes[size] : made_choose(s->tape, 64) + 1;
    field->size = MAX(field->size, least_size);
    field->base = bases[made_choose(s->tape, G_N_ELEMENTS(bases))];
    if (field->kind == MADE_VARINT) {
        field->size = 64;
        return;
    }
    choose_alignment(s, field);
    choose_order(s, field);
}

static void choose_plain(struct made_schema *s, struct made_field *field)
{
    unsigned more = made_choose(s->tape, 6);
    field->is_signed = made_choose(s->tape, 2) == 1;
    field->is_mapped = more == 1;
    choose_integer(s, field, field->is_mapped ? 5 : 1);
    if (s->is_json && field->kind == MADE_INT && more > 3) {
        field->is_signed = false;
        field->base = 10;
        field->is_boolean = more == 4;
        field->is_bits = more == 5;
    }
}

static void choose_real(struct made_schema *s, struct made_field *field)
{
    field->size = 16u << (s->is_json ? made_choose(s->tape, 3) : made_choose(s->tape, 2) + 1);
    choose_alignment(s, field);
    choose_order(s, field);
}

/* ---- references ---- */

/* Whether a field may serve as `use` for one in `container`: it is at the top of a scope that is
 * there when the other is. */
static bool is_reachable(const struct made_schema *s, const struct made_field *field,
                         const struct made_field *container)
{
    const struct made_field *top = container;
    while (top->around) {
        top = top->around;
    }
    bool is_there = field->scope <= MADE_COMMON_CONTEXT || field->around == s->contexts[s->event];
    return field->around && !field->around->around &&
           (field->around == top || (is_there && field->scope < container->scope));
}

static struct made_field *find_reference(struct made_schema *s, enum made_use use,
                                         const struct made_field *container)
{
    struct made_field *found = NULL;
    unsigned n = 0;
    for (guint i = 0; i < s->fields->len; i++) {
        struct made_field *field = s->fields->pdata[i];
        if (field->use == use && is_reachable(s, field, container) &&
            made_choose(s->tape, ++n) == 0) {
            found = field;
        }
    }
    return found;
}

static void set_reference(struct made_schema *s, struct made_field *field, enum made_use use,
                          struct made_field *container)
{
    struct made_field *ref =
        made_choose(s->tape, 3) == 0 ? find_reference(s, use, container) : NULL;
    if (!ref) {
        bool is_varint = s->is_json && made_choose(s->tape, 6) == 0;
        ref = new_field(s, is_varint ? MADE_VARINT : MADE_INT, container, true);
        ref->use = use;
        ref->is_signed = use != MADE_LENGTH && made_choose(s->tape, 3) == 0;
        ref->is_mapped = use == MADE_TAG && (!s->is_json || made_choose(s->tape, 2) == 0);
        ref->is_boolean = use == MADE_SELECTOR && !is_varint && made_choose(s->tape, 2) == 0;
        ref->is_signed = ref->is_signed && !ref->is_boolean;
        choose_integer(s, ref, ref->is_boolean ? 1 : 5);
        ref->base = ref->is_boolean ? 10 : ref->base;
        g_ptr_array_add(container->parts, ref);
        field->is_relative = made_choose(s->tape, 2) == 0;
    }
    field->ref = ref;
    field->has_ranges = !ref->is_boolean;
}

/* ---- parts ---- */

static struct made_field *make_field(struct made_schema *s, struct made_field *container,
                                     const struct made_field *around, bool is_named,
                                     unsigned depth);

static void add_members(struct made_schema *s, struct made_field *structure, unsigned n,
                        unsigned depth)
{
    for (unsigned i = 0; i < n && s->budget > 0; i++) {
        /* What it refers to is added first. */
        struct made_field *member = make_field(s, structure, structure, true, depth);
        g_ptr_array_add(structure->parts, member);
    }
}

static void make_parts(struct made_schema *s, struct made_field *field,
                       struct made_field *container, unsigned depth)
{
    if (field->kind == MADE_STRUCT) {
        add_members(s, field, made_choose(s->tape, 4), depth + 1);
        return;
    }
    unsigned n = field->kind == MADE_VARIANT ? MADE_OPTIONS : 1;
    for (unsigned i = 0; i < n; i++) {
        struct made_field *part = make_field(s, container, field, false, depth + 1);
        if (field->kind == MADE_VARIANT) {
            g_snprintf(part->name, sizeof part->name, "o%u", i);
        }
        g_ptr_array_add(field->parts, part);
    }
}

static void make_bytes(struct made_schema *s, struct made_field *field,
                       struct made_field *container)
{
    field->is_text = !s->is_json || made_choose(s->tape, 2) == 0;
    if (made_choose(s->tape, 2) == 0) {
        set_reference(s, field, MADE_LENGTH, container);
    } else {
        field->unit = s->is_json && field->is_text ? 1u << made_choose(s->tape, 3) : 1;
        field->length = made_choose(s->tape, 6) * field->unit;
    }
}

static void make_array(struct made_schema *s, struct made_field *field,
                       struct made_field *container, unsigned depth)
{
    if (made_choose(s->tape, 2) == 0) {
        set_reference(s, field, MADE_LENGTH, container);
    } else {
        field->length = made_choose(s->tape, depth > 2 ? 3 : 4);
    }
    if (s->is_json && made_choose(s->tape, 4) == 0) {
        choose_alignment(s, field);
    }
    make_parts(s, field, container, depth);
}

static enum made_kind choose_kind(struct made_schema *s, unsigned depth)
{
    static const enum made_kind kinds[] = {MADE_INT,    MADE_INT,     MADE_REAL,     MADE_STRING,
                                           MADE_BYTES,  MADE_ARRAY,   MADE_ARRAY,    MADE_STRUCT,
                                           MADE_STRUCT, MADE_VARIANT, MADE_OPTIONAL, MADE_VARINT};
    enum made_kind kind = kinds[made_choose(s->tape, G_N_ELEMENTS(kinds))];
    if (depth >= MOST_DEPTH || s->budget <= 0) {
        kind = MIN(kind, MADE_STRING);
    }
    return !s->is_json && (kind == MADE_OPTIONAL || kind == MADE_VARINT) ? MADE_INT : kind;
}

/* A field in `around`. What it refers to goes into the structure `container`, before it. */
static struct made_field *make_field(struct made_schema *s, struct made_field *container,
                                     const struct made_field *around, bool is_named, unsigned depth)
{
    struct made_field *field = new_field(s, choose_kind(s, depth), around, is_named);
    switch (field->kind) {
    case MADE_INT:
    case MADE_VARINT:
        choose_plain(s, field);
        break;
    case MADE_REAL:
        choose_real(s, field);
        break;
    case MADE_STRING:
        field->unit = s->is_json ? 1u << made_choose(s->tape, 3) : 1;
        break;
    case MADE_BYTES:
        make_bytes(s, field, container);
        break;
    case MADE_STRUCT:
        if (made_choose(s->tape, 4) == 0) {
            choose_alignment(s, field);
        }
        make_parts(s, field, field, depth);
        break;
    case MADE_ARRAY:
        make_array(s, field, container, depth);
        break;
    case MADE_VARIANT:
    case MADE_OPTIONAL:
        set_reference(s, field, field->kind == MADE_VARIANT ? MADE_TAG : MADE_SELECTOR, container);
        make_parts(s, field, container, depth);
        break;
    }
    return field;
}

/* ---- scopes ---- */

static struct made_field *new_scope(struct made_schema *s, enum made_scope scope)
{
    struct made_field *root = new_field(s, MADE_STRUCT, NULL, false);
    root->scope = scope;
    return root;
}

static void add_special(struct made_schema *s, struct made_field *root, enum made_use use,
                        unsigned size, unsigned align)
{
    static const char *const names[] = {
        [MADE_MAGIC] = "magic",      [MADE_CONTENT_SIZE] = "content",
        [MADE_PACKET_SIZE] = "size", [MADE_START] = "start",
        [MADE_END] = "end",          [MADE_ID] = "id",
        [MADE_TIME] = "time"};
    struct made_field *field = new_field(s, MADE_INT, root, false);
    g_strlcpy(field->name, names[use], sizeof field->name);
    field->use = use;
    field->size = size;
    field->align = align;
    g_ptr_array_add(root->parts, field);
}

static void make_packet_scopes(struct made_schema *s)
{
    struct made_tape *tape = s->tape;
    if (made_choose(tape, 4) != 0) {
        struct made_field *root = s->scopes[MADE_PACKET_HEADER] = new_scope(s, MADE_PACKET_HEADER);
        if (made_choose(tape, 2) == 0) {
            add_special(s, root, MADE_MAGIC, 32, 8);
        }
        add_members(s, root, made_choose(tape, 3), 1);
    }
    struct made_field *root = s->scopes[MADE_PACKET_CONTEXT] = new_scope(s, MADE_PACKET_CONTEXT);
    bool is_first = made_choose(tape, 2) == 0, has_times = made_choose(tape, 2) == 0;
    unsigned n = made_choose(tape, 4);
    add_members(s, root, is_first ? 0 : n, 1);
    add_special(s, root, MADE_CONTENT_SIZE, 32, 8);
    add_special(s, root, MADE_PACKET_SIZE, made_choose(tape, 2) ? 64 : 27, 1);
    if (has_times) {
        add_special(s, root, MADE_START, 64, 64);
        add_special(s, root, MADE_END, 64, 1);
    }
    add_members(s, root, is_first ? n : 0, 1);
}

static void make_event_header(struct made_schema *s)
{
    struct made_tape *tape = s->tape;
    struct made_field *root = s->scopes[MADE_EVENT_HEADER] = new_scope(s, MADE_EVENT_HEADER);
    static const unsigned id_sizes[] = {5, 16, 8, 3}, time_sizes[] = {27, 32, 64, 40};
    unsigned kind = made_choose(tape, 4);
    add_members(s, root, made_choose(tape, 4) == 0 ? 2 : 0, 1);
    add_special(s, root, MADE_ID, id_sizes[kind], made_choose(tape, 2) ? 8 : 1);
    add_members(s, root, made_choose(tape, 4) == 0 ? 1 : 0, 1);
    add_special(s, root, MADE_TIME, time_sizes[kind], made_choose(tape, 2) ? 8 : 1);
    add_members(s, root, made_choose(tape, 4) == 0 ? 2 : 0, 1);
}

static struct made_field *make_scope(struct made_schema *s, enum made_scope scope)
{
    unsigned n = made_choose(s->tape, 6);
    if (n == 5) {
        return NULL;
    }
    struct made_field *root = new_scope(s, scope);
    add_members(s, root, n, 1);
    return root;
}

void made_schema_init(struct made_schema *s, struct made_tape *tape)
{
    *s = (struct made_schema){.tape = tape, .budget = MOST_FIELDS};
    s->fields = g_ptr_array_new_with_free_func(free_field);
    s->is_json = made_choose(tape, 2) == 1;
    s->is_big_endian = made_choose(tape, 2) == 1;
    s->n_events = made_choose(tape, G_N_ELEMENTS(s->payloads)) + 1;
    make_packet_scopes(s);
    make_event_header(s);
    s->budget = MAX(s->budget, MOST_FIELDS / 2);
    s->scopes[MADE_COMMON_CONTEXT] = make_scope(s, MADE_COMMON_CONTEXT);
    for (unsigned i = 0; i < s->n_events; i++) {
        s->event = i;
        s->contexts[i] = make_scope(s, MADE_CONTEXT);
        s->budget = MAX(s->budget, MOST_FIELDS / 2);
        s->payloads[i] = make_scope(s, MADE_PAYLOAD);
    }
}

void made_schema_clear(struct made_schema *s)
{
    g_ptr_array_unref(s->fields);
}

/* ---- questions ---- */

struct made_field *made_root(const struct made_schema *s, enum made_scope scope, unsigned event)
{
    return scope == MADE_CONTEXT   ? s->contexts[event]
           : scope == MADE_PAYLOAD ? s->payloads[event]
                                   : s->scopes[scope];
}

char *made_path(const struct made_field *field)
{
    g_autofree char *path = g_strdup("");
    const struct made_field *at = field;
    for (; at->around; at = at->around) {
        if (at->around->kind == MADE_ARRAY) {
            return NULL;
        }
        if (at->name[0] != '\0') {
            char *longer = g_strconcat(at->name, path[0] != '\0' ? "." : "", path, NULL);
            g_free(path);
            path = longer;
        }
    }
    return at->scope == MADE_PAYLOAD ? g_steal_pointer(&path) : g_strconcat("context.", path, NULL);
}

unsigned made_align(const struct made_field *field)
{
    unsigned align = field->align;
    switch (field->kind) {
    case MADE_STRING:
    case MADE_BYTES:
    case MADE_VARINT:
        return 8;
    case MADE_VARIANT:
    case MADE_OPTIONAL:
        return 1;
    default:
        for (guint i = 0; i < field->parts->len; i++) {
            align = MAX(align, made_align(field->parts->pdata[i]));
        }
        return align;
    }
}

const char *made_label(const struct made_field *field, uint64_t value)
{
    static const char *const options[] = {"o0", "o1", "o2"};
    int64_t v = (int64_t)value;
    if (!field->is_mapped) {
        return NULL;
    }
    if (field->use == MADE_TAG) {
        return options[(v + (field->is_signed ? 4 : 0)) / 3];
    }
    if (field->is_signed) {
        return v >= -4 && v < 0 ? "negative" : v >= 0 && v < 4 ? "low" : NULL;
    }
    return value < 4 ? "low" : value < 10 ? "middle" : NULL;
}

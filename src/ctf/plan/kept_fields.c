/* SPDX-License-Identifier: MIT */
/* Which fields must be kept, by their places: lengths, tags and selectors that the schema refers to
 * get slots of memory, others are added by those who want them. */
#include "ctf/plan/build.h"

#include <string.h>

struct lull_kept_fields {
    GHashTable *table; /* struct lull_want, also the key; NULL: none */
    GArray *absent;    /* struct absent; NULL: none */
};

/* A slot whose field may be left out. */
struct absent {
    enum lull_scope scope;
    uint32_t slot;
};

static guint want_hash(gconstpointer key)
{
    const struct lull_want *want = key;
    guint h = want->scope * 31 + want->depth;
    for (uint32_t i = 0; i < want->depth; i++) {
        h = h * 16777619 + want->path[i];
    }
    return h;
}

static gboolean want_equal(gconstpointer a, gconstpointer b)
{
    const struct lull_want *x = a, *y = b;
    return x->scope == y->scope && x->depth == y->depth &&
           memcmp(x->path, y->path, x->depth * sizeof x->path[0]) == 0;
}

static void want_free(gpointer data)
{
    struct lull_want *want = data;
    while (want) {
        struct lull_want *next = want->next;
        g_free((void *)want->path);
        g_free(want);
        want = next;
    }
}

struct lull_kept_fields *lull_kept_fields_new(void)
{
    return g_new0(struct lull_kept_fields, 1); /* most events keep nothing */
}

void lull_kept_fields_free(struct lull_kept_fields *positions)
{
    if (!positions) {
        return;
    }
    g_clear_pointer(&positions->table, g_hash_table_destroy);
    g_clear_pointer(&positions->absent, g_array_unref);
    g_free(positions);
}

void lull_kept_fields_add(struct lull_kept_fields *positions, const struct lull_want *want)
{
    struct lull_want *copy = g_memdup2(want, sizeof *want);
    copy->path = g_memdup2(want->path, want->depth * sizeof want->path[0]);
    copy->next = NULL;
    if (!positions->table) {
        positions->table = g_hash_table_new_full(want_hash, want_equal, want_free, NULL);
    }
    struct lull_want *first = g_hash_table_lookup(positions->table, want);
    if (!first) {
        g_hash_table_add(positions->table, copy);
        return;
    }
    copy->next = first->next;
    first->next = copy;
}

const struct lull_want *lull_kept_fields_find(const struct lull_kept_fields *positions,
                                              enum lull_scope scope, uint32_t depth,
                                              const uint32_t *path)
{
    if (!positions || !positions->table) {
        return NULL;
    }
    struct lull_want key = {.scope = scope, .depth = depth, .path = path};
    return g_hash_table_lookup(positions->table, &key);
}

uint32_t lull_kept_fields_slot(const struct lull_kept_fields *positions, enum lull_scope scope,
                               uint32_t depth, const uint32_t *path)
{
    const struct lull_want *want = lull_kept_fields_find(positions, scope, depth, path);
    while (want && want->kind != LULL_WANT_SLOT) {
        want = want->next;
    }
    return want ? want->dst : 0;
}

static void note_absent(struct lull_kept_fields *positions, enum lull_scope scope, uint32_t slot)
{
    struct absent absent = {scope, slot};
    if (!positions->absent) {
        positions->absent = g_array_new(FALSE, FALSE, sizeof absent);
    }
    g_array_append_val(positions->absent, absent);
}

static guint count_absent(const struct lull_kept_fields *positions)
{
    return positions && positions->absent ? positions->absent->len : 0;
}

uint32_t lull_kept_fields_absent(const struct lull_kept_fields *positions, enum lull_scope scope,
                                 uint32_t index)
{
    for (uint32_t i = 0; i < count_absent(positions); i++) {
        const struct absent *absent = &g_array_index(positions->absent, struct absent, i);
        if (absent->scope == scope && index-- == 0) {
            return absent->slot;
        }
    }
    return 0;
}

bool lull_kept_fields_is_absent(const struct lull_kept_fields *positions, uint32_t slot)
{
    for (uint32_t i = 0; i < count_absent(positions); i++) {
        if (g_array_index(positions->absent, struct absent, i).slot == slot) {
            return true;
        }
    }
    return false;
}

bool lull_kept_fields_has(const struct lull_kept_fields *positions, const struct lull_fc_ref *ref,
                          uint32_t dst)
{
    const struct lull_want *want =
        lull_kept_fields_find(positions, ref->scope, ref->depth, ref->path);
    while (want && (want->kind != LULL_WANT_SLOT || want->dst != dst)) {
        want = want->next;
    }
    return want != NULL;
}

/* ---- what the schema itself refers to ---- */

/* True if the way to the field goes through a variant or an optional field, so that it may be left
 * out of a record. */
static bool may_be_absent(const struct lull_fc *fc, const struct lull_fc_ref *ref)
{
    uint32_t step = 0;
    for (uint32_t guard = 0; fc && guard < 4 * LULL_FC_DEPTH; guard++) {
        switch (fc->kind) {
        case LULL_FC_OPTIONAL:
        case LULL_FC_VARIANT:
            return true;
        case LULL_FC_ARRAY:
            fc = fc->array.element;
            break;
        case LULL_FC_SEQUENCE:
            fc = fc->sequence.element;
            break;
        case LULL_FC_STRUCT:
            if (step >= ref->depth || ref->path[step] >= fc->structure.n_members) {
                return false;
            }
            fc = fc->structure.members[ref->path[step++]].fc;
            break;
        default:
            return false;
        }
    }
    return false;
}

static void collect_ref(struct lull_collector *c, const struct lull_fc_ref *ref)
{
    struct lull_kept_fields *positions = ref->scope <= LULL_SCOPE_EVENT_HEADER ? c->shared : c->own;
    if (c->uses_header && ref->scope == LULL_SCOPE_EVENT_HEADER) {
        *c->uses_header = true;
    }
    if (!positions) {
        return;
    }
    uint32_t slot = 0;
    for (const struct lull_fc_ref *at = ref; at; at = at->next) {
        if (at->scope != ref->scope || at->depth > LULL_FC_DEPTH) {
            continue;
        }
        if (slot == 0) {
            slot = lull_kept_fields_slot(positions, at->scope, at->depth, at->path);
        }
        if (slot == 0) {
            slot = *c->next_slot;
            *c->next_slot += LULL_SLOT_BYTES;
        }
        if (lull_kept_fields_has(positions, at, slot)) {
            continue;
        }
        struct lull_want want = {.scope = at->scope,
                                 .depth = at->depth,
                                 .path = at->path,
                                 .kind = LULL_WANT_SLOT,
                                 .dst = slot};
        lull_kept_fields_add(positions, &want);
        if (may_be_absent(c->roots[at->scope], at) &&
            !lull_kept_fields_is_absent(positions, slot)) {
            note_absent(positions, at->scope, slot);
        }
    }
}

/* Depth and size are checked for good when the plan is built. */
void lull_collect_refs(struct lull_collector *c, const struct lull_fc *fc, unsigned depth)
{
    if (!fc || depth > LULL_FC_DEPTH || *c->budget == 0) {
        return;
    }
    --*c->budget;
    switch (fc->kind) {
    case LULL_FC_STRUCT:
        for (uint32_t i = 0; i < fc->structure.n_members; i++) {
            lull_collect_refs(c, fc->structure.members[i].fc, depth + 1);
        }
        break;
    case LULL_FC_ARRAY:
        lull_collect_refs(c, fc->array.element, depth + 1);
        break;
    case LULL_FC_SEQUENCE:
        collect_ref(c, &fc->sequence.length);
        lull_collect_refs(c, fc->sequence.element, depth + 1);
        break;
    case LULL_FC_OPTIONAL:
        collect_ref(c, &fc->optional.selector);
        lull_collect_refs(c, fc->optional.content, depth + 1);
        break;
    case LULL_FC_VARIANT:
        collect_ref(c, &fc->variant.tag);
        for (uint32_t i = 0; i < fc->variant.n_options; i++) {
            lull_collect_refs(c, fc->variant.options[i].fc, depth + 1);
        }
        break;
    case LULL_FC_STRING:
        c->has_wide_text |= fc->string.encoding >= LULL_ENCODING_UTF16BE;
        break;
    case LULL_FC_INT:
        c->has_wide_text |= fc->integer.encoding >= LULL_ENCODING_UTF16BE;
        break;
    case LULL_FC_VARINT:
    case LULL_FC_FLOAT:
        break;
    }
}

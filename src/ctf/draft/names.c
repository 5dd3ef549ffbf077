/* SPDX-License-Identifier: MIT */
/* Two of GLib's hash tables whose keys carry their hashes: a random seed goes into those, so that a
 * text whose names all collide is hard to write. Nothing is ever listed, so nothing depends on it. */
#include "ctf/draft/names.h"

#include <string.h>

struct entry {
    const void *owner;
    const struct draft_atom *name;
    void *value;
};

static uint32_t mix(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(hash ^ hash >> 32);
}

static guint atom_hash(gconstpointer atom)
{
    return ((const struct draft_atom *)atom)->hash;
}

static gboolean atom_equal(gconstpointer a, gconstpointer b)
{
    const struct draft_atom *x = a, *y = b;
    return x->hash == y->hash && x->length == y->length && memcmp(x->text, y->text, x->length) == 0;
}

static guint entry_hash(gconstpointer entry)
{
    const struct entry *e = entry;
    return mix(e->name->hash + (uintptr_t)e->owner * UINT64_C(0x9e3779b97f4a7c15));
}

static gboolean entry_equal(gconstpointer a, gconstpointer b)
{
    const struct entry *x = a, *y = b;
    return x->owner == y->owner && x->name == y->name;
}

void draft_names_init(struct draft_names *names, struct lull_arena *texts,
                      struct lull_arena *scratch)
{
    names->texts = texts;
    names->scratch = scratch;
    names->atoms = g_hash_table_new(atom_hash, atom_equal);
    names->map = g_hash_table_new(entry_hash, entry_equal);
    names->seed = (uint64_t)g_random_int() << 32 | g_random_int();
}

void draft_names_clear(struct draft_names *names)
{
    g_hash_table_unref(names->atoms);
    g_hash_table_unref(names->map);
}

static struct draft_atom key_of(const struct draft_names *names, const char *text, size_t length)
{
    uint64_t hash = names->seed ^ length;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return (struct draft_atom){.text = text, .length = (uint32_t)length, .hash = mix(hash)};
}

const struct draft_atom *draft_names_add(struct draft_names *names, const char *text, size_t length)
{
    struct draft_atom key = key_of(names, text, length);
    struct draft_atom *atom = g_hash_table_lookup(names->atoms, &key);

    if (!atom) {
        key.text = lull_arena_strndup(names->texts, text, length);
        atom = lull_arena_copy(names->scratch, &key, sizeof key);
        g_hash_table_add(names->atoms, atom);
    }
    return atom;
}

const struct draft_atom *draft_names_find(const struct draft_names *names, const char *text,
                                          size_t length)
{
    struct draft_atom key = key_of(names, text, length);
    return g_hash_table_lookup(names->atoms, &key);
}

bool draft_names_bind(struct draft_names *names, const void *owner, const struct draft_atom *name,
                      void *value)
{
    struct entry entry = {owner, name, value};

    if (g_hash_table_contains(names->map, &entry)) {
        return false;
    }
    g_hash_table_add(names->map, lull_arena_copy(names->scratch, &entry, sizeof entry));
    return true;
}

void *draft_names_bound(const struct draft_names *names, const void *owner,
                        const struct draft_atom *name)
{
    struct entry *entry =
        g_hash_table_lookup(names->map, &(struct entry){.owner = owner, .name = name});
    return entry ? entry->value : NULL;
}

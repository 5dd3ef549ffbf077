/* Two open-addressing hash tables, for the reasons given in the header. They only grow. */
#include "ctf/tsdl/names.h"

#include <glib.h>
#include <string.h>

static const char *const words[TSDL_WORD_COUNT] = {
    [TSDL_ALIGN] = "align",
    [TSDL_CALLSITE] = "callsite",
    [TSDL_CONST] = "const",
    [TSDL_CHAR] = "char",
    [TSDL_CLOCK] = "clock",
    [TSDL_DOUBLE] = "double",
    [TSDL_ENUM] = "enum",
    [TSDL_ENV] = "env",
    [TSDL_EVENT] = "event",
    [TSDL_FLOATING_POINT] = "floating_point",
    [TSDL_FLOAT] = "float",
    [TSDL_INTEGER] = "integer",
    [TSDL_INT] = "int",
    [TSDL_LONG] = "long",
    [TSDL_SHORT] = "short",
    [TSDL_SIGNED] = "signed",
    [TSDL_STREAM] = "stream",
    [TSDL_STRING] = "string",
    [TSDL_STRUCT] = "struct",
    [TSDL_TRACE] = "trace",
    [TSDL_TYPEALIAS] = "typealias",
    [TSDL_TYPEDEF] = "typedef",
    [TSDL_UNSIGNED] = "unsigned",
    [TSDL_VARIANT] = "variant",
    [TSDL_VOID] = "void",
    [TSDL_BOOL] = "_Bool",
    [TSDL_COMPLEX] = "_Complex",
    [TSDL_IMAGINARY] = "_Imaginary",
    [TSDL_SIZE] = "size",
    [TSDL_BYTE_ORDER] = "byte_order",
    [TSDL_BASE] = "base",
    [TSDL_ENCODING] = "encoding",
    [TSDL_MAP] = "map",
    [TSDL_EXP_DIG] = "exp_dig",
    [TSDL_MANT_DIG] = "mant_dig",
    [TSDL_NAME] = "name",
    [TSDL_UUID] = "uuid",
    [TSDL_DESCRIPTION] = "description",
    [TSDL_FREQ] = "freq",
    [TSDL_PRECISION] = "precision",
    [TSDL_OFFSET] = "offset",
    [TSDL_OFFSET_S] = "offset_s",
    [TSDL_ABSOLUTE] = "absolute",
    [TSDL_MAJOR] = "major",
    [TSDL_MINOR] = "minor",
    [TSDL_ID] = "id",
    [TSDL_STREAM_ID] = "stream_id",
    [TSDL_LOGLEVEL] = "loglevel",
    [TSDL_CONTEXT] = "context",
    [TSDL_FIELDS] = "fields",
    [TSDL_PACKET_HEADER] = "packet.header",
    [TSDL_PACKET_CONTEXT] = "packet.context",
    [TSDL_EVENT_HEADER] = "event.header",
    [TSDL_EVENT_CONTEXT] = "event.context",
    [TSDL_EMF_URI] = "model.emf.uri",
};

static uint64_t mix(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    hash ^= hash >> 32;
    return hash;
}

static uint64_t hash_text(const struct tsdl_atoms *atoms, const char *text, size_t length)
{
    uint64_t hash = atoms->seed ^ length;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return mix(hash);
}

void tsdl_atoms_init(struct tsdl_atoms *atoms, struct lull_arena *arena, uint64_t seed)
{
    *atoms = (struct tsdl_atoms){.arena = arena, .mask = 4095, .seed = mix(seed) | 1};
    atoms->slots = g_new0(const struct tsdl_atom *, (size_t)atoms->mask + 1);
    for (enum tsdl_word word = 1; word < TSDL_WORD_COUNT; word++) {
        const struct tsdl_atom *atom = tsdl_atoms_add(atoms, words[word], strlen(words[word]));
        ((struct tsdl_atom *)atom)->word = word;
    }
}

void tsdl_atoms_clear(struct tsdl_atoms *atoms)
{
    g_free(atoms->slots);
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t find_slot(const struct tsdl_atoms *atoms, uint64_t hash, const char *text,
                          size_t length)
{
    uint32_t slot = (uint32_t)hash & atoms->mask;
    for (;; slot = (slot + 1) & atoms->mask) {
        const struct tsdl_atom *atom = atoms->slots[slot];
        if (!atom || (atom->hash == hash && atom->length == length &&
                      memcmp(atom->text, text, length) == 0)) {
            return slot;
        }
    }
}

static void grow_atoms(struct tsdl_atoms *atoms)
{
    const struct tsdl_atom **old = atoms->slots;
    uint32_t n_old = atoms->mask + 1;

    atoms->mask = atoms->mask * 2 + 1;
    atoms->slots = g_new0(const struct tsdl_atom *, (size_t)atoms->mask + 1);
    for (uint32_t i = 0; i < n_old; i++) {
        if (!old[i]) {
            continue;
        }
        uint32_t slot = (uint32_t)old[i]->hash & atoms->mask;
        while (atoms->slots[slot]) {
            slot = (slot + 1) & atoms->mask;
        }
        atoms->slots[slot] = old[i];
    }
    g_free(old);
}

const struct tsdl_atom *tsdl_atoms_add(struct tsdl_atoms *atoms, const char *text, size_t length)
{
    uint64_t hash = hash_text(atoms, text, length);
    uint32_t slot = find_slot(atoms, hash, text, length);

    if (atoms->slots[slot]) {
        return atoms->slots[slot];
    }
    struct tsdl_atom *atom = lull_arena_alloc(atoms->arena, sizeof *atom + length + 1);
    atom->hash = hash;
    atom->length = (uint32_t)length;
    memcpy(atom->text, text, length);
    atoms->slots[slot] = atom;
    if (++atoms->count > atoms->mask / 2) {
        grow_atoms(atoms);
    }
    return atom;
}

const struct tsdl_atom *tsdl_atoms_find(const struct tsdl_atoms *atoms, const char *text,
                                        size_t length)
{
    return atoms->slots[find_slot(atoms, hash_text(atoms, text, length), text, length)];
}

static uint32_t map_slot(const struct tsdl_map *map, const void *owner,
                         const struct tsdl_atom *name)
{
    uint64_t hash = mix(name->hash + (uintptr_t)owner * UINT64_C(0x9e3779b97f4a7c15));
    uint32_t slot = (uint32_t)hash & map->mask;

    for (;; slot = (slot + 1) & map->mask) {
        const struct tsdl_map_entry *entry = &map->slots[slot];
        if (!entry->value || (entry->owner == owner && entry->name == name)) {
            return slot;
        }
    }
}

void tsdl_map_init(struct tsdl_map *map)
{
    *map = (struct tsdl_map){.mask = 1023};
    map->slots = g_new0(struct tsdl_map_entry, (size_t)map->mask + 1);
}

void tsdl_map_clear(struct tsdl_map *map)
{
    g_free(map->slots);
}

static void grow_map(struct tsdl_map *map)
{
    struct tsdl_map_entry *old = map->slots;
    uint32_t n_old = map->mask + 1;

    map->mask = map->mask * 2 + 1;
    map->slots = g_new0(struct tsdl_map_entry, (size_t)map->mask + 1);
    for (uint32_t i = 0; i < n_old; i++) {
        if (old[i].value) {
            map->slots[map_slot(map, old[i].owner, old[i].name)] = old[i];
        }
    }
    g_free(old);
}

bool tsdl_map_add(struct tsdl_map *map, const void *owner, const struct tsdl_atom *name,
                  void *value)
{
    uint32_t slot = map_slot(map, owner, name);

    if (map->slots[slot].value) {
        return false;
    }
    map->slots[slot] = (struct tsdl_map_entry){owner, name, value};
    if (++map->count > map->mask / 2) {
        grow_map(map);
    }
    return true;
}

void *tsdl_map_find(const struct tsdl_map *map, const void *owner, const struct tsdl_atom *name)
{
    return map->slots[map_slot(map, owner, name)].value;
}

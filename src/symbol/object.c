/* SPDX-License-Identifier: MIT */
/* Functions of a program or library. */
#include "symbol/object.h"

#include <glib.h>

#include "symbol/table.h"
#include "unwind/cfi.h"

#define MOST_LOADS 1024u

struct lull_object *lull_object_new(void)
{
    struct lull_object *object = g_new0(struct lull_object, 1);
    object->table = lull_symbol_table_new();
    return object;
}

void lull_object_free(struct lull_object *object)
{
    if (object) {
        lull_symbol_table_free(object->table);
        lull_cfi_free(object->cfi);
        g_free(object->loads);
        g_free(object->build_id);
        g_free(object->file.path);
        g_free((char *)object->file.apart.root);
        g_free(object);
    }
}

bool lull_object_is_useful(const struct lull_object *object)
{
    return object->cfi || lull_symbol_table_count(object->table) > 0;
}

bool lull_object_add_load(struct lull_object *object, const struct lull_load *load)
{
    if (object->n_loads >= MOST_LOADS) {
        return false;
    }
    object->loads = g_renew(struct lull_load, object->loads, object->n_loads + 1);
    object->loads[object->n_loads++] = *load;
    return true;
}

bool lull_object_address(const struct lull_object *object, uint64_t file_offset, uint64_t *address)
{
    for (uint32_t i = 0; i < object->n_loads; i++) {
        const struct lull_load *load = &object->loads[i];
        if (file_offset >= load->offset && file_offset - load->offset < load->length) {
            *address = file_offset - load->offset + load->address;
            return true;
        }
    }
    return false;
}

uint64_t lull_object_start(const struct lull_object *object)
{
    uint64_t start = object->n_loads > 0 ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < object->n_loads; i++) {
        start = MIN(start, object->loads[i].address);
    }
    return start;
}

const char *lull_object_find(const struct lull_object *object, uint64_t file_offset,
                             uint64_t *offset)
{
    uint64_t address;
    return lull_object_address(object, file_offset, &address)
               ? lull_symbol_table_find(object->table, address, offset)
               : NULL;
}

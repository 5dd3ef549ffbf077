/* SPDX-License-Identifier: MIT */
/* Lists the files in which the frames of call chains lie. */
#include "kernel/stack_files.h"

#include <string.h>

#include "kernel/machine.h"
#include "kernel/stacks_private.h"

/* A frame with what it takes to know it from others. */
struct found {
    struct lull_stack_place place; /* .path: its object's, which is one text for each; or NULL */
    bool is_kernel, is_image;
    bool is_after; /* the call is before the place */
};

static int compare_texts(const char *a, const char *b)
{
    return g_strcmp0(a ? a : "", b ? b : "");
}

/* Whether both are in one file: 0. */
static int compare_files(const struct found *a, const struct found *b)
{
    const int by_path = compare_texts(a->place.path, b->place.path);
    return a->place.host != b->place.host ? (a->place.host < b->place.host ? -1 : 1)
           : by_path != 0                 ? by_path
           : a->place.pid != b->place.pid ? (a->place.pid < b->place.pid ? -1 : 1)
           : a->is_image != b->is_image   ? (int)a->is_image - (int)b->is_image
                                          : (int)a->is_kernel - (int)b->is_kernel;
}

static int compare_found(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    const int by_file = compare_files(a, b);
    return by_file != 0                         ? by_file
           : a->place.offset != b->place.offset ? (a->place.offset < b->place.offset ? -1 : 1)
                                                : (int)a->is_after - (int)b->is_after;
}

static GArray *find_all(struct lull_stacks *stacks)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(struct found));
    for (uint32_t chain = 0; chain < stacks->chains.count; chain++) {
        uint32_t n;
        const struct lull_frame *frames = lull_stacks_frames(stacks, chain, &n);
        for (uint32_t i = 0; i < n; i++) {
            const struct object *object = stacks_object_of(frames[i].object);
            const struct found found = {.place = {.offset = frames[i].offset,
                                                  .symbol = frames[i].symbol,
                                                  .symbol_offset = frames[i].symbol_offset,
                                                  .path = frames[i].object,
                                                  .host = stacks->chains.items[chain].host,
                                                  .pid = object ? object->pid : 0},
                                        .is_image = object && object->is_image,
                                        .is_after = i > 0,
                                        .is_kernel =
                                            object ? object->is_kernel : frames[i].offset >> 63};
            g_array_append_val(all, found);
        }
    }
    g_array_sort(all, compare_found);
    return all;
}

static struct lull_stack_file file_of(struct lull_stacks *stacks, const struct found *found)
{
    const struct object *object = stacks_object_of(found->place.path);
    const struct names *names = stacks_names_of(stacks, found->place.host);
    const struct origin origin = found->is_kernel ? names->kernel_origin
                                 : object         ? object->origin
                                                  : (struct origin){.why = "nothing is known to "
                                                                                   "have been mapped there"};
    const char *build_id = object ? stacks_build_id_of(names, object) : NULL;
    return (struct lull_stack_file){
        .path = found->place.path,
        .build_id = build_id && *build_id ? build_id : NULL,
        .why = origin.why,
        .host = found->place.host,
        .pid = found->place.pid,
        .is_kernel = found->is_kernel,
        .from = origin.from,
    };
}

static int most_first(const void *left, const void *right)
{
    const struct lull_stack_file *a = left, *b = right;
    return a->n_places != b->n_places ? (a->n_places > b->n_places ? -1 : 1)
           : a->host != b->host       ? (a->host < b->host ? -1 : 1)
           : a->path != b->path       ? compare_texts(a->path, b->path)
                                      : a->pid - b->pid;
}

/* The place, after what was put in line there. */
static void add_place(struct lull_stack_files *list, struct lull_stacks *stacks,
                      const struct found *found, bool wants_lines)
{
    struct lull_code code[LULL_MOST_INLINED];
    struct lull_stack_place place = found->place;
    const uint32_t n = wants_lines ? stacks_code(stacks, place.host, stacks_object_of(place.path),
                                                 place.offset - found->is_after, code)
                                   : 0;
    for (uint32_t i = 0; i + 1 < n; i++) {
        struct lull_stack_place inlined = place;
        inlined.symbol = code[i].function;
        inlined.symbol_offset = 0;
        inlined.source = code[i].at;
        inlined.is_inlined = true;
        g_array_append_val(list->places, inlined);
    }
    if (n > 0) {
        place.source = code[n - 1].at;
    }
    g_array_append_val(list->places, place);
}

/* Those in which nothing was found. */
static void add_others(struct lull_stack_files *list, struct lull_stacks *stacks, GHashTable *known)
{
    GHashTableIter each;
    gpointer key, value;
    g_hash_table_iter_init(&each, stacks->objects);
    while (g_hash_table_iter_next(&each, &key, &value)) {
        struct object *object = value;
        struct found found = {.place = {.path = object->path,
                                        .host = (uint32_t)g_ascii_strtoull(key, NULL, 10),
                                        .pid = object->pid},
                              .is_kernel = object->is_kernel,
                              .is_image = object->is_image};
        uint64_t offset;
        if (!object->is_kernel && !g_hash_table_contains(known, object)) {
            stacks_symbol_at(stacks, found.place.host, object, 0, &offset);
            const struct lull_stack_file file = file_of(stacks, &found);
            g_array_append_val(list->files, file);
        }
    }
}

struct lull_stack_files *lull_stack_files_new(struct lull_model *model, bool wants_lines,
                                              bool wants_all)
{
    struct lull_stack_files *list = g_new0(struct lull_stack_files, 1);
    GArray *all = model && model->stacks ? find_all(model->stacks)
                                         : g_array_new(FALSE, FALSE, sizeof(struct found));
    g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
    list->files = g_array_new(FALSE, FALSE, sizeof(struct lull_stack_file));
    list->places = g_array_new(FALSE, FALSE, sizeof(struct lull_stack_place));
    for (guint i = 0; i < all->len; i++) {
        struct found *found = &g_array_index(all, struct found, i);
        if (i == 0 || compare_files(found - 1, found) != 0) {
            const struct lull_stack_file file = file_of(model->stacks, found);
            g_array_append_val(list->files, file);
            g_hash_table_add(known, stacks_object_of(found->place.path));
        } else if (found[-1].place.offset == found->place.offset) {
            /* An address after a call is named by what lies before it. */
            continue;
        }
        struct lull_stack_file *file =
            &g_array_index(list->files, struct lull_stack_file, list->files->len - 1);
        file->n_places++;
        file->n_named += found->place.symbol != NULL;
        add_place(list, model->stacks, found, wants_lines);
    }
    g_array_unref(all);
    if (wants_all && model && model->stacks) {
        add_others(list, model->stacks, known);
    }
    g_array_sort(list->files, most_first);
    return list;
}

void lull_stack_files_free(struct lull_stack_files *files)
{
    if (files) {
        g_array_unref(files->files);
        g_array_unref(files->places);
        g_free(files);
    }
}

/* SPDX-License-Identifier: MIT */
/* Call chains from dumps of the stacks of programs. */
#include <string.h>

#include "kernel/stacks_private.h"
#include "symbol/elf_frames.h"
#include "symbol/saved.h"

/* As many as a chain has. */
#define MOST_FRAMES 1024u
/* What follows in a chain is of a program (PERF_CONTEXT_USER). */
#define USER_MARK UINT64_C(-512)

struct search {
    struct lull_stacks *stacks;
    uint32_t host, process;
};

static struct lull_object *read_frames(struct lull_stacks *stacks, uint32_t host,
                                       const struct object *object)
{
    struct origin origin;
    struct names *names = stacks_names_of(stacks, host);
    struct lull_object *frames = stacks_find_recorded(names, object, lull_saved_read_frames);
    return frames ? frames
                  : stacks_find_file(stacks, host, object, stacks_build_id_of(names, object),
                                     lull_elf_read_frames, &origin);
}

static bool find_code(void *user, uint64_t address, struct lull_unwind_code *code)
{
    const struct search *search = user;
    const struct mapping *mapping = stacks_mapping_at(search->stacks, search->process, address);
    if (!mapping) {
        return false;
    }
    struct object *object = mapping->object;
    const uint64_t place = address - mapping->start + mapping->offset;
    if (!object->has_read_frames) {
        object->has_read_frames = true;
        object->frames = read_frames(search->stacks, search->host, object);
    }
    const bool is_there =
        object->frames && stacks_address(object, object->frames, place, &code->address);
    code->cfi = is_there ? object->frames->cfi : NULL;
    return true;
}

/* Those of the kernel, which come first. */
static uint32_t copy_kernel(struct lull_text addresses, uint64_t *to)
{
    uint32_t n = 0;
    for (; n < MOST_FRAMES && (n + 1) * 8 <= addresses.length; n++) {
        memcpy(&to[n], addresses.data + (size_t)n * 8, sizeof *to);
        if (to[n] >> 63 == 0 || to[n] == USER_MARK) {
            break;
        }
    }
    return n;
}

/* Where programs start there is no caller, and in some files nothing that says so. */
static bool is_start(const struct search *search, const struct mapping *mapping, uint64_t address)
{
    uint64_t offset;
    const char *name = stacks_symbol_at(search->stacks, search->host, mapping->object,
                                        address - mapping->start + mapping->offset, &offset);
    return name && (strcmp(name, "_start") == 0 || strcmp(name, "_dl_start_user") == 0);
}

/* Why the stack ends at the address. */
static void count_end(const struct search *search, enum lull_unwind_end end, uint64_t address)
{
    const struct mapping *mapping =
        end == LULL_UNWIND_UNKNOWN ? stacks_mapping_at(search->stacks, search->process, address)
                                   : NULL;
    if (mapping && is_start(search, mapping, address)) {
        end = LULL_UNWIND_WHOLE;
    } else if (mapping) {
        mapping->object->n_ends++;
    } else if (end == LULL_UNWIND_UNKNOWN) { /* a process of which nothing is known */
        end = LULL_UNWIND_BROKEN;
    }
    search->stacks->ends[end]++;
}

uint32_t lull_stacks_unwind(struct lull_stacks *stacks, uint32_t host, int32_t pid,
                            struct lull_text addresses, const struct lull_stack_dump *dump,
                            int64_t t)
{
    struct search search = {stacks, host, stacks_process(stacks, host, pid)};
    uint64_t all[2 * MOST_FRAMES + 1];
    struct lull_unwind_memory memory;
    if (!lull_unwind_start(&memory, dump->architecture, (const uint8_t *)dump->registers.data,
                           dump->registers.length, (const uint8_t *)dump->stack.data,
                           dump->stack.length)) {
        return lull_stacks_chain(stacks, host, pid, addresses, t);
    }
    uint32_t n = copy_kernel(addresses, all), n_user;
    all[n++] = USER_MARK;
    const enum lull_unwind_end end =
        lull_unwind(&memory, find_code, &search, &all[n], MOST_FRAMES, &n_user);
    n += n_user;
    count_end(&search, end, all[n - 1]);
    return lull_stacks_chain(stacks, host, pid, (struct lull_text){(const char *)all, n * 8}, t);
}

struct lull_stack_ends lull_stacks_ends(const struct lull_stacks *stacks)
{
    struct lull_stack_ends ends = {.n_whole = stacks->ends[LULL_UNWIND_WHOLE] +
                                              stacks->ends[LULL_UNWIND_FULL],
                                   .n_short = stacks->ends[LULL_UNWIND_SHORT],
                                   .n_unknown = stacks->ends[LULL_UNWIND_UNKNOWN]};
    const struct object *most = NULL;
    GHashTableIter i;
    void *value;
    for (unsigned end = 0; end < LULL_UNWIND_ENDS; end++) {
        ends.n += stacks->ends[end];
    }
    g_hash_table_iter_init(&i, stacks->objects);
    while (g_hash_table_iter_next(&i, NULL, &value)) {
        const struct object *object = value;
        if (object->n_ends > 0 &&
            (!most || object->n_ends > most->n_ends ||
             (object->n_ends == most->n_ends && strcmp(object->path, most->path) < 0))) {
            most = object;
        }
    }
    ends.file = most ? most->path : NULL;
    return ends;
}

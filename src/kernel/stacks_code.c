/* SPDX-License-Identifier: MIT */
/* What the sources say of the frames of call chains: lines, and calls that the compiler put in line. */
#include "kernel/stacks_private.h"

#include <string.h>

#include "symbol/elf.h"
#include "symbol/jitdump.h"
#include "symbol/object.h"

/* What a name has after it if it is of a call in line. */
#define INLINED " [inlined]"

/* ---- lines ---- */

/* The names may be the recording's, which has no lines: then of the file itself. */
static struct lull_lines *find_lines(struct lull_stacks *stacks, uint32_t host,
                                     struct object *object)
{
    struct origin origin = {0};
    if (!object->has_looked_for_lines) {
        const char *build_id = stacks_build_id_of(stacks_names_of(stacks, host), object);
        object->has_looked_for_lines = true;
        if (!build_id && object->symbols) {
            build_id = object->symbols->build_id;
        }
        object->of_lines =
            object->symbols && object->symbols->file.path
                ? object->symbols
                : stacks_find_file(stacks, host, object, build_id, lull_elf_read, &origin);
        object->lines = object->of_lines ? lull_lines_new(object->of_lines) : NULL;
    }
    return object->lines;
}

void stacks_drop_lines(struct object *object)
{
    lull_lines_free(object->lines);
    if (object->of_lines != object->symbols) {
        lull_object_free(object->of_lines);
    }
}

/* Of code that a program made it is not known what was put in line. */
static uint32_t made_code(const struct object *object, uint64_t place, struct lull_code *code)
{
    uint64_t offset;
    const char *name = lull_object_find(object->symbols, place, &offset);
    *code = (struct lull_code){.at = lull_jitdump_line(object->jitdump, place), .function = name};
    if (name) {
        code->start = lull_jitdump_line(object->jitdump, place - offset);
    }
    return code->at.file != NULL;
}

uint32_t stacks_code(struct lull_stacks *stacks, uint32_t host, struct object *object,
                     uint64_t place, struct lull_code code[LULL_MOST_INLINED])
{
    uint64_t address;
    if (object && object->jitdump) {
        return made_code(object, place, code);
    }
    if (object ? object->is_kernel : place >> 63) {
        const uint64_t start = object ? object->start : 0;
        return (start + place) >> 63
                   ? stacks_code_in_kernel(stacks, host, object, start + place, code)
                   : 0;
    }
    struct lull_lines *lines = object && !object->pid ? find_lines(stacks, host, object) : NULL;
    if (!lines || !stacks_address(object, object->of_lines, place, &address)) {
        return 0;
    }
    const uint32_t n = lull_lines_find(lines, address, code);
    for (uint32_t i = 0; i < n; i++) {
        code[i].function = code[i].function ? stacks_readable(stacks, code[i].function) : NULL;
    }
    return n;
}

/* ---- calls in line ---- */

static void add_frame(struct split *split, const struct lull_frame *frame, uint32_t number,
                      uint32_t level)
{
    split->frames = g_renew(struct lull_frame, split->frames, split->n + 1);
    split->of = g_renew(struct split_frame, split->of, split->n + 1);
    split->frames[split->n] = *frame;
    split->of[split->n++] = (struct split_frame){number, level};
}

void stacks_split(struct lull_stacks *stacks, struct chain *chain)
{
    struct split *split = g_new0(struct split, 1);
    struct lull_code code[LULL_MOST_INLINED];
    for (uint32_t i = 0; i < chain->n; i++) {
        const struct lull_frame *frame = &stacks->frames.items[chain->first + i];
        const uint32_t n = stacks_code(stacks, chain->host, stacks_object_of(frame->object),
                                       frame->offset - (i > 0), code);
        for (uint32_t level = 0; level + 1 < n; level++) {
            struct lull_frame inlined = *frame;
            g_autofree char *name =
                g_strconcat(code[level].function ? code[level].function : "?", INLINED, NULL);
            inlined.symbol = g_string_chunk_insert_const(stacks->texts, name);
            inlined.symbol_offset = 0;
            add_frame(split, &inlined, i, level);
        }
        add_frame(split, frame, i, n > 0 ? n - 1 : 0);
    }
    if (split->n > chain->n) {
        chain->split = split;
    } else {
        stacks_drop_split(split);
    }
}

void stacks_drop_split(struct split *split)
{
    if (split) {
        g_free(split->frames);
        g_free(split->of);
        g_free(split);
    }
}

/* What the sources say of one of the frames that lull_stacks_frames() gives. */
static struct lull_code code_of(struct lull_stacks *stacks, uint32_t chain, uint32_t frame)
{
    struct lull_code code[LULL_MOST_INLINED];
    const struct chain *it = &stacks->chains.items[chain];
    const struct split_frame of =
        it->split ? it->split->of[frame] : (struct split_frame){frame, UINT32_MAX};
    const struct lull_frame *place = &stacks->frames.items[it->first + of.frame];
    const uint32_t n = stacks_code(stacks, it->host, stacks_object_of(place->object),
                                   place->offset - (of.frame > 0), code);
    return n > 0 ? code[MIN(of.level, n - 1)] : (struct lull_code){.function = NULL};
}

struct lull_source_line lull_stacks_start(struct lull_stacks *stacks, uint32_t chain,
                                          uint32_t frame)
{
    return code_of(stacks, chain, frame).start;
}

struct lull_source_line lull_stacks_line(struct lull_stacks *stacks, uint32_t chain, uint32_t frame)
{
    return code_of(stacks, chain, frame).at;
}

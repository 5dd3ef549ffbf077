/* Which field a length or selector of CTF 2 is (CTF2-SPEC-2.0, section 6.4.2). The specification
 * locates a field while data is decoded; here it is done once for all data, so where a path goes
 * through a variant that is not being decoded every option counts that leads on. */
#include "ctf/ctf2/build.h"

#include <string.h>

enum outcome {
    FOUND,
    MISSING,
    NOT_BEFORE,
    NOT_INTEGER,
    NOT_STRUCTURE,
    NOT_INSIDE,
    NO_PARENT,
    FULL
};

static const char *const outcome_texts[] = {
    [MISSING] = "there is no such field",
    [NOT_BEFORE] = "it does not stand before the field that refers to it",
    [NOT_INTEGER] = "it is no integer or boolean",
    [NOT_STRUCTURE] = "the path goes through a field that is no structure",
    [NOT_INSIDE] = "it is in an array that does not hold the referring field",
    [NO_PARENT] = "no structure is around the root's",
};

/* A structure on the way: one that is being built (a frame), or a finished one. */
struct position {
    int frame; /* index in builder->frames, or -1 */
    const struct ctf2_type *type;
    const struct lull_fc *fc; /* of a finished one */
    uint32_t depth;           /* indices of the path that lead to it */
};

struct walk {
    struct ctf2_builder *builder;
    const struct ctf2_location *location;
    enum lull_scope scope;
    uint32_t path[CTF2_MAX_DEPTH * 2];
    uint32_t depth;
    struct position positions[CTF2_MAX_DEPTH + 1]; /* structures around where the walk is, and it */
    uint32_t n_positions;
    struct lull_fc_ref *first, *last; /* found so far */
};

static enum outcome walk_names(struct walk *walk, uint32_t name);

static enum outcome enter_structure(struct walk *walk, int frame, const struct ctf2_type *type,
                                    const struct lull_fc *fc, uint32_t name)
{
    struct position position = {.frame = frame, .type = type, .fc = fc, .depth = walk->depth};

    if (name == walk->location->n_names) {
        return NOT_INTEGER;
    }
    walk->positions[walk->n_positions++] = position;
    return walk_names(walk, name);
}

static enum outcome found(struct walk *walk, const struct lull_fc *fc)
{
    struct lull_arena *arena = walk->builder->tree->arena;
    struct lull_fc_ref *ref = lull_arena_alloc(arena, sizeof *ref);

    ref->scope = walk->scope;
    ref->depth = walk->depth;
    ref->path = lull_arena_copy(arena, walk->path, walk->depth * sizeof walk->path[0]);
    ref->target = fc;
    if (walk->last) {
        walk->last->next = ref;
    } else {
        walk->first = ref;
    }
    walk->last = ref;
    return FOUND;
}

static enum outcome walk_finished(struct walk *walk, const struct ctf2_type *type,
                                  const struct lull_fc *fc, uint32_t name);

/* Options that lack the name do not matter as long as another one has it; anything else that is
 * wrong in one is wrong. */
static enum outcome walk_options(struct walk *walk, const struct ctf2_type *type,
                                 const struct lull_fc *fc, uint32_t name)
{
    uint32_t depth = walk->depth, n_positions = walk->n_positions;
    enum outcome result = MISSING;

    for (uint32_t i = 0; i < type->n_parts; i++) {
        struct position saved[CTF2_MAX_DEPTH + 1];
        memcpy(saved, walk->positions, n_positions * sizeof saved[0]);
        walk->path[walk->depth++] = i;
        enum outcome outcome =
            walk_finished(walk, type->parts[i].type, fc->variant.options[i].fc, name);
        memcpy(walk->positions, saved, n_positions * sizeof saved[0]);
        walk->depth = depth;
        walk->n_positions = n_positions;
        if (outcome != FOUND && outcome != MISSING) {
            return outcome;
        }
        if (outcome == FOUND) {
            result = FOUND;
        }
    }
    return result;
}

/* From a finished field on by the names from `name` on. */
static enum outcome walk_finished(struct walk *walk, const struct ctf2_type *type,
                                  const struct lull_fc *fc, uint32_t name)
{
    if (!ctf2_spend(walk->builder, 1)) {
        return FULL;
    }
    for (; fc->kind == LULL_FC_OPTIONAL; fc = fc->optional.content) {
        type = type->parts[0].type;
    }
    switch (fc->kind) {
    case LULL_FC_STRUCT:
        return enter_structure(walk, -1, type, fc, name);
    case LULL_FC_VARIANT:
        return walk_options(walk, type, fc, name);
    case LULL_FC_ARRAY:
    case LULL_FC_SEQUENCE:
        return type->n_parts ? NOT_INSIDE : NOT_INTEGER;
    case LULL_FC_INT:
    case LULL_FC_VARINT:
        return name == walk->location->n_names ? found(walk, fc) : NOT_STRUCTURE;
    default:
        return name == walk->location->n_names ? NOT_INTEGER : NOT_STRUCTURE;
    }
}

/* From the part of a frame that is being built on: through what is no structure to the next one. */
static enum outcome walk_current(struct walk *walk, uint32_t frame, uint32_t name)
{
    const struct ctf2_builder *builder = walk->builder;

    for (frame++; frame < builder->n_frames; frame++) {
        const struct ctf2_frame *next = &builder->frames[frame];
        if (next->type->fc.kind == LULL_FC_STRUCT) {
            return enter_structure(walk, (int)frame, next->type, NULL, name);
        }
        if (next->type->fc.kind == LULL_FC_VARIANT) {
            walk->path[walk->depth++] = next->current;
        }
    }
    return NOT_BEFORE; /* the referring field itself, or an array, optional or variant around it */
}

static enum outcome walk_member(struct walk *walk, uint32_t name)
{
    const struct ctf2_builder *builder = walk->builder;
    const struct position *position = &walk->positions[walk->n_positions - 1];
    uintptr_t found_index =
        (uintptr_t)tsdl_map_find(&builder->tree->map, position->type, walk->location->names[name]);

    if (!found_index) {
        return MISSING;
    }
    uint32_t index = (uint32_t)found_index - 1;
    const struct ctf2_type *type = position->type->parts[index].type;
    walk->path[walk->depth++] = index;
    if (position->frame < 0) {
        return walk_finished(walk, type, position->fc->structure.members[index].fc, name + 1);
    }
    const struct ctf2_frame *frame = &builder->frames[position->frame];
    if (index > frame->current) {
        return NOT_BEFORE;
    }
    if (index == frame->current) {
        return walk_current(walk, (uint32_t)position->frame, name + 1);
    }
    return walk_finished(walk, type, frame->members[index].fc, name + 1);
}

/* From the last of walk->places on; goes up for null and down for a name. */
static enum outcome walk_names(struct walk *walk, uint32_t name)
{
    if (!ctf2_spend(walk->builder, 1)) {
        return FULL;
    }
    if (walk->location->names[name]) {
        return walk_member(walk, name);
    }
    if (walk->n_positions < 2) {
        return NO_PARENT;
    }
    walk->n_positions--;
    walk->depth = walk->positions[walk->n_positions - 1].depth;
    return walk_names(walk, name + 1);
}

/* All structures around the referring field, from the scope's root on. */
static void enter_frames(struct walk *walk, uint32_t n_frames)
{
    const struct ctf2_builder *builder = walk->builder;

    for (uint32_t i = 0; i < n_frames; i++) {
        const struct ctf2_frame *frame = &builder->frames[i];
        enum lull_fc_kind kind = frame->type->fc.kind;
        if (kind == LULL_FC_STRUCT) {
            walk->positions[walk->n_positions++] =
                (struct position){.frame = (int)i, .type = frame->type, .depth = walk->depth};
        }
        if (kind == LULL_FC_STRUCT || kind == LULL_FC_VARIANT) {
            walk->path[walk->depth++] = frame->current;
        }
    }
    walk->depth = walk->positions[walk->n_positions - 1].depth;
}

static enum outcome walk_all(struct walk *walk)
{
    const struct ctf2_builder *builder = walk->builder;
    int origin = walk->location->scope;

    walk->scope = origin < 0 ? builder->scope : (enum lull_scope)origin;
    if (walk->scope == builder->scope) {
        enter_frames(walk, origin < 0 ? builder->n_frames : 1);
        return walk_names(walk, 0);
    }
    const struct ctf2_root *root = &builder->roots[walk->scope];
    if (!root->fc) {
        return walk->scope > builder->scope ? NOT_BEFORE : MISSING;
    }
    return enter_structure(walk, -1, root->type, root->fc, 0);
}

bool ctf2_locate(struct ctf2_builder *builder, const struct ctf2_type *type,
                 struct lull_fc_ref *out)
{
    bool is_length = type->fc.kind == LULL_FC_SEQUENCE;
    const char *property = is_length ? "length-field-location" : "selector-field-location";
    struct walk walk = {.builder = builder, .location = type->location};

    enum outcome outcome = walk_all(&walk);
    if (outcome == FULL) {
        return false;
    }
    if (outcome == FOUND) {
        *out = *walk.first;
        return true;
    }
    GString *path = g_string_new(NULL);
    for (uint32_t i = 0; i < type->location->n_names && path->len < 120; i++) {
        g_string_append_printf(path, "%s%.60s", i ? "." : "",
                               type->location->names[i] ? type->location->names[i]->text : "null");
    }
    ctf2_build_fail(builder, property, LULL_ERROR_FORMAT, "'%s': %s", path->str,
                    outcome_texts[outcome]);
    g_string_free(path, TRUE);
    return false;
}

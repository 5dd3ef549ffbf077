/* SPDX-License-Identifier: MIT */
/* Which field a length, selector or tag is (CTF 1.8.3, section 7.3.2; CTF2-SPEC-2.0, section 6.4.2).
 * CTF 1.8 looks relative names up in the structures around the reference, innermost first, then, as
 * section 4.2.2 allows it, in the scopes before. CTF 2 locates a field while data is decoded; here
 * it is done once for all data, so where a path goes through a variant that is not being decoded
 * every option counts that leads on. */
#include <string.h>

#include "ctf/draft/draft.h"

/* A structure on the way: one that is being built (a frame), or a finished one. */
struct position {
    int frame; /* index in builder->frames, or -1 */
    const struct draft_class *type;
    const struct lull_fc *fc; /* of a finished one */
    uint32_t depth;           /* indices of the path that lead to it */
};

struct walk {
    struct draft_builder *builder;
    const struct draft_class *type; /* that refers */
    const struct draft_ref *ref;
    bool loosely;
    enum lull_scope scope;
    uint32_t path[DRAFT_MAX_DEPTH * 2];
    uint32_t depth;
    /* Structures around where the walk is, and the one that it is in. */
    struct position positions[DRAFT_MAX_DEPTH + 1];
    uint32_t n_positions;
    struct lull_fc_ref *first, *last; /* found so far */
    const struct draft_class *target; /* of the first */
};

static enum draft_outcome walk_names(struct walk *walk, uint32_t name);

const char *draft_bare_name(const struct draft_atom *name)
{
    return name->text + (name->text[0] == '_' && name->length > 1);
}

static int64_t find(const struct draft_tree *tree, const struct draft_body *body, const char *text)
{
    const struct draft_atom *name = draft_names_find(&tree->names, text, strlen(text));
    gpointer index = name ? draft_names_bound(&tree->names, body, name) : NULL;
    return (int64_t)GPOINTER_TO_SIZE(index) - 1;
}

int64_t draft_find_part(const struct draft_tree *tree, const struct draft_body *body,
                        const struct draft_atom *name, bool loosely)
{
    int64_t index = (int64_t)GPOINTER_TO_SIZE(draft_names_bound(&tree->names, body, name)) - 1;

    if (index >= 0 || !loosely) {
        return index;
    }
    index = find(tree, body, draft_bare_name(name));
    if (index >= 0) {
        return index;
    }
    g_autofree char *longer = g_strconcat("_", name->text, NULL);
    return find(tree, body, longer);
}

static enum draft_outcome enter_structure(struct walk *walk, int frame,
                                          const struct draft_class *type, const struct lull_fc *fc,
                                          uint32_t name)
{
    if (name == walk->ref->n_names) {
        return DRAFT_NOT_INTEGER;
    }
    walk->positions[walk->n_positions++] =
        (struct position){.frame = frame, .type = type, .fc = fc, .depth = walk->depth};
    return walk_names(walk, name);
}

static enum draft_outcome found(struct walk *walk, const struct draft_class *type,
                                const struct lull_fc *fc)
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
        walk->target = type;
    }
    walk->last = ref;
    return DRAFT_FOUND;
}

static enum draft_outcome walk_finished(struct walk *walk, const struct draft_class *type,
                                        const struct lull_fc *fc, uint32_t name);

/* Options that lack the name do not matter as long as another one has it; anything else that is
 * wrong in one is wrong. */
static enum draft_outcome walk_options(struct walk *walk, const struct draft_class *type,
                                       const struct lull_fc *fc, uint32_t name)
{
    uint32_t depth = walk->depth, n_positions = walk->n_positions;
    enum draft_outcome result = DRAFT_MISSING;

    for (uint32_t i = 0; i < type->body->n_parts; i++) {
        struct position saved[DRAFT_MAX_DEPTH + 1];
        memcpy(saved, walk->positions, n_positions * sizeof saved[0]);
        walk->path[walk->depth++] = i;
        enum draft_outcome outcome =
            walk_finished(walk, type->body->parts[i].type, fc->variant.options[i].fc, name);
        memcpy(walk->positions, saved, n_positions * sizeof saved[0]);
        walk->depth = depth;
        walk->n_positions = n_positions;
        if (outcome != DRAFT_FOUND && outcome != DRAFT_MISSING) {
            return outcome;
        }
        if (outcome == DRAFT_FOUND) {
            result = DRAFT_FOUND;
        }
    }
    return result;
}

/* From a finished field on by the names from `name` on. */
static enum draft_outcome walk_finished(struct walk *walk, const struct draft_class *type,
                                        const struct lull_fc *fc, uint32_t name)
{
    bool names_options = walk->builder->language->names_options;
    bool is_last = name == walk->ref->n_names;

    if (!draft_spend(walk->builder, walk->type, 1)) {
        return DRAFT_FULL;
    }
    for (; fc->kind == LULL_FC_OPTIONAL; fc = fc->optional.content) {
        type = type->body->parts[0].type;
    }
    switch (fc->kind) {
    case LULL_FC_STRUCT:
        return enter_structure(walk, -1, type, fc, name);
    case LULL_FC_VARIANT:
        if (!names_options) {
            return walk_options(walk, type, fc, name);
        }
        return is_last ? DRAFT_NOT_INTEGER : DRAFT_NOT_INSIDE;
    case LULL_FC_ARRAY:
    case LULL_FC_SEQUENCE:
        return !type->body || (names_options && is_last) ? DRAFT_NOT_INTEGER : DRAFT_NOT_INSIDE;
    case LULL_FC_INT:
    case LULL_FC_VARINT:
        return is_last ? found(walk, type, fc) : DRAFT_NOT_STRUCTURE;
    default:
        return is_last ? DRAFT_NOT_INTEGER : DRAFT_NOT_STRUCTURE;
    }
}

/* From the part of a frame that is being built on: through what is no structure to the next one. */
static enum draft_outcome walk_current(struct walk *walk, uint32_t frame, uint32_t name)
{
    const struct draft_builder *builder = walk->builder;
    bool names_options = builder->language->names_options;

    for (frame++; frame < builder->n_frames; frame++) {
        const struct draft_frame *next = &builder->frames[frame];
        if (names_options && name == walk->ref->n_names) {
            break;
        }
        if (next->type->fc.kind == LULL_FC_STRUCT) {
            return enter_structure(walk, (int)frame, next->type, NULL, name);
        }
        if (next->type->fc.kind != LULL_FC_VARIANT) {
            continue; /* elements have no name */
        }
        if (names_options) {
            int64_t index = draft_find_part(builder->tree, next->type->body,
                                            walk->ref->names[name++], walk->loosely);
            if (index != next->current) {
                return index < 0 ? DRAFT_MISSING : DRAFT_NOT_INSIDE;
            }
        }
        walk->path[walk->depth++] = next->current;
    }
    return DRAFT_NOT_BEFORE; /* the referring field itself, or one with parts around it */
}

static enum draft_outcome walk_member(struct walk *walk, uint32_t name)
{
    const struct draft_builder *builder = walk->builder;
    const struct position *position = &walk->positions[walk->n_positions - 1];
    int64_t index =
        draft_find_part(builder->tree, position->type->body, walk->ref->names[name], walk->loosely);

    if (index < 0) {
        return DRAFT_MISSING;
    }
    const struct draft_class *type = position->type->body->parts[index].type;
    walk->path[walk->depth++] = (uint32_t)index;
    if (position->frame < 0) {
        return walk_finished(walk, type, position->fc->structure.members[index].fc, name + 1);
    }
    const struct draft_frame *frame = &builder->frames[position->frame];
    if (index > frame->current) {
        return DRAFT_NOT_BEFORE;
    }
    if (index == frame->current) {
        return walk_current(walk, (uint32_t)position->frame, name + 1);
    }
    return walk_finished(walk, type, frame->members[index].fc, name + 1);
}

/* From the last of walk->positions on; goes up for null and down for a name. */
static enum draft_outcome walk_names(struct walk *walk, uint32_t name)
{
    if (!draft_spend(walk->builder, walk->type, 1)) {
        return DRAFT_FULL;
    }
    if (walk->ref->names[name]) {
        return walk_member(walk, name);
    }
    if (walk->n_positions < 2) {
        return DRAFT_NO_PARENT;
    }
    walk->n_positions--;
    walk->depth = walk->positions[walk->n_positions - 1].depth;
    return walk_names(walk, name + 1);
}

/* From the last of the first frames of the scope that is being built, a structure. */
static enum draft_outcome walk_frames(struct walk *walk, uint32_t n_frames)
{
    const struct draft_builder *builder = walk->builder;

    walk->scope = builder->scope;
    walk->depth = walk->n_positions = 0;
    for (uint32_t i = 0; i < n_frames; i++) {
        const struct draft_frame *frame = &builder->frames[i];
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
    return walk_names(walk, 0);
}

static enum draft_outcome walk_scope(struct walk *walk, enum lull_scope scope)
{
    const struct draft_builder *builder = walk->builder;
    const struct draft_root *root = &builder->roots[scope];

    walk->scope = scope;
    if (scope == builder->scope) {
        return walk_frames(walk, 1);
    }
    if (!root->fc) {
        return scope > builder->scope ? DRAFT_NOT_BEFORE : DRAFT_MISSING;
    }
    walk->depth = walk->n_positions = 0;
    return enter_structure(walk, -1, root->type, root->fc, 0);
}

static bool is_final(enum draft_outcome outcome)
{
    return outcome == DRAFT_FOUND || outcome == DRAFT_NOT_INTEGER || outcome == DRAFT_FULL;
}

/* CTF 1.8: every structure where a relative path may start, nearest first. What is found but wrong
 * in a nearer one makes a better message than what is missing in a farther one. */
static enum draft_outcome walk_outwards(struct walk *walk)
{
    const struct draft_builder *builder = walk->builder;
    const struct draft_body *anchor = walk->ref->anchor;
    enum draft_outcome worst = DRAFT_MISSING;

    for (uint32_t i = builder->n_frames; i-- > 0;) {
        const struct draft_class *type = builder->frames[i].type;
        if (type->fc.kind != LULL_FC_STRUCT || (anchor && type->body != anchor)) {
            continue;
        }
        enum draft_outcome outcome = walk_frames(walk, i + 1);
        if (anchor || is_final(outcome)) {
            return outcome;
        }
        worst = worst == DRAFT_MISSING ? outcome : worst;
    }
    for (uint32_t i = builder->scope; i-- > 0;) {
        enum draft_outcome outcome = walk_scope(walk, (enum lull_scope)i);
        if (is_final(outcome)) {
            return outcome;
        }
        worst = worst == DRAFT_MISSING ? outcome : worst;
    }
    return worst;
}

static enum draft_outcome walk_once(struct walk *walk)
{
    if (walk->ref->scope >= 0) {
        return walk_scope(walk, (enum lull_scope)walk->ref->scope);
    }
    return walk->builder->language->names_options ? walk_outwards(walk)
                                                  : walk_frames(walk, walk->builder->n_frames);
}

enum draft_outcome draft_locate(struct draft_builder *builder, const struct draft_class *type,
                                struct lull_fc_ref *out, const struct draft_class **target)
{
    struct walk walk = {.builder = builder, .type = type, .ref = type->ref};
    enum draft_outcome outcome = walk_once(&walk);

    if (builder->language->names_options && !is_final(outcome)) {
        walk.loosely = true;
        enum draft_outcome now = walk_once(&walk);
        outcome = outcome == DRAFT_MISSING || is_final(now) ? now : outcome;
    }
    if (outcome == DRAFT_FOUND) {
        *out = *walk.first;
        *target = walk.target;
    }
    return outcome;
}

char *draft_ref_text(const struct draft_ref *ref)
{
    GString *path = g_string_new(NULL);

    for (uint32_t i = 0; i < ref->n_names && path->len < 120; i++) {
        g_string_append_printf(path, "%s%.60s", i ? "." : "",
                               ref->names[i] ? ref->names[i]->text : "null");
    }
    return g_string_free(path, FALSE);
}

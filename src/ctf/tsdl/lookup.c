/* Which field a sequence length or variant tag is (section 7.3.2). Relative names are looked up in
 * the structures around the reference, innermost first, then, as section 4.2.2 allows it, in the
 * scopes before; absolute ones from the root of their scope. */
#include "ctf/tsdl/build.h"

#include <string.h>

/* The longest path: one index for each level, and none deeper than types can be. */
#define MAX_PATH TSDL_MAX_DEPTH

enum outcome { FOUND, MISSING, NOT_BEFORE, NOT_STRUCTURE, NOT_INSIDE };

static const char *const outcome_texts[] = {
    [MISSING] = "there is no such field",
    [NOT_BEFORE] = "it does not stand before the field that refers to it",
    [NOT_STRUCTURE] = "what is before the last dot is no structure",
    [NOT_INSIDE] = "it is in an array, sequence or variant that does not hold the referring field",
};

struct walk {
    const struct tsdl_builder *builder;
    const struct tsdl_ref *ref;
    bool loosely;
    uint32_t path[MAX_PATH];
    uint32_t depth;
    const struct tsdl_type *type;
    const struct lull_fc *fc;
};

/* From a finished field (walk->type, ->fc) on by the names from `name` on. */
static enum outcome walk_finished(struct walk *walk, uint32_t name)
{
    for (; name < walk->ref->n_names; name++) {
        if (walk->type->kind == LULL_FC_INT || walk->type->kind == LULL_FC_FLOAT ||
            walk->type->kind == LULL_FC_STRING) {
            return NOT_STRUCTURE;
        }
        if (walk->type->kind != LULL_FC_STRUCT) {
            return NOT_INSIDE;
        }
        int64_t index = tsdl_tree_member(walk->builder->tree, walk->type->structure.body,
                                         walk->ref->names[name], walk->loosely);
        if (index < 0 || walk->depth == MAX_PATH) {
            return MISSING;
        }
        walk->path[walk->depth++] = (uint32_t)index;
        walk->type = walk->type->structure.body->members[index].type;
        walk->fc = walk->fc->structure.members[index].fc;
    }
    return FOUND;
}

/* From the frame `at` on, which is around the referring field, along the frames as long as the
 * names follow them, and then into a field that is finished already. */
static enum outcome walk_frames(struct walk *walk, uint32_t at)
{
    const struct tsdl_builder *builder = walk->builder;

    walk->depth = 0;
    for (uint32_t i = 0; i < at; i++) {
        if (builder->frames[i].body) {
            walk->path[walk->depth++] = builder->frames[i].current;
        }
    }
    for (uint32_t name = 0; name < walk->ref->n_names; name++) {
        while (at < builder->n_frames && !builder->frames[at].body) {
            at++; /* elements have no name */
        }
        if (at == builder->n_frames) {
            return NOT_BEFORE; /* the names lead to the referring field itself */
        }
        const struct tsdl_frame *frame = &builder->frames[at++];
        int64_t index =
            tsdl_tree_member(builder->tree, frame->body, walk->ref->names[name], walk->loosely);
        if (index < 0 || walk->depth == MAX_PATH) {
            return MISSING;
        }
        walk->path[walk->depth++] = (uint32_t)index;
        if (index == frame->current) {
            continue;
        }
        if (frame->kind == LULL_FC_VARIANT) {
            return NOT_INSIDE;
        }
        if (index > frame->current) {
            return NOT_BEFORE;
        }
        walk->type = frame->body->members[index].type;
        walk->fc = frame->members[index].fc;
        return walk_finished(walk, name + 1);
    }
    return NOT_BEFORE; /* they lead to a compound around the referring field */
}

static enum outcome walk_scope(struct walk *walk, enum lull_scope scope)
{
    const struct tsdl_root *root = &walk->builder->roots[scope];

    if (!root->fc) {
        return scope >= walk->builder->scope ? NOT_BEFORE : MISSING;
    }
    walk->depth = 0;
    walk->type = root->type;
    walk->fc = root->fc;
    return walk_finished(walk, 0);
}

static enum outcome walk_absolute(struct walk *walk, enum lull_scope *scope)
{
    *scope = (enum lull_scope)walk->ref->scope;
    return *scope == walk->builder->scope ? walk_frames(walk, 0) : walk_scope(walk, *scope);
}

/* Every place where a relative path may begin, nearest first. What is found but wrong at a nearer
 * place makes a better message than what is missing at a farther one. */
static enum outcome walk_relative(struct walk *walk, enum lull_scope *scope)
{
    const struct tsdl_builder *builder = walk->builder;
    enum outcome worst = MISSING;

    *scope = builder->scope;
    for (uint32_t i = builder->n_frames; i-- > 0;) {
        const struct tsdl_frame *frame = &builder->frames[i];
        if (frame->kind != LULL_FC_STRUCT ||
            (walk->ref->anchor && frame->body != walk->ref->anchor)) {
            continue;
        }
        enum outcome outcome = walk_frames(walk, i);
        if (outcome == FOUND || walk->ref->anchor) {
            return outcome;
        }
        worst = worst == MISSING ? outcome : worst;
    }
    for (uint32_t i = builder->scope; i-- > 0;) {
        *scope = (enum lull_scope)i;
        enum outcome outcome = walk_scope(walk, *scope);
        if (outcome == FOUND) {
            return outcome;
        }
        worst = worst == MISSING ? outcome : worst;
    }
    return worst;
}

static bool fail(struct tsdl_builder *builder, const struct tsdl_ref *ref, const char *what,
                 const char *why)
{
    GString *path = g_string_new(NULL);

    for (uint32_t i = 0; i < ref->n_names && path->len < 120; i++) {
        g_string_append_printf(path, "%s%.60s", i ? "." : "", ref->names[i]->text);
    }
    tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, ref->pos, "bad %s '%s': %s", what,
              path->str, why);
    g_string_free(path, TRUE);
    return false;
}

bool tsdl_lookup(struct tsdl_builder *builder, const struct tsdl_ref *ref, const char *what,
                 struct lull_fc_ref *out, const struct tsdl_type **target)
{
    struct walk walk = {.builder = builder, .ref = ref};
    enum outcome outcome = MISSING;
    enum lull_scope scope;

    for (int loosely = 0; loosely < 2 && outcome != FOUND; loosely++) {
        walk.loosely = loosely;
        enum outcome now =
            ref->scope >= 0 ? walk_absolute(&walk, &scope) : walk_relative(&walk, &scope);
        outcome = outcome == MISSING || now == FOUND ? now : outcome;
    }
    if (outcome != FOUND) {
        return fail(builder, ref, what, outcome_texts[outcome]);
    }
    if (walk.fc->kind != LULL_FC_INT) {
        return fail(builder, ref, what, "the field is no integer");
    }
    out->scope = scope;
    out->depth = walk.depth;
    out->path = lull_arena_copy(builder->tree->arena, walk.path, walk.depth * sizeof walk.path[0]);
    out->target = walk.fc;
    *target = walk.type;
    return true;
}

/* SPDX-License-Identifier: MIT */
/* What those share that put stacks into the tree of a flame graph. */
#ifndef LULL_CALLS_FLAME_PRIVATE_H
#define LULL_CALLS_FLAME_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "calls/flame.h"

/* What is known of a name. */
struct named {
    const char *name;
    struct lull_source_line start;
    struct lull_flame_place place;
    bool has_start, has_place; /* or has several, and so none */
    bool are_several;          /* places */
};

struct flame_inside {
    LULL_VEC(struct lull_flame_node) nodes;
    LULL_VEC(struct named) names;
    struct lull_map placed; /* functions whose sources were looked up */
    GHashTable *numbers;    /* name → number + 1 */
    GStringChunk *texts;
    LULL_VEC(int64_t) values; /* of each node, for all columns */
    struct lull_map children; /* parent, name */
    char *unit;
};

/* The node of a task, below its host's, if these are frames. `number` stands behind its name. */
uint32_t flame_task(struct lull_flame *flame, const struct lull_model *model, uint32_t task,
                    int32_t number, const struct lull_flame_choice *choice);
/* A leaf for time that was waited. LULL_NONE: there was none. */
uint32_t flame_add_wait(struct lull_flame *flame, uint32_t under, const char *cause, int64_t ns);
const char *flame_name_of_wait(uint8_t cause);
/* A new one; all are added before the first value. */
uint32_t flame_add_column(struct lull_flame *flame, const char *type, const char *unit);
/* Nothing, if there is no such column. */
void flame_add_value(struct lull_flame *flame, uint32_t node, uint32_t column, int64_t value);
/* A function that starts at `place` has the name of the node. Functions of one name that are at different
 * places are at none. */
void flame_learn_place(struct lull_flame *flame, uint32_t node, const char *object, uint64_t place,
                       const struct lull_model *model, uint32_t chain);
/* The same, and where its source starts, which is looked up once. */
void flame_learn_source(struct lull_flame *flame, uint32_t node, const char *object, uint64_t place,
                        const struct lull_model *model, uint32_t chain, uint32_t frame);

#endif

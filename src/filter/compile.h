/* SPDX-License-Identifier: MIT */
/* Compiles conditions for one event class. Several can be compiled together: then they are one
 * program with several entries, whose fields are read once. */
#ifndef LULL_FILTER_COMPILE_H
#define LULL_FILTER_COMPILE_H

#include "filter/program.h"

struct call_arch;
struct lull_call_event;

struct lull_compiler {
    const struct lull_terms *terms;
    const struct lull_source *source;
    uint32_t class_index;
    const char *host;
    int32_t cpu; /* -1: not known */
    struct lull_arena *arena;

    GArray *tests;    /* struct lull_test */
    GArray *bindings; /* struct lull_binding */
    uint32_t size;    /* of the fields; may be set higher after begin, if others lie before them */
    uint32_t first_bit; /* of the presence mask; likewise */
    const struct lull_field_path *visited[LULL_FILTER_FIELDS];
    uint32_t n_visited;
    /* The other name of its events, if it is of a system call; looked up when a test asks for it. */
    bool knows_call;
    bool asks_call; /* NAME is that name now */
    const struct lull_call_event *call;
    /* By field: what is known of it, once it was looked up. */
    struct lull_compiled_field {
        bool is_known, is_placed;
        enum { LULL_FIELD_ABSENT, LULL_FIELD_PRESENT, LULL_FIELD_READ } how;
        bool is_optional; /* not every event has it, because of a variant or an array's length */
        bool is_left_out; /* because of a variant */
        enum lull_field_scope scope;
        enum lull_bind_kind bind_kind; /* unless it is visited */
        struct lull_load load;
    } fields[LULL_FILTER_FIELDS];
};

/* What a source's system calls are called by; nothing else that is compiled differs between sources
 * with the same classes, but for the name of the host. */
const struct call_arch *lull_compiler_arch(const struct lull_source *source);
/* What is compiled lives in `arena`. End with lull_compiler_end() or lull_compiler_free(). */
void lull_compiler_start(struct lull_compiler *c, const struct lull_terms *terms,
                         const struct lull_source *source, uint32_t class_index, const char *host,
                         int32_t cpu, struct lull_arena *arena);
/* Where the condition's tests start, or LULL_ACCEPT or LULL_REJECT if the class decides it. */
int32_t lull_compiler_add(struct lull_compiler *c, const struct lull_node *root);
/* Has the fields read that the tests from `entry` on need. */
void lull_compiler_position(struct lull_compiler *c, int32_t entry);
/* How to read an operand, which is placed at once. False if the class has nothing there. */
bool lull_compiler_load(struct lull_compiler *c, const struct lull_operand *operand,
                        struct lull_load *load);
/* The same; what the class has nothing for reads as no value. */
struct lull_load lull_compiler_load_or_none(struct lull_compiler *c,
                                            const struct lull_operand *operand);
/* The program, whose usual entry is `entry`, and what it wants read. Frees the rest. */
struct lull_program *lull_compiler_end(struct lull_compiler *c, int32_t entry,
                                       struct lull_fields *fields);
void lull_compiler_free(struct lull_compiler *c);

#endif

/* SPDX-License-Identifier: MIT */
/* A tree of stacks and what each weighs: the data of a flame graph, wherever they come from. Frames are
 * the same if their names are. */
#ifndef LULL_CALLS_FLAME_H
#define LULL_CALLS_FLAME_H

#include "calls/counts.h"
#include "calls/heap.h"

struct lull_symbol_table;

struct lull_flame_node {
    uint32_t parent;      /* a smaller number; the root, 0, has itself */
    uint32_t name;        /* of the frame */
    uint32_t first, next; /* child and sibling, after lull_flame_finish() by name; 0: none */
    int64_t self, total;
    int64_t other_self, other_total; /* of what it is compared with */
};

/* What else stacks weigh, each in its own unit: what pprof calls a type of sample. */
struct lull_flame_column {
    const char *type, *unit;
};
enum { LULL_FLAME_MOST_COLUMNS = 6 };

/* Where the code of a function is. */
struct lull_flame_place {
    const char
        *object; /* as frames have it; NULL: not known, or the kernel, of which `address` is one */
    const char *build_id; /* hexadecimal digits; NULL: not known */
    uint64_t address;     /* offset in the object, where the function starts */
};

struct lull_flame {
    struct lull_flame_node *nodes;
    uint32_t n_nodes;
    const char *event;  /* that was sampled, or kind of memory; NULL: none */
    const char *unit;   /* "ns", "bytes", "allocations", or the event that was counted: "cycles" */
    bool is_difference; /* `other` means something */
    uint64_t n_broken;  /* stacks without their outer calls */
    uint64_t n_ignored; /* samples of other events */
    /* If they were wanted; one of them is what `self` is. */
    struct lull_flame_column columns[LULL_FLAME_MOST_COLUMNS];
    uint32_t n_columns, main_column;
    struct flame_inside *inside;
};

/* Free with lull_flame_free(). */
struct lull_flame *lull_flame_new(const char *unit);
void lull_flame_free(struct lull_flame *flame);
/* The child with that name, made on the first request. */
uint32_t lull_flame_child(struct lull_flame *flame, uint32_t parent, const char *name);
void lull_flame_add(struct lull_flame *flame, uint32_t node, int64_t weight);
/* Sums up, and orders children by name. */
void lull_flame_finish(struct lull_flame *flame);
const char *lull_flame_name(const struct lull_flame *flame, uint32_t name);
uint32_t lull_flame_name_count(const struct lull_flame *flame);
/* Where the source of the functions of that name starts; unknown if there are several. */
struct lull_source_line lull_flame_source(const struct lull_flame *flame, uint32_t name);
/* What the stack itself weighs, by column; NULL: nothing. */
const int64_t *lull_flame_values(const struct lull_flame *flame, uint32_t node);
/* Where the functions of that name are; false: not known, or they are several. */
bool lull_flame_find_place(const struct lull_flame *flame, uint32_t name,
                           struct lull_flame_place *place);
/* Takes the weights of another as those that `flame` is compared with; before it is finished. */
void lull_flame_compare(struct lull_flame *flame, const struct lull_flame *other);

/* What stacks weigh. */
enum lull_flame_weight {
    LULL_FLAME_ALL, /* time; waits are leaves, by cause */
    LULL_FLAME_OFF, /* waits alone */
    /* Only of calls: */
    LULL_FLAME_ON,      /* time on a CPU alone */
    LULL_FLAME_COUNTED, /* what a counter counted */
};

/* Whether a task's stacks are wanted. */
struct lull_flame_choice {
    bool (*wants)(void *user, uint32_t task);
    void *user;
    bool is_by_name;                        /* tasks of a name are one, whatever their numbers */
    bool has_hosts;                         /* they are frames */
    const struct lull_symbol_table *others; /* for lull_calls_append_name(); or NULL */
    const struct lull_calls_counts *counts; /* for LULL_FLAME_COUNTED */
    uint32_t counter;
    bool wants_sources; /* lull_flame_source() and lull_flame_find_place() are asked for */
    bool wants_columns;
};

/* The stacks of calls. */
void lull_flame_add_calls(struct lull_flame *flame, const struct lull_calls *calls,
                          const struct lull_model *model, enum lull_flame_weight weight,
                          const struct lull_flame_choice *choice);

/* The paths that allocated memory, below their processes. */
void lull_flame_add_heap(struct lull_flame *flame, const struct lull_heap *heap,
                         const struct lull_calls *calls, const struct lull_model *model,
                         enum lull_heap_weight weight, const struct lull_flame_choice *choice);

/* Stacks that are only known at moments: those in which CPUs were found, and those with which tasks
 * fell asleep. */
struct lull_samples;
struct lull_samples *lull_samples_new(struct lull_model *model, int64_t start_ns, int64_t end_ns);
void lull_samples_free(struct lull_samples *samples);
bool lull_samples_have(const struct lull_samples *samples, enum lull_flame_weight weight);
/* What weighs the same stack of the same task. */
struct lull_sample_sum {
    uint32_t task, chain, what; /* what: label of the event, or enum lull_cause */
    int64_t weight, count;      /* count: how many samples, or waits */
    uint32_t next;              /* with the same task and chain; not for others */
};
void lull_samples_each(const struct lull_samples *samples, enum lull_flame_weight weight,
                       void (*visit)(void *user, const struct lull_sample_sum *sum), void *user);
/* Those of the first event that was sampled, which is then the flame's unit. */
void lull_flame_add_samples(struct lull_flame *flame, const struct lull_samples *samples,
                            enum lull_flame_weight weight, const struct lull_flame_choice *choice);

#endif

/* SPDX-License-Identifier: MIT */
/* Counts chains that cannot be whole. A function that keeps no frame pointer hides who called it: the chain goes on with
 * something that is no code, or ends. What starts a program, or a thread, has no caller either; the C library's part of
 * that may have no name, so a call from there into the program ends a chain, too. */
#include "analysis/cut_stacks.h"

#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "kernel/facts.h"
#include "kernel/model.h"
#include "kernel/vocabulary.h"
#include "source/session/symbols.h"

/* A longer chain went through functions that keep them. */
enum { MOST_CUT_FRAMES = 2 };

struct search {
    struct lull_map by_task_and_chain; /* → place in sums */
    LULL_VEC(struct chain_sum) sums;
};

struct chain_sum {
    uint32_t task, chain;
    uint64_t n;
};

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct search *search = user;
    if (fact->state != LULL_STATE_BLOCKED || fact->chain == LULL_NONE) {
        return;
    }
    const uint64_t key = (uint64_t)fact->task << 32 | fact->chain;
    uint32_t at = lull_map_find(&search->by_task_and_chain, key);
    if (at == LULL_MAP_NONE) {
        at = (uint32_t)search->sums.count;
        lull_vec_push(&search->sums, (struct chain_sum){fact->task, fact->chain, 0});
        lull_map_insert(&search->by_task_and_chain, key, at);
    }
    search->sums.items[at].n++;
}

static bool is_kernel(const struct lull_frame *frame)
{
    return frame->object ? g_str_has_prefix(frame->object, "[kernel") : frame->offset >> 63 != 0;
}

/* Functions in which programs and threads start. */
static bool is_start(const struct lull_frame *frame)
{
    static const char *const starts[] = {"main",         "_start",   "__libc_start_main",
                                         "start_thread", "clone",    "clone3",
                                         "__clone",      "__clone3", "__libc_start_call_main"};
    for (size_t i = 0; frame->symbol && i < G_N_ELEMENTS(starts); i++) {
        if (strcmp(frame->symbol, starts[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_c_library(const struct lull_frame *frame)
{
    g_autofree char *base = g_path_get_basename(frame->object);
    return g_str_has_prefix(base, "libc.so") || g_str_has_prefix(base, "libc-2.") ||
           g_str_has_prefix(base, "libpthread") || g_str_has_prefix(base, "ld-");
}

/* Of `n` calls, innermost first, without those of the kernel. The first is a place in code; what comes after it may be
 * anything. The last that is code ends the chain. */
static bool is_cut(const struct lull_frame *frames, uint32_t n, const struct lull_frame **last)
{
    uint32_t n_code = 0;
    bool starts = false;
    while (n_code < n && frames[n_code].object) {
        starts = starts || is_start(&frames[n_code]);
        n_code++;
    }
    *last = n_code > 0 ? &frames[n_code - 1] : NULL;
    const bool is_called_by_library = n_code > 1 && is_c_library(*last) &&
                                      strcmp(frames[n_code - 2].object, (*last)->object) != 0;
    return n_code > 0 && n_code <= MOST_CUT_FRAMES && !starts && !is_called_by_library;
}

static void count(GHashTable *sums, const char *name, uint64_t n)
{
    uint64_t *sum = g_hash_table_lookup(sums, name);
    if (!sum) {
        sum = g_new0(uint64_t, 1);
        g_hash_table_insert(sums, g_strdup(name), sum);
    }
    *sum += n;
}

static int most_first(const void *left, const void *right, void *user)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    const uint64_t *n_a = g_hash_table_lookup(user, a), *n_b = g_hash_table_lookup(user, b);
    return *n_a != *n_b ? (*n_a > *n_b ? -1 : 1) : strcmp(a, b);
}

static GPtrArray *names_of(GHashTable *sums)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    GHashTableIter each;
    gpointer name;
    g_hash_table_iter_init(&each, sums);
    while (g_hash_table_iter_next(&each, &name, NULL)) {
        g_ptr_array_add(names, g_strdup(name));
    }
    g_ptr_array_sort_with_data(names, most_first, sums);
    return names;
}

static void sum_up(struct lull_cut_stacks *cut, const struct lull_model *model,
                   const struct search *search)
{
    g_autoptr(GHashTable) files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GHashTable) programs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (size_t i = 0; i < search->sums.count; i++) {
        const struct chain_sum *sum = &search->sums.items[i];
        const struct lull_frame *last;
        uint32_t n, first = 0;
        const struct lull_frame *frames = lull_model_frames(model, sum->chain, &n);
        while (first < n && is_kernel(&frames[first])) {
            first++;
        }
        if (first == n) {
            continue;
        }
        const bool ends_early = is_cut(frames + first, n - first, &last);
        cut->n += last ? sum->n : 0;
        if (ends_early) {
            cut->n_cut += sum->n;
            g_autofree char *file = g_path_get_basename(last->object);
            count(files, file, sum->n);
            count(programs, lull_model_comm(model, sum->task, INT64_MAX), sum->n);
        }
    }
    cut->files = names_of(files);
    cut->programs = names_of(programs);
}

struct lull_cut_stacks *lull_cut_stacks_find(struct lull_session *session, int64_t end_ns)
{
    static const struct lull_symbol_wishes wishes = {.wants_recorded_only = true};
    static const struct lull_facts facts = {.state = on_state};
    struct lull_cut_stacks *cut = g_new0(struct lull_cut_stacks, 1);
    struct search search = {0};
    lull_session_set_symbols(session, &wishes);
    lull_session_limit(session, INT64_MIN, end_ns);
    struct lull_model *model = lull_model_new(session, LULL_GROUP_SCHED | LULL_GROUP_STACKS);
    lull_model_subscribe(model, &facts, &search);
    lull_model_run(model, NULL, NULL);
    sum_up(cut, model, &search);
    lull_model_free(model);
    lull_vec_free(&search.sums);
    lull_map_free(&search.by_task_and_chain);
    return cut;
}

void lull_cut_stacks_free(struct lull_cut_stacks *cut)
{
    g_ptr_array_unref(cut->files);
    g_ptr_array_unref(cut->programs);
    g_free(cut);
}

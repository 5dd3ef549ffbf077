/* SPDX-License-Identifier: MIT */
/* The paths of all instances that were compared are found again, and the session is read for the calls of their
 * pieces. What is kept grows with the pieces, not with the calls. */
#include "answers/why_calls.h"

#include "analysis/calls.h"
#include "analysis/function_shares.h"
#include "base/map.h"
#include "base/sums.h"
#include "calls/cuts.h"
#include "calls/names.h"

/* Pieces of one kind, of slow or typical instances, in one state. */
struct bin {
    uint32_t group;
    bool is_slow;
    enum lull_state state;
    enum lull_cause cause;
    int64_t left_ns; /* of its pieces: in no call */
};

/* A function within a bin. */
struct entry {
    uint32_t bin, function;
    int64_t ns;
};

struct lull_why_calls {
    GPtrArray *groups; /* GArray of struct lull_why_function */
    GStringChunk *names;
    bool are_any;
};

struct reading {
    const struct lull_why *why;
    struct lull_calls *calls; /* once they are read */
    LULL_VEC(struct lull_calls_span) spans;
    LULL_VEC(struct bin) bins;
    LULL_VEC(struct entry) entries;
    struct lull_map by_bin, by_entry;    /* group, slow, state, cause; bin, function */
    struct lull_function_shares *shares; /* of each group */
    uint32_t group;                      /* whose pieces are taken */
    bool is_slow;
};

/* ---- pieces ---- */

static void take_piece(void *user, const struct lull_sample_piece *piece)
{
    struct reading *reading = user;
    const uint64_t key = (uint64_t)reading->group << 32 | (uint64_t)reading->is_slow << 16 |
                         (uint64_t)piece->state << 8 | (uint64_t)piece->cause;
    uint32_t bin = lull_map_find(&reading->by_bin, key);
    if (bin == LULL_MAP_NONE) {
        bin = (uint32_t)reading->bins.count;
        lull_map_insert(&reading->by_bin, key, bin);
        lull_vec_push(&reading->bins, (struct bin){reading->group, reading->is_slow, piece->state,
                                                   piece->cause, 0});
    }
    lull_add(&reading->bins.items[bin].left_ns, piece->end_ns - piece->start_ns);
    lull_vec_push(&reading->spans, (struct lull_calls_span){piece->host, piece->tid,
                                                            piece->start_ns, piece->end_ns, bin});
}

static void take_instances(struct reading *reading, const GArray *timed, bool is_slow)
{
    struct lull_instances *instances = reading->why->instances;
    reading->is_slow = is_slow;
    for (guint i = 0; i < timed->len; i++) {
        const uint32_t position = g_array_index(timed, struct lull_timed, i).position;
        lull_sample_each_piece(instances->portions, instances->samples[position], take_piece,
                               reading);
    }
}

/* ---- calls ---- */

static void add_part(void *user, uint32_t bin, const struct lull_calls_stretch *stretch)
{
    struct reading *reading = user;
    const uint32_t function = lull_calls_own_function(reading->calls, stretch->node);
    const uint64_t key = (uint64_t)bin << 32 | function;
    const int64_t ns = stretch->end_ns - stretch->start_ns;
    uint32_t entry = lull_map_find(&reading->by_entry, key);
    if (entry == LULL_MAP_NONE) {
        entry = (uint32_t)reading->entries.count;
        lull_map_insert(&reading->by_entry, key, entry);
        lull_vec_push(&reading->entries, (struct entry){bin, function, 0});
    }
    lull_add(&reading->entries.items[entry].ns, ns);
    lull_add(&reading->bins.items[bin].left_ns, -ns);
}

struct watching {
    struct reading *reading;
    struct lull_calls_cuts *cuts;
};

static void watch(void *user, struct lull_calls_reading *calls)
{
    const struct watching *watching = user;
    watching->reading->calls = calls->calls;
    lull_calls_cuts_watch(watching->cuts, calls->calls, calls->model);
}

/* ---- what it comes to ---- */

static void add_share(struct reading *reading, const struct bin *bin, uint32_t function, int64_t ns)
{
    const struct lull_function_share share = {function, bin->state, bin->cause,
                                              bin->is_slow ? ns : 0, bin->is_slow ? 0 : ns};
    lull_function_shares_add(&reading->shares[bin->group], reading->calls, &share);
}

static gint most_more_first(gconstpointer a, gconstpointer b)
{
    const struct lull_why_function *x = a, *y = b;
    if (x->difference_ns != y->difference_ns) {
        return x->difference_ns < y->difference_ns ? 1 : -1;
    }
    const int by_name = g_strcmp0(x->name, y->name);
    return by_name ? by_name
                   : ((int)x->state * 16 + (int)x->cause) - ((int)y->state * 16 + (int)y->cause);
}

static GArray *functions_of(struct lull_why_calls *calls, const struct lull_calls_reading *reading,
                            const struct lull_function_shares *shares,
                            const struct lull_why_kind *kind)
{
    GArray *functions = g_array_new(FALSE, TRUE, sizeof(struct lull_why_function));
    g_autoptr(GString) name = g_string_new(NULL);
    for (size_t i = 0; i < shares->items.count; i++) {
        const struct lull_function_share *share = &shares->items.items[i];
        struct lull_why_function out = {.state = share->state,
                                        .cause = share->cause,
                                        .slow_ns = (double)share->duration_ns / kind->n_slow,
                                        .typical_ns = (double)share->other_ns / kind->n_typical};
        out.difference_ns = out.slow_ns - out.typical_ns;
        if (share->function != LULL_NONE) {
            const struct lull_calls_function *function =
                lull_calls_function(reading->calls, share->function);
            g_string_truncate(name, 0);
            lull_calls_append_name(name, reading->model, NULL, function);
            out.name = g_string_chunk_insert_const(calls->names, name->str);
            out.kind = lull_calls_kind(function);
        }
        g_array_append_val(functions, out);
    }
    g_array_sort(functions, most_more_first);
    return functions;
}

static void add_up(struct reading *reading)
{
    for (size_t i = 0; i < reading->entries.count; i++) {
        const struct entry *entry = &reading->entries.items[i];
        add_share(reading, &reading->bins.items[entry->bin], entry->function, entry->ns);
    }
    for (size_t i = 0; i < reading->bins.count; i++) {
        if (reading->bins.items[i].left_ns > 0) {
            add_share(reading, &reading->bins.items[i], LULL_NONE, reading->bins.items[i].left_ns);
        }
    }
}

static void clear(struct reading *reading)
{
    for (guint i = 0; i < reading->why->groups->len; i++) {
        lull_function_shares_clear(&reading->shares[i]);
    }
    lull_vec_free(&reading->spans);
    lull_vec_free(&reading->bins);
    lull_vec_free(&reading->entries);
    lull_map_free(&reading->by_bin);
    lull_map_free(&reading->by_entry);
    g_free(reading->shares);
}

struct lull_why_calls *lull_why_calls_read(const struct lull_why *why, struct lull_session *session,
                                           void (*progress)(void *user), void *user)
{
    struct lull_why_calls *calls = g_new0(struct lull_why_calls, 1);
    struct reading reading = {
        .why = why, .shares = g_new0(struct lull_function_shares, MAX(why->groups->len, 1))};
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
    for (guint i = 0; i < why->groups->len; i++) {
        const struct lull_why_group *group = &g_array_index(why->groups, struct lull_why_group, i);
        reading.group = i;
        if (group->comparison) {
            take_instances(&reading, group->chosen.slow, true);
            take_instances(&reading, group->chosen.typical, false);
        }
    }
    for (size_t i = 0; i < reading.spans.count; i++) {
        start_ns = MIN(start_ns, reading.spans.items[i].start_ns);
        end_ns = MAX(end_ns, reading.spans.items[i].end_ns);
    }
    struct watching watching = {
        &reading,
        lull_calls_cuts_new(reading.spans.items, reading.spans.count, add_part, &reading)};
    struct lull_calls_reading read = {.prepare = watch, .prepare_user = &watching};
    if (reading.spans.count > 0) {
        lull_calls_read(&read, session, -1, start_ns, end_ns, NULL, NULL, progress, user);
    }
    lull_calls_cuts_free(watching.cuts);
    add_up(&reading);
    calls->names = g_string_chunk_new(1024);
    calls->groups = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    calls->are_any = reading.entries.count > 0;
    for (guint i = 0; i < why->groups->len; i++) {
        const struct lull_why_group *group = &g_array_index(why->groups, struct lull_why_group, i);
        g_ptr_array_add(calls->groups,
                        functions_of(calls, &read, &reading.shares[i], &group->info));
    }
    clear(&reading);
    lull_calls_reading_clear(&read);
    return calls;
}

void lull_why_calls_free(struct lull_why_calls *calls)
{
    if (calls) {
        g_ptr_array_unref(calls->groups);
        g_string_chunk_free(calls->names);
        g_free(calls);
    }
}

bool lull_why_calls_are_any(const struct lull_why_calls *calls)
{
    return calls->are_any;
}

const GArray *lull_why_calls_of(const struct lull_why_calls *calls, uint32_t kind)
{
    return calls->groups->pdata[kind];
}

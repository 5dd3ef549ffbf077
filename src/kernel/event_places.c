/* SPDX-License-Identifier: MIT */
/* For each address of a process at which an event happened, what lay there since when. Programs have few such
 * addresses, however many events they record. */
#include "kernel/event_places.h"

#include "base/search.h"
#include "base/vec.h"
#include "kernel/model.h"
#include "kernel/vocabulary.h"

/* What lies at an address from a time on. */
struct since {
    int64_t time_ns;
    uint32_t chain;                /* LULL_NONE: nothing is known to */
    struct lull_event_place place; /* once it was looked up; object NULL: not yet */
};

struct spot {
    uint64_t address;
    uint32_t host;
    int32_t pid;
    bool is_return;
    LULL_VEC(struct since) since; /* in order of time; neighbours differ */
};

struct lull_event_places {
    struct lull_model *model;
    GHashTable *spots; /* struct spot, by host, process and address */
    GTree *unknown;    /* of them those of which nothing is known now, in that order */
};

static guint spot_hash(const void *data)
{
    const struct spot *spot = data;
    const uint64_t hash =
        (spot->address ^ (uint64_t)spot->host << 52 ^ (uint64_t)(uint32_t)spot->pid << 20) *
        UINT64_C(0x9e3779b97f4a7c15);
    return (guint)(hash >> 32);
}

static int spot_compare(const void *left, const void *right, void *unused)
{
    const struct spot *a = left, *b = right;
    return a->host != b->host         ? (a->host < b->host ? -1 : 1)
           : a->pid != b->pid         ? (a->pid < b->pid ? -1 : 1)
           : a->address != b->address ? (a->address < b->address ? -1 : 1)
                                      : 0;
}

static gboolean spot_equal(const void *a, const void *b)
{
    return spot_compare(a, b, NULL) == 0;
}

static void spot_free(void *data)
{
    struct spot *spot = data;
    lull_vec_free(&spot->since);
    g_free(spot);
}

/* Takes down what lies at the spot, if that is news. */
static void look(struct lull_event_places *places, struct spot *spot, int64_t t)
{
    const uint64_t address = spot->address - spot->is_return;
    const uint32_t chain = lull_model_is_mapped(places->model, spot->host, spot->pid, address)
                               ? lull_model_place(places->model, spot->host, spot->pid, address)
                               : LULL_NONE;
    const struct since *last =
        spot->since.count > 0 ? &spot->since.items[spot->since.count - 1] : NULL;
    if (last && last->chain == chain) {
        return;
    }
    if (chain == LULL_NONE) {
        g_tree_insert(places->unknown, spot, spot);
    } else if (last && last->chain == LULL_NONE) {
        g_tree_remove(places->unknown, spot);
    }
    lull_vec_push(&spot->since, (struct since){.time_ns = t, .chain = chain});
}

/* Those in [address, address + length) of which nothing was known. */
static void look_again(struct lull_event_places *places, const struct lull_place_fact *fact)
{
    const struct spot from = {.address = fact->address, .host = fact->host, .pid = fact->pid};
    GTreeNode *node;
    GPtrArray *found = g_ptr_array_new();
    for (node = g_tree_lower_bound(places->unknown, &from); node; node = g_tree_node_next(node)) {
        struct spot *spot = g_tree_node_key(node);
        const uint64_t behind = spot->address - fact->address;
        if (spot->host != fact->host || spot->pid != fact->pid ||
            behind - (behind > 0 && spot->is_return) >= fact->length) {
            break;
        }
        if (behind > 0 || !spot->is_return) {
            g_ptr_array_add(found, spot);
        }
    }
    for (guint i = 0; i < found->len; i++) {
        look(places, found->pdata[i], fact->time_ns);
    }
    g_ptr_array_unref(found);
}

static void on_place(void *user, const struct lull_place_fact *fact)
{
    struct lull_event_places *places = user;
    const struct spot key = {.address = fact->address, .host = fact->host, .pid = fact->pid};
    if (fact->length > 0) {
        look_again(places, fact);
        return;
    }
    struct spot *spot = g_hash_table_lookup(places->spots, &key);
    if (!spot) {
        spot = g_memdup2(&key, sizeof key);
        spot->is_return = fact->is_return;
        g_hash_table_add(places->spots, spot);
    }
    look(places, spot, fact->time_ns);
}

struct lull_event_places *lull_event_places_new(struct lull_session *session,
                                                void (*progress)(void *user), void *user)
{
    static const struct lull_facts facts = {.place = on_place};
    struct lull_event_places *places = g_new0(struct lull_event_places, 1);
    places->spots = g_hash_table_new_full(spot_hash, spot_equal, spot_free, NULL);
    places->unknown = g_tree_new_full(spot_compare, NULL, NULL, NULL);
    places->model = lull_model_new(session, LULL_GROUP_STACKS | LULL_GROUP_PLACES);
    lull_model_subscribe(places->model, &facts, places);
    lull_model_run(places->model, progress, user);
    lull_session_unsubscribe_all(session);
    return places;
}

void lull_event_places_free(struct lull_event_places *places)
{
    if (places) {
        g_tree_unref(places->unknown);
        g_hash_table_unref(places->spots);
        lull_model_free(places->model);
        g_free(places);
    }
}

bool lull_event_places_any(const struct lull_event_places *places)
{
    return g_hash_table_size(places->spots) > 0;
}

static struct lull_event_place place_of(const struct lull_event_places *places, uint32_t chain,
                                        bool is_return)
{
    uint32_t n;
    const struct lull_frame *frames = lull_model_frames(places->model, chain, &n);
    const struct lull_frame *frame = &frames[n - 1];
    return (struct lull_event_place){
        .object = frame->object ? frame->object : "[kernel.kallsyms]",
        .offset = frame->offset + is_return,
        .function = frame->symbol,
        .source = lull_model_line(places->model, chain, n - 1),
    };
}

const struct lull_event_place *lull_event_places_find(struct lull_event_places *places,
                                                      uint32_t host, int32_t pid, uint64_t address,
                                                      int64_t time_ns)
{
    const struct spot key = {.address = address, .host = host, .pid = pid};
    struct spot *spot = g_hash_table_lookup(places->spots, &key);
    if (!spot) {
        return NULL;
    }
    size_t at = LULL_LOWER_BOUND(i, spot->since.count, spot->since.items[i].time_ns <= time_ns);
    at -= at > 0;
    at += spot->since.items[at].chain == LULL_NONE;
    if (at >= spot->since.count) {
        return NULL;
    }
    struct since *since = &spot->since.items[at];
    if (!since->place.object) {
        since->place = place_of(places, since->chain, spot->is_return);
    }
    return &since->place;
}

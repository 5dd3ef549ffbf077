/* SPDX-License-Identifier: MIT */
/* Stacks that were sampled, and those with which tasks fell asleep: sums of them, and their places in the tree of a
 * flame graph. */
#include <string.h>

#include "base/sums.h"
#include "calls/flame_private.h"

struct lull_samples {
    struct lull_model *model;
    int64_t start_ns, end_ns;
    LULL_VEC(struct lull_sample_sum) sums[2]; /* by enum lull_flame_weight */
    struct lull_map by_stack[2];
};

static void add_sum(struct lull_samples *samples, enum lull_flame_weight kind, uint32_t task,
                    uint32_t chain, uint32_t what, int64_t weight)
{
    const uint64_t key = (uint64_t)task << 32 | chain;
    uint32_t first = lull_map_find(&samples->by_stack[kind], key);
    for (uint32_t i = first; i != LULL_NONE; i = samples->sums[kind].items[i].next) {
        if (samples->sums[kind].items[i].what == what) {
            lull_add(&samples->sums[kind].items[i].weight, weight);
            samples->sums[kind].items[i].count++;
            return;
        }
    }
    lull_vec_push(&samples->sums[kind],
                  (struct lull_sample_sum){task, chain, what, weight, 1, first});
    lull_map_insert(&samples->by_stack[kind], key, (uint32_t)samples->sums[kind].count - 1);
}

static void on_sample(void *user, const struct lull_sample_fact *fact)
{
    struct lull_samples *samples = user;
    if (fact->time_ns >= samples->start_ns && fact->time_ns < samples->end_ns) {
        add_sum(samples, LULL_FLAME_ALL, fact->task, fact->chain, fact->event, fact->weight);
    }
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct lull_samples *samples = user;
    const int64_t start_ns = MAX(fact->start_ns, samples->start_ns);
    const int64_t end_ns = MIN(fact->end_ns, samples->end_ns);
    if (fact->state == LULL_STATE_BLOCKED && fact->chain != LULL_NONE && end_ns > start_ns) {
        add_sum(samples, LULL_FLAME_OFF, fact->task, fact->chain,
                fact->wakeup ? fact->wakeup->cause : LULL_CAUSE_UNKNOWN, end_ns - start_ns);
    }
}

struct lull_samples *lull_samples_new(struct lull_model *model, int64_t start_ns, int64_t end_ns)
{
    static const struct lull_facts facts = {.sample = on_sample, .state = on_state};
    struct lull_samples *samples = g_new0(struct lull_samples, 1);
    samples->model = model;
    samples->start_ns = start_ns;
    samples->end_ns = end_ns;
    lull_model_subscribe(model, &facts, samples);
    return samples;
}

void lull_samples_free(struct lull_samples *samples)
{
    if (samples) {
        for (int i = 0; i < 2; i++) {
            lull_vec_free(&samples->sums[i]);
            lull_map_free(&samples->by_stack[i]);
        }
        g_free(samples);
    }
}

bool lull_samples_have(const struct lull_samples *samples, enum lull_flame_weight weight)
{
    return samples->sums[weight].count > 0;
}

void lull_samples_each(const struct lull_samples *samples, enum lull_flame_weight weight,
                       void (*visit)(void *user, const struct lull_sample_sum *sum), void *user)
{
    for (size_t i = 0; i < samples->sums[weight].count; i++) {
        visit(user, &samples->sums[weight].items[i]);
    }
}

/* Where programs keep no frame pointers, what is found in their place are no addresses of code. The
 * kernel has the last of the 2^64 bytes. */
static bool is_place(const struct lull_frame *frame)
{
    return frame->object || frame->offset >> 56 == 0xff;
}

static void append_frame(GString *name, const struct lull_frame *frame)
{
    const char *slash = frame->object ? strrchr(frame->object, '/') : NULL;
    if (frame->symbol) {
        g_string_append(name, frame->symbol);
    } else if (frame->object) {
        g_string_append_printf(name, "%s+0x%" G_GINT64_MODIFIER "x",
                               slash ? slash + 1 : frame->object, frame->offset);
    } else {
        g_string_append_printf(name, "0x%" G_GINT64_MODIFIER "x", frame->offset);
    }
}

static uint32_t chain_node(struct lull_flame *flame, const struct lull_model *model,
                           const struct lull_sample_sum *sum,
                           const struct lull_flame_choice *choice, GString *name)
{
    const int32_t tid = lull_model_task(model, sum->task)->tid;
    uint32_t n = 0, n_dropped = 0, node = flame_task(flame, model, sum->task, tid, choice);
    const struct lull_frame *frames = lull_model_frames(model, sum->chain, &n);
    for (uint32_t i = n; i-- > 0;) {
        if (!is_place(&frames[i])) {
            n_dropped++;
            continue;
        }
        g_string_truncate(name, 0);
        append_frame(name, &frames[i]);
        node = lull_flame_child(flame, node, name->str);
        if (choice->wants_sources && frames[i].symbol) {
            flame_learn_source(flame, node, frames[i].object,
                               frames[i].offset - frames[i].symbol_offset, model, sum->chain, i);
        } else if (choice->wants_sources) {
            flame_learn_place(flame, node, frames[i].object, frames[i].offset, model, sum->chain);
        }
    }
    flame->n_broken += n_dropped > 0;
    return node;
}

/* What is shown of which event. */
static void start_samples(struct lull_flame *flame, const struct lull_samples *samples,
                          enum lull_flame_weight weight, const struct lull_flame_choice *choice)
{
    const bool is_off = weight == LULL_FLAME_OFF;
    if (!is_off && samples->sums[weight].count > 0) {
        const char *event = g_string_chunk_insert(
            flame->inside->texts,
            lull_model_label(samples->model, samples->sums[weight].items[0].what));
        flame->event = event;
        flame->unit = g_str_has_prefix(event, "cpu-clock") || g_str_has_prefix(event, "task-clock")
                          ? "ns"
                          : event;
    }
    if (choice->wants_columns) {
        const bool is_time = g_str_equal(flame->unit, "ns");
        flame_add_column(flame, is_off ? "waits" : "samples", "count");
        flame->main_column = flame_add_column(flame,
                                              is_off    ? "off-cpu"
                                              : is_time ? "cpu"
                                                        : flame->unit,
                                              is_time ? "nanoseconds" : "count");
    }
}

void lull_flame_add_samples(struct lull_flame *flame, const struct lull_samples *samples,
                            enum lull_flame_weight weight, const struct lull_flame_choice *choice)
{
    g_autoptr(GString) name = g_string_new(NULL);
    const size_t n = samples->sums[weight].count;
    const struct lull_sample_sum *sums = samples->sums[weight].items;
    start_samples(flame, samples, weight, choice);
    for (size_t i = 0; i < n; i++) {
        if (weight == LULL_FLAME_ALL && sums[i].what != sums[0].what) {
            flame->n_ignored++;
            continue;
        }
        if (!choice->wants(choice->user, sums[i].task)) {
            continue;
        }
        uint32_t node = chain_node(flame, samples->model, &sums[i], choice, name);
        if (weight == LULL_FLAME_OFF) {
            node = flame_add_wait(flame, node, flame_name_of_wait((uint8_t)sums[i].what),
                                  sums[i].weight);
        } else {
            lull_flame_add(flame, node, sums[i].weight);
        }
        if (node != LULL_NONE) {
            flame_add_value(flame, node, 0, sums[i].count);
            flame_add_value(flame, node, 1, sums[i].weight);
        }
    }
}

/* SPDX-License-Identifier: MIT */
/* Fuzz target: the ring buffers of ftrace as live tracking reads them. The first byte says whether what follows are
 * pages as they are, or choices of events, of which sound pages are made. Records come in order of time; no task did more
 * than there was time for; and what comes of sound pages are sound alarms and chains. */
#include <glib.h>
#include <string.h>

#include "live/ftrace/model.h"
#include "live/ftrace/pages.h"
#include "live/ring_made.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Tasks have numbers that no machine gives, so that nothing is read of them. */
enum { CPUS = 3, TASKS = 6, FIRST_TASK = 40000000, START = 1000000000 };

struct input {
    const uint8_t *data;
    size_t size, at;
};

struct source {
    struct input raw;
    GArray *pages[CPUS]; /* struct made_page */
    guint next[CPUS];
    struct lull_ftrace_model *model;
};

static uint8_t byte(struct input *input)
{
    return input->at < input->size ? input->data[input->at++] : 0;
}

static uint32_t task(struct input *input)
{
    const uint8_t choice = byte(input) % TASKS;
    return choice ? FIRST_TASK + choice : 0;
}

/* ---- pages ---- */

static ssize_t read_page(void *user, uint32_t cpu, uint8_t *page, uint32_t room, GError **error)
{
    struct source *source = user;
    struct input *raw = &source->raw;
    if (source->next[cpu] < source->pages[cpu]->len) {
        const struct made_page *made =
            &g_array_index(source->pages[cpu], struct made_page, source->next[cpu]++);
        memcpy(page, made->bytes, sizeof made->bytes);
        return sizeof made->bytes;
    }
    const size_t n = MIN(MIN(raw->size - raw->at, (size_t)room), (size_t)256);
    if (n > 0) {
        memcpy(page, raw->data + raw->at, n);
    }
    raw->at += n;
    return (ssize_t)n;
}

static void lost(void *user, uint32_t cpu, uint64_t from_ns, uint64_t until_ns, uint64_t n)
{
    struct source *source = user;
    lull_ftrace_model_lose(source->model, cpu, from_ns, until_ns, n);
}

/* ---- events ---- */

/* Numbers are few, so that they meet. */
static void fill(struct input *input, uint32_t kind, uint8_t *record)
{
    static const uint64_t states[] = {0, 1, 2, 0x80, 0x100, 0x10, 4, 0x42};
    for (const struct made_field *f = made_events[kind].field; f->name; f++) {
        if (strstr(f->name, "pid")) {
            made_set(record, kind, f->name, task(input));
        } else if (strcmp(f->name, "prev_state") == 0) {
            made_set(record, kind, f->name, states[byte(input) % G_N_ELEMENTS(states)]);
        } else if (!strchr(f->name, '[')) {
            made_set(record, kind, f->name, byte(input));
        } else if (strstr(f->name, "rwbs")) {
            static const char *const words[] = {"R", "WS", "FWS", "N", "D", "RWRWRWR"};
            made_text(record, kind, "rwbs", words[byte(input) % G_N_ELEMENTS(words)]);
        }
    }
}

static void make_pages(struct source *source, struct input *input)
{
    uint64_t ns = START;
    while (input->at < input->size) {
        uint8_t record[256];
        const uint32_t kind = byte(input) % LULL_FTRACE_KINDS, cpu = byte(input) % CPUS;
        const uint32_t bytes = made_record(record, kind, task(input), byte(input) & 0x18);
        GArray *pages = source->pages[cpu];
        ns += UINT64_C(1) << byte(input) % 34;
        fill(input, kind, record);
        struct made_page *page =
            pages->len ? &g_array_index(pages, struct made_page, pages->len - 1) : NULL;
        if (!page || byte(input) == 255 || !made_add(page, ns, record, bytes)) {
            g_array_set_size(pages, pages->len + 1);
            page = &g_array_index(pages, struct made_page, pages->len - 1);
            made_start(page, ns);
            g_assert_true(made_add(page, ns, record, bytes));
        }
        made_end(page, byte(input) == 255 ? 1ul << 31 : 0);
    }
}

/* ---- what must hold ---- */

static void take_alarm(void *user, const struct lull_track_alarm *alarm)
{
    g_assert_cmpint(alarm->start_ns, <=, alarm->end_ns);
}

static void check_model(struct lull_ftrace_model *model, uint64_t now)
{
    g_autoptr(GArray) chains = g_array_new(FALSE, FALSE, sizeof(struct lull_live_chain));
    lull_ftrace_chains(model, chains);
    for (guint i = 0; i < chains->len; i++) {
        const struct lull_live_chain *chain = &g_array_index(chains, struct lull_live_chain, i);
        g_assert_true(lull_live_chain_is_sound(chain));
        g_assert_cmpuint(chain->sum.longest_ns, <=, now - START);
    }
    for (guint i = 0; i < model->slots->len; i++) {
        const struct lull_ftrace_task *of = model->slots->pdata[i];
        if (of) {
            const struct lull_track_sums sums = lull_sums_of_slot(&of->slot, now);
            g_assert_cmpuint(sums.ran_ns + sums.blocked_ns + sums.runnable_ns + sums.unknown_ns, <=,
                             now - START);
        }
    }
    g_assert_cmpuint(model->counts.damaged, ==, 0);
}

static void run(struct source *source, const struct lull_tracker_question *question, bool is_made)
{
    const struct lull_ftrace_pages_ops ops = {read_page, lost, source};
    struct lull_ftrace_pages *pages = lull_ftrace_pages_new(CPUS, MADE_PAGE, &ops);
    struct lull_ftrace_events *events = lull_ftrace_events_new(~0u, ~0u, made_format, NULL, NULL);
    struct lull_ftrace_record record;
    struct lull_ftrace_fields fields = {0};
    uint64_t last = START;
    source->model = lull_ftrace_model_new(question, CPUS);
    lull_ftrace_pages_start(pages, is_made ? INT64_MAX : UINT64_C(1) << 60);
    while (lull_ftrace_pages_next(pages, &record, NULL) > 0) {
        const struct lull_ftrace_event event = {
            .kind = lull_ftrace_events_load(events, &record.record, &fields),
            .ns = record.ns,
            .cpu = record.cpu,
            .fields = &fields};
        g_assert_cmpuint(record.cpu, <, CPUS);
        g_assert_cmpuint(record.ns, <=, INT64_MAX);
        if (is_made) {
            g_assert_cmpuint(record.ns, >=, last);
            g_assert_cmpuint(event.kind, <, LULL_FTRACE_KINDS);
        }
        last = record.ns;
        if (event.kind < LULL_FTRACE_KINDS) {
            lull_ftrace_model_take(source->model, &event);
        }
    }
    if (is_made) {
        g_assert_cmpuint(lull_ftrace_pages_take_damaged(pages), ==, 0);
        check_model(source->model, MAX(last, source->model->now));
    }
    lull_ftrace_model_free(source->model);
    lull_ftrace_events_free(events);
    lull_ftrace_pages_free(pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const texts[] = {"offcpu > 1us",        "wakeup worst", "preempt > 5ns",
                                        "syscall(read) > 1us", "block > 1ns",  "raise > 1ns",
                                        "response > 1us",      "queue > 1ns"};
    struct lull_track_rule *rules[G_N_ELEMENTS(texts)];
    struct source source = {0};
    struct input input = {.data = data, .size = size, .at = 1};
    if (size == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        rules[i] = lull_track_rule_parse(texts[i], NULL);
    }
    for (uint32_t i = 0; i < CPUS; i++) {
        source.pages[i] = g_array_new(FALSE, FALSE, sizeof(struct made_page));
    }
    const struct lull_tracker_question question = {.rules =
                                                       (const struct lull_track_rule *const *)rules,
                                                   .n_rules = G_N_ELEMENTS(texts),
                                                   .has_sums = true,
                                                   .command = data[0] & 2 ? FIRST_TASK + 1 : 0,
                                                   .alarm = take_alarm};
    if (data[0] & 1) {
        make_pages(&source, &input);
    } else {
        source.raw = input;
    }
    run(&source, &question, data[0] & 1);
    for (uint32_t i = 0; i < CPUS; i++) {
        g_array_unref(source.pages[i]);
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        lull_track_rule_free(rules[i]);
    }
    return 0;
}

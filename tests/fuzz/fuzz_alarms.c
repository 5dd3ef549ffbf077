/* SPDX-License-Identifier: MIT */
/* Fuzz target: what lull track and lull top get from the kernel, a record of an alarm or a chain. The
 * parts of a wait that is accepted follow on each other, what is shown has no control characters, and
 * its JSON can be read. The first byte: bit 0 is what it is, bit 1 sets right what most bytes would be
 * refused for. */
#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "view/live/alarm.h"
#include "view/live/top.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct lull_track_rule *rules[LULL_TRACK_RULES];
static uint32_t n_rules;
static struct lull_machine_names *names;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const texts[] = {"offcpu: comm != \"x\" > 0ns",
                                        "wakeup > 0ns",
                                        "preempt > 0ns",
                                        "response > 0ns",
                                        "block: rw == \"read\" > 0ns",
                                        "mark(x) > 0ns",
                                        "softirq worst",
                                        "serve(80): raddr != \"x\" > 0ns"};
    for (n_rules = 0; n_rules < G_N_ELEMENTS(texts); n_rules++) {
        rules[n_rules] = lull_track_rule_parse(texts[n_rules], NULL);
        g_assert_nonnull(rules[n_rules]);
    }
    names = lull_machine_names_new();
    return 0;
}

/* ---- what is shown ---- */

static void check_text(const char *text)
{
    for (const char *c = text; *c; c++) {
        g_assert_true(*c == '\n' || !g_ascii_iscntrl(*c));
    }
}

static void check_json(const char *text)
{
    struct json_object *object = json_tokener_parse(text);
    g_assert_nonnull(object);
    json_object_put(object);
}

/* ---- alarms ---- */

static void end_comm(char comm[LULL_TRACK_COMM])
{
    comm[LULL_TRACK_COMM - 1] = '\0';
}

static uint64_t middle(uint64_t a, uint64_t b, uint64_t c)
{
    return MAX(MIN(a, b), MIN(MAX(a, b), c));
}

static void mend_record(struct lull_track_record *record)
{
    const uint64_t a = record->since_ns >> 1 | 1, b = record->woken_ns >> 1 | 1,
                   c = record->end_ns >> 1 | 1;
    record->rule %= n_rules;
    record->flags &= LULL_TRACK_FLAGS;
    record->since_ns = MIN(a, MIN(b, c));
    record->woken_ns = middle(a, b, c);
    record->end_ns = MAX(a, MAX(b, c));
    record->tid = (record->tid & INT32_MAX) | 1;
    record->tgid &= INT32_MAX;
    record->call = MAX(record->call, LULL_TRACK_NO_CALL);
    record->cookie[sizeof record->cookie - 1] = '\0';
    for (struct lull_track_stack *stack = &record->kernel; stack <= &record->user; stack++) {
        stack->bytes = MIN(stack->bytes, (int32_t)sizeof stack->frame);
    }
    end_comm(record->comm);
    for (uint32_t i = 0; i < LULL_TRACK_HOPS; i++) {
        struct lull_track_hop *hop = &record->hop[i];
        hop->kind %= LULL_TRACK_HOP_KINDS;
        if (hop->kind == LULL_TRACK_HOP_TASK) {
            end_comm(hop->comm);
        }
    }
}

static void check_parts(const struct lull_track_alarm *alarm)
{
    int64_t end_ns = alarm->cpu_from_ns;
    for (uint32_t i = 0; i < alarm->n_parts; i++) {
        g_assert_cmpint(alarm->part[i].end_ns, ==, end_ns);
        g_assert_cmpint(alarm->part[i].start_ns, <=, end_ns);
        end_ns = alarm->part[i].start_ns;
    }
    if (alarm->n_parts) {
        g_assert_cmpint(end_ns, >=, (int64_t)alarm->record->since_ns);
        g_assert_true(alarm->is_cut || end_ns == (int64_t)alarm->record->since_ns);
    }
}

static void show_alarm(const struct lull_track_alarm *alarm, bool is_json)
{
    char *text = NULL;
    size_t length;
    struct lull_alarm_view view = {.file = open_memstream(&text, &length), .names = names};
    if (is_json) {
        lull_alarm_json(&view, alarm, NULL);
    } else {
        lull_alarm_text(&view, alarm);
    }
    fclose(view.file);
    if (is_json) {
        check_json(text);
    } else {
        check_text(text);
    }
    free(text);
}

static void try_record(const uint8_t *data, size_t size, bool mends)
{
    struct lull_track_record record = {0};
    struct lull_track_alarm alarm;
    memcpy(&record, data, MIN(size, sizeof record));
    if (mends) {
        mend_record(&record);
    } else {
        g_assert_false(
            lull_track_alarm_read(&record, MIN(size, sizeof record - 1), rules, n_rules, &alarm));
    }
    if (lull_track_alarm_read(&record, sizeof record, rules, n_rules, &alarm)) {
        check_parts(&alarm);
        lull_track_alarm_is_wanted(&alarm);
        show_alarm(&alarm, true);
        show_alarm(&alarm, false);
    }
}

/* ---- chains ---- */

static void mend_chain(struct lull_live_chain *chain)
{
    chain->key.tgid &= INT32_MAX;
    chain->key.call = MAX(chain->key.call, LULL_TRACK_NO_CALL);
    chain->sum.ns >>= 2; /* several can be added */
    chain->sum.longest_ns >>= 1;
    end_comm(chain->key.comm);
    for (uint32_t i = 0; i < LULL_TRACK_HOPS; i++) {
        struct lull_track_link *link = &chain->key.link[i];
        link->kind %= LULL_TRACK_HOP_KINDS;
        if (link->kind == LULL_TRACK_HOP_TASK) {
            end_comm(link->comm);
        }
    }
}

static void show_rows(const struct lull_interval *interval, bool by_process, bool is_json)
{
    char *text = NULL;
    size_t length;
    struct lull_live_rows rows;
    struct lull_top_view view = {.file = open_memstream(&text, &length),
                                 .names = names,
                                 .how = {.backend = "bpf"},
                                 .shows_idle = true};
    lull_live_rows_make(&rows, interval, NULL, LULL_LIVE_BY_NAME, by_process);
    g_assert_cmpuint(rows.rows->len, <=, interval->chains->len);
    if (is_json) {
        lull_top_json(&view, interval, &rows);
    } else {
        g_assert_true(lull_top_text(&view, interval, &rows, NULL));
    }
    lull_live_rows_clear(&rows);
    fclose(view.file);
    if (is_json) {
        check_json(text);
    } else {
        check_text(text);
    }
    free(text);
}

/* At most two, which may read the same. */
static void try_chains(const uint8_t *data, size_t size, bool mends)
{
    struct lull_interval interval;
    lull_interval_init(&interval);
    for (int i = 0; i < 2; i++) {
        struct lull_live_chain chain = {.function = NULL};
        const size_t used = MIN(size, offsetof(struct lull_live_chain, function));
        memcpy(&chain, data, used);
        data += used;
        size -= used;
        if (mends) {
            mend_chain(&chain);
        }
        if (lull_live_chain_is_sound(&chain)) {
            chain.sum.ns >>= 2;
            g_array_append_val(interval.chains, chain);
        }
    }
    show_rows(&interval, true, true);
    show_rows(&interval, false, false);
    lull_interval_clear(&interval);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (data[0] & 1) {
        try_chains(data + 1, size - 1, data[0] & 2);
    } else {
        try_record(data + 1, size - 1, data[0] & 2);
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* A story that a test of tracking over ftrace writes down event by event, and the alarms of it. */
#ifndef TESTS_LIVE_STORY_H
#define TESTS_LIVE_STORY_H

#include <glib.h>

#include "live/ftrace/model.h"
#include "ring_made.h"

#define MS UINT64_C(1000000)
#define T0 (1000 * MS)

/* Of the machine of stories. */
enum { CPUS = 3 };

struct story {
    struct lull_track_rule *rule[LULL_TRACK_RULES];
    struct lull_tracker_question question;
    struct lull_ftrace_events *events;
    struct lull_ftrace_model *model;
    GArray *records; /* struct lull_track_record: what alarms said */
    GArray *parts;   /* uint32_t: of each alarm */
};

static inline void take_alarm(void *user, const struct lull_track_alarm *alarm)
{
    struct story *story = user;
    g_array_append_val(story->records, *alarm->record);
    g_array_append_val(story->parts, alarm->n_parts);
}

static inline void begin(struct story *story, const char *const *rules, bool has_sums)
{
    *story =
        (struct story){.records = g_array_new(FALSE, FALSE, sizeof(struct lull_track_record)),
                       .parts = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
                       .question = {.rules = (const struct lull_track_rule *const *)story->rule,
                                    .alarm = take_alarm,
                                    .user = story,
                                    .has_sums = has_sums}};
    for (; rules[story->question.n_rules]; story->question.n_rules++) {
        GError *error = NULL;
        story->rule[story->question.n_rules] =
            lull_track_rule_parse(rules[story->question.n_rules], &error);
        g_assert_no_error(error);
    }
    story->model = lull_ftrace_model_new(&story->question, CPUS);
    lull_ftrace_model_set_calls(story->model, LULL_FTRACE_ALL_CALLS);
    story->events = lull_ftrace_events_new(~0u, ~0u, made_format, NULL, NULL);
    g_assert_nonnull(story->events);
}

static inline void end(struct story *story)
{
    for (uint32_t i = 0; i < story->question.n_rules; i++) {
        lull_track_rule_free(story->rule[i]);
    }
    lull_ftrace_model_free(story->model);
    lull_ftrace_events_free(story->events);
    g_array_unref(story->records);
    g_array_unref(story->parts);
}

static inline void take(struct story *story, uint64_t ns, uint32_t cpu, enum lull_ftrace_kind kind,
                        const uint8_t *bytes, uint32_t size)
{
    const struct lull_format_record record = {.data = bytes, .size = size};
    struct lull_ftrace_fields fields;
    const struct lull_ftrace_event event = {
        .kind = lull_ftrace_events_load(story->events, &record, &fields),
        .ns = ns,
        .cpu = cpu,
        .fields = &fields};
    g_assert_cmpint(event.kind, ==, kind);
    lull_ftrace_model_take(story->model, &event);
}

static inline void change(struct story *story, uint64_t ns, uint32_t cpu, uint32_t prev,
                          const char *comm, uint64_t state, uint32_t next, const char *next_comm)
{
    uint8_t record[256];
    const uint32_t kind = LULL_FTRACE_SWITCH, size = made_record(record, kind, prev, 0);
    made_set(record, kind, "prev_pid", prev);
    made_set(record, kind, "prev_state", state);
    made_set(record, kind, "next_pid", next);
    made_text(record, kind, "prev_comm", comm);
    made_text(record, kind, "next_comm", next_comm);
    take(story, ns, cpu, kind, record, size);
}

/* An event with one number. */
static inline void tell(struct story *story, uint64_t ns, uint32_t cpu, enum lull_ftrace_kind kind,
                        uint32_t tid, const char *name, uint64_t value, uint8_t flags)
{
    uint8_t record[256];
    const uint32_t size = made_record(record, kind, tid, flags);
    if (name) {
        made_set(record, kind, name, value);
    }
    take(story, ns, cpu, kind, record, size);
}

static inline void wake(struct story *story, uint64_t ns, uint32_t cpu, uint32_t by, uint32_t tid)
{
    tell(story, ns, cpu, LULL_FTRACE_WAKING, by, "pid", tid, 0);
}

static inline void start_task(struct story *story, uint64_t ns, uint32_t tid, uint32_t parent,
                              uint64_t flags, const char *comm)
{
    uint8_t record[256];
    const uint32_t kind = LULL_FTRACE_NEWTASK, size = made_record(record, kind, parent, 0);
    made_set(record, kind, "pid", tid);
    made_set(record, kind, "clone_flags", flags);
    made_text(record, kind, "comm", comm);
    take(story, ns, 0, kind, record, size);
}

static inline const struct lull_track_record *alarm_at(const struct story *story, uint32_t i)
{
    g_assert_cmpuint(i, <, story->records->len);
    return &g_array_index(story->records, struct lull_track_record, i);
}

/* Tasks that no machine has, so that /proc knows nothing of them. */
enum { A = 40000001, B, C, D };

#endif

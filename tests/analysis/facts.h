/* SPDX-License-Identifier: MIT */
/* Facts said by hand to an analysis, without events: tasks, labels, files and requests are put into
 * a model that no trace feeds. */
#ifndef LULL_TESTS_FACTS_H
#define LULL_TESTS_FACTS_H

#include "analysis/analysis.h"
#include "kernel/calls.h"
#include "kernel/model_private.h"
#include "lib/feed.h"
#include "lib/table_sink.h"

struct facts {
    struct lull_model *model;
    struct lull_question_params params;
    const struct lull_analysis_class *class;
    struct lull_analysis *analysis;
    struct table_sink sink;
};

/* What is asked when nothing is asked for. */
static inline struct lull_question_params facts_params(void)
{
    return (struct lull_question_params){.host = -1,
                                         .sections = ~0u,
                                         .min_ns = INT64_MIN,
                                         .max_ns = INT64_MAX,
                                         .min_bytes = INT64_MIN,
                                         .max_bytes = INT64_MAX,
                                         .freq_resolution = 4};
}

/* A window that begins at start_ns. */
static inline struct facts facts_start(const struct lull_analysis_class *class,
                                       struct lull_question_params params)
{
    struct facts facts = {lull_model_new(NULL, class->groups), params, class,
                          g_malloc0(class->size), table_sink_new()};
    return facts;
}

/* To be called when the struct has come to rest, as the analysis points into it. Events may be fed
 * to the model as well. */
static inline void facts_open(struct facts *facts, int64_t start_ns)
{
    *facts->analysis = (struct lull_analysis){.class = facts->class,
                                              .model = facts->model,
                                              .params = &facts->params,
                                              .start_ns = start_ns};
    facts->class->open(facts->analysis);
    lull_model_subscribe(facts->model, &facts->class->facts, facts->analysis);
}

static inline void facts_close(struct facts *facts, int64_t end_ns)
{
    const struct lull_window window = {.start_ns = facts->analysis->start_ns, .end_ns = end_ns};
    facts->class->close(facts->analysis, end_ns);
    facts->class->emit(facts->analysis, &window, &facts->sink.sink);
}

static inline void facts_end(struct facts *facts)
{
    facts->class->free(facts->analysis);
    g_free(facts->analysis);
    lull_model_free(facts->model);
    g_string_free(facts->sink.text, TRUE);
}

/* A task of host 0, named t<tid>. */
static inline uint32_t facts_task(struct facts *facts, int32_t tid, int32_t pid)
{
    struct lull_model *model = facts->model;
    char name[16];
    g_snprintf(name, sizeof name, "t%d", tid);
    uint32_t task = model_task(model, model_machine(model, 0), tid, 0);
    model->tasks.items[task].public.pid = pid;
    model_rename(model, task, feed_text(name), 0);
    return task;
}

static inline uint32_t facts_label(struct facts *facts, const char *text)
{
    return model_label(facts->model, text);
}

static inline uint32_t facts_file(struct facts *facts, uint32_t owner, int32_t fd, const char *path,
                                  uint8_t type)
{
    lull_vec_push(&facts->model->files,
                  (struct lull_file){.owner = owner,
                                     .fd = fd,
                                     .path = path ? facts_label(facts, path) : LULL_NONE,
                                     .type = type,
                                     .open_ns = INT64_MIN,
                                     .close_ns = INT64_MAX});
    return (uint32_t)facts->model->files.count - 1;
}

static inline void facts_call(struct facts *facts, uint32_t task, const char *name,
                              int64_t start_ns, int64_t end_ns, int64_t ret)
{
    facts->class->facts.syscall(facts->analysis,
                                &(struct lull_syscall_fact){.task = task,
                                                            .name = facts_label(facts, name),
                                                            .start_ns = start_ns,
                                                            .end_ns = end_ns,
                                                            .ret = ret,
                                                            .error = call_error(ret, false),
                                                            .has_ret = true});
}

static inline void facts_io(struct facts *facts, uint32_t task, const char *name, int64_t start_ns,
                            int64_t end_ns, int64_t ret, struct lull_io io)
{
    facts->class->facts.syscall(facts->analysis,
                                &(struct lull_syscall_fact){.task = task,
                                                            .name = facts_label(facts, name),
                                                            .start_ns = start_ns,
                                                            .end_ns = end_ns,
                                                            .ret = ret,
                                                            .error = call_error(ret, false),
                                                            .has_ret = true,
                                                            .io = &io});
}

/* The tables of one head are these rows. */
static inline void facts_expect(const struct facts *facts, const char *head, const char *rows)
{
    g_autofree char *found = table_sink_get(&facts->sink, head);
    size_t length = strlen(rows);
    if (!found || strncmp(found, rows, length) != 0) {
        g_test_message("tables:\n%s", facts->sink.text->str);
    }
    g_assert_nonnull(found);
    found[MIN(strlen(found), length)] = '\0';
    g_assert_cmpstr(found, ==, rows);
}

static inline void facts_expect_none(const struct facts *facts, const char *head)
{
    g_autofree char *found = table_sink_get(&facts->sink, head);
    g_assert_null(found);
}

#endif

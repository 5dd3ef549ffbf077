/* SPDX-License-Identifier: MIT */
/* Which questions a trace can answer, judged by the events that were recorded, as
 * lull_session_declares() says: a table from each question
 * to the events it needs and to those that make its answer better. */
#ifndef LULL_ANALYSIS_QUESTIONS_H
#define LULL_ANALYSIS_QUESTIONS_H

#include "kernel/vocabulary.h"

/* One kind of event, whatever tracers call it. Any one of `events` or `names` will do. */
struct lull_need {
    const enum lull_event_id *events; /* of the vocabulary */
    uint32_t n_events;
    /* Events that the vocabulary does not hold as nothing decodes them, and events that will do in
     * one tracer only; NULL-terminated or NULL. */
    const char *const *names;
    const char *without;   /* what the answer lacks without it, for improving ones; else NULL */
    bool is_of_priorities; /* only who shows these lacks it */
};

struct lull_question {
    const char *id;                /* "critical-path" */
    const char *text;              /* "what a task waited for (critical path)" */
    const struct lull_need *needs; /* all of them; ends with an empty one, see lull_need_name() */
    const struct lull_need *improves; /* ends with an empty one */
};

enum lull_answer {
    LULL_ANSWER_YES,
    LULL_ANSWER_PARTLY, /* something that improves it is missing */
    LULL_ANSWER_NO,     /* something it needs is missing */
};

/* "yes", "partly", "no" */
const char *lull_answer_name(enum lull_answer answer);

/* All questions; ends with a NULL id. */
extern const struct lull_question lull_questions[];

/* The names of a need by number, those that tracers use now first; NULL after the last. An empty
 * need has none. A name that ends with '*' matches all names with that prefix. */
const char *lull_need_name(const struct lull_need *need, uint32_t index);

/* The names of the events one host declares. */
struct lull_declared;

/* Collects them for `host`. Free with lull_declared_free(). The names are the session's. */
struct lull_declared *lull_declared_new(const struct lull_session *session, uint32_t host);
void lull_declared_free(struct lull_declared *declared);

/* True if the host declares one of the names. */
bool lull_need_is_met(const struct lull_declared *declared, const struct lull_need *need);
enum lull_answer lull_question_judge(const struct lull_declared *declared,
                                     const struct lull_question *question);
/* The question with this id, or NULL. */
const struct lull_question *lull_question_find(const char *id);
/* True if the traces of some host can answer it, at least in part. */
bool lull_question_can_answer(const struct lull_session *session,
                              const struct lull_question *question);

#endif

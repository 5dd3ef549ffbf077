/* SPDX-License-Identifier: MIT */
/* How the critical paths of many instances are shown: a table of the instances, and the sum of
 * their paths. As in view.h, every function writes to `file`, flushes it and leaves it open. */
#ifndef LULL_VIEW_INSTANCES_H
#define LULL_VIEW_INSTANCES_H

#include "answers/instances.h"
#include "graph/portions.h"
#include "clock/sync.h"
#include "view/view.h"

/* What there is to show; all is borrowed. */
struct lull_instance_paths {
    const struct lull_session *session;
    const struct lull_sync *sync; /* how clocks were joined; NULL: they were not */
    const struct lull_model *model;
    const struct lull_instances *instances;
    const struct lull_portions *portions;
    const uint32_t *samples; /* by instance of the list; LULL_NONE: it has no path */
    const GPtrArray *chosen; /* const struct lull_instance *: those that were requested */
};

/* `chosen`, which is borrowed, of instances whose paths were found. */
struct lull_instance_paths lull_instance_paths_of(const struct lull_instances *instances,
                                                  const GPtrArray *chosen);

/* Position in the list of the i-th that was chosen. */
static inline uint32_t lull_chosen(const struct lull_instance_paths *paths, uint32_t i)
{
    return ((const struct lull_instance *)paths->chosen->pdata[i])->number - 1;
}

/* A table of the chosen instances (of more than style->limit the slowest; 0: all), and what is to
 * be said of those without a path. */
bool lull_view_instances_text(const struct lull_instance_paths *paths, FILE *file,
                              const struct lull_view_style *style, GError **error);
/* What the chosen instances' paths are about, summed; style->limit rows (0: all). */
bool lull_view_sum_text(const struct lull_instance_paths *paths, FILE *file,
                        const struct lull_view_style *style, GError **error);
/* The same as folded stacks, "host;comm;state cause: detail NANOSECONDS". */
bool lull_view_sum_folded(const struct lull_instance_paths *paths, FILE *file, GError **error);
/* Members of an object of JSON, without its braces: what, instances, incomplete, sum. */
bool lull_view_instances_json(const struct lull_instance_paths *paths, FILE *file, GError **error);
/* The sentences for no instance, or none that was requested. Free with g_free(). */
char *lull_instances_none(const struct lull_instance_paths *paths);
/* "request" or "instance": what one of them is called before its number. */
const char *lull_instances_word(const struct lull_instances *instances);
/* What a recording of a command or of a slow task can still be asked, a line; "" of others. */
const char *lull_instances_ask_instead(const struct lull_session *session);

/* Appends "running", "blocked on disk: vda write, in fsync". */
void lull_portion_append_what(GString *out, const struct lull_portion *portion, bool ascii);
/* Whether the clock of a host is joined with those of the other hosts; true if there are none. */
bool lull_instance_host_is_joined(const struct lull_instance_paths *paths, uint32_t host);
/* The samples of the chosen instances; *count of them, at most as many as were chosen. Free
 * with g_free(). */
uint32_t *lull_instance_samples(const struct lull_instance_paths *paths, uint32_t *count);

#endif

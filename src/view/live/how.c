/* SPDX-License-Identifier: MIT */
#include "view/live/how.h"

#include "base/json.h"
#include "view/words.h"

static void print_lines(FILE *file, const struct lull_view_style *style, const char *text)
{
    g_autofree char *folded = lull_fold_text(text, style->width, 0);
    fprintf(file, "%s\n", style->width ? folded : text);
}

void lull_how_text(FILE *file, const struct lull_view_style *style,
                   const struct lull_tracker_how *how)
{
    if (how->unseen) {
        g_autofree char *line =
            g_strdup_printf("by %s, which cannot see %s", how->backend, how->unseen);
        print_lines(file, style, line);
    }
    if (how->why) {
        print_lines(file, style, how->why);
    }
}

void lull_how_json(struct json_object *object, const struct lull_tracker_how *how,
                   const struct lull_tracker_counts *counts)
{
    json_object_object_add(object, "has_chains", json_object_new_boolean(!counts->has_no_chains));
    json_object_object_add(object, "has_wakings", json_object_new_boolean(!counts->has_no_wakings));
    json_object_object_add(object, "has_calls", json_object_new_boolean(!counts->has_no_calls));
    json_object_object_add(object, "overhead",
                           counts->overhead >= 0 ? json_object_new_double(counts->overhead) : NULL);
    lull_json_add_text(object, "backend", how->backend);
    lull_json_add_text(object, "cannot_see", how->unseen);
    lull_json_add_text(object, "why", how->why);
}

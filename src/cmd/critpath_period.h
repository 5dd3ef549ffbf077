/* SPDX-License-Identifier: MIT */
/* lull critpath --period: the paths of the instances of a period. */
#ifndef LULL_CMD_CRITPATH_PERIOD_H
#define LULL_CMD_CRITPATH_PERIOD_H

#include "cmd/verb.h"
#include "view/view.h"

typedef bool lull_write_path(const struct lull_path *path, FILE *file,
                             const struct lull_view_style *style, GError **error);

/* Exit status as of a verb. */
int lull_critpath_period_run(const struct lull_args *args, GError **error);

/* critpath.c: the style that the options ask for, with at most `most` rows unless they say. */
void lull_critpath_style(const struct lull_args *args, uint32_t most,
                         struct lull_view_style *style);
/* critpath.c: --svg, --html and --perfetto. */
bool lull_critpath_write_files(const struct lull_args *args, const struct lull_path *path,
                               const struct lull_view_style *style, GError **error);
/* critpath.c: the first of them that was given, "svg"; or NULL. */
const char *lull_critpath_file_option(const struct lull_args *args);
/* critpath.c: false and an error of usage if they and other forms of output exclude each other. */
bool lull_critpath_check_forms(const struct lull_args *args, GError **error);
/* critpath.c: how many of them go to standard output. */
uint32_t lull_critpath_files_on_stdout(const struct lull_args *args);

#endif

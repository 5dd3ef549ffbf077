/* SPDX-License-Identifier: MIT */
/* How many waits, requests and interrupts were how long: a column for each kind. */
#ifndef LULL_VIEW_LIVE_HISTOGRAMS_H
#define LULL_VIEW_LIVE_HISTOGRAMS_H

#include <json-c/json.h>

#include "live/histories.h"
#include "view/view.h"

enum { LULL_HISTOGRAM_COLUMNS = LULL_TRACK_MEASURES };

struct lull_histogram_column {
    const char *title, *name; /* above the table, and below it */
    const struct lull_track_histogram *of;
};

/* Those that lull top shows; how many there are. */
uint32_t lull_histogram_kinds(const struct lull_track_histogram histogram[LULL_TRACK_MEASURES],
                              struct lull_histogram_column columns[LULL_HISTOGRAM_COLUMNS]);
/* At most `limit` rows (0: all), each of as many powers of two as that takes. With bars instead of numbers, the longest
 * of each column is as wide as it. */
bool lull_histograms_text(FILE *file, const struct lull_view_style *style,
                          const struct lull_histogram_column *columns, uint32_t n, uint32_t limit,
                          bool has_bars, GError **error);
/* All buckets. */
struct json_object *lull_histogram_json(const struct lull_track_histogram *histogram);
/* In nanoseconds; NULL, which is JSON's null: there was none. */
struct json_object *lull_histogram_longest_json(const struct lull_track_histogram *histogram);

#endif

/* SPDX-License-Identifier: MIT */
/* A ring of records; what they mean is read again when it is asked for. */
#include "live/kept.h"

struct one {
    struct lull_track_record record;
    bool is_open;
    char *group; /* or NULL */
};

struct lull_kept {
    const struct lull_track_rule *const *rules;
    uint32_t n_rules;
    uint64_t n;
    struct one ring[LULL_KEPT_ALARMS];
};

struct lull_kept *lull_kept_new(const struct lull_track_rule *const *rules, uint32_t n_rules)
{
    struct lull_kept *kept = g_new0(struct lull_kept, 1);
    kept->rules = rules;
    kept->n_rules = n_rules;
    return kept;
}

void lull_kept_free(struct lull_kept *kept)
{
    for (uint32_t i = 0; kept && i < LULL_KEPT_ALARMS; i++) {
        g_free(kept->ring[i].group);
    }
    g_free(kept);
}

void lull_kept_add(struct lull_kept *kept, const struct lull_track_alarm *alarm)
{
    struct one *one = &kept->ring[kept->n++ % LULL_KEPT_ALARMS];
    g_free(one->group);
    *one = (struct one){
        .record = *alarm->record, .is_open = alarm->is_open, .group = g_strdup(alarm->group)};
}

uint64_t lull_kept_count(const struct lull_kept *kept)
{
    return kept->n;
}

bool lull_kept_get(const struct lull_kept *kept, uint32_t i, struct lull_track_alarm *alarm)
{
    if (i >= kept->n || i >= LULL_KEPT_ALARMS) {
        return false;
    }
    const struct one *one = &kept->ring[(kept->n - 1 - i) % LULL_KEPT_ALARMS];
    const bool is_read =
        lull_track_alarm_read(&one->record, sizeof one->record, kept->rules, kept->n_rules, alarm);
    if (is_read) {
        alarm->is_open = one->is_open;
        alarm->group = one->group;
    }
    return is_read;
}

/* SPDX-License-Identifier: MIT */
/* What the parts that read a configuration share. */
#ifndef LULL_TRIGGER_CONFIG_PRIVATE_H
#define LULL_TRIGGER_CONFIG_PRIVATE_H

#include "trigger/config.h"
#include "trigger/config_lines.h"

#define LULL_RULE_PREFIX "rule "

struct lull_config_reader {
    const char *path;
    GKeyFile *file;
    struct lull_config_lines lines;
    GArray *found; /* struct problem */
    struct lull_trigger_config *config;
};

/* Something is wrong with the key (NULL: with the group); the line is found. */
void lull_config_report(const struct lull_config_reader *reader, const char *group, const char *key,
                        const char *format, ...) G_GNUC_PRINTF(4, 5);
/* Free with g_free(); NULL: it is not there. */
char *lull_config_value(const struct lull_config_reader *reader, const char *group,
                        const char *key);

/* ---- rules ---- */

extern const char *const lull_rule_keys[]; /* ends with NULL */
/* Adds the rule of the group [rule NAME]. */
void lull_config_read_rule(const struct lull_config_reader *reader, const char *group);
void lull_config_free_rule(void *rule);

#endif

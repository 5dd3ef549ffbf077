/* SPDX-License-Identifier: MIT */
/* Which line of a configuration says what, and lines that say nothing: GKeyFile does not tell. */
#ifndef LULL_TRIGGER_CONFIG_LINES_H
#define LULL_TRIGGER_CONFIG_LINES_H

#include <glib.h>
#include <stdint.h>

struct lull_config_lines {
    GHashTable *of; /* "group" and "group\nkey" -> number of the line */
    GString *text;  /* the same without lines that say nothing, for GKeyFile */
};

/* `wrong` is called for each line that is wrong, in their order: with its group ("": none yet), its key (NULL:
 * none) and why; borrowed. Clear them in any case. */
void lull_config_lines_read(struct lull_config_lines *lines, const char *text, size_t size,
                            void (*wrong)(void *user, uint32_t line, const char *group,
                                          const char *key, const char *why),
                            void *user);
/* Where the key is, or the group (NULL); 0: nowhere. */
uint32_t lull_config_lines_find(const struct lull_config_lines *lines, const char *group,
                                const char *key);
void lull_config_lines_clear(struct lull_config_lines *lines);

#endif

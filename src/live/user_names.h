/* SPDX-License-Identifier: MIT */
/* Functions of programs that run: /proc says what is mapped where, and the files are read for symbols. */
#ifndef LULL_LIVE_USER_NAMES_H
#define LULL_LIVE_USER_NAMES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct lull_user_names;

/* Without symbols no file of a program is opened, which may be anybody's. Free with lull_user_names_free(). */
struct lull_user_names *lull_user_names_new(bool has_symbols);
void lull_user_names_free(struct lull_user_names *names);

/* `names` NULL: nothing is known of any process.
 * Appends the function at an address of that process; without symbols "FILE+0xOFFSET"; "0xADDRESS" if it is
 * in no file, or the process has ended. */
void lull_user_names_append(struct lull_user_names *names, uint32_t pid, uint64_t address,
                            GString *out);

#endif

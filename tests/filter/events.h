/* SPDX-License-Identifier: MIT */
/* The events that language.txt speaks of, and reading them through filters. */
#ifndef TESTS_FILTER_EVENTS_H
#define TESTS_FILTER_EVENTS_H

#include <lull/session.h>

#include "lib/ctf_writer.h"

#define EVENTS_T0 INT64_C(1795224179432835564) /* 2026-11-21T01:22:59.432835564Z */
#define EVENTS_STEPS {0, 1000, 1000000000, 2000000000, 60000000000}

void write_events(const char *dir, const struct ctf_options *how);
/* The lines of language.txt without comments and empty ones; free with g_strfreev(). */
char **read_language(void);
/* Letters of the events that the session hands out, "-" for none; free with g_free(). */
char *read_letters(struct lull_session *session);

#endif

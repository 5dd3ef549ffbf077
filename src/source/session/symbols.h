/* SPDX-License-Identifier: MIT */
/* Where copies of the recorded programs and libraries are, for those who name functions. */
#ifndef LULL_SOURCE_SESSION_SYMBOLS_H
#define LULL_SOURCE_SESSION_SYMBOLS_H

#include <lull/session.h>

/* Before a model is made. */
void lull_session_set_symbols(struct lull_session *session, const char *directory);
/* NULL: the user named none. */
const char *lull_session_symbols(const struct lull_session *session);

#endif

/* SPDX-License-Identifier: MIT */
/* How the user wants functions to be named, for those who name them. */
#ifndef LULL_SOURCE_SESSION_SYMBOLS_H
#define LULL_SOURCE_SESSION_SYMBOLS_H

#include <lull/session.h>
#include <stdbool.h>

/* Why functions of a kernel have no names, and what helps: for people. */
struct lull_nameless {
    const char *why, *help;
};

struct lull_symbol_wishes {
    const char *directory; /* with copies of the programs and libraries; or NULL */
    const char *const
        *path_maps;           /* "OLD=NEW": where what was below OLD is; NULL-terminated, or NULL */
    bool wants_raw;           /* names as compilers write them */
    bool wants_servers;       /* debuginfod is asked for what is not here */
    bool wants_recorded_only; /* names that the recording holds; no file of this machine is read */
    const struct lull_nameless *
        *nameless_kernel; /* gets why functions of a kernel have no names, a constant; or NULL */
    bool wants_inlined;   /* calls that the compiler put in line are frames of their own */
};

/* Before a model is made. Texts stay the caller's, who keeps them as long as the session. */
void lull_session_set_symbols(struct lull_session *session,
                              const struct lull_symbol_wishes *wishes);
const struct lull_symbol_wishes *lull_session_symbols(const struct lull_session *session);

#endif

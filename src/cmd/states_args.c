/* SPDX-License-Identifier: MIT */
/* Reads the file of declared states. */
#include "cmd/states_args.h"
#include "cmd/say.h"

#include <stdio.h>

bool lull_args_states(const struct lull_args *args, bool is_partial, struct lull_states **states,
                      GError **error)
{
    const char *path = lull_args_text(args, "states");
    g_autoptr(GString) warnings = g_string_new(NULL);
    *states = path ? lull_states_read(path, is_partial, warnings, error) : NULL;
    lull_say("%s", warnings->str);
    return !path || *states;
}

void lull_args_check_states(const struct lull_states *states, const struct lull_session *session)
{
    g_autoptr(GString) warnings = g_string_new(NULL);
    lull_states_check(states, session, warnings);
    lull_say("%s", warnings->str);
}

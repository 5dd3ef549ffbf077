/* SPDX-License-Identifier: MIT */
/* Fuzz target: what /proc says of a task, whose name is anybody's text, and of pressure. The first byte says
 * which file. What is accepted ends, and lies in its range. */
#include <glib.h>
#include <string.h>

#include "live/poll_proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_state(const char *text)
{
    struct lull_proc_state state;
    if (lull_proc_parse_state(text, &state)) {
        g_assert_nonnull(memchr(state.comm, '\0', sizeof state.comm));
        g_assert_nonnull(strstr(text, state.comm));
        g_assert_cmpuint(state.start_ns, <=, G_MAXINT64);
    }
}

static void check_wait(const char *call, const char *function)
{
    struct lull_proc_wait wait;
    lull_proc_parse_wait(call, function, &wait);
    g_assert_cmpint(wait.call, >=, LULL_TRACK_NO_CALL);
    g_assert_nonnull(memchr(wait.function, '\0', sizeof wait.function));
    g_assert_true(g_str_has_prefix(function, wait.function));
    for (const char *c = wait.function; *c; c++) {
        g_assert_true(g_ascii_isalnum(*c) || *c == '_');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_proc_times times;
    struct lull_proc_machine machine;
    int64_t some_us, full_us;
    if (size == 0) {
        return 0;
    }
    g_autofree char *text = g_strndup((const char *)data + 1, size - 1);
    switch (data[0] % 5) {
    case 0:
        check_state(text);
        break;
    case 1:
        lull_proc_parse_times(text, &times);
        break;
    case 2:
        lull_pressure_parse(text, &some_us, &full_us);
        break;
    case 3:
        check_wait(text, text);
        break;
    default:
        lull_proc_parse_machine(text, &machine);
        break;
    }
    return 0;
}

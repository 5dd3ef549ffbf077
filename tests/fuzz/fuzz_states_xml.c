/* SPDX-License-Identifier: MIT */
/* Fuzz target: state providers of Trace Compass (XML). What is refused is refused with a line; what is translated is
 * a file of states that Lull can read, but for its limits; with parts left out, too. */
#include <string.h>

#include "states/states.h"
#include "states/xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_limit(const char *message)
{
    static const char *const limits[] = {"at most", "longer than", "too many", "too deep",
                                         "levels"};
    for (size_t i = 0; i < G_N_ELEMENTS(limits); i++) {
        if (strstr(message, limits[i])) {
            return true;
        }
    }
    return false;
}

static void translate(const uint8_t *data, size_t size, bool is_partial)
{
    g_autoptr(GString) warnings = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *text =
        lull_states_from_xml((const char *)data, size, "fuzz", is_partial, warnings, &error);
    if (!text) {
        g_assert_nonnull(error);
        g_assert_true(g_str_has_prefix(error->message, "fuzz:"));
        return;
    }
    struct lull_states *states = lull_states_parse(text, strlen(text), "fuzz", warnings, &error);
    if (!states && !is_limit(error->message)) {
        g_error("%s\n%s", error->message, text);
    }
    lull_states_free(states);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    translate(data, size, false);
    translate(data, size, true);
    return 0;
}

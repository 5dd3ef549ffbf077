/* SPDX-License-Identifier: MIT */
/* A bounded run of a fuzz target must be the same each time. So the seeds of hash tables, Lull's
 * made of the time and json-c's of chance, are fixed. And what ends with a trap, as g_error() does,
 * must leave its input behind, for which libFuzzer has to see another signal. */
#include <glib.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>

/* Weak: a target may have a clock of its own. */
gint64 __attribute__((weak)) g_get_monotonic_time(void)
{
    return 1;
}

static void on_trap(int number)
{
    abort();
}

static void __attribute__((constructor)) prepare(void)
{
    json_global_set_string_hash(JSON_C_STR_HASH_PERLLIKE);
    signal(SIGTRAP, on_trap);
}

/* SPDX-License-Identifier: MIT */
/* Names of counters (linux/perf_event.h; spelled as perf spells them). */
#include "record/counters.h"

#include <linux/perf_event.h>
#include <string.h>

#define HARDWARE(name, config) {name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config}
#define SOFTWARE(name, config) {name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config}

/* A counter with several names has the one that others show first. */
static const struct lull_counter_kind kinds[] = {
    HARDWARE("cycles", CPU_CYCLES),
    HARDWARE("cpu-cycles", CPU_CYCLES),
    HARDWARE("instructions", INSTRUCTIONS),
    HARDWARE("cache-references", CACHE_REFERENCES),
    HARDWARE("cache-misses", CACHE_MISSES),
    HARDWARE("branches", BRANCH_INSTRUCTIONS),
    HARDWARE("branch-instructions", BRANCH_INSTRUCTIONS),
    HARDWARE("branch-misses", BRANCH_MISSES),
    HARDWARE("bus-cycles", BUS_CYCLES),
    HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
    HARDWARE("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
    HARDWARE("ref-cycles", REF_CPU_CYCLES),
    SOFTWARE("task-clock", TASK_CLOCK),
    SOFTWARE("cpu-clock", CPU_CLOCK),
    SOFTWARE("page-faults", PAGE_FAULTS),
    SOFTWARE("faults", PAGE_FAULTS),
    SOFTWARE("minor-faults", PAGE_FAULTS_MIN),
    SOFTWARE("major-faults", PAGE_FAULTS_MAJ),
    SOFTWARE("context-switches", CONTEXT_SWITCHES),
    SOFTWARE("cs", CONTEXT_SWITCHES),
    SOFTWARE("cpu-migrations", CPU_MIGRATIONS),
    SOFTWARE("migrations", CPU_MIGRATIONS),
    SOFTWARE("alignment-faults", ALIGNMENT_FAULTS),
    SOFTWARE("emulation-faults", EMULATION_FAULTS),
};

/* In the order in which they are shown. */
static const char *const defaults[] = {"cycles",        "instructions", "cache-misses",
                                       "task-clock",    "page-faults",  "context-switches",
                                       "cpu-migrations"};

static const struct lull_counter_kind *find(const char *name)
{
    const struct lull_counter_kind *found = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(kinds) && !found; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            found = &kinds[i];
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(kinds) && found; i++) {
        if (kinds[i].type == found->type && kinds[i].config == found->config) {
            return &kinds[i]; /* by its first name */
        }
    }
    return NULL;
}

/* "r01c2": a number of the CPU's own. */
static bool parse_raw(const char *name, uint64_t *config)
{
    return name[0] == 'r' && g_ascii_isxdigit(name[1]) &&
           g_ascii_string_to_unsigned(name + 1, 16, 0, UINT64_MAX, config, NULL);
}

static bool has(const GArray *list, const struct lull_counter_kind *kind)
{
    for (guint i = 0; i < list->len; i++) {
        const struct lull_counter_kind *other = &g_array_index(list, struct lull_counter_kind, i);
        if (other->type == kind->type && other->config == kind->config) {
            return true;
        }
    }
    return false;
}

static bool add(GArray *list, const char *name, GStringChunk *texts)
{
    const struct lull_counter_kind *known = find(name);
    struct lull_counter_kind kind = {.type = PERF_TYPE_RAW};
    if (known) {
        kind = *known;
    } else if (parse_raw(name, &kind.config)) {
        kind.name = g_string_chunk_insert(texts, name);
    } else {
        return false;
    }
    if (!has(list, &kind)) {
        g_array_append_val(list, kind);
    }
    return true;
}

GArray *lull_counters_parse(const char *list, GStringChunk *texts, bool *is_default, GError **error)
{
    enum { MOST = 16 };
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct lull_counter_kind));
    *is_default = strcmp(list, LULL_COUNTERS_DEFAULT) == 0;
    for (size_t i = 0; i < G_N_ELEMENTS(defaults) && *is_default; i++) {
        add(found, defaults[i], texts);
    }
    g_auto(GStrv) words = g_strsplit(*is_default ? "" : list, ",", -1);
    for (char **word = words; *word; word++) {
        if (!add(found, g_strstrip(*word), texts)) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "--counters: there is no counter “%s”; there are cycles, instructions, "
                        "cache-misses, branch-misses, task-clock, page-faults, context-switches, "
                        "cpu-migrations and others that 'perf list hw sw' shows, and rHEX",
                        *word);
            return NULL;
        }
    }
    if (found->len == 0 || found->len > MOST) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "--counters takes 1 to %d names with commas between, or " LULL_COUNTERS_DEFAULT,
                    MOST);
        return NULL;
    }
    return g_steal_pointer(&found);
}

/* SPDX-License-Identifier: MIT */
/* Names of counters (linux/perf_event.h; spelled as perf spells them), and which of them this machine has. */
#include "record/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* 0, or why the kernel does not open it. */
static int try_open(const struct lull_counter_kind *kind)
{
    struct perf_event_attr attr = {
        .size = sizeof attr, .type = kind->type, .config = kind->config, .disabled = 1};
    const int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    close(fd);
    return 0;
}

/* Of the defaults, the CPU's counters if it has some, else the kernel's. */
static bool is_wanted(const struct lull_counter_kind *kind, bool is_default, bool has_hardware)
{
    return !is_default || (kind->type == PERF_TYPE_HARDWARE) == has_hardware;
}

static const char *reason_of(int why)
{
    return why == ENOENT || why == ENODEV || why == EOPNOTSUPP
               ? "this machine's CPUs do not count that"
           : why == EACCES || why == EPERM ? "root, or the capability CAP_PERFMON, is needed"
                                           : g_strerror(why);
}

/* "cycles, instructions (reason)": those that follow each other with one reason have it once. */
static void refuse(GString *refused, const struct lull_counter_kind *kind, int why)
{
    g_autofree char *reason = g_strdup_printf(" (%s)", reason_of(why));
    if (g_str_has_suffix(refused->str, reason)) {
        g_string_truncate(refused, refused->len - strlen(reason));
    }
    g_string_append_printf(refused, "%s%s%s", refused->len > 0 ? ", " : "", kind->name, reason);
}

GArray *lull_counters_choose(const char *list, GStringChunk *texts, char **remark, GError **error)
{
    g_autoptr(GArray) chosen = g_array_new(FALSE, FALSE, sizeof(struct lull_counter_kind));
    g_autoptr(GString) refused = g_string_new(NULL);
    bool is_default;
    g_autoptr(GArray) wanted = lull_counters_parse(list, texts, &is_default, error);
    if (!wanted) {
        return NULL;
    }
    const bool has_hardware =
        try_open(&g_array_index(wanted, struct lull_counter_kind, 0)) == 0; /* of the defaults */
    for (guint i = 0; i < wanted->len; i++) {
        const struct lull_counter_kind *kind = &g_array_index(wanted, struct lull_counter_kind, i);
        const int why = try_open(kind);
        if (why != 0) {
            refuse(refused, kind, why);
        } else if (is_wanted(kind, is_default, has_hardware)) {
            g_array_append_val(chosen, *kind);
        }
    }
    if (chosen->len == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "none of the counters can be read: %s",
                    refused->str);
        return NULL;
    }
    if (refused->len > 0) {
        *remark = g_strdup_printf("counters that are not recorded: %s", refused->str);
    }
    return g_steal_pointer(&chosen);
}

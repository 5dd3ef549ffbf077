/* SPDX-License-Identifier: MIT */
/* Names of events that a perf.data does not describe, as in what perf writes into a pipe: from type
 * and config (linux/perf_event.h), spelled as perf spells them. */
#include <inttypes.h>

#include "source/perf/perf.h"

static const char *const hardware[] = {"cycles",
                                       "instructions",
                                       "cache-references",
                                       "cache-misses",
                                       "branches",
                                       "branch-misses",
                                       "bus-cycles",
                                       "stalled-cycles-frontend",
                                       "stalled-cycles-backend",
                                       "ref-cycles"};

static const char *const software[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

/* The config of an event of a cache: cache, operation and result, a byte each. */
static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
                                     "iTLB",      "branch",    "node"};
static const char *const operations[][2] = {
    {"load", "loads"}, {"store", "stores"}, {"prefetch", "prefetches"}};

static void add_cache(GString *name, uint64_t config)
{
    const uint64_t cache = config & 0xff, operation = config >> 8 & 0xff, result = config >> 16;
    if (cache >= G_N_ELEMENTS(caches) || operation >= G_N_ELEMENTS(operations) || result > 1) {
        g_string_append_printf(name, "cache 0x%" PRIx64, config);
    } else if (result == 1) {
        g_string_append_printf(name, "%s-%s-misses", caches[cache], operations[operation][0]);
    } else {
        g_string_append_printf(name, "%s-%s", caches[cache], operations[operation][1]);
    }
}

/* What is not counted, as the modifiers that make perf leave it out. */
static void add_modifiers(GString *name, const struct perf_attr *attr)
{
    static const struct {
        uint8_t what;
        char letter;
    } modes[] = {{PERF_NO_KERNEL, 'k'}, {PERF_NO_USER, 'u'}, {PERF_NO_HYPERVISOR, 'h'}},
      machines[] = {{PERF_NO_HOST, 'H'}, {PERF_NO_GUEST, 'G'}};
    const gsize length = name->len;
    const uint8_t all = PERF_NO_KERNEL | PERF_NO_USER | PERF_NO_HYPERVISOR;
    bool without_guest = false;
    g_string_append_c(name, ':');
    for (unsigned i = 0; i < G_N_ELEMENTS(modes) && (attr->excludes & all) != 0; i++) {
        if (!(attr->excludes & modes[i].what)) {
            g_string_append_c(name, modes[i].letter);
        }
        without_guest = true;
    }
    for (unsigned i = 0; i < attr->precision; i++) {
        g_string_append_c(name, 'p');
        without_guest = true;
    }
    if ((attr->excludes & PERF_NO_HOST) ||
        ((attr->excludes & PERF_NO_GUEST) != 0) == without_guest) {
        for (unsigned i = 0; i < G_N_ELEMENTS(machines); i++) {
            if (!(attr->excludes & machines[i].what)) {
                g_string_append_c(name, machines[i].letter);
            }
        }
    }
    if (name->len == length + 1) {
        g_string_truncate(name, length);
    }
}

static void add_breakpoint(GString *name, const struct perf_attr *attr)
{
    static const char letters[] = "rwx";
    g_string_append_printf(name, "mem:0x%" PRIx64 ":", attr->bp_addr);
    for (unsigned i = 0; letters[i] != '\0'; i++) {
        if (attr->bp_type >> i & 1) {
            g_string_append_c(name, letters[i]);
        }
    }
}

char *perf_attr_name(const struct perf_attr *attr)
{
    /* Where a machine has several kinds of CPUs, the upper half says which. */
    const uint32_t number = (uint32_t)attr->config;
    g_autoptr(GString) name = g_string_new(NULL);
    if (attr->type == PERF_TYPE_HARDWARE && number < G_N_ELEMENTS(hardware)) {
        g_string_append(name, hardware[number]);
    } else if (attr->type == PERF_TYPE_SOFTWARE && attr->config < G_N_ELEMENTS(software)) {
        g_string_append(name, software[attr->config]);
    } else if (attr->type == PERF_TYPE_CACHE) {
        add_cache(name, number);
    } else if (attr->type == PERF_TYPE_RAW) {
        g_string_append_printf(name, "raw 0x%" PRIx64, attr->config);
    } else if (attr->type == PERF_TYPE_BREAKPOINT) {
        add_breakpoint(name, attr);
    } else {
        return NULL;
    }
    add_modifiers(name, attr);
    return g_string_free(g_steal_pointer(&name), FALSE);
}

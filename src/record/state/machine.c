/* SPDX-License-Identifier: MIT */
/* Disks, network interfaces, interrupts and CPUs, from /proc, /sys and the network's own calls. */
#include "record/state/machine.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

uint32_t lull_state_device(unsigned major, unsigned minor)
{
    return major << 20 | (minor & 0xfffff);
}

/* "   8       1 sda1 …", a line for each disk and partition. */
static void dump_disks(struct lull_state_trace *trace)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents("/proc/diskstats", &text, NULL, NULL)) {
        return;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (uint32_t i = 0; lines[i]; i++) {
        unsigned major, minor;
        char name[64];
        if (sscanf(lines[i], "%u %u %63s", &major, &minor, name) == 3) {
            lull_state_trace_put(
                trace, LULL_STATE_DISK,
                (union lull_state_value[]){{lull_state_device(major, minor)}, {.text = name}});
        }
    }
}

/* One event for each address; one without, for interfaces that have none. */
static void dump_interfaces(struct lull_state_trace *trace)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) {
        return;
    }
    g_autoptr(GHashTable) has_address = g_hash_table_new(g_str_hash, g_str_equal);
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET) {
            continue;
        }
        const struct sockaddr_in *address = (const struct sockaddr_in *)(const void *)one->ifa_addr;
        g_hash_table_add(has_address, one->ifa_name);
        lull_state_trace_put(
            trace, LULL_STATE_NETWORK,
            (union lull_state_value[]){{.text = one->ifa_name}, {address->sin_addr.s_addr}});
    }
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        if (g_hash_table_add(has_address, one->ifa_name)) {
            lull_state_trace_put(trace, LULL_STATE_NETWORK,
                                 (union lull_state_value[]){{.text = one->ifa_name}, {0}});
        }
    }
    freeifaddrs(all);
}

/* The text of a small file without its last line break, or NULL. */
static char *read_line(const char *dir, const char *name, const char *file)
{
    g_autofree char *path = g_build_filename(dir, name, file, NULL);
    char *text = NULL;
    if (g_file_get_contents(path, &text, NULL, NULL)) {
        g_strchomp(text);
    }
    return text;
}

/* `actions` are the names of all handlers, with commas in between. */
static void dump_interrupt(struct lull_state_trace *trace, const char *dir, const char *name)
{
    g_autofree char *actions = read_line(dir, name, "actions");
    if (!actions || *actions == '\0') {
        return;
    }
    g_autofree char *chip = read_line(dir, name, "chip_name");
    g_auto(GStrv) each = g_strsplit(actions, ",", -1);
    for (uint32_t i = 0; each[i]; i++) {
        lull_state_trace_put(trace, LULL_STATE_INTERRUPT,
                             (union lull_state_value[]){{(int64_t)strtoul(name, NULL, 10)},
                                                        {.text = chip ? chip : ""},
                                                        {.text = each[i]}});
    }
}

static void dump_interrupts(struct lull_state_trace *trace)
{
    static const char path[] = "/sys/kernel/irq";
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir))) {
        if (g_ascii_isdigit(*name)) {
            dump_interrupt(trace, path, name);
        }
    }
}

static void dump_cpus(struct lull_state_trace *trace)
{
    static const char path[] = "/sys/devices/system/cpu";
    struct utsname system;
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    if (uname(&system) != 0) {
        return;
    }
    while (dir && (name = g_dir_read_name(dir))) {
        if (!g_str_has_prefix(name, "cpu") || !g_ascii_isdigit(name[3])) {
            continue;
        }
        /* CPUs that are off have no topology. */
        g_autofree char *package = read_line(path, name, "topology/physical_package_id");
        g_autofree char *core = read_line(path, name, "topology/core_id");
        if (package && core) {
            lull_state_trace_put(trace, LULL_STATE_CPU,
                                 (union lull_state_value[]){{.text = system.machine},
                                                            {strtol(name + 3, NULL, 10)},
                                                            {strtol(package, NULL, 10)},
                                                            {strtol(core, NULL, 10)}});
        }
    }
}

void lull_state_dump_machine(struct lull_state_trace *trace)
{
    dump_disks(trace);
    dump_interfaces(trace);
    dump_interrupts(trace);
    dump_cpus(trace);
}

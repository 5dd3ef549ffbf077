/* SPDX-License-Identifier: MIT */
/* The kernel says of each disk which scheduler it has; with none, requests go to the driver at once, and only those for which
 * that has no room are queued. */
#include "live/unqueued.h"

#include <stdlib.h>
#include <string.h>

#define DISKS "/sys/block"

/* The text of a file of a disk; NULL if it is not there. */
static char *read_of(const char *disk, const char *file)
{
    g_autofree char *path = g_build_filename(DISKS, disk, file, NULL);
    char *text = NULL;
    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

/* It says "none [mq-deadline] kyber"; disks that pass requests on to others do not have the file. */
static bool has_scheduler(const char *disk)
{
    g_autofree char *text = read_of(disk, "queue/scheduler");
    return text && strchr(text, '[') && !strstr(text, "[none]");
}

static bool is_meant(const char *disk, const struct lull_track_kernel_rule *rule)
{
    g_autofree char *dev = read_of(disk, "dev");
    g_autofree char *size = read_of(disk, "size");
    char *minor = NULL;
    const uint32_t major = dev ? (uint32_t)strtoul(dev, &minor, 10) : 0;
    if (!minor || *minor != ':') {
        return false;
    }
    const uint32_t number = major << 20 | (uint32_t)strtoul(minor + 1, NULL, 10);
    /* Of all those, that have something in them. */
    return rule->has_number ? rule->number == number : size && strtoull(size, NULL, 10) > 0;
}

char *lull_track_unqueued(const struct lull_track_rule *rule)
{
    struct lull_track_kernel_rule compiled;
    if (rule->kind->measure != LULL_TRACK_QUEUE) {
        return NULL;
    }
    lull_track_rule_compile(rule, &compiled);
    g_autoptr(GDir) dir = g_dir_open(DISKS, 0, NULL);
    g_autoptr(GString) names = g_string_new(NULL);
    const char *disk;
    guint n = 0;
    while (dir && (disk = g_dir_read_name(dir))) {
        if (is_meant(disk, &compiled) && !has_scheduler(disk)) {
            g_string_append_printf(names, "%s%s", n > 0 ? ", " : "", disk);
            n++;
        }
    }
    return n == 0 ? NULL
                  : g_strdup_printf(
                        "“%s” sees hardly any request of %s%s: without a scheduler they are not "
                        "queued (queue/scheduler in " DISKS
                        "); choose one there, as mq-deadline, or ask about “block”",
                        rule->text, n == 1 ? "disk " : "disks ", names->str);
}

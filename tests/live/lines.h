/* SPDX-License-Identifier: MIT */
/* Interrupt lines that this machine has: rules are about no others. */
#ifndef TESTS_LIVE_LINES_H
#define TESTS_LIVE_LINES_H

#include <glib.h>

/* The lowest line from that number on; `from` itself where no machine says which there are. */
static inline uint32_t line_from(uint32_t from)
{
    GDir *dir = g_dir_open("/proc/irq", 0, NULL);
    uint32_t lowest = UINT32_MAX;
    const char *name;
    guint64 number;
    while (dir && (name = g_dir_read_name(dir))) {
        if (g_ascii_string_to_unsigned(name, 10, from, UINT32_MAX, &number, NULL)) {
            lowest = MIN(lowest, (uint32_t)number);
        }
    }
    g_clear_pointer(&dir, g_dir_close);
    return lowest < UINT32_MAX ? lowest : from;
}

#endif

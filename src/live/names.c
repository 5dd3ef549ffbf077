/* SPDX-License-Identifier: MIT */
/* Reads /proc/interrupts and /sys/dev/block. */
#include "live/names.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "symbol/here.h"
#include "symbol/table.h"

const char *const lull_softirq_names[] = {"HI",      "TIMER",    "NET_TX",  "NET_RX",
                                          "BLOCK",   "IRQ_POLL", "TASKLET", "SCHED",
                                          "HRTIMER", "RCU",      NULL};

struct lull_machine_names {
    struct lull_arena *arena;
    bool has_functions;                  /* they were asked for */
    struct lull_symbol_table *functions; /* NULL: not read, or hidden */
    GHashTable *irqs;                    /* number → name */
};

struct lull_machine_names *lull_machine_names_new(void)
{
    struct lull_machine_names *names = g_new0(struct lull_machine_names, 1);
    names->arena = lull_arena_new();
    return names;
}

void lull_machine_names_free(struct lull_machine_names *names)
{
    if (names) {
        g_clear_pointer(&names->functions, lull_symbol_table_free);
        g_clear_pointer(&names->irqs, g_hash_table_unref);
        lull_arena_free(names->arena);
        g_free(names);
    }
}

const char *lull_machine_function(struct lull_machine_names *names, uint64_t address)
{
    uint64_t offset;
    if (!names->has_functions) {
        names->has_functions = true;
        names->functions = lull_here_kernel(NULL);
    }
    return names->functions ? lull_symbol_table_find(names->functions, address, &offset) : NULL;
}

const uint64_t *lull_machine_own_frames(struct lull_machine_names *names, const uint64_t *frames,
                                        uint32_t *n)
{
    while (*n > 0) {
        const char *function = lull_machine_function(names, *frames);
        if (!function ||
            (!g_str_has_prefix(function, "trace_event_raw_event_") &&
             !g_str_has_prefix(function, "__traceiter_") &&
             !g_str_has_prefix(function, "__bpf_trace_") && !g_str_has_prefix(function, "bpf_"))) {
            break;
        }
        frames++;
        (*n)--;
    }
    return frames;
}

/* ---- hops ---- */

/* "24:  0  831  PCI-MSIX-0000:00:05.0  1-edge  virtio1-req.0": the last word, after all counts. */
static void read_irqs(struct lull_machine_names *names)
{
    g_autofree char *text = NULL;
    names->irqs = g_hash_table_new(NULL, NULL);
    if (!g_file_get_contents("/proc/interrupts", &text, NULL, NULL)) {
        return;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (uint32_t i = 0; lines[i]; i++) {
        char *end;
        const guint64 number = g_ascii_strtoull(lines[i], &end, 10);
        const char *last = strrchr(g_strchomp(lines[i]), ' ');
        if (*end == ':' && end > lines[i] && last && number <= G_MAXUINT32) {
            g_hash_table_insert(names->irqs, GUINT_TO_POINTER(number),
                                lull_arena_strndup(names->arena, last + 1, strlen(last + 1)));
        }
    }
}

static void describe_irq(struct lull_machine_names *names, uint32_t number, GString *out)
{
    if (!names->irqs) {
        read_irqs(names);
    }
    const char *name = g_hash_table_lookup(names->irqs, GUINT_TO_POINTER(number));
    g_string_append_printf(out, "interrupt %u%s%s", number, name ? " " : "", name ? name : "");
}

void lull_track_disk(const struct lull_track_hop *hop, char out[LULL_TRACK_DISK_NAME_ROOM])
{
    g_autofree char *link =
        g_strdup_printf("/sys/dev/block/%u:%u", hop->a >> 20, hop->a & ((1u << 20) - 1));
    g_autofree char *target = g_file_read_link(link, NULL);
    g_autofree char *name = target ? g_path_get_basename(target) : NULL;
    g_strlcpy(out, name ? name : "", LULL_TRACK_DISK_NAME_ROOM);
}

static void describe_disk(const struct lull_track_hop *hop, GString *out)
{
    char name[LULL_TRACK_DISK_NAME_ROOM];
    lull_track_disk(hop, name);
    g_string_append_printf(out, "disk %s (%s)", *name ? name : "not known",
                           hop->b ? "write" : "read");
}

/* One of IPv4 that a socket for IPv6 writes longer is shown as what it is. */
void lull_track_address(const struct lull_track_hop *hop, char out[LULL_TRACK_ADDRESS])
{
    const bool is_mapped =
        hop->c & 1 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)hop->address);
    inet_ntop(hop->c & 1 && !is_mapped ? AF_INET6 : AF_INET, hop->address + (is_mapped ? 12 : 0),
              out, LULL_TRACK_ADDRESS);
}

/* "10.9.0.3:5432" */
static void describe_end(const char *before, const struct lull_track_hop *hop, GString *out)
{
    char address[LULL_TRACK_ADDRESS];
    lull_track_address(hop, address);
    g_string_append_printf(out, strchr(address, ':') ? "%s[%s]:%u" : "%s%s:%u", before, address,
                           hop->a);
}

static void describe_connection(const struct lull_track_hop *hop, GString *out)
{
    const bool is_out = hop->c & LULL_TRACK_CONNECTION_OUT;
    describe_end(is_out ? "connection to " : "connection from ", hop, out);
    if (!is_out) {
        g_string_append_printf(out, " to port %u", hop->b);
    }
    if (hop->c & LULL_TRACK_CONNECTION_FAILED) {
        g_string_append(out, " (failed)");
    }
}

static void describe_function(struct lull_machine_names *names, const char *what, uint64_t address,
                              GString *out)
{
    const char *function = lull_machine_function(names, address);
    g_string_append(out, what);
    if (function) {
        g_string_append(out, function);
    } else {
        g_string_append_printf(out, "0x%" PRIx64, address);
    }
}

/* The last of several numbers in a line of /proc/TID/status, the innermost; 0 if there is one, or the first is not
 * `outermost`. */
static uint32_t innermost_id(const char *status, const char *line, uint32_t outermost)
{
    const char *at = strstr(status, line);
    g_auto(GStrv) words = NULL;
    if (at) {
        g_autofree char *numbers = g_strndup(at + strlen(line), strcspn(at + strlen(line), "\n"));
        words = g_strsplit(g_strstrip(numbers), "\t", -1);
    }
    const uint32_t n = words ? g_strv_length(words) : 0;
    if (n < 2 || strtoul(words[0], NULL, 10) != outermost) {
        return 0;
    }
    return (uint32_t)strtoul(words[n - 1], NULL, 10);
}

bool lull_machine_own_ids(uint32_t pid, uint32_t tid, uint32_t *own_pid, uint32_t *own_tid)
{
    g_autofree char *path = g_strdup_printf("/proc/%u/status", tid);
    g_autofree char *status = NULL;
    if (!g_file_get_contents(path, &status, NULL, NULL)) {
        return false;
    }
    *own_pid = innermost_id(status, "\nNStgid:\t", pid);
    *own_tid = innermost_id(status, "\nNSpid:\t", tid);
    return *own_pid && *own_tid;
}

void lull_machine_describe(struct lull_machine_names *names, const struct lull_track_hop *hop,
                           GString *out)
{
    switch ((enum lull_track_hop_kind)hop->kind) {
    case LULL_TRACK_HOP_TASK:
        g_string_append(out, hop->comm);
        break;
    case LULL_TRACK_HOP_TIMER:
        g_string_append(out, "a timer");
        break;
    case LULL_TRACK_HOP_IRQ:
        describe_irq(names, hop->a, out);
        break;
    case LULL_TRACK_HOP_SOFTIRQ:
        g_string_append_printf(
            out, "softirq %s",
            hop->a < G_N_ELEMENTS(lull_softirq_names) - 1 ? lull_softirq_names[hop->a] : "?");
        break;
    case LULL_TRACK_HOP_DISK:
        describe_disk(hop, out);
        break;
    case LULL_TRACK_HOP_PACKET:
        describe_end("a packet from ", hop, out);
        break;
    case LULL_TRACK_HOP_EXPIRY:
        describe_function(names, "a timer of ", hop->function, out);
        break;
    case LULL_TRACK_HOP_WORK:
        describe_function(names, "work ", hop->function, out);
        break;
    case LULL_TRACK_HOP_INTERFACE:
        g_string_append_printf(out, "a packet of interface %.*s", LULL_TRACK_COMM, hop->comm);
        break;
    case LULL_TRACK_HOP_CONNECTION:
        describe_connection(hop, out);
        break;
    case LULL_TRACK_HOP_MARK: /* who shows it has its name and cookie */
        g_string_append(out, "mark");
        break;
    case LULL_TRACK_HOP_NONE:
    case LULL_TRACK_HOP_INTERRUPT:
    case LULL_TRACK_HOP_KINDS:
        g_string_append(out, "an interrupt");
        break;
    }
}

void lull_machine_describe_link(struct lull_machine_names *names,
                                const struct lull_track_link *link, GString *out)
{
    struct lull_track_hop hop = {.kind = link->kind, .a = link->a, .b = link->b};
    memcpy(hop.address, link->address, sizeof hop.address);
    if (link->kind == LULL_TRACK_HOP_PACKET && link->b & LULL_TRACK_PACKET_TO) {
        char address[LULL_TRACK_ADDRESS];
        hop.c = link->b & LULL_TRACK_PACKET_IPV6;
        lull_track_address(&hop, address);
        g_string_append_printf(out, "a packet from %s to port %u", address, link->a);
        return;
    }
    hop.c = link->kind == LULL_TRACK_HOP_PACKET && link->b & LULL_TRACK_PACKET_IPV6;
    lull_machine_describe(names, &hop, out);
}

/* SPDX-License-Identifier: MIT */
/* Writes the traces of tests/fuzz/traces that are CTF 1.8, which the fuzz targets change and whose
 * files are their first inputs: make_traces DIRECTORY. Those of CTF 2 are from
 * tests/corpus/test_ctf2.py. */
#include <string.h>

#include "filter/events.h"

#define FIELDS(...) ((const struct ctf_field[]){__VA_ARGS__, CTF_DONE})

static const struct ctf_label odd_labels[] = {{"small", -2, 5}, {"big", 6, 6}, {NULL, 0, 0}};
/* Nothing in it begins at a byte if it need not. */
static const struct ctf_field odd_fields[] = {
    CTF_U(1, "one"),
    CTF_I(33, "thirty_three"),
    CTF_I(63, "sixty_three"),
    {.kind = CTF_ARRAY,
     .name = "pairs",
     .length = 3,
     .members =
         FIELDS({.kind = CTF_STRUCT, .name = "", .members = FIELDS(CTF_U(3, "a"), CTF_U(9, "b"))})},
    CTF_U(11, "n"),
    {.kind = CTF_SEQUENCE, .name = "list", .reference = "n", .members = FIELDS(CTF_I(7, ""))},
    {.kind = CTF_FLOAT, .name = "single", .size = 32, .align = 1},
    {.kind = CTF_INT, .name = "tag", .size = 4, .is_signed = true, .labels = odd_labels},
    {.kind = CTF_VARIANT,
     .name = "choice",
     .reference = "tag",
     .members =
         FIELDS({.kind = CTF_FLOAT, .name = "small", .size = 64, .align = 64}, CTF_STR("big"))},
    {.kind = CTF_INT, .name = "far", .size = 17, .align = 64},
    CTF_DONE};
static const struct ctf_class odd = {"odd", odd_fields, FIELDS(CTF_U(2, "two"))};
static const struct ctf_class empty = {"empty", NULL, NULL};

static void write_odd(const char *dir, const struct ctf_options *how)
{
    struct ctf_options options = *how;
    options.no_kernel_classes = true;
    struct ctf_writer *w = ctf_writer_new(dir, &options);
    ctf_writer_class(w, &odd);
    ctf_writer_class(w, &empty);
    ctf_event(w, 0, 5, "odd",
              "context={two=3} one=1 thirty_three=-5 sixty_three=-5 pairs=[{a=7 b=1} {a=1 b=511}] "
              "list=[-64 63 -1] single=0.5 tag=-1 choice={small=-0.25} far=0x10001");
    ctf_event(w, 0, 6, "odd", "list=[] choice={big=\"x\\\"y\"}");
    ctf_writer_lose(w, 0, 3, 1);
    ctf_event(w, 0, 20000000007, "empty", "%s", "");
    ctf_writer_close(w);
}

/* What the model of a machine binds: tasks, packets of the network. */
static void write_kernel(const char *dir, const struct ctf_options *how)
{
    static const char *const names[] = {"sched_switch", "sched_process_fork", "net_dev_queue",
                                        "syscall_exit_read"};
    struct ctf_options options = *how;
    options.no_kernel_classes = true;
    options.contexts = CTF_TID | CTF_PROCNAME;
    struct ctf_writer *w = ctf_writer_new(dir, &options);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        for (const struct ctf_class *c = ctf_kernel_classes; c->name; c++) {
            if (strcmp(c->name, names[i]) == 0) {
                ctf_writer_class(w, c);
            }
        }
    }
    ctf_writer_current(w, 0, 10, 11, "worker");
    ctf_event(w, 0, 1000, "sched_switch",
              "prev_comm=worker prev_tid=11 prev_state=1 next_comm=\"a b\" next_tid=7");
    ctf_event(w, 0, 20000000003, "sched_process_fork", "parent_comm=p child_tid=3 vtids=[3 1]");
    ctf_event(
        w, 0, 20000000004, "net_dev_queue",
        "skbaddr=0xffff len=60 name=eth0 network_header={ipv4={version=4 ihl=5 protocol=tcp "
        "saddr=[10 0 0 1] transport_header={tcp={source_port=80 seq=4000000000 flags=0x18}}}}");
    ctf_writer_end_packet(w, 0);
    ctf_writer_empty_packet(w, 0, 20000000004, 20000000005);
    ctf_event(w, 0, 20000000005, "net_dev_queue",
              "network_header={ipv6={saddr=[0x2001 0xdb8 0 0 0 0 0 1] "
              "transport_header={udp={source_port=53}}}}");
    ctf_event(w, 0, 20000000006, "syscall_exit_read", "ret=-11 buf=0xffffffffffffffff");
    ctf_writer_close(w);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(const char *dir, const struct ctf_options *how);
        struct ctf_options how;
    } traces[] = {
        {"a-events-compact", write_events, {.packet_bytes = 512}},
        {"b-events-large-be",
         write_events,
         {.packet_bytes = 1024, .big_endian = true, .large_header = true, .natural_align = true}},
        {"c-odd-large", write_odd, {.packet_bytes = 256, .large_header = true}},
        {"d-odd-compact-be",
         write_odd,
         {.packet_bytes = 256, .big_endian = true, .natural_align = true}},
        {"e-kernel", write_kernel, {.packet_bytes = 512}},
    };
    if (argc != 2) {
        return 2;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(traces); i++) {
        struct ctf_options how = traces[i].how;
        g_autofree char *dir = g_build_filename(argv[1], traces[i].name, NULL);
        how.plain_metadata = true;
        traces[i].write(dir, &how);
    }
    return 0;
}

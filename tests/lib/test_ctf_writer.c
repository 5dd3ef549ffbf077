/* SPDX-License-Identifier: MIT */
/* The trace writer against its reference: babeltrace2 must read what it wrote and print the values
 * that were put in. Skipped where babeltrace2 is not installed. */
#include "lib/ctf_writer.h"
#include "lib/scratch.h"

#include <string.h>

/* Text that babeltrace2 prints for a trace, one event a line; NULL: not installed. */
static char *babeltrace(const char *dir)
{
    g_autofree char *program = g_find_program_in_path("babeltrace2");
    if (!program) {
        return NULL;
    }
    const char *argv[] = {program, "--names", "none", "--clock-cycles", "--no-delta", dir, NULL};
    char *out = NULL, *err = NULL;
    int status = -1;
    GError *error = NULL;
    g_spawn_sync(NULL, (char **)argv, NULL, 0, NULL, NULL, &out, &err, &status, &error);
    g_assert_no_error(error);
    if (status || strstr(err, "ERROR")) {
        g_error("babeltrace2: %s", err);
    }
    g_free(err);
    return out;
}

static void expect(const char *dir, const char *wanted)
{
    g_autofree char *got = babeltrace(dir);
    if (!got) {
        g_test_skip("babeltrace2 is not installed");
    } else {
        g_assert_cmpstr(got, ==, wanted);
    }
}

/* Bit 0: byte order, bit 1: header, bit 2: alignment, bit 3: metadata. */
static struct ctf_options shape(gconstpointer bits)
{
    unsigned b = GPOINTER_TO_UINT(bits);
    return (struct ctf_options){.big_endian = b & 1,
                                .large_header = b & 2,
                                .natural_align = b & 4,
                                .plain_metadata = b & 8,
                                .contexts = CTF_TID | CTF_PROCNAME};
}

static void test_kernel(gconstpointer bits)
{
    g_autofree char *dir = scratch_dir();
    struct ctf_options options = shape(bits);
    struct ctf_writer *w = ctf_writer_new(dir, &options);
    ctf_writer_current(w, 0, 10, 11, "worker");
    ctf_event(
        w, 0, 1000, "sched_switch",
        "prev_comm=worker prev_tid=11 prev_prio=20 prev_state=-1 next_comm=\"a b\" next_tid=7");
    /* further than 27 and 32 bits of time: the extended header */
    ctf_event(w, 0, 20000000000, "irq_handler_entry", "irq=5 name=eth0");
    ctf_event(w, 0, 20000000003, "sched_process_fork", "parent_comm=p child_tid=3 vtids=[3 1]");
    ctf_event(w, 0, 20000000004, "net_dev_queue",
              "skbaddr=0xffff len=60 name=eth0 network_header={ipv4={version=4 ihl=5 protocol=tcp "
              "saddr=[10 0 0 1] transport_header={tcp={source_port=80 seq=4000000000 "
              "data_offset=5 flags=0x18}}}}");
    ctf_event(w, 0, 20000000005, "net_dev_queue",
              "network_header={ipv6={saddr=[0x2001 0xdb8 0 0 0 0 0 1] "
              "transport_header={udp={source_port=53}}}}");
    ctf_event(w, 0, 20000000006, "syscall_exit_read", "ret=-11 buf=0xffffffffffffffff");
    ctf_writer_close(w);
    expect(
        dir,
        "[00000000000000001000] host sched_switch: { 0 }, { 11, \"worker\" }, "
        "{ \"worker\", 11, 20, -1, \"a b\", 7, 0 }\n"
        "[00000000020000000000] host irq_handler_entry: { 0 }, { 11, \"worker\" }, "
        "{ 5, \"eth0\" }\n"
        "[00000000020000000003] host sched_process_fork: { 0 }, { 11, \"worker\" }, "
        "{ \"p\", 0, 0, 0, \"\", 3, 2, [ 3, 1 ], 0, 0 }\n"
        "[00000000020000000004] host net_dev_queue: { 0 }, { 11, \"worker\" }, "
        "{ 0xFFFF, 60, \"eth0\", ( \"_ipv4\" : container = 1 ), { { 4, 5, 0, 0, 0x0, 0, 0, "
        "( \"_tcp\" : container = 6 ), 0x0, { }, [ 10, 0, 0, 1 ], { }, [ 0, 0, 0, 0 ], "
        "( \"_tcp\" : container = 1 ), { { 80, 0, 4000000000, 0, 5, 0, 0x18, 0, 0x0, 0 } } } } }\n"
        "[00000000020000000005] host net_dev_queue: { 0 }, { 11, \"worker\" }, "
        "{ 0x0, 0, \"\", ( \"_ipv6\" : container = 2 ), { { 0, 0, { }, [ 0x0, 0x0, 0x0 ], 0, "
        "( \"_unknown\" : container = 0 ), 0, { }, "
        "[ 0x2001, 0xDB8, 0x0, 0x0, 0x0, 0x0, 0x0, 0x1 ], { }, "
        "[ 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0 ], ( \"_udp\" : container = 2 ), "
        "{ { 53, 0, 0, 0 } } } } }\n"
        "[00000000020000000006] host syscall_exit_read: { 0 }, { 11, \"worker\" }, "
        "{ -11, 18446744073709551615 }\n");
    scratch_remove(dir);
}

#define TABLE static const struct ctf_field

TABLE odd_inner[] = {
    CTF_U(3, "a"), {.kind = CTF_INT, .name = "b", .size = 9, .align = 2}, CTF_DONE};
TABLE odd_element[] = {{.kind = CTF_STRUCT, .name = "", .members = odd_inner}, CTF_DONE};
TABLE odd_sequence_element[] = {CTF_I(7, ""), CTF_DONE};
static const struct ctf_label odd_labels[] = {{"small", -2, 5}, {"big", 6, 6}, {NULL, 0, 0}};
TABLE odd_option[] = {{.kind = CTF_FLOAT, .name = "small", .size = 64, .align = 64},
                      {.kind = CTF_STRING, .name = "big"},
                      CTF_DONE};
TABLE odd_fields[] = {
    CTF_U(1, "one"),
    CTF_I(5, "five"),
    CTF_U(33, "thirty_three"),
    CTF_I(63, "sixty_three"),
    {.kind = CTF_ARRAY, .name = "pairs", .length = 3, .members = odd_element},
    CTF_U(11, "n"),
    {.kind = CTF_SEQUENCE, .name = "list", .reference = "n", .members = odd_sequence_element},
    {.kind = CTF_FLOAT, .name = "single", .size = 32, .align = 1},
    {.kind = CTF_INT, .name = "tag", .size = 4, .is_signed = true, .labels = odd_labels},
    {.kind = CTF_VARIANT, .name = "choice", .reference = "tag", .members = odd_option},
    {.kind = CTF_INT, .name = "far", .size = 17, .align = 64},
    CTF_DONE};
TABLE odd_context[] = {CTF_U(2, "two"), CTF_DONE};
static const struct ctf_class odd = {"odd", odd_fields, odd_context};
static const struct ctf_class empty = {"empty", NULL, NULL};

static void test_odd(gconstpointer bits)
{
    g_autofree char *dir = scratch_dir();
    struct ctf_options options = shape(bits);
    options.contexts = 0;
    struct ctf_writer *w = ctf_writer_new(dir, &options);
    ctf_writer_class(w, &odd);
    ctf_writer_class(w, &empty);
    ctf_event(w, 1, 5, "odd",
              "context={two=3} one=1 five=-16 thirty_three=0x1ffffffff sixty_three=-5 "
              "pairs=[{a=7 b=1} {a=1 b=511}] list=[-64 63 -1] single=0.5 tag=-1 "
              "choice={small=-0.25} far=0x10001");
    ctf_event(w, 1, 6, "odd", "list=[] choice={big=\"x\\\"y\"}");
    ctf_event(w, 1, 7, "empty", "%s", "");
    ctf_writer_close(w);
    expect(dir, "[00000000000000000005] host odd: { 1 }, { 3 }, { 1, -16, 8589934591, -5, "
                "[ { 7, 1 }, { 1, 511 }, { 0, 0 } ], 3, [ -64, 63, -1 ], 0.5, "
                "( \"_small\" : container = -1 ), { -0.25 }, 65537 }\n"
                "[00000000000000000006] host odd: { 1 }, { 0 }, { 0, 0, 0, 0, "
                "[ { 0, 0 }, { 0, 0 }, { 0, 0 } ], 0, [ ], 0, "
                "( \"_big\" : container = 6 ), { \"x\\\"y\" }, 0 }\n"
                "[00000000000000000007] host empty: { 1 }\n");
    scratch_remove(dir);
}

/* Several packets, channels and CPUs; losses; what must come back is each number once. */
static void test_packets(void)
{
    g_autofree char *dir = scratch_dir();
    struct ctf_options options = {.packet_bytes = 256, .contexts = CTF_PID};
    struct ctf_writer *w = ctf_writer_new(dir, &options);
    for (int i = 0; i < 100; i++) {
        ctf_event(w, (unsigned)i % 2, 100 + i, "irq_softirq_raise", "vec=%d", i);
    }
    unsigned second = ctf_writer_channel(w, true, 0);
    ctf_writer_class(w, &empty);
    ctf_event(w, 0, 150, "empty", "%s", "");
    ctf_writer_use(w, 0);
    ctf_writer_lose(w, 0, 3, 1);
    ctf_event(w, 0, 300, "irq_softirq_raise", "vec=100");
    ctf_writer_use(w, second);
    ctf_event(w, 0, 400, "empty", "%s", "");
    ctf_writer_close(w);
    g_autofree char *got = babeltrace(dir);
    if (!got) {
        g_test_skip("babeltrace2 is not installed");
    } else {
        g_auto(GStrv) lines = g_strsplit(got, "\n", -1);
        g_assert_cmpuint(g_strv_length(lines), ==, 104);
        for (int i = 0, next = 0; i < 103; i++) {
            const char *vec = strrchr(lines[i], '{');
            if (strstr(lines[i], "empty")) {
                continue;
            }
            g_assert_cmpint(atoi(vec + 2), ==, next++);
        }
    }
    scratch_remove(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned bits = 0; bits < 16; bits++) {
        g_autofree char *name =
            g_strdup_printf("%s-%s-%s-%s", bits & 1 ? "be" : "le", bits & 2 ? "large" : "compact",
                            bits & 4 ? "natural" : "bytes", bits & 8 ? "plain" : "packets");
        g_autofree char *kernel = g_strconcat("/ctf-writer/kernel/", name, NULL);
        g_autofree char *odd_name = g_strconcat("/ctf-writer/odd/", name, NULL);
        g_test_add_data_func(kernel, GUINT_TO_POINTER(bits), test_kernel);
        g_test_add_data_func(odd_name, GUINT_TO_POINTER(bits), test_odd);
    }
    g_test_add_func("/ctf-writer/packets", test_packets);
    return g_test_run();
}

/* SPDX-License-Identifier: MIT */
/* Trace writer: field tables of the LTTng 2.13 kernel events that matter for waiting, as the
 * metadata of lttng-modules 2.13.9 on Linux 6.1 (x86-64) declares them. */
#include "lib/ctf_writer.h"

const struct ctf_field ctf_char[] = {
    {.kind = CTF_INT, .name = "", .size = 8, .is_signed = true, .is_text = true}, CTF_DONE};

#define COMM(n) CTF_TEXT(n, 16)
#define FIELDS(...) ((const struct ctf_field[]){__VA_ARGS__, CTF_DONE})
#define NO_FIELDS ((const struct ctf_field[]){CTF_DONE})
#define LABELS(...) ((const struct ctf_label[]){__VA_ARGS__, {NULL, 0, 0}})

/* Header fields are in network order whatever the trace's is. */
#define NET(bits, n) {.kind = CTF_INT, .name = n, .size = bits, .order = CTF_BIG}
#define NETX(bits, n) {.kind = CTF_INT, .name = n, .size = bits, .order = CTF_BIG, .base = 16}
#define NIBBLE(n) {.kind = CTF_INT, .name = n, .size = 4, .align = 4, .order = CTF_BIG}
#define PADDING(n) {.kind = CTF_STRUCT, .name = n, .members = NO_FIELDS, .align = 8}
#define ARRAY(n, count, element)                                                                   \
    {.kind = CTF_ARRAY, .name = n, .length = count, .members = FIELDS(element)}

#define PROTOCOL(n)                                                                                \
    {.kind = CTF_INT,                                                                              \
     .name = n,                                                                                    \
     .size = 8,                                                                                    \
     .order = CTF_BIG,                                                                             \
     .labels = LABELS({"unknown", 0, 0}, {"icmp", 1, 1}, {"unknown", 2, 5}, {"tcp", 6, 6},         \
                      {"unknown", 7, 16}, {"udp", 17, 17}, {"unknown", 18, 255})}

#define TRANSPORT                                                                                  \
    {.kind = CTF_INT,                                                                              \
     .name = "transport_header_type",                                                              \
     .size = 8,                                                                                    \
     .labels = LABELS({"unknown", 0, 0}, {"tcp", 1, 1}, {"udp", 2, 2}, {"icmp", 3, 3})},           \
    {                                                                                              \
        .kind = CTF_VARIANT, .name = "transport_header", .reference = "transport_header_type",     \
        .members = transport_options                                                               \
    }

static const struct ctf_field transport_options[] = {
    {.kind = CTF_STRUCT, .name = "unknown", .members = NO_FIELDS},
    {.kind = CTF_STRUCT,
     .name = "tcp",
     .members =
         FIELDS(NET(16, "source_port"), NET(16, "dest_port"), NET(32, "seq"), NET(32, "ack_seq"),
                NIBBLE("data_offset"), NET(3, "reserved"), NETX(9, "flags"), NET(16, "window_size"),
                NETX(16, "checksum"), NET(16, "urg_ptr"))},
    {.kind = CTF_STRUCT,
     .name = "udp",
     .members =
         FIELDS(NET(16, "source_port"), NET(16, "dest_port"), NET(16, "len"), NET(16, "check"))},
    {.kind = CTF_STRUCT,
     .name = "icmp",
     .members = FIELDS(NET(8, "type"), NET(8, "code"), NET(16, "checksum"), NET(32, "gateway"))},
    CTF_DONE};

static const struct ctf_field ipv4[] = {NIBBLE("version"),
                                        NIBBLE("ihl"),
                                        NET(8, "tos"),
                                        NET(16, "tot_len"),
                                        NETX(16, "id"),
                                        NET(16, "frag_off"),
                                        NET(8, "ttl"),
                                        PROTOCOL("protocol"),
                                        NETX(16, "checksum"),
                                        PADDING("saddr_padding"),
                                        ARRAY("saddr", 4, NET(8, "")),
                                        PADDING("daddr_padding"),
                                        ARRAY("daddr", 4, NET(8, "")),
                                        TRANSPORT,
                                        CTF_DONE};

static const struct ctf_field ipv6[] = {NIBBLE("version"),
                                        NIBBLE("prio"),
                                        PADDING("flow_lbl_padding"),
                                        ARRAY("flow_lbl", 3, NETX(8, "")),
                                        NET(16, "payload_len"),
                                        PROTOCOL("nexthdr"),
                                        NET(8, "hop_limit"),
                                        PADDING("saddr_padding"),
                                        ARRAY("saddr", 8, NETX(16, "")),
                                        PADDING("daddr_padding"),
                                        ARRAY("daddr", 8, NETX(16, "")),
                                        TRANSPORT,
                                        CTF_DONE};

static const struct ctf_field packet_fields[] = {
    CTF_X(64, "skbaddr"),
    CTF_U(32, "len"),
    CTF_STR("name"),
    {.kind = CTF_INT,
     .name = "network_header_type",
     .size = 8,
     .labels = LABELS({"unknown", 0, 0}, {"ipv4", 1, 1}, {"ipv6", 2, 2})},
    {.kind = CTF_VARIANT,
     .name = "network_header",
     .reference = "network_header_type",
     .members = FIELDS({.kind = CTF_STRUCT, .name = "unknown", .members = NO_FIELDS},
                       {.kind = CTF_STRUCT, .name = "ipv4", .members = ipv4},
                       {.kind = CTF_STRUCT, .name = "ipv6", .members = ipv6})},
    CTF_DONE};

static const struct ctf_field vtid_element[] = {CTF_I(32, ""), CTF_DONE};

static const struct ctf_field fork_fields[] = {
    COMM("parent_comm"),
    CTF_I(32, "parent_tid"),
    CTF_I(32, "parent_pid"),
    CTF_U(32, "parent_ns_inum"),
    COMM("child_comm"),
    CTF_I(32, "child_tid"),
    CTF_U(8, "_vtids_length"),
    {.kind = CTF_SEQUENCE, .name = "vtids", .reference = "_vtids_length", .members = vtid_element},
    CTF_I(32, "child_pid"),
    CTF_U(32, "child_ns_inum"),
    CTF_DONE};

#define SWITCH                                                                                     \
    FIELDS(COMM("prev_comm"), CTF_I(32, "prev_tid"), CTF_I(32, "prev_prio"),                       \
           CTF_I(64, "prev_state"), COMM("next_comm"), CTF_I(32, "next_tid"),                      \
           CTF_I(32, "next_prio"))
#define WAKE FIELDS(COMM("comm"), CTF_I(32, "tid"), CTF_I(32, "prio"), CTF_I(32, "target_cpu"))
#define TASK FIELDS(COMM("comm"), CTF_I(32, "tid"), CTF_I(32, "prio"))
#define VECTOR FIELDS(CTF_I(32, "vector"))
#define SOFTIRQ FIELDS(CTF_U(32, "vec"))
#define REQUEST                                                                                    \
    FIELDS(CTF_U(32, "dev"), CTF_U(64, "sector"), CTF_U(32, "nr_sector"), CTF_U(32, "bytes"),      \
           CTF_I(32, "tid"), CTF_U(32, "rwbs"), COMM("comm"))
#define RETURN FIELDS(CTF_I(64, "ret"))
#define NUMBERS                                                                                    \
    FIELDS(CTF_X(64, "sk"), CTF_U(32, "seq"), CTF_U(32, "ack_seq"), CTF_X(16, "check"),            \
           CTF_U(16, "window"), CTF_X(16, "flags"))

const struct ctf_class ctf_kernel_classes[] = {
    {"sched_switch", SWITCH, NULL},
    {"sched_wakeup", WAKE, NULL},
    {"sched_waking", WAKE, NULL},
    {"sched_wakeup_new", WAKE, NULL},
    {"sched_migrate_task",
     FIELDS(COMM("comm"), CTF_I(32, "tid"), CTF_I(32, "prio"), CTF_I(32, "orig_cpu"),
            CTF_I(32, "dest_cpu")),
     NULL},
    {"sched_process_fork", fork_fields, NULL},
    {"sched_process_exec", FIELDS(CTF_STR("filename"), CTF_I(32, "tid"), CTF_I(32, "old_tid")),
     NULL},
    {"sched_process_exit", TASK, NULL},
    {"sched_process_free", TASK, NULL},
    {"sched_process_wait", TASK, NULL},
    {"irq_handler_entry", FIELDS(CTF_I(32, "irq"), CTF_STR("name")), NULL},
    {"irq_handler_exit", FIELDS(CTF_I(32, "irq"), CTF_I(32, "ret")), NULL},
    {"irq_softirq_entry", SOFTIRQ, NULL},
    {"irq_softirq_exit", SOFTIRQ, NULL},
    {"irq_softirq_raise", SOFTIRQ, NULL},
    {"timer_hrtimer_expire_entry",
     FIELDS(CTF_X(64, "hrtimer"), CTF_I(64, "now"), CTF_X(64, "function")), NULL},
    {"timer_hrtimer_expire_exit", FIELDS(CTF_X(64, "hrtimer")), NULL},
    {"net_dev_queue", packet_fields, NULL},
    {"net_if_receive_skb", packet_fields, NULL},
    {"inet_sock_local_out", NUMBERS, NULL},
    {"inet_sock_local_in", NUMBERS, NULL},
    {"block_rq_issue", REQUEST, NULL},
    {"block_rq_complete",
     FIELDS(CTF_U(32, "dev"), CTF_U(64, "sector"), CTF_U(32, "nr_sector"), CTF_I(32, "error"),
            CTF_U(32, "rwbs")),
     NULL},
    {"block_rq_insert", REQUEST, NULL},
    {"x86_irq_vectors_local_timer_entry", VECTOR, NULL},
    {"x86_irq_vectors_local_timer_exit", VECTOR, NULL},
    {"x86_irq_vectors_reschedule_entry", VECTOR, NULL},
    {"x86_irq_vectors_reschedule_exit", VECTOR, NULL},
    {"x86_irq_vectors_call_function_entry", VECTOR, NULL},
    {"x86_irq_vectors_call_function_exit", VECTOR, NULL},
    {"x86_irq_vectors_call_function_single_entry", VECTOR, NULL},
    {"x86_irq_vectors_call_function_single_exit", VECTOR, NULL},
    {"lttng_statedump_start", NO_FIELDS, NULL},
    {"lttng_statedump_process_state",
     FIELDS(CTF_I(32, "tid"), CTF_I(32, "pid"), CTF_I(32, "ppid"), COMM("name"), CTF_I(32, "type"),
            CTF_I(32, "mode"), CTF_I(32, "submode"), CTF_I(32, "status"), CTF_U(32, "cpu"),
            CTF_X(64, "file_table_address")),
     NULL},
    {"lttng_statedump_block_device", FIELDS(CTF_U(32, "dev"), CTF_STR("diskname")), NULL},
    {"lttng_statedump_end", NO_FIELDS, NULL},
    {"syscall_entry_read", FIELDS(CTF_U(32, "fd"), CTF_U(64, "count")), NULL},
    {"syscall_exit_read", FIELDS(CTF_I(64, "ret"), CTF_U(64, "buf")), NULL},
    {"syscall_entry_write", FIELDS(CTF_U(32, "fd"), CTF_U(64, "buf"), CTF_U(64, "count")), NULL},
    {"syscall_exit_write", RETURN, NULL},
    {"syscall_entry_openat",
     FIELDS(CTF_I(32, "dfd"), CTF_STR("filename"), CTF_I(32, "flags"), CTF_U(16, "mode")), NULL},
    {"syscall_exit_openat", RETURN, NULL},
    {"syscall_entry_futex",
     FIELDS(CTF_U(64, "uaddr"), CTF_I(32, "op"), CTF_U(32, "val"), CTF_U(64, "utime"),
            CTF_U(64, "uaddr2"), CTF_U(32, "val3")),
     NULL},
    {"syscall_exit_futex", RETURN, NULL},
    {"syscall_entry_clock_nanosleep",
     FIELDS(CTF_I(32, "which_clock"), CTF_I(32, "flags"), CTF_U(64, "rqtp")), NULL},
    {"syscall_exit_clock_nanosleep", RETURN, NULL},
    {"syscall_entry_kill", FIELDS(CTF_I(32, "pid"), CTF_I(32, "sig")), NULL},
    {"syscall_exit_kill", RETURN, NULL},
    {NULL, NULL, NULL}};

/* SPDX-License-Identifier: MIT */
/* Thousands of damaged traces: nothing may crash, hang, read out of bounds (run it under ASan) or
 * hide that something is missing. LULL_MUTATIONS sets the number of cases, LULL_MUTATION_SEED the
 * seed, LULL_MUTATION_CASE runs a single case, LULL_MUTATION_KEEP leaves its trace there. */
#include "lib/ctf_writer.h"
#include "lib/image.h"
#include "lib/scratch.h"
#include "robust/mutate.h"
#include "robust/watch.h"
#include "robust/walk.h"

#define DEFAULT_CASES 4000 /* fuzzers with sanitizers go on from there */
#define CASE_SECONDS 10    /* generous: the machine may be busy, and ASan is slow */

/* ---- traces to damage ---- */

#define TABLE static const struct ctf_field

TABLE inner[] = {CTF_U(3, "a"), CTF_I(13, "b"), CTF_DONE};
TABLE struct_element[] = {{.kind = CTF_STRUCT, .name = "", .members = inner}, CTF_DONE};
TABLE string_element[] = {CTF_STR(""), CTF_DONE};
static const struct ctf_label labels[] = {{"number", 0, 3}, {"text", 4, 9}, {NULL, 0, 0}};
TABLE options[] = {CTF_U(40, "number"), CTF_STR("text"), CTF_DONE};
TABLE mixed_fields[] = {
    CTF_U(5, "n"),
    {.kind = CTF_SEQUENCE, .name = "structs", .reference = "n", .members = struct_element},
    CTF_U(16, "m"),
    {.kind = CTF_SEQUENCE, .name = "strings", .reference = "m", .members = string_element},
    CTF_U(32, "k"),
    {.kind = CTF_SEQUENCE, .name = "text", .reference = "k", .members = ctf_char},
    {.kind = CTF_INT, .name = "tag", .size = 8, .labels = labels},
    {.kind = CTF_VARIANT, .name = "choice", .reference = "tag", .members = options},
    {.kind = CTF_FLOAT, .name = "real", .size = 64},
    CTF_DONE};
TABLE own_context[] = {CTF_U(7, "own"), CTF_DONE};
static const struct ctf_class mixed = {"mixed", mixed_fields, own_context};
static const struct ctf_class nothing = {"nothing", NULL, NULL};

#define ROUNDS 40
#define EVENTS_PER_ROUND 8

static void write_base(const char *dir, unsigned shape)
{
    struct ctf_options o = {.big_endian = shape & 1,
                            .large_header = shape & 2,
                            .natural_align = shape & 4,
                            .plain_metadata = shape & 1,
                            .contexts = CTF_PID | CTF_TID | CTF_PROCNAME,
                            .seed = (uint8_t)shape,
                            .packet_bytes = shape & 2 ? 4096 : 512,
                            .no_index = shape & 4,
                            .omit = (const char *const[]){"syscall_*", "x86_*", NULL}};
    struct ctf_writer *w = ctf_writer_new(dir, &o);
    ctf_writer_class(w, &mixed);
    ctf_writer_class(w, &nothing);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t t = 1000000000 + i * INT64_C(350000000);
        unsigned cpu = (unsigned)i % 2;
        ctf_writer_current(w, cpu, 1, i, "task");
        ctf_event(w, cpu, t, "sched_switch", "prev_comm=task prev_tid=%d next_comm=\"b%d\"", i, i);
        ctf_event(w, cpu, t + 1, "sched_process_fork", "child_tid=%d vtids=[%d 2 3]", i, i);
        ctf_event(w, cpu, t + 2, "mixed",
                  "context={own=%d} structs=[{a=1 b=-3} {a=2 b=4}] strings=[x \"\" \"long %d\"] "
                  "text=hello choice={text=\"t%d\"} real=%d.5",
                  i, i, i, i);
        ctf_event(w, cpu, t + 3, "net_dev_queue",
                  "skbaddr=%d len=60 name=eth0 network_header={ipv4={version=4 ihl=5 protocol=tcp "
                  "saddr=[10 0 0 1] transport_header={tcp={seq=%d flags=0x18}}}}",
                  i, i);
        ctf_event(w, cpu, t + 4, "net_if_receive_skb",
                  "network_header={ipv6={saddr=[1 2 3 4 5 6 7 8] "
                  "transport_header={udp={source_port=%d}}}}",
                  i);
        ctf_event(w, cpu, t + 5, "nothing", "%s", "");
        ctf_event(w, cpu, t + 6, "mixed", "choice={number=%d}", i);
        ctf_event(w, cpu, t + 7, "irq_handler_entry", "irq=%d name=\"name of the irq\"", i);
    }
    ctf_writer_close(w);
}

#define N_SHAPES 8

struct bases {
    struct image *image[N_SHAPES + 4];
    uint64_t events[N_SHAPES + 4];
    unsigned count;
};

/* Small recorded traces, if the environment names a directory of them. */
static void add_recorded(struct bases *bases)
{
    const char *names[] = {"wk-cpm1", "truth-chain-nosys"};
    const char *root = g_getenv("LULL_TEST_TRACES");
    for (unsigned i = 0; root && i < G_N_ELEMENTS(names); i++) {
        g_autofree char *dir = g_build_filename(root, names[i], "kernel", NULL);
        if (!g_file_test(dir, G_FILE_TEST_IS_DIR)) {
            continue;
        }
        struct walk walk;
        walk_trace(&walk, dir, UINT64_MAX);
        bases->image[bases->count] = image_read(dir);
        bases->events[bases->count++] = walk.events;
        walk_clear(&walk);
    }
}

static void make_bases(struct bases *bases)
{
    *bases = (struct bases){.count = 0};
    for (unsigned shape = 0; shape < N_SHAPES; shape++) {
        g_autofree char *dir = scratch_dir();
        write_base(dir, shape);
        bases->image[shape] = image_read(dir);
        bases->events[shape] = ROUNDS * EVENTS_PER_ROUND;
        bases->count++;
        scratch_remove(dir);
    }
    add_recorded(bases);
}

static uint64_t bits_of(const struct image *image)
{
    uint64_t bits = 0;
    for (guint i = 0; i < image->files->len; i++) {
        bits += 8 * ((struct image_file *)g_ptr_array_index(image->files, i))->bytes->len;
    }
    return bits;
}

/* Without damage: every event, no problem, twice the same. */
static void test_sound(void)
{
    struct bases bases;
    make_bases(&bases);
    for (unsigned i = 0; i < bases.count; i++) {
        g_autofree char *dir = scratch_dir();
        struct walk first, second;
        image_write(bases.image[i], dir);
        walk_trace(&first, dir, bits_of(bases.image[i]));
        walk_trace(&second, dir, bits_of(bases.image[i]));
        g_assert_cmpstr(first.error, ==, NULL);
        g_assert_cmpstr(first.all_problems, ==, NULL);
        g_assert_cmpstr(first.visit_error, ==, NULL);
        g_assert_cmpuint(first.events, ==, bases.events[i]);
        g_assert_cmpuint(first.counted, ==, bases.events[i]);
        g_assert_cmpuint(first.disorder, ==, 0);
        g_assert_cmpuint(first.lost_packets + first.lost_events, ==, 0);
        g_assert_cmphex(first.checksum, ==, second.checksum);
        walk_clear(&first);
        walk_clear(&second);
        scratch_remove(dir);
        image_free(bases.image[i]);
    }
}

/* ---- damage ---- */

static void check_case(const struct walk *walk, const struct mutation *mutation, const char *name,
                       uint64_t whole)
{
    bool said = walk->error || walk->problems || walk->visit_error || walk->lost_events ||
                walk->lost_packets;
    if (walk->endless) {
        g_error("%smore events than bits in the trace", name);
    }
    if (walk->disorder) {
        g_error("%s%" G_GUINT64_FORMAT " events out of order", name, walk->disorder);
    }
    if (mutation->must_report && !said) {
        g_error("%snothing was reported (%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " events)",
                name, walk->events, whole);
    }
}

static void run_case(const struct bases *bases, uint64_t seed, unsigned number, unsigned *reported)
{
    struct random random = {seed + number * UINT64_C(0x9E3779B97F4A7C15)};
    /* the recorded traces are some hundred times larger: take them rarely */
    unsigned base = (unsigned)random_below(&random, N_SHAPES);
    if (bases->count > N_SHAPES && random_below(&random, 50) == 0) {
        base = N_SHAPES + (unsigned)random_below(&random, bases->count - N_SHAPES);
    }
    struct image *image = image_copy(bases->image[base]);
    struct mutation mutation = mutate(&random, image, bases->image[(base + 1) % N_SHAPES]);
    g_autofree char *name = g_strdup_printf("# seed %" G_GUINT64_FORMAT " case %u base %u: %s\n",
                                            seed, number, base, mutation.what);
    const char *keep = g_getenv("LULL_MUTATION_KEEP");
    g_autofree char *dir = keep ? g_strdup(keep) : scratch_dir();
    image_write(image, dir);
    watch_start(name, CASE_SECONDS);
    struct walk walk;
    walk_trace(&walk, dir, bits_of(image));
    watch_end();
    if (keep) {
        g_printerr("%serror: %s\nproblem: %s\nvisit: %s\nevents: %" G_GUINT64_FORMAT "\n", name,
                   walk.error, walk.all_problems, walk.visit_error, walk.events);
    }
    check_case(&walk, &mutation, name, bases->events[base]);
    *reported += walk.error || walk.problems || walk.visit_error;
    walk_clear(&walk);
    if (!keep) {
        scratch_remove(dir);
    }
    image_free(image);
}

static uint64_t number_from(const char *variable, uint64_t fallback)
{
    const char *text = g_getenv(variable);
    return text ? g_ascii_strtoull(text, NULL, 0) : fallback;
}

static void test_damaged(void)
{
    struct bases bases;
    make_bases(&bases);
    uint64_t seed = number_from("LULL_MUTATION_SEED", 20261121);
    unsigned cases = (unsigned)number_from("LULL_MUTATIONS", DEFAULT_CASES), reported = 0;
    g_test_message("seed %" G_GUINT64_FORMAT ", %u cases", seed, cases);
    if (g_getenv("LULL_MUTATION_CASE")) {
        run_case(&bases, seed, (unsigned)number_from("LULL_MUTATION_CASE", 0), &reported);
    } else {
        for (unsigned i = 0; i < cases; i++) {
            run_case(&bases, seed, i, &reported);
        }
        g_test_message("%u of %u cases reported damage", reported, cases);
        g_assert_cmpuint(reported, >, cases / 4); /* else the damage does not arrive */
    }
    for (unsigned i = 0; i < bases.count; i++) {
        image_free(bases.image[i]);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/robust/sound", test_sound);
    g_test_add_func("/robust/damaged", test_damaged);
    return g_test_run();
}

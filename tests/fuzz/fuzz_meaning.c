/* SPDX-License-Identifier: MIT */
/* Fuzz target: what verbs make of well-formed traces that mean nonsense (meaning.h). The first byte
 * chooses the verb, the second its options, the third a task. A verb may refuse; it must come to an
 * end in seconds, with memory and output in proportion to the little that it was given. */
#include "fuzz/meaning.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "cmd/dropin.h"
#include "cmd/options.h"

/* Of a verb, for an input of some KB, with sanitizers and on a loaded machine. */
#define MOST_CPU_SECONDS 20
#define MOST_MEMORY_BYTES (UINT64_C(1200) << 20)
#define MOST_OUTPUT_BYTES (UINT64_C(24) << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PERIOD "--period=p : $evt.$name == \"sched_switch\" : $evt.$tid == $begin.$evt.next_tid"
#define CAPTURES "--period-captures=p : t = $begin.$evt.$timestamp, n = $evt.next_tid"
#define INNER "--period=q(p) : $evt.$name == \"sched_wakeup\" : $evt.$cpu == $begin.$evt.$cpu"

/* Each verb takes of a form what it knows. %s stands for a directory that is thrown away. */
static const char *const forms[][8] = {
    {NULL},
    {"--json"},
    {"--html=%s/html", "--svg=%s/svg", "--perfetto=%s/perfetto", "--freq"},
    {"--unbounded", "--full", "--stacks", "--no-sync"},
    {"--json", "--unbounded", "--freq", "--stats", "--log", "--top"},
    {"--folded", "--lami", "--events=sched_switch,net*"},
    {"--refresh=1us", "--events"},
    {"--refresh=1s", "--json", "--events"},
    {"--refresh=100h", "--lami", "--freq", "--freq-uniform"},
    {"--refresh=9223372036s", "--freq-resolution=7", "--min=1", "--max=1000000000"},
    {PERIOD, CAPTURES, INNER, "--freq", "--stats", "--log"},
    {PERIOD, CAPTURES, "--json", "--each", "--freq", "--log", "--min-duration=1"},
    {PERIOD, "--aggregate", "--group-by=n", "--aggregate-by=p", "--lami"},
    {PERIOD, INNER, "--order-by=hierarchy", "--html=%s/html", "--slowest=2"},
    {"--begin=+1s", "--end=+1000000h"},
    {"--begin=0", "--end=9223372036.854775807", "--json"},
    {"--timerange=+1ns,+1s", "--intersection", "--freq-log", "--freq"},
    {"--begin=2100-01-01T00:00:00", "--refresh=1ns"},
    {"--end=1600-01-01T00:00:00", "--time=seconds"},
    {"--format=babeltrace", "--limit=3", "--slowest=3"},
    {"--format=babeltrace", "--clock-seconds", "--clock-offset=9223372036", "--no-delta"},
    {"--format=babeltrace", "--clock-offset=-9223372036", "--clock-offset-ns=-9223372036854775808"},
    {"--format=babeltrace", "--clock-cycles", "--fields=all", "--names=all"},
    {"--format=babeltrace", "--clock-date", "--clock-gmt", "--intersection"},
    {"--time=elapsed", "--tid=1", "--cpu=0", "--port=1"},
    {"--time=iso", "--local", "--comm=sh", "--slower-than=1ns"},
    {"--time=ns", "--filter=$timestamp > 5 && next_tid > 0", "--typical=0-100"},
    {"--count-fields", "--threads=2", "--events", "--json"},
};

/* All that reads traces; so many names of lttng-analyses, with LAMI, stand behind. */
static GPtrArray *verbs;
static char *scratch;
static bool is_kept;
static FILE *sink;
static uint64_t n_written;
static const char *running = "";

/* ---- limits ---- */

static void complain(const char *what)
{
    static const char text[] = "fuzz_meaning: too much ";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    written += write(STDERR_FILENO, what, strlen(what));
    written += write(STDERR_FILENO, " for: ", 6);
    written += write(STDERR_FILENO, running, strlen(running));
    written += write(STDERR_FILENO, "\n", 1);
    (void)written;
    abort();
}

static void on_time(int number)
{
    complain("time");
}

static void allow_seconds(unsigned seconds)
{
    const struct itimerval timer = {.it_value.tv_sec = seconds};
    setitimer(ITIMER_PROF, &timer, NULL);
}

static ssize_t count_output(void *cookie, const char *text, size_t size)
{
    n_written += size;
    if (n_written > MOST_OUTPUT_BYTES) {
        complain("output");
    }
    return (ssize_t)size;
}

static void check_memory(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0 &&
        (uint64_t)usage.ru_maxrss * 1024 > MOST_MEMORY_BYTES) {
        complain("memory");
    }
}

/* ---- the program, without its main() ---- */

static void add_verbs(void)
{
    verbs = g_ptr_array_new();
    for (unsigned i = 0; lull_verbs[i]; i++) {
        /* A server waits for a signal. */
        if (!lull_verbs[i]->rest_is_command && !lull_verbs[i]->takes_no_trace &&
            strcmp(lull_verbs[i]->name, "serve") != 0) {
            g_ptr_array_add(verbs, (void *)lull_verbs[i]);
        }
    }
    for (unsigned i = 0; lull_verbs[i]; i++) {
        g_autofree char *name = g_strdup_printf("lttng-%s-mi", lull_verbs[i]->name);
        struct lull_verb *verb = lull_dropin_verb(name);
        if (verb) {
            g_ptr_array_add(verbs, verb);
        }
    }
}

static void remove_tree(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_autofree char *file = g_build_filename(path, name, NULL);
        if (g_file_test(file, G_FILE_TEST_IS_DIR)) {
            remove_tree(file);
        } else {
            g_unlink(file);
        }
    }
    g_rmdir(path);
}

static void clean(void)
{
    remove_tree(scratch);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const cookie_io_functions_t counting = {.write = count_output};
    const struct rlimit file_size = {MOST_OUTPUT_BYTES * 4, MOST_OUTPUT_BYTES * 4};
    /* To look into a finding: its traces stay there, and its command line is printed. */
    scratch = g_strdup(g_getenv("MEANING_DIR"));
    is_kept = scratch != NULL;
    if (!is_kept) {
        scratch = g_dir_make_tmp("lull-meaning-XXXXXX", NULL);
        if (!scratch) {
            g_error("there is no place for traces");
        }
        atexit(clean);
    }
    g_autofree char *cache = g_build_filename(scratch, "cache", NULL);
    g_setenv("XDG_CACHE_HOME", cache, TRUE); /* stores of traces that are gone at once */
    add_verbs();
    signal(SIGPROF, on_time);
    setrlimit(RLIMIT_FSIZE, &file_size);
    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
    sink = fopencookie(NULL, "w", counting);
    return 0;
}

static bool takes(const struct lull_verb *verb, const char *word)
{
    uint32_t n, n_own;
    g_autofree const struct lull_option **options = lull_verb_options(verb, &n, &n_own);
    size_t length = strcspn(word + 2, "=");
    for (uint32_t i = 0; i < n; i++) {
        if (strncmp(options[i]->name, word + 2, length) == 0 && options[i]->name[length] == '\0') {
            return true;
        }
    }
    return false;
}

static void add_form(GPtrArray *words, const struct lull_verb *verb, const char *const *form)
{
    bool asks = strcmp(verb->name, "critpath") != 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(forms[0]) && form[i]; i++) {
        if (!takes(verb, form[i])) {
            continue;
        }
        asks |= g_str_has_prefix(form[i], "--period=") || g_str_has_prefix(form[i], "--comm=");
        const char *place = strstr(form[i], "%s");
        g_ptr_array_add(words, place ? g_strdup_printf("%.*s%s%s", (int)(place - form[i]), form[i],
                                                       scratch, place + 2)
                                     : g_strdup(form[i]));
    }
    if (!asks) {
        g_ptr_array_add(words, g_strdup("--tid=7"));
    }
}

static void run(const struct lull_verb *verb, GPtrArray *words)
{
    g_autofree char *line = NULL;
    g_autoptr(GError) error = NULL;
    g_ptr_array_add(words, NULL);
    line = g_strjoinv(" ", (char **)words->pdata);
    running = line;
    n_written = 0;
    if (is_kept) {
        fprintf(stderr, "%s %s\n", verb->name, line);
    }
    allow_seconds(MOST_CPU_SECONDS);
    struct lull_args *args =
        lull_args_parse(verb, (int)words->len - 1, (char *const *)words->pdata, &error);
    FILE *out = stdout, *err = stderr;
    stdout = stderr = sink;
    int status = args ? verb->run(args, &error) : 2;
    stdout = out;
    stderr = err;
    fflush(sink);
    if (status == 0 && error) {
        complain("success");
    }
    lull_args_free(args);
    allow_seconds(0);
    check_memory();
    running = "";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct meaning_input input = {data, size};
    const struct lull_verb *verb = verbs->pdata[meaning_byte(&input) % verbs->len];
    const char *const *form = forms[meaning_byte(&input) % G_N_ELEMENTS(forms)];
    uint8_t tid = meaning_byte(&input);
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    unsigned n_hosts = meaning_write(&input, scratch);
    add_form(words, verb, form);
    if (words->len > 0 && strcmp(words->pdata[words->len - 1], "--tid=7") == 0) {
        ((char *)words->pdata[words->len - 1])[6] = (char)('0' + tid % 10);
    }
    if (strcmp(verb->name, "export") == 0) {
        g_ptr_array_add(words, g_strdup_printf("--ctf2=%s/out", scratch));
    }
    for (unsigned i = 0; i < n_hosts; i++) {
        g_ptr_array_add(words, g_strdup_printf("%s/h%u", scratch, i));
    }
    run(verb, words);
    g_autofree char *out = g_build_filename(scratch, "out", NULL);
    g_autofree char *cache = g_build_filename(scratch, "cache", NULL);
    remove_tree(out);
    remove_tree(cache);
    return 0;
}

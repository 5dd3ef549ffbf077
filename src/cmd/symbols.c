/* SPDX-License-Identifier: MIT */
/* lull symbols: in which files the functions of call stacks lie, where their names came from, and why others
 * have none. */
#include <stdio.h>
#include <string.h>

#include "analysis/calls.h"
#include "cmd/calls_args.h"
#include "cmd/join_args.h"
#include "cmd/program_out.h"
#include "cmd/progress.h"
#include "kernel/stack_files.h"
#include "view/out.h"
#include "view/table.h"

/* Both tables start with the host, which text leaves out if there is one. */
static const struct lull_column file_columns[] = {
    {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT},
    {.title = "FILE", .key = "file", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.title = "PID", .key = "pid", .type = LULL_COLUMN_NUMBER, .flags = LULL_COLUMN_JSON_ONLY},
    {.title = "PLACES", .key = "places", .type = LULL_COLUMN_COUNT},
    {.title = "NAMED", .key = "named", .type = LULL_COLUMN_COUNT},
    {.title = "FROM", .key = "from", .type = LULL_COLUMN_TEXT},
    {.title = "WHY NOT", .key = "why", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.title = "BUILD-ID", .key = "build_id", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_DETAIL},
    {0},
};

static const struct lull_column place_columns[] = {
    {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT},
    {.title = "FILE", .key = "file", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.title = "PID", .key = "pid", .type = LULL_COLUMN_NUMBER, .flags = LULL_COLUMN_JSON_ONLY},
    {.title = "OFFSET", .key = "offset", .type = LULL_COLUMN_TEXT},
    {.title = "FUNCTION", .key = "function", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.title = "BYTES", .key = "bytes", .type = LULL_COLUMN_COUNT},
    {.title = "LINE", .key = "where", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_TEXT_ONLY},
    {.title = "SOURCE", .key = "source", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_JSON_ONLY},
    {.title = "LINE", .key = "line", .type = LULL_COLUMN_NUMBER, .flags = LULL_COLUMN_JSON_ONLY},
    {.title = "HOW", .key = "how", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_DETAIL},
    {0},
};

struct listing {
    const struct lull_session *session;
    const struct lull_stack_files *files;
    bool is_json, has_places, has_lines;
};

/* `columns` get those of a table, for as many hosts as there are. */
static struct lull_table *new_table(const struct listing *listing, const struct lull_column *of,
                                    size_t n, struct lull_column *columns)
{
    memcpy(columns, of, n * sizeof *of);
    for (size_t i = 0; i < n; i++) { /* what was not asked for is not shown */
        const char *key = columns[i].key;
        if (key && !listing->has_lines && (g_str_equal(key, "where") || g_str_equal(key, "how"))) {
            columns[i].flags |= LULL_COLUMN_JSON_ONLY;
        }
    }
    if (lull_session_host_count(listing->session) < 2) {
        columns[0].flags |= LULL_COLUMN_JSON_ONLY;
    }
    return lull_table_new(columns);
}

static void set_file(struct lull_table *table, const struct listing *listing, uint32_t host,
                     const char *path, bool is_kernel, int32_t pid)
{
    g_autofree char *of_process = path && pid ? g_strdup_printf("%s of %d", path, pid) : NULL;
    const char *name = of_process ? of_process : path;
    lull_table_add_row(table);
    lull_table_set_text(table, 0, lull_session_host(listing->session, host)->name);
    if (listing->is_json) {
        lull_table_set_text(table, 1, path);
    } else {
        lull_table_set_text(table, 1, name ? name : is_kernel ? "(kernel)" : "(unknown)");
    }
    if (pid) {
        lull_table_set_number(table, 2, pid);
    }
}

static void fill_files(struct lull_table *table, const struct listing *listing)
{
    static const char *const from[] = {NULL,       "recording",    "directory",
                                       "build-id", "this machine", "debuginfod"};
    for (guint i = 0; i < listing->files->files->len; i++) {
        const struct lull_stack_file *file =
            &g_array_index(listing->files->files, struct lull_stack_file, i);
        set_file(table, listing, file->host, file->path, file->is_kernel, file->pid);
        lull_table_set_number(table, 3, file->n_places);
        lull_table_set_number(table, 4, file->n_named);
        lull_table_set_text(table, 5, from[file->from]);
        lull_table_set_text(table, 6, file->why);
        lull_table_set_text(table, 7, file->build_id);
    }
}

static void set_source(struct lull_table *table, const struct lull_stack_place *place)
{
    g_autofree char *where = lull_source_line_text(&place->source);
    lull_table_set_text(table, 6, where);
    lull_table_set_text(table, 7, place->source.file);
    if (place->source.line > 0) {
        lull_table_set_number(table, 8, place->source.line);
    }
    lull_table_set_text(table, 9, place->is_inlined ? "inlined" : NULL);
}

static void fill_places(struct lull_table *table, const struct listing *listing)
{
    for (guint i = 0; i < listing->files->places->len; i++) {
        const struct lull_stack_place *place =
            &g_array_index(listing->files->places, struct lull_stack_place, i);
        char offset[32];
        g_snprintf(offset, sizeof offset, "0x%" G_GINT64_MODIFIER "x", place->offset);
        set_file(table, listing, place->host, place->path, place->offset >> 63, place->pid);
        lull_table_set_text(table, 3, offset);
        lull_table_set_text(table, 4, place->symbol);
        if (place->symbol && !place->is_inlined) {
            lull_table_set_number(table, 5, (int64_t)place->symbol_offset);
        }
        set_source(table, place);
    }
}

static bool print_json(const struct lull_args *args, const struct lull_table *files,
                       const struct lull_table *places, GError **error)
{
    struct lull_program_out out;
    lull_program_out_start(&out, args);
    fputs("{\"version\":1,\"files\":", out.file);
    bool done = lull_table_print_json(files, out.file, error);
    if (places && done) {
        fputs(",\n\"places\":", out.file);
        done = lull_table_print_json(places, out.file, error);
    }
    fputs("}\n", out.file);
    return lull_program_out_end(&out, done, error);
}

static bool print_text(const struct lull_args *args, const struct listing *listing,
                       const struct lull_table *files, const struct lull_table *places,
                       GError **error)
{
    struct lull_view_style style;
    struct lull_out out;
    uint32_t n_places = 0, n_named = 0;
    lull_view_style_init(&style, stdout, lull_args_text(args, "color"));
    for (guint i = 0; i < listing->files->files->len; i++) {
        const struct lull_stack_file *file =
            &g_array_index(listing->files->files, struct lull_stack_file, i);
        n_places += file->n_places;
        n_named += file->n_named;
    }
    lull_out_start(&out, stdout);
    lull_out_fold(&out, style.width);
    if (n_places == 0 && listing->files->files->len == 0) {
        lull_out_text(&out,
                      "Nothing was recorded of call stacks.\n"
                      "'lull record --call-graph' records by which calls tasks fell asleep.\n");
    } else {
        lull_out_printf(&out, "%u of %u place%s in call stacks have names.\n\n", n_named, n_places,
                        n_places == 1 ? "" : "s");
    }
    return lull_out_end(&out, "the summary", error) &&
           lull_table_print(files, stdout, &style, error) &&
           (!places ||
            (fputs("\n", stdout) >= 0 && lull_table_print(places, stdout, &style, error)));
}

static bool print(const struct lull_args *args, const struct listing *listing, GError **error)
{
    struct lull_column columns[2][MAX(G_N_ELEMENTS(file_columns), G_N_ELEMENTS(place_columns))];
    struct lull_table *files =
        new_table(listing, file_columns, G_N_ELEMENTS(file_columns), columns[0]);
    struct lull_table *places =
        listing->has_places
            ? new_table(listing, place_columns, G_N_ELEMENTS(place_columns), columns[1])
            : NULL;
    fill_files(files, listing);
    if (places) {
        fill_places(places, listing);
    }
    const bool done = listing->is_json ? print_json(args, files, places, error)
                                       : print_text(args, listing, files, places, error);
    lull_table_free(files);
    lull_table_free(places);
    return done;
}

static int show(const struct lull_args *args, struct lull_session *session, GError **error)
{
    struct lull_calls_reading reading = {.wants_samples = true};
    struct lull_progress progress;
    int64_t start_ns, end_ns;
    int32_t host;
    if (!lull_args_host(args, session, &host, error) ||
        !lull_args_range(args, session, &start_ns, &end_ns, error)) {
        return 1;
    }
    lull_progress_start(&progress, args, session, "reading", false);
    lull_calls_read(&reading, session, host, start_ns, end_ns, NULL, NULL, lull_args_progress,
                    &progress);
    lull_progress_end(&progress);
    struct lull_stack_files *files = lull_stack_files_new(
        reading.model, lull_args_flag(args, "lines"), lull_args_flag(args, "all"));
    const struct listing listing = {.session = session,
                                    .files = files,
                                    .is_json = lull_args_flag(args, "json"),
                                    .has_lines = lull_args_flag(args, "lines"),
                                    .has_places = lull_args_flag(args, "places") ||
                                                  lull_args_flag(args, "lines")};
    const bool done = print(args, &listing, error);
    lull_stack_files_free(files);
    lull_calls_reading_clear(&reading);
    return done ? lull_args_report_damage(session) : 1;
}

static int run(const struct lull_args *args, GError **error)
{
    struct lull_session *session = lull_args_open_traces(args, error);
    int status = 1;
    if (session) {
        lull_args_join(args, session);
        status = show(args, session, error);
        lull_session_free(session);
    }
    return status;
}

static const struct lull_option options[] = {
    {.name = "places",
     .kind = LULL_OPTION_FLAG,
     .help = "list each place in call stacks, too, with its function"},
    {.name = "all",
     .kind = LULL_OPTION_FLAG,
     .help = "list all files that programs had mapped, also those in which no call stack lies"},
    {.name = "lines",
     .kind = LULL_OPTION_FLAG,
     .help = "with each place the line of source code, and the calls that the compiler put in line "
             "there, innermost first"},
    LULL_OPTION_SYMBOLS_DIRECTORY,
    {.name = NULL},
};

static const char *const common[] = {"end", "local", "host", "no-sync", "json", NULL};

static const struct lull_example examples[] = {
    {"lull symbols my-trace", "Which files have names, and why others have none."},
    {"lull symbols --places --json my-trace | jq -r '.places[] | select(.function == null) | .file'",
     "The file of each place without a name."},
    {"lull symbols --lines my-trace", "Where in the source code the calls are."},
    {"lull symbols --all my-trace",
     "All programs and libraries that were recorded, with their build-ids."},
    {"lull symbols --symbols / my-trace",
     "Whether the programs of this machine have the names that the trace lacks."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_symbols = {
    .name = "symbols",
    .summary = "show where the names of functions come from, and which are missing",
    .usage = "TRACE…",
    .description =
        "Lists the files in which the calls of call stacks lie: of waits ('lull record --call-graph'), "
        "of samples ('lull flame'), and of functions that were called ('lull calls'). PLACES counts different addresses in "
        "them, NAMED those of which the function is known.\n"
        "\n"
        "FROM says where names came from: recording: 'lull record' kept them. directory: that of --symbols, or where --path-map leads. build-id: a file of "
        "this machine has the build-id that was recorded; copies of perf's in ~/.debug count, "
        "too. this machine: it recorded the trace, has not started anew, and the file has not changed "
        "since. debuginfod: a server has it (--debuginfod). WHY NOT says why there is none: a file that may be another is "
        "refused, since a wrong name is worse than none.\n"
        "\n"
        "Stripped files are named by what their distribution keeps apart, below /usr/lib/debug, "
        "or by the symbols that they export.\n"
        "\n"
        "Lines of source code (--lines) need debug information (gcc -g): of the file itself, or kept apart, below "
        "/usr/lib/debug or beside the file, or of a server.",
    .output =
        "A line for each file. With --json:\n"
        "\n"
        " {\"version\":1,\n"
        "  \"files\":[{\"host\",\"file\",\"pid\",\"places\",\"named\",\"from\",\"why\",\n"
        "   \"build_id\"}],\n"
        "  \"places\":[{\"host\",\"file\",\"pid\",\"offset\",\"function\",\"bytes\",\n"
        "   \"source\",\"line\",\"how\"}]}\n"
        "\n"
        "file is null for addresses of which nothing is known, pid null unless it is memory "
        "of a process and of no file. places is there with --places and --lines; bytes are from the "
        "start of the function. With --lines, source and line are of the place, or null; how is \"inlined\" for a call that "
        "was put in line there, and the function that it is in follows, with the line that calls.",
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
};

/* SPDX-License-Identifier: MIT */
/* lull hprof: what a Java program had in its heap, and which objects kept it there. */
#include "hprof/hprof.h"

#include <inttypes.h>
#include <lull/error.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/analysis_verb.h"
#include "cmd/program_out.h"
#include "cmd/say.h"
#include "view/out.h"
#include "view/table.h"

enum { ROWS_IF_NOT_GIVEN = 10 };

static const struct lull_column class_columns[] = {
    {.title = "CLASS", .key = "class", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.title = "OBJECTS", .key = "objects", .type = LULL_COLUMN_COUNT},
    {.title = "BYTES", .key = "bytes", .type = LULL_COLUMN_COUNT},
    {0},
};

static const struct lull_column object_columns[] = {
    {.title = "OBJECT", .key = "id", .type = LULL_COLUMN_TEXT},
    {.title = "CLASS", .key = "class", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.title = "BYTES", .key = "bytes", .type = LULL_COLUMN_COUNT},
    {.title = "RETAINED", .key = "retained_bytes", .type = LULL_COLUMN_COUNT},
    {.title = "SHARE", .key = "share", .type = LULL_COLUMN_SHARE},
    {.title = "KEPT BY", .key = "keeper", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.key = "keeper_id",
     .title = "KEEPER",
     .type = LULL_COLUMN_TEXT,
     .flags = LULL_COLUMN_JSON_ONLY},
    {0},
};

static const struct lull_column path_columns[] = {
    {.title = "BY", .key = "reference", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.title = "OBJECT", .key = "id", .type = LULL_COLUMN_TEXT},
    {.title = "CLASS", .key = "class", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.title = "BYTES", .key = "bytes", .type = LULL_COLUMN_COUNT},
    {.title = "RETAINED", .key = "retained_bytes", .type = LULL_COLUMN_COUNT},
    {0},
};

static const struct lull_column suspect_columns[] = {
    {.title = "OBJECTS", .key = "objects", .type = LULL_COLUMN_COUNT},
    {.title = "CLASS", .key = "class", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.title = "RETAINED", .key = "retained_bytes", .type = LULL_COLUMN_COUNT},
    {.title = "SHARE", .key = "share", .type = LULL_COLUMN_SHARE},
    {.title = "MOSTLY", .key = "kept", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {.key = "gatherer",
     .title = "GATHERER",
     .type = LULL_COLUMN_TEXT,
     .flags = LULL_COLUMN_JSON_ONLY},
    {.key = "gatherer_id",
     .title = "GATHERER ID",
     .type = LULL_COLUMN_TEXT,
     .flags = LULL_COLUMN_JSON_ONLY},
    {.key = "id", .title = "ID", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_JSON_ONLY},
    {.key = "kept_objects",
     .title = "KEPT",
     .type = LULL_COLUMN_COUNT,
     .flags = LULL_COLUMN_JSON_ONLY},
    {.key = "kept_bytes",
     .title = "BYTES",
     .type = LULL_COLUMN_COUNT,
     .flags = LULL_COLUMN_JSON_ONLY},
    {0},
};

/* Of what can be reached: whoever retains less is no suspect. */
static const double least_share = 0.1;

struct report {
    const struct lull_hprof *dump;
    struct lull_table *classes, *objects;
    struct lull_table *path, *suspects; /* NULL: not asked for */
    char *headline;                     /* of the path */
    uint64_t n_rows;                    /* at most, of each table */
};

/* Most bytes first; equal ones in the order of names, and of the file. */
static int compare_classes(const void *a, const void *b)
{
    const struct lull_hprof_class *x = *(const struct lull_hprof_class *const *)a;
    const struct lull_hprof_class *y = *(const struct lull_hprof_class *const *)b;
    const int names = strcmp(x->name, y->name);
    return x->bytes != y->bytes           ? (x->bytes > y->bytes ? -1 : 1)
           : x->n_objects != y->n_objects ? (x->n_objects > y->n_objects ? -1 : 1)
           : names                        ? names
                                          : (x > y) - (x < y);
}

/* Whether it comes before another: most retained first, then by id, as they are numbered. */
static bool is_before(const struct lull_hprof *dump, uint32_t i, uint32_t k)
{
    return dump->retained[i] != dump->retained[k] ? dump->retained[i] > dump->retained[k] : i < k;
}

static int compare_objects(const void *a, const void *b, void *user)
{
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    return is_before(user, i, k) ? -1 : is_before(user, k, i);
}

static int compare_backwards(const void *a, const void *b, void *user)
{
    return compare_objects(b, a, user);
}

static void fill_classes(struct report *report)
{
    const struct lull_hprof *dump = report->dump;
    g_autofree const struct lull_hprof_class **rows =
        g_new(const struct lull_hprof_class *, dump->classes.count + 1);
    size_t n = 0;
    for (size_t i = 0; i < dump->classes.count; i++) {
        if (dump->classes.items[i].n_objects > 0) {
            rows[n++] = &dump->classes.items[i];
        }
    }
    qsort(rows, n, sizeof *rows, compare_classes);
    for (size_t i = 0; i < n && i < report->n_rows; i++) {
        lull_table_add_row(report->classes);
        lull_table_set_text(report->classes, 0, rows[i]->name);
        lull_table_set_number(report->classes, 1, (int64_t)rows[i]->n_objects);
        lull_table_set_number(report->classes, 2, (int64_t)rows[i]->bytes);
    }
}

static char *name_object(const struct lull_hprof *dump, const struct lull_hprof_object *object)
{
    const char *class = dump->classes.items[object->class].name;
    return lull_hprof_is_class(object) ? g_strdup_printf("class %s", class) : g_strdup(class);
}

static void set_object(const struct report *report, struct lull_table *table, uint32_t name_column,
                       uint32_t id_column, uint32_t number)
{
    const struct lull_hprof_object object = lull_hprof_object(report->dump, number);
    char id[32];
    g_autofree char *name = name_object(report->dump, &object);
    g_snprintf(id, sizeof id, "0x%" G_GINT64_MODIFIER "x", object.id);
    lull_table_set_text(table, name_column, name);
    lull_table_set_text(table, id_column, id);
}

static void add_object(struct report *report, uint32_t number)
{
    const struct lull_hprof *dump = report->dump;
    const struct lull_hprof_object object = lull_hprof_object(dump, number);
    const uint32_t keeper = dump->keepers[number];
    lull_table_add_row(report->objects);
    set_object(report, report->objects, 1, 0, number);
    lull_table_set_number(report->objects, 2, (int64_t)object.bytes);
    lull_table_set_number(report->objects, 3, (int64_t)dump->retained[number]);
    lull_table_set_real(report->objects, 4,
                        (double)dump->retained[number] / (double)MAX(dump->reachable_bytes, 1));
    if (keeper != LULL_HPROF_ROOT) {
        set_object(report, report->objects, 5, 6, keeper);
    }
}

/* Puts an object in place of the first row, before which all others come; so it is of each row and those at twice its
 * place and one or two more. */
static void replace_first(const struct lull_hprof *dump, uint32_t *rows, uint64_t n,
                          uint32_t number)
{
    uint64_t at = 0;
    for (uint64_t below = 1; below < n; below = 2 * at + 1) {
        below += below + 1 < n && is_before(dump, rows[below], rows[below + 1]);
        if (is_before(dump, rows[below], number)) {
            break;
        }
        rows[at] = rows[below];
        at = below;
    }
    rows[at] = number;
}

/* The largest as a heap, the last of them first: it goes when there is a larger one. */
static void fill_objects(struct report *report)
{
    const struct lull_hprof *dump = report->dump;
    const uint64_t most = MIN(report->n_rows, dump->n_reachable);
    g_autofree uint32_t *rows = g_new(uint32_t, most + 1);
    uint64_t n = 0;
    for (uint32_t i = 0; i < dump->n_objects; i++) {
        if (dump->keepers[i] == LULL_HPROF_NOBODY) {
            continue;
        }
        if (n < most) {
            rows[n] = i;
        } else if (n == most) {
            qsort_r(rows, most, sizeof *rows, compare_backwards, (void *)(uintptr_t)dump);
        }
        if (n++ >= most && is_before(dump, i, rows[0])) {
            replace_first(dump, rows, most, i);
        }
    }
    qsort_r(rows, most, sizeof *rows, compare_objects, (void *)(uintptr_t)dump);
    for (uint64_t i = 0; i < most; i++) {
        add_object(report, rows[i]);
    }
}

/* ---- why an object is there ---- */

static bool fill_path(struct report *report, const struct lull_args *args, GError **error)
{
    const char *what = lull_args_text(args, "path");
    const bool with_weak = lull_args_flag(args, "weak");
    uint64_t n;
    struct lull_hprof_path path = {0};
    const uint32_t found = lull_hprof_find(report->dump, what, &n, error);
    if (found == LULL_HPROF_ROOT) {
        return false;
    }
    const uint64_t id = lull_hprof_object(report->dump, found).id;
    if (!lull_hprof_find_path(report->dump, found, with_weak, &path)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    report->dump->keepers[found] != LULL_HPROF_NOBODY
                        ? "%s 0x%" PRIx64 " is only reached by weak references: "
                          "the collector may free it; --weak shows the path"
                        : "%s 0x%" PRIx64 " cannot be reached from any root: it is "
                          "garbage",
                    what, id);
        return false;
    }
    report->path = lull_table_new(path_columns);
    for (size_t i = 0; i < path.count; i++) {
        const uint32_t step = path.items[i].object;
        lull_table_add_row(report->path);
        lull_table_set_text(report->path, 0, path.items[i].reference);
        set_object(report, report->path, 2, 1, step);
        lull_table_set_number(report->path, 3,
                              (int64_t)lull_hprof_object(report->dump, step).bytes);
        lull_table_set_number(report->path, 4, (int64_t)report->dump->retained[step]);
    }
    report->headline = n > 1
                           ? g_strdup_printf("The shortest path to 0x%" PRIx64 ", which of %" PRIu64
                                             " objects of its class retains most:",
                                             id, n)
                           : g_strdup_printf("The shortest path to 0x%" PRIx64 ":", id);
    lull_hprof_path_clear(&path);
    return true;
}

/* ---- what keeps most ---- */

static void add_suspect(struct report *report, const struct lull_hprof_suspect *suspect)
{
    const struct lull_hprof_object gathers = lull_hprof_object(report->dump, suspect->gathers);
    lull_table_add_row(report->suspects);
    lull_table_set_number(report->suspects, 0, (int64_t)suspect->count);
    set_object(report, report->suspects, 1, 7, suspect->object);
    lull_table_set_number(report->suspects, 2, (int64_t)suspect->retained);
    lull_table_set_real(report->suspects, 3,
                        (double)suspect->retained / (double)MAX(report->dump->reachable_bytes, 1));
    set_object(report, report->suspects, 5, 6, suspect->gathers);
    g_autofree char *where = name_object(report->dump, &gathers);
    g_autofree char *kept =
        suspect->class == UINT32_MAX
            ? g_strdup_printf("%s 0x%" PRIx64, where, gathers.id)
            : g_strdup_printf("%" PRIu64 " %s in %s 0x%" PRIx64, suspect->n_kept,
                              report->dump->classes.items[suspect->class].name, where, gathers.id);
    lull_table_set_text(report->suspects, 4, kept);
    if (suspect->class != UINT32_MAX) {
        lull_table_set_number(report->suspects, 8, (int64_t)suspect->n_kept);
        lull_table_set_number(report->suspects, 9, (int64_t)suspect->kept_retained);
    }
}

static void fill_suspects(struct report *report)
{
    struct lull_hprof_suspects suspects = {0};
    report->suspects = lull_table_new(suspect_columns);
    lull_hprof_find_suspects(report->dump, least_share, &suspects);
    for (size_t i = 0; i < suspects.count; i++) {
        add_suspect(report, &suspects.items[i]);
    }
    lull_vec_free(&suspects);
}

/* ---- what is printed ---- */

static bool add_json(const struct report *report, const char *name, const struct lull_table *table,
                     FILE *file, GError **error)
{
    if (!table) {
        return true;
    }
    fprintf(file, ",\n\"%s\":", name);
    return lull_table_print_json(table, file, error);
}

static bool print_json(const struct lull_args *args, const struct report *report, GError **error)
{
    const struct lull_hprof *dump = report->dump;
    struct lull_program_out out;
    lull_program_out_start(&out, args);
    fprintf(out.file,
            "{\"version\":1,\"reference_bytes\":%u,\"objects\":%u,\"bytes\":%" PRIu64
            ",\"reachable_objects\":%" PRIu64 ",\"reachable_bytes\":%" PRIu64 ",\"is_whole\":%s",
            dump->reference_size, dump->n_objects, dump->bytes, dump->n_reachable,
            dump->reachable_bytes, dump->cut_at ? "false" : "true");
    const bool done = add_json(report, "classes", report->classes, out.file, error) &&
                      add_json(report, "largest", report->objects, out.file, error) &&
                      add_json(report, "path", report->path, out.file, error) &&
                      add_json(report, "suspects", report->suspects, out.file, error);
    fputs("}\n", out.file);
    return lull_program_out_end(&out, done, error);
}

/* What was asked for; else the classes and the largest objects. */
static bool print_tables(const struct report *report, const struct lull_view_style *style,
                         GError **error)
{
    const struct lull_table *asked[] = {report->path, report->suspects};
    const struct lull_table *all[] = {report->classes, report->objects};
    const bool is_asked = report->path || report->suspects;
    for (size_t i = 0, n = 0; i < G_N_ELEMENTS(all); i++) {
        const struct lull_table *table = is_asked ? asked[i] : all[i];
        if (table && table == report->path) {
            printf("%s\n", report->headline);
        }
        if (table && table == report->suspects && lull_table_row_count(table) == 0) {
            printf("%sNothing retains a tenth of it: there is no suspect.\n", n ? "\n" : "");
        } else if (table && (table == report->classes || lull_table_row_count(table) > 0) &&
                   ((n++ > 0 && fputs("\n", stdout) < 0) ||
                    !lull_table_print(table, stdout, style, error))) {
            return false;
        }
    }
    return true;
}

static bool print_text(const struct lull_args *args, const struct report *report, GError **error)
{
    const struct lull_hprof *dump = report->dump;
    struct lull_view_style style;
    struct lull_out out;
    lull_view_style_init(&style, stdout, lull_args_text(args, "color"));
    lull_out_start(&out, stdout);
    lull_out_fold(&out, style.width);
    lull_out_printf(&out,
                    "%u objects of %" PRIu64 " bytes, of which %" PRIu64 " of %" PRIu64
                    " bytes can be reached. References have %u bytes.\n\n",
                    dump->n_objects, dump->bytes, dump->n_reachable, dump->reachable_bytes,
                    dump->reference_size);
    return lull_out_end(&out, "the summary", error) && print_tables(report, &style, error);
}

/* On stderr; the exit status. */
static int report_damage(const struct lull_hprof *dump, const char *path)
{
    if (dump->n_repeated > 0) {
        lull_say("lull: %s: %" PRIu64 " objects have the id of another and are left out\n", path,
                 dump->n_repeated);
    }
    if (dump->cut_at > 0) {
        lull_say("lull: %s: the file ends at byte %" PRIu64
                 ", within a record: objects are missing\n",
                 path, dump->cut_at);
    }
    return dump->n_repeated > 0 || dump->cut_at > 0;
}

static int show(const struct lull_args *args, const struct lull_hprof *dump, const char *path,
                GError **error)
{
    const int64_t limit = lull_args_number(args, "limit");
    struct report report = {
        .dump = dump,
        .classes = lull_table_new(class_columns),
        .objects = lull_table_new(object_columns),
        .n_rows = limit < 0    ? ROWS_IF_NOT_GIVEN
                  : limit == 0 ? UINT64_MAX
                               : (uint64_t)limit,
    };
    fill_classes(&report);
    fill_objects(&report);
    if (lull_args_flag(args, "leaks")) {
        fill_suspects(&report);
    }
    const bool done = (!lull_args_text(args, "path") || fill_path(&report, args, error)) &&
                      (lull_program_out_is_wanted(args) ? print_json(args, &report, error)
                                                        : print_text(args, &report, error));
    lull_table_free(report.classes);
    lull_table_free(report.objects);
    lull_table_free(report.path);
    lull_table_free(report.suspects);
    g_free(report.headline);
    return done ? report_damage(dump, path) : 1;
}

/* ---- a file that shrinks ---- */

/* What is read is mapped: where the file has no bytes any more, a signal comes. */
static const char *path_of_file;

static void on_end(int signal)
{
    const char *const words[] = {"lull: ", path_of_file,
                                 ": the file became shorter while it was read: "
                                 "wait until the dump is complete\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        (void)!write(STDERR_FILENO, words[i], strlen(words[i]));
    }
    _exit(1);
}

static void watch_for_end(const char *path)
{
    const struct sigaction action = {.sa_handler = on_end};
    path_of_file = path;
    sigaction(SIGBUS, &action, NULL);
}

static int run(const struct lull_args *args, GError **error)
{
    uint32_t n_files = 0;
    const char *const *files = lull_args_rest(args, &n_files);
    const char *given = lull_args_text(args, "reference-size");
    if (n_files != 1) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, "one heap dump is needed");
        return 2;
    }
    if (!lull_program_out_check(args, NULL, error)) {
        return 2;
    }
    watch_for_end(files[0]);
    struct lull_hprof *dump =
        lull_hprof_open(files[0], given ? (unsigned)(given[0] - '0') : 0, error);
    const int status = dump ? show(args, dump, files[0], error) : 1;
    lull_hprof_free(dump);
    return status;
}

static const char *const sizes[] = {"4", "8", NULL};

static const struct lull_option options[] = {
    LULL_OPTION_LIMIT_ROWS,
    {.name = "reference-size",
     .kind = LULL_OPTION_CHOICE,
     .argument = "BYTES",
     .choices = sizes,
     .help = "how large references are in the heap, if Lull does not find it out"},
    {.name = "path",
     .kind = LULL_OPTION_TEXT,
     .argument = "WHAT",
     .help =
         "why it is there: the shortest path from a root to the object of this id (0x…), or to that "
         "of this class that retains most"},
    {.name = "weak",
     .kind = LULL_OPTION_FLAG,
     .help = "with --path: also by weak, soft and phantom references"},
    {.name = "leaks",
     .kind = LULL_OPTION_FLAG,
     .help = "what retains a tenth of all that can be reached, or more, and where that gathers"},
    {.name = NULL},
};

static const char *const common[] = {LULL_PROGRAM_OUT_COMMON, NULL};

static const struct lull_example examples[] = {
    {"lull hprof heap.hprof", "Which classes have most bytes, and which objects keep most."},
    {"lull hprof --json --limit 0 heap.hprof | jq '.largest[] | select(.share > 0.1)'",
     "The objects without which a tenth of the heap would be free."},
    {"lull hprof --leaks heap.hprof", "What may have leaked."},
    {"lull hprof --path com.example.Request heap.hprof", "Why such an object is still there."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_hprof = {
    .name = "hprof",
    .summary = "show what is in a heap dump of Java, and which objects keep it there",
    .usage = "FILE",
    .description =
        "Reads a heap dump of a Java virtual machine, as 'jmap -dump:format=b,file=FILE PID' or "
        "-XX:+HeapDumpOnOutOfMemoryError write it; packed by gzip ('jcmd PID GC.heap_dump -gz=1 FILE'), too. The first table has the objects of each class, all of the dump. "
        "The second has the objects that retain most: RETAINED is what the collector could free if the object were not there, "
        "SHARE its part of all that can be reached. KEPT BY is the last object that all references to it come "
        "through; it is empty if there is none, and roots such as the stacks of threads refer to it by different ways.\n"
        "\n"
        "--leaks shows objects that nothing else keeps and that retain a tenth or more, or all of a class "
        "that do so together. MOSTLY says which objects most of that is in, and in which object they gather: go "
        "from there to your code.\n"
        "\n"
        "--path shows who refers to whom, from a root to an object, by which field or element (BY). Of paths of one length it is the one "
        "from a thread, a frame, JNI, a class, in this order. Weak, soft and phantom references keep nothing, and are not followed "
        "without --weak.\n"
        "\n"
        "BYTES are a header, the fields or elements, rounded up to 8. A dump does not say how large classes are: "
        "they count as 0. References of 4 bytes, and headers of 12, are recognised by arrays that would not fit otherwise. For what "
        "is retained, weak and soft references count like others.",
    .output =
        "With --json:\n"
        "\n"
        " {\"version\":1,\"reference_bytes\",\"objects\",\"bytes\",\n"
        "  \"reachable_objects\",\"reachable_bytes\",\"is_whole\",\n"
        "  \"classes\":[{\"class\",\"objects\",\"bytes\"}],\n"
        "  \"largest\":[{\"id\",\"class\",\"bytes\",\"retained_bytes\",\"share\",\n"
        "   \"keeper\",\"keeper_id\"}],\n"
        "  \"path\":[{\"reference\",\"id\",\"class\",\"bytes\",\"retained_bytes\"}],\n"
        "  \"suspects\":[{\"objects\",\"class\",\"id\",\"retained_bytes\",\"share\",\n"
        "   \"kept\",\"gatherer\",\"gatherer_id\",\"kept_objects\",\"kept_bytes\"}]}\n"
        "\n"
        "is_whole is false if the file ends within a record. path comes with --path, from the root, whose "
        "reference is its kind; suspects with --leaks.",
    .options = options,
    .common = common,
    .examples = examples,
    .takes_no_trace = true,
    .run = run,
};

/* SPDX-License-Identifier: MIT */
/* libbpf finds the probes in the notes of a file, and how each has its arguments. */
#include "live/marks.h"

#include <errno.h>
#include <glib.h>
#include <unistd.h>

static const struct probe {
    const char *program, *name;
} probes[] = {{"mark_ends", "end"}, {"mark_begins", "begin"}};

static const char *const maps[] = {"marks", "read_mark", "__bpf_usdt_specs",
                                   "__bpf_usdt_ip_to_spec_id"};

struct lull_marks {
    GPtrArray *links; /* struct bpf_link * */
};

bool lull_marks_are_possible(void)
{
    return access("/sys/bus/event_source/devices/uprobe", F_OK) == 0;
}

void lull_marks_prepare(const struct bpf_object *object, bool is_needed)
{
    for (size_t i = 0; i < G_N_ELEMENTS(probes); i++) {
        bpf_program__set_autoload(bpf_object__find_program_by_name(object, probes[i].program),
                                  is_needed);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(maps); i++) {
        bpf_map__set_autocreate(bpf_object__find_map_by_name(object, maps[i]), is_needed);
    }
}

static void unlink_probe(void *link)
{
    bpf_link__destroy(link);
}

static bool fail(GError **error, const char *file, int why)
{
    if (why == ENOENT) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "“%s” has no marks: it must be a program or library that was built with "
                    "lull/mark.h, and not one that loads it",
                    file);
    } else {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                    "cannot watch the marks of “%s” (CONFIG_UPROBE_EVENTS): %s", file,
                    g_strerror(why));
    }
    return false;
}

/* A file may have only one of the two probes. */
static bool attach(struct lull_marks *marks, const struct bpf_object *object, const char *file,
                   GError **error)
{
    uint32_t n = 0;
    if (access(file, R_OK) != 0) { /* ENOENT means something else below */
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot read “%s”: %s", file,
                    g_strerror(errno));
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(probes); i++) {
        const struct bpf_program *program =
            bpf_object__find_program_by_name(object, probes[i].program);
        struct bpf_link *link =
            bpf_program__attach_usdt(program, -1, file, "lull", probes[i].name, NULL);
        if (link) {
            g_ptr_array_add(marks->links, link);
            n++;
        } else if (errno != ENOENT) {
            return fail(error, file, errno);
        }
    }
    return n > 0 || fail(error, file, ENOENT);
}

struct lull_marks *lull_marks_attach(const struct bpf_object *object, const char *const *files,
                                     GError **error)
{
    struct lull_marks *marks = g_new0(struct lull_marks, 1);
    g_autofree char *own = g_file_read_link("/proc/self/exe", NULL);
    bool done = true;
    if (!lull_marks_are_possible()) {
        g_set_error_literal(
            error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
            "marks cannot be seen: the kernel has no uprobes (CONFIG_UPROBE_EVENTS); a "
            "program can report to lull daemon what it finds slow itself, as lull "
            "trigger --slower does");
        g_free(marks);
        return NULL;
    }
    marks->links = g_ptr_array_new_with_free_func(unlink_probe);
    if (own) {
        attach(marks, object, own, NULL);
    }
    for (size_t i = 0; files && files[i] && done; i++) {
        done = attach(marks, object, files[i], error);
    }
    if (done && marks->links->len > 0) {
        return marks;
    }
    if (done) {
        fail(error, own ? own : "/proc/self/exe", ENOENT);
    }
    lull_marks_free(marks);
    return NULL;
}

void lull_marks_free(struct lull_marks *marks)
{
    if (marks) {
        g_ptr_array_unref(marks->links);
        g_free(marks);
    }
}

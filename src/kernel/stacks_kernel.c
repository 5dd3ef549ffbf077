/* SPDX-License-Identifier: MIT */
/* Names of the kernel's functions: of the list of its symbols, which knows its modules, else of its file (vmlinux), which
 * has lines, too. A kernel that is put at a random address is moved against its file as a whole. */
#include "kernel/stacks_private.h"

#include <string.h>

#include "source/session/streams.h"
#include "symbol/debuginfod.h"
#include "symbol/here.h"
#include "symbol/kallsyms.h"
#include "symbol/lines.h"
#include "symbol/table.h"
#include "symbol/vmlinux.h"

/* The kernel with all its modules has about 5 MB of them. */
#define MOST_KALLSYMS_BYTES (UINT64_C(64) << 20)
enum { MOST_ID_BYTES = 256 };

/* Why its functions have no names, and what the user can do about it. */
static const struct lull_nameless
    no_list =
        {"the recording does not hold the functions of its kernel",
         "name a directory with its vmlinux by --symbols ('lull symbols' shows its build-id), "
         "or record with 'lull record --call-graph' as root, which keeps them"},
    no_file = {"the recording holds neither the functions of its kernel nor which kernel it was",
               "read it on the machine that recorded it before that starts anew, or record with "
               "'lull record --call-graph' as root, which keeps them"},
    several = {"several recordings of one machine are open together", "open one of them"},
    hid = {"the kernel hid its addresses when it was recorded (kernel.kptr_restrict, or a user "
           "without rights)",
           "record again as root, and 'sysctl kernel.kptr_restrict=1' before"},
    hides = {"the kernel of this machine hides its addresses from you (kernel.kptr_restrict)",
             "run Lull as root; if you are, 'sysctl kernel.kptr_restrict=1' before"},
    other_build = {"the kernel of this machine is another one than was recorded",
                   "name a directory with the vmlinux of that by --symbols ('lull symbols' shows "
                   "its build-id), or ask for it by --debuginfod"},
    other_start = {"the kernel of this machine has started anew since it was recorded",
                   "name a directory with its vmlinux by --symbols, or install its debug symbols"};

/* ---- the list of its symbols ---- */

static char *build_id_of_kernel(const struct lull_stacks *stacks, uint32_t host,
                                const struct names *names, const struct object *kernel)
{
    const char *id = kernel ? stacks_build_id_of(names, kernel) : NULL;
    gsize length;
    char *recorded =
        id ? g_strdup(id)
           : stacks_read_recorded(names, LULL_RECORDING_KERNEL_ID, MOST_ID_BYTES, &length);
    recorded = recorded ? g_strstrip(recorded) : NULL;
    return recorded || host != stacks->here ? recorded : lull_here_kernel_id();
}

/* The list of this machine, if it fits the kernel. */
static struct lull_symbol_table *read_here(struct names *names, const struct object *kernel,
                                           const char *build_id)
{
    g_autofree char *id = build_id ? lull_here_kernel_id() : NULL;
    uint64_t start;
    if (build_id && (kernel->start == 0 || g_strcmp0(id, build_id) != 0)) {
        names->kernel_why = kernel->start == 0 ? &hid : &other_build;
        return NULL;
    }
    struct lull_symbol_table *table = lull_here_kernel(&start);
    if (table && build_id && start != kernel->start) {
        names->kernel_why = &other_start;
        g_clear_pointer(&table, lull_symbol_table_free);
    } else if (table) {
        names->kernel_start = start;
    } else {
        names->kernel_why = &hides;
    }
    return table;
}

static const struct lull_nameless *why_no_list(const struct lull_stacks *stacks, uint32_t host,
                                               const struct names *names,
                                               const struct object *kernel)
{
    g_autofree char *build_id = build_id_of_kernel(stacks, host, names, kernel);
    return names->has_hidden_kernel                                   ? &hid
           : names->n_recordings > 1                                  ? &several
           : build_id && *build_id != '\0' && kernel && kernel->start ? &no_list
                                                                      : &no_file;
}

static struct lull_symbol_table *find_kernel(const struct lull_stacks *stacks, uint32_t host,
                                             struct names *names, const struct object *kernel)
{
    const char *build_id = kernel ? stacks_build_id_of(names, kernel) : NULL;
    if (stacks_wants_recorded_only(stacks) || (!build_id && host != stacks->here)) {
        names->kernel_why = why_no_list(stacks, host, names, kernel);
        return NULL;
    }
    struct lull_symbol_table *table = read_here(names, kernel, build_id);
    names->kernel_origin.from = build_id ? LULL_NAMES_BUILD : LULL_NAMES_HERE;
    return table;
}

static struct lull_symbol_table *parse(struct names *names, const char *text, size_t length,
                                       const char *modules)
{
    struct lull_symbol_table *table = lull_kallsyms_parse(text, length, modules);
    names->kernel_start = table ? lull_kallsyms_start(text, length) : 0;
    names->has_hidden_kernel |= !table;
    return table;
}

/* Those that a trace of the host holds; NULL: none does, or the kernel hid them. */
static struct lull_symbol_table *read_traces(const struct lull_stacks *stacks, uint32_t host,
                                             struct names *names)
{
    struct lull_symbol_table *table = NULL;
    const uint32_t n = stacks->session ? lull_session_trace_count(stacks->session) : 0;
    for (uint32_t i = 0; !table && i < n; i++) {
        gsize length;
        g_autofree char *text = lull_session_trace(stacks->session, i)->host == host
                                    ? lull_session_kernel_symbols(stacks->session, i, &length)
                                    : NULL;
        table = text ? parse(names, text, length, NULL) : NULL;
    }
    return table;
}

static void read_kernel(struct lull_stacks *stacks, uint32_t host, struct names *names,
                        const struct object *kernel)
{
    gsize length, length_of_modules;
    g_autofree char *text =
        stacks_read_recorded(names, LULL_RECORDING_KERNEL, MOST_KALLSYMS_BYTES, &length);
    g_autofree char *modules = stacks_read_recorded(names, LULL_RECORDING_MODULES,
                                                    MOST_KALLSYMS_BYTES, &length_of_modules);
    names->has_read_kernel = true;
    names->kernel = text ? parse(names, text, length, modules) : NULL;
    names->kernel = names->kernel ? names->kernel : read_traces(stacks, host, names);
    if (names->kernel) {
        names->kernel_origin.from = LULL_NAMES_RECORDING;
    } else {
        names->kernel = find_kernel(stacks, host, names, kernel);
    }
    if (names->kernel_why) {
        names->kernel_origin = (struct origin){.why = names->kernel_why->why};
    }
    if (kernel && kernel->start) {
        names->kernel_start = kernel->start;
    }
}

/* ---- its file ---- */

static struct lull_object *ask_servers(struct lull_stacks *stacks, const char *build_id)
{
    g_autofree char *path =
        stacks->servers ? lull_debuginfod_find(stacks->servers, build_id, LULL_DEBUGINFOD_DEBUG)
                        : NULL;
    return path ? lull_vmlinux_read(path, build_id) : NULL;
}

/* The file; NULL: it is not here, or it is not known where the kernel was. */
static struct lull_object *find_file(struct lull_stacks *stacks, uint32_t host, struct names *names,
                                     const struct object *kernel)
{
    const char *directory = stacks->wishes ? stacks->wishes->directory : NULL;
    if (names->has_looked_for_vmlinux || stacks_wants_recorded_only(stacks)) {
        return names->vmlinux;
    }
    g_autofree char *build_id = build_id_of_kernel(stacks, host, names, kernel);
    names->has_looked_for_vmlinux = true;
    if (!build_id || *build_id == '\0' || names->kernel_start == 0) {
        return NULL;
    }
    names->vmlinux_from = LULL_NAMES_DIRECTORY;
    names->vmlinux = directory ? lull_vmlinux_find(directory, build_id) : NULL;
    if (!names->vmlinux) {
        names->vmlinux_from = LULL_NAMES_BUILD;
        names->vmlinux = lull_vmlinux_find(NULL, build_id);
    }
    if (!names->vmlinux) {
        names->vmlinux_from = LULL_NAMES_SERVER;
        names->vmlinux = ask_servers(stacks, build_id);
    }
    if (names->vmlinux) {
        names->kernel_slide = names->kernel_start - lull_vmlinux_start(names->vmlinux);
    }
    return names->vmlinux;
}

/* ---- what is asked ---- */

const char *stacks_name_in_kernel(struct lull_stacks *stacks, uint32_t host,
                                  const struct object *kernel, uint64_t address, uint64_t *offset)
{
    struct names *names = stacks_names_of(stacks, host);
    if (!names->has_read_kernel) {
        read_kernel(stacks, host, names, kernel);
        if (!names->kernel && find_file(stacks, host, names, kernel)) {
            names->kernel_origin = (struct origin){.from = names->vmlinux_from};
        }
        if (!names->kernel && !names->vmlinux && stacks->wishes &&
            stacks->wishes->nameless_kernel && !*stacks->wishes->nameless_kernel) {
            *stacks->wishes->nameless_kernel = names->kernel_why;
        }
    }
    return names->kernel    ? lull_symbol_table_find(names->kernel, address, offset)
           : names->vmlinux ? lull_symbol_table_find(names->vmlinux->table,
                                                     address - names->kernel_slide, offset)
                            : NULL;
}

uint32_t stacks_code_in_kernel(struct lull_stacks *stacks, uint32_t host,
                               const struct object *kernel, uint64_t address,
                               struct lull_code code[LULL_MOST_INLINED])
{
    struct names *names = stacks_names_of(stacks, host);
    uint64_t offset;
    stacks_name_in_kernel(stacks, host, kernel, address, &offset);
    if (!names->kernel_lines && !names->has_looked_for_kernel_lines) {
        const struct lull_object *file = find_file(stacks, host, names, kernel);
        names->has_looked_for_kernel_lines = true;
        names->kernel_lines = file ? lull_lines_new(file) : NULL;
    }
    return names->kernel_lines
               ? lull_lines_find(names->kernel_lines, address - names->kernel_slide, code)
               : 0;
}

void stacks_drop_kernel(struct names *names)
{
    lull_symbol_table_free(names->kernel);
    lull_lines_free(names->kernel_lines);
    lull_object_free(names->vmlinux);
}

/* SPDX-License-Identifier: MIT */
/* The folder into which programs write their calls, how they find it, and what its metadata
 * says of what they write. */
#include "record/hooks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "record/state/trace.h"

#define FOLDER "calls"
#define METADATA FOLDER "/metadata"
#define OBJECTS "objects"
#define MOST_OBJECTS_BYTES (1u << 20)
#define MOST_US (10 * G_USEC_PER_SEC)
#define MODULE "_lull_calls.abi3.so"
#define STARTS_MODULE "sitecustomize.py"
#define FUNCTIONS "liblull-functions.so"
#define HEAP "liblull-heap.so" /* and functions */

/* As hook/stream.h has them. The names of functions of C have no file. */
static const char layout[] =
    "typealias integer { size = 8; align = 8; signed = 0; } := u8;\n"
    "typealias integer { size = 32; align = 8; signed = 0; } := u32;\n"
    "typealias integer { size = 32; align = 8; signed = 1; } := s32;\n"
    "typealias integer { size = 64; align = 8; signed = 0; } := u64;\n"
    "typealias integer { size = 8; align = 8; signed = 0; base = 16; } := x8;\n"
    "typealias integer { size = 64; align = 8; signed = 0; base = 16; } := x64;\n"
    "typealias integer { size = 64; align = 8; signed = 0; map = clock.monotonic.value; }"
    " := stamp;\n\n"
    "stream {\n"
    "    packet.context := struct {\n"
    "        stamp timestamp_begin;\n        stamp timestamp_end;\n"
    "        u64 content_size;\n        u64 packet_size;\n        u64 events_discarded;\n"
    "    };\n"
    "    event.header := struct { u8 id; stamp timestamp; };\n"
    "    event.context := struct { s32 _vpid; s32 _vtid;";

/* What hook/counters.c can read, named there as well. */
static const char *const counters[] = {"task-clock", "page-faults", "minor-faults", "major-faults",
                                       "context-switches"};

static const struct {
    const char *name, *fields;
} events[] = {
    {"lull_python:call", "u32 _code;"},
    {"lull_python:return", ""},
    {"lull_python:code", "u32 _code; u32 _line; string _qualname; string _filename;"},
    {"lull_python:c_call", "u32 _code;"},
    {"lull_python:c_return", ""},
    {"lull_functions:entry", "x64 _addr;"},
    {"lull_functions:exit", "x64 _addr;"},
    {"lull_functions:image", "x64 _baddr; u64 _memsz; u64 _inode; u8 _is_pic; string _path;"},
    {"lull_functions:build_id", "x64 _baddr; u32 __length; x8 _build_id[__length];"},
    {"lull_functions:image_gone", "x64 _baddr;"},
    {"lull_heap:alloc", "x64 _ptr; u64 _size; x64 _ip;"},
    {"lull_heap:realloc", "x64 _in_ptr; u64 _size; x64 _ptr; x64 _ip;"},
    {"lull_heap:free", "x64 _ptr;"},
    {"lull_recording:start", ""},
    {"lull_recording:end", ""},
};

static const char *hook_folder(void)
{
    const char *given = g_getenv("LULL_HOOKS"); /* where they are before they are installed */
    return given && g_path_is_absolute(given) ? given : LULL_HOOK_DIR;
}

/* "NAME=FIRST", before what the variable says already. */
static char *put_first(const char *name, const char *first)
{
    const char *others = g_getenv(name);
    return others && *others ? g_strconcat(name, "=", first, ":", others, NULL)
                             : g_strconcat(name, "=", first, NULL);
}

/* For the programs, in the order that the metadata has. */
static char *list_counters(unsigned read)
{
    GString *text = g_string_new("LULL_CALLS_COUNTERS=");
    for (uint32_t i = 0, n = 0; i < G_N_ELEMENTS(counters); i++) {
        if (read >> i & 1) {
            g_string_append_printf(text, "%s%s", n++ > 0 ? "," : "", counters[i]);
        }
    }
    return g_string_free(text, FALSE);
}

static void describe_counters(GString *text, unsigned read)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(counters); i++) {
        if (read >> i & 1) {
            g_autofree char *name = g_strdelimit(g_strdup(counters[i]), "-", '_');
            g_string_append_printf(text, " u64 _perf_thread_%s;", name);
        }
    }
}

static bool is_there(const char *path, GError **error)
{
    if (access(path, R_OK) == 0) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                "cannot record calls: “%s”, which programs would load: %s; install lull, or name "
                "the folder that has it in LULL_HOOKS",
                path, g_strerror(errno));
    return false;
}

unsigned lull_hooks_parse_counters(const char *list, GError **error)
{
    g_auto(GStrv) words = g_strsplit(list, ",", -1);
    unsigned read = 0;
    for (uint32_t i = 0; i == 0 || words[i]; i++) {
        const unsigned before = read;
        for (uint32_t k = 0; words[i] && k < G_N_ELEMENTS(counters); k++) {
            read |= strcmp(words[i], counters[k]) == 0 ? 1u << k : 0;
        }
        if (read == before) {
            g_autofree char *all = list_counters(~0u);
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "--call-counters takes different ones of %s, with commas between, not “%s”",
                        strchr(all, '=') + 1, list);
            return 0;
        }
    }
    return read;
}

char **lull_hooks_prepare(const struct lull_keeper *keeper, unsigned hooks, unsigned read,
                          int *objects, GError **error)
{
    g_autofree char *python = g_build_filename(hook_folder(), "python", NULL);
    g_autofree char *module = g_build_filename(python, MODULE, NULL);
    g_autofree char *starts = g_build_filename(python, STARTS_MODULE, NULL);
    g_autofree char *functions =
        g_build_filename(hook_folder(), hooks & LULL_HOOK_HEAP ? HEAP : FUNCTIONS, NULL);
    /* What programs make in the folder goes when the recording does. */
    if (((hooks & LULL_HOOK_PYTHON) && !(is_there(module, error) && is_there(starts, error))) ||
        ((hooks & LULL_HOOK_FUNCTIONS) && !is_there(functions, error)) ||
        !lull_keeper_expect(keeper, FOLDER, error) ||
        !lull_keeper_create_directory(keeper, FOLDER, error) ||
        ((hooks & LULL_HOOK_FUNCTIONS) &&
         (*objects = lull_keeper_create(keeper, OBJECTS, error)) < 0)) {
        return NULL;
    }
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(all, g_strconcat("LULL_CALLS=", keeper->part, "/" FOLDER, NULL));
    g_ptr_array_add(all, list_counters(read));
    if (hooks & LULL_HOOK_PYTHON) {
        g_ptr_array_add(all,
                        g_strdup(hooks & LULL_HOOK_PYTHON_C ? "LULL_CALLS_C=1" : "LULL_CALLS_C=0"));
        g_ptr_array_add(all, put_first("PYTHONPATH", python));
    }
    if (hooks & LULL_HOOK_FUNCTIONS) {
        g_ptr_array_add(all, put_first("LD_PRELOAD", functions));
    }
    g_ptr_array_add(all, NULL);
    return (char **)g_ptr_array_steal(all, NULL);
}

bool lull_hooks_describe(const struct lull_keeper *keeper, unsigned read, int64_t epoch_offset_ns,
                         GError **error)
{
    g_autoptr(GString) text = g_string_new("/* CTF 1.8 */\n\n");
    const int fd = lull_keeper_create(keeper, METADATA, error);
    if (fd < 0) {
        return false;
    }
    g_string_append_printf(text,
                           "trace {\n    major = 1;\n    minor = 8;\n    byte_order = %s;\n"
                           "    packet.header := struct { integer { size = 32; align = 8; "
                           "signed = 0; } magic; };\n};\n\n",
                           __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? "be" : "le");
    lull_state_trace_add_environment(text, "ust");
    lull_state_trace_add_clock(text, epoch_offset_ns);
    g_string_append(text, layout);
    describe_counters(text, read);
    g_string_append(text, " };\n};\n");
    for (uint32_t i = 0; i < G_N_ELEMENTS(events); i++) {
        g_string_append_printf(text,
                               "\nevent {\n    name = \"%s\";\n    id = %u;\n"
                               "    fields := struct { %s };\n};\n",
                               events[i].name, i, events[i].fields);
    }
    int why = lull_file_write(fd, text->str, text->len);
    if (close(fd) != 0 && why == 0) {
        why = errno;
    }
    if (why != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write “%s/" METADATA "”: %s",
                    keeper->part, g_strerror(why));
    }
    return why == 0;
}

/* All that is in the file, up to a limit; to be freed with g_free(). */
static char *read_objects(int fd)
{
    char *text = g_malloc(MOST_OBJECTS_BYTES + 1);
    size_t length = 0;
    ssize_t n;
    while (length < MOST_OBJECTS_BYTES &&
           (n = pread(fd, text + length, MOST_OBJECTS_BYTES - length, (off_t)length)) > 0) {
        length += (size_t)n;
    }
    text[length] = '\0';
    return text;
}

bool lull_hooks_save_symbols(const struct lull_keeper *keeper, int objects, GError **error)
{
    const int64_t end_us = g_get_monotonic_time() + MOST_US;
    g_autofree char *text = read_objects(objects);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    bool is_full = false, is_good = true;
    close(objects);
    for (uint32_t i = 0; lines[i] && is_good && !is_full && g_get_monotonic_time() < end_us; i++) {
        char *at;
        const uint64_t inode = g_ascii_strtoull(lines[i], &at, 10);
        const int64_t mapped_ns = g_ascii_strtoll(at, &at, 10);
        if (at[0] == ' ' && at[1] == '/' && g_hash_table_add(known, at + 1)) {
            is_good =
                lull_keeper_save_symbols(keeper, at + 1, inode, mapped_ns, false, &is_full, error);
        }
    }
    return is_good;
}

bool lull_hooks_measure(const struct lull_keeper *keeper, uint64_t *bytes, GError **error)
{
    uint64_t metadata = 0;
    *bytes = 0;
    if (!lull_keeper_measure(keeper, FOLDER, bytes, error) ||
        !lull_keeper_measure(keeper, METADATA, &metadata, error)) {
        return false;
    }
    *bytes -= MIN(metadata, *bytes);
    return true;
}

/* SPDX-License-Identifier: MIT */
/* The folder into which Python programs write their calls, how they find it, and what its metadata
 * says of what they write. */
#include "record/python.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "record/state/trace.h"

#define FOLDER "calls"
#define METADATA FOLDER "/metadata"
#define MODULE "_lull_calls.abi3.so"

/* As hook/python/hook.c writes them. The names of functions of C have no file. */
static const char layout[] =
    "typealias integer { size = 8; align = 8; signed = 0; } := u8;\n"
    "typealias integer { size = 32; align = 8; signed = 0; } := u32;\n"
    "typealias integer { size = 32; align = 8; signed = 1; } := s32;\n"
    "typealias integer { size = 64; align = 8; signed = 0; } := u64;\n"
    "typealias integer { size = 64; align = 8; signed = 0; map = clock.monotonic.value; }"
    " := stamp;\n\n"
    "stream {\n"
    "    packet.context := struct {\n"
    "        stamp timestamp_begin;\n        stamp timestamp_end;\n"
    "        u64 content_size;\n        u64 packet_size;\n        u64 events_discarded;\n"
    "    };\n"
    "    event.header := struct { u8 id; stamp timestamp; };\n"
    "    event.context := struct { s32 _vpid; s32 _vtid; };\n"
    "};\n";

static const struct {
    const char *name, *fields;
} events[] = {
    {"call", "u32 _code;"},
    {"return", ""},
    {"code", "u32 _code; u32 _line; string _qualname; string _filename;"},
    {"c_call", "u32 _code;"},
    {"c_return", ""},
};

static const char *hook_folder(void)
{
    const char *given = g_getenv("LULL_PYTHON_HOOK"); /* where it is before it is installed */
    return given && g_path_is_absolute(given) ? given : LULL_PYTHON_HOOK_DIR;
}

char **lull_python_prepare(const struct lull_keeper *keeper, bool with_c, GError **error)
{
    const char *hook = hook_folder(), *others = g_getenv("PYTHONPATH");
    g_autofree char *module = g_build_filename(hook, MODULE, NULL);
    if (access(module, R_OK) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                    "cannot record calls of Python programs: “%s”, which they would load: %s; "
                    "install lull, or name its folder in LULL_PYTHON_HOOK",
                    module, g_strerror(errno));
        return NULL;
    }
    /* What programs make in it goes when the recording does. */
    if (!lull_keeper_expect(keeper, FOLDER, error) ||
        !lull_keeper_create_directory(keeper, FOLDER, error)) {
        return NULL;
    }
    char **environment = g_new0(char *, 4);
    environment[0] = g_strconcat("LULL_CALLS=", keeper->part, "/" FOLDER, NULL);
    environment[1] = g_strdup(with_c ? "LULL_CALLS_C=1" : "LULL_CALLS_C=0");
    environment[2] = others && *others ? g_strconcat("PYTHONPATH=", hook, ":", others, NULL)
                                       : g_strconcat("PYTHONPATH=", hook, NULL);
    return environment;
}

bool lull_python_describe(const struct lull_keeper *keeper, int64_t epoch_offset_ns, GError **error)
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
    for (uint32_t i = 0; i < G_N_ELEMENTS(events); i++) {
        g_string_append_printf(text,
                               "\nevent {\n    name = \"lull_python:%s\";\n    id = %u;\n"
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

bool lull_python_measure(const struct lull_keeper *keeper, uint64_t *bytes, GError **error)
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

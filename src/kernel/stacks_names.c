/* SPDX-License-Identifier: MIT */
/* Names of the functions in call chains: of the recording, else of files that are surely the same. */
#include "kernel/stacks_private.h"

#include <string.h>

#include "base/file.h"
#include "source/files/recording.h"
#include "source/session/streams.h"
#include "symbol/debuginfod.h"
#include "symbol/demangle.h"
#include "symbol/directory.h"
#include "symbol/elf.h"
#include "symbol/elf_frames.h"
#include "symbol/here.h"
#include "symbol/jitdump.h"
#include "symbol/kallsyms.h"
#include "symbol/object.h"
#include "symbol/perf_map.h"
#include "symbol/saved.h"
#include "symbol/table.h"

/* The kernel with all its modules has about 5 MB of them. */
#define MOST_KALLSYMS_BYTES (UINT64_C(64) << 20)
/* Of all programs and libraries; a recorder ends at half of it. */
#define MOST_SYMBOLS_BYTES (UINT64_C(256) << 20)

const char *stacks_build_id_of(const struct names *names, const struct object *object)
{
    const char *id = object->build_id;
    if (id) {
        return id;
    }
    for (guint i = 0; names && i < names->build_ids->len; i++) {
        const char *other = g_hash_table_lookup(names->build_ids->pdata[i], object->path);
        id = !id || g_strcmp0(id, other) == 0 ? other : other ? "" : id;
    }
    return id;
}

const char *lull_stacks_build_id(const struct lull_stacks *stacks, uint32_t chain,
                                 const char *object)
{
    const struct names *names =
        chain < stacks->chains.count
            ? g_hash_table_lookup(stacks->names, GUINT_TO_POINTER(stacks->chains.items[chain].host))
            : NULL;
    const char *id = object ? stacks_build_id_of(names, stacks_object_of(object)) : NULL;
    return id && *id ? id : NULL;
}

char *stacks_read_recorded(const struct names *names, const char *file, uint64_t most_bytes,
                           gsize *length)
{
    char *text = NULL;
    return names->recording && lull_location_read(names->recording->location, file, most_bytes,
                                                  &text, length, NULL)
               ? text
               : NULL;
}

struct object *stacks_object_of(const char *path)
{
    return path ? (struct object *)(path - offsetof(struct object, path)) : NULL;
}

bool stacks_wants_recorded_only(const struct lull_stacks *stacks)
{
    return stacks->wishes && stacks->wishes->wants_recorded_only;
}

static bool is_vdso(const struct object *object)
{
    return strcmp(object->path, LULL_VDSO) == 0;
}

struct lull_object *stacks_find_recorded(struct names *names, const struct object *object,
                                         struct lull_object *(*read)(const struct lull_saved *saved,
                                                                     const char *path,
                                                                     uint64_t inode))
{
    if (!names->has_read_files) {
        gsize length;
        char *text =
            stacks_read_recorded(names, LULL_RECORDING_SYMBOLS, MOST_SYMBOLS_BYTES, &length);
        names->has_read_files = true;
        names->files = text ? lull_saved_new(text, length) : NULL;
    }
    g_autofree char *map = object->pid ? lull_perf_map_name(object->pid) : NULL;
    const uint64_t inode = map ? (uint64_t)object->pid : object->inode;
    return names->files && (inode || is_vdso(object))
               ? read(names->files, map ? map : object->path, inode)
               : NULL;
}

/* Files of this machine, if they are surely those that were mapped. */
static struct lull_object *find_here(const struct lull_stacks *stacks, uint32_t host,
                                     const struct object *object, const char *build_id,
                                     lull_object_reader *reader, struct origin *origin)
{
    struct lull_object *symbols = NULL;
    bool is_other = false;
    if (object->pid) {
        origin->why = "code that a program made while it ran, and the recording has no list of it";
    } else if (is_vdso(object) && host == stacks->here) {
        symbols = lull_elf_read_vdso();
        origin->from = LULL_NAMES_HERE;
        origin->why = "the kernel gives programs no code";
    } else if (*object->path != '/') {
        origin->why = "it is of no file";
    } else if (build_id && *build_id == '\0') {
        origin->why = "several files of this path were mapped";
    } else if (build_id) {
        symbols = lull_here_build(object->path, build_id, reader, stacks->servers, &is_other);
        origin->from = LULL_NAMES_BUILD;
        origin->why = is_other ? "the file of this machine is another build"
                               : "this machine has no file of this build that names functions";
    } else if (host == stacks->here) {
        symbols =
            lull_here_file(object->path, object->inode, object->mapped_ns, reader, stacks->servers);
        origin->from = LULL_NAMES_HERE;
        origin->why = "the file is gone, has changed since, or names no function";
    } else {
        origin->why = "recorded elsewhere, or before this machine started, without a build-id";
    }
    return symbols;
}

/* Where --path-map says that the file is; NULL: nowhere. */
static char *path_map_of(const struct lull_stacks *stacks, const struct object *object)
{
    return stacks->wishes ? lull_path_map(stacks->wishes->path_maps, object->path) : NULL;
}

/* A file of debug symbols does not say which bytes of the other have which addresses. */
static struct lull_object *ask_servers(const struct lull_stacks *stacks,
                                       const struct object *object, const char *build_id,
                                       lull_object_reader *reader, struct origin *origin)
{
    struct lull_object *symbols = NULL;
    bool is_other = false;
    origin->from = LULL_NAMES_SERVER;
    for (int kind = object->is_image ? LULL_DEBUGINFOD_DEBUG : LULL_DEBUGINFOD_PROGRAM;
         !symbols && kind <= LULL_DEBUGINFOD_PROGRAM; kind++) {
        g_autofree char *path = lull_debuginfod_find(stacks->servers, build_id, kind);
        symbols = path ? lull_directory_read_at(path, build_id, reader, stacks->servers, &is_other)
                       : NULL;
        if (!symbols) {
            origin->why = is_other ? "what the debuginfod server sent is of another build"
                          : path   ? "what the debuginfod server sent names no functions"
                                   : lull_debuginfod_why(stacks->servers);
        }
    }
    return symbols;
}

struct lull_object *stacks_find_file(const struct lull_stacks *stacks, uint32_t host,
                                     const struct object *object, const char *build_id,
                                     lull_object_reader *reader, struct origin *origin)
{
    const char *directory = stacks->wishes ? stacks->wishes->directory : NULL;
    g_autofree char *mapped = path_map_of(stacks, object);
    struct lull_object *symbols = NULL;
    bool is_other = false, is_other_there = false;
    if (stacks_wants_recorded_only(stacks)) {
        origin->why = "the recording does not hold it";
        return NULL;
    }
    if (mapped) {
        origin->from = LULL_NAMES_DIRECTORY;
        symbols =
            lull_directory_read_at(mapped, build_id, reader, stacks->servers, &is_other_there);
    }
    if (!symbols && directory) {
        origin->from = LULL_NAMES_DIRECTORY;
        symbols = lull_directory_read(directory, object->path, build_id, object->is_image, reader,
                                      stacks->servers, &is_other);
    }
    if (!symbols) {
        symbols = find_here(stacks, host, object, build_id, reader, origin);
        if (is_other) {
            origin->why = "the file in the directory of --symbols is another build";
        }
        if (is_other_there) {
            origin->why = "the file to which --path-map leads is another build";
        }
    }
    if (!symbols && stacks->servers && build_id && *build_id) {
        symbols = ask_servers(stacks, object, build_id, reader, origin);
    }
    return symbols;
}

/* What the recording holds of it. */
static struct lull_jitdump *read_recorded_jitdump(const struct names *names,
                                                  const struct object *object, int pid)
{
    g_autofree char *name = lull_jitdump_saved_name(pid, object->inode);
    gsize length;
    g_autofree char *bytes = stacks_read_recorded(names, name, MOST_KALLSYMS_BYTES, &length);
    return bytes ? lull_jitdump_parse(bytes, length, pid) : NULL;
}

/* A dump is the program's that has it mapped if it has the inode and, in its head, the number in its name. */
static struct lull_jitdump *read_jitdump(const struct lull_stacks *stacks,
                                         const struct names *names, const struct object *object,
                                         struct origin *origin)
{
    const char *directory = stacks->wishes ? stacks->wishes->directory : NULL;
    int pid = 0;
    lull_jitdump_is_name(object->path, &pid);
    struct lull_jitdump *dump = names ? read_recorded_jitdump(names, object, pid) : NULL;
    if (dump) {
        origin->from = LULL_NAMES_RECORDING;
        return dump;
    }
    g_autofree char *mapped = path_map_of(stacks, object);
    const char *why;
    int fd = -1;
    if (mapped && lull_file_open(mapped, &fd, NULL, &why) != LULL_OPEN_DONE) {
        fd = -1;
    }
    if (fd < 0 && directory) {
        fd = lull_directory_open(directory, object->path);
    }
    origin->from = LULL_NAMES_DIRECTORY;
    if (fd < 0) {
        fd = lull_jitdump_open(object->path, object->inode);
        origin->from = LULL_NAMES_HERE;
    }
    dump = fd >= 0 ? lull_jitdump_read(fd, pid) : NULL;
    if (!dump) {
        *origin = (struct origin){
            .why =
                "the program's list of the code that it made is gone, another, damaged, or of another user"};
    }
    return dump;
}

bool stacks_find_made(const struct lull_stacks *stacks, uint32_t host, struct object *jitdump,
                      uint64_t address, uint64_t time, uint64_t *offset)
{
    if (!jitdump->has_read_jitdump) {
        jitdump->has_read_jitdump = true;
        jitdump->jitdump =
            read_jitdump(stacks, g_hash_table_lookup(stacks->names, GUINT_TO_POINTER(host)),
                         jitdump, &jitdump->origin);
        if (jitdump->jitdump) {
            jitdump->is_read = true;
            jitdump->symbols = lull_jitdump_take_object(jitdump->jitdump);
        }
    }
    return jitdump->jitdump && lull_jitdump_place(jitdump->jitdump, address, time, offset);
}

/* What a program wrote of the code that it made, where people have put it. */
static struct lull_object *find_map(const struct lull_stacks *stacks, const struct object *object,
                                    struct origin *origin)
{
    g_autofree char *name = lull_perf_map_name(object->pid);
    g_autofree char *path = g_strconcat("/tmp/", name, NULL);
    const struct lull_symbol_wishes *wishes = stacks->wishes;
    g_autofree char *mapped = wishes ? lull_path_map(wishes->path_maps, path) : NULL;
    const char *why;
    bool is_other = false;
    int fd = -1;
    if (mapped && lull_file_open(mapped, &fd, NULL, &why) != LULL_OPEN_DONE) {
        fd = -1;
    }
    if (fd < 0 && wishes && wishes->directory) {
        fd = lull_directory_open(wishes->directory, path);
    }
    struct lull_object *symbols = fd >= 0 ? lull_perf_map_read(fd, &is_other) : NULL;
    if (symbols) {
        origin->from = LULL_NAMES_DIRECTORY;
    } else if (is_other) {
        origin->why = "its list of the code that it made (perf-PID.map) belongs to another user";
    }
    return symbols;
}

/* What the recording says of the file is of when it was mapped; the file may have changed since. */
static struct lull_object *find_symbols(struct lull_stacks *stacks, uint32_t host,
                                        struct object *object)
{
    struct names *names = stacks_names_of(stacks, host);
    struct lull_object *symbols = stacks_find_recorded(names, object, lull_saved_read);
    object->origin = (struct origin){.from = LULL_NAMES_RECORDING};
    if (!symbols && object->pid && !stacks_wants_recorded_only(stacks)) {
        symbols = find_map(stacks, object, &object->origin);
    }
    if (!symbols && !object->origin.why) {
        symbols = stacks_find_file(stacks, host, object, stacks_build_id_of(names, object),
                                   lull_elf_read, &object->origin);
    }
    if (symbols) {
        object->origin.why = NULL;
    } else {
        object->origin.from = LULL_NAMES_NOWHERE;
    }
    return symbols;
}

bool stacks_address(const struct object *object, const struct lull_object *of, uint64_t place,
                    uint64_t *address)
{
    *address = place + (object->is_relative ? lull_object_start(of) : 0);
    return object->is_image || lull_object_address(of, place, address);
}

const char *stacks_symbol_at(struct lull_stacks *stacks, uint32_t host, struct object *object,
                             uint64_t place, uint64_t *offset)
{
    if (!object->is_read) {
        object->is_read = true;
        object->symbols = find_symbols(stacks, host, object);
    }
    uint64_t address;
    return object->symbols && stacks_address(object, object->symbols, place, &address)
               ? lull_symbol_table_find(object->symbols->table, address, offset)
               : NULL;
}

bool lull_stacks_wants_raw_names(const struct lull_stacks *stacks)
{
    return stacks->wishes && stacks->wishes->wants_raw;
}

const char *stacks_readable(struct lull_stacks *stacks, const char *symbol)
{
    void *known;
    if (lull_stacks_wants_raw_names(stacks)) {
        return symbol;
    }
    if (!g_hash_table_lookup_extended(stacks->readable, symbol, NULL, &known)) {
        known = lull_demangle(symbol);
        g_hash_table_insert(stacks->readable, (void *)symbol, known);
    }
    return known ? known : symbol;
}

/* `back` is 1 for an address to which a call returns: the call lies before it, and may be the last
 * of its function. */
static void name_frame(struct lull_stacks *stacks, uint32_t host, struct lull_frame *frame,
                       unsigned back)
{
    struct object *object = stacks_object_of(frame->object);
    const uint64_t place = frame->offset - back;
    if (!object || object->is_kernel) {
        const uint64_t start = object ? object->start : 0;
        frame->symbol =
            (start + place) >> 63
                ? stacks_name_in_kernel(stacks, host, object, start + place, &frame->symbol_offset)
                : NULL;
    } else {
        frame->symbol = stacks_symbol_at(stacks, host, object, place, &frame->symbol_offset);
    }
    if (frame->symbol) {
        frame->symbol = stacks_readable(stacks, frame->symbol);
        frame->symbol_offset += back;
    }
}

const struct lull_frame *lull_stacks_frames(struct lull_stacks *stacks, uint32_t chain, uint32_t *n)
{
    *n = 0;
    if (chain >= stacks->chains.count) {
        return NULL;
    }
    struct chain *it = &stacks->chains.items[chain];
    struct lull_frame *frames = stacks->frames.items + it->first;
    for (uint32_t i = 0; !it->is_named && i < it->n; i++) {
        name_frame(stacks, it->host, &frames[i], i > 0);
    }
    if (!it->is_named && stacks->wishes && stacks->wishes->wants_inlined) {
        stacks_split(stacks, it);
    }
    it->is_named = true;
    *n = it->split ? it->split->n : it->n;
    return it->split ? it->split->frames : frames;
}

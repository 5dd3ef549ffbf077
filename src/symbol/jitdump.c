/* SPDX-License-Identifier: MIT */
/* Reads dumps of code. What is at which address is known by a tree that follows the records by time: new code takes
 * the place of what was there. */
#include "symbol/jitdump.h"

#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/search.h"
#include "base/vec.h"
#include "symbol/here.h"
#include "symbol/object.h"
#include "symbol/table.h"

#define MAGIC UINT32_C(0x4a695444)
#define MAGIC_OF_OTHERS UINT32_C(0x4454694a)
/* A day of a large program in Java has some ten megabytes. */
#define MOST_BYTES (INT64_C(256) << 20)
#define MOST_NAME 65535u

enum { RECORD_LOAD, RECORD_MOVE, RECORD_LINES };
/* Where the parts of records are. */
enum {
    HEADER_SIZE_AT = 8,
    HEADER_PID_AT = 20,
    HEADER_BYTES = 40,
    RECORD_SIZE_AT = 4,
    RECORD_TIME_AT = 8,
    RECORD_BYTES = 16,
    CODE_ADDRESS_AT = 32, /* MOVE: where it was */
    CODE_SIZE_AT = 40,    /* MOVE: where it is; its size follows */
    LOAD_NAME_AT = 56,
    MOVE_BYTES = 64,
    LINES_COUNT_AT = 24,
    LINES_AT = 32,
    LINE_NUMBER_AT = 8,
    LINE_NAME_AT = 16,
};

/* Code that came to an address. */
struct change {
    uint64_t time, address, size;
    uint64_t from;   /* of a move: the address before */
    uint64_t offset; /* otherwise: of its bytes in the file */
    uint32_t number; /* changes of one time in their order */
    bool is_move;
};

/* Code that is at an address now. */
struct piece {
    uint64_t start, end, offset;
};

struct line {
    uint64_t offset, end; /* end: of its code */
    struct lull_source_line at;
};

struct lull_jitdump {
    LULL_VEC(struct change) changes; /* by time */
    size_t next;                     /* that was not made yet */
    GTree *pieces;                   /* by start, without overlap */
    LULL_VEC(struct line) lines;     /* by offset */
    GStringChunk *texts;
    struct lull_object *object;
};

/* ---- reading ---- */

struct reader {
    struct lull_jitdump *dump;
    const uint8_t *bytes;
    size_t size;
    bool is_swapped;
    /* Lines of code that is to come: where their record is, 0: none. */
    size_t lines_at, lines_end;
};

static uint32_t number32(const struct reader *r, size_t at)
{
    uint32_t value;
    memcpy(&value, r->bytes + at, sizeof value);
    return r->is_swapped ? GUINT32_SWAP_LE_BE(value) : value;
}

static uint64_t number64(const struct reader *r, size_t at)
{
    uint64_t value;
    memcpy(&value, r->bytes + at, sizeof value);
    return r->is_swapped ? GUINT64_SWAP_LE_BE(value) : value;
}

/* The lines of the code whose bytes start at `offset`. */
static void add_lines(struct reader *r, uint64_t address, uint64_t size, uint64_t offset)
{
    static const char same[] = "\xff";
    const char *file = NULL;
    size_t at = r->lines_at;
    r->lines_at = 0;
    if (at == 0 || number64(r, at + RECORD_BYTES) != address) {
        return;
    }
    const uint64_t n = number64(r, at + LINES_COUNT_AT);
    at += LINES_AT;
    for (uint64_t i = 0; i < n && r->lines_end - at > LINE_NAME_AT; i++) {
        const char *name = (const char *)r->bytes + at + LINE_NAME_AT;
        const size_t room = r->lines_end - at - LINE_NAME_AT, length = strnlen(name, room);
        const uint64_t place = number64(r, at) - address;
        if (length == room) {
            return;
        }
        if (strcmp(name, same) != 0) {
            file = *name && length <= MOST_NAME ? g_string_chunk_insert_const(r->dump->texts, name)
                                                : NULL;
        }
        if (file && place < size) {
            const uint32_t line = number32(r, at + LINE_NUMBER_AT);
            lull_vec_push(&r->dump->lines,
                          (struct line){offset + place, offset + size, {file, line}});
        }
        at += LINE_NAME_AT + length + 1;
    }
}

static void add_load(struct reader *r, size_t at, size_t bytes, uint64_t time)
{
    const char *name = (const char *)r->bytes + at + LOAD_NAME_AT;
    const size_t room = bytes > LOAD_NAME_AT ? bytes - LOAD_NAME_AT : 0;
    const size_t length = strnlen(name, room);
    if (length == room) {
        return;
    }
    const uint64_t address = number64(r, at + CODE_ADDRESS_AT);
    const uint64_t size = number64(r, at + CODE_SIZE_AT);
    const uint64_t offset = at + LOAD_NAME_AT + length + 1;
    if (size == 0 || size > at + bytes - offset || size > UINT64_MAX - address) {
        return;
    }
    lull_vec_push(&r->dump->changes, (struct change){.time = time,
                                                     .address = address,
                                                     .size = size,
                                                     .offset = offset,
                                                     .number = (uint32_t)r->dump->changes.count});
    if (length > 0) {
        lull_symbol_table_add(r->dump->object->table, offset, size, 0, 0, name,
                              MIN(length, MOST_NAME));
    }
    add_lines(r, address, size, offset);
}

static void add_move(struct reader *r, size_t at, size_t bytes, uint64_t time)
{
    if (bytes < MOVE_BYTES) {
        return;
    }
    const uint64_t size = number64(r, at + CODE_SIZE_AT + 8);
    const uint64_t from = number64(r, at + CODE_ADDRESS_AT);
    const uint64_t to = number64(r, at + CODE_SIZE_AT);
    if (size > 0 && size <= UINT64_MAX - MAX(from, to)) {
        lull_vec_push(&r->dump->changes, (struct change){.time = time,
                                                         .address = to,
                                                         .size = size,
                                                         .from = from,
                                                         .number = (uint32_t)r->dump->changes.count,
                                                         .is_move = true});
    }
}

static bool check_header(struct reader *r, int pid, size_t *first)
{
    if (r->size < HEADER_BYTES) {
        return false;
    }
    r->is_swapped = number32(r, 0) == MAGIC_OF_OTHERS;
    *first = number32(r, HEADER_SIZE_AT);
    return number32(r, 0) == MAGIC && *first >= HEADER_BYTES && *first <= r->size &&
           number32(r, HEADER_PID_AT) == (uint32_t)pid;
}

/* A record that is not whole is the last: the program was at it. */
static void read_records(struct reader *r, size_t at)
{
    while (r->size - at >= RECORD_BYTES) {
        const uint32_t kind = number32(r, at);
        const uint64_t time = number64(r, at + RECORD_TIME_AT);
        const size_t bytes = number32(r, at + RECORD_SIZE_AT);
        if (bytes < RECORD_BYTES || bytes > r->size - at) {
            return;
        }
        if (kind == RECORD_LOAD) {
            add_load(r, at, bytes, time);
        } else if (kind == RECORD_MOVE) {
            add_move(r, at, bytes, time);
        } else if (kind == RECORD_LINES && bytes >= LINES_AT) {
            r->lines_at = at;
            r->lines_end = at + bytes;
        }
        at += bytes;
    }
}

static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    return a->time != b->time ? (a->time < b->time ? -1 : 1)
                              : (a->number > b->number) - (a->number < b->number);
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    return a->offset != b->offset     ? (a->offset < b->offset ? -1 : 1)
           : a->at.line != b->at.line ? (a->at.line < b->at.line ? -1 : 1)
                                      : strcmp(a->at.file, b->at.file);
}

static int compare_starts(const void *left, const void *right, void *user)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

struct lull_jitdump *lull_jitdump_parse(const void *bytes, size_t size, int pid)
{
    const struct lull_load all = {0, size, 0};
    struct reader r = {.bytes = bytes, .size = size};
    size_t first;
    if (!check_header(&r, pid, &first)) {
        return NULL;
    }
    struct lull_jitdump *dump = r.dump = g_new0(struct lull_jitdump, 1);
    dump->texts = g_string_chunk_new(1024);
    dump->pieces = g_tree_new_full(compare_starts, NULL, NULL, g_free);
    dump->object = lull_object_new();
    lull_object_add_load(dump->object, &all);
    read_records(&r, first);
    lull_symbol_table_finish(dump->object->table);
    if (dump->changes.count == 0) {
        lull_jitdump_free(dump);
        return NULL;
    }
    qsort(dump->changes.items, dump->changes.count, sizeof *dump->changes.items, compare_changes);
    if (dump->lines.count > 0) {
        qsort(dump->lines.items, dump->lines.count, sizeof *dump->lines.items, compare_lines);
    }
    return dump;
}

void lull_jitdump_free(struct lull_jitdump *dump)
{
    if (dump) {
        lull_vec_free(&dump->changes);
        lull_vec_free(&dump->lines);
        g_tree_unref(dump->pieces);
        g_string_chunk_free(dump->texts);
        lull_object_free(dump->object);
        g_free(dump);
    }
}

/* ---- files ---- */

bool lull_jitdump_is_name(const char *path, int *pid)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    int number, end = 0;
    if (sscanf(name, "jit-%9d.dump%n", &number, &end) != 1 || end == 0 || name[end] != '\0' ||
        number <= 0) {
        return false;
    }
    if (pid) {
        *pid = number;
    }
    return true;
}

static bool is_own(int place, uint64_t inode)
{
    struct stat st;
    return fstat(place, &st) == 0 && S_ISREG(st.st_mode) &&
           (st.st_uid == geteuid() || st.st_uid == 0) && (inode == 0 || st.st_ino == inode);
}

int lull_jitdump_open(const char *path, uint64_t inode)
{
    const int place = lull_here_look(path);
    return place >= 0 ? lull_here_take(place, is_own(place, inode)) : -1;
}

char *lull_jitdump_saved_name(int pid, uint64_t inode)
{
    return g_strdup_printf("jit-%d-%" G_GUINT64_FORMAT ".dump", pid, inode);
}

struct lull_jitdump *lull_jitdump_read(int fd, int pid)
{
    struct lull_jitdump *dump = NULL;
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_size <= MOST_BYTES) {
        const size_t size = (size_t)st.st_size;
        g_autofree char *bytes = g_malloc(MAX(size, 1));
        size_t length = 0;
        ssize_t n;
        while (length < size && (n = read(fd, bytes + length, size - length)) > 0) {
            length += (size_t)n;
        }
        dump = lull_jitdump_parse(bytes, length, pid);
    }
    close(fd);
    return dump;
}

/* ---- what is where ---- */

static void put(GTree *pieces, struct piece piece)
{
    if (piece.start < piece.end) {
        struct piece *kept = g_memdup2(&piece, sizeof piece);
        g_tree_insert(pieces, &kept->start, kept);
    }
}

/* The last piece that starts at or before the address, or NULL. */
static struct piece *at_or_before(GTree *pieces, uint64_t address)
{
    GTreeNode *after = g_tree_upper_bound(pieces, &address);
    GTreeNode *node = after ? g_tree_node_previous(after) : g_tree_node_last(pieces);
    return node ? g_tree_node_value(node) : NULL;
}

static void clear(GTree *pieces, uint64_t start, uint64_t end)
{
    struct piece *found;
    while ((found = at_or_before(pieces, end - 1)) && found->end > start) {
        const struct piece piece = *found;
        g_tree_remove(pieces, &piece.start);
        put(pieces, (struct piece){piece.start, MIN(piece.end, start), piece.offset});
        if (piece.end > end) {
            put(pieces, (struct piece){end, piece.end, piece.offset + (end - piece.start)});
        }
    }
}

static void make_change(GTree *pieces, const struct change *change)
{
    uint64_t offset = change->offset;
    if (change->is_move) {
        const struct piece *from = at_or_before(pieces, change->from);
        if (!from || from->end < change->from + change->size) {
            return;
        }
        offset = from->offset + (change->from - from->start);
        clear(pieces, change->from, change->from + change->size);
    }
    clear(pieces, change->address, change->address + change->size);
    put(pieces, (struct piece){change->address, change->address + change->size, offset});
}

bool lull_jitdump_place(struct lull_jitdump *dump, uint64_t address, uint64_t time,
                        uint64_t *offset)
{
    while (dump->next < dump->changes.count && dump->changes.items[dump->next].time <= time) {
        make_change(dump->pieces, &dump->changes.items[dump->next++]);
    }
    const struct piece *piece = at_or_before(dump->pieces, address);
    if (!piece || piece->end <= address) {
        return false;
    }
    *offset = piece->offset + (address - piece->start);
    return true;
}

struct lull_object *lull_jitdump_take_object(struct lull_jitdump *dump)
{
    return g_steal_pointer(&dump->object);
}

/* A line is of all places up to the next, within its code. */
struct lull_source_line lull_jitdump_line(const struct lull_jitdump *dump, uint64_t offset)
{
    const size_t after =
        LULL_LOWER_BOUND(i, dump->lines.count, dump->lines.items[i].offset <= offset);
    return after > 0 && offset < dump->lines.items[after - 1].end
               ? dump->lines.items[after - 1].at
               : (struct lull_source_line){.file = NULL};
}

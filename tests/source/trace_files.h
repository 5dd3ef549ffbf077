/* SPDX-License-Identifier: MIT */
/* Writes small traces by hand for the tests of the reader: bytes in either byte order, into
 * temporary directories that are removed again. */
#ifndef TESTS_TRACE_FILES_H
#define TESTS_TRACE_FILES_H

#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline void put(GByteArray *bytes, bool big_endian, unsigned size, uint64_t value)
{
    for (unsigned i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * (big_endian ? size - 1 - i : i));
        g_byte_array_append(bytes, &byte, 1);
    }
}

static inline void put_bytes(GByteArray *bytes, const char *data, size_t size)
{
    g_byte_array_append(bytes, (const uint8_t *)data, (guint)size);
}

/* Zero bytes up to a multiple of `alignment`. */
static inline void pad(GByteArray *bytes, unsigned alignment)
{
    while (bytes->len % alignment != 0) {
        put(bytes, false, 1, 0);
    }
}

static inline char *new_directory(void)
{
    char *path = g_dir_make_tmp("lull-test-XXXXXX", NULL);
    g_assert_nonnull(path);
    return path;
}

static inline void write_file(const char *directory, const char *name, const void *data,
                              size_t size)
{
    g_autofree char *path = g_build_filename(directory, name, NULL);
    g_autofree char *parent = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
    g_assert_true(g_file_set_contents(path, data, (gssize)size, NULL));
}

static inline void write_text(const char *directory, const char *name, const char *text)
{
    write_file(directory, name, text, strlen(text));
}

static inline void remove_tree(const char *path)
{
    GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        remove_tree(child);
    }
    if (dir) {
        g_dir_close(dir);
    }
    g_remove(path);
}

/* ---- an LTTng-like trace ---- */

#define TEST_UUID "11223344-5566-7788-99aa-bbccddeeff00"
static const uint8_t test_uuid[16] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                      0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00};

/* TSDL up to the clock. `order` is "le" or "be". */
static inline char *metadata_head(const char *order, const char *env, const char *clock)
{
    return g_strdup_printf(
        "/* CTF 1.8 */\n"
        "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
        "typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
        "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
        "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
        "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
        "trace { major = 1; minor = 8; uuid = \"" TEST_UUID "\"; byte_order = %s;\n"
        "  packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; }; };\n"
        "env { %s; };\n"
        "clock { name = \"mono\"; %s; };\n"
        "typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
        "typealias integer { size = 27; align = 1; signed = false; map = clock.mono.value; } "
        ":= time27_t;\n"
        "typealias integer { size = 32; align = 8; signed = false; map = clock.mono.value; } "
        ":= time32_t;\n"
        "typealias integer { size = 64; align = 8; signed = false; map = clock.mono.value; } "
        ":= time64_t;\n"
        "struct packet_context { time64_t timestamp_begin; time64_t timestamp_end;\n"
        "  uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num;\n"
        "  uint32_t events_discarded; uint32_t cpu_id; };\n"
        "struct compact { enum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"
        "  variant <id> { struct { time27_t timestamp; } compact;\n"
        "    struct { uint32_t id; time64_t timestamp; } extended; } v; } align(8);\n"
        "struct large { enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
        "  variant <id> { struct { time32_t timestamp; } compact;\n"
        "    struct { uint32_t id; time64_t timestamp; } extended; } v; } align(8);\n",
        order, env, clock);
}

/* What a packet's header and context say. */
struct test_packet {
    uint64_t start, end, sequence;
    uint32_t discarded, cpu;
    uint32_t size; /* bytes, or 0: as many as the contents need */
};

#define TEST_HEADER_BYTES (24 + 48)

/* Appends a packet with `contents` behind its header. */
static inline void put_packet(GByteArray *file, bool be, const struct test_packet *packet,
                              const GByteArray *contents)
{
    uint32_t content = TEST_HEADER_BYTES + contents->len;
    uint32_t size = packet->size != 0 ? packet->size : content;
    guint start = file->len;
    put(file, be, 4, 0xC1FC1FC1);
    g_byte_array_append(file, test_uuid, 16);
    put(file, be, 4, 0);
    put(file, be, 8, packet->start);
    put(file, be, 8, packet->end);
    put(file, be, 8, (uint64_t)content * 8);
    put(file, be, 8, (uint64_t)size * 8);
    put(file, be, 8, packet->sequence);
    put(file, be, 4, packet->discarded);
    put(file, be, 4, packet->cpu);
    g_byte_array_append(file, contents->data, contents->len);
    while (file->len < start + size) {
        put(file, be, 1, 0);
    }
}

/* Header of an event with a 16-bit id and the low 32 bits of its time. */
static inline void put_large(GByteArray *bytes, bool be, uint16_t id, uint32_t time)
{
    put(bytes, be, 2, id);
    put(bytes, be, 4, time);
}

/* Entry of an index file, all big-endian. */
static inline void put_index_entry(GByteArray *index, uint64_t offset, uint64_t bytes,
                                   uint64_t content_bytes, const struct test_packet *packet)
{
    put(index, true, 8, offset);
    put(index, true, 8, bytes * 8);
    put(index, true, 8, content_bytes * 8);
    put(index, true, 8, packet->start);
    put(index, true, 8, packet->end);
    put(index, true, 8, packet->discarded);
    put(index, true, 8, 0);
    put(index, true, 8, 0);
    put(index, true, 8, packet->sequence);
}

static inline void put_index_head(GByteArray *index)
{
    put(index, true, 4, 0xC1F1DCC1);
    put(index, true, 4, 1);
    put(index, true, 4, 1);
    put(index, true, 4, 72);
}

#endif

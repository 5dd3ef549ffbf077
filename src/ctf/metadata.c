/* SPDX-License-Identifier: MIT */
/* Metadata files: takes the text out of its packets (CTF 1.8.3, section 7.1; LTTng uses the same
 * for CTF 2, others those of CTF2-PMETA-1.0), recognizes formats by their first bytes, and has the
 * text parsed. */
#include "ctf/metadata.h"

#include <lull/error.h>

#include "base/file.h"
#include "ctf/ctf2/ctf2.h"
#include "ctf/tsdl/tsdl.h"

#include <string.h>

#define PACKET_MAGIC UINT32_C(0x75d11d57)
#define HEADER_SIZE 37 /* bytes; the fields have no padding between them */
#define PMETA_HEADER_SIZE 44
#define LARGEST_TEXT ((size_t)1 << 30)

struct packet_header {
    uint32_t magic;
    const uint8_t *uuid;
    uint32_t content_size, packet_size; /* bits */
    uint32_t header_size;               /* bytes */
    uint8_t compression, encryption, checksum_scheme, major, minor;
};

static uint32_t load32(const uint8_t *bytes, bool is_big_endian)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return is_big_endian ? GUINT32_FROM_BE(value) : GUINT32_FROM_LE(value);
}

static void load_header(const uint8_t *bytes, bool is_big_endian, struct packet_header *header)
{
    header->magic = load32(bytes, is_big_endian);
    header->uuid = bytes + 4;
    header->content_size = load32(bytes + 24, is_big_endian);
    header->packet_size = load32(bytes + 28, is_big_endian);
    header->compression = bytes[32];
    header->encryption = bytes[33];
    header->checksum_scheme = bytes[34];
    header->major = bytes[35];
    header->minor = bytes[36];
    header->header_size = HEADER_SIZE;
}

/* CTF2-PMETA-1.0 has three zeros more, where a text cannot have them, and the header's own size. */
static void extend_header(const uint8_t *bytes, size_t left, bool is_big_endian,
                          struct packet_header *header)
{
    static const uint8_t reserved[3];
    if (header->major == 2 && left >= PMETA_HEADER_SIZE &&
        memcmp(bytes + HEADER_SIZE, reserved, sizeof reserved) == 0 &&
        load32(bytes + 40, is_big_endian) == PMETA_HEADER_SIZE * 8) {
        header->header_size = PMETA_HEADER_SIZE;
    }
}

/* Is it a packet of this trace whose text can be taken as it is? */
static bool check_header(const char *name, const struct packet_header *header, size_t offset,
                         size_t left, const uint8_t *uuid, GError **error)
{
    enum lull_error code = LULL_ERROR_FORMAT;
    char why[128];

    if (header->magic != PACKET_MAGIC) {
        g_snprintf(why, sizeof why, "its magic number is 0x%08x, not 0x%08x", header->magic,
                   PACKET_MAGIC);
    } else if (header->content_size % 8 || header->packet_size % 8 ||
               header->content_size < header->header_size * 8 ||
               header->packet_size < header->content_size) {
        g_snprintf(why, sizeof why, "content of %u and packet of %u bits do not fit each other",
                   header->content_size, header->packet_size);
    } else if (header->packet_size / 8 > left) {
        g_snprintf(why, sizeof why, "the file ends at byte %zu, before the packet's %u bytes do",
                   offset + left, header->packet_size / 8);
    } else if (memcmp(header->uuid, uuid, 16) != 0) {
        g_snprintf(why, sizeof why, "its UUID is not that of the first packet");
    } else if (header->compression || header->encryption || header->checksum_scheme) {
        code = LULL_ERROR_UNSUPPORTED;
        g_snprintf(why, sizeof why,
                   "compression %u, encryption %u, checksum scheme %u: only 0 is understood",
                   header->compression, header->encryption, header->checksum_scheme);
    } else if (header->major != 1 && (header->major != 2 || header->minor != 0)) {
        code = LULL_ERROR_UNSUPPORTED;
        g_snprintf(why, sizeof why, "version %u.%u of CTF: only 1 and 2 are understood",
                   header->major, header->minor);
    } else {
        return true;
    }
    g_set_error(error, LULL_ERROR, (gint)code, "%s: bad metadata packet at byte %zu: %s", name,
                offset, why);
    return false;
}

static char *unwrap(const char *name, const uint8_t *data, size_t size, bool is_big_endian,
                    size_t *out_size, GError **error)
{
    char *text = g_malloc(size + 1);
    size_t length = 0;

    for (size_t offset = 0; offset < size;) {
        struct packet_header header;
        if (size - offset < HEADER_SIZE) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                        "%s: bad metadata packet at byte %zu: the file ends at byte %zu, within "
                        "the packet's header",
                        name, offset, size);
            g_free(text);
            return NULL;
        }
        load_header(data + offset, is_big_endian, &header);
        extend_header(data + offset, size - offset, is_big_endian, &header);
        if (!check_header(name, &header, offset, size - offset, data + 4, error)) {
            g_free(text);
            return NULL;
        }
        size_t n = header.content_size / 8 - header.header_size;
        memcpy(text + length, data + offset + header.header_size, n);
        length += n;
        offset += header.packet_size / 8;
    }
    text[length] = '\0';
    *out_size = length;
    return text;
}

char *lull_metadata_text(const char *name, const uint8_t *data, size_t size, size_t *out_size,
                         GError **error)
{
    *out_size = 0;
    if (size == 0 || size > LARGEST_TEXT) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, "%s: metadata of %zu bytes: %s", name,
                    size, size ? "Lull reads at most 1 GiB" : "the file is empty");
        return NULL;
    }
    if (size >= 4 && load32(data, false) == PACKET_MAGIC) {
        return unwrap(name, data, size, false, out_size, error);
    }
    if (size >= 4 && load32(data, true) == PACKET_MAGIC) {
        return unwrap(name, data, size, true, out_size, error);
    }
    char *text = g_malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    *out_size = size;
    return text;
}

bool lull_metadata_is_json(const char *text, size_t size)
{
    size_t start = 0;
    while (start < size && g_ascii_isspace(text[start])) {
        start++;
    }
    return start < size && (text[start] == 0x1e || text[start] == '{');
}

/* Other versions of TSDL say so at their start. */
static bool check_version(const char *name, const char *text, size_t size, GError **error)
{
    static const char signature[] = "/* CTF ";
    size_t n = sizeof signature - 1;

    if (size > n + 1 && memcmp(text, signature, n) == 0 && g_ascii_isdigit(text[n]) &&
        (text[n] != '1' || g_ascii_isdigit(text[n + 1]))) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                    "%s: line 1, column %zu: metadata of another version of CTF than 1", name,
                    n + 1);
        return false;
    }
    return true;
}

struct lull_schema *lull_metadata_parse_text(const char *name, const char *text, size_t size,
                                             GError **error)
{
    if (lull_metadata_is_json(text, size)) {
        return ctf2_parse(name, text, size, error);
    }
    return check_version(name, text, size, error) ? tsdl_parse(name, text, size, error) : NULL;
}

struct lull_schema *lull_metadata_parse(const char *name, const uint8_t *data, size_t size,
                                        GError **error)
{
    size_t length;
    char *text = lull_metadata_text(name, data, size, &length, error);
    struct lull_schema *schema = text ? lull_metadata_parse_text(name, text, length, error) : NULL;
    g_free(text);
    return schema;
}

struct lull_schema *lull_metadata_read(const char *path, GError **error)
{
    char *data;
    gsize size;

    if (!lull_file_read(path, LULL_METADATA_MOST_BYTES, &data, &size, error)) {
        g_prefix_error_literal(error, "the metadata cannot be read: ");
        return NULL;
    }
    struct lull_schema *schema = lull_metadata_parse(path, (const uint8_t *)data, size, error);
    g_free(data);
    return schema;
}

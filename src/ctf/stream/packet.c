/* SPDX-License-Identifier: MIT */
/* Packet discovery. Index files are checked against the stream file before they are believed; a
 * scan that meets damage looks for the next packet's magic number and UUID and goes on from there.
 */
#include "ctf/stream/packet.h"

#include <string.h>

#include "base/bits.h"

#define CTF_MAGIC 0xC1FC1FC1u
#define INDEX_MAGIC 0xC1F1DCC1u
#define INDEX_HEADER 16u
#define INDEX_ENTRY_1_0 56u /* bytes of an entry of version 1.0, 1.1 has two fields more */
#define INDEX_ENTRY_1_1 72u

/* A header is read with this many bytes first; one that is larger with the maximum. */
#define HEADER_BYTES 4096u
#define HEADER_MAX (1u << 20)
/* How far the search for the next packet after damage goes. */
#define SEARCH_MAX (UINT64_C(256) << 20)
#define SEARCH_STEP (UINT64_C(256) << 10)

struct finder {
    struct lull_packet_list *list;
    const struct lull_ctf_plan *plan;
    struct lull_bytes *bytes;
    const char *path;
    const struct lull_report *report;
    uint8_t *memory;
    uint8_t *buf;    /* HEADER_MAX + slack */
    bool is_foreign; /* its packets have another UUID than the metadata, this one */
    uint8_t uuid[16];
};

static struct lull_text uuid_of(const uint8_t *memory)
{
    struct lull_text uuid;
    memcpy(&uuid, memory + LULL_MEM_UUID, sizeof uuid);
    return uuid;
}

bool lull_packet_is_foreign(const struct lull_ctf_plan *plan, const uint8_t *memory)
{
    if (!plan->schema->has_uuid || !(lull_memory_get(memory, LULL_MEM_HAVE) & LULL_HAS_UUID)) {
        return false;
    }
    struct lull_text uuid = uuid_of(memory);
    return uuid.length != 16 || memcmp(uuid.data, plan->schema->uuid, 16) != 0;
}

uint64_t lull_packet_decode(const struct lull_ctf_plan *plan, const uint8_t *buf, uint64_t limit,
                            uint8_t *memory, uint32_t *stream, const char **why)
{
    const struct lull_schema *schema = plan->schema;
    lull_memory_set(memory, LULL_MEM_HAVE, 0);
    uint64_t pos = lull_plan_run(plan->packet_header, buf, limit, 0, memory);
    if (pos >= LULL_PLAN_FAILED) {
        *why = "the packet header does not fit its declaration";
        return pos;
    }
    uint64_t have = lull_memory_get(memory, LULL_MEM_HAVE);
    if ((have & LULL_HAS_MAGIC) && lull_memory_get(memory, LULL_MEM_MAGIC) != CTF_MAGIC) {
        *why = "no packet starts here (wrong magic number)";
        return LULL_PLAN_BAD_TAG;
    }
    if (schema->major >= 2 && lull_packet_is_foreign(plan, memory)) {
        *why = "the packet belongs to another trace (its UUID differs from the metadata's)";
        return LULL_PLAN_BAD_TAG;
    }
    uint64_t id = 0;
    if (have & LULL_HAS_STREAM_ID) {
        id = lull_memory_get(memory, LULL_MEM_STREAM_ID);
    } else if (schema->n_streams == 1) {
        id = schema->streams[0].id;
    }
    uint32_t i = 0;
    while (i < schema->n_streams && schema->streams[i].id != id) {
        i++;
    }
    if (i == schema->n_streams) {
        *why = "the packet is of a stream that the metadata does not declare";
        return LULL_PLAN_BAD_TAG;
    }
    *stream = i;
    pos = lull_plan_run(plan->streams[i].packet_context, buf, limit, pos, memory);
    if (pos >= LULL_PLAN_FAILED) {
        *why = "the packet context does not fit its declaration";
    }
    return pos;
}

const char *lull_packet_fill(const struct lull_stream_plan *stream, const uint8_t *memory,
                             uint64_t header_bits, uint64_t room, struct lull_packet *packet)
{
    uint64_t have = lull_memory_get(memory, LULL_MEM_HAVE);
    memset(packet, 0, sizeof *packet);
    uint64_t room_bits = room * 8;
    bool has_content = (have & LULL_HAS_CONTENT_SIZE) != 0;
    bool has_size = (have & LULL_HAS_PACKET_SIZE) != 0;
    uint64_t content = lull_memory_get(memory, LULL_MEM_CONTENT_SIZE);
    uint64_t size = lull_memory_get(memory, LULL_MEM_PACKET_SIZE);
    if (!has_size) { /* then there is no padding, or a single packet fills the file */
        size = has_content ? lull_align_up(MIN(content, LULL_BITS_HUGE), 8) : room_bits;
    }
    if (!has_content) {
        content = size;
    }
    if (size % 8 != 0 || size < header_bits || size == 0) {
        return "the packet header gives an impossible packet_size";
    }
    packet->bits = size;
    if (content < header_bits || content > size) {
        return "the packet header gives an impossible content_size";
    }
    packet->content_bits = content;
    if (size > room_bits) {
        const bool is_whole = content == header_bits || content == room_bits;
        packet->flags |= LULL_PACKET_CUT | (is_whole ? LULL_PACKET_WHOLE : 0);
        packet->content_bits = MIN(content, room_bits);
    }
    if (have & LULL_HAS_TIME_BEGIN) {
        packet->flags |= LULL_PACKET_HAS_BEGIN;
        packet->start = lull_memory_get(memory, LULL_MEM_TIME_BEGIN);
    }
    if (have & LULL_HAS_TIME_END) {
        packet->flags |= LULL_PACKET_HAS_END;
        packet->end = lull_memory_get(memory, LULL_MEM_TIME_END);
    }
    if ((have & LULL_HAS_DISCARDED) != 0) {
        packet->flags |= LULL_PACKET_HAS_DISCARDED;
        packet->discarded = lull_memory_get(memory, LULL_MEM_DISCARDED);
    }
    if ((have & LULL_HAS_SEQUENCE) != 0) {
        packet->flags |= LULL_PACKET_HAS_SEQUENCE;
        packet->sequence = lull_memory_get(memory, LULL_MEM_SEQUENCE);
    }
    if (packet->start != 0 && packet->end == 0 && stream->start_bits == 64 &&
        stream->end_bits == 64 && (packet->flags & LULL_PACKET_HAS_END)) {
        /* As lttng-crash recovers it: the packet was being written when the program died. */
        packet->flags |= LULL_PACKET_OPEN_END;
        packet->end = packet->start;
    }
    if ((packet->flags & LULL_PACKET_HAS_BEGIN) && (packet->flags & LULL_PACKET_HAS_END) &&
        stream->start_bits == 64 && stream->end_bits == 64 && packet->start > packet->end) {
        return "the packet header's timestamp_begin is after its timestamp_end";
    }
    return NULL;
}

/* Reads as much of `size` bytes as there is; the number of bytes, 0 also on errors. */
static uint64_t read_at(struct lull_bytes *bytes, uint64_t offset, uint8_t *buf, uint64_t size)
{
    uint64_t done = 0, n = 1;
    const char *why;
    while (done < size && n > 0) {
        n = bytes->ops->read(bytes, offset + done, buf + done, size - done, &why);
        done += n;
    }
    return done;
}

/* Decodes the packet header at `offset`. NULL with *packet and *stream filled, or why not. */
static const char *read_header(struct finder *f, uint64_t offset, struct lull_packet *packet,
                               uint32_t *stream)
{
    const char *why = NULL;
    uint64_t room = f->list->file_size - offset, bits = 0;
    for (uint64_t want = HEADER_BYTES; want <= HEADER_MAX; want *= 16) {
        uint64_t got = read_at(f->bytes, offset, f->buf, MIN(want, room));
        memset(f->buf + got, 0, LULL_LOAD_SLACK);
        bits = lull_packet_decode(f->plan, f->buf, got * 8, f->memory, stream, &why);
        if (bits != LULL_PLAN_SHORT || got < want) {
            break;
        }
    }
    if (bits == LULL_PLAN_SHORT) {
        return "the file ends within the packet header";
    }
    if (bits >= LULL_PLAN_FAILED) {
        return why;
    }
    const struct lull_stream_plan *plan = &f->plan->streams[*stream];
    const char *wrong = lull_packet_fill(plan, f->memory, bits, room, packet);
    packet->offset = offset;
    return wrong;
}

static int32_t read_cpu(const struct finder *f)
{
    uint64_t have = lull_memory_get(f->memory, LULL_MEM_HAVE);
    uint64_t cpu = lull_memory_get(f->memory, LULL_MEM_CPU);
    return (have & LULL_HAS_CPU) && cpu <= INT32_MAX ? (int32_t)cpu : -1;
}

static uint64_t read_instance(const struct finder *f)
{
    uint64_t have = lull_memory_get(f->memory, LULL_MEM_HAVE);
    return have & LULL_HAS_INSTANCE ? lull_memory_get(f->memory, LULL_MEM_INSTANCE) : UINT64_MAX;
}

/* What each packet header of the trace starts with, if that is known: magic number, then UUID. */
static size_t header_needle(const struct finder *f, uint8_t needle[20])
{
    const struct lull_schema *schema = f->plan->schema;
    const struct lull_fc *fc = schema->packet_header;
    if (!fc || fc->structure.n_members == 0) {
        return 0;
    }
    const struct lull_member *m = fc->structure.members;
    if (strcmp(m[0].name, "magic") != 0 || m[0].fc->kind != LULL_FC_INT ||
        m[0].fc->integer.size != 32) {
        return 0;
    }
    uint32_t magic = CTF_MAGIC;
    if (m[0].fc->integer.is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)) {
        magic = __builtin_bswap32(magic);
    }
    memcpy(needle, &magic, 4);
    if (fc->structure.n_members < 2 || strcmp(m[1].name, "uuid") != 0 || !schema->has_uuid ||
        m[1].fc->kind != LULL_FC_ARRAY || m[1].fc->alignment > 32) {
        return 4;
    }
    memcpy(needle + 4, f->is_foreign ? f->uuid : schema->uuid, 16);
    return 20;
}

/* Says so once of a file. */
static void note_foreign(struct finder *f, uint64_t offset)
{
    if (f->is_foreign || !lull_packet_is_foreign(f->plan, f->memory)) {
        return;
    }
    struct lull_text uuid = uuid_of(f->memory);
    f->is_foreign = true;
    memcpy(f->uuid, uuid.data, MIN(uuid.length, sizeof f->uuid));
    lull_report_problem(f->report,
                        "%s: byte %" G_GUINT64_FORMAT
                        ": the packet's UUID differs from the metadata's, as if it belonged to "
                        "another trace; Lull reads it anyway",
                        f->path, offset);
}

/* The next byte from `from` on at which a packet header can be decoded, or the file's size. */
static uint64_t search_packet(struct finder *f, uint64_t from)
{
    uint8_t needle[20];
    size_t length = header_needle(f, needle);
    uint64_t size = f->list->file_size, end = MIN(size, from + SEARCH_MAX);
    if (length == 0) {
        return size;
    }
    g_autofree uint8_t *buf = g_malloc(SEARCH_STEP);
    unsigned tries = 0;
    for (uint64_t at = from; at < end;) {
        uint64_t got = read_at(f->bytes, at, buf, MIN(SEARCH_STEP, size - at));
        if (got < length) {
            break;
        }
        const uint8_t *hit = buf;
        while ((hit = memmem(hit, got - (uint64_t)(hit - buf), needle, length))) {
            struct lull_packet packet;
            uint32_t stream;
            if (!read_header(f, at + (uint64_t)(hit - buf), &packet, &stream)) {
                return at + (uint64_t)(hit - buf);
            }
            if (++tries > 4096) {
                return size;
            }
            hit++;
        }
        at += got - length + 1;
    }
    return size;
}

/* ---- index files ---- */

/* Checks one entry against the file and the one before. NULL if it can be right. */
static const char *parse_entry(const uint8_t *p, uint32_t entry_size, uint64_t expected,
                               struct lull_packet *packet, uint64_t *stream_id)
{
    packet->offset = lull_load_u64(p, true);
    packet->bits = lull_load_u64(p + 8, true);
    packet->content_bits = lull_load_u64(p + 16, true);
    packet->start = lull_load_u64(p + 24, true);
    packet->end = lull_load_u64(p + 32, true);
    packet->discarded = lull_load_u64(p + 40, true);
    *stream_id = lull_load_u64(p + 48, true);
    packet->sequence = entry_size >= INDEX_ENTRY_1_1 ? lull_load_u64(p + 64, true) : 0;
    if (packet->offset != expected) {
        return "its packets do not follow each other";
    }
    if (packet->bits == 0 || packet->bits % 8 != 0 || packet->bits > LULL_BITS_HUGE ||
        packet->content_bits > packet->bits) {
        return "it has an impossible packet size";
    }
    if (packet->start > packet->end) {
        return "it has a packet that ends before it starts";
    }
    return NULL;
}

/* Both must agree on all that the index says; the first version says no sequence number. */
static bool same_packet(const struct lull_packet *a, const struct lull_packet *b, bool has_sequence)
{
    return a->bits == b->bits &&
           (a->content_bits == b->content_bits || (b->flags & LULL_PACKET_CUT)) &&
           a->start == b->start && a->end == b->end &&
           (!has_sequence || a->sequence == b->sequence);
}

/* Compares an entry with the packet's own header. */
static const char *verify_entry(struct finder *f, const struct lull_packet *entry, bool first,
                                bool has_sequence)
{
    struct lull_packet packet;
    uint32_t stream;
    const char *why = read_header(f, entry->offset, &packet, &stream);
    if (why) {
        return "it points at a packet header that is damaged or elsewhere";
    }
    note_foreign(f, entry->offset);
    if (first) {
        f->list->stream = stream;
        f->list->cpu = read_cpu(f);
        f->list->instance = read_instance(f);
    }
    if (stream != f->list->stream || !same_packet(entry, &packet, has_sequence)) {
        return "it contradicts the packet headers";
    }
    return NULL;
}

static const char *parse_index(struct finder *f, const uint8_t *data, size_t size)
{
    if (size < INDEX_HEADER || lull_load_u32(data, true) != INDEX_MAGIC) {
        return "it does not start like an index";
    }
    uint32_t entry_size = lull_load_u32(data + 12, true);
    if (lull_load_u32(data + 4, true) != 1 || entry_size < INDEX_ENTRY_1_0 || entry_size > 4096) {
        return "it has an unknown version";
    }
    if ((size - INDEX_HEADER) % entry_size != 0 || size == INDEX_HEADER) {
        return "it is cut short or empty";
    }
    uint64_t expected = 0, first_id = 0, file_size = f->list->file_size;
    for (size_t at = INDEX_HEADER; at < size; at += entry_size) {
        struct lull_packet packet = {.flags = LULL_PACKET_HAS_BEGIN | LULL_PACKET_HAS_END};
        uint64_t stream_id;
        const char *why = parse_entry(data + at, entry_size, expected, &packet, &stream_id);
        if (why) {
            return why;
        }
        if (at == INDEX_HEADER) {
            first_id = stream_id;
        }
        if (stream_id != first_id) {
            return "it mixes streams";
        }
        expected += packet.bits / 8;
        if (packet.offset >= file_size) {
            f->list->missing++;
            f->list->missing_end = packet.end;
            continue;
        }
        if (expected > file_size) {
            packet.flags |= LULL_PACKET_CUT;
            packet.content_bits = MIN(packet.content_bits, (file_size - packet.offset) * 8);
        }
        g_array_append_val(f->list->packets, packet);
    }
    if (expected < file_size) {
        return "it ends before the stream file does";
    }
    return NULL;
}

/* Takes the packets from the index. False if there is none, or with *why if it must not be used. */
static bool use_index(struct finder *f, const uint8_t *data, size_t size, const char **why)
{
    if (!data) {
        return false;
    }
    if (size >= 6 && memcmp(data, "CTFIDX", 6) == 0) {
        return false; /* another kind of index; the headers say it all */
    }
    *why = parse_index(f, data, size);
    bool has_sequence = !*why && lull_load_u32(data + 12, true) >= INDEX_ENTRY_1_1;
    GArray *packets = f->list->packets;
    if (!*why && packets->len > 0) {
        *why = verify_entry(f, &g_array_index(packets, struct lull_packet, 0), true, has_sequence);
        if (!*why && packets->len > 1) {
            *why = verify_entry(f, &g_array_index(packets, struct lull_packet, packets->len - 1),
                                false, has_sequence);
        }
    }
    if (*why || packets->len == 0) {
        return false;
    }
    const struct lull_stream_plan *stream = &f->plan->streams[f->list->stream];
    if (stream->start_bits != 64 || stream->end_bits != 64 ||
        (stream->sequence_bits != 0 && !has_sequence)) {
        return false; /* says less than the headers do */
    }
    for (uint32_t i = 0; i < packets->len; i++) {
        uint32_t *flags = &g_array_index(packets, struct lull_packet, i).flags;
        *flags |= stream->discarded_bits != 0 ? LULL_PACKET_HAS_DISCARDED : 0;
        *flags |= stream->sequence_bits != 0 ? LULL_PACKET_HAS_SEQUENCE : 0;
    }
    f->list->from_index = true;
    return true;
}

/* ---- scanning ---- */

/* Packet times narrower than 64 bits continue those of the packet before. */
static void widen_times(const struct lull_stream_plan *stream, struct lull_packet *packet,
                        uint64_t *clock)
{
    if (packet->flags & LULL_PACKET_HAS_BEGIN) {
        *clock = packet->start = lull_clock_advance(*clock, packet->start, stream->start_bits);
    }
    if (packet->flags & LULL_PACKET_HAS_END) {
        *clock = packet->end = lull_clock_advance(*clock, packet->end, stream->end_bits);
    }
}

/* The file ends within the packet, or its size is wrong and another one starts inside it. A program that
 * was killed when it had written the head of a packet, or when it had cut the padding off at the end of
 * its events and not yet said so, leaves a packet without padding: nothing is missing. */
static void settle_cut(struct finder *f, struct lull_packet *packet)
{
    struct lull_packet found = *packet;
    uint64_t next = search_packet(f, packet->offset + 1);
    if (next < f->list->file_size) {
        lull_report_problem(
            f->report,
            "%s: byte %" G_GUINT64_FORMAT
            ": packet_size is wrong: the next packet starts at byte %" G_GUINT64_FORMAT,
            f->path, found.offset, next);
        found.bits = (next - found.offset) * 8;
        found.content_bits = MIN(found.content_bits, found.bits);
        found.flags &= ~(uint32_t)LULL_PACKET_CUT;
    } else if (found.flags & LULL_PACKET_WHOLE) {
        found.bits = (f->list->file_size - found.offset) * 8;
        found.flags &= ~(uint32_t)LULL_PACKET_CUT;
    }
    *packet = found;
}

/* Reads headers one after the other. False with *why if not even one packet is found. */
static bool scan(struct finder *f, const char **why)
{
    uint64_t size = f->list->file_size, offset = 0, clock = 0;
    bool gap = false;
    while (offset < size) {
        struct lull_packet packet = {0};
        uint32_t stream = 0;
        const char *wrong = read_header(f, offset, &packet, &stream);
        bool first = f->list->packets->len == 0;
        int32_t cpu = read_cpu(f);
        if (!wrong && !first && stream != f->list->stream) {
            wrong = "a packet of another stream lies between the packets";
        }
        if (wrong) {
            /* The size may be right where the contents are not. */
            bool has_size = packet.bits != 0 && packet.bits / 8 < size - offset;
            uint64_t next = has_size ? offset + packet.bits / 8 : search_packet(f, offset + 1);
            if (first && next >= size) {
                *why = wrong;
                return false;
            }
            lull_report_problem(f->report, "%s: packet %u, byte %" G_GUINT64_FORMAT ": %s", f->path,
                                f->list->packets->len, offset, wrong);
            gap = true;
            offset = next;
            continue;
        }
        note_foreign(f, offset);
        if (first) {
            f->list->stream = stream;
            f->list->cpu = cpu;
            f->list->instance = read_instance(f);
        }
        if (packet.flags & LULL_PACKET_CUT) {
            settle_cut(f, &packet);
        }
        widen_times(&f->plan->streams[stream], &packet, &clock);
        packet.flags |= gap ? LULL_PACKET_GAP : 0;
        gap = false;
        g_array_append_val(f->list->packets, packet);
        offset += MIN(packet.bits / 8, size - offset);
    }
    f->list->damaged_tail = gap;
    return f->list->packets->len > 0;
}

/* ---- together ---- */

static void reset(struct lull_packet_list *list)
{
    g_array_set_size(list->packets, 0);
    list->missing = 0;
    list->missing_end = 0;
    list->cpu = -1;
    list->instance = UINT64_MAX;
}

/* a - b modulo 2^bits: counters wrap. */
static uint64_t difference(uint64_t a, uint64_t b, uint8_t bits)
{
    return (a - b) & lull_low_mask(MAX(bits, 1));
}

void lull_packet_lost(const struct lull_stream_plan *stream, const struct lull_packet *before,
                      const struct lull_packet *packet, uint64_t *events, uint64_t *packets)
{
    *events = 0;
    *packets = packet->flags & LULL_PACKET_GAP ? 1 : 0;
    if (before && (packet->flags & LULL_PACKET_HAS_SEQUENCE)) {
        uint64_t step = difference(packet->sequence, before->sequence, stream->sequence_bits);
        /* A step back is damage, not a gap of 2^64 packets. */
        if (step > 1 && step <= lull_low_mask(MAX(stream->sequence_bits, 1)) / 2) {
            *packets = MAX(*packets, step - 1);
        }
    }
    if (packet->flags & LULL_PACKET_HAS_DISCARDED) {
        /* The counter counts from the start of the recording, which is packet 0. */
        bool from_start = !(packet->flags & LULL_PACKET_HAS_SEQUENCE) || packet->sequence == 0;
        uint64_t base = before ? before->discarded : from_start ? 0 : packet->discarded;
        uint64_t n = difference(packet->discarded, base, stream->discarded_bits);
        if (n <= lull_low_mask(MAX(stream->discarded_bits, 1)) / 2) {
            *events = n;
        }
    }
}

bool lull_packet_check_times(struct lull_packet *packet, const struct lull_clock_map *map)
{
    bool has_start = (packet->flags & LULL_PACKET_HAS_BEGIN) != 0;
    bool has_end = (packet->flags & LULL_PACKET_HAS_END) != 0;
    if ((!has_start || lull_clock_map_holds(map, packet->start)) &&
        (!has_end || lull_clock_map_holds(map, packet->end))) {
        return false;
    }
    packet->flags &= ~(uint32_t)(LULL_PACKET_HAS_BEGIN | LULL_PACKET_HAS_END);
    packet->flags |= LULL_PACKET_OPEN_END;
    packet->start = packet->end = 0;
    return true;
}

void lull_packet_list_check_order(struct lull_packet_list *list)
{
    list->in_order = true;
    for (uint32_t i = 0; i < list->packets->len; i++) {
        const struct lull_packet *p = &g_array_index(list->packets, struct lull_packet, i);
        uint32_t both = LULL_PACKET_HAS_BEGIN | LULL_PACKET_HAS_END;
        if ((p->flags & both) != both || p->start > p->end || (i > 0 && p->start < (p - 1)->end)) {
            list->in_order = false;
        }
    }
}

static void note_cut(const struct finder *f)
{
    const struct lull_packet_list *list = f->list;
    const struct lull_packet *last =
        &g_array_index(list->packets, struct lull_packet, list->packets->len - 1);
    if (list->missing == 0 && !(last->flags & LULL_PACKET_CUT)) {
        return;
    }
    g_autofree char *more = list->missing == 0 ? g_strdup("")
                                               : g_strdup_printf(", and %" G_GUINT64_FORMAT
                                                                 " more packets should follow",
                                                                 list->missing);
    lull_report_problem(
        f->report,
        "%s: byte %" G_GUINT64_FORMAT
        ": the file is cut short; packet %u should end at byte %" G_GUINT64_FORMAT "%s",
        f->path, list->file_size, list->packets->len - 1, last->offset + last->bits / 8, more);
}

bool lull_packet_list_find(struct lull_packet_list *list, const struct lull_ctf_plan *plan,
                           const struct lull_packet_file *file, const struct lull_report *report,
                           GError **error)
{
    memset(list, 0, sizeof *list);
    list->packets = g_array_new(FALSE, FALSE, sizeof(struct lull_packet));
    list->file_size = file->size;
    g_autofree uint8_t *memory = g_malloc0(plan->fields_offset);
    g_autofree uint8_t *buf = g_malloc(HEADER_MAX + LULL_LOAD_SLACK);
    struct finder finder = {.list = list,
                            .plan = plan,
                            .bytes = file->bytes,
                            .path = file->path,
                            .report = report,
                            .memory = memory,
                            .buf = buf};
    const char *why = NULL;
    list->cpu = -1;
    list->instance = UINT64_MAX;
    if (!use_index(&finder, (const uint8_t *)file->index, file->index_size, &why)) {
        if (why) {
            lull_report_problem(report, "%s: the index is not used: %s", file->index_path, why);
        }
        why = "there is no packet in it";
        reset(list);
        if (!scan(&finder, &why)) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, "%s: byte 0: %s", file->path, why);
            return false;
        }
    }
    lull_packet_list_check_order(list);
    note_cut(&finder);
    return true;
}

void lull_packet_list_clear(struct lull_packet_list *list)
{
    g_clear_pointer(&list->packets, g_array_unref);
}

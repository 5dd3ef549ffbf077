/* What a CTF schema says about its trace, for all sources of CTF: description, clock, losses. */
#include "source/ctf_trace.h"

#include <string.h>

#include "base/bits.h"

void lull_ctf_clock_map(const struct lull_stream_plan *stream, int64_t delta_ns,
                        const struct lull_clock_transform *transform, struct lull_clock_map *map)
{
    const struct lull_clock *clock = stream->clock;
    if (clock != NULL)
        lull_clock_map_init(map, clock->frequency, clock->offset_s, clock->offset_cycles, delta_ns,
                            transform);
    else
        lull_clock_map_init(map, 1000000000, 0, 0, delta_ns, transform);
}

/* ---- losses ---- */

/* a - b modulo 2^bits: counters wrap. */
static uint64_t difference(uint64_t a, uint64_t b, uint8_t bits)
{
    return (a - b) & lull_low_mask(MAX(bits, 1));
}

void lull_ctf_packet_losses(const struct lull_report *report, uint32_t number,
                            const struct lull_stream_plan *stream, const struct lull_clock_map *map,
                            const struct lull_packet *packet, const struct lull_packet *before)
{
    int64_t begin = lull_clock_map_own(map, packet->begin);
    int64_t end = lull_clock_map_own(map, MAX(packet->end, packet->begin));
    int64_t before_end = before != NULL ? lull_clock_map_own(map, before->end) : begin;
    before_end = MIN(before_end, begin);
    uint64_t missing = packet->flags & LULL_PACKET_GAP ? 1 : 0;
    if (before != NULL && (packet->flags & LULL_PACKET_HAS_SEQUENCE)) {
        uint64_t step = difference(packet->sequence, before->sequence, stream->sequence_bits);
        /* A step back is damage, not a gap of 2^64 packets. */
        if (step > 1 && step <= lull_low_mask(stream->sequence_bits) / 2)
            missing = MAX(missing, step - 1);
    }
    if (missing > 0)
        report->lost(report->user, number, before_end, begin, 0, missing);
    if (packet->flags & LULL_PACKET_HAS_DISCARDED) {
        /* The counter counts from the begin of the recording, which is packet 0. */
        bool from_start = !(packet->flags & LULL_PACKET_HAS_SEQUENCE) || packet->sequence == 0;
        uint64_t base = before != NULL ? before->discarded : from_start ? 0 : packet->discarded;
        uint64_t events = difference(packet->discarded, base, stream->discarded_bits);
        if (events > 0 && events <= lull_low_mask(stream->discarded_bits) / 2)
            report->lost(report->user, number, before_end, end, events, 0);
    }
    if (packet->flags & LULL_PACKET_CUT)
        report->lost(report->user, number, begin, end, 0, 1);
}

/* ---- description ---- */

struct describer {
    struct lull_source *base;
    const struct lull_schema *schema;
    const struct lull_ctf_plan *plan;
    GPtrArray *texts;
};

/* Keeps `text` for the life of the source. */
static const char *keep(struct describer *d, char *text)
{
    g_ptr_array_add(d->texts, text);
    return text;
}

static const char *env_text(struct describer *d, const char *key)
{
    const char *text = lull_schema_env_text(d->schema, key);
    return text != NULL ? text : "";
}

static const char *tracer_text(struct describer *d)
{
    const char *name = env_text(d, "tracer_name");
    int64_t major = lull_schema_env_number(d->schema, "tracer_major", -1);
    int64_t minor = lull_schema_env_number(d->schema, "tracer_minor", -1);
    int64_t patch = lull_schema_env_number(d->schema, "tracer_patchlevel", -1);
    if (*name == '\0' || major < 0 || minor < 0)
        return name;
    if (patch < 0)
        return keep(
            d, g_strdup_printf("%s %" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, name, major, minor));
    return keep(d, g_strdup_printf("%s %" G_GINT64_FORMAT ".%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT,
                                   name, major, minor, patch));
}

static void describe(struct describer *d)
{
    static const struct lull_clock_transform identity;
    struct lull_trace *info = &d->base->info;
    const struct lull_schema *schema = d->schema;
    info->tracer = tracer_text(d);
    info->domain = env_text(d, "domain");
    info->kernel = env_text(d, "kernel_release");
    const char *session = lull_schema_env_text(schema, "trace_name");
    info->name = session != NULL ? session : env_text(d, "session_name");
    info->format = keep(d, g_strdup_printf("CTF %u.%u", schema->major, schema->minor));
    d->base->hostname = lull_schema_env_text(schema, "hostname");
    const struct lull_clock *clock = NULL;
    for (uint32_t i = 0; i < schema->n_streams && clock == NULL; i++)
        clock = d->plan->streams[i].clock;
    info->clock_name = clock != NULL ? clock->name : "";
    info->clock_frequency_hz = clock != NULL ? clock->frequency : 1000000000;
    if (clock == NULL)
        return;
    struct lull_clock_map map;
    lull_clock_map_init(&map, clock->frequency, clock->offset_s, clock->offset_cycles, 0,
                        &identity);
    info->clock_offset_ns = lull_clock_map_own(&map, 0);
    d->base->has_clock_uuid = clock->has_uuid;
    memcpy(d->base->clock_uuid, clock->uuid, sizeof clock->uuid);
}

void lull_ctf_describe(struct lull_source *source, const struct lull_schema *schema,
                       const struct lull_ctf_plan *plan, GPtrArray *texts)
{
    struct describer d = {source, schema, plan, texts};
    describe(&d);
}

/* SPDX-License-Identifier: MIT */
/* What a CTF schema says about its trace, for all sources of CTF: description, clock, losses,
 * classes and their fields. */
#include "source/ctf/trace.h"

#include <string.h>

#include "ctf/plan/fields.h"
#include "ctf/schema/text.h"

void lull_ctf_clock_map(const struct lull_stream_plan *stream, int64_t delta_ns,
                        const struct lull_clock_transform *transform, struct lull_clock_map *map)
{
    const struct lull_clock *clock = stream->clock;
    if (clock) {
        lull_clock_map_init(map, clock->frequency, clock->offset_s, clock->offset_cycles, delta_ns,
                            transform);
    } else {
        lull_clock_map_init(map, 1000000000, 0, 0, delta_ns, transform);
    }
}

void lull_ctf_packet_losses(const struct lull_report *report, uint32_t number,
                            const struct lull_stream_plan *stream, const struct lull_clock_map *map,
                            const struct lull_packet *packet, const struct lull_packet *before,
                            const struct lull_packet *next)
{
    int64_t start = lull_clock_map_own(map, packet->start);
    int64_t end = lull_clock_map_own(map, MAX(packet->end, packet->start));
    int64_t before_end = before ? lull_clock_map_own(map, before->end) : start;
    before_end = MIN(before_end, start);
    uint64_t events, missing;
    lull_packet_lost(stream, before, packet, &events, &missing);
    if (missing > 0) {
        report->lost(report->user, number, before_end, start, 0, missing);
    }
    if (events > 0) {
        /* LTTng's packets end where the next event comes, other tracers' with their last event, before the next. */
        int64_t next_start = next ? lull_clock_map_own(map, next->start) : end;
        report->lost(report->user, number, before_end, MAX(end, next_start - 1), events, 0);
    }
    if (packet->flags & LULL_PACKET_CUT) {
        report->lost(report->user, number, start, end, 0, 1);
    }
}

/* ---- description ---- */

struct describer {
    struct lull_source *base;
    const struct lull_schema *schema;
    const struct lull_ctf_plan *plan;
    const struct lull_report *report;
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
    return text ? text : "";
}

static const char *tracer_text(struct describer *d)
{
    const char *name = env_text(d, "tracer_name");
    int64_t major = lull_schema_env_number(d->schema, "tracer_major", -1);
    int64_t minor = lull_schema_env_number(d->schema, "tracer_minor", -1);
    int64_t patch = lull_schema_env_number(d->schema, "tracer_patchlevel", -1);
    if (*name == '\0' || major < 0 || minor < 0) {
        return name;
    }
    if (patch < 0) {
        return keep(
            d, g_strdup_printf("%s %" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, name, major, minor));
    }
    return keep(d, g_strdup_printf("%s %" G_GINT64_FORMAT ".%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT,
                                   name, major, minor, patch));
}

static void describe_clock(struct describer *d)
{
    static const struct lull_clock_transform identity;
    struct lull_trace *info = &d->base->info;
    const struct lull_clock *clock = NULL;
    for (uint32_t i = 0; i < d->schema->n_streams && !clock; i++) {
        clock = d->plan->streams[i].clock;
    }
    info->clock_name = clock ? clock->name : "";
    info->clock_frequency_hz = clock ? clock->frequency : 1000000000;
    if (!clock) {
        return;
    }
    struct lull_clock_map map;
    lull_clock_map_init(&map, clock->frequency, clock->offset_s, clock->offset_cycles, 0,
                        &identity);
    info->clock_offset_ns = lull_clock_map_own(&map, 0);
    if (!lull_clock_map_holds(&map, 0)) {
        lull_report_problem(d->report,
                            "%s/metadata: clock '%s': by its offset " LULL_TIME_OUTSIDE
                            "; events of such times are left out",
                            info->path, clock->name);
    }
    d->base->has_clock_uuid = clock->has_uuid;
    memcpy(d->base->clock_uuid, clock->uuid, sizeof clock->uuid);
}

static void describe_environment(struct describer *d)
{
    const struct lull_schema *schema = d->schema;
    const char **list = g_new0(const char *, 2 * (size_t)schema->n_env + 1);
    g_ptr_array_add(d->texts, (gpointer)list);
    for (uint32_t i = 0; i < schema->n_env; i++) {
        const struct lull_env_entry *entry = &schema->env[i];
        list[2 * i] = entry->key;
        list[2 * i + 1] = entry->text
                              ? entry->text
                              : keep(d, g_strdup_printf("%" G_GINT64_FORMAT, entry->number));
    }
    d->base->environment = list;
    d->base->task_names = lull_schema_env_text(schema, LULL_ENV_TASK_NAMES);
    d->base->joined_clock = lull_schema_env_text(schema, LULL_ENV_JOINED_CLOCK);
    d->base->has_uuid = schema->has_uuid;
    memcpy(d->base->uuid, schema->uuid, sizeof schema->uuid);
}

void lull_ctf_describe_trace(struct lull_source *source, const struct lull_schema *schema,
                             const struct lull_ctf_plan *plan, const struct lull_report *report,
                             GPtrArray *texts)
{
    struct describer d = {source, schema, plan, report, texts};
    struct lull_trace *info = &source->info;
    info->tracer = tracer_text(&d);
    info->domain = env_text(&d, "domain");
    info->kernel = env_text(&d, "kernel_release");
    const char *session = lull_schema_env_text(schema, "trace_name");
    info->name = session ? session : env_text(&d, "session_name");
    info->process = env_text(&d, "procname");
    info->process_id = lull_schema_env_number(schema, "vpid", -1);
    info->format =
        keep(&d, schema->major == 2 ? g_strdup("CTF 2") /* which has no minor versions */
                                    : g_strdup_printf("CTF %u.%u", schema->major, schema->minor));
    source->hostname = lull_schema_env_text(schema, "hostname");
    describe_clock(&d);
    describe_environment(&d);
}

void lull_ctf_describe_class(struct lull_event_class *event_class,
                             const struct lull_event_decl *decl)
{
    event_class->name = decl->name;
    event_class->model_uri = decl->emf_uri;
    event_class->log_level = decl->loglevel;
}

/* ---- fields ---- */

bool lull_ctf_describe_field(const struct lull_stream_plan *stream, uint32_t event,
                             const char *path, struct lull_field_type *type)
{
    bool is_optional;
    const struct lull_fc *fc = lull_ctf_plan_find_field(stream, event, path, &is_optional);
    if (!fc) {
        return false;
    }
    *type = (struct lull_field_type){.element_bytes = 0};
    lull_ctf_describe(fc, &type->info);
    type->info.is_optional = is_optional;
    if ((fc->kind == LULL_FC_ARRAY || fc->kind == LULL_FC_SEQUENCE) &&
        type->info.kind != LULL_INFO_ARRAY) {
        fc = fc->kind == LULL_FC_ARRAY ? fc->array.element : fc->sequence.element;
        /* The raw bytes of wide characters are not what a text shows. */
        if (type->info.kind != LULL_INFO_TEXT || lull_encoding_unit(fc->integer.encoding) == 1) {
            type->element_bytes = (uint8_t)(fc->integer.size / 8);
        }
        type->info.is_signed = fc->integer.is_signed; /* also of characters */
    }
    if ((fc->kind == LULL_FC_INT || fc->kind == LULL_FC_VARINT) && fc->integer.enumeration) {
        type->labels = fc;
    }
    return true;
}

const char *lull_ctf_label(const void *labels, uint64_t value)
{
    return lull_fc_enum_label(labels, value);
}

void lull_ctf_subscribe(struct lull_ctf_plan *plan, struct lull_stream_plan *stream, uint32_t event,
                        const struct lull_subscription *subscriptions, int32_t number,
                        const struct lull_fields *more, uint32_t max_fields_size)
{
    if (number < 0) {
        return;
    }
    const struct lull_subscription *s = &subscriptions[number];
    struct lull_extra_fields fields = {.offset = max_fields_size};
    if (more) {
        fields.bindings = more->bindings;
        fields.n_bindings = more->n_bindings;
        fields.size = more->size;
    }
    lull_ctf_plan_subscribe(plan, stream, event, number, s->bindings, s->n_bindings, s->fields_size,
                            &fields);
}

bool lull_ctf_cursor_cycles(const struct lull_ctf_stream *cursor, uint64_t *cycles)
{
    *cycles = lull_memory_get(cursor->memory, LULL_MEM_CLOCK);
    return cursor->stream->clock && cursor->stream->has_time;
}

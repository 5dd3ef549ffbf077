/* SPDX-License-Identifier: MIT */
/* What is CTF 1.8's own when a schema is built: byte orders, clocks, tags and lengths, and which
 * events belong to which stream. */
#include "ctf/tsdl/parser.h"

#include <string.h>

static bool too_many(struct draft_builder *builder, const struct draft_class *type)
{
    return tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, type->pos,
                     "too many fields: more than %u in all events together", DRAFT_MAX_CLASSES);
}

static bool finish_integer(struct draft_builder *builder, const struct draft_class *type,
                           struct lull_fc *fc)
{
    struct draft_tree *tree = builder->tree;

    if (type->fixed_bits > 64) {
        return tsdl_fail(tree->source, LULL_ERROR_UNSUPPORTED, type->pos,
                         "integer of %" G_GUINT64_FORMAT " bits: at most 64 are understood",
                         type->fixed_bits);
    }
    fc->integer.size = (uint32_t)type->fixed_bits;
    fc->integer.is_big_endian = type->is_native ? tree->is_big_endian : fc->integer.is_big_endian;
    if (type->integer.clock) {
        gpointer index = draft_names_bound(&tree->names, &tree->clocks, type->integer.clock);
        if (!index) {
            return tsdl_fail(tree->source, LULL_ERROR_FORMAT, type->integer.clock_pos,
                             "clock '%.60s' is not declared", type->integer.clock->text);
        }
        fc->integer.clock = &builder->clocks[GPOINTER_TO_UINT(index) - 1];
    }
    return true;
}

static bool finish_float(struct draft_builder *builder, const struct draft_class *type,
                         struct lull_fc *fc)
{
    static const uint8_t formats[][2] = {{5, 11}, {8, 24}, {11, 53}};

    fc->floating.is_big_endian =
        type->is_native ? builder->tree->is_big_endian : fc->floating.is_big_endian;
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (type->floating.exp_dig == formats[i][0] && type->floating.mant_dig == formats[i][1]) {
            fc->floating.size = (uint32_t)formats[i][0] + formats[i][1];
            return true;
        }
    }
    return tsdl_fail(builder->tree->source, LULL_ERROR_UNSUPPORTED, type->pos,
                     "floating_point with exp_dig %" G_GUINT64_FORMAT
                     " and mant_dig %" G_GUINT64_FORMAT
                     ": only 5/11, 8/24 and 11/53 are understood",
                     type->floating.exp_dig, type->floating.mant_dig);
}

/* Without any clock in the metadata, fields named `timestamp` count nanoseconds (section 8), and
 * the packet context's are those of section 5.2. */
static bool has_implied_clock(const struct draft_builder *builder, const struct lull_fc *fc)
{
    return builder->tree->is_clock_implied && fc->kind == LULL_FC_INT && !fc->integer.is_signed &&
           !fc->integer.enumeration && (fc->roles & (LULL_ROLE_CLOCK | LULL_ROLE_CLOCK_END));
}

static bool finish(struct draft_builder *builder, const struct draft_class *type,
                   struct lull_fc *fc)
{
    const struct draft_part *part = draft_current_part(builder);

    if ((fc->kind == LULL_FC_INT && !finish_integer(builder, type, fc)) ||
        (fc->kind == LULL_FC_FLOAT && !finish_float(builder, type, fc))) {
        return false;
    }
    if (part) {
        fc->roles = tsdl_roles(builder->scope, builder->n_frames, part->shown, fc);
    }
    if (has_implied_clock(builder, fc)) {
        fc->integer.clock = &builder->clocks[0];
    }
    return true;
}

static bool bad_ref(struct draft_builder *builder, const struct draft_class *type, const char *why)
{
    const char *what =
        type->fc.kind == LULL_FC_SEQUENCE ? "length of a sequence" : "tag of a variant";
    g_autofree char *path = draft_ref_text(type->ref);
    return tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, type->ref->pos, "bad %s '%s': %s",
                     what, path, why);
}

/* Which option each label of the tag's enumeration selects. */
static bool select_options(struct draft_builder *builder, const struct draft_class *type,
                           const struct draft_class *tag, struct lull_fc *fc)
{
    const struct lull_enumeration *labels = tag->fc.integer.enumeration;

    if (!labels) {
        return tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, type->ref->pos,
                         "bad tag of a variant '%.60s': the field is not an enumeration",
                         type->ref->names[type->ref->n_names - 1]->text);
    }
    if (!draft_spend(builder, type, labels->n_ranges)) {
        return false;
    }
    struct lull_option_range *ranges =
        lull_arena_alloc_n(builder->tree->arena, labels->n_ranges, sizeof *ranges);
    for (uint32_t i = 0; i < labels->n_ranges; i++) {
        int64_t option = draft_find_part(builder->tree, type->body, tag->integer.labels[i], true);
        if (option >= 0) {
            ranges[fc->variant.n_ranges++] = (struct lull_option_range){
                labels->ranges[i].lower, labels->ranges[i].upper, (uint32_t)option};
        }
    }
    fc->variant.ranges = ranges;
    return true;
}

/* Of a sequence whose length is in the environment: an array. */
static bool take_env_length(struct draft_builder *builder, const struct draft_class *type,
                            struct lull_fc *fc)
{
    struct draft_tree *tree = builder->tree;
    gpointer index = draft_names_bound(&tree->names, &tree->env, type->ref->env);
    const struct lull_env_entry *entry =
        index ? &g_array_index(tree->env, struct lull_env_entry, GPOINTER_TO_UINT(index) - 1)
              : NULL;

    if (fc->kind != LULL_FC_SEQUENCE) {
        return bad_ref(builder, type, "only lengths can be in the environment");
    }
    if (!entry) {
        return bad_ref(builder, type, "there is no such entry in the environment");
    }
    if (entry->text || entry->number < 0) {
        return bad_ref(builder, type, "the entry of the environment is not a length");
    }
    fc->kind = LULL_FC_ARRAY;
    fc->array.length = (uint64_t)entry->number;
    return true;
}

static bool refer(struct draft_builder *builder, const struct draft_class *type, struct lull_fc *fc)
{
    static const char *const reasons[] = {
        [DRAFT_MISSING] = "there is no such field",
        [DRAFT_NOT_BEFORE] = "it is not before the field that refers to it",
        [DRAFT_NOT_INTEGER] = "the field is not an integer",
        [DRAFT_NOT_STRUCTURE] = "what comes before the last dot is not a structure",
        [DRAFT_NOT_INSIDE] =
            "it is in an array, sequence or variant that does not hold the referring field",
    };
    bool is_length = type->fc.kind == LULL_FC_SEQUENCE;
    const struct draft_class *target;

    if (!type->ref) {
        return tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, type->pos,
                         "variant without a tag: nothing selects its option where it is used");
    }
    if (type->ref->env) {
        return take_env_length(builder, type, fc);
    }
    enum draft_outcome outcome =
        draft_locate(builder, type, is_length ? &fc->sequence.length : &fc->variant.tag, &target);
    if (outcome != DRAFT_FOUND) {
        return outcome != DRAFT_FULL && bad_ref(builder, type, reasons[outcome]);
    }
    if (!is_length) {
        return select_options(builder, type, target, fc);
    }
    return !target->fc.integer.is_signed ||
           tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, type->ref->pos,
                     "bad length of a sequence '%.60s': the field is signed",
                     type->ref->names[type->ref->n_names - 1]->text);
}

/* The clock of a stream's events, or NULL if there are several and none is used. */
static const struct lull_clock *default_clock(const struct draft_builder *builder)
{
    const struct lull_clock *clock = tsdl_first_clock(builder->roots[LULL_SCOPE_EVENT_HEADER].fc);

    if (!clock) {
        clock = tsdl_first_clock(builder->roots[LULL_SCOPE_PACKET_CONTEXT].fc);
    }
    return clock || builder->tree->clocks->len > 1 ? clock : &builder->clocks[0];
}

static uint32_t line_of(const struct draft_source *source, size_t pos)
{
    uint32_t line = 1;
    for (size_t i = 0; i < pos; i++) {
        line += source->text[i] == '\n';
    }
    return line;
}

/* Makes the stream that may be left out, and gives events that which they may leave out. */
static bool complete(struct draft_tree *tree)
{
    struct draft_event *events = (struct draft_event *)tree->events->data;

    if (tree->streams->len == 0 && tree->events->len > 0) {
        struct draft_stream implied = {.origin = events[0].origin, .clock = -1};
        g_array_append_val(tree->streams, implied);
    }
    const struct draft_stream *streams = (const struct draft_stream *)tree->streams->data;
    for (guint i = 0; tree->streams->len > 1 && i < tree->streams->len; i++) {
        if (!streams[i].has_id) {
            return tsdl_fail(tree->source, LULL_ERROR_FORMAT, streams[i].origin.offset,
                             "stream without an id, which only a single one may be");
        }
    }
    for (guint i = 0; i < tree->events->len; i++) {
        if (events[i].has_stream_id) {
            continue;
        }
        if (tree->streams->len > 1) {
            return tsdl_fail(tree->source, LULL_ERROR_FORMAT, events[i].origin.offset,
                             "event '%.60s' without a stream_id: there are several streams",
                             events[i].identity.name);
        }
        events[i].stream_id = streams[0].id;
    }
    return true;
}

static bool check_streams(struct draft_tree *tree)
{
    const struct draft_stream *streams = (const struct draft_stream *)tree->streams->data;

    for (guint i = 1; i < tree->streams->len; i++) {
        if (streams[i].id == streams[i - 1].id) {
            return tsdl_fail(tree->source, LULL_ERROR_FORMAT, streams[i].origin.offset,
                             "stream id %" G_GUINT64_FORMAT " is used twice: line %u has it too",
                             streams[i].id, line_of(tree->source, streams[i - 1].origin.offset));
        }
    }
    return true;
}

static bool check_events(struct draft_tree *tree)
{
    const struct draft_event *events = (const struct draft_event *)tree->events->data;
    const struct draft_stream *streams = (const struct draft_stream *)tree->streams->data;
    guint stream = 0;

    for (guint i = 0; i < tree->events->len; i++) {
        if (i > 0 && events[i].id == events[i - 1].id &&
            events[i].stream_id == events[i - 1].stream_id) {
            return tsdl_fail(tree->source, LULL_ERROR_FORMAT, events[i].origin.offset,
                             "event '%.60s' has id %" G_GUINT64_FORMAT
                             ", as '%.60s' on line %u in the same stream",
                             events[i].identity.name, events[i].id, events[i - 1].identity.name,
                             line_of(tree->source, events[i - 1].origin.offset));
        }
    }
    for (guint i = 0; i < tree->events->len; i++) {
        while (stream < tree->streams->len && streams[stream].id < events[i].stream_id) {
            stream++;
        }
        if (stream == tree->streams->len || streams[stream].id != events[i].stream_id) {
            return tsdl_fail(tree->source, LULL_ERROR_FORMAT, events[i].origin.offset,
                             "event '%.60s' is of stream %" G_GUINT64_FORMAT
                             ", which is not declared",
                             events[i].identity.name, events[i].stream_id);
        }
    }
    return true;
}

static bool has_stream_id(const struct draft_class *packet_header)
{
    for (uint32_t i = 0; packet_header && i < packet_header->body->n_parts; i++) {
        if (strcmp(packet_header->body->parts[i].shown, "stream_id") == 0) {
            return true;
        }
    }
    return false;
}

struct lull_schema *tsdl_build(struct draft_tree *tree)
{
    static const struct draft_language language = {
        .too_many = too_many,
        .finish = finish,
        .refer = refer,
        .default_clock = default_clock,
        .names_options = true,
    };

    if (!complete(tree)) {
        return NULL;
    }
    draft_tree_sort(tree);
    if (!check_streams(tree) || !check_events(tree)) {
        return NULL;
    }
    if (tree->streams->len > 1 && !has_stream_id(tree->packet_header)) {
        tsdl_fail(tree->source, LULL_ERROR_FORMAT, tree->trace_origin.offset,
                  "packet header without stream_id: nothing says which of the %u streams a packet "
                  "is of",
                  tree->streams->len);
        return NULL;
    }
    if (tree->clocks->len == 0) {
        struct lull_clock implied = {.name = "", .frequency = 1000000000};
        g_array_append_val(tree->clocks, implied);
        tree->is_clock_implied = true;
    }
    return draft_build(tree, &language);
}

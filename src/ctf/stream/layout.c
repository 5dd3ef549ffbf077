/* SPDX-License-Identifier: MIT */
/* Describes the bytes of one event class as a list of steps (source/layout.h), from its schema.
 * What refers to packet or event headers, or is too large, has no layout: the general walk does it.
 */
#include "ctf/stream/layout.h"

#include <string.h>

#include "base/bits.h"
#include "ctf/plan/build.h"
#include "ctf/schema/text.h"
#include "base/layout.h"

/* Field classes can be shared, so a small schema may describe a huge event. */
#define MAX_STEPS 8192u
#define MAX_SLOTS 64u

/* ---- which fields there are ---- */

static uint32_t find_slot_of(const struct lull_field_position *position,
                             const struct lull_fc_ref *ref)
{
    uint32_t slot = lull_kept_fields_slot(position->own, ref->scope, ref->depth, ref->path);
    return slot != 0 ? slot
                     : lull_kept_fields_slot(position->shared, ref->scope, ref->depth, ref->path);
}

uint32_t lull_field_position_slot(const struct lull_field_position *position)
{
    const struct lull_fc_ref ref = {
        .scope = position->scope, .depth = position->depth, .path = position->path};
    return find_slot_of(position, &ref);
}

static bool any_visible(struct lull_field_position *position, const struct lull_member *members,
                        uint32_t n, uint32_t flags)
{
    bool found = n == 0;
    for (uint32_t i = 0; i < n && !found; i++) {
        position->path[position->depth++] = i;
        found = lull_field_is_visible(position, members[i].fc, flags);
        position->depth--;
    }
    return found;
}

bool lull_field_is_visible(struct lull_field_position *position, const struct lull_fc *fc,
                           uint32_t flags)
{
    if (!(flags & LULL_VISIT_NO_CLOCKS) || position->depth >= LULL_FC_DEPTH) {
        return true;
    }
    while (fc->kind == LULL_FC_ARRAY || fc->kind == LULL_FC_SEQUENCE) {
        fc = fc->kind == LULL_FC_ARRAY ? fc->array.element : fc->sequence.element;
    }
    switch (fc->kind) {
    case LULL_FC_INT:
    case LULL_FC_VARINT:
        return !fc->integer.clock || lull_field_position_slot(position) != 0;
    case LULL_FC_STRUCT:
        return any_visible(position, fc->structure.members, fc->structure.n_members, flags);
    case LULL_FC_VARIANT:
        return any_visible(position, fc->variant.options, fc->variant.n_options, flags);
    default:
        return true;
    }
}

/* ---- steps ---- */

struct builder {
    struct lull_layout *layout;
    GArray *steps;
    struct lull_field_position position;
    uint32_t flags;
    bool is_hidden;
    uint32_t slots[MAX_SLOTS]; /* memory offset in the plan of each slot */
    uint32_t n_slots;
};

static struct lull_step *step_at(const struct builder *b, uint32_t index)
{
    return &g_array_index(b->steps, struct lull_step, index);
}

/* Index of the new step. */
static uint32_t add(struct builder *b, enum lull_step_kind kind, const char *name, uint32_t align)
{
    const struct lull_step step = {
        .kind = kind, .name = name, .align = align, .slot = -1, .is_hidden = b->is_hidden};
    g_array_append_val(b->steps, step);
    return b->steps->len - 1;
}

/* The slot that represents a memory offset of the plan, or -1 if there are too many. */
static int32_t slot_for(struct builder *b, uint32_t offset)
{
    uint32_t i = 0;
    while (i < b->n_slots && b->slots[i] != offset) {
        i++;
    }
    if (i == MAX_SLOTS) {
        return -1;
    }
    if (i == b->n_slots) {
        b->slots[b->n_slots++] = offset;
    }
    return (int32_t)i;
}

/* The field that is referred to is a member of a structure that the present field is in as well: if
 * the one is there, so is the other. */
static bool is_beside(const struct builder *b, const struct lull_fc_ref *ref)
{
    return ref->scope == b->position.scope && ref->depth >= 1 &&
           ref->depth - 1 <= b->position.depth &&
           memcmp(ref->path, b->position.path, (ref->depth - 1) * sizeof ref->path[0]) == 0;
}

static bool find_slot(struct builder *b, const struct lull_fc_ref *ref, int32_t *slot)
{
    uint32_t offset = find_slot_of(&b->position, ref);
    if (ref->scope <= LULL_SCOPE_EVENT_HEADER || offset == 0 || ref->next ||
        (lull_kept_fields_is_absent(b->position.own, offset) && !is_beside(b, ref))) {
        return false;
    }
    *slot = slot_for(b, offset);
    return *slot >= 0;
}

static bool add_field(struct builder *b, const char *name, const struct lull_fc *fc,
                      unsigned nesting);

/* Several fields may refer to an integer, each in a way of its own; the steps know one way. */
static bool is_kept_once(const struct builder *b)
{
    const struct lull_field_position *position = &b->position;
    uint32_t n = 0;
    for (const struct lull_want *want =
             lull_kept_fields_find(position->own, position->scope, position->depth, position->path);
         want; want = want->next) {
        n += want->kind == LULL_WANT_SLOT;
    }
    return n <= 1;
}

static bool add_integer(struct builder *b, const char *name, const struct lull_fc *fc)
{
    if (fc->integer.meaning != LULL_INT_NUMBER || fc->integer.is_bit_reversed || !is_kept_once(b)) {
        return false;
    }
    struct lull_step *step = step_at(b, add(b, LULL_STEP_INT, name, fc->alignment));
    step->size = (uint8_t)fc->integer.size;
    step->base = fc->integer.base;
    step->is_signed = fc->integer.is_signed;
    step->is_big_endian = fc->integer.is_big_endian;
    step->is_enum = fc->integer.enumeration != NULL;
    step->mapping = step->is_enum ? fc : NULL;
    uint32_t offset = lull_field_position_slot(&b->position);
    if (offset != 0) {
        step->slot = slot_for(b, offset);
    }
    return offset == 0 || step->slot >= 0;
}

static bool add_real(struct builder *b, const char *name, const struct lull_fc *fc)
{
    if (fc->floating.is_bit_reversed) {
        return false;
    }
    struct lull_step *step = step_at(b, add(b, LULL_STEP_REAL, name, fc->alignment));
    step->size = (uint8_t)fc->floating.size;
    step->is_big_endian = fc->floating.is_big_endian;
    return true;
}

static bool add_member(struct builder *b, const struct lull_member *member, uint32_t index,
                       unsigned nesting)
{
    bool was_hidden = b->is_hidden;
    b->position.path[b->position.depth++] = index;
    b->is_hidden = was_hidden || !lull_field_is_visible(&b->position, member->fc, b->flags);
    bool ok = add_field(b, member->name, member->fc, nesting);
    b->is_hidden = was_hidden;
    b->position.depth--;
    return ok;
}

static bool add_members(struct builder *b, const struct lull_fc *fc, unsigned nesting)
{
    for (uint32_t i = 0; i < fc->structure.n_members; i++) {
        if (!add_member(b, &fc->structure.members[i], i, nesting)) {
            return false;
        }
    }
    return true;
}

static bool add_string(struct builder *b, const char *name, const struct lull_fc *fc)
{
    add(b, LULL_STEP_STRING, name, MAX(fc->alignment, 8));
    return lull_encoding_unit(fc->string.encoding) == 1;
}

static bool add_elements(struct builder *b, const char *name, const struct lull_fc *fc,
                         uint64_t count, int32_t slot, unsigned nesting)
{
    const struct lull_fc *element =
        fc->kind == LULL_FC_ARRAY ? fc->array.element : fc->sequence.element;
    const enum lull_bytes_form form = lull_fc_form(fc);
    bool is_text = form == LULL_BYTES_TEXT;
    if (form == LULL_BYTES_BLOB ||
        (is_text && lull_encoding_unit(element->integer.encoding) != 1)) {
        return false;
    }
    uint32_t align = element->kind == LULL_FC_VARIANT ? 1 : element->alignment;
    align = MAX(align, fc->alignment);
    uint32_t start = add(b, is_text ? LULL_STEP_TEXT : LULL_STEP_ARRAY, name, align);
    step_at(b, start)->slot = slot;
    step_at(b, start)->count = count;
    if (is_text) {
        return true;
    }
    if (!add_field(b, NULL, element, nesting)) {
        return false;
    }
    uint32_t end = add(b, LULL_STEP_ARRAY_END, NULL, 1);
    step_at(b, start)->target = step_at(b, end)->target = end + 1;
    return true;
}

static bool add_sequence(struct builder *b, const char *name, const struct lull_fc *fc,
                         unsigned nesting)
{
    int32_t slot;
    return find_slot(b, &fc->sequence.length, &slot) && add_elements(b, name, fc, 0, slot, nesting);
}

static void add_choices(struct builder *b, uint32_t at, const struct lull_fc *fc,
                        const uint32_t *targets)
{
    const struct lull_option_range *ranges = fc->variant.ranges;
    const uint32_t n = fc->variant.n_ranges;
    struct lull_choice *choices = g_new0(struct lull_choice, MAX(n, 1));
    for (uint32_t i = 0; i < n; i++) {
        choices[i] = (struct lull_choice){.lower = ranges[i].lower,
                                          .upper = ranges[i].upper,
                                          .target = targets[ranges[i].option]};
    }
    g_ptr_array_add(b->layout->owned, choices);
    step_at(b, at)->choices = choices;
    step_at(b, at)->n_choices = n;
    step_at(b, at)->is_signed = fc->variant.tag.target->integer.is_signed;
}

static bool add_variant(struct builder *b, const char *name, const struct lull_fc *fc,
                        unsigned nesting)
{
    int32_t slot;
    if (!find_slot(b, &fc->variant.tag, &slot)) {
        return false;
    }
    uint32_t at = add(b, LULL_STEP_VARIANT, name, 1);
    step_at(b, at)->slot = slot;
    g_autofree uint32_t *targets = g_new0(uint32_t, MAX(fc->variant.n_options, 1));
    bool was_hidden = b->is_hidden;
    for (uint32_t i = 0; i < fc->variant.n_options; i++) {
        const struct lull_member *option = &fc->variant.options[i];
        targets[i] = b->steps->len;
        b->position.path[b->position.depth++] = i;
        bool ok = add_field(b, option->name, option->fc, nesting);
        b->position.depth--;
        if (!ok) {
            return false;
        }
        add(b, LULL_STEP_OPTION_END, NULL, 1);
    }
    b->is_hidden = was_hidden;
    for (uint32_t i = 0; i < fc->variant.n_options; i++) {
        uint32_t end = (i + 1 < fc->variant.n_options ? targets[i + 1] : b->steps->len) - 1;
        step_at(b, end)->target = b->steps->len;
    }
    step_at(b, at)->target = b->steps->len;
    add_choices(b, at, fc, targets);
    return true;
}

static bool add_field(struct builder *b, const char *name, const struct lull_fc *fc,
                      unsigned nesting)
{
    if (nesting >= LULL_FC_DEPTH || b->position.depth >= LULL_FC_DEPTH ||
        b->steps->len >= MAX_STEPS) {
        return false;
    }
    switch (fc->kind) {
    case LULL_FC_INT:
        return add_integer(b, name, fc);
    case LULL_FC_FLOAT:
        return add_real(b, name, fc);
    case LULL_FC_STRING:
        return add_string(b, name, fc);
    case LULL_FC_STRUCT:
        add(b, LULL_STEP_STRUCT, name, fc->alignment);
        if (!add_members(b, fc, nesting + 1)) {
            return false;
        }
        add(b, LULL_STEP_STRUCT_END, NULL, 1);
        return true;
    case LULL_FC_ARRAY:
        return add_elements(b, name, fc, fc->array.length, -1, nesting + 1);
    case LULL_FC_SEQUENCE:
        return add_sequence(b, name, fc, nesting + 1);
    case LULL_FC_VARIANT:
        return add_variant(b, name, fc, nesting + 1);
    case LULL_FC_VARINT:
    case LULL_FC_OPTIONAL:
        return false; /* rare so far: the walk does it */
    }
    return false;
}

/* ---- scopes ---- */

static bool add_scope_fields(struct builder *b, enum lull_scope scope, const struct lull_fc *fc)
{
    if (!fc) {
        return true;
    }
    b->position.scope = scope;
    b->position.depth = 0;
    add(b, LULL_STEP_ALIGN, NULL, fc->alignment);
    return add_members(b, fc, 0);
}

static bool scope_is_visible(struct builder *b, enum lull_scope scope, const struct lull_fc *fc)
{
    b->position.scope = scope;
    b->position.depth = 0;
    return fc && lull_field_is_visible(&b->position, fc, b->flags);
}

/* One scope to the visitor, of one or two structures. */
static bool add_scope(struct builder *b, const char *name, enum lull_scope first,
                      const struct lull_fc *first_fc, enum lull_scope second,
                      const struct lull_fc *second_fc)
{
    if (!first_fc && !second_fc) {
        return true;
    }
    b->is_hidden = !scope_is_visible(b, first, first_fc) && !scope_is_visible(b, second, second_fc);
    add(b, LULL_STEP_SCOPE, name, 1);
    bool ok = add_scope_fields(b, first, first_fc) && add_scope_fields(b, second, second_fc);
    add(b, LULL_STEP_SCOPE_END, name, 1);
    b->is_hidden = false;
    return ok;
}

static bool add_scopes(struct builder *b, const struct lull_stream_decl *stream,
                       const struct lull_event_decl *event)
{
    const enum lull_scope common = LULL_SCOPE_STREAM_EVENT_CONTEXT;
    const enum lull_scope own = LULL_SCOPE_EVENT_CONTEXT;
    const enum lull_scope payload = LULL_SCOPE_EVENT_PAYLOAD;
    bool is_split = (b->flags & LULL_VISIT_SPLIT_CONTEXTS) != 0;
    bool ok = is_split
                  ? add_scope(b, "common context", common, stream->event_context, own, NULL) &&
                        add_scope(b, "context", own, event->context, own, NULL)
                  : add_scope(b, "context", common, stream->event_context, own, event->context);
    return ok && add_scope(b, "payload", payload, event->payload, payload, NULL);
}

struct lull_layout *lull_ctf_layout_new(const struct lull_ctf_stream *stream, uint32_t flags)
{
    uint32_t index = stream->event_plan->index - stream->stream->first_class;
    struct lull_layout *layout = g_new0(struct lull_layout, 1);
    layout->owned = g_ptr_array_new_with_free_func(g_free);
    layout->find_labels = lull_ctf_find_labels;
    struct builder b = {
        .layout = layout,
        .steps = g_array_new(FALSE, FALSE, sizeof(struct lull_step)),
        .position = {.own = stream->stream->positions[index], .shared = stream->plan->shared},
        .flags = flags,
    };
    bool ok = add_scopes(&b, stream->stream->decl, &stream->stream->decl->events[index]);
    add(&b, LULL_STEP_DONE, NULL, 1);
    layout->n_steps = b.steps->len;
    layout->n_slots = b.n_slots;
    layout->steps = (struct lull_step *)(void *)g_array_free(b.steps, FALSE);
    if (!ok) {
        g_clear_pointer(&layout, lull_layout_free);
    }
    return layout;
}

/* SPDX-License-Identifier: MIT */
/* What fields of packet headers, packet contexts and event headers mean in CTF 1.8: it gives them
 * by name, CTF 2 by role, and everything after the parsers looks at roles. */
#include "ctf/tsdl/parser.h"

#include <string.h>

static const struct {
    enum lull_scope scope;
    const char *name;
    enum lull_role role;
    bool anywhere; /* else only members of the scope's root */
} names[] = {
    {LULL_SCOPE_PACKET_HEADER, "magic", LULL_ROLE_MAGIC, true},
    {LULL_SCOPE_PACKET_HEADER, "stream_id", LULL_ROLE_STREAM_CLASS_ID, true},
    {LULL_SCOPE_PACKET_HEADER, "stream_instance_id", LULL_ROLE_STREAM_ID, true},
    {LULL_SCOPE_PACKET_CONTEXT, "timestamp_begin", LULL_ROLE_CLOCK, false},
    {LULL_SCOPE_PACKET_CONTEXT, "timestamp_end", LULL_ROLE_CLOCK_END, false},
    {LULL_SCOPE_PACKET_CONTEXT, "content_size", LULL_ROLE_CONTENT_SIZE, false},
    {LULL_SCOPE_PACKET_CONTEXT, "packet_size", LULL_ROLE_PACKET_SIZE, false},
    {LULL_SCOPE_PACKET_CONTEXT, "events_discarded", LULL_ROLE_DISCARDED, false},
    {LULL_SCOPE_PACKET_CONTEXT, "packet_seq_num", LULL_ROLE_SEQUENCE_NUMBER, false},
    {LULL_SCOPE_PACKET_CONTEXT, "cpu_id", LULL_ROLE_CPU, false},
    {LULL_SCOPE_EVENT_HEADER, "id", LULL_ROLE_EVENT_CLASS_ID, true},
    {LULL_SCOPE_EVENT_HEADER, "timestamp", LULL_ROLE_CLOCK, true},
};

static bool is_uuid(const struct lull_fc *fc)
{
    if (fc->kind != LULL_FC_ARRAY || fc->array.length != 16) {
        return false;
    }
    const struct lull_fc *byte = fc->array.element;
    return byte->kind == LULL_FC_INT && byte->integer.size == 8 && byte->alignment == 8;
}

uint32_t tsdl_roles(enum lull_scope scope, uint32_t depth, const char *name,
                    const struct lull_fc *fc)
{
    if (scope == LULL_SCOPE_PACKET_HEADER && is_uuid(fc) && strcmp(name, "uuid") == 0) {
        return LULL_ROLE_METADATA_UUID;
    }
    if (scope > LULL_SCOPE_EVENT_HEADER || fc->kind != LULL_FC_INT) {
        return 0;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (names[i].scope == scope && (depth == 1 || names[i].anywhere) &&
            strcmp(names[i].name, name) == 0) {
            return names[i].role;
        }
    }
    /* In event headers every integer that is mapped to a clock updates it. */
    return scope == LULL_SCOPE_EVENT_HEADER && fc->integer.clock ? LULL_ROLE_CLOCK : 0;
}

const struct lull_clock *tsdl_first_clock(const struct lull_fc *fc)
{
    if (!fc) {
        return NULL;
    }
    if (fc->kind == LULL_FC_INT) {
        return fc->integer.clock;
    }
    bool is_struct = fc->kind == LULL_FC_STRUCT;
    if (!is_struct && fc->kind != LULL_FC_VARIANT) {
        return NULL;
    }
    const struct lull_member *members = is_struct ? fc->structure.members : fc->variant.options;
    uint32_t n = is_struct ? fc->structure.n_members : fc->variant.n_options;
    const struct lull_clock *clock = NULL;
    for (uint32_t i = 0; !clock && i < n; i++) {
        clock = tsdl_first_clock(members[i].fc);
    }
    return clock;
}

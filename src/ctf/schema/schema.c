/* SPDX-License-Identifier: MIT */
/* Queries on a finished schema. Nothing here changes it. */
#include "ctf/schema/schema.h"

#include <string.h>

#include "base/arena.h"

void lull_schema_free(struct lull_schema *schema)
{
    if (schema) {
        lull_arena_free(schema->arena); /* the schema itself is in there too */
    }
}

static const struct lull_env_entry *find_env(const struct lull_schema *schema, const char *key)
{
    for (uint32_t i = 0; i < schema->n_env; i++) {
        if (strcmp(schema->env[i].key, key) == 0) {
            return &schema->env[i];
        }
    }
    return NULL;
}

const char *lull_schema_env_text(const struct lull_schema *schema, const char *key)
{
    const struct lull_env_entry *entry = find_env(schema, key);
    return entry ? entry->text : NULL;
}

int64_t lull_schema_env_number(const struct lull_schema *schema, const char *key, int64_t fallback)
{
    const struct lull_env_entry *entry = find_env(schema, key);
    return entry && !entry->text ? entry->number : fallback;
}

/* `fc` is the integer that the value was read from. */
static bool covers(const struct lull_fc *fc, uint64_t lower, uint64_t upper, uint64_t value)
{
    if (fc->integer.is_signed) {
        return (int64_t)lower <= (int64_t)value && (int64_t)value <= (int64_t)upper;
    }
    return lower <= value && value <= upper;
}

int lull_fc_variant_option(const struct lull_fc *fc, uint64_t tag_value)
{
    const struct lull_option_range *ranges = fc->variant.ranges;

    for (uint32_t i = 0; i < fc->variant.n_ranges; i++) {
        if (covers(fc->variant.tag.target, ranges[i].lower, ranges[i].upper, tag_value)) {
            return (int)ranges[i].option;
        }
    }
    return -1;
}

bool lull_fc_optional_is_there(const struct lull_fc *fc, uint64_t selector_value)
{
    const struct lull_value_range *ranges = fc->optional.ranges;

    if (!ranges) {
        return selector_value != 0;
    }
    for (uint32_t i = 0; i < fc->optional.n_ranges; i++) {
        if (covers(fc->optional.selector.target, ranges[i].lower, ranges[i].upper,
                   selector_value)) {
            return true;
        }
    }
    return false;
}

const char *lull_fc_enum_label(const struct lull_fc *fc, uint64_t value)
{
    const struct lull_enumeration *enumeration = fc->integer.enumeration;

    if (!enumeration || fc->integer.meaning == LULL_INT_FLAGS) {
        return NULL;
    }
    for (uint32_t i = 0; i < enumeration->n_ranges; i++) {
        if (covers(fc, enumeration->ranges[i].lower, enumeration->ranges[i].upper, value)) {
            return enumeration->ranges[i].label;
        }
    }
    return NULL;
}

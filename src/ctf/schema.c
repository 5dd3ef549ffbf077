/* Questions that can be asked of a finished schema. Nothing here changes it. */
#include "ctf/schema.h"

#include <lull/event.h>
#include <string.h>

#include "base/arena.h"

void lull_schema_free(struct lull_schema *schema)
{
    if (schema)
        lull_arena_free(schema->arena); /* the schema itself is in there too */
}

static const struct lull_env_entry *find_env(const struct lull_schema *schema, const char *key)
{
    for (uint32_t i = 0; i < schema->n_env; i++)
        if (strcmp(schema->env[i].key, key) == 0)
            return &schema->env[i];
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

static bool covers(const struct lull_fc *fc, const struct lull_enum_range *range, uint64_t value)
{
    if (fc->integer.is_signed)
        return (int64_t)range->lower <= (int64_t)value && (int64_t)value <= (int64_t)range->upper;
    return range->lower <= value && value <= range->upper;
}

int lull_fc_variant_option(const struct lull_fc *fc, uint64_t tag_value)
{
    const struct lull_fc *tag = fc->variant.tag.target;
    const struct lull_enumeration *enumeration = tag->integer.enumeration;

    for (uint32_t i = 0; i < enumeration->n_ranges; i++)
        if (fc->variant.range_options[i] >= 0 && covers(tag, &enumeration->ranges[i], tag_value))
            return fc->variant.range_options[i];
    return -1;
}

const char *lull_fc_enum_label(const struct lull_fc *fc, uint64_t value)
{
    const struct lull_enumeration *enumeration = fc->integer.enumeration;

    if (!enumeration)
        return NULL;
    for (uint32_t i = 0; i < enumeration->n_ranges; i++)
        if (covers(fc, &enumeration->ranges[i], value))
            return enumeration->ranges[i].label;
    return NULL;
}

/* True if one of the ranges before `end` that cover the value has the label too. */
static bool has_label_before(const struct lull_fc *fc, uint64_t value, uint32_t end)
{
    const struct lull_enum_range *ranges = fc->integer.enumeration->ranges;
    for (uint32_t i = 0; i < end; i++)
        if (covers(fc, &ranges[i], value) && strcmp(ranges[i].label, ranges[end].label) == 0)
            return true;
    return false;
}

const char *lull_visit_int_label(const struct lull_visit_int *value, uint32_t n)
{
    const struct lull_fc *fc = value->mapping;
    if (!value->is_enum || fc == NULL)
        return NULL;
    const struct lull_enumeration *enumeration = fc->integer.enumeration;
    for (uint32_t i = 0; i < enumeration->n_ranges; i++)
        if (covers(fc, &enumeration->ranges[i], value->bits) &&
            !has_label_before(fc, value->bits, i) && n-- == 0)
            return enumeration->ranges[i].label;
    return NULL;
}

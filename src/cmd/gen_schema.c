/* SPDX-License-Identifier: MIT */
/* Writes the JSON Schema (draft 2020-12) of a verb of analyses from the classes of its tables, so that
 * it cannot differ from what the views print. */
#include "cmd/gen_schema.h"

#include "analysis/report.h"
#include "cmd/analysis_verb.h"

/* Cells of one class have one definition. */
static const char definitions[] =
    "{\n"
    "    \"time\": {\"description\": \"nanoseconds since 1970; with --json-times=iso a text\",\n"
    "      \"anyOf\": [{\"type\": \"integer\"},\n"
    "        {\"type\": \"string\", \"pattern\": "
    "\"^-?[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{9}(Z|[+-][0-9]{2}:?[0-9]{2})?$\"}]},\n"
    "    \"time or null\": {\"anyOf\": [{\"$ref\": \"#/$defs/time\"}, {\"type\": \"null\"}]},\n"
    "    \"boolean or null\": {\"type\": [\"boolean\", \"null\"]},\n"
    "    \"integer or null\": {\"type\": [\"integer\", \"null\"]},\n"
    "    \"number or null\": {\"type\": [\"number\", \"null\"]},\n"
    "    \"text or null\": {\"type\": [\"string\", \"null\"]},\n"
    "    \"times or null\": {\"type\": [\"object\", \"null\"], \"required\": [\"begin_ns\", \"end_ns\"],\n"
    "      \"properties\": {\"begin_ns\": {\"$ref\": \"#/$defs/time\"}, \"end_ns\": {\"$ref\": "
    "\"#/$defs/time\"}},\n"
    "      \"additionalProperties\": false},\n"
    "    \"process or null\": {\"type\": [\"object\", \"null\"], \"required\": [\"comm\", \"tid\"],\n"
    "      \"properties\": {\"comm\": {\"type\": [\"string\", \"null\"]}, \"pid\": {\"type\": "
    "\"integer\"},\n"
    "        \"tid\": {\"type\": [\"integer\", \"null\"]}}, \"additionalProperties\": false},\n"
    "    \"interrupt or null\": {\"type\": [\"object\", \"null\"],\n"
    "      \"required\": [\"hard\", \"number\", \"name\"], \"properties\": {\"hard\": {\"type\": "
    "\"boolean\"},\n"
    "        \"number\": {\"type\": \"integer\"}, \"name\": {\"type\": [\"string\", \"null\"]}},\n"
    "      \"additionalProperties\": false}\n"
    "  }";

static const char *definition_of(enum lull_cell_class class)
{
    switch (class) {
    case LULL_CELL_BOOL:
        return "boolean or null";
    case LULL_CELL_NUMBER:
    case LULL_CELL_RATIO:
    case LULL_CELL_DURATION:
    case LULL_CELL_SIZE:
        return "number or null";
    case LULL_CELL_FD:
    case LULL_CELL_CPU:
        return "integer or null";
    case LULL_CELL_TIMESTAMP:
        return "time or null";
    case LULL_CELL_TIME_RANGE:
        return "times or null";
    case LULL_CELL_PROCESS:
        return "process or null";
    case LULL_CELL_IRQ:
        return "interrupt or null";
    case LULL_CELL_EMPTY:
    case LULL_CELL_UNKNOWN:
    case LULL_CELL_STRING:
    case LULL_CELL_SYSCALL:
    case LULL_CELL_PATH:
    case LULL_CELL_DISK:
    case LULL_CELL_NETIF:
    case LULL_CELL_HOST:
        break;
    }
    return "text or null";
}

static void put_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', file);
        }
        fputc(*text, file);
    }
    fputc('"', file);
}

static void put_columns(FILE *file, const struct lull_result_column *column)
{
    for (; column->title; column++) {
        if (!(column->use & LULL_USE_LAMI)) {
            fprintf(file, ",\n            \"%s\": {\"$ref\": \"#/$defs/%s\", \"description\": ",
                    column->key, definition_of(column->class));
            put_string(file, column->title);
            fputs("}", file);
        }
    }
}

/* The rows of a table. Columns of series, and of captures of periods, depend on the question. */
static void put_table(FILE *file, const struct lull_result_class *class, bool is_open)
{
    const struct lull_result_column *column;
    bool any = false;
    fputs("{\"description\": ", file);
    put_string(file, class->title);
    fputs(", \"type\": \"array\", \"items\": {\"type\": \"object\",\n          \"properties\": {"
          "\"of\": {\"type\": \"string\"}",
          file);
    put_columns(file, class->columns);
    fputs("},\n          \"required\": [", file);
    for (column = class->columns; column->title && !is_open; column++) {
        if (!(column->use & (LULL_USE_LAMI | LULL_USE_HOST | LULL_USE_GUEST))) {
            fprintf(file, "%s\"%s\"", any ? ", " : "", column->key);
            any = true;
        }
    }
    fprintf(file, "], \"additionalProperties\": %s}}", is_open ? "true" : "false");
}

/* Histograms may also come in one table, with a column for each. */
static void put_series(FILE *file, const struct lull_analysis_class *analysis)
{
    for (uint32_t i = 0; analysis->tables[i]; i++) {
        if (analysis->tables[i]->kind == LULL_TABLE_HISTOGRAM) {
            fputs(",\n        \"freq-series\": {\"type\": \"array\", \"items\": {\"type\": "
                  "\"object\"}}",
                  file);
            return;
        }
    }
}

static void put_window(FILE *file, const struct lull_analysis_class *analysis, bool is_named)
{
    static const char *const members =
        "\"begin_ns\": {\"$ref\": \"#/$defs/time\"}, \"end_ns\": {\"$ref\": \"#/$defs/time\"},\n"
        "      \"number\": {\"type\": \"integer\"}, \"period\": {\"$ref\": \"#/$defs/text or null\"},\n"
        "      \"captures\": {\"$ref\": \"#/$defs/text or null\"}, \"is_complete\": {\"type\": "
        "\"boolean\"},\n"
        "      \"lost_events\": {\"type\": \"integer\"}, \"lost_packets\": {\"type\": \"integer\"},\n"
        "      \"notes\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},\n"
        "      \"tables\": {\"type\": \"object\", \"properties\": {";
    fputs("{\"type\": \"object\", \"properties\": {", file);
    if (is_named) {
        fprintf(file, "\"analysis\": {\"const\": \"%s\"}, ", analysis->name);
    }
    fputs(members, file);
    for (uint32_t i = 0; analysis->tables[i]; i++) {
        const struct lull_result_class *class = analysis->tables[i];
        fprintf(file, "%s\n        \"%s\": ", i ? "," : "", class->name);
        put_table(file, class,
                  analysis->needs_periods || class->kind == LULL_TABLE_OPEN ||
                      class->kind == LULL_TABLE_HISTOGRAM || class->kind == LULL_TABLE_SERIES);
    }
    put_series(file, analysis);
    fprintf(file,
            "},\n        \"additionalProperties\": false}},\n      \"required\": [%s\"begin_ns\", "
            "\"end_ns\", \"number\", \"period\", \"captures\", \"is_complete\",\n        "
            "\"lost_events\", \"lost_packets\", \"notes\", \"tables\"], \"additionalProperties\": "
            "false}",
            is_named ? "\"analysis\", " : "");
}

static void put_report(FILE *file)
{
    fputs("{\"anyOf\": [", file);
    for (const struct lull_report_part *part = lull_report_parts; part->analysis; part++) {
        fputs(part == lull_report_parts ? "\n    " : ",\n    ", file);
        put_window(file, part->analysis, true);
    }
    fputs("]}", file);
}

void lull_gen_schema(FILE *file, const struct lull_verb *verb)
{
    const struct lull_analysis_class *analysis = verb->analysis->class;
    fprintf(file,
            "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
            "  \"title\": \"lull %s --json\",\n  \"description\": ",
            verb->name);
    put_string(file, verb->summary);
    fputs(",\n  \"type\": \"object\", \"additionalProperties\": false,\n  \"properties\": {\n"
          "    \"version\": {\"const\": 1},\n",
          file);
    if (analysis) {
        fprintf(file, "    \"analysis\": {\"const\": \"%s\"},\n", analysis->name);
    } else {
        fputs(
            "    \"unanswered\": {\"type\": \"array\", \"items\": {\"type\": \"object\",\n"
            "      \"properties\": {\"analysis\": {\"type\": \"string\"}, \"missing\": {\"type\": "
            "\"string\"}},\n"
            "      \"required\": [\"analysis\", \"missing\"], \"additionalProperties\": false}},\n",
            file);
    }
    fputs("    \"windows\": {\"type\": \"array\", \"items\": ", file);
    if (analysis) {
        put_window(file, analysis, false);
    } else {
        put_report(file);
    }
    fprintf(file,
            "}\n  },\n  \"required\": [\"version\", \"%s\", \"windows\"],\n  \"$defs\": %s\n}\n",
            analysis ? "analysis" : "unanswered", definitions);
}

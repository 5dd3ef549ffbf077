/* SPDX-License-Identifier: MIT */
/* Keeps the JSON of a verb in memory if it is to be shown in another form. */
#include "cmd/program_out.h"

#include <stdlib.h>
#include <string.h>

#include <lull/error.h>

#include "cmd/options.h"
#include "cmd/say.h"
#include "view/out.h"
#include "view/reform.h"

static const char *const forms[] = {"json", "csv", "tsv", NULL};

bool lull_program_out_is_wanted(const struct lull_args *args)
{
    bool is_wanted = false;
    for (uint32_t i = 0; forms[i]; i++) {
        is_wanted |= lull_args_flag(args, forms[i]);
    }
    return is_wanted;
}

bool lull_program_out_check(const struct lull_args *args, const char *other, GError **error)
{
    const char *found = other;
    for (uint32_t i = 0; forms[i]; i++) {
        if (!lull_args_flag(args, forms[i])) {
            continue;
        }
        if (found) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "--%s and --%s exclude each other",
                        found, forms[i]);
            return false;
        }
        found = forms[i];
    }
    return true;
}

static bool has_iso_times(const struct lull_args *args)
{
    return g_strcmp0(lull_args_text(args, "json-times"), "iso") == 0;
}

void lull_program_out_start(struct lull_program_out *out, const struct lull_args *args)
{
    const bool is_changed = !lull_args_flag(args, "json") || has_iso_times(args);
    *out = (struct lull_program_out){.args = args, .file = stdout};
    if (is_changed) {
        out->file = open_memstream(&out->text, &out->length);
    }
}

static bool show(const struct lull_program_out *out, GError **error)
{
    const struct lull_args *args = out->args;
    g_autofree char *timed = has_iso_times(args) ? lull_reform_times(out->text, out->length,
                                                                     lull_args_flag(args, "local"))
                                                 : NULL;
    const char *json = timed ? timed : out->text;
    if (!lull_args_flag(args, "json")) {
        bool is_empty;
        const bool done =
            lull_reform_tables(json, lull_args_verb(args)->name,
                               lull_args_flag(args, "csv") ? ',' : '\t', stdout, &is_empty, error);
        if (done && is_empty) {
            lull_say("lull: nothing was found\n");
        }
        return done;
    }
    struct lull_out all;
    lull_out_start(&all, stdout);
    lull_out_text(&all, json);
    return lull_out_end(&all, "JSON", error);
}

bool lull_program_out_end(struct lull_program_out *out, bool done, GError **error)
{
    if (out->file == stdout) {
        return done;
    }
    fclose(out->file);
    const bool is_shown = done && show(out, error);
    free(out->text);
    return is_shown;
}

/* SPDX-License-Identifier: MIT */
/* Writing to a FILE* with one check at the end, and numbers that do not follow the locale. */
#include "view/out.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <lull/error.h>

#include "view/words.h"

#define FOLD_INDENT 4

void lull_out_start(struct lull_out *out, FILE *file)
{
    *out = (struct lull_out){.file = file};
}

void lull_out_fold(struct lull_out *out, int width)
{
    out->fold = width;
}

/* A failing stdio call need not set errno (a full buffer of fmemopen does not). */
static void note_failure(struct lull_out *out)
{
    out->error = errno ? errno : EIO;
}

static void write_bytes(struct lull_out *out, const char *bytes, size_t length)
{
    errno = 0;
    if (!out->error && length > 0 && fwrite(bytes, 1, length, out->file) != length) {
        note_failure(out);
    }
}

/* What is there of a line; one that shows a command can be copied. */
static void write_line(struct lull_out *out)
{
    if (!out->line) {
        return;
    }
    const char *text = out->line->str;
    const int blanks = (int)strspn(text, " ");
    const bool is_command = g_str_has_prefix(text + blanks, "lull ");
    g_autofree char *folded =
        is_command ? g_strdup(text)
                   : lull_fold_text(text, out->fold, MIN(blanks + FOLD_INDENT, out->fold / 4));
    write_bytes(out, folded, strlen(folded));
    g_string_free(out->line, TRUE);
    out->line = NULL;
}

void lull_out_text(struct lull_out *out, const char *text)
{
    if (out->fold == 0) {
        write_bytes(out, text, strlen(text));
        return;
    }
    while (*text) {
        const size_t length = strcspn(text, "\n");
        out->line = out->line ? out->line : g_string_new(NULL);
        g_string_append_len(out->line, text, (gssize)length);
        text += length;
        if (*text == '\n') {
            write_line(out);
            write_bytes(out, text++, 1);
        }
    }
}

void lull_out_bytes(struct lull_out *out, const char *bytes, size_t length)
{
    write_line(out);
    write_bytes(out, bytes, length);
}

void lull_out_printf(struct lull_out *out, const char *format, ...)
{
    va_list arguments;

    if (out->error) {
        return;
    }
    errno = 0;
    va_start(arguments, format);
    if (out->fold) {
        g_autofree char *text = g_strdup_vprintf(format, arguments);
        lull_out_text(out, text);
    } else if (vfprintf(out->file, format, arguments) < 0) {
        note_failure(out);
    }
    va_end(arguments);
}

void lull_out_json(struct lull_out *out, struct json_object *object)
{
    g_autofree char *text = lull_json_format(object, false);
    lull_out_text(out, text);
}

bool lull_out_end(struct lull_out *out, const char *what, GError **error)
{
    write_line(out);
    if (!out->error) {
        errno = 0;
        if (fflush(out->file) == EOF) {
            note_failure(out);
        }
    }
    if (!out->error || out->error == EPIPE) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write %s: %s", what,
                g_strerror(out->error));
    return false;
}

const char *lull_decimal_format(double value, int digits, char out[static LULL_DECIMAL_SIZE])
{
    char format[8];

    /* %e for what no clock or share ever is, so that the text has a known length. */
    g_snprintf(format, sizeof format, "%%.%d%c", digits, value > -1e30 && value < 1e30 ? 'f' : 'e');
    g_ascii_formatd(out, LULL_DECIMAL_SIZE, format, value);
    if (out[0] == '-' && strspn(out + 1, "0.") == strlen(out + 1)) {
        memmove(out, out + 1, strlen(out));
    }
    return out;
}

const char *lull_decimal_format_short(double value, int digits, char out[static LULL_DECIMAL_SIZE])
{
    lull_decimal_format(value, digits, out);
    if (!strchr(out, '.') || strchr(out, 'e')) {
        return out;
    }
    size_t length = strlen(out);
    while (out[length - 1] == '0' && out[length - 2] != '.') {
        out[--length] = '\0';
    }
    return out;
}

struct json_object *lull_decimal_json(double value, int digits)
{
    char text[LULL_DECIMAL_SIZE];

    value = isfinite(value) ? value : 0;
    return json_object_new_double_s(value, lull_decimal_format_short(value, digits, text));
}

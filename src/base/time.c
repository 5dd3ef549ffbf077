/* SPDX-License-Identifier: MIT */
/* Times and durations as text. All with integers: epoch nanoseconds do not fit a double. */
#include "base/time.h"

#include "base/digits.h"

#include <errno.h>
#include <lull/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* From so many digits on, a plain number is nanoseconds: as seconds it would be far outside of what
 * 64 bits of nanoseconds hold; as nanoseconds, fewer digits would be the first 2.8 hours of 1970.
 */
#define MIN_NS_DIGITS 14

#define MAX_FRACTION_DIGITS 9

/* Sets the error, returns false. */
static bool G_GNUC_PRINTF(4, 5)
    complain(GError **error, const char *noun, const char *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *reason = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "'%s' is not a %s: %s", text, noun, reason);
    return false;
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Reads digits off the front of *text; too large numbers become UINT64_MAX. False if there is no
 * digit. */
static bool read_number(const char **text, uint64_t *number)
{
    size_t n_digits = count_digits(*text);
    if (n_digits == 0) {
        return false;
    }
    *number = g_ascii_strtoull(*text, NULL, 10);
    *text += n_digits;
    return true;
}

/* Reads a fraction (".25") off the front of *text, in billionths; 0 if there is none. */
static bool read_fraction(const char **text, uint64_t *billionths, const char **reason)
{
    *billionths = 0;
    if (**text != '.') {
        return true;
    }
    const char *digits = *text + 1;
    size_t n_digits = count_digits(digits);
    if (n_digits == 0 || n_digits > MAX_FRACTION_DIGITS) {
        *reason = n_digits == 0 ? "there is no digit after the point"
                                : "there are more than nine digits after the point";
        return false;
    }
    for (size_t i = 0; i < MAX_FRACTION_DIGITS; i++) {
        *billionths = *billionths * 10 + (i < n_digits ? (uint64_t)(digits[i] - '0') : 0);
    }
    *text = digits + n_digits;
    return true;
}

/* seconds and nanoseconds in one number; false if they do not fit. */
static bool join_seconds(int64_t seconds, int64_t ns, int64_t *time_ns)
{
    __int128 sum = (__int128)seconds * LULL_NS_PER_S + ns;
    *time_ns = (int64_t)sum;
    return sum == *time_ns;
}

/* The second that holds the time, and the nanoseconds into it, which are never negative. */
static int64_t split_seconds(int64_t time_ns, int64_t *ns)
{
    int64_t seconds = time_ns / LULL_NS_PER_S;
    *ns = time_ns % LULL_NS_PER_S;
    if (*ns < 0) {
        *ns += LULL_NS_PER_S;
        seconds--;
    }
    return seconds;
}

static bool read_duration(const char *text, int64_t *duration_ns, const char **reason)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {
        {"ns", 1},
        {"us", 1000},
        {"\u00b5s", 1000}, /* micro sign */
        {"\u03bcs", 1000}, /* Greek mu */
        {"ms", 1000000},
        {"s", LULL_NS_PER_S},
        {"min", 60 * LULL_NS_PER_S},
        {"h", 3600 * LULL_NS_PER_S},
    };
    uint64_t whole, billionths;
    if (!read_number(&text, &whole)) {
        *reason = "it does not start with a number";
        return false;
    }
    if (!read_fraction(&text, &billionths, reason)) {
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
        if (strcmp(text, units[i].name) == 0) {
            unsigned __int128 part = (unsigned __int128)billionths * units[i].ns;
            unsigned __int128 sum =
                (unsigned __int128)whole * units[i].ns + part / (uint64_t)LULL_NS_PER_S;
            if (part % (uint64_t)LULL_NS_PER_S != 0 || sum > INT64_MAX) {
                *reason = sum > INT64_MAX ? "it is too long" : "it has a fraction of a nanosecond";
                return false;
            }
            *duration_ns = (int64_t)sum;
            return true;
        }
    }
    *reason = *text == '\0' ? "it has no unit (ns, us, ms, s, min or h)"
                            : "its unit is none of ns, us, ms, s, min, h";
    return false;
}

bool lull_duration_parse(const char *text, int64_t *duration_ns, GError **error)
{
    const char *reason;
    return read_duration(text, duration_ns, &reason) ||
           complain(error, "duration", text, "%s", reason);
}

/* Reads exactly two digits. */
static bool read_two(const char **text, int *number)
{
    if (!g_ascii_isdigit((*text)[0]) || !g_ascii_isdigit((*text)[1])) {
        return false;
    }
    *number = ((*text)[0] - '0') * 10 + ((*text)[1] - '0');
    *text += 2;
    return true;
}

static bool skip(const char **text, char c)
{
    if (**text != c) {
        return false;
    }
    ++*text;
    return true;
}

/* Reads HH:MM:SS[.fraction]. */
static bool read_clock(const char **text, struct tm *tm, uint64_t *ns, const char **reason)
{
    if (!read_two(text, &tm->tm_hour) || !skip(text, ':') || !read_two(text, &tm->tm_min) ||
        !skip(text, ':') || !read_two(text, &tm->tm_sec)) {
        *reason = "the time of day is not HH:MM:SS";
        return false;
    }
    if (tm->tm_hour > 23 || tm->tm_min > 59 || tm->tm_sec > 59) {
        *reason = "there is no such time of day";
        return false;
    }
    return read_fraction(text, ns, reason);
}

/* Reads YYYY-MM-DD. */
static bool read_date(const char **text, struct tm *tm, const char **reason)
{
    int century, year;
    if (!read_two(text, &century) || !read_two(text, &year) || !skip(text, '-') ||
        !read_two(text, &tm->tm_mon) || !skip(text, '-') || !read_two(text, &tm->tm_mday)) {
        *reason = "the date is not YYYY-MM-DD";
        return false;
    }
    tm->tm_year = century * 100 + year - 1900;
    tm->tm_mon--;
    struct tm normal = {.tm_year = tm->tm_year, .tm_mon = tm->tm_mon, .tm_mday = tm->tm_mday};
    timegm(&normal); /* makes 1 March of 30 February */
    if (normal.tm_mon != tm->tm_mon || normal.tm_mday != tm->tm_mday) {
        *reason = "there is no such date";
        return false;
    }
    return true;
}

/* Reads "Z" or "+hh:mm" or "-hh:mm", if there; *offset_s is east of Greenwich. */
static bool read_zone(const char **text, bool *has_zone, int *offset_s, const char **reason)
{
    *offset_s = 0;
    *has_zone = skip(text, 'Z') || skip(text, 'z');
    if (*has_zone || **text == '\0') {
        return true;
    }
    int sign = **text == '-' ? -1 : 1, hours, minutes;
    if (!(skip(text, '+') || skip(text, '-')) || !read_two(text, &hours) || !skip(text, ':') ||
        !read_two(text, &minutes) || hours > 23 || minutes > 59) {
        *reason = "expected a fraction or a zone (Z, +hh:mm or -hh:mm) after the seconds";
        return false;
    }
    *has_zone = true;
    *offset_s = sign * (hours * 3600 + minutes * 60);
    return true;
}

/* "2026-11-21T01:22:59.4+01:00", or without date and zone on the day of base_ns. */
static bool read_calendar(const char *text, int64_t base_ns, bool local, int64_t *time_ns,
                          const char **reason)
{
    struct tm tm = {0};
    uint64_t ns;
    bool has_zone = false;
    int offset_s = 0;
    if (strchr(text, '-')) {
        if (!read_date(&text, &tm, reason)) {
            return false;
        }
        if (!skip(&text, 'T') && !skip(&text, 't') && !skip(&text, ' ')) {
            *reason = "expected T or a space between date and time of day";
            return false;
        }
        if (!read_clock(&text, &tm, &ns, reason) ||
            !read_zone(&text, &has_zone, &offset_s, reason)) {
            return false;
        }
    } else {
        int64_t base_part_ns;
        time_t base_s = split_seconds(base_ns, &base_part_ns);
        (void)(local ? localtime_r(&base_s, &tm) : gmtime_r(&base_s, &tm));
        if (!read_clock(&text, &tm, &ns, reason)) {
            return false;
        }
    }
    if (*text != '\0') {
        *reason = "there is something after the time";
        return false;
    }
    tm.tm_isdst = -1;
    int64_t seconds = local && !has_zone ? mktime(&tm) : timegm(&tm);
    if (!join_seconds(seconds - offset_s, (int64_t)ns, time_ns)) {
        *reason = "only times from 1677 to 2262 can be represented";
        return false;
    }
    return true;
}

/* "1795224979.432835564" or "1795224979432835564". */
static bool read_epoch(const char *text, int64_t *time_ns, const char **reason)
{
    bool is_ns = count_digits(text) >= MIN_NS_DIGITS && !strchr(text, '.');
    uint64_t number = 0, ns;
    read_number(&text, &number);
    if (!read_fraction(&text, &ns, reason)) {
        return false;
    }
    if (*text != '\0') {
        *reason = "there is something after the number; durations after the first event "
                  "start with a plus sign";
        return false;
    }
    if (number > INT64_MAX || !join_seconds(is_ns ? 0 : (int64_t)number,
                                            is_ns ? (int64_t)number : (int64_t)ns, time_ns)) {
        *reason = "only times from 1677 to 2262 can be represented";
        return false;
    }
    return true;
}

bool lull_time_parse(const char *text, int64_t base_ns, bool local, int64_t *time_ns,
                     GError **error)
{
    const char *reason = NULL;
    size_t n_digits = count_digits(text);
    int64_t result;
    bool ok;
    if (*text == '+') {
        ok = read_duration(text + 1, &result, &reason);
        if (ok && __builtin_add_overflow(base_ns, result, &result)) {
            ok = false;
            reason = "only times from 1677 to 2262 can be represented";
        }
    } else if (n_digits == 0) {
        ok = false;
        reason = *text == '\0' ? "it is empty" : "it starts with neither a digit nor a plus sign";
    } else if (text[n_digits] == ':' || text[n_digits] == '-') {
        ok = read_calendar(text, base_ns, local, &result, &reason);
    } else {
        ok = read_epoch(text, &result, &reason);
    }
    if (!ok) {
        return complain(error, "time", text, "%s", reason);
    }
    *time_ns = result;
    return true;
}

static void break_down(int64_t time_ns, bool local, struct tm *tm, int64_t *ns)
{
    time_t seconds = split_seconds(time_ns, ns);
    (void)(local ? localtime_r(&seconds, tm) : gmtime_r(&seconds, tm));
}

/* "HH:MM:SS.nnnnnnnnn" */
static char *put_clock(char *out, const struct tm *tm, int64_t ns)
{
    out = lull_put_unsigned(out, (unsigned)tm->tm_hour, 2);
    *out++ = ':';
    out = lull_put_unsigned(out, (unsigned)tm->tm_min, 2);
    *out++ = ':';
    out = lull_put_unsigned(out, (unsigned)tm->tm_sec, 2);
    *out++ = '.';
    return lull_put_unsigned(out, (uint64_t)ns, 9);
}

void lull_time_format_iso(int64_t time_ns, bool local, char out[static LULL_TIME_TEXT_SIZE])
{
    struct tm tm;
    int64_t ns;
    break_down(time_ns, local, &tm, &ns);
    out = lull_put_unsigned(out, (unsigned)tm.tm_year + 1900, 4);
    *out++ = '-';
    out = lull_put_unsigned(out, (unsigned)tm.tm_mon + 1, 2);
    *out++ = '-';
    out = lull_put_unsigned(out, (unsigned)tm.tm_mday, 2);
    *out++ = 'T';
    out = put_clock(out, &tm, ns);
    if (local) {
        const unsigned minutes = (unsigned)(labs(tm.tm_gmtoff) / 60);
        *out++ = tm.tm_gmtoff < 0 ? '-' : '+';
        out = lull_put_unsigned(out, minutes / 60, 2);
        *out++ = ':';
        out = lull_put_unsigned(out, minutes % 60, 2);
    } else {
        *out++ = 'Z';
    }
    *out = '\0';
}

void lull_time_format_clock(int64_t time_ns, bool local, char out[static LULL_TIME_TEXT_SIZE])
{
    struct tm tm;
    int64_t ns;
    break_down(time_ns, local, &tm, &ns);
    *put_clock(out, &tm, ns) = '\0';
}

static uint64_t divide_rounded(uint64_t dividend, uint64_t divisor)
{
    return dividend / divisor + (dividend % divisor >= divisor - divisor / 2);
}

/* In the unit of unit_ns, with as many decimals as make four digits. False if it is `limit` units
 * or more once rounded: then the next unit should be used, so that nothing prints as "1000.0 us".
 */
static bool format_in_unit(uint64_t ns, uint64_t unit_ns, const char *unit, unsigned limit,
                           const char *sign, char out[static LULL_TIME_TEXT_SIZE])
{
    static const unsigned scales[] = {1000, 100, 10};
    /* Divisions take most of the time where millions of durations are written. */
    if (ns >= limit * unit_ns) {
        return false;
    }
    for (unsigned i = ns >= 100 * unit_ns ? 2 : ns >= 10 * unit_ns; i < 3; i++) {
        unsigned scale = scales[i];
        uint64_t scaled = divide_rounded(ns, unit_ns / scale);
        if (scaled < 10000 && scaled < (uint64_t)limit * scale) {
            out = lull_put_text(out, sign);
            out = lull_put_unsigned(out, scaled / scale, 1);
            *out++ = '.';
            out = lull_put_unsigned(out, scaled % scale, 3 - i);
            *out++ = ' ';
            *lull_put_text(out, unit) = '\0';
            return true;
        }
    }
    return false;
}

void lull_duration_format(int64_t duration_ns, char out[static LULL_TIME_TEXT_SIZE])
{
    const char *sign = duration_ns < 0 ? "-" : "";
    uint64_t ns = duration_ns < 0 ? -(uint64_t)duration_ns : (uint64_t)duration_ns;
    if (ns < 1000) {
        g_snprintf(out, LULL_TIME_TEXT_SIZE, "%s%u ns", sign, (unsigned)ns);
        return;
    }
    if (format_in_unit(ns, 1000, "us", 1000, sign, out) ||
        format_in_unit(ns, 1000000, "ms", 1000, sign, out) ||
        format_in_unit(ns, LULL_NS_PER_S, "s", 60, sign, out)) {
        return;
    }
    uint64_t tenths = divide_rounded(ns, LULL_NS_PER_S / 10);
    if (tenths < 36000) {
        g_snprintf(out, LULL_TIME_TEXT_SIZE, "%s%u min %u.%u s", sign, (unsigned)tenths / 600,
                   (unsigned)tenths / 10 % 60, (unsigned)tenths % 10);
    } else {
        uint64_t seconds = divide_rounded(ns, LULL_NS_PER_S);
        g_snprintf(out, LULL_TIME_TEXT_SIZE, "%s%" G_GUINT64_FORMAT " h %u min %u s", sign,
                   seconds / 3600, (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
    }
}

/* SPDX-License-Identifier: MIT */
/* Times and durations as text. Epoch seconds of the dates are from GNU date ("date -u -d …", "TZ=…
 * date -d …"). */
#include <glib.h>
#include <lull/error.h>
#include <string.h>
#include <time.h>

#include "base/time.h"

#define MS INT64_C(1000000)
#define S LULL_NS_PER_S
/* 2026-11-21T01:36:19.5Z */
#define BASE (INT64_C(1795224979) * S + 500 * MS)
#define CENTRAL_EUROPE "CET-1CEST,M3.5.0,M10.5.0/3"

static void set_zone(const char *zone)
{
    g_setenv("TZ", zone, TRUE);
    tzset();
}

static void check_time(const char *text, bool local, int64_t expected)
{
    g_autoptr(GError) error = NULL;
    int64_t t = -1;
    bool ok = lull_time_parse(text, BASE, local, &t, &error);
    g_test_message("%s: %s", text, error ? error->message : "understood");
    g_assert_no_error(error);
    g_assert_true(ok);
    g_assert_cmpint(t, ==, expected);
}

static void test_parse_time(void)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1795224979432835564", INT64_C(1795224979432835564)},
        {"10000000000000", INT64_C(10000000000000)},
        {"00000000000007", 7},
        {"9223372036854775807", INT64_MAX},
        {"1795224979.432835564", INT64_C(1795224979432835564)},
        {"1795224979.4", INT64_C(1795224979400000000)},
        {"1795224979", INT64_C(1795224979000000000)},
        {"0.000000123", 123},
        {"0", 0},
        {"9223372036.854775807", INT64_MAX},
        {"2026-11-21T01:36:19.432835564", INT64_C(1795224979432835564)},
        {"2026-11-21 01:36:19.432835564Z", INT64_C(1795224979432835564)},
        {"2026-11-21T01:22:59Z", 1795224179 * S},
        {"2026-11-21t01:22:59z", 1795224179 * S}, /* RFC 3339, 5.6 */
        {"2026-11-21T01:22:59-03:30", 1795236779 * S},
        {"2024-02-29T23:59:59.25+05:30", 1709231399 * S + 250 * MS},
        {"2000-02-29T00:00:00", 951782400 * S},
        {"2099-12-31T23:59:59", 4102444799 * S},
        {"1969-12-31T23:59:59.25", -750 * MS},
        {"2262-04-11T23:47:16.854775807", INT64_MAX},
        {"1677-09-21T00:12:43.145224192", INT64_MIN},
        {"01:22:59", 1795224179 * S},
        {"06:00:00.000000001", 1795240800 * S + 1},
        {"+1.5s", BASE + 1500 * MS},
        {"+200ms", BASE + 200 * MS},
        {"+3us", BASE + 3000},
        {"+7ns", BASE + 7},
        {"+2min", BASE + 120 * S},
        {"+1h", BASE + 3600 * S},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        check_time(cases[i].text, false, cases[i].ns);
    }
}

static void test_parse_local_time(void)
{
    set_zone(CENTRAL_EUROPE);
    check_time("2026-07-01 12:00:00", true, 1782900000 * S); /* summer */
    check_time("2026-11-21 00:30:00", true, 1795217400 * S);
    check_time("2026-11-21T01:22:59Z", true, 1795224179 * S);
    check_time("2026-11-21T01:22:59-03:30", true, 1795236779 * S);
    check_time("2026-11-21T01:22:59", false, 1795224179 * S);
    /* 23:30 UTC on the 21st is the 22nd there */
    int64_t t;
    g_assert_true(lull_time_parse("06:00:00", 1795303800 * S, true, &t, NULL));
    g_assert_cmpint(t, ==, 1795323600 * S);
    g_assert_true(lull_time_parse("06:00:00", 1795303800 * S, false, &t, NULL));
    g_assert_cmpint(t, ==, 1795240800 * S);
    set_zone("UTC0");
}

/* What is wrong must be said, with the text. */
static void test_reject_time(void)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "empty"},
        {"yesterday", "neither a digit nor a plus"},
        {"-5", "neither a digit nor a plus"},
        {" 5", "neither a digit nor a plus"},
        {"1795224979.", "no digit after the point"},
        {"1795224979.1234567890", "more than nine digits"},
        {"1795224979432835564.5", "1677 to 2262"},
        {"1.5s", "plus sign"},
        {"12x", "after the number"},
        {"17952249794", "1677 to 2262"},
        {"9223372036.854775808", "1677 to 2262"},
        {"9223372036854775808", "1677 to 2262"},
        {"99999999999999999999999999", "1677 to 2262"},
        {"2026-11-21", "expected T or a space"},
        {"2026-11-21T", "HH:MM:SS"},
        {"2026-11-21T01:22", "HH:MM:SS"},
        {"2026-11-21T1:22:59", "HH:MM:SS"},
        {"2026-11-21T24:00:00", "no such time of day"},
        {"2026-11-21T01:60:00", "no such time of day"},
        {"2026-11-21T01:22:60", "no such time of day"},
        {"2026-11-21T01:22:59,5", "expected a fraction or a zone"},
        {"2026-11-21T01:22:59+1", "expected a fraction or a zone"},
        {"2026-11-21T01:22:59+24:00", "expected a fraction or a zone"},
        {"2026-11-21T01:22:59ZZ", "after the time"},
        {"2026-11-21T01:22:59.5Z ", "after the time"},
        {"2026-11-21T01:22:59.0000000001", "more than nine digits"},
        {"2026-02-29T00:00:00", "no such date"},
        {"2026-00-10T00:00:00", "no such date"},
        {"2026-13-10T00:00:00", "no such date"},
        {"2026-04-31T00:00:00", "no such date"},
        {"2026-04-00T00:00:00", "no such date"},
        {"2026-4-01T00:00:00", "YYYY-MM-DD"},
        {"26-04-01T00:00:00", "YYYY-MM-DD"},
        {"2262-04-11T23:47:16.854775808", "1677 to 2262"},
        {"1677-09-21T00:12:43.145224191", "1677 to 2262"},
        {"0000-01-01T00:00:00", "1677 to 2262"},
        {"9999-12-31T23:59:59", "1677 to 2262"},
        {"01:22", "HH:MM:SS"},
        {"01:22:59x", "after the time"},
        {"01:22:59Z", "after the time"},
        {"+", "number"},
        {"+5", "no unit"},
        {"+-5s", "number"},
        {"+300000000000s", "too long"},
        {"+2100000h", "1677 to 2262"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        int64_t t = 42;
        g_test_message("%s", cases[i].text);
        g_assert_false(lull_time_parse(cases[i].text, BASE, false, &t, &error));
        g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
        g_test_message("%s", error->message);
        g_assert_nonnull(strstr(error->message, cases[i].text));
        g_assert_nonnull(strstr(error->message, cases[i].reason));
        g_assert_cmpint(t, ==, 42);
    }
}

static void test_parse_duration(void)
{
    static const struct {
        const char *text;
        int64_t ns;
        const char *reason;
    } cases[] = {
        {"1.5s", 1500 * MS, NULL},
        {"200ms", 200 * MS, NULL},
        {"3us", 3000, NULL},
        {"7ns", 7, NULL},
        {"2min", 120 * S, NULL},
        {"7\u00b5s", 7000, NULL},
        {"7\u03bcs", 7000, NULL},
        {"1h", 3600 * S, NULL},
        {"0ns", 0, NULL},
        {"0.000000001s", 1, NULL},
        {"1.000001ms", 1000001, NULL},
        {"7.0ns", 7, NULL},
        {"0.000000001h", 3600, NULL},
        {"0.000000001min", 60, NULL},
        {"9223372036854775807ns", INT64_MAX, NULL},
        {"9223372036.854775807s", INT64_MAX, NULL},
        {"9223372036854775808ns", 0, "too long"},
        {"99999999999999999999999h", 0, "too long"},
        {"", 0, "number"},
        {"s", 0, "number"},
        {".5s", 0, "number"},
        {"-1s", 0, "number"},
        {"+1s", 0, "number"},
        {"1.s", 0, "no digit after the point"},
        {"1", 0, "no unit"},
        {"1.5", 0, "no unit"},
        {"1 s", 0, "unit is none of"},
        {"1S", 0, "unit is none of"},
        {"1sec", 0, "unit is none of"},
        {"0.5ns", 0, "fraction of a nanosecond"},
        {"0.0000001ms", 0, "fraction of a nanosecond"},
        {"0.0000000001s", 0, "more than nine digits"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        int64_t ns = -1;
        g_test_message("%s", cases[i].text);
        bool ok = lull_duration_parse(cases[i].text, &ns, &error);
        if (!cases[i].reason) {
            g_assert_no_error(error);
            g_assert_true(ok);
            g_assert_cmpint(ns, ==, cases[i].ns);
        } else {
            g_assert_false(ok);
            g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
            g_assert_nonnull(strstr(error->message, cases[i].reason));
        }
    }
}

static void check_formats(int64_t ns, bool local, const char *iso, const char *clock)
{
    char text[LULL_TIME_TEXT_SIZE];
    lull_time_format_iso(ns, local, text);
    g_assert_cmpstr(text, ==, iso);
    lull_time_format_clock(ns, local, text);
    g_assert_cmpstr(text, ==, clock);
}

static void test_format_time(void)
{
    check_formats(INT64_C(1795224979432835564), false, "2026-11-21T01:36:19.432835564Z",
                  "01:36:19.432835564");
    check_formats(0, false, "1970-01-01T00:00:00.000000000Z", "00:00:00.000000000");
    check_formats(-1, false, "1969-12-31T23:59:59.999999999Z", "23:59:59.999999999");
    check_formats(INT64_MAX, false, "2262-04-11T23:47:16.854775807Z", "23:47:16.854775807");
    check_formats(INT64_MIN, false, "1677-09-21T00:12:43.145224192Z", "00:12:43.145224192");
    set_zone(CENTRAL_EUROPE);
    check_formats(1795224979 * S, true, "2026-11-21T02:36:19.000000000+01:00",
                  "02:36:19.000000000");
    check_formats(1782903600 * S, true, "2026-07-01T13:00:00.000000000+02:00",
                  "13:00:00.000000000");
    set_zone("NST3:30");
    check_formats(0, true, "1969-12-31T20:30:00.000000000-03:30", "20:30:00.000000000");
    set_zone("UTC0");
}

static void test_format_duration(void)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {7, "7 ns"},
        {-7, "-7 ns"},
        {999, "999 ns"},
        {1000, "1.000 us"},
        {1234, "1.234 us"},
        {9999, "9.999 us"},
        {10004, "10.00 us"},
        {12344, "12.34 us"},
        {12345, "12.35 us"},
        {99994, "99.99 us"},
        {99995, "100.0 us"},
        {999949, "999.9 us"},
        {999950, "1.000 ms"},
        {819 * MS + 200000, "819.2 ms"},
        {-(819 * MS + 249999), "-819.2 ms"},
        {999949999, "999.9 ms"},
        {999950000, "1.000 s"},
        {3501 * MS, "3.501 s"},
        {59 * S + 994 * MS, "59.99 s"},
        {59 * S + 995 * MS, "1 min 0.0 s"},
        {60 * S, "1 min 0.0 s"},
        {123 * S + 400 * MS, "2 min 3.4 s"},
        {3599 * S + 949 * MS, "59 min 59.9 s"},
        {3599 * S + 950 * MS, "1 h 0 min 0 s"},
        {3723 * S, "1 h 2 min 3 s"},
        {INT64_MAX, "2562047 h 47 min 17 s"}, /* 9223372036.85 s */
        {INT64_MIN, "-2562047 h 47 min 17 s"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char text[LULL_TIME_TEXT_SIZE];
        lull_duration_format(cases[i].ns, text);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

int main(int argc, char **argv)
{
    set_zone("UTC0");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/time/parse", test_parse_time);
    g_test_add_func("/time/parse-local", test_parse_local_time);
    g_test_add_func("/time/reject", test_reject_time);
    g_test_add_func("/time/parse-duration", test_parse_duration);
    g_test_add_func("/time/format", test_format_time);
    g_test_add_func("/time/format-duration", test_format_duration);
    return g_test_run();
}

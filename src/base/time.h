/* SPDX-License-Identifier: MIT */
/* Times and durations: parsing what a person types, printing what a person reads. */
#ifndef LULL_BASE_TIME_H
#define LULL_BASE_TIME_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define LULL_NS_PER_S INT64_C(1000000000)
/* Enough for every text the functions below write, with its NUL. */
#define LULL_TIME_TEXT_SIZE 48

/* Times inside the program lie between these, so that the difference of any two, and any time plus
 * or minus 2^62, is an int64_t: 1823-11-12 to 2116-02-20. Whoever brings in a time sees to it, what
 * computes with times need not; INT64_MIN and INT64_MAX are no times but mean none. */
#define LULL_TIME_MAX ((INT64_C(1) << 62) - 1)
#define LULL_TIME_MIN (-LULL_TIME_MAX)
/* For messages about damage: what is wrong with a time. */
#define LULL_TIME_OUTSIDE "a time lies outside of the years 1824 to 2115"

static inline bool lull_time_is_valid(__int128 time_ns)
{
    return time_ns >= LULL_TIME_MIN && time_ns <= LULL_TIME_MAX;
}

/* The nearest time that is valid. */
static inline int64_t lull_time_clamp(__int128 time_ns)
{
    return (int64_t)CLAMP(time_ns, (__int128)LULL_TIME_MIN, (__int128)LULL_TIME_MAX);
}

/* A time plus a difference of times; clamped. */
static inline int64_t lull_time_add(int64_t time_ns, int64_t delta_ns)
{
    return lull_time_clamp((__int128)time_ns + delta_ns);
}

/* Parses a point in time, in any verb's --begin, --end, --timerange:
 *   1795224979432835564              ns since the epoch (14 digits or more, leading zeros count)
 *   1795224979.432835564             s since the epoch with up to nine digits
 *   2026-11-21T01:36:19.432835564    ISO date-time (also a space for the T, optional Z or +hh:mm);
 *                                    without zone: UTC, or local if `local`
 *   01:36:19.4                       on the day of `base_ns`
 *   +1.5s  +200ms  +3us  +7ns  +2min  +1h   after base_ns
 * base_ns is the time of the first event. LULL_ERROR_USAGE that says what is wrong with `text`. */
bool lull_time_parse(const char *text, int64_t base_ns, bool local, int64_t *time_ns,
                     GError **error);

/* Parses a duration with unit ("1.5s", "200ms", "3us", "7ns", "2min", "1h"); no sign, up to nine
 * digits after the point, a whole number of nanoseconds. */
bool lull_duration_parse(const char *text, int64_t *duration_ns, GError **error);

/* "2026-11-21T01:36:19.432835564Z" (or with local offset, "+01:00"). */
void lull_time_format_iso(int64_t time_ns, bool local, char out[static LULL_TIME_TEXT_SIZE]);
/* "01:36:19.432835564" */
void lull_time_format_clock(int64_t time_ns, bool local, char out[static LULL_TIME_TEXT_SIZE]);
/* Four significant digits and a unit, halves rounded up, negative with "-": "0 ns", "12.35 us",
 * "819.2 ms", "3.501 s"; from a minute on "2 min 3.4 s", "1 h 2 min 3 s". */
void lull_duration_format(int64_t duration_ns, char out[static LULL_TIME_TEXT_SIZE]);

#endif

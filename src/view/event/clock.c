/* SPDX-License-Identifier: MIT */
/* The times of events as text. */
#include "view/event/clock.h"

#include "view/digits.h"

static int64_t floor_second(int64_t time_ns)
{
    int64_t second = time_ns / LULL_NS_PER_S;
    return time_ns % LULL_NS_PER_S < 0 ? second - 1 : second;
}

/* "2026-11-21 01:22:59.432835564" from ISO's form. */
static void format_date(int64_t time_ns, bool is_local, char *out)
{
    lull_time_format_iso(time_ns, is_local, out);
    char *time = strchr(out, 'T');
    char *point = strchr(out, '.');
    if (time && point) {
        *time = ' ';
        point[10] = '\0';
    }
}

static void fill_cache(struct lull_event_clock *clock, int64_t time_ns, int64_t second)
{
    if (clock->style == LULL_TIME_ISO) {
        lull_time_format_iso(time_ns, clock->is_local, clock->cached);
    } else if (clock->style == LULL_TIME_DATE) {
        format_date(time_ns, clock->is_local, clock->cached);
    } else {
        lull_time_format_clock(time_ns, clock->is_local, clock->cached);
    }
    clock->has_cache = true;
    clock->cached_second = second;
    clock->cached_length = (uint32_t)strlen(clock->cached);
    const char *point = strchr(clock->cached, '.');
    clock->cached_fraction = point ? (uint32_t)(point + 1 - clock->cached) : clock->cached_length;
}

/* Formatted anew once a second, only the nine digits change between. */
static void add_calendar_time(struct lull_event_clock *clock, struct lull_linebuf *line,
                              int64_t time_ns)
{
    int64_t start_ns;
    if (!clock->has_cache ||
        __builtin_mul_overflow(clock->cached_second, LULL_NS_PER_S, &start_ns) ||
        (uint64_t)time_ns - (uint64_t)start_ns >= (uint64_t)LULL_NS_PER_S) {
        fill_cache(clock, time_ns, floor_second(time_ns));
    }
    const uint64_t fraction =
        (uint64_t)time_ns - (uint64_t)clock->cached_second * (uint64_t)LULL_NS_PER_S;
    char *out = lull_linebuf_reserve(line, sizeof clock->cached);
    memcpy(out, clock->cached, sizeof clock->cached);
    if (clock->cached_fraction < clock->cached_length) {
        lull_put_nanoseconds(out + clock->cached_fraction, (uint32_t)fraction);
    }
    line->length += clock->cached_length;
}

void lull_event_clock_add_seconds(struct lull_linebuf *line, int64_t time_ns)
{
    uint64_t magnitude = time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns;
    char *start = lull_linebuf_reserve(line, 64), *out = start;
    if (time_ns < 0) {
        *out++ = '-';
    }
    out = lull_put_unsigned(out, magnitude / LULL_NS_PER_S);
    *out++ = '.';
    out = lull_put_nanoseconds(out, (uint32_t)(magnitude % LULL_NS_PER_S));
    line->length += (size_t)(out - start);
}

void lull_event_clock_add_cycles(struct lull_linebuf *line, uint64_t cycles, uint32_t width)
{
    for (uint32_t n = lull_count_digits(cycles); n < width; n++) {
        lull_linebuf_char(line, '0');
    }
    lull_linebuf_unsigned(line, cycles);
}

static void add_elapsed(struct lull_linebuf *line, int64_t time_ns, int64_t origin_ns)
{
    int64_t elapsed_ns = time_ns - origin_ns;
    if (elapsed_ns >= 0) {
        lull_linebuf_char(line, '+');
    }
    lull_event_clock_add_seconds(line, elapsed_ns);
}

void lull_event_clock_add(struct lull_event_clock *clock, struct lull_linebuf *line,
                          const struct lull_event *event)
{
    uint64_t cycles;
    switch (clock->style) {
    case LULL_TIME_CLOCK:
    case LULL_TIME_DATE:
    case LULL_TIME_ISO:
        add_calendar_time(clock, line, event->time_ns);
        return;
    case LULL_TIME_SECONDS:
        lull_event_clock_add_seconds(line, event->time_ns);
        return;
    case LULL_TIME_NS:
        lull_linebuf_signed(line, event->time_ns);
        return;
    case LULL_TIME_ELAPSED:
        add_elapsed(line, event->time_ns, clock->origin_ns);
        return;
    case LULL_TIME_CYCLES:
        if (!lull_event_cycles(event, &cycles)) {
            cycles = 0;
        }
        lull_event_clock_add_cycles(line, cycles, 20);
        return;
    }
}

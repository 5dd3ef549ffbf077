/* SPDX-License-Identifier: MIT */
/* The exact feasible set of a pair of clocks. In the plane of (slope, intercept), the lines above
 * all `below` points are those over a convex function f(slope) and those below all `above` points
 * are under a concave one g(slope); the slopes with f <= g are an interval, whose ends Newton's
 * method on g - f (piecewise linear, concave) finds in a few steps. Coordinates are below 2^61, so
 * products fit 128 bits. */
#include "clock/corridor.h"

#include <math.h>

#include "base/search.h"

static const int64_t reach = INT64_C(1) << 60;

void lull_corridor_init(struct lull_corridor *corridor)
{
    *corridor = (struct lull_corridor){0};
    corridor->below = g_array_new(FALSE, FALSE, sizeof(struct lull_hull_point));
    corridor->above = g_array_new(FALSE, FALSE, sizeof(struct lull_hull_point));
}

void lull_corridor_clear(struct lull_corridor *corridor)
{
    g_array_unref(corridor->below);
    g_array_unref(corridor->above);
}

static struct lull_hull_point at(const GArray *points, guint index)
{
    return g_array_index(points, struct lull_hull_point, index);
}

bool lull_corridor_point(struct lull_corridor *corridor, int64_t x_ns, int64_t y_ns,
                         struct lull_hull_point *point)
{
    if (!corridor->has_origin) {
        corridor->has_origin = true;
        corridor->origin_x = corridor->start_x = corridor->end_x = x_ns;
        corridor->origin_y = y_ns;
    }
    __int128 x = (__int128)x_ns - corridor->origin_x, y = (__int128)y_ns - corridor->origin_y;

    if (x > reach || x < -reach || y > reach || y < -reach) {
        return false;
    }
    corridor->start_x = MIN(corridor->start_x, x_ns);
    corridor->end_x = MAX(corridor->end_x, x_ns);
    *point = (struct lull_hull_point){(int64_t)x, (int64_t)y};
    return true;
}

/* Whether b lies strictly on the outer side (sign +1: above) of the line from a to c. */
static bool is_outside(struct lull_hull_point a, struct lull_hull_point b, struct lull_hull_point c,
                       int sign)
{
    __int128 left = (__int128)(b.y - a.y) * (c.x - a.x);
    __int128 right = (__int128)(c.y - a.y) * (b.x - a.x);

    return sign > 0 ? left > right : left < right;
}

static guint find_x(const GArray *points, int64_t x)
{
    return LULL_LOWER_BOUND(i, points->len, at(points, i).x < x);
}

void lull_corridor_add(struct lull_corridor *corridor, bool is_above, struct lull_hull_point point)
{
    GArray *points = is_above ? corridor->above : corridor->below;
    int sign = is_above ? -1 : 1;
    guint i = find_x(points, point.x);

    if (i < points->len && at(points, i).x == point.x) {
        if ((point.y - at(points, i).y) * sign <= 0) {
            return;
        }
        g_array_index(points, struct lull_hull_point, i) = point;
    } else {
        if (i > 0 && i < points->len &&
            !is_outside(at(points, i - 1), point, at(points, i), sign)) {
            return;
        }
        g_array_insert_val(points, i, point);
    }
    while (i + 2 < points->len && !is_outside(point, at(points, i + 1), at(points, i + 2), sign)) {
        g_array_remove_index(points, i + 1);
    }
    while (i >= 2 && !is_outside(at(points, i - 2), at(points, i - 1), point, sign)) {
        g_array_remove_index(points, --i);
    }
}

/* (y - x) - drift * x, times the denominator: how far above the line of that drift through the
 * origin. */
static __int128 height(struct lull_hull_point point, struct lull_drift drift)
{
    return (__int128)(point.y - point.x) * drift.denominator - (__int128)drift.numerator * point.x;
}

static bool is_below_next(const GArray *points, guint i, struct lull_drift drift, int sign)
{
    __int128 here = height(at(points, i), drift), next = height(at(points, i + 1), drift);
    return sign > 0 ? next > here : next < here;
}

/* The point of a hull that a line of this slope touches, coming from outside. */
static struct lull_hull_point support(const GArray *points, struct lull_drift drift, int sign)
{
    /* Along a hull the height rises, then falls (falls, then rises). */
    guint top = LULL_LOWER_BOUND(i, points->len - 1, is_below_next(points, i, drift, sign));
    return at(points, top);
}

/* Moves *drift, an end of the range (sign +1: the upper), to where the hulls touch. False if
 * nothing is left. */
static bool tighten(const struct lull_corridor *corridor, struct lull_drift *drift, int sign)
{
    for (;;) {
        struct lull_hull_point low = support(corridor->below, *drift, 1);
        struct lull_hull_point high = support(corridor->above, *drift, -1);

        if (height(low, *drift) <= height(high, *drift)) {
            return true;
        }
        /* These two points want slope * (high.x - low.x) <= high.y - low.y, and the slope breaks
         * that: it must go towards the other end, or there is no way. Every step ends on a line
         * through two points of the hulls and goes strictly inwards, so this ends. */
        int64_t dx = high.x - low.x, dy = high.y - low.y;

        if (sign > 0 ? dx <= 0 : dx >= 0) {
            return false;
        }
        if (dx < 0) {
            dx = -dx;
            dy = -dy;
        }
        *drift = (struct lull_drift){dy - dx, dx};
        /* Beyond +-50 % it is no clock, and numbers would not fit. */
        if (drift->numerator > dx / 2 || drift->numerator < -dx / 2) {
            return false;
        }
    }
}

static bool is_less(struct lull_drift a, struct lull_drift b)
{
    return (__int128)a.numerator * b.denominator < (__int128)b.numerator * a.denominator;
}

static int64_t rate_of(struct lull_drift drift)
{
    return (int64_t)(((__int128)drift.numerator * LULL_LINE_WHOLE) / drift.denominator);
}

/* The largest (sign +1) or smallest offset that the points ask for at x = 0 with this rate, in
 * 2^-62 ns. */
static __int128 extreme_offset(const GArray *points, int64_t rate, int sign)
{
    __int128 extreme = 0;

    for (guint i = 0; i < points->len; i++) {
        struct lull_hull_point point = at(points, i);
        __int128 offset =
            ((__int128)(point.y - point.x) * LULL_LINE_WHOLE) - (__int128)rate * point.x;

        if (i == 0 || (sign > 0 ? offset > extreme : offset < extreme)) {
            extreme = offset;
        }
    }
    return extreme;
}

bool lull_corridor_solve(struct lull_corridor *corridor, int32_t limit_ppm)
{
    corridor->most = (struct lull_drift){limit_ppm, 1000000};
    corridor->least = (struct lull_drift){-limit_ppm, 1000000};
    if (!corridor->below->len || !corridor->above->len || !tighten(corridor, &corridor->most, 1) ||
        !tighten(corridor, &corridor->least, -1) || is_less(corridor->most, corridor->least)) {
        return false;
    }
    int64_t least = rate_of(corridor->least), most = rate_of(corridor->most);
    int64_t rate = least + (most - least) / 2;
    __int128 low = extreme_offset(corridor->below, rate, 1);
    __int128 high = extreme_offset(corridor->above, rate, -1);
    __int128 middle = (low + (high - low) / 2) >> (LULL_LINE_RATE - LULL_LINE_FRACTION);

    corridor->estimate = (struct lull_line){
        .origin = corridor->origin_x,
        .offset = middle + (((__int128)corridor->origin_y - corridor->origin_x) * LULL_LINE_NS),
        .rate = rate,
    };
    return true;
}

/* The value less x at x of the line with this drift through the point. */
static long double value(struct lull_hull_point through, struct lull_drift drift, int64_t x)
{
    return (long double)(through.y - through.x) +
           (long double)((__int128)drift.numerator * (x - through.x)) / drift.denominator;
}

/* How far the possible lines reach up (sign -1: over the `above` hull's tangents) or down at x. The
 * farthest is a tangent along an edge of the hull or at an end of the range of slopes. */
static long double farthest(const struct lull_corridor *corridor, const GArray *points, int sign,
                            int64_t x)
{
    long double most = value(support(points, corridor->most, sign), corridor->most, x);
    long double least = value(support(points, corridor->least, sign), corridor->least, x);
    long double result = sign < 0 ? fmaxl(most, least) : fminl(most, least);

    for (guint i = 0; i + 1 < points->len; i++) {
        struct lull_hull_point a = at(points, i), b = at(points, i + 1);
        struct lull_drift drift = {(b.y - b.x) - (a.y - a.x), b.x - a.x};

        if (is_less(drift, corridor->least) || is_less(corridor->most, drift)) {
            continue;
        }
        long double edge = value(a, drift, x);

        result = sign < 0 ? fmaxl(result, edge) : fminl(result, edge);
    }
    return result;
}

long double lull_corridor_error(const struct lull_corridor *corridor, int64_t x_ns)
{
    int64_t x = (int64_t)CLAMP((__int128)x_ns - corridor->origin_x, -(__int128)reach * 2,
                               (__int128)reach * 2);
    long double shift = (long double)((__int128)corridor->origin_y - corridor->origin_x);
    long double estimate =
        (long double)lull_line_offset_at(&corridor->estimate, x_ns) / LULL_LINE_NS - shift;
    long double high = farthest(corridor, corridor->above, -1, x) - estimate;
    long double low = estimate - farthest(corridor, corridor->below, 1, x);

    return fmaxl(fmaxl(high, low), 0);
}

/* SPDX-License-Identifier: MIT */
/* Two half hulls, upper of the messages from the other host and lower of those to it, and the two
 * extreme lines between them, each from a point of one hull to the newest point of the other that
 * changed it. */
#include "clock/hull.h"

/* A hull with the line that ends at its points; the line starts on the opposite hull. */
struct side {
    GArray *points; /* struct lull_hull_point */
    bool has_start, has_end;
    struct lull_hull_point start, end;
    int sign; /* +1 upper, -1 lower */
};

/* Messages that each bound the clocks, without end, are not to make each further one look at all
 * of them. Clocks that drift on a curve for days have some tens of such. */
enum { MOST_POINTS = 1024 };

struct lull_hull {
    struct side upper, lower;
    struct lull_hull_estimate estimate;
};

struct lull_hull *lull_hull_new(void)
{
    struct lull_hull *hull = g_new0(struct lull_hull, 1);
    const struct lull_hull_line identity = {.dy = 1, .dx = 1};

    hull->upper.points = g_array_new(FALSE, FALSE, sizeof(struct lull_hull_point));
    hull->lower.points = g_array_new(FALSE, FALSE, sizeof(struct lull_hull_point));
    hull->upper.sign = 1;
    hull->lower.sign = -1;
    hull->estimate.quality = LULL_SYNC_ABSENT;
    hull->estimate.steepest = hull->estimate.flattest = identity;
    return hull;
}

void lull_hull_free(struct lull_hull *hull)
{
    if (!hull) {
        return;
    }
    g_array_unref(hull->upper.points);
    g_array_unref(hull->lower.points);
    g_free(hull);
}

const struct lull_hull_estimate *lull_hull_estimate(const struct lull_hull *hull)
{
    return &hull->estimate;
}

static struct lull_hull_point at(const struct side *side, guint index)
{
    return g_array_index(side->points, struct lull_hull_point, index);
}

/* The sign of (a - o) x (b - o). Differences have 62 bits, their products 124. */
static int turn(struct lull_hull_point o, struct lull_hull_point a, struct lull_hull_point b)
{
    __int128 left = (__int128)(a.x - o.x) * (b.y - o.y);
    __int128 right = (__int128)(a.y - o.y) * (b.x - o.x);

    return (left > right) - (left < right);
}

static bool index_of(const struct side *side, struct lull_hull_point point, guint *index)
{
    for (guint i = side->points->len; i-- > 0;) {
        if (at(side, i).x == point.x && at(side, i).y == point.y) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* Leaves every second point, and that at which the opposite line starts. */
static void thin(struct side *side, const struct side *opposite)
{
    struct lull_hull_point *points = (struct lull_hull_point *)(void *)side->points->data;
    guint n = 0, kept = 0;
    bool has_kept = opposite->has_start && index_of(side, opposite->start, &kept);

    for (guint i = 0; i < side->points->len; i++) {
        if (i % 2 == 0 || i + 1 == side->points->len || (has_kept && i == kept)) {
            points[n++] = points[i];
        }
    }
    g_array_set_size(side->points, n);
}

/* Moves the start of the side's line along the opposite hull to where it is a tangent. */
static void adjust(struct side *side, const struct side *opposite)
{
    bool has_examined = false;
    struct lull_hull_point examined = {0, 0};
    guint i = 0;

    if (side->has_start && !index_of(opposite, side->start, &i)) {
        i = 0;
    }
    while (i + 1 < opposite->points->len) {
        struct lull_hull_point next = at(opposite, i + 1);

        examined = at(opposite, i);
        has_examined = true;
        if (turn(examined, next, side->end) * side->sign <= 0) {
            side->start = examined;
            side->has_start = true;
            break;
        }
        if (next.x >= side->end.x) {
            side->has_start = false;
            break;
        }
        i++;
    }
    if (!side->has_start) {
        side->start = examined;
        side->has_start = has_examined;
    }
    if (side->start.x > side->end.x) {
        side->has_start = false;
    }
}

static struct lull_hull_line line_of(const struct side *side)
{
    struct lull_hull_line line = {side->end, 1, 1};

    if (side->has_start && side->has_end && side->start.x != side->end.x) {
        line.dy = side->end.y - side->start.y;
        line.dx = side->end.x - side->start.x;
    }
    return line;
}

/* The line that ends on the lower hull is the steepest possible, the one on the upper the flattest.
 */
static void approximate(struct lull_hull *hull)
{
    const struct side *upper = &hull->upper, *lower = &hull->lower;
    struct lull_hull_estimate *estimate = &hull->estimate;

    if (!lower->has_start && !upper->has_start) {
        if (!upper->has_end || !lower->has_end) {
            estimate->quality = LULL_SYNC_INCOMPLETE;
        }
        return;
    }
    if (estimate->quality == LULL_SYNC_FAIL) {
        return;
    }
    struct lull_hull_line steepest = line_of(lower), flattest = line_of(upper);

    if (!lower->has_start || !upper->has_start) {
        estimate->quality = LULL_SYNC_APPROXIMATE;
    } else if ((__int128)steepest.dy * flattest.dx > (__int128)flattest.dy * steepest.dx) {
        estimate->quality = LULL_SYNC_ACCURATE;
    } else {
        estimate->quality = LULL_SYNC_FAIL;
    }
    if (estimate->quality == LULL_SYNC_FAIL) {
        return;
    }
    /* As in the method: with one slope known, the other line is taken with slope 1 through its
     * newest point. */
    estimate->steepest = steepest;
    estimate->flattest = flattest;
    estimate->is_set = true;
}

void lull_hull_add(struct lull_hull *hull, bool from_other, struct lull_hull_point point)
{
    struct side *side = from_other ? &hull->upper : &hull->lower;
    struct side *opposite = from_other ? &hull->lower : &hull->upper;
    bool is_incomplete = !side->has_start || !side->has_end;
    bool counts = is_incomplete || turn(point, side->start, side->end) * side->sign > 0;
    guint unused;

    if (counts) {
        GArray *points = side->points;

        while (points->len >= 2 &&
               turn(point, at(side, points->len - 2), at(side, points->len - 1)) * side->sign > 0) {
            g_array_set_size(points, points->len - 1);
        }
        if (points->len >= MOST_POINTS) {
            thin(side, opposite);
        }
        g_array_append_val(points, point);
        side->end = point;
        side->has_end = true;
    }
    adjust(side, opposite);
    if (opposite->has_end && (!opposite->has_start || !index_of(side, opposite->start, &unused))) {
        adjust(opposite, side);
    }
    if (counts) {
        approximate(hull);
    }
}

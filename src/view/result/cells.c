/* SPDX-License-Identifier: MIT */
/* Cells as text: durations and sizes with their units, processes as NAME/TID, "?" for what is not
 * known. */
#include "view/result/cells.h"

#include <math.h>

#include "base/digits.h"
#include "base/time.h"
#include "view/out.h"
#include "view/words.h"

static void append_time(GString *text, int64_t time_ns, const struct lull_view_style *style,
                        bool has_date)
{
    char out[LULL_TIME_TEXT_SIZE];
    if (has_date) {
        lull_time_format_iso(time_ns, style->local_time, out);
    } else {
        lull_time_format_clock(time_ns, style->local_time, out);
    }
    g_string_append(text, out);
}

static void append_number(GString *text, const struct lull_cell *cell)
{
    char out[LULL_DECIMAL_SIZE];
    if (cell->is_real) {
        g_string_append(text, lull_decimal_format(cell->real, 2, out));
    } else {
        lull_append_signed(text, cell->integer);
    }
}

static void append_duration(GString *text, const struct lull_cell *cell)
{
    char out[LULL_TIME_TEXT_SIZE];
    lull_duration_format(cell->is_real ? llround(cell->real) : cell->integer, out);
    g_string_append(text, out);
}

static void append_process(GString *text, const struct lull_cell *cell, bool ascii)
{
    if (cell->tid >= 0) {
        lull_task_append(text, cell->text, cell->tid, ascii);
    } else {
        lull_clean_append(text, cell->text, ascii);
    }
    if (cell->pid >= 0 && cell->pid != cell->tid) {
        g_string_append_printf(text, " (pid %d)", cell->pid);
    }
}

static void append_irq(GString *text, const struct lull_cell *cell, bool ascii)
{
    g_string_append_printf(text, "%s %" G_GINT64_FORMAT, cell->is_hard ? "irq" : "softirq",
                           cell->integer);
    if (cell->text) {
        g_string_append_c(text, ' ');
        lull_clean_append(text, cell->text, ascii);
    }
}

void lull_cell_append(GString *text, const struct lull_cell *cell,
                      const struct lull_view_style *style, bool has_date)
{
    char out[LULL_DECIMAL_SIZE];
    switch ((enum lull_cell_class)cell->class) {
    case LULL_CELL_EMPTY:
        break;
    case LULL_CELL_UNKNOWN:
        g_string_append_c(text, '?');
        break;
    case LULL_CELL_BOOL:
        g_string_append(text, cell->integer ? "yes" : "no");
        break;
    case LULL_CELL_NUMBER:
    case LULL_CELL_FD:
    case LULL_CELL_CPU:
        append_number(text, cell);
        break;
    case LULL_CELL_RATIO:
        g_string_append_printf(text, "%s %%", lull_decimal_format(cell->real * 100, 2, out));
        break;
    case LULL_CELL_TIMESTAMP:
        append_time(text, cell->integer, style, has_date);
        break;
    case LULL_CELL_DURATION:
        append_duration(text, cell);
        break;
    case LULL_CELL_SIZE:
        lull_bytes_append(text, cell->is_real ? cell->real : (double)cell->integer);
        break;
    case LULL_CELL_TIME_RANGE:
        append_time(text, cell->integer, style, has_date);
        g_string_append(text, style->unicode ? " – " : " - ");
        append_time(text, cell->end, style, has_date);
        break;
    case LULL_CELL_PROCESS:
        append_process(text, cell, !style->unicode);
        break;
    case LULL_CELL_IRQ:
        append_irq(text, cell, !style->unicode);
        break;
    case LULL_CELL_STRING:
    case LULL_CELL_SYSCALL:
    case LULL_CELL_PATH:
    case LULL_CELL_DISK:
    case LULL_CELL_NETIF:
    case LULL_CELL_HOST:
        lull_clean_append(text, cell->text, !style->unicode);
        break;
    }
}

void lull_result_value_append(GString *text, const struct lull_result_column *column, double value,
                              const struct lull_view_style *style)
{
    enum { NO_DECIMALS = 100 }; /* from which the whole is enough */
    char out[LULL_DECIMAL_SIZE];
    const struct lull_cell cell = lull_cell_real(column->class, value);
    if (column->class == LULL_CELL_NUMBER && value >= NO_DECIMALS) {
        g_string_append(text, lull_decimal_format(value, 0, out));
    } else {
        lull_cell_append(text, &cell, style, false);
    }
    if (column->unit) {
        g_string_append_printf(text, "%s%s", *column->unit == '/' ? "" : " ", column->unit);
    }
}

bool lull_cell_is_right(enum lull_cell_class class)
{
    switch (class) {
    case LULL_CELL_NUMBER:
    case LULL_CELL_RATIO:
    case LULL_CELL_DURATION:
    case LULL_CELL_SIZE:
    case LULL_CELL_FD:
    case LULL_CELL_CPU:
        return true;
    default:
        return false;
    }
}

double lull_cell_value(const struct lull_cell *cell)
{
    switch ((enum lull_cell_class)cell->class) {
    case LULL_CELL_RATIO:
        return cell->real;
    case LULL_CELL_NUMBER:
    case LULL_CELL_DURATION:
    case LULL_CELL_SIZE:
        return cell->is_real ? cell->real : (double)cell->integer;
    default:
        return 0;
    }
}

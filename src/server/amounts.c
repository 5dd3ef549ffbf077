/* SPDX-License-Identifier: MIT */
/* What meters counted in each of some columns of time: bytes, requests, requests times ns, cycles. */
#include <inttypes.h>

#include "base/sums.h"
#include "server/view.h"

/* Of frequencies the store has millionths of cycles. */
static uint64_t amount_between(enum lull_store_kind kind, unsigned __int128 from,
                               unsigned __int128 to)
{
    const bool is_cycles = kind == LULL_STORE_FREQUENCY || kind == LULL_STORE_CYCLES;
    const unsigned __int128 amount = to > from ? to - from : 0;
    const unsigned __int128 whole =
        is_cycles ? amount / 1000000 + (amount % 1000000 >= 500000) : amount;
    return whole < INT64_MAX ? (uint64_t)whole : INT64_MAX;
}

bool server_amounts(const struct served *served, int64_t start_ns, int64_t width_ns, uint32_t count,
                    const uint32_t *rows, uint32_t n_rows, GString *out, GError **error)
{
    g_autofree int64_t *times_ns = g_new(int64_t, (gsize)count + 1);
    g_autofree unsigned __int128 *amounts = g_new(unsigned __int128, (gsize)count + 1);
    for (uint32_t i = 0; i <= count; i++) {
        times_ns[i] = lull_sum(start_ns, lull_product(width_ns, i));
    }
    g_string_append_c(out, '[');
    for (uint32_t r = 0; r < n_rows; r++) {
        const enum lull_store_kind kind = lull_store_row(served->store, rows[r]).kind;
        if (!lull_store_amounts(served->store, rows[r], times_ns, count + 1, amounts, error)) {
            return false;
        }
        g_string_append(out, r ? ",[" : "[");
        for (uint32_t i = 0; i < count; i++) {
            g_string_append_printf(out, "%s%" PRIu64, i ? "," : "",
                                   amount_between(kind, amounts[i], amounts[i + 1]));
        }
        g_string_append_c(out, ']');
    }
    g_string_append_c(out, ']');
    return true;
}

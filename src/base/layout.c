/* SPDX-License-Identifier: MIT */
/* Layouts of the bytes of events. */
#include "base/layout.h"

void lull_layout_free(struct lull_layout *layout)
{
    if (!layout) {
        return;
    }
    g_ptr_array_unref(layout->owned);
    g_free(layout->steps);
    g_free(layout);
}

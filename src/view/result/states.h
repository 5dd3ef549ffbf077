/* SPDX-License-Identifier: MIT */
/* Pictures of declared states. */
#ifndef LULL_VIEW_RESULT_STATES_H
#define LULL_VIEW_RESULT_STATES_H

#include "analysis/states.h"
#include "view/view.h"

/* An element svg, with the XML declaration before it. False with LULL_ERROR_IO. */
bool lull_view_states_svg(const struct lull_states_picture *picture, FILE *file,
                          const struct lull_view_style *style, GError **error);

#endif

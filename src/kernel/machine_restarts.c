/* SPDX-License-Identifier: MIT */
/* Calls that a signal interrupted and that the kernel restarts, as it does unless the signal has a handler: restart_syscall(2)
 * goes on with them. */
#include "kernel/machine.h"

void calls_cut(struct lull_model *model, uint32_t task)
{
    struct call_cut cut = {.ended = model->tasks.items[task].ended.label};
    if (!calls_note(model, &model->tasks.items[task], &cut.note)) {
        return;
    }
    if (cut.note.futex) {
        cut.futex = *cut.note.futex;
    }
    const uint32_t found = lull_map_find(&model->cut_of, task);
    if (found != LULL_MAP_NONE) {
        model->cuts.items[found] = cut;
    } else {
        lull_map_insert(&model->cut_of, task, (uint32_t)model->cuts.count);
        lull_vec_push(&model->cuts, cut);
    }
}

uint32_t calls_cut_of(const struct lull_model *model, uint32_t task)
{
    const uint32_t found = lull_map_find(&model->cut_of, task);
    return found != LULL_MAP_NONE &&
                   model->cuts.items[found].ended == model->tasks.items[task].ended.label
               ? found
               : LULL_NONE;
}

/* SPDX-License-Identifier: MIT */
/* In which system call a task sleeps, from texts as the kernel writes them (fs/proc/base.c, proc_pid_syscall()). */
#include <glib.h>

#include "record/state/state.h"

static const struct example {
    const char *text;
    int number; /* -1: it says nothing */
    uint64_t first, last;
} examples[] = {
    {"0 0x3 0x7f14faf119a0 0x1 0x7f14faa7b720 0x0 0x5 0x7ffd75982040 0x7f14fb1162ec\n", 0, 3, 5},
    {"202 0xffffffffffffffff 0x189 0x0 0x0 0x0 0xffffffff 0x7f14faa33940 0x7f14fb0a3f16\n", 202,
     UINT64_MAX, UINT32_MAX},
    {"running\n", -1, 0, 0},
    {"-1 0x7ffd75982040 0x7f14fb1162ec\n", -1, 0, 0},                       /* sleeps, in no call */
    {"3 0x0 0xff8b1a2c 0x1 0x0 0x0 0x0 0xff8b19f0 0xf7f3c569\n", -1, 0, 0}, /* of 32 bits */
    {"3 0x0 0xff8b1a2c 0x1", -1, 0, 0},
    {"-7 0x3 0x7f14faf119a0 0x1 0x7f14faa7b720 0x0 0x5 0x7ffd75982040 0x7f14fb1162ec\n", -1, 0, 0},
    {"", -1, 0, 0},
};

static void test_call(gconstpointer data)
{
    const struct example *example = data;
    struct lull_state_call call;
    g_assert_cmpint(lull_state_parse_call(example->text, &call), ==, example->number >= 0);
    if (example->number >= 0) {
        g_assert_cmpint(call.number, ==, example->number);
        g_assert_cmpuint(call.args[0], ==, example->first);
        g_assert_cmpuint(call.args[5], ==, example->last);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(examples); i++) {
        g_autofree char *name = g_strdup_printf("/state/call/%zu", i);
        g_test_add_data_func(name, &examples[i], test_call);
    }
    return g_test_run();
}

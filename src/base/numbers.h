/* SPDX-License-Identifier: MIT */
/* Lists of numbers that are wanted, as people write them: 3,7,12. */
#ifndef LULL_BASE_NUMBERS_H
#define LULL_BASE_NUMBERS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* count 0: all. */
struct lull_numbers {
    const int64_t *items;
    uint32_t count;
};

/* Whether all are wanted, or this one. */
static inline bool lull_numbers_have(struct lull_numbers numbers, int64_t number)
{
    for (uint32_t i = 0; i < numbers.count; i++) {
        if (numbers.items[i] == number) {
            return true;
        }
    }
    return numbers.count == 0;
}

/* Those of an array of int64_t, or NULL. */
static inline struct lull_numbers lull_numbers_of(const GArray *array)
{
    return array ? (struct lull_numbers){(const int64_t *)(const void *)array->data, array->len}
                 : (struct lull_numbers){NULL, 0};
}

/* Adds numbers from 0 to INT32_MAX with commas between to an array of int64_t. False: it is no such list. */
static inline bool lull_numbers_parse(const char *text, GArray *array)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    for (uint32_t i = 0; words[i]; i++) {
        gint64 number;
        if (!g_ascii_string_to_signed(g_strstrip(words[i]), 10, 0, INT32_MAX, &number, NULL)) {
            return false;
        }
        g_array_append_val(array, number);
    }
    return words[0] != NULL;
}

#endif

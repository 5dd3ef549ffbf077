/* SPDX-License-Identifier: MIT */
/* Cython names the functions of its C code after those of the module: the packages, the module and the classes that
 * they are in, each after its length, then the function after the number that tells it from its wrapper. */
#include "symbol/demangle.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NAME_MOST 1024u
#define STUB "@plt"

/* After which the name follows, and what is said of it. */
static const struct {
    const char *prefix, *remark;
} kinds[] = {
    {"__pyx_f_", ""},
    {"__pyx_pf_", ""},
    {"__pyx_gb_", ""},
    {"__pyx_pw_", " [wrapper]"},
    {"__pyx_getprop_", " [get]"},
    {"__pyx_setprop_", " [set]"},
};

/* "10__setstate_cython__" is the tenth function, not one in "__setstate". */
static bool is_name(const char *name, size_t length)
{
    const bool starts = length > 2 && memcmp(name, "__", 2) == 0;
    return !starts || memcmp(name + length - 2, "__", 2) == 0;
}

/* What is around the function: "3pkg_" → "pkg"; NULL: that is the function itself. *rest follows. */
static const char *take_outer(const char *text, size_t *length, const char **rest)
{
    char *name;
    if (!g_ascii_isdigit(text[0])) {
        return NULL;
    }
    const uint64_t n = g_ascii_strtoull(text, &name, 10);
    if (n == 0 || n > NAME_MOST || strnlen(name, n + 2) < n + 2 || name[n] != '_' ||
        !is_name(name, n)) {
        return NULL;
    }
    *length = n;
    *rest = name + n + 1;
    return name;
}

static char *demangle_cython(const char *name, const char *remark)
{
    const char *outer, *rest = name;
    size_t length;
    g_autoptr(GString) readable = g_string_new(NULL);
    while ((outer = take_outer(rest, &length, &rest))) {
        g_string_append_len(readable, outer, (gssize)length);
        g_string_append_c(readable, '.');
    }
    rest += strspn(rest, "0123456789");
    if (readable->len == 0 || rest[0] == '\0') {
        return NULL;
    }
    g_string_append_printf(readable, "%s%s", rest, remark);
    return g_string_free(g_steal_pointer(&readable), FALSE);
}

/* The stub that calls a function is called as that is. */
static char *demangle_stub(const char *name)
{
    g_autofree char *function = g_strndup(name, strlen(name) - strlen(STUB));
    g_autofree char *readable = lull_demangle_compilers(function);
    return readable ? g_strconcat(readable, STUB, NULL) : NULL;
}

char *lull_demangle(const char *name)
{
    if (g_str_has_suffix(name, STUB)) {
        return demangle_stub(name);
    }
    for (size_t i = 0; g_str_has_prefix(name, "__pyx_") && i < G_N_ELEMENTS(kinds); i++) {
        if (g_str_has_prefix(name, kinds[i].prefix) && strnlen(name, NAME_MOST) < NAME_MOST) {
            return demangle_cython(name + strlen(kinds[i].prefix), kinds[i].remark);
        }
    }
    return lull_demangle_compilers(name);
}

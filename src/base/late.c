/* SPDX-License-Identifier: MIT */
/* Loads a library and finds its functions, once. */
#include "base/late.h"

#include <dlfcn.h>

#include <lull/error.h>

static GMutex lock;

static bool load(struct lull_late *late, GError **error)
{
    void *library = dlopen(late->soname, RTLD_NOW | RTLD_LOCAL);
    bool is_whole = library != NULL;
    for (size_t i = 0; is_whole && late->names[i]; i++) {
        late->functions[i] = dlsym(library, late->names[i]);
        is_whole = late->functions[i] != NULL;
    }
    if (!is_whole) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "a library cannot be loaded: %s; install the package that has %s", dlerror(),
                    late->soname);
    }
    return is_whole;
}

bool lull_late_load(struct lull_late *late, GError **error)
{
    if (g_atomic_pointer_get(&late->is_loaded)) {
        return true;
    }
    g_mutex_lock(&lock);
    const bool is_loaded = late->is_loaded || load(late, error);
    g_atomic_pointer_set(&late->is_loaded, is_loaded);
    g_mutex_unlock(&lock);
    return is_loaded;
}

/* SPDX-License-Identifier: MIT */
/* The functions that GCC and Clang call with -finstrument-functions. */
#include "hook/native.h"

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

PUBLIC void __cyg_profile_func_enter(void *function, void *caller)
{
    native_put(&(struct native_record){
        .id = HOOK_ENTRY, .n = 1, .place = (uintptr_t)function, .values = {(uintptr_t)function}});
}

PUBLIC void __cyg_profile_func_exit(void *function, void *caller)
{
    native_put(&(struct native_record){.id = HOOK_EXIT, .n = 1, .values = {(uintptr_t)function}});
}

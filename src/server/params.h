/* SPDX-License-Identifier: MIT */
/* Numbers in the parameters of a request. */
#ifndef LULL_SERVER_PARAMS_H
#define LULL_SERVER_PARAMS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* False if it is missing or no whole number. */
static inline bool server_param_number(struct json_object *params, const char *key, int64_t *value)
{
    struct json_object *found;
    if (!json_object_object_get_ex(params, key, &found) ||
        !json_object_is_type(found, json_type_int)) {
        return false;
    }
    *value = json_object_get_int64(found);
    return true;
}

/* NULL if it is missing or no text. */
static inline const char *server_param_text(struct json_object *params, const char *key)
{
    struct json_object *found;
    return json_object_object_get_ex(params, key, &found) &&
                   json_object_is_type(found, json_type_string)
               ? json_object_get_string(found)
               : NULL;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Reads the names of containers where the programs that run them keep them: docker in a file for
 * each, containerd in the annotations that Kubernetes makes, podman in one list. */
#include "record/state/containers.h"

#include <glib.h>
#include <json-c/json.h>
#include <string.h>

#include "base/file.h"

/* Of a file, and of containers of one kind. */
enum { MOST_BYTES = 4 << 20, MOST_CONTAINERS = 10000 };

struct names {
    struct lull_state_trace *trace;
    uint32_t count;
};

/* Ids are 64 hexadecimal digits. */
static bool is_id(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static void put(struct names *names, const char *id, const char *name)
{
    if (is_id(id) && name && *name && names->count < MOST_CONTAINERS) {
        names->count++;
        lull_state_trace_put(names->trace, LULL_STATE_CONTAINER,
                             (union lull_state_value[]){{.text = id}, {.text = name}});
    }
}

/* NULL if it is not there, too large or no JSON. Free with json_object_put(). */
static struct json_object *read_json(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    gsize size;
    if (!lull_file_read(path, MOST_BYTES, &text, &size, &error)) {
        return NULL;
    }
    return json_tokener_parse(text);
}

static const char *text_at(struct json_object *object, const char *key)
{
    struct json_object *value;
    return json_object_is_type(object, json_type_object) &&
                   json_object_object_get_ex(object, key, &value) &&
                   json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : NULL;
}

/* "/web" */
static void take_docker(struct names *names, const char *id, struct json_object *config)
{
    const char *name = text_at(config, "Name");
    put(names, id, name && *name == '/' ? name + 1 : name);
}

/* Kubernetes' names have no slash. */
static void take_containerd(struct names *names, const char *id, struct json_object *config)
{
    struct json_object *notes = NULL;
    if (!json_object_is_type(config, json_type_object) ||
        !json_object_object_get_ex(config, "annotations", &notes)) {
        return;
    }
    const char *space = text_at(notes, "io.kubernetes.cri.sandbox-namespace");
    const char *pod = text_at(notes, "io.kubernetes.cri.sandbox-name");
    const char *container = text_at(notes, "io.kubernetes.cri.container-name");
    if (space && pod) {
        g_autofree char *name = g_strjoin("/", space, pod, container ? container : "(pause)", NULL);
        put(names, id, name);
    }
}

/* Each directory in `dir` is of one container, with its id as name. */
static void take_directories(struct names *names, const char *dir, const char *file,
                             void (*take)(struct names *, const char *, struct json_object *))
{
    g_autoptr(GDir) containers = g_dir_open(dir, 0, NULL);
    for (const char *id; containers && (id = g_dir_read_name(containers));) {
        if (is_id(id) && names->count < MOST_CONTAINERS) {
            g_autofree char *path = g_build_filename(dir, id, file, NULL);
            struct json_object *config = read_json(path);
            take(names, id, config);
            json_object_put(config);
        }
    }
}

static void take_podman(struct names *names, const char *path)
{
    struct json_object *list = read_json(path), *given;
    const size_t n =
        json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        const char *id = text_at(one, "id");
        if (id && json_object_object_get_ex(one, "names", &given) &&
            json_object_is_type(given, json_type_array) && json_object_array_length(given) > 0) {
            struct json_object *first = json_object_array_get_idx(given, 0);
            put(names, id,
                json_object_is_type(first, json_type_string) ? json_object_get_string(first)
                                                             : NULL);
        }
    }
    json_object_put(list);
}

void lull_state_dump_containers(struct lull_state_trace *trace, const char *root)
{
    struct names names = {.trace = trace};
    g_autofree char *docker = g_strconcat(root, "/var/lib/docker/containers", NULL);
    g_autofree char *tasks =
        g_strconcat(root, "/run/containerd/io.containerd.runtime.v2.task", NULL);
    g_autofree char *podman =
        g_strconcat(root, "/var/lib/containers/storage/overlay-containers/containers.json", NULL);
    take_directories(&names, docker, "config.v2.json", take_docker);
    g_autoptr(GDir) spaces = g_dir_open(tasks, 0, NULL);
    for (const char *space; spaces && (space = g_dir_read_name(spaces));) {
        g_autofree char *dir = g_build_filename(tasks, space, NULL);
        take_directories(&names, dir, "config.json", take_containerd);
    }
    take_podman(&names, podman);
}

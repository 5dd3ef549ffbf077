/* SPDX-License-Identifier: MIT */
/* Recognises containers, pods and services by the names of control groups. */
#include "kernel/containers.h"

#include <fnmatch.h>
#include <glib.h>
#include <string.h>

/* Digits of an id that is shown, and of one that is asked for. */
enum { ID_LENGTH = 64, LEAST_PREFIX = 6 };

enum shape {
    SHAPE_ID,      /* 64 hexadecimal digits */
    SHAPE_NAME,    /* any */
    SHAPE_SERVICE, /* any, and the whole of the part is what it is called */
};

/* `parent`: of the part before, or NULL: any. Programs that only watch a container (crio-conmon-ID,
 * libpod-conmon-ID, lxc.monitor.NAME) match none of them. */
static const struct {
    const char *parent, *prefix, *suffix, *runtime;
    enum shape shape;
} rules[] = {
    {NULL, "docker-", ".scope", "docker", SHAPE_ID},
    {"docker", "", "", "docker", SHAPE_ID},
    {NULL, "libpod-", ".scope", "podman", SHAPE_ID},
    {NULL, "libpod-", "", "podman", SHAPE_ID},
    {NULL, "cri-containerd-", ".scope", "containerd", SHAPE_ID},
    {NULL, "crio-", ".scope", "cri-o", SHAPE_ID},
    {NULL, "crio-", "", "cri-o", SHAPE_ID},
    {NULL, "nerdctl-", ".scope", "nerdctl", SHAPE_ID},
    {"pod*", "", "", "containerd", SHAPE_ID},
    {"kubepods-*", "", "", "containerd", SHAPE_ID},
    {NULL, "lxc.payload.", "", "lxc", SHAPE_NAME},
    {"lxc", "", "", "lxc", SHAPE_NAME},
    {NULL, "machine-qemu\\x2d", ".scope", "qemu", SHAPE_NAME},
    {NULL, "machine-", ".scope", "nspawn", SHAPE_NAME},
    {NULL, "", ".service", "systemd", SHAPE_SERVICE},
    {NULL, "session-", ".scope", "systemd", SHAPE_SERVICE},
};

static bool is_id(struct lull_span_text part)
{
    return part.length == ID_LENGTH && strspn(part.text, "0123456789abcdef") >= ID_LENGTH;
}

static bool parent_matches(const char *pattern, struct lull_span_text parent)
{
    if (!pattern) {
        return true;
    }
    const size_t length = strlen(pattern);
    return pattern[length - 1] == '*'
               ? parent.length >= length - 1 && strncmp(parent.text, pattern, length - 1) == 0
               : parent.length == length && strncmp(parent.text, pattern, length) == 0;
}

/* What a part says by itself; NULL: nothing. */
static const char *match_part(struct lull_span_text parent, struct lull_span_text part,
                              struct lull_span_text *id, bool *is_service)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
        const size_t before = strlen(rules[i].prefix), after = strlen(rules[i].suffix);
        if (part.length <= before + after || !parent_matches(rules[i].parent, parent) ||
            strncmp(part.text, rules[i].prefix, before) != 0 ||
            strncmp(part.text + part.length - after, rules[i].suffix, after) != 0) {
            continue;
        }
        *id = (struct lull_span_text){part.text + before, part.length - before - after};
        *is_service = rules[i].shape == SHAPE_SERVICE;
        if (*is_service) {
            *id = part;
        }
        if (rules[i].shape != SHAPE_ID || is_id(*id)) {
            return rules[i].runtime;
        }
    }
    return NULL;
}

/* "kubepods-besteffort-pod1a2b….slice" or "pod1a2b…" */
static bool take_pod(struct lull_span_text part, struct lull_span_text *pod)
{
    enum { UID_LENGTH = 36 };
    for (size_t i = 0; i + 3 + UID_LENGTH <= part.length; i++) {
        const char *at = part.text + i;
        if (strncmp(at, "pod", 3) == 0 && (i == 0 || at[-1] == '-') &&
            strspn(at + 3, "0123456789abcdef-_") >= UID_LENGTH) {
            *pod = (struct lull_span_text){at + 3, UID_LENGTH};
            return true;
        }
    }
    return false;
}

bool lull_group_parse(const char *path, struct lull_group_name *name)
{
    struct lull_span_text parent = {"", 0};
    bool has_container = false, is_below_kubernetes = false;
    *name = (struct lull_group_name){0};
    for (const char *at = path; *at;) {
        at += strspn(at, "/");
        const struct lull_span_text part = {at, strcspn(at, "/")};
        struct lull_span_text id;
        bool is_service;
        const char *runtime = part.length ? match_part(parent, part, &id, &is_service) : NULL;
        if (runtime && !(is_service && has_container)) {
            name->runtime = runtime;
            name->id = id;
            has_container |= !is_service;
        }
        is_below_kubernetes |= strncmp(part.text, "kubepods", MIN(part.length, 8)) == 0;
        if (is_below_kubernetes) {
            take_pod(part, &name->pod);
        }
        parent = part;
        at += part.length;
    }
    return name->runtime || name->pod.length;
}

static bool one_matches(const char *pattern, const struct lull_container *container)
{
    return strcmp(pattern, container->name) == 0 || fnmatch(pattern, container->name, 0) == 0 ||
           (*container->path && fnmatch(pattern, container->path, 0) == 0) ||
           (strlen(pattern) >= LEAST_PREFIX && g_str_has_prefix(container->id, pattern));
}

bool lull_container_matches(const char *patterns, const struct lull_container *container)
{
    char text[256];
    for (const char *at = patterns;; at++) {
        const size_t length = strcspn(at, ",");
        if (length < sizeof text) {
            memcpy(text, at, length);
            text[length] = '\0';
            if (one_matches(text, container)) {
                return true;
            }
        }
        at += length;
        if (!*at) {
            return false;
        }
    }
}

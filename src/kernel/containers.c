/* SPDX-License-Identifier: MIT */
/* Recognises containers, pods and services by the names of control groups. */
#include "kernel/containers.h"

#include <fnmatch.h>
#include <glib.h>
#include <string.h>

/* Digits of an id that is shown, and of one that is asked for. */
enum { ID_LENGTH = 64, LEAST_PREFIX = 6 };

enum shape {
    SHAPE_ID,     /* 64 hexadecimal digits */
    SHAPE_NAME,   /* any */
    SHAPE_VM,     /* as libvirt names machines: a number, "\\x2d", any */
    SHAPE_UNIT,   /* any, and the whole of the part is what it is called; not within a container */
    SHAPE_HELPER, /* any, and what is in there only looks after the container around it */
};

/* The first that fits counts. `parent`: of the part before, or NULL: any. Programs that only watch a
 * container (crio-conmon-ID, libpod-conmon-ID, lxc.monitor.NAME) match none of them. From the
 * documentation of these programs, and groups as their own tests have them. */
static const struct {
    const char *parent, *prefix, *suffix, *runtime;
    enum shape shape;
} rules[] = {
    {NULL, "docker-", ".scope", "docker", SHAPE_ID},
    {"docker", "", "", "docker", SHAPE_ID},
    {"buildkit", "", "", "buildkit", SHAPE_NAME},
    {NULL, "libpod-payload-", "", "podman", SHAPE_ID},
    {NULL, "libpod-", ".scope", "podman", SHAPE_ID},
    {NULL, "libpod-", "", "podman", SHAPE_ID},
    {NULL, "cri-containerd-", ".scope", "containerd", SHAPE_ID},
    {NULL, "crio-", ".scope", "cri-o", SHAPE_ID},
    {NULL, "crio-", "", "cri-o", SHAPE_ID},
    {NULL, "nerdctl-", ".scope", "nerdctl", SHAPE_ID},
    {NULL, "kata_", "", "kata", SHAPE_ID},
    /* Which program runs the containers of a pod, these groups do not say. */
    {"pod*", "", "", "kubernetes", SHAPE_ID},
    {"kubepods-*", "", "", "kubernetes", SHAPE_ID},
    {NULL, "lxc.payload.", "", "lxc", SHAPE_NAME},
    {"lxc.payload", "", "", "lxc", SHAPE_NAME},
    {"lxc", "", "", "lxc", SHAPE_NAME},
    {NULL, "machine-lxc\\x2d", ".scope", "lxc", SHAPE_VM},
    {NULL, "machine-qemu\\x2d", ".scope", "qemu", SHAPE_VM},
    {"machine", "qemu-", ".libvirt-qemu", "qemu", SHAPE_VM},
    {NULL, "machine-", ".scope", "nspawn", SHAPE_NAME},
    {NULL, "systemd-nspawn@", ".service", "nspawn", SHAPE_NAME},
    {"machine-*", "supervisor", "", "nspawn", SHAPE_HELPER},
    {"systemd-nspawn@*", "supervisor", "", "nspawn", SHAPE_HELPER},
    {NULL, "apptainer-", ".scope", "apptainer", SHAPE_NAME},
    {NULL, "singularity-", ".scope", "singularity", SHAPE_NAME},
    {NULL, "", ".service", "systemd", SHAPE_UNIT},
    {NULL, "session-", ".scope", "systemd", SHAPE_UNIT},
    {NULL, "run-", ".scope", "systemd", SHAPE_UNIT},
    {NULL, "app-flatpak-", ".scope", "flatpak", SHAPE_UNIT},
    {NULL, "app-", ".scope", "systemd", SHAPE_UNIT},
    {NULL, "snap.", ".scope", "snap", SHAPE_UNIT},
    /* Below the group that its user chose. */
    {NULL, "", "", "container", SHAPE_ID},
};

/* What runc makes of "SLICE:PREFIX:ID" without systemd: a group with the whole as its name. */
static const struct {
    const char *prefix, *runtime;
} triples[] = {
    {"cri-containerd", "containerd"}, {"docker", "docker"}, {"libpod", "podman"}, {"crio", "cri-o"},
    {"nerdctl", "nerdctl"},
};

const char *lull_group_by_name(enum lull_group_by by)
{
    static const char *const names[LULL_BY_COUNT] = {NULL, "container", "pod", "control group",
                                                     "virtual machine"};
    return names[by];
}

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

static struct lull_span_text without_number(struct lull_span_text name)
{
    const size_t digits = strspn(name.text, "0123456789");
    const char *const separators[] = {"\\x2d", "-"};
    for (size_t i = 0; i < G_N_ELEMENTS(separators); i++) {
        const size_t before = digits + strlen(separators[i]);
        if (digits > 0 && before < name.length &&
            g_str_has_prefix(name.text + digits, separators[i])) {
            return (struct lull_span_text){name.text + before, name.length - before};
        }
    }
    return name;
}

static const char *match_triple(struct lull_span_text part, struct lull_span_text *id)
{
    for (size_t i = 0; i < G_N_ELEMENTS(triples); i++) {
        const size_t length = strlen(triples[i].prefix);
        if (part.length <= length + 2 + ID_LENGTH) {
            continue;
        }
        *id = (struct lull_span_text){part.text + part.length - ID_LENGTH, ID_LENGTH};
        const char *prefix = id->text - length - 1;
        if (is_id(*id) && id->text[-1] == ':' && prefix[-1] == ':' &&
            strncmp(prefix, triples[i].prefix, length) == 0) {
            return triples[i].runtime;
        }
    }
    return NULL;
}

/* What a part says by itself; NULL: nothing. */
static const char *match_part(struct lull_span_text parent, struct lull_span_text part,
                              struct lull_span_text *id, enum shape *shape)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
        const size_t before = strlen(rules[i].prefix), after = strlen(rules[i].suffix);
        *shape = rules[i].shape;
        if (part.length < before + after ||
            (part.length == before + after && *shape != SHAPE_HELPER) ||
            !parent_matches(rules[i].parent, parent) ||
            strncmp(part.text, rules[i].prefix, before) != 0 ||
            strncmp(part.text + part.length - after, rules[i].suffix, after) != 0) {
            continue;
        }
        *id = (struct lull_span_text){part.text + before, part.length - before - after};
        if (*shape == SHAPE_UNIT) {
            *id = part;
        } else if (*shape == SHAPE_VM) {
            *id = without_number(*id);
        }
        if (*shape != SHAPE_ID || is_id(*id)) {
            return rules[i].runtime;
        }
    }
    *shape = SHAPE_ID;
    return match_triple(part, id);
}

/* "kubepods-besteffort-pod1a2b….slice" or "pod1a2b…". Those that a node starts by itself have a hash
 * in place of the UID. */
static bool take_pod(struct lull_span_text part, struct lull_span_text *pod)
{
    enum { UID_LENGTH = 36, HASH_LENGTH = 32 };
    for (size_t i = 0; i + 3 + HASH_LENGTH <= part.length; i++) {
        const char *at = part.text + i + 3;
        if (strncmp(at - 3, "pod", 3) != 0 || (i > 0 && at[-4] != '-')) {
            continue;
        }
        const bool is_hash = strspn(at, "0123456789abcdef") == HASH_LENGTH;
        const bool is_uid = strspn(at, "0123456789abcdef-_") >= UID_LENGTH;
        if (is_hash || is_uid) {
            *pod = (struct lull_span_text){at, is_hash ? HASH_LENGTH : UID_LENGTH};
            return true;
        }
    }
    return false;
}

static bool is_of_kubernetes(struct lull_span_text part)
{
    static const char name[] = "kubepods";
    return memmem(part.text, part.length, name, strlen(name)) != NULL;
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
        enum shape shape;
        const char *runtime = part.length ? match_part(parent, part, &id, &shape) : NULL;
        if (runtime && shape == SHAPE_HELPER) {
            name->runtime = NULL;
        } else if (runtime && !(shape == SHAPE_UNIT && has_container)) {
            name->runtime = runtime;
            name->id = id;
            has_container |= shape != SHAPE_UNIT;
        }
        is_below_kubernetes |= is_of_kubernetes(part);
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

/* SPDX-License-Identifier: MIT */
/* Names of control groups as docker, podman, containerd, CRI-O, Kubernetes, LXC, systemd and libvirt
 * make them, by their documentation and as seen on machines. */
#include "kernel/containers.h"

#include <glib.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define INNER "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define UID "1a2b3c4d-0000-4111-8222-333344445555"
#define UID_ESCAPED "1a2b3c4d_0000_4111_8222_333344445555"

static const struct {
    const char *path, *runtime, *id, *pod; /* runtime NULL: no container; pod "": none */
} groups[] = {
    {"/system.slice/docker-" ID ".scope", "docker", ID, ""},
    {"/docker/" ID, "docker", ID, ""},
    {"/docker/" ID "/init.scope", "docker", ID, ""},
    {"/docker/" ID "/docker/" INNER, "docker", INNER, ""}, /* docker in docker */
    {"/docker/" ID "/system.slice/ssh.service", "docker", ID, ""},
    {"/machine.slice/libpod-" ID ".scope", "podman", ID, ""},
    {"/machine.slice/libpod-" ID ".scope/container", "podman", ID, ""},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", "podman", ID,
     ""},
    {"/libpod_parent/libpod-" ID, "podman", ID, ""},
    {"/machine.slice/libpod-conmon-" ID ".scope", NULL, "", ""},
    {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ESCAPED
     ".slice/cri-containerd-" ID ".scope",
     "containerd", ID, UID_ESCAPED},
    {"/kubepods.slice/kubepods-pod" UID_ESCAPED ".slice/crio-" ID ".scope", "cri-o", ID,
     UID_ESCAPED},
    {"/kubepods.slice/kubepods-pod" UID_ESCAPED ".slice/crio-conmon-" ID ".scope", NULL, "",
     UID_ESCAPED},
    {"/kubepods/burstable/pod" UID "/" ID, "containerd", ID, UID},
    {"/kubepods/pod" UID "/" ID, "containerd", ID, UID},
    {"/docker/" ID "/kubepods/besteffort/pod" UID "/" INNER, "containerd", INNER, UID}, /* kind */
    {"/system.slice/nerdctl-" ID ".scope", "nerdctl", ID, ""},
    {"/lxc/web", "lxc", "web", ""},
    {"/lxc.payload.web/system.slice/cron.service", "lxc", "web", ""},
    {"/lxc.monitor.web", NULL, "", ""},
    {"/machine.slice/machine-debian.scope", "nspawn", "debian", ""},
    {"/machine.slice/machine-qemu\\x2d3\\x2dbuild.scope/libvirt/vcpu0", "qemu", "3\\x2dbuild", ""},
    {"/system.slice/nginx.service", "systemd", "nginx.service", ""},
    {"/user.slice/user-1000.slice/session-3.scope", "systemd", "session-3.scope", ""},
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/foot.service", "systemd",
     "foot.service", ""},
    {"/", NULL, "", ""},
    {"", NULL, "", ""},
    {"/user.slice", NULL, "", ""},
    {"/init.scope", NULL, "", ""},
    /* what looks like one and is none */
    {"/docker", NULL, "", ""},
    {"/docker/buildx", NULL, "", ""},
    {"/docker/0123", NULL, "", ""},
    {"/docker/" ID "0", NULL, "", ""},
    {"/system.slice/docker-0123456789abcdef.scope", NULL, "", ""},
    {"/system.slice/docker.service", "systemd", "docker.service", ""},
    {"/.service", NULL, "", ""},
    {"/pod" UID, NULL, "", ""},
    {"/kubepods/burstable/pod1a2b", NULL, "", ""},
    {"//lxc//web//", "lxc", "web", ""},
};

static void test_paths(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
        struct lull_group_name name;
        const bool is_any = lull_group_parse(groups[i].path, &name);
        g_assert_cmpint(is_any, ==, groups[i].runtime || *groups[i].pod);
        g_assert_cmpstr(name.runtime, ==, groups[i].runtime);
        if (name.runtime) {
            g_autofree char *id = g_strndup(name.id.text, name.id.length);
            g_assert_cmpstr(id, ==, groups[i].id);
        }
        g_autofree char *pod = g_strndup(name.pod.length ? name.pod.text : "", name.pod.length);
        g_assert_cmpstr(pod, ==, groups[i].pod);
    }
}

static void test_patterns(void)
{
    const struct lull_container web = {"/docker/" ID, "docker", ID, "", "web"};
    const struct lull_container host = {"/user.slice", "host", "", "", "host"};
    const struct {
        const char *patterns;
        bool web, host;
    } cases[] = {
        {"web", true, false},       {"w*", true, false},
        {"we", false, false},       {"012345", true, false},
        {"01234", false, false},    {ID, true, false},
        {"/docker/*", true, false}, {"db,web", true, false},
        {"db,host", false, true},   {"host", false, true},
        {"*", true, true},          {"", false, false},
        {"123456", false, false},   {"/user.slice", false, true},
        {",", false, false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_test_message("%s", cases[i].patterns);
        g_assert_cmpint(lull_container_matches(cases[i].patterns, &web), ==, cases[i].web);
        g_assert_cmpint(lull_container_matches(cases[i].patterns, &host), ==, cases[i].host);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/containers/paths", test_paths);
    g_test_add_func("/containers/patterns", test_patterns);
    return g_test_run();
}

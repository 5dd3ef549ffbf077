/* SPDX-License-Identifier: MIT */
/* Names of control groups as docker, podman, containerd, CRI-O, Kubernetes, LXC, systemd and libvirt
 * make them, by their documentation and as seen on machines. */
#include "kernel/containers.h"

#include <glib.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define INNER "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define HASH "0123456789abcdef0123456789abcdef"
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
    {"/kubepods/burstable/pod" UID "/" ID, "kubernetes", ID, UID},
    {"/kubepods/pod" UID "/" ID, "kubernetes", ID, UID},
    {"/docker/" ID "/kubepods/besteffort/pod" UID "/" INNER, "kubernetes", INNER, UID}, /* kind */
    {"/system.slice/nerdctl-" ID ".scope", "nerdctl", ID, ""},
    {"/lxc/web", "lxc", "web", ""},
    {"/lxc.payload.web/system.slice/cron.service", "lxc", "web", ""},
    {"/lxc.monitor.web", NULL, "", ""},
    {"/machine.slice/machine-debian.scope", "nspawn", "debian", ""},
    {"/machine.slice/machine-qemu\\x2d3\\x2dbuild.scope/libvirt/vcpu0", "qemu", "build", ""},
    {"/system.slice/nginx.service", "systemd", "nginx.service", ""},
    {"/user.slice/user-1000.slice/session-3.scope", "systemd", "session-3.scope", ""},
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/foot.service", "systemd",
     "foot.service", ""},
    /* Docker: of a group that its user chose, of Amazon's ECS with both drivers, without root, built */
    {"/actions_job/" ID, "container", ID, ""},
    {"/ecs/1a2b3c4d-0000-4111-8222-333344445555/" ID, "container", ID, ""},
    {"/ecstasks.slice/ecstasks-1a2b.slice/docker-" ID ".scope", "docker", ID, ""},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", "docker", ID,
     ""},
    {"/system.slice:docker:" ID, "docker", ID, ""},
    {"/docker/buildkit/k2x9q8w7e6r5t4y3u2i1o0p9a", "buildkit", "k2x9q8w7e6r5t4y3u2i1o0p9a", ""},
    {"/system.slice/snap.docker.dockerd.service", "systemd", "snap.docker.dockerd.service", ""},
    /* Kubernetes: pods of the node itself, of kind, where containerd and the kubelet disagree about
     * systemd; CRI-O without systemd; a container within the group of one */
    {"/kubepods/burstable/pod" HASH "/" ID, "kubernetes", ID, HASH},
    {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" HASH
     ".slice/cri-containerd-" ID ".scope",
     "containerd", ID, HASH},
    {"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
     "kubelet-kubepods-besteffort-pod" UID_ESCAPED ".slice/cri-containerd-" ID ".scope",
     "containerd", ID, UID_ESCAPED},
    {"/docker/" ID "/kubelet/kubepods/besteffort/pod" UID "/" INNER, "kubernetes", INNER, UID},
    {"/system.slice/containerd.service/kubepods-burstable-pod" UID_ESCAPED
     ".slice:cri-containerd:" ID,
     "containerd", ID, UID_ESCAPED},
    {"/kubepods-pod" UID_ESCAPED ".slice:cri-containerd:" ID, "containerd", ID, UID_ESCAPED},
    {"/kubepods/burstable/pod" UID "/crio-" ID, "cri-o", ID, UID},
    {"/kubepods/burstable/pod" UID "/crio-conmon-" ID, NULL, "", UID},
    {"/kubepods.slice/kubepods-pod" UID_ESCAPED ".slice/crio-" ID ".scope/container", "cri-o", ID,
     UID_ESCAPED},
    {"/kubepods.slice/kubepods-pod" UID_ESCAPED ".slice/docker-" ID ".scope", "docker", ID,
     UID_ESCAPED},
    {"/kubepods/pod" UID "/kata_" ID, "kata", ID, UID},
    /* containerd alone: of its namespaces, with nerdctl, without root */
    {"/k8s.io/" ID, "container", ID, ""},
    {"/default/" ID, "container", ID, ""},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/nerdctl-" ID ".scope", "nerdctl", ID,
     ""},
    {"/system.slice:nerdctl:" ID, "nerdctl", ID, ""},
    /* podman: a pod, a unit that has its container in its own group, and who watches it there */
    {"/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" INNER ".scope", "podman", INNER, ""},
    {"/system.slice/web.service/libpod-payload-" ID, "podman", ID, ""},
    {"/system.slice/web.service/libpod-payload-" ID "/init.scope", "podman", ID, ""},
    {"/system.slice/web.service/runtime", "systemd", "web.service", ""},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-conmon-" ID ".scope",
     "systemd", "user@1000.service", ""},
    {"/libpod_parent/libpod-conmon-" ID, NULL, "", ""},
    /* LXC 4, Proxmox, libvirt's, one that a user started */
    {"/lxc.payload/web", "lxc", "web", ""},
    {"/lxc/101/ns/system.slice/postfix.service", "lxc", "101", ""},
    {"/lxc.monitor/101", NULL, "", ""},
    {"/machine.slice/machine-lxc\\x2d4711\\x2dbox.scope", "lxc", "box", ""},
    {"/user.slice/user-1000.slice/session-3.scope/lxc/box", "lxc", "box", ""},
    /* systemd-nspawn: what runs in there, what looks after it, and as a service */
    {"/machine.slice/machine-debian.scope/payload/system.slice/ssh.service", "nspawn", "debian",
     ""},
    {"/machine.slice/machine-debian.scope/supervisor", NULL, "", ""},
    {"/machine.slice/systemd-nspawn@debian.service/payload", "nspawn", "debian", ""},
    {"/machine.slice/systemd-nspawn@debian.service/supervisor", NULL, "", ""},
    {"/machine.slice/machine-my\\x2dbox.scope", "nspawn", "my\\x2dbox", ""},
    /* virtual machines: a name with dashes and digits; without systemd */
    {"/machine.slice/machine-qemu\\x2d12\\x2dweb\\x2d01.scope/libvirt/emulator", "qemu",
     "web\\x2d01", ""},
    {"/machine/qemu-2-web.libvirt-qemu/vcpu0", "qemu", "web", ""},
    /* programs of a user, and of HPC */
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-gedit-4711.scope",
     "systemd", "app-gnome-gedit-4711.scope", ""},
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.gimp.GIMP-42.scope",
     "flatpak", "app-flatpak-org.gimp.GIMP-42.scope", ""},
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox-1a2b.scope",
     "snap", "snap.firefox.firefox-1a2b.scope", ""},
    {"/system.slice/run-u12.scope", "systemd", "run-u12.scope", ""},
    {"/user.slice/user-1000.slice/user@1000.service/user.slice/apptainer-4711.scope", "apptainer",
     "4711", ""},
    {"/", NULL, "", ""},
    {"", NULL, "", ""},
    {"/user.slice", NULL, "", ""},
    {"/init.scope", NULL, "", ""},
    /* what looks like one and is none */
    {"/docker", NULL, "", ""},
    {"/docker/buildx", NULL, "", ""},
    {"/docker/0123", NULL, "", ""},
    {"/docker/" ID "0", NULL, "", ""},
    {"/:docker:" ID, NULL, "", ""},
    {"/a:unknown:" ID, NULL, "", ""},
    {"/kubepods/podffffffffffffffffffffffffffffffff0/x", NULL, "", ""}, /* 33 digits */
    {"/machine.slice/machine-qemu\\x2d3\\x2d.scope", "qemu", "3\\x2d", ""},
    {"/supervisor", NULL, "", ""},
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

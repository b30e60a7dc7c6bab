/* SPDX-License-Identifier: BSD-2-Clause
 * haloctl doctor: every check, a line for each case, with the fix if there is one. */
#include "tools/haloctl/doctor.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include "config/base/error.h"
#include "daemon/control/varlink.h"
#include "kernels/clock.h"

/* ---- facts ---- */

/* What the doctor sees: files of this machine, sockets, the daemon's own answers. Nothing is
 * changed, and no output socket is connected to, which would start its encoder. */

static const char default_port[] = "127.0.0.1:8480"; /* of the example settings */

static FILE *open_under(const char *root, const char *path)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s", root, path);
    return fopen(name, "re");
}

/* The first word that looks like "580.95.05". */
static char *driver_version(const char *root)
{
    FILE *file = open_under(root, "/proc/driver/nvidia/version");
    char line[256], *found = NULL;
    if (!file)
        return NULL;
    if (fgets(line, sizeof line, file)) {
        char *state, *word = strtok_r(line, " \t\n", &state);
        for (; word && !found; word = strtok_r(NULL, " \t\n", &state))
            if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.'))
                found = strdup(word);
    }
    fclose(file);
    return found;
}

/* From the name of the file that libcuda.so.1 is a link to. */
static char *library_version(const char *root)
{
    static const char *const folders[] = {
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
        "/usr/local/nvidia/lib64",
    };
    static const char stem[] = "libcuda.so.";
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s%s/libcuda.so.1", root, folders[i]);
        char *target = realpath(name, NULL);
        const char *base = target ? strrchr(target, '/') + 1 : "";
        char *version =
            !strncmp(base, stem, sizeof stem - 1) ? strdup(base + sizeof stem - 1) : NULL;
        free(target);
        if (version)
            return version;
    }
    return NULL;
}

static void set_text(json_t *seen, const char *key, char *text)
{
    if (text)
        json_object_set_new(seen, key, json_string(text));
    free(text);
}

/* ---- sockets ---- */

/* Paths that somebody listens at, as the keys of an object; NULL: cannot be known. */
static json_t *listening(void)
{
    FILE *file = fopen("/proc/net/unix", "re");
    json_t *paths = file ? json_object() : NULL;
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
        unsigned flags = 0;
        int at = 0;
        /* Num RefCount Protocol Flags Type St Inode Path */
        if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s %n", &flags, &at) < 1 || !at ||
            !(flags & 0x10000))
            continue;
        line[strcspn(line, "\n")] = '\0';
        json_object_set_new(paths, line + at, json_true());
    }
    if (file)
        fclose(file);
    return paths;
}

static void note_if_stale(json_t *stale, const json_t *served, const char *path)
{
    struct stat info;
    if (lstat(path, &info) || !S_ISSOCK(info.st_mode) || json_object_get(served, path))
        return;
    for (size_t i = 0; i < json_array_size(stale); i++)
        if (!strcmp(json_string_value(json_array_get(stale, i)), path))
            return;
    json_array_append_new(stale, json_string(path));
}

static void find_stale(json_t *seen, const char *control)
{
    json_t *served = listening(), *stale = json_array(), *one;
    char folder[256], path[600];
    size_t i;
    snprintf(folder, sizeof folder, "%s", control);
    char *slash = strrchr(folder, '/');
    /* What answers and is not in the list is in another network namespace: the list is not ours. */
    const bool connected = !strcmp(ctl_text(seen, "connect"), "ok");
    const bool blind = connected && control[0] == '/' && !json_object_get(served, control);
    if (slash)
        *slash = '\0';
    DIR *dir = slash && folder[0] == '/' ? opendir(folder) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        note_if_stale(stale, served, path);
    }
    if (dir)
        closedir(dir);
    json_array_foreach (ctl_field(seen, "facts", "sockets"), i, one)
        note_if_stale(stale, served, json_string_value(one));
    if (served && !blind)
        json_object_set(seen, "stale", stale);
    json_decref(stale);
    json_decref(served);
}

/* ---- the port ---- */

static const char *ask_port(int fd)
{
    static const char question[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
                                   "Connection: close\r\n\r\n";
    char answer[2048];
    size_t length = 0;
    ssize_t n;
    if (send(fd, question, sizeof question - 1, MSG_NOSIGNAL) < 0)
        return "other";
    while (length + 1 < sizeof answer &&
           (n = recv(fd, answer + length, sizeof answer - 1 - length, 0)) > 0)
        length += (size_t)n;
    answer[length] = '\0';
    return strstr(answer, "\"not_running\"") ? "ours" : "other";
}

/* IPv4 alone: what else is asked for is left to the daemon's log. */
static const char *try_port(const char *address)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    const struct timeval slow = {.tv_sec = 2};
    char host[64];
    const char *colon = strrchr(address, ':');
    if (!colon || (size_t)(colon - address) >= sizeof host)
        return NULL;
    snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
    in.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (!strcmp(host, "localhost") || !strcmp(host, "0.0.0.0"))
        snprintf(host, sizeof host, "127.0.0.1");
    if (inet_pton(AF_INET, host, &in.sin_addr) != 1)
        return NULL;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slow, sizeof slow);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &slow, sizeof slow);
    const char *state =
        connect(fd, (const struct sockaddr *)&in, sizeof in) ? "free" : ask_port(fd);
    close(fd);
    return state;
}

static void check_port(json_t *seen)
{
    const json_t *facts = json_object_get(seen, "facts");
    const char *address = json_string_value(json_object_get(facts, "http"));
    if (!address && facts)
        return; /* HTTP is off */
    if (!address)
        address = default_port;
    const char *state = try_port(address);
    if (!state)
        return;
    json_object_set_new(seen, "port", json_string(state));
    json_object_set_new(seen, "port_address", json_string(address));
}

/* ---- the daemon ---- */

/* One question, nothing said: its answer's parameters, a new reference, or NULL. */
static json_t *ask(struct ctl *ctl, const char *method)
{
    json_t *answer = NULL, *result = NULL;
    if (ctl_send(ctl, method, json_object(), false) == 0 &&
        ctl_receive(ctl, CTL_ANSWER_MS, &answer) == 0 && !json_object_get(answer, "error"))
        result = json_incref(json_object_get(answer, "parameters"));
    json_decref(answer);
    return result;
}

static void check_daemon(struct ctl *ctl, json_t *seen)
{
    json_t *facts = ask(ctl, HALO_METHOD_FACTS);
    if (!facts)
        return;
    json_t *status = ask(ctl, HALO_METHOD_STATUS);
    halo_sleep(1);
    json_t *later = ask(ctl, HALO_METHOD_STATUS);
    json_object_update(seen, facts);
    json_object_update(seen, status);
    json_t *streams = ctl_field(later, HALO_FIELD_STATUS, HALO_FIELD_STREAMS);
    if (streams)
        json_object_set(seen, "later", streams);
    json_decref(facts);
    json_decref(status);
    json_decref(later);
}

static void check_socket(const struct ctl *ctl, json_t *seen)
{
    const int error = ctl->fd >= 0 ? 0 : ctl->error;
    const char *connect = error == 0                          ? "ok"
                          : error == ENOENT                   ? "absent"
                          : error == ECONNREFUSED             ? "stale"
                          : error == EACCES || error == EPERM ? "denied"
                                                              : strerror(error);
    const char *group = ctl_group(ctl);
    json_object_set_new(seen, "socket", json_string(ctl->path));
    json_object_set_new(seen, "connect", json_string(connect));
    if (group)
        json_object_set_new(seen, "group", json_string(group));
}

static json_t *gather(struct ctl *ctl)
{
    const char *root = getenv("HALOCTL_ROOT");
    struct timex clock = {0};
    json_t *seen = json_object();
    if (!root)
        root = "";
    ctl_try(ctl);
    check_socket(ctl, seen);
    if (ctl->fd >= 0)
        check_daemon(ctl, seen);
    find_stale(seen, ctl->path);
    check_port(seen);
    set_text(seen, "driver", driver_version(root));
    set_text(seen, "library", library_version(root));
    const int state = adjtimex(&clock);
    if (state >= 0)
        json_object_set_new(seen, "clock_synchronised", json_boolean(state != TIME_ERROR));
    json_object_set_new(seen, "now", json_real((double)halo_unix_seconds()));
    return seen;
}

/* ---- the doctor ---- */

static void print_case(const char *mark, const char *name, const char *what, const char *fix)
{
    printf("%-5s %-11s %s\n", mark, name, what);
    if (*fix)
        printf("%18sfix: %s\n", "", fix);
}

/* Cases with the same fix follow each other, and the last one has it. */
static void print_finding(const struct doctor_check *check, const struct doctor_finding *f)
{
    static const char *const marks[] = {"ok", "-", "WARN", "FAIL"};
    const char *fix = f->fix;
    json_t *one;
    size_t i;
    const json_t *first = json_array_get(f->more, 0);
    const bool same = first && !strcmp(ctl_text(first, "fix"), fix);
    print_case(marks[f->level], check->name, f->what, same ? "" : fix);
    json_array_foreach (f->more, i, one) {
        const json_t *next = json_array_get(f->more, i + 1);
        const bool failed = !strcmp(ctl_text(one, "level"), doctor_levels[DOCTOR_FAILED]);
        fix = ctl_text(one, "fix");
        print_case(marks[failed ? DOCTOR_FAILED : DOCTOR_WARNING], check->name,
                   ctl_text(one, "what"), next && !strcmp(ctl_text(next, "fix"), fix) ? "" : fix);
    }
}

static json_t *finding_json(const struct doctor_check *check, const struct doctor_finding *f)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:O*}", "name", check->name, "about", check->about,
                     "level", doctor_levels[f->level], "what", f->what, "fix", f->fix, "more",
                     f->more);
}

int ctl_doctor(struct ctl *ctl, char **words, int count)
{
    json_t *seen = gather(ctl), *list = json_array();
    int failed = 0, warnings = 0;
    (void)words;
    (void)count;
    for (const struct doctor_check *check = doctor_checks; check->name; check++) {
        struct doctor_finding finding = {0};
        check->judge(seen, &finding);
        failed += finding.level == DOCTOR_FAILED;
        warnings += finding.level == DOCTOR_WARNING;
        if (ctl->json)
            json_array_append_new(list, finding_json(check, &finding));
        else
            print_finding(check, &finding);
        json_decref(finding.more);
    }
    json_decref(seen);
    if (ctl->json) {
        ctl_print_json(
            json_pack("{s:o, s:i, s:i}", "checks", list, "failed", failed, "warnings", warnings));
    } else {
        json_decref(list);
        printf("%d failed, %d warning%s\n", failed, warnings, warnings == 1 ? "" : "s");
    }
    const int code = ctl_end_print();
    return code ? code : failed ? HALO_EXIT_FAILED : HALO_EXIT_OK;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/detector/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char standard[] = "halo-detect";

/* Whether this process is a service of the system, rather than of a user. */
static bool is_system_service(void)
{
    return getenv("NOTIFY_SOCKET") && !getenv("XDG_RUNTIME_DIR");
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* root can write everything, and is trusted. */
static bool is_ours_to_change(const char *path)
{
    return geteuid() != 0 && access(path, W_OK) == 0;
}

static bool try_folder(char ret[PATH_MAX], const char *folder, size_t length, const char *name)
{
    const int n = snprintf(ret, PATH_MAX, "%.*s/%s", (int)length, folder, name);
    return length > 0 && n < PATH_MAX && is_program(ret);
}

/* Looks in the folder of halod. */
static bool find_beside(char ret[PATH_MAX], const char *name)
{
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    return slash && try_folder(ret, self, (size_t)(slash - self), name);
}

static bool find_installed(char ret[PATH_MAX], const char *name)
{
    static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/opt/halo-detect/bin"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (try_folder(ret, folders[i], strlen(folders[i]), name))
            return true;
    return false;
}

static bool find_in_path(char ret[PATH_MAX], const char *name)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        const size_t length = strcspn(at, ":");
        if (*at == '/' && try_folder(ret, at, length, name))
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static int find_standard(char ret[PATH_MAX], struct halo_error *err)
{
    if (find_beside(ret, standard) || find_installed(ret, standard))
        return 0;
    if (!is_system_service() && find_in_path(ret, standard))
        return 0;
    return halo_fail(
        err, -ENOENT,
        "halo-detect is not installed: run 'apt install halod-tools', or, in halod's sources, "
        "'sudo meson install -C build' and 'sudo tools/setup detect'; or name another "
        "detector with 'command'");
}

static int find_named(char ret[PATH_MAX], const char *name, struct halo_error *err)
{
    if (is_system_service() && *name != '/')
        return halo_fail(err, -EINVAL, "%.200s: a service needs the program's absolute path", name);
    if (strchr(name, '/') ? !realpath(name, ret) || !is_program(ret) : !find_in_path(ret, name))
        return halo_fail(err, -ENOENT, "%.200s: there is no such program", name);
    return 0;
}

/* The path as it was named is executed, because a Python environment is recognised by the path of
 * its interpreter. */
static int locate(char ret[PATH_MAX], const char *name, struct halo_error *err)
{
    const int code =
        strcmp(name, standard) == 0 ? find_standard(ret, err) : find_named(ret, name, err);
    if (code == 0 && is_system_service() && is_ours_to_change(ret))
        return halo_fail(
            err, -EACCES,
            "%.200s: the service's user could change this program: make root its owner", ret);
    return code;
}

static int split(struct halo_detector_command *ret, const char *command, enum halo_find find)
{
    char *at = NULL;
    int words = 0;
    if (asprintf(&ret->text, "%s%s%s", command ? command : standard, command ? "" : " ",
                 command ? "" : halo_find_names[find]) < 0) {
        ret->text = NULL;
        return -ENOMEM;
    }
    for (char *w = strtok_r(ret->text, " \t", &at); w && words < HALO_DETECTOR_WORDS;
         w = strtok_r(NULL, " \t", &at))
        ret->word[words++] = w;
    ret->word[words] = NULL;
    return words > 0 ? 0 : -EINVAL;
}

int halo_detector_command_find(struct halo_detector_command *ret, const char *command,
                               enum halo_find find, struct halo_error *err)
{
    struct halo_detector_command made = {0};
    char path[PATH_MAX];
    int code = split(&made, command, find);
    if (code < 0)
        halo_fail(err, code, code == -ENOMEM ? "out of memory" : "the command names no program");
    else
        code = locate(path, made.word[0], err);
    if (code == 0 && !(made.program = strdup(path)))
        code = halo_fail(err, -ENOMEM, "out of memory");
    if (code < 0) {
        halo_detector_command_finish(&made);
        return code;
    }
    *ret = made;
    return 0;
}

void halo_detector_command_finish(struct halo_detector_command *command)
{
    free(command->text);
    free(command->program);
    *command = (struct halo_detector_command){0};
}

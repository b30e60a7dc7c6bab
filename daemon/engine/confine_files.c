/* SPDX-License-Identifier: BSD-2-Clause
 * Landlock by its raw system calls (confine_files.h). Rights added after ABI 1 are not used for
 * engines: all those denied there exist since Linux 5.13. */
#include "daemon/engine/confine_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/folders.h"

enum { FIRST_WITH_MOVE = 2 }; /* version of Landlock, Linux 5.19 */

enum {
    FS_EXECUTE = LANDLOCK_ACCESS_FS_EXECUTE,
    FS_WRITE = LANDLOCK_ACCESS_FS_WRITE_FILE,
    FS_READ = LANDLOCK_ACCESS_FS_READ_FILE,
    FS_LIST = LANDLOCK_ACCESS_FS_READ_DIR,
    FS_MAKE = LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
              LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE,
    FS_OTHER = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
               LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
               LANDLOCK_ACCESS_FS_MAKE_SYM,
    FS_MOVE = 1 << 13, /* LANDLOCK_ACCESS_FS_REFER, since ABI 2 */
    FS_ALL = FS_EXECUTE | FS_WRITE | FS_READ | FS_LIST | FS_MAKE | FS_OTHER,
    FS_OF_A_FILE = FS_EXECUTE | FS_WRITE | FS_READ,
};

static const int rights[HALO_FILES_HOW] = {
    [HALO_FILES_READ] = FS_READ | FS_LIST,
    [HALO_FILES_WRITE] = FS_READ | FS_WRITE | FS_LIST | FS_MAKE | FS_MOVE,
    [HALO_FILES_DEVICE] = FS_READ | FS_WRITE | FS_LIST,
    [HALO_FILES_RUN] = FS_READ | FS_LIST | FS_EXECUTE,
};

/* Files that libraries and drivers open. In /proc the kernel itself denies access to the memory and
 * files of other processes to processes that are confined this way. */
static const struct halo_files common[] = {
    {"/usr", HALO_FILES_RUN},
    {"/lib", HALO_FILES_RUN},
    {"/lib32", HALO_FILES_RUN},
    {"/lib64", HALO_FILES_RUN},
    {"/opt", HALO_FILES_RUN},
    {"/nix/store", HALO_FILES_RUN},
    {"/gnu/store", HALO_FILES_RUN},
    {"/etc/ld.so.cache", HALO_FILES_READ},
    {"/etc/ld.so.conf", HALO_FILES_READ},
    {"/etc/ld.so.conf.d", HALO_FILES_READ},
    {"/etc/localtime", HALO_FILES_READ},
    {"/etc/ssl", HALO_FILES_READ},
    {"/etc/pki", HALO_FILES_READ},
    {"/etc/ca-certificates", HALO_FILES_READ},
    {"/var/lib/ca-certificates", HALO_FILES_READ},
    {"/etc/crypto-policies", HALO_FILES_READ},
    {"/etc/gnutls", HALO_FILES_READ},
    {"/etc/nvidia", HALO_FILES_READ},
    {"/etc/nsswitch.conf", HALO_FILES_READ},
    {"/etc/passwd", HALO_FILES_READ},
    {"/etc/group", HALO_FILES_READ},
    {"/proc", HALO_FILES_DEVICE},
    {"/sys", HALO_FILES_READ},
    {"/dev/null", HALO_FILES_DEVICE},
    {"/dev/zero", HALO_FILES_DEVICE},
    {"/dev/full", HALO_FILES_DEVICE},
    {"/dev/random", HALO_FILES_READ},
    {"/dev/urandom", HALO_FILES_READ},
    {"/dev/dri", HALO_FILES_DEVICE},
    {"/dev/dxg", HALO_FILES_DEVICE},
};

/* Files that programs and libraries of detectors open. /proc/self is the process itself, also after
 * it has executed a program. */
static const struct halo_files common_of_detectors[] = {
    {"/usr", HALO_FILES_RUN},
    {"/lib", HALO_FILES_RUN},
    {"/lib32", HALO_FILES_RUN},
    {"/lib64", HALO_FILES_RUN},
    {"/bin", HALO_FILES_RUN},
    {"/nix/store", HALO_FILES_RUN},
    {"/gnu/store", HALO_FILES_RUN},
    {"/etc/alternatives", HALO_FILES_READ},
    {"/etc/ld.so.cache", HALO_FILES_READ},
    {"/etc/ld.so.conf", HALO_FILES_READ},
    {"/etc/ld.so.conf.d", HALO_FILES_READ},
    {"/etc/localtime", HALO_FILES_READ},
    {"/etc/python3", HALO_FILES_READ},
    {"/proc/self", HALO_FILES_READ},
    {"/proc/cpuinfo", HALO_FILES_READ},
    {"/proc/meminfo", HALO_FILES_READ},
    {"/proc/stat", HALO_FILES_READ},
    {"/proc/filesystems", HALO_FILES_READ},
    {"/proc/sys/vm", HALO_FILES_READ},
    {"/sys/devices/system/cpu", HALO_FILES_READ},
    {"/sys/devices/system/node", HALO_FILES_READ},
    {"/sys/fs/cgroup", HALO_FILES_READ},
    {"/dev/null", HALO_FILES_DEVICE},
    {"/dev/zero", HALO_FILES_READ},
    {"/dev/random", HALO_FILES_READ},
    {"/dev/urandom", HALO_FILES_READ},
};

/* Files that the driver of a GPU opens. */
static const struct halo_files gpu_files[] = {
    {"/proc", HALO_FILES_DEVICE},
    {"/sys", HALO_FILES_READ},
    {"/etc/nvidia", HALO_FILES_READ},
    {"/dev/dxg", HALO_FILES_DEVICE},
};

static int abi(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

const char *halo_confine_files_missing(bool moves)
{
    return abi() >= FIRST_WITH_MOVE ? NULL
           : abi() >= 1
               ? moves ? "this kernel's Landlock does not allow files to be moved to another folder"
                       : NULL
               : "this kernel has no Landlock, or Landlock is disabled (see the boot "
                 "parameter lsm=)";
}

static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    const size_t length = strlen(path);
    if (length >= sizeof folder)
        return;
    memcpy(folder, path, length + 1);
    for (size_t i = 1; i <= length; i++)
        if (path[i] == '/' || !path[i]) {
            folder[i] = '\0';
            mkdir(folder, 0777);
            folder[i] = path[i];
        }
}

/* A path that cannot be opened now cannot be opened later either; the later attempt reports why. */
static void add(int ruleset, const char *path, enum halo_files_how how)
{
    struct stat st;
    if (how == HALO_FILES_WRITE)
        make_folders(path);
    const int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    struct landlock_path_beneath_attr rule = {.parent_fd = fd,
                                              .allowed_access = (unsigned)rights[how]};
    if (abi() < FIRST_WITH_MOVE)
        rule.allowed_access &= ~(unsigned)FS_MOVE;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.allowed_access &= FS_OF_A_FILE;
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
}

/* The driver's nodes, and the folders in which it keeps compiled code and shares memory. */
static void add_nvidia(int ruleset)
{
    char path[PATH_MAX];
    const char *cache = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME");
    const char *pipes = getenv("CUDA_MPS_PIPE_DIRECTORY");
    bool found = false;
    DIR *dir = opendir("/dev");
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (!strncmp(e->d_name, "nv", 2) && strncmp(e->d_name, "nvme", 4) != 0 &&
            strncmp(e->d_name, "nvram", 5) != 0) {
            snprintf(path, sizeof path, "/dev/%s", e->d_name);
            add(ruleset, path, HALO_FILES_DEVICE);
            found = true;
        }
    if (dir)
        closedir(dir);
    if (!found)
        return;
    add(ruleset, "/dev/shm", HALO_FILES_WRITE);
    add(ruleset, pipes ? pipes : "/tmp/nvidia-mps", HALO_FILES_DEVICE);
    if (cache && *cache)
        add(ruleset, cache, HALO_FILES_WRITE);
    else if (home && snprintf(path, sizeof path, "%s/.nv", home) < (int)sizeof path)
        add(ruleset, path, HALO_FILES_WRITE);
}

/* The folder in which halod tune stores its results. */
static void add_tuning(int ruleset)
{
    char path[PATH_MAX];
    if (halo_cache_tuning_path(path, sizeof path, "cpu", 0) < 0)
        return;
    *strrchr(path, '/') = '\0';
    add(ruleset, path, HALO_FILES_READ);
}

static int begin(uint64_t handled, struct halo_error *err)
{
    const struct landlock_ruleset_attr all = {.handled_access_fs = handled};
    const int ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    return ruleset < 0 ? halo_fail(err, -errno, "Landlock: %s", strerror(errno)) : ruleset;
}

static void add_all(int ruleset, const struct halo_files *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(ruleset, files[i].path, files[i].how);
}

static int end(int ruleset, struct halo_error *err)
{
    const int code = syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
    close(ruleset);
    return code < 0 ? halo_fail(err, code, "Landlock: %s", strerror(-code)) : 0;
}

int halo_confine_files(const struct halo_files *files, int count, bool moves,
                       struct halo_error *err)
{
    if (halo_confine_files_missing(moves))
        return 0;
    const int ruleset = begin(FS_ALL | (abi() >= FIRST_WITH_MOVE ? FS_MOVE : 0), err);
    if (ruleset < 0)
        return ruleset;
    add_all(ruleset, common, sizeof common / sizeof *common);
    add_nvidia(ruleset);
    char *list = strdup(getenv("LD_LIBRARY_PATH") ? getenv("LD_LIBRARY_PATH") : ""), *at = NULL;
    for (char *one = list ? strtok_r(list, ":", &at) : NULL; one; one = strtok_r(NULL, ":", &at))
        add(ruleset, one, HALO_FILES_RUN);
    free(list);
    add_tuning(ruleset);
    add_all(ruleset, files, (size_t)count);
    return end(ruleset, err);
}

int halo_confine_detector_files(const struct halo_files *files, int count, bool gpu,
                                struct halo_error *err)
{
    enum { TRUNCATE = 1 << 14, FIRST_WITH_TRUNCATE = 3 };
    if (halo_confine_files_missing(false))
        return 0;
    const int ruleset = begin(FS_ALL | (abi() >= FIRST_WITH_TRUNCATE ? TRUNCATE : 0), err);
    if (ruleset < 0)
        return ruleset;
    add_all(ruleset, common_of_detectors, sizeof common_of_detectors / sizeof *common_of_detectors);
    if (gpu) {
        add_all(ruleset, gpu_files, sizeof gpu_files / sizeof *gpu_files);
        add_nvidia(ruleset);
    }
    add_all(ruleset, files, (size_t)count);
    return end(ruleset, err);
}

/* SPDX-License-Identifier: BSD-2-Clause
 * A file that is written once, at the end of a run (report_file.h). */
#include "pipeline/base/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/base/atomic_file.h"
#include "config/base/log.h"
#include "pipeline/base/path.h"

struct halo_report_file {
    const char *option, *name;
    FILE *file;      /* direct: open from the start; otherwise only while it is written */
    char *path;      /* with symbolic links followed; NULL: written directly */
    char *temporary; /* the temporary file while it is written */
    mode_t mode;     /* of the existing file; 0 if there is none */
};

/* A descriptor is duplicated, not opened again: both share one offset, so the report does not
 * overwrite other output. */
static int open_direct(struct halo_report_file *report, const char *path, int fd)
{
    if (fd >= 0) {
        const int flags = fcntl(fd, F_GETFL);
        if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
            return flags < 0 ? -errno : -EACCES;
        fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    } else {
        fd = open(path, O_WRONLY | O_CLOEXEC);
    }
    if (fd < 0)
        return -errno;
    report->file = fdopen(fd, "w");
    if (report->file)
        return 0;
    const int code = -errno;
    close(fd);
    return code;
}

static int open_report(struct halo_report_file *report, struct halo_error *err)
{
    const char *path = halo_path_of(report->name);
    const int fd = halo_path_descriptor(path);
    struct stat st;
    int code = 0;
    const bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        code = -EISDIR;
    else if (fd >= 0 || (exists && !S_ISREG(st.st_mode)))
        code = open_direct(report, path, fd);
    else if (!(report->path = halo_path_follow(path)))
        code = -errno;
    if (code < 0)
        return halo_fail(err, code, "%s %s: the file cannot be written: %s", report->option,
                         report->name, strerror(-code));
    if (!report->path)
        return 0;
    report->mode = exists ? st.st_mode & 07777 : 0;
    struct halo_error inner = {0};
    code = halo_atomic_file_check(report->path, &inner);
    return code < 0 ? halo_fail(err, code, "%s %s", report->option, inner.text) : 0;
}

int halo_report_open(struct halo_report_file **ret, const char *option, const char *name,
                     struct halo_error *err)
{
    struct halo_report_file *report = calloc(1, sizeof *report);
    if (!report)
        return halo_fail(err, -ENOMEM, "out of memory");
    report->option = option;
    report->name = name;
    const int code = open_report(report, err);
    if (code < 0)
        halo_report_destroy(report);
    else
        *ret = report;
    return code;
}

static void drop_temporary(struct halo_report_file *report)
{
    if (report->temporary)
        unlink(report->temporary);
    free(report->temporary);
    report->temporary = NULL;
}

void halo_report_destroy(struct halo_report_file *report)
{
    if (!report)
        return;
    if (report->file)
        fclose(report->file);
    drop_temporary(report);
    free(report->path);
    free(report);
}

static void warn(const struct halo_report_file *report, int code)
{
    halo_log(HALO_LOG_WARNING, "%s %s: the file cannot be written: %s", report->option,
             report->name, strerror(code));
}

FILE *halo_report_begin(struct halo_report_file *report)
{
    if (!report->path)
        return report->file;
    const int fd = halo_atomic_file_open(report->path, report->mode, &report->temporary);
    if (fd >= 0)
        report->file = fdopen(fd, "w");
    if (!report->file) {
        warn(report, fd < 0 ? -fd : errno);
        if (fd >= 0)
            close(fd);
        drop_temporary(report);
    }
    return report->file;
}

/* Renames only after fsync(): the final name must not refer to data that is not on disk yet. */
static int finish(struct halo_report_file *report)
{
    int code = fflush(report->file) || ferror(report->file) ? errno : 0;
    if (!code && report->temporary && fsync(fileno(report->file)) < 0)
        code = errno;
    if (fclose(report->file) && !code)
        code = errno;
    report->file = NULL;
    if (!code && report->temporary && rename(report->temporary, report->path) < 0)
        code = errno;
    return code;
}

void halo_report_end(struct halo_report_file *report)
{
    const int code = finish(report);
    if (code) {
        warn(report, code);
        drop_temporary(report);
    }
    free(report->temporary);
    report->temporary = NULL;
}

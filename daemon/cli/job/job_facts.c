/* SPDX-License-Identifier: BSD-2-Clause
 * Machines, people and files of a job (job_facts.h). */
#include "daemon/cli/job/job_facts.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <libavutil/cpu.h>
#include <libavutil/mem.h>
#include <libavutil/sha.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "daemon/cli/job/job_task.h"
#include "kernels/clock.h"
#include "pipeline/segment/manifest.h"

json_t *halo_job_machine(const char *encoder)
{
    struct utsname name;
    char flags[24];
    uname(&name);
    snprintf(flags, sizeof flags, "%x", (unsigned)av_get_cpu_flags());
    return json_pack("{s:s, s:s, s:s, s:s}", "machine", name.machine, "libc",
                     gnu_get_libc_version(), "flags", flags, "encoder", encoder);
}

json_t *halo_job_who(void)
{
    struct utsname name;
    char clock[40], at[60], task[80];
    struct tm parts;
    const int64_t ms = halo_unix_ns() / 1000000;
    const time_t now = ms / 1000;
    const struct passwd *user = getpwuid(geteuid());
    char number[24];
    snprintf(number, sizeof number, "%d", (int)geteuid());
    uname(&name);
    strftime(clock, sizeof clock, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &parts));
    /* Milliseconds tell a job from one that was split again within a second. */
    snprintf(at, sizeof at, "%s.%03dZ", clock, (int)(ms % 1000));
    json_t *ret = json_pack("{s:s, s:s, s:s}", "user", user ? user->pw_name : number, "host",
                            halo_job_node(name.nodename), "at", at);
    if (halo_job_task_name(task, sizeof task))
        json_object_set_new(ret, "task", json_string(task));
    return ret;
}

static void write_hash(struct AVSHA *sha, char ret[HALO_SHA256_TEXT])
{
    uint8_t byte[32];
    av_sha_final(sha, byte);
    for (size_t i = 0; i < sizeof byte; i++)
        snprintf(ret + 2 * i, 3, "%02x", byte[i]);
}

int halo_job_hash_file(const char *path, char ret[HALO_SHA256_TEXT], struct halo_error *err)
{
    enum { CHUNK = 1 << 20 };
    FILE *file = fopen(path, "rbe");
    if (!file)
        return halo_fail(err, -errno, "%s: %s", path, strerror(errno));
    struct AVSHA *sha = av_sha_alloc();
    uint8_t *data = malloc(CHUNK);
    int code = sha && data ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    if (code >= 0)
        av_sha_init(sha, 256);
    for (size_t size = 1; code >= 0 && size > 0;) {
        size = fread(data, 1, CHUNK, file);
        av_sha_update(sha, data, size);
    }
    if (code >= 0 && ferror(file))
        code = halo_fail(err, -EIO, "%s: cannot be read", path);
    if (code >= 0)
        write_hash(sha, ret);
    fclose(file);
    free(data);
    av_free(sha);
    return code;
}

int halo_job_hash_json(const json_t *json, char ret[HALO_SHA256_TEXT])
{
    char *text = halo_manifest_canonical(json);
    struct AVSHA *sha = av_sha_alloc();
    const int code = text && sha ? 0 : -ENOMEM;
    if (code == 0) {
        av_sha_init(sha, 256);
        av_sha_update(sha, (const uint8_t *)text, strlen(text));
        write_hash(sha, ret);
    }
    free(text);
    av_free(sha);
    return code;
}

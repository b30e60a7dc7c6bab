/* SPDX-License-Identifier: BSD-2-Clause
 * What a job records about machines, people and files, as JSON. Any thread. */
#ifndef HALO_JOB_FACTS_H
#define HALO_JOB_FACTS_H

#include <jansson.h>
#include <time.h>

#include "config/base/error.h"

enum { HALO_SHA256_TEXT = 65 };

/* Returns what the bytes of an encoder depend on besides versions (halo_manifest_versions()):
 * machine, C library, and flags of the processor. encoder: its name in FFmpeg. The
 * caller owns the object; NULL if memory runs out. */
json_t *halo_job_machine(const char *encoder);

/* Returns the time of a file as a number, to be compared: nanoseconds. */
static inline json_int_t halo_job_time(const struct timespec *time)
{
    return (json_int_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* Returns who does something: user, host, time and, in a scheduler, its task. The caller owns the
 * object; NULL if memory runs out. */
json_t *halo_job_who(void);

/* Computes the SHA-256 of a file. Blocks on disk. Returns 0, or -errno with err filled. */
int halo_job_hash_file(const char *path, char ret[HALO_SHA256_TEXT], struct halo_error *err);
/* Of JSON, however it is indented and ordered. Returns 0 or -ENOMEM. */
int halo_job_hash_json(const json_t *json, char ret[HALO_SHA256_TEXT]);

#endif

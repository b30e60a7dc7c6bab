/* SPDX-License-Identifier: BSD-2-Clause
 * The manifest of a run in segments: what its parts are made from, as JSON for people and programs.
 * Any thread; calls that read or write block on disk. */
#ifndef HALO_MANIFEST_H
#define HALO_MANIFEST_H

#include <jansson.h>

#include "config/base/error.h"
#include "config/run.h"
#include "pipeline/filter/filter.h"
#include "pipeline/segment/part_file.h"

/* Returns what the bytes of every part depend on besides the input: the settings that the encoded
 * video depends on, as written on the command line, the mask images of the chain, and the versions
 * (halo_manifest_versions()). The caller owns the object; NULL if memory runs out. */
json_t *halo_manifest_terms(const struct halo_run_settings *settings,
                            const struct halo_chain *chain);

/* Returns the versions of halod and FFmpeg, and name and hash of each library that makes bytes:
 * those of FFmpeg and the encoder's. Reads them, which takes some 20 ms. The caller owns the
 * object; NULL if memory runs out. */
json_t *halo_manifest_versions(const struct halo_run_settings *settings);

/* Returns the id of the part of this segment. */
struct halo_part_id halo_manifest_part_id(json_t *terms, const struct halo_segment *segment);

/* Returns the id of what was made from all segments. */
struct halo_part_id halo_manifest_id(json_t *manifest);

/* Compares the terms of an earlier run with those of this one. Returns 0, or -EINVAL with err
 * filled, which names the first difference. folder is the name of the folder, for the error. */
int halo_manifest_compare(const json_t *earlier, json_t *now, const char *folder,
                          struct halo_error *err);

/* Returns a segment of the cut list as JSON; NULL if memory runs out. */
json_t *halo_manifest_segment(const struct halo_segment *segment);

/* Reads back what halo_manifest_segment() returned. Returns 0, or -EBADMSG if it is something
 * else. */
int halo_manifest_read_segment(const json_t *json, int number, struct halo_segment *ret);

/* Reads the manifest in a folder. Returns 0 (the caller owns *ret), -ENOENT if there is none,
 * -EBADMSG if it is not a manifest of this version of halod, or another -errno. */
int halo_manifest_read(json_t **ret, const char *folder);

/* Writes the manifest, completely or not at all, and syncs it to disk. Returns 0, or -errno with
 * err filled. */
int halo_manifest_write(const json_t *manifest, const char *folder, struct halo_error *err);

/* Writes any JSON file, completely or not at all, and syncs it to disk. Returns 0 or -errno. */
int halo_manifest_save(const json_t *json, const char *path);

/* Returns a name or an option's value as a JSON string; if it is not UTF-8, bytes that are not
 * ASCII are written as a backslash, x and two digits. NULL if memory runs out. */
json_t *halo_manifest_text(const char *text);

/* Returns JSON as the text of which hashes are taken: the same from every version of jansson. The
 * caller frees it; NULL if json is NULL or memory runs out. */
char *halo_manifest_canonical(const json_t *json);

/* Returns a hash as a JSON string; NULL if memory runs out. */
json_t *halo_manifest_hash(const struct halo_segment_hash *hash);

#endif

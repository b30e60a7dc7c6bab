/* SPDX-License-Identifier: BSD-2-Clause
 * The segments of a run: which there are, which are encoded, and the folder of their parts.
 *
 *   reader thread               worker: a stream for each segment      the stream that joins
 *   input ─► cut list ─► todo ─► taken ─► NAME.parts/000007.part ─► done ─► OUT
 *                          └── the part of an earlier run ────────────┘
 *
 * The folder NAME.parts contains manifest.json and a part file for each segment that is encoded.
 * One process at a time may use it, except that of a job (halo_segments_open_job()). The parts
 * alone say what is done, so the process may be killed at any time; the manifest says what they
 * were made from. */
#ifndef HALO_SEGMENTS_H
#define HALO_SEGMENTS_H

#include <jansson.h>
#include <stdbool.h>

#include "config/base/error.h"
#include "config/run.h"
#include "pipeline/filter/filter.h"
#include "pipeline/segment/joined.h"
#include "pipeline/segment/part_file.h"

struct halo_detections;
struct halo_frozen;
struct halo_segments;

/* The file in the folder with what detectors answered about all segments. */
#define HALO_SEGMENTS_ALL_DETECTIONS "all.detections"
/* The name of the audit trail of a job until it is complete. */
#define HALO_SEGMENTS_AUDIT "audit.json"

/* What the process says about itself in a job, and what it does before OUT gets its name. */
struct halo_segments_job {
    const json_t *facts; /* an object, for the record of each segment; NULL: there is no job */
    /* Called on a thread of the joining stream when the output is complete, under the temporary
     * name `path`. Returns 0, or -errno with err filled: then the output is removed. NULL: not
     * called. */
    int (*check)(void *arg, const char *path, const struct halo_joined *joined,
                 struct halo_error *err);
    void *arg;
    /* Detectors look at the segments, and what they answer is kept (NUMBER.detections) in place of
     * parts. */
    bool detects;
    /* What detectors answered about all segments; NULL: there are no detectors. Must outlive the
     * segments. */
    const struct halo_detections *detections;
    /* What gates show in place of objects; if its mode is TAKE, nothing is encoded, and frames in
     * which no object appears are dropped. NULL: gates take their own values. Must outlive the
     * segments. */
    struct halo_frozen *frozen;
};

/* How the joining stream ends before all segments are joined. */
enum halo_segments_end {
    HALO_SEGMENTS_GO_ON,
    HALO_SEGMENTS_SHORT, /* after the segment that it is joining */
    HALO_SEGMENTS_FAIL,  /* with -ECANCELED */
};

/* Opens the folder for settings->output, whose chain is loaded, and locks it. With
 * settings->resume, parts of an earlier run are kept, if the settings are the same; otherwise an
 * old folder is only removed if settings->overwrite is set. settings must outlive *ret, which the
 * caller owns. Returns 0; 1, without *ret, if the earlier run completed OUT and only its folder was
 * left; a usage error or -errno, with err filled. */
int halo_segments_open(struct halo_segments **ret, const struct halo_run_settings *settings,
                       const struct halo_chain *chain, struct halo_error *err);
/* Returns the folder for settings->output; NULL if memory runs out. The caller frees it. */
char *halo_segments_folder_of(const struct halo_run_settings *settings);

/* Opens the folder of a job (daemon/cli/job), whose manifest was made with settings and is
 * complete: the list of segments and the terms are those of the manifest. Any number of processes
 * may have it open, so it is not locked, only parts and their records are written into it, and a
 * part that another process has completed is left as it is. All segments are of other processes
 * until halo_segments_want() is called. settings and job->facts must outlive *ret, which the caller
 * owns. Returns 0, or -errno with err filled. */
int halo_segments_open_job(struct halo_segments **ret, const struct halo_run_settings *settings,
                           const json_t *manifest, const struct halo_segments_job *job,
                           struct halo_error *err);
/* Reads the part of a segment, which must exist. Returns 0 if it is complete; 1 if it has to be
 * encoded, and *ret_damaged says whether that is because it is damaged, or was made from something
 * else; or -errno with err filled. From then on, halo_segments_take() takes it if it has to be
 * encoded. Call this before streams run. */
int halo_segments_want(struct halo_segments *s, int number, bool *ret_damaged,
                       struct halo_error *err);
/* From then on, halo_segments_take() takes the segment, whatever there is of it. Call this before
 * streams run. */
void halo_segments_need(struct halo_segments *s, int number);
/* The segment, which was taken, is done, and nothing was written. Any thread. */
void halo_segments_set_done(struct halo_segments *s, int number);
/* Removes the parts that this process has begun and not completed: for a process that ends at once.
 * Any thread. */
void halo_segments_give_up(struct halo_segments *s);
/* Removes all files of the job that were begun and not completed, also those that other processes
 * are writing, which then fail. */
void halo_segments_remove_begun(struct halo_segments *s);
/* Calls the job's check, if there is one. */
int halo_segments_check(struct halo_segments *s, const char *path, const struct halo_joined *joined,
                        struct halo_error *err);

/* From now on, notify(arg) is called when there is more to do, on other threads; it must not block.
 * Call this before halo_segments_read_input(). */
void halo_segments_listen(struct halo_segments *s, void (*notify)(void *arg), void *arg);
/* Unlocks the folder. If `remove` is set, removes it with everything that it contains; that of a
 * job stays, with the manifest, if it was split again meanwhile. Accepts NULL. */
void halo_segments_close(struct halo_segments *s, bool remove);

/* Removes the folder with everything that it contains, and frees nothing: for a process that ends
 * at once. Any thread. */
void halo_segments_abandon(struct halo_segments *s);
/* Removes a job's folder with everything that halod has put into it, or logs why it stays. It may
 * be gone already. A manifest with another seal stays, and so does the folder. NULL: each does. */
void halo_segments_remove(const char *folder, const char *seal);
/* Removes what an earlier job or run has left in the folder, but neither its manifest nor files
 * that are being written. Results without a manifest are only removed with `overwrite`. Returns a
 * file descriptor, which keeps halod run out of a folder that it has used: the caller closes it
 * when the new manifest is there. -EBUSY if a run is using the folder, a usage error, or another
 * -errno, with err filled. */
int halo_segments_clear(const char *folder, bool overwrite, struct halo_error *err);

/* Makes the cut list. Call it on a thread of its own. Returns as halo_cut_list_read(); 0 after
 * halo_segments_stop(). */
int halo_segments_read_input(struct halo_segments *s, struct halo_error *err);

/* Takes the next segment that has to be encoded. Returns false if there is none now. Any
 * thread. */
bool halo_segments_take(struct halo_segments *s, struct halo_segment *ret);

struct halo_segments_count {
    int done;       /* segments */
    int64_t frames; /* in those that are done */
    int64_t pixels; /* of a frame of the input; 0: not known before a segment is found */
};
/* Any thread. */
void halo_segments_count(struct halo_segments *s, struct halo_segments_count *ret);

/* Creates the part of a segment that was taken; writes to it and discards it are those of
 * part_file.h. Any thread. */
int halo_segments_create(struct halo_segments *s, const struct halo_segment *segment,
                         const AVCodecParameters *par, struct halo_part_writer **ret,
                         struct halo_error *err);
/* Completes the part. Returns 0, or -errno with err filled. The caller still frees the writer. */
int halo_segments_finish(struct halo_segments *s, const struct halo_segment *segment,
                         struct halo_part_writer *part, int64_t frames, struct halo_error *err);

/* Whether halo_segments_open_job() opened it. Any thread. */
bool halo_segments_are_of_job(const struct halo_segments *s);
/* What the job says; false and NULL without a job. Any thread. */
bool halo_segments_detects(const struct halo_segments *s);
const struct halo_detections *halo_segments_detections(const struct halo_segments *s);
struct halo_frozen *halo_segments_frozen(const struct halo_segments *s);
/* Writes what detectors answered about a segment that was taken, as halo_segments_finish() does
 * for a part. Returns 0, or -errno with err filled. */
int halo_segments_finish_detections(struct halo_segments *s, const struct halo_segment *segment,
                                    struct halo_detections *detections, struct halo_error *err);
/* Reads what detectors answered about a segment of a job. Returns 0 (the caller finishes *ret), or
 * an error as halo_detections_load(). */
int halo_segments_load_detections(struct halo_segments *s, int number, struct halo_detections *ret);

/* Waits until the segment is done and opens its part (halo_part_open()). Returns 1; 0 if there is
 * no such segment, or the end was set to SHORT; or -errno with err filled. */
int halo_segments_next_part(struct halo_segments *s, int number, const AVCodecParameters *par,
                            struct halo_part_order *order, struct halo_part_reader **ret,
                            struct halo_error *err);

const char *halo_segments_folder(const struct halo_segments *s);
/* Returns how the names of temporary files in the folder begin. */
const char *halo_segments_output(const struct halo_segments *s);
/* Stores which file will be renamed to OUT when it is complete, so that a run which was killed
 * immediately after that is known to be complete. Returns 0, or -errno with err filled. */
int halo_segments_note_output(struct halo_segments *s, int64_t inode, struct halo_error *err);

/* Ends reading and waiting. Any thread. */
void halo_segments_stop(struct halo_segments *s, enum halo_segments_end end);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 * The state of a run in segments, for the files that implement segments.h. */
#ifndef HALO_SEGMENTS_PRIVATE_H
#define HALO_SEGMENTS_PRIVATE_H

#include <jansson.h>

#include "config/base/thread.h"
#include "pipeline/segment/segments.h"

enum halo_segment_state {
    HALO_SEGMENT_WAITING,
    HALO_SEGMENT_TAKEN, /* by a worker */
    HALO_SEGMENT_DONE,
    HALO_SEGMENT_ELSEWHERE, /* of a job: not this process's */
};

struct halo_segment_entry {
    struct halo_segment segment;
    enum halo_segment_state state;
    struct halo_part_content content; /* DONE */
    int64_t began;                    /* TAKEN, in a job: ns, monotonic */
    char *temporary;                  /* of a job: the name of the part until it is complete */
};

struct halo_segments {
    const struct halo_run_settings *settings;
    void (*notify)(void *arg);
    void *arg;
    char *folder, *output;
    int fd; /* of the folder, which is locked through it, except in a job */
    json_t *terms;
    char *seal; /* of the job's manifest */
    atomic_int stop;
    struct halo_cut_input reading; /* used by the reader thread */
    struct halo_segments_job job;  /* const once streams run */
    /* Guarded by lock: */
    struct halo_mutex lock;
    struct halo_cond changed;
    struct halo_segment_entry *entry;
    int count, room;
    int next;    /* no segment before it is WAITING */
    bool listed; /* the list is complete */
    enum halo_segments_end end;
    struct halo_cut_input input;
    int64_t inode;             /* of the file that becomes OUT; 0: none yet */
    struct halo_mutex writing; /* held while the manifest is written; taken before `lock` */
};

/* Allocates the state for settings->output; terms is taken over, also on failure. Returns 0, or
 * -errno with err filled. */
int halo_segments_create_state(struct halo_segments **ret, const struct halo_run_settings *settings,
                               json_t *terms, struct halo_error *err);

/* Returns the name of a file of the segment, such as 000007.part; NULL if memory runs out. */
char *halo_segments_path(const struct halo_segments *s, int number, const char *suffix);

/* Adds a segment to the list. Call this with the lock held, or before there are other threads.
 * Returns NULL if memory runs out. */
struct halo_segment_entry *halo_segments_add(struct halo_segments *s,
                                             const struct halo_segment_entry *entry);

/* Whether the part exists already: returns 0 if it is complete, and e->content is filled; -EBADMSG
 * if it is damaged, -ESTALE if it was made from something else, -ENOENT, or another -errno. */
int halo_segments_look(struct halo_segments *s, struct halo_segment_entry *e);

/* Remembers the name of a part that was begun, for halo_segments_give_up(). */
void halo_segments_note_temporary(struct halo_segments *s, int number, const char *name);

/* The same for what detectors answered. */
int halo_segments_look_at_detections(struct halo_segments *s, struct halo_segment_entry *e);
/* Writes what detectors answered, unless another process has. Returns 0, or -errno with err
 * filled. */
int halo_segments_keep_detections(struct halo_segments *s, struct halo_segment_entry *e,
                                  struct halo_detections *detections, struct halo_error *err);

/* Completes the part of a segment of a job, unless another process has. Returns 0, or -errno with
 * err filled. */
int halo_segments_finish_job(struct halo_segments *s, struct halo_segment_entry *e,
                             struct halo_part_writer *part, int64_t frames, struct halo_error *err);

#endif

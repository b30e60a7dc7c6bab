/* SPDX-License-Identifier: BSD-2-Clause
 * Detections: what detectors answered about the frames of a file, kept so that other processes can
 * hide the same objects without detectors (daemon/cli/job).
 *
 *   process of a segment           one process                     process of a segment
 *   frames ─► detectors ─► file ─► halo_detections_append() ─► file ─► replay.h ─► verdicts
 *
 * Only the detectors' answers are kept, and where scenes change. In files, the same answers always
 * give the same verdicts (judge.h), so nothing else is needed, except, for hide=cells and noise,
 * what is shown in place of each object (frozen.h).
 *
 * The file says where people are in each frame, and that of a segment contains two small frames
 * of unfiltered frames, so only its owner can read it (mode 0600). It appears when it is complete
 * and synced to disk; it begins with an id of what it was made from and ends with a hash of its
 * bytes, which detects damage but not forgeries. Numbers have the byte order of the machine.
 *
 * One thread at a time; any thread may read a struct that does not change any more. */
#ifndef HALO_DETECTIONS_H
#define HALO_DETECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/base/error.h"
#include "config/detectors.h"
#include "pipeline/detect/cuts.h"
#include "pipeline/detect/detect_wire.h"
#include "pipeline/gate/frozen.h"

enum { HALO_DETECTIONS_ID = 16 /* bytes */ };

struct halo_detections_frame {
    int64_t pts;     /* in the time base of the input's stream */
    int64_t time_us; /* the same */
    int64_t box;     /* index of its first box; those of the first find come first */
    int32_t count[HALO_FINDS];
    halo_find_set answered; /* the finds whose detectors judged it; others know nothing of it */
    uint8_t looked;         /* `cut` is known */
    uint8_t cut;            /* it shows another scene than the frame before */
    uint8_t unused[2];
};

struct halo_detections {
    uint8_t id[HALO_DETECTIONS_ID];
    halo_find_set finds;                     /* those that the filters need */
    char name[HALO_FINDS][HALO_DETECT_NAME]; /* of the detectors, as they call themselves */

    struct halo_detections_frame *frame;
    int64_t frames;
    struct halo_detect_box *box; /* relative to the frame as stored */
    int64_t boxes;
    int64_t *segment; /* number of frames in each segment */
    int64_t segments;

    int32_t width, height;     /* of frames as they enter the gate */
    struct halo_frozen frozen; /* in all segments: the cells that hide objects */

    /* Thumbnails of the first and the last frame whose `looked` is set, if there is one. */
    bool seen;
    uint8_t first[HALO_CUT_BYTES], last[HALO_CUT_BYTES];

    uint8_t hash[HALO_DETECTIONS_ID]; /* of the file, after load or save */
};

/* Frees what *d owns, and zeroes it. Zeroed memory is empty detections. */
void halo_detections_finish(struct halo_detections *d);

/* Adds a frame. boxes[find] has frame->count[find] boxes; NULL if there are none. frame->box is
 * ignored. Returns 0 or -ENOMEM. */
int halo_detections_add(struct halo_detections *d, const struct halo_detections_frame *frame,
                        const struct halo_detect_box *const boxes[HALO_FINDS]);

/* Appends the next segment, and decides whether its first frame shows another scene than the last
 * one so far. Returns 0; or, with err filled, -ENOMEM, or -ESTALE if another detector judged it. */
int halo_detections_append(struct halo_detections *d, const struct halo_detections *next,
                           struct halo_error *err);

/* Writes the file. If `once` is set, a file with this name is left as it is, and -EEXIST is
 * returned; otherwise it is replaced. Returns 0, or -errno with err filled. Blocks on disk. */
int halo_detections_save(struct halo_detections *d, const char *path, bool once,
                         struct halo_error *err);

/* Reads a file that was made from what `id` says. Returns 0, and the caller finishes *ret; -ENOENT
 * if there is none; -EBADMSG if it is damaged; -ESTALE if it was made from something else; -EPERM
 * if others than its owner can read it; or another -errno. Blocks on disk. */
int halo_detections_load(struct halo_detections *ret, const char *path,
                         const uint8_t id[HALO_DETECTIONS_ID]);

/* Says in err why halo_detections_load() failed. Returns code. */
int halo_detections_fail(const char *path, int code, struct halo_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 * Backends, which run convolutions, and their strategies.
 *
 * A backend is one row of halo_backends[]; a strategy is one row of its backend's table. All
 * arguments are checked here; backends and strategies rely on that. The kernel check iterates over
 * both tables, so a new row is tested and timed without editing a test. */
#ifndef HALO_BACKEND_H
#define HALO_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "kernels/conv.h"
#include "kernels/plane.h"
#include "kernels/region.h"

/* The public part of a strategy. Each backend has a table of its strategies. Each backend defines
 * its own type for the rows of this table; the type begins with this struct. */
struct halo_strategy {
    const char *name;  /* as in strategy=NAME */
    const char *about; /* one line */
    /* Whether it supports conv: an explicit list of kinds, so that no strategy takes a new kind for
     * another. */
    bool (*can)(const struct halo_conv *conv, int channels);
};

/* One plane to filter: dst = conv(src). Both planes must be in host memory, must not overlap, and
 * must have the same width, height, channels, depth and shift. Only samples are written; the bytes
 * between rows do not change. */
struct halo_job {
    const struct halo_conv *conv;
    const struct halo_strategy *strategy; /* NULL: the backend chooses */
    struct halo_plane src, dst;
    const struct halo_region *region; /* NULL: the whole plane. The region's mask must not overlap
                                       * dst */
};

/* Describes a measurement of the time that kernels take. The planes are already in the memory from
 * which the kernels read them. */
struct halo_trial {
    const struct halo_conv *conv;
    const struct halo_strategy *strategy; /* NULL: the backend chooses */
    struct halo_plane like;               /* the format of each plane; its data is not used */
    const struct halo_region *region;     /* consists of rectangles only; NULL: the whole plane */
    bool yuv420; /* measures whole frames: each plane is the luma of a frame whose chroma is
                  * filtered, too */
    int planes;  /* number of planes, which are used in turn, so that no cache holds all of them */
    int rounds;  /* number of passes over all planes */
    enum {
        HALO_ONE_BY_ONE, /* one call for each plane, in order on one stream */
        HALO_GRAPH,      /* the same calls in a CUDA graph; like HALO_ONE_BY_ONE if the backend has
                          * no graphs */
        HALO_TOGETHER,   /* each call filters several planes: with yuv420, all planes of one frame;
                          * otherwise, the largest number of planes that a frame can have */
        HALO_APART,      /* like HALO_ONE_BY_ONE, but each call is started only after the previous
                          * one has ended */
    } calls;
};

struct halo_backend_settings {
    int threads; /* number of CPU worker threads; 0: one for each CPU that this process may use */
    int device;  /* CUDA device number */
    bool live;   /* the backend's work has priority on the device */
    /* Selects when kernels access page-locked host memory directly, without copies. */
    enum {
        HALO_MAPPED_AUTO, /* only if the device has no memory of its own */
        HALO_MAPPED_ON,
        HALO_MAPPED_OFF,
    } mapped;
};

struct halo_backend; /* an opened backend; used by one thread at a time */
struct halo_frame;   /* frame.h */
struct halo_frame_times;

struct halo_backend_ops {
    const char *name; /* the name that the setting `backend: NAME` uses */
    const struct halo_strategy *const *strategies; /* NULL-terminated, in the order in which auto
                                                    * prefers them */
    /* Fills text with one line for --version, such as "2 threads, AVX-512", or with the reason why
     * this backend cannot run here. Returns the number of devices, or 0 if the backend cannot run.
     * May block while the driver starts. */
    int (*describe)(char *text, size_t size);
    int (*open)(struct halo_backend **ret, const struct halo_backend_settings *settings);
    void (*close)(struct halo_backend *b);
    int (*convolve)(struct halo_backend *b, const struct halo_job *jobs, int count);
    /* Fills text with one line that identifies the device: always the same for the same hardware,
     * and different for different hardware. */
    void (*identify)(const struct halo_backend *b, char *text, size_t size);
    /* NULL: every device supports every strategy of the table. */
    bool (*has)(const struct halo_backend *b, const struct halo_strategy *strategy);
    /* NULL: convolve is called instead and timed with the host's clock. */
    int (*time)(struct halo_backend *b, const struct halo_trial *trial, double *ret_us);
    /* See frame.h. submit, finish, memory and memory_free are NULL if convolve() and malloc()
     * suffice. */
    int (*submit)(struct halo_backend *b, const struct halo_frame *frame);
    int (*finish)(struct halo_backend *b);
    /* NULL: frames are not timed on a device (halo_frame_measure, halo_frame_times). */
    void (*measure)(struct halo_backend *b);
    int (*times)(struct halo_backend *b, struct halo_frame_times *ret);
    void *(*memory)(size_t size);
    void (*memory_free)(void *memory);
    /* Returns the text of the last error on b or, if b is NULL, of the error of this thread's last
     * open(). NULL: the backend's errors have no text, only an errno. */
    const char *(*error_text)(const struct halo_backend *b);
    /* NULL: the backend has only one device, which is never lost. */
    bool (*is_lost)(void);
    int (*least_loaded)(void);
};

/* The first member of every backend's own struct. The backend's open() sets ops and sets the other
 * members to zero; later, backend.c manages these other members. */
struct halo_backend {
    const struct halo_backend_ops *ops;
    struct halo_tuning *tuning; /* NULL: strategies are chosen in the order of the backend's
                                 * table */
    bool busy;                  /* a frame is submitted */
    void *scratch;              /* memory for planes between the steps of a chain */
    size_t scratch_bytes;
};

extern const struct halo_backend_ops *const halo_backends[]; /* NULL-terminated: cpu, cuda */

/* halo_backend_find() returns the backend with this name, and halo_strategy_find() the strategy of
 * ops with this name; both return NULL if there is none. */
const struct halo_backend_ops *halo_backend_find(const char *name);
static inline const struct halo_strategy *halo_strategy_find(const struct halo_backend_ops *ops,
                                                             const char *name)
{
    const struct halo_strategy *const *s = ops->strategies;
    while (*s && strcmp((*s)->name, name) != 0)
        s++;
    return *s;
}

/* Opens a device of the backend. Returns 0, -ENODEV (the device does not exist), -ENOMEM, -EIO (the
 * device failed) or -EINVAL. The caller owns *ret and closes it. */
int halo_backend_open(const struct halo_backend_ops *ops,
                      const struct halo_backend_settings *settings, struct halo_backend **ret);
void halo_backend_close(struct halo_backend *b); /* may be NULL */

/* Fills text with a one-line description of the last failure on b, which is the device's own
 * message if it has one. If b is NULL, describes why this thread's last halo_backend_open() of ops
 * failed. Returns text. */
const char *halo_backend_error(const struct halo_backend_ops *ops, const struct halo_backend *b,
                               char *text, size_t size);

/* Returns whether a device used by this process has failed in such a way that only the end of the
 * process can free it. Once a device has failed in such a way, no call reaches it, its resources
 * are not released, and the process must end with _exit(), because the driver's own cleanup might
 * wait forever. Any thread. */
bool halo_backend_is_lost(const struct halo_backend_ops *ops);

/* halo_backend_leave() promises that the process will soon end with _exit(), without further work
 * on devices. From then on, nothing on a device is released, because the end of the process does
 * that in less time. halo_backend_is_left() returns whether this was promised; code that uses a
 * device without a backend must not release anything on it either. Any thread. */
void halo_backend_leave(void);
bool halo_backend_is_left(void);

/* Returns the number of the device with the most free memory. If several devices have about the
 * same amount of free memory, returns the least busy of them. Returns 0 if the amounts are unknown.
 * Does not start any device. May be called from any thread; takes a few milliseconds. */
int halo_backend_least_loaded(const struct halo_backend_ops *ops);

/* Returns whether b can apply conv, using this strategy, to planes with this many interleaved
 * channels. Any thread. */
bool halo_backend_can(const struct halo_backend *b, const struct halo_strategy *strategy,
                      const struct halo_conv *conv, int channels);

/* Makes b choose strategies by the measured times in the file at path. Returns 0, -ENOENT (no such
 * file), -ESTALE (measured on another device or with another version), -EINVAL (malformed) or an
 * error from reading the file. On failure, b does not change, and text describes the error and its
 * place in one line. Must not be called during another call on b. */
int halo_backend_tune(struct halo_backend *b, const char *path, char *text, size_t size);

/* Returns the strategy that will filter job: the one that the job requests; otherwise the one that
 * was measured to be the fastest; otherwise the first row of the table that supports the job, or
 * NULL if none does.
 * Called by backends; job must have been checked. Any thread. */
const struct halo_strategy *halo_backend_choose(const struct halo_backend *b,
                                                const struct halo_job *job);

/* Runs all jobs, in any order and concurrently, and blocks until every dst is written. Returns 0,
 * -EINVAL (a job breaks the rules above, or its strategy does not support it), -ENOMEM, or -EIO
 * (the device failed, and every dst of the call is undefined and must not be shown). */
int halo_backend_convolve(struct halo_backend *b, const struct halo_job *jobs, int count);

/* Returns plane p, 0 to 2, of the frame that a trial with yuv420 measures. The chroma planes have
 * half the luma's width and height, rounded up. */
struct halo_plane halo_trial_plane(const struct halo_trial *trial, int p);

/* Runs a trial for halo-bench and fills ret_us, which has trial->rounds entries, with each round's
 * time per plane or frame, in microseconds. The samples are random, and two warm-up rounds are not
 * counted. Returns the same errors as halo_backend_convolve(). Blocks. */
int halo_backend_time(struct halo_backend *b, const struct halo_trial *trial, double *ret_us);

#endif

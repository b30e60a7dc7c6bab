/* SPDX-License-Identifier: BSD-2-Clause
 * Backends: where convolutions run, and the strategies each one has.
 *
 * A backend is one row of halo_backends[]; a strategy is one row of its backend's table. Everything
 * is checked here, at the front door; backends and strategies hold work only. The kernel check
 * walks both tables, so a new row is tested and timed without touching a test. */
#ifndef HALO_BACKEND_H
#define HALO_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/conv.h"
#include "kernels/plane.h"
#include "kernels/region.h"

/* The public half of a strategy; each backend's own row begins with it. */
struct halo_strategy {
    const char *name;                                        /* as in strategy=NAME */
    const char *about;                                       /* one line */
    bool (*can)(const struct halo_conv *conv, int channels); /* NULL: everything */
};

/* One plane to filter: dst = conv(src), both in host memory, not overlapping, of the same width,
 * height, channels, depth and shift. Only samples are written: bytes between rows stay as they
 * are. */
struct halo_job {
    const struct halo_conv *conv;
    const struct halo_strategy *strategy; /* NULL: the backend chooses */
    struct halo_plane src, dst;
    const struct halo_region *region; /* NULL: everywhere; its mask does not overlap dst */
};

/* How kernels are timed: over planes that are already where the kernels read them. */
struct halo_trial {
    const struct halo_conv *conv;
    const struct halo_strategy *strategy; /* NULL: the backend chooses */
    struct halo_plane like;               /* the shape of each plane; its data is not looked at */
    const struct halo_region *region;     /* rectangles; NULL: everywhere, as in frames */
    bool yuv420; /* a plane is the luma of a frame, whose chroma is filtered too: times of frames */
    int planes;  /* in turns, so many that no cache holds them all */
    int rounds;  /* over all planes */
    enum {
        HALO_ONE_BY_ONE, /* each plane a call of its own, one after the other on one stream */
        HALO_GRAPH,      /* the same as a CUDA graph; one by one where there is none */
        HALO_TOGETHER,   /* as many planes in one call as a frame may have, or has */
        HALO_APART,      /* one by one, and none is started before the one before has ended */
    } calls;
};

struct halo_backend_settings {
    int threads; /* CPU workers; 0: one for each CPU this process may use */
    int device;  /* CUDA device number */
    bool live;   /* its work on the device goes before that of others */
    /* Whether kernels use the host's page-locked memory in its place, without copies. */
    enum {
        HALO_MAPPED_AUTO, /* where the device has no memory of its own */
        HALO_MAPPED_ON,
        HALO_MAPPED_OFF,
    } mapped;
};

struct halo_backend; /* opened; used by one thread at a time */
struct halo_frame;   /* frame.h */

struct halo_backend_ops {
    const char *name;                              /* as in backend: NAME */
    const struct halo_strategy *const *strategies; /* NULL-terminated, auto's preference first */
    /* Fills text with one line for --version: "2 threads, AVX-512" or why there is none. Returns
     * the number of devices, 0 where this backend cannot run here. May block while the driver
     * starts. */
    int (*describe)(char *text, size_t size);
    int (*open)(struct halo_backend **ret, const struct halo_backend_settings *settings);
    void (*close)(struct halo_backend *b);
    int (*convolve)(struct halo_backend *b, const struct halo_job *jobs, int count);
    /* Fills text with the device in one line: the same whenever it opens on the same hardware, and
     * another on other hardware. */
    void (*identify)(const struct halo_backend *b, char *text, size_t size);
    /* NULL: every strategy of the table runs on every device. */
    bool (*has)(const struct halo_backend *b, const struct halo_strategy *strategy);
    /* NULL: convolve and the clock are good enough. */
    int (*time)(struct halo_backend *b, const struct halo_trial *trial, double *ret_us);
    /* See frame.h. All NULL where convolve and malloc do. */
    int (*submit)(struct halo_backend *b, const struct halo_frame *frame);
    int (*finish)(struct halo_backend *b);
    void *(*memory)(size_t size);
    void (*memory_free)(void *memory);
    /* NULL: there is never more to say than errno. b NULL: of this thread's last open. */
    const char *(*error_text)(const struct halo_backend *b);
    /* NULL: a device is never lost, and there is one. */
    bool (*is_lost)(void);
    int (*least_loaded)(void);
};

/* First member of every backend's own struct, zeroed but for ops by open. The rest belongs to
 * frame.c. */
struct halo_backend {
    const struct halo_backend_ops *ops;
    struct halo_tuning *tuning; /* NULL: the order of the table decides */
    bool busy;                  /* a frame is submitted */
    void *scratch;              /* between the steps of a chain */
    size_t scratch_bytes;
};

extern const struct halo_backend_ops *const halo_backends[]; /* NULL-terminated: cpu, cuda */

/* The row named name, or NULL. */
const struct halo_backend_ops *halo_backend_find(const char *name);
const struct halo_strategy *halo_strategy_find(const struct halo_backend_ops *ops,
                                               const char *name);

/* 0, -ENODEV (no such device here), -ENOMEM, -EIO (the device failed), -EINVAL. The caller owns
 * *ret and closes it. */
int halo_backend_open(const struct halo_backend_ops *ops,
                      const struct halo_backend_settings *settings, struct halo_backend **ret);
void halo_backend_close(struct halo_backend *b); /* NULL is nothing to do */

/* What failed last on b, in one line of words: the device's where it has some. Returns text. b
 * NULL: why this thread's last halo_backend_open() of ops failed. */
const char *halo_backend_error(const struct halo_backend_ops *ops, const struct halo_backend *b,
                               char *text, size_t size);

/* Whether a device of this process failed so that only the end of the process frees it. Then no
 * call reaches it any more, what it holds is not given back, and the process must end by _exit():
 * the driver's own clearing up might wait for ever. Any thread. */
bool halo_backend_is_lost(const struct halo_backend_ops *ops);

/* The device with the most free memory, else with the least to do. Starts none of them. 0 where
 * nobody can tell. Any thread; takes some milliseconds. */
int halo_backend_least_loaded(const struct halo_backend_ops *ops);

/* Whether b can filter planes with this many interleaved channels so. Any thread. */
bool halo_backend_can(const struct halo_backend *b, const struct halo_strategy *strategy,
                      const struct halo_conv *conv, int channels);

/* Lets the measured times of the file at path guide the choice of strategies. 0; -ENOENT (no such
 * file), -ESTALE (measured on another device or version), -EINVAL (damaged), or what reading it
 * gave: b is then as before, and text says what and where in one line. Not during a call on b. */
int halo_backend_tune(struct halo_backend *b, const char *path, char *text, size_t size);

/* How job will be filtered: as it asks, or by the fastest that was measured, or by the first row of
 * the table that can. For backends; job has been checked. Any thread. */
const struct halo_strategy *halo_backend_choose(const struct halo_backend *b,
                                                const struct halo_job *job);

/* Runs all jobs, in any order and at once; blocks until every dst is written. 0, -EINVAL (a job
 * that breaks the rules above, or a strategy that cannot), -ENOMEM, -EIO (the device failed; every
 * dst of the call is then undefined and must not be shown). */
int halo_backend_convolve(struct halo_backend *b, const struct halo_job *jobs, int count);

/* Plane p, 0 to 2, of the frame that a trial with yuv420 is about: the chroma planes have half the
 * size, rounded up. */
struct halo_plane halo_trial_plane(const struct halo_trial *trial, int p);

/* Fills ret_us[trial->rounds] with microseconds for a plane or frame, for halo-bench: random
 * samples, after two rounds that do not count. Errors as above. Blocks. */
int halo_backend_time(struct halo_backend *b, const struct halo_trial *trial, double *ret_us);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 * Backends: where convolutions run, and which strategies each of them has.
 *
 * A backend is one row of halo_backends[]; a strategy is one row of its backend's table. All
 * arguments are checked here; backends and strategies rely on that. The kernel check iterates over
 * both tables, so a new row is tested and timed without editing a test. */
#ifndef HALO_BACKEND_H
#define HALO_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/conv.h"
#include "kernels/plane.h"
#include "kernels/region.h"

/* The public part of a strategy; the rows of each backend's own type begin with it. */
struct halo_strategy {
    const char *name;                                        /* as in strategy=NAME */
    const char *about;                                       /* one line */
    bool (*can)(const struct halo_conv *conv, int channels); /* NULL: supports everything */
};

/* One plane to filter: dst = conv(src), both in host memory, not overlapping, of the same width,
 * height, channels, depth and shift. Only samples are written: bytes between rows do not change. */
struct halo_job {
    const struct halo_conv *conv;
    const struct halo_strategy *strategy; /* NULL: the backend chooses */
    struct halo_plane src, dst;
    const struct halo_region *region; /* NULL: the whole plane; its mask does not overlap dst */
};

/* What is timed: kernels, on planes that are already in the memory where the kernels read them. */
struct halo_trial {
    const struct halo_conv *conv;
    const struct halo_strategy *strategy; /* NULL: the backend chooses */
    struct halo_plane like;               /* the format of each plane; its data is not used */
    const struct halo_region *region;     /* rectangles; NULL: the whole plane, as in frames */
    bool yuv420; /* each plane is the luma of a frame whose chroma is filtered, too: measures
                  * frames */
    int planes;  /* number of planes, used in turn: enough that no cache can hold all of them */
    int rounds;  /* over all planes */
    enum {
        HALO_ONE_BY_ONE, /* one call for each plane, in order on one stream */
        HALO_GRAPH,      /* the same as a CUDA graph; as HALO_ONE_BY_ONE if the backend has no
                          * graphs */
        HALO_TOGETHER,   /* each call filters as many planes as a frame can have, or with yuv420,
                          * has */
        HALO_APART,      /* one by one, each started after the one before has ended */
    } calls;
};

struct halo_backend_settings {
    int threads; /* CPU workers; 0: one for each CPU this process may use */
    int device;  /* CUDA device number */
    bool live;   /* its work has priority on the device */
    /* Whether kernels access page-locked host memory directly, without copies. */
    enum {
        HALO_MAPPED_AUTO, /* if the device has no memory of its own */
        HALO_MAPPED_ON,
        HALO_MAPPED_OFF,
    } mapped;
};

struct halo_backend; /* opened; used by one thread at a time */
struct halo_frame;   /* frame.h */

struct halo_backend_ops {
    const char *name;                              /* as in backend: NAME */
    const struct halo_strategy *const *strategies; /* NULL-terminated, in the order in which auto
                                                    * prefers them */
    /* Fills text with one line for --version: "2 threads, AVX-512", or the reason why this backend
     * cannot run here. Returns the number of devices, 0 if it cannot run. May block while the
     * driver starts. */
    int (*describe)(char *text, size_t size);
    int (*open)(struct halo_backend **ret, const struct halo_backend_settings *settings);
    void (*close)(struct halo_backend *b);
    int (*convolve)(struct halo_backend *b, const struct halo_job *jobs, int count);
    /* Fills text with one line that identifies the device: always the same for the same hardware,
     * and different for different hardware. */
    void (*identify)(const struct halo_backend *b, char *text, size_t size);
    /* NULL: every device supports every strategy of the table. */
    bool (*has)(const struct halo_backend *b, const struct halo_strategy *strategy);
    /* NULL: convolve is called and timed by the host's clock. */
    int (*time)(struct halo_backend *b, const struct halo_trial *trial, double *ret_us);
    /* See frame.h. All NULL if convolve and malloc suffice. */
    int (*submit)(struct halo_backend *b, const struct halo_frame *frame);
    int (*finish)(struct halo_backend *b);
    void *(*memory)(size_t size);
    void (*memory_free)(void *memory);
    /* NULL: errors have no text besides errno. If b is NULL, the error of this thread's last
     * open. */
    const char *(*error_text)(const struct halo_backend *b);
    /* NULL: a device is never lost, and only one exists. */
    bool (*is_lost)(void);
    int (*least_loaded)(void);
};

/* First member of every backend's own struct. open sets it to zeros except ops. The other members
 * are managed by backend.c and frame.c. */
struct halo_backend {
    const struct halo_backend_ops *ops;
    struct halo_tuning *tuning; /* NULL: strategies are chosen in the order of the table */
    bool busy;                  /* a frame is submitted */
    void *scratch;              /* for planes between the steps of a chain */
    size_t scratch_bytes;
};

extern const struct halo_backend_ops *const halo_backends[]; /* NULL-terminated: cpu, cuda */

/* The row named name, or NULL. */
const struct halo_backend_ops *halo_backend_find(const char *name);
const struct halo_strategy *halo_strategy_find(const struct halo_backend_ops *ops,
                                               const char *name);

/* Returns 0, -ENODEV (this device does not exist), -ENOMEM, -EIO (the device failed) or -EINVAL.
 * The caller owns *ret and closes it. */
int halo_backend_open(const struct halo_backend_ops *ops,
                      const struct halo_backend_settings *settings, struct halo_backend **ret);
void halo_backend_close(struct halo_backend *b); /* may be NULL */

/* Writes a description of the last failure on b, in one line: the device's own text if there is
 * one. Returns text. If b is NULL: why this thread's last halo_backend_open() of ops failed. */
const char *halo_backend_error(const struct halo_backend_ops *ops, const struct halo_backend *b,
                               char *text, size_t size);

/* Whether a device of this process failed in such a way that only the end of the process frees it.
 * From then on no call reaches the device, its resources are not released, and the process must end
 * by _exit(), because the driver's own cleanup might wait forever. Any thread. */
bool halo_backend_is_lost(const struct halo_backend_ops *ops);

/* The device with the most free memory, or the least busy one if their free memory is about equal.
 * Does not start any device. 0 if this is unknown. Any thread; takes a few milliseconds. */
int halo_backend_least_loaded(const struct halo_backend_ops *ops);

/* Whether b can filter planes with this many interleaved channels with this strategy. Any
 * thread. */
bool halo_backend_can(const struct halo_backend *b, const struct halo_strategy *strategy,
                      const struct halo_conv *conv, int channels);

/* Chooses strategies by the measured times in the file at path. Returns 0; on failure b does not
 * change, text describes what is wrong and where in one line, and the result is -ENOENT (no such
 * file), -ESTALE (measured on another device or version), -EINVAL (malformed) or an error from
 * reading the file. Not during a call on b. */
int halo_backend_tune(struct halo_backend *b, const char *path, char *text, size_t size);

/* The strategy that will filter job: the one that it requests; otherwise the one that was measured
 * to be the fastest; otherwise the first row of the table that supports it. For backends; job has
 * been checked. Any thread. */
const struct halo_strategy *halo_backend_choose(const struct halo_backend *b,
                                                const struct halo_job *job);

/* Runs all jobs, in any order and concurrently; blocks until every dst is written. Returns 0,
 * -EINVAL (a job breaks the rules above, or its strategy does not support it), -ENOMEM or -EIO (the
 * device failed; then every dst of the call is undefined and must not be shown). */
int halo_backend_convolve(struct halo_backend *b, const struct halo_job *jobs, int count);

/* Plane p, 0 to 2, of the frame that a trial with yuv420 measures: the chroma planes have half the
 * width and height, rounded up. */
struct halo_plane halo_trial_plane(const struct halo_trial *trial, int p);

/* Fills ret_us[trial->rounds] with the microseconds for a plane or frame, for halo-bench: with
 * random samples, after two warm-up rounds. Errors as above. Blocks. */
int halo_backend_time(struct halo_backend *b, const struct halo_trial *trial, double *ret_us);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 * Filters: what -vf names, and the chain that it is parsed into.
 *
 * A filter kind is one file filter_NAME.c with its ops struct at the end, and one row in
 * filters.def. It turns settings into one integer convolution per plane; running it is the
 * backend's work. A chain is immutable once parsed and may be read by any thread. */
#ifndef HALO_FILTER_H
#define HALO_FILTER_H

#include <stdint.h>
#include <stdio.h>

#include "config/error.h"
#include "config/option.h"
#include "kernels/frame.h"
#include "pipeline/region/shapes.h"

#define HALO_MAX_FILTERS 32

/* Options that every filter takes beside its own. */
struct halo_filter_common {
    int planes;          /* bit p: plane p is filtered, others pass unchanged */
    int border;          /* enum halo_border */
    double border_value; /* 0 .. 255, scaled to the depth; for border=constant */
    char *strategy;      /* "auto", or a row of a backend's table */
    char *region;        /* where it applies (shapes.h); NULL: everywhere */
    bool invert;         /* everywhere else */
    double feather;      /* luma pixels in which the filter fades outside of what it hides */
};

/* An option that follows the size of the region: sigma=0.1*w. */
struct halo_follow {
    const struct halo_option *option;
    double part;
    bool of_height;
};

enum { HALO_MAX_FOLLOWS = 4 };

/* What makes Y'CbCr of R'G'B'; for gray and RGB the range only. */
struct halo_plane_colours {
    bool rgb;
    bool full;     /* black is 0 and white is the largest sample */
    double kr, kb; /* luma's shares of red and blue; both 0: those of BT.601 */
};

/* The plane that a convolution is planned for. */
struct halo_plane_info {
    int index;                      /* 0 .. 3 */
    bool chroma;                    /* sizes shrink by the shifts below */
    int log2_sub_x, log2_sub_y;     /* 4:2:0 chroma: 1, 1; 0, 0 for luma, gray and RGB */
    int width, height;              /* pixels of this plane */
    struct halo_conv_target target; /* depth and border */
    struct halo_plane_colours colours;
    /* Of the region, luma pixels: what sizes such as 0.1*w are parts of; 0: the picture's. */
    double region_width, region_height;
};

/* A radius in luma pixels, in samples of a plane that is 2^log2_sub times smaller; halves go up. */
static inline int halo_scale_radius(int radius, int log2_sub)
{
    return (radius + (1 << log2_sub) / 2) >> log2_sub;
}

/* conv applied passes times, one after the other. */
struct halo_plane_plan {
    struct halo_conv conv;
    int passes;
};

/* What a filter does to the detail of a frame, or a chain of them together (remains.h). */
enum halo_effect {
    HALO_EFFECT_IDENTITY, /* nothing: samples are copied */
    HALO_EFFECT_UNDOABLE, /* samples change, the detail stays: moved, negated, weakly blurred ... */
    HALO_EFFECT_SHARPENS, /* it grows */
    HALO_EFFECT_HIDES,    /* too little is left of it to be had back */
};

struct halo_filter_kind {
    const char *name;
    const char *about;   /* one line */
    const char *example; /* a chain of one filter; tests try every kind by it */
    /* Of the example, on luma, where it applies. IDENTITY is for kinds that never do anything: a
     * chain of those alone asks openly for frames as they are. */
    enum halo_effect effect;
    const char *notes; /* more for `halod filter NAME`, lines ending in \n; or NULL */
    const struct halo_option *options; /* its own; the common ones are added by filter.c */
    /* Which options values without names stand for, as FFmpeg has it: NULL-terminated, or
     * NULL: none. */
    const char *const *positional;
    /* Which options are lengths in luma pixels, so that they may follow a region's size; larger
     * ones filter more. NULL-terminated, or NULL: none. */
    const char *const *sizes;
    size_t settings_size;
    /* After parsing: what single ranges cannot say (a mask of 8 weights). Fills err, and *ret_at
     * with the option that is wrong where it is one. May be NULL. */
    int (*check)(const void *settings, const struct halo_option **ret_at, struct halo_error *err);
    /* 0 or -errno with err filled. Pure; any thread. */
    int (*plan)(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err);
};

struct halo_filter {
    const struct halo_filter_kind *kind;
    void *settings; /* settings_size bytes */
    struct halo_filter_common common;
    struct halo_shapes *shapes; /* of common.region */
    struct halo_follow follow[HALO_MAX_FOLLOWS];
    int follows;
};

struct halo_chain {
    struct halo_filter filter[HALO_MAX_FILTERS];
    int count;
    char *text; /* as the user wrote it */
};

extern const struct halo_filter_kind *const halo_filter_kinds[]; /* NULL-terminated, by name */

/* Parses "gblur=sigma=5,avgblur=sizeX=3". FFmpeg's linear chain syntax: filters by ',', options by
 * ':', "name=value" or values alone in the order of the table, quotes '...' and backslashes as
 * FFmpeg reads them. Links and labels ([a], ;) are refused. On failure returns -EINVAL, -ENOMEM and
 * err says where (the column in text) and the nearest known name. The caller owns *ret. */
int halo_chain_parse(struct halo_chain **ret, const char *text, struct halo_error *err);
void halo_chain_destroy(struct halo_chain *chain); /* NULL is nothing to do */

/* Reads the mask images of its regions, which parsing only found; before a gate plans it. 0, or
 * what halo_shapes_load() gives, with the filter named in err. Blocks. */
int halo_chain_load(struct halo_chain *chain, struct halo_error *err);

/* Whether a filter's region is a feed's, for who has none: 0, or -EINVAL with err filled. */
int halo_chain_refuse_feed(const struct halo_chain *chain, struct halo_error *err);

/* One filter built by hand: what chain.c does with its text. Find, init, set as often as wanted,
 * check; finish also after a failure of set or check. err says what, without a place. */
const struct halo_filter_kind *halo_filter_find(const char *name, size_t length,
                                                struct halo_error *err);
int halo_filter_init(struct halo_filter *ret, const struct halo_filter_kind *kind);
/* The option that name means, its own or a common one, or NULL. */
const struct halo_option *halo_filter_option(const struct halo_filter_kind *kind, const char *name,
                                             size_t length);
/* -ENOENT: no such option; else as halo_option_set. */
int halo_filter_set(struct halo_filter *filter, const char *name, size_t length, const char *value,
                    struct halo_error *err);
/* *ret_at is the option that is wrong, NULL where it is not one alone; may be NULL itself. */
int halo_filter_check(const struct halo_filter *filter, const struct halo_option **ret_at,
                      struct halo_error *err);
void halo_filter_finish(struct halo_filter *filter);

/* Warns of sizes that follow the region's and would be larger than they may be. */
void halo_filter_say_limits(const struct halo_filter *filter, const struct halo_plane_info *plane);

/* ---- for filter.c: filter_region.c ---- */

/* "0.1*w", for an option that may follow a region's size: true, and *ret_code is 0 or -EINVAL with
 * err filled. */
bool halo_filter_set_follow(struct halo_filter *filter, const struct halo_option *option,
                            const char *text, int *ret_code, struct halo_error *err);
/* Reads common.region, which was set. Errors as halo_shapes_parse(). */
int halo_filter_set_region(struct halo_filter *filter, const char *text, struct halo_error *err);
/* What options of a region mean together. *ret_name: of the one that is wrong. -EINVAL. */
int halo_filter_check_region(const struct halo_filter *filter, const char **ret_name,
                             struct halo_error *err);
/* The filter's settings with what follows the region's size in place: its own, or a copy that the
 * caller frees with halo_filter_resolved_free(). NULL: -ENOMEM. */
void *halo_filter_resolve(const struct halo_filter *filter, const struct halo_plane_info *plane);
void halo_filter_resolved_free(const struct halo_filter *filter, void *settings);

/* Plans filter on one plane: COPY where `planes` leaves it out. Of plane.target the caller gives
 * the depth; the border is the filter's. Fills err on failure. */
int halo_filter_plan(const struct halo_filter *filter, struct halo_plane_info plane,
                     struct halo_plane_plan *ret, struct halo_error *err);

/* `halod filters` and `halod filter NAME`. print_one returns -ENOENT for an unknown name (err says
 * the nearest). */
void halo_filters_print(FILE *to);
int halo_filter_print(const char *name, FILE *to, struct halo_error *err);

#endif

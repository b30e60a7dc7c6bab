/* SPDX-License-Identifier: BSD-2-Clause
 * Filters, and the chain into which -vf or filters: is parsed.
 *
 * Each kind of filter has a file filter_NAME.c, with its struct halo_filter_kind at the end, and a
 * row in filters.def. A kind converts settings to one integer convolution for each plane, which a
 * backend runs. A chain is immutable once parsed, and any thread may read it. */
#ifndef HALO_FILTER_H
#define HALO_FILTER_H

#include <stdint.h>
#include <stdio.h>

#include "config/base/error.h"
#include "config/option.h"
#include "kernels/frame.h"
#include "pipeline/region/shapes.h"

#define HALO_MAX_FILTERS 32

/* Options that every filter has in addition to its own. */
struct halo_filter_common {
    int planes;          /* bit p is set: plane p is filtered; other planes pass unchanged */
    int border;          /* enum halo_border */
    double border_value; /* sample value for border=constant: 0 .. 255, scaled to the depth */
    char *strategy;      /* "auto", or the name of a backend's strategy */
    char *region;        /* the region to which the filter applies (shapes.h); NULL: everywhere */
    bool invert;         /* apply the filter outside the region instead; see also
                            halo_filter_inverts() */
    double feather;      /* width in luma pixels of the fade, which lies outside the part that the
                            filter hides */
};

/* An option whose value is a fraction of the region's width or height, as in sigma=0.1*w. */
struct halo_follow {
    const struct halo_option *option;
    double part;    /* fraction of the width, 0 .. 1 */
    bool of_height; /* `part` is a fraction of the height, not of the width */
};

enum { HALO_MAX_FOLLOWS = 4 };

/* The conversion from R'G'B' to Y'CbCr. For gray and RGB, only the range matters. */
struct halo_plane_colours {
    bool rgb;
    bool full;     /* full range: black is 0, and white is the largest sample value */
    double kr, kb; /* weights of red and blue in luma; both 0: as in BT.601 */
};

/* The plane for which a convolution is planned. */
struct halo_plane_info {
    int index;                      /* 0 .. 3 */
    bool chroma;                    /* whether this is a chroma plane */
    int log2_sub_x, log2_sub_y;     /* subsampling shifts: 1, 1 for 4:2:0 chroma; 0, 0 for luma,
                                       gray and RGB */
    int width, height;              /* in samples of this plane */
    struct halo_conv_target target; /* depth and border */
    struct halo_plane_colours colours;
    /* Size of the region in luma pixels, to which option values such as 0.1*w refer. 0: they refer
     * to the size of the frame. */
    double region_width, region_height;
};

/* Converts a radius in luma pixels to samples of a plane that is 2^log2_sub times smaller. Halves
 * are rounded up. */
static inline int halo_scale_radius(int radius, int log2_sub)
{
    return (radius + (1 << log2_sub) / 2) >> log2_sub;
}

/* The convolution conv, applied `passes` times in succession. */
struct halo_plane_plan {
    struct halo_conv conv;
    int passes;
};

/* What a filter, or a chain as a whole, does to the detail of a frame (residual.h). */
enum halo_effect {
    HALO_EFFECT_IDENTITY, /* nothing: samples are copied */
    HALO_EFFECT_UNDOABLE, /* samples change, but detail stays: moved, negated, weakly blurred ... */
    HALO_EFFECT_SHARPENS, /* detail increases */
    HALO_EFFECT_HIDES,    /* so little detail is left that the original cannot be restored */
};

/* Cells (kernels/cells.h) whose values a filter takes once for each track, from the frame in which
 * its region appears. */
struct halo_filter_cells {
    int cells;    /* across a region, and down */
    int levels;   /* values that a channel of a cell can have; 0: noise is added instead */
    int millieps; /* epsilon of the noise in thousandths, for all values of a region together */
    int least;    /* luma pixels: regions less wide or high than this have no cells */
};
enum { HALO_MILLIEPS = 1000 };

/* 0: no noise is added. */
static inline double halo_filter_cells_epsilon(const struct halo_filter_cells *cells)
{
    return cells->levels ? 0 : (double)cells->millieps / HALO_MILLIEPS;
}

struct halo_filter_kind {
    const char *name;
    const char *about;   /* one line */
    const char *example; /* a chain with only this filter; tests use it to try every kind */
    /* The example's effect on luma, within its region. IDENTITY is for kinds that never change
     * anything; a chain that has only such filters is an explicit request for unchanged frames. */
    enum halo_effect effect;
    /* What the filter writes does not depend on what is there, or has a bound (disclosure.h). */
    bool bounded;
    const char *notes; /* further text for `halod filter NAME`, each line ending in \n; or NULL */
    const struct halo_option *options; /* the kind's own options; filter.c adds the common ones */
    /* Names of the options that positional values (without NAME=) are assigned to, in FFmpeg's
     * order. The list ends with NULL. A NULL pointer means that the filter has no such options. */
    const char *const *positional;
    /* Names of the options that are lengths in luma pixels and may therefore be fractions of a
     * region's size, as in 0.1*w. A larger value of such an option must filter more strongly. The
     * list ends with NULL. A NULL pointer means that the filter has no such options. */
    const char *const *sizes;
    size_t settings_size;
    /* Checks parsed settings for errors that the range of a single option cannot express, such as a
     * mask with 8 weights. Returns 0, or an error with err filled; if the error is in a single
     * option, *ret_at is set to this option. The function pointer may be NULL. */
    int (*check)(const void *settings, const struct halo_option **ret_at, struct halo_error *err);
    /* Plans the filter for a plane. Returns 0, or -errno with err filled. It is a pure function, so
     * any thread may call it. */
    int (*plan)(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err);
    /* Fills *ret and returns true if the filter draws cells with these settings; its plan is then
     * CELLS without boxes, to which the gate adds them (gate_cells.h). NULL: it never does. */
    bool (*cells)(const void *settings, struct halo_filter_cells *ret);
    /* Returns whether the filter's one colour is the mean of the samples that no filter of the
     * chain changes. The gate sets it in each frame (gate_regions.c). NULL: never. */
    bool (*means)(const void *settings);
};

struct halo_filter {
    const struct halo_filter_kind *kind;
    void *settings; /* settings_size bytes */
    struct halo_filter_common common;
    struct halo_shapes *shapes; /* parsed from common.region */
    struct halo_follow follow[HALO_MAX_FOLLOWS];
    int follows;
};

struct halo_chain {
    struct halo_filter filter[HALO_MAX_FILTERS];
    int count;
    char *text; /* as the user wrote it */
};

/* The options that every filter has; the fields are those of struct halo_filter_common. */
extern const struct halo_option halo_filter_common_options[];

extern const struct halo_filter_kind
    *const halo_filter_kinds[]; /* NULL-terminated, sorted by name */

/* Parses a chain such as "gblur=sigma=5,avgblur=sizeX=3", in FFmpeg's syntax for linear chains:
 * filters are separated by ',' and options by ':'. An option is either "name=value" or a value
 * without a name; values without names are assigned in the order of the list `positional` in struct
 * halo_filter_kind. Quotes '...' and backslashes work as in FFmpeg. Links and labels ([a], ;) are
 * refused. Returns 0, or -EINVAL or -ENOMEM with err filled. For -EINVAL, err contains the column
 * in text and, if a name is unknown, the nearest known name. The caller owns *ret. */
int halo_chain_parse(struct halo_chain **ret, const char *text, struct halo_error *err);
void halo_chain_destroy(struct halo_chain *chain); /* NULL is ignored */

/* Reads and decodes the mask images of the chain's regions, which halo_chain_parse() does not do.
 * Must be called before a gate plans the chain. Returns 0, or -EINVAL or -ENOMEM with err filled;
 * for -EINVAL, err names the filter. Blocks. */
int halo_chain_load(struct halo_chain *chain, struct halo_error *err);

/* Refuses chains that need a region feed, for callers that have none. Returns 0, or -EINVAL with
 * err filled if a filter of the chain has region=feed. */
int halo_chain_refuse_feed(const struct halo_chain *chain, struct halo_error *err);

/* What detectors have to find for filters that hide it, and for filters that show it and hide
 * everything else. */
struct halo_chain_needs {
    halo_find_set hidden, shown;
};
/* Adds what the regions of the chain need to *needs. */
void halo_chain_add_needs(const struct halo_chain *chain, struct halo_chain_needs *needs);

/* Returns whether the filter applies outside its shapes: `invert`, or for region=background its
 * opposite. */
bool halo_filter_inverts(const struct halo_filter *filter);

/* Returns whether the filter draws cells, and if so, fills *ret. */
bool halo_filter_cells(const struct halo_filter *filter, struct halo_filter_cells *ret);
/* Returns whether any filter of the chain draws cells. */
bool halo_chain_has_cells(const struct halo_chain *chain);
/* Returns whether the filter's colour is a mean, and whether that of any filter is. */
bool halo_filter_means(const struct halo_filter *filter);
bool halo_chain_has_means(const struct halo_chain *chain);

/* The following functions build one filter, as chain.c does from text: find its kind, initialise
 * the filter, set any number of options, and check the filter. Always call halo_filter_finish()
 * last, even if setting an option or checking the filter has failed. The messages in err do not
 * contain the position of an error in the text. */
const struct halo_filter_kind *halo_filter_find(const char *name, size_t length,
                                                struct halo_error *err);
int halo_filter_init(struct halo_filter *ret, const struct halo_filter_kind *kind);
/* Returns the option with this name (the kind's own or a common one), or NULL if there is none. */
const struct halo_option *halo_filter_option(const struct halo_filter_kind *kind, const char *name,
                                             size_t length);
/* Sets an option. Returns 0, -ENOENT if the option does not exist, or an error from
 * halo_option_set(). */
int halo_filter_set(struct halo_filter *filter, const char *name, size_t length, const char *value,
                    struct halo_error *err);
/* Checks the settings. After an error, *ret_at is the option whose value is wrong, or NULL if
 * several options together cause the error. ret_at may be NULL. */
int halo_filter_check(const struct halo_filter *filter, const struct halo_option **ret_at,
                      struct halo_error *err);
void halo_filter_finish(struct halo_filter *filter);

/* Logs a warning for each option whose value is a fraction of the region's size and would exceed
 * the option's maximum. */
void halo_filter_say_limits(const struct halo_filter *filter, const struct halo_plane_info *plane);

/* ---- functions that are defined in filter_region.c and called only by filter.c ---- */

/* If the option may be a fraction of the region's size, and text contains '*', as in "0.1*w",
 * handles the option and returns true; *ret_code is then 0, or -EINVAL with err filled. Otherwise
 * returns false. */
bool halo_filter_set_follow(struct halo_filter *filter, const struct halo_option *option,
                            const char *text, int *ret_code, struct halo_error *err);
/* Parses text as the filter's region. Returns 0, or -EINVAL or -ENOMEM with err filled. */
int halo_filter_set_region(struct halo_filter *filter, const char *text, struct halo_error *err);
/* Checks that the options region, invert and feather are consistent. Returns 0, or -EINVAL with err
 * filled and the name of the wrong option in *ret_name. */
int halo_filter_check_region(const struct halo_filter *filter, const char **ret_name,
                             struct halo_error *err);
/* Returns the filter's settings, with a number in place of each fraction of the region's size: a
 * copy of the settings or, if there are no such fractions, the settings themselves. The caller
 * passes the returned settings, whether they are a copy or not, to halo_filter_resolved_free() when
 * they are no longer needed. Returns NULL if memory runs out. */
void *halo_filter_resolve(const struct halo_filter *filter, const struct halo_plane_info *plane);
void halo_filter_resolved_free(const struct halo_filter *filter, void *settings);

/* Plans a filter for one plane. If the option `planes` does not select this plane, the plan is
 * COPY. The caller sets the depth in plane.target; the border is taken from the filter. Returns 0,
 * or -errno with err filled. */
int halo_filter_plan(const struct halo_filter *filter, struct halo_plane_info plane,
                     struct halo_plane_plan *ret, struct halo_error *err);

/* Print the help for `halod filters` and `halod filter NAME`. If the name is unknown,
 * halo_filter_print() returns -ENOENT, and err contains the nearest name. */
void halo_filters_print(FILE *to);
int halo_filter_print(const char *name, FILE *to, struct halo_error *err);

#endif

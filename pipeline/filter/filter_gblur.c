/* SPDX-License-Identifier: BSD-2-Clause
 * gblur: Gaussian blur. */
#include <math.h>

#include "config/base/log.h"
#include "pipeline/filter/filter.h"

struct settings {
    double sigma, sigma_v; /* luma pixels; if sigma_v is negative, sigma is used */
    int steps;             /* 0: not given */
};

#define AT(field) offsetof(struct settings, field)

static const struct halo_option options[] = {
    {"sigma", NULL, HALO_OPTION_REAL, AT(sigma), 0.5, 0, HALO_MAX_SIGMA,
     .help = "standard deviation in luma pixels"},
    {"sigmaV", NULL, HALO_OPTION_REAL, AT(sigma_v), -1, -1, HALO_MAX_SIGMA,
     .help = "vertical standard deviation; if negative, sigma is used instead"},
    {"steps", NULL, HALO_OPTION_INT, AT(steps), 0, 1, 6,
     .help = "accepted for compatibility with FFmpeg, but has no effect"},
    {NULL},
};

static const char *const sizes[] = {"sigma", "sigmaV", NULL};

static const char *const positional[] = {"sigma", "steps", "planes", "sigmaV", NULL};

static int check(const void *settings, const struct halo_option **ret_at, struct halo_error *err)
{
    static atomic_int said;
    const struct settings *s = settings;
    (void)ret_at;
    (void)err;
    if (s->steps && HALO_ONCE(said))
        halo_log(HALO_LOG_INFO, "gblur: steps has no effect, because this Gaussian is a true "
                                "convolution, not FFmpeg's recursive approximation");
    return 0;
}

static int plan(const void *settings, const struct halo_plane_info *plane,
                struct halo_plane_plan *ret, struct halo_error *err)
{
    const struct settings *s = settings;
    const double sigma_x = ldexp(s->sigma, -plane->log2_sub_x);
    const double sigma_y = ldexp(s->sigma_v < 0 ? s->sigma : s->sigma_v, -plane->log2_sub_y);
    ret->passes = 1;
    const int code = halo_conv_gauss(&ret->conv, sigma_x, sigma_y, &plane->target);
    if (code)
        return halo_fail(err, code,
                         "a Gaussian with sigmas %g and %g cannot be computed accurately enough",
                         sigma_x, sigma_y);
    return 0;
}

const struct halo_filter_kind halo_filter_gblur = {
    .name = "gblur",
    .about = "Gaussian blur",
    .example = "gblur=sigma=12",
    .effect = HALO_EFFECT_HIDES,
    .notes =
        "gblur is a true convolution with a Gaussian that is cut off at three sigma. The results\n"
        "differ from an exact computation by at most 1 code value. If sigma exceeds 21 samples of\n"
        "the plane, the blur is computed on a smaller plane, and the results differ by at most 2\n"
        "code values. On chroma planes that are smaller than luma, sigma is scaled down in\n"
        "proportion.\n",
    .options = options,
    .positional = positional,
    .sizes = sizes,
    .settings_size = sizeof(struct settings),
    .check = check,
    .plan = plan,
};

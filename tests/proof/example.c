/* SPDX-License-Identifier: BSD-2-Clause
 * Cases by chance (example.h). */
#include "tests/proof/example.h"

#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/base/error.h"
#include "pipeline/frame/format.h"

enum { MAX_FORMATS = 64 };

enum AVPixelFormat proof_format(unsigned number)
{
    static enum AVPixelFormat known[MAX_FORMATS];
    static unsigned count;
    static bool done;
    for (int f = 0; f < AV_PIX_FMT_NB && !done; f++)
        if (halo_format_is_native((enum AVPixelFormat)f))
            known[count++] = (enum AVPixelFormat)f;
    done = true;
    return known[number % count];
}

static int side(struct proof_chance *chance)
{
    static const int most[] = {4, 17, 64, 130};
    return 1 + (int)proof_chance(chance, (unsigned)most[proof_chance(chance, 4)]);
}

enum AVColorRange proof_range(enum AVPixelFormat format)
{
    return halo_format_is_rgb(format) ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
}

void proof_example_open(struct proof_example *e, unsigned number, enum proof_wish wish,
                        const char *folder)
{
    struct proof_chance chance = {number * 747796405u + 11};
    *e = (struct proof_example){.number = number,
                                .format = proof_format(proof_chance(&chance, 1000))};
    e->width = side(&chance);
    e->height = side(&chance);
    e->other_width = side(&chance);
    e->other_height = side(&chance);
    if (!proof_spec_make(&e->spec, number, e->width, e->height, wish, folder)) {
        fprintf(stderr, "proof: %s: cannot be written\n", folder);
        exit(HALO_EXIT_FAILED);
    }
    e->spill = (int)proof_chance(&chance, HALO_SPILLS);
    for (int s = 0; s < e->spec.count; s++)
        e->spec.step[s].spill = e->spill;
    e->judge = proof_judge_open(&e->spec, e->format, proof_range(e->format), e->width, e->height);
}

void proof_example_close(struct proof_example *e)
{
    proof_judge_close(e->judge);
    proof_spec_finish(&e->spec);
}

void proof_example_say(const struct proof_example *e, const char *what,
                       const struct proof_verdict *v)
{
    printf("WRONG: case %u, %dx%d %s, spill %d, other %dx%d: %s\n    %s\n", e->number, e->width,
           e->height, av_get_pix_fmt_name(e->format), e->spill, e->other_width, e->other_height,
           what, e->spec.text);
    if (v)
        printf("    %ld samples, the first %d,%d of component %d with weight %d: %d, not %d\n",
               v->wrong, v->x, v->y, v->component, v->weight, v->got, v->want);
    fflush(stdout);
}

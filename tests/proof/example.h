/* SPDX-License-Identifier: BSD-2-Clause
 * A case of exact.h: a native format, a size, another one that comes in between, a spill of chroma,
 * a chain, and the judge of its frames. */
#ifndef HALO_PROOF_EXAMPLE_H
#define HALO_PROOF_EXAMPLE_H

#include "tests/proof/judge.h"

struct proof_example {
    unsigned number;
    enum AVPixelFormat format;
    int width, height, other_width, other_height;
    int spill; /* of chroma (pipeline/frame/format.h) */
    struct proof_spec spec;
    struct proof_judge *judge;
};

/* The one of that number; ends the program where folder cannot be written. */
void proof_example_open(struct proof_example *ret, unsigned number, enum proof_wish wish,
                        const char *folder);
void proof_example_close(struct proof_example *example);

/* Prints it, and what is wrong; verdict NULL: there is none. */
void proof_example_say(const struct proof_example *example, const char *what,
                       const struct proof_verdict *verdict);

/* Of that number; it is native to halod. And what test: says of the range of its samples. */
enum AVPixelFormat proof_format(unsigned number);
enum AVColorRange proof_range(enum AVPixelFormat format);

#endif

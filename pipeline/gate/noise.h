/* SPDX-License-Identifier: BSD-2-Clause
 * Noise from the kernel's random numbers, with an exact distribution.
 *
 * Sums of floating-point numbers give away what was added to the noise by their last bits (Mironov,
 * "On Significance of the Least Significant Bits for Differential Privacy", 2012). So the noise is
 * an integer, and only integers are computed with: the sampler of the discrete Laplace distribution
 * of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), section
 * 5.2. */
#ifndef HALO_NOISE_H
#define HALO_NOISE_H

#include <stddef.h>
#include <stdint.h>

/* A store of random bytes. Initialise it with {0}, and finish it: what was drawn would tell the
 * noise. One thread. */
struct halo_random {
    uint8_t bytes[256];
    size_t left;
    /* Fills `size` bytes. Returns 0 or -errno. NULL: getrandom(2). Tests set it. */
    int (*fill)(void *arg, void *to, size_t size);
    void *arg;
};

void halo_random_finish(struct halo_random *random); /* overwrites the store */

/* Draws x with the probability (e - 1) / (e + 1) exp(-|x| s / t) where e = exp(s / t), that is, the
 * Laplace distribution of scale t / s, on the integers. s and t are 1 to 2^52. The time that it
 * takes depends on what is drawn. Returns 0, or -errno if there are no random numbers. May block
 * before the kernel's generator is initialised, which is before services start. */
int halo_noise_draw(struct halo_random *random, uint64_t s, uint64_t t, int64_t *ret);

#endif

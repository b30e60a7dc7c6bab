/* SPDX-License-Identifier: BSD-2-Clause
 * The part of halo_conv_gauss() for wide Gaussians. */
#ifndef HALO_CONV_DECIMATE_H
#define HALO_CONV_DECIMATE_H

#include "kernels/conv.h"

/* Fills in the DECIMATED fields of *conv, whose kind, depth and border must be set. Returns 0 or
 * -ERANGE. */
int halo_conv_decimate(struct halo_conv *conv, double sigma_x, double sigma_y);

#endif

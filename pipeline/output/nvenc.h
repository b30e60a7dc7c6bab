/* SPDX-License-Identifier: BSD-2-Clause
 * NVENC, the video encoder in NVIDIA GPUs; if it is not available, the software encoder of the same
 * codec is used. */
#ifndef HALO_NVENC_H
#define HALO_NVENC_H

#include "pipeline/gate/gate.h"
#include "pipeline/output/encode.h"

/* The text of halo_encoder_instead() contains this phrase if all NVENC sessions are in use. */
#define HALO_NVENC_NO_SESSION "session limit reached"

/* Works like halo_encoder_open(), for an NVENC encoder. If the lanes are on the encoder's GPU and
 * the encoder supports the format, the gate leaves its output frames on the GPU
 * (halo_gate_set_device), and they never reach the host. If output frames are in host memory
 * instead (because they cannot stay on the GPU, or because `gate` is NULL), FFmpeg uploads them to
 * the GPU. If NVENC is not available, the reason is logged in one line, and the codec's software
 * encoder is opened instead, with roughly equivalent options. Blocks while the driver starts. */
int halo_nvenc_open(struct halo_encoder **ret, const AVCodec *codec, struct halo_gate *gate,
                    const struct halo_encoder_settings *settings,
                    const struct halo_encoder_input *input, struct halo_error *err);

#endif

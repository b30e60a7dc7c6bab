/* SPDX-License-Identifier: BSD-2-Clause
 * halod --version: what this build is and what this machine has. */
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <stdio.h>
#include <uv.h>

#include "daemon/commands.h"
#include "daemon/control/build.h"
#include "kernels/backend.h"
#include "kernels/version.h"

static void print_library(const char *name, unsigned version)
{
    printf("%-12s %u.%u.%u\n", name, AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version),
           AV_VERSION_MICRO(version));
}

void halo_print_version(void)
{
    printf("halod %s\n", HALO_VERSION);
    for (int i = 0; halo_backends[i]; i++) {
        char text[256];
        const int devices = halo_backends[i]->describe(text, sizeof text);
        printf("%-12s %s%s\n", halo_backends[i]->name, text, devices ? "" : " (not usable here)");
    }
    printf("%-12s %s\n", "CUDA build", HALO_CUDA_BUILD);
    printf("%-12s %s\n", "FFmpeg", av_version_info());
    print_library("libavcodec", avcodec_version());
    print_library("libavformat", avformat_version());
    printf("%-12s %s\n", "libuv", uv_version_string());
}

/* SPDX-License-Identifier: BSD-2-Clause
 * Opens an input by its name and finds its streams. Used by one thread; blocks on disk or
 * network. */
#ifndef HALO_SOURCE_OPEN_H
#define HALO_SOURCE_OPEN_H

#include <libavformat/avformat.h>

#include "config/base/error.h"
#include "config/source.h"

struct halo_complaints;

/* `seen`, unless it is NULL, is called once, when the header of the input has been read and before
 * its streams are probed. */
struct halo_source_header {
    void (*seen)(void *arg, const AVFormatContext *input);
    void *arg;
};

/* Opens settings->input and finds its streams. If the file announces a stream that does not begin
 * soon, and the input can be read twice, the search continues further into the file. `interrupt`
 * ends a blocking call. Once the input has been opened, `complaints` counts the demuxer's error
 * messages if, for this demuxer, they mean damage. Returns 0, or -errno with err filled; the caller
 * closes *ret. */
int halo_source_open_format(AVFormatContext **ret, const struct halo_source_settings *settings,
                            AVIOInterruptCB interrupt, struct halo_complaints *complaints,
                            const struct halo_source_header *header, struct halo_error *err);

#endif

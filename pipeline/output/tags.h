/* SPDX-License-Identifier: BSD-2-Clause
 * Tags that containers support (metadata of the file, its streams and its chapters). All tags that
 * the output's container supports are written; the others are listed in one log line. */
#ifndef HALO_TAGS_H
#define HALO_TAGS_H

#include <libavformat/avformat.h>

/* Adapts the tags of `out` to its container: in the MOV family, track titles are moved to where
 * players look for them. `out` must already have all streams, tags and chapters. One log line lists
 * the tags that are lost. Returns 0 or -ENOMEM. Any thread. */
int halo_tags_fit(AVFormatContext *out);

/* Adds the options that the muxer needs to write all tags of `out`. Returns 0 or an AVERROR code;
 * the caller frees *ret. */
int halo_tags_options(const AVFormatContext *out, AVDictionary **ret);

#endif

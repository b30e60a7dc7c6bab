/* SPDX-License-Identifier: BSD-2-Clause
 * Tags that containers support (metadata of the file, its streams and chapters): all tags that the
 * output supports are written, the others are listed in one log line. */
#ifndef HALO_TAGS_H
#define HALO_TAGS_H

#include <libavformat/avformat.h>

/* Adapts the tags of out, whose streams, tags and chapters are complete: track titles are put where
 * players of the MOV family find them. One log line lists the tags that are lost. 0 or -ENOMEM. Any
 * thread. */
int halo_tags_fit(AVFormatContext *out);

/* Adds the options that the muxer needs to write all tags of out. 0 or an AVERROR code; the caller
 * frees *ret. */
int halo_tags_options(const AVFormatContext *out, AVDictionary **ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 * What containers hold of tags (metadata of the file, its streams and chapters): everything that
 * the output can hold is written, the rest is named in one line. */
#ifndef HALO_TAGS_H
#define HALO_TAGS_H

#include <libavformat/avformat.h>

/* Fits the tags of out, whose streams, tags and chapters are complete: track titles go where
 * players of MOV's family find them. One line names what is lost. 0 or -ENOMEM. Any thread. */
int halo_tags_fit(AVFormatContext *out);

/* Adds what the muxer has to be asked for so that it writes all tags of out. 0 or an AVERROR code;
 * the caller frees *ret. */
int halo_tags_options(const AVFormatContext *out, AVDictionary **ret);

#endif

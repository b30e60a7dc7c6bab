/* SPDX-License-Identifier: BSD-2-Clause
 * Tracks: each stream of the input with what becomes of it, from decoder to output stream. */
#ifndef HALO_TRACKS_H
#define HALO_TRACKS_H

#include "pipeline/filter/filter.h"
#include "pipeline/gate/gate.h"
#include "pipeline/input/decode.h"
#include "pipeline/input/source_file.h"
#include "pipeline/output/adts.h"
#include "pipeline/output/audio.h"
#include "pipeline/output/encode.h"
#include "pipeline/output/sink_file.h"
#include "pipeline/output/subtitle.h"
#include "pipeline/run/copy_streams.h"

/* decoder is used by the source thread, gate by the filter and collect threads, encoder by the
 * encode thread. */
struct halo_track {
    enum halo_role role;
    AVStream *in;
    AVStream *out;                  /* NULL: dropped, or a null output */
    struct halo_decoder *decoder;   /* FILTER */
    struct halo_gate *gate;         /* FILTER */
    struct halo_encoder *encoder;   /* FILTER; NULL where the sink discards */
    struct halo_subtitle *subtitle; /* COPY, into another form; used by the encode thread */
    struct halo_audio *audio;       /* COPY, into another codec; used by the encode thread */
    int64_t delay;    /* added to a packet's times, in its time base (see codec_delay) */
    bool from_zero;   /* COPY: packets before 0 have no place in the output */
    int64_t pictures; /* that left the decoder, inside the window */
    bool over;        /* past the end that -t asks for */
    /* COPY, used by the source thread: */
    AVPacket *priming; /* hidden by the input, waits for the first that is heard */
    bool heard;        /* that came */
    bool hides;        /* the output has edit lists too */
    bool says_once;    /* the output says once what each packet of AAC says, in `coded` */
    struct halo_adts coded;
};

struct halo_tracks {
    struct halo_track *track; /* one for each stream of the input, same order */
    int count;
};

/* The settings of a decoder whose pictures go through HALO_QUEUE_PICTURES places to the ring's
 * lanes. */
struct halo_decoder_settings halo_track_decoder(const struct halo_source_settings *source,
                                                const struct halo_device_settings *device,
                                                const struct halo_ring *ring);

/* Whether the stream's pictures are known. 0, or -EBADMSG with err filled; name: of the input. */
int halo_track_check(const char *name, const AVStream *stream, struct halo_error *err);

/* Those, for a gate. */
struct halo_gate_input halo_track_gate_input(const AVStream *stream, enum halo_privacy privacy);

/* What the tracks of a run lead through, all borrowed. */
struct halo_route {
    const struct halo_run_settings *settings;
    struct halo_source *source;
    struct halo_damage *damage; /* of the input, counted by the decoders */
    const struct halo_chain *chain;
    struct halo_ring *ring;
    struct halo_sink *sink;
};

/* Opens decoders, gates and encoders and adds the sink's streams, chapters and metadata; the sink
 * is not started. 0 or -errno with err filled. */
int halo_tracks_open(struct halo_tracks *tracks, const struct halo_route *route,
                     struct halo_error *err);
void halo_tracks_close(struct halo_tracks *tracks); /* zeroed or half-open ones too */

/* Every track that a time limit waits for is past it. */
bool halo_tracks_over(const struct halo_tracks *tracks);

#endif

/* SPDX-License-Identifier: BSD-2-Clause
 * Tracks: for each stream of the input, how it is processed, from its decoder to its output
 * stream. */
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
#include "pipeline/stream/copy_streams.h"

struct halo_ends;
struct halo_graph;

/* A stream of the input and the objects that process it. The source thread uses decoder; the filter
 * and collect threads use gate; the encode thread uses encoder. In the comments, FILTER and COPY
 * mark fields that are used only in tracks with that role. */
struct halo_track {
    enum halo_role role;
    AVStream *in;
    AVStream *out;                  /* NULL if the stream is dropped or the output is `null:` */
    struct halo_decoders *decoders; /* FILTER */
    struct halo_gate *gate;         /* FILTER; owned by the graph */
    struct halo_encoder *encoder;   /* FILTER; NULL if the sink discards everything */
    struct halo_subtitle *subtitle; /* only for COPY, if the subtitles are converted to another
                                       format; otherwise NULL; used by the encode thread */
    struct halo_audio *audio;       /* only for COPY, if the audio is re-encoded; otherwise NULL;
                                       used by the encode thread */
    int64_t delay;  /* added to the timestamps of packets, in their time base (see codec_delay) */
    bool from_zero; /* COPY: the output cannot store packets from before time 0 */
    int64_t frames; /* number of frames from the decoder within the range of -ss and -t */
    int64_t latest; /* FILTER: time of the newest of these frames, in microseconds; INT64_MIN:
                         none yet */
    int64_t sent;   /* FILTER: time of the newest packet that was sent to the decoders, the same */
    bool over;      /* whether the track is past the end that -t specifies */
    /* For COPY; used by the source thread: */
    AVPacket *priming; /* the last packet that must not be heard, according to the input's edit
                          list; kept until the first audible packet, because decoders need it */
    bool heard;        /* whether the first audible packet has arrived */
    bool hides;        /* whether the output also has edit lists, which hide packets */
    bool says_once;    /* whether the output stores the parameters of AAC (`coded`) once, not in
                          each packet */
    struct halo_adts coded;
};

struct halo_tracks {
    struct halo_track *track; /* one for each stream of the input, in the same order */
    int count;
};

/* Returns the settings for a decoder whose frames wait in a queue with HALO_QUEUE_FRAMES places
 * before they enter the lanes of the ring. */
struct halo_decoder_settings halo_track_decoder(const struct halo_source_settings *source,
                                                const struct halo_device_settings *device,
                                                struct halo_ring *ring);

/* Checks that the size and format of the frames of the source's stream are known. name is the name
 * of the input. Call this before the first read. Returns 0; or -errno with err filled: -ENOTSUP if
 * the stream is encrypted, otherwise -EBADMSG. */
int halo_track_check(const char *name, struct halo_source *source, const AVStream *stream,
                     struct halo_error *err);

/* Returns the size, format and colour of the stream's frames, as the input of a gate. */
struct halo_gate_input halo_track_gate_input(const AVStream *stream, enum halo_privacy privacy);

/* The parts of a run that the tracks connect. All pointers are borrowed. */
struct halo_route {
    const struct halo_run_settings *settings;
    struct halo_source *source;
    struct halo_damage *damage; /* damage in the input, counted by the decoders */
    const struct halo_chain *chain;
    struct halo_ring *ring;
    struct halo_graph *graph; /* gets the gates */
    struct halo_sink *sink;
    const struct halo_ends *ends; /* of the stream */
    bool cpu_decodes;             /* although the settings leave that open */
    struct halo_frozen *frozen;   /* of the gates (gate.h) */
};

/* Opens decoders, gates and encoders, and adds streams, chapters and metadata to the sink, without
 * starting the sink. Returns 0, or -errno with err filled. */
int halo_tracks_open(struct halo_tracks *tracks, const struct halo_route *route,
                     struct halo_error *err);
void halo_tracks_close(struct halo_tracks *tracks); /* also accepts tracks that are zeroed or only
                                                       partly opened */

/* Returns whether every track to which the time limit (-t) applies has passed that limit. */
bool halo_tracks_over(const struct halo_tracks *tracks);

#endif

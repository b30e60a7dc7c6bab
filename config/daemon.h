/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of the daemon: its streams, their outputs, and how the daemon is reached. Const once
 * loaded; a reload loads new ones and compares them.
 *
 * Every field except names and lists is a row of a table in daemon_tables.c: loading, checking,
 * --dump-config, the JSON Schema and the man page use the rows. Strings are owned by their struct;
 * NULL means not given. */
#ifndef HALO_DAEMON_SETTINGS_H
#define HALO_DAEMON_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/device.h"
#include "config/option.h"
#include "config/source.h"

enum {
    HALO_MAX_STREAMS = 256,
    HALO_MAX_RENDITIONS = 8, /* per stream, including its own chain */
    HALO_MAX_OUTPUTS = 32,   /* per stream */
    HALO_MAX_CHAIN = 65536,  /* bytes of a chain's text */
};

/* The format of frames if neither the settings nor the source defines it. */
enum {
    HALO_DEFAULT_WIDTH = 1280,
    HALO_DEFAULT_HEIGHT = 720,
    HALO_DEFAULT_RATE = 30,
};

/* What viewers see while no filtered frame is available. */
enum halo_on_error {
    HALO_ON_ERROR_CARD,  /* gray, with the stream's name and, if known, the reason */
    HALO_ON_ERROR_SOLID, /* black */
    HALO_ON_ERROR_LAST,  /* the last filtered keyframe, for last_for seconds; then a card */
    HALO_ON_ERROR_STOP,  /* viewers are disconnected */
};

enum halo_restart {
    HALO_RESTART_ALWAYS,     /* after a failure, and when a file ends */
    HALO_RESTART_ON_FAILURE, /* after a failure only; a stream that ended stays ended */
    HALO_RESTART_NEVER,
};

/* How much of the unfiltered frame a chain may leave (pipeline: privacy.h). Only the file can set a
 * level other than strict, and only for single streams. */
enum halo_privacy {
    HALO_PRIVACY_STRICT,  /* a part of its detail at most, on every plane */
    HALO_PRIVACY_CHANGED, /* anything but the unchanged frame: refuses "null" and filters that do
                           * nothing */
    HALO_PRIVACY_OFF,     /* the unchanged frame, too */
};
extern const char *const halo_privacy_names[]; /* by enum halo_privacy; NULL-terminated */

/* One for each row of outputs.def. */
enum halo_output_kind {
#define OUTPUT(kind, name) HALO_OUTPUT_##kind,
#include "config/outputs.def"
#undef OUTPUT
    HALO_OUTPUT_KINDS
};

/* When a camera is open; while it is, its light is on. */
enum halo_capture_open {
    HALO_CAPTURE_ALWAYS,
    HALO_CAPTURE_ON_DEMAND, /* while an encoding of the stream is in use */
};

enum halo_mirror {
    HALO_MIRROR_NONE,
    HALO_MIRROR_HORIZONTAL, /* left and right are swapped, before the rotation */
    HALO_MIRROR_VERTICAL,
};

/* What is requested from a camera (pipeline/camera/camera.h describes the result). */
struct halo_capture_settings {
    char *size;     /* "WxH"; NULL: 1280x720, or the nearest size */
    double fps;     /* 0: the camera's rate, at most 30 if it offers several */
    int format;     /* index into halo_capture_formats; 0: the one that fits best */
    int open;       /* enum halo_capture_open */
    int rotate;     /* in quarter turns, clockwise */
    int mirror;     /* enum halo_mirror */
    double stall;   /* seconds without a complete frame until the camera is reopened */
    char *controls; /* "name=value,name=value"; NULL: none */
};
extern const char *const halo_capture_formats[]; /* "auto", "yuyv" ...; NULL-terminated */

/* The regions that a detector sends for the stream's frames (pipeline/region/region_feed.h). */
struct halo_region_feed_settings {
    bool on;       /* whether the stream has a region feed */
    double margin; /* added on each side of a shape; 0.1: a tenth of its width and height */
    double hold;   /* seconds for which a shape remains after updates no longer contain it */
    double limit;  /* seconds without an update after which the whole frame is hidden */
};

/* The resolution of chroma in encoded video. */
enum halo_chroma {
    HALO_CHROMA_AUTO, /* 4:2:0, which every player supports; in codecs that are not for players, as
                       * SOURCE */
    HALO_CHROMA_420,
    HALO_CHROMA_SOURCE, /* as it leaves the filters, if the encoder supports that */
};

/* One encoding. Outputs of one rendition with equal settings share it. */
struct halo_video_settings {
    char *codec; /* an encoder's name; "raw": not encoded; NULL: libx264 */
    char *bitrate, *crf, *preset;
    char *size; /* "WxH", scaled after the filters; NULL: the input's size */
    int chroma; /* enum halo_chroma */
    double gop; /* seconds between keyframes */
    double fps; /* frames per second, at most; 0: every frame */
};

struct halo_output_settings {
    int kind;        /* enum halo_output_kind */
    char *target;    /* path, pattern of names, URL or device; NULL for HALO_OUTPUT_NULL */
    char *rendition; /* name of the rendition to output; NULL: the stream's own chain */
    struct halo_video_settings video; /* for V4L2, size and fps are always given */
    char *audio;                      /* "copy", "off" or an encoder's name; NULL: off */
    char *format; /* URL: FFmpeg's muxer, NULL: from the target; V4L2: one of halo_camera_formats;
                   * TCP: a suffix without its dot, NULL: ts */
    char *reach;  /* TCP: "network" allows other machines to connect; NULL: only this one */
    double segment_time; /* FILE: seconds; 0: one file */
    int64_t keep_size;   /* FILE: bytes of all segments together; the oldest are deleted first; 0:
                          * all are kept */
    char *hook;          /* FILE: a program that is started with the path of each finished
                          * segment */
};

struct halo_rendition_settings {
    char *name;
    char *filters;
};

struct halo_stream_settings {
    char *name; /* [A-Za-z0-9_-], 1 .. 64 characters */
    struct halo_source_settings source;
    struct halo_device_settings device;
    char *filters;        /* the stream's own chain, as one text */
    bool enabled;         /* started with the daemon */
    bool loop, realtime;  /* of files: start again at the end; not faster than their timestamps */
    bool own_engine;      /* in a process of its own */
    double input_timeout; /* seconds without a packet from a live input until it is reopened */
    int on_error;         /* enum halo_on_error */
    int privacy;          /* enum halo_privacy */
    double min_coverage;  /* 0 .. 1: the part of every plane that each chain must hide */
    double last_for;      /* seconds, for HALO_ON_ERROR_LAST */
    int restart;          /* enum halo_restart */
    struct halo_capture_settings capture; /* of cameras */
    struct halo_region_feed_settings region_feed;
    struct halo_rendition_settings rendition[HALO_MAX_RENDITIONS];
    int renditions; /* in addition to the stream's own chain */
    struct halo_output_settings output[HALO_MAX_OUTPUTS];
    int outputs;
};

struct halo_http_settings {
    char *listen; /* ADDRESS:PORT or unix:PATH; NULL: off */
    char *hosts;  /* further names allowed in Host:, separated by commas */
    char *embed;  /* origins whose pages may embed frames, separated by commas */
};

struct halo_control_settings {
    char *path; /* NULL: /run/halod/control.sock for root and services, otherwise in
                 * $XDG_RUNTIME_DIR */
};

struct halo_log_settings {
    int level; /* enum halo_log_level */
};

struct halo_daemon_settings {
    int version; /* of the file's format: 1 */
    struct halo_control_settings control;
    struct halo_http_settings http;
    struct halo_log_settings log;
    struct halo_stream_settings *stream; /* in the order of the file */
    int streams;
};

/* Returns the list of controls (halo_capture_settings.controls) with name=value added, or replaced
 * if the list has that name; malloc'ed. NULL: out of memory. */
char *halo_controls_put(const char *controls, const char *name, int64_t value);
/* Reads the control at *at and advances *at past it. Returns false at the end of the list. */
bool halo_controls_next(const char **at, char *ret_name, size_t size, int64_t *ret_value);

/* Whether these bytes can be the name of a stream or a rendition. */
bool halo_is_name(const char *text, size_t length);

/* All errors of a file, as "FILE:LINE: PATH.OF.KEY: MESSAGE", with the nearest known name if a name
 * is unknown. */
struct halo_error_list;
int halo_error_list_count(const struct halo_error_list *list);
const char *halo_error_list_text(const struct halo_error_list *list, int index);
void halo_error_list_destroy(struct halo_error_list *list); /* may be NULL */

/* Checks of chains, encoders and cameras. Their code is in folders that this one does not depend
 * on, so the caller of the loader passes the functions. Each returns 0, or a negative errno with
 * err filled, and may be NULL. `filters` also refuses a chain longer than HALO_MAX_CHAIN. */
struct halo_daemon_checks {
    /* HALO_PRIVACY_OFF: checks only the chain's syntax. */
    int (*filters)(const char *chain, enum halo_privacy privacy, struct halo_error *err);
    /* Whether the chain hides at least the stream's min_coverage, as far as that is known. */
    int (*coverage)(const char *chain, const struct halo_stream_settings *stream,
                    struct halo_error *err);
    /* Checks a chain for a stream without a region feed. */
    int (*feed)(const char *chain, struct halo_error *err);
    /* Whether there is such an encoder, of audio or of video; not called for copy, off or raw. */
    int (*encoder)(const char *codec, bool audio, struct halo_error *err);
    /* Whether the encoder accepts the value of this key: "bitrate", "crf" or "preset". */
    int (*video)(const char *codec, const char *key, const char *value, struct halo_error *err);
    int (*camera)(const char *input, struct halo_error *err);
    /* Whether the container of a file, URL or encoded socket can hold the output's codecs. */
    int (*output)(const struct halo_output_settings *output, struct halo_error *err);
};

/* Reads path and then conf.d/ *.yaml in the same folder, sorted by name; later files add streams
 * and replace single keys. ${NAME} is replaced by a credential of systemd or, if there is none of
 * that name, by an environment variable; $${ stands for "${". Returns 0: the caller owns *ret.
 * -EINVAL: *ret_errors lists what is wrong; the caller owns it. -ENOMEM. Any other -errno: the file
 * could not be read, and the list contains that error. */
int halo_daemon_load(struct halo_daemon_settings **ret, const char *path,
                     const struct halo_daemon_checks *checks, struct halo_error_list **ret_errors);
/* The same for text in memory, without conf.d; messages call it `name`. */
int halo_daemon_load_text(struct halo_daemon_settings **ret, const char *text, size_t length,
                          const char *name, const struct halo_daemon_checks *checks,
                          struct halo_error_list **ret_errors);
void halo_daemon_settings_destroy(struct halo_daemon_settings *settings); /* may be NULL */

/* Writes the settings as a file that loads as the same settings: with defaults, without comments
 * and strings that are not given. If secrets is false, passwords in URLs become "***". Returns 0,
 * or -EIO if writing to `to` fails. */
int halo_daemon_dump(const struct halo_daemon_settings *settings, bool secrets, FILE *to);

/* Prints the JSON Schema of the file. Returns 0 or -EIO. */
int halo_daemon_print_schema(FILE *to);

/* Convert one stream to JSON text and back, to send it to an engine. _write returns malloc'ed text;
 * NULL: out of memory. _read returns 0, -EINVAL with err filled, or -ENOMEM; on success the caller
 * finishes *ret, on failure it is unchanged. */
char *halo_stream_settings_write(const struct halo_stream_settings *stream);
int halo_stream_settings_read(struct halo_stream_settings *ret, const char *text,
                              struct halo_error *err);
/* Returns 0: the caller finishes *ret; -ENOMEM: *ret is unchanged. */
int halo_stream_settings_copy(struct halo_stream_settings *ret,
                              const struct halo_stream_settings *stream);
void halo_stream_settings_finish(struct halo_stream_settings *stream);

/* What a reload has to do for a stream. */
enum halo_change {
    HALO_CHANGE_NONE,
    HALO_CHANGE_FILTERS, /* only chains: they are replaced between two frames */
    HALO_CHANGE_REST,    /* anything else: the stream is restarted */
};
/* Renditions are compared by name: except with REST, their order may differ. */
enum halo_change halo_stream_settings_compare(const struct halo_stream_settings *a,
                                              const struct halo_stream_settings *b);

/* Replaces passwords, values of query parameters that are named like secrets, and stream keys of
 * RTMP by "***" in every URL of the text. Returns malloc'ed text; NULL: out of memory. */
char *halo_hide_secrets(const char *url);
/* The same, in place, for URLs in running text: each ends at a blank, and what follows it is kept.
 * Truncates at size. Meant for messages of other libraries; code that has the URL itself calls
 * halo_hide_secrets before it composes a message. */
void halo_hide_in_words(char *text, size_t size);

#endif

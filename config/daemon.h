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

#include "config/detectors.h"
#include "config/device.h"
#include "config/mqtt.h"
#include "config/option.h"
#include "config/source.h"

enum {
    HALO_MAX_STREAMS = 256,
    HALO_MAX_RENDITIONS = 8, /* renditions per stream, including the stream's own chain */
    HALO_MAX_OUTPUTS = 32,   /* per stream */
    HALO_MAX_KEEP = 100,     /* segments in a playlist */
    HALO_MAX_CHAIN = 65536,  /* length of a chain's text in bytes */
};

/* The size and rate of frames if neither the settings nor the source define them. */
enum {
    HALO_DEFAULT_WIDTH = 1280,
    HALO_DEFAULT_HEIGHT = 720,
    HALO_DEFAULT_RATE = 30,
};

/* What viewers see while no filtered frame is available. */
enum halo_on_error {
    HALO_ON_ERROR_CARD,  /* a gray frame with the stream's name and, if known, the reason */
    HALO_ON_ERROR_SOLID, /* black */
    HALO_ON_ERROR_LAST,  /* the last filtered keyframe, for last_for seconds; then a card */
    HALO_ON_ERROR_STOP,  /* viewers are disconnected */
};

enum halo_restart {
    HALO_RESTART_ALWAYS,     /* restart after a failure, and when a file ends */
    HALO_RESTART_ON_FAILURE, /* restart only after a failure, not when the stream has ended */
    HALO_RESTART_NEVER,
};

/* How much of the unfiltered frame may remain visible after a chain (pipeline/filter/privacy.h).
 * Levels other than strict and anonymous can be set only in the settings file, and only for
 * individual streams. */
enum halo_privacy {
    HALO_PRIVACY_STRICT,    /* each plane may keep only a fixed fraction of its detail */
    HALO_PRIVACY_CHANGED,   /* frames must change: refuses only "null" and chains that do nothing */
    HALO_PRIVACY_OFF,       /* frames may pass unchanged */
    HALO_PRIVACY_ANONYMOUS, /* strict, and what is left of each region has a bound */
};
extern const char *const halo_privacy_names[]; /* indexed by enum halo_privacy; NULL-terminated */

/* The kinds of outputs: one for each row of outputs.def. */
enum halo_output_kind {
#define OUTPUT(kind, name) HALO_OUTPUT_##kind,
#include "config/outputs.def"
#undef OUTPUT
    HALO_OUTPUT_KINDS
};

/* When a camera is open, which is also when its light is on. */
enum halo_capture_open {
    HALO_CAPTURE_ALWAYS,
    HALO_CAPTURE_ON_DEMAND, /* only while an encoding of the stream is in use */
};

enum halo_mirror {
    HALO_MIRROR_NONE,
    HALO_MIRROR_HORIZONTAL, /* left and right are swapped, before the rotation */
    HALO_MIRROR_VERTICAL,
};

/* The capture settings to request from a camera (pipeline/camera/camera.h describes the result). */
struct halo_capture_settings {
    char *size;     /* "WxH"; NULL: 1280x720, or the nearest size */
    double fps;     /* frames per second; 0: the camera's rate, at most 30 if it offers several */
    int format;     /* index into halo_capture_formats; 0: the format that fits best */
    int open;       /* enum halo_capture_open */
    int rotate;     /* clockwise rotation in quarter turns */
    int mirror;     /* enum halo_mirror */
    double stall;   /* the camera is reopened after this many seconds without a complete frame */
    char *controls; /* "name=value,name=value"; NULL: none */
};
extern const char *const halo_capture_formats[]; /* "auto", "yuyv" ...; NULL-terminated */

/* The regions that a detector sends for the stream's frames (pipeline/region/region_feed.h). */
struct halo_region_feed_settings {
    bool on;       /* whether the stream has a region feed */
    double margin; /* fraction of a shape's width and height that is added on each side; 0.1: a
                    * tenth */
    double hold;   /* seconds for which a shape is kept after updates no longer contain it */
    double limit;  /* seconds without an update after which the whole frame is hidden */
};

/* The resolution of chroma in encoded video. */
enum halo_chroma {
    /* the same as SOURCE for editing and archive codecs; otherwise 4:2:0, which every player
     * supports */
    HALO_CHROMA_AUTO,
    HALO_CHROMA_420,
    HALO_CHROMA_SOURCE,  /* the resolution of the filtered frames, if the encoder supports it */
    HALO_CHROMA_BROWSER, /* 4:2:0 with 8 bits; not for settings files */
};

/* The settings of one encoding. Outputs of the same rendition share an encoding if these settings
 * are equal. */
struct halo_video_settings {
    char *codec; /* an encoder's name; "raw": not encoded; NULL: libx264 */
    char *bitrate, *crf, *preset;
    char *size; /* "WxH", to which filtered frames are scaled; NULL: the input's size */
    int chroma; /* enum halo_chroma */
    double gop; /* seconds between keyframes */
    double fps; /* largest number of frames per second; 0: every frame */
};

struct halo_output_settings {
    int kind;        /* enum halo_output_kind */
    char *target;    /* path, file name pattern, URL, device or name; NULL for HALO_OUTPUT_NULL */
    char *rendition; /* name of the rendition to output; NULL: the stream's own chain */
    struct halo_video_settings video; /* if kind is V4L2 or PIPEWIRE, size and fps are always set */
    char *audio;                      /* "copy", "off" or an encoder's name; NULL: off */
    char *format;        /* URL: FFmpeg's muxer (NULL: derived from the target); V4L2: one of
                          * halo_camera_formats; TCP: a suffix without its dot (NULL: ts) */
    char *reach;         /* TCP: "network" lets other machines connect; NULL: only this machine can
                          * connect */
    double segment_time; /* FILE: length of a segment in seconds; 0: one file. HLS: the same;
                          * always set */
    int keep;            /* HLS: largest number of segments in the playlist */
    int64_t keep_size;   /* FILE: largest total size of all segments in bytes, beyond which the
                          * oldest are deleted; 0: all are kept */
    char *hook;          /* FILE: a program to run for each finished segment, with its path as the
                          * argument */
};

struct halo_rendition_settings {
    char *name;
    char *filters;
};

struct halo_stream_settings {
    char *name; /* [A-Za-z0-9_-], 1 .. 64 characters */
    struct halo_source_settings source;
    struct halo_device_settings device;
    char *filters; /* the stream's own chain, as a single string */
    bool enabled;  /* whether the stream is started with the daemon */
    bool kept;     /* some of the settings come from the overlay (overlay.h) */
    /* For files. loop: play the file again when it ends. realtime: read the file no faster than its
     * timestamps specify. */
    bool loop, realtime;
    bool own_engine;      /* whether the stream runs in an engine of its own */
    double input_timeout; /* a live input is reopened after this many seconds without a packet */
    int on_error;         /* enum halo_on_error */
    int privacy;          /* enum halo_privacy */
    double min_coverage;  /* the fraction of every plane, 0 to 1, that each chain must hide */
    double last_for;      /* HALO_ON_ERROR_LAST: seconds for which the last frame is shown */
    int restart;          /* enum halo_restart */
    struct halo_capture_settings capture; /* of cameras */
    struct halo_region_feed_settings region_feed;
    struct halo_detector_settings detector[HALO_FINDS];
    struct halo_rendition_settings rendition[HALO_MAX_RENDITIONS];
    int renditions; /* number of renditions in addition to the stream's own chain */
    struct halo_output_settings output[HALO_MAX_OUTPUTS];
    int outputs;
};

struct halo_http_settings {
    char *listen; /* ADDRESS:PORT or unix:PATH; NULL: off */
    char *hosts;  /* further host names that are accepted in the Host: header, separated by
                   * commas */
    char *embed;  /* origins whose pages may embed frames, separated by commas */
    bool page;    /* serve the page */
    char *certificate, *key; /* paths of PEM files for TLS; both NULL: without TLS */
    char *proxy;   /* addresses of proxies that add TLS, separated by commas; NULL: none */
    char *metrics; /* "network" lets other machines read /metrics and /healthz without a login and
                    * without TLS; NULL: not */
};

struct halo_control_settings {
    char *path; /* NULL: /run/halod/control.sock for root and services, otherwise in
                 * $XDG_RUNTIME_DIR */
    char *view; /* path of a second socket, whose clients can only view; NULL: none */
};

struct halo_log_settings {
    int level; /* enum halo_log_level */
};

struct halo_daemon_settings {
    int version; /* version of the file's format: 1 */
    char *state; /* folder for what is changed while running (folders.h); NULL: $STATE_DIRECTORY */
    struct halo_control_settings control;
    struct halo_http_settings http;
    struct halo_mqtt_settings mqtt;
    struct halo_log_settings log;
    struct halo_stream_settings *stream; /* the streams, in the same order as in the file */
    int streams;
};

/* Returns a malloc'ed copy of the list of controls (halo_capture_settings.controls) with
 * name=value. If the list already contains this name, its value is replaced; otherwise, name=value
 * is added. Returns NULL if memory is exhausted. */
char *halo_controls_put(const char *controls, const char *name, int64_t value);
/* Reads the control at *at and advances *at past it. Returns false at the end of the list. */
bool halo_controls_next(const char **at, char *ret_name, size_t size, int64_t *ret_value);

/* Returns whether these bytes are valid as the name of a stream or a rendition. */
bool halo_is_name(const char *text, size_t length);

struct halo_error_list; /* config/base/error_list.h */

/* Functions that check chains, encoders, cameras and outputs. The caller of the loader passes these
 * functions, because their code is in folders on which config/ does not depend. Each function
 * returns 0, or a negative errno with err filled; each of the pointers may be NULL. `filters` also
 * refuses a chain longer than HALO_MAX_CHAIN. */
struct halo_daemon_checks {
    /* Checks the chain's syntax and, unless privacy is HALO_PRIVACY_OFF, that this privacy setting
     * allows the chain. */
    int (*filters)(const char *chain, enum halo_privacy privacy, struct halo_error *err);
    /* Checks that the chain hides at least the stream's min_coverage, as far as its coverage is
     * known. */
    int (*coverage)(const char *chain, const struct halo_stream_settings *stream,
                    struct halo_error *err);
    /* Called for a stream without a region feed: checks that the chain does not use one. */
    int (*feed)(const char *chain, struct halo_error *err);
    /* Checks that codec names an audio or video encoder. Not called for copy, off or raw. */
    int (*encoder)(const char *codec, bool audio, struct halo_error *err);
    /* Checks that the encoder accepts this value of the key "bitrate", "crf" or "preset". */
    int (*video)(const char *codec, const char *key, const char *value, struct halo_error *err);
    /* Check names, and an output's container and codecs, without opening anything. */
    int (*input)(const char *input, struct halo_error *err);
    int (*output)(const struct halo_output_settings *output, struct halo_error *err);
};

/* Reads path and then conf.d/ *.yaml in the same folder, sorted by name; later files add streams
 * and replace individual keys. ${NAME} is replaced by the systemd credential of that name or, if
 * none exists, by the environment variable; $${ becomes "${". Returns 0 (the caller owns *ret),
 * -ENOMEM, -EINVAL (the files have errors) or another -errno (a file could not be read). If the
 * files have errors or one could not be read, *ret_errors lists the errors, and the caller owns
 * it. */
int halo_daemon_load(struct halo_daemon_settings **ret, const char *path,
                     const struct halo_daemon_checks *checks, struct halo_error_list **ret_errors);
/* Does the same as halo_daemon_load() with text in memory, and without conf.d. Messages refer to
 * the text as `name`. */
int halo_daemon_load_text(struct halo_daemon_settings **ret, const char *text, size_t length,
                          const char *name, const struct halo_daemon_checks *checks,
                          struct halo_error_list **ret_errors);
void halo_daemon_settings_destroy(struct halo_daemon_settings *settings); /* may be NULL */

/* Returns the stream with this name, or NULL. */
const struct halo_stream_settings *halo_daemon_stream(const struct halo_daemon_settings *settings,
                                                      const char *name);

/* Writes a settings file that yields the same settings when it is loaded. The file includes default
 * values, but omits comments and unset strings. If secrets is false, "***" stands for passwords,
 * and for all of a URL except the scheme and the host. Returns 0, or -EIO if writing fails. */
int halo_daemon_dump(const struct halo_daemon_settings *settings, bool secrets, FILE *to);

/* Prints the JSON Schema of the settings file. Returns 0 or -EIO. */
int halo_daemon_print_schema(FILE *to);

/* Convert the settings of one stream to JSON text, which is sent to an engine, and back.
 * halo_stream_settings_write() returns malloc'ed text, or NULL if memory is exhausted.
 * halo_stream_settings_read() returns 0 (the caller finishes *ret), -EINVAL with err filled, or
 * -ENOMEM; on failure *ret is unchanged. */
char *halo_stream_settings_write(const struct halo_stream_settings *stream);
int halo_stream_settings_read(struct halo_stream_settings *ret, const char *text,
                              struct halo_error *err);
/* Copies a stream's settings. Returns 0 (the caller finishes *ret) or -ENOMEM (*ret is
 * unchanged). */
int halo_stream_settings_copy(struct halo_stream_settings *ret,
                              const struct halo_stream_settings *stream);
void halo_stream_settings_finish(struct halo_stream_settings *stream);

/* What a reload has to do for a stream. */
enum halo_change {
    HALO_CHANGE_NONE,
    HALO_CHANGE_FILTERS, /* only chains differ: they are replaced between two frames */
    HALO_CHANGE_REST,    /* anything else differs: the stream is restarted */
};
/* Compares the old and new settings of a stream. Renditions are compared by name, so a different
 * order alone does not result in HALO_CHANGE_REST. */
enum halo_change halo_stream_settings_compare(const struct halo_stream_settings *a,
                                              const struct halo_stream_settings *b);

#endif

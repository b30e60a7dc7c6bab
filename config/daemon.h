/* SPDX-License-Identifier: BSD-2-Clause
 * Settings of the daemon: streams, what becomes of them, and where it is reached. Const once
 * loaded; a reload makes new ones and compares.
 *
 * Every field but names and lists is a row of a table in daemon_tables.c: loading, checking,
 * --dump-config, the JSON Schema and the man page read the rows. Strings are owned by their struct;
 * NULL: not given. */
#ifndef HALO_DAEMON_SETTINGS_H
#define HALO_DAEMON_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/device.h"
#include "config/option.h"
#include "config/source.h"

enum {
    HALO_MAX_STREAMS = 256,
    HALO_MAX_RENDITIONS = 8, /* of a stream, its own chain included */
    HALO_MAX_OUTPUTS = 32,   /* of a stream */
    HALO_MAX_CHAIN = 65536,  /* bytes of a chain's text */
};

/* Pictures where neither settings nor a source says what they are. */
enum {
    HALO_DEFAULT_WIDTH = 1280,
    HALO_DEFAULT_HEIGHT = 720,
    HALO_DEFAULT_RATE = 30,
};

/* What viewers see while no filtered picture can be had. */
enum halo_on_error {
    HALO_ON_ERROR_CARD,  /* gray, with the stream's name and, where that is known, why */
    HALO_ON_ERROR_SOLID, /* black */
    HALO_ON_ERROR_LAST,  /* the last key frame that was filtered, for last_for seconds; then card */
    HALO_ON_ERROR_STOP,  /* viewers are closed */
};

enum halo_restart {
    HALO_RESTART_ALWAYS,     /* ends of files too */
    HALO_RESTART_ON_FAILURE, /* what fails is started again, what ends has ended */
    HALO_RESTART_NEVER,
};

/* What a chain may leave of the raw picture (pipeline: privacy.h). What is not strict only the file
 * says, for one stream. */
enum halo_privacy {
    HALO_PRIVACY_STRICT,  /* a part of its detail, on every plane */
    HALO_PRIVACY_CHANGED, /* all but the picture as it is: "null", filters that do nothing */
    HALO_PRIVACY_OFF,     /* that, too */
};
extern const char *const halo_privacy_names[]; /* by enum halo_privacy; NULL-terminated */

/* One for each row of outputs.def. */
enum halo_output_kind {
#define OUTPUT(kind, name) HALO_OUTPUT_##kind,
#include "config/outputs.def"
#undef OUTPUT
    HALO_OUTPUT_KINDS
};

/* When a camera is open, and with it its light. */
enum halo_capture_open {
    HALO_CAPTURE_ALWAYS,
    HALO_CAPTURE_ON_DEMAND, /* while somebody takes an encoding of the stream */
};

enum halo_mirror {
    HALO_MIRROR_NONE,
    HALO_MIRROR_HORIZONTAL, /* left and right trade places, before it is turned */
    HALO_MIRROR_VERTICAL,
};

/* What a camera is asked for (pipeline/camera/camera.h says what becomes of that). */
struct halo_capture_settings {
    char *size;     /* "WxH"; NULL: 1280x720, or what lies nearest */
    double fps;     /* 0: what the camera has, at most 30 where there is a choice */
    int format;     /* index into halo_capture_formats; 0: the one that fits best */
    int open;       /* enum halo_capture_open */
    int rotate;     /* quarters of a turn, clockwise */
    int mirror;     /* enum halo_mirror */
    double stall;   /* seconds without a whole picture until it is reopened */
    char *controls; /* "name=value,name=value"; NULL: none */
};
extern const char *const halo_capture_formats[]; /* "auto", "yuyv" ...; NULL-terminated */

/* What a detector tells of the stream's pictures (pipeline/region/region_feed.h). */
struct halo_region_feed_settings {
    bool on;       /* the stream has one */
    double margin; /* 0.1: a tenth of a shape's width on each side, and of its height */
    double hold;   /* seconds that a shape stays when it is not named any more */
    double limit;  /* seconds without an update, and everything is hidden */
};

/* How finely what is encoded has its colours. */
enum halo_chroma {
    HALO_CHROMA_AUTO, /* as every player has it, 4:2:0; in codecs that are not for players source */
    HALO_CHROMA_420,
    HALO_CHROMA_SOURCE, /* as the filters give them, as far as the encoder takes that */
};

/* One encoding. Equal ones of a rendition are computed once. */
struct halo_video_settings {
    char *codec; /* an encoder's name; "raw": not encoded; NULL: libx264 */
    char *bitrate, *crf, *preset;
    char *size; /* "WxH", scaled after the filters; NULL: the input's */
    int chroma; /* enum halo_chroma */
    double gop; /* seconds between key frames */
    double fps; /* at most; 0: every picture */
};

struct halo_output_settings {
    int kind;        /* enum halo_output_kind */
    char *target;    /* path, name pattern, URL or device; NULL for null */
    char *rendition; /* name of the one that it shows; NULL: the stream's own chain */
    struct halo_video_settings video; /* v4l2: size and fps are always given */
    char *audio;                      /* "copy", "off" or an encoder's name; NULL: off */
    char *format; /* url: FFmpeg's muxer, NULL: from the target; v4l2: halo_camera_formats; tcp: a
                   * suffix without its dot, NULL: ts */
    char *reach;  /* TCP: "network": other machines may connect; NULL: none may */
    double segment_time; /* FILE: seconds; 0: one file */
    int64_t keep_size;   /* FILE: bytes of all its segments; oldest go first; 0: all are kept */
    char *hook;          /* FILE: a program started with each finished segment's path */
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
    bool loop, realtime;  /* of files: begin again at the end; not faster than their clock */
    bool own_engine;      /* a process of its own */
    double input_timeout; /* seconds without a packet from a live input until it is opened again */
    int on_error;         /* enum halo_on_error */
    int privacy;          /* enum halo_privacy */
    double min_coverage;  /* 0 .. 1: part of every plane that its chains must hide */
    double last_for;      /* seconds, of HALO_ON_ERROR_LAST */
    int restart;          /* enum halo_restart */
    struct halo_capture_settings capture; /* of cameras */
    struct halo_region_feed_settings region_feed;
    struct halo_rendition_settings rendition[HALO_MAX_RENDITIONS];
    int renditions; /* beside the stream's own */
    struct halo_output_settings output[HALO_MAX_OUTPUTS];
    int outputs;
};

struct halo_http_settings {
    char *listen; /* ADDRESS:PORT or unix:PATH; NULL: off */
    char *hosts;  /* further names that Host: may say, with commas between */
    char *embed;  /* origins whose pages may show pictures, with commas between */
};

struct halo_control_settings {
    char *path; /* NULL: /run/halod/control.sock for root and services, else in XDG_RUNTIME_DIR */
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

/* Puts name=value into a text of controls (halo_capture_settings.controls), in the place of the one
 * that it has; malloc'ed. NULL: out of memory. */
char *halo_controls_put(const char *controls, const char *name, int64_t value);
/* The next control of the text at *at, which moves on: false at its end. */
bool halo_controls_next(const char **at, char *ret_name, size_t size, int64_t *ret_value);

/* Whether these bytes can be the name of a stream or a rendition. */
bool halo_is_name(const char *text, size_t length);

/* Errors of a file, all at once: "FILE:LINE: PATH.OF.KEY: what, nearest". */
struct halo_error_list;
int halo_error_list_count(const struct halo_error_list *list);
const char *halo_error_list_text(const struct halo_error_list *list, int index);
void halo_error_list_destroy(struct halo_error_list *list); /* NULL is nothing to do */

/* Where chains, encoders and cameras are known is above this folder: who loads says how they are
 * checked. 0, or a negative errno with err filled. May be NULL. filters also refuses a text longer
 * than HALO_MAX_CHAIN. */
struct halo_daemon_checks {
    /* With HALO_PRIVACY_OFF it is the chain's form alone that is looked at. */
    int (*filters)(const char *chain, enum halo_privacy privacy, struct halo_error *err);
    /* Whether the chain hides as much as the stream's min_coverage, as far as that is known. */
    int (*coverage)(const char *chain, const struct halo_stream_settings *stream,
                    struct halo_error *err);
    /* Of a chain for a stream without a region feed. */
    int (*feed)(const char *chain, struct halo_error *err);
    int (*encoder)(const char *codec, bool audio, struct halo_error *err); /* not copy, off, raw */
    /* Whether the encoder takes this; key: "bitrate", "crf", "preset". */
    int (*video)(const char *codec, const char *key, const char *value, struct halo_error *err);
    int (*camera)(const char *input, struct halo_error *err);
    /* Whether the container of a file, URL or encoded socket holds the codecs that are named. */
    int (*output)(const struct halo_output_settings *output, struct halo_error *err);
};

/* Reads path and, beside it, conf.d/ *.yaml in the order of their names (later files add streams
 * and replace single keys). ${NAME} comes from systemd's credentials, then the environment; $${ is
 * "${". 0: the caller owns *ret. -EINVAL: *ret_errors says what is wrong, the caller's; -ENOMEM;
 * other -errno of the file with one error in the list. */
int halo_daemon_load(struct halo_daemon_settings **ret, const char *path,
                     const struct halo_daemon_checks *checks, struct halo_error_list **ret_errors);
/* The same from text in memory, named `name` in messages; no conf.d. */
int halo_daemon_load_text(struct halo_daemon_settings **ret, const char *text, size_t length,
                          const char *name, const struct halo_daemon_checks *checks,
                          struct halo_error_list **ret_errors);
void halo_daemon_settings_destroy(struct halo_daemon_settings *settings); /* NULL: nothing */

/* The settings as a file that loads to the same ones: defaults are written out, comments and
 * texts that are not given are not. secrets false: passwords in URLs are "***". 0, or -EIO where
 * `to` fails. */
int halo_daemon_dump(const struct halo_daemon_settings *settings, bool secrets, FILE *to);

/* The JSON Schema of the file. 0, -EIO. */
int halo_daemon_print_schema(FILE *to);

/* One stream as JSON text and back: what goes to an engine. Text is malloc'ed; NULL: out of
 * memory. From text: 0, -EINVAL with err filled, -ENOMEM; *ret is untouched on failure, and else
 * the caller's to finish. */
char *halo_stream_settings_write(const struct halo_stream_settings *stream);
int halo_stream_settings_read(struct halo_stream_settings *ret, const char *text,
                              struct halo_error *err);
/* 0: *ret is the caller's to finish; -ENOMEM: it is untouched. */
int halo_stream_settings_copy(struct halo_stream_settings *ret,
                              const struct halo_stream_settings *stream);
void halo_stream_settings_finish(struct halo_stream_settings *stream);

/* What a reload has to do for a stream. */
enum halo_change {
    HALO_CHANGE_NONE,
    HALO_CHANGE_FILTERS, /* chains only: swapped at a frame border */
    HALO_CHANGE_REST,    /* restarted */
};
/* Renditions are compared by name: their order may differ with every answer but REST. */
enum halo_change halo_stream_settings_compare(const struct halo_stream_settings *a,
                                              const struct halo_stream_settings *b);

/* Passwords, values of queries that are named like secrets, and RTMP's stream keys become "***", in
 * every URL of the text; malloc'ed, NULL: out of memory. */
char *halo_hide_secrets(const char *url);
/* The same in a sentence, where URLs end at blanks: what follows them stays. In place, cut at size;
 * for what others wrote: who has the URL hides it before it makes a sentence of it. */
void halo_hide_in_words(char *text, size_t size);

#endif

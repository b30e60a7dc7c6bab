/* SPDX-License-Identifier: BSD-2-Clause
 * The rows of the daemon's file. */
#include "config/daemon_tables.h"

#include <limits.h>

#include "config/base/log.h"
#include "config/run.h"

static const char *const on_errors[] = {
    [HALO_ON_ERROR_CARD] = "card",
    [HALO_ON_ERROR_SOLID] = "solid",
    [HALO_ON_ERROR_LAST] = "last",
    [HALO_ON_ERROR_STOP] = "stop",
    NULL,
};

const char *const halo_privacy_names[] = {
    [HALO_PRIVACY_STRICT] = "strict",
    [HALO_PRIVACY_CHANGED] = "changed",
    [HALO_PRIVACY_OFF] = "off",
    [HALO_PRIVACY_ANONYMOUS] = "anonymous",
    NULL,
};

static const char *const restarts[] = {
    [HALO_RESTART_ALWAYS] = "always",
    [HALO_RESTART_ON_FAILURE] = "on-failure",
    [HALO_RESTART_NEVER] = "never",
    NULL,
};

const char *const halo_capture_formats[] = {"auto", "yu12",  "nv12", "yuyv",
                                            "uyvy", "mjpeg", "grey", NULL};

static const char *const opens[] = {
    [HALO_CAPTURE_ALWAYS] = "always",
    [HALO_CAPTURE_ON_DEMAND] = "on-demand",
    NULL,
};

static const char *const chromas[] = {
    [HALO_CHROMA_AUTO] = "auto",
    [HALO_CHROMA_420] = "420",
    [HALO_CHROMA_SOURCE] = "source",
    NULL,
};

static const char *const turns[] = {"0", "90", "180", "270", NULL};

static const char *const mirrors[] = {
    [HALO_MIRROR_NONE] = "none",
    [HALO_MIRROR_HORIZONTAL] = "horizontal",
    [HALO_MIRROR_VERTICAL] = "vertical",
    NULL,
};

static const char *const automatic[] = {"auto", NULL};

#define PORT "([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"

#define HOST    "(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+)(:[0-9]+)?"
#define ORIGIN  "https?://" HOST
#define ADDRESS "[0-9A-Fa-f:.]+"

#define SIDE "[1-9][0-9]{0,4}"

const struct halo_option halo_daemon_options[] = {
    {"version", NULL, HALO_OPTION_INT, offsetof(struct halo_daemon_settings, version), 1, 1, 1,
     .help = "version of the settings file's format"},
    {"state", NULL, HALO_OPTION_STRING, offsetof(struct halo_daemon_settings, state),
     .help = "folder for the users of HTTP, for filters added with haloctl hide, and for settings "
             "kept with haloctl keep or on the page (default $STATE_DIRECTORY, which systemd sets "
             "for the service)",
     .pattern = "^/", .must_be = "an absolute path"},
    {NULL},
};

const struct halo_option halo_control_options[] = {
    {"path", NULL, HALO_OPTION_STRING, offsetof(struct halo_control_settings, path),
     .help = "path of the control socket (default /run/halod/control.sock for root and services, "
             "otherwise in $XDG_RUNTIME_DIR)"},
    {"view", NULL, HALO_OPTION_STRING, offsetof(struct halo_control_settings, view),
     .help =
         "path of a second control socket, whose clients can see everything and change nothing"},
    {NULL},
};

const struct halo_option halo_http_options[] = {
    {"listen", NULL, HALO_OPTION_STRING, offsetof(struct halo_http_settings, listen),
     .help = "ADDRESS:PORT or unix:PATH; if not set, HTTP is off",
     .pattern = "^unix:.|^([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):" PORT "$",
     .must_be = "ADDRESS:PORT such as 127.0.0.1:8480, or unix:PATH"},
    {"hosts", NULL, HALO_OPTION_STRING, offsetof(struct halo_http_settings, hosts),
     .help = "further host names that browsers may use for this machine",
     .pattern = "^" HOST "( *, *" HOST ")*$", .must_be = "names separated by commas", .list = true},
    {"embed", NULL, HALO_OPTION_STRING, offsetof(struct halo_http_settings, embed),
     .help = "origins, such as https://wall.example, whose pages may embed frames and pages of "
             "this daemon",
     .pattern = "^" ORIGIN "( *, *" ORIGIN ")*$",
     .must_be =
         "origins separated by commas, such as https://wall.example, without a path and without / "
         "at the end",
     .list = true},
    {"page", NULL, HALO_OPTION_FLAG, offsetof(struct halo_http_settings, page),
     .help = "serve a page that shows the streams and, after a login, changes them"},
    {"certificate", NULL, HALO_OPTION_STRING, offsetof(struct halo_http_settings, certificate),
     .help = "a PEM file with the certificate chain, for HTTPS"},
    {"key", NULL, HALO_OPTION_STRING, offsetof(struct halo_http_settings, key),
     .help = "a PEM file with the certificate's private key"},
    {"proxy", NULL, HALO_OPTION_STRING, offsetof(struct halo_http_settings, proxy),
     .help = "addresses of proxies that add HTTPS; only they may then connect from other machines",
     .pattern = "^" ADDRESS "( *, *" ADDRESS ")*$", .must_be = "IP addresses separated by commas",
     .list = true},
    {"metrics", NULL, HALO_OPTION_STRING, offsetof(struct halo_http_settings, metrics),
     .help = "'network' lets other machines read /metrics and /healthz, without a login and "
             "without encryption",
     .pattern = "^network$", .must_be = "network"},
    {NULL},
};

#define TOPIC         "[A-Za-z0-9_-]([A-Za-z0-9_/-]{0,62}[A-Za-z0-9_-])?"
#define TOPIC_MUST_BE "at most 64 letters, digits, _, - and, between them, /"

const struct halo_option halo_mqtt_options[] = {
    {"server", NULL, HALO_OPTION_STRING, offsetof(struct halo_mqtt_settings, server),
     .help = "HOST:PORT of the broker; if not set, MQTT is off",
     .pattern = "^([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):" PORT "$",
     .must_be = "HOST:PORT such as broker.example:1883"},
    {"user", NULL, HALO_OPTION_STRING, offsetof(struct halo_mqtt_settings, user),
     .help = "user name for the broker"},
    {"password", NULL, HALO_OPTION_STRING, offsetof(struct halo_mqtt_settings, password),
     .help = "the user's password, preferably as ${NAME}"},
    {"tls_ca", NULL, HALO_OPTION_STRING, offsetof(struct halo_mqtt_settings, tls_ca),
     .help = "PEM file with the certificate of the authority that signed the broker's certificate; "
             "if not set, the connection is not encrypted"},
    {"prefix", NULL, HALO_OPTION_STRING, offsetof(struct halo_mqtt_settings, prefix),
     .help = "first part of every topic (default " HALO_MQTT_PREFIX "); must be unique among the "
             "daemons of a broker",
     .pattern = "^" TOPIC "$", .must_be = TOPIC_MUST_BE},
    {"discovery", NULL, HALO_OPTION_STRING, offsetof(struct halo_mqtt_settings, discovery),
     .help = "Home Assistant's discovery prefix (default " HALO_MQTT_DISCOVERY "); off: streams "
             "are not announced to Home Assistant",
     .pattern = "^" TOPIC "$", .must_be = TOPIC_MUST_BE},
    {NULL},
};

const struct halo_option halo_log_options[] = {
    {"level", NULL, HALO_OPTION_CHOICE, offsetof(struct halo_log_settings, level), HALO_LOG_INFO,
     .choices = halo_log_levels, .help = "the lowest level of messages that are logged"},
    {NULL},
};

#define AT(field) offsetof(struct halo_stream_settings, field)

const struct halo_option halo_stream_options[] = {
    {"input", NULL, HALO_OPTION_STRING, AT(source.input),
     .help = "file, URL, camera (/dev/video0, /dev/v4l/..., v4l2:name=WORDS, pipewire:NAME), or a "
             "test pattern (test: or test:size=1280x720:rate=30)"},
    {"input_format", NULL, HALO_OPTION_STRING, AT(source.format),
     .help = "FFmpeg's demuxer for the input, if it cannot be detected"},
    {"enabled", NULL, HALO_OPTION_FLAG, AT(enabled), 1, .help = "start the stream with the daemon"},
    {"loop", NULL, HALO_OPTION_FLAG, AT(loop),
     .help = "play an input file again from its beginning when it ends"},
    {"realtime", NULL, HALO_OPTION_FLAG, AT(realtime),
     .help = "read a file no faster than its timestamps specify"},
    {"backend", NULL, HALO_OPTION_CHOICE, AT(device.backend), 0, .choices = halo_run_backends,
     .help = "where filters run; auto: on the GPU if there is one"},
    {"hwaccel", NULL, HALO_OPTION_CHOICE, AT(device.hwaccel), 0, .choices = halo_run_hwaccels,
     .help = "where frames are decoded; auto: on the GPU that runs the filters, if the result is "
             "the same as on the CPU"},
    {"gpu", NULL, HALO_OPTION_INT, AT(device.gpu), -1, 0, 1023, .choices = automatic,
     .help = "number of the GPU; auto: the one with the most free memory"},
    {"depth", NULL, HALO_OPTION_INT, AT(device.depth), 3, 1, 16,
     .help = "number of frames that the GPU processes at the same time"},
    {"threads", NULL, HALO_OPTION_INT, AT(device.threads), 0, 0, 1024,
     .help = "filter threads on the CPU; 0: one for each CPU"},
    {"own_engine", NULL, HALO_OPTION_FLAG, AT(own_engine),
     .help = "run the stream in an engine process of its own"},
    {"gpu_timeout", NULL, HALO_OPTION_TIME, AT(device.gpu_timeout), 10, 0.1, 3600,
     .help = "how long the GPU may take to process a frame"},
    {"max_pixels", NULL, HALO_OPTION_INT, AT(source.max_pixels), HALO_MAX_PIXELS, 1, INT_MAX,
     .help = "largest number of pixels in a frame of the input; larger frames are not decoded"},
    {"input_timeout", NULL, HALO_OPTION_TIME, AT(input_timeout), 10, 0.1, 3600,
     .help = "time without data after which a live input is reopened"},
    {"on_error", NULL, HALO_OPTION_CHOICE, AT(on_error), HALO_ON_ERROR_CARD, .choices = on_errors,
     .help = "what viewers see while there is no filtered frame"},
    {"last_for", NULL, HALO_OPTION_TIME, AT(last_for), 5, 0.1, 3600,
     .help = "how long the last filtered frame is shown if on_error is 'last'"},
    {"privacy", NULL, HALO_OPTION_CHOICE, AT(privacy), HALO_PRIVACY_STRICT,
     .choices = halo_privacy_names,
     .help = "anonymous: every chain must limit what remains of each region (hide, solid); strict: "
             "every "
             "chain must remove detail from every plane; changed: every chain must change at least "
             "one plane; off: filters may be \"null\". As a default for all streams, only "
             "anonymous and strict are accepted"},
    {"min_coverage", NULL, HALO_OPTION_PART, AT(min_coverage), 0, 0, 1,
     .help = "chains with fixed regions must hide at least this fraction of every plane"},
    {"restart", NULL, HALO_OPTION_CHOICE, AT(restart), HALO_RESTART_ON_FAILURE, .choices = restarts,
     .help = "whether a stream that ended or failed is restarted"},
    {NULL},
};

#undef AT
#define AT(field) offsetof(struct halo_capture_settings, field)

const struct halo_option halo_capture_options[] = {
    {"size", NULL, HALO_OPTION_STRING, AT(size),
     .help =
         "WIDTHxHEIGHT (default 1280x720); if the camera does not support this size, the nearest "
         "one that it supports is used",
     .pattern = "^[1-9][0-9]{0,3}x[1-9][0-9]{0,3}$",
     .must_be = "a size such as 1280x720, each side at most 9999"},
    {"fps", NULL, HALO_OPTION_REAL, AT(fps), 0, 0.1, 1000,
     .help = "frames per second (default: the camera's rate, up to 30)"},
    {"format", NULL, HALO_OPTION_CHOICE, AT(format), 0, .choices = halo_capture_formats,
     .help = "the camera's pixel format; auto: one that allows the requested size and fps, "
             "preferably uncompressed"},
    {"open", NULL, HALO_OPTION_CHOICE, AT(open), HALO_CAPTURE_ALWAYS, .choices = opens,
     .help = "when the camera is open: always, or (on-demand) only while there is a viewer"},
    {"rotate", NULL, HALO_OPTION_CHOICE, AT(rotate), 0, .choices = turns,
     .help = "clockwise rotation of the camera's frames in degrees"},
    {"mirror", NULL, HALO_OPTION_CHOICE, AT(mirror), HALO_MIRROR_NONE, .choices = mirrors,
     .help = "swap left and right, or top and bottom; applied before rotate"},
    {"stall", NULL, HALO_OPTION_TIME, AT(stall), 2, 0.1, 3600,
     .help = "time without a complete frame after which the camera is reopened"},
    {NULL},
};

#undef AT
#define AT(field) offsetof(struct halo_region_feed_settings, field)

const struct halo_option halo_region_feed_options[] = {
    {"margin", NULL, HALO_OPTION_PART, AT(margin), 0.1, 0, 1,
     .help = "enlarge each region by this fraction of its size on every side"},
    {"hold", NULL, HALO_OPTION_TIME, AT(hold), 0.5, 0, 60,
     .help = "how long a region is kept after the detector stops reporting it"},
    {"limit", NULL, HALO_OPTION_TIME, AT(limit), 1, 0.1, 60,
     .help = "how long the detector may be silent, or late, before the whole frame is hidden"},
    {NULL},
};

#undef AT
#define AT(field) offsetof(struct halo_output_settings, field)

const struct halo_option halo_output_options[] = {
    {"rendition", NULL, HALO_OPTION_STRING, AT(rendition),
     .help = "the rendition to output (default: the stream's own chain)",
     .pattern = HALO_NAME_PATTERN, .must_be = HALO_NAME_MUST_BE},
    {"audio", NULL, HALO_OPTION_STRING, AT(audio),
     .help = "off (the default; hls: aac), copy, or an encoder"},
    {"format", NULL, HALO_OPTION_STRING, AT(format),
     .help = "tcp: ts (the default), mkv or nut; url: FFmpeg's muxer, if the URL does not "
             "determine it; v4l2: yuyv (the default), yu12, nv12 or mjpeg"},
    {"reach", NULL, HALO_OPTION_STRING, AT(reach),
     .help = "tcp: 'network' lets other machines connect and see the stream without a password",
     .pattern = "^network$", .must_be = "network"},
    {"segment_time", NULL, HALO_OPTION_TIME, AT(segment_time), 0, 1, 604800,
     .help = "file: begin a new file after this long (default: one file); hls: length of a segment "
             "(default 2, at most 60)"},
    {"keep", NULL, HALO_OPTION_INT, AT(keep), 0, 3, HALO_MAX_KEEP,
     .help = "hls: number of segments in the playlist (default 6)"},
    {"keep_size", NULL, HALO_OPTION_BYTES, AT(keep_size), 0, 1e6, 9e15,
     .help = "file: remove the oldest segments when the total size of all segments exceeds this "
             "(default: keep all)"},
    {"hook", NULL, HALO_OPTION_STRING, AT(hook),
     .help = "file: a program to run for each completed file, with its path as the argument"},
    {NULL},
};

#undef AT
#define AT(field) offsetof(struct halo_video_settings, field)

const struct halo_option halo_video_options[] = {
    {"codec", NULL, HALO_OPTION_STRING, AT(codec),
     .help = "an encoder (default libx264), or raw for unencoded frames in .nut and .fd sockets"},
    {"bitrate", NULL, HALO_OPTION_STRING, AT(bitrate),
     .help = "bits per second, such as 800k or 4M", .pattern = "^[0-9]+([.][0-9]+)?[kKMG]?$",
     .must_be = "bits per second such as 800k or 4M"},
    {"crf", NULL, HALO_OPTION_STRING, AT(crf),
     .help = "constant quality, for encoders that support it", .pattern = "^[0-9]+([.][0-9]+)?$",
     .must_be = "a number such as 23"},
    {"preset", NULL, HALO_OPTION_STRING, AT(preset), .help = "the encoder's preset",
     .pattern = "^[A-Za-z0-9_-]+$", .must_be = "a word such as fast"},
    {"size", NULL, HALO_OPTION_STRING, AT(size),
     .help = "scale filtered frames to this size (default: the input's size; v4l2: 1280x720); -1 "
             "for one side preserves the aspect ratio",
     .pattern = "^" SIDE "x(-1|" SIDE ")$|^-1x" SIDE "$",
     .must_be = "WIDTHxHEIGHT such as 1280x720, or 640x-1"},
    {"chroma", NULL, HALO_OPTION_CHOICE, AT(chroma), 0, .choices = chromas,
     .help = "420: chroma has half the width and height of luma (all players support this); "
             "source: chroma as in the filtered frames; auto: source for editing and archive "
             "codecs, otherwise 420"},
    {"gop", NULL, HALO_OPTION_TIME, AT(gop), 1, 0.01, 3600,
     .help = "time between keyframes (default 1; hls: the length of a segment)"},
    {"fps", NULL, HALO_OPTION_RATIO, AT(fps), 0, 0, 1000,
     .help =
         "largest number of frames per second; 0: every frame; v4l2: the exact rate (default 30)"},
    {NULL},
};

bool halo_option_is_given(const struct halo_option *row, const void *settings)
{
    const void *field = (const char *)settings + row->offset;
    double v = 0;
    switch (row->type) {
    case HALO_OPTION_FLAG:
    case HALO_OPTION_CHOICE:
        return true;
    case HALO_OPTION_STRING:
        return *(char *const *)field != NULL;
    case HALO_OPTION_INT:
        v = *(const int *)field;
        break;
    case HALO_OPTION_BYTES:
        v = (double)*(const int64_t *)field;
        break;
    case HALO_OPTION_REAL:
    case HALO_OPTION_RATIO:
    case HALO_OPTION_PART:
    case HALO_OPTION_TIME:
        v = *(const double *)field;
        break;
    }
    return v >= row->min && v <= row->max;
}

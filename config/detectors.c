/* SPDX-License-Identifier: BSD-2-Clause
 * The settings of detectors (detectors.h). */
#include "config/detectors.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *const halo_find_names[HALO_FINDS] = {"faces", "people"};

#define AT(field) offsetof(struct halo_detector_settings, field)
#define ROWS(wait_s, ahead_s, hold_s, margin_part)                                                 \
    {                                                                                              \
        {"command", NULL, HALO_OPTION_STRING, AT(command),                                         \
         .help = "the detector's program and its arguments (default: halo-detect)"},               \
            {"shared", NULL, HALO_OPTION_FLAG, AT(shared),                                         \
             .help = "start one process for all streams with the same command"},                   \
            {"gpu", NULL, HALO_OPTION_FLAG, AT(gpu), .help = "let the program use the GPU"},       \
            {"wait",                                                                               \
             NULL,                                                                                 \
             HALO_OPTION_TIME,                                                                     \
             AT(wait),                                                                             \
             wait_s,                                                                               \
             0,                                                                                    \
             10,                                                                                   \
             .help = "how long a live frame waits for the detector's result before the whole "     \
                     "frame is hidden; 0: do not wait, and use the regions of the latest result, " \
                     "moved to where they are expected"},                                          \
            {"ahead",                                                                              \
             NULL,                                                                                 \
             HALO_OPTION_TIME,                                                                     \
             AT(ahead),                                                                            \
             ahead_s,                                                                              \
             0,                                                                                    \
             2,                                                                                    \
             .help =                                                                               \
                 "how long a live frame is then held back for the results of later frames, so "    \
                 "that whoever enters is hidden from the first frame on; no effect if wait is 0"}, \
            {"enter",                                                                              \
             NULL,                                                                                 \
             HALO_OPTION_INT,                                                                      \
             AT(enter),                                                                            \
             5,                                                                                    \
             1,                                                                                    \
             100,                                                                                  \
             .help = "number of consecutive frames whose results must agree before anything is "   \
                     "shown: at the start, after a cut, and after a gap in the results"},          \
            {"hold",                                                                               \
             NULL,                                                                                 \
             HALO_OPTION_TIME,                                                                     \
             AT(hold),                                                                             \
             hold_s,                                                                               \
             0,                                                                                    \
             60,                                                                                   \
             .help = "how long a region is kept after the detector stops reporting it"},           \
            {"margin",                                                                             \
             NULL,                                                                                 \
             HALO_OPTION_PART,                                                                     \
             AT(margin),                                                                           \
             margin_part,                                                                          \
             0,                                                                                    \
             1,                                                                                    \
             .help = "enlarge each region by this fraction of its size on every side"},            \
            {"score",                                                                              \
             NULL,                                                                                 \
             HALO_OPTION_REAL,                                                                     \
             AT(score),                                                                            \
             0.5,                                                                                  \
             0,                                                                                    \
             1,                                                                                    \
             .help = "the lowest score of a box where nothing was detected in earlier frames"},    \
            {"low",                                                                                \
             NULL,                                                                                 \
             HALO_OPTION_REAL,                                                                     \
             AT(low),                                                                              \
             0.25,                                                                                 \
             0,                                                                                    \
             1,                                                                                    \
             .help = "the lowest score of a box where something was detected in earlier frames"},  \
            {NULL},                                                                                \
    }
static const struct halo_option faces[] = ROWS(0.1, 0.3, 1, 0.25);
static const struct halo_option people[] = ROWS(0.1, 0, 0.5, 0.1);

const struct halo_option *const halo_detector_options[HALO_FINDS] = {faces, people};

#define BLANKS " \t"

int halo_detector_check(const struct halo_detector_settings *settings, struct halo_error *err)
{
    const char *command = settings->command;
    int words = 0;
    for (const char *at = command; at && *(at += strspn(at, BLANKS)); at += strcspn(at, BLANKS))
        words++;
    if (command && words == 0)
        return halo_fail(err, -EINVAL, "command: must name a program");
    if (words > HALO_DETECTOR_WORDS || (command && strlen(command) > HALO_DETECTOR_COMMAND))
        return halo_fail(err, -EINVAL, "command: must have at most %d words and %d bytes",
                         HALO_DETECTOR_WORDS, HALO_DETECTOR_COMMAND);
    if (settings->low > settings->score)
        return halo_fail(err, -EINVAL, "low is %g, but must be at most score, which is %g",
                         settings->low, settings->score);
    return 0;
}

/* Copies text up to the next colon without its backslashes to ret, which has enough room. Returns
 * the number of bytes of text that were read. */
static size_t unescape(char *ret, const char *text)
{
    const char *at = text;
    for (; *at && *at != ':'; at++) {
        if (*at == '\\' && (at[1] == ':' || at[1] == '\\'))
            at++;
        *ret++ = *at;
    }
    *ret = '\0';
    return (size_t)(at - text);
}

static int parse_one(struct halo_detector_settings *settings, enum halo_find find, char *pair,
                     struct halo_error *err)
{
    const struct halo_option *rows = halo_detector_options[find];
    char *value = strchr(pair, '='), near[HALO_NEAREST_WORDS];
    const size_t length = value ? (size_t)(value - pair) : strlen(pair);
    const struct halo_option *row = halo_option_find(rows, pair, length);
    if (!row) {
        pair[length] = '\0';
        return halo_fail(err, -EINVAL, "unknown key %.80s%s", pair,
                         halo_option_nearest_words(near, rows, pair, length));
    }
    if (!value || !value[1])
        return halo_fail(err, -EINVAL, "%s: missing value", row->name);
    return halo_option_set(row, settings, value + 1, err);
}

int halo_detector_parse(struct halo_detector_settings *settings, enum halo_find find,
                        const char *text, struct halo_error *err)
{
    char *pair = malloc(strlen(text) + 1);
    int code = pair ? 0 : halo_fail(err, -ENOMEM, "out of memory");
    for (const char *at = text; code == 0;) {
        at += unescape(pair, at);
        code = parse_one(settings, find, pair, err);
        if (!*at++)
            break;
    }
    free(pair);
    return code ? code : halo_detector_check(settings, err);
}

/* SPDX-License-Identifier: BSD-2-Clause
 * The text of a live HLS playlist (RFC 8216), and the names of its files. Playlist STEM.m3u8 lists
 * segments STEM-N.m4s. N is the segment's media sequence number. Segments are decoded with the
 * header STEM-init-M.mp4, in which M is the number of the first segment that needs this header.
 * Any thread; nothing here opens files. */
#ifndef HALO_HLS_LIST_H
#define HALO_HLS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/daemon.h"

struct halo_hls_segment {
    int64_t number;
    int64_t init;       /* number in the name of its header */
    int64_t length;     /* us */
    bool discontinuity; /* its times do not continue those of the segment before it */
};

struct halo_hls_list {
    int keep;                /* largest number of segments, at most HALO_MAX_KEEP */
    int target;              /* at least EXT-X-TARGETDURATION, in seconds */
    int64_t discontinuities; /* EXT-X-DISCONTINUITY-SEQUENCE */
    int64_t next;            /* number of the next segment */
    int count;
    struct halo_hls_segment segment[HALO_MAX_KEEP]; /* the oldest first; numbers are consecutive */
};

/* Appends a segment, whose number must be list->next. Drops the oldest if there are too many. */
void halo_hls_list_add(struct halo_hls_list *list, const struct halo_hls_segment *segment);
/* Drops the oldest segments. */
void halo_hls_list_drop(struct halo_hls_list *list, int count);

/* Returns the playlist as malloc'ed text, or NULL if memory is exhausted. */
char *halo_hls_list_write(const struct halo_hls_list *list, const char *stem);
/* Reads what halo_hls_list_write() wrote for the same stem into a list, whose `keep` and `target`
 * are set. Returns 0, or -EINVAL if the text is anything else; *list is then unchanged. */
int halo_hls_list_read(struct halo_hls_list *list, const char *stem, const char *text);

enum halo_hls_kind {
    HALO_HLS_SEGMENT,
    HALO_HLS_INIT,
};

/* Writes a name, which takes at most strlen(stem) + 32 bytes, to ret. */
void halo_hls_name(char *ret, size_t size, const char *stem, enum halo_hls_kind kind,
                   int64_t number);
/* Returns whether halo_hls_name() writes this name for the stem. */
bool halo_hls_is_name(const char *name, const char *stem, enum halo_hls_kind *ret_kind,
                      int64_t *ret_number);

#endif

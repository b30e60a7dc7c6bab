/* SPDX-License-Identifier: BSD-2-Clause
 * The folder of a live HLS playlist. Each file appears there complete under its name, or not at
 * all: it is written under a temporary name in the folder. Symbolic links in the folder are never
 * followed. Used by one thread; all calls may block on disk, and return 0 or -errno. */
#ifndef HALO_HLS_FOLDER_H
#define HALO_HLS_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/output/hls_list.h"

struct halo_hls_folder {
    int dir;                 /* descriptor of the folder */
    int fd;                  /* of the file that is being written; -1: none */
    const char *stem;        /* the caller's */
    char name[NAME_MAX + 1]; /* final name of the file that is being written */
};

/* Opens the folder of this playlist, and creates it if it is missing. On failure, nothing is
 * open. */
int halo_hls_folder_open(struct halo_hls_folder *folder, const char *playlist, const char *stem);
/* Closes the folder. Removes the file that is being written. */
void halo_hls_folder_close(struct halo_hls_folder *folder);

/* Reads the playlist that is there, and brings `list` to the point at which it continues: segments
 * that are missing, or too old for any player to be following them, are dropped. If there is no
 * playlist, numbers begin with the seconds since 1970, so that no cache has files with such names.
 * Returns -EEXIST if the file is not a playlist of this output. */
int halo_hls_folder_read(const struct halo_hls_folder *folder, struct halo_hls_list *list);

/* Begins a file, adds bytes to it, and gives it its final name. */
int halo_hls_folder_begin(struct halo_hls_folder *folder, enum halo_hls_kind kind, int64_t number);
int halo_hls_folder_write(struct halo_hls_folder *folder, const void *bytes, size_t size);
int halo_hls_folder_end(struct halo_hls_folder *folder);

/* Replaces the playlist. Call it while no file is being written. */
int halo_hls_folder_publish(struct halo_hls_folder *folder, const struct halo_hls_list *list);

/* Removes segments that left the playlist `keep` segments ago, segments that it never listed,
 * headers that no segment needs any longer, and temporary files. Call it while no file is being
 * written. */
void halo_hls_folder_sweep(const struct halo_hls_folder *folder, const struct halo_hls_list *list);

#endif

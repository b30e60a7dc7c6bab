/* SPDX-License-Identifier: BSD-2-Clause
 * Runs a program for each finished segment, with the segment's path as its argument. No shell is
 * used. At most four programs run at once, and later ones wait for their turn; callers never wait.
 * Any thread; no call blocks. */
#ifndef HALO_OUTPUT_HOOK_H
#define HALO_OUTPUT_HOOK_H

struct halo_hook;

/* Returns NULL if out of memory. who is the stream's name, for messages; environment must stay
 * valid until the process ends. */
struct halo_hook *halo_hook_create(const char *program, const char *who, char **environment);
/* Does not affect programs that are running or waiting. Accepts NULL. */
void halo_hook_destroy(struct halo_hook *hook);

void halo_hook_start(struct halo_hook *hook, const char *path);

/* Waits until all programs that need not wait for others have been started, but for at most ms
 * milliseconds. Call it before the process ends. */
void halo_hook_wait_begun(int ms);

#endif

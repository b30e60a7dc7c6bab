/* SPDX-License-Identifier: BSD-2-Clause
 * Runs a program for each finished segment, with the segment's path as its argument. No shell is
 * used. At most four programs run at once, and later ones wait for their turn; callers never wait.
 * Any thread; no call blocks. */
#ifndef HALO_OUTPUT_HOOK_H
#define HALO_OUTPUT_HOOK_H

struct halo_hook;

/* Returns NULL if memory runs out. who is the stream's name, for messages. environment must stay
 * valid until the process ends. */
struct halo_hook *halo_hook_create(const char *program, const char *who, char **environment);
/* Destroys the hook. Programs that are already running or waiting to be started are not affected.
 * Accepts NULL. */
void halo_hook_destroy(struct halo_hook *hook);

void halo_hook_start(struct halo_hook *hook, const char *path);

/* Waits, for at most ms milliseconds, until every program either has been started or has to wait
 * for others to end. Call this before the process ends. */
void halo_hook_wait_begun(int ms);

#endif

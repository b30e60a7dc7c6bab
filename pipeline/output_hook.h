/* SPDX-License-Identifier: BSD-2-Clause
 * A program that is started with the path of each finished segment. No shell; at most four run at
 * once, later ones wait for their turn; none is waited for. Any thread, nothing blocks. */
#ifndef HALO_OUTPUT_HOOK_H
#define HALO_OUTPUT_HOOK_H

struct halo_hook;

/* NULL: out of memory. who is for messages. */
struct halo_hook *halo_hook_create(const char *program, const char *who);
/* Those that run or wait go on by themselves. NULL is nothing to do. */
void halo_hook_destroy(struct halo_hook *hook);

void halo_hook_start(struct halo_hook *hook, const char *path);

#endif

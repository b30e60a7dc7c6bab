/* SPDX-License-Identifier: BSD-2-Clause
 * A program that is started with the path of each finished segment. No shell; at most four run at
 * once, later ones wait for their turn; none is waited for. Any thread, nothing blocks. */
#ifndef HALO_OUTPUT_HOOK_H
#define HALO_OUTPUT_HOOK_H

struct halo_hook;

/* NULL: out of memory. who is for messages; environment is borrowed for ever. */
struct halo_hook *halo_hook_create(const char *program, const char *who, char **environment);
/* Those that run or wait go on by themselves. NULL is nothing to do. */
void halo_hook_destroy(struct halo_hook *hook);

void halo_hook_start(struct halo_hook *hook, const char *path);

/* Before the process ends: returns when all programs that need not wait for others have begun, or
 * after that time. */
void halo_hook_wait_begun(int ms);

#endif

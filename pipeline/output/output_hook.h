/* SPDX-License-Identifier: BSD-2-Clause
 * A program that is started with the path of each finished segment. No shell is used; at most four
 * run at once, later ones wait for their turn; callers wait for none of them. Any thread, no call
 * blocks. */
#ifndef HALO_OUTPUT_HOOK_H
#define HALO_OUTPUT_HOOK_H

struct halo_hook;

/* NULL: out of memory. who is the stream's name, for messages; environment must stay valid until
 * the process ends. */
struct halo_hook *halo_hook_create(const char *program, const char *who, char **environment);
/* Programs that run or wait are not affected. Accepts NULL. */
void halo_hook_destroy(struct halo_hook *hook);

void halo_hook_start(struct halo_hook *hook, const char *path);

/* Call before the process ends: returns when all programs that need not wait for others have been
 * started, or after this time. */
void halo_hook_wait_begun(int ms);

#endif

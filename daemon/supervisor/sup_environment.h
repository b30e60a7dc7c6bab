/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SUP_ENVIRONMENT_H
#define HALO_SUP_ENVIRONMENT_H

/* The environment of programs that the supervisor starts: its own without what is for itself alone.
 * Never freed. NULL: out of memory. Loop thread only. */
char **sv_environment(void);

#endif

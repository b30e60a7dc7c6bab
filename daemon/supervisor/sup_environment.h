/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HALO_SUP_ENVIRONMENT_H
#define HALO_SUP_ENVIRONMENT_H

/* The environment for programs that the supervisor starts: its own, without the variables meant
 * only for itself. Never freed. NULL: out of memory. Loop thread only. */
char **sv_environment(void);

#endif

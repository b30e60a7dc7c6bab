/* SPDX-License-Identifier: BSD-2-Clause
 * Looks at what halod has written or sends. */
#ifndef HALO_PROOF_INSPECT_H
#define HALO_PROOF_INSPECT_H

struct proof_exam;

/* Every frame of every one of these files (or unix:PATH, or any URL), to its end; a line for each
 * of them, some in between ("so far: N judged"), then figures. What cannot be opened or decoded
 * counts as broken. exam: of the stream that they are of; NULL: nothing of the canary may be
 * anywhere. The program's status: 1 for a leak. */
int proof_inspect(int count, char **names, struct proof_exam *exam, const char *folder);

#endif

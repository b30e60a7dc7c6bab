/* SPDX-License-Identifier: BSD-2-Clause
 * Looks at what halod makes of painted frames with region=faces and the stand-in detector, which
 * finds a spot in each frame whose place depends on the frame's number (tests/standin/spot.h). A
 * frame that was filtered with the verdict about another frame shows its spot; so does a frame that
 * was not filtered. A frame that shows nothing at all is hidden, which is always allowed. */
#ifndef HALO_PROOF_SPOTS_H
#define HALO_PROOF_SPOTS_H

/* Looks at every frame of these files or sockets until they end, and prints its figures. `stay` is
 * that of the detector. Returns an exit status: 0, or 1 if a spot is open. */
int proof_spots(int count, char **names, unsigned stay);

#endif

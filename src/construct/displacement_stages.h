/* From scalars to stages: cells, offsets, windows and lanes. */
#ifndef XFI_CONSTRUCT_DISPLACEMENT_STAGES_H
#define XFI_CONSTRUCT_DISPLACEMENT_STAGES_H

#include "construct/displacement.h"

/* How wide the room around 0 is to be, as a share of the numbers' span on either side. */
typedef struct xfi_displacement_room {
    double reserve;
    double margin; /* to search for */
} xfi_displacement_room;

/* Given shape and scalars, find the stages. *found becomes 0 if there is no room, or some cell has
 * no code. Errors: XF_ERR_MEMORY. */
xf_status xfi_displacement_find(xfi_displacement *displacement, int *found,
                                const xfi_displacement_room *room, const xfi_problem *problem,
                                xf_error *error);

#endif

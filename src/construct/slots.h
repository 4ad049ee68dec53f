/* Slots of the sorted writer: pairs of groups, one on each side of coordinate k1, in an
 * order in which every gate is exactly 1 on its group and 0 on what is finished.
 * docs/theory.md, T-slots. Numeric class: exact. */
#ifndef XFI_CONSTRUCT_SLOTS_H
#define XFI_CONSTRUCT_SLOTS_H

#include "construct/axes.h"

/* Where and how one target is written. The gate is relu(2^-k (side x_k1 - theta)), which is
 * 1 at x_k1 = f. */
typedef struct xfi_place {
    int64_t slot;
    double side; /* +1 or -1: sign of f and of the code */
    double f;
    double theta;
    int k;
    double code; /* waiting place on k2 */
} xfi_place;

typedef struct xfi_slots {
    int64_t n_slots;  /* ceil(M / 2) */
    double step;      /* distance of neighbouring codes, a power of two */
    int merges;       /* slot 0 holds no late group */
    xfi_place *place; /* [M] by target row, owned */
} xfi_slots;

/* late[target] != 0: the group gets its code only in the last block of the first pass; such groups
 * come last in their binade. Errors: XF_ERR_MEMORY. */
xf_status xfi_slots_make(xfi_slots *out, const xfi_problem *problem, xfi_axes axes,
                         const char *late, xf_error *error);
void xfi_slots_clear(xfi_slots *slots);

#endif

/* A stage of displacement: lanes that read one coordinate, `from`, and add to another, `to`, an
 * offset that depends on the cell that the number on `from` lies in. Stages are read back
 * from the stored weights, so that what is certified is what the model does.
 * docs/reach.md, T-stage. */
#ifndef XFI_CONSTRUCT_STAGE_H
#define XFI_CONSTRUCT_STAGE_H

#include "construct/groups.h"
#include "construct/pools_bound.h"

/* Numbers z = sign x_from in [code, theta of the item outside it] receive `offset`. */
typedef struct xfi_stage_item {
    double code;
    double theta;
    double offset;
} xfi_stage_item;

typedef struct xfi_stage {
    int64_t from;
    int64_t to;
    int64_t n[2];            /* positive, negative lane */
    xfi_stage_item *item[2]; /* [n] outermost first, owned */
} xfi_stage;

/* Read blocks first .. first + count - 1 of `model`. *known becomes 0 (and `out` is cleared) if
 * they are no lanes for which T-clamp, T-gate and T-write hold. Errors: XF_ERR_MEMORY. */
xf_status xfi_stage_read(xfi_stage *out, int *known, const xf_model *model, int64_t first,
                         int64_t count, xf_error *error);
void xfi_stage_clear(xfi_stage *stage);

/* The narrowest passage of a certificate, as in xfi_groups. */
typedef struct xfi_narrowest {
    double margin; /* least (gap of centres) / (sum of the two bounds) */
    double gap;
    double bound;
    int64_t closest[2];
} xfi_narrowest;

/* Certify the cell of every token, add the offsets to coordinate `to` of the track and set
 * coordinate `from` to 0. `out` is the narrowest gap between neighbouring cells, with
 * margin 0 if some token's cell is not certain. O(T log C).
 * Numeric class: enclosure. Errors: XF_ERR_MEMORY. */
xf_status xfi_stage_apply(xfi_narrowest *out, xfi_track *track, const xfi_stage *stage,
                          const xf_dataset *data, const xfi_format *format, xf_error *error);

/* Take the other passage if it is narrower. */
void xfi_narrowest_take(xfi_narrowest *narrowest, const xfi_narrowest *other);

#endif

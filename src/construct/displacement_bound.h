/* The certificate of a displacement front end, from its stored weights: phase "pooling", then one
 * or two stages, phases "displace" and "windows" (docs/reach.md, T-displacement). */
#ifndef XFI_CONSTRUCT_DISPLACEMENT_BOUND_H
#define XFI_CONSTRUCT_DISPLACEMENT_BOUND_H

#include "construct/stage.h"

#define XFI_PHASE_POOLING "pooling"
#define XFI_PHASE_DISPLACE "displace"
#define XFI_PHASE_WINDOWS "windows"

/* Does the model begin with such a front end? */
int xfi_has_displacement(const xf_model *model);

/* Groups on the coordinate that the last stage writes. groups->margin (with gap, bound and
 * closest) is the narrowest of all stages and of the groups themselves; 0 if a stage has an
 * unknown shape or some cell is not certain: then there may be no groups (n = 0).
 * Numeric class: enclosure. Errors: XF_ERR_ARGUMENT (other blocks), XF_ERR_MEMORY. */
xf_status xfi_displacement_groups(xfi_groups *out, const xf_model *model, const xf_dataset *data,
                                  int threads, xf_error *error);

/* The part before the writer's lanes: balls of the given coordinates after the poolings and after
 * the stages found so far. */
typedef struct xfi_displaced {
    xfi_track track;
    xfi_narrowest narrowest; /* of the stages */
    int64_t last;            /* coordinate that the last stage writes, -1 without a stage */
    int known;               /* 0: a stage of unknown shape, or an uncertain cell */
} xfi_displaced;

/* Errors as above; `out` is then cleared, else the caller's to clear. Coordinates of
 * `more` [n_more] are tracked too. */
xf_status xfi_displacement_track(xfi_displaced *out, const xf_model *model, const int64_t *more,
                                 int n_more, const xf_dataset *data, int threads, xf_error *error);
void xfi_displaced_clear(xfi_displaced *displaced);

#endif

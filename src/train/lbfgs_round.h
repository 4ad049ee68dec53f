/* L-BFGS through liblbfgs. The objective has kinks, at which the line search ends early; starting
 * again with an empty memory usually gets on, so that the work is done in rounds. */
#ifndef XFI_TRAIN_LBFGS_ROUND_H
#define XFI_TRAIN_LBFGS_ROUND_H

#include "train/objective.h"

/* An accepted point: iteration 1, 2, ... of the round. Nonzero ends the round. */
typedef int (*xfi_iteration_fn)(void *context, int64_t iteration, double loss, double norm2);

typedef enum xfi_round_end {
    XFI_ROUND_MORE = 0,
    XFI_ROUND_STUCK = 1,
    XFI_ROUND_STOPPED = 2
} xfi_round_end;

/* At most n_iterations from theta [P], which becomes the best point found, and *end: may a next
 * round get on, is there nothing more to gain, or did `seen` stop it (then theta is as it was)?
 * Errors: XF_ERR_MEMORY. */
xf_status xfi_lbfgs_round(double *theta, xfi_round_end *end, xfi_objective *objective,
                          double weight_decay, int64_t n_iterations, xfi_iteration_fn seen,
                          void *context, xf_error *error);

#endif

/* Between which numbers the loss and the squared norm of a recorded state lie. The derivation is in
 * docs/yardstick.md, "How sure the numbers are". */
#ifndef XFI_API_STATE_BOUNDS_H
#define XFI_API_STATE_BOUNDS_H

#include <exactformer/diagnose.h>

/* Each: low, high. */
typedef struct xfi_bounds {
    double loss[2];
    double norm2[2];
} xfi_bounds;

/* `scale` is the largest norm of a target. */
xfi_bounds xfi_state_bounds(const xf_training_log *log, const xf_train_record *record,
                            double scale);

/* loss + (weight_decay / 2) norm2 lies between these two. */
static inline double xfi_objective_low(const xfi_bounds *bounds, double weight_decay) {
    return bounds->loss[0] + weight_decay / 2 * bounds->norm2[0];
}

static inline double xfi_objective_high(const xfi_bounds *bounds, double weight_decay) {
    return bounds->loss[1] + weight_decay / 2 * bounds->norm2[1];
}

/* A squared norm of n numbers, summed in binary64, is at most this. */
double xfi_norm2_high(double norm2, int64_t n);

#endif

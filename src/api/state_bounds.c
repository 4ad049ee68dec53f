/* Digits, sums, and the rounding of the network; docs/yardstick.md. */
#include "api/state_bounds.h"

#include <float.h>
#include <math.h>

/* Unit roundoff of the run. */
static double roundoff(const xf_training_log *log) {
    return log->dtype == XF_F32 ? 0x1p-24 : 0x1p-53;
}

/* Bounds of a number >= 0 that was printed to `precision` after `n` rounded operations on numbers
 * >= 0. */
static void bound(double out[2], double value, const xf_precision *precision, double n, double u) {
    double slack = fmax(precision->relative * value, precision->absolute) + n * u * value;
    out[0] = fmax(value - slack, 0.0);
    out[1] = value + slack;
}

/* The root of the loss is a distance, and changes by no more than the outputs do: by sqrt(u) times
 * their norm, which is at most `scale` plus that distance. */
static void widen_by_rounding(double loss[2], double scale, double u) {
    double low = sqrt(loss[0]), high = sqrt(loss[1]);
    double error = sqrt(u) * (scale + high);
    loss[0] = low > error ? (low - error) * (low - error) : 0.0;
    loss[1] = (high + error) * (high + error);
}

xfi_bounds xfi_state_bounds(const xf_training_log *log, const xf_train_record *record,
                            double scale) {
    xfi_bounds out;
    double u = roundoff(log);
    double terms = (double)(log->family.d + log->dataset.n_sequences);
    double parameters = (double)xf_family_parameters(&log->family);
    bound(out.loss, record->loss, &log->loss_precision, terms + 4.0, u);
    widen_by_rounding(out.loss, scale, u);
    bound(out.norm2, record->norm2, &log->norm2_precision, parameters + 4.0, u);
    return out;
}

double xfi_norm2_high(double norm2, int64_t n) {
    return norm2 * (1.0 + ((double)n + 4.0) * DBL_EPSILON);
}

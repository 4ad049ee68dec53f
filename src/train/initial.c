/* Random parameters to start from. */
#include "train/layout.h"

#include "base/rng.h"

#include <math.h>

static void uniform(double *out, int64_t n, int64_t fan_in, xfi_rng *rng) {
    double bound = 1.0 / sqrt((double)fan_in);
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)(float)(bound * (2.0 * xfi_rng_uniform(rng) - 1.0));
}

void xf_family_initial(double *theta, const xf_family *family, uint64_t seed, int64_t start,
                       double residual) {
    xfi_layout at = xfi_layout_of(family);
    int64_t d = family->d, w = family->width, h = family->rank;
    xfi_rng rng;
    xfi_rng_seed(&rng, seed, (uint64_t)start);
    double scalar = (double)(float)residual;
    for (int64_t i = 0; i < family->n_blocks; i++, theta += at.block_size) {
        theta[at.rho] = theta[at.eta] = scalar;
        uniform(theta + at.Q, h * d, d, &rng);
        uniform(theta + at.K, h * d, d, &rng);
        if (family->scalar)
            theta[at.A_alpha] = scalar;
        if (family->value == XF_VALUE_FULL) {
            uniform(theta + at.V_full, d * d, d, &rng);
        } else {
            theta[at.V_alpha] = scalar;
            uniform(theta + at.V_left, d, 1, &rng);
            uniform(theta + at.V_right, d, d, &rng);
        }
        uniform(theta + at.W, d * w, w, &rng);
        uniform(theta + at.U, w * d, d, &rng);
        uniform(theta + at.b, w, d, &rng);
    }
}

/* Feed-forward layer x -> eta x + W relu(U x + b), forward and reverse, for one precision. `theta`
 * and `slope` (the gradient) point to the parameters of the block; rows as in lanes_template.h. */

/* r = relu(r + bias), NaN stays NaN. */
XFI_CLONES static void XFI_NAME(relu)(REAL *restrict r, REAL bias, int64_t lanes) {
#pragma omp simd
    for (int64_t i = 0; i < lanes; i++) {
        REAL sum = r[i] + bias;
        r[i] = sum <= 0 ? 0 : sum;
    }
}

/* dr = 0 where the neuron is off; relu'(0) = 0. */
XFI_CLONES static void XFI_NAME(relu_slope)(REAL *restrict dr, const REAL *restrict r,
                                            int64_t count) {
#pragma omp simd
    for (int64_t i = 0; i < count; i++)
        dr[i] = r[i] > 0 ? dr[i] : 0;
}

/* out [d][s] and hidden [w][s] from x [d][s]. */
static void XFI_NAME(ff_forward)(REAL *out, REAL *hidden, const REAL *x, const REAL *theta,
                                 const xfi_layout *at, const xfi_sizes *size, int64_t s) {
    int64_t d = size->d, w = size->w;
    const XFI_NAME(matrix) U = {theta + at->U, d, 1, w, d}, W = {theta + at->W, w, 1, d, w};
    XFI_NAME(product)(hidden, s, 0, &U, x, s, s);
    for (int64_t k = 0; k < w; k++)
        XFI_NAME(relu)(hidden + k * s, theta[at->b + k], s);
    XFI_NAME(product)(out, s, 0, &W, hidden, s, s);
    XFI_NAME(add_scaled)(out, theta[at->eta], x, d * s);
}

/* Given g = dloss/dout [d][s]: slope += the gradient of the block's parameters, and dx [d][s] =
 * dloss/dx unless dx is NULL. Scratch dr [w][s]; only the first `count` lanes are tokens, the
 * others have g = 0. */
/* NOLINTNEXTLINE(readability-function-size): a kernel */
static void XFI_NAME(ff_reverse)(REAL *dx, REAL *slope, const REAL *g, const REAL *x,
                                 const REAL *hidden, REAL *dr, const REAL *theta,
                                 const xfi_layout *at, const xfi_sizes *size, int64_t count,
                                 int64_t s) {
    int64_t d = size->d, w = size->w;
    const XFI_NAME(matrix) WT = {theta + at->W, 1, w, w, d}, UT = {theta + at->U, 1, d, d, w};
    XFI_NAME(product)(dr, s, 0, &WT, g, s, s);
    XFI_NAME(relu_slope)(dr, hidden, w * s);
    slope[at->eta] += XFI_NAME(inner)(g, x, d * s);
    XFI_NAME(outer)(slope + at->W, w, 1, g, s, d, hidden, s, w, count);
    XFI_NAME(outer)(slope + at->U, d, 1, dr, s, w, x, s, d, count);
    for (int64_t k = 0; k < w; k++)
        slope[at->b + k] += XFI_NAME(total)(dr + k * s, s);
    if (dx == NULL)
        return;
    XFI_NAME(product)(dx, s, 0, &UT, dr, s, s);
    XFI_NAME(add_scaled)(dx, theta[at->eta], g, d * s);
}

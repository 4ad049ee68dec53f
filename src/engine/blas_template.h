/* The kernels of the BLAS engine for one precision; included by blas_engine.c with REAL,
 * REAL_EXP, REAL_TINY and XFI_NAME(base) defined. Rows stay row-major [n][d]. */

static REAL XFI_NAME(dot)(const REAL *a, const REAL *b, int64_t n) {
    return XFI_NAME(xfi_dot)(a, b, n);
}

static REAL XFI_NAME(dot_onto)(REAL start, const REAL *a, const REAL *b, int64_t n) {
    return start + XFI_NAME(xfi_dot)(a, b, n);
}

static void XFI_NAME(logits)(REAL *z, const REAL *q, const REAL *x, int64_t n, int64_t d) {
    XFI_NAME(xfi_apply)(z, x, q, n, d);
}

static void XFI_NAME(weighted_sum)(REAL *out, const REAL *weights, const REAL *x, int64_t n,
                                   int64_t d) {
    XFI_NAME(xfi_apply_transposed)(out, x, weights, n, d);
}

#include "engine/attention_template.h"

static void XFI_NAME(feed_forward)(const xfi_weights *weights, int64_t block, REAL *x, int64_t n,
                                   REAL *r) {
    int64_t d = weights->d, w = weights->width;
    const REAL *b = (const REAL *)weights->b + block * w;
    REAL eta = ((const REAL *)weights->eta)[block];
    if (w > 0)
        XFI_NAME(xfi_multiply)(r, 0, x, (const REAL *)weights->U + block * w * d, n, w, d);
    for (int64_t t = 0; t < n; t++)
        for (int64_t i = 0; i < w; i++) {
            REAL a = r[t * w + i] + b[i];
            r[t * w + i] = a <= 0 ? 0 : a;
        }
    for (int64_t k = 0; k < n * d && eta != 1; k++)
        x[k] *= eta;
    if (w > 0)
        XFI_NAME(xfi_multiply)(x, 1, r, (const REAL *)weights->W + block * d * w, n, d, w);
}

/* xfi_backend.local */
static void XFI_NAME(local)(const xfi_weights *weights, int64_t first, int64_t last, void *rows,
                            int64_t n, void *scratch) {
    REAL *x = rows;
    for (int64_t layer = first; layer < last; layer++) {
        if (!xfi_layer_is_attention(weights, layer)) {
            XFI_NAME(feed_forward)(weights, layer / 2, x, n, scratch);
            continue;
        }
        REAL rho = ((const REAL *)weights->rho)[layer / 2];
        for (int64_t k = 0; k < n * weights->d && rho != 1; k++)
            x[k] *= rho;
    }
}

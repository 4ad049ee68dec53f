/* Attention of one coupled layer, written once for both precisions and both back ends.
 *
 * Included with REAL, REAL_EXP and XFI_NAME(base) defined, after the includer has defined the
 * sums that differ between back ends:
 *     REAL dot_onto(REAL start, const REAL *a, const REAL *b, n)   start + sum a_k b_k
 *     REAL dot(const REAL *a, const REAL *b, n)                    n >= 1
 *     void logits(REAL *z, const REAL *q, const REAL *x, n, d)     z_l = <q, x_l>
 *     void weighted_sum(REAL *out, const REAL *weights, const REAL *x, n, d)
 *                         out = sum over the l with a nonzero weight of weight_l x_l
 *
 * The order of operations, for the dense engine the definition of the bits:
 *     M x      = alpha x, then + left_c <right, x>, then + full_ck x_k in index order
 *     hardmax  = (sum of x_l over the exact argmax) / |C|, one division for each coordinate;
 *                runtimes that multiply by a rounded 1/|C| agree on certified models
 *     softmax  = sum of (e_l / S) x_l, e_l = exp((z_l - max z) / tau), S = sum of e_l
 * The result does not depend on the pieces in which the rows of a sequence are computed. A NaN
 * among the logits makes the mean NaN. With A = 0 all logits are taken to be 0, which is what
 * they are as long as the tokens are finite. */

/* out = M x for one block; out must not overlap x. */
static void XFI_NAME(apply)(REAL *out, const xfi_low_rank_view *matrix, int64_t block,
                            const REAL *x, int64_t d) {
    REAL alpha = ((const REAL *)matrix->alpha)[block];
    const REAL *left = (const REAL *)matrix->left + block * d;
    const REAL *right = (const REAL *)matrix->right + block * d;
    REAL s = XFI_NAME(dot)(right, x, d);
    for (int64_t c = 0; c < d; c++) {
        out[c] = alpha * x[c] + left[c] * s;
        if (matrix->full != NULL)
            out[c] =
                XFI_NAME(dot_onto)(out[c], (const REAL *)matrix->full + (block * d + c) * d, x, d);
    }
}

/* The largest value, or NaN if there is one. */
static REAL XFI_NAME(maximum)(const REAL *z, int64_t n) {
    REAL m = z[0];
    for (int64_t l = 1; l < n; l++)
        if (z[l] > m || isnan(z[l]))
            m = z[l];
    return m;
}

/* Replace logits by weights 1 on the argmax and 0 elsewhere; returns their sum. */
static REAL XFI_NAME(hardmax)(REAL *z, int64_t n) {
    REAL m = XFI_NAME(maximum)(z, n);
    int64_t count = 0;
    for (int64_t l = 0; l < n; l++) {
        int chosen = z[l] == m;
        z[l] = (REAL)chosen;
        count += chosen;
    }
    return (REAL)count;
}

/* Replace logits by their softmax. The difference is taken before the division: it is at
 * most 0, so that no temperature overflows. */
static void XFI_NAME(softmax)(REAL *z, int64_t n, REAL tau) {
    REAL m = XFI_NAME(maximum)(z, n);
    REAL sum = 0;
    for (int64_t l = 0; l < n; l++) {
        z[l] = REAL_EXP((z[l] - m) / tau);
        sum += z[l];
    }
    for (int64_t l = 0; l < n; l++)
        z[l] /= sum;
}

/* Weights of all-zero logits; returns the divisor of the weighted sum. */
static REAL XFI_NAME(uniform)(REAL *z, int64_t n, xf_attention attention) {
    REAL weight = attention == XF_HARDMAX ? (REAL)1 : (REAL)1 / (REAL)n;
    for (int64_t l = 0; l < n; l++)
        z[l] = weight;
    return attention == XF_HARDMAX ? (REAL)n : (REAL)1;
}

/* Weights pi_i over the first n tokens; returns the divisor of the weighted sum. */
static REAL XFI_NAME(weigh)(REAL *z, const xfi_weights *weights, const xfi_coupling *coupling,
                            int64_t i, int64_t n, REAL *q) {
    if (weights->zero[coupling->block] & XFI_ZERO_A)
        return XFI_NAME(uniform)(z, n, coupling->attention);
    const REAL *x = coupling->x;
    int64_t d = weights->d;
    XFI_NAME(apply)(q, &weights->A, coupling->block, x + i * d, d);
    XFI_NAME(logits)(z, q, x, n, d);
    if (coupling->attention == XF_HARDMAX)
        return XFI_NAME(hardmax)(z, n);
    REAL tau = (REAL)coupling->tau;
    XFI_NAME(softmax)(z, n, tau > 0 ? tau : REAL_TINY);
    return 1;
}

/* next = rho x + V mean for one token; v is scratch [d]. */
static void XFI_NAME(put)(REAL *next, REAL rho, const REAL *x, const REAL *v, int64_t d) {
    for (int64_t c = 0; c < d; c++)
        next[c] = rho * x[c] + v[c];
}

/* v = V (sum / divisor); sum is overwritten by the mean. */
static void XFI_NAME(value)(REAL *v, const xfi_weights *weights, int64_t block, REAL *sum,
                            REAL divisor) {
    for (int64_t c = 0; c < weights->d; c++)
        sum[c] /= divisor;
    XFI_NAME(apply)(v, &weights->V, block, sum, weights->d);
}

/* A = 0, hardmax, causal: means of prefixes from one running sum. */
static void XFI_NAME(attend_prefixes)(const xfi_weights *weights, const xfi_coupling *coupling,
                                      REAL *scratch) {
    int64_t d = weights->d;
    REAL *sum = scratch, *mean = scratch + d, *v = scratch + 2 * d;
    REAL rho = ((const REAL *)weights->rho)[coupling->block];
    for (int64_t i = 0; i < coupling->n; i++) {
        const REAL *x = (const REAL *)coupling->x + i * d;
        for (int64_t c = 0; c < d; c++)
            mean[c] = sum[c] = i == 0 ? x[c] : sum[c] + x[c];
        XFI_NAME(value)(v, weights, coupling->block, mean, (REAL)(i + 1));
        XFI_NAME(put)((REAL *)coupling->next + i * d, rho, x, v, d);
    }
}

/* xfi_backend.attend. Where all tokens share one mean it is computed once for each call. */
static void XFI_NAME(attend)(const xfi_weights *weights, const xfi_coupling *coupling,
                             void *scratch) {
    int64_t d = weights->d;
    int uniform = weights->zero[coupling->block] & XFI_ZERO_A;
    if (uniform && coupling->causal && coupling->attention == XF_HARDMAX) {
        XFI_NAME(attend_prefixes)(weights, coupling, scratch);
        return;
    }
    REAL *q = scratch, *mean = q + d, *v = mean + d, *z = v + d;
    REAL rho = ((const REAL *)weights->rho)[coupling->block];
    const REAL *x = coupling->x;
    for (int64_t i = coupling->first; i < coupling->last; i++) {
        if (!uniform || coupling->causal || i == coupling->first) {
            int64_t n = coupling->causal ? i + 1 : coupling->n;
            REAL divisor = XFI_NAME(weigh)(z, weights, coupling, i, n, q);
            XFI_NAME(weighted_sum)(mean, z, x, n, d);
            XFI_NAME(value)(v, weights, coupling->block, mean, divisor);
        }
        XFI_NAME(put)((REAL *)coupling->next + i * d, rho, x + i * d, v, d);
    }
}

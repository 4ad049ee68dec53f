/* Squared Hausdorff distance of one sequence, and where it is attained, for one precision.
 *
 * It is a maximum of minima of the smooth functions |o_i - y_k|^2. The slope used is that of one
 * active pair (i, k): near every point where only one pair attains the value it is the
 * gradient; with one target a tie is one between the functions of a maximum, and the slope of any
 * of them is an element of Clarke's subdifferential (docs/training.md). */

/* out_i = |o_i - y|^2 for rows o [d][s] and one target y [d]. */
XFI_CLONES static void XFI_NAME(distances)(REAL *restrict out, const REAL *restrict o,
                                           const REAL *restrict y, int64_t d, int64_t s) {
    for (int64_t i = 0; i < s; i++)
        out[i] = 0;
    for (int64_t c = 0; c < d; c++) {
#pragma omp simd
        for (int64_t i = 0; i < s; i++) {
            REAL difference = o[c * s + i] - y[c];
            out[i] += difference * difference;
        }
    }
}

typedef struct XFI_NAME(worst) {
    REAL value; /* INFINITY if a distance is not finite */
    int64_t token, target;
} XFI_NAME(worst);

/* The largest distance of a token from its nearest target, the first token on ties; `nearest` and
 * `which` [n] hold those of each token. */
static XFI_NAME(worst) XFI_NAME(worst_token)(const REAL *nearest, const int64_t *which, int64_t n) {
    XFI_NAME(worst) worst = {nearest[0], 0, which[0]};
    for (int64_t i = 1; i < n; i++)
        if (nearest[i] > worst.value)
            worst = (XFI_NAME(worst)){nearest[i], i, which[i]};
    return worst;
}

/* The squared Hausdorff distance of the tokens o [d][s], n of them, from the targets y [m][d].
 * Scratch: distance and nearest [s], which [s]. */
static XFI_NAME(worst)
    XFI_NAME(hausdorff)(const REAL *o, const REAL *y, int64_t n, int64_t m, int64_t d, int64_t s,
                        REAL *distance, REAL *nearest, int64_t *which) {
    XFI_NAME(worst) far = {0, 0, 0}; /* the target that is farthest from all tokens */
    for (int64_t k = 0; k < m; k++) {
        XFI_NAME(worst) near = {INFINITY, 0, k};
        XFI_NAME(distances)(distance, o, y + k * d, d, s);
        for (int64_t i = 0; i < n; i++) {
            if (!isfinite(distance[i]))
                return (XFI_NAME(worst)){INFINITY, i, k};
            if (distance[i] < near.value)
                near = (XFI_NAME(worst)){distance[i], i, k};
            if (k == 0 || distance[i] < nearest[i]) {
                nearest[i] = distance[i];
                which[i] = k;
            }
        }
        if (near.value > far.value)
            far = near;
    }
    XFI_NAME(worst) token = XFI_NAME(worst_token)(nearest, which, n);
    return far.value > token.value ? far : token;
}

/* The dense reference kernels for one precision; included by dense.c with REAL, REAL_EXP,
 * REAL_TINY and XFI_NAME(base) defined.
 *
 * Every sum starts from its first product and takes the others in index order, one rounding
 * for each operation; products with zero are evaluated. Local layers work on tiles of TILE
 * tokens, transposed to [d][TILE]: a vector lane is a token, so vectors change no bit. */

static REAL XFI_NAME(dot_onto)(REAL start, const REAL *a, const REAL *b, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        start += a[k] * b[k];
    return start;
}

static REAL XFI_NAME(dot)(const REAL *a, const REAL *b, int64_t n) {
    return XFI_NAME(dot_onto)(a[0] * b[0], a + 1, b + 1, n - 1);
}

/* Four tokens at a time, so that their chains of additions overlap. */
static void XFI_NAME(logits)(REAL *z, const REAL *q, const REAL *x, int64_t n, int64_t d) {
    int64_t l = 0;
    for (; l + 4 <= n; l += 4) {
        const REAL *y = x + l * d;
        REAL z0 = q[0] * y[0], z1 = q[0] * y[d], z2 = q[0] * y[2 * d], z3 = q[0] * y[3 * d];
        for (int64_t c = 1; c < d; c++) {
            z0 += q[c] * y[c];
            z1 += q[c] * y[d + c];
            z2 += q[c] * y[2 * d + c];
            z3 += q[c] * y[3 * d + c];
        }
        z[l] = z0;
        z[l + 1] = z1;
        z[l + 2] = z2;
        z[l + 3] = z3;
    }
    for (; l < n; l++)
        z[l] = XFI_NAME(dot)(q, x + l * d, d);
}

XFI_CLONES static void XFI_NAME(add_multiple)(REAL *restrict out, REAL weight,
                                              const REAL *restrict x, int64_t d) {
#pragma omp simd
    for (int64_t c = 0; c < d; c++)
        out[c] += weight * x[c];
}

static void XFI_NAME(weighted_sum)(REAL *out, const REAL *weights, const REAL *x, int64_t n,
                                   int64_t d) {
    int64_t l = 0;
    while (l < n - 1 && weights[l] == 0)
        l++;
    for (int64_t c = 0; c < d; c++)
        out[c] = weights[l] * x[l * d + c];
    for (l++; l < n; l++)
        if (weights[l] != 0)
            XFI_NAME(add_multiple)(out, weights[l], x + l * d, d);
}

#include "engine/attention_template.h"

/* acc = c_0 rows_0 + c_1 rows_1 + ... in order for n <= 4 terms, or with `onto`
 * acc = factor acc + c_0 rows_0 + ...; then, with `finish`, acc = relu(acc + bias).
 * n, onto and finish are constants at every call. */
XFI_INLINE void XFI_NAME(pass)(REAL *restrict acc, int onto, REAL factor, const REAL *restrict c,
                               const REAL *restrict rows, int n, int finish, REAL bias) {
#pragma omp simd
    for (int lane = 0; lane < TILE; lane++) {
        REAL sum = onto ? factor * acc[lane] : c[0] * rows[lane];
#pragma GCC unroll 4
        for (int k = onto ? 0 : 1; k < n; k++)
            sum += c[k] * rows[k * TILE + lane];
        if (finish) {
            sum += bias;
            sum = sum <= 0 ? 0 : sum; /* keeps NaN */
        }
        acc[lane] = sum;
    }
}

/* The same for n = 0 .. 4 found at run time (n >= 1 without `onto`). */
XFI_INLINE void XFI_NAME(pass_any)(REAL *restrict acc, int onto, REAL factor,
                                   const REAL *restrict c, const REAL *restrict rows, int64_t n,
                                   int finish, REAL bias) {
    if (n == 4)
        XFI_NAME(pass)(acc, onto, factor, c, rows, 4, finish, bias);
    else if (n == 3)
        XFI_NAME(pass)(acc, onto, factor, c, rows, 3, finish, bias);
    else if (n == 2)
        XFI_NAME(pass)(acc, onto, factor, c, rows, 2, finish, bias);
    else if (n == 1)
        XFI_NAME(pass)(acc, onto, factor, c, rows, 1, finish, bias);
    else if (onto)
        XFI_NAME(pass)(acc, onto, factor, c, rows, 0, finish, bias);
}

/* r = relu(<u, x> + bias) for a tile x [d][TILE]. */
XFI_INLINE void XFI_NAME(neuron)(REAL *restrict r, const REAL *restrict u, REAL bias,
                                 const REAL *restrict x, int64_t d) {
    if (d <= 4) {
        XFI_NAME(pass_any)(r, 0, 0, u, x, d, 1, bias);
        return;
    }
    XFI_NAME(pass)(r, 0, 0, u, x, 4, 0, 0);
    int64_t k = 4;
    for (; d - k > 4; k += 4)
        XFI_NAME(pass)(r, 1, 1, u + k, x + k * TILE, 4, 0, 0);
    XFI_NAME(pass_any)(r, 1, 1, u + k, x + k * TILE, d - k, 1, bias);
}

/* x_c = eta x_c + sum_i W_ci r_i for one coordinate, r [w][TILE]. */
XFI_INLINE void XFI_NAME(output)(REAL *restrict x, REAL eta, const REAL *restrict w_row,
                                 const REAL *restrict r, int64_t w) {
    int64_t i = w < 4 ? w : 4;
    XFI_NAME(pass_any)(x, 1, eta, w_row, r, i, 0, 0);
    for (; i < w; i += 4)
        XFI_NAME(pass_any)(x, 1, 1, w_row + i, r + i * TILE, w - i < 4 ? w - i : 4, 0, 0);
}

/* Layers first .. last-1 on a tile x [d][TILE]; r is scratch [w][TILE]. */
XFI_CLONES static void XFI_NAME(local_tile)(const xfi_weights *weights, int64_t first, int64_t last,
                                            REAL *restrict x, REAL *restrict r) {
    int64_t d = weights->d, w = weights->width;
    for (int64_t layer = first; layer < last; layer++) {
        int64_t block = layer / 2;
        if (xfi_layer_is_attention(weights, layer)) {
            REAL rho = ((const REAL *)weights->rho)[block];
            for (int64_t c = 0; c < d && rho != 1; c++)
                XFI_NAME(pass)(x + c * TILE, 1, rho, x, r, 0, 0, 0);
            continue;
        }
        const REAL *U = (const REAL *)weights->U + block * w * d;
        const REAL *W = (const REAL *)weights->W + block * d * w;
        const REAL *b = (const REAL *)weights->b + block * w;
        REAL eta = ((const REAL *)weights->eta)[block];
        for (int64_t i = 0; i < w; i++)
            XFI_NAME(neuron)(r + i * TILE, U + i * d, b[i], x, d);
        for (int64_t c = 0; c < d; c++)
            XFI_NAME(output)(x + c * TILE, eta, W + c * w, r, w);
    }
}

/* xfi_backend.local: transpose, compute, transpose back. Unused lanes hold zeros. */
static void XFI_NAME(local)(const xfi_weights *weights, int64_t first, int64_t last, void *rows,
                            int64_t n, void *scratch) {
    int64_t d = weights->d;
    REAL *x = scratch, *r = x + d * TILE, *token = rows;
    for (int64_t c = 0; c < d; c++)
        for (int64_t lane = 0; lane < TILE; lane++)
            x[c * TILE + lane] = lane < n ? token[lane * d + c] : 0;
    XFI_NAME(local_tile)(weights, first, last, x, r);
    for (int64_t lane = 0; lane < n; lane++)
        for (int64_t c = 0; c < d; c++)
            token[lane * d + c] = x[c * TILE + lane];
}

/* Sums over rows of lanes, for one precision. A row holds one number for each token of a sequence,
 * padded to a multiple of LANES; the included file defines REAL and XFI_NAME(base).
 *
 * Every sum is taken in index order, or over LANES partial sums that are folded in halves: vectors
 * of any width give the same bits. */

typedef REAL XFI_NAME(vec)
    __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));

/* Entry (r, k) is at[r row_step + k col_step]. */
typedef struct XFI_NAME(matrix) {
    const REAL *at;
    int64_t row_step, col_step;
    int64_t n_rows, n_cols;
} XFI_NAME(matrix);

/* `rows` (a constant, at most 8) rows of one product for LANES lanes. */
XFI_INLINE void XFI_NAME(product_rows)(REAL *restrict out, int64_t out_step, int onto,
                                       const XFI_NAME(matrix) * M, int64_t first,
                                       const REAL *restrict in, int64_t in_step, int rows) {
    const REAL *at = M->at + first * M->row_step;
    XFI_NAME(vec) sums[8];
    for (int j = 0; j < rows; j++)
        sums[j] =
            onto ? *(const XFI_NAME(vec) *)(out + (first + j) * out_step) : (XFI_NAME(vec)){0};
    for (int64_t k = 0; k < M->n_cols; k++) {
        XFI_NAME(vec) x = *(const XFI_NAME(vec) *)(in + k * in_step);
#pragma GCC unroll 8
        for (int j = 0; j < rows; j++)
            sums[j] += at[j * M->row_step + k * M->col_step] * x;
    }
    for (int j = 0; j < rows; j++)
        *(XFI_NAME(vec) *)(out + (first + j) * out_step) = sums[j];
}

/* out = M in, or with `onto` out += M in, for rows of `lanes` lanes that are *_step apart. */
XFI_CLONES static void XFI_NAME(product)(REAL *restrict out, int64_t out_step, int onto,
                                         const XFI_NAME(matrix) * M, const REAL *restrict in,
                                         int64_t in_step, int64_t lanes) {
    if (M->n_cols == 1 && !onto) { /* the logits of rank one */
        for (int64_t r = 0; r < M->n_rows; r++)
            for (int64_t lane = 0; lane < lanes; lane += LANES)
                *(XFI_NAME(vec) *)(out + r * out_step + lane) =
                    M->at[r * M->row_step] * *(const XFI_NAME(vec) *)(in + lane);
        return;
    }
    for (int64_t lane = 0; lane < lanes; lane += LANES) {
        int64_t r = 0;
        for (; r + 8 <= M->n_rows; r += 8)
            XFI_NAME(product_rows)(out + lane, out_step, onto, M, r, in + lane, in_step, 8);
        for (; r + 4 <= M->n_rows; r += 4)
            XFI_NAME(product_rows)(out + lane, out_step, onto, M, r, in + lane, in_step, 4);
        for (; r < M->n_rows; r++)
            XFI_NAME(product_rows)(out + lane, out_step, onto, M, r, in + lane, in_step, 1);
    }
}

/* The sum of all lanes, in halves. */
XFI_INLINE REAL XFI_NAME(fold)(XFI_NAME(vec) * sums) {
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            (*sums)[j] += (*sums)[j + half];
    return (*sums)[0];
}

/* out[r row_step + k col_step] += <a_r, b_k> over the first `count` lanes, for n_a rows a and n_b
 * rows b; lanes beyond are 0 in one of the two. */
/* NOLINTNEXTLINE(readability-function-size): a kernel */
XFI_CLONES static void XFI_NAME(outer)(REAL *restrict out, int64_t row_step, int64_t col_step,
                                       const REAL *restrict a, int64_t a_step, int64_t n_a,
                                       const REAL *restrict b, int64_t b_step, int64_t n_b,
                                       int64_t count) {
    for (int64_t r = 0; r < n_a; r++)
        for (int64_t k = 0; k < n_b; k++) {
            REAL *place = out + r * row_step + k * col_step;
            const REAL *u = a + r * a_step, *v = b + k * b_step;
            if (count == 1) { /* the last layers of the reverse: one token a sequence */
                *place += u[0] * v[0];
                continue;
            }
            XFI_NAME(vec) sums = {0};
            for (int64_t lane = 0; lane < count; lane += LANES)
                sums += *(const XFI_NAME(vec) *)(u + lane) * *(const XFI_NAME(vec) *)(v + lane);
            *place += XFI_NAME(fold)(&sums);
        }
}

/* <a, b> over `count` numbers, a multiple of LANES. */
static REAL XFI_NAME(inner)(const REAL *a, const REAL *b, int64_t count) {
    REAL total = 0;
    XFI_NAME(outer)(&total, 0, 0, a, 0, 1, b, 0, 1, count);
    return total;
}

/* Sum of `count` numbers, a multiple of LANES. */
static REAL XFI_NAME(total)(const REAL *a, int64_t count) {
    XFI_NAME(vec) sums = {0};
    for (int64_t lane = 0; lane < count; lane += LANES)
        sums += *(const XFI_NAME(vec) *)(a + lane);
    return XFI_NAME(fold)(&sums);
}

/* out_k += factor x_k. */
XFI_CLONES static void XFI_NAME(add_scaled)(REAL *restrict out, REAL factor, const REAL *restrict x,
                                            int64_t count) {
#pragma omp simd
    for (int64_t k = 0; k < count; k++)
        out[k] += factor * x[k];
}

/* The columns `list` of in [rows][in_step] as out [rows][out_step], padded by `rest`. */
static void XFI_NAME(gather)(REAL *out, int64_t out_step, const REAL *in, int64_t in_step,
                             int64_t rows, const int64_t *list, int64_t count, REAL rest) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < out_step; i++)
            out[r * out_step + i] = i < count ? in[r * in_step + list[i]] : rest;
}

/* Differences of logits that are exact in every order: everything is a point on a grid (C-grid).
 * This tells ties, which no interval can. */
#include "certify/cert_logit.h"

/* Least exponents: the matrix A (its entries, or left times right), right alone, the query and the
 * two keys. */
typedef struct logit_grid {
    int32_t matrix, right, query, key;
} logit_grid;

/* Is the token a point? Then its coordinates are multiples of 2^*least. */
static int is_point(const xfi_mix *mix, int64_t token, int32_t *least) {
    xfi_box box = xfi_token_box(mix->tokens, token, mix->d);
    *least = XFI_EXPONENT_OF_ZERO;
    for (int64_t k = 0; k < mix->d; k++) {
        if (box.low[k] != box.high[k])
            return 0;
        *least = xfi_exponent_min(*least, xfi_exponent_of(box.low[k]));
    }
    return 1;
}

static void set_matrix_grid(logit_grid *grid, const xfi_square *A, int64_t d) {
    int32_t left = XFI_EXPONENT_OF_ZERO;
    grid->matrix = xfi_exponent_of(A->alpha);
    grid->right = XFI_EXPONENT_OF_ZERO;
    if (xfi_is_scaling(A))
        return;
    for (int64_t k = 0; k < d; k++) {
        left = xfi_exponent_min(left, xfi_exponent_of(A->left[k]));
        grid->right = xfi_exponent_min(grid->right, xfi_exponent_of(A->right[k]));
    }
    grid->matrix = left + grid->right;
}

/* The grid of the logits of two keys; 0 if a token is no point, or A neither alpha I nor of rank
 * one. */
static int find_grid(logit_grid *grid, const xfi_mix *mix, int64_t i, int64_t best, int64_t l) {
    const xfi_square *A = &mix->sa->A;
    int32_t first = 0, second = 0;
    if (!xfi_is_scaling(A) && (A->full != NULL || A->alpha != 0.0))
        return 0;
    if (!is_point(mix, i, &grid->query) || !is_point(mix, best, &first) ||
        !is_point(mix, l, &second))
        return 0;
    grid->key = xfi_exponent_min(first, second);
    set_matrix_grid(grid, A, mix->d);
    return 1;
}

/* Is v, an upper bound computed in binary64, at most 2^e with room for its own rounding? */
static int fits(double v, int32_t e) {
    return v <= ldexp(1.0, e) * (1 - 0x1p-20);
}

/* Are all partial sums of both logits numbers of the format, whether A is materialised or not? */
static int is_exact(const xfi_mix *mix, const logit_grid *grid, int64_t i, int64_t best,
                    int64_t l) {
    const xfi_square *A = &mix->sa->A;
    int64_t d = mix->d;
    double size = 0.0, query = 0.0, matrix = fabs(A->alpha), inner = 0.0, left = 0.0;
    const double *x = mix->key + i * d, *a = mix->key + best * d, *b = mix->key + l * d;
    for (int64_t k = 0; k < d; k++) {
        size += mix->query_size[k] * fmax(fabs(a[k]), fabs(b[k])) * XFI_MIX_INFLATE;
        query = fmax(query, mix->query_size[k]);
        inner += fabs(A->right[k] * x[k]);
        left = fmax(left, fabs(A->left[k]));
    }
    for (int64_t k = 0; k < d; k++)
        matrix = fmax(matrix, left * fabs(A->right[k]));
    int32_t p = mix->sense->format.p, least = mix->sense->least;
    int32_t y = grid->matrix + grid->query, e = y + grid->key, right = grid->right + grid->query;
    if (e < least || grid->matrix < least || y < least || right < least)
        return 0;
    return fits(size, p + xfi_exponent_min(e, 900)) && fits(query, p + y) &&
           matrix <= ldexp(1.0, p + grid->matrix) &&
           (xfi_is_scaling(A) || fits(inner, p + right)) &&
           size < ldexp(1.0, mix->sense->format.emax - 2);
}

/* The difference into mix->size: y = alpha x, or left times an exact scalar product, and then
 * <y, a - b>. */
static void subtract(xfi_mix *mix, int64_t i, int64_t best, int64_t l) {
    const xfi_square *A = &mix->sa->A;
    int64_t d = mix->d;
    int is_scaling = xfi_is_scaling(A);
    const double *x = mix->key + i * d, *a = mix->key + best * d, *b = mix->key + l * d;
    arf_zero(mix->value);
    for (int64_t k = 0; k < d; k++) {
        arf_set_d(mix->low, A->right[k]);
        arf_set_d(mix->high, x[k]);
        xfi_arf_addmul(mix->value, mix->low, mix->high);
    }
    arf_zero(mix->size);
    for (int64_t k = 0; k < d; k++) {
        arf_set_d(mix->low, is_scaling ? A->alpha : A->left[k]);
        if (is_scaling)
            arf_set_d(mix->high, x[k]);
        else
            arf_set(mix->high, mix->value);
        xfi_arf_times(mix->low, mix->low, mix->high);
        arf_set_d(mix->high, a[k]);
        arf_set_d(mix->positive, b[k]);
        arf_sub(mix->high, mix->high, mix->positive, ARF_PREC_EXACT, ARF_RND_DOWN);
        xfi_arf_addmul(mix->size, mix->low, mix->high);
    }
}

int xfi_logit_exact_gap(xfi_mix *mix, int64_t i, int64_t best, int64_t l, double *gap) {
    logit_grid grid;
    if (!find_grid(&grid, mix, i, best, l))
        return 0;
    if (mix->sense->ieee && !is_exact(mix, &grid, i, best, l))
        return 0;
    subtract(mix, i, best, l);
    *gap = arf_get_d(mix->size, ARF_RND_NEAR);
    return arf_sgn(mix->size) == 0 || *gap != 0.0;
}

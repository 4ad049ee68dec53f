/* The view of a model that the engines compute with. */
#include "engine/weights.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>

static int all_zero(const double *values, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (values[i] != 0.0)
            return 0;
    return 1;
}

/* Is the matrix of one block zero by its parts (alpha, left or right, full)? */
static int low_rank_is_zero(const xf_low_rank *matrix, int64_t block, int64_t d) {
    return matrix->alpha[block] == 0.0 &&
           (all_zero(matrix->left + block * d, d) || all_zero(matrix->right + block * d, d)) &&
           (matrix->full == NULL || all_zero(matrix->full + block * d * d, d * d));
}

static int find_zeros(xfi_weights *out, const xf_model *model, int threads) {
    enum { MANY_BLOCKS = 256 };
    out->zero = xfi_calloc(model->n_blocks, 1);
    if (out->zero == NULL)
        return 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (model->n_blocks > MANY_BLOCKS)
    for (int64_t i = 0; i < model->n_blocks; i++) {
        int zero_a = low_rank_is_zero(&model->sa_A, i, model->d);
        int zero_v = low_rank_is_zero(&model->sa_V, i, model->d);
        out->zero[i] = (unsigned char)((zero_a ? XFI_ZERO_A : 0) | (zero_v ? XFI_ZERO_V : 0));
    }
    return 1;
}

static xfi_low_rank_view borrow_matrix(const xf_low_rank *m) {
    return (xfi_low_rank_view){m->alpha, m->left, m->right, m->full};
}

static void borrow(xfi_weights *out, const xf_model *model) {
    out->eta = model->ff_eta;
    out->W = model->ff_W;
    out->U = model->ff_U;
    out->b = model->ff_b;
    out->rho = model->sa_rho;
    out->A = borrow_matrix(&model->sa_A);
    out->V = borrow_matrix(&model->sa_V);
}

/* Copy n values as float to *cursor and move it on; returns where they start. */
static const float *narrow(float **cursor, const double *values, int64_t n) {
    float *start = *cursor;
    for (int64_t i = 0; i < n; i++)
        start[i] = (float)values[i];
    *cursor += n;
    return start;
}

static xfi_low_rank_view narrow_matrix(float **cursor, const xf_low_rank *m, int64_t n, int64_t d) {
    xfi_low_rank_view view = {0};
    view.alpha = narrow(cursor, m->alpha, n);
    view.left = narrow(cursor, m->left, n * d);
    view.right = narrow(cursor, m->right, n * d);
    if (m->full != NULL)
        view.full = narrow(cursor, m->full, n * d * d);
    return view;
}

static int narrow_all(xfi_weights *out, const xf_model *model) {
    int64_t n = model->n_blocks, d = model->d, w = model->width;
    int64_t n_full = (model->sa_A.full != NULL) + (model->sa_V.full != NULL);
    int64_t per_block = 2 * d * w + w + 4 * d + 4 + n_full * d * d;
    float *cursor = out->narrowed = xfi_calloc2(n, per_block, sizeof(float));
    if (cursor == NULL)
        return 0;
    out->eta = narrow(&cursor, model->ff_eta, n);
    out->W = narrow(&cursor, model->ff_W, n * d * w);
    out->U = narrow(&cursor, model->ff_U, n * w * d);
    out->b = narrow(&cursor, model->ff_b, n * w);
    out->rho = narrow(&cursor, model->sa_rho, n);
    out->A = narrow_matrix(&cursor, &model->sa_A, n, d);
    out->V = narrow_matrix(&cursor, &model->sa_V, n, d);
    return 1;
}

xf_status xfi_weights_new(xfi_weights *out, const xf_model *model, int threads, xf_error *error) {
    *out = (xfi_weights){.n_blocks = model->n_blocks,
                         .d = model->d,
                         .width = model->width,
                         .dtype = model->dtype,
                         .order = model->order};
    int ok = find_zeros(out, model, threads);
    if (ok && model->dtype == XF_F32)
        ok = narrow_all(out, model);
    else if (ok)
        borrow(out, model);
    if (ok)
        return XF_OK;
    xfi_weights_clear(out);
    return xfi_fail_memory(error);
}

void xfi_weights_clear(xfi_weights *weights) {
    xfi_free(weights->zero);
    xfi_free(weights->narrowed);
    *weights = (xfi_weights){0};
}

/* Balls through feed-forward layers and mean pooling. */
#include "construct/separation_bound.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/ball_block.h"
#include "construct/sequences.h"

#include <string.h>

/* Scratch for one sequence, and the blocks. */
typedef struct bounding {
    const xf_model *model;
    const xf_dataset *data;
    xfi_format format;
    int64_t n_blocks;
    xfi_block_view *views; /* [n_blocks] */
    int64_t n_views;
    xfi_ball *x;    /* [n_max][d] */
    xfi_ball *next; /* [d] */
    xfi_neuron_state *states;
} bounding;

static int is_zero(const double *v, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (v[k] != 0.0)
            return 0;
    return 1;
}

/* A = 0, rho = 1, V of rank one at most. */
static int has_shape(const xf_model *m, int64_t b) {
    return m->sa_A.alpha[b] == 0.0 && is_zero(m->sa_A.left + b * m->d, m->d) &&
           m->sa_A.full == NULL && m->sa_V.full == NULL && m->sa_V.alpha[b] == 0.0 &&
           m->sa_rho[b] == 1.0 && m->order == XF_FF_SA && !m->causal && m->dtype == XF_F64;
}

static void clear(bounding *b) {
    for (int64_t i = 0; i < b->n_views; i++)
        xfi_block_view_clear(&b->views[i]);
    xfi_free(b->views);
    xfi_free(b->x);
    xfi_free(b->next);
    xfi_free(b->states);
}

static int init(bounding *b) {
    b->views = xfi_calloc(b->n_blocks, sizeof *b->views);
    b->x = xfi_calloc2(xfi_longest_sequence(b->data), b->data->d, sizeof(xfi_ball));
    b->next = xfi_calloc(b->data->d, sizeof(xfi_ball));
    b->states = xfi_calloc(b->model->width, sizeof *b->states);
    int ok = b->views && b->x && b->next && b->states;
    for (int64_t i = 0; ok && i < b->n_blocks; i++) {
        ok = xfi_block_view_init(&b->views[i], b->model, i, &b->format);
        b->n_views += ok;
    }
    return ok;
}

/* mean_l <right, x_l> over n tokens, and the mean of the absolute terms. */
static xfi_ball pooled_mean(const bounding *b, const double *right, int64_t n, double *absolute) {
    int64_t d = b->data->d;
    xfi_dd sum = {0, 0};
    double errors = 0;
    *absolute = 0;
    for (int64_t l = 0; l < n; l++)
        for (int64_t k = 0; k < d; k++) {
            xfi_ball x = b->x[l * d + k];
            if (right[k] == 0.0)
                continue;
            sum = xfi_dd_add(sum, xfi_dd_scale(x.centre, right[k]));
            errors += fabs(right[k]) * x.error;
            *absolute += fabs(right[k]) * xfi_ball_magnitude(x);
        }
    double inflate = 1.0 + (double)(n * d + 8) * 0x1p-52;
    *absolute *= inflate / (double)n;
    return (xfi_ball){xfi_dd_divide(sum, (double)n), errors / (double)n * inflate};
}

/* x_i + left mean<right, x>: a term passes n + |right| + 8 roundings at most, x itself those of
 * the last sum, with V materialised or not. */
static void pool(const bounding *b, int64_t block, int64_t n) {
    int64_t d = b->data->d, n_right = 0;
    const double *left = b->model->sa_V.left + block * d, *right = b->model->sa_V.right + block * d;
    double absolute = 0;
    for (int64_t k = 0; k < d; k++)
        n_right += right[k] != 0.0;
    if (n_right == 0)
        return;
    xfi_ball mean = pooled_mean(b, right, n, &absolute);
    double own = xfi_gamma(&b->format, (double)n_right + 4);
    double pooled = xfi_gamma(&b->format, (double)(n + n_right) + 8);
    double underflow = (double)(n + n_right + 8) * b->format.smallest;
    for (int64_t i = 0; i < n * d; i++) {
        double gain = fabs(left[i % d]);
        if (gain == 0.0)
            continue;
        xfi_ball *x = &b->x[i];
        double magnitude = xfi_ball_magnitude(*x);
        x->centre = xfi_dd_add(x->centre, xfi_dd_scale(mean.centre, left[i % d]));
        x->error = (x->error + gain * mean.error + own * magnitude + pooled * gain * absolute +
                    (gain + 1) * underflow) *
                   XFI_INFLATE;
    }
}

static void bound_sequence(const bounding *b, int64_t j, double *centre, double *error) {
    int64_t d = b->data->d, first = b->data->x_offsets[j], n = xfi_inputs_of(b->data, j);
    for (int64_t i = 0; i < n * d; i++)
        b->x[i] = (xfi_ball){{b->data->x[first * d + i], 0.0}, 0.0};
    for (int64_t block = 0; block < b->n_blocks; block++) {
        for (int64_t l = 0; l < n; l++)
            xfi_ball_feed_forward(&b->views[block], b->x + l * d, b->next, b->states);
        pool(b, block, n);
    }
    for (int64_t i = 0; i < n * d; i++) {
        double value = xfi_dd_value(b->x[i].centre);
        centre[first * d + i] = value;
        error[first * d + i] =
            b->n_blocks == 0 ? 0.0 : (b->x[i].error + 0x1p-53 * fabs(value)) * XFI_INFLATE;
    }
}

xf_status xfi_separation_bound(double *centre, double *error, const xf_model *model,
                               int64_t n_blocks, const xf_dataset *data, xf_error *error_record) {
    bounding b = {.model = model, .data = data, .n_blocks = n_blocks};
    b.format = xfi_format_of(XF_F64);
    for (int64_t i = 0; i < n_blocks; i++)
        if (!has_shape(model, i))
            return xfi_fail(error_record, XF_ERR_ARGUMENT,
                            "the separation blocks of this model have an unknown shape");
    int ok = init(&b);
    for (int64_t j = 0; ok && j < data->n_sequences; j++)
        bound_sequence(&b, j, centre, error);
    clear(&b);
    return ok ? XF_OK : xfi_fail_memory(error_record);
}

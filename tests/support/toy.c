/* Random models that exercise every part of the formula. */
#include "support/toy.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *block) {
    if (block == NULL)
        abort();
    return block;
}

static double draw(xfi_rng *rng, const xft_toy *toy, double size) {
    if (toy->integers)
        return (double)(xfi_rng_below(rng, 3) - 1);
    return (double)(float)(size * xfi_rng_normal(rng));
}

static void fill(double *values, int64_t n, xfi_rng *rng, const xft_toy *toy, double size) {
    for (int64_t k = 0; k < n; k++)
        values[k] = draw(rng, toy, size);
}

static void fill_matrix(xf_low_rank *m, int64_t block, int parts, xfi_rng *rng, const xft_toy *toy,
                        double size) {
    int64_t d = toy->d;
    if (parts & XFT_ALPHA)
        m->alpha[block] = draw(rng, toy, size);
    if (parts & XFT_RANK_ONE) {
        fill(m->left + block * d, d, rng, toy, size);
        fill(m->right + block * d, d, rng, toy, size);
    }
    if (parts & XFT_FULL)
        fill(m->full + block * d * d, d * d, rng, toy, size / sqrt((double)d));
}

void xft_toy_model(xf_model *out, const xft_toy *toy) {
    int64_t L = toy->n_blocks, d = toy->d, w = toy->width;
    xfi_rng rng;
    xfi_rng_seed(&rng, toy->seed, 1);
    if (xf_model_new(out, L, d, w, NULL) != XF_OK)
        abort();
    out->dtype = toy->dtype;
    out->attention = toy->attention;
    out->order = toy->order;
    out->causal = toy->causal;
    out->tau = toy->tau > 0.0 ? toy->tau : 1.0;
    if (toy->A & XFT_FULL)
        out->sa_A.full = need(xfi_calloc2(L, d * d, sizeof(double)));
    if (toy->V & XFT_FULL)
        out->sa_V.full = need(xfi_calloc2(L, d * d, sizeof(double)));
    fill(out->ff_U, L * w * d, &rng, toy, 1.0 / sqrt((double)d));
    fill(out->ff_W, L * w * d, &rng, toy, 0.3);
    fill(out->ff_b, L * w, &rng, toy, 0.5);
    for (int64_t b = 0; b < L; b++) {
        out->ff_eta[b] = toy->integers ? 1.0 : (double)(float)(0.5 + xfi_rng_uniform(&rng) / 2);
        out->sa_rho[b] = toy->integers ? 1.0 : (double)(float)(0.5 + xfi_rng_uniform(&rng) / 2);
        fill_matrix(&out->sa_A, b, toy->A, &rng, toy, 0.7);
        fill_matrix(&out->sa_V, b, b % 3 == 1 ? 0 : toy->V, &rng, toy, 0.5);
    }
}

void xft_toy_inputs(xf_dataset *out, const xft_toy *toy, int64_t n_sequences, int64_t n_max) {
    xfi_rng rng;
    xfi_rng_seed(&rng, toy->seed, 2);
    *out = (xf_dataset){.n_sequences = n_sequences, .d = toy->d, .positions = -1};
    out->x_offsets = need(xfi_calloc(n_sequences + 1, sizeof(int64_t)));
    for (int64_t j = 0; j < n_sequences; j++)
        out->x_offsets[j + 1] = out->x_offsets[j] + 1 + xfi_rng_below(&rng, n_max);
    out->n_tokens = out->x_offsets[n_sequences];
    out->x = need(xfi_calloc2(out->n_tokens, toy->d, sizeof(double)));
    for (int64_t k = 0; k < out->n_tokens * toy->d; k++)
        out->x[k] = toy->integers ? (double)(xfi_rng_below(&rng, 5) - 2) : xfi_rng_normal(&rng);
}

static int occurs(const double *rows, int64_t n, const double *row, int64_t d) {
    for (int64_t i = 0; i < n; i++)
        if (xft_same_values(rows + i * d, row, d))
            return 1;
    return 0;
}

void xft_toy_targets(xf_dataset *data, const double *out) {
    int64_t d = data->d;
    data->y = need(xfi_calloc2(data->n_tokens, d, sizeof(double)));
    data->y_offsets = need(xfi_calloc(data->n_sequences + 1, sizeof(int64_t)));
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->n_targets;
        for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++) {
            if (occurs(data->y + first * d, data->n_targets - first, out + i * d, d))
                continue;
            memcpy(data->y + data->n_targets++ * d, out + i * d, (size_t)d * sizeof(double));
        }
        data->y_offsets[j + 1] = data->n_targets;
    }
}

void xft_toy_dataset_clear(xf_dataset *data) {
    xfi_free(data->x);
    xfi_free(data->x_offsets);
    xfi_free(data->y);
    xfi_free(data->y_offsets);
    *data = (xf_dataset){0};
}

int xft_same_values(const double *a, const double *b, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (a[k] != b[k] && !(isnan(a[k]) && isnan(b[k])))
            return 0;
    return 1;
}

double *xft_toy_output(const xf_dataset *data) {
    return need(xfi_calloc2(data->n_tokens, data->d, sizeof(double)));
}

/* The model in memory: allocation and invariants. */
#include <exactformer/model.h>

#include "base/alloc.h"
#include "base/error.h"
#include "core/model_shape.h"

#include <math.h>
#include <string.h>

void xf_model_init(xf_model *model) {
    *model = (xf_model){.tau = 1.0, .tau_max = INFINITY, .positions = -1};
}

static void low_rank_clear(xf_low_rank *matrix) {
    xfi_free(matrix->alpha);
    xfi_free(matrix->left);
    xfi_free(matrix->right);
    xfi_free(matrix->full);
}

void xf_model_clear(xf_model *model) {
    if (model == NULL)
        return;
    xfi_free(model->phases);
    xfi_free(model->ff_eta);
    xfi_free(model->ff_W);
    xfi_free(model->ff_U);
    xfi_free(model->ff_b);
    xfi_free(model->sa_rho);
    low_rank_clear(&model->sa_A);
    low_rank_clear(&model->sa_V);
    xf_model_init(model);
}

static int low_rank_new(xf_low_rank *matrix, int64_t n_blocks, int64_t d) {
    matrix->alpha = xfi_calloc(n_blocks, sizeof(double));
    matrix->left = xfi_calloc2(n_blocks, d, sizeof(double));
    matrix->right = xfi_calloc2(n_blocks, d, sizeof(double));
    return matrix->alpha != NULL && matrix->left != NULL && matrix->right != NULL;
}

xf_status xf_model_new(xf_model *out, int64_t n_blocks, int64_t d, int64_t width, xf_error *error) {
    xf_model_init(out);
    int64_t matrix = 0;
    if (n_blocks < 1 || d < 1 || width < 0 || __builtin_mul_overflow(d, width, &matrix))
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "a model needs at least one block and one dimension, got %lld and %lld",
                        (long long)n_blocks, (long long)d);
    out->n_blocks = n_blocks;
    out->d = d;
    out->width = width;
    strcpy(out->construction, "edited");
    out->ff_eta = xfi_calloc(n_blocks, sizeof(double));
    out->ff_W = xfi_calloc2(n_blocks, matrix, sizeof(double));
    out->ff_U = xfi_calloc2(n_blocks, matrix, sizeof(double));
    out->ff_b = xfi_calloc2(n_blocks, width, sizeof(double));
    out->sa_rho = xfi_calloc(n_blocks, sizeof(double));
    int ok = low_rank_new(&out->sa_A, n_blocks, d) && low_rank_new(&out->sa_V, n_blocks, d);
    if (!ok || !out->ff_eta || !out->ff_W || !out->ff_U || !out->ff_b || !out->sa_rho) {
        xf_model_clear(out);
        return xfi_fail_memory(error);
    }
    for (int64_t i = 0; i < n_blocks; i++)
        out->ff_eta[i] = out->sa_rho[i] = 1.0;
    return XF_OK;
}

xf_status xfi_model_add_phase(xf_model *model, const char *name, int64_t count, xf_error *error) {
    if (count == 0)
        return XF_OK;
    int64_t n = model->n_phases;
    xf_phase *phases = xfi_realloc(model->phases, n + 1, sizeof *phases);
    if (phases == NULL)
        return xfi_fail_memory(error);
    model->phases = phases;
    phases[n] =
        (xf_phase){.first = n ? phases[n - 1].first + phases[n - 1].count : 0, .count = count};
    strncpy(phases[n].name, name, sizeof phases[n].name - 1);
    model->n_phases = n + 1;
    return XF_OK;
}

int64_t xf_published_bound(int64_t n_sequences, int64_t n_targets, xf_attention attention) {
    return attention == XF_HARDMAX ? 2 * n_targets + 2 * n_sequences + 1
                                   : 2 * n_targets + 3 * n_sequences;
}

int xfi_model_arrays(const xf_model *model, xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS]) {
    int64_t n = model->n_blocks, d = model->d, w = model->width;
    const xfi_weight_array all[XFI_N_WEIGHT_ARRAYS] = {
        {"ff.eta", model->ff_eta, n, {1, 1}, 0},
        {"ff.W", model->ff_W, n, {d, w}, 2},
        {"ff.U", model->ff_U, n, {w, d}, 2},
        {"ff.b", model->ff_b, n, {w, 1}, 1},
        {"sa.rho", model->sa_rho, n, {1, 1}, 0},
        {"sa.A.alpha", model->sa_A.alpha, n, {1, 1}, 0},
        {"sa.A.left", model->sa_A.left, n, {d, 1}, 1},
        {"sa.A.right", model->sa_A.right, n, {d, 1}, 1},
        {"sa.V.alpha", model->sa_V.alpha, n, {1, 1}, 0},
        {"sa.V.left", model->sa_V.left, n, {d, 1}, 1},
        {"sa.V.right", model->sa_V.right, n, {d, 1}, 1},
        {"sa.A.full", model->sa_A.full, n, {d, d}, 2},
        {"sa.V.full", model->sa_V.full, n, {d, d}, 2},
    };
    int count = 0;
    for (int i = 0; i < XFI_N_WEIGHT_ARRAYS; i++)
        if (all[i].values != NULL)
            arrays[count++] = all[i];
    return count;
}

enum { RUN = 16 };

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int is_run_of_zeros(const double *values) {
    uint64_t bits = 0;
    for (int i = 0; i < RUN; i++)
        bits |= bits_of(values[i]);
    return bits == 0;
}

int64_t xfi_next_weight(const double *values, int64_t i, int64_t n) {
    for (; i < n; i++) {
        while (i % RUN == 0 && n - i >= RUN && is_run_of_zeros(values + i))
            i += RUN;
        if (i == n || bits_of(values[i]) != 0)
            break;
    }
    return i;
}

int xfi_array_is_optional(const xfi_weight_array *array) {
    return strcmp(array->name, "sa.A.full") == 0 || strcmp(array->name, "sa.V.full") == 0;
}

/* Models as members of a family, and back. Layer k of the model becomes layer k + shift of the
 * family, shift = 1 if the orders differ; all other layers stay identities. */
#include "train/layout.h"

#include "base/alloc.h"
#include "base/error.h"
#include "core/model_shape.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static int all_zero(const double *values, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (values[i] != 0.0)
            return 0;
    return 1;
}

static int has_full(const xf_low_rank *m, int64_t block, int64_t d) {
    return m->full != NULL && !all_zero(m->full + block * d * d, d * d);
}

static int has_rank_one(const xf_low_rank *m, int64_t block, int64_t d) {
    return !all_zero(m->left + block * d, d) && !all_zero(m->right + block * d, d);
}

static int is_zero(const xf_low_rank *m, int64_t block, int64_t d) {
    return m->alpha[block] == 0.0 && !has_rank_one(m, block, d) && !has_full(m, block, d);
}

/* Without values attention is the identity, whatever the mask and the temperature. */
static int attends(const xf_model *model) {
    for (int64_t i = 0; i < model->n_blocks; i++)
        if (!is_zero(&model->sa_V, i, model->d))
            return 1;
    return 0;
}

void xf_family_of_model(xf_family *out, const xf_model *model, double tau) {
    int64_t d = model->d;
    double own = model->attention == XF_SOFTMAX ? model->tau : 1.0;
    *out = (xf_family){.n_blocks = model->n_blocks,
                       .d = d,
                       .width = model->width,
                       .rank = 1,
                       .value = XF_VALUE_LOW_RANK,
                       .order = model->order,
                       .causal = model->causal,
                       .tau = tau > 0.0 ? tau : own};
    for (int64_t i = 0; i < model->n_blocks; i++) {
        if (has_full(&model->sa_V, i, d))
            out->value = XF_VALUE_FULL;
        if (!is_zero(&model->sa_V, i, d) && model->sa_A.alpha[i] != 0.0)
            out->scalar = 1;
    }
}

/* --- model to parameters ------------------------------------------------------------- */

static xf_status refuse(xf_error *error, const char *what, int64_t a, int64_t b) {
    return xfi_fail(error, XF_ERR_INFEASIBLE,
                    "the model does not belong to the family: %s %lld, the family has %lld", what,
                    (long long)a, (long long)b);
}

/* Mask and temperature. */
static xf_status check_attention(const xf_family *family, const xf_model *model, xf_error *error) {
    int anywhere = model->tau_max >= family->tau && strcmp(model->construction, "trained") != 0;
    if (!attends(model))
        return XF_OK;
    if (!family->causal != !model->causal)
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "the model does not belong to the family: the %s is causal, the %s is not",
                        model->causal ? "model" : "family", model->causal ? "family" : "model");
    if (!anywhere && (model->attention == XF_HARDMAX || model->tau != family->tau))
        return xfi_fail(error, XF_ERR_INFEASIBLE,
                        "the model does not belong to the family: it does not compute the same "
                        "with softmax at the family's temperature");
    return XF_OK;
}

static xf_status check_shape(const xf_family *family, const xf_model *model, xf_error *error) {
    int64_t needed = model->n_blocks + (family->order != model->order);
    if (family->d != model->d)
        return refuse(error, "its dimension is", model->d, family->d);
    if (family->n_blocks < needed)
        return refuse(error, "with the layers in the family's order its blocks are", needed,
                      family->n_blocks);
    if (family->width < model->width)
        return refuse(error, "its width is", model->width, family->width);
    return check_attention(family, model, error);
}

static xf_status refuse_block(xf_error *error, const char *what, int64_t block) {
    return xfi_fail(error, XF_ERR_INFEASIBLE,
                    "the model does not belong to the family: %s in block %lld", what,
                    (long long)block);
}

static xf_status embed_A(double *theta, const xf_family *family, const xfi_layout *at,
                         const xf_low_rank *A, int64_t block, xf_error *error) {
    int64_t d = family->d;
    if (has_full(A, block, d))
        return refuse_block(error, "A is a full matrix", block);
    if (A->alpha[block] != 0.0 && !family->scalar)
        return refuse_block(error, "A has a multiple of the identity", block);
    if (has_rank_one(A, block, d) && family->rank < 1)
        return refuse_block(error, "A has rank one", block);
    if (family->scalar)
        theta[at->A_alpha] = A->alpha[block];
    if (has_rank_one(A, block, d)) {
        memcpy(theta + at->K, A->left + block * d, (size_t)d * sizeof(double));
        memcpy(theta + at->Q, A->right + block * d, (size_t)d * sizeof(double));
    }
    return XF_OK;
}

/* One entry of alpha I + left right^T + full; 0 if it is no number of binary64. */
static int entry(double *out, const xf_low_rank *m, int64_t block, int64_t d, int64_t c,
                 int64_t k) {
    double left = m->left[block * d + c], right = m->right[block * d + k];
    double terms[3] = {c == k ? m->alpha[block] : 0.0, left * right,
                       m->full != NULL ? m->full[(block * d + c) * d + k] : 0.0};
    int n_terms = 0;
    *out = 0.0;
    for (int i = 0; i < 3; i++) {
        n_terms += terms[i] != 0.0;
        *out += terms[i];
    }
    return n_terms <= 1 && fma(left, right, -terms[1]) == 0.0;
}

static xf_status embed_V(double *theta, const xf_family *family, const xfi_layout *at,
                         const xf_low_rank *V, int64_t block, xf_error *error) {
    int64_t d = family->d;
    if (family->value == XF_VALUE_LOW_RANK && has_full(V, block, d))
        return refuse_block(error, "V is a full matrix", block);
    if (family->value == XF_VALUE_LOW_RANK) {
        theta[at->V_alpha] = V->alpha[block];
        memcpy(theta + at->V_left, V->left + block * d, (size_t)d * sizeof(double));
        memcpy(theta + at->V_right, V->right + block * d, (size_t)d * sizeof(double));
        return XF_OK;
    }
    for (int64_t c = 0; c < d; c++)
        for (int64_t k = 0; k < d; k++)
            if (!entry(&theta[at->V_full + c * d + k], V, block, d, c, k))
                return refuse_block(error, "V is not exactly a matrix of numbers", block);
    return XF_OK;
}

static void embed_ff(double *theta, const xf_family *family, const xfi_layout *at,
                     const xf_model *model, int64_t block) {
    int64_t d = model->d, w = model->width;
    size_t row = (size_t)w * sizeof(double);
    theta[at->eta] = model->ff_eta[block];
    memcpy(theta + at->U, model->ff_U + block * w * d, row * (size_t)d);
    memcpy(theta + at->b, model->ff_b + block * w, row);
    for (int64_t c = 0; c < d; c++)
        memcpy(theta + at->W + c * family->width, model->ff_W + (block * d + c) * w, row);
}

static xf_status embed_sa(double *theta, const xf_family *family, const xfi_layout *at,
                          const xf_model *model, int64_t block, xf_error *error) {
    theta[at->rho] = model->sa_rho[block];
    if (is_zero(&model->sa_V, block, model->d)) /* then A does nothing */
        return XF_OK;
    XFI_TRY(embed_A(theta, family, at, &model->sa_A, block, error));
    return embed_V(theta, family, at, &model->sa_V, block, error);
}

xf_status xf_family_embed(double *theta, const xf_family *family, const xf_model *model,
                          xf_error *error) {
    XFI_TRY(check_shape(family, model, error));
    xfi_layout at = xfi_layout_of(family);
    int64_t shift = family->order != model->order;
    memset(theta, 0, (size_t)xf_family_parameters(family) * sizeof(double));
    for (int64_t i = 0; i < family->n_blocks; i++)
        theta[i * at.block_size + at.rho] = theta[i * at.block_size + at.eta] = 1.0;
    for (int64_t layer = 0; layer < 2 * model->n_blocks; layer++) {
        double *place = theta + (layer + shift) / 2 * at.block_size;
        if (xfi_family_layer_is_attention(family, layer + shift))
            XFI_TRY(embed_sa(place, family, &at, model, layer / 2, error));
        else
            embed_ff(place, family, &at, model, layer / 2);
    }
    return XF_OK;
}

/* --- parameters to model ------------------------------------------------------------- */

static xf_status add_full(double **full, const xf_family *family, xf_error *error) {
    *full = xfi_calloc2(family->n_blocks, family->d * family->d, sizeof(double));
    return *full != NULL ? XF_OK : xfi_fail_memory(error);
}

static xf_status allocate(xf_model *out, const xf_family *family, xf_error *error) {
    XFI_TRY(xf_model_new(out, family->n_blocks, family->d, family->width, error));
    if (family->rank > 1)
        XFI_TRY(add_full(&out->sa_A.full, family, error));
    if (family->value == XF_VALUE_FULL)
        XFI_TRY(add_full(&out->sa_V.full, family, error));
    return xfi_model_add_phase(out, "trained", family->n_blocks, error);
}

/* sum over r of K_r Q_r^T, rounded to the format. */
static void multiply_out(double *full, const double *Q, const double *K, const xf_family *family,
                         xf_dtype dtype) {
    int64_t d = family->d;
    for (int64_t r = 0; r < family->rank; r++)
        for (int64_t c = 0; c < d; c++)
            for (int64_t k = 0; k < d; k++)
                full[c * d + k] += K[r * d + c] * Q[r * d + k];
    for (int64_t i = 0; dtype == XF_F32 && i < d * d; i++)
        full[i] = (double)(float)full[i];
}

static void unpack_sa(xf_model *out, const xf_family *family, const xfi_layout *at,
                      const double *theta, int64_t block) {
    int64_t d = family->d;
    size_t row = (size_t)d * sizeof(double);
    out->sa_rho[block] = theta[at->rho];
    if (family->scalar)
        out->sa_A.alpha[block] = theta[at->A_alpha];
    if (family->rank == 1) {
        memcpy(out->sa_A.left + block * d, theta + at->K, row);
        memcpy(out->sa_A.right + block * d, theta + at->Q, row);
    } else if (family->rank > 1) {
        multiply_out(out->sa_A.full + block * d * d, theta + at->Q, theta + at->K, family,
                     out->dtype);
    }
    if (family->value == XF_VALUE_FULL) {
        memcpy(out->sa_V.full + block * d * d, theta + at->V_full, row * (size_t)d);
        return;
    }
    out->sa_V.alpha[block] = theta[at->V_alpha];
    memcpy(out->sa_V.left + block * d, theta + at->V_left, row);
    memcpy(out->sa_V.right + block * d, theta + at->V_right, row);
}

static void unpack(xf_model *out, const xf_family *family, const double *theta) {
    xfi_layout at = xfi_layout_of(family);
    int64_t d = family->d, w = family->width;
    size_t row = (size_t)w * sizeof(double);
    for (int64_t i = 0; i < family->n_blocks; i++, theta += at.block_size) {
        unpack_sa(out, family, &at, theta, i);
        out->ff_eta[i] = theta[at.eta];
        memcpy(out->ff_W + i * d * w, theta + at.W, row * (size_t)d);
        memcpy(out->ff_U + i * w * d, theta + at.U, row * (size_t)d);
        memcpy(out->ff_b + i * w, theta + at.b, row);
    }
}

xf_status xf_family_model(xf_model *out, const xf_family *family, const double *theta,
                          xf_dtype dtype, xf_error *error) {
    xf_model_init(out);
    XFI_TRY(xf_family_check(family, error));
    xf_status status = allocate(out, family, error);
    if (status == XF_OK) {
        out->dtype = dtype;
        out->attention = XF_SOFTMAX;
        out->tau = family->tau;
        out->tau_max = 0.0; /* nothing is proved */
        out->order = family->order;
        out->causal = family->causal;
        strcpy(out->construction, "trained");
        unpack(out, family, theta);
        status = xf_model_check(out, error);
    }
    if (status != XF_OK)
        xf_model_clear(out);
    return status;
}

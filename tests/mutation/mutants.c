#include "mutation/mutants.h"

#include "base/alloc.h"
#include "core/model_shape.h"
#include "num/format.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[XFT_N_MUTATIONS] = {"weight, one bit",
                                                   "zero weight, one bit",
                                                   "input weight, ulp",
                                                   "output weight, ulp",
                                                   "threshold, ulp",
                                                   "threshold, low bit",
                                                   "threshold doubled",
                                                   "output weight zeroed",
                                                   "input weight negated",
                                                   "eta or rho",
                                                   "V or A, ulp",
                                                   "block dropped",
                                                   "blocks swapped",
                                                   "block repeated",
                                                   "input datum, ulp",
                                                   "target datum, ulp",
                                                   "overflow",
                                                   "underflow",
                                                   "weight subnormal",
                                                   "zeros negated"};

const char *xft_mutation_name(xft_mutation how) {
    return names[how];
}

static void *need(void *block) {
    if (block == NULL)
        abort();
    return block;
}

/* ---- copies ---- */

static int64_t block_size(const xfi_weight_array *a) {
    return a->shape[0] * a->shape[1];
}

/* The blocks order[0], ..., order[n-1] of a model without full matrices. */
static void rearrange(xf_model *out, const xf_model *model, const int64_t *order, int64_t n) {
    xfi_weight_array from[XFI_N_WEIGHT_ARRAYS], to[XFI_N_WEIGHT_ARRAYS];
    if (model->sa_A.full != NULL || model->sa_V.full != NULL ||
        xf_model_new(out, n, model->d, model->width, NULL) != XF_OK)
        abort();
    out->dtype = model->dtype;
    out->attention = model->attention;
    out->order = model->order;
    out->causal = model->causal;
    out->tau = model->tau;
    out->tau_max = model->tau_max;
    int n_arrays = xfi_model_arrays(model, from);
    xfi_model_arrays(out, to);
    for (int a = 0; a < n_arrays; a++)
        for (int64_t b = 0; b < n; b++)
            memcpy(to[a].values + b * block_size(&to[a]),
                   from[a].values + order[b] * block_size(&from[a]),
                   (size_t)block_size(&to[a]) * sizeof(double));
}

static int64_t *in_order(int64_t n) {
    int64_t *order = need(xfi_calloc(n, sizeof *order));
    for (int64_t b = 0; b < n; b++)
        order[b] = b;
    return order;
}

void xft_copy_model(xf_model *out, const xf_model *model) {
    int64_t *order = in_order(model->n_blocks);
    rearrange(out, model, order, model->n_blocks);
    xfi_free(order);
}

static void *duplicate(const void *from, int64_t n, size_t size) {
    void *to = need(xfi_calloc(n, size));
    memcpy(to, from, (size_t)n * size);
    return to;
}

void xft_copy_data(xf_dataset *out, const xf_dataset *data) {
    *out = *data;
    out->x = duplicate(data->x, data->n_tokens * data->d, sizeof(double));
    out->y = duplicate(data->y, data->n_targets * data->d, sizeof(double));
    out->x_offsets = duplicate(data->x_offsets, data->n_sequences + 1, sizeof(int64_t));
    out->y_offsets = duplicate(data->y_offsets, data->n_sequences + 1, sizeof(int64_t));
}

static int equal_values(const double *a, const double *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

int xft_equal(const xf_model *a, const xf_dataset *x, const xf_model *b, const xf_dataset *y) {
    xfi_weight_array of_a[XFI_N_WEIGHT_ARRAYS], of_b[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(a, of_a), equal = a->n_blocks == b->n_blocks;
    xfi_model_arrays(b, of_b);
    for (int k = 0; k < n && equal; k++)
        equal = equal_values(of_a[k].values, of_b[k].values, a->n_blocks * block_size(&of_a[k]));
    return equal && equal_values(x->x, y->x, x->n_tokens * x->d) &&
           equal_values(x->y, y->y, x->n_targets * x->d);
}

/* ---- single numbers ---- */

/* A random one of the values [n] that are zero, or that are not; NULL if there is none. */
static double *pick(double *values, int64_t n, int zero, xfi_rng *rng) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += (values[i] == 0.0) == zero;
    int64_t skip = count > 0 ? xfi_rng_below(rng, count) : -1;
    for (int64_t i = 0; i < n && skip >= 0; i++)
        if ((values[i] == 0.0) == zero && skip-- == 0)
            return values + i;
    return NULL;
}

/* The same among several arrays, from `first` to `last` in the order of the interchange layout. */
static double *pick_weight(const xf_model *m, int first, int last, int zero, xfi_rng *rng) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(m, arrays);
    int64_t start = xfi_rng_below(rng, last - first + 1);
    for (int64_t k = 0; k <= last - first; k++) {
        const xfi_weight_array *a = &arrays[first + (start + k) % (last - first + 1)];
        if (first + (start + k) % (last - first + 1) >= n)
            continue;
        double *value = pick(a->values, a->n_blocks * block_size(a), zero, rng);
        if (value != NULL)
            return value;
    }
    return NULL;
}

/* Places in the order of the interchange layout. */
enum { ETA = 0, FF_W = 1, FF_U = 2, FF_B = 3, RHO = 4, FIRST_MATRIX = 5, LAST_MATRIX = 10 };

static double flipped(double v, xf_dtype dtype, int64_t bit) {
    if (dtype == XF_F32) {
        float f = (float)v;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        bits ^= (uint32_t)1 << bit;
        memcpy(&f, &bits, sizeof f);
        return (double)f;
    }
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits ^= (uint64_t)1 << bit;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double neighbour(double v, xf_dtype dtype, int up) {
    return dtype == XF_F32 ? (double)nextafterf((float)v, up ? INFINITY : -INFINITY)
                           : nextafter(v, up ? INFINITY : -INFINITY);
}

/* Replace a number if the new one is finite and another. */
static int set(double *place, double v) {
    if (!isfinite(v) || v == *place)
        return 0;
    *place = v;
    return 1;
}

static int nudge(double *place, xf_dtype dtype, xfi_rng *rng) {
    return place != NULL && set(place, neighbour(*place, dtype, (int)xfi_rng_below(rng, 2)));
}

static int flip_weight(const xf_model *m, int zero, xfi_rng *rng) {
    double *place = pick_weight(m, ETA, LAST_MATRIX, zero, rng);
    int64_t n_bits = m->dtype == XF_F32 ? 32 : 64, mantissa = m->dtype == XF_F32 ? 23 : 52;
    int64_t bit =
        zero && xfi_rng_below(rng, 2) ? xfi_rng_below(rng, mantissa) : xfi_rng_below(rng, n_bits);
    return place != NULL && set(place, flipped(*place, m->dtype, bit));
}

static int change_bias(const xf_model *m, xft_mutation how, xfi_rng *rng) {
    const xfi_format format = xfi_format_of(m->dtype);
    double *place = pick_weight(m, FF_B, FF_B, 0, rng);
    if (place == NULL)
        return 0;
    double v = *place + (how == XFT_BIAS_DOUBLED ? *place : ldexp(1.0, xfi_lowest_bit(*place)));
    return xfi_representable(&format, v) && set(place, v);
}

static int change_residual(const xf_model *m, xfi_rng *rng) {
    double *place =
        (xfi_rng_below(rng, 3) ? m->ff_eta : m->sa_rho) + xfi_rng_below(rng, m->n_blocks);
    return set(place, *place == 0.0 ? 1.0 : *place - xfi_format_of(m->dtype).u * *place);
}

/* ---- blocks ---- */

static int change_blocks(xf_model *m, xft_mutation how, xfi_rng *rng) {
    int64_t L = m->n_blocks, b = xfi_rng_below(rng, L), n = 0;
    if (L < 2)
        return 0;
    int64_t *order = need(xfi_calloc(L + 1, sizeof *order));
    for (int64_t k = 0; k < L; k++) {
        if (!(how == XFT_DROP_BLOCK && k == b))
            order[n++] = k;
        if (how == XFT_REPEAT_BLOCK && k == b)
            order[n++] = k;
    }
    if (how == XFT_SWAP_BLOCKS) {
        int64_t other = (b + 1) % L;
        order[b] = other;
        order[other] = b;
    }
    xf_model changed;
    rearrange(&changed, m, order, n);
    xf_model_clear(m);
    *m = changed;
    xfi_free(order);
    return 1;
}

/* ---- the ends of the range ---- */

/* Multiply a neuron's inputs and bias by 2^e and its outputs by 2^f. Returns 0, and changes
 * nothing, if a weight would not be finite. */
static int scale_neuron(const xf_model *m, int64_t block, int64_t i, int e, int f) {
    const xfi_format format = xfi_format_of(m->dtype);
    double *U = m->ff_U + (block * m->width + i) * m->d, *b = m->ff_b + block * m->width + i,
           *W = m->ff_W + block * m->d * m->width + i;
    int fits = isfinite(xfi_round(&format, ldexp(*b, e)));
    for (int64_t k = 0; k < m->d; k++)
        fits &= isfinite(xfi_round(&format, ldexp(U[k], e))) &&
                isfinite(xfi_round(&format, ldexp(W[k * m->width], f)));
    for (int64_t k = 0; k < m->d && fits; k++) {
        U[k] = xfi_round(&format, ldexp(U[k], e));
        W[k * m->width] = xfi_round(&format, ldexp(W[k * m->width], f));
    }
    if (fits)
        *b = xfi_round(&format, ldexp(*b, e));
    return fits;
}

/* A random neuron that reads something; returns 0 if eight draws find none. */
static int pick_neuron(int64_t *block, int64_t *i, const xf_model *m, xfi_rng *rng) {
    for (int draw = 0; draw < 8; draw++) {
        *block = xfi_rng_below(rng, m->n_blocks);
        *i = xfi_rng_below(rng, m->width);
        const double *U = m->ff_U + (*block * m->width + *i) * m->d;
        for (int64_t k = 0; k < m->d; k++)
            if (U[k] != 0.0)
                return 1;
    }
    return 0;
}

static int overflow(const xf_model *m, xfi_rng *rng) {
    const xfi_format format = xfi_format_of(m->dtype);
    int64_t block, i;
    int e = format.emax - (int)xfi_rng_below(rng, format.emax / 6);
    double *place = pick_weight(m, ETA, LAST_MATRIX, 0, rng);
    if (xfi_rng_below(rng, 2) && place != NULL)
        return set(place, ldexp(1.0, e));
    return pick_neuron(&block, &i, m, rng) && scale_neuron(m, block, i, e - e / 8, -e + e / 8);
}

static int underflow(const xf_model *m, xfi_rng *rng) {
    const xfi_format format = xfi_format_of(m->dtype);
    int64_t block, i;
    int e = format.emin - (int)xfi_rng_below(rng, format.p) + (int)xfi_rng_below(rng, format.p);
    if (!pick_neuron(&block, &i, m, rng))
        return 0;
    return scale_neuron(m, block, i, e, -e) ||
           scale_neuron(m, block, i, format.emin + 2 * format.p, -(format.emin + 2 * format.p));
}

static int make_subnormal(const xf_model *m, xfi_rng *rng) {
    const xfi_format format = xfi_format_of(m->dtype);
    double *place = pick_weight(m, ETA, LAST_MATRIX, (int)xfi_rng_below(rng, 2), rng);
    double size = ldexp(1.0, format.emin - 1 - (int)xfi_rng_below(rng, format.p - 1));
    return place != NULL && set(place, xfi_rng_below(rng, 2) ? size : -size);
}

static int negate_zeros(const xf_model *m, const xf_dataset *data) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(m, arrays);
    for (int k = 0; k < n; k++)
        for (int64_t i = 0; i < arrays[k].n_blocks * block_size(&arrays[k]); i++)
            if (arrays[k].values[i] == 0.0)
                arrays[k].values[i] = -0.0;
    for (int64_t i = 0; i < data->n_tokens * data->d; i++)
        if (data->x[i] == 0.0)
            data->x[i] = -0.0;
    return 1;
}

int xft_mutate(xf_model *m, xf_dataset *data, xft_mutation how, xfi_rng *rng) {
    double *place;
    switch (how) {
    case XFT_FLIP_BIT:
    case XFT_FLIP_ZERO:
        return flip_weight(m, how == XFT_FLIP_ZERO, rng);
    case XFT_INPUT_ULP:
        return nudge(pick_weight(m, FF_U, FF_U, 0, rng), m->dtype, rng);
    case XFT_OUTPUT_ULP:
        return nudge(pick_weight(m, FF_W, FF_W, 0, rng), m->dtype, rng);
    case XFT_BIAS_ULP:
        return nudge(pick_weight(m, FF_B, FF_B, 0, rng), m->dtype, rng);
    case XFT_BIAS_STEP:
    case XFT_BIAS_DOUBLED:
        return change_bias(m, how, rng);
    case XFT_OUTPUT_ZERO:
        return (place = pick_weight(m, FF_W, FF_W, 0, rng)) != NULL && set(place, 0.0);
    case XFT_INPUT_SIGN:
        return (place = pick_weight(m, FF_U, FF_U, 0, rng)) != NULL && set(place, -*place);
    case XFT_RESIDUAL:
        return change_residual(m, rng);
    case XFT_POOLING_ULP:
        return nudge(pick_weight(m, FIRST_MATRIX, LAST_MATRIX, 0, rng), m->dtype, rng);
    case XFT_DROP_BLOCK:
    case XFT_SWAP_BLOCKS:
    case XFT_REPEAT_BLOCK:
        return change_blocks(m, how, rng);
    case XFT_DATA_INPUT:
        return nudge(pick(data->x, data->n_tokens * data->d, 0, rng), m->dtype, rng);
    case XFT_DATA_TARGET:
        return nudge(pick(data->y, data->n_targets * data->d, 0, rng), m->dtype, rng);
    case XFT_OVERFLOW:
        return overflow(m, rng);
    case XFT_UNDERFLOW:
        return underflow(m, rng);
    case XFT_SUBNORMAL:
        return make_subnormal(m, rng);
    case XFT_NEGATIVE_ZERO:
        return negate_zeros(m, data);
    default:
        return 0;
    }
}

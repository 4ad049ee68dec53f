/* Walking through the blocks in front of the collapse. */
#include "construct/settle.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/separation_bound.h"
#include "num/double_double.h"
#include "num/format.h"

#include <limits.h>

static xf_status bad_shape(xf_error *error, const char *phase) {
    return xfi_fail(error, XF_ERR_ARGUMENT, "the %s blocks of this model have an unknown shape",
                    phase);
}

static int is_identity_attention(const xf_model *m, int64_t block) {
    for (int64_t k = 0; k < m->d; k++)
        if (m->sa_V.left[block * m->d + k] != 0.0)
            return 0;
    return m->sa_V.alpha[block] == 0.0 && m->sa_V.full == NULL && m->sa_rho[block] == 1.0;
}

/* One constant neuron, the others unused: x -> eta x + column. */
static int is_translation(const xf_model *m, int64_t block, int *neuron) {
    *neuron = -1;
    for (int64_t i = 0; i < m->width; i++) {
        for (int64_t k = 0; k < m->d; k++)
            if (m->ff_U[(block * m->width + i) * m->d + k] != 0.0)
                return 0;
        double b = m->ff_b[block * m->width + i];
        if (b == 0.0)
            continue;
        if (b != 1.0 || *neuron >= 0)
            return 0;
        *neuron = (int)i;
    }
    double eta = m->ff_eta[block];
    return *neuron >= 0 && eta > 0 && xfi_lowest_bit(eta) == xfi_exponent(eta) &&
           is_identity_attention(m, block);
}

/* One coordinate through the rounding block: z + big in every order is a single rounding of some z'
 * within e of z, and rounding is monotone. Returns how far any result can be from *x, or
 * INFINITY if it leaves the binade where the spacing is G. */
static double round_coordinate(double *x, double z, double e, double big, int exponent) {
    double low = ldexp(1.0, exponent + 52), high = 2 * low;
    xfi_dd real = xfi_two_sum(z, big);
    double least = (z - e) * (z - e > 0 ? 1 - 0x1p-52 : 1 + 0x1p-52) + big;
    double most = (z + e) * (z + e > 0 ? 1 + 0x1p-52 : 1 - 0x1p-52) + big;
    *x = real.hi;
    if (e == 0.0)
        least = most = real.hi;
    if (!(least >= low) || !(most < high))
        return INFINITY;
    double off = fmax(*x - least, most - *x);
    return fmax(off, (fabs(real.lo) + e) * (1 + 0x1p-50));
}

/* All tokens through the rounding block; off is the largest over the coordinates. */
static int64_t round_tokens(xfi_settled *out, const double *z, const double *e, const xf_model *m,
                            int64_t block, int neuron) {
    double eta = m->ff_eta[block];
    for (int64_t i = 0; i < out->n; i++) {
        out->off[i] = 0.0;
        for (int64_t k = 0; k < out->d; k++) {
            double scaled = z[i * out->d + k] * eta, error = e[i * out->d + k] * eta;
            if (scaled / eta != z[i * out->d + k] || error > 0)
                error += 0x1p-1070;
            double big = m->ff_W[(block * out->d + k) * m->width + neuron];
            double off =
                round_coordinate(&out->x[i * out->d + k], scaled, error, big, out->exponent);
            out->off[i] = fmax(out->off[i], off);
        }
        if (!isfinite(out->off[i]))
            return i;
    }
    return -1;
}

static int lower_bit(int lowest, double v) {
    if (v == 0.0)
        return lowest;
    return xfi_lowest_bit(v) < lowest ? xfi_lowest_bit(v) : lowest;
}

/* Without a rounding block: the coarsest grid of the tokens, biases and constant columns. */
static int find_grid(const xf_model *m, int64_t first, int64_t n_blocks, const xf_dataset *data) {
    int lowest = INT_MAX, scale = xfi_exponent(m->ff_eta[first]);
    for (int64_t i = 0; i < data->n_tokens * data->d; i++)
        if (data->x[i] != 0.0)
            lowest = xfi_lowest_bit(data->x[i]) + scale < lowest
                         ? xfi_lowest_bit(data->x[i]) + scale
                         : lowest;
    for (int64_t i = first * m->width; i < (first + n_blocks) * m->width; i++)
        lowest = lower_bit(lowest, m->ff_b[i]);
    for (int64_t i = 0; i < m->d * m->width; i++) {
        int64_t neuron = first * m->width + i % m->width, constant = 1;
        for (int64_t k = 0; k < m->d; k++)
            constant = constant && m->ff_U[neuron * m->d + k] == 0.0;
        if (constant)
            lowest = lower_bit(lowest, m->ff_W[first * m->d * m->width + i]);
    }
    return lowest;
}

static xf_status settle_start(xfi_settled *out, int64_t *token, const xf_model *model,
                              const xfi_published_phases *phases, const xf_dataset *data,
                              const double *z, const double *e, xf_error *error) {
    int64_t block = phases->separation, size = data->n_tokens * data->d;
    int neuron = -1;
    *token = -1;
    if (phases->quantise == 1) {
        if (!is_translation(model, block, &neuron))
            return bad_shape(error, "quantise");
        double big = model->ff_W[block * model->d * model->width + neuron];
        double sum = z[0] * model->ff_eta[block] + big;
        out->exponent = sum > 0 && isfinite(sum) ? xfi_exponent(sum) - 52 : 0;
        *token = round_tokens(out, z, e, model, block, neuron);
        return XF_OK;
    }
    if (phases->separation > 0 || phases->quantise > 1)
        return bad_shape(error, "quantise");
    out->exponent = find_grid(model, block, phases->leaders, data);
    for (int64_t i = 0; i < size; i++)
        out->x[i] = z[i];
    return XF_OK;
}

static xf_status settle_moves(xfi_settled *out, int64_t *token, const xf_model *model,
                              const xfi_published_phases *phases, xf_error *error) {
    int64_t first = phases->separation + phases->quantise, last = first + phases->leaders - 1;
    for (int64_t block = first; block <= last && *token < 0; block++) {
        if (block < last && !is_identity_attention(model, block))
            return bad_shape(error, "leaders");
        if (!xfi_exact_block(token, out, model, block))
            return xfi_fail_memory(error);
    }
    return XF_OK;
}

xf_status xfi_settle(xfi_settled *out, int64_t *token, const xf_model *model,
                     const xfi_published_phases *phases, const xf_dataset *data, xf_error *error) {
    int64_t size = data->n_tokens * data->d;
    double *z = xfi_calloc2(2, size, sizeof(double));
    *out = (xfi_settled){0};
    if (z == NULL || !xfi_settled_init(out, data->n_tokens, data->d)) {
        xfi_free(z);
        return xfi_fail_memory(error);
    }
    double *e = z + size;
    xf_status status = xfi_separation_bound(z, e, model, phases->separation, data, error);
    if (status == XF_OK)
        status = settle_start(out, token, model, phases, data, z, e, error);
    if (status == XF_OK)
        status = settle_moves(out, token, model, phases, error);
    xfi_free(z);
    if (status != XF_OK)
        xfi_settled_clear(out);
    return status;
}

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

static int is_power_of_two(double v) {
    return v > 0 && xfi_lowest_bit(v) == xfi_exponent(v);
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
        if (!is_power_of_two(b) || *neuron >= 0)
            return 0;
        *neuron = (int)i;
    }
    return *neuron >= 0 && is_power_of_two(m->ff_eta[block]) && is_identity_attention(m, block);
}

/* Entry k of the column: the product is exact, in every evaluation. */
static double translation(const xf_model *m, int64_t block, int neuron, int64_t k) {
    return m->ff_W[(block * m->d + k) * m->width + neuron] * m->ff_b[block * m->width + neuron];
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
            double big = translation(m, block, neuron, k);
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

/* The lowest bit of a neuron: of its bias over the power of two in its row, or of what it adds
 * as a constant. */
static int neuron_bit(const xf_model *m, int64_t block, int64_t i, double eta) {
    int scale = INT_MAX, lowest = INT_MAX;
    double b = m->ff_b[block * m->width + i];
    for (int64_t k = 0; k < m->d; k++)
        scale = lower_bit(scale, m->ff_U[(block * m->width + i) * m->d + k] / eta);
    if (scale != INT_MAX)
        return b != 0.0 ? xfi_lowest_bit(b) - scale : INT_MAX;
    for (int64_t k = 0; k < m->d && b != 0.0; k++)
        lowest = lower_bit(lowest, translation(m, block, (int)i, k));
    return lowest;
}

/* Without a rounding block: the coarsest grid of the tokens, biases and constant columns. */
static int find_grid(const xf_model *m, int64_t first, int64_t n_blocks, const xf_dataset *data) {
    int lowest = INT_MAX, scale = xfi_exponent(m->ff_eta[first]);
    for (int64_t i = 0; i < data->n_tokens * data->d; i++)
        if (data->x[i] != 0.0 && xfi_lowest_bit(data->x[i]) + scale < lowest)
            lowest = xfi_lowest_bit(data->x[i]) + scale;
    for (int64_t block = first; block < first + n_blocks; block++)
        for (int64_t i = 0; i < m->width; i++) {
            int bit = neuron_bit(m, block, i, m->ff_eta[block]);
            lowest = bit < lowest ? bit : lowest;
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
        double sum = z[0] * model->ff_eta[block] + translation(model, block, neuron, 0);
        out->exponent = sum > 0 && isfinite(sum) ? xfi_exponent(sum) - 52 : 0;
        *token = round_tokens(out, z, e, model, block, neuron);
        return XF_OK;
    }
    if (phases->separation > 0 || phases->quantise > 1)
        return bad_shape(error, "quantise");
    if (!is_power_of_two(model->ff_eta[block]))
        return bad_shape(error, "leaders");
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

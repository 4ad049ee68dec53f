/* A displacement front end as blocks. */
#include "construct/displacement.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/displacement_bound.h"
#include "construct/neuron.h"
#include "core/model_shape.h"

#include <limits.h>

void xfi_displacement_clear_stages(xfi_displacement *displacement) {
    for (int s = 0; s < XFI_DISPLACEMENT_STAGES; s++) {
        xfi_lanes_clear(&displacement->stage[s].lanes);
        xfi_free(displacement->stage[s].offset);
        displacement->stage[s] = (xfi_displacement_stage){0};
    }
    displacement->n_stages = 0;
}

void xfi_displacement_clear(xfi_displacement *displacement) {
    xfi_scalar_clear(&displacement->local);
    xfi_scalar_clear(&displacement->pooled);
    xfi_scalar_clear(&displacement->cells);
    xfi_displacement_clear_stages(displacement);
    *displacement = (xfi_displacement){0};
}

int64_t xfi_displacement_poolings(const xfi_displacement *displacement) {
    return displacement->shape <= XFI_DISPLACE_EACH ? 1 : 2;
}

int64_t xfi_displacement_blocks(const xfi_displacement *displacement) {
    int64_t n = xfi_displacement_poolings(displacement);
    for (int s = 0; s < displacement->n_stages; s++)
        n += displacement->stage[s].lanes.n_steps;
    return n;
}

xfi_displacement_axes xfi_displacement_axes_of(xfi_axes axes, int64_t d) {
    xfi_displacement_axes out = {axes.k1, -1, -1};
    for (int k = 0; k < d && out.k3 < 0; k++) {
        if (k == axes.k1)
            continue;
        if (out.k2 < 0)
            out.k2 = k;
        else
            out.k3 = k;
    }
    return out;
}

/* The model being written. */
typedef struct emitter {
    const xfi_problem *problem;
    xf_model *model;
    int in_range;
} emitter;

static double stored(emitter *e, double v) {
    double r = xfi_round(&e->problem->format, v);
    if (!isfinite(r) || (v != 0.0 && fabs(r) < ldexp(1.0, e->problem->format.emin)))
        e->in_range = 0;
    return r;
}

/* relu(scale (<v, x> - nu)), `out` on coordinate k. */
static void put_neuron(emitter *e, const xfi_scalar *scalar, double scale, double out, int k) {
    xf_model *m = e->model;
    int i = xfi_neuron_free(m, 0);
    for (int64_t c = 0; c < m->d; c++)
        m->ff_U[i * m->d + c] = stored(e, scale * scalar->v[c]);
    m->ff_b[i] = stored(e, -scale * scalar->nu);
    xfi_neuron_out(m, 0, i, k, out);
}

/* `value` on coordinate k for every token. */
static void put_constant(emitter *e, int64_t block, double value, int k) {
    if (value == 0.0)
        return;
    int i = xfi_neuron_free(e->model, block);
    e->model->ff_b[block * e->model->width + i] = 1.0;
    xfi_neuron_out(e->model, block, i, k, stored(e, value));
}

/* scale s on coordinate k in block 0, the constant of a half scalar in block `last`. */
static void put_scalar(emitter *e, const xfi_scalar *scalar, double scale, int k, int64_t last) {
    put_neuron(e, scalar, scale, 1.0, k);
    if (scalar->half)
        put_constant(e, last, -scale * scalar->centre, k);
    else
        put_neuron(e, scalar, -scale, -1.0, k);
}

/* x_to += gain mean x_from. */
static void put_pooling(emitter *e, int64_t block, int from, int to, double gain) {
    e->model->sa_V.left[block * e->model->d + to] = stored(e, gain);
    e->model->sa_V.right[block * e->model->d + from] = 1.0;
}

/* s / gain is pooled with this gain, so that the token's own share is far below the rounding of the
 * mean: 2^(p+8), or down to 2^p where a weight would become subnormal. */
static double pooling_gain(const emitter *e, const xfi_scalar *scalar) {
    const xfi_format *format = &e->problem->format;
    int least = INT_MAX, exponent = format->p + 8;
    for (int64_t k = 0; k < e->problem->data->d; k++)
        if (scalar->v[k] != 0.0 && xfi_exponent(scalar->v[k]) < least)
            least = xfi_exponent(scalar->v[k]);
    while (exponent > format->p && least - exponent < format->emin)
        exponent--;
    return ldexp(1.0, exponent);
}

static void emit_poolings(emitter *e, const xfi_displacement *d, double sigma,
                          xfi_displacement_axes k) {
    double gain = pooling_gain(e, &d->cells), inner = 1.0;
    e->model->ff_eta[0] = 0.0;
    switch (d->shape) {
    case XFI_DISPLACE_SINGLE:
        put_scalar(e, &d->pooled, sigma, k.k1, 0);
        put_scalar(e, &d->cells, 1.0, k.k2, 0);
        e->model->sa_rho[0] = 0.0;
        e->model->sa_V.alpha[0] = 1.0;
        return;
    case XFI_DISPLACE_EACH:
        put_scalar(e, &d->local, sigma, k.k1, 0);
        put_scalar(e, &d->cells, 1.0 / gain, k.k2, 0);
        put_pooling(e, 0, k.k2, k.k2, gain);
        return;
    case XFI_DISPLACE_SHARED:
        put_scalar(e, &d->local, sigma, k.k1, 0);
        put_scalar(e, &d->pooled, 1.0, k.k2, 0);
        put_scalar(e, &d->cells, 1.0 / gain, k.k3, 1);
        put_pooling(e, 0, k.k2, k.k1, sigma * d->K);
        put_pooling(e, 1, k.k3, k.k3, gain);
        return;
    case XFI_DISPLACE_WINDOWS:
        put_scalar(e, &d->local, sigma, k.k1, 0);
        inner = pooling_gain(e, &d->pooled);
        put_scalar(e, &d->pooled, 1.0 / inner, k.k2, 0);
        put_scalar(e, &d->cells, 1.0 / gain, k.k3, 1);
        put_pooling(e, 0, k.k2, k.k2, inner);
        put_pooling(e, 1, k.k3, k.k3, gain);
        return;
    }
}

/* Stage `s` from block `first` on; the last one takes scale and shift. */
static xf_status emit_stage(emitter *e, const xfi_displacement *d, int s, double sigma,
                            double shift, xfi_axes axes, int64_t first, xf_error *error) {
    const xfi_displacement_stage *stage = &d->stage[s];
    double *code = xfi_calloc(stage->n_cells, sizeof(double));
    if (code == NULL)
        return xfi_fail_memory(error);
    int last = d->shape != XFI_DISPLACE_WINDOWS || s == 1;
    for (int64_t c = 0; c < stage->n_cells; c++)
        code[c] = stored(e, last ? sigma * (stage->offset[c] - shift) : stage->offset[c]);
    xfi_written written = {.code = code, .d = e->model->d, .axes = axes, .keeps = 1};
    xfi_lanes_emit(&stage->lanes, &written, e->model, first);
    xfi_free(code);
    return XF_OK;
}

static xf_status emit_stages(emitter *e, const xfi_displacement *d, double sigma, double shift,
                             xfi_displacement_axes k, xf_error *error) {
    static const char *const names[] = {XFI_PHASE_DISPLACE, XFI_PHASE_WINDOWS};
    int64_t first = xfi_displacement_poolings(d);
    xfi_axes axes[XFI_DISPLACEMENT_STAGES] = {{k.k2, k.k1}, {k.k2, k.k1}};
    if (d->shape == XFI_DISPLACE_SHARED)
        axes[0] = (xfi_axes){k.k3, k.k1};
    if (d->shape == XFI_DISPLACE_WINDOWS)
        axes[0] = (xfi_axes){k.k3, k.k2};
    if (d->unit > 0)
        shift = rint(shift / d->unit) * d->unit;
    XFI_TRY(xfi_model_add_phase(e->model, XFI_PHASE_POOLING, first, error));
    for (int s = 0; s < d->n_stages && s < XFI_DISPLACEMENT_STAGES; s++) {
        XFI_TRY(emit_stage(e, d, s, sigma, shift, axes[s], first, error));
        XFI_TRY(xfi_model_add_phase(e->model, names[s], d->stage[s].lanes.n_steps, error));
        first += d->stage[s].lanes.n_steps;
    }
    return XF_OK;
}

xf_status xfi_displacement_emit(xf_model *out, int *in_range, const xfi_displacement *displacement,
                                double sigma, double shift, const xfi_problem *problem,
                                xfi_axes axes, xf_error *error) {
    int64_t n = xfi_displacement_blocks(displacement), d = problem->data->d;
    xfi_displacement_axes k = xfi_displacement_axes_of(axes, d);
    XFI_TRY(xf_model_new(out, n, d, XFI_WIDTH, error));
    out->dtype = problem->options->dtype;
    emitter e = {.problem = problem, .model = out, .in_range = 1};
    emit_poolings(&e, displacement, sigma, k);
    xf_status status = emit_stages(&e, displacement, sigma, shift, k, error);
    *in_range = e.in_range;
    if (status != XF_OK)
        xf_model_clear(out);
    return status;
}

static xf_status certify(xfi_certificate *out, const void *self, double sigma, double shift,
                         const xfi_problem *problem, xfi_axes axes, xf_error *error) {
    int in_range = 0;
    *out = (xfi_certificate){0};
    XFI_TRY(
        xfi_displacement_emit(&out->blocks, &in_range, self, sigma, shift, problem, axes, error));
    xf_status status = XF_OK;
    if (in_range)
        status = xfi_displacement_groups(&out->groups, &out->blocks, problem->data,
                                         problem->threads, error);
    if (status != XF_OK)
        xfi_certificate_clear(out);
    return status;
}

xfi_front_end xfi_displacement_front(const xfi_displacement *displacement) {
    return (xfi_front_end){.self = displacement,
                           .name = "displacement",
                           .n_blocks = xfi_displacement_blocks(displacement),
                           .certify = certify};
}

int xfi_displacement_serves(xfi_displacement_shape shape, const xf_dataset *data) {
    switch (shape) {
    case XFI_DISPLACE_SINGLE:
        return data->d >= 2 && data->n_targets == data->n_sequences;
    case XFI_DISPLACE_EACH:
        return data->d >= 2 && data->n_targets == data->n_tokens;
    case XFI_DISPLACE_SHARED:
        return data->d >= 3 && data->n_targets == data->n_tokens;
    case XFI_DISPLACE_WINDOWS:
        return data->d >= 3;
    }
    return 0;
}

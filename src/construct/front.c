/* Writing a front end into blocks. */
#include "construct/front.h"

#include "base/alloc.h"
#include "base/error.h"
#include "core/model_shape.h"

#include <limits.h>
#include <string.h>

void xfi_front_clear(xfi_front *front) {
    xfi_free(front->u);
    xfi_free(front->v);
    *front = (xfi_front){0};
}

static int copy_vector(double **out, const double *from, int64_t n) {
    *out = NULL;
    if (from == NULL)
        return 1;
    *out = xfi_calloc(n, sizeof(double));
    if (*out == NULL)
        return 0;
    memcpy(*out, from, (size_t)n * sizeof(double));
    return 1;
}

xf_status xfi_front_copy(xfi_front *out, const xfi_front *front, int64_t d, xf_error *error) {
    xfi_front copy = *front;
    int ok = copy_vector(&copy.u, front->u, d);
    ok = copy_vector(&copy.v, front->v, d * front->n_kinks) && ok;
    *out = copy;
    if (ok)
        return XF_OK;
    xfi_front_clear(out);
    return xfi_fail_memory(error);
}

int64_t xfi_front_blocks(const xfi_front *front) {
    return 1 + front->n_folds;
}

xf_status xfi_front_add_phases(xf_model *model, const xfi_front *front, xf_error *error) {
    XFI_TRY(xfi_model_add_phase(model, "fold", front->n_folds, error));
    return xfi_model_add_phase(model, front->no_attention ? "project" : "pooling", 1, error);
}

/* One block being written; `neuron` is the next free one. */
typedef struct block_writer {
    const xfi_format *format;
    int64_t d;
    double *U; /* [w][d] */
    double *W; /* [d][w] */
    double *b; /* [w] */
    int neuron;
    int ok;
} block_writer;

static block_writer block_at(xf_model *model, int64_t block, const xfi_format *format) {
    int64_t size = model->d * model->width;
    return (block_writer){.format = format,
                          .d = model->d,
                          .U = model->ff_U + block * size,
                          .W = model->ff_W + block * size,
                          .b = model->ff_b + block * model->width,
                          .ok = 1};
}

static double stored(block_writer *writer, double v) {
    double r = xfi_round(writer->format, v);
    if (!isfinite(r) || (v != 0.0 && fabs(r) < ldexp(1.0, writer->format->emin)))
        writer->ok = 0;
    return r;
}

/* The power of two to be moved from the input weights scale direction to the output
 * weight, so that the former stay within the normal numbers of the format. */
static int range_shift(const block_writer *writer, const double *direction, double scale) {
    int top = INT_MIN, bottom = INT_MAX, emax = writer->format->emax, emin = writer->format->emin;
    for (int64_t c = 0; c < writer->d; c++) {
        if (direction[c] == 0.0 || scale == 0.0)
            continue;
        int exponent = xfi_exponent(direction[c]) + xfi_exponent(scale);
        top = exponent > top ? exponent : top;
        bottom = exponent < bottom ? exponent : bottom;
    }
    if (top == INT_MIN)
        return 0;
    return top > emax - 2 ? top - (emax - 2) : bottom < emin ? bottom - emin : 0;
}

/* relu(scale <direction, x> + bias) with `out` on coordinate k. */
static void add_neuron(block_writer *writer, const double *direction, double scale, double bias,
                       int k, double out) {
    int i = writer->neuron++;
    int shift = range_shift(writer, direction, scale);
    for (int64_t c = 0; c < writer->d; c++)
        writer->U[i * writer->d + c] = stored(writer, ldexp(scale, -shift) * direction[c]);
    writer->b[i] = stored(writer, ldexp(bias, -shift));
    writer->W[k * XFI_WIDTH + i] = stored(writer, ldexp(out, shift));
}

/* scale (<direction, x> - centre) on coordinate k, as a difference of two neurons. */
static void add_pair(block_writer *writer, const double *direction, double scale, double centre,
                     int k) {
    add_neuron(writer, direction, scale, -scale * centre, k, 1.0);
    add_neuron(writer, direction, -scale, scale * centre, k, -1.0);
}

static void add_constant(block_writer *writer, double value, int k) {
    int i = writer->neuron++;
    writer->b[i] = 1.0;
    writer->W[k * XFI_WIDTH + i] = stored(writer, value);
}

static void emit_kinks(block_writer *writer, const xfi_front *front, double scale, int k) {
    for (int i = 0; i < front->n_kinks; i++)
        add_neuron(writer, front->v + i * writer->d, scale, scale * front->bias[i], k,
                   front->sign[i]);
}

/* Where the shift goes: into nu when the pool feature has a bias of its own, else mu. */
static double pool_centre(const xfi_front *front) {
    return front->has_local ? front->nu + front->shift / front->K : front->nu + front->shift;
}

static int shift_in_mu(const xfi_front *front) {
    return front->joint || (front->has_local && (front->K == 0.0 || front->kind != XFI_PLAIN));
}

/* Joint (d = 1): f = sigma ((x - mu) + kinks), t = f + K mean f. */
static void emit_joint(block_writer *writer, const xfi_front *front, int k1) {
    double centre = front->mu + front->shift / (1.0 + front->K);
    add_pair(writer, front->u, front->sigma, centre, k1);
    if (front->kind == XFI_KINKS)
        emit_kinks(writer, front, front->sigma, k1);
}

/* Without attention the scale is in the feed-forward layers. */
static double pool_unit(const xfi_front *front) {
    return front->no_attention ? front->sigma : 1.0;
}

static void emit_first(block_writer *writer, const xfi_front *front, int k1, int pool) {
    double unit = pool_unit(front);
    if (front->has_local)
        add_pair(writer, front->u, front->sigma,
                 front->mu + (shift_in_mu(front) ? front->shift : 0.0), k1);
    if (front->K == 0.0)
        return;
    double nu = shift_in_mu(front) ? front->nu : pool_centre(front);
    if (front->kind == XFI_PLAIN) {
        add_pair(writer, front->v, unit, nu, pool);
        return;
    }
    emit_kinks(writer, front, unit, pool);
    if (!front->has_local && front->kind == XFI_KINKS)
        add_constant(writer, -unit * nu, pool);
}

static void emit_fold(block_writer *writer, const xfi_front *front, int fold, int pool) {
    int last = fold == front->n_folds - 1;
    int n = front->has_local ? XFI_WIDTH : XFI_WIDTH - 1;
    double unit = pool_unit(front);
    for (int i = 0; i < n; i++) {
        int neuron = writer->neuron++;
        writer->U[neuron * writer->d + pool] = 1.0;
        writer->b[neuron] = stored(writer, -unit * front->fold_knee[fold][i]);
        writer->W[pool * XFI_WIDTH + neuron] = stored(writer, front->fold_weight[fold][i]);
    }
    if (last && !front->has_local)
        add_constant(writer, -unit * pool_centre(front), pool);
}

static void emit_attention(const xfi_front *front, block_writer *writer, int k1, int pool,
                           int64_t block, xf_model *model) {
    if (front->K == 0.0 || front->no_attention)
        return;
    double gain = front->has_local ? front->K : 1.0;
    if (!front->joint)
        gain *= front->sigma;
    model->sa_rho[block] = front->has_local ? 1.0 : 0.0;
    model->sa_V.left[block * model->d + k1] = stored(writer, gain);
    model->sa_V.right[block * model->d + pool] = 1.0;
}

int xfi_front_emit(const xfi_front *front, const xfi_format *format, xfi_axes axes,
                   xf_model *model) {
    int pool = front->has_local && !front->joint ? axes.k2 : axes.k1;
    block_writer writer = block_at(model, 0, format);
    model->ff_eta[0] = 0.0;
    if (front->joint)
        emit_joint(&writer, front, axes.k1);
    else
        emit_first(&writer, front, axes.k1, pool);
    int ok = writer.ok;
    for (int fold = 0; fold < front->n_folds; fold++) {
        writer = block_at(model, fold + 1, format);
        emit_fold(&writer, front, fold, pool);
        ok = ok && writer.ok;
    }
    emit_attention(front, &writer, axes.k1, pool, front->n_folds, model);
    return ok && writer.ok;
}

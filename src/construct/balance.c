/* Powers of two between the two sides of a neuron. */
#include "construct/balance.h"

#include <stdlib.h>

/* Factors beyond 2^limit are not used, so that what a writer computes stays in the middle of
 * the exponent range (T-balance). */
static int factor_limit(const xfi_format *format) {
    return format->p == 24 ? 90 : 900;
}

/* The squared size of some weights as square 4^exponent, with square about 1; n strided values. */
typedef struct size {
    double square;
    int exponent;
} size;

static double largest_of(const double *values, int64_t n, int64_t stride) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(values[i * stride]));
    return largest;
}

static void add_squares(size *sum, const double *values, int64_t n, int64_t stride) {
    for (int64_t i = 0; i < n; i++) {
        if (values[i * stride] == 0.0)
            continue;
        double v = xfi_scale(values[i * stride], -sum->exponent);
        sum->square += v * v;
    }
}

static double cost_at(const size *in, const size *out, int e) {
    return xfi_scale(in->square, 2 * (in->exponent + e)) +
           xfi_scale(out->square, 2 * (out->exponent - e));
}

/* The e for which 4^e in + 4^-e out is least; 0 if one of them is 0. */
static int best_exponent(const size *in, const size *out) {
    if (in->square == 0.0 || out->square == 0.0)
        return 0;
    int centre = (out->exponent - in->exponent) / 2, best = centre;
    size a = {in->square, -((out->exponent - in->exponent) % 2)}, b = {out->square, 0};
    int near = xfi_exponent(b.square / a.square) / 4; /* the least is at log2(b/a) / 4 */
    for (int e = near - 2; e <= near + 2; e++)
        if (cost_at(&a, &b, e) < cost_at(&a, &b, best - centre))
            best = centre + e;
    return best;
}

double xfi_balanced_cost(double in, double out) {
    if (!isfinite(in) || !isfinite(out))
        return INFINITY;
    size a = {in, 0}, b = {out, 0};
    if (in > 0 && out > 0) {
        a.exponent = xfi_exponent(in) / 2;
        b.exponent = xfi_exponent(out) / 2;
        a.square = xfi_scale(in, -2 * a.exponent);
        b.square = xfi_scale(out, -2 * b.exponent);
    }
    return cost_at(&a, &b, best_exponent(&a, &b));
}

/* One neuron, or one V: two lists of weights whose product counts. */
typedef struct sides {
    double *in; /* [n_in] */
    int64_t n_in;
    double *bias; /* NULL for V */
    double *out;  /* [n_out] */
    int64_t n_out;
    int64_t stride; /* of out */
} sides;

static sides neuron_sides(const xf_model *model, int64_t block, int64_t i) {
    int64_t d = model->d, w = model->width;
    return (sides){.in = model->ff_U + (block * w + i) * d,
                   .n_in = d,
                   .bias = model->ff_b + block * w + i,
                   .out = model->ff_W + block * d * w + i,
                   .n_out = d,
                   .stride = w};
}

static sides value_sides(const xf_model *model, int64_t block) {
    int64_t d = model->d;
    return (sides){.in = model->sa_V.right + block * d,
                   .n_in = d,
                   .out = model->sa_V.left + block * d,
                   .n_out = d,
                   .stride = 1};
}

static void measure(const sides *s, size *in, size *out) {
    double a = largest_of(s->in, s->n_in, 1), b = largest_of(s->out, s->n_out, s->stride);
    if (s->bias != NULL)
        a = fmax(a, fabs(*s->bias));
    *in = (size){0, a > 0 ? xfi_exponent(a) : 0};
    *out = (size){0, b > 0 ? xfi_exponent(b) : 0};
    add_squares(in, s->in, s->n_in, 1);
    if (s->bias != NULL)
        add_squares(in, s->bias, 1, 1);
    add_squares(out, s->out, s->n_out, s->stride);
}

static int stays_normal(const double *values, int64_t n, int64_t stride, int e,
                        const xfi_format *format) {
    for (int64_t i = 0; i < n; i++) {
        double v = values[i * stride];
        if (v != 0.0 && (xfi_exponent(v) < format->emin || xfi_exponent(v) + e < format->emin ||
                         xfi_exponent(v) + e > format->emax))
            return 0;
    }
    return 1;
}

/* The exponent that both sides allow. */
static int choose(const sides *s, const xfi_format *format) {
    size in, out;
    measure(s, &in, &out);
    int e = best_exponent(&in, &out);
    int ok = abs(e) <= factor_limit(format) && stays_normal(s->in, s->n_in, 1, e, format) &&
             stays_normal(s->out, s->n_out, s->stride, -e, format) &&
             (s->bias == NULL || stays_normal(s->bias, 1, 1, e, format));
    return ok ? e : 0;
}

static void apply(const sides *s, int e) {
    for (int64_t i = 0; i < s->n_in; i++)
        s->in[i] = xfi_scale(s->in[i], e);
    if (s->bias != NULL)
        *s->bias = xfi_scale(*s->bias, e);
    for (int64_t i = 0; i < s->n_out; i++)
        s->out[i * s->stride] = xfi_scale(s->out[i * s->stride], -e);
}

static double cost_of(const sides *s, const xfi_format *format) {
    size in, out;
    measure(s, &in, &out);
    return cost_at(&in, &out, choose(s, format));
}

static double sum_squares(const double *values, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += values[i] * values[i];
    return sum;
}

double xfi_balanced_norm(const xf_model *model, int64_t first, int64_t count) {
    xfi_format format = xfi_format_of(model->dtype);
    int64_t d = model->d;
    double sum = sum_squares(model->ff_eta + first, count) +
                 sum_squares(model->sa_rho + first, count) +
                 sum_squares(model->sa_A.alpha + first, count) +
                 sum_squares(model->sa_A.left + first * d, count * d) +
                 sum_squares(model->sa_A.right + first * d, count * d) +
                 sum_squares(model->sa_V.alpha + first, count);
    for (int64_t block = first; block < first + count; block++) {
        sides value = value_sides(model, block);
        sum += cost_of(&value, &format);
        for (int64_t i = 0; i < model->width; i++) {
            sides neuron = neuron_sides(model, block, i);
            sum += cost_of(&neuron, &format);
        }
    }
    return sum;
}

/* Least nonzero and largest |x_k| of the data. */
static void find_range(const xf_dataset *data, int64_t k, double *least, double *largest) {
    *least = INFINITY;
    *largest = 0;
    for (int64_t i = 0; i < data->n_tokens; i++) {
        double v = fabs(data->x[i * data->d + k]);
        *largest = fmax(*largest, v);
        if (v != 0.0)
            *least = fmin(*least, v);
    }
}

/* T-balance: no product of a neuron of block 0 comes near the ends of the range, before or
 * after. */
static int is_safe(const sides *s, int e, const xf_dataset *data, const xfi_format *format) {
    double most = fabs(*s->bias);
    int least = *s->bias != 0.0 ? xfi_exponent(*s->bias) : 0;
    for (int64_t k = 0; k < s->n_in; k++) {
        double low, high;
        if (s->in[k] == 0.0)
            continue;
        find_range(data, k, &low, &high);
        most += fabs(s->in[k]) * high;
        if (high > 0) {
            int exponent = xfi_exponent(s->in[k]) + xfi_exponent(low);
            least = exponent < least ? exponent : least;
        }
    }
    int down = e < 0 ? e : 0, up = e > 0 ? e : 0;
    return least + down >= format->emin + 2 * format->p &&
           most <= ldexp(1.0, format->emax - 2 - up);
}

void xfi_balance(xf_model *model, int64_t n_front, const xf_dataset *data) {
    xfi_format format = xfi_format_of(model->dtype);
    for (int64_t block = 0; block < model->n_blocks; block++) {
        sides value = value_sides(model, block);
        apply(&value, choose(&value, &format));
        for (int64_t i = 0; i < model->width && (block == 0 || block >= n_front); i++) {
            sides neuron = neuron_sides(model, block, i);
            int e = choose(&neuron, &format);
            if (block > 0 || n_front == 0 || is_safe(&neuron, e, data, &format))
                apply(&neuron, e);
        }
    }
}

/* Powers of two between the two sides of a neuron. */
#include "construct/balance.h"

#include "core/model_shape.h"

#include <stdlib.h>

/* Factors beyond 2^limit are not used, so that what a writer computes stays in the middle of
 * the exponent range (T-balance). */
static int factor_limit(const xfi_format *format) {
    return format->p == 24 ? 90 : 900;
}

/* The squared size of some weights as square 4^exponent, with square about 1, and their least and
 * largest nonzero magnitude (INFINITY and 0 if all are 0). */
typedef struct size {
    double square;
    int exponent;
    double least;
    double largest;
} size;

static const size NOTHING = {0, 0, INFINITY, 0};

static void widen(size *s, double v) {
    double magnitude = fabs(v);
    if (magnitude == 0.0)
        return;
    s->least = magnitude < s->least ? magnitude : s->least;
    s->largest = magnitude > s->largest ? magnitude : s->largest;
}

/* From i on the next that is not 0, or n. */
static int64_t next_weight(const double *values, int64_t i, int64_t n, int64_t stride) {
    if (stride == 1)
        return xfi_next_weight(values, i, n);
    while (i < n && values[i * stride] == 0.0)
        i++;
    return i;
}

static void add_square(size *s, double v) {
    v = xfi_scale(v, -s->exponent);
    s->square += v * v;
}

/* n strided weights, and one more. */
static size measure(const double *values, int64_t n, int64_t stride, double bias) {
    size s = NOTHING;
    for (int64_t i = -1; (i = next_weight(values, i + 1, n, stride)) < n;)
        widen(&s, values[i * stride]);
    widen(&s, bias);
    if (s.largest == 0.0)
        return s;
    s.exponent = xfi_exponent(s.largest);
    for (int64_t i = -1; (i = next_weight(values, i + 1, n, stride)) < n;)
        add_square(&s, values[i * stride]);
    add_square(&s, bias);
    return s;
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
    size a = {.square = in->square, .exponent = -((out->exponent - in->exponent) % 2)};
    size b = {.square = out->square};
    int near = xfi_exponent(b.square / a.square) / 4; /* the least is at log2(b/a) / 4 */
    for (int e = near - 2; e <= near + 2; e++)
        if (cost_at(&a, &b, e) < cost_at(&a, &b, best - centre))
            best = centre + e;
    return best;
}

double xfi_balanced_cost(double in, double out) {
    if (!isfinite(in) || !isfinite(out))
        return INFINITY;
    size a = {.square = in}, b = {.square = out};
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

static void measure_sides(const sides *s, size *in, size *out) {
    *in = measure(s->in, s->n_in, 1, s->bias != NULL ? *s->bias : 0.0);
    *out = measure(s->out, s->n_out, s->stride, 0.0);
}

/* Are all of these weights normal, times 2^e, too? */
static int stays_normal(const size *s, int e, const xfi_format *format) {
    if (s->largest == 0.0)
        return 1;
    int least = xfi_exponent(s->least), largest = xfi_exponent(s->largest);
    return least >= format->emin && least + e >= format->emin && largest + e <= format->emax;
}

/* The exponent that both sides allow. */
static int choose(const size *in, const size *out, const xfi_format *format) {
    int e = best_exponent(in, out);
    int ok = abs(e) <= factor_limit(format) && stays_normal(in, e, format) &&
             stays_normal(out, -e, format);
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
    measure_sides(s, &in, &out);
    if (in.largest == 0.0 && out.largest == 0.0)
        return 0.0;
    return cost_at(&in, &out, choose(&in, &out, format));
}

/* How much to move from one side to the other. */
static int factor_of(const sides *s, const xfi_format *format) {
    size in, out;
    measure_sides(s, &in, &out);
    return choose(&in, &out, format);
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
        apply(&value, factor_of(&value, &format));
        for (int64_t i = 0; i < model->width && (block == 0 || block >= n_front); i++) {
            sides neuron = neuron_sides(model, block, i);
            int e = factor_of(&neuron, &format);
            if (block > 0 || n_front == 0 || is_safe(&neuron, e, data, &format))
                apply(&neuron, e);
        }
    }
}

/* The grid, its constants, and the tokens in its units. */
#include "construct/quantise.h"

#include "base/alloc.h"
#include "construct/neuron.h"
#include "num/double_double.h"
#include "num/format.h"

/* h exceeds every half-range by this factor; the centres are rounded to 2^-13 h. */
static const double ROOM = 1.001;
enum { CENTRE_BITS = 13 };

typedef struct range {
    double low;
    double high;
} range;

static range range_of(const double *z, int64_t n, int64_t d, int64_t k) {
    range r = {z[k], z[k]};
    for (int64_t i = 1; i < n; i++) {
        r.low = fmin(r.low, z[i * d + k]);
        r.high = fmax(r.high, z[i * d + k]);
    }
    return r;
}

/* Exponent of h. */
static int half_range_exponent(const double *z, int64_t n, int64_t d) {
    double largest = 0;
    for (int64_t k = 0; k < d; k++) {
        range r = range_of(z, n, d, k);
        largest = fmax(largest, r.high / 2 - r.low / 2);
    }
    return largest > 0 ? xfi_exponent(largest * ROOM) + 1 : 0;
}

/* a + b if that is a number of binary64. */
static int add_exactly(double *out, double a, double b) {
    xfi_dd sum = xfi_two_sum(a, b);
    *out = sum.hi;
    return sum.lo == 0.0 && isfinite(sum.hi);
}

/* big = Sigma - mid and shift = -(Sigma - S), or shift = S - mid without rounding. */
static int choose_constants(xfi_quantised *q, const double *z, int h) {
    double unit = ldexp(1.0, h - CENTRE_BITS), sigma = ldexp(0x1.8p52, q->exponent);
    int ok = 1;
    for (int64_t k = 0; k < q->d; k++) {
        range r = range_of(z, q->n, q->d, k);
        double mid = nearbyint((r.low / 2 + r.high / 2) / unit) * unit;
        ok = ok && add_exactly(&q->big[k], sigma, -mid);
        if (q->rounds)
            q->shift[k] = -(sigma - ldexp(2.0, h));
        else
            ok = ok && add_exactly(&q->shift[k], ldexp(2.0, h), -mid);
    }
    return ok;
}

static int is_multiple(double v, int exponent) {
    return v == 0.0 || xfi_lowest_bit(v) >= exponent;
}

static int is_on_grid(const double *z, int64_t n, int exponent) {
    for (int64_t i = 0; i < n; i++)
        if (!is_multiple(z[i], exponent) || !(fabs(z[i]) < ldexp(1.0, exponent + 52)))
            return 0;
    return 1;
}

/* The rounding block and the shift, in the machine's arithmetic. */
static void place_tokens(xfi_quantised *q, const double *z) {
    for (int64_t i = 0; i < q->n * q->d; i++) {
        int64_t k = i % q->d;
        double rounded = q->rounds ? z[i] + q->big[k] : z[i];
        q->x[i] = (int64_t)ldexp(rounded + q->shift[k], -q->exponent);
    }
}

static int is_in_box(const xfi_quantised *q) {
    int64_t h = (int64_t)1 << q->g;
    for (int64_t i = 0; i < q->n * q->d; i++)
        if (q->x[i] < h || q->x[i] > 3 * h)
            return 0;
    return 1;
}

int xfi_quantise(xfi_quantised *out, int *feasible, const double *z, int64_t n, int64_t d, int g,
                 int may_skip) {
    int h = half_range_exponent(z, n, d);
    *out = (xfi_quantised){.n = n, .d = d, .g = g, .exponent = h - g};
    out->rounds = !may_skip || !is_on_grid(z, n * d, out->exponent);
    out->shift = xfi_calloc(d, sizeof(double));
    out->big = xfi_calloc(d, sizeof(double));
    out->x = xfi_calloc2(n, d, sizeof(int64_t));
    if (!out->shift || !out->big || !out->x) {
        xfi_quantised_clear(out);
        return 0;
    }
    *feasible = choose_constants(out, z, h);
    if (*feasible)
        place_tokens(out, z);
    *feasible = *feasible && is_in_box(out);
    return 1;
}

void xfi_quantised_clear(xfi_quantised *q) {
    xfi_free(q->shift);
    xfi_free(q->big);
    xfi_free(q->x);
    *q = (xfi_quantised){0};
}

static void emit_constant(const double *column, int64_t d, xf_model *model, int64_t block) {
    int neuron = xfi_neuron_free(model, block);
    model->ff_b[block * model->width + neuron] = 1.0;
    for (int64_t k = 0; k < d; k++)
        xfi_neuron_out(model, block, neuron, (int)k, column[k]);
}

void xfi_quantise_emit(const xfi_quantised *q, xf_model *model, int64_t block) {
    if (q->rounds)
        emit_constant(q->big, q->d, model, block);
}

void xfi_shift_emit(const xfi_quantised *q, xf_model *model, int64_t block) {
    emit_constant(q->shift, q->d, model, block);
}

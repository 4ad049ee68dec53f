/* Checking and applying one block on the grid. */
#include "construct/exact_block.h"

#include "base/alloc.h"
#include "num/format.h"

#include <limits.h>
#include <string.h>

enum { MOST_NEURONS = 8, MASKS = 1 << MOST_NEURONS };

/* A layer with eta taken into the tokens, and every neuron rescaled by a power of two (exactly)
 * such that its row of U consists of integers with no common factor 2, or, without inputs, b = 1.
 */
typedef struct layer {
    int64_t d;
    int64_t w;
    int exponent;
    double limit; /* 2^53 G */
    double eta;
    double *U; /* [w][d], owned */
    double *W; /* [d][w], owned */
    double b[MOST_NEURONS];
    double norm[MOST_NEURONS]; /* |U_i|_1 */
    int same[MOST_NEURONS];    /* row i equals row i - 1 */
    signed char flat[MASKS];   /* slope of a set of active neurons: 1 zero, -1 not, 0 unknown */
} layer;

/* A sum by sign: every partial sum of every order lies in [-negative, positive]. */
typedef struct signed_sum {
    double positive;
    double negative;
} signed_sum;

int xfi_settled_init(xfi_settled *out, int64_t n, int64_t d) {
    *out = (xfi_settled){.n = n, .d = d};
    out->x = xfi_calloc2(n, d, sizeof(double));
    out->off = xfi_calloc(n, sizeof(double));
    if (out->x != NULL && out->off != NULL)
        return 1;
    xfi_settled_clear(out);
    return 0;
}

void xfi_settled_clear(xfi_settled *settled) {
    xfi_free(settled->x);
    xfi_free(settled->off);
    *settled = (xfi_settled){0};
}

static void add(signed_sum *sum, double term) {
    sum->positive += term > 0 ? term : 0.0;
    sum->negative -= term < 0 ? term : 0.0;
}

static int is_multiple(double v, int exponent) {
    return v == 0.0 || (isfinite(v) && xfi_lowest_bit(v) >= exponent);
}

static int is_power_of_two(double v) {
    return v > 0 && xfi_lowest_bit(v) == xfi_exponent(v);
}

/* Integers in U and W, multiples of G in b; a neuron without inputs is 1 and has multiples of G
 * in W. */
static int weights_fit(const layer *l) {
    for (int64_t i = 0; i < l->w; i++) {
        int is_constant = l->norm[i] == 0.0;
        if (!is_multiple(l->b[i], is_constant ? 0 : l->exponent) ||
            (is_constant && l->b[i] != 0.0 && l->b[i] != 1.0))
            return 0;
        for (int64_t k = 0; k < l->d; k++)
            if (!is_multiple(l->U[i * l->d + k], 0) ||
                !is_multiple(l->W[k * l->w + i], is_constant ? l->exponent : 0))
                return 0;
    }
    return 1;
}

/* The power of two that neuron i is divided by: that of its row of U, or of its bias. */
static int neuron_exponent(const layer *l, int64_t i) {
    int exponent = INT_MAX;
    for (int64_t k = 0; k < l->d; k++) {
        double u = l->U[i * l->d + k];
        if (u != 0.0 && isfinite(u) && xfi_lowest_bit(u) < exponent)
            exponent = xfi_lowest_bit(u);
    }
    if (exponent == INT_MAX)
        exponent = l->b[i] != 0.0 ? xfi_exponent(l->b[i]) : 0;
    return exponent;
}

static void rescale(layer *l, int64_t i) {
    int exponent = neuron_exponent(l, i);
    l->b[i] = ldexp(l->b[i], -exponent);
    for (int64_t k = 0; k < l->d; k++) {
        l->U[i * l->d + k] = ldexp(l->U[i * l->d + k], -exponent);
        l->W[k * l->w + i] = ldexp(l->W[k * l->w + i], exponent);
        l->norm[i] += fabs(l->U[i * l->d + k]);
    }
}

static void layer_clear(layer *l) {
    xfi_free(l->U);
    xfi_free(l->W);
}

static int layer_init(layer *l, const xf_model *model, int64_t block, int exponent) {
    int64_t d = model->d, w = model->width, size = w * d;
    *l = (layer){.d = d,
                 .w = w,
                 .exponent = exponent,
                 .limit = ldexp(0x1p53, exponent),
                 .eta = model->ff_eta[block]};
    l->U = xfi_calloc(size, sizeof(double));
    l->W = xfi_calloc(size, sizeof(double));
    if (l->U == NULL || l->W == NULL) {
        layer_clear(l);
        return 0;
    }
    for (int64_t i = 0; i < size; i++)
        l->U[i] = model->ff_U[block * size + i] / l->eta;
    memcpy(l->W, model->ff_W + block * size, (size_t)size * sizeof(double));
    memcpy(l->b, model->ff_b + block * w, (size_t)w * sizeof(double));
    for (int64_t i = 0; i < w; i++)
        rescale(l, i);
    for (int64_t i = 1; i < w; i++)
        l->same[i] = memcmp(l->U + i * d, l->U + (i - 1) * d, (size_t)d * sizeof(double)) == 0;
    return 1;
}

/* Do the active neurons together have slope 0? */
static int is_flat(layer *l, int mask) {
    if (l->flat[mask] != 0)
        return l->flat[mask] > 0;
    l->flat[mask] = 1;
    for (int64_t c = 0; c < l->d; c++)
        for (int64_t k = 0; k < l->d; k++) {
            double slope = 0;
            for (int i = 0; i < l->w; i++)
                if (mask >> i & 1)
                    slope += l->W[c * l->w + i] * l->U[i * l->d + k];
            if (slope != 0.0)
                l->flat[mask] = -1;
        }
    return l->flat[mask] > 0;
}

/* relu of every neuron into r; returns the set of active ones, or -1. */
static int activate(const layer *l, const double *x, double off, double *r) {
    signed_sum inputs = {0, 0};
    int mask = 0;
    for (int i = 0; i < l->w; i++) {
        if (!l->same[i]) {
            inputs = (signed_sum){0, 0};
            for (int64_t k = 0; k < l->d; k++)
                add(&inputs, l->U[i * l->d + k] * x[k]);
        }
        signed_sum sum = inputs;
        add(&sum, l->b[i]);
        double a = sum.positive - sum.negative, spread = l->norm[i] * off;
        if (l->norm[i] == 0.0) { /* 1 or unused: nothing is summed */
            r[i] = l->b[i];
            mask |= (l->b[i] > 0) << i;
            continue;
        }
        if (!(sum.positive + spread < l->limit) || !(sum.negative + spread < l->limit) ||
            fabs(a) < spread)
            return -1;
        r[i] = a > 0 ? a : 0.0;
        mask |= (a > 0) << i;
    }
    return mask;
}

/* x = eta x; 0 unless the result is exact and on the grid. */
static int scale_token(const layer *l, double *x) {
    for (int64_t k = 0; k < l->d; k++) {
        double scaled = x[k] * l->eta;
        if (!is_multiple(scaled, l->exponent) || scaled / l->eta != x[k])
            return 0;
        x[k] = scaled;
    }
    return 1;
}

/* x [d] becomes the layer's output; 0 if it cannot be shown to be exact. */
static int apply(layer *l, double *x, double off) {
    double r[MOST_NEURONS] = {0};
    int mask = activate(l, x, off, r);
    if (mask < 0 || (off > 0 && !is_flat(l, mask)))
        return 0;
    for (int64_t c = 0; c < l->d && mask != 0; c++) {
        signed_sum sum = {0, 0};
        double spread = off;
        add(&sum, x[c]);
        for (int i = 0; i < l->w; i++) {
            double weight = l->W[c * l->w + i];
            add(&sum, weight * r[i]);
            spread += fabs(weight) * l->norm[i] * off;
        }
        if (!(sum.positive + spread < l->limit) || !(sum.negative + spread < l->limit))
            return 0;
        x[c] = sum.positive - sum.negative;
    }
    return 1;
}

int xfi_exact_block(int64_t *token, xfi_settled *settled, const xf_model *model, int64_t block) {
    layer l;
    *token = 0;
    if (model->width > MOST_NEURONS || !is_power_of_two(model->ff_eta[block]))
        return 1;
    if (!layer_init(&l, model, block, settled->exponent))
        return 0;
    if (weights_fit(&l)) {
        int scaled = !settled->checked || l.eta != 1.0, ok = 1;
        for (int64_t i = 0; i < settled->n && ok; i++) {
            double *x = settled->x + i * settled->d;
            ok = (!scaled || scale_token(&l, x)) && apply(&l, x, settled->off[i]);
            *token = i;
        }
        if (ok) {
            settled->checked = 1; /* sums of multiples of G */
            *token = -1;
        }
    }
    layer_clear(&l);
    return 1;
}

/* Kinds whose tokens are drawn one by one. */
#include "generate/generator.h"

#include <math.h>

/* Integers of modest size come from values of this standard deviation. */
static double spread(xf_grid grid) {
    return grid == XF_GRID_INTEGER ? 16.0 : 1.0;
}

void xfi_input_gaussian(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    (void)j;
    int64_t d = generator->options.d;
    for (int64_t c = 0; c < d; c++)
        out[i * d + c] =
            spread(generator->options.input_grid) * xfi_rng_normal(&generator->input_rng);
}

void xfi_target_gaussian(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    (void)j;
    int64_t d = generator->options.d;
    for (int64_t c = 0; c < d; c++)
        out[i * d + c] = spread(generator->options.grid) * xfi_rng_normal(&generator->target_rng);
}

static double symmetric_uniform(xfi_rng *rng) {
    return 2.0 * xfi_rng_uniform(rng) - 1.0;
}

void xfi_input_uniform(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    (void)j;
    int64_t d = generator->options.d;
    for (int64_t c = 0; c < d; c++)
        out[i * d + c] =
            spread(generator->options.input_grid) * symmetric_uniform(&generator->input_rng);
}

void xfi_target_uniform(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    (void)j;
    int64_t d = generator->options.d;
    for (int64_t c = 0; c < d; c++)
        out[i * d + c] =
            spread(generator->options.grid) * symmetric_uniform(&generator->target_rng);
}

/* Coordinate c has the scale 2^-20 .. 2^20. */
void xfi_input_anisotropic(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    int64_t d = generator->options.d;
    xfi_input_gaussian(generator, j, i, out);
    for (int64_t c = 0; d > 1 && c < d; c++)
        out[i * d + c] = ldexp(out[i * d + c], (int)(40 * c / (d - 1)) - 20);
}

/* The number of n-subsets of `points` things, roughly and without overflow. */
static double n_subsets(double points, int64_t n) {
    double count = 1.0;
    for (int64_t i = 0; i < n && count < 1e30; i++)
        count *= (points - (double)i) / (double)(i + 1);
    return count;
}

/* The smallest cube of integers with room enough for n_max distinct tokens and N
 * distinct sets, so that tokens and means are shared by many sequences. */
xf_status xfi_sizes_lattice(xfi_generator *generator, const xf_generate_options *given,
                            xf_error *error) {
    (void)given, (void)error;
    const xf_generate_options *o = &generator->options;
    for (generator->reach = 1;; generator->reach++) {
        double points = 1.0;
        for (int64_t c = 0; c < o->d && points < 1e30; c++)
            points *= (double)(2 * generator->reach + 1);
        if (points >= 2.0 * (double)o->n_max &&
            n_subsets(points, o->n_min) >= 2.0 * (double)o->n_sequences)
            return XF_OK;
    }
}

static double lattice_value(xfi_generator *generator, xfi_rng *rng) {
    return (double)(xfi_rng_below(rng, 2 * generator->reach + 1) - generator->reach);
}

void xfi_input_lattice(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    (void)j;
    int64_t d = generator->options.d;
    for (int64_t c = 0; c < d; c++)
        out[i * d + c] = lattice_value(generator, &generator->input_rng);
}

void xfi_target_lattice(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    (void)j;
    int64_t d = generator->options.d;
    for (int64_t c = 0; c < d; c++)
        out[i * d + c] = lattice_value(generator, &generator->target_rng);
}

/* Magnitudes 2^-40 .. 2^20 (1e-12 .. 1e6) with awkward significands. */
static double hard_float(xfi_rng *rng) {
    double significand = 1.0 + xfi_rng_uniform(rng) / 2.0 + xfi_rng_uniform(rng) * 0x1p-40;
    int exponent = (int)xfi_rng_below(rng, 60) - 40;
    int neighbour = (int)xfi_rng_below(rng, 3) - 1;
    double sign = xfi_rng_below(rng, 2) ? 1.0 : -1.0;
    switch (xfi_rng_below(rng, 8)) {
    case 0:
        return 0.0;
    case 1: /* a power of two or its neighbour */
        significand = neighbour < 0 ? 0x1.fffffffffffffp-1 : 1.0 + neighbour * 0x1p-52;
        break;
    case 2: /* nothing but a first and a last bit, or nothing but ones */
        significand = neighbour < 0 ? 0x1.fffffffffffffp0 : 0x1.0000000000001p0;
        break;
    default:
        break;
    }
    return sign * ldexp(significand, exponent);
}

void xfi_target_hard_floats(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    (void)j;
    int64_t d = generator->options.d;
    for (int64_t c = 0; c < d; c++)
        out[i * d + c] = hard_float(&generator->target_rng);
}

static void copy_token(double *out, const double *from, int64_t d) {
    for (int64_t c = 0; c < d; c++)
        out[c] = from[c];
}

void xfi_target_pool(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    (void)j;
    int64_t d = generator->options.d;
    int64_t pick = xfi_rng_below(&generator->target_rng, generator->n_pool);
    copy_token(out + i * d, generator->pool + pick * d, d);
}

/* Any input token of the data set. */
void xfi_target_permutation(xfi_generator *generator, int64_t j, int64_t i, double *out) {
    (void)j;
    int64_t d = generator->options.d;
    int64_t pick = xfi_rng_below(&generator->target_rng, generator->data->n_tokens);
    copy_token(out + i * d, generator->data->x + pick * d, d);
}

/* Values of the styles. */
#include "property/random_values.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void *need(void *block) {
    if (block == NULL)
        abort();
    return block;
}

int64_t xft_skewed(xfi_rng *rng, int64_t low, int64_t high) {
    double ratio = (double)(high + 1) / (double)low;
    int64_t v = (int64_t)floor((double)low * pow(ratio, xfi_rng_uniform(rng)));
    return v < low ? low : v > high ? high : v;
}

int xft_pick_bit(xfi_rng *rng, int set) {
    int64_t skip = xfi_rng_below(rng, __builtin_popcount((unsigned)set));
    for (; skip > 0; skip--)
        set &= set - 1;
    return set & -set;
}

static double between(xfi_rng *rng, double low, double high) {
    return low + (high - low) * xfi_rng_uniform(rng);
}

/* v or -v; v is drawn first. */
static double either_sign(xfi_rng *rng, double v) {
    return xfi_rng_below(rng, 2) ? v : -v;
}

/* A random significand in [1, 2) of the format. */
static double random_significand(const xft_source *s) {
    int bits = s->format.p - 1;
    return 1.0 + ldexp((double)xfi_rng_below(s->rng, (int64_t)1 << bits), -bits);
}

static double with_exponent(const xft_source *s, int low, int high) {
    int exponent = low + (int)xfi_rng_below(s->rng, high - low + 1);
    return either_sign(s->rng, ldexp(random_significand(s), exponent));
}

/* Any number of the format, all exponents alike; subnormals and the largest ones. */
static double anywhere(const xft_source *s) {
    const xfi_format *f = &s->format;
    double largest = ldexp(2.0 - ldexp(1.0, 1 - f->p), f->emax);
    switch (xfi_rng_below(s->rng, 8)) {
    case 0:
        return 0.0;
    case 1:
        return either_sign(s->rng, largest);
    case 2:
        return either_sign(s->rng, f->smallest * (double)(1 + xfi_rng_below(s->rng, 5)));
    case 3:
        return either_sign(s->rng,
                           f->smallest * (double)xfi_rng_below(s->rng, (int64_t)1 << (f->p - 1)));
    default:
        return with_exponent(s, f->emin, f->emax);
    }
}

static double neighbour_of_power(const xft_source *s) {
    double power = ldexp(1.0, (int)xfi_rng_below(s->rng, 9) - 4 + s->exponent);
    int64_t step = xfi_rng_below(s->rng, 5) - 2;
    double ulp = ldexp(1.0, xfi_exponent(power) - s->format.p + 1);
    return either_sign(s->rng, power + (double)step * (step < 0 ? ulp / 2 : ulp));
}

static double odd(const xft_source *s) {
    int bits = s->format.p - 1;
    int64_t below = 2 * xfi_rng_below(s->rng, (int64_t)1 << (bits - 1)) + 1;
    double v = 1.0 + ldexp((double)below, -bits);
    return either_sign(s->rng, ldexp(v, s->exponent + (int)xfi_rng_below(s->rng, 2)));
}

static double log_uniform(xfi_rng *rng, double low, double high) {
    return either_sign(rng, low * pow(high / low, xfi_rng_uniform(rng)));
}

/* A value of the style before rounding to the format. */
static double raw_target(const xft_source *s) {
    xfi_rng *rng = s->rng;
    int single = s->format.p == 24;
    int limit = single ? 110 : 1000;
    switch (s->style) {
    case XFT_Y_INTEGER:
        return (double)(xfi_rng_below(rng, 129) - 64);
    case XFT_Y_HALF:
        return ldexp(rint(ldexp(xfi_rng_normal(rng), 9)), -9);
    case XFT_Y_SINGLE:
        return (double)(float)xfi_rng_normal(rng);
    case XFT_Y_ZEROS:
        return xfi_rng_below(rng, 2) ? 0.0 : xfi_rng_normal(rng);
    case XFT_Y_ALL_ZERO:
        return 0.0;
    case XFT_Y_MIXED:
        return xfi_rng_below(rng, 8) ? log_uniform(rng, 1e-12, 1e6) : 0.0;
    case XFT_Y_RANGE:
        return xfi_rng_below(rng, 16) ? with_exponent(s, -limit, limit) : 0.0;
    case XFT_Y_BEYOND:
        return anywhere(s);
    case XFT_Y_POWERS:
        return neighbour_of_power(s);
    case XFT_Y_ODD:
        return odd(s);
    case XFT_Y_NEGATIVE:
        return -fabs(xfi_rng_normal(rng));
    case XFT_Y_DYADIC: {
        int bits = single ? 14 : 35;
        return ldexp((double)(xfi_rng_below(rng, (int64_t)2 << bits) - ((int64_t)1 << bits)),
                     s->exponent);
    }
    case XFT_Y_SMALL:
        return either_sign(rng, s->format.smallest *
                                    (double)xfi_rng_below(rng, (int64_t)1 << (s->format.p - 1)));
    case XFT_Y_LARGE:
        return with_exponent(s, limit, s->format.emax);
    default:
        return xfi_rng_normal(rng);
    }
}

void xft_draw_target(xft_source *source, double *out) {
    if (source->pool != NULL) {
        int64_t row = xfi_rng_below(source->rng, source->n_pool);
        memcpy(out, source->pool + row * source->d, (size_t)source->d * sizeof *out);
        return;
    }
    for (int64_t k = 0; k < source->d; k++) {
        double v = source->is_fixed[k] ? source->fixed[k] : raw_target(source);
        out[k] = k == source->zero_index ? 0.0 : xfi_round(&source->format, v) + 0.0;
    }
}

static void draw_one_hot(const xft_source *s, double *out) {
    memset(out, 0, (size_t)s->d * sizeof *out);
    out[xfi_rng_below(s->rng, s->d)] = (double)(1 + xfi_rng_below(s->rng, 3));
}

/* A few shared places, and a few units in the last place around them. */
static double close_value(const xft_source *s, int64_t k) {
    double base = s->fixed[k], ulp = xfi_ulp(&s->format, base);
    return base + ulp * (double)(xfi_rng_below(s->rng, 33) - 16);
}

static double raw_input(const xft_source *s, int64_t k) {
    xfi_rng *rng = s->rng;
    int single = s->format.p == 24;
    switch (s->style) {
    case XFT_X_UNIFORM:
        return between(rng, -1.0, 1.0);
    case XFT_X_SINGLE:
        return (double)(float)xfi_rng_normal(rng);
    case XFT_X_OFFSET:
        return xfi_rng_normal(rng) + 1e3;
    case XFT_X_TINY:
        return xfi_rng_normal(rng) * (single ? 1e-30 : 1e-100);
    case XFT_X_HUGE:
        return xfi_rng_normal(rng) * (single ? 1e30 : 1e100);
    case XFT_X_ANISOTROPIC:
        return xfi_rng_normal(rng) * s->scale[k];
    case XFT_X_MIXED:
        return log_uniform(rng, 1e-12, 1e6);
    case XFT_X_LATTICE:
        return (double)(xfi_rng_below(rng, 9) - 4);
    case XFT_X_BINARY:
        return (double)xfi_rng_below(rng, 2);
    case XFT_X_CLOSE:
        return close_value(s, k);
    case XFT_X_SUBNORMAL:
        return s->format.smallest * (double)(xfi_rng_below(rng, 2000001) - 1000000);
    case XFT_X_LARGEST:
        return between(rng, -1.0, 1.0) * ldexp(1.0, s->format.emax);
    default:
        return xfi_rng_normal(rng);
    }
}

void xft_draw_input(xft_source *source, double *out) {
    if (source->pool != NULL) {
        int64_t row = xfi_rng_below(source->rng, source->n_pool);
        memcpy(out, source->pool + row * source->d, (size_t)source->d * sizeof *out);
        return;
    }
    if (source->zero_tokens > 0 && xfi_rng_below(source->rng, source->zero_tokens) == 0) {
        memset(out, 0, (size_t)source->d * sizeof *out);
        return;
    }
    if (source->style == XFT_X_ONE_HOT) {
        draw_one_hot(source, out);
        return;
    }
    for (int64_t k = 0; k < source->d; k++)
        out[k] = (source->is_fixed[k] ? source->fixed[k] : raw_input(source, k)) + 0.0;
}

static void fill_pool(xft_source *source, int64_t n_pool, void (*draw)(xft_source *, double *)) {
    double *pool = need(xfi_calloc2(n_pool, source->d, sizeof(double)));
    for (int64_t i = 0; i < n_pool; i++)
        draw(source, pool + i * source->d);
    source->pool = pool;
    source->n_pool = n_pool;
}

static void begin(xft_source *source, xfi_rng *rng, xf_dtype dtype, int style, int64_t d) {
    *source = (xft_source){
        .rng = rng, .format = xfi_format_of(dtype), .style = style, .d = d, .zero_index = -1};
    source->fixed = need(xfi_calloc(d, sizeof(double)));
    source->scale = need(xfi_calloc(d, sizeof(double)));
    source->is_fixed = need(xfi_calloc(d, sizeof(int)));
    source->exponent = (int)xfi_rng_below(rng, 21) - 10;
    for (int64_t k = 0; k < d; k++) {
        source->fixed[k] = (double)(float)xfi_rng_normal(rng);
        source->scale[k] = ldexp(1.0, (int)xfi_rng_below(rng, 41) - 20);
    }
}

/* Make some coordinates constant, but not all. */
static void fix_some(xft_source *source) {
    int64_t varying = xfi_rng_below(source->rng, source->d);
    for (int64_t k = 0; k < source->d; k++)
        source->is_fixed[k] = xfi_rng_below(source->rng, 2) && k != varying;
}

void xft_input_source(xft_source *source, xfi_rng *rng, xf_dtype dtype, int style, int64_t d,
                      int64_t n_pool) {
    begin(source, rng, dtype, style, d);
    if (style == XFT_X_CONSTANT)
        fix_some(source);
    source->zero_tokens = xfi_rng_below(rng, 8) == 0 ? 4 : 0;
    if (n_pool > 0)
        fill_pool(source, n_pool, xft_draw_input);
}

void xft_target_source(xft_source *source, xfi_rng *rng, xf_dtype dtype, int style, int64_t d,
                       int64_t n_pool) {
    begin(source, rng, dtype, style, d);
    if (xfi_rng_below(rng, 8) == 0 && style != XFT_Y_ALL_ZERO)
        fix_some(source);
    if (style == XFT_Y_ZERO_COLUMN && d > 1)
        source->zero_index = (int)xfi_rng_below(rng, d);
    if (n_pool > 0)
        fill_pool(source, n_pool, xft_draw_target);
}

void xft_source_clear(xft_source *source) {
    xfi_free(source->pool);
    xfi_free(source->fixed);
    xfi_free(source->scale);
    xfi_free(source->is_fixed);
    *source = (xft_source){0};
}

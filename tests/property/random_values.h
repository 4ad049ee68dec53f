/* The styles of random_data.h, value by value. */
#ifndef XFT_PROPERTY_RANDOM_VALUES_H
#define XFT_PROPERTY_RANDOM_VALUES_H

#include "num/format.h"
#include "property/random_data.h"

/* What one data set draws its tokens from. */
typedef struct xft_source {
    xfi_rng *rng;
    xfi_format format;
    int style;
    int64_t d;
    int64_t n_pool;
    double *pool;    /* [n_pool][d] shared tokens; NULL: none */
    double *fixed;   /* [d] the constant of a coordinate */
    double *scale;   /* [d] */
    int *is_fixed;   /* [d] */
    int exponent;    /* centre of a style with few binades */
    int zero_index;  /* coordinate that is 0 throughout, or -1 */
    int zero_tokens; /* one token in so many is 0; 0: none on purpose */
} xft_source;

/* A source of inputs (XFT_X_ style) or of targets (XFT_Y_). With n_pool > 0 tokens are
 * drawn from a pool of so many. */
void xft_input_source(xft_source *source, xfi_rng *rng, xf_dtype dtype, int style, int64_t d,
                      int64_t n_pool);
void xft_target_source(xft_source *source, xfi_rng *rng, xf_dtype dtype, int style, int64_t d,
                       int64_t n_pool);
void xft_source_clear(xft_source *source);

/* One token [d], not -0. Values of inputs may have more bits than the format. */
void xft_draw_input(xft_source *source, double *out);

/* One target [d] of numbers of the format. */
void xft_draw_target(xft_source *source, double *out);

/* Log-uniform integer in low .. high. */
int64_t xft_skewed(xfi_rng *rng, int64_t low, int64_t high);

/* One of the bits of a nonempty set. */
int xft_pick_bit(xfi_rng *rng, int set);

#endif

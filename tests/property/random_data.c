/* Random data sets: sizes, and tokens that keep the conditions of xf_dataset_check. */
#include "property/random_data.h"

#include "base/alloc.h"
#include "property/random_values.h"

#include <exactformer/generate.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 60, D_MAX = 64, N_TOKENS_MAX = 50 };

/* A data set being drawn; rooms are large enough for all of it. */
typedef struct draft {
    xft_source inputs, targets;
    int copies_inputs; /* targets are input tokens */
    int64_t d;
    int64_t N;
    double *x, *y;
    int64_t *x_offsets, *y_offsets;
} draft;

typedef struct sizes {
    int64_t d;
    int64_t N;
    int64_t n_low, n_high;
    xft_counts counts;
} sizes;

static void *need(void *block) {
    if (block == NULL)
        abort();
    return block;
}

static int same_row(const double *a, const double *b, int64_t d) {
    for (int64_t k = 0; k < d; k++)
        if (a[k] != b[k])
            return 0;
    return 1;
}

static int contains(const double *rows, int64_t n, const double *row, int64_t d) {
    for (int64_t i = 0; i < n; i++)
        if (same_row(rows + i * d, row, d))
            return 1;
    return 0;
}

static int same_set(const double *a, int64_t n, const double *b, int64_t m, int64_t d) {
    if (n != m)
        return 0;
    for (int64_t i = 0; i < n; i++)
        if (!contains(b, m, a + i * d, d))
            return 0;
    return 1;
}

/* Up to n distinct tokens; returns how many were found. */
static int64_t draw_tokens(xft_source *source, void (*draw)(xft_source *, double *), double *out,
                           int64_t n) {
    int64_t found = 0;
    for (int64_t tries = 0; found < n && tries < TRIES + n; tries++) {
        draw(source, out + found * source->d);
        if (!contains(out, found, out + found * source->d, source->d))
            found++;
    }
    return found;
}

/* A set that no sequence before j has; 0 if none was found. */
static int64_t draw_sequence(draft *w, int64_t j, int64_t n) {
    double *x = w->x + w->x_offsets[j] * w->d;
    for (int tries = 0; tries < TRIES; tries++) {
        int64_t found = draw_tokens(&w->inputs, xft_draw_input, x, n);
        int clash = 0;
        for (int64_t i = 0; i < j && !clash; i++)
            clash = same_set(x, found, w->x + w->x_offsets[i] * w->d,
                             w->x_offsets[i + 1] - w->x_offsets[i], w->d);
        if (!clash)
            return found;
    }
    return 0;
}

static int64_t draw_count(xfi_rng *rng, xft_counts counts, int64_t n) {
    switch (counts) {
    case XFT_ONE_EACH:
        return 1;
    case XFT_FEW_EACH:
        return 1 + xfi_rng_below(rng, n < 3 ? n : 3);
    case XFT_ALL:
        return n;
    default:
        return 1 + xfi_rng_below(rng, n);
    }
}

/* Targets of sequence j, which has n tokens at x. */
static int64_t draw_targets(draft *w, int64_t j, int64_t n, int64_t m) {
    double *y = w->y + w->y_offsets[j] * w->d;
    if (!w->copies_inputs)
        return draw_tokens(&w->targets, xft_draw_target, y, m);
    const double *x = w->x + w->x_offsets[j] * w->d;
    int64_t found = 0, first = xfi_rng_below(w->targets.rng, n);
    for (int64_t i = 0; i < n && found < m; i++) {
        const double *token = x + (first + i) % n * w->d;
        for (int64_t k = 0; k < w->d; k++)
            y[found * w->d + k] = xfi_round(&w->targets.format, token[k]);
        found += !contains(y, found, y + found * w->d, w->d);
    }
    return found;
}

static void draw_all(draft *w, const sizes *size, xfi_rng *rng) {
    w->x_offsets = need(xfi_calloc(size->N + 1, sizeof(int64_t)));
    w->y_offsets = need(xfi_calloc(size->N + 1, sizeof(int64_t)));
    w->x = need(xfi_calloc2(size->N * size->n_high, size->d, sizeof(double)));
    w->y = need(xfi_calloc2(size->N * size->n_high, size->d, sizeof(double)));
    for (int64_t j = 0; j < size->N; j++) {
        int64_t n = size->n_low + xfi_rng_below(rng, size->n_high - size->n_low + 1);
        n = draw_sequence(w, j, n);
        if (n == 0)
            break; /* the style has no more sets */
        w->x_offsets[j + 1] = w->x_offsets[j] + n;
        int64_t m = draw_targets(w, j, n, draw_count(rng, size->counts, n));
        w->y_offsets[j + 1] = w->y_offsets[j] + m;
        w->N = j + 1;
    }
}

static double work(const sizes *size) {
    double n = (double)(size->n_low + size->n_high) / 2;
    double m = size->counts == XFT_ONE_EACH ? 1 : size->counts == XFT_FEW_EACH ? fmin(2, n) : n;
    double M = (double)size->N * (size->counts == XFT_UP_TO_ALL ? (1 + n) / 2 : m);
    return (double)size->N * n * (M + 4) * (double)size->d;
}

static sizes draw_sizes(const xft_family *family, int style_y, double budget, xfi_rng *rng) {
    sizes size = {.counts = family->counts};
    int64_t n_max = family->n_max > 0 ? family->n_max : N_TOKENS_MAX;
    if (size.counts == XFT_ANY_COUNT)
        size.counts = (xft_counts)(XFT_ONE_EACH + xfi_rng_below(rng, 4));
    if (style_y == XFT_Y_ALL_ZERO)
        size.counts = XFT_ONE_EACH;
    size.d = xft_skewed(rng, family->d_min > 0 ? family->d_min : 1,
                        family->d_max > 0 ? family->d_max : D_MAX);
    size.n_high = xft_skewed(rng, 1, n_max);
    size.n_low = xfi_rng_below(rng, 3) ? 1 + xfi_rng_below(rng, size.n_high) : size.n_high;
    size.N = xft_skewed(rng, family->N_min > 0 ? family->N_min : 1,
                        family->N_max > 0 ? family->N_max : 40);
    while (work(&size) > budget && size.N > 1)
        size.N -= 1 + size.N / 8;
    while (work(&size) > budget && size.n_high > 1) {
        size.n_high -= 1 + size.n_high / 8;
        size.n_low = size.n_low < size.n_high ? size.n_low : size.n_high;
    }
    return size;
}

static int64_t pool_size(const sizes *size, xfi_rng *rng) {
    return size->n_high + 1 + xfi_rng_below(rng, size->n_high + 8);
}

static void from_styles(xf_dataset *out, const xft_family *family, xf_dtype dtype, double budget,
                        xfi_rng *rng) {
    int style_x = xft_pick_bit(rng, family->inputs), style_y = xft_pick_bit(rng, family->targets);
    sizes size = draw_sizes(family, style_y, budget, rng);
    draft w = {.d = size.d, .copies_inputs = style_y == XFT_Y_INPUTS};
    int shares = style_y == XFT_Y_POOL || xfi_rng_below(rng, 6) == 0;
    xft_input_source(&w.inputs, rng, dtype, style_x, size.d,
                     style_x == XFT_X_VOCABULARY ? pool_size(&size, rng) : 0);
    xft_target_source(&w.targets, rng, dtype, style_y, size.d, shares ? pool_size(&size, rng) : 0);
    draw_all(&w, &size, rng);
    xf_error error;
    if (xf_dataset_from_arrays(out, w.N, w.d, w.x, w.x_offsets, w.y, w.y_offsets, NULL, &error) !=
        XF_OK) {
        fprintf(stderr, "the random data set is not valid: %s\n", error.message);
        abort();
    }
    xft_source_clear(&w.inputs);
    xft_source_clear(&w.targets);
    xfi_free(w.x);
    xfi_free(w.y);
    xfi_free(w.x_offsets);
    xfi_free(w.y_offsets);
}

/* Some kinds accept only some sizes: draw again, and in the end let the kind choose. */
static void from_kind(xf_dataset *out, const xft_family *family, xf_dtype dtype, double budget,
                      xfi_rng *rng) {
    for (int tries = 0; tries < TRIES; tries++) {
        sizes size = draw_sizes(family, 0, budget, rng);
        xf_generate_options options = {.kind = family->kind,
                                       .n_sequences = size.N,
                                       .d = size.d,
                                       .n_min = size.n_low,
                                       .n_max = size.n_high,
                                       .m_min = size.counts == XFT_ALL ? size.n_low : 1,
                                       .m_max = size.counts == XFT_ONE_EACH   ? 1
                                                : size.counts == XFT_FEW_EACH ? 3
                                                                              : size.n_high};
        int first = dtype == XF_F32; /* grids that binary32 holds */
        options.grid = (xf_grid)(first + xfi_rng_below(rng, 4 - first));
        options.seed = xfi_rng_bits(rng);
        if (tries > TRIES / 2)
            options.m_min = options.m_max = options.n_min = options.n_max = 0;
        if (xf_generate(out, &options, NULL) == XF_OK)
            return;
    }
    fprintf(stderr, "found no sizes for the kind %s\n", family->kind);
    abort();
}

void xft_random_data(xf_dataset *out, const xft_family *family, xf_dtype dtype, double budget,
                     xfi_rng *rng) {
    if (family->kind != NULL)
        from_kind(out, family, dtype, budget, rng);
    else
        from_styles(out, family, dtype, budget, rng);
}

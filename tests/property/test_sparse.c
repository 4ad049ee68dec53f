/* The sparse engine against the dense one, bit for bit and the sign of zero included: models of
 * every front end and writer, whole and from a block in the middle on, as built and spoiled; random
 * models with many zeros; tokens of the data, their neighbours, numbers at and next to thresholds,
 * -0, subnormal, huge.
 * Labels: slow */
#include "base/alloc.h"
#include "base/rng.h"
#include "engine/evaluate.h"
#include "property/campaign.h"
#include "property/random_data.h"
#include "support/toy.h"

#include <exactformer/build.h>

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct tally {
    int64_t n_runs;
    int64_t n_built;
    int64_t n_with_stretches;
    int64_t n_tiles;
    int64_t n_not_finite;
} tally;

static int same_bits(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

/* Any budget, and any first layers left to the dense kernel. */
static void unbind(xfi_sparse *stretch) {
    stretch->budget = INT64_MAX;
    stretch->start = stretch->n_steps * (stretch->n_steps % 4) / 5;
}

/* Sparse with one thread and with three, as usual or unbound. */
static void compare(tally *t, const xf_model *model, const xf_dataset *input, int boundless) {
    int64_t n = input->n_tokens * input->d;
    double *dense = xft_toy_output(input), *sparse = xft_toy_output(input);
    xf_run_options options = {.engine = XF_ENGINE_DENSE, .threads = 1};
    assert_int_equal(xf_run(dense, model, input, &options, NULL), XF_OK);
    options.engine = XF_ENGINE_SPARSE;
    for (int threads = 1; threads <= 3; threads += 2) {
        xfi_prepared prepared;
        options.threads = threads;
        assert_int_equal(xfi_prepared_new(&prepared, model, &options, NULL), XF_OK);
        for (int64_t i = 0; i < prepared.n_stretches && boundless; i++)
            unbind(&prepared.stretches[i]);
        assert_int_equal(xfi_evaluate(sparse, &prepared, input, NULL), XF_OK);
        t->n_with_stretches += prepared.n_stretches > 0;
        for (int64_t i = 0; i < prepared.n_stretches; i++)
            t->n_tiles += prepared.stretches[i].n_tiles - prepared.stretches[i].n_dear;
        xfi_prepared_clear(&prepared);
        int finite = 1;
        for (int64_t k = 0; k < n; k++) {
            finite &= isfinite(dense[k]);
            if (!same_bits(dense[k], sparse[k]))
                fail_msg("token %lld, coordinate %lld: dense %a, sparse %a (%lld blocks, d %lld, "
                         "%d threads)",
                         (long long)(k / input->d), (long long)(k % input->d), dense[k], sparse[k],
                         (long long)model->n_blocks, (long long)model->d, threads);
        }
        t->n_not_finite += !finite;
        t->n_runs++;
    }
    xfi_free(dense);
    xfi_free(sparse);
}

/* --- tokens ------------------------------------------------------------------------------ */

static double round_to(xf_dtype dtype, double v) {
    return dtype == XF_F32 ? (double)(float)v : v;
}

static double neighbour(xf_dtype dtype, double v, int steps) {
    for (; steps > 0; steps--)
        v = dtype == XF_F32 ? (double)nextafterf((float)v, INFINITY) : nextafter(v, INFINITY);
    for (; steps < 0; steps++)
        v = dtype == XF_F32 ? (double)nextafterf((float)v, -INFINITY) : nextafter(v, -INFINITY);
    return isfinite(v) ? v : 0.0;
}

/* A number at which some neuron is about to become active, and the coordinate it reads. */
static double threshold(int64_t *coordinate, const xf_model *m, xfi_rng *rng) {
    int64_t row = xfi_rng_below(rng, m->n_blocks * m->width), start = xfi_rng_below(rng, m->d);
    for (int64_t k = 0; k < m->d; k++) {
        *coordinate = (start + k) % m->d;
        double u = m->ff_U[row * m->d + *coordinate], v = -m->ff_b[row] / u;
        if (u != 0.0 && isfinite(round_to(m->dtype, v)))
            return neighbour(m->dtype, round_to(m->dtype, v), (int)xfi_rng_below(rng, 5) - 2);
    }
    return 0.0;
}

static double odd_number(xf_dtype dtype, xfi_rng *rng) {
    double sign = xfi_rng_below(rng, 2) ? 1.0 : -1.0;
    int huge = dtype == XF_F32 ? 127 : 1023, tiny = dtype == XF_F32 ? -149 : -1074;
    switch (xfi_rng_below(rng, 7)) {
    case 0:
        return sign * 0.0;
    case 1:
        return sign * ldexp(1.0, tiny + (int)xfi_rng_below(rng, 60));
    case 2:
        return sign * ldexp(1.0, huge - (int)xfi_rng_below(rng, 60));
    case 3:
        return sign * (double)xfi_rng_below(rng, 5);
    case 4:
        return sign * ldexp(1.0 + xfi_rng_uniform(rng), (int)xfi_rng_below(rng, 80) - 40);
    default:
        return xfi_rng_normal(rng);
    }
}

/* One token: of `states` [n][d] or its neighbour, odd numbers, thresholds. */
static void draw_token(double *x, const xf_model *m, const double *states, int64_t n,
                       xfi_rng *rng) {
    int style = (int)xfi_rng_below(rng, 5);
    const double *state = states + xfi_rng_below(rng, n) * m->d;
    for (int64_t k = 0; k < m->d; k++) {
        double v = style < 3 ? state[k] : style == 3 ? odd_number(m->dtype, rng) : 0.0;
        if (style == 1 && xfi_rng_below(rng, 3) == 0)
            v = neighbour(m->dtype, v, (int)xfi_rng_below(rng, 5) - 2);
        if (style == 2 && xfi_rng_below(rng, 4) == 0)
            v = odd_number(m->dtype, rng);
        x[k] = isfinite(v) ? v : 1.0;
    }
    for (int i = 0; style == 4 && m->width > 0 && i < 3; i++) {
        int64_t k = 0;
        double v = threshold(&k, m, rng);
        x[k] = v;
    }
}

static void draw_input(xf_dataset *out, const xf_model *m, const double *states, int64_t n,
                       xfi_rng *rng) {
    xft_toy toy = {.d = m->d, .seed = xfi_rng_bits(rng)};
    xft_toy_inputs(out, &toy, 30, 4);
    for (int64_t i = 0; i < out->n_tokens; i++)
        draw_token(out->x + i * m->d, m, states, n, rng);
}

/* --- models ------------------------------------------------------------------------------ */

/* Blocks first .. last-1, borrowed. */
static xf_model part_of(const xf_model *m, int64_t first, int64_t last) {
    int64_t d = m->d, w = m->width;
    xf_model part = *m;
    part.n_blocks = last - first;
    part.ff_eta += first;
    part.ff_W += first * d * w;
    part.ff_U += first * w * d;
    part.ff_b += first * w;
    part.sa_rho += first;
    xf_low_rank *matrices[2] = {&part.sa_A, &part.sa_V};
    for (int i = 0; i < 2; i++) {
        matrices[i]->alpha += first;
        matrices[i]->left += first * d;
        matrices[i]->right += first * d;
        if (matrices[i]->full != NULL)
            matrices[i]->full += first * d * d;
    }
    return part;
}

static double spoiled(double v, xf_dtype dtype, xfi_rng *rng) {
    switch (xfi_rng_below(rng, 6)) {
    case 0:
        return -v;
    case 1:
        return 0.0;
    case 2:
        return neighbour(dtype, v, 1);
    case 3:
        return round_to(dtype, v * 0.75);
    case 4:
        return -0.0;
    default:
        return round_to(dtype, odd_number(dtype, rng));
    }
}

/* Change a few weights anywhere; odd ones only in some models, as they end in overflow. */
static void spoil(xf_model *m, xfi_rng *rng) {
    static const double factors[] = {0.0, -0.0, -1.0, 0.5, 2.0, 1.0};
    int64_t size = m->d * m->width, count = 1 + xfi_rng_below(rng, 6);
    for (int64_t i = 0; i < count; i++) {
        int64_t b = xfi_rng_below(rng, m->n_blocks);
        int what = (int)xfi_rng_below(rng, 5);
        if (what == 0)
            m->ff_eta[b] = factors[xfi_rng_below(rng, 6)];
        if (what == 1)
            m->sa_rho[b] = factors[xfi_rng_below(rng, 6)];
        if (size == 0)
            continue;
        double *of[] = {m->ff_W + b * size + xfi_rng_below(rng, size),
                        m->ff_U + b * size + xfi_rng_below(rng, size),
                        m->ff_b + b * m->width + xfi_rng_below(rng, m->width)};
        if (what >= 2)
            *of[what - 2] = spoiled(*of[what - 2], m->dtype, rng);
    }
}

/* From a block on, with tokens as they are there, and others. */
static void try_parts(tally *t, const xf_model *m, const xf_dataset *data, xfi_rng *rng) {
    for (int i = 0; i < 4; i++) {
        int64_t first = i == 0 ? 0 : xfi_rng_below(rng, m->n_blocks);
        xf_model front = part_of(m, 0, first > 0 ? first : 1),
                 rest = part_of(m, first, m->n_blocks);
        xf_run_options dense = {.engine = XF_ENGINE_DENSE, .threads = 1};
        double *states = xft_toy_output(data);
        xf_dataset input;
        if (first > 0)
            assert_int_equal(xf_run(states, &front, data, &dense, NULL), XF_OK);
        else
            for (int64_t k = 0; k < data->n_tokens * data->d; k++)
                states[k] = round_to(m->dtype, data->x[k]);
        draw_input(&input, &rest, states, data->n_tokens, rng);
        compare(t, &rest, &input, i % 2);
        xft_toy_dataset_clear(&input);
        xfi_free(states);
    }
}

enum {
    INPUTS = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_VOCABULARY | XFT_X_SINGLE | XFT_X_LATTICE,
    TARGETS = XFT_Y_INTEGER | XFT_Y_SINGLE | XFT_Y_FULL | XFT_Y_MIXED | XFT_Y_NEGATIVE | XFT_Y_ZEROS
};

static const xft_family families[] = {
    {.inputs = INPUTS, .targets = TARGETS, .d_min = 1, .d_max = 6},
    {.inputs = INPUTS, .targets = TARGETS, .counts = XFT_ONE_EACH, .d_min = 2, .d_max = 6},
    {.inputs = INPUTS, .targets = TARGETS, .counts = XFT_ONE_EACH, .d_min = 8, .d_max = 16},
    {.inputs = XFT_X_GAUSSIAN, .targets = XFT_Y_INTEGER, .d_min = 10, .d_max = 16, .n_max = 4}};

static const char *pick(const char *const *names, xfi_rng *rng) {
    int64_t n = 0;
    while (names[n] != NULL)
        n++;
    int64_t i = xfi_rng_below(rng, 2 * n);
    return i < n ? names[i] : NULL;
}

static int build(xf_model *m, const xf_dataset *data, xf_dtype dtype, int published, xfi_rng *rng) {
    for (int attempt = 0; attempt < 8; attempt++) {
        xf_build_options how = {.dtype = dtype, .threads = 1, .seed = xfi_rng_bits(rng)};
        if (published) {
            how.construction = XF_PUBLISHED;
            how.attention = (xf_attention)xfi_rng_below(rng, 2);
        } else if (attempt < 7) {
            how.front = pick(xf_build_fronts(), rng);
            how.writer = pick(xf_build_writers(), rng);
            how.optimise = (xf_optimise)(xfi_rng_below(rng, 4) == 0);
        }
        if (xf_build(m, data, &how, NULL, NULL) == XF_OK)
            return 1;
    }
    return 0;
}

static void built_models(tally *t, int published, int64_t n_cases) {
    n_cases = (int64_t)ceil((double)n_cases * xft_multiplier());
    for (int64_t i = 0; i < n_cases; i++) {
        xf_dataset data;
        xf_model model;
        xfi_rng rng;
        xfi_rng_seed(&rng, xft_property_seed(), 0x50000 + (uint64_t)(2 * i + published));
        xf_dtype dtype = i % 3 == 2 && !published ? XF_F32 : XF_F64;
        xft_random_data(&data, &families[i % 4], dtype, published ? 2e3 : 2e4, &rng);
        if (build(&model, &data, dtype, published, &rng)) {
            t->n_built++;
            compare(t, &model, &data, 0);
            try_parts(t, &model, &data, &rng);
            for (int k = 0; k < 3; k++) {
                spoil(&model, &rng);
                try_parts(t, &model, &data, &rng);
            }
            xf_model_clear(&model);
        }
        xf_dataset_clear(&data);
    }
}

static void print(const char *name, const tally *t) {
    printf("%-10s %lld models, %lld runs, %lld with stretches, %lld tiles, %lld not finite\n", name,
           (long long)t->n_built, (long long)t->n_runs, (long long)t->n_with_stretches,
           (long long)t->n_tiles, (long long)t->n_not_finite);
}

static void pooled(void **state) {
    (void)state;
    tally t = {0};
    built_models(&t, 0, 160);
    print("pooled", &t);
    assert_true(t.n_with_stretches > t.n_runs / 2 && t.n_tiles > t.n_runs);
}

static void published(void **state) {
    (void)state;
    tally t = {0};
    built_models(&t, 1, 30);
    print("published", &t);
    assert_true(t.n_with_stretches > t.n_runs / 4);
}

/* Zero most weights, and make eta and rho mostly 1. */
static void thin_out(xf_model *m, xfi_rng *rng) {
    int64_t size = m->n_blocks * m->d * m->width, keep = 1 + xfi_rng_below(rng, 8);
    int negative = (int)xfi_rng_below(rng, 3) == 0;
    for (int64_t i = 0; i < size; i++) {
        if (xfi_rng_below(rng, 8) >= keep)
            m->ff_U[i] = 0.0;
        if (xfi_rng_below(rng, 8) >= keep)
            m->ff_W[i] = negative ? -0.0 : 0.0;
        else if (negative)
            m->ff_W[i] = -fabs(m->ff_W[i]);
    }
    for (int64_t i = 0; i < m->n_blocks * m->width; i++)
        m->ff_b[i] -= xfi_rng_below(rng, 2) ? 2.0 : 0.0;
    for (int64_t b = 0; b < m->n_blocks; b++) {
        if (xfi_rng_below(rng, 8) > 0)
            m->ff_eta[b] = 1.0;
        if (xfi_rng_below(rng, 8) > 0)
            m->sa_rho[b] = 1.0;
        if (xfi_rng_below(rng, 6) > 0) {
            m->sa_V.alpha[b] = 0.0;
            memset(m->sa_V.left + b * m->d, 0, (size_t)m->d * sizeof(double));
            if (m->sa_V.full != NULL)
                memset(m->sa_V.full + b * m->d * m->d, 0, (size_t)(m->d * m->d) * sizeof(double));
        }
    }
}

static void random_models(void **state) {
    (void)state;
    tally t = {0};
    int64_t n_cases = (int64_t)ceil(600 * xft_multiplier());
    for (int64_t i = 0; i < n_cases; i++) {
        xfi_rng rng;
        xf_model model;
        xf_dataset input;
        xfi_rng_seed(&rng, xft_property_seed(), 0x60000 + (uint64_t)i);
        xft_toy toy = {.n_blocks = 4 + xfi_rng_below(&rng, 80),
                       .d = 1 + xfi_rng_below(&rng, 12),
                       .width = xfi_rng_below(&rng, 7),
                       .dtype = (xf_dtype)(i & 1),
                       .attention = (xf_attention)xfi_rng_below(&rng, 2),
                       .order = (xf_order)xfi_rng_below(&rng, 2),
                       .causal = (int)xfi_rng_below(&rng, 2),
                       .A = (int)xfi_rng_below(&rng, 8),
                       .V = (int)xfi_rng_below(&rng, 8),
                       .integers = xfi_rng_below(&rng, 3) == 0,
                       .seed = xfi_rng_bits(&rng)};
        xft_toy_model(&model, &toy);
        thin_out(&model, &rng);
        if (xfi_rng_below(&rng, 3) == 0)
            spoil(&model, &rng);
        xft_toy_inputs(&input, &toy, 20, 3);
        t.n_built++;
        compare(&t, &model, &input, (int)(i % 2));
        try_parts(&t, &model, &input, &rng);
        xft_toy_dataset_clear(&input);
        xf_model_clear(&model);
    }
    print("random", &t);
    assert_true(t.n_with_stretches > t.n_runs / 4 && t.n_tiles > t.n_runs);
    assert_true(t.n_not_finite > 0 && t.n_not_finite < t.n_runs);
}

/* Gates at corners of a cube, as the cube's writers make them, of many scales: neurons that read
 * several coordinates, and tokens whose pre-activations are 0 or next to it. They write on the last
 * coordinate, which nobody reads: tokens stay at their corners. */
static void corner_model(xf_model *m, int extreme, xfi_rng *rng) {
    int64_t d = m->d, w = m->width;
    int far = m->dtype == XF_F32 ? 120 : 1000;
    memset(m->ff_U, 0, (size_t)(m->n_blocks * w * d) * sizeof(double));
    for (int64_t i = 0; i < m->n_blocks * d * w; i++)
        if (i / w % d != d - 1)
            m->ff_W[i] = 0.0;
    for (int64_t b = 0; b < m->n_blocks; b++)
        m->ff_eta[b] = m->sa_rho[b] = 1.0;
    for (int64_t row = 0; row < m->n_blocks * w; row++) {
        int scale = (int)xfi_rng_below(rng, 5) - 2, count = 0;
        if (extreme && xfi_rng_below(rng, 8) == 0)
            scale = (int)xfi_rng_below(rng, 2 * far) - far;
        for (int64_t k = 0; k < d - 1; k++) {
            if (xfi_rng_below(rng, 8) == 0)
                continue;
            m->ff_U[row * d + k] = ldexp(xfi_rng_below(rng, 2) ? 1.0 : -1.0, scale);
            count++;
        }
        double bias = -ldexp((double)(count - 2 * xfi_rng_below(rng, 3)), scale);
        m->ff_b[row] =
            neighbour(m->dtype, round_to(m->dtype, bias), (int)xfi_rng_below(rng, 3) - 1);
    }
}

static void corner_token(double *x, const xf_model *m, int extreme, xfi_rng *rng) {
    int far = m->dtype == XF_F32 ? 140 : 1060;
    double size = 1.0;
    if (extreme && xfi_rng_below(rng, 3) == 0)
        size = ldexp(1.0, (int)xfi_rng_below(rng, 2 * far - 60) - far);
    int64_t row = xfi_rng_below(rng, m->n_blocks * m->width);
    for (int64_t k = 0; k < m->d; k++) {
        double side = m->ff_U[row * m->d + k] < 0.0 ? -1.0 : 1.0;
        x[k] = xfi_rng_below(rng, 12) == 0 ? -side * size : side * size;
        if (xfi_rng_below(rng, 12) == 0)
            x[k] = xfi_rng_below(rng, 2) ? 0.0 : neighbour(m->dtype, x[k], 1);
    }
}

static void corners(void **state) {
    (void)state;
    tally t = {0};
    int64_t n_cases = (int64_t)ceil(300 * xft_multiplier());
    for (int64_t i = 0; i < n_cases; i++) {
        xfi_rng rng;
        xf_model model;
        xf_dataset input;
        xfi_rng_seed(&rng, xft_property_seed(), 0x70000 + (uint64_t)i);
        int extreme = i % 3 == 0;
        xft_toy toy = {.n_blocks = 20 + xfi_rng_below(&rng, 100),
                       .d = 3 + xfi_rng_below(&rng, 8),
                       .width = 1 + xfi_rng_below(&rng, 4),
                       .dtype = (xf_dtype)(i & 1),
                       .seed = xfi_rng_bits(&rng)};
        xft_toy_model(&model, &toy);
        corner_model(&model, extreme, &rng);
        xft_toy_inputs(&input, &toy, 40, 3);
        for (int64_t k = 0; k < input.n_tokens; k++)
            corner_token(input.x + k * toy.d, &model, extreme, &rng);
        t.n_built++;
        compare(&t, &model, &input, 1);
        xft_toy_dataset_clear(&input);
        xf_model_clear(&model);
    }
    print("corners", &t);
    assert_int_equal(t.n_with_stretches, t.n_runs);
}

int main(void) {
    /* Contracted engines promise equal bits on the data sets of exact models only. */
    if (xft_is_contracted())
        return 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(pooled), cmocka_unit_test(published),
                                       cmocka_unit_test(random_models), cmocka_unit_test(corners)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

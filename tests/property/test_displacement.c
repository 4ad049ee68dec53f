/* Displacement front ends: built for random data in every shape, exact in rational arithmetic and
 * in every order of summation; and balls that hold what they say. Labels: exact slow */
#include "construct/displacement.h"
#include "construct/displacement_bound.h"

#include "base/alloc.h"
#include "property/campaign.h"
#include "property/trial.h"
#include "support/exact_blocks.h"
#include "support/rational.h"
#include "support/shuffled.h"

#include <exactformer/exactformer.h>
#include <flint/fmpq_vec.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { ORDERS = 21 };

static const char *const shape_names[] = {"single", "each", "shared", "windows"};

typedef struct built {
    xf_model model;
    xf_build_report report;
    int found;
} built;

/* Force one shape on the data; model.n_blocks 0: refused. */
static void build(built *out, const xf_dataset *data, xfi_displacement_shape shape,
                  const xf_build_options *options) {
    xfi_problem problem;
    xfi_writers writers;
    xfi_best best;
    xf_error error = {0};
    *out = (built){0};
    xf_model_init(&out->model);
    if (xfi_problem_init(&problem, data, options, NULL) != XF_OK)
        return; /* beyond the format */
    if (xfi_writers_choose(&writers, &problem, NULL) == XF_OK) {
        xfi_best_init(&best);
        if (xfi_displace(&best, &out->found, shape, &writers, &problem, &error) != XF_OK)
            fail_msg("%s: %s", shape_names[shape], error.message);
        out->model = best.model;
        out->report = best.report;
    }
    xfi_problem_clear(&problem);
    out->model.dtype = options->dtype;
    out->model.n_sequences = data->n_sequences;
    out->model.n_targets = data->n_targets;
    out->model.n_tokens = data->n_tokens;
}

static void check_engines(const xf_model *model, const xf_dataset *data) {
    static const double taus[] = {0, 1e-3, 1e3};
    for (int i = 0; i < 9; i++) {
        xf_verify_report report;
        xf_run_options options = {.engine = (xf_engine)(i / 3),
                                  .override_attention = 1,
                                  .attention = i % 3 ? XF_SOFTMAX : XF_HARDMAX,
                                  .tau = taus[i % 3],
                                  .threads = 1};
        xf_error error = {0};
        if (xf_verify(&report, model, data, &options, &error) != XF_OK)
            fail_msg("engine %d, tau %g: %lld of %lld exact, first mismatch %lld; %s", i / 3,
                     options.tau, (long long)report.n_exact, (long long)data->n_sequences,
                     (long long)report.first_mismatch, error.message);
    }
}

/* The certificate is a function of the stored weights. */
static void check_certificate(const built *b, const xf_dataset *data) {
    xfi_groups groups;
    assert_true(xfi_has_displacement(&b->model));
    assert_int_equal(xfi_displacement_groups(&groups, &b->model, data, 1, NULL), XF_OK);
    assert_true(groups.n == data->n_targets);
    assert_true(groups.margin == b->report.margin && groups.margin > 1.0);
    xfi_groups_clear(&groups);
}

static void check_model(const built *b, const xf_dataset *data, int n_orders, uint64_t seed) {
    xf_error error = {0};
    char text[XFT_TEXT_SIZE] = "";
    int64_t n_exact = 0;
    double *out = xfi_calloc2(data->n_tokens, data->d, sizeof(double));
    xf_run_options options = {.threads = 1};
    assert_non_null(out);
    if (xf_model_check(&b->model, &error) != XF_OK)
        fail_msg("%s", error.message);
    assert_true(b->model.n_blocks <=
                xf_published_bound(data->n_sequences, data->n_targets, XF_HARDMAX));
    check_certificate(b, data);
    check_engines(&b->model, data);
    if (xft_rational_verify(&n_exact, &b->model, data, &error) != XF_OK)
        fail_msg("%s", error.message);
    assert_int_equal(xf_run(out, &b->model, data, &options, NULL), XF_OK);
    if (!xft_orders_agree(text, &b->model, data, out, n_orders, seed))
        fail_msg("%s", text);
    xfi_free(out);
}

/* The blocks before the writer. */
static int64_t count_front(const xf_model *model) {
    static const char *const names[] = {XFI_PHASE_POOLING, XFI_PHASE_DISPLACE, XFI_PHASE_WINDOWS};
    int64_t n = 0;
    for (int64_t i = 0; i < model->n_phases; i++)
        for (int k = 0; k < 3; k++)
            if (strcmp(model->phases[i].name, names[k]) == 0)
                n += model->phases[i].count;
    return n;
}

/* The first n_blocks of a model, arrays borrowed. */
static xf_model first_blocks(const xf_model *model, int64_t n_blocks) {
    xf_model out = *model;
    out.n_blocks = n_blocks;
    out.n_phases = 0;
    return out;
}

/* Every evaluation of the blocks lies in the balls of the track. Returns the largest share of a
 * radius that is used. */
static double check_track(const xfi_track *track, const xf_model *model, int64_t n_blocks,
                          const xf_dataset *data, int n_orders, uint64_t seed) {
    double share = 0;
    xf_model blocks = first_blocks(model, n_blocks);
    double *out = xfi_calloc2(data->n_tokens, data->d, sizeof(double));
    assert_non_null(out);
    for (int i = 0; i < n_orders; i++) {
        xft_shuffle how = {.seed = seed + (uint64_t)i,
                           .fma = i % 3,
                           .override_attention = 1,
                           .attention = i & 1 ? XF_SOFTMAX : XF_HARDMAX,
                           .tau = 1,
                           .tokens_per_order = i & 2 ? 1 : 0,
                           .values_first = i & 4};
        assert_int_equal(xft_run_shuffled(out, &blocks, data, &how, NULL), XF_OK);
        for (int64_t l = 0; l < data->n_tokens; l++)
            for (int k = 0; k < track->n_coordinates; k++) {
                xfi_ball x = track->ball[l * track->n_coordinates + k];
                double v = out[l * data->d + track->coordinate[k]];
                double off = fabs((v - x.centre.hi) - x.centre.lo);
                if (!(off <= x.error))
                    fail_msg("token %lld, order %d: %.17g is %g from %.17g, allowed is %g",
                             (long long)l, i, v, off, x.centre.hi, x.error);
                if (off > 0)
                    share = fmax(share, off / x.error);
            }
    }
    xfi_free(out);
    return share;
}

static void check_track_exactly(const xfi_track *track, const xf_model *model, int64_t n_blocks,
                                const xf_dataset *data) {
    int64_t d = data->d;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
        fmpq *x = _fmpq_vec_init(n * d);
        xft_exact_blocks(x, model, n_blocks, data, j);
        for (int64_t l = 0; l < n; l++)
            for (int k = 0; k < track->n_coordinates; k++) {
                xfi_ball ball = track->ball[(first + l) * track->n_coordinates + k];
                if (!isfinite(ball.error))
                    continue;
                if (!xft_is_within(x + l * d + track->coordinate[k], ball.centre.hi, ball.centre.lo,
                                   ball.error))
                    fail_msg("token %lld, coordinate %lld: the exact value is not within %g of "
                             "%.17g",
                             (long long)(first + l), (long long)track->coordinate[k], ball.error,
                             ball.centre.hi);
            }
        _fmpq_vec_clear(x, n * d);
    }
}

/* Where the front end of a built model leaves the tokens. */
static double check_enclosure(const built *b, const xf_dataset *data, uint64_t seed) {
    xfi_displaced at;
    int64_t n_front = count_front(&b->model);
    assert_int_equal(xfi_displacement_track(&at, &b->model, NULL, 0, data, 1, NULL), XF_OK);
    assert_true(at.known && at.narrowest.margin >= b->report.margin);
    check_track_exactly(&at.track, &b->model, n_front, data);
    double share = check_track(&at.track, &b->model, n_front, data, ORDERS, seed);
    xfi_displaced_clear(&at);
    return share;
}

typedef struct tally {
    int64_t n;
    int64_t built;
    int64_t grid;
    int64_t deepest;
    double least_margin;
    double largest_share;
} tally;

static const xft_family typical = {
    .inputs = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_SINGLE | XFT_X_VOCABULARY | XFT_X_OFFSET,
    .targets = XFT_Y_INTEGER | XFT_Y_HALF | XFT_Y_SINGLE | XFT_Y_FULL | XFT_Y_ODD | XFT_Y_ZEROS,
    .n_max = 12};
static const xft_family strange = {
    .inputs = XFT_X_TINY | XFT_X_HUGE | XFT_X_CONSTANT | XFT_X_ANISOTROPIC | XFT_X_MIXED |
              XFT_X_LATTICE | XFT_X_ONE_HOT | XFT_X_CLOSE | XFT_X_BINARY,
    .targets = XFT_Y_MIXED | XFT_Y_POWERS | XFT_Y_INPUTS | XFT_Y_POOL | XFT_Y_DYADIC | XFT_Y_SMALL |
               XFT_Y_ZERO_COLUMN | XFT_Y_ALL_ZERO | XFT_Y_RANGE,
    .n_max = 12};

static void try_case(tally *t, const xft_family *recipe, xfi_displacement_shape shape,
                     xf_dtype dtype, int64_t i) {
    static const xft_counts counts[] = {XFT_ONE_EACH, XFT_ALL, XFT_ALL, XFT_ANY_COUNT};
    xfi_rng rng;
    xfi_rng_seed(&rng, xft_property_seed(), 0x30000 + (uint64_t)i);
    xft_family family = *recipe;
    family.counts = counts[shape];
    family.N_min = 2; /* a single sequence needs no displacement */
    family.N_max = 40;
    family.d_min = shape <= XFI_DISPLACE_EACH ? 2 : 3;
    family.d_max = 12;
    xf_dataset data;
    xft_random_data(&data, &family, dtype, 100 * pow(200, xfi_rng_uniform(&rng)), &rng);
    xf_build_options options = {.dtype = dtype, .threads = 1, .seed = (uint64_t)i % 3};
    built b;
    build(&b, &data, shape, &options);
    t->n++;
    if (b.model.n_blocks > 0) {
        t->built++;
        t->grid += strcmp(b.report.writer, "grid") == 0;
        t->least_margin = fmin(t->least_margin, b.report.margin);
        t->deepest = b.model.n_blocks > t->deepest ? b.model.n_blocks : t->deepest;
        check_model(&b, &data, ORDERS, (uint64_t)i);
        t->largest_share = fmax(t->largest_share, check_enclosure(&b, &data, (uint64_t)i));
    }
    xf_model_clear(&b.model);
    xf_dataset_clear(&data);
}

/* Returns the share of data sets that were built. */
static double try_recipe(const xft_family *recipe, const char *what, xfi_displacement_shape shape,
                         xf_dtype dtype, int64_t n) {
    tally t = {.least_margin = INFINITY};
    n = (int64_t)ceil((double)n * xft_multiplier());
    for (int64_t i = 0; i < n; i++)
        try_case(&t, recipe, shape, dtype, i);
    printf("%-8s %-8s %s: %lld of %lld built, %lld on the grid, least margin %.3g, deepest %lld, "
           "most of a radius used %.3g\n",
           shape_names[shape], what, dtype == XF_F32 ? "binary32" : "binary64", (long long)t.built,
           (long long)t.n, (long long)t.grid, t.least_margin, (long long)t.deepest,
           t.largest_share);
    fflush(stdout);
    return (double)t.built / (double)t.n;
}

static void is_exact(void **state) {
    (void)state;
    for (int shape = 0; shape < 4; shape++)
        for (int dtype = 0; dtype < 2; dtype++) {
            xfi_displacement_shape wanted = (xfi_displacement_shape)shape;
            assert_true(try_recipe(&typical, "typical", wanted, (xf_dtype)dtype, 110) > 0.7);
            assert_true(try_recipe(&strange, "strange", wanted, (xf_dtype)dtype, 50) > 0.4);
        }
}

/* More sequences than a pooled front end separates in binary32: some orders, and all engines. */
static void check_large(const char *kind, int64_t N, int64_t m_min, int64_t m_max, xf_grid grid,
                        xfi_displacement_shape shape, const char *writer) {
    xf_generate_options options = {.kind = kind,
                                   .n_sequences = N,
                                   .d = 16,
                                   .n_min = 8,
                                   .n_max = 8,
                                   .m_min = m_min,
                                   .m_max = m_max,
                                   .vocabulary = strcmp(kind, "vocabulary") == 0 ? 200 : 0,
                                   .grid = grid,
                                   .input_grid = XF_GRID_F32,
                                   .seed = xft_property_seed()};
    xf_build_options how = {.dtype = XF_F32};
    xf_dataset data;
    built b;
    char text[XFT_TEXT_SIZE] = "";
    assert_int_equal(xf_generate(&data, &options, NULL), XF_OK);
    build(&b, &data, shape, &how);
    assert_true(b.model.n_blocks > 0);
    assert_true(b.report.margin >= 4.0);
    assert_string_equal(b.report.writer, writer);
    check_certificate(&b, &data);
    check_engines(&b.model, &data);
    if (!xft_orders_agree(text, &b.model, &data, NULL, 2, 7))
        fail_msg("%s", text);
    printf("%s, N = %lld, m = %lld to %lld, %s: %lld blocks, margin %.3g\n", kind, (long long)N,
           (long long)m_min, (long long)m_max, shape_names[shape], (long long)b.model.n_blocks,
           b.report.margin);
    fflush(stdout);
    xf_model_clear(&b.model);
    xf_dataset_clear(&data);
}

static void reaches_further(void **state) {
    (void)state;
    if (xft_is_sanitized())
        return;
    check_large("gaussian", 1000, 1, 1, XF_GRID_F32, XFI_DISPLACE_SINGLE, "sorted");
    check_large("uniform", 1000, 1, 1, XF_GRID_INTEGER, XFI_DISPLACE_SINGLE, "grid");
    check_large("gaussian", 150, 8, 8, XF_GRID_INTEGER, XFI_DISPLACE_EACH, "grid");
    check_large("vocabulary", 150, 8, 8, XF_GRID_INTEGER, XFI_DISPLACE_SHARED, "grid");
    check_large("uniform", 200, 1, 8, XF_GRID_F32, XFI_DISPLACE_WINDOWS, "sorted");
    check_large("vocabulary", 200, 1, 8, XF_GRID_INTEGER, XFI_DISPLACE_WINDOWS, "grid");
}

/* Sparse or dense rows, opposite pairs, knees near the data. */
static void draw_neurons(xf_model *m, int64_t block, double scale, xfi_rng *rng) {
    const xfi_format format = xfi_format_of(m->dtype);
    int64_t d = m->d, w = m->width;
    for (int64_t i = 0; i < w; i++) {
        double *U = m->ff_U + (block * w + i) * d, *b = m->ff_b + block * w + i;
        int pair = i % 2 == 1 && xfi_rng_below(rng, 2);
        int dense = (int)xfi_rng_below(rng, 2);
        for (int64_t k = 0; k < d; k++) {
            if (pair)
                U[k] = -U[k - d];
            else if (dense || xfi_rng_below(rng, d) == 0)
                U[k] = xfi_round(&format, scale * xfi_rng_normal(rng));
        }
        *b = pair ? -b[-1] : xfi_rng_below(rng, 4) ? xfi_round(&format, xfi_rng_normal(rng)) : 0.0;
        for (int64_t k = 0; k < d; k++)
            if (xfi_rng_below(rng, d) == 0)
                m->ff_W[(block * d + k) * w + i] =
                    pair ? -m->ff_W[(block * d + k) * w + i - 1]
                         : xfi_round(&format, xfi_rng_below(rng, 2) ? 1.0 : xfi_rng_normal(rng));
    }
}

/* None, the mean of everything, or of one coordinate with some gain. */
static void draw_attention(xf_model *m, int64_t block, xfi_rng *rng) {
    const xfi_format format = xfi_format_of(m->dtype);
    int64_t d = m->d, kind = xfi_rng_below(rng, 4);
    if (kind == 0)
        return;
    if (kind == 1) {
        m->sa_rho[block] = 0.0;
        m->sa_V.alpha[block] = 1.0;
        return;
    }
    int exponent = (int)xfi_rng_below(rng, 40) - 20;
    double gain = ldexp(xfi_rng_below(rng, 2) ? 1.0 : xfi_rng_normal(rng), exponent);
    m->sa_rho[block] = (double)(xfi_rng_below(rng, 4) > 0);
    m->sa_V.left[block * d + xfi_rng_below(rng, d)] = xfi_round(&format, gain);
    m->sa_V.right[block * d + xfi_rng_below(rng, d)] = ldexp(1.0, (int)xfi_rng_below(rng, 3) - 1);
}

static double check_drawn(xf_dtype dtype, int64_t i) {
    static const double scales[] = {1, 1, 1, 0x1p-40, 0x1p40, 0x1p-110, 0x1p110};
    xfi_rng rng;
    xfi_rng_seed(&rng, xft_property_seed(), 0x40000 + (uint64_t)i);
    int64_t d = 1 + xfi_rng_below(&rng, i % 2 ? 3 : 12), n_blocks = 1 + xfi_rng_below(&rng, 3);
    xft_family family = {.inputs = XFT_X_GAUSSIAN | XFT_X_SINGLE | XFT_X_LATTICE | XFT_X_ONE_HOT,
                         .targets = XFT_Y_INTEGER,
                         .counts = XFT_ONE_EACH,
                         .d_min = (int)d,
                         .d_max = (int)d,
                         .n_max = i % 2 ? 4 : 30,
                         .N_max = 10};
    double scale = scales[xfi_rng_below(&rng, 7)];
    xf_dataset data;
    xf_model model;
    xft_random_data(&data, &family, dtype, 3000, &rng);
    for (int64_t k = 0; k < data.n_tokens * d; k++)
        data.x[k] *= scale;
    assert_int_equal(xf_model_new(&model, n_blocks, d, 4, NULL), XF_OK);
    model.dtype = dtype;
    for (int64_t block = 0; block < n_blocks; block++) {
        model.ff_eta[block] = block == 0 ? 0.0 : 1.0;
        draw_neurons(&model, block, block == 0 ? 1 / scale : 1.0, &rng);
        draw_attention(&model, block, &rng);
    }
    xfi_track track = {.n_coordinates = d < XFI_TRACKED ? (int)d : XFI_TRACKED};
    for (int k = 0; k < track.n_coordinates; k++)
        track.coordinate[k] = (k + xfi_rng_below(&rng, d)) % d;
    assert_int_equal(xfi_pools_bound(&track, &model, n_blocks, &data, 1, NULL), XF_OK);
    check_track_exactly(&track, &model, n_blocks, &data);
    double share = check_track(&track, &model, n_blocks, &data, i % 2 ? 60 : 20, (uint64_t)i);
    xfi_track_clear(&track);
    xf_model_clear(&model);
    xf_dataset_clear(&data);
    return share;
}

static void balls_hold(void **state) {
    (void)state;
    for (int dtype = 0; dtype < 2; dtype++) {
        double most = 0;
        int64_t n = (int64_t)ceil(400 * xft_multiplier());
        for (int64_t i = 0; i < n; i++)
            most = fmax(most, check_drawn((xf_dtype)dtype, i));
        printf("drawn, %s: at most %.3g of a radius used\n", dtype ? "binary32" : "binary64", most);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_exact), cmocka_unit_test(balls_hold),
                                       cmocka_unit_test(reaches_further)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

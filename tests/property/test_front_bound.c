/* The certificate of the front end is an enclosure: whatever the order of the sums, with and
 * without FMA, and in exact arithmetic, every token lands within E of t. And it is not far
 * wider than it must be.
 * Labels: exact slow */
#include "construct/front_bound.h"

#include "base/alloc.h"
#include "num/sort.h"
#include "property/campaign.h"
#include "support/exact_blocks.h"
#include "support/shuffled.h"

#include <exactformer/exactformer.h>

#include <flint/fmpq_vec.h>

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

enum { ORDERS = 24, MAX_MODELS = 100000 };

/* A front end on some data, with its bounds. */
typedef struct front {
    xf_model blocks; /* the first n_front blocks; arrays borrowed */
    int k1;
    const xf_dataset *data;
    double *t, *E;
    double *out;
    double worst; /* largest |value - t| / E over tokens and orders */
} front;

static void check_rational(const front *f) {
    const xf_dataset *data = f->data;
    int64_t d = data->d;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
        fmpq *x = _fmpq_vec_init(n * d);
        xft_exact_blocks(x, &f->blocks, f->blocks.n_blocks, data, j);
        for (int64_t l = 0; l < n; l++)
            if (!xft_is_within(x + l * d + f->k1, f->t[first + l], 0.0, f->E[first + l]))
                fail_msg("token %lld: the exact value is not within %g of %.17g",
                         (long long)(first + l), f->E[first + l], f->t[first + l]);
        _fmpq_vec_clear(x, n * d);
    }
}

static void check_orders(front *f, int n_orders, uint64_t seed) {
    for (int i = 0; i < n_orders; i++) {
        xft_shuffle how = {.seed = seed + (uint64_t)i,
                           .fma = i % 3,
                           .override_attention = 1,
                           .attention = i & 1 ? XF_SOFTMAX : XF_HARDMAX,
                           .tau = 1,
                           .tokens_per_order = i & 2 ? 1 : 0,
                           .values_first = i & 4};
        assert_int_equal(xft_run_shuffled(f->out, &f->blocks, f->data, &how, NULL), XF_OK);
        for (int64_t l = 0; l < f->data->n_tokens; l++) {
            double off = fabs(f->out[l * f->data->d + f->k1] - f->t[l]);
            if (!(off <= f->E[l]))
                fail_msg("token %lld, order %d: %.17g is %g from %.17g, allowed is %g",
                         (long long)l, i, f->out[l * f->data->d + f->k1], off, f->t[l], f->E[l]);
            if (off > 0)
                f->worst = fmax(f->worst, off / f->E[l]);
        }
    }
}

/* Bound, evaluate, compare. Returns the largest |value - t| / E. */
static double check_front(const xf_model *model, int64_t n_front, int k1, const xf_dataset *data,
                          int n_orders, uint64_t seed) {
    front f = {.blocks = *model, .k1 = k1, .data = data};
    f.blocks.n_blocks = n_front;
    f.blocks.n_phases = 0;
    f.t = xfi_calloc2(2, data->n_tokens, sizeof(double));
    f.out = xfi_calloc2(data->n_tokens, data->d, sizeof(double));
    assert_non_null(f.t);
    assert_non_null(f.out);
    f.E = f.t + data->n_tokens;
    assert_int_equal(xfi_front_bound(f.t, f.E, model, n_front, k1, data, 1, NULL), XF_OK);
    check_rational(&f);
    check_orders(&f, n_orders, seed);
    xfi_free(f.t);
    xfi_free(f.out);
    return f.worst;
}

/* The blocks before the writer, and the coordinate that they lead to. */
static int64_t count_front(const xf_model *model) {
    int64_t n = 0;
    for (int64_t i = 0; i < model->n_phases; i++)
        if (strcmp(model->phases[i].name, "fold") == 0 ||
            strcmp(model->phases[i].name, "pooling") == 0)
            n += model->phases[i].count;
    return n;
}

static int find_axis(const xf_model *model, int64_t n_front) {
    int64_t d = model->d;
    for (int64_t k = 0; k < d; k++)
        if (model->sa_V.left[(n_front - 1) * d + k] != 0.0)
            return (int)k;
    for (int64_t k = 0; k < d; k++)
        for (int64_t i = 0; i < model->width; i++)
            if (model->ff_W[k * model->width + i] != 0.0)
                return (int)k;
    return -1;
}

/* Observed shares of the bound, and their summary. */
typedef struct shares {
    double *at;
    int64_t n;
    int64_t n_refused;
} shares;

static void shares_init(shares *s) {
    *s = (shares){.at = xfi_calloc(MAX_MODELS, sizeof(double))};
    assert_non_null(s->at);
}

static void shares_add(shares *s, double share) {
    if (share > 0 && s->n < MAX_MODELS)
        s->at[s->n++] = share;
}

/* Prints, clears, and returns the median. */
static double shares_finish(shares *s, const char *what) {
    xfi_sort_doubles(s->at, s->n);
    double median = s->n > 0 ? s->at[s->n / 2] : 0, most = s->n > 0 ? s->at[s->n - 1] : 0;
    printf("%s: %lld fronts (%lld refused), bound over worst error: median %.1f, at most %.1f, at "
           "least %.3f\n",
           what, (long long)s->n, (long long)s->n_refused, 1 / median,
           1 / (s->n > 0 ? s->at[0] : 1), 1 / most);
    xfi_free(s->at);
    return median;
}

static const xft_family typical = {.inputs = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_VOCABULARY |
                                             XFT_X_OFFSET | XFT_X_CONSTANT | XFT_X_LATTICE,
                                   .targets = XFT_Y_INTEGER | XFT_Y_SINGLE,
                                   .n_max = 12};
static const xft_family strange = {.inputs = XFT_X_TINY | XFT_X_HUGE | XFT_X_ANISOTROPIC |
                                             XFT_X_MIXED | XFT_X_ONE_HOT | XFT_X_CLOSE |
                                             XFT_X_SUBNORMAL | XFT_X_LARGEST,
                                   .targets = XFT_Y_INTEGER | XFT_Y_MIXED,
                                   .n_max = 12};

static void check_built(shares *s, const xft_family *family, xf_dtype dtype, int64_t i) {
    xfi_rng rng;
    xfi_rng_seed(&rng, xft_property_seed(), 0x10000 + (uint64_t)i);
    xf_dataset data;
    xf_model model;
    xft_random_data(&data, family, dtype, 3000, &rng);
    xf_build_report report;
    xf_build_options options = {.dtype = dtype, .threads = 1, .seed = (uint64_t)i % 3};
    if (xf_build(&model, &data, &options, &report, NULL) != XF_OK) {
        s->n_refused++;
    } else if (data.n_targets > 1 && strcmp(report.front, "displacement") != 0) {
        int64_t n_front = count_front(&model);
        shares_add(s, check_front(&model, n_front, find_axis(&model, n_front), &data, ORDERS,
                                  (uint64_t)i));
    }
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

static void check_family(const xft_family *family, xf_dtype dtype, const char *what,
                         double least_median) {
    shares s;
    shares_init(&s);
    int64_t n = (int64_t)ceil(300 * xft_multiplier());
    for (int64_t i = 0; i < n; i++)
        check_built(&s, family, dtype, i);
    assert_true(shares_finish(&s, what) > least_median);
}

static void holds_for_built_fronts(void **state) {
    (void)state;
    check_family(&typical, XF_F64, "typical, binary64", 1.0 / 50);
    check_family(&typical, XF_F32, "typical, binary32", 1.0 / 50);
    check_family(&strange, XF_F64, "strange, binary64", 1.0 / 500);
    check_family(&strange, XF_F32, "strange, binary32", 1.0 / 500);
}

/* Weights of a made-up front end: sparse or dense rows, opposite pairs, knees near the data. */
static void draw_neurons(xf_model *m, int64_t block, double scale, xfi_rng *rng) {
    const xfi_format format = xfi_format_of(m->dtype);
    int64_t d = m->d, w = m->width;
    for (int64_t i = 0; i < w; i++) {
        double *U = m->ff_U + (block * w + i) * d, *b = m->ff_b + block * w + i;
        int pair = i % 2 == 1 && xfi_rng_below(rng, 2);
        int64_t dense = xfi_rng_below(rng, 2);
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

static void draw_front(xf_model *m, int64_t n_front, int64_t d, xf_dtype dtype, double scale,
                       xfi_rng *rng) {
    const xfi_format format = xfi_format_of(dtype);
    assert_int_equal(xf_model_new(m, n_front, d, 4, NULL), XF_OK);
    m->dtype = dtype;
    for (int64_t block = 0; block < n_front; block++) {
        m->ff_eta[block] = block == 0 ? 0.0 : 1.0;
        draw_neurons(m, block, block == 0 ? scale : 1.0, rng);
    }
    if (xfi_rng_below(rng, 8) == 0)
        return; /* no attention */
    int64_t last = n_front - 1;
    m->sa_rho[last] = (double)xfi_rng_below(rng, 2);
    m->sa_V.left[last * d] =
        xfi_round(&format, ldexp(xfi_rng_normal(rng), (int)xfi_rng_below(rng, 20) - 10));
    m->sa_V.right[last * d + xfi_rng_below(rng, d)] = 1.0;
}

/* Few terms and many orders, so that the worst case is nearly met. */
static void check_drawn(shares *s, xf_dtype dtype, int64_t i) {
    static const double scales[] = {1, 1, 1, 0x1p-40, 0x1p40, 0x1p-110, 0x1p110};
    xfi_rng rng;
    xfi_rng_seed(&rng, xft_property_seed(), 0x20000 + (uint64_t)i);
    int64_t d = 1 + xfi_rng_below(&rng, i % 2 ? 2 : 12);
    xft_family family = {.inputs = XFT_X_GAUSSIAN | XFT_X_SINGLE | XFT_X_LATTICE | XFT_X_ONE_HOT,
                         .targets = XFT_Y_INTEGER,
                         .counts = XFT_ONE_EACH,
                         .d_min = (int)d,
                         .d_max = (int)d,
                         .n_max = i % 2 ? 3 : 30,
                         .N_max = 10};
    xf_dataset data;
    xf_model model;
    xft_random_data(&data, &family, dtype, 3000, &rng);
    double scale = scales[xfi_rng_below(&rng, 7)];
    for (int64_t k = 0; k < data.n_tokens * d; k++)
        data.x[k] *= scale;
    draw_front(&model, 1 + xfi_rng_below(&rng, 4), d, dtype, 1 / scale, &rng);
    shares_add(
        s, check_front(&model, model.n_blocks, 0, &data, i % 2 ? 4 * ORDERS : ORDERS, (uint64_t)i));
    xf_model_clear(&model);
    xf_dataset_clear(&data);
}

static void holds_for_drawn_fronts(void **state) {
    (void)state;
    for (int dtype = 0; dtype < 2; dtype++) {
        shares s;
        shares_init(&s);
        int64_t n = (int64_t)ceil(600 * xft_multiplier());
        for (int64_t i = 0; i < n; i++)
            check_drawn(&s, (xf_dtype)dtype, i);
        shares_finish(&s, dtype ? "drawn, binary32" : "drawn, binary64");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(holds_for_built_fronts),
                                       cmocka_unit_test(holds_for_drawn_fronts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Can the tests fail? Models are spoiled in one place each, and the judges (dense engine,
 * random orders, rationals) must notice.
 * Labels: slow */
#include "base/alloc.h"
#include "num/format.h"
#include "property/campaign.h"
#include "property/trial.h"
#include "support/rational.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

typedef enum mutation {
    CODE_STEP,   /* a bias, by its lowest bit: codes and thresholds */
    CODE_DOUBLE, /* a bias, doubled */
    TARGET_ULP,  /* an output weight, by one ulp */
    TARGET_ZERO, /* an output weight, to 0 */
    GATE_ULP,    /* an input weight, by one ulp */
    GATE_SIGN,   /* an input weight, negated */
    RESIDUAL,    /* eta of a block, 1 - u or 1 from 0 */
    DROP_BLOCK,  /* a block becomes the identity */
    SWAP_BLOCKS, /* with the next one */
    N_MUTATIONS
} mutation;

static const char *const names[N_MUTATIONS] = {
    "code by a step", "code doubled",     "target by an ulp", "target zero",   "gate by an ulp",
    "gate negated",   "residual altered", "block dropped",    "blocks swapped"};

enum { DENSE, ORDERS, RATIONAL, ANY, N_JUDGES };

typedef struct score {
    int64_t n;
    int64_t killed[N_JUDGES];
} score;

/* A nonzero entry of values [n], or -1. */
static int64_t pick_nonzero(const double *values, int64_t n, xfi_rng *rng) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += values[i] != 0.0;
    if (count == 0)
        return -1;
    int64_t skip = xfi_rng_below(rng, count);
    for (int64_t i = 0; i < n; i++)
        if (values[i] != 0.0 && skip-- == 0)
            return i;
    return -1;
}

static double next_in_format(double v, const xfi_format *format) {
    return format->p == 24 ? (double)nextafterf((float)v, INFINITY) : nextafter(v, INFINITY);
}

static void swap(double *a, double *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double old = a[i];
        a[i] = b[i];
        b[i] = old;
    }
}

static void swap_with_next(xf_model *m, int64_t b) {
    int64_t size = m->d * m->width;
    swap(m->ff_eta + b, m->ff_eta + b + 1, 1);
    swap(m->ff_W + b * size, m->ff_W + (b + 1) * size, size);
    swap(m->ff_U + b * size, m->ff_U + (b + 1) * size, size);
    swap(m->ff_b + b * m->width, m->ff_b + (b + 1) * m->width, m->width);
}

static void drop(xf_model *m, int64_t b) {
    int64_t size = m->d * m->width;
    m->ff_eta[b] = 1.0;
    memset(m->ff_W + b * size, 0, (size_t)size * sizeof(double));
    memset(m->ff_U + b * size, 0, (size_t)size * sizeof(double));
    memset(m->ff_b + b * m->width, 0, (size_t)m->width * sizeof(double));
}

/* Spoil the block b of the writer. Returns 0 if this mutation has nothing to change there. */
static int mutate(xf_model *m, int64_t b, mutation how, xfi_rng *rng) {
    const xfi_format format = xfi_format_of(m->dtype);
    int64_t size = m->d * m->width, i;
    double *W = m->ff_W + b * size, *U = m->ff_U + b * size, *bias = m->ff_b + b * m->width;
    switch (how) {
    case CODE_STEP:
    case CODE_DOUBLE:
        if ((i = pick_nonzero(bias, m->width, rng)) < 0)
            return 0;
        bias[i] += how == CODE_STEP ? ldexp(1.0, xfi_lowest_bit(bias[i])) : bias[i];
        return xfi_representable(&format, bias[i]);
    case TARGET_ULP:
    case TARGET_ZERO:
        if ((i = pick_nonzero(W, size, rng)) < 0)
            return 0;
        W[i] = how == TARGET_ZERO ? 0.0 : next_in_format(W[i], &format);
        return isfinite(W[i]);
    case GATE_ULP:
    case GATE_SIGN:
        if ((i = pick_nonzero(U, size, rng)) < 0)
            return 0;
        U[i] = how == GATE_SIGN ? -U[i] : next_in_format(U[i], &format);
        return 1;
    case RESIDUAL:
        m->ff_eta[b] = m->ff_eta[b] == 0.0 ? 1.0 : 1.0 - format.u;
        return 1;
    case DROP_BLOCK:
        drop(m, b);
        return 1;
    case SWAP_BLOCKS:
        if (b + 1 == m->n_blocks)
            return 0;
        swap_with_next(m, b);
        return 1;
    default:
        return 0;
    }
}

static void judge(score *s, const xf_model *mutant, const xf_dataset *data, uint64_t seed) {
    char text[XFT_TEXT_SIZE];
    xf_verify_report report;
    xf_run_options options = {.engine = XF_ENGINE_DENSE, .threads = 1};
    int64_t n_exact = 0;
    int killed[N_JUDGES] = {0};
    killed[DENSE] = xf_verify(&report, mutant, data, &options, NULL) != XF_OK;
    killed[ORDERS] = !xft_orders_agree(text, mutant, data, NULL, 20, seed);
    killed[RATIONAL] = xft_rational_verify(&n_exact, mutant, data, NULL) != XF_OK;
    killed[ANY] = killed[DENSE] || killed[ORDERS] || killed[RATIONAL];
    s->n++;
    for (int k = 0; k < N_JUDGES; k++)
        s->killed[k] += killed[k];
}

static int64_t count_front(const xf_model *model) {
    int64_t n = 0;
    for (int64_t i = 0; i < model->n_phases; i++)
        if (strcmp(model->phases[i].name, "fold") == 0 ||
            strcmp(model->phases[i].name, "pooling") == 0)
            n += model->phases[i].count;
    return n;
}

static void spoil(score scores[N_MUTATIONS], const xf_dataset *data, xf_dtype dtype, xfi_rng *rng) {
    xf_build_options options = {.dtype = dtype, .threads = 1};
    for (int how = 0; how < N_MUTATIONS; how++) {
        xf_model model;
        if (xf_build(&model, data, &options, NULL, NULL) != XF_OK)
            return;
        int64_t first = count_front(&model),
                block = first + xfi_rng_below(rng, model.n_blocks - first);
        if (mutate(&model, block, (mutation)how, rng))
            judge(&scores[how], &model, data, xfi_rng_bits(rng));
        xf_model_clear(&model);
    }
}

static const xft_family families[] = {
    {.inputs = XFT_X_GAUSSIAN | XFT_X_VOCABULARY, .targets = XFT_Y_INTEGER, .d_min = 2},
    {.inputs = XFT_X_GAUSSIAN, .targets = XFT_Y_SINGLE | XFT_Y_FULL, .d_min = 2},
    {.inputs = XFT_X_UNIFORM, .targets = XFT_Y_FULL | XFT_Y_MIXED | XFT_Y_ODD, .d_min = 2},
};

static void print(const char *name, const score *s) {
    double n = s->n > 0 ? (double)s->n : 1;
    printf("%-18s %5lld mutants, killed by dense %5.1f %%, orders %5.1f %%, rationals %5.1f %%, "
           "any %5.1f %%\n",
           name, (long long)s->n, 100 * (double)s->killed[DENSE] / n,
           100 * (double)s->killed[ORDERS] / n, 100 * (double)s->killed[RATIONAL] / n,
           100 * (double)s->killed[ANY] / n);
}

static void spoiled_models_are_found_out(void **state) {
    (void)state;
    score scores[N_MUTATIONS] = {0}, all = {0};
    int64_t n = (int64_t)ceil(150 * xft_multiplier());
    for (int64_t i = 0; i < n; i++) {
        xfi_rng rng;
        xf_dataset data;
        xf_dtype dtype = i % 4 == 3 ? XF_F32 : XF_F64;
        xfi_rng_seed(&rng, xft_property_seed(), 0x30000 + (uint64_t)i);
        xft_random_data(&data, &families[i % 3], dtype, 5000, &rng);
        spoil(scores, &data, dtype, &rng);
        xf_dataset_clear(&data);
    }
    for (int how = 0; how < N_MUTATIONS; how++) {
        print(names[how], &scores[how]);
        all.n += scores[how].n;
        for (int k = 0; k < N_JUDGES; k++)
            all.killed[k] += scores[how].killed[k];
    }
    print("all", &all);
    double least = 0.98 * (double)all.n;
    assert_true(all.n > 0);
    assert_true((double)all.killed[ANY] >= least);
    assert_true((double)all.killed[RATIONAL] >= least);
    assert_true((double)all.killed[ORDERS] >= 0.95 * (double)all.n);
    assert_true((double)all.killed[DENSE] >= 0.9 * (double)all.n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(spoiled_models_are_found_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

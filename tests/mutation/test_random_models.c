/* Tiny random models whose sums are on the brink of rounding, with the outputs of the dense engine
 * as targets: some are exact in every order, some in a few. Whatever is certified is searched for a
 * counterexample, order by order.
 *
 * Environment: XF_MUTATION_MULTIPLIER, XF_MUTATION_SEED, XF_MUTATION_VERBOSE as in test_mutants.c.
 * Labels: slow */
#include "mutation/judges.h"
#include "support/toy.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MODELS = 1500, ORDERS = 24 };

static double setting(const char *name, double standard) {
    const char *text = getenv(name);
    return text != NULL ? strtod(text, NULL) : standard;
}

/* Zero, a power of two, or an integer of at most `bits` bits, times a small power of two. */
static double draw(xfi_rng *rng, int bits) {
    int64_t kind = xfi_rng_below(rng, 5);
    double sign = xfi_rng_below(rng, 2) ? 1.0 : -1.0;
    int e = (int)xfi_rng_below(rng, 7) - 3;
    if (kind < 2)
        return 0.0;
    if (kind < 4)
        return ldexp(sign, e);
    return ldexp(
        sign * (double)(1 + xfi_rng_below(rng, (int64_t)1 << (1 + xfi_rng_below(rng, bits)))), e);
}

static void fill(double *values, int64_t n, xfi_rng *rng, int bits) {
    for (int64_t i = 0; i < n; i++)
        values[i] = draw(rng, bits);
}

static void draw_model(xf_model *m, xfi_rng *rng) {
    xft_toy toy = {.n_blocks = 1 + xfi_rng_below(rng, 3),
                   .d = 1 + xfi_rng_below(rng, 3),
                   .width = 1 + xfi_rng_below(rng, 4),
                   .dtype = xfi_rng_below(rng, 2) ? XF_F32 : XF_F64,
                   .attention = xfi_rng_below(rng, 4) ? XF_HARDMAX : XF_SOFTMAX,
                   .order = xfi_rng_below(rng, 4) ? XF_FF_SA : XF_SA_FF,
                   .causal = xfi_rng_below(rng, 4) == 0,
                   .integers = 1};
    int bits = toy.dtype == XF_F32 ? 13 : 27;
    int64_t L = toy.n_blocks, d = toy.d, w = toy.width;
    xft_toy_model(m, &toy);
    fill(m->ff_U, L * w * d, rng, bits);
    fill(m->ff_W, L * w * d, rng, bits);
    fill(m->ff_b, L * w, rng, bits);
    for (int64_t b = 0; b < L; b++) {
        m->ff_eta[b] = (double)xfi_rng_below(rng, 2);
        m->sa_rho[b] = (double)xfi_rng_below(rng, 2);
        if (xfi_rng_below(rng, 2)) {
            fill(m->sa_V.left + b * d, d, rng, bits / 2);
            fill(m->sa_V.right + b * d, d, rng, 2);
            m->sa_V.alpha[b] = xfi_rng_below(rng, 3) ? 0.0 : draw(rng, 2);
        }
        if (xfi_rng_below(rng, 4) == 0) {
            fill(m->sa_A.left + b * d, d, rng, 4);
            fill(m->sa_A.right + b * d, d, rng, 4);
            m->sa_A.alpha[b] = draw(rng, 2);
        }
        if (m->ff_eta[b] == 0.0 && xfi_rng_below(rng, 2))
            m->ff_eta[b] = draw(rng, 2);
    }
}

/* One or two sequences of 1 to 4 tokens; returns 0 if a token is drawn twice. */
static int draw_inputs(xf_dataset *data, const xf_model *m, xfi_rng *rng) {
    enum { N_MAX = 2, PER = 4, D_MAX = 3 };
    double x[N_MAX * PER * D_MAX], y[N_MAX * D_MAX] = {0};
    int64_t N = 1 + xfi_rng_below(rng, N_MAX), offsets[N_MAX + 1] = {0},
            ends[N_MAX + 1] = {0, 1, 2};
    for (int64_t j = 0; j < N; j++)
        offsets[j + 1] = offsets[j] + 1 + xfi_rng_below(rng, PER);
    fill(x, offsets[N] * m->d, rng, m->dtype == XF_F32 ? 12 : 26);
    return xf_dataset_from_arrays(data, N, m->d, x, offsets, y, ends, NULL, NULL) == XF_OK;
}

/* The outputs become the targets. Returns 0 if they are not finite. */
static int set_targets(xf_dataset *data, const xf_model *m) {
    const xf_run_options run = {.threads = 1};
    double *out = xft_toy_output(data);
    int ok = xf_run(out, m, data, &run, NULL) == XF_OK;
    for (int64_t i = 0; i < data->n_tokens * data->d && ok; i++)
        ok = isfinite(out[i]);
    if (ok) {
        xfi_free(data->y);
        xfi_free(data->y_offsets);
        data->n_targets = 0;
        xft_toy_targets(data, out);
    }
    xfi_free(out);
    return ok;
}

static void random_models_are_certified_only_if_exact(void **state) {
    (void)state;
    int64_t n = (int64_t)ceil(MODELS * setting("XF_MUTATION_MULTIPLIER", 1.0)), unsound = 0;
    int64_t asked = 0, yes = 0, inexact = 0, always = 0, missed = 0, real = 0;
    for (int64_t i = 0; i < n; i++) {
        xf_model model;
        xf_dataset data;
        xfi_rng rng;
        xft_opinions o;
        char why[XFT_WHY_SIZE] = "";
        xfi_rng_seed(&rng, (uint64_t)setting("XF_MUTATION_SEED", 1.0), 0x70000 + (uint64_t)i);
        draw_model(&model, &rng);
        if (draw_inputs(&data, &model, &rng)) {
            if (set_targets(&data, &model)) {
                xft_ask(&o, &model, &data, ORDERS, (uint64_t)i);
                asked++;
                yes += o.ieee == XF_YES;
                real += o.real == XF_YES;
                inexact += xft_is_inexact(&o);
                always += o.search == XFT_ALWAYS_EXACT;
                missed += o.search == XFT_ALWAYS_EXACT && o.ieee != XF_YES;
                if (xft_is_unsound(why, &o)) {
                    unsound++;
                    printf("UNSOUND: model %lld: %s\n", (long long)i, why);
                }
            }
            xf_dataset_clear(&data);
        }
        xf_model_clear(&model);
    }
    printf("%lld models: real yes %lld; ieee yes %lld, inexact in some order %lld, proved exact by "
           "the search %lld, of these not certified %lld; unsound %lld\n",
           (long long)asked, (long long)real, (long long)yes, (long long)inexact, (long long)always,
           (long long)missed, (long long)unsound);
    assert_int_equal(unsound, 0);
    assert_true(inexact > asked / 20);
    assert_true(yes > asked / 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_models_are_certified_only_if_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

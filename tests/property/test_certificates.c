/* Certificates: yes for every construction; never yes for a spoiled or random model that some
 * evaluation refutes, never no for one that is exact.
 * Labels: slow */
#include "certify/cert_follow.h"
#include "num/format.h"
#include "property/campaign.h"
#include "property/trial.h"
#include "support/rational.h"
#include "support/shuffled.h"
#include "support/toy.h"

#include "base/alloc.h"
#include "base/bytes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { ORDERS = 24 };

static const xf_certify_options one_thread = {.threads = 1};

/* Do the outputs differ from the targets in one of the orders, without and with FMA? */
static int is_refuted(const xf_model *model, const xf_dataset *data, uint64_t seed) {
    double *out = xft_toy_output(data);
    int refuted = 0;
    for (int i = 0; i < ORDERS && !refuted; i++) {
        xft_shuffle how = {.seed = seed + (uint64_t)i, .fma = i % 3, .tokens_per_order = 1};
        xf_verify_report report;
        assert_int_equal(xft_run_shuffled(out, model, data, &how, NULL), XF_OK);
        refuted = xf_compare(&report, out, data, NULL) != XF_OK;
    }
    xfi_free(out);
    return refuted;
}

static int is_really_exact(const xf_model *model, const xf_dataset *data) {
    int64_t n_exact = 0;
    return xft_rational_verify(&n_exact, model, data, NULL) == XF_OK;
}

/* Does some token of sequence j, or some target, speak against the outputs? */
static int sequence_differs(const xf_dataset *data, const double *out, int64_t j) {
    int64_t d = data->d, n = data->x_offsets[j + 1] - data->x_offsets[j];
    int64_t m = data->y_offsets[j + 1] - data->y_offsets[j];
    const double *x = out + data->x_offsets[j] * d, *y = data->y + data->y_offsets[j] * d;
    for (int pass = 0; pass < 2; pass++) {
        const double *a = pass ? y : x, *b = pass ? x : y;
        int64_t n_a = pass ? m : n, n_b = pass ? n : m;
        for (int64_t i = 0; i < n_a; i++) {
            int found = 0;
            for (int64_t l = 0; l < n_b && !found; l++)
                found = xft_same_values(a + i * d, b + l * d, d);
            if (!found)
                return 1;
        }
    }
    return 0;
}

/* The boxes alone, sequence by sequence: yes and no are about all orders, so that a single one
 * can contradict. */
static void check_boxes(const xf_model *model, const xf_dataset *data, uint64_t seed) {
    xfi_network network;
    xfi_follower follower;
    xfi_sense sense = xfi_sense_of(1, model->dtype);
    xfi_heat heat = {.attention = model->attention, .tau = model->tau, .exp_ulp = 4};
    xfi_log log = {0};
    heat.one_tau = seed % 2 == 0;
    double *out = xft_toy_output(data);
    assert_int_equal(xfi_network_init(&network, model, NULL), XF_OK);
    assert_true(xfi_follower_init(&follower, &network, &sense, &heat, data));
    for (int64_t j = 0; j < data->n_sequences; j++) {
        xf_answer answer = xfi_follow(&follower, j, &log);
        for (int i = 0; i < 6 && answer != XF_UNKNOWN; i++) {
            xft_shuffle how = {.seed = seed + (uint64_t)i, .fma = i % 3, .tokens_per_order = 1};
            assert_int_equal(xft_run_shuffled(out, model, data, &how, NULL), XF_OK);
            int differs = sequence_differs(data, out, j);
            if (differs != (answer == XF_NO))
                fail_msg("seed %llu, sequence %lld: the boxes say %s", (unsigned long long)seed,
                         (long long)j, answer == XF_NO ? "no" : "yes");
        }
    }
    xfi_follower_clear(&follower);
    xfi_network_clear(&network);
    xfi_free(out);
}

typedef struct tally {
    int64_t n, real[3], ieee[3], refuted, really_exact;
} tally;

/* Certify, and hold the answers against evaluations. */
static void judge(tally *t, const xf_model *model, const xf_dataset *data, int rational,
                  uint64_t seed) {
    xf_certificate c;
    xf_error error;
    xf_status status = xf_certify(&c, model, data, &one_thread, &error);
    if (status != XF_OK && status != XF_NOT_EXACT)
        fail_msg("certify: %s", error.message);
    check_boxes(model, data, seed);
    int refuted = is_refuted(model, data, seed), exact = rational && is_really_exact(model, data);
    t->n++;
    t->real[c.real.answer]++;
    t->ieee[c.ieee.answer]++;
    t->refuted += refuted;
    t->really_exact += exact;
    if (c.ieee.answer == XF_YES && refuted)
        fail_msg("seed %llu: certified, but some order gives another output",
                 (unsigned long long)seed);
    if (rational && ((c.real.answer == XF_YES && !exact) || (c.real.answer == XF_NO && exact)))
        fail_msg("seed %llu: real is %s, rationals say otherwise: %s", (unsigned long long)seed,
                 c.real.answer == XF_YES ? "yes" : "no", c.real.reason);
    int by_boxes = strstr(c.ieee.reason, "evaluated in order") == NULL;
    if (c.ieee.answer == XF_NO && by_boxes && !refuted)
        fail_msg("seed %llu: every order is said to fail, but none does: %s",
                 (unsigned long long)seed, c.ieee.reason);
    xf_certificate_clear(&c);
}

static void print(const char *name, const tally *t) {
    printf("%-22s %5lld models; real: yes %lld, no %lld, unknown %lld; ieee: yes %lld, no %lld, "
           "unknown %lld; refuted by an order %lld\n",
           name, (long long)t->n, (long long)t->real[XF_YES], (long long)t->real[XF_NO],
           (long long)t->real[XF_UNKNOWN], (long long)t->ieee[XF_YES], (long long)t->ieee[XF_NO],
           (long long)t->ieee[XF_UNKNOWN], (long long)t->refuted);
}

/* ---- constructions ---- */

static const xft_family families[] = {
    {.name = "grid",
     .inputs = XFT_X_GAUSSIAN | XFT_X_VOCABULARY,
     .targets = XFT_Y_INTEGER,
     .d_min = 2},
    {.name = "any",
     .inputs = XFT_X_GAUSSIAN | XFT_X_UNIFORM | XFT_X_OFFSET,
     .targets = XFT_Y_SINGLE | XFT_Y_FULL | XFT_Y_ODD | XFT_Y_ZEROS,
     .d_min = 2},
    {.name = "lattice",
     .inputs = XFT_X_LATTICE | XFT_X_BINARY | XFT_X_ONE_HOT,
     .targets = XFT_Y_HALF | XFT_Y_POWERS | XFT_Y_INPUTS,
     .d_min = 2},
    {.name = "scales",
     .inputs = XFT_X_TINY | XFT_X_HUGE | XFT_X_ANISOTROPIC | XFT_X_MIXED,
     .targets = XFT_Y_MIXED | XFT_Y_RANGE | XFT_Y_ALL_ZERO,
     .d_min = 2},
    {.name = "one dimension",
     .inputs = XFT_X_GAUSSIAN,
     .targets = XFT_Y_INTEGER,
     .d_min = 1,
     .d_max = 1},
};

enum { N_FAMILIES = sizeof families / sizeof families[0] };

static const char *pick(const char *const *names, xfi_rng *rng) {
    int64_t n = 0;
    while (names[n] != NULL)
        n++;
    return names[xfi_rng_below(rng, n)];
}

/* Choices that may be impossible for the data. */
static xf_status build(xf_model *model, const xf_dataset *data, xf_dtype dtype, int i,
                       xfi_rng *rng) {
    xf_build_options options = {.dtype = dtype, .threads = 1, .seed = (uint64_t)i};
    if (i % 3 == 1)
        options.writer = pick(xf_build_writers(), rng);
    if (i % 5 == 2)
        options.front = pick(xf_build_fronts(), rng);
    if (i % 7 == 3)
        options.optimise = XF_OPTIMISE_NORM;
    options.balanced = i % 7 == 4;
    if (i % 6 == 5 && dtype == XF_F64) {
        options.construction = XF_PUBLISHED;
        options.writer = options.front = NULL;
    }
    if (i % 12 == 11)
        options.attention = XF_SOFTMAX;
    options.hardmax_only = options.writer != NULL && strcmp(options.writer, "argmax") == 0;
    return xf_build(model, data, &options, NULL, NULL);
}

static void constructions_are_certified(void **state) {
    (void)state;
    tally t[N_FAMILIES] = {{0}};
    int64_t n = (int64_t)ceil(200 * xft_multiplier());
    for (int64_t i = 0; i < n; i++) {
        xfi_rng rng;
        xf_dataset data;
        xf_model model;
        xf_certificate c;
        xf_error error;
        xf_dtype dtype = i % 4 == 3 ? XF_F32 : XF_F64;
        xfi_rng_seed(&rng, xft_property_seed(), 0x40000 + (uint64_t)i);
        xft_random_data(&data, &families[i % N_FAMILIES], dtype, 8000, &rng);
        if (build(&model, &data, dtype, (int)i, &rng) == XF_OK) {
            xf_status status = xf_certify(&c, &model, &data, &one_thread, &error);
            if (status != XF_OK)
                fail_msg("case %lld (%s, %s, %s %s): %s", (long long)i,
                         families[i % N_FAMILIES].name, model.construction, model.front,
                         model.writer,
                         status == XF_NOT_EXACT ? c.real.reason[0] ? c.real.reason : c.ieee.reason
                                                : error.message);
            tally *here = &t[i % N_FAMILIES];
            here->n++;
            here->real[c.real.answer]++;
            here->ieee[c.ieee.answer]++;
            xf_certificate_clear(&c);
            xf_model_clear(&model);
        }
        xf_dataset_clear(&data);
    }
    int64_t all = 0;
    for (int i = 0; i < N_FAMILIES; i++) {
        print(families[i].name, &t[i]);
        all += t[i].n;
    }
    assert_true(all > n / 4);
}

/* ---- spoiled models ---- */

/* Flip a bit of a weight, or move it by one ulp. Returns 0 if the result is no weight. */
static int spoil_weight(xf_model *m, xfi_rng *rng) {
    const xfi_format format = xfi_format_of(m->dtype);
    int64_t L = m->n_blocks, d = m->d, w = m->width;
    double *arrays[] = {m->ff_W,   m->ff_U,      m->ff_b,      m->ff_eta,
                        m->sa_rho, m->sa_V.left, m->sa_V.right};
    int64_t sizes[] = {L * d * w, L * d * w, L * w, L, L, L * d, L * d};
    int64_t which = xfi_rng_below(rng, 7), at = 0;
    for (int tries = 0; tries < 200; tries++) {
        at = xfi_rng_below(rng, sizes[which]);
        if (arrays[which][at] != 0.0)
            break;
    }
    double v = arrays[which][at], old = v;
    if (xfi_rng_below(rng, 2)) {
        if (m->dtype == XF_F32)
            v = xfi_float_of_bits(xfi_bits_of_float((float)v) ^ (uint32_t)1
                                                                    << xfi_rng_below(rng, 32));
        else
            v = xfi_double_of_bits(xfi_bits_of_double(v) ^ (uint64_t)1 << xfi_rng_below(rng, 64));
    } else {
        double to = xfi_rng_below(rng, 2) ? INFINITY : -INFINITY;
        v = m->dtype == XF_F32 ? (double)nextafterf((float)v, (float)to) : nextafter(v, to);
    }
    arrays[which][at] = v;
    return v != old && xfi_representable(&format, v);
}

static void copy_block(xf_model *m, int64_t to, int64_t from) {
    int64_t size = m->d * m->width;
    m->ff_eta[to] = m->ff_eta[from];
    memcpy(m->ff_W + to * size, m->ff_W + from * size, (size_t)size * sizeof(double));
    memcpy(m->ff_U + to * size, m->ff_U + from * size, (size_t)size * sizeof(double));
    memcpy(m->ff_b + to * m->width, m->ff_b + from * m->width, (size_t)m->width * sizeof(double));
}

/* Spoil data: a value moves by one ulp. */
static void spoil_data(xf_dataset *data, xfi_rng *rng) {
    int targets = (int)xfi_rng_below(rng, 2);
    int64_t n = (targets ? data->n_targets : data->n_tokens) * data->d;
    double *v = (targets ? data->y : data->x) + xfi_rng_below(rng, n);
    *v = nextafter(*v, INFINITY);
}

static void spoiled_models_are_not_certified(void **state) {
    (void)state;
    tally t = {0};
    int64_t n = (int64_t)ceil(400 * xft_multiplier());
    for (int64_t i = 0; i < n; i++) {
        xfi_rng rng;
        xf_dataset data;
        xf_model model;
        xf_dtype dtype = i % 3 == 2 ? XF_F32 : XF_F64;
        xfi_rng_seed(&rng, xft_property_seed(), 0x50000 + (uint64_t)i);
        xft_random_data(&data, &families[i % 3], dtype, 3000, &rng);
        if (build(&model, &data, dtype, (int)i % 5, &rng) == XF_OK) {
            int spoiled = 1;
            if (i % 8 == 7)
                copy_block(&model, xfi_rng_below(&rng, model.n_blocks),
                           xfi_rng_below(&rng, model.n_blocks));
            else if (i % 8 == 6)
                spoil_data(&data, &rng);
            else
                spoiled = spoil_weight(&model, &rng);
            if (spoiled && xf_dataset_check(&data, NULL) == XF_OK)
                judge(&t, &model, &data, 1, (uint64_t)i + 1);
            xf_model_clear(&model);
        }
        xf_dataset_clear(&data);
    }
    print("spoiled", &t);
    assert_true(t.n > n / 3);
    assert_true(t.ieee[XF_NO] + t.ieee[XF_UNKNOWN] >= t.refuted);
}

/* ---- random models whose targets are what the dense engine gives ---- */

static void random_models_get_honest_answers(void **state) {
    (void)state;
    static const int parts[] = {0, XFT_ALPHA, XFT_RANK_ONE, XFT_ALPHA | XFT_RANK_ONE, XFT_FULL};
    tally integers = {0}, reals = {0};
    int64_t n = (int64_t)ceil(300 * xft_multiplier());
    for (int64_t i = 0; i < n; i++) {
        xf_model model;
        xf_dataset data;
        xft_toy toy = {.n_blocks = 1 + i % 3,
                       .d = 1 + i % 4,
                       .width = 1 + i % 5,
                       .dtype = i % 2 ? XF_F32 : XF_F64,
                       .attention = i % 7 == 6 ? XF_SOFTMAX : XF_HARDMAX,
                       .order = i % 11 < 3 ? XF_SA_FF : XF_FF_SA,
                       .causal = i % 13 < 4,
                       .A = parts[i % 5],
                       .V = parts[(i / 5) % 5],
                       .integers = i % 3 != 0,
                       .seed = (uint64_t)i};
        xft_toy_model(&model, &toy);
        xft_toy_inputs(&data, &toy, 3, 4);
        double *out = xft_toy_output(&data);
        assert_int_equal(xf_run(out, &model, &data, NULL, NULL), XF_OK);
        xft_toy_targets(&data, out);
        xfi_free(out);
        int rational = toy.attention == XF_HARDMAX || toy.A == 0 || toy.V == 0;
        judge(toy.integers ? &integers : &reals, &model, &data, rational, (uint64_t)i + 7);
        xft_toy_dataset_clear(&data);
        xf_model_clear(&model);
    }
    print("integers", &integers);
    print("real numbers", &reals);
    assert_true(integers.ieee[XF_YES] > integers.n / 4);
    assert_true(integers.real[XF_YES] > integers.n / 4);
    assert_true(reals.real[XF_NO] > reals.n / 2);
}

/* ---- softmax ---- */

static void temperatures_are_part_of_the_claim(void **state) {
    (void)state;
    int finite = 0;
    for (int i = 0; i < 6; i++) {
        xf_dataset data;
        xf_model model;
        xf_certificate c;
        xf_generate_options how = {.kind = "gaussian",
                                   .n_sequences = 6,
                                   .d = 3,
                                   .n_min = 2,
                                   .n_max = 4,
                                   .m_min = 1,
                                   .m_max = 2,
                                   .seed = (uint64_t)i};
        xf_build_options options = {
            .construction = XF_PUBLISHED, .attention = XF_SOFTMAX, .tau = 0.25};
        assert_int_equal(xf_generate(&data, &how, NULL), XF_OK);
        assert_int_equal(xf_build(&model, &data, &options, NULL, NULL), XF_OK);
        assert_int_equal(xf_certify(&c, &model, &data, &one_thread, NULL), XF_OK);
        assert_true(c.real.tau_max >= 0.25 && c.ieee.tau_max >= 0.25);
        if (isfinite(c.real.tau_max)) {
            finite++;
            assert_true(c.real.tau_min == 0.0 && c.real.tau_max == model.tau_max);
            assert_true(c.ieee.uses_exp);
            xf_certificate_clear(&c);
            xf_certify_options hot = {.tau = 64 * model.tau_max, .threads = 1};
            assert_int_equal(xf_certify(&c, &model, &data, &hot, NULL), XF_NOT_EXACT);
            assert_int_not_equal(c.real.answer, XF_YES);
        }
        xf_certificate_clear(&c);
        xf_model_clear(&model);
        xf_dataset_clear(&data);
    }
    assert_true(finite > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constructions_are_certified),
        cmocka_unit_test(spoiled_models_are_not_certified),
        cmocka_unit_test(random_models_get_honest_answers),
        cmocka_unit_test(temperatures_are_part_of_the_claim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

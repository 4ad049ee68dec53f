/* Hand-written gradients against central differences in extended precision, over random families,
 * data and parameters; where a step crosses a kink there is nothing to compare.
 * Labels: slow */
#include "property/campaign.h"
#include "support/literal_loss.h"
#include "support/toy.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>

typedef struct tally {
    int64_t compared, kinks;
    double worst; /* relative to the largest entry of the gradient */
} tally;

typedef struct subject {
    xf_family family;
    xf_dataset data;
    int64_t n_parameters;
    double *theta, *gradient;
    long double *point;
    double loss;
    char name[120];
} subject;

static void draw_family(xf_family *f, xfi_rng *rng) {
    *f = (xf_family){.n_blocks = 1 + xfi_rng_below(rng, 3),
                     .d = 1 + xfi_rng_below(rng, 20),
                     .width = 1 + xfi_rng_below(rng, xfi_rng_below(rng, 4) ? 6 : 60),
                     .rank = xfi_rng_below(rng, 4),
                     .scalar = (int)xfi_rng_below(rng, 2),
                     .value = (xf_value_form)xfi_rng_below(rng, 2),
                     .order = (xf_order)xfi_rng_below(rng, 2),
                     .causal = (int)xfi_rng_below(rng, 2),
                     .tau = xfi_rng_below(rng, 2) ? 1.0 : 0.5 + xfi_rng_uniform(rng)};
}

/* Targets are some of the tokens, moved a little. */
static void draw_targets(xf_dataset *data, xfi_rng *rng) {
    xft_toy_targets(data, data->x);
    for (int64_t k = 0; k < data->n_targets * data->d; k++)
        data->y[k] += 0.3 * xfi_rng_normal(rng);
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
        data->y_offsets[j + 1] = data->y_offsets[j] + 1 + xfi_rng_below(rng, n < 4 ? n : 4);
    }
    data->n_targets = data->y_offsets[data->n_sequences];
}

static void make_subject(subject *s, uint64_t i) {
    xfi_rng rng;
    xfi_rng_seed(&rng, xft_property_seed(), 0x77000 + i);
    draw_family(&s->family, &rng);
    xft_toy toy = {.d = s->family.d, .seed = xfi_rng_bits(&rng)};
    xft_toy_inputs(&s->data, &toy, 1 + xfi_rng_below(&rng, 5), 1 + xfi_rng_below(&rng, 37));
    draw_targets(&s->data, &rng);
    int64_t n = s->n_parameters = xf_family_parameters(&s->family);
    s->theta = xfi_calloc(n, sizeof(double));
    s->gradient = xfi_calloc(n, sizeof(double));
    s->point = xfi_calloc(n, sizeof(long double));
    assert_true(s->theta && s->gradient && s->point);
    xf_family_initial(s->theta, &s->family, xfi_rng_bits(&rng), 0, 0.8);
    for (int64_t k = 0; k < n; k++) {
        s->theta[k] = (double)(float)(s->theta[k] + 0.2 * xfi_rng_normal(&rng));
        s->point[k] = (long double)s->theta[k];
    }
    const xf_family *f = &s->family;
    snprintf(s->name, sizeof s->name,
             "case %d: L %d, d %d, w %d, h %d, scalar %d, value %d, order %d, "
             "causal %d, tau %g",
             (int)i, (int)f->n_blocks, (int)f->d, (int)f->width, (int)f->rank, f->scalar,
             (int)f->value, (int)f->order, f->causal, f->tau);
}

static void clear_subject(subject *s) {
    xft_toy_dataset_clear(&s->data);
    xfi_free(s->theta);
    xfi_free(s->gradient);
    xfi_free(s->point);
}

static double largest(const double *values, int64_t n) {
    double most = 0.0;
    for (int64_t k = 0; k < n; k++)
        most = fmax(most, fabs(values[k]));
    return most;
}

static void compare_entry(subject *s, int64_t k, uint64_t pieces, double scale, tally *t) {
    const long double step = 0x1p-24L;
    long double here = s->point[k];
    s->point[k] = here + step;
    xft_literal_loss up = xft_loss_literal(&s->family, s->point, &s->data);
    s->point[k] = here - step;
    xft_literal_loss down = xft_loss_literal(&s->family, s->point, &s->data);
    s->point[k] = here;
    if (up.pieces != pieces || down.pieces != pieces) {
        t->kinks++;
        return;
    }
    double difference = (double)((up.loss - down.loss) / (2 * step));
    double error = fabs(difference - s->gradient[k]) / scale;
    t->compared++;
    t->worst = fmax(t->worst, error);
    if (!(error < 1e-8))
        fail_msg("%s: entry %d is %.15g, differences say %.15g", s->name, (int)k, s->gradient[k],
                 difference);
}

static void check_case(uint64_t i, tally *t) {
    subject s;
    xf_error error = {0};
    make_subject(&s, i);
    if (xf_loss(&s.loss, s.gradient, &s.family, s.theta, &s.data, XF_F64, 1, &error) != XF_OK)
        fail_msg("%s: %s", s.name, error.message);
    xft_literal_loss literal = xft_loss_literal(&s.family, s.point, &s.data);
    if (!(fabs(s.loss - (double)literal.loss) < 1e-12 * (double)literal.loss))
        fail_msg("%s: loss %.17g, literally %.17g", s.name, s.loss, (double)literal.loss);
    double scale = largest(s.gradient, s.n_parameters);
    int64_t stride = 1 + s.n_parameters / 150;
    for (int64_t k = (int64_t)(i % (uint64_t)stride); k < s.n_parameters; k += stride)
        compare_entry(&s, k, literal.pieces, scale, t);
    clear_subject(&s);
}

static void gradients_are_derivatives(void **state) {
    (void)state;
    tally t = {0, 0, 0.0};
    uint64_t n = (uint64_t)ceil(60 * xft_multiplier());
    for (uint64_t i = 0; i < n; i++)
        check_case(i, &t);
    printf("%lld entries compared, %lld at kinks, worst error %.2g\n", (long long)t.compared,
           (long long)t.kinks, t.worst);
    assert_true(t.compared > 20 * t.kinks);
}

/* binary32 gives the same up to its rounding, and NULL for the gradient changes no bit. */
static void precisions_agree(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 60; i++) {
        subject s;
        double loss = 0.0, alone = 0.0;
        make_subject(&s, i);
        double *narrow = xfi_calloc(s.n_parameters, sizeof(double));
        assert_non_null(narrow);
        for (int dtype = 1; dtype >= 0; dtype--) {
            double *out = dtype ? narrow : s.gradient;
            assert_int_equal(
                xf_loss(&loss, out, &s.family, s.theta, &s.data, (xf_dtype)dtype, 2, NULL), XF_OK);
            xf_loss(&alone, NULL, &s.family, s.theta, &s.data, (xf_dtype)dtype, 1, NULL);
            assert_true(loss == alone);
        }
        double scale = largest(s.gradient, s.n_parameters);
        for (int64_t k = 0; k < s.n_parameters; k++)
            if (!(fabs(narrow[k] - s.gradient[k]) < 2e-3 * scale))
                fail_msg("%s: entry %d is %.9g in binary32, %.9g in binary64", s.name, (int)k,
                         narrow[k], s.gradient[k]);
        xfi_free(narrow);
        clear_subject(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_derivatives),
                                       cmocka_unit_test(precisions_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

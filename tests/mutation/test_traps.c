/* Models by hand that are exact in real arithmetic and on the dense engine, or nearly so, but not
 * in every admissible evaluation: rounding that depends on the order, fused products, overflow on
 * the way, infinity times 0, reciprocals, underflow of materialised entries, flushed subnormals. */
#include "mutation/judges.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { WIDTH = 4, ORDERS = 60 };

typedef struct trap {
    xf_model model;
    xf_dataset data;
    xft_opinions opinions;
} trap;

static void new_trap(trap *t, int64_t n_blocks, int64_t d) {
    if (xf_model_new(&t->model, n_blocks, d, WIDTH, NULL) != XF_OK)
        abort();
}

/* One sequence: tokens x [n][d], targets y [m][d]. */
static void set_data(trap *t, int64_t n, const double *x, int64_t m, const double *y) {
    const int64_t x_offsets[] = {0, n}, y_offsets[] = {0, m};
    if (xf_dataset_from_arrays(&t->data, 1, t->model.d, x, x_offsets, y, y_offsets, NULL, NULL) !=
        XF_OK)
        abort();
}

static void spring(trap *t) {
    xft_ask(&t->opinions, &t->model, &t->data, ORDERS, 1);
    xf_model_clear(&t->model);
    xf_dataset_clear(&t->data);
}

/* eta = 0 and n constant neurons: the output is sum column_i * r_i, whatever the token. */
static xft_opinions ask_about_sum(const double *column, const double *r, int n, double target) {
    const double x = 1.0;
    trap t;
    new_trap(&t, 1, 1);
    t.model.ff_eta[0] = 0.0;
    memcpy(t.model.ff_W, column, (size_t)n * sizeof *column);
    memcpy(t.model.ff_b, r, (size_t)n * sizeof *r);
    set_data(&t, 1, &x, 1, &target);
    spring(&t);
    return t.opinions;
}

static void assert_trapped(const xft_opinions *o) {
    assert_int_equal(o->rational, 1);
    assert_int_equal(o->real, XF_YES);
    assert_true(xft_is_inexact(o));
    assert_true(o->search == XFT_COUNTEREXAMPLE || !o->verify);
    assert_int_not_equal(o->ieee, XF_YES);
}

static void an_order_that_rounds(void **state) {
    (void)state;
    const double column[] = {1e16, -1e16, 1.0}, r[] = {1.0, 1.0, 1.0};
    xft_opinions o = ask_about_sum(column, r, 3, 1.0);
    assert_int_equal(o.verify, 1);
    assert_trapped(&o);
}

static void a_fused_product(void **state) {
    (void)state;
    const double a = 1.0 + DBL_EPSILON, column[] = {a, -a}, r[] = {a, a};
    xft_opinions o = ask_about_sum(column, r, 2, 0.0);
    assert_int_equal(o.verify, 1);
    assert_trapped(&o);
}

static void an_order_that_overflows(void **state) {
    (void)state;
    const double column[] = {0x1p1023, -0x1p1023, 0x1p1023}, r[] = {1.0, 1.0, 1.0};
    xft_opinions o = ask_about_sum(column, r, 3, 0x1p1023);
    assert_int_equal(o.verify, 1);
    assert_trapped(&o);
}

static void infinity_times_zero(void **state) {
    (void)state;
    const double x = 2.0;
    trap t;
    new_trap(&t, 1, 1);
    t.model.ff_U[0] = 0x1p1023;
    set_data(&t, 1, &x, 1, &x);
    spring(&t);
    assert_trapped(&t.opinions);
}

/* fl(1/49) * 49 is not 1. */
static void a_reciprocal(void **state) {
    (void)state;
    enum { N = 49 };
    double x[2 * N];
    const double y[] = {1.0, 0.0};
    trap t;
    new_trap(&t, 1, 2);
    for (int l = 0; l < N; l++) {
        x[2 * l] = 1.0;
        x[2 * l + 1] = l;
    }
    t.model.sa_rho[0] = 0.0;
    t.model.sa_V.left[0] = t.model.sa_V.right[0] = 1.0;
    set_data(&t, N, x, 1, y);
    spring(&t);
    assert_trapped(&t.opinions);
}

/* left * right underflows to 0 where left * (right * x) does not. */
static void a_materialised_entry(void **state) {
    (void)state;
    const double x = 0x1p600, rights[] = {0x1p-600, 0x1.8p-600, 0x1.8p-500};
    for (int i = 0; i < 3; i++) {
        double y = 0x1p-600 * (rights[i] * x);
        trap t;
        new_trap(&t, 1, 1);
        t.model.sa_rho[0] = 0.0;
        t.model.sa_V.left[0] = 0x1p-600;
        t.model.sa_V.right[0] = rights[i];
        set_data(&t, 1, &x, 1, &y);
        spring(&t);
        assert_trapped(&t.opinions);
    }
}

/* An entry of V that is rounded to a multiple of the smallest number and then multiplied by a large
 * value: 1.5 becomes 2, which opens the gate of the next block. */
static void a_subnormal_entry(void **state) {
    (void)state;
    const double x[] = {0x1p500, 0x1p-10}, y[] = {0.0, 0.0}, seconds[] = {0.0, 0x1p-1000};
    for (int i = 0; i < 2; i++) {
        trap t;
        new_trap(&t, 2, 2);
        t.model.sa_rho[0] = 0.0;
        t.model.sa_V.left[0] = 0x1p-574;
        t.model.sa_V.right[0] = 0x1.8p-500;
        t.model.sa_V.right[1] = seconds[i];
        double *U = t.model.ff_U + 2 * WIDTH, *W = t.model.ff_W + 2 * WIDTH;
        t.model.ff_eta[1] = 0.0;
        U[0] = 0x1p575;
        t.model.ff_b[WIDTH] = -3.5;
        W[0] = 1.0;
        set_data(&t, 1, x, 1, y);
        spring(&t);
        assert_trapped(&t.opinions);
    }
}

/* The same in A: token 0 looks at token 1 only if its logit does not underflow on the way. */
static void a_materialised_logit(void **state) {
    (void)state;
    const double x[] = {0x1p600, 0.0, 0x1p600, 0x1p600}, y[] = {0x1p600, 0x1p600};
    trap t;
    new_trap(&t, 1, 2);
    t.model.sa_rho[0] = 0.0;
    t.model.sa_V.alpha[0] = 1.0;
    t.model.sa_A.left[1] = 0x1p-600;
    t.model.sa_A.right[0] = 0x1.8p-600;
    set_data(&t, 2, x, 1, y);
    spring(&t);
    assert_int_equal(t.opinions.real, XF_YES);
    assert_int_equal(t.opinions.orders, 0);
    assert_int_not_equal(t.opinions.ieee, XF_YES);
}

/* Exact wherever subnormal numbers are numbers. */
static void a_flushed_weight(void **state) {
    (void)state;
    const double x = 3.0, y = 0x3p-60;
    trap t;
    new_trap(&t, 1, 1);
    t.model.ff_eta[0] = 0.0;
    t.model.ff_U[0] = 0x1p-1060;
    t.model.ff_W[0] = 0x1p1000;
    set_data(&t, 1, &x, 1, &y);
    spring(&t);
    assert_int_equal(t.opinions.search, XFT_ALWAYS_EXACT);
    assert_int_equal(t.opinions.real, XF_YES);
    assert_int_equal(t.opinions.ieee, XF_YES);
    assert_int_equal(t.opinions.is_subnormal_free, 0);
    assert_int_not_equal(t.opinions.flushed, 1);
}

/* Intermediate results that are subnormal, from weights and data that are not. */
static void a_flushed_product(void **state) {
    (void)state;
    const double x = 0x1p-60, y = 0x1p-60;
    trap t;
    new_trap(&t, 1, 1);
    t.model.ff_eta[0] = 0.0;
    t.model.ff_U[0] = 0x1p-1000;
    t.model.ff_W[0] = 0x1p1000;
    set_data(&t, 1, &x, 1, &y);
    spring(&t);
    assert_int_equal(t.opinions.search, XFT_ALWAYS_EXACT);
    assert_int_equal(t.opinions.ieee, XF_YES);
    assert_int_equal(t.opinions.is_subnormal_free, 0);
    assert_int_not_equal(t.opinions.flushed, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_that_rounds),
        cmocka_unit_test(a_fused_product),
        cmocka_unit_test(an_order_that_overflows),
        cmocka_unit_test(infinity_times_zero),
        cmocka_unit_test(a_reciprocal),
        cmocka_unit_test(a_materialised_entry),
        cmocka_unit_test(a_subnormal_entry),
        cmocka_unit_test(a_materialised_logit),
        cmocka_unit_test(a_flushed_weight),
        cmocka_unit_test(a_flushed_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

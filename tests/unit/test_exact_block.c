/* construct/exact_block.h: a slab moves its token and is refused wherever a claim would not hold.
 */
#include "construct/exact_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { D = 2, TOKENS = 3, EXPONENT = -10 };

static const double G = 0x1p-10;

/* A slab of half-width 8 G around x_0 = 1, step (w, -w) with w = 512 G. */
static void make(xf_model *m, xfi_settled *s, double scale) {
    static const double edges[4] = {2, 1, -1, -2}, signs[4] = {1, -1, -1, 1};
    static const double x[TOKENS * D] = {1, 3, 2, -1, -5, 0.5};
    assert_int_equal(xf_model_new(m, 1, D, 4, NULL), XF_OK);
    for (int i = 0; i < 4; i++) {
        m->ff_U[i * D] = scale;
        m->ff_b[i] = scale * (edges[i] * 8 * G - 1);
        m->ff_W[i] = signs[i] * 64 / scale;
        m->ff_W[4 + i] = -signs[i] * 64 / scale;
    }
    assert_true(xfi_settled_init(s, TOKENS, D));
    s->exponent = EXPONENT;
    for (int i = 0; i < TOKENS * D; i++)
        s->x[i] = x[i];
    for (int i = 0; i < TOKENS; i++)
        s->off[i] = 2 * G;
}

static int64_t run(xf_model *m, xfi_settled *s) {
    int64_t token = -2;
    assert_true(xfi_exact_block(&token, s, m, 0));
    return token;
}

static void end(xf_model *m, xfi_settled *s) {
    xf_model_clear(m);
    xfi_settled_clear(s);
}

static void moves_one_token(void **state) {
    (void)state;
    static const double scales[] = {1, 0x1p-7, 0x1p20}; /* neurons may be rescaled */
    for (int i = 0; i < 3; i++) {
        xf_model m;
        xfi_settled s;
        make(&m, &s, scales[i]);
        assert_int_equal(run(&m, &s), -1);
        assert_true(s.x[0] == 1 + 512 * G && s.x[1] == 3 - 512 * G);
        assert_true(s.x[2] == 2 && s.x[3] == -1 && s.x[4] == -5 && s.x[5] == 0.5);
        end(&m, &s);
    }
}

static void refuses_a_token_on_a_ramp(void **state) {
    (void)state;
    xf_model m;
    xfi_settled s;
    make(&m, &s, 1);
    s.x[2] = 1 + 12 * G;
    assert_int_equal(run(&m, &s), 1);
    end(&m, &s);
}

static void refuses_a_token_that_may_reach_a_ramp(void **state) {
    (void)state;
    xf_model m;
    xfi_settled s;
    make(&m, &s, 1);
    s.off[0] = 9 * G; /* the plateau ends at 8 G */
    assert_int_equal(run(&m, &s), 0);
    end(&m, &s);
    make(&m, &s, 1);
    s.x[4] = 1 + 17 * G; /* outside by G, but two off */
    assert_int_equal(run(&m, &s), 2);
    end(&m, &s);
}

static void refuses_sums_beyond_2_to_53(void **state) {
    (void)state;
    xf_model m;
    xfi_settled s;
    make(&m, &s, 1);
    s.x[3] = 0x1p43 - 0x1p10; /* 2^53 G less what the neurons add and take away again */
    s.off[1] = 0;
    assert_int_equal(run(&m, &s), -1);
    end(&m, &s);
    make(&m, &s, 1);
    s.x[2] = 0x1p38; /* times 64, twice */
    assert_int_equal(run(&m, &s), 1);
    end(&m, &s);
}

static void refuses_what_is_not_on_the_grid(void **state) {
    (void)state;
    xf_model m;
    xfi_settled s;
    make(&m, &s, 1);
    s.x[5] += G / 2;
    assert_int_equal(run(&m, &s), 2);
    end(&m, &s);
    make(&m, &s, 1);
    m.ff_b[2] += G / 4;
    assert_int_equal(run(&m, &s), 0);
    end(&m, &s);
    make(&m, &s, 1);
    m.ff_W[0] += 0.5;
    assert_int_equal(run(&m, &s), 0);
    end(&m, &s);
}

static void a_constant_shifts(void **state) {
    (void)state;
    xf_model m;
    xfi_settled s;
    make(&m, &s, 1);
    for (int i = 0; i < 4; i++)
        m.ff_U[i * D] = m.ff_b[i] = m.ff_W[i] = m.ff_W[4 + i] = 0.0;
    m.ff_b[1] = 4; /* a rescaled neuron: 4 * 3/4 G = 3 G */
    m.ff_W[1] = 0.75 * G;
    assert_int_equal(run(&m, &s), -1);
    assert_true(s.x[0] == 1 + 3 * G && s.x[1] == 3);
    end(&m, &s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_one_token),
        cmocka_unit_test(refuses_a_token_on_a_ramp),
        cmocka_unit_test(refuses_a_token_that_may_reach_a_ramp),
        cmocka_unit_test(refuses_sums_beyond_2_to_53),
        cmocka_unit_test(refuses_what_is_not_on_the_grid),
        cmocka_unit_test(a_constant_shifts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* construct/collapse.h, construct/temperature.h: margins and pulls that can be computed by hand. */
#include "construct/collapse.h"
#include "construct/temperature.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { D = 2, TOKENS = 4 };

/* Two sequences: {(1, 2), (6, 6)} with one target, {(-4, 0), (0, -4)} with two. */
static double x[TOKENS * D] = {1, 2, 6, 6, -4, 0, 0, -4};
static int64_t x_offsets[] = {0, 2, 4}, y_offsets[] = {0, 1, 3};
static xf_dataset data = {.n_sequences = 2,
                          .d = D,
                          .n_tokens = TOKENS,
                          .n_targets = 3,
                          .x = x,
                          .x_offsets = x_offsets,
                          .y_offsets = y_offsets};

static void settle(xfi_settled *s, double off) {
    assert_true(xfi_settled_init(s, TOKENS, D));
    memcpy(s->x, x, sizeof x);
    for (int i = 0; i < TOKENS; i++)
        s->off[i] = off;
}

static void tokens_find_their_leaders(void **state) {
    (void)state;
    xfi_settled s;
    xfi_logit_gap least;
    int64_t leader[TOKENS];
    settle(&s, 0);
    assert_int_equal(xfi_collapse(leader, &least, &s, &data, NULL), XF_OK);
    assert_true(leader[0] == 1 && leader[1] == 1 && leader[2] == 2 && leader[3] == 3);
    /* (1, 2): 18 against 5; (6, 6): 72 against 18; the others 16 against 0 */
    assert_true(least.gap == 13 && least.bound > 0 && least.bound < 1e-12);
    assert_true(least.sequence == 0 && least.token == 0 && least.rival == 0);
    xfi_settled_clear(&s);
}

static void tolerances_cost_margin(void **state) {
    (void)state;
    xfi_settled s;
    xfi_logit_gap sharp, blunt;
    int64_t leader[TOKENS];
    settle(&s, 0.01);
    assert_int_equal(xfi_collapse(leader, &blunt, &s, &data, NULL), XF_OK);
    /* (1, 2): 0.01 * |(5, 4)|_1 + 3.02 * 0.02 at least */
    assert_true(blunt.gap == 13 && blunt.bound >= 0.1504 && blunt.bound < 0.16);
    xfi_settled_clear(&s);
    settle(&s, 2.0); /* then nothing is sure */
    assert_int_equal(xfi_collapse(leader, &sharp, &s, &data, NULL), XF_OK);
    assert_true(sharp.gap < sharp.bound);
    xfi_settled_clear(&s);
}

static void a_tie_is_no_collapse(void **state) {
    (void)state;
    xfi_settled s;
    xfi_logit_gap least;
    int64_t leader[TOKENS];
    settle(&s, 0);
    s.x[4] = 0; /* (0, 0) looks at both alike */
    s.x[5] = 0;
    assert_int_equal(xfi_collapse(leader, &least, &s, &data, NULL), XF_OK);
    assert_true(!(least.gap > least.bound) && least.sequence == 1 && least.token == 2);
    xfi_settled_clear(&s);
}

static void room_is_shared_with_the_writer(void **state) {
    (void)state;
    xfi_group at[3] = {{.low = -1, .high = 0}, {.low = 4, .high = 5}, {.low = 13, .high = 14}};
    xfi_groups groups = {.n = 3, .at = at};
    xfi_reserve_room(&groups);
    double down = 1 - 0x1p-40, up = 2 - 0x1p-39; /* a quarter of 4 and of 8, rounded down */
    assert_true(at[0].low == -1 - down && at[0].high == down);
    assert_true(at[1].low == 4 - down && at[1].high == 5 + up);
    assert_true(at[2].low == 13 - up && at[2].high == 14 + up);
}

static void pulls_are_bounds(void **state) {
    (void)state;
    const double gap[] = {0, 3, 5}, up[] = {0, 2, 0}, down[] = {0, 0, 7};
    xfi_pull pull = {3, gap, up, down};
    double above = 0, below = 0;
    xfi_pull_at(&above, &below, &pull, 2);
    assert_true(above >= 2 * exp(-1.5) && above < 2 * exp(-1.5) * (1 + 1e-13));
    assert_true(below >= 7 * exp(-2.5) && below < 7 * exp(-2.5) * (1 + 1e-13));
    xfi_pull_at(&above, &below, &pull, INFINITY);
    assert_true(above >= 2 && below >= 7);
    xfi_pull_at(&above, &below, &pull, 1e-300);
    assert_true(above > 0 && above < 1e-300);
}

/* Only token 0 is pulled by anyone on the line; the gap of its logits is 13. */
static void temperature_is_where_the_room_ends(void **state) {
    (void)state;
    xfi_settled s;
    settle(&s, 0);
    const double p[TOKENS] = {-100, 0, 1000, 1000.0 + 0x1p-20};
    const int64_t leader[TOKENS] = {1, 1, 2, 3};
    xfi_group at[3] = {{.low = 0, .high = 0, .t_low = 0},
                       {.low = 1000, .high = 1000, .t_low = 1000},
                       {.low = 2000, .high = 2000, .t_low = 1000.0 + 0x1p-20}};
    xfi_groups groups = {.n = 3, .at = at};
    double tau = 0;
    assert_int_equal(xfi_temperature(&tau, &groups, p, 1, &s, leader, &data, NULL), XF_OK);
    assert_true(tau == INFINITY); /* at most 100 of 250 */
    at[1].low = 40;               /* the room of group 0 becomes 10 */
    assert_int_equal(xfi_temperature(&tau, &groups, p, 1, &s, leader, &data, NULL), XF_OK);
    double expected = 13 / log(100 / 10.0);
    assert_true(tau <= expected && tau > expected * (1 - 1e-9));
    xfi_settled_clear(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_find_their_leaders),
        cmocka_unit_test(tolerances_cost_margin),
        cmocka_unit_test(a_tie_is_no_collapse),
        cmocka_unit_test(room_is_shared_with_the_writer),
        cmocka_unit_test(pulls_are_bounds),
        cmocka_unit_test(temperature_is_where_the_room_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

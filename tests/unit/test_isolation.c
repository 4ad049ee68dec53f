/* construct/isolation.h against brute force, while tokens move. */
#include "construct/isolation.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 60, MOST_D = 40, MOVES = 40 };

static int64_t project(const int64_t *u, const int64_t *x, int64_t d) {
    int64_t sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += u[k] * x[k];
    return sum;
}

static int64_t gap(const int64_t *u, const int64_t *x, int64_t d, int64_t token) {
    int64_t least = INT64_MAX, s = project(u, x + token * d, d);
    for (int64_t i = 0; i < N; i++) {
        int64_t t = project(u, x + i * d, d), distance = t > s ? t - s : s - t;
        if (i != token && distance < least)
            least = distance;
    }
    return least;
}

static void check(xfi_isolation *iso, const int64_t *x, int64_t d) {
    for (int64_t i = 0; i < N; i++) {
        double best = -1;
        int direction = -1;
        for (int c = 0; c < iso->n_directions; c++) {
            const int64_t *u = iso->directions + c * d;
            int64_t g = gap(u, x, d, i), other = xfi_isolation_neighbour(iso, i, c);
            assert_true(iso->gap[c * N + i] == g);
            assert_true(other != i && other >= 0);
            int64_t distance = project(u, x + i * d, d) - project(u, x + other * d, d);
            assert_true((distance < 0 ? -distance : distance) == g);
            best = fmax(best, (double)g / (double)iso->norms[c]);
        }
        assert_true(xfi_isolation_of(iso, i, &direction) == best);
        assert_true(direction >= 0 && direction < iso->n_directions);
    }
}

static void check_directions(const xfi_isolation *iso, int64_t d) {
    assert_true(iso->n_directions >= 8 && iso->n_directions <= XFI_ISO_DIRECTIONS);
    for (int c = 0; c < iso->n_directions; c++) {
        int64_t norm = 0;
        for (int64_t k = 0; k < d; k++)
            norm += iso->directions[c * d + k] < 0 ? -iso->directions[c * d + k]
                                                   : iso->directions[c * d + k];
        assert_true(norm > 0 && norm == iso->norms[c]);
    }
}

static void gaps_follow_moves(void **state) {
    (void)state;
    static const int64_t dimensions[] = {2, 3, 5, MOST_D};
    for (int t = 0; t < 4; t++) {
        int64_t d = dimensions[t], x[N * MOST_D];
        xfi_rng rng;
        xfi_isolation iso;
        xfi_rng_seed(&rng, 5, (uint64_t)d);
        for (int64_t i = 0; i < N * d; i++)
            x[i] = xfi_rng_below(&rng, t == 1 ? 4 : 1000000); /* few values: many ties */
        assert_true(xfi_isolation_init(&iso, x, N, d));
        check_directions(&iso, d);
        check(&iso, x, d);
        for (int move = 0; move < MOVES; move++) {
            int64_t token = xfi_rng_below(&rng, N);
            for (int64_t k = 0; k < d; k++)
                x[token * d + k] += xfi_rng_below(&rng, 2000001) - 1000000;
            xfi_isolation_move(&iso, token, x + token * d);
            if (move % 8 == 7)
                check(&iso, x, d);
        }
        xfi_isolation_clear(&iso);
    }
}

static void equal_tokens_have_no_isolation(void **state) {
    (void)state;
    const int64_t x[] = {1, 2, 5, 6, 1, 2, 9, 9};
    xfi_isolation iso;
    int direction = 0;
    assert_true(xfi_isolation_init(&iso, x, 4, 2));
    assert_true(xfi_isolation_of(&iso, 0, &direction) == 0.0);
    assert_true(xfi_isolation_of(&iso, 2, &direction) == 0.0);
    assert_true(xfi_isolation_of(&iso, 1, &direction) > 0.0);
    const int64_t away[] = {100, -100};
    xfi_isolation_move(&iso, 2, away);
    assert_true(xfi_isolation_of(&iso, 0, &direction) > 0.0);
    xfi_isolation_clear(&iso);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_follow_moves),
        cmocka_unit_test(equal_tokens_have_no_isolation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

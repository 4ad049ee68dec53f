/* construct/windows.h: windows are apart, the delicate ones nearest to 0, both sides alike. */
#include "construct/windows.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 40, N_TOKENS_MAX = 6 };

typedef struct scene {
    xf_dataset data;
    int64_t x_offsets[N + 1];
    int64_t y_offsets[N + 1];
    double s[N * N_TOKENS_MAX];
} scene;

static void make_scene(scene *c, xfi_rng *rng) {
    c->x_offsets[0] = c->y_offsets[0] = 0;
    for (int j = 0; j < N; j++) {
        int64_t n = 1 + xfi_rng_below(rng, N_TOKENS_MAX);
        c->x_offsets[j + 1] = c->x_offsets[j] + n;
        c->y_offsets[j + 1] = c->y_offsets[j] + 1 + xfi_rng_below(rng, n);
    }
    for (int64_t l = 0; l < c->x_offsets[N]; l++)
        c->s[l] = xfi_rng_normal(rng);
    c->data = (xf_dataset){.n_sequences = N,
                           .n_tokens = c->x_offsets[N],
                           .n_targets = c->y_offsets[N],
                           .d = 3,
                           .x_offsets = c->x_offsets,
                           .y_offsets = c->y_offsets};
}

/* The gap that must stay, by trying all: at least m - 1 gaps are as large. */
static double slow_delta(const scene *c, int64_t j) {
    int64_t first = c->x_offsets[j], n = c->x_offsets[j + 1] - first;
    int64_t m = c->y_offsets[j + 1] - c->y_offsets[j];
    double best = m == 1 ? INFINITY : 0;
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < n; b++) {
            double gap = c->s[first + b] - c->s[first + a];
            int neighbours = gap > 0;
            for (int64_t l = first; l < first + n; l++)
                neighbours =
                    neighbours && !(c->s[l] > c->s[first + a] && c->s[l] < c->s[first + b]);
            int64_t as_large = 0;
            for (int64_t p = 0; p < n && neighbours; p++)
                for (int64_t q = 0; q < n; q++) {
                    double other = c->s[first + q] - c->s[first + p];
                    int beside = other >= gap;
                    for (int64_t l = first; l < first + n; l++)
                        beside =
                            beside && !(c->s[l] > c->s[first + p] && c->s[l] < c->s[first + q]);
                    as_large += beside;
                }
            if (neighbours && as_large >= m - 1)
                best = fmax(best, gap);
        }
    return best;
}

static void check_places(const scene *c, const xfi_windows *w, double middle, double margin) {
    double offset[N], extent = 0, farthest = 0, least = INFINITY;
    int64_t above = 0, below = 0;
    assert_true(xfi_windows_pack(offset, &extent, w, middle) == margin);
    for (int j = 0; j < N; j++) {
        double low = w->low[j] + offset[j], high = w->high[j] + offset[j];
        assert_true(low > middle || high < -middle);
        *(low > 0 ? &above : &below) += c->y_offsets[j + 1] - c->y_offsets[j];
        double t = fmax(fabs(low), fabs(high));
        farthest = fmax(farthest, t);
        least = fmin(least, w->delta[j] / (2 * (w->error + w->u * (t + w->error))));
        for (int k = 0; k < N; k++) {
            assert_true(k == j || w->low[k] + offset[k] > high || w->high[k] + offset[k] < low);
            int same = (w->low[k] + offset[k] > 0) == (low > 0);
            if (same && w->delta[k] < w->delta[j])
                assert_true(fabs(w->low[k] + offset[k]) < t);
        }
    }
    assert_true(llabs(above - below) <= N_TOKENS_MAX);
    assert_true(fabs(farthest - extent) <= 1e-12 * extent);
    assert_true(fabs(least - margin) <= 1e-9 * margin);
}

static void windows_are_apart(void **state) {
    (void)state;
    xfi_rng rng;
    xfi_rng_seed(&rng, 41, 0);
    for (int round = 0; round < 100; round++) {
        scene c;
        xfi_windows w;
        double extent = 0;
        make_scene(&c, &rng);
        assert_true(xfi_windows_init(&w, &c.data, 0x1p-24));
        assert_true(xfi_windows_measure(&w, c.s, round % 2 ? 0x1p-24 : 0.0));
        for (int j = 0; j < N; j++)
            assert_true(w.delta[j] == slow_delta(&c, j));
        double middle = round % 3 ? 0.0 : 10.0;
        double margin = xfi_windows_pack(NULL, &extent, &w, middle);
        check_places(&c, &w, middle, margin);
        xfi_windows_clear(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows_are_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

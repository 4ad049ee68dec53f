/* Feed-forward layers on boxes against every evaluation there is, in formats of a few bits:
 * every point of the box, every bracketing of every sum, every product fused or not. */
#include "base/alloc.h"
#include "base/rng.h"
#include "certify/cert_piece.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

enum { D = 2, W = 2, MOST_VALUES = 512 };

/* What a sum, or a neuron, can come to. */
typedef struct values {
    int n;
    double at[MOST_VALUES];
} values;

/* A term of a sum: the exact product, and the product rounded. */
typedef struct leaf {
    double exact;
    double rounded;
    int is_product; /* not yet added to anything: may be fused */
} leaf;

static double round_to(const xfi_format *f, double v) {
    if (v == 0.0 || !isfinite(v))
        return v;
    int e = ilogb(v) < f->emin ? f->emin : ilogb(v);
    double unit = ldexp(1.0, e - f->p + 1);
    double r = nearbyint(v / unit) * unit;
    return fabs(r) >= ldexp(1.0, f->emax + 1) ? copysign(INFINITY, v) : r;
}

static void add_value(values *v, double x) {
    for (int i = 0; i < v->n; i++)
        if (v->at[i] == x || (isnan(x) && isnan(v->at[i])))
            return;
    assert_true(v->n < MOST_VALUES);
    v->at[v->n++] = x;
}

static void all_sums(values *out, const xfi_format *f, const leaf *terms, int n) {
    if (n == 0) {
        add_value(out, 0.0);
        return;
    }
    if (n == 1) {
        add_value(out, terms[0].rounded);
        return;
    }
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            leaf rest[8];
            int m = 0;
            for (int k = 0; k < n; k++)
                if (k != i && k != j)
                    rest[m++] = terms[k];
            double sums[3] = {terms[i].rounded + terms[j].rounded,
                              terms[i].exact + terms[j].rounded, terms[i].rounded + terms[j].exact};
            for (int s = 0; s < 3; s++) {
                if ((s == 1 && !terms[i].is_product) || (s == 2 && !terms[j].is_product))
                    continue;
                double r = round_to(f, sums[s]);
                rest[m] = (leaf){r, r, 0};
                all_sums(out, f, rest, m + 1);
            }
        }
}

static leaf product(const xfi_format *f, double a, double b) {
    return (leaf){a * b, round_to(f, a * b), 1};
}

typedef struct layer {
    double eta, U[W][D], b[W], W_[D][W];
} layer;

static void all_neurons(values *out, const xfi_format *f, const layer *l, const double x[D],
                        int i) {
    leaf terms[D + 1];
    values sums = {0};
    int n = 0;
    for (int k = 0; k < D; k++)
        if (l->U[i][k] != 0.0)
            terms[n++] = product(f, l->U[i][k], x[k]);
    if (l->b[i] != 0.0)
        terms[n++] = (leaf){l->b[i], l->b[i], 0};
    all_sums(&sums, f, terms, n);
    for (int s = 0; s < sums.n; s++)
        add_value(out, sums.at[s] <= 0.0 ? 0.0 : sums.at[s]);
}

static int is_multiple(double v, int e) {
    return v == 0.0 || (e < 1000 && ldexp(v, -e) == nearbyint(ldexp(v, -e)));
}

typedef struct tally {
    int64_t n, points, lost, values;
} tally;

/* All outputs at the point x are in the box. */
static void check_point(const xfi_format *f, const layer *l, const double x[D], xfi_box out,
                        tally *t) {
    values r[W] = {{0}, {0}};
    for (int i = 0; i < W; i++)
        all_neurons(&r[i], f, l, x, i);
    for (int c = 0; c < D; c++) {
        for (int a = 0; a < r[0].n; a++)
            for (int b = 0; b < r[1].n; b++) {
                leaf terms[W + 1];
                values sums = {0};
                double pair[W] = {r[0].at[a], r[1].at[b]};
                int n = 0;
                if (l->eta != 0.0)
                    terms[n++] = product(f, l->eta, x[c]);
                for (int i = 0; i < W; i++)
                    if (l->W_[c][i] != 0.0)
                        terms[n++] = product(f, l->W_[c][i], pair[i]);
                all_sums(&sums, f, terms, n);
                for (int s = 0; s < sums.n; s++) {
                    double v = sums.at[s];
                    t->values++;
                    if (!(v >= out.low[c] && v <= out.high[c]) || !is_multiple(v, out.exponent[c]))
                        fail_msg("eta %g, x = (%g, %g), coordinate %d: %g is not in [%g, %g] with "
                                 "exponent %d",
                                 l->eta, x[0], x[1], c, v, out.low[c], out.high[c],
                                 out.exponent[c]);
                }
            }
    }
}

static double next_up(const xfi_format *f, double v) {
    double step = ldexp(1.0, f->emin - f->p + 1);
    double w = v;
    while (w == v || round_to(f, w) != w)
        w = w == v ? v + step : w + step;
    return w;
}

/* A random number of the format, of moderate size. */
static double draw(const xfi_format *f, xfi_rng *rng, int spread) {
    int64_t m = xfi_rng_below(rng, (int64_t)1 << f->p);
    int e = (int)xfi_rng_below(rng, spread) - spread / 2;
    double v = round_to(f, ldexp((double)m, e - f->p));
    return xfi_rng_below(rng, 2) ? v : -v;
}

static void draw_layer(layer *l, const xfi_format *f, xfi_rng *rng) {
    static const double etas[] = {1.0, 1.0, 0.0, -1.0, 0.5};
    l->eta = etas[xfi_rng_below(rng, 5)];
    int clamp = xfi_rng_below(rng, 3) == 0;
    for (int i = 0; i < W; i++) {
        for (int k = 0; k < D; k++) {
            l->U[i][k] = xfi_rng_below(rng, 2) ? draw(f, rng, 4) : 0.0;
            l->W_[k][i] = xfi_rng_below(rng, 2) ? draw(f, rng, 4) : 0.0;
        }
        l->b[i] = draw(f, rng, 5);
    }
    if (!clamp)
        return;
    /* x - relu(x - c) on coordinate 0, and a gate */
    l->eta = 1.0;
    l->U[0][0] = l->U[1][0] = 1.0;
    l->U[0][1] = l->U[1][1] = 0.0;
    l->b[0] = -fabs(draw(f, rng, 4));
    l->W_[0][0] = -1.0;
    l->W_[1][0] = 0.0;
}

/* The certifier's view of a layer. */
static void make_model(xf_model *m, const layer *l) {
    assert_int_equal(xf_model_new(m, 1, D, W, NULL), XF_OK);
    m->ff_eta[0] = l->eta;
    for (int i = 0; i < W; i++) {
        m->ff_b[i] = l->b[i];
        for (int k = 0; k < D; k++) {
            m->ff_U[i * D + k] = l->U[i][k];
            m->ff_W[k * W + i] = l->W_[k][i];
        }
    }
}

static void try_layer(const xfi_sense *sense, const layer *l, xfi_rng *rng, tally *t) {
    xf_model model;
    xfi_network network;
    xfi_piece piece;
    double low[D], high[D], out_low[D], out_high[D], ends[D][4];
    int32_t exponent[D], out_exponent[D];
    int n[D];
    const xfi_format *f = &sense->format;
    make_model(&model, l);
    assert_int_equal(xfi_network_init(&network, &model, NULL), XF_OK);
    assert_true(xfi_piece_init(&piece, sense, &network));
    for (int k = 0; k < D; k++) {
        ends[k][0] = draw(f, rng, 4);
        n[k] = 1 + (int)xfi_rng_below(rng, 4);
        for (int i = 1; i < n[k]; i++)
            ends[k][i] = next_up(f, ends[k][i - 1]);
        low[k] = ends[k][0];
        high[k] = ends[k][n[k] - 1];
        exponent[k] = xfi_interval_exponent(sense, low[k], high[k]);
    }
    xfi_box in = {low, high, exponent}, out = {out_low, out_high, out_exponent};
    xfi_log log = {.least = {INFINITY, -1, -1, -1}};
    xfi_piece_apply(&piece, out, network.ff, in, NULL, &log);
    t->n++;
    t->lost += log.is_lost;
    t->points += !log.is_lost && out_low[0] == out_high[0] && low[0] != high[0];
    for (int i = 0; i < n[0] && !log.is_lost; i++)
        for (int j = 0; j < n[1]; j++)
            check_point(f, l, (double[D]){ends[0][i], ends[1][j]}, out, t);
    xfi_piece_clear(&piece);
    xfi_network_clear(&network);
    xf_model_clear(&model);
}

static void check_format(xfi_format f, int n, uint64_t seed) {
    xfi_sense sense = xfi_sense_in(1, f);
    xfi_rng rng;
    tally t = {0};
    xfi_rng_seed(&rng, seed, 0);
    for (int i = 0; i < n; i++) {
        layer l;
        draw_layer(&l, &f, &rng);
        try_layer(&sense, &l, &rng, &t);
    }
    printf("p = %d: %lld layers, %lld intervals became points, %lld lost, %lld values\n", f.p,
           (long long)t.n, (long long)t.points, (long long)t.lost, (long long)t.values);
    assert_true(t.points > n / 40);
    assert_true(t.lost < n / 2);
}

static void all_evaluations_are_enclosed(void **state) {
    (void)state;
    check_format((xfi_format){3, -6, 6, 0x1p-3, 0x1p-8}, 1500, 1);
    check_format((xfi_format){5, -6, 6, 0x1p-5, 0x1p-10}, 1500, 2);
    check_format((xfi_format){4, -1, 4, 0x1p-4, 0x1p-4}, 1500, 3); /* underflow everywhere */
    check_format((xfi_format){4, -5, 1, 0x1p-4, 0x1p-8}, 1500, 4); /* overflow is near */
}

/* Sense real: the affine image is exact. */
static void a_clamp_is_a_point_in_real_arithmetic(void **state) {
    (void)state;
    layer l = {1.0, {{1.0, 0.0}, {0.0, 0.0}}, {-0.3, 0.0}, {{-1.0, 0.0}, {0.0, 0.0}}};
    xfi_sense sense = xfi_sense_of(0, XF_F64);
    xf_model model;
    xfi_network network;
    xfi_piece piece;
    make_model(&model, &l);
    assert_int_equal(xfi_network_init(&network, &model, NULL), XF_OK);
    assert_true(xfi_piece_init(&piece, &sense, &network));
    double low[D] = {0.7, 1.0 / 3}, high[D] = {0.9, 1.0 / 3}, a[D], b[D];
    int32_t e[D] = {0, 0}, f[D];
    xfi_log log = {.least = {INFINITY, -1, -1, -1}};
    xfi_piece_apply(&piece, (xfi_box){a, b, f}, network.ff, (xfi_box){low, high, e}, NULL, &log);
    assert_true(a[0] == 0.3 && b[0] == 0.3 && a[1] == 1.0 / 3 && b[1] == 1.0 / 3);
    assert_true(log.least.margin > 4.9 && log.least.margin < 5.1);
    low[0] = 0.2; /* the code is inside: only a hull is known */
    xfi_piece_apply(&piece, (xfi_box){a, b, f}, network.ff, (xfi_box){low, high, e}, NULL, &log);
    assert_true(a[0] < 0.3 && b[0] >= 0.3);
    xfi_piece_clear(&piece);
    xfi_network_clear(&network);
    xf_model_clear(&model);
}

/* In binary64 a code with a bit below the ulp of the number cannot be reached exactly. */
static void a_clamp_needs_a_code_on_the_grid(void **state) {
    (void)state;
    xfi_sense sense = xfi_sense_of(1, XF_F64);
    double codes[2] = {3.0, 3.0 + 0x1p-51};
    for (int i = 0; i < 2; i++) {
        layer l = {1.0, {{1.0, 0.0}, {0.0, 0.0}}, {-codes[i], 0.0}, {{-1.0, 0.0}, {0.0, 0.0}}};
        xf_model model;
        xfi_network network;
        xfi_piece piece;
        make_model(&model, &l);
        assert_int_equal(xfi_network_init(&network, &model, NULL), XF_OK);
        assert_true(xfi_piece_init(&piece, &sense, &network));
        double low[D] = {100.0, 0.0}, high[D] = {200.0, 0.0}, a[D], b[D];
        int32_t e[D] = {xfi_interval_exponent(&sense, 100.0, 200.0), XFI_EXPONENT_OF_ZERO}, f[D];
        xfi_log log = {.least = {INFINITY, -1, -1, -1}};
        xfi_piece_apply(&piece, (xfi_box){a, b, f}, network.ff, (xfi_box){low, high, e}, NULL,
                        &log);
        assert_int_equal(a[0] == b[0], i == 0);
        assert_true(a[0] <= codes[i] && codes[i] <= b[0]);
        xfi_piece_clear(&piece);
        xfi_network_clear(&network);
        xf_model_clear(&model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_evaluations_are_enclosed),
        cmocka_unit_test(a_clamp_is_a_point_in_real_arithmetic),
        cmocka_unit_test(a_clamp_needs_a_code_on_the_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

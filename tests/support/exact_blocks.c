/* Blocks in rational arithmetic. */
#include "support/exact_blocks.h"

#include <flint/fmpq_vec.h>
#include <flint/fmpz.h>

#include <math.h>

static void set_double(fmpq_t out, double v) {
    int exponent = 0;
    double mantissa = frexp(v, &exponent);
    fmpz_t integer;
    fmpz_init(integer);
    fmpz_set_si(integer, (slong)ldexp(mantissa, 53));
    fmpq_set_fmpz(out, integer);
    fmpz_clear(integer);
    if (exponent >= 53)
        fmpq_mul_2exp(out, out, (flint_bitcnt_t)(exponent - 53));
    else
        fmpq_div_2exp(out, out, (flint_bitcnt_t)(53 - exponent));
}

/* sum += w x. */
static void add_product(fmpq_t sum, double w, const fmpq_t x) {
    if (w == 0.0)
        return;
    fmpq_t weight;
    fmpq_init(weight);
    set_double(weight, w);
    fmpq_addmul(sum, weight, x);
    fmpq_clear(weight);
}

static void feed_forward(fmpq *x, const xf_model *m, int64_t block) {
    int64_t d = m->d, w = m->width;
    fmpq *r = _fmpq_vec_init(w), *y = _fmpq_vec_init(d);
    for (int64_t i = 0; i < w; i++) {
        set_double(r + i, m->ff_b[block * w + i]);
        for (int64_t k = 0; k < d; k++)
            add_product(r + i, m->ff_U[(block * w + i) * d + k], x + k);
        if (fmpq_sgn(r + i) < 0)
            fmpq_zero(r + i);
    }
    for (int64_t c = 0; c < d; c++) {
        add_product(y + c, m->ff_eta[block], x + c);
        for (int64_t i = 0; i < w; i++)
            add_product(y + c, m->ff_W[(block * d + c) * w + i], r + i);
    }
    for (int64_t c = 0; c < d; c++)
        fmpq_set(x + c, y + c);
    _fmpq_vec_clear(r, w);
    _fmpq_vec_clear(y, d);
}

/* mean [d] of n tokens. */
static void take_mean(fmpq *mean, const fmpq *x, int64_t n, int64_t d) {
    fmpz_t count;
    fmpz_init_set_si(count, n);
    for (int64_t c = 0; c < d; c++) {
        fmpq_zero(mean + c);
        for (int64_t l = 0; l < n; l++)
            fmpq_add(mean + c, mean + c, x + l * d + c);
        fmpq_div_fmpz(mean + c, mean + c, count);
    }
    fmpz_clear(count);
}

static void attend(fmpq *x, const xf_model *m, int64_t block, int64_t n) {
    int64_t d = m->d;
    fmpq *mean = _fmpq_vec_init(d), *next = _fmpq_vec_init(n * d);
    fmpq_t projection;
    fmpq_init(projection);
    take_mean(mean, x, n, d);
    for (int64_t k = 0; k < d; k++)
        add_product(projection, m->sa_V.right[block * d + k], mean + k);
    for (int64_t l = 0; l < n; l++)
        for (int64_t c = 0; c < d; c++) {
            add_product(next + l * d + c, m->sa_rho[block], x + l * d + c);
            add_product(next + l * d + c, m->sa_V.alpha[block], mean + c);
            add_product(next + l * d + c, m->sa_V.left[block * d + c], projection);
        }
    for (int64_t i = 0; i < n * d; i++)
        fmpq_set(x + i, next + i);
    fmpq_clear(projection);
    _fmpq_vec_clear(mean, d);
    _fmpq_vec_clear(next, n * d);
}

static int has_attention(const xf_model *m, int64_t block) {
    int found = m->sa_V.alpha[block] != 0.0 || m->sa_rho[block] != 1.0;
    for (int64_t k = 0; k < m->d && !found; k++)
        found = m->sa_V.left[block * m->d + k] != 0.0;
    return found;
}

void xft_exact_blocks(fmpq *x, const xf_model *model, int64_t n_blocks, const xf_dataset *data,
                      int64_t j) {
    int64_t d = data->d, first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
    for (int64_t i = 0; i < n * d; i++)
        set_double(x + i, data->x[first * d + i]);
    for (int64_t block = 0; block < n_blocks; block++) {
        for (int64_t l = 0; l < n; l++)
            feed_forward(x + l * d, model, block);
        if (has_attention(model, block))
            attend(x, model, block, n);
    }
}

int xft_is_within(const fmpq_t value, double hi, double lo, double bound) {
    fmpq_t difference, part;
    fmpq_init(difference);
    fmpq_init(part);
    set_double(part, hi);
    fmpq_sub(difference, value, part);
    set_double(part, lo);
    fmpq_sub(difference, difference, part);
    fmpq_abs(difference, difference);
    set_double(part, bound);
    int within = fmpq_cmp(difference, part) <= 0;
    fmpq_clear(difference);
    fmpq_clear(part);
    return within;
}

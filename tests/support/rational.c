/* Exact evaluation. Sequences do not see each other and are taken one by one; zero weights
 * and zero neurons are left out, which changes nothing in exact arithmetic. */
#include "support/rational.h"

#include "base/error.h"

#include <flint/flint.h>
#include <flint/fmpq.h>
#include <flint/fmpq_vec.h>
#include <flint/fmpz.h>

#include <math.h>
#include <stddef.h>

typedef struct rational_matrix {
    fmpq *alpha; /* [L] */
    fmpq *left;  /* [L][d] */
    fmpq *right; /* [L][d] */
    fmpq *full;  /* [L][d][d] or NULL */
} rational_matrix;

typedef struct rational_model {
    const xf_model *shape;
    fmpq *eta, *W, *U, *b, *rho;
    rational_matrix A, V;
    fmpq *r;     /* [w] scratch */
    fmpq *q;     /* [d] scratch */
    fmpq *mean;  /* [d] scratch */
    fmpq *value; /* [d] scratch: V mean */
    fmpq *old;   /* [n_max][d] the sequence before an attention layer */
    fmpq_t z, largest, s;
    int64_t n_max;
} rational_model;

/* out = v exactly; v finite. */
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

static fmpq *from_doubles(const double *values, int64_t n) {
    if (values == NULL)
        return NULL;
    fmpq *out = _fmpq_vec_init(n > 0 ? n : 1);
    for (int64_t k = 0; k < n; k++)
        if (values[k] != 0.0)
            set_double(out + k, values[k]);
    return out;
}

static void clear(fmpq *values, int64_t n) {
    if (values != NULL)
        _fmpq_vec_clear(values, n > 0 ? n : 1);
}

static rational_matrix matrix_from(const xf_low_rank *m, int64_t L, int64_t d) {
    return (rational_matrix){from_doubles(m->alpha, L), from_doubles(m->left, L * d),
                             from_doubles(m->right, L * d), from_doubles(m->full, L * d * d)};
}

static void matrix_clear(rational_matrix *m, int64_t L, int64_t d) {
    clear(m->alpha, L);
    clear(m->left, L * d);
    clear(m->right, L * d);
    clear(m->full, L * d * d);
}

static void model_new(rational_model *r, const xf_model *m, int64_t n_max) {
    int64_t L = m->n_blocks, d = m->d, w = m->width;
    *r = (rational_model){.shape = m, .n_max = n_max};
    r->eta = from_doubles(m->ff_eta, L);
    r->W = from_doubles(m->ff_W, L * d * w);
    r->U = from_doubles(m->ff_U, L * w * d);
    r->b = from_doubles(m->ff_b, L * w);
    r->rho = from_doubles(m->sa_rho, L);
    r->A = matrix_from(&m->sa_A, L, d);
    r->V = matrix_from(&m->sa_V, L, d);
    r->r = _fmpq_vec_init(w + 1);
    r->q = _fmpq_vec_init(d);
    r->mean = _fmpq_vec_init(d);
    r->value = _fmpq_vec_init(d);
    r->old = _fmpq_vec_init(n_max * d);
    fmpq_init(r->z);
    fmpq_init(r->largest);
    fmpq_init(r->s);
}

static void model_clear(rational_model *r) {
    int64_t L = r->shape->n_blocks, d = r->shape->d, w = r->shape->width;
    clear(r->eta, L);
    clear(r->W, L * d * w);
    clear(r->U, L * w * d);
    clear(r->b, L * w);
    clear(r->rho, L);
    matrix_clear(&r->A, L, d);
    matrix_clear(&r->V, L, d);
    clear(r->r, w + 1);
    clear(r->q, d);
    clear(r->mean, d);
    clear(r->value, d);
    clear(r->old, r->n_max * d);
    fmpq_clear(r->z);
    fmpq_clear(r->largest);
    fmpq_clear(r->s);
}

/* out += a b, cheap if one of them is zero. */
static void add_product(fmpq_t out, const fmpq_t a, const fmpq_t b) {
    if (!fmpq_is_zero(a) && !fmpq_is_zero(b))
        fmpq_addmul(out, a, b);
}

static void dot(fmpq_t out, const fmpq *a, const fmpq *b, int64_t n) {
    fmpq_zero(out);
    for (int64_t k = 0; k < n; k++)
        add_product(out, a + k, b + k);
}

static int all_zero(const fmpq *values, int64_t n) {
    for (int64_t k = 0; values != NULL && k < n; k++)
        if (!fmpq_is_zero(values + k))
            return 0;
    return 1;
}

static int is_zero(const rational_matrix *m, int64_t block, int64_t d) {
    const fmpq *full = m->full != NULL ? m->full + block * d * d : NULL;
    return fmpq_is_zero(m->alpha + block) && all_zero(full, d * d) &&
           (all_zero(m->left + block * d, d) || all_zero(m->right + block * d, d));
}

static void apply(rational_model *r, fmpq *out, const rational_matrix *m, int64_t block,
                  const fmpq *x) {
    int64_t d = r->shape->d;
    dot(r->s, m->right + block * d, x, d);
    for (int64_t c = 0; c < d; c++) {
        fmpq_zero(out + c);
        add_product(out + c, m->alpha + block, x + c);
        add_product(out + c, m->left + block * d + c, r->s);
        for (int64_t k = 0; m->full != NULL && k < d; k++)
            add_product(out + c, m->full + (block * d + c) * d + k, x + k);
    }
}

/* x *= factor, in place for n values. */
static void scale(fmpq *x, const fmpq_t factor, int64_t n) {
    for (int64_t k = 0; k < n && !fmpq_is_one(factor); k++)
        fmpq_mul(x + k, x + k, factor);
}

static void feed_forward(rational_model *r, int64_t block, fmpq *x) {
    int64_t d = r->shape->d, w = r->shape->width;
    for (int64_t i = 0; i < w; i++) {
        dot(r->r + i, r->U + (block * w + i) * d, x, d);
        fmpq_add(r->r + i, r->r + i, r->b + block * w + i);
        if (fmpq_sgn(r->r + i) < 0)
            fmpq_zero(r->r + i);
    }
    scale(x, r->eta + block, d);
    for (int64_t i = 0; i < w; i++)
        for (int64_t c = 0; c < d && !fmpq_is_zero(r->r + i); c++)
            add_product(x + c, r->W + (block * d + c) * w + i, r->r + i);
}

static void add_row(fmpq *sum, const fmpq *row, int64_t d) {
    for (int64_t c = 0; c < d; c++)
        fmpq_add(sum + c, sum + c, row + c);
}

/* Sum of the rows among the first n where <q, x_l> is largest; returns how many. */
static int64_t sum_argmax(rational_model *r, int64_t n) {
    int64_t d = r->shape->d, count = 0;
    for (int64_t l = 0; l < n; l++) {
        dot(r->z, r->q, r->old + l * d, d);
        int sign = l == 0 ? 1 : fmpq_cmp(r->z, r->largest);
        if (sign > 0) {
            fmpq_set(r->largest, r->z);
            for (int64_t c = 0; c < d; c++)
                fmpq_zero(r->mean + c);
            count = 0;
        }
        if (sign >= 0) {
            add_row(r->mean, r->old + l * d, d);
            count++;
        }
    }
    return count;
}

/* value = V mean over what query i sees (its first n tokens). */
static void attend_query(rational_model *r, int64_t block, int64_t i, int64_t n, int zero_a) {
    int64_t d = r->shape->d, count = n;
    for (int64_t c = 0; c < d; c++)
        fmpq_zero(r->mean + c);
    if (zero_a) {
        for (int64_t l = 0; l < n; l++)
            add_row(r->mean, r->old + l * d, d);
    } else {
        apply(r, r->q, &r->A, block, r->old + i * d);
        count = sum_argmax(r, n);
    }
    fmpz_t divisor;
    fmpz_init_set_si(divisor, count);
    for (int64_t c = 0; c < d; c++)
        fmpq_div_fmpz(r->mean + c, r->mean + c, divisor);
    fmpz_clear(divisor);
    apply(r, r->value, &r->V, block, r->mean);
}

static void attend(rational_model *r, int64_t block, fmpq *x, int64_t n) {
    int64_t d = r->shape->d;
    int zero_a = is_zero(&r->A, block, d), causal = r->shape->causal;
    if (!is_zero(&r->V, block, d)) {
        for (int64_t k = 0; k < n * d; k++)
            fmpq_set(r->old + k, x + k);
        scale(x, r->rho + block, n * d);
        for (int64_t i = 0; i < n; i++) {
            if (i == 0 || causal || !zero_a)
                attend_query(r, block, i, causal ? i + 1 : n, zero_a);
            add_row(x + i * d, r->value, d);
        }
    } else {
        scale(x, r->rho + block, n * d);
    }
}

static void run_sequence(rational_model *r, fmpq *x, int64_t n) {
    for (int64_t layer = 0; layer < 2 * r->shape->n_blocks; layer++) {
        int is_attention = (layer & 1) == (r->shape->order == XF_FF_SA);
        if (is_attention)
            attend(r, layer / 2, x, n);
        for (int64_t i = 0; i < n && !is_attention; i++)
            feed_forward(r, layer / 2, x + i * r->shape->d);
    }
}

static int same_row(const fmpq *a, const fmpq *b, int64_t d) {
    for (int64_t c = 0; c < d; c++)
        if (!fmpq_equal(a + c, b + c))
            return 0;
    return 1;
}

/* Does every row of a [n][d] occur in b [m][d]? */
static int is_subset(const fmpq *a, int64_t n, const fmpq *b, int64_t m, int64_t d) {
    for (int64_t i = 0; i < n; i++) {
        int64_t k = 0;
        while (k < m && !same_row(a + i * d, b + k * d, d))
            k++;
        if (k == m)
            return 0;
    }
    return 1;
}

static int sequence_is_exact(rational_model *r, const xf_dataset *data, int64_t j) {
    int64_t d = data->d, first = data->x_offsets[j], first_y = data->y_offsets[j];
    int64_t n = data->x_offsets[j + 1] - first, m = data->y_offsets[j + 1] - first_y;
    fmpq *x = from_doubles(data->x + first * d, n * d);
    fmpq *y = from_doubles(data->y + first_y * d, m * d);
    run_sequence(r, x, n);
    int exact = is_subset(x, n, y, m, d) && is_subset(y, m, x, n, d);
    clear(x, n * d);
    clear(y, m * d);
    return exact;
}

static int is_supported(const rational_model *r) {
    const xf_model *m = r->shape;
    for (int64_t i = 0; i < m->n_blocks && m->attention == XF_SOFTMAX; i++)
        if (!is_zero(&r->A, i, m->d) && !is_zero(&r->V, i, m->d))
            return 0;
    return 1;
}

static xf_status verify(rational_model *r, int64_t *n_exact, const xf_dataset *data,
                        xf_error *error) {
    int64_t first = -1;
    if (!is_supported(r))
        return xfi_fail(error, XF_ERR_ARGUMENT, "unsupported: softmax with A != 0 is irrational");
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int exact = sequence_is_exact(r, data, j);
        *n_exact += exact;
        first = !exact && first < 0 ? j : first;
    }
    if (first < 0)
        return XF_OK;
    return xfi_fail_at(error, XF_NOT_EXACT, first, -1,
                       "sequence %lld differs from its target in rational arithmetic",
                       (long long)first);
}

xf_status xft_rational_verify(int64_t *n_exact, const xf_model *model, const xf_dataset *data,
                              xf_error *error) {
    int64_t n_max = 1;
    for (int64_t j = 0; j < data->n_sequences; j++)
        if (data->x_offsets[j + 1] - data->x_offsets[j] > n_max)
            n_max = data->x_offsets[j + 1] - data->x_offsets[j];
    rational_model r;
    *n_exact = 0;
    model_new(&r, model, n_max);
    xf_status status = verify(&r, n_exact, data, error);
    model_clear(&r);
    return status;
}

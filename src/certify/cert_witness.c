/* One evaluation, all sums in orders that are drawn. Products of zero weights are left out, and
 * attentions with V = 0, as an admissible evaluation may. */
#include "certify/cert_witness.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"

typedef struct evaluation {
    const xfi_network *network;
    const xfi_heat *heat;
    const xfi_format *format;
    int64_t n, d;
    double *x, *next;     /* [n][d] */
    double *mean, *query; /* [d] */
    double *logits;       /* [n] */
    double *terms;        /* [most terms of a sum] rounded products */
    double *factors[2];   /* [the same] of a term that is still a product, else factors[0] = 0 */
    int64_t n_terms;
    int is_shuffled, is_fused, mean_variant;
    xfi_rng rng;
} evaluation;

static double rounded(const evaluation *e, double v) {
    return xfi_round(e->format, v);
}

static void add_term(evaluation *e, double weight, double value) {
    if (weight == 0.0)
        return;
    e->terms[e->n_terms] = rounded(e, weight * value);
    e->factors[0][e->n_terms] = weight;
    e->factors[1][e->n_terms++] = value;
}

/* Term i is added to term `to`, fused if it is a product. */
static void combine(evaluation *e, int64_t to, int64_t i) {
    double a = e->factors[0][i], b = e->factors[1][i], sum = e->terms[to];
    if (!e->is_fused || a == 0.0)
        sum = rounded(e, sum + e->terms[i]);
    else if (e->format->p == 24)
        sum = (double)fmaf((float)a, (float)b, (float)sum);
    else
        sum = fma(a, b, sum);
    e->terms[to] = sum;
    e->factors[0][to] = 0.0;
}

/* The sum of the terms: from left to right, or two drawn ones at a time. */
static double take_sum(evaluation *e) {
    int64_t n = e->n_terms;
    e->n_terms = 0;
    if (n == 0)
        return 0.0;
    for (int64_t i = 1; i < n && !e->is_shuffled; i++)
        combine(e, 0, i);
    for (; n > 1 && e->is_shuffled; n--) {
        int64_t i = xfi_rng_below(&e->rng, n), to = xfi_rng_below(&e->rng, n - 1);
        to += to >= i;
        combine(e, to, i);
        e->terms[i] = e->terms[n - 1];
        e->factors[0][i] = e->factors[0][n - 1];
        e->factors[1][i] = e->factors[1][n - 1];
    }
    return e->terms[0];
}

static void feed_forward(evaluation *e, const xfi_ff *ff) {
    for (int64_t i = 0; i < e->n; i++) {
        const double *x = e->x + i * e->d;
        double *next = e->next + i * e->d, *r = e->query;
        for (int32_t u = 0; u < ff->n_units; u++) {
            const xfi_unit *unit = &ff->units[u];
            for (int32_t k = 0; k < unit->n_in; k++)
                add_term(e, unit->in[k].weight, x[unit->in[k].at]);
            add_term(e, unit->bias, 1.0);
            double a = take_sum(e);
            r[u] = a <= 0.0 ? 0.0 : a;
        }
        for (int64_t c = 0; c < e->d; c++) {
            add_term(e, ff->eta, x[c]);
            for (int32_t u = 0; u < ff->n_units; u++)
                for (int32_t k = 0; k < ff->units[u].n_out; k++)
                    if (ff->units[u].out[k].at == c)
                        add_term(e, ff->units[u].out[k].weight, r[u]);
            next[c] = take_sum(e);
        }
    }
    double *keep = e->x;
    e->x = e->next;
    e->next = keep;
}

/* The terms of (M x)_c are appended; s is rightᵀ x. */
static void add_row(evaluation *e, const xfi_square *M, const double *x, double s, int64_t c) {
    add_term(e, M->alpha, x[c]);
    add_term(e, M->left[c], s);
    for (int64_t k = 0; M->full != NULL && k < e->d; k++)
        add_term(e, M->full[c * e->d + k], x[k]);
}

static double inner(evaluation *e, const double *a, const double *b) {
    for (int64_t k = 0; k < e->d; k++)
        add_term(e, a[k], b[k]);
    return take_sum(e);
}

/* Weights of the first n tokens for query i; returns what the weighted sum is to be divided by. */
static double weigh(evaluation *e, const xfi_square *A, int64_t i, int64_t n) {
    const double *x = e->x + i * e->d;
    double most = -INFINITY, count = 0.0;
    for (int64_t l = 0; l < n && A->is_zero; l++)
        e->logits[l] = 1.0;
    if (A->is_zero)
        return (double)n;
    double s = inner(e, A->right, x);
    for (int64_t c = 0; c < e->d; c++) {
        add_row(e, A, x, s, c);
        e->query[c] = take_sum(e);
    }
    for (int64_t l = 0; l < n; l++) {
        e->logits[l] = inner(e, e->query, e->x + l * e->d);
        most = fmax(most, e->logits[l]);
    }
    for (int64_t l = 0; l < n; l++) {
        double difference = rounded(e, e->logits[l] - most);
        if (e->heat->attention == XF_HARDMAX)
            e->logits[l] = difference == 0.0;
        else
            e->logits[l] = rounded(e, exp(rounded(e, difference / rounded(e, e->heat->tau))));
    }
    for (int64_t l = 0; l < n; l++)
        add_term(e, 1.0, e->logits[l]);
    count = take_sum(e);
    return count;
}

/* The mean of the first n tokens: a quotient, a product with the rounded reciprocal, or a sum of
 * weighted tokens. */
static void take_mean(evaluation *e, int64_t n, double sum) {
    double reciprocal = rounded(e, 1.0 / sum);
    for (int64_t l = 0; l < n && e->mean_variant == 2; l++)
        e->logits[l] = rounded(e, e->logits[l] / sum);
    for (int64_t c = 0; c < e->d; c++) {
        for (int64_t l = 0; l < n; l++)
            add_term(e, e->logits[l], e->x[l * e->d + c]);
        double total = take_sum(e);
        e->mean[c] = e->mean_variant == 0   ? rounded(e, total / sum)
                     : e->mean_variant == 1 ? rounded(e, total * reciprocal)
                                            : total;
    }
}

static void attend(evaluation *e, const xfi_sa *sa, int causal) {
    for (int64_t i = 0; i < e->n; i++) {
        const double *x = e->x + i * e->d;
        int64_t n = causal ? i + 1 : e->n;
        if (!sa->V.is_zero) {
            double sum = weigh(e, &sa->A, i, n);
            take_mean(e, n, sum);
        }
        double s = sa->V.is_zero ? 0.0 : inner(e, sa->V.right, e->mean);
        for (int64_t c = 0; c < e->d; c++) {
            add_term(e, sa->rho, x[c]);
            if (!sa->V.is_zero)
                add_row(e, &sa->V, e->mean, s, c);
            e->next[i * e->d + c] = take_sum(e);
        }
    }
    double *keep = e->x;
    e->x = e->next;
    e->next = keep;
}

static int differs_from_targets(const evaluation *e, int64_t *token, const xf_dataset *data,
                                int64_t j) {
    int64_t d = e->d;
    *token = -1;
    for (int64_t i = 0; i < e->n && *token < 0; i++) {
        int found = 0;
        for (int64_t t = data->y_offsets[j]; t < data->y_offsets[j + 1] && !found; t++) {
            int64_t k = 0;
            while (k < d && e->x[i * d + k] == data->y[t * d + k])
                k++;
            found = k == d;
        }
        if (!found)
            *token = i;
    }
    int missed = 0;
    for (int64_t t = data->y_offsets[j]; t < data->y_offsets[j + 1]; t++) {
        int found = 0;
        for (int64_t i = 0; i < e->n && !found; i++) {
            int64_t k = 0;
            while (k < d && e->x[i * d + k] == data->y[t * d + k])
                k++;
            found = k == d;
        }
        missed = missed || !found;
    }
    return *token >= 0 || missed;
}

xf_status xfi_witness(int *differs, int64_t *token, const xfi_network *network,
                      const xfi_heat *heat, const xf_dataset *data, int64_t j, uint64_t seed,
                      xf_error *error) {
    const xf_model *m = network->model;
    xfi_format format = xfi_format_of(m->dtype);
    int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first, d = data->d;
    int64_t room = (n > 2 * d ? n : 2 * d) + network->n_most + 4;
    evaluation e = {.network = network,
                    .heat = heat,
                    .format = &format,
                    .n = n,
                    .d = d,
                    .is_shuffled = seed != 0,
                    .is_fused = seed % 2 == 1,
                    .mean_variant = (int)(seed % 3)};
    xfi_rng_seed(&e.rng, seed, (uint64_t)j);
    e.x = xfi_calloc2(n, d, sizeof(double));
    e.next = xfi_calloc2(n, d, sizeof(double));
    e.mean = xfi_calloc(d, sizeof(double));
    e.query = xfi_calloc(room, sizeof(double));
    e.logits = xfi_calloc(n, sizeof(double));
    e.terms = xfi_calloc(room, sizeof(double));
    e.factors[0] = xfi_calloc(room, sizeof(double));
    e.factors[1] = xfi_calloc(room, sizeof(double));
    int ok =
        e.x && e.next && e.mean && e.query && e.logits && e.terms && e.factors[0] && e.factors[1];
    for (int64_t i = 0; ok && i < n * d; i++)
        e.x[i] = rounded(&e, data->x[first * d + i]);
    for (int64_t layer = 0; ok && layer < 2 * m->n_blocks; layer++) {
        const xfi_sa *sa = &network->sa[layer / 2];
        if ((layer % 2 == 0) == (m->order == XF_FF_SA))
            feed_forward(&e, &network->ff[layer / 2]);
        else if (!sa->V.is_zero || sa->rho != 1.0)
            attend(&e, sa, m->causal);
    }
    if (ok)
        *differs = differs_from_targets(&e, token, data, j);
    xfi_free(e.x);
    xfi_free(e.next);
    xfi_free(e.mean);
    xfi_free(e.query);
    xfi_free(e.logits);
    xfi_free(e.terms);
    xfi_free(e.factors[0]);
    xfi_free(e.factors[1]);
    return ok ? XF_OK : xfi_fail_memory(error);
}

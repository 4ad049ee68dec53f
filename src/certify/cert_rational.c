/* Exact evaluation. */
#include "certify/cert_rational.h"

#include "base/alloc.h"
#include "base/error.h"

/* The sequence at hand. */
typedef struct exact_run {
    const xfi_network *network;
    int64_t n, d;
    fmpq *x;    /* [n][d] */
    fmpq *next; /* [n][d] */
    fmpq *mean; /* [d] */
    fmpq *y;    /* [d] */
    fmpq_t a, b, w;
    int64_t *chosen; /* [n] */
} exact_run;

static fmpq *vector(int64_t n) {
    fmpq *v = xfi_calloc(n, sizeof(fmpq));
    for (int64_t i = 0; v != NULL && i < n; i++)
        fmpq_init(v + i);
    return v;
}

static void vector_clear(fmpq *v, int64_t n) {
    for (int64_t i = 0; v != NULL && i < n; i++)
        fmpq_clear(v + i);
    xfi_free(v);
}

/* q = v, exactly. */
static void set_double(fmpq *q, double v) {
    int exponent = 0;
    double fraction = frexp(v, &exponent);
    fmpq_set_si(q, (slong)ldexp(fraction, 53), 1);
    exponent -= 53;
    if (exponent >= 0)
        fmpq_mul_2exp(q, q, (flint_bitcnt_t)exponent);
    else
        fmpq_div_2exp(q, q, (flint_bitcnt_t)-exponent);
}

/* Not inlined: GCC 12 would warn of sizes that it misjudges. */
__attribute__((noinline)) static void add_product(exact_run *r, fmpq *sum, double weight,
                                                  const fmpq *value) {
    if (weight == 0.0 || fmpq_is_zero(value))
        return;
    set_double(r->w, weight);
    fmpq_addmul(sum, r->w, value);
}

static void feed_forward(exact_run *r, const xfi_ff *ff) {
    for (int64_t i = 0; i < r->n; i++) {
        fmpq *x = r->x + i * r->d, *next = r->next + i * r->d;
        for (int64_t k = 0; k < r->d; k++) {
            fmpq_zero(next + k);
            add_product(r, next + k, ff->eta, x + k);
        }
        for (int32_t u = 0; u < ff->n_units; u++) {
            const xfi_unit *unit = &ff->units[u];
            set_double(r->a, unit->bias);
            for (int32_t k = 0; k < unit->n_in; k++)
                add_product(r, r->a, unit->in[k].weight, x + unit->in[k].at);
            for (int32_t k = 0; k < unit->n_out && fmpq_sgn(r->a) > 0; k++)
                add_product(r, next + unit->out[k].at, unit->out[k].weight, r->a);
        }
    }
    fmpq *keep = r->x;
    r->x = r->next;
    r->next = keep;
}

/* out = M x. */
static void multiply(exact_run *r, fmpq *out, const xfi_square *M, const fmpq *x) {
    fmpq_zero(r->b);
    for (int64_t k = 0; k < r->d; k++)
        add_product(r, r->b, M->right[k], x + k);
    for (int64_t c = 0; c < r->d; c++) {
        fmpq_zero(out + c);
        add_product(r, out + c, M->alpha, x + c);
        add_product(r, out + c, M->left[c], r->b);
        for (int64_t k = 0; M->full != NULL && k < r->d; k++)
            add_product(r, out + c, M->full[c * r->d + k], x + k);
    }
}

/* The exact argmax of the logits of token i over the first n tokens; returns its size. */
static int64_t choose(exact_run *r, const xfi_square *A, int64_t i, int64_t n) {
    int64_t count = 0;
    fmpq_t z, most;
    fmpq_init(z);
    fmpq_init(most);
    multiply(r, r->y, A, r->x + i * r->d);
    for (int64_t l = 0; l < n; l++) {
        fmpq_zero(z);
        for (int64_t k = 0; k < r->d; k++)
            fmpq_addmul(z, r->y + k, r->x + l * r->d + k);
        int order = count == 0 ? 1 : fmpq_cmp(z, most);
        if (order > 0) {
            fmpq_set(most, z);
            count = 0;
        }
        if (order >= 0)
            r->chosen[count++] = l;
    }
    fmpq_clear(z);
    fmpq_clear(most);
    return count;
}

static void average(exact_run *r, int64_t count) {
    fmpz_t n;
    fmpz_init_set_si(n, count);
    for (int64_t k = 0; k < r->d; k++) {
        fmpq_zero(r->mean + k);
        for (int64_t l = 0; l < count; l++)
            fmpq_add(r->mean + k, r->mean + k, r->x + r->chosen[l] * r->d + k);
        fmpq_div_fmpz(r->mean + k, r->mean + k, n);
    }
    fmpz_clear(n);
}

static void attend(exact_run *r, const xfi_sa *sa, int causal) {
    int shared = sa->A.is_zero && !causal;
    for (int64_t i = 0; i < r->n; i++) {
        fmpq *next = r->next + i * r->d;
        int64_t n = causal ? i + 1 : r->n, count = n;
        for (int64_t l = 0; l < n; l++)
            r->chosen[l] = l;
        if (!sa->V.is_zero && !sa->A.is_zero)
            count = choose(r, &sa->A, i, n);
        if (!sa->V.is_zero && (!shared || i == 0))
            average(r, count);
        if (!sa->V.is_zero)
            multiply(r, next, &sa->V, r->mean);
        for (int64_t k = 0; k < r->d; k++) {
            if (sa->V.is_zero)
                fmpq_zero(next + k);
            add_product(r, next + k, sa->rho, r->x + i * r->d + k);
        }
    }
    fmpq *keep = r->x;
    r->x = r->next;
    r->next = keep;
}

static int too_long(const exact_run *r, int64_t most_bits) {
    int64_t bits = 0;
    for (int64_t i = 0; i < r->n * r->d; i++)
        bits += (int64_t)(fmpz_bits(fmpq_numref(r->x + i)) + fmpz_bits(fmpq_denref(r->x + i)));
    return bits > most_bits;
}

static xf_answer compare(exact_run *r, int64_t *token, const xf_dataset *data, int64_t j) {
    int64_t first = data->y_offsets[j], m = data->y_offsets[j + 1] - first, n_met = 0;
    char *met = xfi_calloc(m, 1);
    if (met == NULL)
        return XF_UNKNOWN;
    *token = -1;
    for (int64_t i = 0; i < r->n && *token < 0; i++) {
        int found = 0;
        for (int64_t t = 0; t < m && !found; t++) {
            int64_t equal = 0;
            while (equal < r->d) {
                set_double(r->w, data->y[(first + t) * r->d + equal]);
                if (!fmpq_equal(r->w, r->x + i * r->d + equal))
                    break;
                equal++;
            }
            found = equal == r->d;
            n_met += found && !met[t];
            met[t] = (char)(met[t] || found);
        }
        if (!found)
            *token = i;
    }
    xfi_free(met);
    return *token < 0 && n_met == m ? XF_YES : XF_NO;
}

static int run_init(exact_run *r, const xfi_network *network, const xf_dataset *data, int64_t j) {
    int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first, d = data->d;
    *r = (exact_run){.network = network, .n = n, .d = d};
    fmpq_init(r->a);
    fmpq_init(r->b);
    fmpq_init(r->w);
    r->x = vector(n * d);
    r->next = vector(n * d);
    r->mean = vector(d);
    r->y = vector(d);
    r->chosen = xfi_calloc(n, sizeof(int64_t));
    if (!r->x || !r->next || !r->mean || !r->y || !r->chosen)
        return 0;
    for (int64_t i = 0; i < n * d; i++)
        set_double(r->x + i, data->x[first * d + i]);
    return 1;
}

static void run_clear(exact_run *r) {
    vector_clear(r->x, r->n * r->d);
    vector_clear(r->next, r->n * r->d);
    vector_clear(r->mean, r->d);
    vector_clear(r->y, r->d);
    fmpq_clear(r->a);
    fmpq_clear(r->b);
    fmpq_clear(r->w);
    xfi_free(r->chosen);
}

xf_status xfi_rational_answer(xf_answer *answer, int64_t *token, const xfi_network *network,
                              const xf_dataset *data, int64_t j, int64_t most_bits,
                              xf_error *error) {
    exact_run r;
    const xf_model *m = network->model;
    *answer = XF_UNKNOWN;
    *token = -1;
    if (!run_init(&r, network, data, j)) {
        run_clear(&r);
        return xfi_fail_memory(error);
    }
    int is_short = 1;
    for (int64_t layer = 0; layer < 2 * m->n_blocks && is_short; layer++) {
        const xfi_sa *sa = &network->sa[layer / 2];
        if ((layer % 2 == 0) == (m->order == XF_FF_SA))
            feed_forward(&r, &network->ff[layer / 2]);
        else if (!sa->V.is_zero || sa->rho != 1.0)
            attend(&r, sa, m->causal);
        is_short = !too_long(&r, most_bits);
    }
    if (is_short)
        *answer = compare(&r, token, data, j);
    run_clear(&r);
    return XF_OK;
}

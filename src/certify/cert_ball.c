/* Balls around the exact values. */
#include "certify/cert_ball.h"

#include "base/alloc.h"
#include "base/error.h"

typedef struct ball_run {
    const xfi_network *network;
    const xfi_heat *heat;
    slong bits;
    int64_t n, d;
    arb_ptr x, next; /* [n][d] */
    arb_ptr mean, y; /* [d] */
    arb_ptr z;       /* [n] logits, then weights */
    arb_t a, b, w;
} ball_run;

static arb_ptr vector(int64_t n) {
    arb_ptr v = xfi_calloc(n, sizeof(arb_struct));
    for (int64_t i = 0; v != NULL && i < n; i++)
        arb_init(v + i);
    return v;
}

static void vector_clear(arb_ptr v, int64_t n) {
    for (int64_t i = 0; v != NULL && i < n; i++)
        arb_clear(v + i);
    xfi_free(v);
}

static void add_product(ball_run *r, arb_t sum, double weight, const arb_t value) {
    if (weight == 0.0)
        return;
    arb_set_d(r->w, weight);
    arb_addmul(sum, r->w, value, r->bits);
}

/* The hull of max(0, a). */
static void relu(ball_run *r, arb_t a) {
    if (arb_is_nonpositive(a)) {
        arb_zero(a);
    } else if (!arb_is_nonnegative(a)) {
        arb_get_ubound_arf(arb_midref(r->b), a, r->bits);
        mag_zero(arb_radref(r->b));
        arb_zero(r->w);
        arb_union(a, r->b, r->w, r->bits);
    }
}

static void swap(ball_run *r) {
    arb_ptr keep = r->x;
    r->x = r->next;
    r->next = keep;
}

static void feed_forward(ball_run *r, const xfi_ff *ff) {
    for (int64_t i = 0; i < r->n; i++) {
        arb_ptr x = r->x + i * r->d, next = r->next + i * r->d;
        for (int64_t k = 0; k < r->d; k++) {
            arb_zero(next + k);
            add_product(r, next + k, ff->eta, x + k);
        }
        for (int32_t u = 0; u < ff->n_units; u++) {
            const xfi_unit *unit = &ff->units[u];
            arb_set_d(r->a, unit->bias);
            for (int32_t k = 0; k < unit->n_in; k++)
                add_product(r, r->a, unit->in[k].weight, x + unit->in[k].at);
            relu(r, r->a);
            for (int32_t k = 0; k < unit->n_out && !arb_is_zero(r->a); k++)
                add_product(r, next + unit->out[k].at, unit->out[k].weight, r->a);
        }
    }
    swap(r);
}

/* out = M x. */
static void multiply(ball_run *r, arb_ptr out, const xfi_square *M, arb_srcptr x) {
    arb_zero(r->b);
    for (int64_t k = 0; k < r->d; k++)
        add_product(r, r->b, M->right[k], x + k);
    for (int64_t c = 0; c < r->d; c++) {
        arb_zero(out + c);
        add_product(r, out + c, M->alpha, x + c);
        add_product(r, out + c, M->left[c], r->b);
        for (int64_t k = 0; M->full != NULL && k < r->d; k++)
            add_product(r, out + c, M->full[c * r->d + k], x + k);
    }
}

/* z = the logits of token i over the first n, less that of the largest centre. */
static int64_t set_logits(ball_run *r, const xfi_square *A, int64_t i, int64_t n) {
    int64_t best = 0;
    multiply(r, r->y, A, r->x + i * r->d);
    for (int64_t l = 0; l < n; l++) {
        arb_dot(r->z + l, NULL, 0, r->y, 1, r->x + l * r->d, 1, (slong)r->d, r->bits);
        if (arf_cmp(arb_midref(r->z + l), arb_midref(r->z + best)) > 0)
            best = l;
    }
    arb_set(r->a, r->z + best);
    for (int64_t l = 0; l < n; l++)
        arb_sub(r->z + l, r->z + l, r->a, r->bits);
    return best;
}

/* The hull of all tokens that may have the largest logit. */
static void attend_hard(ball_run *r, int64_t n, int64_t best) {
    for (int64_t k = 0; k < r->d; k++) {
        arb_set(r->mean + k, r->x + best * r->d + k);
        for (int64_t l = 0; l < n; l++)
            if (l != best && !arb_is_negative(r->z + l))
                arb_union(r->mean + k, r->mean + k, r->x + l * r->d + k, r->bits);
    }
}

/* Weights exp(z / tau), or 1; then their mean. */
static void attend_weighted(ball_run *r, int64_t n, int64_t best, int equal) {
    arb_set_d(r->w, r->heat->tau);
    arb_zero(r->b);
    for (int64_t l = 0; l < n; l++) {
        if (equal || l == best) {
            arb_one(r->z + l);
        } else {
            arb_div(r->z + l, r->z + l, r->w, r->bits);
            arb_exp(r->z + l, r->z + l, r->bits);
        }
        arb_add(r->b, r->b, r->z + l, r->bits);
    }
    for (int64_t k = 0; k < r->d; k++) {
        arb_dot(r->mean + k, NULL, 0, r->z, 1, r->x + k, (slong)r->d, (slong)n, r->bits);
        arb_div(r->mean + k, r->mean + k, r->b, r->bits);
    }
}

static void attend(ball_run *r, const xfi_sa *sa, int causal) {
    int shared = sa->A.is_zero && !causal;
    for (int64_t i = 0; i < r->n; i++) {
        arb_ptr next = r->next + i * r->d;
        int64_t n = causal ? i + 1 : r->n, best = 0;
        if (!sa->V.is_zero && !sa->A.is_zero)
            best = set_logits(r, &sa->A, i, n);
        if (!sa->V.is_zero && (!shared || i == 0)) {
            if (!sa->A.is_zero && r->heat->attention == XF_HARDMAX)
                attend_hard(r, n, best);
            else
                attend_weighted(r, n, best, sa->A.is_zero);
        }
        for (int64_t k = 0; k < r->d && sa->V.is_zero; k++)
            arb_zero(next + k);
        if (!sa->V.is_zero)
            multiply(r, next, &sa->V, r->mean);
        for (int64_t k = 0; k < r->d; k++)
            add_product(r, next + k, sa->rho, r->x + i * r->d + k);
    }
    swap(r);
}

static int may_be(ball_run *r, int64_t i, const double *y) {
    for (int64_t k = 0; k < r->d; k++) {
        arb_set_d(r->w, y[k]);
        if (!arb_overlaps(r->w, r->x + i * r->d + k))
            return 0;
    }
    return 1;
}

static int compare(ball_run *r, int64_t *token, const xf_dataset *data, int64_t j) {
    int64_t first = data->y_offsets[j], last = data->y_offsets[j + 1];
    for (int64_t i = 0; i < r->n; i++) {
        int found = 0;
        for (int64_t t = first; t < last && !found; t++)
            found = may_be(r, i, data->y + t * r->d);
        *token = i;
        if (!found)
            return 1;
    }
    *token = -1;
    for (int64_t t = first; t < last; t++) {
        int found = 0;
        for (int64_t i = 0; i < r->n && !found; i++)
            found = may_be(r, i, data->y + t * r->d);
        if (!found)
            return 1;
    }
    return 0;
}

static int run_init(ball_run *r, const xf_dataset *data, int64_t j) {
    int64_t first = data->x_offsets[j], n = r->n, d = r->d;
    arb_init(r->a);
    arb_init(r->b);
    arb_init(r->w);
    r->x = vector(n * d);
    r->next = vector(n * d);
    r->mean = vector(d);
    r->y = vector(d);
    r->z = vector(n);
    if (!r->x || !r->next || !r->mean || !r->y || !r->z)
        return 0;
    for (int64_t i = 0; i < n * d; i++)
        arb_set_d(r->x + i, data->x[first * d + i]);
    return 1;
}

static void run_clear(ball_run *r) {
    vector_clear(r->x, r->n * r->d);
    vector_clear(r->next, r->n * r->d);
    vector_clear(r->mean, r->d);
    vector_clear(r->y, r->d);
    vector_clear(r->z, r->n);
    arb_clear(r->a);
    arb_clear(r->b);
    arb_clear(r->w);
}

xf_status xfi_ball_refutes(int *differs, int64_t *token, const xfi_network *network,
                           const xfi_heat *heat, const xf_dataset *data, int64_t j, int64_t bits,
                           xf_error *error) {
    const xf_model *m = network->model;
    ball_run r = {.network = network,
                  .heat = heat,
                  .bits = (slong)bits,
                  .n = data->x_offsets[j + 1] - data->x_offsets[j],
                  .d = data->d};
    *differs = 0;
    int ok = run_init(&r, data, j);
    for (int64_t layer = 0; ok && layer < 2 * m->n_blocks; layer++) {
        const xfi_sa *sa = &network->sa[layer / 2];
        if ((layer % 2 == 0) == (m->order == XF_FF_SA))
            feed_forward(&r, &network->ff[layer / 2]);
        else if (!sa->V.is_zero || sa->rho != 1.0)
            attend(&r, sa, m->causal);
    }
    if (ok)
        *differs = compare(&r, token, data, j);
    run_clear(&r);
    return ok ? XF_OK : xfi_fail_memory(error);
}

/* Running error analysis of the front end from the stored weights (docs/theory.md,
 * T-front). Centres are computed in double-double; bounds in binary64, inflated. */
#include "construct/front_bound.h"

#include "base/alloc.h"
#include "base/error.h"
#include "num/double_double.h"

#include <omp.h>
#include <string.h>

/* Covers the rounding of the bounds' own evaluation and the double-double error. */
static const double INFLATE = 1.0 + 0x1p-40;

/* A number known to within `error`. */
typedef struct ball {
    xfi_dd centre;
    double error;
} ball;

/* One neuron on one token. */
typedef struct neuron_state {
    xfi_dd a;          /* pre-activation */
    double propagated; /* from the errors of its inputs */
    double local;      /* of its own rounding */
    int active;        /* possibly > 0 */
    int certain;       /* certainly >= 0 */
} neuron_state;

/* Nonzero structure of one block, shared by all tokens. */
typedef struct block_view {
    const xf_model *model;
    const xfi_format *format;
    int64_t d;
    int64_t w;
    double eta;
    const double *U;
    const double *W;
    const double *b;
    int64_t *n_inputs; /* [w] nonzero entries of each row of U */
    double *roundings; /* [w] of a pre-activation, in any order */
    int *negates;      /* [w] row i is minus row i-1 */
    int *writes;       /* [d] some neuron writes this coordinate */
} block_view;

static double magnitude(ball x) {
    return fabs(x.centre.hi) + x.error;
}

static void view_clear(block_view *view) {
    xfi_free(view->n_inputs);
    xfi_free(view->roundings);
    xfi_free(view->negates);
    xfi_free(view->writes);
}

static int row_negates(const block_view *view, int64_t i) {
    if (i == 0 || view->b[i] != -view->b[i - 1])
        return 0;
    for (int64_t k = 0; k < view->d; k++)
        if (view->U[i * view->d + k] != -view->U[(i - 1) * view->d + k])
            return 0;
    return 1;
}

static int is_power_of_two(double v) {
    return v != 0.0 && xfi_lowest_bit(v) == xfi_exponent(v);
}

/* One for the products, unless every weight is a power of two, and one for each sum. */
static void count_inputs(block_view *view, int64_t i) {
    int64_t terms = view->b[i] != 0.0;
    int inexact = 0;
    for (int64_t k = 0; k < view->d; k++) {
        double weight = view->U[i * view->d + k];
        if (weight == 0.0)
            continue;
        view->n_inputs[i]++;
        terms++;
        inexact |= !is_power_of_two(weight);
    }
    view->roundings[i] = (double)(terms > 1 ? terms - 1 : 0) + inexact;
}

static int view_init(block_view *view, const xf_model *model, int64_t block,
                     const xfi_format *format) {
    int64_t size = model->d * model->width;
    *view = (block_view){.model = model,
                         .format = format,
                         .d = model->d,
                         .w = model->width,
                         .eta = model->ff_eta[block],
                         .U = model->ff_U + block * size,
                         .W = model->ff_W + block * size,
                         .b = model->ff_b + block * model->width};
    view->n_inputs = xfi_calloc(view->w, sizeof *view->n_inputs);
    view->roundings = xfi_calloc(view->w, sizeof *view->roundings);
    view->negates = xfi_calloc(view->w, sizeof *view->negates);
    view->writes = xfi_calloc(view->d, sizeof *view->writes);
    if (!view->n_inputs || !view->roundings || !view->negates || !view->writes) {
        view_clear(view);
        return 0;
    }
    for (int64_t i = 0; i < view->w; i++) {
        count_inputs(view, i);
        for (int64_t k = 0; k < view->d; k++)
            view->writes[k] |= view->W[k * view->w + i] != 0.0;
        view->negates[i] = row_negates(view, i);
    }
    return 1;
}

static neuron_state evaluate_neuron(const block_view *view, int64_t i, const ball *x) {
    const double *row = view->U + i * view->d;
    xfi_dd sum = {view->b[i], 0.0};
    double absolute = fabs(view->b[i]), propagated = 0;
    for (int64_t k = 0; k < view->d; k++) {
        if (row[k] == 0.0)
            continue;
        sum = xfi_dd_add(sum, xfi_dd_scale(x[k].centre, row[k]));
        absolute += fabs(row[k]) * magnitude(x[k]);
        propagated += fabs(row[k]) * x[k].error;
    }
    double n = (double)view->n_inputs[i] + 4, local = 0;
    if (view->roundings[i] > 0)
        local = (xfi_gamma(view->format, view->roundings[i]) + n * n * 0x1p-104) * absolute;
    if (view->n_inputs[i] > 0)
        local += n * view->format->smallest;
    return (neuron_state){.a = sum, .propagated = propagated * INFLATE, .local = local * INFLATE};
}

static void decide(neuron_state *state) {
    double a = xfi_dd_value(state->a), e = (state->propagated + state->local) * INFLATE;
    state->active = a + e > 0;
    state->certain = a - e >= 0;
}

static void evaluate_neurons(const block_view *view, const ball *x, neuron_state *states) {
    for (int64_t i = 0; i < view->w; i++) {
        if (view->negates[i]) {
            states[i] = states[i - 1];
            states[i].a.hi = -states[i].a.hi;
            states[i].a.lo = -states[i].a.lo;
        } else {
            states[i] = evaluate_neuron(view, i, x);
        }
        decide(&states[i]);
    }
}

/* |d x'_c / d x_k| over the neurons that are certainly active, times the input errors,
 * plus the uncertain neurons one by one. */
static double propagate(const block_view *view, int64_t c, const ball *x,
                        const neuron_state *states) {
    const double *out = view->W + c * view->w;
    double total = 0;
    for (int64_t k = 0; k < view->d; k++) {
        if (x[k].error == 0.0)
            continue;
        double slope = k == c ? view->eta : 0.0, absolute = fabs(slope);
        for (int64_t i = 0; i < view->w; i++) {
            double term = states[i].certain ? out[i] * view->U[i * view->d + k] : 0.0;
            slope += term;
            absolute += fabs(term);
        }
        total += (fabs(slope) + 0x1p-48 * absolute) * x[k].error;
    }
    for (int64_t i = 0; i < view->w; i++)
        if (states[i].active && !states[i].certain)
            total += fabs(out[i]) * states[i].propagated;
    return total;
}

static ball evaluate_output(const block_view *view, int64_t c, const ball *x,
                            const neuron_state *states) {
    const double *out = view->W + c * view->w;
    xfi_dd sum = xfi_dd_scale(x[c].centre, view->eta);
    double absolute = fabs(view->eta) * magnitude(x[c]), local = 0;
    int terms = absolute != 0.0, inexact = absolute != 0.0 && view->eta != 1.0;
    for (int64_t i = 0; i < view->w; i++) {
        if (out[i] == 0.0 || !states[i].active)
            continue;
        double a = xfi_dd_value(states[i].a);
        if (a > 0)
            sum = xfi_dd_add(sum, xfi_dd_scale(states[i].a, out[i]));
        double error = states[i].local + states[i].propagated;
        absolute += fabs(out[i]) * (fabs(a) + error);
        local += fabs(out[i]) * states[i].local;
        inexact |= fabs(out[i]) != 1.0 && view->n_inputs[i] > 0;
        terms++;
    }
    double roundings = (terms > 1 ? terms - 1 : 0) + inexact;
    double rounding = xfi_gamma(view->format, roundings) * absolute;
    if (roundings > 0)
        rounding += (terms + 1) * view->format->smallest;
    double error = (propagate(view, c, x, states) + local + rounding) * INFLATE;
    return (ball){sum, error};
}

/* x becomes FF(x), in place; `next` [d] and `states` [w] are scratch. */
static void evaluate_ff(const block_view *view, ball *x, ball *next, neuron_state *states) {
    evaluate_neurons(view, x, states);
    for (int64_t c = 0; c < view->d; c++) {
        if (view->writes[c] || view->eta != 1.0)
            next[c] = view->writes[c] || view->eta != 0.0 ? evaluate_output(view, c, x, states)
                                                          : (ball){{0, 0}, 0};
        else
            next[c] = x[c];
    }
    memcpy(x, next, (size_t)view->d * sizeof *x);
}

static void load_token(ball *x, const double *token, int64_t d, const xfi_format *format) {
    for (int64_t k = 0; k < d; k++) {
        double off = fabs(token[k] - xfi_round(format, token[k]));
        x[k] = (ball){{token[k], 0.0}, off * INFLATE};
    }
}

/* The attention of the last front block: which coordinate is pooled, and the gain. */
typedef struct pool_view {
    double rho;
    double gain; /* 0: no attention */
    int64_t from;
} pool_view;

static int is_identity_attention(const xf_model *model, int64_t block) {
    const double *left = model->sa_V.left + block * model->d;
    for (int64_t k = 0; k < model->d; k++)
        if (left[k] != 0.0)
            return 0;
    return model->sa_V.alpha[block] == 0.0 && model->sa_V.full == NULL;
}

static xf_status view_pool(pool_view *pool, const xf_model *model, int64_t n_front, int k1,
                           xf_error *error) {
    static const char *const message = "the front end of this model has an unknown shape";
    int64_t last = n_front - 1, d = model->d;
    for (int64_t block = 0; block < last; block++)
        if (!is_identity_attention(model, block) || model->sa_rho[block] != 1.0)
            return xfi_fail(error, XF_ERR_ARGUMENT, "%s", message);
    *pool = (pool_view){.rho = model->sa_rho[last]};
    if (is_identity_attention(model, last))
        return XF_OK;
    const double *left = model->sa_V.left + last * d, *right = model->sa_V.right + last * d;
    const double *query = model->sa_A.left + last * d;
    int ok = model->sa_V.alpha[last] == 0.0 && model->sa_A.alpha[last] == 0.0 &&
             model->sa_A.full == NULL && model->sa_V.full == NULL && model->order == XF_FF_SA &&
             !model->causal;
    int64_t n_right = 0;
    for (int64_t k = 0; k < d; k++) {
        ok = ok && query[k] == 0.0 && (left[k] == 0.0 || k == k1);
        if (right[k] != 0.0) {
            n_right++;
            pool->from = k;
            ok = ok && right[k] == 1.0;
        }
    }
    if (!ok || n_right != 1 || (pool->rho != 0.0 && pool->rho != 1.0))
        return xfi_fail(error, XF_ERR_ARGUMENT, "%s", message);
    pool->gain = left[k1];
    return XF_OK;
}

/* gain * mean_l s_l and its error, rounding of every order included. */
static ball pooled_term(const pool_view *pool, const ball *s, int64_t n, const xfi_format *format) {
    xfi_dd sum = {0, 0};
    double errors = 0, absolute = 0;
    for (int64_t l = 0; l < n; l++) {
        sum = xfi_dd_add(sum, s[l].centre);
        errors += s[l].error;
        absolute += magnitude(s[l]);
    }
    double count = (double)n, gain = fabs(pool->gain);
    ball term = {xfi_dd_scale(xfi_dd_divide(sum, count), pool->gain), 0};
    double rounding = xfi_gamma(format, count + 3) * gain * (absolute / count);
    double underflow = (gain * (count + 2) + 2) * format->smallest;
    double inflate = 1.0 + (count + 8) * 0x1p-52; /* of these sums themselves */
    term.error = (gain * (errors / count) + rounding + underflow) * inflate * INFLATE;
    return term;
}

static void finish_token(double *t, double *E, ball a, ball pooled, double rho,
                         const xfi_format *format) {
    xfi_dd sum = rho != 0.0 ? xfi_dd_add(a.centre, pooled.centre) : pooled.centre;
    double error = pooled.error + (rho != 0.0 ? a.error : 0.0);
    *t = xfi_dd_value(sum);
    if (rho != 0.0 && (pooled.centre.hi != 0.0 || pooled.error != 0.0))
        error += format->u * (fabs(*t) + error) * (1.0 + 2 * format->u);
    *E = (error + 0x1p-53 * fabs(*t)) * INFLATE; /* t is itself rounded to binary64 */
}

typedef struct bound_job {
    const xf_dataset *data;
    const block_view *views; /* [n_front] */
    int64_t n_front;
    int k1;
    pool_view pool;
    xfi_format format;
} bound_job;

/* Per-thread scratch for one sequence of up to n_max tokens. */
typedef struct scratch {
    ball *x;    /* [d] */
    ball *next; /* [d] */
    neuron_state *states;
    ball *a; /* [n_max] */
    ball *s; /* [n_max] */
} scratch;

static int scratch_init(scratch *room, int64_t d, int64_t w, int64_t n_max) {
    room->x = xfi_calloc(d, sizeof(ball));
    room->next = xfi_calloc(d, sizeof(ball));
    room->states = xfi_calloc(w, sizeof(neuron_state));
    room->a = xfi_calloc(n_max, sizeof(ball));
    room->s = xfi_calloc(n_max, sizeof(ball));
    return room->x && room->next && room->states && room->a && room->s;
}

static void scratch_clear(scratch *room) {
    xfi_free(room->x);
    xfi_free(room->next);
    xfi_free(room->states);
    xfi_free(room->a);
    xfi_free(room->s);
}

static void bound_sequence(const bound_job *job, int64_t j, scratch *room, double *t, double *E) {
    const xf_dataset *data = job->data;
    int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
    for (int64_t l = 0; l < n; l++) {
        load_token(room->x, data->x + (first + l) * data->d, data->d, &job->format);
        for (int64_t block = 0; block < job->n_front; block++)
            evaluate_ff(&job->views[block], room->x, room->next, room->states);
        room->a[l] = room->x[job->k1];
        room->s[l] = room->x[job->pool.from];
    }
    ball pooled = {{0, 0}, 0};
    if (job->pool.gain != 0.0)
        pooled = pooled_term(&job->pool, room->s, n, &job->format);
    for (int64_t l = 0; l < n; l++)
        finish_token(t + first + l, E + first + l, room->a[l], pooled, job->pool.rho, &job->format);
}

static int64_t longest_sequence(const xf_dataset *data) {
    int64_t longest = 0;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
        longest = n > longest ? n : longest;
    }
    return longest;
}

static void bound_shared(const bound_job *job, scratch *rooms, double *t, double *E, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) if (job->data->n_tokens > 512)
    for (int64_t j = 0; j < job->data->n_sequences; j++)
        bound_sequence(job, j, &rooms[omp_get_thread_num()], t, E);
}

static int bound_all(const bound_job *job, double *t, double *E, int threads) {
    int64_t n_max = longest_sequence(job->data);
    scratch *rooms = xfi_calloc(threads, sizeof *rooms);
    int ok = rooms != NULL, made = 0;
    while (ok && made < threads)
        ok = scratch_init(&rooms[made++], job->data->d, job->views[0].w, n_max);
    if (ok)
        bound_shared(job, rooms, t, E, threads);
    while (made > 0)
        scratch_clear(&rooms[--made]);
    xfi_free(rooms);
    return ok;
}

xf_status xfi_front_bound(double *t, double *E, const xf_model *model, int64_t n_front, int k1,
                          const xf_dataset *data, int threads, xf_error *error) {
    bound_job job = {.data = data, .n_front = n_front, .k1 = k1};
    job.format = xfi_format_of(model->dtype);
    XFI_TRY(view_pool(&job.pool, model, n_front, k1, error));
    block_view *views = xfi_calloc(n_front, sizeof *views);
    int ok = views != NULL;
    int64_t made = 0;
    while (ok && made < n_front) {
        ok = view_init(&views[made], model, made, &job.format);
        made += ok;
    }
    job.views = views;
    ok = ok && bound_all(&job, t, E, threads);
    for (int64_t i = 0; i < made; i++)
        view_clear(&views[i]);
    xfi_free(views);
    return ok ? XF_OK : xfi_fail_memory(error);
}

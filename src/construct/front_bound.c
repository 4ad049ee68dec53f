/* Running error analysis of the front end from the stored weights (docs/theory.md,
 * T-front). Centres are computed in double-double; bounds in binary64, inflated. */
#include "construct/front_bound.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/ball_block.h"

#include <omp.h>

static void load_token(xfi_ball *x, const double *token, int64_t d, const xfi_format *format) {
    for (int64_t k = 0; k < d; k++) {
        double off = fabs(token[k] - xfi_round(format, token[k]));
        x[k] = (xfi_ball){{token[k], 0.0}, off * XFI_INFLATE};
    }
}

/* The attention of the last front block: which coordinate is pooled, and the gain. */
typedef struct pool_view {
    double rho;
    double gain; /* 0: no attention */
    double left; /* gain = left right, right a power of two */
    double right;
    int64_t from;
} pool_view;

static int is_identity_attention(const xf_model *model, int64_t block) {
    const double *left = model->sa_V.left + block * model->d;
    for (int64_t k = 0; k < model->d; k++)
        if (left[k] != 0.0)
            return 0;
    return model->sa_V.alpha[block] == 0.0 && model->sa_V.full == NULL;
}

static int is_power_of_two(double v) {
    return v > 0.0 && xfi_lowest_bit(v) == xfi_exponent(v);
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
            ok = ok && is_power_of_two(right[k]);
        }
    }
    if (!ok || n_right != 1 || (pool->rho != 0.0 && pool->rho != 1.0))
        return xfi_fail(error, XF_ERR_ARGUMENT, "%s", message);
    pool->left = left[k1];
    pool->right = right[pool->from];
    pool->gain = left[k1] * right[pool->from];
    if (fabs(pool->gain) < ldexp(1.0, xfi_format_of(model->dtype).emin)) /* a rounded product */
        return xfi_fail(error, XF_ERR_ARGUMENT, "%s", message);
    return XF_OK;
}

/* gain * mean_l s_l and its error, rounding of every order included. */
static xfi_ball pooled_term(const pool_view *pool, const xfi_ball *a, const xfi_ball *s, int64_t n,
                            const xfi_format *format) {
    xfi_dd sum = {0, 0};
    double errors = 0, absolute = 0, others = 0;
    for (int64_t l = 0; l < n; l++) {
        sum = xfi_dd_add(sum, s[l].centre);
        errors += s[l].error;
        others += xfi_ball_magnitude(a[l]);
        absolute += xfi_ball_magnitude(s[l]);
    }
    double count = (double)n, gain = fabs(pool->gain);
    xfi_ball term = {xfi_dd_scale(xfi_dd_divide(sum, count), pool->gain), 0};
    double rounding = xfi_gamma(format, count + 3) * gain * (absolute / count);
    double underflow = (gain + fabs(pool->left) + 1) * (count + 2) * format->smallest;
    underflow += xfi_beyond(format, others) + xfi_beyond(format, absolute) +
                 xfi_beyond(format, gain * absolute) + xfi_beyond(format, pool->right * absolute);
    double inflate = 1.0 + (count + 8) * 0x1p-52; /* of these sums themselves */
    term.error = (gain * (errors / count) + rounding + underflow) * inflate * XFI_INFLATE;
    return term;
}

static void finish_token(double *t, double *E, xfi_ball a, xfi_ball pooled, double rho,
                         const xfi_format *format) {
    xfi_dd sum = rho != 0.0 ? xfi_dd_add(a.centre, pooled.centre) : pooled.centre;
    double error = pooled.error + (rho != 0.0 ? a.error : 0.0);
    *t = xfi_dd_value(sum);
    if (rho != 0.0 && (pooled.centre.hi != 0.0 || pooled.error != 0.0))
        error += format->u * (fabs(*t) + error) * (1.0 + 2 * format->u);
    *E = (error + 0x1p-53 * fabs(*t)) * XFI_INFLATE; /* t is itself rounded to binary64 */
    if (!isfinite(*t) || !isfinite(*E)) {
        *t = 0;
        *E = INFINITY;
    }
}

typedef struct bound_job {
    const xf_dataset *data;
    const xfi_block_view *views; /* [n_front] */
    int64_t n_front;
    int k1;
    pool_view pool;
    xfi_format format;
} bound_job;

/* Per-thread scratch for one sequence of up to n_max tokens. */
typedef struct scratch {
    xfi_ball *x;    /* [d] */
    xfi_ball *next; /* [d] */
    xfi_neuron_state *states;
    xfi_ball *a; /* [n_max] */
    xfi_ball *s; /* [n_max] */
} scratch;

static int scratch_init(scratch *room, int64_t d, int64_t w, int64_t n_max) {
    room->x = xfi_calloc(d, sizeof(xfi_ball));
    room->next = xfi_calloc(d, sizeof(xfi_ball));
    room->states = xfi_calloc(w, sizeof(xfi_neuron_state));
    room->a = xfi_calloc(n_max, sizeof(xfi_ball));
    room->s = xfi_calloc(n_max, sizeof(xfi_ball));
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
            xfi_ball_feed_forward(&job->views[block], room->x, room->next, room->states);
        room->a[l] = room->x[job->k1];
        room->s[l] = room->x[job->pool.from];
    }
    xfi_ball pooled = {{0, 0}, 0};
    if (job->pool.gain != 0.0)
        pooled = pooled_term(&job->pool, room->a, room->s, n, &job->format);
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
    xfi_block_view *views = xfi_calloc(n_front, sizeof *views);
    int ok = views != NULL;
    int64_t made = 0;
    while (ok && made < n_front) {
        ok = xfi_block_view_init(&views[made], model, made, &job.format);
        made += ok;
    }
    job.views = views;
    ok = ok && bound_all(&job, t, E, threads);
    for (int64_t i = 0; i < made; i++)
        xfi_block_view_clear(&views[i]);
    xfi_free(views);
    return ok ? XF_OK : xfi_fail_memory(error);
}

/* Running error analysis of the front end from the stored weights (docs/theory.md,
 * T-front). Centres are computed in double-double; bounds in binary64, inflated. */
#include "construct/front_bound.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/ball_tile.h"
#include "core/tiles.h"

#include <omp.h>
#include <string.h>

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
    const xfi_front_view *front;
    const xfi_block_view *views; /* [n_front] */
    pool_view pool;
    xfi_format format;
    xfi_tiles tiles;
    int64_t n_max; /* tokens of the longest sequence */
    xfi_bound_fn take;
    void *context;
} bound_job;

/* Scratch of one thread. */
typedef struct scratch {
    xfi_ball *x;    /* [d] */
    xfi_ball *next; /* [d] */
    xfi_neuron_state *states;
    xfi_ball_tile lanes;
    xfi_ball *a; /* [n_max] */
    xfi_ball *s; /* [n_max] */
    double *t;   /* [tiles.n_tokens] */
    double *E;
} scratch;

static int scratch_init(scratch *room, const bound_job *job) {
    int64_t d = job->front->data->d, w = job->views[0].w;
    room->x = xfi_calloc(d, sizeof(xfi_ball));
    room->next = xfi_calloc(d, sizeof(xfi_ball));
    room->states = xfi_calloc(w, sizeof(xfi_neuron_state));
    room->a = xfi_calloc(job->n_max, sizeof(xfi_ball));
    room->s = xfi_calloc(job->n_max, sizeof(xfi_ball));
    room->t = xfi_calloc(job->tiles.n_tokens, sizeof(double));
    room->E = xfi_calloc(job->tiles.n_tokens, sizeof(double));
    int ok = xfi_ball_tile_init(&room->lanes, d, w);
    return ok && room->x && room->next && room->states && room->a && room->s && room->t && room->E;
}

static void scratch_clear(scratch *room) {
    xfi_free(room->x);
    xfi_free(room->next);
    xfi_free(room->states);
    xfi_free(room->a);
    xfi_free(room->s);
    xfi_free(room->t);
    xfi_free(room->E);
    xfi_ball_tile_clear(&room->lanes);
}

/* One block: a few tokens at a time, and only the two coordinates that matter. */
static void feed_lanes(const bound_job *job, const double *tokens, int64_t n, scratch *room) {
    const xfi_block_view *view = &job->views[0];
    int64_t from = job->pool.from, k1 = job->front->k1;
    for (int64_t first = 0; first < n; first += XFI_BALL_LANES) {
        int64_t lanes = n - first < XFI_BALL_LANES ? n - first : XFI_BALL_LANES;
        xfi_ball_tile_neurons(&room->lanes, view, tokens + first * view->d, lanes);
        for (int64_t l = 0; l < lanes; l++) {
            room->a[first + l] = xfi_ball_tile_output(&room->lanes, view, l, k1, room->x);
            room->s[first + l] = xfi_ball_tile_output(&room->lanes, view, l, from, room->x);
        }
    }
}

/* Several blocks: token by token. */
static void feed_blocks(const bound_job *job, const double *tokens, int64_t n, scratch *room) {
    int64_t d = job->front->data->d;
    for (int64_t l = 0; l < n; l++) {
        load_token(room->x, tokens + l * d, d, &job->format);
        for (int64_t block = 0; block < job->front->n_front; block++)
            xfi_ball_feed_forward(&job->views[block], room->x, room->next, room->states);
        room->a[l] = room->x[job->front->k1];
        room->s[l] = room->x[job->pool.from];
    }
}

/* t, E of the tokens of sequence j. */
static void bound_sequence(const bound_job *job, int64_t j, scratch *room, double *t, double *E) {
    const xf_dataset *data = job->front->data;
    int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
    const double *tokens = data->x + first * data->d;
    if (job->front->n_front == 1)
        feed_lanes(job, tokens, n, room);
    else
        feed_blocks(job, tokens, n, room);
    xfi_ball pooled = {{0, 0}, 0};
    if (job->pool.gain != 0.0)
        pooled = pooled_term(&job->pool, room->a, room->s, n, &job->format);
    for (int64_t l = 0; l < n; l++)
        finish_token(t + l, E + l, room->a[l], pooled, job->pool.rho, &job->format);
}

static int bound_tile(const bound_job *job, int64_t tile, int thread, scratch *room) {
    const int64_t *offsets = job->front->data->x_offsets;
    int64_t first = job->tiles.first[tile], last = job->tiles.first[tile + 1];
    for (int64_t j = first; j < last; j++) {
        int64_t at = offsets[j] - offsets[first];
        bound_sequence(job, j, room, room->t + at, room->E + at);
    }
    return job->take(job->context, thread, first, last, room->t, room->E);
}

static int bound_tiles(const bound_job *job, scratch *rooms) {
    int ok = 1;
#pragma omp parallel for num_threads(job->front->threads) schedule(dynamic, 4) reduction(&& : ok)
    for (int64_t tile = 0; tile < job->tiles.n; tile++) {
        int thread = omp_get_thread_num();
        ok = bound_tile(job, tile, thread, &rooms[thread]) && ok;
    }
    return ok;
}

static int bound_all(const bound_job *job) {
    int threads = job->front->threads, made = 0;
    scratch *rooms = xfi_calloc(threads, sizeof *rooms);
    int ok = rooms != NULL;
    while (ok && made < threads)
        ok = scratch_init(&rooms[made++], job);
    ok = ok && bound_tiles(job, rooms);
    while (made > 0)
        scratch_clear(&rooms[--made]);
    xfi_free(rooms);
    return ok;
}

static int views_init(xfi_block_view *views, int64_t *made, const xfi_front_view *front,
                      const xfi_format *format) {
    for (*made = 0; *made < front->n_front; ++*made)
        if (!xfi_block_view_init(&views[*made], front->model, *made, format))
            return 0;
    return 1;
}

xf_status xfi_front_bound_tiles(const xfi_front_view *front, xfi_bound_fn take, void *context,
                                xf_error *error) {
    bound_job job = {.front = front,
                     .n_max = xfi_longest_sequence(front->data),
                     .take = take,
                     .context = context};
    job.format = xfi_format_of(front->model->dtype);
    XFI_TRY(view_pool(&job.pool, front->model, front->n_front, front->k1, error));
    XFI_TRY(xfi_tiles_init(&job.tiles, front->data, front->peers, error));
    xfi_block_view *views = xfi_calloc(front->n_front, sizeof *views);
    int64_t made = 0;
    job.views = views;
    int ok = views != NULL && views_init(views, &made, front, &job.format) && bound_all(&job);
    for (int64_t i = 0; i < made; i++)
        xfi_block_view_clear(&views[i]);
    xfi_free(views);
    xfi_tiles_clear(&job.tiles);
    return ok ? XF_OK : xfi_fail_memory(error);
}

/* Arrays for all tokens. */
typedef struct bounds {
    const int64_t *offsets;
    double *t;
    double *E;
} bounds;

static int copy_bounds(void *context, int thread, int64_t first, int64_t last, const double *t,
                       const double *E) {
    const bounds *all = context;
    int64_t start = all->offsets[first];
    size_t size = (size_t)(all->offsets[last] - start) * sizeof *t;
    (void)thread;
    memcpy(all->t + start, t, size);
    memcpy(all->E + start, E, size);
    return 1;
}

xf_status xfi_front_bound_shared(double *t, double *E, const xfi_front_view *front,
                                 xf_error *error) {
    const xf_dataset *data = front->data;
    bounds all = {data->x_offsets, t, E};
    XFI_TRY(xfi_front_bound_tiles(front, copy_bounds, &all, error));
    XFI_TRY(xfi_share_gather(front->peers, data->x_offsets, data->n_sequences, t, sizeof *t,
                             data->x_offsets, error));
    return xfi_share_gather(front->peers, data->x_offsets, data->n_sequences, E, sizeof *E,
                            data->x_offsets, error);
}

xf_status xfi_front_bound(double *t, double *E, const xf_model *model, int64_t n_front, int k1,
                          const xf_dataset *data, int threads, xf_error *error) {
    xfi_front_view front = {model, n_front, k1, data, NULL, threads};
    return xfi_front_bound_shared(t, E, &front, error);
}

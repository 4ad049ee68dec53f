/* Balls through feed-forward layers and uniform attentions (docs/reach.md, T-pools). */
#include "construct/pools_bound.h"

#include "base/alloc.h"
#include "base/error.h"

#include <omp.h>
#include <string.h>

/* Bounds the error of double-double additions and of one division, relative to the terms. */
#define CENTRE_ERROR 0x1p-98

typedef enum attention_kind { IDENTITY, ONE_COORDINATE, EVERYTHING } attention_kind;

typedef struct attention {
    attention_kind kind;
    double rho;
    double left; /* gain = left right, right a power of two */
    double right;
    int64_t from;
    int64_t to;
} attention;

static int is_power_of_two(double v) {
    return v != 0.0 && xfi_lowest_bit(v) == xfi_exponent(v);
}

/* The only nonzero entry of v [d]; -1 if there is none, -2 if there are several. */
static int64_t only_entry(const double *v, int64_t d) {
    int64_t found = -1;
    for (int64_t k = 0; k < d; k++)
        if (v[k] != 0.0)
            found = found == -1 ? k : -2;
    return found;
}

static int look_at_attention(attention *out, const xf_model *model, int64_t block) {
    int64_t d = model->d;
    const double *left = model->sa_V.left + block * d, *right = model->sa_V.right + block * d;
    int64_t to = only_entry(left, d), from = only_entry(right, d);
    double alpha = model->sa_V.alpha[block];
    *out =
        (attention){.rho = model->sa_rho[block], .left = 1.0, .right = 1.0, .from = from, .to = to};
    int no_logits = model->sa_A.full == NULL && model->sa_A.alpha[block] == 0.0 &&
                    only_entry(model->sa_A.left + block * d, d) == -1;
    if (!no_logits || model->sa_V.full != NULL || model->order != XF_FF_SA || model->causal)
        return 0;
    if (to == -1 && alpha == 0.0)
        return out->rho == 1.0;
    if (to == -1) {
        out->kind = EVERYTHING;
        return alpha == 1.0 && out->rho == 0.0;
    }
    out->kind = ONE_COORDINATE;
    if (alpha != 0.0 || to < 0 || from < 0 || !is_power_of_two(right[from]))
        return 0;
    out->left = left[to];
    out->right = right[from];
    if (fabs(left[to] * right[from]) < ldexp(1.0, xfi_format_of(model->dtype).emin))
        return 0;
    return out->rho == 0.0 || out->rho == 1.0;
}

/* left right mean of n numbers, `stride` apart: n - 1 additions, fl(1/n) and its product unless n
 * is a power of two, the product with `left` unless it is one. */
static xfi_ball pooled(const xfi_ball *x, int64_t stride, int64_t n, const attention *how,
                       const xfi_format *format) {
    xfi_dd sum = {0, 0};
    double errors = 0, absolute = 0, count = (double)n;
    double left = fabs(how->left), right = fabs(how->right), gain = how->left * how->right;
    double g = fabs(gain);
    for (int64_t l = 0; l < n; l++) {
        sum = xfi_dd_add(sum, x[l * stride].centre);
        errors += x[l * stride].error;
        absolute += xfi_ball_magnitude(x[l * stride]);
    }
    double roundings = count - 1 + (is_power_of_two(count) ? 0 : 2) + !is_power_of_two(left);
    double relative = xfi_gamma(format, roundings) + (count + 8) * (count + 8) * CENTRE_ERROR;
    double underflow = (g + left + 1) * (count + 2) * format->smallest;
    double range = xfi_beyond(format, absolute) + xfi_beyond(format, right * absolute) +
                   xfi_beyond(format, g * absolute);
    double inflate = 1.0 + (count + 8) * 0x1p-52; /* of these sums themselves */
    xfi_ball out = {xfi_dd_scale(xfi_dd_divide(sum, count), gain), 0};
    out.error =
        (g * (errors / count + relative * (absolute / count)) + underflow) * inflate * XFI_INFLATE +
        range;
    return out;
}

static xfi_ball add_balls(xfi_ball x, xfi_ball y, const xfi_format *format) {
    xfi_ball sum = {xfi_dd_add(x.centre, y.centre), 0};
    double absolute = xfi_ball_magnitude(x) + xfi_ball_magnitude(y), error = x.error + y.error;
    error += format->u * (fabs(sum.centre.hi) + error) * (1.0 + 2 * format->u);
    sum.error = (error + CENTRE_ERROR * absolute) * XFI_INFLATE + xfi_beyond(format, absolute);
    return sum;
}

xfi_ball xfi_ball_add(xfi_ball x, double v, const xfi_format *format) {
    return v == 0.0 ? x : add_balls(x, (xfi_ball){{v, 0.0}, 0.0}, format);
}

double xfi_ball_low(xfi_ball x) {
    double v = xfi_dd_value(x.centre);
    return nextafter(v - (x.error + 0x1p-53 * fabs(v)) * XFI_INFLATE, -INFINITY);
}

double xfi_ball_high(xfi_ball x) {
    double v = xfi_dd_value(x.centre);
    return nextafter(v + (x.error + 0x1p-53 * fabs(v)) * XFI_INFLATE, INFINITY);
}

void xfi_track_clear(xfi_track *track) {
    xfi_free(track->ball);
    track->ball = NULL;
}

int xfi_track_index(const xfi_track *track, int64_t k) {
    for (int i = 0; i < track->n_coordinates; i++)
        if (track->coordinate[i] == k)
            return i;
    return -1;
}

typedef struct walk {
    const xf_dataset *data;
    const xf_model *model;
    xfi_format format;
    int64_t n_blocks;
    int64_t n_max;
    xfi_block_view *views; /* [n_blocks] */
    attention *attentions; /* [n_blocks] */
    xfi_track *track;
} walk;

/* Per-thread scratch. */
typedef struct room {
    xfi_ball *x;    /* [n_max][d] */
    xfi_ball *next; /* [d] */
    xfi_neuron_state *states;
} room;

/* The mean of all coordinates may be computed, with a product by 0 at the end. */
static double sums_overflow(const xfi_ball *x, int64_t n, int64_t d, const xfi_format *format) {
    double worst = 0;
    for (int64_t k = 0; k < d; k++) {
        double absolute = 0;
        for (int64_t l = 0; l < n; l++)
            absolute += xfi_ball_magnitude(x[l * d + k]);
        worst += xfi_beyond(format, absolute);
    }
    return worst;
}

static void attend(xfi_ball *x, const attention *how, int64_t n, int64_t d,
                   const xfi_format *format) {
    for (int64_t k = 0; how->kind == EVERYTHING && k < d; k++) {
        xfi_ball mean = pooled(x + k, d, n, how, format);
        for (int64_t l = 0; l < n; l++)
            x[l * d + k] = mean;
    }
    if (how->kind != ONE_COORDINATE)
        return;
    xfi_ball mean = pooled(x + how->from, d, n, how, format);
    mean.error += sums_overflow(x, n, d, format);
    for (int64_t l = 0; l < n; l++) {
        xfi_ball *at = &x[l * d + how->to];
        *at = how->rho == 0.0 ? mean : add_balls(*at, mean, format);
    }
    for (int64_t i = 0; how->rho == 0.0 && i < n * d; i++)
        if (i % d != how->to)
            x[i] = (xfi_ball){{0, 0}, 0};
}

static void load(xfi_ball *x, const double *values, int64_t n, const xfi_format *format) {
    for (int64_t i = 0; i < n; i++) {
        double off = fabs(values[i] - xfi_round(format, values[i]));
        x[i] = (xfi_ball){{values[i], 0.0}, off * XFI_INFLATE};
    }
}

static void walk_sequence(const walk *w, int64_t j, room *r) {
    int64_t d = w->data->d, first = w->data->x_offsets[j], n = w->data->x_offsets[j + 1] - first;
    load(r->x, w->data->x + first * d, n * d, &w->format);
    for (int64_t b = 0; b < w->n_blocks; b++) {
        for (int64_t l = 0; l < n; l++)
            xfi_ball_feed_forward(&w->views[b], r->x + l * d, r->next, r->states);
        attend(r->x, &w->attentions[b], n, d, &w->format);
    }
    for (int64_t l = 0; l < n; l++)
        for (int i = 0; i < w->track->n_coordinates; i++)
            w->track->ball[(first + l) * w->track->n_coordinates + i] =
                r->x[l * d + w->track->coordinate[i]];
}

static void walk_shared(const walk *w, room *rooms, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) if (w->data->n_tokens > 512)
    for (int64_t j = 0; j < w->data->n_sequences; j++)
        walk_sequence(w, j, &rooms[omp_get_thread_num()]);
}

static int room_init(room *r, const walk *w) {
    r->x = xfi_calloc2(w->n_max, w->data->d, sizeof(xfi_ball));
    r->next = xfi_calloc(w->data->d, sizeof(xfi_ball));
    r->states = xfi_calloc(w->model->width, sizeof(xfi_neuron_state));
    return r->x && r->next && r->states;
}

static void room_clear(room *r) {
    xfi_free(r->x);
    xfi_free(r->next);
    xfi_free(r->states);
}

static int walk_all(walk *w, int threads) {
    for (int64_t j = 0; j < w->data->n_sequences; j++) {
        int64_t n = w->data->x_offsets[j + 1] - w->data->x_offsets[j];
        w->n_max = n > w->n_max ? n : w->n_max;
    }
    room *rooms = xfi_calloc(threads, sizeof *rooms);
    int ok = rooms != NULL, made = 0;
    while (ok && made < threads)
        ok = room_init(&rooms[made++], w);
    if (ok)
        walk_shared(w, rooms, threads);
    while (made > 0)
        room_clear(&rooms[--made]);
    xfi_free(rooms);
    return ok;
}

static xf_status look_and_walk(walk *w, int threads, xf_error *error) {
    for (int64_t b = 0; b < w->n_blocks; b++)
        if (!look_at_attention(&w->attentions[b], w->model, b))
            return xfi_fail(error, XF_ERR_ARGUMENT,
                            "the attention of block %lld has an unknown shape", (long long)b);
    int64_t made = 0;
    int ok = 1;
    while (ok && made < w->n_blocks) {
        ok = xfi_block_view_init(&w->views[made], w->model, made, &w->format);
        made += ok;
    }
    ok = ok && walk_all(w, threads);
    while (made > 0)
        xfi_block_view_clear(&w->views[--made]);
    return ok ? XF_OK : xfi_fail_memory(error);
}

xf_status xfi_pools_bound(xfi_track *track, const xf_model *model, int64_t n_blocks,
                          const xf_dataset *data, int threads, xf_error *error) {
    if (model->d != data->d)
        return xfi_fail(error, XF_ERR_ARGUMENT, "the model has dimension %lld, the data %lld",
                        (long long)model->d, (long long)data->d);
    walk w = {.data = data, .model = model, .n_blocks = n_blocks, .track = track};
    w.format = xfi_format_of(model->dtype);
    w.views = xfi_calloc(n_blocks, sizeof *w.views);
    w.attentions = xfi_calloc(n_blocks, sizeof *w.attentions);
    track->ball = xfi_calloc2(data->n_tokens, track->n_coordinates, sizeof(xfi_ball));
    xf_status status = w.views && w.attentions && track->ball ? look_and_walk(&w, threads, error)
                                                              : xfi_fail_memory(error);
    if (status != XF_OK)
        xfi_track_clear(track);
    xfi_free(w.views);
    xfi_free(w.attentions);
    return status;
}

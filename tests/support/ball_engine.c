/* Sequences do not see each other and are taken one by one; zero weights are left out. */
#include "support/ball_engine.h"

#include "base/error.h"

#if FLINT_ARB_SEPARATE
#include <arb.h>
#else
#include <flint/arb.h>
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NEURONS = 8 };

typedef struct ball_run {
    const xf_model *m;
    const xft_ball_options *options;
    slong bits;
    int64_t blocks;
    arb_ptr r;     /* [w] */
    arb_ptr inner; /* [w] */
    arb_ptr q;     /* [d] */
    arb_ptr mean;  /* [d] */
    arb_ptr old;   /* [n_max][d] */
    arb_ptr z;     /* [n_max] */
    arb_t s, t, u;
    int64_t n_max;
} ball_run;

static void begin(ball_run *b, const xf_model *model, const xf_dataset *data,
                  const xft_ball_options *options) {
    *b = (ball_run){.m = model, .options = options, .n_max = 1};
    b->bits = (slong)ceil(options->digits * 3.3219280948873626);
    b->blocks = options->blocks > 0 ? options->blocks : model->n_blocks;
    for (int64_t j = 0; j < data->n_sequences; j++)
        if (data->x_offsets[j + 1] - data->x_offsets[j] > b->n_max)
            b->n_max = data->x_offsets[j + 1] - data->x_offsets[j];
    b->r = _arb_vec_init(MOST_NEURONS);
    b->inner = _arb_vec_init(MOST_NEURONS);
    b->q = _arb_vec_init(model->d);
    b->mean = _arb_vec_init(model->d);
    b->old = _arb_vec_init(b->n_max * model->d);
    b->z = _arb_vec_init(b->n_max);
    arb_init(b->s);
    arb_init(b->t);
    arb_init(b->u);
}

static void end(ball_run *b) {
    _arb_vec_clear(b->r, MOST_NEURONS);
    _arb_vec_clear(b->inner, MOST_NEURONS);
    _arb_vec_clear(b->q, b->m->d);
    _arb_vec_clear(b->mean, b->m->d);
    _arb_vec_clear(b->old, b->n_max * b->m->d);
    _arb_vec_clear(b->z, b->n_max);
    arb_clear(b->s);
    arb_clear(b->t);
    arb_clear(b->u);
}

/* out += factor x */
static void add_multiple(ball_run *b, arb_t out, double factor, const arb_t x) {
    if (factor == 0.0 || arb_is_zero(x))
        return;
    arb_set_d(b->t, factor);
    arb_addmul(out, b->t, x, b->bits);
}

static void relu(arb_t x, slong bits) {
    if (arb_is_nonnegative(x))
        return;
    if (arb_is_nonpositive(x)) {
        arb_zero(x);
        return;
    }
    arf_t low, high;
    arf_init(low);
    arf_init(high);
    arb_get_ubound_arf(high, x, bits);
    arb_set_interval_arf(x, low, high, bits);
    arf_clear(low);
    arf_clear(high);
}

static void scale(ball_run *b, arb_ptr x, int64_t n, double factor) {
    arb_set_d(b->t, factor);
    for (int64_t k = 0; k < n && factor != 1.0; k++)
        arb_mul(x + k, x + k, b->t, b->bits);
}

/* Neurons with equal rows of U. A piecewise linear function loses nothing in ball arithmetic if the
 * weights of the active neurons are summed before they meet the ball <u, x>, and, for rows
 * that read one coordinate, before they meet that coordinate: what cancels then cancels exactly. */
typedef struct layer {
    const double *U;
    const double *W;
    const double *b;
    double eta;
    int first[MOST_NEURONS];    /* the first neuron with this row */
    int64_t axis[MOST_NEURONS]; /* the only coordinate read, or -1 */
    int active[MOST_NEURONS];   /* 1 certainly, 0 certainly not, -1 unknown */
} layer;

static void layer_init(layer *l, const xf_model *m, int64_t block) {
    int64_t d = m->d, w = m->width;
    *l = (layer){m->ff_U + block * w * d,
                 m->ff_W + block * d * w,
                 m->ff_b + block * w,
                 m->ff_eta[block],
                 {0},
                 {0},
                 {0}};
    for (int i = 0; i < w; i++) {
        const double *row = l->U + i * d;
        int64_t n = 0, k_last = 0;
        for (int64_t k = 0; k < d; k++)
            if (row[k] != 0.0) {
                n++;
                k_last = k;
            }
        l->axis[i] = n == 1 ? k_last : -1;
        while (memcmp(l->U + l->first[i] * d, row, (size_t)d * sizeof *row) != 0)
            l->first[i]++;
    }
}

/* b->inner[i] = <u_i, x>, b->r[i] the pre-activation, or relu of it where its sign is unknown. */
static void activate(ball_run *b, layer *l, arb_srcptr x) {
    for (int i = 0; i < b->m->width; i++) {
        arb_zero(b->inner + i);
        for (int64_t k = 0; k < b->m->d; k++)
            add_multiple(b, b->inner + i, l->U[i * b->m->d + k], x + k);
        arb_set_d(b->r + i, l->b[i]);
        arb_add(b->r + i, b->r + i, b->inner + i, b->bits);
        l->active[i] = arb_is_nonpositive(b->r + i) ? 0 : arb_is_nonnegative(b->r + i) ? 1 : -1;
        if (l->active[i] < 0)
            relu(b->r + i, b->bits);
    }
}

/* s += a b, exactly if 80 digits hold it. */
static void add_product(ball_run *b, arb_t s, double factor, double other) {
    arb_set_d(b->t, factor);
    arb_set_d(b->u, other);
    arb_addmul(s, b->t, b->u, b->bits);
}

/* Coordinate c of the output. */
static void output(ball_run *b, const layer *l, arb_t out, int64_t c, arb_srcptr x) {
    const double *W = l->W + c * b->m->width;
    int w = (int)b->m->width;
    arb_zero(out);
    arb_set_d(b->s, l->eta);
    for (int i = 0; i < w; i++)
        if (l->active[i] == 1 && l->axis[i] == c)
            add_product(b, b->s, W[i], l->U[i * b->m->d + c]);
    arb_addmul(out, b->s, x + c, b->bits);
    for (int g = 0; g < w; g++) {
        if (l->first[g] != g || l->axis[g] == c)
            continue;
        arb_zero(b->s);
        for (int i = g; i < w; i++)
            if (l->active[i] == 1 && l->first[i] == g)
                add_product(b, b->s, W[i], 1.0);
        arb_addmul(out, b->s, b->inner + g, b->bits);
    }
    for (int i = 0; i < w; i++) {
        if (l->active[i] == 1)
            add_product(b, out, W[i], l->b[i]);
        else if (l->active[i] < 0)
            add_multiple(b, out, W[i], b->r + i);
    }
}

static void feed_forward(ball_run *b, int64_t block, arb_ptr x) {
    layer l;
    layer_init(&l, b->m, block);
    activate(b, &l, x);
    for (int64_t c = 0; c < b->m->d; c++)
        output(b, &l, b->q + c, c, x);
    for (int64_t c = 0; c < b->m->d; c++)
        arb_swap(x + c, b->q + c);
}

static int is_zero(const xf_low_rank *matrix, int64_t block, int64_t d) {
    int left = 0, right = 0;
    for (int64_t k = 0; k < d; k++) {
        left |= matrix->left[block * d + k] != 0.0;
        right |= matrix->right[block * d + k] != 0.0;
    }
    return matrix->alpha[block] == 0.0 && !(left && right);
}

/* out = (alpha I + left right^T) x */
static void apply(ball_run *b, arb_ptr out, const xf_low_rank *matrix, int64_t block,
                  arb_srcptr x) {
    int64_t d = b->m->d;
    arb_zero(b->s);
    for (int64_t k = 0; k < d; k++)
        add_multiple(b, b->s, matrix->right[block * d + k], x + k);
    for (int64_t c = 0; c < d; c++) {
        arb_zero(out + c);
        add_multiple(b, out + c, matrix->alpha[block], x + c);
        add_multiple(b, out + c, matrix->left[block * d + c], b->s);
    }
}

/* z = exp((logits - largest) / tau), unnormalised. */
static void weigh(ball_run *b, int64_t block, int64_t i, int64_t n) {
    int64_t d = b->m->d, best = 0;
    apply(b, b->q, &b->m->sa_A, block, b->old + i * d);
    for (int64_t l = 0; l < n; l++) {
        arb_dot(b->z + l, NULL, 0, b->q, 1, b->old + l * d, 1, d, b->bits);
        if (arf_cmp(arb_midref(b->z + l), arb_midref(b->z + best)) > 0)
            best = l;
    }
    arb_set(b->s, b->z + best);
    arb_set_d(b->t, b->options->tau);
    for (int64_t l = 0; l < n; l++) {
        if (l == best) {
            arb_one(b->z + l);
            continue;
        }
        arb_sub(b->z + l, b->z + l, b->s, b->bits);
        arb_div(b->z + l, b->z + l, b->t, b->bits);
        arb_exp(b->z + l, b->z + l, b->bits);
    }
}

static void attend(ball_run *b, int64_t block, arb_ptr x, int64_t n) {
    const xf_model *m = b->m;
    int64_t d = m->d;
    int uniform = is_zero(&m->sa_A, block, d), mixes = !is_zero(&m->sa_V, block, d);
    for (int64_t k = 0; k < n * d; k++)
        arb_set(b->old + k, x + k);
    scale(b, x, n * d, m->sa_rho[block]);
    for (int64_t i = 0; i < n && mixes; i++) {
        for (int64_t l = 0; l < n; l++)
            arb_one(b->z + l);
        if (!uniform)
            weigh(b, block, i, n);
        for (int64_t c = 0; c < d; c++)
            arb_dot(b->mean + c, NULL, 0, b->z, 1, b->old + c, d, n, b->bits);
        arb_zero(b->s);
        for (int64_t l = 0; l < n; l++)
            arb_add(b->s, b->s, b->z + l, b->bits);
        for (int64_t c = 0; c < d; c++)
            arb_div(b->mean + c, b->mean + c, b->s, b->bits);
        apply(b, b->q, &m->sa_V, block, b->mean);
        for (int64_t c = 0; c < d; c++)
            arb_add(x + i * d + c, x + i * d + c, b->q + c, b->bits);
    }
}

/* x [n][d]: sequence j behind the blocks. */
static arb_ptr run_sequence(ball_run *b, const xf_dataset *data, int64_t j) {
    int64_t d = data->d, first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
    arb_ptr x = _arb_vec_init(n * d);
    for (int64_t k = 0; k < n * d; k++)
        arb_set_d(x + k, data->x[first * d + k]);
    for (int64_t block = 0; block < b->blocks; block++) {
        for (int64_t i = 0; i < n; i++)
            feed_forward(b, block, x + i * d);
        attend(b, block, x, n);
    }
    return x;
}

static int holds_row(arb_srcptr x, const double *y, int64_t d) {
    arf_t v;
    int holds = 1;
    arf_init(v);
    for (int64_t c = 0; c < d; c++) {
        arf_set_d(v, y[c]);
        holds = holds && arb_contains_arf(x + c, v);
    }
    arf_clear(v);
    return holds;
}

static int sequence_holds(arb_srcptr x, const xf_dataset *data, int64_t j) {
    int64_t d = data->d, n = data->x_offsets[j + 1] - data->x_offsets[j];
    int64_t first = data->y_offsets[j], m = data->y_offsets[j + 1] - first, n_met = 0;
    char *met = calloc((size_t)m, 1);
    int ok = met != NULL;
    for (int64_t i = 0; ok && i < n; i++) {
        int64_t k = 0;
        while (k < m && !holds_row(x + i * d, data->y + (first + k) * d, d))
            k++;
        ok = k < m;
        if (ok)
            met[k] = 1;
    }
    for (int64_t k = 0; ok && k < m; k++)
        n_met += met[k];
    free(met);
    return ok && n_met == m;
}

static double largest_radius(arb_srcptr x, int64_t n) {
    double largest = 0;
    for (int64_t k = 0; k < n; k++)
        largest = fmax(largest, mag_get_d(arb_radref(x + k)));
    return largest;
}

xf_status xft_ball_verify(double *radius, const xf_model *model, const xf_dataset *data,
                          const xft_ball_options *options, xf_error *error) {
    ball_run b;
    xf_status status = XF_OK;
    *radius = 0;
    begin(&b, model, data, options);
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
        arb_ptr x = run_sequence(&b, data, j);
        *radius = fmax(*radius, largest_radius(x, n * data->d));
        if (status == XF_OK && !sequence_holds(x, data, j))
            status =
                xfi_fail_at(error, XF_NOT_EXACT, j, -1,
                            "sequence %lld misses its target in ball arithmetic", (long long)j);
        _arb_vec_clear(x, n * data->d);
    }
    end(&b);
    return status;
}

static void round_outwards(double *low, double *high, const arb_t x) {
    arf_t bound;
    arf_init(bound);
    arb_get_lbound_arf(bound, x, 300);
    *low = arf_get_d(bound, ARF_RND_FLOOR);
    arb_get_ubound_arf(bound, x, 300);
    *high = arf_get_d(bound, ARF_RND_CEIL);
    arf_clear(bound);
}

xf_status xft_ball_enclose(double *low, double *high, const xf_model *model, const xf_dataset *data,
                           const xft_ball_options *options, xf_error *error) {
    ball_run b;
    (void)error;
    begin(&b, model, data, options);
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->x_offsets[j] * data->d;
        int64_t size = data->x_offsets[j + 1] * data->d - first;
        arb_ptr x = run_sequence(&b, data, j);
        for (int64_t k = 0; k < size; k++)
            round_outwards(&low[first + k], &high[first + k], x + k);
        _arb_vec_clear(x, size);
    }
    end(&b);
    return XF_OK;
}

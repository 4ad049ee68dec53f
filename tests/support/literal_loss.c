/* Loops over scalars, long double throughout. */
#include "support/literal_loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

typedef struct walk {
    const xf_family *f;
    const real *theta; /* what has not been read yet */
    real *x, *next;    /* [n][d] */
    int64_t n;
    uint64_t pieces;
} walk;

static const real *take(walk *w, int64_t count) {
    const real *start = w->theta;
    w->theta += count;
    return start;
}

static void mark(walk *w, int64_t piece) {
    w->pieces = (w->pieces ^ (uint64_t)(piece + 1)) * 0x100000001b3u;
}

static real dot(const real *a, const real *b, int64_t d) {
    real sum = 0;
    for (int64_t c = 0; c < d; c++)
        sum += a[c] * b[c];
    return sum;
}

/* The parameters of a block, in the order in which they stand. */
typedef struct block {
    const real *rho, *Q, *K, *A_alpha, *V_full, *V_alpha, *V_left, *V_right, *eta, *W, *U, *b;
} block;

static block take_block(walk *w) {
    const xf_family *f = w->f;
    int64_t d = f->d, h = f->rank, width = f->width;
    int full = f->value == XF_VALUE_FULL;
    block b = {.rho = take(w, 1), .Q = NULL};
    b.Q = take(w, h * d);
    b.K = take(w, h * d);
    b.A_alpha = take(w, f->scalar ? 1 : 0);
    b.V_full = take(w, full ? d * d : 0);
    b.V_alpha = take(w, full ? 0 : 1);
    b.V_left = take(w, full ? 0 : d);
    b.V_right = take(w, full ? 0 : d);
    b.eta = take(w, 1);
    b.W = take(w, d * width);
    b.U = take(w, width * d);
    b.b = take(w, width);
    return b;
}

static void feed_forward(walk *w, const block *p) {
    int64_t d = w->f->d, width = w->f->width;
    for (int64_t i = 0; i < w->n; i++) {
        const real *x = w->x + i * d;
        real *out = w->next + i * d;
        for (int64_t c = 0; c < d; c++)
            out[c] = *p->eta * x[c];
        for (int64_t k = 0; k < width; k++) {
            real r = dot(p->U + k * d, x, d) + p->b[k];
            mark(w, r > 0);
            for (int64_t c = 0; c < d && r > 0; c++)
                out[c] += p->W[c * width + k] * r;
        }
    }
}

static real logit(const walk *w, const block *p, int64_t i, int64_t l) {
    int64_t d = w->f->d;
    const real *x = w->x + i * d, *y = w->x + l * d;
    real z = w->f->scalar ? *p->A_alpha * dot(x, y, d) : 0;
    for (int64_t r = 0; r < w->f->rank; r++)
        z += dot(p->Q + r * d, x, d) * dot(p->K + r * d, y, d);
    return z / (real)w->f->tau;
}

/* mean = sum over l of pi_il x_l. */
static void weighted_mean(real *mean, const walk *w, const block *p, int64_t i) {
    int64_t d = w->f->d, n = w->f->causal ? i + 1 : w->n;
    real sum = 0, top = logit(w, p, i, 0);
    for (int64_t l = 1; l < n; l++)
        top = fmaxl(top, logit(w, p, i, l));
    memset(mean, 0, (size_t)d * sizeof *mean);
    for (int64_t l = 0; l < n; l++) {
        real e = expl(logit(w, p, i, l) - top);
        sum += e;
        for (int64_t c = 0; c < d; c++)
            mean[c] += e * w->x[l * d + c];
    }
    for (int64_t c = 0; c < d; c++)
        mean[c] /= sum;
}

static void attention(walk *w, const block *p) {
    int64_t d = w->f->d;
    int full = w->f->value == XF_VALUE_FULL;
    real mean[64];
    for (int64_t i = 0; i < w->n; i++) {
        weighted_mean(mean, w, p, i);
        for (int64_t c = 0; c < d; c++) {
            real v = full ? dot(p->V_full + c * d, mean, d)
                          : *p->V_alpha * mean[c] + p->V_left[c] * dot(p->V_right, mean, d);
            w->next[i * d + c] = *p->rho * w->x[i * d + c] + v;
        }
    }
}

static real distance(const real *o, const double *y, int64_t d) {
    real sum = 0;
    for (int64_t c = 0; c < d; c++)
        sum += (o[c] - (real)y[c]) * (o[c] - (real)y[c]);
    return sum;
}

static real hausdorff(walk *w, const double *y, int64_t m) {
    int64_t d = w->f->d, at_token = -1, at_target = -1;
    real worst = -1;
    for (int64_t i = 0; i < w->n; i++) {
        int64_t near = 0;
        for (int64_t k = 1; k < m; k++)
            if (distance(w->x + i * d, y + k * d, d) < distance(w->x + i * d, y + near * d, d))
                near = k;
        real r = distance(w->x + i * d, y + near * d, d);
        if (r > worst)
            worst = r, at_token = i, at_target = near;
    }
    for (int64_t k = 0; k < m; k++) {
        int64_t near = 0;
        for (int64_t i = 1; i < w->n; i++)
            if (distance(w->x + i * d, y + k * d, d) < distance(w->x + near * d, y + k * d, d))
                near = i;
        real r = distance(w->x + near * d, y + k * d, d);
        if (r > worst)
            worst = r, at_token = near, at_target = k;
    }
    mark(w, at_token * m + at_target);
    return worst;
}

static void run_layers(walk *w) {
    for (int64_t b = 0; b < w->f->n_blocks; b++) {
        block p = take_block(w);
        for (int layer = 0; layer < 2; layer++) {
            if ((layer == 0) == (w->f->order == XF_SA_FF))
                attention(w, &p);
            else
                feed_forward(w, &p);
            real *swap = w->x;
            w->x = w->next;
            w->next = swap;
        }
    }
}

xft_literal_loss xft_loss_literal(const xf_family *family, const long double *theta,
                                  const xf_dataset *data) {
    xft_literal_loss out = {0, 0xcbf29ce484222325u};
    int64_t d = data->d;
    if (d > 64)
        abort();
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
        walk w = {.f = family, .theta = theta, .n = n, .pieces = out.pieces};
        real *room = calloc((size_t)(2 * n * d), sizeof *room);
        if (room == NULL)
            abort();
        w.x = room;
        w.next = room + n * d;
        for (int64_t k = 0; k < n * d; k++)
            w.x[k] = (real)data->x[first * d + k];
        run_layers(&w);
        out.loss += hausdorff(&w, data->y + data->y_offsets[j] * d,
                              data->y_offsets[j + 1] - data->y_offsets[j]);
        out.pieces = w.pieces;
        free(room);
    }
    out.loss /= (real)data->n_sequences;
    return out;
}

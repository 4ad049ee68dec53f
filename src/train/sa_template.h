/* Softmax attention x_i -> rho x_i + V sum_l pi_il x_l, forward and reverse, for one precision.
 *
 * Logits are sums of F products, z_il = sum_f query_f(i) key_f(l): for a term K Q^T of A the
 * numbers <Q, x_i> / tau and <K, x_l>, for alpha I the coordinates of alpha x_i / tau and of x_l.
 * The mean is (sum of e_l x_l) / (sum of e_l), e_l = exp(z_l - max z). Forward, a lane is a query
 * and keys follow one another; in reverse a lane is a key, and queries are taken LANES at a time.
 * The weights pi are not kept: max and sum are, from which they are found again. */

typedef struct XFI_NAME(attention) {
    REAL *query; /* [F][s] */
    REAL *key;   /* [F][s] */
    REAL *mean;  /* [d][s] */
    REAL *top;   /* [s] max over l of z_il */
    REAL *sum;   /* [s] sum of exp(z_il - top_i) */
} XFI_NAME(attention);

/* query and key from x [d][s]. */
static void XFI_NAME(features)(const XFI_NAME(attention) * a, const REAL *x, const REAL *theta,
                               const xfi_layout *at, const xfi_sizes *size, int64_t s) {
    int64_t d = size->d, h = size->h;
    const XFI_NAME(matrix) Q = {theta + at->Q, d, 1, h, d}, K = {theta + at->K, d, 1, h, d};
    REAL tau = (REAL)size->tau;
    XFI_NAME(product)(a->query, s, 0, &Q, x, s, s);
    XFI_NAME(product)(a->key, s, 0, &K, x, s, s);
    if (at->A_alpha >= 0) {
        REAL alpha = theta[at->A_alpha];
        for (int64_t i = 0; i < d * s; i++) {
            a->query[h * s + i] = alpha * x[i];
            a->key[h * s + i] = x[i];
        }
    }
    for (int64_t i = 0; i < at->n_features * s && tau != 1; i++)
        a->query[i] /= tau;
}

/* z [n_keys][LANES] for the queries first .. first+LANES-1: to exp(z - max), with max and sum. */
XFI_CLONES static void XFI_NAME(weigh_queries)(REAL *restrict z, REAL *restrict top,
                                               REAL *restrict sum, int64_t n_keys) {
    for (int lane = 0; lane < LANES; lane++)
        top[lane] = z[lane];
    for (int64_t l = 1; l < n_keys; l++) {
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++)
            top[lane] = z[l * LANES + lane] > top[lane] ? z[l * LANES + lane] : top[lane];
    }
    for (int lane = 0; lane < LANES; lane++)
        sum[lane] = 0;
    for (int64_t l = 0; l < n_keys; l++) {
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++) {
            REAL e = XFI_NAME(xfi_exp)(z[l * LANES + lane] - top[lane]);
            z[l * LANES + lane] = e;
            sum[lane] += e;
        }
    }
}

/* LANES columns of mean [d][s] over their sums. */
XFI_CLONES static void XFI_NAME(divide)(REAL *restrict mean, int64_t s, int64_t d,
                                        const REAL *restrict sum) {
    for (int64_t c = 0; c < d; c++) {
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++)
            mean[c * s + lane] /= sum[lane];
    }
}

/* Keys after the query do not count. */
static void XFI_NAME(mask_queries)(REAL *z, int64_t first, int64_t n_keys) {
    for (int64_t l = first; l < n_keys; l++)
        for (int64_t lane = 0; lane < LANES && first + lane < l; lane++)
            z[l * LANES + lane] = -INFINITY;
}

/* out = V in. Scratch t [s]. */
static void XFI_NAME(value)(REAL *out, const REAL *in, REAL *t, const REAL *theta,
                            const xfi_layout *at, int64_t d, int64_t s) {
    if (at->V_full >= 0) {
        const XFI_NAME(matrix) V = {theta + at->V_full, d, 1, d, d};
        XFI_NAME(product)(out, s, 0, &V, in, s, s);
        return;
    }
    const XFI_NAME(matrix) right = {theta + at->V_right, d, 1, 1, d},
                           left = {theta + at->V_left, 1, 1, d, 1};
    XFI_NAME(product)(t, s, 0, &right, in, s, s);
    XFI_NAME(product)(out, s, 0, &left, t, s, s);
    XFI_NAME(add_scaled)(out, theta[at->V_alpha], in, d * s);
}

/* out [d][s] and `a` from x [d][s], n tokens. Scratch z [s][LANES], t [s]. */
/* NOLINTNEXTLINE(readability-function-size): a kernel */
static void XFI_NAME(sa_forward)(REAL *out, const XFI_NAME(attention) * a, const REAL *x, REAL *z,
                                 REAL *t, const REAL *theta, const xfi_layout *at,
                                 const xfi_sizes *size, int64_t n, int64_t s) {
    int64_t d = size->d;
    XFI_NAME(features)(a, x, theta, at, size, s);
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t n_keys = size->causal && i + LANES < n ? i + LANES : n;
        const XFI_NAME(matrix) keys = {a->key, 1, s, n_keys, at->n_features},
                               tokens = {x, s, 1, d, n_keys};
        XFI_NAME(product)(z, LANES, 0, &keys, a->query + i, s, LANES);
        if (size->causal)
            XFI_NAME(mask_queries)(z, i, n_keys);
        XFI_NAME(weigh_queries)(z, a->top + i, a->sum + i, n_keys);
        XFI_NAME(product)(a->mean + i, s, 0, &tokens, z, LANES, LANES);
        XFI_NAME(divide)(a->mean + i, s, d, a->sum + i);
    }
    XFI_NAME(value)(out, a->mean, t, theta, at, d, s);
    XFI_NAME(add_scaled)(out, theta[at->rho], x, d * s);
}

/* dm = V^T g, and the slopes of V's parts. Scratch t and u [s]. */
/* NOLINTNEXTLINE(readability-function-size): a kernel */
static void XFI_NAME(value_reverse)(REAL *dm, REAL *slope, const REAL *g, const REAL *mean, REAL *t,
                                    REAL *u, const REAL *theta, const xfi_layout *at, int64_t d,
                                    int64_t count, int64_t s) {
    if (at->V_full >= 0) {
        const XFI_NAME(matrix) VT = {theta + at->V_full, 1, d, d, d};
        XFI_NAME(outer)(slope + at->V_full, d, 1, g, s, d, mean, s, d, count);
        XFI_NAME(product)(dm, s, 0, &VT, g, s, s);
        return;
    }
    const XFI_NAME(matrix) right = {theta + at->V_right, d, 1, 1, d},
                           leftT = {theta + at->V_left, d, 1, 1, d},
                           rightT = {theta + at->V_right, 1, 1, d, 1};
    XFI_NAME(product)(t, s, 0, &right, mean, s, s);
    XFI_NAME(product)(u, s, 0, &leftT, g, s, s);
    slope[at->V_alpha] += XFI_NAME(inner)(g, mean, d * s);
    XFI_NAME(outer)(slope + at->V_left, 1, 0, g, s, d, t, 0, 1, count);
    XFI_NAME(outer)(slope + at->V_right, 1, 0, mean, s, d, u, 0, 1, count);
    XFI_NAME(product)(dm, s, 0, &rightT, u, s, s);
    XFI_NAME(add_scaled)(dm, theta[at->V_alpha], g, d * s);
}

/* One query in reverse: pi = exp(z - top) / sum for the first n_keys keys and 0 for the rest of the
 * row, dz = pi (dpi - shift), where pi comes as z and dz as dpi. */
XFI_CLONES static void XFI_NAME(weigh_keys)(REAL *restrict pi, REAL *restrict dz, REAL top,
                                            REAL sum, REAL shift, int64_t n_keys, int64_t s) {
#pragma omp simd
    for (int64_t l = 0; l < s; l++) {
        REAL weight = XFI_NAME(xfi_exp)(pi[l] - top) / sum;
        weight = l < n_keys ? weight : 0;
        pi[l] = weight;
        dz[l] = weight * (dz[l] - shift);
    }
}

/* What the reverse of attention works with. Queries are the `count` tokens `list`, in rows of
 * qs lanes; keys are all tokens, in rows of s lanes. */
typedef struct XFI_NAME(reverse) {
    XFI_NAME(attention) all, listed; /* [..][s] of the forward pass; [..][qs] gathered */
    const REAL *x;                   /* [d][s] */
    REAL *x_listed;                  /* [d][qs] */
    REAL *dm;                        /* [d][qs] */
    REAL *shift;                     /* [qs] <dm_i, mean_i> */
    REAL *dquery;                    /* [F][qs] */
    REAL *dkey;                      /* [F][s] */
    REAL *pi, *dz;                   /* [LANES][s] */
    REAL *t, *u;                     /* [qs] */
    const int64_t *list;
    int64_t count, n, s, qs;
} XFI_NAME(reverse);

static void XFI_NAME(gather_queries)(const XFI_NAME(reverse) * v, int64_t d, int64_t n_features) {
    const XFI_NAME(attention) *all = &v->all, *listed = &v->listed;
    XFI_NAME(gather)(v->x_listed, v->qs, v->x, v->s, d, v->list, v->count, 0);
    XFI_NAME(gather)(listed->mean, v->qs, all->mean, v->s, d, v->list, v->count, 0);
    XFI_NAME(gather)(listed->query, v->qs, all->query, v->s, n_features, v->list, v->count, 0);
    XFI_NAME(gather)(listed->top, v->qs, all->top, v->s, 1, v->list, v->count, 0);
    XFI_NAME(gather)(listed->sum, v->qs, all->sum, v->s, 1, v->list, v->count, 1);
}

static void XFI_NAME(column_sums)(REAL *out, const REAL *a, const REAL *b, int64_t d, int64_t s) {
    for (int64_t i = 0; i < s; i++)
        out[i] = a[i] * b[i];
    for (int64_t c = 1; c < d; c++)
        for (int64_t i = 0; i < s; i++)
            out[i] += a[c * s + i] * b[c * s + i];
}

/* The queries first .. first+count-1 of the list: dquery, dkey, and onto dx what comes by the
 * weights. */
static void XFI_NAME(reverse_tile)(REAL *dx, const XFI_NAME(reverse) * v, int64_t first,
                                   int64_t count, const xfi_layout *at, const xfi_sizes *size) {
    int64_t d = size->d, n_features = at->n_features, s = v->s, qs = v->qs;
    const REAL *query = v->listed.query + first, *dm = v->dm + first;
    const XFI_NAME(matrix) queries = {query, 1, qs, count, n_features},
                           rows = {dm, 1, qs, count, d};
    const XFI_NAME(matrix) queriesT = {query, qs, 1, n_features, count},
                           rowsT = {dm, qs, 1, d, count};
    XFI_NAME(product)(v->pi, s, 0, &queries, v->all.key, s, s);
    XFI_NAME(product)(v->dz, s, 0, &rows, v->x, s, s);
    for (int64_t i = 0; i < count; i++)
        XFI_NAME(weigh_keys)
    (v->pi + i * s, v->dz + i * s, v->listed.top[first + i], v->listed.sum[first + i],
     v->shift[first + i], size->causal ? v->list[first + i] + 1 : v->n, s);
    XFI_NAME(outer)(v->dquery + first, qs, 1, v->all.key, s, n_features, v->dz, s, count, v->n);
    XFI_NAME(product)(v->dkey, s, 1, &queriesT, v->dz, s, s);
    if (dx != NULL)
        XFI_NAME(product)(dx, s, 1, &rowsT, v->pi, s, s);
}

/* dx += what comes by queries and keys, and by rho; the queries' part is scattered. */
static void XFI_NAME(reverse_tokens)(REAL *dx, const XFI_NAME(reverse) * v, const REAL *g,
                                     const REAL *theta, const xfi_layout *at,
                                     const xfi_sizes *size) {
    int64_t d = size->d, h = size->h, s = v->s, qs = v->qs;
    const XFI_NAME(matrix) QT = {theta + at->Q, 1, d, d, h}, KT = {theta + at->K, 1, d, d, h};
    XFI_NAME(product)(dx, s, 1, &KT, v->dkey, s, s);
    XFI_NAME(product)(v->x_listed, qs, 0, &QT, v->dquery, qs, qs);
    XFI_NAME(add_scaled)(v->x_listed, theta[at->rho], g, d * qs);
    if (at->A_alpha >= 0) {
        XFI_NAME(add_scaled)(dx, 1, v->dkey + h * s, d * s);
        XFI_NAME(add_scaled)(v->x_listed, theta[at->A_alpha], v->dquery + h * qs, d * qs);
    }
    for (int64_t c = 0; c < d; c++)
        for (int64_t i = 0; i < v->count; i++)
            dx[c * s + v->list[i]] += v->x_listed[c * qs + i];
}

/* Given g = dloss/dout [d][qs] of the listed tokens: slope += the gradient of the block's
 * parameters, and dx [d][s] = dloss/dx of all tokens unless dx is NULL. */
static void XFI_NAME(sa_reverse)(REAL *dx, REAL *slope, const REAL *g, const XFI_NAME(reverse) * v,
                                 const REAL *theta, const xfi_layout *at, const xfi_sizes *size) {
    int64_t d = size->d, h = size->h, n_features = at->n_features, s = v->s, qs = v->qs;
    XFI_NAME(gather_queries)(v, d, n_features);
    slope[at->rho] += XFI_NAME(inner)(g, v->x_listed, d * qs);
    XFI_NAME(value_reverse)
    (v->dm, slope, g, v->listed.mean, v->t, v->u, theta, at, d, v->count, qs);
    XFI_NAME(column_sums)(v->shift, v->dm, v->listed.mean, d, qs);
    memset(v->dquery, 0, (size_t)(n_features * qs) * sizeof(REAL));
    memset(v->dkey, 0, (size_t)(n_features * s) * sizeof(REAL));
    if (dx != NULL)
        memset(dx, 0, (size_t)(d * s) * sizeof(REAL));
    for (int64_t i = 0; i < v->count; i += LANES)
        XFI_NAME(reverse_tile)(dx, v, i, v->count - i < LANES ? v->count - i : LANES, at, size);
    for (int64_t i = 0; i < n_features * qs && size->tau != 1.0; i++)
        v->dquery[i] /= (REAL)size->tau;
    XFI_NAME(outer)(slope + at->Q, d, 1, v->dquery, qs, h, v->x_listed, qs, d, v->count);
    XFI_NAME(outer)(slope + at->K, d, 1, v->dkey, s, h, v->x, s, d, v->n);
    if (at->A_alpha >= 0)
        slope[at->A_alpha] += XFI_NAME(inner)(v->dquery + h * qs, v->x_listed, d * qs);
    if (dx != NULL)
        XFI_NAME(reverse_tokens)(dx, v, g, theta, at, size);
}

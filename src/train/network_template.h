/* All layers on one sequence, forward and reverse, for one precision. Token coordinates are rows of
 * s lanes, one lane a token, zero beyond the last token. */

/* What the forward pass leaves for the reverse, and scratch; carved out of one allocation. */
typedef struct XFI_NAME(tape) {
    REAL *input;   /* [2L+1][d][s] input of every layer, then the output */
    REAL *hidden;  /* [L][w][s] */
    REAL *query;   /* [L][F][s], and so on as in XFI_NAME(attention) */
    REAL *key;     /* [L][F][s] */
    REAL *mean;    /* [L][d][s] */
    REAL *top;     /* [L][s] */
    REAL *sum;     /* [L][s] */
    REAL *tile;    /* [2][LANES][s] */
    REAL *line;    /* [6][s] */
    REAL *g, *dx;  /* [d][s] */
    REAL *listed;  /* [4 d + 2 w + 2 F][s], what a reverse layer gathers */
    REAL *dkey;    /* [F][s] */
    int64_t *list; /* [s] */
} XFI_NAME(tape);

static REAL *XFI_NAME(carve)(REAL **cursor, int64_t count) {
    REAL *start = *cursor;
    if (start != NULL)
        *cursor += count;
    return start;
}

/* Lay the tape out for rows of s lanes in `memory`, tape_size(..) reals. */
static XFI_NAME(tape)
    /* NOLINTNEXTLINE(readability-non-const-parameter): kept for writing */
    XFI_NAME(tape_of)(REAL *memory, int64_t *list, const xfi_sizes *size, int64_t s) {
    int64_t L = size->n_blocks, d = size->d, w = size->w, F = size->n_features;
    XFI_NAME(tape) t = {.list = list};
    t.input = XFI_NAME(carve)(&memory, (2 * L + 1) * d * s);
    t.hidden = XFI_NAME(carve)(&memory, L * w * s);
    t.query = XFI_NAME(carve)(&memory, L * F * s);
    t.key = XFI_NAME(carve)(&memory, L * F * s);
    t.mean = XFI_NAME(carve)(&memory, L * d * s);
    t.top = XFI_NAME(carve)(&memory, L * s);
    t.sum = XFI_NAME(carve)(&memory, L * s);
    t.tile = XFI_NAME(carve)(&memory, 2 * LANES * s);
    t.line = XFI_NAME(carve)(&memory, 6 * s);
    t.g = XFI_NAME(carve)(&memory, d * s);
    t.dx = XFI_NAME(carve)(&memory, d * s);
    t.listed = XFI_NAME(carve)(&memory, (4 * d + 2 * w + 2 * F) * s);
    t.dkey = XFI_NAME(carve)(&memory, F * s);
    return t;
}

static XFI_NAME(attention) XFI_NAME(attention_of)(const XFI_NAME(tape) * t, int64_t block,
                                                  const xfi_sizes *size, int64_t s) {
    int64_t features = block * size->n_features * s;
    return (XFI_NAME(attention)){t->query + features, t->key + features,
                                 t->mean + block * size->d * s, t->top + block * s,
                                 t->sum + block * s};
}

static void XFI_NAME(clear_rest)(REAL *x, int64_t d, int64_t n, int64_t s) {
    for (int64_t c = 0; c < d; c++)
        for (int64_t i = n; i < s; i++)
            x[c * s + i] = 0;
}

static void XFI_NAME(forward)(const XFI_NAME(tape) * t, const xfi_network *net, const REAL *theta,
                              int64_t n, int64_t s) {
    const xfi_layout *at = &net->layout;
    int64_t step = net->size.d * s;
    for (int64_t layer = 0; layer < 2 * net->size.n_blocks; layer++) {
        const REAL *x = t->input + layer * step, *block = theta + layer / 2 * at->block_size;
        REAL *out = t->input + (layer + 1) * step;
        if (xfi_family_layer_is_attention(&net->family, layer)) {
            const XFI_NAME(attention) a = XFI_NAME(attention_of)(t, layer / 2, &net->size, s);
            XFI_NAME(sa_forward)(out, &a, x, t->tile, t->line, block, at, &net->size, n, s);
        } else {
            REAL *hidden = t->hidden + layer / 2 * net->size.w * s;
            XFI_NAME(ff_forward)(out, hidden, x, block, at, &net->size, s);
        }
        XFI_NAME(clear_rest)(out, net->size.d, n, s);
    }
}

/* The tokens on which the loss depends through the layers behind: `count` of them in `list`, and
 * dloss/dx in g, rows of qs lanes. */
typedef struct XFI_NAME(front) {
    int64_t count, qs;
} XFI_NAME(front);

static void XFI_NAME(reverse_ff)(const XFI_NAME(tape) * t, const XFI_NAME(front) * f, REAL *dx,
                                 REAL *slope, const REAL *theta, int64_t layer,
                                 const xfi_network *net, int64_t s) {
    int64_t d = net->size.d, w = net->size.w, qs = f->qs;
    REAL *x = t->listed, *hidden = x + d * qs, *dr = hidden + w * qs;
    XFI_NAME(gather)(x, qs, t->input + layer * d * s, s, d, t->list, f->count, 0);
    XFI_NAME(gather)(hidden, qs, t->hidden + layer / 2 * w * s, s, w, t->list, f->count, 0);
    XFI_NAME(ff_reverse)
    (dx, slope, t->g, x, hidden, dr, theta, &net->layout, &net->size, f->count, qs);
}

/* After attention the loss depends on every token. */
static void XFI_NAME(reverse_sa)(const XFI_NAME(tape) * t, XFI_NAME(front) * f, REAL *dx,
                                 REAL *slope, const REAL *theta, int64_t layer,
                                 const xfi_network *net, int64_t n, int64_t s) {
    int64_t d = net->size.d, F = net->size.n_features, qs = f->qs;
    REAL *next = t->listed;
    XFI_NAME(reverse)
    v = {.all = XFI_NAME(attention_of)(t, layer / 2, &net->size, s),
         .x = t->input + layer * d * s,
         .dkey = t->dkey,
         .pi = t->tile,
         .dz = t->tile + LANES * s,
         .list = t->list,
         .count = f->count,
         .n = n,
         .s = s,
         .qs = qs};
    v.x_listed = XFI_NAME(carve)(&next, d * qs);
    v.dm = XFI_NAME(carve)(&next, d * qs);
    v.listed.mean = XFI_NAME(carve)(&next, d * qs);
    v.listed.query = XFI_NAME(carve)(&next, F * qs);
    v.dquery = XFI_NAME(carve)(&next, F * qs);
    v.t = t->line;
    v.u = v.t + s;
    v.shift = v.u + s;
    v.listed.top = v.shift + s;
    v.listed.sum = v.listed.top + s;
    XFI_NAME(sa_reverse)(dx, slope, t->g, &v, theta, &net->layout, &net->size);
    for (int64_t i = 0; i < n; i++)
        t->list[i] = i;
    *f = (XFI_NAME(front)){n, s};
}

/* slope += the gradient of factor |o_token - y|^2. The first layer's inputs are data. */
static void XFI_NAME(backward)(XFI_NAME(tape) * t, const xfi_network *net, REAL *slope,
                               const REAL *theta, const REAL *y, int64_t token, REAL factor,
                               int64_t n, int64_t s) {
    int64_t d = net->size.d, n_layers = 2 * net->size.n_blocks;
    const REAL *o = t->input + n_layers * d * s;
    XFI_NAME(front) front = {1, LANES};
    t->list[0] = token;
    memset(t->g, 0, (size_t)(d * LANES) * sizeof(REAL));
    for (int64_t c = 0; c < d; c++)
        t->g[c * LANES] = 2 * factor * (o[c * s + token] - y[c]);
    for (int64_t layer = n_layers - 1; layer >= 0; layer--) {
        int64_t place = layer / 2 * net->layout.block_size;
        REAL *dx = layer > 0 ? t->dx : NULL;
        if (xfi_family_layer_is_attention(&net->family, layer))
            XFI_NAME(reverse_sa)(t, &front, dx, slope + place, theta + place, layer, net, n, s);
        else
            XFI_NAME(reverse_ff)(t, &front, dx, slope + place, theta + place, layer, net, s);
        REAL *swap = t->g;
        t->g = t->dx;
        t->dx = swap;
    }
}

/* The squared Hausdorff distance of one sequence; slope (NULL: not wanted) += factor times
 * its gradient. */
static double XFI_NAME(sequence)(const xfi_network *net, const xfi_sequence *sequence, REAL *memory,
                                 int64_t *list, const REAL *theta, REAL *slope, REAL factor) {
    int64_t n = sequence->n, s = sequence->stride, d = net->size.d;
    XFI_NAME(tape) t = XFI_NAME(tape_of)(memory, list, &net->size, s);
    memcpy(t.input, sequence->x, (size_t)(d * s) * sizeof(REAL));
    XFI_NAME(forward)(&t, net, theta, n, s);
    const REAL *o = t.input + 2 * net->size.n_blocks * d * s, *y = sequence->y;
    XFI_NAME(worst)
    worst = XFI_NAME(hausdorff)(o, y, n, sequence->m, d, s, t.line, t.line + s, t.list);
    if (slope != NULL && worst.value > 0 && isfinite(worst.value))
        XFI_NAME(backward)(&t, net, slope, theta, y + worst.target * d, worst.token, factor, n, s);
    return (double)worst.value;
}

/* Sequences first .. last-1: the sum of their distances, and the gradient of factor times it in
 * slope [P] (NULL: not wanted). `arena` is the memory of one thread. */
static double XFI_NAME(chunk)(const xfi_network *net, const xfi_sequence *sequences, int64_t first,
                              int64_t last, const xfi_arena *arena, const void *theta, void *slope,
                              double factor) {
    double total = 0.0;
    if (slope != NULL)
        memset(slope, 0, (size_t)net->n_parameters * sizeof(REAL));
    for (int64_t j = first; j < last; j++)
        total += XFI_NAME(sequence)(net, &sequences[j], arena->reals, arena->list, theta, slope,
                                    (REAL)factor);
    return total;
}

static void XFI_NAME(narrow)(void *out, const double *in, int64_t n) {
    REAL *values = out;
    for (int64_t i = 0; i < n; i++)
        values[i] = (REAL)in[i];
}

/* sum [P] += slope [P]. */
static void XFI_NAME(add)(void *sum, const void *slope, int64_t n) {
    XFI_NAME(add_scaled)(sum, 1, slope, n);
}

static void XFI_NAME(widen)(double *out, const void *in, int64_t n) {
    const REAL *values = in;
    for (int64_t i = 0; i < n; i++)
        out[i] = (double)values[i];
}

/* Token coordinates [n][d] as rows of s lanes. */
static void XFI_NAME(transpose)(void *out, const double *x, int64_t n, int64_t d, int64_t s) {
    REAL *rows = out;
    for (int64_t c = 0; c < d; c++)
        for (int64_t i = 0; i < s; i++)
            rows[c * s + i] = i < n ? (REAL)x[i * d + c] : 0;
}

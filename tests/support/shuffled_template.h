/* The shuffled engine for one precision; included by shuffled.c with REAL, REAL_EXP, REAL_FMA,
 * REAL_TINY and XFT_NAME(base) defined.
 *
 * A sum is a list of terms coefficient * row[lane], evaluated for several lanes (tokens or
 * coordinates) at once in the same order: begin, term, term, ..., sum. Tokens are held
 * transposed, [d][T]. */

typedef struct XFT_NAME(state) {
    xfi_rng rng;
    const xf_model *model;
    xf_attention attention;
    REAL tau;
    int fma_mode;
    int values_first;
    int64_t n_terms;
    REAL *coefficients; /* [capacity] */
    const REAL **rows;  /* [capacity] */
    int fma;            /* of the sum at hand */
    int64_t block_length;
    REAL *partial; /* [TREE_DEPTH][most lanes] */
    int64_t most_lanes;
    REAL *ones;   /* [most lanes] */
    REAL *r;      /* [w][lanes] */
    REAL *y;      /* [d][lanes] */
    REAL *tokens; /* [n_max][d] one sequence */
    REAL *values; /* [n_max][d] V x_l */
    REAL *weight; /* [n_max] */
    REAL *q;      /* [d] */
    REAL *mean;   /* [d] */
} XFT_NAME(state);

static void XFT_NAME(term)(XFT_NAME(state) * s, REAL coefficient, const REAL *row) {
    s->coefficients[s->n_terms] = coefficient;
    s->rows[s->n_terms++] = row;
}

static void XFT_NAME(swap)(XFT_NAME(state) * s, int64_t a, int64_t b) {
    REAL coefficient = s->coefficients[a];
    const REAL *row = s->rows[a];
    s->coefficients[a] = s->coefficients[b];
    s->rows[a] = s->rows[b];
    s->coefficients[b] = coefficient;
    s->rows[b] = row;
}

static void XFT_NAME(shuffle)(XFT_NAME(state) * s, int64_t n) {
    for (int64_t k = n - 1; k > 0; k--)
        XFT_NAME(swap)(s, k, xfi_rng_below(&s->rng, k + 1));
}

/* acc (+)= the terms first .. last-1, one after the other. */
XFT_CLONES static void XFT_NAME(accumulate)(const XFT_NAME(state) * s, REAL *restrict acc,
                                            int fresh, int64_t first, int64_t last, int64_t lanes) {
    for (int64_t k = first; k < last; k++) {
        REAL c = s->coefficients[k];
        const REAL *restrict row = s->rows[k];
        if (fresh && k == first) {
            for (int64_t lane = 0; lane < lanes; lane++)
                acc[lane] = c * row[lane];
        } else if (s->fma) {
#pragma omp simd
            for (int64_t lane = 0; lane < lanes; lane++)
                acc[lane] = REAL_FMA(c, row[lane], acc[lane]);
        } else {
#pragma omp simd
            for (int64_t lane = 0; lane < lanes; lane++)
                acc[lane] += c * row[lane];
        }
    }
}

static void XFT_NAME(add)(REAL *restrict acc, const REAL *restrict other, int64_t lanes) {
    for (int64_t lane = 0; lane < lanes; lane++)
        acc[lane] += other[lane];
}

static void XFT_NAME(sum_blocks)(const XFT_NAME(state) * s, REAL *acc, int64_t n, int64_t lanes) {
    for (int64_t k = 0; k < n; k += s->block_length) {
        int64_t end = n - k < s->block_length ? n : k + s->block_length;
        XFT_NAME(accumulate)(s, k == 0 ? acc : s->partial, 1, k, end, lanes);
        if (k > 0)
            XFT_NAME(add)(acc, s->partial, lanes);
    }
}

static void XFT_NAME(sum_tree)(const XFT_NAME(state) * s, REAL *acc, int64_t first, int64_t last,
                               int64_t lanes, int level) {
    int64_t middle = first + (last - first + 1) / 2;
    if (middle >= last) {
        XFT_NAME(accumulate)(s, acc, 1, first, last, lanes);
        return;
    }
    XFT_NAME(sum_tree)(s, acc, first, middle, lanes, level + 1);
    if (last - middle == 1) {
        XFT_NAME(accumulate)(s, acc, 0, middle, last, lanes);
        return;
    }
    REAL *other = s->partial + level * s->most_lanes;
    XFT_NAME(sum_tree)(s, other, middle, last, lanes, level + 1);
    XFT_NAME(add)(acc, other, lanes);
}

/* Evaluate the terms in an order drawn here; the list is empty afterwards. The first term is
 * the special one. out must not be one of the rows. */
static void XFT_NAME(sum)(XFT_NAME(state) * s, REAL *out, int64_t lanes) {
    uint64_t bits = xfi_rng_bits(&s->rng);
    int64_t n = s->n_terms;
    int apart = n > 1 && (bits & 3) == 0;
    int scheme = (int)((bits >> 8) % N_SCHEMES);
    s->fma = s->fma_mode == XFT_MIXED ? (int)(bits >> 4 & 1) : s->fma_mode;
    s->n_terms = 0;
    if (apart)
        XFT_NAME(swap)(s, 0, --n);
    XFT_NAME(shuffle)(s, n);
    s->block_length = 1 + xfi_rng_below(&s->rng, n);
    if (scheme == SEQUENCE)
        XFT_NAME(accumulate)(s, out, 1, 0, n, lanes);
    else if (scheme == TREE)
        XFT_NAME(sum_tree)(s, out, 0, n, lanes, 0);
    else
        XFT_NAME(sum_blocks)(s, out, n, lanes);
    if (apart)
        XFT_NAME(accumulate)(s, out, 0, n, n + 1, lanes);
}

/* FF on `lanes` tokens; x points at the first of them, coordinates are `stride` apart. */
static void XFT_NAME(feed_forward)(XFT_NAME(state) * s, int64_t block, REAL *x, int64_t stride,
                                   int64_t lanes) {
    const xf_model *m = s->model;
    int64_t d = m->d, w = m->width;
    for (int64_t i = 0; i < w; i++) {
        REAL *r = s->r + i * lanes;
        XFT_NAME(term)(s, (REAL)m->ff_b[block * w + i], s->ones);
        for (int64_t k = 0; k < d; k++)
            XFT_NAME(term)(s, (REAL)m->ff_U[(block * w + i) * d + k], x + k * stride);
        XFT_NAME(sum)(s, r, lanes);
        for (int64_t lane = 0; lane < lanes; lane++)
            r[lane] = r[lane] <= 0 ? 0 : r[lane];
    }
    for (int64_t c = 0; c < d; c++) {
        XFT_NAME(term)(s, (REAL)m->ff_eta[block], x + c * stride);
        for (int64_t i = 0; i < w; i++)
            XFT_NAME(term)(s, (REAL)m->ff_W[(block * d + c) * w + i], s->r + i * lanes);
        XFT_NAME(sum)(s, s->y + c * lanes, lanes);
    }
    for (int64_t c = 0; c < d; c++)
        for (int64_t lane = 0; lane < lanes; lane++)
            x[c * stride + lane] = s->y[c * lanes + lane];
}

/* Entry (c, k) of the materialised matrix, rounded. */
static REAL XFT_NAME(entry)(const xf_low_rank *m, int64_t block, int64_t d, int64_t c, int64_t k) {
    REAL value = (REAL)m->left[block * d + c] * (REAL)m->right[block * d + k];
    if (c == k)
        value += (REAL)m->alpha[block];
    if (m->full != NULL)
        value += (REAL)m->full[(block * d + c) * d + k];
    return value;
}

/* out = [rho base +] M x, all terms of a coordinate in one sum. */
static void XFT_NAME(apply)(XFT_NAME(state) * s, REAL *out, const xf_low_rank *m, int64_t block,
                            const REAL *x, int materialise, REAL rho, const REAL *base) {
    int64_t d = s->model->d;
    REAL projection = 0;
    for (int64_t k = 0; k < d && !materialise; k++)
        XFT_NAME(term)(s, (REAL)m->right[block * d + k], x + k);
    if (!materialise)
        XFT_NAME(sum)(s, &projection, 1);
    for (int64_t c = 0; c < d; c++) {
        if (base != NULL)
            XFT_NAME(term)(s, rho, base + c);
        if (!materialise) {
            XFT_NAME(term)(s, (REAL)m->alpha[block], x + c);
            XFT_NAME(term)(s, (REAL)m->left[block * d + c], &projection);
        }
        for (int64_t k = 0; k < d; k++)
            if (materialise)
                XFT_NAME(term)(s, XFT_NAME(entry)(m, block, d, c, k), x + k);
            else if (m->full != NULL)
                XFT_NAME(term)(s, (REAL)m->full[(block * d + c) * d + k], x + k);
        XFT_NAME(sum)(s, out + c, 1);
    }
}

/* Logits of query i to the first n tokens become 1 on the argmax and 0 elsewhere, or
 * exponentials. */
static void XFT_NAME(weigh)(XFT_NAME(state) * s, int64_t block, int64_t i, int64_t n,
                            int materialise) {
    int64_t d = s->model->d;
    REAL *z = s->weight, largest = -(REAL)INFINITY;
    XFT_NAME(apply)(s, s->q, &s->model->sa_A, block, s->tokens + i * d, materialise, 0, NULL);
    for (int64_t l = 0; l < n; l++) {
        for (int64_t c = 0; c < d; c++)
            XFT_NAME(term)(s, s->q[c], s->tokens + l * d + c);
        XFT_NAME(sum)(s, z + l, 1);
        largest = z[l] > largest ? z[l] : largest;
    }
    for (int64_t l = 0; l < n; l++)
        z[l] = s->attention == XF_HARDMAX ? (REAL)(z[l] == largest)
                                          : REAL_EXP((z[l] - largest) / s->tau);
}

/* mean = sum weight_l rows_l / S over the first n rows. */
static void XFT_NAME(average)(XFT_NAME(state) * s, const REAL *rows, int64_t n) {
    int64_t d = s->model->d, mode = xfi_rng_below(&s->rng, N_MEANS);
    REAL S = 0;
    for (int64_t l = 0; l < n; l++)
        XFT_NAME(term)(s, s->weight[l], s->ones);
    XFT_NAME(sum)(s, &S, 1);
    for (int64_t l = 0; l < n; l++)
        XFT_NAME(term)(s, mode == EACH_TERM ? s->weight[l] / S : s->weight[l], rows + l * d);
    XFT_NAME(sum)(s, s->mean, d);
    for (int64_t c = 0; c < d && mode != EACH_TERM; c++)
        s->mean[c] = mode == DIVIDE ? s->mean[c] / S : s->mean[c] * ((REAL)1 / S);
}

/* SA on one sequence of n tokens at x; coordinates are `stride` apart. */
static void XFT_NAME(attend)(XFT_NAME(state) * s, int64_t block, REAL *x, int64_t stride,
                             int64_t n) {
    const xf_model *m = s->model;
    int64_t d = m->d, bits = xfi_rng_below(&s->rng, 8);
    int zero_a = matrix_is_zero(&m->sa_A, block, d), values_first = s->values_first && (bits & 4);
    REAL rho = (REAL)m->sa_rho[block], one = 1;
    for (int64_t l = 0; l < n * d; l++)
        s->tokens[l] = x[l % d * stride + l / d];
    for (int64_t l = 0; l < n && values_first; l++)
        XFT_NAME(apply)
    (s, s->values + l * d, &m->sa_V, block, s->tokens + l * d, bits & 1, 0, NULL);
    for (int64_t i = 0; i < n; i++) {
        int64_t visible = m->causal ? i + 1 : n;
        for (int64_t l = 0; l < n && zero_a; l++)
            s->weight[l] = 1;
        if (!zero_a)
            XFT_NAME(weigh)(s, block, i, visible, (bits & 2) != 0);
        XFT_NAME(average)(s, values_first ? s->values : s->tokens, visible);
        const REAL *token = s->tokens + i * d;
        for (int64_t c = 0; c < d && values_first; c++) {
            XFT_NAME(term)(s, rho, token + c);
            XFT_NAME(term)(s, one, s->mean + c);
            XFT_NAME(sum)(s, s->y + c, 1);
        }
        if (!values_first)
            XFT_NAME(apply)(s, s->y, &m->sa_V, block, s->mean, bits & 1, rho, token);
        for (int64_t c = 0; c < d; c++)
            x[c * stride + i] = s->y[c];
    }
}

static void XFT_NAME(attention_layer)(XFT_NAME(state) * s, int64_t block, REAL *x,
                                      const xf_dataset *input) {
    int64_t T = input->n_tokens;
    REAL rho = (REAL)s->model->sa_rho[block];
    if (matrix_is_zero(&s->model->sa_V, block, s->model->d)) {
        for (int64_t k = 0; k < T * s->model->d; k++)
            x[k] *= rho;
        return;
    }
    for (int64_t j = 0; j < input->n_sequences; j++)
        XFT_NAME(attend)
    (s, block, x + input->x_offsets[j], T, input->x_offsets[j + 1] - input->x_offsets[j]);
}

static void XFT_NAME(layers)(XFT_NAME(state) * s, REAL *x, const xf_dataset *input, int64_t lanes) {
    int64_t T = input->n_tokens;
    for (int64_t layer = 0; layer < 2 * s->model->n_blocks; layer++) {
        int is_attention = (layer & 1) == (s->model->order == XF_FF_SA);
        if (is_attention)
            XFT_NAME(attention_layer)(s, layer / 2, x, input);
        for (int64_t t = 0; t < T && !is_attention; t += lanes)
            XFT_NAME(feed_forward)(s, layer / 2, x + t, T, T - t < lanes ? T - t : lanes);
    }
}

static int XFT_NAME(allocate)(XFT_NAME(state) * s, int64_t n_max, int64_t lanes) {
    int64_t d = s->model->d, w = s->model->width, capacity = 2 * d + w + n_max + 4;
    s->most_lanes = lanes > d ? lanes : d;
    s->coefficients = xfi_calloc(capacity, sizeof(REAL));
    s->rows = xfi_calloc(capacity, sizeof(REAL *));
    s->partial = xfi_calloc2(TREE_DEPTH, s->most_lanes, sizeof(REAL));
    s->ones = xfi_calloc(s->most_lanes, sizeof(REAL));
    s->r = xfi_calloc2(w, lanes, sizeof(REAL));
    s->y = xfi_calloc2(d, lanes, sizeof(REAL));
    s->tokens = xfi_calloc2(n_max, d, sizeof(REAL));
    s->values = xfi_calloc2(n_max, d, sizeof(REAL));
    s->weight = xfi_calloc(n_max, sizeof(REAL));
    s->q = xfi_calloc(d, sizeof(REAL));
    s->mean = xfi_calloc(d, sizeof(REAL));
    for (int64_t lane = 0; lane < s->most_lanes && s->ones != NULL; lane++)
        s->ones[lane] = 1;
    return s->coefficients && s->rows && s->partial && s->ones && s->r && s->y && s->tokens &&
           s->values && s->weight && s->q && s->mean;
}

static void XFT_NAME(release)(XFT_NAME(state) * s) {
    xfi_free(s->coefficients);
    xfi_free(s->rows);
    xfi_free(s->partial);
    xfi_free(s->ones);
    xfi_free(s->r);
    xfi_free(s->y);
    xfi_free(s->tokens);
    xfi_free(s->values);
    xfi_free(s->weight);
    xfi_free(s->q);
    xfi_free(s->mean);
}

/* Returns 0 if memory runs out. */
static int XFT_NAME(evaluate)(double *out, const xf_model *model, const xf_dataset *input,
                              const xft_shuffle *options) {
    REAL tau = (REAL)(options->tau > 0 ? options->tau : model->tau);
    XFT_NAME(state)
    s = {.model = model,
         .attention = options->override_attention ? options->attention : model->attention,
         .tau = tau > 0 ? tau : REAL_TINY,
         .fma_mode = options->fma,
         .values_first = options->values_first};
    int64_t T = input->n_tokens, d = model->d;
    int64_t lanes = options->tokens_per_order > 0 ? options->tokens_per_order : DEFAULT_LANES;
    xfi_rng_seed(&s.rng, options->seed, 0);
    REAL *x = xfi_calloc2(T, d, sizeof(REAL));
    int ok = XFT_NAME(allocate)(&s, longest(input), lanes) && x != NULL;
    for (int64_t k = 0; ok && k < T * d; k++)
        x[k % d * T + k / d] = (REAL)input->x[k];
    if (ok)
        XFT_NAME(layers)(&s, x, input, lanes);
    for (int64_t k = 0; ok && k < T * d; k++)
        out[k] = (double)x[k % d * T + k / d];
    XFT_NAME(release)(&s);
    xfi_free(x);
    return ok;
}

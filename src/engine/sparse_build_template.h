/* From dense arrays to nonzeros, for one precision; included by sparse_build.c with REAL,
 * REAL_BITS, REAL_MAX and XFI_NAME(base) defined. */

/* --- thresholds: where relu(u x + b) starts to be active ------------------------------- */

/* Numbers of the format in ascending order are consecutive integers, 0 for both zeros. */
static int64_t XFI_NAME(ordinal)(REAL x) {
    REAL_BITS bits;
    memcpy(&bits, &x, sizeof bits);
    const REAL_BITS lowest = (REAL_BITS)((REAL_BITS)1 << (8 * sizeof bits - 2)) * -2;
    return bits < 0 ? (int64_t)(lowest - bits) : (int64_t)bits;
}

static REAL XFI_NAME(from_ordinal)(int64_t ordinal) {
    const REAL_BITS lowest = (REAL_BITS)((REAL_BITS)1 << (8 * sizeof(REAL_BITS) - 2)) * -2;
    REAL_BITS bits = ordinal < 0 ? (REAL_BITS)(lowest - ordinal) : (REAL_BITS)ordinal;
    REAL x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Is the pre-activation, as it is computed, at most 0? Monotone in the number: for u > 0 yes below
 * some number and no above it, as rounding is monotone. */
static int XFI_NAME(is_inactive)(REAL u, REAL b, int64_t ordinal) {
    REAL a = u * XFI_NAME(from_ordinal)(ordinal);
    a += b;
    return a <= 0;
}

/* For u > 0 the largest finite x at which the neuron is inactive, or -infinity. Found by steps of
 * growing size from -b/u and by bisection, on the computed function itself. */
static REAL XFI_NAME(last_inactive)(REAL u, REAL b) {
    const int64_t end = XFI_NAME(ordinal)(REAL_MAX);
    int64_t low = -end - 1, high = end + 1; /* inactive, active: by definition there */
    *(b <= 0 ? &low : &high) = 0;           /* what happens at 0; halves the range */
    REAL guess = -b / u;
    int64_t at = guess > REAL_MAX ? end : guess < -REAL_MAX ? -end : XFI_NAME(ordinal)(guess);
    if (at <= low || at >= high)
        at = low + (high - low) / 2;
    int first = XFI_NAME(is_inactive)(u, b, at), now = first;
    *(now ? &low : &high) = at;
    for (int64_t step = 1; now == first && step < (now ? high - at : at - low); step *= 2) {
        at += now ? step : -step;
        now = XFI_NAME(is_inactive)(u, b, at);
        *(now ? &low : &high) = at;
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(XFI_NAME(is_inactive)(u, b, middle) ? &low : &high) = middle;
    }
    return low < -end ? -(REAL)INFINITY : XFI_NAME(from_ordinal)(low);
}

/* Active iff x > *above or x < *below. */
static void XFI_NAME(threshold)(double *above, double *below, REAL u, REAL b) {
    REAL theta = XFI_NAME(last_inactive)(u > 0 ? u : -u, b);
    *above = u > 0 ? (double)theta : INFINITY;
    *below = u > 0 ? -INFINITY : -(double)theta;
}

/* --- counting and copying ---------------------------------------------------------------- */

/* Is this many of d to be read from the dense array? */
static int XFI_NAME(is_whole)(int64_t n, int64_t d) {
    return n >= 2 && 2 * n > d;
}

/* Nonzeros of row i of U. */
static int64_t XFI_NAME(count_inputs)(const REAL *U, int64_t i, int64_t d) {
    int64_t n = 0;
    for (int64_t k = 0; k < d; k++)
        n += U[i * d + k] != 0;
    return n;
}

/* Nonzeros of column i of W. */
static int64_t XFI_NAME(count_outputs)(const REAL *W, int64_t i, int64_t d, int64_t w) {
    int64_t n = 0;
    for (int64_t c = 0; c < d; c++)
        n += W[c * w + i] != 0;
    return n;
}

/* Has every row of W a weight without a minus sign? */
static int XFI_NAME(cleans)(const REAL *W, int64_t d, int64_t w) {
    for (int64_t c = 0; c < d; c++) {
        int positive = 0;
        for (int64_t i = 0; i < w; i++)
            positive |= !signbit(W[c * w + i]);
        if (!positive)
            return 0;
    }
    return 1;
}

static void XFI_NAME(scan_block)(xfi_block_shape *shape, const xfi_weights *weights,
                                 int64_t block) {
    int64_t d = weights->d, w = weights->width, n_read = 0;
    const REAL *U = (const REAL *)weights->U + block * w * d;
    const REAL *W = (const REAL *)weights->W + block * d * w;
    const REAL *b = (const REAL *)weights->b + block * w;
    *shape = (xfi_block_shape){.always = ((const REAL *)weights->eta)[block] != 1,
                               .cleans = (char)XFI_NAME(cleans)(W, d, w)};
    for (int64_t i = 0; i < w; i++) {
        int64_t n_inputs = XFI_NAME(count_inputs)(U, i, d);
        if (n_inputs == 0 && !(b[i] > 0))
            continue;
        int64_t n_outputs = XFI_NAME(count_outputs)(W, i, d, w);
        shape->always |= n_inputs == 0;
        shape->n_neurons++;
        shape->n_inputs += XFI_NAME(is_whole)(n_inputs, d) ? 0 : (int32_t)n_inputs;
        shape->n_outputs += XFI_NAME(is_whole)(n_outputs, d) ? 0 : (int32_t)n_outputs;
        n_read += n_inputs > 1 ? n_inputs : 0;
    }
    shape->heavy = d >= 8 && 2 * n_read > d * w;
}

/* The neurons of one layer to out->neurons from `neuron` on, their terms from `term` on;
 * above, below [n_neurons of the stretch]. */
static void XFI_NAME(fill_layer)(xfi_sparse *out, const xfi_weights *weights, int64_t block,
                                 int64_t neuron, int64_t term, double *above, double *below) {
    int64_t d = weights->d, w = weights->width;
    const REAL *U = (const REAL *)weights->U + block * w * d;
    const REAL *W = (const REAL *)weights->W + block * d * w;
    const REAL *b = (const REAL *)weights->b + block * w;
    for (int64_t i = 0; i < w; i++) {
        int64_t n_inputs = XFI_NAME(count_inputs)(U, i, d);
        if (n_inputs == 0 && !(b[i] > 0))
            continue;
        int64_t n_outputs = XFI_NAME(count_outputs)(W, i, d, w);
        xfi_sparse_neuron *n = &out->neurons[neuron];
        *n = (xfi_sparse_neuron){.bias = (double)b[i],
                                 .row = block * w + i,
                                 .n_inputs = XFI_WHOLE,
                                 .n_outputs = XFI_WHOLE};
        n->input = term;
        if (!XFI_NAME(is_whole)(n_inputs, d)) {
            n->n_inputs = (int32_t)n_inputs;
            for (int64_t k = 0; k < d; k++)
                if (U[i * d + k] != 0)
                    out->terms[term++] = (xfi_term){(double)U[i * d + k], k};
        }
        n->output = term;
        if (!XFI_NAME(is_whole)(n_outputs, d)) {
            n->n_outputs = (int32_t)n_outputs;
            for (int64_t c = 0; c < d; c++)
                if (W[c * w + i] != 0)
                    out->terms[term++] = (xfi_term){(double)W[c * w + i], c};
        }
        if (n_inputs == 1)
            XFI_NAME(threshold)
        (&above[neuron], &below[neuron], U[i * d + out->terms[n->input].at], b[i]);
        neuron++;
    }
}

/* Weight k of a neuron's row. */
static double XFI_NAME(weight_at)(const xfi_weights *weights, int64_t row, int64_t k) {
    return (double)((const REAL *)weights->U)[row * weights->d + k];
}

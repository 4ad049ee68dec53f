/* The naive engine for one precision; included by literal.c. */

static void XFT_NAME(feed_forward)(const xf_model *m, int64_t b, REAL *x) {
    int64_t d = m->d, w = m->width;
    REAL r[64];
    for (int64_t i = 0; i < w; i++) {
        REAL a = (REAL)m->ff_U[(b * w + i) * d] * x[0];
        for (int64_t k = 1; k < d; k++)
            a = a + (REAL)m->ff_U[(b * w + i) * d + k] * x[k];
        a = a + (REAL)m->ff_b[b * w + i];
        r[i] = isnan(a) ? a : a > 0 ? a : 0;
    }
    for (int64_t c = 0; c < d; c++) {
        REAL y = (REAL)m->ff_eta[b] * x[c];
        for (int64_t i = 0; i < w; i++)
            y = y + (REAL)m->ff_W[(b * d + c) * w + i] * r[i];
        x[c] = y;
    }
}

static void XFT_NAME(apply)(REAL *out, const xf_low_rank *m, int64_t b, int64_t d, const REAL *x) {
    REAL s = (REAL)m->right[b * d] * x[0];
    for (int64_t k = 1; k < d; k++)
        s = s + (REAL)m->right[b * d + k] * x[k];
    for (int64_t c = 0; c < d; c++) {
        out[c] = (REAL)m->alpha[b] * x[c];
        out[c] = out[c] + (REAL)m->left[b * d + c] * s;
        for (int64_t k = 0; m->full != NULL && k < d; k++)
            out[c] = out[c] + (REAL)m->full[(b * d + c) * d + k] * x[k];
    }
}

/* mean [d] over the first n tokens with logits z [n]. */
static void XFT_NAME(hardmax)(REAL *mean, const REAL *x, const REAL *z, int64_t n, int64_t d) {
    REAL largest = z[0];
    int64_t count = 0;
    for (int64_t l = 0; l < n; l++)
        largest = z[l] > largest ? z[l] : largest;
    for (int64_t l = 0; l < n; l++)
        if (z[l] == largest) {
            for (int64_t c = 0; c < d; c++)
                mean[c] = count == 0 ? x[l * d + c] : mean[c] + x[l * d + c];
            count++;
        }
    for (int64_t c = 0; c < d; c++)
        mean[c] = mean[c] / (REAL)count;
}

static void XFT_NAME(softmax)(REAL *mean, const REAL *x, REAL *z, int64_t n, int64_t d, REAL tau) {
    REAL largest = z[0], sum = 0;
    for (int64_t l = 0; l < n; l++)
        largest = z[l] > largest ? z[l] : largest;
    for (int64_t l = 0; l < n; l++) {
        z[l] = REAL_EXP((z[l] - largest) / tau);
        sum = sum + z[l];
    }
    for (int64_t c = 0; c < d; c++) {
        mean[c] = z[0] / sum * x[c];
        for (int64_t l = 1; l < n; l++)
            mean[c] = mean[c] + z[l] / sum * x[l * d + c];
    }
}

/* y [n][d] = SA x; scratch [n + 3 d]. */
static void XFT_NAME(attend)(REAL *y, const xf_model *m, int64_t b, const REAL *x, int64_t n,
                             REAL *scratch) {
    int64_t d = m->d;
    REAL *q = scratch, *mean = q + d, *v = mean + d, *z = v + d;
    for (int64_t i = 0; i < n; i++) {
        int64_t visible = m->causal ? i + 1 : n;
        XFT_NAME(apply)(q, &m->sa_A, b, d, x + i * d);
        for (int64_t l = 0; l < visible; l++) {
            z[l] = q[0] * x[l * d];
            for (int64_t c = 1; c < d; c++)
                z[l] = z[l] + q[c] * x[l * d + c];
        }
        if (m->attention == XF_HARDMAX)
            XFT_NAME(hardmax)(mean, x, z, visible, d);
        else
            XFT_NAME(softmax)(mean, x, z, visible, d, (REAL)m->tau);
        XFT_NAME(apply)(v, &m->sa_V, b, d, mean);
        for (int64_t c = 0; c < d; c++)
            y[i * d + c] = (REAL)m->sa_rho[b] * x[i * d + c] + v[c];
    }
}

static void XFT_NAME(sequence)(REAL *x, REAL *y, const xf_model *m, int64_t n, REAL *scratch) {
    for (int64_t layer = 0; layer < 2 * m->n_blocks; layer++) {
        if ((layer & 1) != (m->order == XF_FF_SA)) {
            for (int64_t i = 0; i < n; i++)
                XFT_NAME(feed_forward)(m, layer / 2, x + i * m->d);
            continue;
        }
        XFT_NAME(attend)(y, m, layer / 2, x, n, scratch);
        for (int64_t k = 0; k < n * m->d; k++)
            x[k] = y[k];
    }
}

static int XFT_NAME(run)(double *out, const xf_model *m, const xf_dataset *input) {
    int64_t T = input->n_tokens, d = m->d;
    REAL *x = xfi_calloc2(T, d, sizeof(REAL)), *y = xfi_calloc2(T, d, sizeof(REAL));
    REAL *scratch = xfi_calloc(T + 3 * d, sizeof(REAL));
    int ok = x != NULL && y != NULL && scratch != NULL && m->width <= 64;
    for (int64_t k = 0; ok && k < T * d; k++)
        x[k] = (REAL)input->x[k];
    for (int64_t j = 0; ok && j < input->n_sequences; j++)
        XFT_NAME(sequence)
    (x + input->x_offsets[j] * d, y, m, input->x_offsets[j + 1] - input->x_offsets[j], scratch);
    for (int64_t k = 0; ok && k < T * d; k++)
        out[k] = (double)x[k];
    xfi_free(x);
    xfi_free(y);
    xfi_free(scratch);
    return ok;
}

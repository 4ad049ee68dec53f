/* Logits of a query: who leads, by how much at least and at most, in every evaluation. The bounds
 * are computed in binary64 and inflated; ties that these leave open are for cert_logit_exact.c. */
#include "certify/cert_logit.h"

void xfi_logit_keys(xfi_mix *mix) {
    for (int64_t l = 0; l < mix->tokens->n; l++) {
        xfi_box box = xfi_token_box(mix->tokens, l, mix->d);
        for (int64_t k = 0; k < mix->d; k++) {
            double middle = box.low[k] / 2 + box.high[k] / 2;
            mix->key[l * mix->d + k] = middle;
            mix->key_radius[l * mix->d + k] =
                fmax(box.high[k] - middle, middle - box.low[k]) * XFI_MIX_INFLATE;
        }
    }
}

/* y = A x_i as centres, radii and upper bounds of the size of all that is added up. */
static void set_query(xfi_mix *mix, int64_t i) {
    const xfi_square *A = &mix->sa->A;
    int64_t d = mix->d;
    const double *x = mix->key + i * d, *r = mix->key_radius + i * d;
    double s = 0.0, s_size = 0.0, s_radius = 0.0;
    double own =
        xfi_is_scaling(A) && xfi_is_power_of_two(A->alpha) ? 0.0 : 0x1p-52 * (double)(3 * d + 6);
    mix->query_reach = 1.0;
    for (int64_t k = 0; k < d; k++) {
        mix->query_reach = fmax(mix->query_reach, (fabs(x[k]) + r[k]) * XFI_MIX_INFLATE);
        s += A->right[k] * x[k];
        s_radius += fabs(A->right[k]) * r[k];
        s_size += fabs(A->right[k]) * (fabs(x[k]) + r[k]);
    }
    for (int64_t c = 0; c < d; c++) {
        double y = A->alpha * x[c] + A->left[c] * s;
        double size = fabs(A->alpha) * (fabs(x[c]) + r[c]) + fabs(A->left[c]) * s_size;
        double radius = fabs(A->alpha) * r[c] + fabs(A->left[c]) * s_radius;
        for (int64_t k = 0; A->full != NULL && k < d; k++) {
            double a = A->full[c * d + k];
            y += a * x[k];
            size += fabs(a) * (fabs(x[k]) + r[k]);
            radius += fabs(a) * r[k];
        }
        mix->query[c] = y;
        mix->query_size[c] = size * XFI_MIX_INFLATE;
        mix->query_radius[c] = (radius + own * size) * XFI_MIX_INFLATE;
    }
}

/* Roundings that a product of a logit may pass in the model, with the subtraction of the maximum
 * and the division by tau. */
static double logit_roundings(const xfi_square *A, int64_t d) {
    int is_scaling = xfi_is_scaling(A);
    double q = (double)d + 5 + (is_scaling && xfi_is_power_of_two(A->alpha) ? 0 : 1);
    return is_scaling ? q : q + A->n_right + 3 + (double)(A->full != NULL ? d : 0);
}

/* Bounds of (logit of best) - (logit of l), in every evaluation. */
static void bound_gap(xfi_mix *mix, int64_t best, int64_t l) {
    int64_t d = mix->d;
    const double *a = mix->key + best * d, *ar = mix->key_radius + best * d;
    const double *b = mix->key + l * d, *br = mix->key_radius + l * d;
    double gap = 0.0, own = 0.0, loose = 0.0, size = 0.0, count = 0.0;
    for (int64_t k = 0; k < d; k++) {
        double y = mix->query[k];
        gap += y * (a[k] - b[k]);
        own += fabs(y) * (fabs(a[k]) + fabs(b[k]));
        loose += mix->query_radius[k] * fabs(a[k] - b[k]) +
                 (fabs(y) + mix->query_radius[k]) * (ar[k] + br[k]);
        size += mix->query_size[k] * (fabs(a[k]) + ar[k] + fabs(b[k]) + br[k]);
        count += fabs(a[k]) + ar[k] + fabs(b[k]) + br[k] + 2.0;
    }
    double bound = loose + own * 0x1p-52 * (double)(d + 4) + 0x1p-1060;
    if (mix->sense->ieee) {
        const xfi_format *format = &mix->sense->format;
        bound += xfi_gamma(format, logit_roundings(&mix->sa->A, d)) * size;
        /* What underflowed is multiplied by an entry of left, or (an entry of A) of x_i, and by one
         * of the keys. */
        double factor = mix->query_reach;
        for (int64_t k = 0; k < d; k++)
            factor = fmax(factor, fabs(mix->sa->A.left[k]) + fabs(mix->sa->A.right[k]));
        bound += (double)(4 * d + 8) * format->smallest * count * factor;
    }
    bound *= XFI_MIX_INFLATE;
    mix->gap_low[l] = gap - bound;
    mix->gap_high[l] = gap + bound;
}

/* The token with the largest logit at the centres. */
static int64_t find_best(const xfi_mix *mix, int64_t n) {
    int64_t best = 0;
    double most = -INFINITY;
    for (int64_t l = 0; l < n; l++) {
        double z = 0.0;
        for (int64_t k = 0; k < mix->d; k++)
            z += mix->query[k] * mix->key[l * mix->d + k];
        if (z > most) {
            most = z;
            best = l;
        }
    }
    return best;
}

/* Finite logits, exponents and scalar products. */
static void check_logits(const xfi_mix *mix, int64_t n, xfi_log *log) {
    for (int64_t l = 0; l < n; l++)
        if (!isfinite(mix->gap_low[l]) || !isfinite(mix->gap_high[l]))
            log->is_lost = 1;
    double query = 0.0, key = 0.0;
    for (int64_t k = 0; k < mix->d; k++)
        query += mix->query_size[k];
    for (int64_t k = 0; k < n * mix->d; k++)
        key = fmax(key, fabs(mix->key[k]) + mix->key_radius[k]);
    if (mix->sense->ieee && !(query * fmax(key, 1.0) < ldexp(1.0, mix->sense->format.emax - 2)))
        log->is_lost = 1;
}

int64_t xfi_logit_gaps(xfi_mix *mix, int64_t i, int64_t n, xfi_log *log) {
    set_query(mix, i);
    int64_t best = find_best(mix, n);
    for (int64_t l = 0; l < n; l++) {
        double gap = 0.0;
        bound_gap(mix, best, l);
        if (l != best && !(mix->gap_low[l] > 0.0) && xfi_logit_exact_gap(mix, i, best, l, &gap))
            mix->gap_low[l] = mix->gap_high[l] = gap;
    }
    mix->gap_low[best] = mix->gap_high[best] = 0.0;
    check_logits(mix, n, log);
    return best;
}

void xfi_logit_note_subnormals(const xfi_mix *mix, xfi_log *log) {
    const xfi_square *A = &mix->sa->A;
    int64_t d = mix->d;
    int32_t e = 0, left = 0, right = 0, x = 0;
    e = xfi_exponent_of(A->alpha) < 0 ? xfi_exponent_of(A->alpha) : 0;
    for (int64_t k = 0; k < d; k++) {
        int32_t a = xfi_exponent_of(A->left[k]), b = xfi_exponent_of(A->right[k]);
        left = a < left ? a : left;
        right = b < right ? b : right;
    }
    for (int64_t k = 0; A->full != NULL && k < d * d; k++) {
        int32_t a = xfi_exponent_of(A->full[k]);
        e = a < e ? a : e;
    }
    int64_t n = mix->tokens->n_states;
    for (int64_t i = 0; i < n * d; i++)
        x = mix->tokens->exponent[i] < x ? mix->tokens->exponent[i] : x;
    e = left + right < e ? left + right : e;
    if (mix->sense->ieee && e + 2 * x < mix->sense->format.emin)
        log->may_be_subnormal = 1;
}

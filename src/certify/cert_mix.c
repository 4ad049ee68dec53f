/* Means, values, and who is attended to. */
#include "certify/cert_mix.h"

#include "base/alloc.h"

/* Covers the rounding of bounds that are computed in binary64 here: sums of at most 2^20 terms. */
static const double INFLATE = 1.0 + 0x1p-30;

int xfi_mix_init(xfi_mix *mix, const xfi_sense *sense, const xfi_heat *heat, const xf_model *model,
                 int64_t n_max) {
    int64_t d = model->d;
    *mix =
        (xfi_mix){.sense = sense, .heat = *heat, .d = d, .n_max = n_max, .causal = model->causal};
    int ok = xfi_sum_init(&mix->sum, sense, (int)(2 * d + 3), 0);
    arf_struct *scalars[] = {mix->low,  mix->high,  mix->positive, mix->negative,
                             mix->size, mix->value, mix->weight};
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
        arf_init(scalars[i]);
    double **rows[] = {&mix->mean_low, &mix->mean_high, &mix->query, &mix->query_radius,
                       &mix->query_size};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ok = (*rows[i] = xfi_calloc(d, sizeof(double))) != NULL && ok;
    double **lists[] = {&mix->gap_low, &mix->gap_high, &mix->weight_low, &mix->weight_high};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        ok = (*lists[i] = xfi_calloc(n_max, sizeof(double))) != NULL && ok;
    mix->key = xfi_calloc2(n_max, d, sizeof(double));
    mix->key_radius = xfi_calloc2(n_max, d, sizeof(double));
    mix->core = xfi_calloc2(2, d, sizeof(double));
    mix->mean_exponent = xfi_calloc(d, sizeof(int32_t));
    mix->chosen = xfi_calloc(n_max, sizeof(int64_t));
    mix->to_low = xfi_calloc(n_max, sizeof(double *));
    mix->to_high = xfi_calloc(n_max, sizeof(double *));
    return ok && mix->key && mix->key_radius && mix->core && mix->mean_exponent && mix->chosen &&
           mix->to_low && mix->to_high;
}

void xfi_mix_clear(xfi_mix *mix) {
    xfi_sum_clear(&mix->sum);
    arf_struct *scalars[] = {mix->low,  mix->high,  mix->positive, mix->negative,
                             mix->size, mix->value, mix->weight};
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
        arf_clear(scalars[i]);
    void *blocks[] = {mix->mean_low,      mix->mean_high, mix->query,      mix->query_radius,
                      mix->query_size,    mix->gap_low,   mix->gap_high,   mix->weight_low,
                      mix->weight_high,   mix->key,       mix->key_radius, mix->core,
                      mix->mean_exponent, mix->chosen,    mix->to_low,     mix->to_high};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        xfi_free(blocks[i]);
}

static int log2_up(int64_t n) {
    int c = 0;
    while (((int64_t)1 << c) < n)
        c++;
    return c;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* Coordinate k of the chosen tokens (NULL: the first n), added up: the ends in mix->low and
 * mix->high, the parts in positive, negative and size. Returns the least exponent; *nonzero counts
 * the tokens where it is not the point 0. */
static int32_t add_tokens(xfi_mix *mix, const int64_t *chosen, int64_t n, int64_t k,
                          int64_t *nonzero) {
    int32_t e = XFI_EXPONENT_OF_ZERO;
    arf_zero(mix->low);
    arf_zero(mix->high);
    arf_zero(mix->positive);
    arf_zero(mix->negative);
    arf_zero(mix->size);
    *nonzero = 0;
    for (int64_t i = 0; i < n; i++) {
        xfi_box box = xfi_token_box(mix->tokens, chosen != NULL ? chosen[i] : i, mix->d);
        if (box.low[k] == 0.0 && box.high[k] == 0.0)
            continue;
        ++*nonzero;
        e = box.exponent[k] < e ? box.exponent[k] : e;
        arf_set_d(mix->value, box.low[k]);
        arf_set_d(mix->weight, box.high[k]);
        xfi_arf_plus(mix->low, mix->low, mix->value);
        xfi_arf_plus(mix->high, mix->high, mix->weight);
        if (box.low[k] < 0.0)
            xfi_arf_plus(mix->negative, mix->negative, mix->value);
        if (box.high[k] > 0.0)
            xfi_arf_plus(mix->positive, mix->positive, mix->weight);
        xfi_arf_add_size(mix->size, mix->value, mix->weight);
    }
    return e;
}

/* Is the sum in mix exact in every order? C-grid. */
static int sum_on_grid(const xfi_mix *mix, int32_t e, int64_t nonzero) {
    slong limit = mix->sense->format.p + (slong)e;
    return nonzero <= 1 ||
           (e >= mix->sense->least && arf_cmpabs_2exp_si(mix->positive, limit) <= 0 &&
            arf_cmpabs_2exp_si(mix->negative, limit) <= 0);
}

/* Divide the sums in mix by n, with what rounding may add. Returns the exponent of the mean. */
static int32_t divide(xfi_mix *mix, int32_t e, int64_t n, int64_t nonzero, xfi_log *log) {
    const xfi_sense *sense = mix->sense;
    int c = log2_up(n), is_power = ((int64_t)1 << c) == n;
    int exact = is_power && sum_on_grid(mix, e, nonzero) && e - c >= sense->least;
    arf_div_ui(mix->low, mix->low, (ulong)n, 128, ARF_RND_FLOOR);
    arf_div_ui(mix->high, mix->high, (ulong)n, 128, ARF_RND_CEIL);
    if (!sense->ieee)
        return 0;
    int32_t kept = is_power ? e - c : e - c - sense->format.p;
    if (kept < sense->format.emin)
        log->may_be_subnormal = 1;
    if (exact)
        return e - c;
    double gamma = xfi_gamma(&sense->format, (double)(n - 1) + (is_power ? 0 : 2));
    arf_set_d(mix->value, gamma);
    arf_mul(mix->size, mix->size, mix->value, 64, ARF_RND_UP);
    arf_div_ui(mix->size, mix->size, (ulong)n, 64, ARF_RND_UP);
    if (kept < sense->least) {
        arf_set_d(mix->value, (double)(n + 2) * sense->format.smallest);
        arf_add(mix->size, mix->size, mix->value, 64, ARF_RND_UP);
    }
    arf_sub(mix->low, mix->low, mix->size, ARF_PREC_EXACT, ARF_RND_DOWN);
    xfi_arf_plus(mix->high, mix->high, mix->size);
    return larger(kept, sense->least);
}

static void set_interval(xfi_mix *mix, double *low, double *high, int32_t *exponent, int32_t kept,
                         xfi_log *log) {
    const xfi_sense *sense = mix->sense;
    *low = xfi_lower_end(sense, mix->low) + 0.0;
    *high = xfi_upper_end(sense, mix->high) + 0.0;
    if (!isfinite(*low) || !isfinite(*high) || *low > *high) {
        log->is_lost = 1;
        *low = *high = 0.0;
    }
    *exponent = sense->ieee ? larger(kept, xfi_interval_exponent(sense, *low, *high)) : 0;
}

/* C-mean over the chosen tokens (NULL: the first n). */
static void average(xfi_mix *mix, const int64_t *chosen, int64_t n, xfi_log *log) {
    if (n == 1) {
        xfi_box box = xfi_token_box(mix->tokens, chosen != NULL ? chosen[0] : 0, mix->d);
        xfi_box_copy((xfi_box){mix->mean_low, mix->mean_high, mix->mean_exponent}, box, mix->d);
        return;
    }
    for (int64_t k = 0; k < mix->d; k++) {
        int64_t nonzero = 0;
        int32_t e = add_tokens(mix, chosen, n, k, &nonzero);
        if (nonzero == 0) {
            mix->mean_low[k] = mix->mean_high[k] = 0.0;
            mix->mean_exponent[k] = XFI_EXPONENT_OF_ZERO;
            continue;
        }
        if (mix->sense->ieee && arf_cmpabs_2exp_si(mix->size, mix->sense->format.emax) >= 0)
            log->is_lost = 1;
        int32_t kept = divide(mix, e, n, nonzero, log);
        set_interval(mix, &mix->mean_low[k], &mix->mean_high[k], &mix->mean_exponent[k], kept, log);
    }
}

/* The mean of some of the chosen tokens, it is not known which. */
static void average_of_some(xfi_mix *mix, int64_t n, xfi_log *log) {
    double gamma = xfi_gamma(&mix->sense->format, (double)n + 1);
    for (int64_t k = 0; k < mix->d; k++) {
        double low = INFINITY, high = -INFINITY, sum = 0.0;
        for (int64_t i = 0; i < n; i++) {
            xfi_box box = xfi_token_box(mix->tokens, mix->chosen[i], mix->d);
            low = fmin(low, box.low[k]);
            high = fmax(high, box.high[k]);
            sum += fmax(fabs(box.low[k]), fabs(box.high[k]));
        }
        arf_set_d(mix->low, low);
        arf_set_d(mix->high, high);
        if (mix->sense->ieee && (low != 0.0 || high != 0.0)) {
            if (!(sum * INFLATE < ldexp(1.0, mix->sense->format.emax)))
                log->is_lost = 1;
            double most = gamma * fmax(fabs(low), fabs(high)) * INFLATE +
                          (double)(n + 2) * mix->sense->format.smallest;
            arf_set_d(mix->value, most);
            arf_sub(mix->low, mix->low, mix->value, ARF_PREC_EXACT, ARF_RND_DOWN);
            xfi_arf_plus(mix->high, mix->high, mix->value);
        }
        set_interval(mix, &mix->mean_low[k], &mix->mean_high[k], &mix->mean_exponent[k],
                     mix->sense->least, log);
    }
    log->may_be_subnormal = 1;
}

/* Append weight * [low, high]. */
static xfi_term *append_value(xfi_mix *mix, const arf_t weight, int32_t weight_exponent,
                              int power_of_two, double low, double high, int32_t exponent) {
    if (low == 0.0 && high == 0.0)
        return NULL;
    arf_ptr form = NULL, loose_low = NULL, loose_high = NULL;
    xfi_term *term = xfi_sum_append(&mix->sum, &form, &loose_low, &loose_high);
    arf_zero(term->low);
    arf_zero(term->high);
    xfi_add_range(term->low, term->high, weight, low, high);
    if (loose_low != NULL) {
        arf_set(loose_low, term->low);
        arf_set(loose_high, term->high);
    }
    term->exponent = weight_exponent + exponent;
    term->inexact = !xfi_product_is_exact(mix->sense, term, power_of_two);
    return term;
}

static void append_scaled(xfi_mix *mix, double weight, double low, double high, int32_t exponent) {
    if (weight == 0.0)
        return;
    arf_set_d(mix->weight, weight);
    append_value(mix, mix->weight, xfi_lowest_bit(weight), xfi_is_power_of_two(weight), low, high,
                 exponent);
}

/* Does V consist of alpha I, or of one column that is read with a power of two? Then its terms have
 * one product each, whether V is materialised or not. */
static int is_plain(const xfi_square *V, int64_t d) {
    if (V->full != NULL)
        return 0;
    if (V->n_left == 0 && V->n_right == 0)
        return 1;
    if (V->alpha != 0.0 || V->n_right != 1)
        return 0;
    for (int64_t k = 0; k < d; k++)
        if (V->right[k] != 0.0)
            return xfi_is_power_of_two(V->right[k]);
    return 0;
}

/* Append left_c right_k m_k. */
static void append_rank_one(xfi_mix *mix, const xfi_square *V, int64_t c, int64_t k, xfi_log *log) {
    if (V->left[c] == 0.0 || V->right[k] == 0.0)
        return;
    arf_set_d(mix->weight, V->left[c]);
    arf_set_d(mix->value, V->right[k]);
    xfi_arf_times(mix->weight, mix->weight, mix->value);
    int32_t e = xfi_lowest_bit(V->left[c]) + xfi_lowest_bit(V->right[k]);
    int power = xfi_is_power_of_two(V->left[c]) && xfi_is_power_of_two(V->right[k]);
    xfi_term *term = append_value(mix, mix->weight, e, power, mix->mean_low[k], mix->mean_high[k],
                                  mix->mean_exponent[k]);
    /* right_k m_k and left_c right_k on the way must not underflow. */
    int32_t inner = mix->mean_exponent[k] + xfi_lowest_bit(V->right[k]);
    inner = inner < e ? inner : e;
    if (term != NULL && inner < mix->sense->format.emin)
        log->may_be_subnormal = 1;
    if (term != NULL && mix->sense->ieee && inner < mix->sense->least) {
        term->inexact = 1;
        mix->sum.extra_underflow +=
            2.0 + fabs(V->left[c]) + mix->mean_high[k] - mix->mean_low[k] + fabs(mix->mean_low[k]);
    }
}

/* Sums on the way that are no partial sums of the output: rightᵀ m, and entries of V. */
static void check_inner(const xfi_mix *mix, const xfi_square *V, xfi_log *log) {
    double inner = 0.0, entries = fabs(V->alpha), left = 0.0, right = 0.0;
    if (!mix->sense->ieee)
        return;
    for (int64_t k = 0; k < mix->d; k++) {
        double most = fmax(fabs(mix->mean_low[k]), fabs(mix->mean_high[k]));
        inner += fabs(V->right[k]) * most;
        left = fmax(left, fabs(V->left[k]));
        right = fmax(right, fabs(V->right[k]));
    }
    for (int64_t k = 0; V->full != NULL && k < mix->d * mix->d; k++)
        entries = fmax(entries, fabs(V->full[k]));
    double limit = ldexp(1.0, mix->sense->format.emax - 2);
    if (!(inner < limit && left * right < limit && entries < limit))
        log->is_lost = 1;
}

/* C-value for coordinate c of a token. */
static void value_coordinate(xfi_mix *mix, xfi_box out, xfi_box in, int64_t c, int plain,
                             xfi_log *log) {
    const xfi_square *V = &mix->sa->V;
    const xfi_sense *sense = mix->sense;
    int64_t d = mix->d;
    xfi_sum *sum = &mix->sum;
    xfi_sum_begin(sum, &mix->none);
    append_scaled(mix, mix->sa->rho, in.low[c], in.high[c], in.exponent[c]);
    append_scaled(mix, V->alpha, mix->mean_low[c], mix->mean_high[c], mix->mean_exponent[c]);
    for (int64_t k = 0; k < d && V->left[c] != 0.0; k++)
        append_rank_one(mix, V, c, k, log);
    for (int64_t k = 0; V->full != NULL && k < d; k++)
        append_scaled(mix, V->full[c * d + k], mix->mean_low[k], mix->mean_high[k],
                      mix->mean_exponent[k]);
    if (!plain && sum->n_terms > 0) {
        sum->extra_roundings = V->n_right + 3;
        double most = 0.0;
        for (int64_t k = 0; k < d; k++)
            most = fmax(most, fmax(fabs(mix->mean_low[k]), fabs(mix->mean_high[k])));
        sum->extra_underflow += (double)(2 * d + 2) * (1.0 + fabs(V->left[c]) + most);
    }
    xfi_sum_judge(sum);
    if (sense->ieee && (sum->exponent < sense->format.emin || !plain) && sum->n_terms > 0)
        log->may_be_subnormal = 1;
    arf_zero(mix->low);
    arf_zero(mix->high);
    for (int i = 0; i < sum->n_terms; i++) {
        xfi_arf_plus(mix->low, mix->low, sum->terms[i].low);
        xfi_arf_plus(mix->high, mix->high, sum->terms[i].high);
    }
    if (!sum->exact && sum->once) {
        xfi_arf_to_format(mix->low, sense, mix->low);
        xfi_arf_to_format(mix->high, sense, mix->high);
    } else if (!sum->exact) {
        arf_sub(mix->low, mix->low, sum->error, ARF_PREC_EXACT, ARF_RND_DOWN);
        xfi_arf_plus(mix->high, mix->high, sum->error);
    }
    if (!sum->finite)
        log->is_lost = 1;
    int32_t kept = plain ? larger(sum->exponent, sense->least) : sense->least;
    set_interval(mix, &out.low[c], &out.high[c], &out.exponent[c], kept, log);
}

static void value_token(xfi_mix *mix, xfi_box out, int64_t i, xfi_log *log) {
    xfi_box in = xfi_token_box(mix->tokens, i, mix->d);
    int plain = is_plain(&mix->sa->V, mix->d);
    check_inner(mix, &mix->sa->V, log);
    for (int64_t c = 0; c < mix->d; c++)
        value_coordinate(mix, out, in, c, plain, log);
}

/* rho x: V = 0. */
static void scale_token(xfi_mix *mix, xfi_box out, int64_t i, xfi_log *log) {
    for (int64_t c = 0; c < mix->d; c++) {
        mix->mean_low[c] = mix->mean_high[c] = 0.0;
        mix->mean_exponent[c] = XFI_EXPONENT_OF_ZERO;
    }
    xfi_box in = xfi_token_box(mix->tokens, i, mix->d);
    for (int64_t c = 0; c < mix->d; c++)
        value_coordinate(mix, out, in, c, 1, log);
}

/* Logits. Bounds of this part are computed in binary64 and inflated. */

static void set_keys(xfi_mix *mix) {
    for (int64_t l = 0; l < mix->tokens->n; l++) {
        xfi_box box = xfi_token_box(mix->tokens, l, mix->d);
        for (int64_t k = 0; k < mix->d; k++) {
            double middle = box.low[k] / 2 + box.high[k] / 2;
            mix->key[l * mix->d + k] = middle;
            mix->key_radius[l * mix->d + k] =
                fmax(box.high[k] - middle, middle - box.low[k]) * INFLATE;
        }
    }
}

/* y = A x_i as centres, radii and upper bounds of the size of all that is added up. */
static void set_query(xfi_mix *mix, int64_t i) {
    const xfi_square *A = &mix->sa->A;
    int64_t d = mix->d;
    const double *x = mix->key + i * d, *r = mix->key_radius + i * d;
    double s = 0.0, s_size = 0.0, s_radius = 0.0;
    mix->query_reach = 1.0;
    for (int64_t k = 0; k < d; k++) {
        mix->query_reach = fmax(mix->query_reach, (fabs(x[k]) + r[k]) * INFLATE);
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
        int is_scaling = A->n_left == 0 && A->n_right == 0 && A->full == NULL;
        double own =
            is_scaling && xfi_is_power_of_two(A->alpha) ? 0.0 : 0x1p-52 * (double)(3 * d + 6);
        mix->query[c] = y;
        mix->query_size[c] = size * INFLATE;
        mix->query_radius[c] = (radius + own * size) * INFLATE;
    }
}

/* Roundings that a product of a logit may pass in the model, with the subtraction of the maximum
 * and the division by tau. */
static double logit_roundings(const xfi_square *A, int64_t d) {
    int is_scaling = A->n_left == 0 && A->n_right == 0 && A->full == NULL;
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
    bound *= INFLATE;
    mix->gap_low[l] = gap - bound;
    mix->gap_high[l] = gap + bound;
}

/* Are all logits of the query exact in every order, because everything is a point on a grid?
 * Then *exact_gap is what bound_gap encloses. */
static int exact_gap(xfi_mix *mix, int64_t i, int64_t best, int64_t l, double *gap) {
    const xfi_square *A = &mix->sa->A;
    int64_t d = mix->d, tokens[3] = {i, best, l};
    int is_scaling = A->n_left == 0 && A->n_right == 0 && A->full == NULL;
    if (!is_scaling && (A->full != NULL || A->alpha != 0.0))
        return 0;
    int32_t least[3];
    for (int t = 0; t < 3; t++) {
        xfi_box box = xfi_token_box(mix->tokens, tokens[t], d);
        least[t] = XFI_EXPONENT_OF_ZERO;
        for (int64_t k = 0; k < d; k++) {
            if (box.low[k] != box.high[k])
                return 0;
            int32_t e = xfi_exponent_of(box.low[k]);
            least[t] = e < least[t] ? e : least[t];
        }
    }
    int32_t e_matrix = xfi_exponent_of(A->alpha), e_left = XFI_EXPONENT_OF_ZERO,
            e_right = XFI_EXPONENT_OF_ZERO;
    for (int64_t k = 0; !is_scaling && k < d; k++) {
        int32_t a = xfi_exponent_of(A->left[k]), b = xfi_exponent_of(A->right[k]);
        e_left = a < e_left ? a : e_left;
        e_right = b < e_right ? b : e_right;
    }
    if (!is_scaling)
        e_matrix = e_left + e_right;
    int32_t e_key = least[1] < least[2] ? least[1] : least[2], e = e_matrix + least[0] + e_key;
    double size = 0.0, query = 0.0, matrix = fabs(A->alpha), inner = 0.0, left = 0.0;
    const double *x = mix->key + i * d, *a = mix->key + best * d, *b = mix->key + l * d;
    for (int64_t k = 0; k < d; k++) {
        size += mix->query_size[k] * fmax(fabs(a[k]), fabs(b[k])) * INFLATE;
        query = fmax(query, mix->query_size[k]);
        inner += fabs(A->right[k] * x[k]);
        left = fmax(left, fabs(A->left[k]));
    }
    for (int64_t k = 0; k < d; k++)
        matrix = fmax(matrix, left * fabs(A->right[k]));
    const xfi_format *f = &mix->sense->format;
    if (mix->sense->ieee &&
        (e < mix->sense->least || e_matrix < mix->sense->least ||
         e_matrix + least[0] < mix->sense->least || e_right + least[0] < mix->sense->least ||
         !(size <= ldexp(1.0, f->p + (e < 900 ? e : 900)) * (1 - 0x1p-20)) ||
         !(query <= ldexp(1.0, f->p + e_matrix + least[0]) * (1 - 0x1p-20)) ||
         !(matrix <= ldexp(1.0, f->p + e_matrix)) ||
         (!is_scaling && !(inner <= ldexp(1.0, f->p + e_right + least[0]) * (1 - 0x1p-20))) ||
         !(size < ldexp(1.0, f->emax - 2))))
        return 0;
    /* y exactly: alpha x, or left times an exact scalar product. */
    arf_zero(mix->value);
    for (int64_t k = 0; k < d; k++) {
        arf_set_d(mix->low, A->right[k]);
        arf_set_d(mix->high, x[k]);
        xfi_arf_addmul(mix->value, mix->low, mix->high);
    }
    arf_zero(mix->size);
    for (int64_t k = 0; k < d; k++) {
        arf_set_d(mix->low, is_scaling ? A->alpha : A->left[k]);
        if (is_scaling)
            arf_set_d(mix->high, x[k]);
        else
            arf_set(mix->high, mix->value);
        xfi_arf_times(mix->low, mix->low, mix->high);
        arf_set_d(mix->high, a[k]);
        arf_set_d(mix->positive, b[k]);
        arf_sub(mix->high, mix->high, mix->positive, ARF_PREC_EXACT, ARF_RND_DOWN);
        xfi_arf_addmul(mix->size, mix->low, mix->high);
    }
    *gap = arf_get_d(mix->size, ARF_RND_NEAR);
    return arf_sgn(mix->size) == 0 || *gap != 0.0;
}

/* The token with the largest logit at the centres, and bounds of its lead. */
static int64_t set_gaps(xfi_mix *mix, int64_t i, int64_t n) {
    int64_t d = mix->d, best = 0;
    double most = -INFINITY;
    set_query(mix, i);
    for (int64_t l = 0; l < n; l++) {
        double z = 0.0;
        for (int64_t k = 0; k < d; k++)
            z += mix->query[k] * mix->key[l * d + k];
        if (z > most) {
            most = z;
            best = l;
        }
    }
    for (int64_t l = 0; l < n; l++) {
        double gap = 0.0;
        bound_gap(mix, best, l);
        if (l != best && !(mix->gap_low[l] > 0.0) && exact_gap(mix, i, best, l, &gap))
            mix->gap_low[l] = mix->gap_high[l] = gap;
    }
    mix->gap_low[best] = mix->gap_high[best] = 0.0;
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

/* C-flush for the logits: products of two coordinates and an entry of A. */
static void note_logits(const xfi_mix *mix, xfi_log *log) {
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

/* C-hard. */
static void attend_hard(xfi_mix *mix, int64_t i, int64_t n, xfi_log *log) {
    int64_t best = set_gaps(mix, i, n), count = 0, ties = 0;
    check_logits(mix, n, log);
    for (int64_t l = 0; l < n; l++) {
        if (mix->gap_low[l] > 0.0) {
            double bound = (mix->gap_high[l] - mix->gap_low[l]) / 2;
            xfi_log_decision(log, mix->gap_low[l], mix->gap_low[l] + 2 * bound);
            continue;
        }
        /* An exact gap below 0 cannot be: best has the largest logit at the centres, up to
         * rounding. */
        mix->chosen[count++] = l;
        ties += mix->gap_low[l] == 0.0 && mix->gap_high[l] == 0.0;
    }
    (void)best;
    if (count == 1 || ties == count) {
        average(mix, mix->chosen, count, log);
        return;
    }
    xfi_log_doubt(log, "two logits are too close to tell which is the larger");
    average_of_some(mix, count, log);
}

/* exp(-gap / tau) rounded up or down. */
static double exp_end(double gap, double tau, int up) {
    arb_t x, t;
    arf_t end;
    arb_init(x);
    arb_init(t);
    arf_init(end);
    arb_set_d(x, -gap);
    arb_set_d(t, tau);
    arb_div(x, x, t, 64);
    arb_exp(x, x, 64);
    if (up)
        arb_get_ubound_arf(end, x, 64);
    else
        arb_get_lbound_arf(end, x, 64);
    double value = arf_get_d(end, up ? ARF_RND_CEIL : ARF_RND_FLOOR);
    arb_clear(x);
    arb_clear(t);
    arf_clear(end);
    return value > 0.0 ? value : 0.0;
}

/* Bounds of exp((z_l - z_best) / tau) as a computed weight, before they are divided by their sum.
 * Differences of logits are at most `spread`; a weight that underflows is off by `lambda`. */
static void bound_exponential(xfi_mix *mix, int64_t l, double spread, double lambda) {
    const xfi_sense *sense = mix->sense;
    double low = mix->gap_high[l], high = mix->gap_low[l]; /* ends of -exponent */
    double factor = 1.0, add = 0.0;
    if (sense->ieee) {
        double u = sense->format.u;
        high -= 16 * u * spread;
        low += 16 * u * spread;
        factor = 1.0 + (double)(mix->heat.exp_ulp + 8) * 2 * u;
        add = (double)(mix->heat.exp_ulp + 1) * lambda;
    }
    double up = exp_end(high, mix->heat.tau, 1), down = exp_end(low, mix->heat.tau, 0);
    mix->weight_high[l] = (up * factor * INFLATE) + add;
    mix->weight_low[l] = fmax(0.0, down / (factor * INFLATE) - add);
}

/* C-soft: weights relative to the best, for every temperature up to tau. */
static void weigh_all_temperatures(xfi_mix *mix, int64_t best, int64_t n) {
    for (int64_t l = 0; l < n; l++) {
        /* The difference itself is rounded twice more, relative to itself. */
        bound_exponential(mix, l, mix->gap_low[l], mix->sense->format.smallest);
        mix->weight_low[l] = 0.0;
        mix->weight_high[l] = fmin(mix->weight_high[l], 1.0);
    }
    mix->weight_low[best] = mix->weight_high[best] = 0.0;
}

/* The same at tau alone: both ends of every weight. */
static void weigh_one_temperature(xfi_mix *mix, int64_t best, int64_t n) {
    double spread = 0.0, lead = 0.0, sum_low = 0.0, sum_high = 0.0;
    for (int64_t l = 0; l < n; l++) {
        spread = fmax(spread, fmax(fabs(mix->gap_low[l]), fabs(mix->gap_high[l])));
        lead = fmax(lead, -mix->gap_low[l]);
    }
    /* The largest computed logit may be another one, by `lead`: weights relative to the best are
     * larger by exp(lead / tau). */
    double lambda = exp_end(-lead, mix->heat.tau, 1) * mix->sense->format.smallest * INFLATE;
    for (int64_t l = 0; l < n; l++) {
        bound_exponential(mix, l, spread, lambda);
        sum_low += mix->weight_low[l];
        sum_high += mix->weight_high[l];
    }
    for (int64_t l = 0; l < n; l++) {
        double others_low = fmax(0.0, sum_low / INFLATE - mix->weight_low[l]);
        double others_high =
            (sum_high - mix->weight_high[l]) * INFLATE + sum_high * (INFLATE - 1.0);
        double high = mix->weight_high[l], low = mix->weight_low[l];
        mix->weight_high[l] = high > 0.0 ? fmin(1.0, high / (high + others_low) * INFLATE) : 0.0;
        mix->weight_low[l] = low > 0.0 ? low / (low + others_high) / INFLATE : 0.0;
    }
    mix->weight_low[best] = mix->weight_high[best] = 0.0;
}

/* The core: the box of the best, widened by the rounding of the mean. */
static void set_core(xfi_mix *mix, int64_t best, int64_t n, xfi_log *log) {
    xfi_box box = xfi_token_box(mix->tokens, best, mix->d);
    double gamma = xfi_gamma(&mix->sense->format, 2.0 * (double)n + 8);
    for (int64_t k = 0; k < mix->d; k++) {
        double most = 0.0;
        for (int64_t l = 0; l < n; l++) {
            xfi_box other = xfi_token_box(mix->tokens, l, mix->d);
            most = fmax(most, fmax(fabs(other.low[k]), fabs(other.high[k])));
        }
        double wide = mix->sense->ieee && n > 1 && most > 0.0
                          ? (gamma * most + 4.0 * (double)n * mix->sense->format.smallest) * INFLATE
                          : 0.0;
        if (mix->sense->ieee && !(most < ldexp(1.0, mix->sense->format.emax - 2) / (double)n))
            log->is_lost = 1;
        arf_set_d(mix->low, box.low[k]);
        arf_set_d(mix->high, box.high[k]);
        arf_set_d(mix->value, wide);
        arf_sub(mix->low, mix->low, mix->value, 80, ARF_RND_FLOOR);
        arf_add(mix->high, mix->high, mix->value, 80, ARF_RND_CEIL);
        mix->core[k] = arf_get_d(mix->low, ARF_RND_FLOOR);
        mix->core[mix->d + k] = arf_get_d(mix->high, ARF_RND_CEIL);
    }
}

/* The mean's box, from the span's core and generators. */
static void span_mean(xfi_mix *mix, const xfi_span *generators, xfi_log *log) {
    int32_t coordinate = 0;
    arf_struct form[2];
    arf_init(form);
    arf_init(form + 1);
    arf_one(form);
    for (int64_t k = 0; k < mix->d; k++) {
        xfi_span one = *generators;
        coordinate = (int32_t)k;
        one.n_free = 1;
        one.coordinate = &coordinate;
        xfi_span_range(mix->low, mix->high, &one, form);
        set_interval(mix, &mix->mean_low[k], &mix->mean_high[k], &mix->mean_exponent[k],
                     mix->sense->least, log);
    }
    arf_clear(form);
    arf_clear(form + 1);
}

/* C-soft; leaves the mean's box, and core and generators in *span. */
static void attend_soft(xfi_mix *mix, xfi_span *span, int64_t i, int64_t n, xfi_log *log) {
    int64_t best = set_gaps(mix, i, n), d = mix->d;
    int decided = !mix->heat.one_tau;
    check_logits(mix, n, log);
    for (int64_t l = 0; l < n; l++) {
        decided = decided && (l == best || mix->gap_low[l] > 0.0);
        if (l != best && mix->gap_low[l] > 0.0)
            xfi_log_decision(log, mix->gap_low[l], mix->gap_high[l]);
    }
    if (decided) {
        weigh_all_temperatures(mix, best, n);
    } else {
        log->one_temperature = 1;
        weigh_one_temperature(mix, best, n);
    }
    const xfi_format *format = &mix->sense->format;
    if (mix->sense->ieee && !(mix->heat.tau >= ldexp(1.0, format->emin + 2) &&
                              mix->heat.tau <= ldexp(1.0, format->emax - 2)))
        log->is_lost = 1;
    log->used_exp = 1;
    log->may_be_subnormal = 1;
    set_core(mix, best, n, log);
    xfi_box from = xfi_token_box(mix->tokens, best, d);
    *span = (xfi_span){.low = mix->core,
                       .high = mix->core + d,
                       .weight_low = mix->weight_low,
                       .weight_high = mix->weight_high,
                       .from_low = from.low,
                       .from_high = from.high};
    for (int64_t l = 0; l < n; l++) {
        if (mix->weight_high[l] == 0.0)
            continue;
        xfi_box to = xfi_token_box(mix->tokens, l, d);
        int64_t at = span->n_generators++;
        mix->weight_low[at] = mix->weight_low[l];
        mix->weight_high[at] = mix->weight_high[l];
        mix->to_low[at] = to.low;
        mix->to_high[at] = to.high;
    }
    span->to_low = mix->to_low;
    span->to_high = mix->to_high;
    span_mean(mix, span, log);
}

void xfi_mix_begin(xfi_mix *mix, const xfi_sa *sa, const xfi_tokens *tokens, xfi_log *log) {
    mix->sa = sa;
    mix->tokens = tokens;
    mix->none = (xfi_span){0};
    mix->mean_known = 0;
    if (sa->V.is_zero)
        return;
    if (!sa->A.is_zero) {
        set_keys(mix);
    } else if (!mix->causal) {
        average(mix, NULL, tokens->n, log);
        mix->mean_known = 1;
    }
}

void xfi_mix_token(xfi_mix *mix, xfi_box out, xfi_span *span, int64_t i, xfi_log *log) {
    const xfi_sa *sa = mix->sa;
    int64_t n = mix->causal ? i + 1 : mix->tokens->n;
    *span = (xfi_span){0};
    if (sa->V.is_zero) {
        scale_token(mix, out, i, log);
        return;
    }
    if (sa->A.is_zero || n == 1) {
        if (!mix->mean_known) {
            int64_t first = i;
            average(mix, n == 1 && !mix->causal ? &first : NULL, n, log);
        }
    } else if (mix->heat.attention == XF_HARDMAX) {
        note_logits(mix, log);
        attend_hard(mix, i, n, log);
    } else {
        attend_soft(mix, span, i, n, log);
    }
    value_token(mix, out, i, log);
    int is_mean = sa->rho == 0.0 && sa->V.alpha == 1.0 && sa->V.n_left == 0 && sa->V.n_right == 0 &&
                  sa->V.full == NULL;
    if (!is_mean)
        span->n_generators = 0;
}

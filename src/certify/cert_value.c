/* C-value: rho x + V m for a token, coordinate by coordinate; each is one sum (cert_sum.h). */
#include "certify/cert_value.h"

#include "certify/cert_mean.h"

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

/* The terms of coordinate c. */
static void append_terms(xfi_mix *mix, xfi_box in, int64_t c, xfi_log *log) {
    const xfi_square *V = &mix->sa->V;
    int64_t d = mix->d;
    append_scaled(mix, mix->sa->rho, in.low[c], in.high[c], in.exponent[c]);
    append_scaled(mix, V->alpha, mix->mean_low[c], mix->mean_high[c], mix->mean_exponent[c]);
    for (int64_t k = 0; k < d && V->left[c] != 0.0; k++)
        append_rank_one(mix, V, c, k, log);
    for (int64_t k = 0; V->full != NULL && k < d; k++)
        append_scaled(mix, V->full[c * d + k], mix->mean_low[k], mix->mean_high[k],
                      mix->mean_exponent[k]);
}

/* What a V that is not plain may add: it may be materialised or not. */
static void allow_both_forms(xfi_mix *mix, int64_t c) {
    const xfi_square *V = &mix->sa->V;
    double most = 0.0;
    for (int64_t k = 0; k < mix->d; k++)
        most = fmax(most, fmax(fabs(mix->mean_low[k]), fabs(mix->mean_high[k])));
    mix->sum.extra_roundings = V->n_right + 3;
    mix->sum.extra_underflow += (double)(2 * mix->d + 2) * (1.0 + fabs(V->left[c]) + most);
}

/* The judged sum's ends in mix->low and mix->high, with what rounding may add. */
static void add_terms(xfi_mix *mix) {
    const xfi_sum *sum = &mix->sum;
    arf_zero(mix->low);
    arf_zero(mix->high);
    for (int i = 0; i < sum->n_terms; i++) {
        xfi_arf_plus(mix->low, mix->low, sum->terms[i].low);
        xfi_arf_plus(mix->high, mix->high, sum->terms[i].high);
    }
    if (!sum->exact && sum->once) {
        xfi_arf_to_format(mix->low, mix->sense, mix->low);
        xfi_arf_to_format(mix->high, mix->sense, mix->high);
    } else if (!sum->exact) {
        arf_sub(mix->low, mix->low, sum->error, ARF_PREC_EXACT, ARF_RND_DOWN);
        xfi_arf_plus(mix->high, mix->high, sum->error);
    }
}

/* Coordinate c of a token. */
static void value_coordinate(xfi_mix *mix, xfi_box out, xfi_box in, int64_t c, int plain,
                             xfi_log *log) {
    const xfi_sense *sense = mix->sense;
    xfi_sum *sum = &mix->sum;
    xfi_sum_begin(sum, &mix->none);
    append_terms(mix, in, c, log);
    if (!plain && sum->n_terms > 0)
        allow_both_forms(mix, c);
    xfi_sum_judge(sum);
    if (sense->ieee && (sum->exponent < sense->format.emin || !plain) && sum->n_terms > 0)
        log->may_be_subnormal = 1;
    add_terms(mix);
    if (!sum->finite)
        log->is_lost = 1;
    int32_t kept = plain ? xfi_exponent_max(sum->exponent, sense->least) : sense->least;
    xfi_mean_interval(mix, &out.low[c], &out.high[c], &out.exponent[c], kept, log);
}

void xfi_value_token(xfi_mix *mix, xfi_box out, int64_t i, xfi_log *log) {
    xfi_box in = xfi_token_box(mix->tokens, i, mix->d);
    int plain = is_plain(&mix->sa->V, mix->d);
    check_inner(mix, &mix->sa->V, log);
    for (int64_t c = 0; c < mix->d; c++)
        value_coordinate(mix, out, in, c, plain, log);
}

void xfi_value_scale(xfi_mix *mix, xfi_box out, int64_t i, xfi_log *log) {
    for (int64_t c = 0; c < mix->d; c++) {
        mix->mean_low[c] = mix->mean_high[c] = 0.0;
        mix->mean_exponent[c] = XFI_EXPONENT_OF_ZERO;
    }
    xfi_box in = xfi_token_box(mix->tokens, i, mix->d);
    for (int64_t c = 0; c < mix->d; c++)
        value_coordinate(mix, out, in, c, 1, log);
}

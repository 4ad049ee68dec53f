/* C-mean: the mean of tokens in boxes, and the hull where it is not known which tokens they are. */
#include "certify/cert_mean.h"

static int log2_up(int64_t n) {
    int c = 0;
    while (((int64_t)1 << c) < n)
        c++;
    return c;
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
    return xfi_exponent_max(kept, sense->least);
}

void xfi_mean_interval(xfi_mix *mix, double *low, double *high, int32_t *exponent, int32_t kept,
                       xfi_log *log) {
    const xfi_sense *sense = mix->sense;
    *low = xfi_lower_end(sense, mix->low) + 0.0;
    *high = xfi_upper_end(sense, mix->high) + 0.0;
    if (!isfinite(*low) || !isfinite(*high) || *low > *high) {
        log->is_lost = 1;
        *low = *high = 0.0;
    }
    *exponent = sense->ieee ? xfi_exponent_max(kept, xfi_interval_exponent(sense, *low, *high)) : 0;
}

void xfi_mean_of(xfi_mix *mix, const int64_t *chosen, int64_t n, xfi_log *log) {
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
        xfi_mean_interval(mix, &mix->mean_low[k], &mix->mean_high[k], &mix->mean_exponent[k], kept,
                          log);
    }
}

void xfi_mean_of_some(xfi_mix *mix, int64_t n, xfi_log *log) {
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
            if (!(sum * XFI_MIX_INFLATE < ldexp(1.0, mix->sense->format.emax)))
                log->is_lost = 1;
            double most = gamma * fmax(fabs(low), fabs(high)) * XFI_MIX_INFLATE +
                          (double)(n + 2) * mix->sense->format.smallest;
            arf_set_d(mix->value, most);
            arf_sub(mix->low, mix->low, mix->value, ARF_PREC_EXACT, ARF_RND_DOWN);
            xfi_arf_plus(mix->high, mix->high, mix->value);
        }
        xfi_mean_interval(mix, &mix->mean_low[k], &mix->mean_high[k], &mix->mean_exponent[k],
                          mix->sense->least, log);
    }
    log->may_be_subnormal = 1;
}

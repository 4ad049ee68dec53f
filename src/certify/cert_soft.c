/* C-soft: a mean with softmax weights, as the best token's box pulled towards the others (C-pull);
 * for every temperature up to tau, or at tau alone. */
#include "certify/cert_attention.h"

#include "certify/cert_logit.h"
#include "certify/cert_mean.h"

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
    mix->weight_high[l] = (up * factor * XFI_MIX_INFLATE) + add;
    mix->weight_low[l] = fmax(0.0, down / (factor * XFI_MIX_INFLATE) - add);
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
    double lambda =
        exp_end(-lead, mix->heat.tau, 1) * mix->sense->format.smallest * XFI_MIX_INFLATE;
    for (int64_t l = 0; l < n; l++) {
        bound_exponential(mix, l, spread, lambda);
        sum_low += mix->weight_low[l];
        sum_high += mix->weight_high[l];
    }
    for (int64_t l = 0; l < n; l++) {
        double others_low = fmax(0.0, sum_low / XFI_MIX_INFLATE - mix->weight_low[l]);
        double others_high =
            (sum_high - mix->weight_high[l]) * XFI_MIX_INFLATE + sum_high * (XFI_MIX_INFLATE - 1.0);
        double high = mix->weight_high[l], low = mix->weight_low[l];
        mix->weight_high[l] =
            high > 0.0 ? fmin(1.0, high / (high + others_low) * XFI_MIX_INFLATE) : 0.0;
        mix->weight_low[l] = low > 0.0 ? low / (low + others_high) / XFI_MIX_INFLATE : 0.0;
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
        double wide =
            mix->sense->ieee && n > 1 && most > 0.0
                ? (gamma * most + 4.0 * (double)n * mix->sense->format.smallest) * XFI_MIX_INFLATE
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
        xfi_mean_interval(mix, &mix->mean_low[k], &mix->mean_high[k], &mix->mean_exponent[k],
                          mix->sense->least, log);
    }
    arf_clear(form);
    arf_clear(form + 1);
}

/* The weights; all temperatures if the argmax is decided. */
static void weigh(xfi_mix *mix, int64_t best, int64_t n, xfi_log *log) {
    int decided = !mix->heat.one_tau;
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
}

/* Core and generators: the others that have a weight, which moves to the generator's place. */
static void set_span(xfi_mix *mix, xfi_span *span, int64_t best, int64_t n) {
    int64_t d = mix->d;
    xfi_box from = xfi_token_box(mix->tokens, best, d);
    *span = (xfi_span){.low = mix->core,
                       .high = mix->core + d,
                       .weight_low = mix->weight_low,
                       .weight_high = mix->weight_high,
                       .from_low = from.low,
                       .from_high = from.high,
                       .to_low = mix->to_low,
                       .to_high = mix->to_high};
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
}

void xfi_attend_soft(xfi_mix *mix, xfi_span *span, int64_t i, int64_t n, xfi_log *log) {
    int64_t best = xfi_logit_gaps(mix, i, n, log);
    weigh(mix, best, n, log);
    const xfi_format *format = &mix->sense->format;
    if (mix->sense->ieee && !(mix->heat.tau >= ldexp(1.0, format->emin + 2) &&
                              mix->heat.tau <= ldexp(1.0, format->emax - 2)))
        log->is_lost = 1;
    log->used_exp = 1;
    log->may_be_subnormal = 1;
    set_core(mix, best, n, log);
    set_span(mix, span, best, n);
    span_mean(mix, span, log);
}

/* Ranges of affine functions. */
#include "certify/cert_span.h"

void xfi_add_range(arf_t low, arf_t high, const arf_t slope, double a, double b) {
    arf_t end;
    arf_init(end);
    int sign = arf_sgn(slope);
    arf_set_d(end, sign >= 0 ? a : b);
    xfi_arf_addmul(low, slope, end);
    arf_set_d(end, sign >= 0 ? b : a);
    xfi_arf_addmul(high, slope, end);
    arf_clear(end);
}

/* The range of the linear part on to - from. */
static void generator_range(arf_t low, arf_t high, const xfi_span *span, arf_srcptr form,
                            int64_t l) {
    arf_t minus;
    arf_init(minus);
    arf_zero(low);
    arf_zero(high);
    for (int f = 0; f < span->n_free; f++) {
        int32_t k = span->coordinate[f];
        if (arf_is_zero(form + f))
            continue;
        xfi_add_range(low, high, form + f, span->to_low[l][k], span->to_high[l][k]);
        arf_neg(minus, form + f);
        xfi_add_range(low, high, minus, span->from_low[k], span->from_high[k]);
    }
    arf_clear(minus);
}

/* low += the least, high += the largest of w v for w in [w_low, w_high], v in [v_low, v_high]. */
static void add_weighted(arf_t low, arf_t high, const xfi_span *span, int64_t l, const arf_t v_low,
                         const arf_t v_high) {
    arf_t w;
    arf_init(w);
    arf_set_d(w, arf_sgn(v_low) < 0 ? span->weight_high[l] : span->weight_low[l]);
    xfi_arf_addmul(low, w, v_low);
    arf_set_d(w, arf_sgn(v_high) > 0 ? span->weight_high[l] : span->weight_low[l]);
    xfi_arf_addmul(high, w, v_high);
    arf_clear(w);
}

void xfi_span_range(arf_t low, arf_t high, const xfi_span *span, arf_srcptr form) {
    arf_set(low, form + span->n_free);
    arf_set(high, form + span->n_free);
    for (int f = 0; f < span->n_free; f++) {
        int32_t k = span->coordinate[f];
        if (!arf_is_zero(form + f))
            xfi_add_range(low, high, form + f, span->low[k], span->high[k]);
    }
    arf_t v_low, v_high;
    arf_init(v_low);
    arf_init(v_high);
    for (int64_t l = 0; l < span->n_generators; l++) {
        generator_range(v_low, v_high, span, form, l);
        add_weighted(low, high, span, l, v_low, v_high);
    }
    arf_clear(v_low);
    arf_clear(v_high);
}

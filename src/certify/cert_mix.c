/* An attention layer: which lemma a token needs, and the room for all of them. */
#include "certify/cert_mix.h"

#include "base/alloc.h"
#include "certify/cert_attention.h"
#include "certify/cert_logit.h"
#include "certify/cert_mean.h"
#include "certify/cert_value.h"

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

void xfi_mix_begin(xfi_mix *mix, const xfi_sa *sa, const xfi_tokens *tokens, xfi_log *log) {
    mix->sa = sa;
    mix->tokens = tokens;
    mix->none = (xfi_span){0};
    mix->mean_known = 0;
    if (sa->V.is_zero)
        return;
    if (!sa->A.is_zero) {
        xfi_logit_keys(mix);
    } else if (!mix->causal) {
        xfi_mean_of(mix, NULL, tokens->n, log);
        mix->mean_known = 1;
    }
}

void xfi_mix_token(xfi_mix *mix, xfi_box out, xfi_span *span, int64_t i, xfi_log *log) {
    const xfi_sa *sa = mix->sa;
    int64_t n = mix->causal ? i + 1 : mix->tokens->n;
    *span = (xfi_span){0};
    if (sa->V.is_zero) {
        xfi_value_scale(mix, out, i, log);
        return;
    }
    if (sa->A.is_zero || n == 1) {
        if (!mix->mean_known) {
            int64_t first = i;
            xfi_mean_of(mix, n == 1 && !mix->causal ? &first : NULL, n, log);
        }
    } else if (mix->heat.attention == XF_HARDMAX) {
        xfi_attend_hard(mix, i, n, log);
    } else {
        xfi_attend_soft(mix, span, i, n, log);
    }
    xfi_value_token(mix, out, i, log);
    int is_mean = sa->rho == 0.0 && sa->V.alpha == 1.0 && sa->V.n_left == 0 && sa->V.n_right == 0 &&
                  sa->V.full == NULL;
    if (!is_mean)
        span->n_generators = 0;
}

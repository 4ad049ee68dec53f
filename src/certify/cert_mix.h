/* An attention layer on the boxes of one sequence. The lemmas of docs/certify.md have files of
 * their own: C-mean cert_mean.h, C-value cert_value.h, C-hard and C-soft cert_attention.h. */
#ifndef XFI_CERTIFY_CERT_MIX_H
#define XFI_CERTIFY_CERT_MIX_H

#include "certify/cert_state.h"
#include "certify/cert_sum.h"

#include <exactformer/model.h>

/* Covers the rounding of bounds that are computed in binary64 in an attention layer: sums of at
 * most 2^20 terms. */
#define XFI_MIX_INFLATE (1.0 + 0x1p-30)

/* Which attention, at which temperatures. */
typedef struct xfi_heat {
    xf_attention attention;
    double tau;  /* softmax: every temperature in (0, tau] unless the log says otherwise */
    int one_tau; /* nonzero: tau alone */
    int exp_ulp;
} xfi_heat;

/* The tokens of a sequence. n_states is n, or 1 if all boxes are the same. */
typedef struct xfi_tokens {
    int64_t n;
    int64_t n_states;
    double *low;       /* [n][d] */
    double *high;      /* [n][d] */
    int32_t *exponent; /* [n][d] */
} xfi_tokens;

static inline xfi_box xfi_token_box(const xfi_tokens *tokens, int64_t i, int64_t d) {
    int64_t at = tokens->n_states == 1 ? 0 : i * d;
    return (xfi_box){tokens->low + at, tokens->high + at, tokens->exponent + at};
}

/* Room for one thread, and the layer at hand. */
typedef struct xfi_mix {
    const xfi_sense *sense;
    xfi_heat heat;
    int64_t d, n_max;
    int causal;
    xfi_sum sum;
    xfi_span none; /* no free coordinates */
    arf_t low, high, positive, negative, size, value, weight;
    double *mean_low, *mean_high;
    int32_t *mean_exponent;
    double *query, *query_radius, *query_size; /* [d] A x_i */
    double query_reach;                        /* at least 1 and every |x_ik| */
    double *key, *key_radius;                  /* [n_max][d] */
    double *gap_low, *gap_high;                /* [n_max] logit of the best less that of l */
    double *weight_low, *weight_high;          /* [n_max] */
    int64_t *chosen;                           /* [n_max] */
    const double **to_low, **to_high;          /* [n_max] */
    double *core;                              /* [2][d] */
    /* the layer */
    const xfi_sa *sa;
    const xfi_tokens *tokens;
    int mean_known;
} xfi_mix;

/* Returns 0 if memory is short. */
int xfi_mix_init(xfi_mix *mix, const xfi_sense *sense, const xfi_heat *heat, const xf_model *model,
                 int64_t n_max);
void xfi_mix_clear(xfi_mix *mix);

/* Begin a layer on a sequence: then xfi_mix_token for its tokens. */
void xfi_mix_begin(xfi_mix *mix, const xfi_sa *sa, const xfi_tokens *tokens, xfi_log *log);

/* The box of token i behind the layer; it does not overlap the tokens. If softmax with rho = 0 and
 * V = I mixed it, *span describes it as core and generators, until the next call, and
 * span->n_generators is not 0. */
void xfi_mix_token(xfi_mix *mix, xfi_box out, xfi_span *span, int64_t i, xfi_log *log);

#endif

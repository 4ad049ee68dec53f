/* Differences of logits, for C-hard and C-soft of docs/certify.md. */
#ifndef XFI_CERTIFY_CERT_LOGIT_H
#define XFI_CERTIFY_CERT_LOGIT_H

#include "certify/cert_mix.h"

/* alpha I and nothing else? */
static inline int xfi_is_scaling(const xfi_square *A) {
    return A->n_left == 0 && A->n_right == 0 && A->full == NULL;
}

/* Centres and radii of the tokens, for all queries of a layer. */
void xfi_logit_keys(xfi_mix *mix);

/* The first n keys seen by query i: returns the token with the largest logit at the centres (best),
 * and encloses (logit of best) - (logit of l) in [gap_low, gap_high][l] for every evaluation. */
int64_t xfi_logit_gaps(xfi_mix *mix, int64_t i, int64_t n, xfi_log *log);

/* Are these two logits exact in every order, because everything is a point on a grid? Then *gap is
 * their difference, rounded but with its sign. Needs the keys and the query of xfi_logit_gaps. */
int xfi_logit_exact_gap(xfi_mix *mix, int64_t i, int64_t best, int64_t l, double *gap);

/* C-flush for the logits: products of two coordinates and an entry of A. */
void xfi_logit_note_subnormals(const xfi_mix *mix, xfi_log *log);

#endif

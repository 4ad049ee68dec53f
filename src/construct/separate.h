/* Separation: m_j tokens of every sequence come to lie where no other sequence has one.
 *
 * Nothing to do if that is so already; else one block of mean pooling, x + p mean<q, x>, perhaps
 * behind a few random kinks; else the separation tree. All attentions have A = 0, so they are the
 * same for hardmax and for softmax at every temperature. docs/published.md, P-separation. */
#ifndef XFI_CONSTRUCT_SEPARATE_H
#define XFI_CONSTRUCT_SEPARATE_H

#include "construct/problem.h"

/* Where the score is attained: a sequence, its m_j-th most isolated token, and the token next
 * to that (rows of x). */
typedef struct xfi_weakest {
    int64_t sequence;
    int64_t token;
    int64_t other;
} xfi_weakest;

typedef struct xfi_separation {
    int64_t n_blocks;
    xf_model blocks; /* only if n_blocks > 0; the first one has eta = scale, the others 1 */
    double scale;    /* power of two that brings the tokens to order 1 */
    double *z;       /* [T][d] tokens behind the blocks, or scale x without any; owned */
    int exact;       /* without blocks: scale x is exact for every token */
    double score;    /* smallest of the m_j-th largest isolations over h; 0: something is shared */
    xfi_weakest weakest;
} xfi_separation;

void xfi_separation_clear(xfi_separation *separation);

/* No blocks. Errors: XF_ERR_MEMORY. */
xf_status xfi_separate_none(xfi_separation *out, const xfi_problem *problem, xf_error *error);

/* One block of mean pooling: the best of some random ones, after `kinks` (0 .. 3) random ReLUs
 * along one coordinate. score 0 if no one separates. Errors: XF_ERR_MEMORY, XF_ERR_CANCELLED. */
xf_status xfi_separate_pool(xfi_separation *out, const xfi_problem *problem, int kinks,
                            xf_error *error);

/* A power of two that brings the half-ranges of the tokens to order 1. */
double xfi_separation_scale(const xfi_problem *problem);

/* The score of tokens z [T][d], and where it is attained (may be NULL). Returns -1 if memory is
 * short. O(64 T log T). Numeric class: approximate (tokens are rounded to 2^-30 of their range). */
double xfi_separation_score(const double *z, const xf_dataset *data, xfi_weakest *weakest);

/* Does every sequence have m_j tokens that no other sequence has? (The tokens as they are.)
 * Returns -1 if memory is short. Numeric class: exact. */
int xfi_has_private_tokens(const xf_dataset *data);

/* Set z to the centres behind out->blocks, as the certificate will find them, and the score.
 * Errors: XF_ERR_MEMORY. */
xf_status xfi_separation_finish(xfi_separation *out, const xfi_problem *problem, xf_error *error);

#endif

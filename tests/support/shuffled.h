/* Test-only engine: the model with every sum in a random order.
 *
 * Each of these sums is put into a random order, as a sequence, a balanced tree or blocks of
 * random length, with its special term (bias, residual) among the others or apart from them:
 *     U x + b,  eta x + W r,  right x,  A x,  logits,  sums over tokens,  rho x + V mean
 * Products with zero weights take part. At random the mean is a sum divided by S, a sum times
 * the rounded 1/S, or a sum of terms that carry the weight pi = e/S; A and V are factored or
 * materialised. Tokens must stay finite: attention with V = 0 is left out, and A = 0 means
 * logits 0. A model that is exact in sense (F) gives the same bits for every seed. */
#ifndef XFT_SUPPORT_SHUFFLED_H
#define XFT_SUPPORT_SHUFFLED_H

#include <exactformer/run.h>

enum { XFT_NO_FMA = 0, XFT_FMA = 1, XFT_MIXED = 2 };

/* All-zero means: no FMA, attention and tau of the model, a fresh order every 32 tokens. */
typedef struct xft_shuffle {
    uint64_t seed;
    int fma;                /* XFT_NO_FMA, XFT_FMA or XFT_MIXED (each sum at random) */
    int override_attention; /* as in xf_run_options */
    xf_attention attention;
    double tau;           /* > 0: in place of the model's */
    int tokens_per_order; /* tokens that share the orders of a feed-forward layer; 1: none */
    int values_first;     /* nonzero: also average V x_l in place of x_l, at random */
} xft_shuffle;

/* out [T][d], computed in the model's dtype and widened. Errors: XF_ERR_MEMORY. */
xf_status xft_run_shuffled(double *out, const xf_model *model, const xf_dataset *input,
                           const xft_shuffle *options, xf_error *error);

#endif

/* Test-only engine: the model in all orders of summation at once, for very small models.
 *
 * Every sum
 *     U x + b,  eta x + W r,  sum over tokens,  right mean,  rho x + V mean
 * is evaluated in every order and every bracketing, each product rounded or fused into an addition
 * that uses it; the mean is a sum divided by n, a sum times the rounded 1/n, or a sum of terms that
 * carry it; V is factored or materialised. A token is a set of states, the ones that can be
 * reached. Terms that are 0 are left out: adding 0 is exact. */
#ifndef XFT_SUPPORT_ALL_ORDERS_H
#define XFT_SUPPORT_ALL_ORDERS_H

#include <exactformer/run.h>

typedef enum xft_search {
    XFT_ALWAYS_EXACT, /* exhaustive: every admissible evaluation gives the targets */
    XFT_COUNTEREXAMPLE,
    XFT_NOTHING_FOUND /* the sets grew too large and only a part was looked at, or attention by
                         logits occurs */
} xft_search;

/* Sets are kept small by drawing from them (seed); a counterexample is one all the same: it is
 * reached. *sequence is where it occurs, else -1. Aborts the test if memory runs out. */
xft_search xft_all_orders(int64_t *sequence, const xf_model *model, const xf_dataset *data,
                          uint64_t seed);

#endif

/* What everybody says about a model: the certifier, and those who look for a counterexample. */
#ifndef XFT_MUTATION_JUDGES_H
#define XFT_MUTATION_JUDGES_H

#include "support/all_orders.h"

#include <exactformer/certify.h>

/* 1 yes, 0 no, -1 this judge cannot say */
typedef struct xft_opinions {
    int verify;           /* exact on the dense engine */
    int orders;           /* exact in all orders drawn at random, with and without FMA */
    xft_search search;    /* all orders at once */
    int rational;         /* exact in real arithmetic (balls where softmax makes it irrational) */
    int flushed;          /* exact on a machine that flushes subnormal numbers */
    xf_answer real, ieee; /* of the certifier */
    int is_subnormal_free;
} xft_opinions;

/* One line of text that says more about an unsound answer. */
enum { XFT_WHY_SIZE = 400 };

/* n_orders: how many random orders. Aborts the test if memory runs out. */
void xft_ask(xft_opinions *out, const xf_model *model, const xf_dataset *data, int n_orders,
             uint64_t seed);

/* Did somebody find an admissible evaluation that is not exact? */
int xft_is_inexact(const xft_opinions *o);

/* Is an answer of the certifier refuted? Then `why` says by whom. */
int xft_is_unsound(char why[XFT_WHY_SIZE], const xft_opinions *o);

#endif

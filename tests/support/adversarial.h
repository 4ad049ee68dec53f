/* Named small data sets that are hard for constructions which move tokens one by one: shared
 * tokens, equal means, collinear or badly scaled tokens. The same on every machine. */
#ifndef XFT_SUPPORT_ADVERSARIAL_H
#define XFT_SUPPORT_ADVERSARIAL_H

#include <exactformer/dataset.h>

typedef struct xft_adversary {
    const char *name;
    int d;
    int n;       /* size of the family: sequences, vocabulary, ... as the maker likes */
    int targets; /* XFT_TARGETS_ */
    void (*make)(xf_dataset *out, const struct xft_adversary *self);
} xft_adversary;

/* m_j = n_j, 1, or about half; targets are full binary64 numbers unless XFT_TARGETS_GRID. */
enum { XFT_TARGETS_ALL = 0, XFT_TARGETS_ONE = 1, XFT_TARGETS_HALF = 2, XFT_TARGETS_GRID = 4 };

/* The list; *n its length. */
const xft_adversary *xft_adversaries(int *n);

/* Make number i. Aborts the test if memory runs out or the set breaks a condition. */
void xft_adversary_make(xf_dataset *out, int i);

#endif

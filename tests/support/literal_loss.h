/* Test-only: the loss of a trainable family in extended precision, written as naively as possible
 * from the parameters, with a fingerprint of the pieces that are active. */
#ifndef XFT_SUPPORT_LITERAL_LOSS_H
#define XFT_SUPPORT_LITERAL_LOSS_H

#include <exactformer/train.h>

typedef struct xft_literal_loss {
    long double loss;
    uint64_t pieces; /* equal if the same neurons are on and the same pairs attain the distances */
} xft_literal_loss;

/* Aborts the test if memory runs out. */
xft_literal_loss xft_loss_literal(const xf_family *family, const long double *theta,
                                  const xf_dataset *data);

#endif

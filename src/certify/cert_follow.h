/* One sequence through all layers, as boxes, and its answer: C-sets of docs/certify.md. */
#ifndef XFI_CERTIFY_CERT_FOLLOW_H
#define XFI_CERTIFY_CERT_FOLLOW_H

#include "certify/cert_mix.h"
#include "certify/cert_piece.h"

#include <exactformer/certify.h>
#include <exactformer/dataset.h>

/* Room for one thread. */
typedef struct xfi_follower {
    const xfi_network *network;
    const xfi_sense *sense;
    const xf_dataset *data;
    xfi_piece piece;
    xfi_mix mix;
    xfi_tokens tokens, next;
    xfi_box spare;    /* one box behind an attention layer */
    xfi_least *least; /* [n_phases], or [1] without phases */
} xfi_follower;

/* Returns 0 if memory is short. */
int xfi_follower_init(xfi_follower *follower, const xfi_network *network, const xfi_sense *sense,
                      const xfi_heat *heat, const xf_dataset *data);
void xfi_follower_clear(xfi_follower *follower);

/* XF_YES: every admissible evaluation (or the exact one) gives Y_j. XF_NO: none does. Otherwise
 * XF_UNKNOWN. The place that goes with the answer is in log->doubt_token and doubt_block. */
xf_answer xfi_follow(xfi_follower *follower, int64_t j, xfi_log *log);

#endif

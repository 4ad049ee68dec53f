/* Choosing targets for the tokens that several sequences share. A sequence is satisfied when its
 * shared tokens reach so many of its targets that its own tokens can reach the rest.
 * docs/theory.md, T-resnet. Numeric class: exact. */
#ifndef XFI_CONSTRUCT_SHARED_TOKENS_H
#define XFI_CONSTRUCT_SHARED_TOKENS_H

#include "construct/distinct_rows.h"

#include <exactformer/dataset.h>

typedef enum xfi_search_end {
    XFI_FOUND,
    XFI_NONE_EXISTS, /* proved: every choice was tried or excluded */
    XFI_GAVE_UP      /* the budget ran out */
} xfi_search_end;

/* A search under way. */
typedef struct xfi_shared_tokens {
    const xf_dataset *data;
    const xfi_distinct_rows *tokens;  /* of x */
    const xfi_distinct_rows *targets; /* of y */
    int64_t *domain_offsets;          /* [tokens->n + 1] */
    int64_t *domain;     /* values of targets that a token may become; empty for tokens that occur
                            once */
    int64_t *choice;     /* [tokens->n] value of targets, or -1 */
    int64_t *needed;     /* [N] targets that shared tokens must reach */
    int64_t *reached;    /* [M] shared tokens that were given this target of this sequence */
    int64_t *scratch;    /* for matchings */
    int64_t budget;      /* steps left */
    int64_t unreachable; /* a sequence whose need cannot be met whatever is chosen, or -1 */
    int64_t most;        /* how many of its targets shared tokens can reach */
} xfi_shared_tokens;

/* Fill the domains. *stuck gets a token value with an empty one, or -1. End with
 * xfi_shared_tokens_clear, also after a failure. Errors: XF_ERR_MEMORY. */
xf_status xfi_shared_tokens_init(xfi_shared_tokens *out, int64_t *stuck, const xf_dataset *data,
                                 const xfi_distinct_rows *tokens, const xfi_distinct_rows *targets,
                                 xf_error *error);
void xfi_shared_tokens_clear(xfi_shared_tokens *shared);

/* Choose for all shared tokens. Errors: XF_ERR_MEMORY. */
xf_status xfi_shared_tokens_choose(xfi_search_end *end, xfi_shared_tokens *shared, xf_error *error);

#endif

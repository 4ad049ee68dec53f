/* Which target a token by itself is to become, wherever it occurs: what a network without
 * attention needs. docs/theory.md, T-resnet. Numeric class: exact. */
#ifndef XFI_CONSTRUCT_ASSIGNMENT_H
#define XFI_CONSTRUCT_ASSIGNMENT_H

#include "construct/distinct_rows.h"

#include <exactformer/dataset.h>

/* The different tokens of the data, and a row of y for each. */
typedef struct xfi_assignment {
    xfi_distinct_rows tokens; /* of x */
    int64_t *target;          /* [tokens.n] row of y, owned */
} xfi_assignment;

/* Find targets such that every token value goes to a target of each sequence in which it occurs,
 * and every target of every sequence is reached. Tokens of one sequence only are matched at once;
 * shared ones are searched, which is a hard problem in general (set splitting), so the search has
 * a budget. End with xfi_assignment_clear, also after a failure.
 * Errors: XF_ERR_INFEASIBLE, naming tokens and sequences and saying whether no assignment exists
 * or none was found; XF_ERR_MEMORY. */
xf_status xfi_assignment_find(xfi_assignment *out, const xf_dataset *data, xf_error *error);
void xfi_assignment_clear(xfi_assignment *assignment);

#endif

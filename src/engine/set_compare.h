/* Output sets against target sets. */
#ifndef XFI_ENGINE_SET_COMPARE_H
#define XFI_ENGINE_SET_COMPARE_H

#include <exactformer/run.h>

/* xf_compare for a data set known to have targets, distinct within a sequence. out [T][d].
 * A sequence is exact if every row of its output equals (==, so -0.0 equals 0.0) some
 * target and every target occurs; the rows that are not finite equal nothing and are
 * infinitely far from everything. Numeric class: the counts are exact, distances approximate.
 * Cost O(T d log m), plus O(n m d) at worst for each sequence that differs.
 * Returns XF_OK, XF_NOT_EXACT with the first mismatch in the message, XF_ERR_MEMORY. */
xf_status xfi_compare_sets(xf_verify_report *report, const double *out, const xf_dataset *data,
                           xf_error *error);

/* Euclidean distance of two rows, without overflow or underflow on the way; infinite if a value
 * is not finite. Numeric class: approximate, and 0 only for equal rows. */
double xfi_distance(const double *a, const double *b, int64_t d);

/* Hausdorff distance of two nonempty sets of rows a [n][d] and b [m][d]. */
double xfi_hausdorff(const double *a, int64_t n, const double *b, int64_t m, int64_t d);

#endif

/* Rows of an array that are equal, found by sorting. Numeric class: exact. */
#ifndef XFI_CONSTRUCT_DISTINCT_ROWS_H
#define XFI_CONSTRUCT_DISTINCT_ROWS_H

#include <exactformer/status.h>

/* The different values among `rows` rows, numbered in the order of their first row. */
typedef struct xfi_distinct_rows {
    int64_t rows;
    int64_t n;          /* different values */
    int64_t *value;     /* [rows] number of the row's value; owned, as the others are */
    int64_t *offsets;   /* [n + 1] */
    int64_t *occurring; /* [rows] value v occurs in rows occurring[offsets[v] .. offsets[v+1]-1],
                           ascending */
} xfi_distinct_rows;

/* values [rows][d]; equal means ==. O(rows log rows) comparisons. End with
 * xfi_distinct_rows_clear, also after a failure. Errors: XF_ERR_MEMORY. */
xf_status xfi_distinct_rows_find(xfi_distinct_rows *out, const double *values, int64_t rows,
                                 int64_t d, xf_error *error);
void xfi_distinct_rows_clear(xfi_distinct_rows *distinct);

/* The first row from `first` to `last` - 1 with this value, or -1. O(log rows). */
int64_t xfi_distinct_rows_within(const xfi_distinct_rows *distinct, int64_t value, int64_t first,
                                 int64_t last);

#endif

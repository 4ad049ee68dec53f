/* One sum of an admissible evaluation: is it exact in every order, and if not, how far can it be
 * off? C-product to C-sign of docs/certify.md. */
#ifndef XFI_CERTIFY_CERT_SUM_H
#define XFI_CERTIFY_CERT_SUM_H

#include "certify/cert_span.h"

/* C-subset looks at all subsets of at most this many terms. */
enum { XFI_SUBSET_TERMS = 6 };

/* A term: an affine form plus something in an interval that depends on nothing else. */
typedef struct xfi_term {
    arf_t low, high; /* the range of the whole term */
    int32_t exponent;
    int inexact; /* its product may be rounded */
} xfi_term;

/* The terms of one sum, and the verdict. */
typedef struct xfi_sum {
    const xfi_sense *sense;
    const xfi_span *span;
    int capacity, free_capacity; /* most terms, most free coordinates */
    int n_terms;
    int extra_roundings;    /* that a term may pass beyond those of the sum */
    double extra_underflow; /* multiples of lambda beyond those of the sum */
    xfi_term *terms;
    arf_ptr forms;                 /* [XFI_SUBSET_TERMS][free_capacity + 1] of the first terms */
    arf_ptr loose_low, loose_high; /* [XFI_SUBSET_TERMS] the independent part of a term */

    int exact;        /* no rounding in any order */
    int once;         /* one rounding, of the exact sum */
    int finite;       /* no partial sum overflows */
    int32_t exponent; /* the computed sum is a multiple of 2^exponent */
    arf_t error;      /* bound of |computed - exact| */

    arf_t positive, negative, size, scratch_low, scratch_high;
    arf_ptr partial;                   /* [XFI_SUBSET_TERMS + 1][free_capacity + 1] */
    arf_ptr partial_low, partial_high; /* [XFI_SUBSET_TERMS + 1] */
} xfi_sum;

/* Returns 0 if memory is short. */
int xfi_sum_init(xfi_sum *sum, const xfi_sense *sense, int capacity, int free_capacity);
void xfi_sum_clear(xfi_sum *sum);

void xfi_sum_begin(xfi_sum *sum, const xfi_span *span);

/* Append a term with form 0 and an empty independent part; the caller sets low and high, exponent
 * and inexact. *form (slopes, constant) and the independent part are NULL beyond
 * XFI_SUBSET_TERMS. */
xfi_term *xfi_sum_append(xfi_sum *sum, arf_ptr *form, arf_ptr *loose_low, arf_ptr *loose_high);

/* Is the product of a weight and values of [low, high] that are multiples of 2^exponent exact?
 * The product's range is [low, high] of `term`, its exponent set. C-product. */
int xfi_product_is_exact(const xfi_sense *sense, const xfi_term *term, int power_of_two);

/* Judge the sum. For sense real it is exact. */
void xfi_sum_judge(xfi_sum *sum);

/* C-sign: may the sign of the exact sum be trusted although the sum is not exact? */
int xfi_sum_keeps_sign(xfi_sum *sum);

#endif

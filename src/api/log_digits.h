/* To how many digits did a program print the numbers of a column? */
#ifndef XFI_API_LOG_DIGITS_H
#define XFI_API_LOG_DIGITS_H

#include <exactformer/diagnose.h>

/* Of the numbers seen so far; start with {0}. */
typedef struct xfi_digits {
    int significant; /* most significant digits of a number, without zeros at its end */
    int decimals;    /* most digits behind the point, without zeros at the end */
} xfi_digits;

/* Take note of a finite number. */
void xfi_digits_see(xfi_digits *digits, double value);

/* A whole unit of the last place of either format that may have printed the column, so many
 * significant digits or so many decimals: it covers rounding and cutting off. */
xf_precision xfi_digits_precision(const xfi_digits *digits);

#endif

/* Digits of printed numbers, found from their values: the fewest that read back equal. A number
 * like 0.5 has one, whatever it was printed with; the column's other numbers have the rest. */
#include "api/log_digits.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST = 15, MOST = 17 };

/* `value` as digits and exponent, in as few of 15 to 17 digits as read back equal. */
static void print_shortest(char text[40], double value) {
    for (int n = FEWEST; n <= MOST; n++) {
        snprintf(text, 40, "%.*e", n - 1, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

void xfi_digits_see(xfi_digits *digits, double value) {
    char text[40];
    int n = 0, significant = 0;
    if (value == 0.0)
        return;
    print_shortest(text, value);
    const char *exponent = strchr(text, 'e');
    for (const char *c = text; c < exponent; c++) {
        n += isdigit((unsigned char)*c) != 0;
        significant = *c >= '1' && *c <= '9' ? n : significant;
    }
    int decimals = significant - 1 - (int)strtol(exponent + 1, NULL, 10);
    if (significant > digits->significant)
        digits->significant = significant;
    if (decimals > digits->decimals)
        digits->decimals = decimals;
}

xf_precision xfi_digits_precision(const xfi_digits *digits) {
    return (xf_precision){.relative = fmax(pow(10.0, 1 - digits->significant), DBL_EPSILON),
                          .absolute = pow(10.0, -digits->decimals)};
}

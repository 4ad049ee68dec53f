/* Strict reading of option values. */
#include "values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_read_integer(int64_t *out, const char *text, int64_t low, int64_t high) {
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *out = value;
    return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && value >= low &&
           value <= high;
}

int cli_read_seed(uint64_t *out, const char *text) {
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0;
}

/* Underflow to a subnormal or 0 is accepted as the nearest number. */
int cli_read_real(double *out, const char *text) {
    char *end = NULL;
    *out = strtod(text, &end);
    return !isspace((unsigned char)text[0]) && end != text && *end == '\0' && isfinite(*out);
}

int cli_read_reals(double *out, int *n, int most, const char *text) {
    for (*n = 0; *n < most; text++) {
        char item[64];
        size_t length = strcspn(text, ",");
        if (length >= sizeof item)
            return 0;
        memcpy(item, text, length);
        item[length] = '\0';
        if (!cli_read_real(&out[(*n)++], item))
            return 0;
        text += length;
        if (*text == '\0')
            return 1;
    }
    return 0;
}

int cli_read_range(cli_range *out, const char *text, int64_t highest) {
    const char *colon = strchr(text, ':');
    if (colon == NULL) {
        int ok = cli_read_integer(&out->low, text, 1, highest);
        out->high = out->low;
        return ok;
    }
    char first[24];
    size_t length = (size_t)(colon - text);
    if (length >= sizeof first)
        return 0;
    memcpy(first, text, length);
    first[length] = '\0';
    return cli_read_integer(&out->low, first, 1, highest) &&
           cli_read_integer(&out->high, colon + 1, out->low, highest);
}

int cli_read_choice(int *out, const char *text, const char *const *choices) {
    for (int i = 0; choices[i] != NULL; i++)
        if (strcmp(text, choices[i]) == 0) {
            *out = i;
            return 1;
        }
    return 0;
}

void cli_join(char *out, size_t size, const char *const *choices) {
    out[0] = '\0';
    for (int i = 0; choices[i] != NULL; i++) {
        const char *between = i == 0 ? "" : choices[i + 1] ? ", " : " or ";
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", between, choices[i]);
    }
}

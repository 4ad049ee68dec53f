/* Strict reading of option values: the whole text or nothing. Every function returns
 * nonzero on success. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include "options.h"

#include <stddef.h>

/* A decimal integer in [low, high], low >= 0. */
int cli_read_integer(int64_t *out, const char *text, int64_t low, int64_t high);

/* 0 .. 2^64 - 1. */
int cli_read_seed(uint64_t *out, const char *text);

/* A finite number, decimal or hexadecimal. */
int cli_read_real(double *out, const char *text);

/* 1 to `most` finite numbers separated by commas; *n tells how many. */
int cli_read_reals(double *out, int *n, int most, const char *text);

/* A or A:B with 1 <= A <= B <= highest. */
int cli_read_range(cli_range *out, const char *text, int64_t highest);

/* The position of `text` in a NULL-terminated list. */
int cli_read_choice(int *out, const char *text, const char *const *choices);

/* "a", "a or b", "a, b or c". */
void cli_join(char *out, size_t size, const char *const *choices);

#endif

/* Campaigns: thousands of random data sets of several families through trials.
 *
 * Environment:
 *   XF_PROPERTY_MULTIPLIER  so many times the usual number of data sets (default 1; a build
 *                           with sanitizers makes do with less)
 *   XF_PROPERTY_SEED        another seed, hence other data sets
 *   XF_PROPERTY_CASE        only this case, and say what happens to it
 *   XF_PROPERTY_VERBOSE     say what happens to every case
 *
 * A failure is shrunk, saved as .jsonl in the directory for temporary files, and printed with
 * the commands that show it again. */
#ifndef XFT_PROPERTY_CAMPAIGN_H
#define XFT_PROPERTY_CAMPAIGN_H

#include "property/random_data.h"

#include <stdint.h>

typedef struct xft_campaign {
    const xft_family *families;
    int n_families;
    int64_t n_cases; /* with multiplier 1, all families together */
    xf_dtype dtype;
    int choices; /* nonzero: smaller sets, each through a random front end and a random writer */
} xft_campaign;

/* Case i belongs to family i mod n_families. Prints a table of the families. Returns the
 * number of failures: trials that went wrong, and families refused more often than they may. */
int xft_campaign_run(const xft_campaign *campaign);

/* The multiplier in force, and the seed. */
double xft_multiplier(void);
uint64_t xft_property_seed(void);

/* Nonzero in a build with sanitizers. */
int xft_is_sanitized(void);

/* Nonzero where the engines are compiled with contraction and FMA. */
int xft_is_contracted(void);

#endif

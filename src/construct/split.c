/* Choosing the split. */
#include "construct/split.h"

#include "base/error.h"

#include <stddef.h>

/* With FEW groups the splits next to the middle are all tried, whatever their gaps. */
enum { FEW_GROUPS = 1024, TRIES_OF_FEW = 64, TRIES_OF_MANY = 4 };

double xfi_target_reach(const xfi_groups *groups, const xfi_written *written) {
    double largest = 0;
    for (int64_t g = 0; written->y != NULL && g < groups->n; g++)
        largest = fmax(largest, fabs(written->y[g * written->d + written->axes.k1]));
    return largest > 0 ? xfi_power_above(largest) : 0.0;
}

/* 2^ceil(log2 v), v > 0. */
static double power_at_least(double v) {
    int exponent = xfi_exponent(v);
    return ldexp(1.0, ldexp(1.0, exponent) < v ? exponent + 1 : exponent);
}

/* Origin and scale for `below` groups under it. With targets on k1 the innermost codes
 * must clear `reach`; without, the span becomes about 1. */
static xfi_split split_at(const xfi_groups *groups, int64_t below, double reach) {
    const xfi_group *at = groups->at;
    double bottom = at[0].low, top = at[groups->n - 1].high;
    xfi_split split = {.below = below, .n_steps = INT64_MAX};
    double half = fmax(fmax(top - bottom, fabs(bottom)), fabs(top));
    if (below > 0 && below < groups->n) {
        half = at[below].low / 2 - at[below - 1].high / 2;
        split.shift = at[below - 1].high + half;
    } else {
        half = half > 0 ? half : 1.0;
        split.shift = below == 0 ? bottom - half : top + half;
    }
    double span = fmax(top - split.shift, split.shift - bottom);
    split.sigma = reach > 0 ? power_at_least(2 * reach / half) : 1.0 / power_at_least(span);
    return split;
}

static xf_status try_split(xfi_split *split, const xfi_groups *groups, double reach,
                           const xfi_written *written, const xfi_format *format, xf_error *error) {
    if (!isfinite(split->sigma) || split->sigma == 0.0)
        return XF_OK;
    xfi_lanes lanes;
    int feasible = 0;
    xfi_placing placing = {split->below, split->shift, split->sigma, reach};
    XFI_TRY(xfi_lanes_make(&lanes, &feasible, groups, &placing, written, format, error));
    if (feasible)
        split->n_steps = lanes.n_steps;
    xfi_lanes_clear(&lanes);
    return XF_OK;
}

static void keep(xfi_split *list, int *n, xfi_split split) {
    if (*n == XFI_SPLITS && split.n_steps >= list[XFI_SPLITS - 1].n_steps)
        return;
    int i = *n < XFI_SPLITS ? (*n)++ : XFI_SPLITS - 1;
    for (; i > 0 && list[i - 1].n_steps > split.n_steps; i--)
        list[i] = list[i - 1];
    list[i] = split;
}

/* n/2, n/2 + 1, n/2 - 1, ...: ascending in the length of the longer lane. */
static int64_t nth_split(int64_t n, int64_t tries) {
    int64_t off = (tries + 1) / 2;
    return tries % 2 ? n / 2 + off : n / 2 - off;
}

/* Is a split worth laying out? It is if close to the middle, or if its gap asks for a smaller scale
 * than all splits closer to the middle, whose codes are larger then. */
static int is_worth(const xfi_split *split, int64_t tries, double *least_sigma, int64_t n) {
    int records = split->sigma < *least_sigma;
    if (records)
        *least_sigma = split->sigma;
    return records || tries < (n <= FEW_GROUPS ? TRIES_OF_FEW : TRIES_OF_MANY);
}

xf_status xfi_split_list(xfi_split out[XFI_SPLITS], int *n, const xfi_groups *groups,
                         const xfi_written *written, const xfi_format *format, xf_error *error) {
    int64_t total = groups->n;
    double reach = xfi_target_reach(groups, written), least_sigma = INFINITY;
    *n = 0;
    for (int64_t tries = 0; tries <= total + 1; tries++) {
        int64_t below = nth_split(total, tries);
        int64_t longer = below > total - below ? below : total - below;
        if (below < 0 || below > total)
            continue;
        if (*n == XFI_SPLITS && longer + 1 >= out[XFI_SPLITS - 1].n_steps)
            break;
        xfi_split split = split_at(groups, below, reach);
        if (!is_worth(&split, tries, &least_sigma, total))
            continue;
        XFI_TRY(try_split(&split, groups, reach, written, format, error));
        if (split.n_steps < INT64_MAX)
            keep(out, n, split);
    }
    return XF_OK;
}

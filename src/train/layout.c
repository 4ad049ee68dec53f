/* Families: what is allowed, and the places of their parameters. */
#include "train/layout.h"

#include "base/error.h"

#include <math.h>

/* The next `size` places if the part is there, else -1. */
static int64_t take(int64_t *next, int64_t size, int there) {
    int64_t place = *next;
    if (!there)
        return -1;
    *next += size;
    return place;
}

xfi_layout xfi_layout_of(const xf_family *family) {
    int64_t d = family->d, w = family->width, h = family->rank;
    int full = family->value == XF_VALUE_FULL;
    xfi_layout layout = {.n_features = h + (family->scalar ? d : 0)};
    int64_t next = 0;
    layout.rho = take(&next, 1, 1);
    layout.Q = take(&next, h * d, 1);
    layout.K = take(&next, h * d, 1);
    layout.A_alpha = take(&next, 1, family->scalar);
    layout.V_full = take(&next, d * d, full);
    layout.V_alpha = take(&next, 1, !full);
    layout.V_left = take(&next, d, !full);
    layout.V_right = take(&next, d, !full);
    layout.eta = take(&next, 1, 1);
    layout.W = take(&next, d * w, 1);
    layout.U = take(&next, w * d, 1);
    layout.b = take(&next, w, 1);
    layout.block_size = next;
    return layout;
}

xf_status xf_family_check(const xf_family *family, xf_error *error) {
    enum { MOST = 1 << 20 };
    const double most_parameters = 0x1p40;
    const struct {
        const char *name;
        int64_t value, least;
    } sizes[] = {{"number of blocks", family->n_blocks, 1},
                 {"dimension", family->d, 1},
                 {"width", family->width, 1},
                 {"rank", family->rank, 0}};
    for (int i = 0; i < 4; i++)
        if (sizes[i].value < sizes[i].least || sizes[i].value > MOST)
            return xfi_fail(error, XF_ERR_ARGUMENT, "the %s %lld is not between %lld and %d",
                            sizes[i].name, (long long)sizes[i].value, (long long)sizes[i].least,
                            MOST);
    if (!(family->tau > 0.0 && isfinite(family->tau)))
        return xfi_fail(error, XF_ERR_ARGUMENT, "the temperature is no positive finite number");
    if ((double)xfi_layout_of(family).block_size * (double)family->n_blocks > most_parameters)
        return xfi_fail(error, XF_ERR_ARGUMENT, "the family has too many parameters");
    return XF_OK;
}

int64_t xf_family_parameters(const xf_family *family) {
    return family->n_blocks * xfi_layout_of(family).block_size;
}

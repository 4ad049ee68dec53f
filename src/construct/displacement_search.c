/* The search for a displacement front end: scalars in rounds, pairs of the best of them. */
#include "construct/displacement_stages.h"

#include "base/error.h"
#include "construct/axes.h"
#include "construct/windows.h"

#include <stddef.h>

/* Margins to search for, in turn. Moving the origin costs up to a third, little where there are
 * many cells; 4 is wanted behind that, and more than 1 is still a proof. */
static const double wanted_margins[] = {6.5, 4.25, 1.5};

enum { N_MARGINS = 3, SMALL = 20000 /* tokens: the first margin is for fewer */ };

/* Combinations in one round: fewer if every one takes long. */
enum { MAX_TRIED = 8, MAX_TRIED_LARGE = 3, LARGE = 50000 /* tokens */ };

typedef struct hunt {
    xfi_best *best;
    int *found;
    xfi_displacement_shape shape;
    const xfi_writers *writers;
    const xfi_problem *problem;
    xfi_scalar_search search;
    xfi_windows windows;
    double margin;
    int n_tried;
} hunt;

static int is_done(const hunt *h) {
    return *h->found && h->best->model.n_blocks != 0;
}

static double least_reserve(const hunt *h) {
    return h->shape == XFI_DISPLACE_WINDOWS ? 0x1p-10 : 0x1p-5;
}

/* Room around 0: enough for targets of q bits on k1 to fit beside codes as fine as the numbers'
 * last bits, 2/share + 1 <= 2^(p-q) (docs/reach.md, T-room). */
static double choose_reserve(const hunt *h) {
    const xfi_writer_choice *grid = &h->writers->grid;
    double least = least_reserve(h);
    if (!grid->usable)
        return least;
    int bits = xfi_grid_bits(h->problem, grid->axes.k1);
    double share = 2 / (ldexp(1.0, h->problem->format.p - bits) - 1);
    return share > 0.25 ? least : fmax(share, least);
}

static xf_status try_room(hunt *h, xfi_displacement *d, double reserve, xf_error *error) {
    xfi_displacement_room room = {.reserve = reserve, .margin = h->margin};
    int found = 0, certified = h->best->certified;
    XFI_TRY(xfi_displacement_find(d, &found, &room, h->problem, error));
    if (!found)
        return XF_OK;
    xfi_front_end front = xfi_displacement_front(d);
    h->best->certified = 0;
    XFI_TRY(xfi_write_best(h->best, &front, h->writers, h->problem, error));
    *h->found |= h->best->certified;
    h->best->certified |= certified;
    return XF_OK;
}

/* One power of two for the ratio of the ranges. */
static xf_status choose_gain(double *K, const xfi_displacement *d, const xfi_problem *problem,
                             xf_error *error) {
    double range, unused, means;
    XFI_TRY(xfi_scalar_ranges(&d->local, problem, &range, &unused, error));
    XFI_TRY(xfi_scalar_ranges(&d->pooled, problem, &unused, &means, error));
    *K = range > 0 && means > 0 ? ldexp(1.0, xfi_exponent(range / means)) : 1.0;
    return XF_OK;
}

static xf_status try_displacement(hunt *h, xfi_displacement *d, xf_error *error) {
    XFI_TRY(xfi_scalar_centre(&d->cells, h->problem, error));
    if (h->shape == XFI_DISPLACE_SHARED)
        XFI_TRY(choose_gain(&d->K, d, h->problem, error));
    double reserve = choose_reserve(h);
    XFI_TRY(try_room(h, d, reserve, error));
    if (is_done(h) || reserve == least_reserve(h))
        return XF_OK;
    return try_room(h, d, least_reserve(h), error);
}

/* One combination of scalars; NULL: the shape does not have it. */
static xf_status try_scalars(hunt *h, const xfi_scalar *local, const xfi_scalar *pooled,
                             const xfi_scalar *cells, xf_error *error) {
    int64_t dim = h->problem->data->d;
    xfi_displacement d = {.shape = h->shape};
    int ok = xfi_scalar_copy(&d.cells, cells, dim);
    ok = ok && (local == NULL || xfi_scalar_copy(&d.local, local, dim));
    ok = ok && (pooled == NULL || xfi_scalar_copy(&d.pooled, pooled, dim));
    xf_status status = ok ? try_displacement(h, &d, error) : xfi_fail_memory(error);
    h->n_tried++;
    xfi_displacement_clear(&d);
    XFI_TRY(status);
    return xfi_problem_progress(h->problem, "displacement", 0.0, error);
}

/* Is there still something to try in this round? */
static int goes_on(const hunt *h) {
    int large = h->problem->data->n_tokens > LARGE;
    return !is_done(h) && h->n_tried < (large ? MAX_TRIED_LARGE : MAX_TRIED);
}

static int has_local(const hunt *h) {
    return h->shape != XFI_DISPLACE_SINGLE;
}

static int has_pooled(const hunt *h) {
    return h->shape != XFI_DISPLACE_EACH;
}

/* Combinations of ranks l, b and a, the best ranks first. */
static xf_status try_ranks(hunt *h, const xfi_scalar_list *means, int sum, xf_error *error) {
    const xfi_scalar_list *locals = &h->search.local;
    int n_local = has_local(h) ? locals->n : 1, n_pooled = has_pooled(h) ? means->n : 1;
    for (int l = 0; l <= sum && l < n_local; l++)
        for (int b = 0; b <= sum - l && b < n_pooled; b++) {
            int a = sum - l - b;
            if (a >= means->n || (has_pooled(h) && a == b) || !goes_on(h))
                continue;
            XFI_TRY(try_scalars(h, has_local(h) ? &locals->at[l] : NULL,
                                has_pooled(h) ? &means->at[b] : NULL, &means->at[a], error));
        }
    return XF_OK;
}

static xf_status try_combinations(hunt *h, const xfi_scalar_list *means, xf_error *error) {
    h->n_tried = 0;
    for (int sum = 0; sum <= 3 * (XFI_SCALARS - 1) && goes_on(h); sum++)
        XFI_TRY(try_ranks(h, means, sum, error));
    return XF_OK;
}

/* What a local scalar is worth: the margin that the narrowest gap within a sequence has. */
static int judge(double *score, void *self, const double *s, double e) {
    hunt *h = self;
    const xf_dataset *data = h->problem->data;
    if (!xfi_windows_measure(&h->windows, s, e))
        return 0;
    double extent = 0, low = INFINITY, high = -INFINITY;
    if (h->shape == XFI_DISPLACE_WINDOWS) {
        double margin = xfi_windows_pack(NULL, &extent, &h->windows, 0.0);
        *score = fmin(margin, 0x1p100);
        return 1;
    }
    for (int64_t j = 0; j < data->n_sequences; j++) {
        low = fmin(low, h->windows.low[j]);
        high = fmax(high, h->windows.high[j]);
    }
    double least = fmin(h->windows.delta[h->windows.order[0]], high - low);
    *score = least / (2 * (e + h->windows.u * (high - low)));
    return 1;
}

/* Two poolings leave one neuron for each mean. With one they have two, and halves are for what
 * the means themselves do not tell apart. */
static xf_status hunt_rounds(hunt *h, xf_error *error) {
    int two = h->shape <= XFI_DISPLACE_EACH;
    int another = h->shape == XFI_DISPLACE_EACH &&
                  xfi_displacement_serves(XFI_DISPLACE_SHARED, h->problem->data);
    int rounds = another ? 1 : XFI_SCALAR_ROUNDS;
    for (int round = 0; round < rounds && !is_done(h); round++) {
        xfi_scalar_wish wish = {.local = has_local(h),
                                .pooled = two,
                                .half = !two || round > 0,
                                .judge = judge,
                                .self = h};
        XFI_TRY(xfi_scalar_search_round(&h->search, round, &wish, error));
        if (two)
            XFI_TRY(try_combinations(h, &h->search.pooled, error));
        if (wish.half)
            XFI_TRY(try_combinations(h, &h->search.half, error));
    }
    return XF_OK;
}

/* Search for front ends of one shape with a margin. */
static xf_status search_shape(xfi_best *best, int *found, xfi_displacement_shape shape,
                              double margin, const xfi_writers *writers, const xfi_problem *problem,
                              xf_error *error) {
    hunt h = {
        .best = best, .shape = shape, .writers = writers, .problem = problem, .margin = margin};
    h.found = found;
    if (!xfi_displacement_serves(shape, problem->data))
        return XF_OK;
    XFI_TRY(xfi_scalar_search_init(&h.search, problem, error));
    xf_status status = xfi_windows_init(&h.windows, problem->data, problem->format.u)
                           ? hunt_rounds(&h, error)
                           : xfi_fail_memory(error);
    xfi_windows_clear(&h.windows);
    xfi_scalar_search_clear(&h.search);
    return status;
}

/* Shapes first .. last with the margins in turn, until one serves. */
static xf_status search_shapes(xfi_best *best, int *found, int first, int last,
                               const xfi_writers *writers, const xfi_problem *problem,
                               xf_error *error) {
    *found = 0;
    for (int i = problem->data->n_tokens > SMALL; i < N_MARGINS; i++)
        for (int shape = first; shape <= last; shape++) {
            if (*found && best->model.n_blocks != 0)
                return XF_OK;
            XFI_TRY(search_shape(best, found, (xfi_displacement_shape)shape, wanted_margins[i],
                                 writers, problem, error));
        }
    return XF_OK;
}

xf_status xfi_displace(xfi_best *best, int *found, xfi_displacement_shape shape,
                       const xfi_writers *writers, const xfi_problem *problem, xf_error *error) {
    return search_shapes(best, found, (int)shape, (int)shape, writers, problem, error);
}

xf_status xfi_displace_best(xfi_best *best, int *found, const xfi_writers *writers,
                            const xfi_problem *problem, xf_error *error) {
    return search_shapes(best, found, XFI_DISPLACE_SINGLE, XFI_DISPLACE_WINDOWS, writers, problem,
                         error);
}

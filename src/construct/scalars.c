/* Scalars: drawing, measuring, keeping the best. */
#include "construct/scalars.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/directions.h"
#include "num/project.h"
#include "num/sort.h"

#include <string.h>

enum { MAX_AXES = 24, SAMPLE = 1024, KNEES = 3 };

void xfi_scalar_clear(xfi_scalar *scalar) {
    xfi_free(scalar->v);
    *scalar = (xfi_scalar){0};
}

int xfi_scalar_copy(xfi_scalar *out, const xfi_scalar *scalar, int64_t d) {
    *out = *scalar;
    out->v = xfi_calloc(d, sizeof(double));
    if (out->v == NULL)
        return 0;
    memcpy(out->v, scalar->v, (size_t)d * sizeof(double));
    return 1;
}

xf_status xfi_scalar_search_init(xfi_scalar_search *search, const xfi_problem *problem,
                                 xf_error *error) {
    const xf_dataset *data = problem->data;
    *search = (xfi_scalar_search){.problem = problem};
    search->values = xfi_calloc2(XFI_PROJECT_BATCH, data->n_tokens, sizeof(double));
    search->directions = xfi_calloc2(XFI_PROJECT_BATCH, data->d, sizeof(double));
    search->token = xfi_calloc(data->n_tokens, sizeof(double));
    search->mean = xfi_calloc(data->n_sequences, sizeof(double));
    search->error = xfi_calloc(data->n_sequences, sizeof(double));
    search->order = xfi_calloc(data->n_sequences, sizeof(int64_t));
    if (search->values && search->directions && search->token && search->mean && search->error &&
        search->order)
        return XF_OK;
    xfi_scalar_search_clear(search);
    return xfi_fail_memory(error);
}

static void drop_list(xfi_scalar_list *list) {
    while (list->n > 0)
        xfi_scalar_clear(&list->at[--list->n]);
}

void xfi_scalar_search_clear(xfi_scalar_search *search) {
    drop_list(&search->local);
    drop_list(&search->pooled);
    drop_list(&search->half);
    xfi_free(search->values);
    xfi_free(search->directions);
    xfi_free(search->token);
    xfi_free(search->mean);
    xfi_free(search->error);
    xfi_free(search->order);
    *search = (xfi_scalar_search){0};
}

/* Keep a copy if it is among the best; of equals the first. */
static int keep(xfi_scalar_list *list, const xfi_scalar *scalar, double score, int64_t d) {
    int full = list->n == XFI_SCALARS;
    if (full && !(score > list->score[XFI_SCALARS - 1]))
        return 1;
    xfi_scalar copy;
    if (!xfi_scalar_copy(&copy, scalar, d))
        return 0;
    if (full)
        xfi_scalar_clear(&list->at[--list->n]);
    int i = list->n++;
    for (; i > 0 && list->score[i - 1] < score; i--) {
        list->at[i] = list->at[i - 1];
        list->score[i] = list->score[i - 1];
    }
    list->at[i] = copy;
    list->score[i] = score;
    return 1;
}

/* Rounding of s at one token: the products unless the weights are powers of two, the sums, and
 * the origin. */
static double rounding_of(const xfi_problem *problem, const xfi_scalar *scalar) {
    double absolute = fabs(scalar->nu), roundings = scalar->nu != 0.0 ? 0 : -1;
    for (int64_t k = 0; k < problem->data->d; k++) {
        double weight = scalar->v[k];
        if (weight == 0.0)
            continue;
        absolute += fabs(weight) * problem->max_abs[k];
        roundings++;
        if (xfi_lowest_bit(weight) != xfi_exponent(weight))
            roundings += 1.0 / 64; /* any number of inexact products: one more */
    }
    return ceil(roundings) * problem->format.u * absolute;
}

/* s of all tokens from their projections. */
static void take_values(double *s, const xfi_scalar *scalar, const double *projection, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double v = projection[i] - scalar->nu;
        s[i] = scalar->half ? fmax(v, 0.0) - scalar->centre : v;
    }
}

/* Means of s [T] and bounds of their rounding. */
static void take_means(double *mean, double *bound, const double *s, double e,
                       const xfi_problem *problem) {
    const xf_dataset *data = problem->data;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
        double sum = 0, absolute = 0;
        for (int64_t l = first; l < first + n; l++) {
            sum += s[l];
            absolute += fabs(s[l]);
        }
        int exact = (n & (n - 1)) == 0;
        mean[j] = sum / (double)n;
        bound[j] =
            e + (double)(n - 1 + (exact ? 0 : 2)) * problem->format.u * (absolute / (double)n);
    }
}

/* Minus the number of neighbouring means that are too close to be told apart with room to
 * spare; ties by the range over the error. */
static int score_pooled(double *score, xfi_scalar_search *search, const double *s, double e) {
    const xfi_problem *problem = search->problem;
    int64_t n = problem->data->n_sequences, close = 0;
    double *mean = search->mean, *bound = search->error, worst = 0;
    take_means(mean, bound, s, e, problem);
    if (!xfi_sort_index(search->order, mean, n))
        return 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t j = search->order[i], k = search->order[i + 1 < n ? i + 1 : i];
        double room = 4 * (bound[j] + bound[k]);
        close += i + 1 < n && !(mean[k] - mean[j] > room);
        worst = fmax(worst, bound[j]);
    }
    double range = mean[search->order[n - 1]] - mean[search->order[0]];
    double share = worst > 0 ? (double)n * worst / (range + (double)n * worst) : 0;
    *score = isfinite(range) ? -(double)close - share : -INFINITY;
    return 1;
}

/* Ascending sample of the projections, always with the least and the largest. */
static int64_t take_sample(double *sample, const double *projection, int64_t n) {
    int64_t step = n / SAMPLE + 1, taken = 0;
    double low = projection[0], high = projection[0];
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, projection[i]);
        high = fmax(high, projection[i]);
        if (i % step == 0)
            sample[taken++] = projection[i];
    }
    sample[taken++] = low;
    sample[taken++] = high;
    xfi_sort_doubles(sample, taken);
    return taken;
}

/* The origin: 0, or the median if the values are far from 0 for their range. */
static double choose_origin(const double *sample, int64_t n, double share) {
    double median = sample[n / 2], range = sample[n - 1] - sample[0];
    return fabs(median) > share * range ? xfi_round24(median) : 0.0;
}

static int try_pooled(xfi_scalar_search *search, const xfi_scalar *scalar, const double *projection,
                      xfi_scalar_list *list) {
    double score = 0;
    take_values(search->token, scalar, projection, search->problem->data->n_tokens);
    double e = rounding_of(search->problem, scalar);
    return score_pooled(&score, search, search->token, e) &&
           keep(list, scalar, score, search->problem->data->d);
}

/* Knees below everything, and inside the data. */
/* NOLINTNEXTLINE(readability-non-const-parameter): a scalar borrows it as its own v */
static int try_halves(xfi_scalar_search *search, double *direction, const double *projection,
                      const double *sample, int64_t n) {
    const double knees[KNEES] = {sample[0] - (sample[n - 1] - sample[0]) / 64, sample[n / 10],
                                 sample[n / 4]};
    int ok = 1;
    for (int i = 0; ok && i < KNEES; i++) {
        xfi_scalar scalar = {.v = direction, .half = 1, .nu = xfi_round24(knees[i])};
        ok = try_pooled(search, &scalar, projection, &search->half);
    }
    return ok;
}

static int try_local(xfi_scalar_search *search, const xfi_scalar *scalar, const double *projection,
                     const xfi_scalar_wish *wish) {
    double score = 0;
    take_values(search->token, scalar, projection, search->problem->data->n_tokens);
    double e = rounding_of(search->problem, scalar);
    if (!wish->judge(&score, wish->self, search->token, e))
        return 0;
    return !(score > 0) || keep(&search->local, scalar, score, search->problem->data->d);
}

/* One direction for all purposes. */
static int try_direction(xfi_scalar_search *search, double *direction, const double *projection,
                         const xfi_scalar_wish *wish) {
    double sample[SAMPLE + 3];
    int64_t n = take_sample(sample, projection, search->problem->data->n_tokens);
    if (!(sample[n - 1] > sample[0]) || !isfinite(sample[n - 1] - sample[0]))
        return 1; /* constant */
    const xf_dataset *data = search->problem->data;
    double length = (double)data->n_tokens / (double)data->n_sequences;
    xfi_scalar local = {.v = direction, .nu = choose_origin(sample, n, 1.0 / 8)};
    xfi_scalar pooled = {.v = direction, .nu = choose_origin(sample, n, 1.0 / 8 / sqrt(length))};
    int ok = 1;
    if (wish->local)
        ok = try_local(search, &local, projection, wish);
    if (ok && wish->pooled)
        ok = try_pooled(search, &pooled, projection, &search->pooled);
    if (ok && wish->half)
        ok = try_halves(search, direction, projection, sample, n);
    return ok;
}

static xf_status try_batch(xfi_scalar_search *search, const xfi_scalar_wish *wish,
                           xf_error *error) {
    const xf_dataset *data = search->problem->data;
    xfi_project(search->values, data->x, data->n_tokens, data->d, search->directions,
                search->problem->threads);
    for (int c = 0; c < XFI_PROJECT_BATCH; c++)
        if (!try_direction(search, search->directions + c * data->d,
                           search->values + c * data->n_tokens, wish))
            return xfi_fail_memory(error);
    return xfi_problem_progress(search->problem, "scalars", 0.0, error);
}

xf_status xfi_scalar_search_round(xfi_scalar_search *search, int round, const xfi_scalar_wish *wish,
                                  xf_error *error) {
    static const xfi_direction_kind kinds[] = {XFI_SPARSE, XFI_DENSE, XFI_SCALED};
    const xfi_problem *problem = search->problem;
    int64_t d = problem->data->d, axes = d < MAX_AXES ? d : (int64_t)MAX_AXES;
    xfi_rng rng;
    xfi_rng_seed(&rng, problem->options->seed, 0x600 + (uint64_t)round);
    for (int64_t c = 0; round == 0 && c < axes; c += XFI_PROJECT_BATCH) {
        memset(search->directions, 0, (size_t)(XFI_PROJECT_BATCH * d) * sizeof(double));
        for (int64_t i = c; i < c + XFI_PROJECT_BATCH && i < axes; i++)
            xfi_draw_direction(search->directions + (i - c) * d, problem, &rng, XFI_AXIS, i);
        XFI_TRY(try_batch(search, wish, error));
    }
    for (int batch = 0; round > 0 && batch < 3; batch++) {
        for (int i = 0; i < XFI_PROJECT_BATCH; i++)
            xfi_draw_direction(search->directions + i * d, problem, &rng, kinds[batch], 0);
        XFI_TRY(try_batch(search, wish, error));
    }
    return XF_OK;
}

/* The middle of the widest of the gaps between the means near the median. */
static double middle_gap(const double *mean, int64_t n) {
    if (n == 1)
        return mean[0] - (mean[0] != 0.0 ? fabs(mean[0]) : 1.0);
    int64_t first = n / 2 - n / 20 - 1, last = n / 2 + n / 20;
    int64_t best = n / 2 - 1;
    for (int64_t i = first > 0 ? first : 0; i <= last && i + 1 < n; i++)
        if (mean[i + 1] - mean[i] > mean[best + 1] - mean[best])
            best = i;
    return mean[best] + (mean[best + 1] - mean[best]) / 2;
}

static void move_origin(xfi_scalar *scalar, double by, const xfi_format *format) {
    double *origin = scalar->half ? &scalar->centre : &scalar->nu;
    *origin = xfi_round(format, *origin + by);
}

/* s [T] of all tokens and its means [N], both the caller's. */
static xf_status evaluate(double **s, double **mean, const xfi_scalar *scalar,
                          const xfi_problem *problem, xf_error *error) {
    const xf_dataset *data = problem->data;
    *s = xfi_calloc(data->n_tokens, sizeof(double));
    *mean = xfi_calloc2(2, data->n_sequences, sizeof(double)); /* and their bounds */
    if (*s == NULL || *mean == NULL) {
        xfi_free(*s);
        xfi_free(*mean);
        return xfi_fail_memory(error);
    }
    for (int64_t i = 0; i < data->n_tokens; i++)
        for (int64_t k = 0; k < data->d; k++)
            (*s)[i] += scalar->v[k] * data->x[i * data->d + k];
    take_values(*s, scalar, *s, data->n_tokens);
    take_means(*mean, *mean + data->n_sequences, *s, 0.0, problem);
    return XF_OK;
}

static double range_of(const double *values, int64_t n) {
    double low = values[0], high = values[0];
    for (int64_t i = 1; i < n; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    return high - low;
}

xf_status xfi_scalar_ranges(const xfi_scalar *scalar, const xfi_problem *problem, double *tokens,
                            double *means, xf_error *error) {
    double *s, *mean;
    XFI_TRY(evaluate(&s, &mean, scalar, problem, error));
    *tokens = range_of(s, problem->data->n_tokens);
    *means = range_of(mean, problem->data->n_sequences);
    xfi_free(s);
    xfi_free(mean);
    return XF_OK;
}

xf_status xfi_scalar_centre(xfi_scalar *scalar, const xfi_problem *problem, xf_error *error) {
    double *s, *mean;
    XFI_TRY(evaluate(&s, &mean, scalar, problem, error));
    xfi_sort_doubles(mean, problem->data->n_sequences);
    move_origin(scalar, middle_gap(mean, problem->data->n_sequences), &problem->format);
    xfi_free(s);
    xfi_free(mean);
    return XF_OK;
}

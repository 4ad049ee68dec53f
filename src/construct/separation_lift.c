/* Lifting tokens until all means differ. */
#include "construct/separation_lift.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/copy_blocks.h"
#include "construct/lift.h"
#include "construct/sequences.h"
#include "core/model_shape.h"
#include "num/sort.h"

#include <assert.h>
#include <string.h>

enum { HEIGHTS = 8 };

/* Means closer than this (over the half-range) are equal, others have to stay farther apart than
 * that, and so do tokens. */
static const double EQUAL = 0x1p-40, APART = 0x1p-30;

typedef struct lifting {
    const xfi_problem *problem;
    xfi_crowd crowd;
    xfi_lift *lifts; /* [N] */
    int64_t n_lifts;
    double *z;      /* [T][d] of a trial */
    double *mean;   /* [N][d] */
    double *key;    /* [N] */
    int64_t *order; /* [N] */
    double *apart;  /* [N][d] one mean of each class */
    int64_t *first; /* [T] */
    double *points; /* [T][d] */
} lifting;

static int init(lifting *s) {
    int64_t N = s->problem->data->n_sequences, T = s->problem->data->n_tokens;
    int64_t d = s->problem->data->d;
    s->lifts = xfi_calloc(N, sizeof *s->lifts);
    s->z = xfi_calloc2(T, d, sizeof(double));
    s->mean = xfi_calloc2(N, d, sizeof(double));
    s->key = xfi_calloc(N, sizeof(double));
    s->order = xfi_calloc(N, sizeof(int64_t));
    s->apart = xfi_calloc2(N, d, sizeof(double));
    s->first = xfi_calloc(T, sizeof(int64_t));
    s->points = xfi_calloc2(T, d, sizeof(double));
    return xfi_crowd_init(&s->crowd, s->problem) && s->lifts && s->z && s->mean && s->key &&
           s->order && s->apart && s->first && s->points;
}

static void clear(lifting *s) {
    for (int64_t i = 0; s->lifts != NULL && i < s->problem->data->n_sequences; i++)
        xfi_lift_clear(&s->lifts[i]);
    xfi_crowd_clear(&s->crowd);
    xfi_free(s->lifts);
    xfi_free(s->z);
    xfi_free(s->mean);
    xfi_free(s->key);
    xfi_free(s->order);
    xfi_free(s->apart);
    xfi_free(s->first);
    xfi_free(s->points);
}

static double half_range(const double *z, int64_t n, int64_t d) {
    double largest = 0;
    for (int64_t k = 0; k < d; k++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < n; i++) {
            low = fmin(low, z[i * d + k]);
            high = fmax(high, z[i * d + k]);
        }
        largest = fmax(largest, high / 2 - low / 2);
    }
    return largest;
}

/* Means of the tokens z, ordered by a projection that few of them share. */
static int order_means(lifting *s, const double *z) {
    const xf_dataset *data = s->problem->data;
    int64_t d = data->d;
    memset(s->mean, 0, (size_t)(data->n_sequences * d) * sizeof(double));
    for (int64_t j = 0; j < data->n_sequences; j++) {
        s->key[j] = 0;
        for (int64_t k = 0; k < d; k++) {
            double sum = 0;
            for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++)
                sum += z[i * d + k];
            s->mean[j * d + k] = sum / (double)xfi_inputs_of(data, j);
            s->key[j] += s->mean[j * d + k] * (1.0 + fmod(0.754877666 * (double)(k + 1), 1.0));
        }
    }
    return xfi_sort_index(s->order, s->key, data->n_sequences);
}

static double distance(const double *a, const double *b, int64_t d) {
    double largest = 0;
    for (int64_t k = 0; k < d; k++)
        largest = fmax(largest, fabs(a[k] - b[k]));
    return largest;
}

/* Classes of equal means, counted, with one mean of each in `apart`; *j and *k become two
 * sequences with equal means, or stay. */
static int64_t count_classes(lifting *s, double h, int64_t *j, int64_t *k) {
    int64_t N = s->problem->data->n_sequences, d = s->problem->data->d, n = 0;
    double window = 2.0 * (double)d * EQUAL * h;
    for (int64_t i = 0; i < N; i++) {
        int64_t here = s->order[i], known = 0;
        for (int64_t l = i - 1; l >= 0 && !known; l--) {
            int64_t other = s->order[l];
            if (s->key[here] - s->key[other] > window)
                break;
            known = distance(s->mean + here * d, s->mean + other * d, d) <= EQUAL * h;
            if (known) {
                *j = other;
                *k = here;
            }
        }
        if (!known)
            memcpy(s->apart + n++ * d, s->mean + here * d, (size_t)d * sizeof(double));
    }
    return n;
}

/* What a trial makes of the tokens z: classes, and how far apart they and the tokens are. */
typedef struct outcome {
    int64_t n_classes;
    double apart; /* over the half-range; -1: out of memory */
} outcome;

static outcome measure(lifting *s) {
    const xf_dataset *data = s->problem->data;
    int64_t d = data->d, j = 0, k = 0;
    double h = half_range(s->z, data->n_tokens, d);
    outcome out = {0, -1.0};
    if (!order_means(s, s->z))
        return out;
    out.n_classes = count_classes(s, h, &j, &k);
    double means = xfi_least_distance(s->apart, out.n_classes, d, APART * h);
    int64_t n = xfi_crowd_positions(&s->crowd, s->first);
    for (int64_t i = 0; i < n; i++)
        memcpy(s->points + i * d, s->z + s->first[i] * d, (size_t)d * sizeof(double));
    double tokens = xfi_least_distance(s->points, n, d, APART * h);
    out.apart = means < 0 || tokens < 0 ? -1.0 : fmin(means, tokens) / h;
    return out;
}

/* Lift a token of one of the two; *lifted becomes 0 if no height keeps the others apart. */
static xf_status lift_one(lifting *s, int64_t n_classes, int64_t j, int64_t k, int *lifted,
                          xf_error *error) {
    static const double heights[HEIGHTS] = {1.0,    0.6875, 1.3125,  0.46875,
                                            0.8125, 1.5625, 0.28125, 0.15625};
    const xf_dataset *data = s->problem->data;
    size_t bytes = (size_t)(data->n_tokens * data->d) * sizeof(double);
    xfi_lift *lift = &s->lifts[s->n_lifts];
    double h = half_range(s->crowd.z, data->n_tokens, data->d), best = APART, height = 0;
    if (!xfi_lift_choose(lift, &s->crowd, j, k))
        return xfi_fail_memory(error);
    for (int i = 0; i < HEIGHTS && lift->r > 0; i++) {
        lift->H = xfi_round24(heights[i] * h);
        memcpy(s->z, s->crowd.z, bytes);
        xfi_lift_apply(lift, &s->crowd, s->z);
        outcome next = measure(s);
        if (next.apart < 0)
            return xfi_fail_memory(error);
        if (next.n_classes > n_classes && next.apart > best) {
            best = next.apart;
            height = lift->H;
        }
    }
    *lifted = height > 0;
    lift->H = height;
    if (*lifted) {
        xfi_lift_apply(lift, &s->crowd, s->crowd.z);
        s->n_lifts++;
    }
    return XF_OK;
}

static xf_status lift_all(lifting *s, int *lifted, xf_error *error) {
    const xf_dataset *data = s->problem->data;
    *lifted = 1;
    while (*lifted) {
        int64_t j = -1, k = -1;
        double h = half_range(s->crowd.z, data->n_tokens, data->d);
        XFI_TRY(xfi_problem_progress(s->problem, "separation",
                                     (double)s->n_lifts / (double)data->n_sequences, error));
        if (!order_means(s, s->crowd.z))
            return xfi_fail_memory(error);
        int64_t n_classes = count_classes(s, h, &j, &k);
        if (j < 0)
            return XF_OK;
        assert(s->n_lifts < n_classes && n_classes < data->n_sequences);
        XFI_TRY(lift_one(s, n_classes, j, k, lifted, error));
    }
    return XF_OK;
}

static xf_status emit(xfi_separation *out, lifting *s, xf_error *error) {
    XFI_TRY(xf_model_new(&out->blocks, s->n_lifts, s->problem->data->d, XFI_WIDTH, error));
    out->n_blocks = s->n_lifts;
    out->scale = out->blocks.ff_eta[0] = s->crowd.scale;
    for (int64_t i = 0; i < s->n_lifts; i++)
        xfi_lift_emit(&s->lifts[i], &s->problem->format, &out->blocks, i, out->blocks.ff_eta[i]);
    out->z = s->crowd.z;
    s->crowd.z = NULL;
    return XF_OK;
}

xf_status xfi_separation_lift(xfi_separation *out, const xfi_problem *problem, xf_error *error) {
    lifting s = {.problem = problem};
    int lifted = 0;
    *out = (xfi_separation){0};
    xf_status status = init(&s) ? lift_all(&s, &lifted, error) : xfi_fail_memory(error);
    if (status == XF_OK && lifted && s.n_lifts > 0)
        status = emit(out, &s, error);
    clear(&s);
    if (status != XF_OK)
        xfi_separation_clear(out);
    return status;
}

static xf_status name_phases(xf_model *model, int64_t n_lifts, int64_t n_front, xf_error *error) {
    XFI_TRY(xfi_model_add_phase(model, "separation", n_lifts, error));
    XFI_TRY(xfi_model_add_phase(model, "fold", n_front - 1, error));
    return xfi_model_add_phase(model, "pooling", 1, error);
}

xf_status xfi_certify_lifted(xfi_certificate *out, const xfi_separation *lifts,
                             const xfi_front *front, const xfi_problem *problem, xfi_axes axes,
                             xf_error *error) {
    int64_t d = problem->data->d, n_front = xfi_front_blocks(front), n_lifts = lifts->n_blocks;
    xf_model behind;
    *out = (xfi_certificate){0};
    XFI_TRY(xf_model_new(&out->blocks, n_lifts + n_front, d, XFI_WIDTH, error));
    xf_status status = xf_model_new(&behind, n_front, d, XFI_WIDTH, error);
    int in_range = status == XF_OK && xfi_front_emit(front, &problem->format, axes, &behind);
    if (status == XF_OK) {
        xfi_copy_blocks(&out->blocks, 0, &lifts->blocks);
        xfi_copy_blocks(&out->blocks, n_lifts, &behind);
        out->blocks.dtype = problem->options->dtype;
        status = name_phases(&out->blocks, n_lifts, n_front, error);
    }
    if (status == XF_OK && in_range)
        status = xfi_certify_blocks(&out->groups, &out->blocks, n_lifts + n_front, axes.k1,
                                    problem->data, problem->threads, error);
    xf_model_clear(&behind);
    if (status != XF_OK)
        xfi_certificate_clear(out);
    return status;
}

/* Growing the tree: one pair of sequences a step. */
#include "construct/separation_tree.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/lift.h"
#include "construct/sequences.h"
#include "num/sort.h"

#include <assert.h>
#include <string.h>

enum { WIDTH = 4, HEIGHTS = 3, GAINS = 10 };

/* Displacements closer than this (over the half-range) are equal, positions have to stay
 * farther apart than that. Rounding is far below either. */
static const double EQUAL = 0x1p-40, APART = 0x1p-28;

typedef struct tree_step {
    xfi_lift lift;
    double gain; /* kappa */
} tree_step;

typedef struct tree {
    const xfi_problem *problem;
    xfi_crowd crowd;
    tree_step *steps; /* [N] */
    int64_t n_steps;
    int64_t *private; /* [N] tokens that no other sequence of the class has */
    int64_t *first;   /* [T] */
    double *z;        /* [T][d] of a trial */
    double *best_z;
    double *mean;   /* [N] */
    int64_t *class; /* [N] of a trial */
    int64_t *best_class;
    double *points;   /* [T][d] */
    int64_t *by_mean; /* [N] */
} tree;

static int init(tree *t) {
    const xf_dataset *data = t->problem->data;
    int64_t N = data->n_sequences, T = data->n_tokens, d = data->d;
    t->steps = xfi_calloc(N, sizeof *t->steps);
    t->private = xfi_calloc(N, sizeof(int64_t));
    t->first = xfi_calloc(T, sizeof(int64_t));
    t->z = xfi_calloc2(T, d, sizeof(double));
    t->best_z = xfi_calloc2(T, d, sizeof(double));
    t->mean = xfi_calloc(N, sizeof(double));
    t->class = xfi_calloc(N, sizeof(int64_t));
    t->best_class = xfi_calloc(N, sizeof(int64_t));
    t->points = xfi_calloc2(T, d, sizeof(double));
    t->by_mean = xfi_calloc(N, sizeof(int64_t));
    return xfi_crowd_init(&t->crowd, t->problem) && t->steps && t->private && t->first && t->z &&
           t->best_z && t->mean && t->class && t->best_class && t->points && t->by_mean;
}

static void clear(tree *t) {
    for (int64_t i = 0; t->steps != NULL && i < t->problem->data->n_sequences; i++)
        xfi_lift_clear(&t->steps[i].lift);
    xfi_crowd_clear(&t->crowd);
    xfi_free(t->steps);
    xfi_free(t->private);
    xfi_free(t->first);
    xfi_free(t->z);
    xfi_free(t->best_z);
    xfi_free(t->mean);
    xfi_free(t->class);
    xfi_free(t->best_class);
    xfi_free(t->points);
    xfi_free(t->by_mean);
}

/* End of the run of tokens at one position that starts at crowd->order[i]. */
static int64_t run_end(const tree *t, int64_t i) {
    const xfi_crowd *crowd = &t->crowd;
    const xf_dataset *data = t->problem->data;
    int64_t token = crowd->order[i], class = crowd->class[xfi_sequence_of(data, token)];
    while (++i < data->n_tokens) {
        int64_t next = crowd->order[i];
        if (crowd->value[next] != crowd->value[token] ||
            crowd->class[xfi_sequence_of(data, next)] != class)
            break;
    }
    return i;
}

/* Two sequences of one class that share a token, the first in need of private ones. Returns 0 if
 * no sequence is in need. */
static int find_pair(tree *t, int64_t *j, int64_t *k) {
    const xf_dataset *data = t->problem->data;
    const int64_t *order = t->crowd.order;
    xfi_crowd_positions(&t->crowd, t->first);
    memset(t->private, 0, (size_t)data->n_sequences * sizeof *t->private);
    for (int64_t i = 0; i < data->n_tokens; i = run_end(t, i))
        if (run_end(t, i) == i + 1)
            t->private[xfi_sequence_of(data, order[i])]++;
    for (int64_t i = 0, end = 0; i < data->n_tokens; i = end) {
        end = run_end(t, i);
        for (int64_t l = i; l < end && end > i + 1; l++) {
            *j = xfi_sequence_of(data, order[l]);
            *k = xfi_sequence_of(data, order[l > i ? i : i + 1]);
            if (t->private[*j] < xfi_targets_of(data, *j))
                return 1;
        }
    }
    return 0;
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

/* Means of coordinate 0; returns their spread. */
static double take_means(tree *t) {
    const xf_dataset *data = t->problem->data;
    double low = INFINITY, high = -INFINITY;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        double sum = 0;
        for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++)
            sum += t->z[i * data->d];
        t->mean[j] = sum / (double)xfi_inputs_of(data, j);
        low = fmin(low, t->mean[j]);
        high = fmax(high, t->mean[j]);
    }
    return high - low;
}

/* New classes: those of the old ones that are displaced alike. Returns their number, 0 if
 * memory is short. */
static int64_t classify(tree *t, double tolerance) {
    const xf_dataset *data = t->problem->data;
    int64_t n = 0;
    if (!xfi_sort_index(t->by_mean, t->mean, data->n_sequences))
        return 0;
    for (int64_t old = 0; old < t->crowd.n_classes; old++) {
        double previous = -INFINITY;
        for (int64_t i = 0; i < data->n_sequences; i++) {
            int64_t j = t->by_mean[i];
            if (t->crowd.class[j] != old)
                continue;
            n += t->mean[j] - previous > tolerance;
            previous = t->mean[j];
            t->class[j] = n - 1;
        }
    }
    return n;
}

/* Displace by gain mean e_1; the quality is the least distance of positions over the half-range, 0
 * if the pair is not split, -1 if memory is short. */
static double try_gain(tree *t, double gain, int64_t j, int64_t k, int64_t *n_classes) {
    const xf_dataset *data = t->problem->data;
    int64_t d = data->d;
    for (int64_t s = 0; s < data->n_sequences; s++)
        for (int64_t i = data->x_offsets[s]; i < data->x_offsets[s + 1]; i++)
            t->z[i * d + 1] = t->crowd.z[i * d + 1] + gain * t->mean[s];
    double h = half_range(t->z, data->n_tokens, d);
    *n_classes = classify(t, EQUAL * h / fabs(gain));
    if (*n_classes == 0)
        return -1.0;
    if (t->class[j] == t->class[k])
        return 0.0;
    xfi_crowd next = t->crowd;
    next.class = t->class;
    int64_t n = xfi_crowd_positions(&next, t->first);
    for (int64_t i = 0; i < n; i++)
        memcpy(t->points + i * d, t->z + t->first[i] * d, (size_t)d * sizeof(double));
    double least = xfi_least_distance(t->points, n, d, APART * h);
    return least < 0 ? least : least / h;
}

typedef struct trial {
    double quality;
    double H;
    double gain;
    int64_t n_classes;
} trial;

static int try_height(tree *t, tree_step *step, trial *best, int64_t j, int64_t k) {
    static const double gains[GAINS] = {0.5,     0.59375, 0.6875, 0.78125, 0.84375,
                                        0.96875, 1.0625,  1.1875, 1.3125,  1.4375};
    const xf_dataset *data = t->problem->data;
    size_t bytes = (size_t)(data->n_tokens * data->d) * sizeof(double);
    memcpy(t->z, t->crowd.z, bytes);
    xfi_lift_apply(&step->lift, &t->crowd, t->z);
    double spread = take_means(t), h = half_range(t->z, data->n_tokens, data->d);
    for (int i = 0; i < GAINS && spread > EQUAL * h; i++) {
        trial next = {.H = step->lift.H, .gain = xfi_round24(gains[i] * h / spread)};
        next.quality = try_gain(t, next.gain, j, k, &next.n_classes);
        if (next.quality < 0)
            return 0;
        if (next.quality <= best->quality)
            continue;
        *best = next;
        memcpy(t->best_z, t->z, bytes);
        memcpy(t->best_class, t->class, (size_t)data->n_sequences * sizeof *t->class);
    }
    return 1;
}

/* Split the pair; *grown becomes 0 if no choice keeps everything apart. */
static xf_status grow(tree *t, int64_t j, int64_t k, int *grown, xf_error *error) {
    static const double heights[HEIGHTS] = {1.0, 0.6875, 1.5625};
    const xf_dataset *data = t->problem->data;
    tree_step *step = &t->steps[t->n_steps];
    trial best = {.quality = APART};
    int ok = xfi_lift_choose(&step->lift, &t->crowd, j, k);
    double h = half_range(t->crowd.z, data->n_tokens, data->d);
    for (int i = 0; i < HEIGHTS && ok && step->lift.r > 0; i++) {
        step->lift.H = xfi_round24(heights[i] * h);
        ok = try_height(t, step, &best, j, k);
    }
    if (!ok)
        return xfi_fail_memory(error);
    *grown = best.quality > APART;
    if (!*grown)
        return XF_OK;
    step->lift.H = best.H;
    step->gain = best.gain;
    t->n_steps++;
    assert(best.n_classes > t->crowd.n_classes);
    t->crowd.n_classes = best.n_classes;
    memcpy(t->crowd.z, t->best_z, (size_t)(data->n_tokens * data->d) * sizeof(double));
    memcpy(t->crowd.class, t->best_class, (size_t)data->n_sequences * sizeof *t->class);
    return XF_OK;
}

static xf_status emit(xfi_separation *out, const tree *t, xf_error *error) {
    int64_t d = t->problem->data->d;
    XFI_TRY(xf_model_new(&out->blocks, t->n_steps, d, WIDTH, error));
    out->n_blocks = t->n_steps;
    out->blocks.ff_eta[0] = t->crowd.scale;
    for (int64_t i = 0; i < t->n_steps; i++) {
        xfi_lift_emit(&t->steps[i].lift, &t->problem->format, &out->blocks, i,
                      out->blocks.ff_eta[i]);
        out->blocks.sa_V.left[i * d + 1] = t->steps[i].gain;
        out->blocks.sa_V.right[i * d] = 1.0;
    }
    return XF_OK;
}

static xf_status grow_all(tree *t, int *grown, xf_error *error) {
    int64_t j = 0, k = 0, N = t->problem->data->n_sequences;
    *grown = 1;
    while (*grown && find_pair(t, &j, &k)) {
        XFI_TRY(
            xfi_problem_progress(t->problem, "separation", (double)t->n_steps / (double)N, error));
        assert(t->n_steps < N - 1); /* there are n_steps + 1 classes at least */
        XFI_TRY(grow(t, j, k, grown, error));
    }
    return XF_OK;
}

xf_status xfi_separation_tree(xfi_separation *out, const xfi_problem *problem, xf_error *error) {
    tree t = {.problem = problem};
    int grown = 0;
    *out = (xfi_separation){0};
    xf_status status = init(&t) ? grow_all(&t, &grown, error) : xfi_fail_memory(error);
    if (status == XF_OK && grown && t.n_steps > 0)
        status = emit(out, &t, error);
    clear(&t);
    if (status == XF_OK && out->n_blocks > 0)
        status = xfi_separation_finish(out, problem, error);
    if (status != XF_OK)
        xfi_separation_clear(out);
    return status;
}

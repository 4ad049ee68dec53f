/* One block of mean pooling: random vectors, a few kinks, the best score wins. */
#include "construct/separate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "construct/neuron.h"
#include "construct/sequences.h"

#include <string.h>

enum { MOST_KINKS = 3, DRAWS = 8, GAINS = 4, WIDTH = 4 };

/* A score that no further trial is likely to beat by much. */
static const double GOOD_SCORE = 0x1p-10;

typedef struct kink {
    double *u; /* [d] on the tokens as they are */
    double bias;
    double sign;
} kink;

/* z = y + left mean<right, y>, y = scale x - centre + e_axis sum sign relu(<u, x> + bias). */
typedef struct trial {
    const xfi_problem *problem;
    double scale;
    double *centre; /* [d] */
    double *left;   /* [d] */
    double *right;  /* [d] */
    int n_kinks;
    int64_t axis;
    kink kinks[MOST_KINKS];
    double *y;    /* [T][d] */
    double *z;    /* [T][d] */
    double *mean; /* [N] */
} trial;

static void clear(trial *t) {
    xfi_free(t->centre);
    xfi_free(t->left);
    xfi_free(t->right);
    xfi_free(t->y);
    xfi_free(t->z);
    xfi_free(t->mean);
    for (int i = 0; i < MOST_KINKS; i++)
        xfi_free(t->kinks[i].u);
}

static int init(trial *t) {
    const xf_dataset *data = t->problem->data;
    int64_t d = data->d;
    t->centre = xfi_calloc(d, sizeof(double));
    t->left = xfi_calloc(d, sizeof(double));
    t->right = xfi_calloc(d, sizeof(double));
    t->y = xfi_calloc2(data->n_tokens, d, sizeof(double));
    t->z = xfi_calloc2(data->n_tokens, d, sizeof(double));
    t->mean = xfi_calloc(data->n_sequences, sizeof(double));
    int ok = t->centre && t->left && t->right && t->y && t->z && t->mean;
    for (int i = 0; i < t->n_kinks; i++) {
        t->kinks[i].u = xfi_calloc(d, sizeof(double));
        ok = ok && t->kinks[i].u != NULL;
    }
    return ok;
}

/* Take out offsets that are large against the range. */
static void choose_centre(trial *t) {
    const xf_dataset *data = t->problem->data;
    for (int64_t k = 0; k < data->d; k++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < data->n_tokens; i++) {
            low = fmin(low, data->x[i * data->d + k] * t->scale);
            high = fmax(high, data->x[i * data->d + k] * t->scale);
        }
        double middle = low / 2 + high / 2;
        t->centre[k] = fabs(middle) > 0.5 ? middle : 0.0;
    }
}

/* Entries are multiples of 1/8 in [-1, 1], half of the time two of them only. */
static void draw_vector(double *v, int64_t d, xfi_rng *rng) {
    int sparse = (int)xfi_rng_below(rng, 2);
    memset(v, 0, (size_t)d * sizeof *v);
    for (int64_t i = 0; i < (sparse ? 2 : d); i++) {
        int64_t k = sparse ? xfi_rng_below(rng, d) : i;
        v[k] = (double)(xfi_rng_below(rng, 17) - 8) / 8;
    }
    int64_t k = xfi_rng_below(rng, d);
    v[k] = v[k] < 0 ? -1.0 : 1.0;
}

static double dot(const double *a, const double *b, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += a[k] * b[k];
    return sum;
}

/* Knees lie between two random tokens. */
static void draw_kinks(trial *t, xfi_rng *rng) {
    const xf_dataset *data = t->problem->data;
    t->axis = xfi_rng_below(rng, data->d);
    for (int i = 0; i < t->n_kinks; i++) {
        kink *new = &t->kinks[i];
        draw_vector(new->u, data->d, rng);
        for (int64_t k = 0; k < data->d; k++)
            new->u[k] *= t->scale;
        double a = dot(new->u, data->x + xfi_rng_below(rng, data->n_tokens) * data->d, data->d);
        double b = dot(new->u, data->x + xfi_rng_below(rng, data->n_tokens) * data->d, data->d);
        double mix = xfi_rng_uniform(rng);
        new->bias = -xfi_round24(a + mix * (b - a));
        new->sign = xfi_rng_below(rng, 2) ? 1.0 : -1.0;
    }
}

static void feed_forward(trial *t) {
    const xf_dataset *data = t->problem->data;
    int64_t d = data->d;
    for (int64_t i = 0; i < data->n_tokens; i++) {
        const double *x = data->x + i * d;
        double *y = t->y + i * d;
        for (int64_t k = 0; k < d; k++)
            y[k] = x[k] * t->scale - t->centre[k];
        for (int n = 0; n < t->n_kinks; n++) {
            double a = dot(t->kinks[n].u, x, d) + t->kinks[n].bias;
            y[t->axis] += t->kinks[n].sign * fmax(a, 0.0);
        }
    }
}

/* Means of <right, y>; returns their spread. */
static double take_means(trial *t) {
    const xf_dataset *data = t->problem->data;
    double low = INFINITY, high = -INFINITY;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t n = xfi_inputs_of(data, j);
        double sum = 0;
        for (int64_t l = 0; l < n; l++)
            sum += dot(t->right, t->y + (data->x_offsets[j] + l) * data->d, data->d);
        t->mean[j] = sum / (double)n;
        low = fmin(low, t->mean[j]);
        high = fmax(high, t->mean[j]);
    }
    return high - low;
}

static void displace(trial *t, double gain) {
    const xf_dataset *data = t->problem->data;
    for (int64_t j = 0; j < data->n_sequences; j++)
        for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++)
            for (int64_t k = 0; k < data->d; k++)
                t->z[i * data->d + k] = t->y[i * data->d + k] + gain * t->left[k] * t->mean[j];
}

/* Write the block with the displacement scaled by `gain`. */
static xf_status emit(xfi_separation *out, const trial *t, double gain, xf_error *error) {
    int64_t d = t->problem->data->d;
    xf_model *m = &out->blocks;
    XFI_TRY(xf_model_new(m, 1, d, WIDTH, error));
    m->ff_eta[0] = t->scale;
    for (int i = 0; i < t->n_kinks; i++) {
        for (int64_t k = 0; k < d; k++)
            m->ff_U[i * d + k] = t->kinks[i].u[k];
        m->ff_b[i] = t->kinks[i].bias;
        xfi_neuron_out(m, 0, i, (int)t->axis, t->kinks[i].sign);
    }
    m->ff_b[t->n_kinks] = 1.0;
    for (int64_t k = 0; k < d; k++)
        xfi_neuron_out(m, 0, t->n_kinks, (int)k, t->centre[k] != 0.0 ? -t->centre[k] : 0.0);
    for (int64_t k = 0; k < d; k++) {
        m->sa_V.left[k] = gain * t->left[k];
        m->sa_V.right[k] = t->right[k];
    }
    return XF_OK;
}

static xf_status keep(xfi_separation *best, const trial *t, double gain, double score,
                      xf_error *error) {
    xfi_separation next = {.n_blocks = 1, .scale = t->scale, .score = score};
    XFI_TRY(emit(&next, t, gain, error));
    xfi_separation_clear(best);
    *best = next;
    return XF_OK;
}

/* One draw with all gains; the displacements spread over 1/2, 1, 2 and 3 half-ranges. */
static xf_status try_gains(xfi_separation *best, trial *t, xf_error *error) {
    static const double gains[GAINS] = {0.5, 1.0, 2.0, 3.0};
    feed_forward(t);
    double spread = take_means(t);
    for (int i = 0; i < GAINS && spread > 0x1p-26 && best->score < GOOD_SCORE; i++) {
        double gain = xfi_round24(gains[i] / spread);
        displace(t, gain);
        double score = xfi_separation_score(t->z, t->problem->data, NULL);
        if (score < 0)
            return xfi_fail_memory(error);
        if (score > best->score)
            XFI_TRY(keep(best, t, gain, score, error));
    }
    return XF_OK;
}

static xf_status search(xfi_separation *best, trial *t, xf_error *error) {
    xfi_rng rng;
    xfi_rng_seed(&rng, t->problem->options->seed, 0x600 + (uint64_t)t->n_kinks);
    choose_centre(t);
    for (int draw = 0; draw < DRAWS && best->score < GOOD_SCORE; draw++) {
        XFI_TRY(xfi_problem_progress(t->problem, "separation", (double)draw / DRAWS, error));
        draw_vector(t->left, t->problem->data->d, &rng);
        draw_vector(t->right, t->problem->data->d, &rng);
        if (t->n_kinks > 0) {
            draw_kinks(t, &rng);
            t->right[t->axis] = 1.0;
        }
        XFI_TRY(try_gains(best, t, error));
    }
    return XF_OK;
}

xf_status xfi_separate_pool(xfi_separation *out, const xfi_problem *problem, int kinks,
                            xf_error *error) {
    trial t = {.problem = problem,
               .scale = xfi_separation_scale(problem),
               .n_kinks = kinks < MOST_KINKS ? kinks : MOST_KINKS};
    *out = (xfi_separation){.scale = t.scale};
    xf_status status = init(&t) ? search(out, &t, error) : xfi_fail_memory(error);
    clear(&t);
    if (status == XF_OK && out->n_blocks > 0)
        status = xfi_separation_finish(out, problem, error);
    if (status != XF_OK)
        xfi_separation_clear(out);
    return status;
}

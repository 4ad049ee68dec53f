/* Bisection with outward rounding. */
#include "construct/temperature.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/sequences.h"

#include <math.h>

enum { BISECTIONS = 60 };

/* 16 ulp for exp and the products around it; sums of n terms get (n + 8) ulp more. */
static const double EXP_INFLATE = 1.0 + 0x1p-48;

/* Exponents are rounded towards 0 by this much. */
static const double EXPONENT_SLACK = 1.0 - 0x1p-50;

static double room_between(const xfi_group *a, const xfi_group *b) {
    return XFI_SOFTMAX_SHARE * (b->low - a->high) * (1 - 0x1p-40);
}

/* What group g may move upwards (side 1) or downwards (side -1); the outermost groups may
 * move outwards as far as inwards. */
static double room_of(const xfi_groups *groups, int64_t g, int side) {
    int64_t other = g + side;
    if (groups->n == 1)
        return INFINITY;
    if (other < 0 || other >= groups->n)
        other = g - side;
    int64_t low = g < other ? g : other;
    return room_between(&groups->at[low], &groups->at[low + 1]);
}

void xfi_reserve_room(xfi_groups *groups) {
    double next = groups->n > 1 ? room_of(groups, 0, -1) : 0.0;
    for (int64_t g = 0; g < groups->n && groups->n > 1; g++) {
        double down = next;
        if (g + 1 < groups->n)
            next = room_between(&groups->at[g], &groups->at[g + 1]);
        groups->at[g].low -= down;
        groups->at[g].high += next;
    }
}

void xfi_pull_at(double *up, double *down, const xfi_pull *pull, double tau) {
    double above = 0, below = 0;
    for (int64_t l = 0; l < pull->n; l++) {
        if (pull->up[l] == 0.0 && pull->down[l] == 0.0)
            continue;
        double exponent = -(pull->gap[l] / tau) * EXPONENT_SLACK;
        double weight = exp(exponent) * EXP_INFLATE + 0x1p-1060;
        above += weight * pull->up[l];
        below += weight * pull->down[l];
    }
    double inflate = EXP_INFLATE + (double)(pull->n + 8) * 0x1p-52;
    *up = above * inflate;
    *down = below * inflate;
}

/* The room of one token. */
typedef struct room {
    double up;
    double down;
} room;

static int holds(const xfi_pull *pull, room r, double tau) {
    double up = 0, down = 0;
    xfi_pull_at(&up, &down, pull, tau);
    return up <= r.up && down <= r.down;
}

/* The largest tau <= most that holds. */
static double largest_tau(const xfi_pull *pull, room r, double most) {
    if (holds(pull, r, most))
        return most;
    double low = isfinite(most) ? most : 1.0, high = low;
    while (!isfinite(most) && holds(pull, r, high) && high < 0x1p1000)
        high *= 2;
    while (low > 0x1p-1000 && !holds(pull, r, low)) {
        high = low;
        low /= 2;
    }
    if (!holds(pull, r, low))
        return 0.0;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = low + (high - low) / 2;
        if (holds(pull, r, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

typedef struct temperature_job {
    const double *p;
    double slope;
    const xfi_settled *settled;
    xfi_view view;
    double *up;   /* [n_max] */
    double *down; /* [n_max] */
    room *rooms;  /* [T] of the leaders */
} temperature_job;

/* How far token l (row) is from the leader on the line, rounded outwards. */
static void measure_pull(const temperature_job *job, int64_t l, int64_t leader, double *up,
                         double *down) {
    const double *off = job->settled->off;
    double a = job->p[l] - job->p[leader];
    double loose = job->slope * (off[l] + off[leader]);
    loose = (loose + 0x1p-50 * (fabs(job->p[l]) + fabs(job->p[leader]))) * (1 + 0x1p-40);
    *up = l == leader ? 0.0 : fmax(a + loose, 0.0);
    *down = l == leader ? 0.0 : fmax(loose - a, 0.0);
}

static double sequence_tau(temperature_job *job, const int64_t *leader, int64_t first, int64_t n,
                           double tau) {
    xfi_logit_gap ignored = {.gap = INFINITY};
    xfi_view_begin(&job->view, job->settled, first, n);
    for (int64_t i = 0; i < n && n > 1; i++) {
        xfi_view_from(&job->view, job->settled, first, i, &ignored);
        for (int64_t l = 0; l < n; l++)
            measure_pull(job, first + l, leader[first + i], &job->up[l], &job->down[l]);
        xfi_pull pull = {n, job->view.gap, job->up, job->down};
        tau = largest_tau(&pull, job->rooms[leader[first + i]], tau);
    }
    return tau;
}

/* The group whose only place on the line is t. */
static int64_t group_at(const xfi_groups *groups, double t) {
    int64_t low = 0, high = groups->n;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (groups->at[middle].t_low <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int job_init(temperature_job *job, const xfi_groups *groups, const int64_t *leader,
                    const xf_dataset *data) {
    int64_t n_max = xfi_longest_sequence(data);
    int ok = xfi_view_init(&job->view, n_max);
    job->up = xfi_calloc(n_max, sizeof(double));
    job->down = xfi_calloc(n_max, sizeof(double));
    job->rooms = xfi_calloc(data->n_tokens, sizeof(room));
    ok = ok && job->up && job->down && job->rooms;
    for (int64_t i = 0; ok && i < data->n_tokens; i++) {
        int64_t g = group_at(groups, job->p[leader[i]]);
        job->rooms[leader[i]] = (room){room_of(groups, g, 1), room_of(groups, g, -1)};
    }
    return ok;
}

xf_status xfi_temperature(double *tau, const xfi_groups *groups, const double *p, double slope,
                          const xfi_settled *settled, const int64_t *leader, const xf_dataset *data,
                          xf_error *error) {
    temperature_job job = {.p = p, .slope = slope, .settled = settled};
    *tau = INFINITY;
    int ok = job_init(&job, groups, leader, data);
    for (int64_t j = 0; ok && j < data->n_sequences; j++)
        *tau = sequence_tau(&job, leader, data->x_offsets[j], xfi_inputs_of(data, j), *tau);
    xfi_view_clear(&job.view);
    xfi_free(job.up);
    xfi_free(job.down);
    xfi_free(job.rooms);
    return ok ? XF_OK : xfi_fail_memory(error);
}

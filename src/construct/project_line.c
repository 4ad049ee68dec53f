/* The line and its rounding. */
#include "construct/project_line.h"

#include "base/alloc.h"
#include "construct/neuron.h"
#include "construct/sequences.h"
#include "num/double_double.h"
#include "num/format.h"

static const double INFLATE = 1.0 + 0x1p-40;

static int in_range(double v) {
    return isfinite(v) && (v == 0.0 || fabs(v) >= 0x1p-1022);
}

int xfi_line_emit(xf_model *model, int64_t block, int k1, const double *direction, double sigma,
                  double shift) {
    int64_t d = model->d, w = model->width;
    double bias = -sigma * shift;
    int ok = in_range(bias);
    model->ff_eta[block] = 0.0;
    for (int i = 0; i < 2; i++) {
        double sign = i == 0 ? 1.0 : -1.0;
        for (int64_t k = 0; k < d; k++) {
            double weight = sigma * direction[k];
            ok = ok && in_range(weight);
            model->ff_U[(block * w + i) * d + k] = weight != 0.0 ? sign * weight : 0.0;
        }
        model->ff_b[block * w + i] = sign * bias;
        xfi_neuron_out(model, block, i, k1, sign);
    }
    return ok;
}

/* Does neuron 1 negate neuron 0, and are there no others? */
static int is_pair(const xf_model *m, int64_t block) {
    const double *U = m->ff_U + block * m->width * m->d, *b = m->ff_b + block * m->width;
    if (m->width < 2 || b[1] != -b[0])
        return 0;
    for (int64_t k = 0; k < m->d; k++)
        if (U[m->d + k] != -U[k])
            return 0;
    for (int64_t i = 2 * m->d; i < m->width * m->d; i++)
        if (U[i] != 0.0)
            return 0;
    for (int64_t i = 2; i < m->width; i++)
        if (b[i] != 0.0)
            return 0;
    return 1;
}

int xfi_line_axis(const xf_model *model, int64_t block) {
    int axis = -1;
    if (model->ff_eta[block] != 0.0 || !is_pair(model, block) || model->sa_rho[block] != 1.0)
        return -1;
    for (int64_t c = 0; c < model->d; c++) {
        const double *out = model->ff_W + (block * model->d + c) * model->width;
        if (out[0] == 0.0 && out[1] == 0.0)
            continue;
        if (out[0] != 1.0 || out[1] != -1.0 || axis >= 0)
            return -1;
        axis = (int)c;
    }
    return axis;
}

static double project(const double *U, double b, const double *x, int64_t d) {
    xfi_dd sum = {b, 0.0};
    for (int64_t k = 0; k < d; k++)
        sum = xfi_dd_add(sum, xfi_two_product(U[k], x[k]));
    return xfi_dd_value(sum);
}

/* own_k bounds what coordinate k of the token differs by from its leader's place x. Of the
 * d + 2 roundings one pays for the double-double centre. */
static double bound_token(const double *U, double b, const double *x, const double *own, int64_t d,
                          double t) {
    static const xfi_format format = {53, -1022, 1023, 0x1p-53, 0x1p-1074};
    double absolute = fabs(b), propagated = 0;
    for (int64_t k = 0; k < d; k++) {
        propagated += fabs(U[k]) * own[k];
        absolute += fabs(U[k]) * (fabs(x[k]) + own[k]);
    }
    double rounding = xfi_gamma(&format, (double)d + 2) * absolute;
    double error = propagated + rounding + ((double)d + 4) * format.smallest;
    error = (error + 0x1p-53 * fabs(t)) * INFLATE;
    return fabs(t) > error ? error : 2 * error; /* both neurons may be active */
}

/* The rounding of a mean of n tokens in coordinate k: every weight passes 2n + 8 roundings at most,
 * and the weights sum to 1. */
static double mean_rounding(const xfi_settled *settled, int64_t first, int64_t n, int64_t k) {
    static const xfi_format format = {53, -1022, 1023, 0x1p-53, 0x1p-1074};
    double largest = 0;
    for (int64_t l = first; l < first + n; l++)
        largest = fmax(largest, fabs(settled->x[l * settled->d + k]) + settled->off[l]);
    if (n == 1)
        return 0.0;
    return xfi_gamma(&format, 2.0 * (double)n + 8) * largest + 4.0 * (double)n * format.smallest;
}

/* The line's stored row, the places, and scratch. */
typedef struct line_job {
    const double *U; /* [d] */
    double b;
    const double *p; /* [T] */
    const xfi_settled *settled;
    const int64_t *leader; /* [T] */
    double *own;           /* [d] */
    double *rounding;      /* [d] */
} line_job;

static void bound_sequence(double *E, const line_job *job, int64_t first, int64_t n) {
    const xfi_settled *settled = job->settled;
    int64_t d = settled->d;
    for (int64_t k = 0; k < d; k++)
        job->rounding[k] = mean_rounding(settled, first, n, k);
    for (int64_t i = first; i < first + n; i++) {
        int64_t leader = job->leader[i];
        for (int64_t k = 0; k < d; k++)
            job->own[k] = (settled->off[leader] + job->rounding[k]) * INFLATE;
        E[i] = bound_token(job->U, job->b, settled->x + leader * d, job->own, d, job->p[leader]);
    }
}

void xfi_line_project(double *p, const xf_model *model, int64_t block, const xfi_settled *settled) {
    const double *U = model->ff_U + block * model->width * model->d;
    for (int64_t i = 0; i < settled->n; i++)
        p[i] = project(U, model->ff_b[block * model->width], settled->x + i * model->d, model->d);
}

int xfi_line_bound(double *E, const double *p, const xf_model *model, int64_t block,
                   const xfi_settled *settled, const int64_t *leader, const xf_dataset *data) {
    int64_t d = model->d;
    double *room = xfi_calloc2(2, d, sizeof(double));
    if (room == NULL)
        return 0;
    line_job job = {.U = model->ff_U + block * model->width * d,
                    .b = model->ff_b[block * model->width],
                    .p = p,
                    .settled = settled,
                    .leader = leader,
                    .own = room,
                    .rounding = room + d};
    for (int64_t j = 0; j < data->n_sequences; j++)
        bound_sequence(E, &job, data->x_offsets[j], xfi_inputs_of(data, j));
    xfi_free(room);
    return 1;
}

/* Examining the blocks, putting the line behind them, measuring stored models. */
#include "construct/published_front.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/copy_blocks.h"
#include "construct/project_line.h"
#include "construct/temperature.h"
#include "core/model_shape.h"
#include "num/sort.h"

#include <math.h>
#include <string.h>

void xfi_published_front_clear(xfi_published_front *front) {
    xf_model_clear(&front->blocks);
    xfi_free(front->line);
    xfi_settled_clear(&front->settled);
    xfi_free(front->leader);
    *front = (xfi_published_front){0};
    xf_model_init(&front->blocks);
}

static int64_t count_blocks(const xfi_published_phases *phases) {
    return phases->separation + phases->quantise + phases->leaders;
}

/* Places and leaders from `model`, which need not be front->blocks. */
static xf_status examine(xfi_published_front *front, const xf_model *model, const xf_dataset *data,
                         xf_error *error) {
    XFI_TRY(xfi_settle(&front->settled, &front->uncertain, model, &front->phases, data, error));
    front->leader = xfi_calloc(data->n_tokens, sizeof *front->leader);
    if (front->leader == NULL)
        return xfi_fail_memory(error);
    if (front->uncertain >= 0)
        return XF_OK;
    return xfi_collapse(front->leader, &front->least, &front->settled, data, error);
}

xf_status xfi_published_front_examine(xfi_published_front *front, const xf_dataset *data,
                                      xf_error *error) {
    return examine(front, &front->blocks, data, error);
}

int xfi_published_front_is_proved(const xfi_published_front *front) {
    return front->uncertain < 0 && front->least.gap > front->least.bound;
}

/* The groups behind the line's block, and every token's own number p [T]. */
static xf_status group_on_line(xfi_groups *out, double *p, const xfi_published_front *front,
                               const xf_model *model, int64_t block, const xf_dataset *data,
                               xf_error *error) {
    double *t = xfi_calloc2(2, data->n_tokens, sizeof(double)), *E = t + data->n_tokens;
    if (t == NULL)
        return xfi_fail_memory(error);
    xf_status status = XF_OK;
    xfi_line_project(p, model, block, &front->settled);
    for (int64_t i = 0; i < data->n_tokens; i++)
        t[i] = p[front->leader[i]];
    if (!xfi_line_bound(E, p, model, block, &front->settled, front->leader, data))
        status = xfi_fail_memory(error);
    if (status == XF_OK)
        status = xfi_groups_make(out, data, t, E, error);
    xfi_free(t);
    return status;
}

static xf_status name_phases(xf_model *model, const xfi_published_phases *phases, xf_error *error) {
    XFI_TRY(xfi_model_add_phase(model, "separation", phases->separation, error));
    XFI_TRY(xfi_model_add_phase(model, "quantise", phases->quantise, error));
    XFI_TRY(xfi_model_add_phase(model, "leaders", phases->leaders - 1, error));
    XFI_TRY(xfi_model_add_phase(model, "collapse", 1, error));
    return xfi_model_add_phase(model, "project", 1, error);
}

/* Rows of y by sequence, in each by descending |y_k1|. */
static int queue_targets(int64_t *queue, double *key, int64_t *order, const xfi_problem *problem,
                         int k1) {
    const xf_dataset *data = problem->data;
    for (int64_t i = 0; i < data->n_targets; i++)
        key[i] = -fabs(problem->y[i * data->d + k1]);
    if (!xfi_sort_index(order, key, data->n_targets))
        return 0;
    for (int64_t j = 0, row = 0; j < data->n_sequences; j++)
        for (; row < data->y_offsets[j + 1]; row++)
            queue[row] = j; /* for now: the row's sequence */
    for (int64_t i = 0; i < data->n_targets; i++)
        key[order[i]] = (double)queue[order[i]] * (double)data->n_targets + (double)i;
    return xfi_sort_index(queue, key, data->n_targets);
}

/* Any bijection of a sequence's groups and targets will do. The groups nearest to the origin, which
 * the sorted writer's first pass reaches last, get the targets of largest |y_k1|, which its second
 * pass writes last: so the passes can overlap. Returns 0 if memory is short. */
static int choose_targets(xfi_groups *groups, const xfi_problem *problem, int k1) {
    const xf_dataset *data = problem->data;
    int64_t M = data->n_targets;
    double *key = xfi_calloc(M, sizeof *key);
    int64_t *order = xfi_calloc(M, sizeof *order), *queue = xfi_calloc(M, sizeof *queue);
    int64_t *used = xfi_calloc(data->n_sequences, sizeof *used);
    int ok = key != NULL && order != NULL && queue != NULL && used != NULL &&
             queue_targets(queue, key, order, problem, k1);
    for (int64_t g = 0; ok && g < M; g++)
        key[g] = fabs(groups->at[g].t_low);
    ok = ok && xfi_sort_index(order, key, M);
    for (int64_t i = 0; ok && i < M; i++) {
        xfi_group *group = &groups->at[order[i]];
        group->target = queue[data->y_offsets[group->sequence] + used[group->sequence]++];
    }
    xfi_free(key);
    xfi_free(order);
    xfi_free(queue);
    xfi_free(used);
    return ok;
}

xf_status xfi_published_certify(xfi_certificate *out, const void *self, double sigma, double shift,
                                const xfi_problem *problem, xfi_axes axes, xf_error *error) {
    const xfi_published_front *front = self;
    const xf_dataset *data = problem->data;
    int64_t last = front->blocks.n_blocks - 1;
    *out = (xfi_certificate){0};
    double *p = xfi_calloc(data->n_tokens, sizeof *p);
    xf_status status = p != NULL ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK)
        status = xf_model_new(&out->blocks, last + 1, front->blocks.d, front->blocks.width, error);
    if (status == XF_OK) {
        xfi_copy_blocks(&out->blocks, 0, &front->blocks);
        status = name_phases(&out->blocks, &front->phases, error);
    }
    if (status == XF_OK && xfi_line_emit(&out->blocks, last, axes.k1, front->line, sigma, shift)) {
        status = group_on_line(&out->groups, p, front, &out->blocks, last, data, error);
        if (status == XF_OK)
            xfi_reserve_room(&out->groups);
        if (status == XF_OK && !choose_targets(&out->groups, problem, axes.k1))
            status = xfi_fail_memory(error);
    }
    xfi_free(p);
    if (status != XF_OK)
        xfi_certificate_clear(out);
    return status;
}

/* The counts of the phases of a stored model; returns 0 if they are others. */
static int read_phases(xfi_published_phases *out, const xf_model *model) {
    static const char *const names[] = {"separation", "quantise", "leaders", "collapse", "project"};
    int64_t count[5] = {0}, next = 0;
    for (int i = 0; i < 5; i++)
        if (next < model->n_phases && strcmp(model->phases[next].name, names[i]) == 0)
            count[i] = model->phases[next++].count;
    *out = (xfi_published_phases){count[0], count[1], count[2] + count[3]};
    return count[3] == 1 && count[4] == 1;
}

int xfi_has_published_front(const xf_model *model) {
    xfi_published_phases phases;
    return read_phases(&phases, model);
}

static double norm(const double *u, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += fabs(u[k]);
    return sum * (1 + 0x1p-40);
}

static xf_status measure_groups(xfi_published_facts *out, const xfi_published_front *front,
                                const xf_model *model, const xf_dataset *data, double *p,
                                xf_error *error) {
    int64_t block = count_blocks(&front->phases);
    xfi_groups groups = {0};
    XFI_TRY(group_on_line(&groups, p, front, model, block, data, error));
    out->margin = groups.margin;
    memcpy(out->closest, groups.closest, sizeof groups.closest);
    double slope = norm(model->ff_U + block * model->width * model->d, model->d);
    xf_status status = XF_OK;
    if (groups.margin > 1.0 && xfi_published_front_is_proved(front))
        status = xfi_temperature(&out->tau_max, &groups, p, slope, &front->settled, front->leader,
                                 data, error);
    xfi_groups_clear(&groups);
    return status;
}

/* Of |x|^2 over all tokens, rounded up. */
static double largest_square(const xfi_settled *settled) {
    double largest = 0;
    for (int64_t i = 0; i < settled->n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < settled->d; k++) {
            double x = fabs(settled->x[i * settled->d + k]) + settled->off[i];
            sum += x * x;
        }
        largest = fmax(largest, sum);
    }
    return largest * (1 + 0x1p-30);
}

xf_status xfi_published_front_measure(xfi_published_facts *out, const xfi_published_front *front,
                                      const xf_model *model, const xf_dataset *data,
                                      xf_error *error) {
    double *p = xfi_calloc(data->n_tokens, sizeof *p);
    *out = (xfi_published_facts){.n_separations = front->phases.separation};
    if (p == NULL)
        return xfi_fail_memory(error);
    double alpha = model->sa_A.alpha[count_blocks(&front->phases) - 1];
    out->largest_logit = alpha * largest_square(&front->settled);
    out->collapse_margin = alpha * (front->least.gap - front->least.bound) * (1 - 0x1p-50);
    xf_status status = measure_groups(out, front, model, data, p, error);
    out->tau_max *= alpha;
    xfi_free(p);
    return status;
}

xf_status xfi_published_measure(xfi_published_facts *out, const xf_model *model,
                                const xf_dataset *data, xf_error *error) {
    xfi_published_front front = {0};
    xf_model_init(&front.blocks);
    if (!read_phases(&front.phases, model) || model->d != data->d)
        return xfi_fail(error, XF_ERR_ARGUMENT, "this model has no published front end");
    int64_t block = count_blocks(&front.phases);
    if (block >= model->n_blocks || xfi_line_axis(model, block) < 0 ||
        !xfi_is_collapse(model, block - 1))
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the collapse or the line of this model has an unknown shape");
    xf_status status = examine(&front, model, data, error);
    *out = (xfi_published_facts){.n_separations = front.phases.separation};
    if (status == XF_OK && front.uncertain < 0)
        status = xfi_published_front_measure(out, &front, model, data, error);
    xfi_published_front_clear(&front);
    return status;
}

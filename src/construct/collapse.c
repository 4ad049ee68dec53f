/* Margins of the logits. */
#include "construct/collapse.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/sequences.h"
#include "num/format.h"

/* Covers the rounding of the bounds themselves. */
static const double INFLATE = 1.0 + 0x1p-40;

int xfi_view_init(xfi_view *view, int64_t n) {
    *view = (xfi_view){.n = n};
    view->gap = xfi_calloc(n, sizeof(double));
    view->logit = xfi_calloc(n, sizeof(double));
    view->size = xfi_calloc(n, sizeof(double));
    view->span = xfi_calloc(n, sizeof(double));
    if (view->gap && view->logit && view->size && view->span)
        return 1;
    xfi_view_clear(view);
    return 0;
}

void xfi_view_clear(xfi_view *view) {
    xfi_free(view->gap);
    xfi_free(view->logit);
    xfi_free(view->size);
    xfi_free(view->span);
    *view = (xfi_view){0};
}

void xfi_view_begin(xfi_view *view, const xfi_settled *settled, int64_t first, int64_t n) {
    view->n = n;
    for (int64_t l = 0; l < n; l++) {
        const double *x = settled->x + (first + l) * settled->d;
        double squares = 0, sum = 0;
        for (int64_t k = 0; k < settled->d; k++) {
            double magnitude = fabs(x[k]) + settled->off[first + l];
            squares += magnitude * magnitude;
            sum += magnitude;
        }
        view->size[l] = sqrt(squares) * INFLATE;
        view->span[l] = sum * INFLATE;
    }
}

static double dot(const double *a, const double *b, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += a[k] * b[k];
    return sum;
}

static double distance(const double *a, const double *b, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += fabs(a[k] - b[k]);
    return sum;
}

/* What can be lost of logit(best) - logit(l): two dot products rounded in any order, here and in
 * the model (where a difference, a quotient by tau and two more roundings are allowed for), and all
 * three tokens moved within their tolerances. */
static double loss(const xfi_view *view, const xfi_settled *settled, int64_t first, int64_t i,
                   int64_t l) {
    static const xfi_format format = {53, -1022, 1023, 0x1p-53, 0x1p-1074};
    const double *x = settled->x, *off = settled->off + first;
    int64_t d = settled->d, best = view->best;
    double rounding = xfi_gamma(&format, (double)d + 8) * view->size[i];
    double bound = 2 * rounding * (view->size[best] + view->size[l]);
    if (off[i] > 0)
        bound += off[i] * distance(x + (first + best) * d, x + (first + l) * d, d);
    bound += view->span[i] * (off[best] + off[l]);
    return bound * INFLATE;
}

void xfi_view_from(xfi_view *view, const xfi_settled *settled, int64_t first, int64_t i,
                   xfi_logit_gap *least) {
    const double *x = settled->x + first * settled->d;
    view->best = 0;
    for (int64_t l = 0; l < view->n; l++) {
        view->logit[l] = dot(x + i * settled->d, x + l * settled->d, settled->d);
        if (view->logit[l] > view->logit[view->best])
            view->best = l;
    }
    for (int64_t l = 0; l < view->n; l++) {
        view->gap[l] = 0.0;
        if (l == view->best)
            continue;
        double gap = view->logit[view->best] - view->logit[l];
        double bound = loss(view, settled, first, i, l);
        view->gap[l] = (gap - bound) * (1 - 0x1p-50);
        if (gap - bound < least->gap - least->bound || least->gap == INFINITY)
            *least = (xfi_logit_gap){gap, bound, least->sequence, first + i, first + l};
    }
}

int xfi_is_collapse(const xf_model *model, int64_t block) {
    const double *A = model->sa_A.left + block * model->d, *V = model->sa_V.left + block * model->d;
    double alpha = model->sa_A.alpha[block];
    for (int64_t k = 0; k < model->d; k++)
        if (A[k] != 0.0 || V[k] != 0.0)
            return 0;
    return alpha > 0 && xfi_lowest_bit(alpha) == xfi_exponent(alpha) && model->sa_A.full == NULL &&
           model->sa_V.full == NULL && model->sa_V.alpha[block] == 1.0 &&
           model->sa_rho[block] == 0.0 && model->order == XF_FF_SA && !model->causal;
}

xf_status xfi_collapse(int64_t *leader, xfi_logit_gap *least, const xfi_settled *settled,
                       const xf_dataset *data, xf_error *error) {
    xfi_view view;
    *least = (xfi_logit_gap){.gap = INFINITY};
    if (!xfi_view_init(&view, xfi_longest_sequence(data)))
        return xfi_fail_memory(error);
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->x_offsets[j], n = xfi_inputs_of(data, j);
        xfi_logit_gap here = {.gap = INFINITY, .sequence = j};
        xfi_view_begin(&view, settled, first, n);
        for (int64_t i = 0; i < n; i++) {
            xfi_view_from(&view, settled, first, i, &here);
            leader[first + i] = first + view.best;
        }
        if (here.gap - here.bound < least->gap - least->bound || least->gap == INFINITY)
            *least = here;
    }
    xfi_view_clear(&view);
    return XF_OK;
}

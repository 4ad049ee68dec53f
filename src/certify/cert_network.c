/* Nonzero weights. */
#include "certify/cert_network.h"

#include "base/alloc.h"
#include "base/error.h"

static int64_t count_nonzero(const double *values, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += values[i] != 0.0;
    return count;
}

static xfi_square square_of(const xf_low_rank *matrix, int64_t block, int64_t d) {
    xfi_square s = {.alpha = matrix->alpha[block],
                    .left = matrix->left + block * d,
                    .right = matrix->right + block * d};
    s.n_left = (int)count_nonzero(s.left, d);
    s.n_right = (int)count_nonzero(s.right, d);
    if (matrix->full != NULL && count_nonzero(matrix->full + block * d * d, d * d) > 0)
        s.full = matrix->full + block * d * d;
    s.is_zero = s.alpha == 0.0 && s.n_left == 0 && s.n_right == 0 && s.full == NULL;
    return s;
}

/* Every stride-th value that is not 0; returns the next free link. */
static xfi_link *gather(xfi_link *link, const double *values, int64_t n, int64_t stride) {
    for (int64_t k = 0; k < n; k++) {
        double v = values[k * stride];
        if (v != 0.0)
            *link++ = (xfi_link){v, (int32_t)k, xfi_lowest_bit(v)};
    }
    return link;
}

static void note_exponents(xfi_ff *ff, const xfi_unit *unit) {
    int32_t e = xfi_exponent_of(unit->bias);
    for (int32_t k = 0; k < unit->n_in; k++)
        e = unit->in[k].exponent < e ? unit->in[k].exponent : e;
    ff->exponent = e < ff->exponent ? e : ff->exponent;
}

static xfi_link *gather_block(xfi_network *network, int64_t block, xfi_unit **units,
                              xfi_link *link) {
    const xf_model *m = network->model;
    int64_t d = m->d, w = m->width;
    xfi_ff *ff = &network->ff[block];
    *ff = (xfi_ff){.eta = m->ff_eta[block], .units = *units, .exponent = XFI_EXPONENT_OF_ZERO};
    for (int64_t i = 0; i < w; i++) {
        xfi_unit unit = {.bias = m->ff_b[block * w + i], .in = link};
        xfi_link *end = gather(link, m->ff_U + (block * w + i) * d, d, 1);
        unit.n_in = (int32_t)(end - link);
        if (unit.n_in == 0 && unit.bias <= 0.0)
            continue;
        unit.out = end;
        link = gather(end, m->ff_W + block * d * w + i, d, w);
        unit.n_out = (int32_t)(link - end);
        note_exponents(ff, &unit);
        *(*units)++ = unit;
        ff->n_units++;
    }
    if (ff->n_units > network->n_most)
        network->n_most = ff->n_units;
    return link;
}

static int is_subnormal(const xf_model *m, const double *values, int64_t n) {
    double least = ldexp(1.0, xfi_format_of(m->dtype).emin);
    for (int64_t i = 0; i < n; i++)
        if (values[i] != 0.0 && fabs(values[i]) < least)
            return 1;
    return 0;
}

static int any_subnormal(const xf_model *m) {
    int64_t L = m->n_blocks, d = m->d, w = m->width;
    const xf_low_rank *squares[2] = {&m->sa_A, &m->sa_V};
    int found = is_subnormal(m, m->ff_eta, L) || is_subnormal(m, m->ff_W, L * d * w) ||
                is_subnormal(m, m->ff_U, L * w * d) || is_subnormal(m, m->ff_b, L * w) ||
                is_subnormal(m, m->sa_rho, L);
    for (int i = 0; i < 2; i++)
        found = found || is_subnormal(m, squares[i]->alpha, L) ||
                is_subnormal(m, squares[i]->left, L * d) ||
                is_subnormal(m, squares[i]->right, L * d) ||
                (squares[i]->full != NULL && is_subnormal(m, squares[i]->full, L * d * d));
    return found;
}

xf_status xfi_network_init(xfi_network *out, const xf_model *model, xf_error *error) {
    int64_t L = model->n_blocks, d = model->d, w = model->width;
    *out = (xfi_network){.model = model};
    int64_t n_links = count_nonzero(model->ff_U, L * w * d) + count_nonzero(model->ff_W, L * d * w);
    out->ff = xfi_calloc(L, sizeof(xfi_ff));
    out->sa = xfi_calloc(L, sizeof(xfi_sa));
    out->units = xfi_calloc2(L, w, sizeof(xfi_unit));
    out->links = xfi_calloc(n_links, sizeof(xfi_link));
    if (!out->ff || !out->sa || !out->units || !out->links) {
        xfi_network_clear(out);
        return xfi_fail_memory(error);
    }
    xfi_unit *units = out->units;
    xfi_link *link = out->links;
    for (int64_t b = 0; b < L; b++) {
        link = gather_block(out, b, &units, link);
        out->sa[b] = (xfi_sa){model->sa_rho[b], square_of(&model->sa_A, b, d),
                              square_of(&model->sa_V, b, d)};
    }
    out->has_subnormal = any_subnormal(model);
    return XF_OK;
}

void xfi_network_clear(xfi_network *network) {
    xfi_free(network->ff);
    xfi_free(network->sa);
    xfi_free(network->units);
    xfi_free(network->links);
    *network = (xfi_network){0};
}

int xfi_network_has_logits(const xfi_network *network) {
    for (int64_t b = 0; b < network->model->n_blocks; b++)
        if (!network->sa[b].A.is_zero && !network->sa[b].V.is_zero)
            return 1;
    return 0;
}

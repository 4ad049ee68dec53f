/* A feed-forward layer on a box: C-piece and C-binade of docs/certify.md. */
#ifndef XFI_CERTIFY_CERT_PIECE_H
#define XFI_CERTIFY_CERT_PIECE_H

#include "certify/cert_state.h"
#include "certify/cert_sum.h"

/* A neuron that the layer at hand cannot leave out. */
typedef struct xfi_live {
    const xfi_unit *unit;
    int state; /* XFI_INACTIVE, ... */
    int32_t exponent;
    arf_ptr form;    /* [d + 1] the affine function of its pre-activation */
    arf_t low, high; /* its exact range */
    arf_t error;     /* bound of the rounding */
    arf_t most;      /* upper bound of the computed relu */
} xfi_live;

enum { XFI_INACTIVE, XFI_ACTIVE, XFI_UNCERTAIN };

/* Room for one thread. */
typedef struct xfi_piece {
    const xfi_sense *sense;
    int64_t d;
    int n_most; /* units of a block */
    xfi_sum sum;
    xfi_live *live; /* [n_most] */
    arf_ptr live_forms;
    arf_ptr form; /* [d + 1] */
    arf_t low, high, value, weight, spread_low, spread_high;
    int32_t *free_of;    /* [d] position among the free coordinates, or -1 */
    int32_t *coordinate; /* [d] the free coordinates */
    int32_t *written;    /* [d] */
    char *is_written;    /* [d] */
    double *room;        /* boxes of the recursion */
    int32_t *room_exponents;
} xfi_piece;

/* Returns 0 if memory is short. */
int xfi_piece_init(xfi_piece *piece, const xfi_sense *sense, const xfi_network *network);
void xfi_piece_clear(xfi_piece *piece);

/* The image of `in` under the layer. `span` may bring generators (then span->low, high are the
 * core and `in` is the hull) or be NULL. `out` does not overlap `in`. */
void xfi_piece_apply(xfi_piece *piece, xfi_box out, const xfi_ff *ff, xfi_box in,
                     const xfi_span *span, xfi_log *log);

/* Is the neuron 0 on the whole box, by a quick test? For one input this is C-sign; for more,
 * C-error with plenty of slack. */
static inline int xfi_unit_is_quiet(const xfi_unit *unit, const xfi_box *box,
                                    const xfi_sense *sense) {
    if (unit->n_in == 1) {
        double weight = unit->in->weight;
        double x = (weight > 0.0 ? box->high : box->low)[unit->in->at];
        double t = weight * x, s = t + unit->bias;
        return s < -0x1p-50 * (fabs(t) + fabs(unit->bias)) - 0x1p-1000 ||
               (x == 0.0 && unit->bias <= 0.0);
    }
    double sum = unit->bias, size = fabs(unit->bias), count = (double)(unit->n_in + 4);
    for (int32_t k = 0; k < unit->n_in; k++) {
        const xfi_link *in = &unit->in[k];
        double a = in->weight * box->low[in->at], b = in->weight * box->high[in->at];
        sum += a > b ? a : b;
        size += fabs(a) > fabs(b) ? fabs(a) : fabs(b);
    }
    return size < sense->quiet_size &&
           sum < -count * (sense->quiet_slack * size + sense->quiet_tiny);
}

/* The margin of a quiet neuron. */
static inline void xfi_unit_margin(const xfi_unit *unit, const xfi_box *box, xfi_log *log) {
    if (unit->n_in == 1 && box->low[unit->in->at] == box->high[unit->in->at])
        return;
    double low = unit->bias, high = unit->bias;
    for (int32_t k = 0; k < unit->n_in; k++) {
        double a = unit->in[k].weight * box->low[unit->in[k].at];
        double b = unit->in[k].weight * box->high[unit->in[k].at];
        low += a < b ? a : b;
        high += a < b ? b : a;
    }
    xfi_log_decision(log, low, high);
}

#endif

/* A model as the certifier reads it: nonzero weights only, and what is known of them. */
#ifndef XFI_CERTIFY_CERT_NETWORK_H
#define XFI_CERTIFY_CERT_NETWORK_H

#include "certify/cert_number.h"

#include <exactformer/model.h>

/* One nonzero weight; `at` is a coordinate. */
typedef struct xfi_link {
    double weight;
    int32_t at;
    int32_t exponent; /* of the lowest set bit of the weight */
} xfi_link;

/* relu(<in, x> + bias) out. Neurons that are 0 on everything are left out. */
typedef struct xfi_unit {
    double bias;
    const xfi_link *in;
    const xfi_link *out;
    int32_t n_in;
    int32_t n_out;
} xfi_unit;

typedef struct xfi_ff {
    double eta;
    const xfi_unit *units;
    int32_t n_units;
    int32_t exponent; /* least one of all weights and biases in front of the relu */
} xfi_ff;

/* alpha I + left right^T + full of one block. */
typedef struct xfi_square {
    double alpha;
    const double *left;  /* [d] */
    const double *right; /* [d] */
    const double *full;  /* [d][d], or NULL if there is none or it is 0 */
    int is_zero;         /* every entry of every part is 0 */
    int n_left, n_right; /* nonzero entries of left and right */
} xfi_square;

typedef struct xfi_sa {
    double rho;
    xfi_square A;
    xfi_square V;
} xfi_sa;

typedef struct xfi_network {
    const xf_model *model;
    xfi_ff *ff; /* [L] */
    xfi_sa *sa; /* [L] */
    xfi_unit *units;
    xfi_link *links;
    int n_most;        /* most units of a block */
    int has_subnormal; /* some weight is a subnormal number of the format */
} xfi_network;

/* `model` must outlive it. Errors: XF_ERR_MEMORY. */
xf_status xfi_network_init(xfi_network *out, const xf_model *model, xf_error *error);
void xfi_network_clear(xfi_network *network);

/* Can the logits of some attention with V != 0 differ from 0? */
int xfi_network_has_logits(const xfi_network *network);

#endif

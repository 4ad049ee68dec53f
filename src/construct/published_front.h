/* The front end of the published construction: separation, quantisation, leaders, collapse, line.
 * What it does to the data is found from the stored weights only. */
#ifndef XFI_CONSTRUCT_PUBLISHED_FRONT_H
#define XFI_CONSTRUCT_PUBLISHED_FRONT_H

#include "construct/collapse.h"
#include "construct/front_certificate.h"
#include "construct/settle.h"

/* Blocks up to the collapse, and what they do. */
typedef struct xfi_published_front {
    xf_model blocks; /* the last one, for the line, is still an identity */
    xfi_published_phases phases;
    double *line;        /* [d] direction, owned */
    int64_t uncertain;   /* first token whose place is not certified, or -1 */
    xfi_settled settled; /* valid if there is none */
    int64_t *leader;     /* [T] row that each token is sent to, owned */
    xfi_logit_gap least; /* the collapse is proved if gap > bound */
} xfi_published_front;

void xfi_published_front_clear(xfi_published_front *front);

/* Given blocks, phases and line, fill in the rest. Errors: XF_ERR_MEMORY, XF_ERR_ARGUMENT. */
xf_status xfi_published_front_examine(xfi_published_front *front, const xf_dataset *data,
                                      xf_error *error);

int xfi_published_front_is_proved(const xfi_published_front *front);

/* xfi_front_end.certify with a proved front as `self`: the groups' intervals include the room
 * reserved for softmax (temperature.h). */
xf_status xfi_published_certify(xfi_certificate *out, const void *self, double sigma, double shift,
                                const xfi_problem *problem, xfi_axes axes, xf_error *error);

/* What a stored model of this construction does to the data, from its weights. */
typedef struct xfi_published_facts {
    int64_t n_separations;
    double margin; /* of the groups on the line, as in xf_build_report */
    int64_t closest[2];
    double collapse_margin; /* lower bound of the least gap of logits; INFINITY if every n_j = 1 */
    double tau_max;         /* for the stored alpha; INFINITY: every temperature */
    double largest_logit;   /* upper bound of |logits| and of the sums that lead to them */
} xfi_published_facts;

/* A model whose first blocks are those of `front`, which was examined. Errors: XF_ERR_MEMORY. */
xf_status xfi_published_front_measure(xfi_published_facts *out, const xfi_published_front *front,
                                      const xf_model *model, const xf_dataset *data,
                                      xf_error *error);

/* Any model. Errors: XF_ERR_ARGUMENT (no front end of this construction, or other data),
 * XF_ERR_MEMORY. */
xf_status xfi_published_measure(xfi_published_facts *out, const xf_model *model,
                                const xf_dataset *data, xf_error *error);

/* Does the model begin with such a front end? */
int xfi_has_published_front(const xf_model *model);

#endif

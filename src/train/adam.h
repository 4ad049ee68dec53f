/* Adam and AdamW as torch.optim has them, and the schedules of their learning rate. */
#ifndef XFI_TRAIN_ADAM_H
#define XFI_TRAIN_ADAM_H

#include <exactformer/train.h>

typedef struct xfi_adam {
    double learning_rate;
    double weight_decay;
    int decoupled; /* AdamW: theta shrinks by itself; else the decay is part of the gradient, so
                      that stationary points are those of loss + (weight_decay / 2) |theta|^2 */
    int64_t step;  /* 1-based */
} xfi_adam;

/* One step: theta, the moments m and v, all [n] numbers of `dtype`, in whose arithmetic it is
 * taken. beta = (0.9, 0.999), epsilon = 1e-8. */
void xfi_adam_step(double *theta, double *m, double *v, const double *gradient, int64_t n,
                   const xfi_adam *adam, xf_dtype dtype);

/* Learning rate of step `done` (zero-based) of `total`; the cosine goes from `rate` to 0 as
 * torch's CosineAnnealingLR with T_max = total. */
double xfi_learning_rate(xf_schedule schedule, double rate, int64_t done, int64_t total);

#endif

/* States of a training that are no finite numbers, and what to do about them. */
#ifndef XFI_TRAIN_OUT_OF_RANGE_H
#define XFI_TRAIN_OUT_OF_RANGE_H

#include "train/run_state.h"

/* XF_OK if loss, |theta|^2, J and the gradient of the penalty at run->theta are finite in the
 * run's precision. Errors: XF_ERR_DATA, naming the cause: the temperature, the parameters at the
 * start, the weight decay or the learning rate. */
xf_status xfi_check_in_range(const xfi_run *run, double loss, double norm2, int64_t epoch,
                             xf_error *error);

#endif

/* A training under way as a file: .safetensors with the arrays of the run, and under the metadata
 * keys "training" a JSON object that says which training it is and "values_sha256" the digest of
 * its numbers. */
#ifndef XFI_API_TRAIN_CHECKPOINT_H
#define XFI_API_TRAIN_CHECKPOINT_H

#include "base/text.h"
#include "train/run_state.h"

/* Append the JSON object that tells trainings apart: the family, the options that matter to the
 * bits, and digests of the data and of the initial parameters. */
void xfi_training_identity(xfi_text *text, const xfi_run *run, const xf_dataset_digest *dataset);

/* Errors: XF_ERR_IO, XF_ERR_MEMORY; an existing file stays as it was. */
xf_status xfi_checkpoint_save(const xfi_run *run, const char *identity, xf_error *error);

/* Continue from the file: `run` is fresh from xfi_run_new. Errors: XF_ERR_DATA (no checkpoint, one
 * that is damaged, or that of another training, naming what differs), XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_checkpoint_load(xfi_run *run, const char *identity, xf_error *error);

#endif

/* Do all processes work with the same data set, model and options? Where they do not, all refuse
 * alike, before one of them sends what another does not expect. Without peers nothing is done. */
#ifndef XFI_CORE_AGREEMENT_H
#define XFI_CORE_AGREEMENT_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>
#include <exactformer/peers.h>

#include <stddef.h>

/* Add `bytes` bytes to a hash, which starts at 0. */
uint64_t xfi_digest(uint64_t hash, const void *values, size_t bytes);

/* Add a text, NULL among them. */
uint64_t xfi_digest_text(uint64_t hash, const char *text);

/* Is the hash the same for all? `what` they were given then differs, as "options" or "models".
 * Errors: XF_ERR_ARGUMENT for every process, XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_agree(const xf_peers *peers, const char *what, uint64_t hash, xf_error *error);

/* Are sizes, offsets, targets and some input tokens the same for all? Of the input, which may be
 * large, a few tokens of every process's part are compared, and the other processes' parts are not
 * read beyond these. Sizes must have been checked. */
xf_status xfi_agree_dataset(const xf_peers *peers, const xf_dataset *data, xf_error *error);

/* Are the weights and all else that decides what the model does the same for all? */
xf_status xfi_agree_model(const xf_peers *peers, const xf_model *model, xf_error *error);

#endif
